/*
 * Property: what a reader accepts, written again, reads as the same entries; paths are clean.
 */
#include "base/digest.h"
#include "formats/tar_read.h"
#include "formats/tar_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { CONTENT_MAX = 1 << 20 };

static void assert_clean(const char *path)
{
	assert(*path && *path != '/' && !str_ends(path, "/") && !strstr(path, "//"));
	assert(!slice_has_part(slice_str(path), "..") && !slice_has_part(slice_str(path), "."));
}

/* Read entries; describe each into `text` and write it to `out`. False when input is refused. */
static bool copy(struct stream *in, struct strbuf *text, struct sink *out)
{
	struct error err = { 0 };
	struct tar_entry e;
	cleanup_tar_reader struct tar_reader *r = tar_read_open(in);
	int rc;

	while ((rc = tar_read_next(r, &e, &err)) > 0) {
		cleanup_strbuf struct strbuf content = { 0 };
		cleanup_stream struct stream *s = NULL;
		struct digest d;
		char hex[DIGEST_HEX_MAX];

		assert_clean(e.path);
		if (stream_read_all(tar_read_content(r), CONTENT_MAX, &content, &err) < 0)
			return false;
		assert(content.len == e.size);
		d = digest_of(strbuf_slice(&content));
		strbuf_addf(text, "%s %s %d %o %" PRIu64 " %" PRIu64 " %s %zu\n", e.path, e.link,
			    (int)e.type, e.mode, e.uid, e.gid, digest_hex(&d, hex),
			    tar_extras(&e)->xattr_count);
		s = stream_memory(strbuf_slice(&content));
		if (tar_write_entry(out, &e, e.type == TAR_FILE ? s : NULL, &err) < 0)
			return false;
	}
	return rc == 0 && tar_write_end(out, &err) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_strbuf struct strbuf first = { 0 }, second = { 0 }, tar = { 0 }, again = { 0 };
	cleanup_sink struct sink *out = sink_memory(&tar), *out_again = sink_memory(&again);
	cleanup_stream struct stream *in = stream_memory(slice_of(data, len)), *back = NULL;

	if (!copy(in, &first, out))
		return 0;
	back = stream_memory(strbuf_slice(&tar));
	assert(copy(back, &second, out_again));
	assert(str_equal(strbuf_text(&first), strbuf_text(&second)));
	assert(slice_equal(strbuf_slice(&tar), strbuf_slice(&again)));
	return 0;
}
