#include "tests/support/test.h"

#include "base/digest.h"
#include "formats/tar_read.h"
#include "formats/tar_write.h"
#include "tests/support/bytes.h"

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

/* One of each kind, with values at and beyond what ustar fields hold. */
static size_t sample(struct tar_entry *out, struct slice *content, char **names)
{
	size_t n = 0;

	names[0] = repeat("d/", 40);
	names[1] = repeat("long-name-", 10); /* 100: fits */
	names[2] = repeat("long-name-", 11); /* 110: does not split */
	names[3] = repeat("p/", 127);        /* 254 */
	names[4] = xasprintf("%s%s", names[3], names[1]); /* too long in both parts */
	names[5] = xasprintf("%s%s", names[0], names[1]); /* splits */
	names[0][strlen(names[0]) - 1] = '\0';
	out[n++] = (struct tar_entry){ .type = TAR_DIR, .path = "etc", .mode = 0755, .mtime = 315532800 };
	out[n] = (struct tar_entry){ .type = TAR_FILE, .path = "etc/hosts", .mode = 04755, .size = 5,
				     .uid = 2097151, .gid = 2097152, .mtime = 1700000000 };
	content[n++] = slice_str("hello");
	out[n++] = (struct tar_entry){ .type = TAR_FILE, .path = "empty", .uid = 4294967294 };
	out[n++] = (struct tar_entry){ .type = TAR_SYMLINK, .path = "etc/link", .link = "../../x/..",
				       .mode = 0777 };
	out[n++] = (struct tar_entry){ .type = TAR_SYMLINK, .path = "etc/far", .link = names[2],
				       .mode = 0777 };
	out[n++] = (struct tar_entry){ .type = TAR_HARDLINK, .path = "etc/same", .link = "etc/hosts",
				       .mode = 04755 };
	out[n++] = (struct tar_entry){ .type = TAR_DIR, .path = names[0], .mode = 01777 };
	out[n++] = (struct tar_entry){ .type = TAR_DIR, .path = names[1], .mode = 0755 };
	out[n] = (struct tar_entry){ .type = TAR_FILE, .path = names[2], .mode = 0644, .size = 512 };
	n++;
	out[n++] = (struct tar_entry){ .type = TAR_FILE, .path = names[4], .mode = 0644 };
	out[n++] = (struct tar_entry){ .type = TAR_FILE, .path = names[5], .mode = 0600 };
	out[n++] = (struct tar_entry){ .type = TAR_FILE, .path = "usr/caf\xc3\xa9/\xe2\x82\xac",
				       .mode = 0644, .mtime = 1 };
	out[n++] = (struct tar_entry){ .type = TAR_FILE, .path = "raw/\xff\xfe", .mode = 0644 };
	out[n++] = (struct tar_entry){ .type = TAR_SYMLINK, .path = "l", .link = "\xc3\xa9",
				       .mode = 0777 };
	out[n++] = (struct tar_entry){ .type = TAR_FILE, .path = "ping", .mode = 0755,
				       .xattrs = xattrs, .xattr_count = 2 };
	out[n++] = (struct tar_entry){ .type = TAR_CHAR, .path = "dev/null", .mode = 0666,
				       .dev_major = 1, .dev_minor = 3 };
	out[n++] = (struct tar_entry){ .type = TAR_BLOCK, .path = "dev/sda", .mode = 0660,
				       .dev_major = 8, .dev_minor = 1048575 };
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
	assert_string_equal(a->path, b->path);
	assert_string_equal(a->link ? a->link : "", b->link);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->mode, b->mode);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->gid, b->gid);
	assert_int_equal(a->mtime, b->mtime);
	assert_int_equal(a->dev_major, b->dev_major);
	assert_int_equal(a->dev_minor, b->dev_minor);
	assert_int_equal(a->xattr_count, b->xattr_count);
	for (size_t i = 0; i < a->xattr_count; i++) {
		bool found = false;

		for (size_t k = 0; k < b->xattr_count; k++)
			found |= str_equal(a->xattrs[i].name, b->xattrs[k].name) &&
				 slice_equal(slice_of(a->xattrs[i].value, a->xattrs[i].len),
					     slice_of(b->xattrs[k].value, b->xattrs[k].len));
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
		sum += tar_write_size(&entries[i]);
	assert_int_equal(sum, tar.len);
	free_names(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_written_is_read_back),
		cmocka_unit_test(test_sizes_are_known_before_writing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
