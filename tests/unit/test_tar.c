#include "tests/support/test.h"

#include "base/digest.h"
#include "formats/tar_read.h"
#include "formats/tar_write.h"
#include "tests/support/bytes.h"

/* Bytes that an entry takes, with its padding. */
static uint64_t written_size(const struct tar_entry *entry)
{
	cleanup_strbuf struct strbuf header = { 0 };
	cleanup_sink struct sink *to = sink_memory(&header);
	struct error err = { 0 };

	assert_ok(tar_write_header(to, entry, &err), err);
	return header.len + (entry->size + 511) / 512 * 512;
}

static void write_entry(struct sink *out, const struct tar_entry *e, struct slice content)
{
	struct error err = { 0 };
	cleanup_stream struct stream *s = stream_memory(content);

	assert_int_equal(e->size, content.len);
	assert_ok(tar_write_entry(out, e, e->type == TAR_FILE ? s : NULL, &err), err);
}

static char *repeat(const char *part, size_t times)
{
	struct strbuf b = { 0 };

	for (size_t i = 0; i < times; i++)
		strbuf_adds(&b, part);
	return strbuf_steal(&b);
}

static const struct tar_xattr xattrs[] = {
	{ "user.zero", (const uint8_t *)"a\0b\n=", 5 },
	{ "security.capability", (const uint8_t *)"\1\0\0\2\0\0\0\0", 8 },
};
static const struct tar_extras some = { .xattrs = xattrs, .xattr_count = 2 },
			       null_device = { .dev_major = 1, .dev_minor = 3 },
			       large_device = { .dev_major = 8, .dev_minor = 1048575 };

/* One of each kind, with values at and beyond what ustar fields hold. */
static size_t sample(struct tar_entry *out, struct slice *content, char **names)
{
	size_t n = 0;

	names[0] = repeat("d/", 40);
	names[1] = repeat("long-name-", 10);              /* 100: fits */
	names[2] = repeat("long-name-", 11);              /* 110: does not split */
	names[3] = repeat("p/", 127);                     /* 254 */
	names[4] = xasprintf("%s%s", names[3], names[1]); /* too long in both parts */
	names[5] = xasprintf("%s%s", names[0], names[1]); /* splits */
	names[0][strlen(names[0]) - 1] = '\0';
	out[n++] = (struct tar_entry){
		.type = TAR_DIR, .path = "etc", .mode = 0755, .mtime = 315532800
	};
	out[n] = (struct tar_entry){ .type = TAR_FILE,
				     .path = "etc/hosts",
				     .mode = 04755,
				     .size = 5,
				     .uid = 2097151,
				     .gid = 2097152,
				     .mtime = 1700000000 };
	content[n++] = slice_str("hello");
	out[n++] = (struct tar_entry){ .type = TAR_FILE, .path = "empty", .uid = 4294967294 };
	out[n++] = (struct tar_entry){
		.type = TAR_SYMLINK, .path = "etc/link", .link = "../../x/..", .mode = 0777
	};
	out[n++] = (struct tar_entry){
		.type = TAR_SYMLINK, .path = "etc/far", .link = names[2], .mode = 0777
	};
	out[n++] = (struct tar_entry){
		.type = TAR_HARDLINK, .path = "etc/same", .link = "etc/hosts", .mode = 04755
	};
	out[n++] = (struct tar_entry){ .type = TAR_DIR, .path = names[0], .mode = 01777 };
	out[n++] = (struct tar_entry){ .type = TAR_DIR, .path = names[1], .mode = 0755 };
	out[n] =
		(struct tar_entry){ .type = TAR_FILE, .path = names[2], .mode = 0644, .size = 512 };
	n++;
	out[n++] = (struct tar_entry){ .type = TAR_FILE, .path = names[4], .mode = 0644 };
	out[n++] = (struct tar_entry){ .type = TAR_FILE, .path = names[5], .mode = 0600 };
	out[n++] = (struct tar_entry){
		.type = TAR_FILE, .path = "usr/caf\xc3\xa9/\xe2\x82\xac", .mode = 0644, .mtime = 1
	};
	out[n++] = (struct tar_entry){ .type = TAR_FILE, .path = "raw/\xff\xfe", .mode = 0644 };
	out[n++] = (struct tar_entry){
		.type = TAR_SYMLINK, .path = "l", .link = "\xc3\xa9", .mode = 0777
	};
	out[n++] = (struct tar_entry){
		.type = TAR_FILE, .path = "ping", .mode = 0755, .extras = &some
	};
	out[n++] = (struct tar_entry){
		.type = TAR_CHAR, .path = "dev/null", .mode = 0666, .extras = &null_device
	};
	out[n++] = (struct tar_entry){
		.type = TAR_BLOCK, .path = "dev/sda", .mode = 0660, .extras = &large_device
	};
	out[n++] = (struct tar_entry){ .type = TAR_FIFO, .path = "run/pipe", .mode = 0600 };
	return n;
}

