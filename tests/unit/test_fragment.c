#include "tests/support/test.h"

#include "builder/fragment.h"
#include "formats/zip_read.h"
#include "tests/support/zip.h"

enum { FILES = 36 };

struct bench {
	char *dir;
	struct store *store;
	struct component *c;
	struct digest *identities;
	struct layer_entries entries;
};

static void bench_release(struct bench *b)
{
	component_free(b->c);
	vec_release(&b->entries);
	free(b->identities);
	store_close(b->store);
	test_dir_free(b->dir);
}

/* Text that compresses, different for each file. */
static void add_file(struct bench *b, const char *path, size_t bytes, unsigned seed)
{
	cleanup_strbuf struct strbuf text = { 0 };

	while (text.len < bytes)
		strbuf_addf(&text, "%u %zu %s\n", seed++, text.len, path);
	component_add_text(b->c, path, 0644, slice_of(text.data, bytes));
}

static void push_all(struct bench *b)
{
	b->identities = xcalloc(b->c->entries.len + 1, sizeof(*b->identities));
	for (size_t i = 0; i < b->c->entries.len; i++) {
		const struct component_entry *e = &b->c->entries.items[i];
		struct layer_entry *l = vec_add(&b->entries);

		if (e->content.kind == CONTENT_MEMORY)
			b->identities[i] = digest_of(e->content.memory);
		l->tar = &e->tar;
		l->content = &e->content;
		l->identity = b->identities[i].bytes;
	}
}

static void open_bench(struct bench *b)
{
	b->dir = test_dir();
	b->store = store_open(b->dir, &(struct error){ 0 });
	b->c = component_new(COMPONENT_TREE, "t", "");
}

/* Files of 100 KiB and one that is big; `extra` adds a small one in between. */
static void fill(struct bench *b, bool extra)
{
	open_bench(b);
	for (unsigned i = 0; i < FILES; i++) {
		cleanup_free char *path = xasprintf("usr/share/file%02u", i);

		if (extra && i == FILES / 2)
			component_add_text(b->c, "usr/share/file29a", 0644, slice_str("more"));
		add_file(b, path, 100 * 1024, i * 1000);
	}
	add_file(b, "usr/share/large", FRAGMENT_BIG + 12345, 7);
	push_all(b);
}

static void cut(const struct bench *b, enum compression how, struct fragments *out)
{
	fragments_cut(&b->entries, &(struct layer_options){ how, LEVEL_DEFAULT }, out);
}

static void write_layer(const struct bench *b, struct store *store, enum compression how,
			unsigned threads, struct layer *out)
{
	cleanup_pool struct pool *pool = pool_new(threads);
	struct error err = { 0 };

	assert_ok(layer_write(store, &b->entries, &(struct layer_options){ how, LEVEL_DEFAULT },
			      pool, out, &err),
		  err);
}

static bool has_key(const struct fragments *f, const struct digest *key)
{
	for (size_t i = 0; i < f->len; i++) {
		if (digest_equal(&f->items[i].key, key))
			return true;
	}
	return false;
}

static void test_one_file_more_changes_one_fragment(void **state)
{
	cleanup(bench_release) struct bench a = { 0 }, b = { 0 };
	struct fragments before = { 0 }, after = { 0 };
	size_t kept = 0;

	(void)state;
	fill(&a, false);
	fill(&b, true);
	cut(&a, COMPRESSION_GZIP, &before);
	cut(&b, COMPRESSION_GZIP, &after);
	assert_true(before.len >= 3);
	for (size_t i = 0; i < after.len; i++)
		kept += has_key(&before, &after.items[i].key);
	assert_true(kept + 1 >= before.len);
	vec_release(&before);
	vec_release(&after);
}

static void test_fragments_cover_all_entries_in_order(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	struct fragments f = { 0 };
	size_t at = 0;

	(void)state;
	fill(&b, true);
	cut(&b, COMPRESSION_ZSTD, &f);
	for (size_t i = 0; i < f.len; i++) {
		assert_int_equal(f.items[i].from, at);
		assert_true(f.items[i].to > at);
		at = f.items[i].to;
	}
	assert_int_equal(at, b.entries.len);
	vec_release(&f);
}

static void test_a_big_file_stands_alone_at_the_fast_level(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	struct fragments f = { 0 };
	const struct fragment *last;

	(void)state;
	fill(&b, false);
	cut(&b, COMPRESSION_GZIP, &f);
	last = &f.items[f.len - 1];
	assert_int_equal(last->to - last->from, 1);
	assert_int_equal(last->level, LEVEL_FAST);
	assert_int_equal(f.items[0].level, LEVEL_DEFAULT);
	vec_release(&f);
}

