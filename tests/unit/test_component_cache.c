#include "tests/support/test.h"

#include "builder/component_cache.h"

struct bench {
	char *dir;
	struct store *store;
};

static void open_bench(struct bench *b)
{
	b->dir = test_dir();
	b->store = store_open(b->dir, &(struct error){ 0 });
	assert_non_null(b->store);
}

static void bench_release(struct bench *b)
{
	store_close(b->store);
	test_dir_free(b->dir);
}

static const uint8_t caps[] = { 1, 0, 2 };
static const struct tar_xattr xattr = { "security.capability", caps, sizeof(caps) };
const struct tar_extras extras = { .xattrs = &xattr, .xattr_count = 1 };

/* A package with a file in its scratch, a link, a script, an owner. */
static struct component *make(struct bench *b)
{
	struct component *c = component_new(COMPONENT_DEB, "tool", "1.2-3");
	struct error err = { 0 };
	struct component_entry *e;

	c->key = digest_of(slice_str("tool"));
	c->arch = "amd64";
	c->control = slice_str("Package: tool\n");
	c->fd = store_scratch(b->store, &err);
	assert_ok(c->fd, err);
	assert_int_equal(write(c->fd, "..content", 9), 9);
	component_add_dir(c, "usr", 0755);
	e = component_add(c, &(struct tar_entry){ .type = TAR_FILE,
						  .path = "usr/tool",
						  .size = 7,
						  .mode = 04755,
						  .uid = 7,
						  .mtime = 1234,
						  .extras = &extras });
	e->content = (struct content){ .kind = CONTENT_RANGE, .fd = c->fd, .offset = 2 };
	component_add_symlink(c, "tool", "usr/tool");
	component_add_text(c, "usr/made", 0644, slice_str("made"));
	vec_push(&c->scripts, ((struct component_script){ "postinst", "exit 0", 6, NULL }));
	vec_push(&c->owners, ((struct component_owner){ 1, "daemon", "root" }));
	return c;
}

static void keep(struct bench *b)
{
	cleanup_component struct component *c = make(b);
	struct error err = { 0 };

	assert_ok(component_keep(b->store, c, &err), err);
}

static struct component *recall(struct bench *b)
{
	struct digest key = digest_of(slice_str("tool"));

	return component_recall(b->store, COMPONENT_DEB, &key);
}

static void read_entry(const struct component_entry *e, struct strbuf *out)
{
	struct error err = { 0 };
	cleanup_stream struct stream *s = content_open(&e->content, e->tar.size, &err);

	assert_non_null(s);
	assert_ok(stream_read_all(s, MIB, out, &err), err);
}

static void test_a_kept_package_comes_back_whole(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	cleanup_component struct component *c = NULL;
	cleanup_strbuf struct strbuf text = { 0 };
	const struct component_entry *e;

	(void)state;
	open_bench(&b);
	keep(&b);
	c = recall(&b);
	assert_non_null(c);
	assert_string_equal(c->name, "tool");
	assert_string_equal(c->version, "1.2-3");
	assert_int_equal(c->entries.len, 4);
	e = &c->entries.items[1];
	assert_string_equal(e->tar.path, "usr/tool");
	assert_int_equal(e->tar.mode, 04755);
	assert_int_equal(e->tar.uid, 7);
	assert_int_equal(e->tar.mtime, 1234);
	assert_string_equal(e->tar.extras->xattrs[0].name, xattr.name);
	assert_memory_equal(e->tar.extras->xattrs[0].value, caps, sizeof(caps));
	read_entry(e, &text);
	assert_string_equal(strbuf_text(&text), "content");
	assert_string_equal(c->entries.items[2].tar.link, "usr/tool");
	strbuf_truncate(&text, 0);
	read_entry(&c->entries.items[3], &text);
	assert_string_equal(strbuf_text(&text), "made");
	assert_string_equal(c->scripts.items[0].text, "exit 0");
	assert_null(c->scripts.items[0].interpreter);
	assert_string_equal(c->owners.items[0].user, "daemon");
	assert_memory_equal(c->control.data, "Package: tool\n", c->control.len);
}

static void test_what_was_never_kept_is_not_there(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };

	(void)state;
	open_bench(&b);
	assert_null(recall(&b));
}

static char *cache_file(struct bench *b)
{
	char hex[DIGEST_HEX_MAX];
	struct digest key = digest_of(slice_str("tool"));

	return xasprintf("%s/keys/unpacked/%s", b->dir, digest_hex(&key, hex));
}

static void test_damage_in_the_listing_makes_it_nothing(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	cleanup_strbuf struct strbuf whole = { 0 };
	cleanup_free char *file = NULL;
	struct error err = { 0 };

	(void)state;
	open_bench(&b);
	keep(&b);
	file = cache_file(&b);
	assert_ok(fs_read(AT_FDCWD, file, MIB, &whole, &err), err);
	for (size_t i = 9; i + 100 < whole.len; i++) { /* behind the content, before the zeros */
		cleanup_component struct component *c = NULL;

		whole.data[i] ^= 1;
		assert_ok(fs_write(AT_FDCWD, file, strbuf_slice(&whole), 0444, &err), err);
		whole.data[i] ^= 1;
		c = recall(&b);
		assert_null(c);
	}
	for (size_t len = 0; len < whole.len; len += 7) {
		cleanup_component struct component *c = NULL;

		assert_ok(fs_write(AT_FDCWD, file, slice_of(whole.data, len), 0444, &err), err);
		c = recall(&b);
		assert_null(c);
	}
}

static void test_damage_in_a_file_shows_when_it_is_read(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	cleanup_component struct component *c = NULL;
	cleanup_strbuf struct strbuf whole = { 0 }, text = { 0 };
	cleanup_stream struct stream *s = NULL;
	cleanup_free char *file = NULL;
	struct error err = { 0 };

	(void)state;
	open_bench(&b);
	keep(&b);
	file = cache_file(&b);
	assert_ok(fs_read(AT_FDCWD, file, MIB, &whole, &err), err);
	whole.data[3] ^= 1;
	assert_ok(fs_write(AT_FDCWD, file, strbuf_slice(&whole), 0444, &err), err);
	c = recall(&b);
	assert_non_null(c);
	s = content_open(&c->entries.items[1].content, 7, &err);
	assert_int_equal(stream_read_all(s, MIB, &text, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_kept_package_comes_back_whole),
		cmocka_unit_test(test_what_was_never_kept_is_not_there),
		cmocka_unit_test(test_damage_in_the_listing_makes_it_nothing),
		cmocka_unit_test(test_damage_in_a_file_shows_when_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