enum { SAMPLE_MAX = 24 };

static void write_sample(struct strbuf *out, struct tar_entry *entries, size_t *out_count,
			 struct slice *content, char **names)
{
	struct error err = { 0 };
	cleanup_sink struct sink *sink = sink_memory(out);
	cleanup_strbuf struct strbuf block = { 0 };

	*out_count = sample(entries, content, names);
	test_text(&block, 512);
	for (size_t i = 0; i < *out_count; i++)
		write_entry(sink, &entries[i],
			    entries[i].size == 512 ? strbuf_slice(&block) : content[i]);
	assert_ok(tar_write_end(sink, &err), err);
}

static void assert_same_entry(const struct tar_entry *a, const struct tar_entry *b)
{
	const struct tar_extras *x = tar_extras(a), *y = tar_extras(b);

	assert_string_equal(a->path, b->path);
	assert_string_equal(a->link ? a->link : "", b->link);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->mode, b->mode);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->gid, b->gid);
	assert_int_equal(a->mtime, b->mtime);
	assert_int_equal(x->dev_major, y->dev_major);
	assert_int_equal(x->dev_minor, y->dev_minor);
	assert_int_equal(x->xattr_count, y->xattr_count);
	for (size_t i = 0; i < x->xattr_count; i++) {
		bool found = false;

		for (size_t k = 0; k < y->xattr_count; k++)
			found |= str_equal(x->xattrs[i].name, y->xattrs[k].name) &&
				 slice_equal(slice_of(x->xattrs[i].value, x->xattrs[i].len),
					     slice_of(y->xattrs[k].value, y->xattrs[k].len));
		assert_true(found);
	}
}

static void free_names(char **names)
{
	for (size_t i = 0; i < 8; i++)
		free(names[i]);
}

static void test_what_was_written_is_read_back(void **state)
{
	struct error err = { 0 };
	struct tar_entry entries[SAMPLE_MAX] = { 0 }, e;
	struct slice content[SAMPLE_MAX] = { 0 };
	char *names[8] = { 0 };
	size_t count;
	cleanup_strbuf struct strbuf tar = { 0 };

	(void)state;
	write_sample(&tar, entries, &count, content, names);
	for (size_t step = 1; step < 2000; step += 333) {
		cleanup_stream struct stream *s = test_dribble(strbuf_slice(&tar), step);
		cleanup_tar_reader struct tar_reader *r = tar_read_open(s);

		for (size_t i = 0; i < count; i++) {
			cleanup_strbuf struct strbuf got = { 0 };

			assert_int_equal(tar_read_next(r, &e, &err), 1);
			assert_same_entry(&entries[i], &e);
			assert_ok(stream_read_all(tar_read_content(r), MIB, &got, &err), err);
			assert_int_equal(got.len, e.size);
			if (content[i].len)
				assert_true(slice_equal(strbuf_slice(&got), content[i]));
		}
		assert_int_equal(tar_read_next(r, &e, &err), 0);
		assert_int_equal(tar_read_next(r, &e, &err), 0);
	}
	free_names(names);
}

static void test_sizes_are_known_before_writing(void **state)
{
	struct tar_entry entries[SAMPLE_MAX] = { 0 };
	struct slice content[SAMPLE_MAX] = { 0 };
	char *names[8] = { 0 };
	size_t count;
	uint64_t sum = 1024;
	cleanup_strbuf struct strbuf tar = { 0 };

	(void)state;
	write_sample(&tar, entries, &count, content, names);
	for (size_t i = 0; i < count; i++)
		sum += written_size(&entries[i]);
	assert_int_equal(sum, tar.len);
	free_names(names);
}