/* What was taken from a stored layer has the bytes that compressing it again gives. */
static void reuse(enum compression how)
{
	cleanup(bench_release) struct bench first = { 0 }, second = { 0 }, fresh = { 0 };
	struct layer ignored, taken, made;
	struct fragment_place place;
	struct fragments f = { 0 };

	fill(&first, false);
	fill(&second, true);
	fill(&fresh, true);
	write_layer(&first, first.store, how, 2, &ignored);
	cut(&second, how, &f);
	assert_true(fragment_recall(first.store, &f.items[0].key, &place));
	write_layer(&second, first.store, how, 3, &taken);
	write_layer(&fresh, fresh.store, how, 1, &made);
	assert_true(digest_equal(&taken.digest, &made.digest));
	assert_true(digest_equal(&taken.diff_id, &made.diff_id));
	assert_int_equal(taken.size, made.size);
	vec_release(&f);
}

static void test_what_is_taken_from_a_layer_has_the_bytes_of_what_is_compressed(void **state)
{
	(void)state;
	reuse(COMPRESSION_GZIP);
	reuse(COMPRESSION_ZSTD);
}

static void spoil(struct store *store, const struct digest *digest, off_t at)
{
	struct error err = { 0 };
	cleanup_free char *name = NULL;
	cleanup_fd int fd = -1;
	int dirfd;

	assert_ok(store_locate(store, digest, &dirfd, &name, &err), err);
	assert_int_equal(fchmodat(dirfd, name, 0644, 0), 0);
	fd = openat(dirfd, name, O_WRONLY);
	assert_int_equal(pwrite(fd, "damage!!", 8, at), 8);
}

static void test_a_damaged_stored_layer_is_not_taken_from(void **state)
{
	cleanup(bench_release) struct bench first = { 0 }, second = { 0 }, fresh = { 0 };
	struct layer old, taken, made;

	(void)state;
	fill(&first, false);
	fill(&second, true);
	fill(&fresh, true);
	write_layer(&first, first.store, COMPRESSION_GZIP, 2, &old);
	spoil(first.store, &old.digest, (off_t)old.size / 2);
	write_layer(&second, first.store, COMPRESSION_GZIP, 2, &taken);
	write_layer(&fresh, fresh.store, COMPRESSION_GZIP, 2, &made);
	assert_true(digest_equal(&taken.digest, &made.digest));
	assert_false(store_has(first.store, &old.digest, old.size));
}

/* A wheel's file of 100 KiB as the only entry. */
static void fill_zip(struct bench *b, const struct zip_spec *spec)
{
	cleanup_zip_maker struct zip_maker m = { 0 };
	cleanup_free char *file = NULL;
	struct error err = { 0 };
	struct component_entry *e;
	struct zip zip;

	open_bench(b);
	file = fs_join(b->dir, "x.whl");
	zip_add(&m, spec);
	zip_end(&m, false, "");
	assert_ok(fs_write(AT_FDCWD, file, strbuf_slice(&m.file), 0644, &err), err);
	b->c->fd = open(file, O_RDONLY | O_CLOEXEC);
	assert_ok(zip_read(b->c->fd, "x.whl", &b->c->arena, &zip, &err), err);
	b->c->key = digest_of(strbuf_slice(&m.file));
	e = component_add(b->c, &(struct tar_entry){ .type = TAR_FILE,
						     .path = zip.entries[0].path,
						     .size = zip.entries[0].size,
						     .mode = 0644 });
	e->content = (struct content){
		.kind = CONTENT_ZIP, .fd = b->c->fd, .zip = &zip.entries[0], .archive = &b->c->key
	};
	push_all(b);
	b->identities[0] = digest_of(slice_str("content"));
}

static char *long_text(void)
{
	cleanup_strbuf struct strbuf text = { 0 };

	for (unsigned i = 0; text.len < 100000; i++)
		strbuf_addf(&text, "line %u of a library\n", i * i);
	return xstrdup(strbuf_text(&text));
}

static void read_layer(struct store *store, const struct layer *l, struct strbuf *out)
{
	struct error err = { 0 };
	cleanup_stream struct stream *blob = store_read(store, &l->digest, l->size, &err);
	cleanup_stream struct stream *plain = decompress_stream(blob, COMPRESSION_GZIP);

	assert_ok(stream_read_all(plain, 16 * MIB, out, &err), err);
}