/* A header by hand, for what tar_write would never write. */
static void raw_header(struct strbuf *out, const char *name, char type, uint64_t size,
		       const char *link)
{
	char block[512] = { 0 };
	unsigned sum = 0;

	memcpy(block, name, MIN(strlen(name), (size_t)100));
	snprintf(block + 100, 8, "%07o", 0644);
	snprintf(block + 108, 8, "%07o", 0);
	snprintf(block + 116, 8, "%07o", 0);
	snprintf(block + 124, 12, "%011" PRIo64, size & UINT64_C(077777777777));
	snprintf(block + 136, 12, "%011o", 0);
	memset(block + 148, ' ', 8);
	block[156] = type;
	memcpy(block + 157, link, MIN(strlen(link), (size_t)100));
	memcpy(block + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(block); i++)
		sum += (uint8_t)block[i];
	snprintf(block + 148, 8, "%06o", sum);
	strbuf_add(out, block, sizeof(block));
}

static void raw_body(struct strbuf *out, const void *data, size_t len)
{
	strbuf_add(out, data, len);
	strbuf_add_zeros(out, -len & 511);
}

/* All entries of `tar`: the code of the error that ended it, or ERROR_NONE. */
static enum error_code read_all(struct slice tar, size_t step, struct strbuf *names,
				struct error *err)
{
	cleanup_stream struct stream *s = test_dribble(tar, step);
	cleanup_tar_reader struct tar_reader *r = tar_read_open(s);
	struct tar_entry e;
	int rc;

	while ((rc = tar_read_next(r, &e, err)) > 0) {
		if (names)
			strbuf_addf(names, "%s\n", e.path);
		if (stream_drain(tar_read_content(r), NULL, err) < 0)
			return err->code;
	}
	return rc < 0 ? err->code : ERROR_NONE;
}

static void test_unsafe_names_are_refused(void **state)
{
	static const struct {
		const char *name, *link;
		char type;
	} cases[] = {
		{ "../x", "", '0' },  { "a/../../x", "", '0' },  { "a/..", "", '5' },
		{ "..", "", '5' },    { "/../x", "", '0' },      { "./..//x", "", '0' },
		{ "x", "../y", '1' }, { "x", "a/../../y", '1' }, { "x", "", '1' },
		{ "x", "/", '1' },    { "", "", '0' },           { ".", "", '2' },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf tar = { 0 };

		raw_header(&tar, cases[i].name, cases[i].type, 0, cases[i].link);
		strbuf_add_zeros(&tar, 1024);
		if (read_all(strbuf_slice(&tar), SIZE_MAX, NULL, &err) != ERROR_FORMAT)
			fail_msg("\"%s\" -> \"%s\" was taken", cases[i].name, cases[i].link);
	}
}

static void test_unsafe_names_can_be_told_instead(void **state)
{
	cleanup_strbuf struct strbuf tar = { 0 }, told = { 0 };
	cleanup_stream struct stream *s = NULL;
	cleanup_tar_reader struct tar_reader *r = NULL;
	struct error err = { 0 };
	struct tar_entry e;

	(void)state;
	raw_header(&tar, "/", '5', 0, "");
	raw_header(&tar, "../../x", '0', 0, "");
	raw_header(&tar, "..", '5', 0, "");
	raw_header(&tar, "/etc/hosts", '0', 0, "");
	raw_header(&tar, "a", '1', 0, "../b");
	raw_header(&tar, "c", '0', 0, "");
	strbuf_add_zeros(&tar, 1024);
	s = test_dribble(strbuf_slice(&tar), SIZE_MAX);
	r = tar_read_open(s);
	tar_read_tolerate(r);
	while (tar_read_next(r, &e, &err) > 0)
		strbuf_addf(&told, "%s|%s|%s\n", e.path,
			    tar_extras(&e)->odd ? e.extras->written : "",
			    tar_extras(&e)->odd ? e.extras->odd : "");
	assert_int_equal(err.code, ERROR_NONE);
	assert_string_equal(strbuf_text(&told), "x|../../x|has \"..\" in it\n"
						"|..|has \"..\" in it\n"
						"etc/hosts|/etc/hosts|begins with \"/\"\n"
						"a|a|is a hard link out of the root\n"
						"c||\n");
}

static void test_leading_slashes_and_dots_are_cut_off(void **state)
{
	struct error err = { 0 };
	cleanup_strbuf struct strbuf tar = { 0 }, names = { 0 };

	(void)state;
	raw_header(&tar, "./", '5', 0, "");
	raw_header(&tar, "./etc/", '5', 0, "");
	raw_header(&tar, "/etc//./hosts", '0', 0, "");
	raw_header(&tar, "etc/same", '1', 0, "./etc/hosts");
	strbuf_add_zeros(&tar, 1024);
	assert_int_equal(read_all(strbuf_slice(&tar), SIZE_MAX, &names, &err), ERROR_NONE);
	assert_string_equal(strbuf_text(&names), "etc\netc/hosts\netc/same\n");
}

static void test_names_of_more_than_4096_bytes_are_refused(void **state)
{
	(void)state;
	for (size_t len = 4095; len <= 4097; len++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf tar = { 0 };
		cleanup_free char *name = repeat("x", len);

		raw_header(&tar, "././@LongLink", 'L', len + 1, "");
		raw_body(&tar, name, len + 1);
		raw_header(&tar, "cut", '0', 0, "");
		strbuf_add_zeros(&tar, 1024);
		assert_int_equal(read_all(strbuf_slice(&tar), SIZE_MAX, NULL, &err),
				 len > 4096 ? ERROR_FORMAT : ERROR_NONE);
	}
}

static void test_a_nul_in_a_pax_name_is_refused(void **state)
{
	static const char path[] = "12 path=a\0b\n", link[] = "18 linkpath=a\0bcd\n";

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf tar = { 0 };

		raw_header(&tar, "pax", 'x', i ? sizeof(link) - 1 : sizeof(path) - 1, "");
		raw_body(&tar, i ? link : path, i ? sizeof(link) - 1 : sizeof(path) - 1);
		raw_header(&tar, "cut", i ? '2' : '0', 0, i ? "x" : "");
		strbuf_add_zeros(&tar, 1024);
		assert_int_equal(read_all(strbuf_slice(&tar), 100, NULL, &err), ERROR_FORMAT);
		assert_contains(err.text, "NUL");
	}
}

static void test_damaged_pax_records_are_refused(void **state)
{
	static const char *const bad[] = {
		"5 path=a\n",    "99 path=a\n", "path=a\n",
		"11 pathabcd\n", "0 path=a\n",  "9 path=a\nx",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf tar = { 0 };

		raw_header(&tar, "pax", 'x', strlen(bad[i]), "");
		raw_body(&tar, bad[i], strlen(bad[i]));
		raw_header(&tar, "f", '0', 0, "");
		strbuf_add_zeros(&tar, 1024);
		assert_int_equal(read_all(strbuf_slice(&tar), SIZE_MAX, NULL, &err), ERROR_FORMAT);
	}
}

static void test_huge_headers_are_refused_in_little_memory(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf tar = { 0 };

		raw_header(&tar, "huge", "xLK"[i], UINT64_C(7) << 30, "");
		strbuf_add_zeros(&tar, 4096);
		assert_int_equal(read_all(strbuf_slice(&tar), SIZE_MAX, NULL, &err), ERROR_FORMAT);
	}
}

static void test_a_damaged_check_sum_is_refused(void **state)
{
	struct error err = { 0 };
	cleanup_strbuf struct strbuf tar = { 0 };

	(void)state;
	raw_header(&tar, "ok", '0', 0, "");
	raw_header(&tar, "bad", '0', 0, "");
	tar.data[512 + 1] = 'B';
	strbuf_add_zeros(&tar, 1024);
	assert_int_equal(read_all(strbuf_slice(&tar), SIZE_MAX, NULL, &err), ERROR_FORMAT);
}

/*
 * An archive may lack its end marker, so a cut between two entries is not seen here (a digest
 * sees it); every other one is.
 */