static void test_a_file_of_a_wheel_keeps_its_deflate_stream(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	cleanup_free char *text = long_text();
	cleanup_strbuf struct strbuf tar = { 0 }, blob = { 0 };
	cleanup_free uint8_t *stream = NULL;
	const struct zip_entry *zip;
	struct error err = { 0 };
	struct digest got;
	struct layer l;

	(void)state;
	fill_zip(&b, &(struct zip_spec){ .name = "lib/a.so", .text = text, .deflated = true });
	write_layer(&b, b.store, COMPRESSION_GZIP, 2, &l);
	read_layer(b.store, &l, &tar);
	got = digest_of(strbuf_slice(&tar));
	assert_true(digest_equal(&got, &l.diff_id));
	assert_memory_equal(tar.data + 512, text, strlen(text));
	zip = b.entries.items[0].content->zip;
	assert_ok(store_get_bytes(b.store, &l.digest, MIB, &blob, &err), err);
	stream = xmalloc((size_t)zip->compressed_size);
	assert_int_equal(pread(b.c->fd, stream, (size_t)zip->compressed_size,
			       (off_t)zip->data_offset),
			 zip->compressed_size);
	assert_non_null(memmem(blob.data, blob.len, stream, (size_t)zip->compressed_size));
}

static void test_a_wheel_that_lies_is_refused_by_file_name(void **state)
{
	cleanup_free char *text = long_text();
	const struct zip_spec lies[] = {
		{ .name = "lib/a.so", .text = text, .deflated = true, .crc_xor = 1 },
		{ .name = "lib/a.so", .text = text, .deflated = true, .size_plus = 1 },
		{ .name = "lib/a.so", .text = text, .deflated = true, .size_plus = -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		cleanup(bench_release) struct bench b = { 0 };
		struct error err = { 0 };
		struct layer l;

		fill_zip(&b, &lies[i]);
		assert_int_equal(
			layer_write(b.store, &b.entries,
				    &(struct layer_options){ COMPRESSION_GZIP, LEVEL_DEFAULT },
				    NULL, &l, &err),
			-1);
		assert_contains(err.text, "/lib/a.so");
	}
}

static void test_a_stored_file_of_a_wheel_is_compressed(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	cleanup_free char *text = long_text();
	cleanup_strbuf struct strbuf tar = { 0 };
	struct fragments f = { 0 };
	struct layer l;

	(void)state;
	fill_zip(&b, &(struct zip_spec){ .name = "lib/a.so", .text = text });
	cut(&b, COMPRESSION_GZIP, &f);
	assert_false(f.items[0].spliced);
	write_layer(&b, b.store, COMPRESSION_GZIP, 2, &l);
	read_layer(b.store, &l, &tar);
	assert_memory_equal(tar.data + 512, text, strlen(text));
	assert_true(l.size < strlen(text));
	vec_release(&f);
}

static void test_two_wheels_with_one_content_have_different_keys(void **state)
{
	cleanup(bench_release) struct bench a = { 0 }, b = { 0 };
	cleanup_free char *text = long_text();
	struct layer_options how = { COMPRESSION_GZIP, LEVEL_DEFAULT };
	struct digest x, y;

	(void)state;
	fill_zip(&a, &(struct zip_spec){ .name = "lib/a.so", .text = text, .deflated = true });
	fill_zip(&b, &(struct zip_spec){
			     .name = "lib/a.so", .text = text, .deflated = true, .mode = 0100755 });
	x = layer_key(&a.entries, &how);
	y = layer_key(&b.entries, &how);
	assert_false(digest_equal(&x, &y));
	how.compression = COMPRESSION_ZSTD; /* nothing is spliced: the content settles it */
	x = layer_key(&a.entries, &how);
	y = layer_key(&b.entries, &how);
	assert_true(digest_equal(&x, &y));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_file_more_changes_one_fragment),
		cmocka_unit_test(test_fragments_cover_all_entries_in_order),
		cmocka_unit_test(test_a_big_file_stands_alone_at_the_fast_level),
		cmocka_unit_test(
			test_what_is_taken_from_a_layer_has_the_bytes_of_what_is_compressed),
		cmocka_unit_test(test_a_damaged_stored_layer_is_not_taken_from),
		cmocka_unit_test(test_a_file_of_a_wheel_keeps_its_deflate_stream),
		cmocka_unit_test(test_a_wheel_that_lies_is_refused_by_file_name),
		cmocka_unit_test(test_a_stored_file_of_a_wheel_is_compressed),
		cmocka_unit_test(test_two_wheels_with_one_content_have_different_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