static void test_every_truncation_within_an_entry_is_refused(void **state)
{
	struct tar_entry entries[SAMPLE_MAX] = { 0 };
	struct slice content[SAMPLE_MAX] = { 0 };
	char *names[8] = { 0 };
	bool *boundary;
	size_t count, at = 0;
	cleanup_strbuf struct strbuf tar = { 0 };

	(void)state;
	write_sample(&tar, entries, &count, content, names);
	boundary = xcalloc(tar.len + 1, 1);
	for (size_t i = 0; i < count; i++) {
		boundary[at] = true;
		at += (size_t)written_size(&entries[i]);
		/* what fills the last block may be missing: umoci insert leaves it out */
		for (size_t pad = (512 - entries[i].size % 512) % 512; pad; pad--)
			boundary[at - pad] = true;
	}
	for (size_t len = 1; len < at; len++) {
		struct error err = { 0 };
		cleanup_free uint8_t *copy = xmemdup(tar.data, len);
		enum error_code code = read_all(slice_of(copy, len), SIZE_MAX, NULL, &err);

		if (code != (boundary[len] ? ERROR_NONE : ERROR_FORMAT))
			fail_msg("cut at %zu: code %d %s", len, code, err.text);
	}
	free(boundary);
	free_names(names);
}

static void test_errors_of_the_inner_stream_come_out_as_they_are(void **state)
{
	struct tar_entry entries[SAMPLE_MAX] = { 0 }, e;
	struct slice content[SAMPLE_MAX] = { 0 };
	char *names[8] = { 0 };
	size_t count;
	cleanup_strbuf struct strbuf tar = { 0 };

	(void)state;
	write_sample(&tar, entries, &count, content, names);
	for (size_t len = 0; len <= tar.len; len += 256) {
		struct error err = { 0 };
		cleanup_stream struct stream *s = test_cut(slice_of(tar.data, len));
		cleanup_tar_reader struct tar_reader *r = tar_read_open(s);
		int rc;

		while ((rc = tar_read_next(r, &e, &err)) > 0)
			;
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, ERROR_NETWORK);
		assert_string_equal(err.text, "line cut");
	}
	free_names(names);
}

static void test_the_padding_behind_the_end_is_read_too(void **state)
{
	struct error err = { 0 };
	struct tar_entry e;
	uint64_t seen = 0;
	cleanup_strbuf struct strbuf tar = { 0 };
	cleanup_stream struct stream *inner = NULL, *counted = NULL;
	cleanup_tar_reader struct tar_reader *r = NULL;

	(void)state;
	raw_header(&tar, "f", '0', 0, "");
	strbuf_add_zeros(&tar, 300000);
	inner = stream_memory(strbuf_slice(&tar));
	counted = stream_digest(inner, NULL, &seen);
	r = tar_read_open(counted);
	assert_int_equal(tar_read_next(r, &e, &err), 1);
	assert_int_equal(tar_read_next(r, &e, &err), 0);
	assert_int_equal(seen, tar.len);
}

static void test_header_offsets_are_those_of_the_first_header(void **state)
{
	struct tar_entry entries[SAMPLE_MAX] = { 0 }, e;
	struct slice content[SAMPLE_MAX] = { 0 };
	char *names[8] = { 0 };
	size_t count;
	uint64_t at = 0;
	cleanup_strbuf struct strbuf tar = { 0 };
	cleanup_stream struct stream *s = NULL;
	cleanup_tar_reader struct tar_reader *r = NULL;

	(void)state;
	write_sample(&tar, entries, &count, content, names);
	s = stream_memory(strbuf_slice(&tar));
	r = tar_read_open(s);
	for (size_t i = 0; i < count; i++) {
		struct error err = { 0 };

		assert_int_equal(tar_read_next(r, &e, &err), 1);
		assert_int_equal(tar_read_header_offset(r), at);
		at += written_size(&entries[i]);
	}
	free_names(names);
}

static void test_sparse_files_are_expanded(void **state)
{
	/* GNU.sparse 1.0: the map stands before the data: two pieces, 4 bytes at 0, 4 at 100000 */
	static const char pax[] = "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"
				  "25 GNU.sparse.name=holes\n30 GNU.sparse.realsize=100010\n";
	static const char map[] = "2\n0\n4\n100000\n4\n";
	struct error err = { 0 };
	struct tar_entry e;
	cleanup_strbuf struct strbuf tar = { 0 }, got = { 0 }, want = { 0 };
	cleanup_stream struct stream *s = NULL;
	cleanup_tar_reader struct tar_reader *r = NULL;

	(void)state;
	raw_header(&tar, "pax", 'x', sizeof(pax) - 1, "");
	raw_body(&tar, pax, sizeof(pax) - 1);
	raw_header(&tar, "GNUSparseFile.0/holes", '0', 512 + 8, "");
	raw_body(&tar, map, sizeof(map) - 1);
	raw_body(&tar, "headtail", 8);
	strbuf_add_zeros(&tar, 1024);
	strbuf_adds(&want, "head");
	strbuf_add_zeros(&want, 100000 - 4);
	strbuf_adds(&want, "tail");
	strbuf_add_zeros(&want, 6);
	s = test_dribble(strbuf_slice(&tar), 77);
	r = tar_read_open(s);
	assert_ok(tar_read_next(r, &e, &err), err);
	assert_string_equal(e.path, "holes");
	assert_int_equal(e.size, 100010);
	assert_ok(stream_read_all(tar_read_content(r), MIB, &got, &err), err);
	assert_true(slice_equal(strbuf_slice(&got), strbuf_slice(&want)));
	assert_int_equal(tar_read_next(r, &e, &err), 0);
}

static void test_what_is_no_tar_is_refused(void **state)
{
	(void)state;
	for (size_t len = 1; len < 2000; len += 111) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf noise = { 0 };

		test_noise(&noise, len, 3);
		assert_int_equal(read_all(strbuf_slice(&noise), SIZE_MAX, NULL, &err),
				 ERROR_FORMAT);
	}
}

static void test_an_archive_of_nothing_is_empty(void **state)
{
	(void)state;
	for (size_t len = 0; len <= 2048; len += 512) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf tar = { 0 };

		strbuf_add_zeros(&tar, len);
		assert_int_equal(read_all(strbuf_slice(&tar), SIZE_MAX, NULL, &err), ERROR_NONE);
	}
}

static void test_content_of_another_length_is_an_integrity_error(void **state)
{
	static const char *const contents[] = { "", "four", "sixsix" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(contents); i++) {
		struct error err = { 0 };
		struct tar_entry e = { .type = TAR_FILE, .path = "f", .link = "", .size = 5 };
		cleanup_strbuf struct strbuf tar = { 0 };
		cleanup_sink struct sink *sink = sink_memory(&tar);
		cleanup_stream struct stream *s = stream_memory(slice_str(contents[i]));

		assert_int_equal(tar_write_entry(sink, &e, i ? s : NULL, &err), -1);
		assert_int_equal(err.code, ERROR_INTEGRITY);
	}
}

static void test_what_a_header_cannot_hold_is_refused(void **state)
{
	static const struct tar_xattr bad = { "user.a=b", (const uint8_t *)"", 0 };
	static const struct tar_extras bad_name = { .xattrs = &bad, .xattr_count = 1 },
				       far_device = { .dev_major = 2097152 };
	struct tar_entry cases[] = {
		{ .type = TAR_FILE, .path = "f", .extras = &bad_name },
		{ .type = TAR_CHAR, .path = "f", .extras = &far_device },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf tar = { 0 };
		cleanup_sink struct sink *sink = sink_memory(&tar);

		assert_int_equal(tar_write_entry(sink, &cases[i], NULL, &err), -1);
		assert_int_equal(tar.len, 0);
	}
}

/* The 512 bytes of one plain header, field by field. */
static void test_a_header_is_these_bytes(void **state)
{
	static const struct {
		size_t at;
		const char *text;
		size_t len;
	} fields[] = {
		{ 0, "etc/hosts", 10 },  { 100, "0000644", 8 },      { 108, "0001750", 8 },
		{ 116, "0000144", 8 },   { 124, "00000000000", 12 }, { 136, "02263523000", 12 },
		{ 148, "011106\0 ", 8 }, { 156, "0\0", 2 },          { 257, "ustar\00000\0", 9 },
		{ 329, "0000000", 8 },   { 337, "0000000", 8 },
	};
	struct error err = { 0 };
	struct tar_entry e = { .type = TAR_FILE,
			       .path = "etc/hosts",
			       .link = "",
			       .mode = 0100644,
			       .uid = 1000,
			       .gid = 100,
			       .mtime = 315532800 };
	uint8_t want[512] = { 0 };
	cleanup_strbuf struct strbuf tar = { 0 };
	cleanup_sink struct sink *sink = sink_memory(&tar);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		memcpy(want + fields[i].at, fields[i].text, fields[i].len);
	assert_ok(tar_write_entry(sink, &e, NULL, &err), err);
	assert_int_equal(tar.len, 512);
	assert_memory_equal(tar.data, want, 512);
}

static void test_a_pax_header_is_these_bytes(void **state)
{
	static const char records[] = "41 SCHILY.xattr.security.capability=\1\0\0\2\n"
				      "15 gid=2097152\n"
				      "15 path=d/\xc3\xa9/f\n"
				      "15 uid=2097152\n";
	static const struct tar_xattr cap = { "security.capability", (const uint8_t *)"\1\0\0\2",
					      4 };
	const struct tar_extras extras = { .xattrs = &cap, .xattr_count = 1 };
	struct error err = { 0 };
	struct tar_entry e = { .type = TAR_FILE,
			       .path = "d/\xc3\xa9/f",
			       .link = "",
			       .uid = 2097152,
			       .gid = 2097152,
			       .extras = &extras };
	cleanup_strbuf struct strbuf tar = { 0 };
	cleanup_sink struct sink *sink = sink_memory(&tar);

	(void)state;
	assert_ok(tar_write_entry(sink, &e, NULL, &err), err);
	assert_int_equal(tar.len, 3 * 512);
	assert_string_equal(tar.data, "d/__/PaxHeader/f");
	assert_int_equal(tar.data[156], 'x');
	assert_memory_equal(tar.data + 512, records, sizeof(records) - 1);
	assert_string_equal(tar.data + 1024, "d/__/f");
}

/* Change this digest only together with the assembly version: every layer's digest moves. */
static void test_the_sample_has_this_digest(void **state)
{
	struct tar_entry entries[SAMPLE_MAX] = { 0 };
	struct slice content[SAMPLE_MAX] = { 0 };
	char *names[8] = { 0 }, text[DIGEST_TEXT_MAX];
	size_t count;
	struct digest d;
	cleanup_strbuf struct strbuf tar = { 0 };

	(void)state;
	write_sample(&tar, entries, &count, content, names);
	d = digest_of(strbuf_slice(&tar));
	assert_string_equal(
		digest_text(&d, text),
		"sha256:e8c2034ede64a7c92452d2c1dfb9e1d873c9e56b351fb3a0cbf7e1660edbf2f3");
	free_names(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_written_is_read_back),
		cmocka_unit_test(test_sizes_are_known_before_writing),
		cmocka_unit_test(test_unsafe_names_are_refused),
		cmocka_unit_test(test_unsafe_names_can_be_told_instead),
		cmocka_unit_test(test_leading_slashes_and_dots_are_cut_off),
		cmocka_unit_test(test_names_of_more_than_4096_bytes_are_refused),
		cmocka_unit_test(test_a_nul_in_a_pax_name_is_refused),
		cmocka_unit_test(test_damaged_pax_records_are_refused),
		cmocka_unit_test(test_huge_headers_are_refused_in_little_memory),
		cmocka_unit_test(test_a_damaged_check_sum_is_refused),
		cmocka_unit_test(test_every_truncation_within_an_entry_is_refused),
		cmocka_unit_test(test_errors_of_the_inner_stream_come_out_as_they_are),
		cmocka_unit_test(test_the_padding_behind_the_end_is_read_too),
		cmocka_unit_test(test_header_offsets_are_those_of_the_first_header),
		cmocka_unit_test(test_sparse_files_are_expanded),
		cmocka_unit_test(test_what_is_no_tar_is_refused),
		cmocka_unit_test(test_an_archive_of_nothing_is_empty),
		cmocka_unit_test(test_content_of_another_length_is_an_integrity_error),
		cmocka_unit_test(test_what_a_header_cannot_hold_is_refused),
		cmocka_unit_test(test_a_header_is_these_bytes),
		cmocka_unit_test(test_a_pax_header_is_these_bytes),
		cmocka_unit_test(test_the_sample_has_this_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
