#include "tests/support/test.h"

#include "oci/reference.h"

#define HEX "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void test_references_are_completed(void **state)
{
	static const struct {
		const char *text, *means;
	} cases[] = {
		{ "debian", "docker.io/library/debian:latest" },
		{ "debian:12", "docker.io/library/debian:12" },
		{ "nvidia/cuda:12.4.1-base-ubuntu22.04",
		  "docker.io/nvidia/cuda:12.4.1-base-ubuntu22.04" },
		{ "index.docker.io/debian", "docker.io/library/debian:latest" },
		{ "localhost/app", "localhost/app:latest" },
		{ "localhost:5000/app:v1", "localhost:5000/app:v1" },
		{ "example.org/a/b/c__d/e--f.g_h", "example.org/a/b/c__d/e--f.g_h:latest" },
		{ "[::1]:5000/app", "[::1]:5000/app:latest" },
		{ "Upper/app", "Upper/app:latest" },
		{ "app@sha256:" HEX, "docker.io/library/app@sha256:" HEX },
		{ "example.org/app:v1@sha256:" HEX, "example.org/app:v1@sha256:" HEX },
		{ "a:_Tag.1-x", "docker.io/library/a:_Tag.1-x" },
	};
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };
		struct reference r;

		assert_ok(reference_parse(cases[i].text, &arena, &r, &err), err);
		assert_string_equal(reference_text(&r, &arena), cases[i].means);
	}
}

static void test_bad_references_are_the_users_mistake(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "empty" },
		{ "Debian", "repository 'Debian'" },
		{ "a//b", "repository" },
		{ "a/", "repository" },
		{ "/a", "repository" },
		{ "a_-b", "repository" },
		{ "a___b", "repository" },
		{ "-a", "repository" },
		{ "a.", "repository" },
		{ "a..b", "repository" },
		{ "a b", "repository" },
		{ "app:", "tag ''" },
		{ "app:.x", "tag '.x'" },
		{ "app:a:b", "tag 'a:b'" },
		{ "app@", "digest" },
		{ "app@sha256:12", "digest" },
		{ "app@sha256:" HEX "@sha256:" HEX, "digest" },
		{ "-x.org/app", "registry '-x.org'" },
		{ "example.org:0/app", "registry" },
		{ "example.org:99999/app", "registry" },
		{ "example.org:/app", "registry" },
		{ "[zz]:1/app", "registry" },
		{ HEX, "image id" },
		{ "http://example.org/app", "'" },
	};
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };
		struct reference r;

		assert_int_equal(reference_parse(cases[i].text, &arena, &r, &err), -1);
		assert_int_equal(err.code, ERROR_USAGE);
		assert_contains(err.text, cases[i].says);
	}
}

static void test_names_and_tags_have_limits(void **state)
{
	char name[300], tag[200];
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct reference r;

	(void)state;
	memset(name, 'a', sizeof(name));
	name[255] = '\0';
	assert_ok(reference_parse(name, &arena, &r, &err), err);
	name[255] = 'a';
	name[256] = '\0';
	assert_int_equal(reference_parse(name, &arena, &r, &err), -1);
	memset(tag, 'a', sizeof(tag));
	tag[128] = '\0';
	assert_true(reference_tag_valid(tag));
	tag[128] = 'a';
	tag[129] = '\0';
	assert_false(reference_tag_valid(tag));
	assert_false(reference_tag_valid(""));
}

static void test_prefixes_name_the_transport(void **state)
{
	static const struct {
		const char *text;
		enum transport transport;
		const char *path, *tag;
	} cases[] = {
		{ "oci:/nowhere/dir", TRANSPORT_OCI, "/nowhere/dir", NULL },
		{ "oci:/nowhere/dir:v1", TRANSPORT_OCI, "/nowhere/dir", "v1" },
		{ "oci:/nowhere/a:b/c", TRANSPORT_OCI, "/nowhere/a:b/c", NULL },
		{ "oci:/nowhere/a:b/c:v2", TRANSPORT_OCI, "/nowhere/a:b/c", "v2" },
		{ "oci-archive:/nowhere/f.tar:v1", TRANSPORT_OCI_ARCHIVE, "/nowhere/f.tar", "v1" },
		{ "docker-archive:/nowhere/f.tar", TRANSPORT_DOCKER_ARCHIVE, "/nowhere/f.tar",
		  NULL },
		{ "rootfs:/nowhere:x", TRANSPORT_ROOTFS, "/nowhere:x", NULL },
		{ "-", TRANSPORT_STDIN, NULL, NULL },
	};
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };
		struct image_name n;

		assert_ok(image_name_parse(cases[i].text, &arena, &n, &err), err);
		assert_int_equal(n.transport, cases[i].transport);
		assert_string_equal(n.text, cases[i].text);
		assert_true(cases[i].path ? str_equal(n.path, cases[i].path) : !n.path);
		assert_true(cases[i].tag ? n.tag && str_equal(n.tag, cases[i].tag) : !n.tag);
	}
}

static void test_registry_and_engine_names_hold_a_reference(void **state)
{
	static const struct {
		const char *text;
		enum transport transport;
	} cases[] = {
		{ "docker://example.org/app:v1", TRANSPORT_DOCKER },
		{ "docker-daemon:example.org/app:v1", TRANSPORT_DOCKER_DAEMON },
		{ "containers-storage:example.org/app:v1", TRANSPORT_CONTAINERS_STORAGE },
		{ "example.org/app:v1", TRANSPORT_DOCKER },
	};
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };
		struct image_name n;

		assert_ok(image_name_parse(cases[i].text, &arena, &n, &err), err);
		assert_int_equal(n.transport, cases[i].transport);
		assert_string_equal(n.ref.registry, "example.org");
		assert_string_equal(n.ref.tag, "v1");
	}
}

static void test_what_exists_is_recognised_by_its_content(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *layout = fs_join(dir, "lay:out"), *root = fs_join(dir, "root");
	cleanup_free char *mark = fs_join(layout, "oci-layout"), *file = fs_join(dir, "f.tar");
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct image_name n;

	(void)state;
	assert_ok(fs_mkdirs(AT_FDCWD, layout, &err), err);
	assert_ok(fs_mkdirs(AT_FDCWD, root, &err), err);
	assert_ok(fs_write(AT_FDCWD, mark, slice_str("{}"), 0644, &err), err);
	assert_ok(fs_write(AT_FDCWD, file, slice_str("x"), 0644, &err), err);

	assert_ok(image_name_parse(layout, &arena, &n, &err), err);
	assert_int_equal(n.transport, TRANSPORT_OCI);
	assert_string_equal(n.path, layout);
	assert_null(n.tag);
	assert_ok(image_name_parse(arena_printf(&arena, "%s:v1", layout), &arena, &n, &err), err);
	assert_string_equal(n.path, layout);
	assert_string_equal(n.tag, "v1");
	assert_ok(image_name_parse(root, &arena, &n, &err), err);
	assert_int_equal(n.transport, TRANSPORT_ROOTFS);
	assert_ok(image_name_parse(arena_printf(&arena, "%s:example.org/app:v1", file), &arena, &n,
				   &err),
		  err);
	assert_int_equal(n.transport, TRANSPORT_OCI_ARCHIVE);
	assert_string_equal(n.path, file);
	assert_string_equal(n.tag, "example.org/app:v1");
}

static void test_missing_paths_and_empty_names_are_told(void **state)
{
	static const struct {
		const char *text;
		enum error_code code;
	} cases[] = {
		{ "", ERROR_USAGE },
		{ "oci:", ERROR_USAGE },
		{ "docker://", ERROR_USAGE },
		{ "docker://A", ERROR_USAGE },
		{ "./nothing-here", ERROR_NOT_FOUND },
		{ "/nothing/here", ERROR_NOT_FOUND },
		{ "Not A Name", ERROR_USAGE },
	};
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };
		struct image_name n;

		assert_int_equal(image_name_parse(cases[i].text, &arena, &n, &err), -1);
		assert_int_equal(err.code, cases[i].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_references_are_completed),
		cmocka_unit_test(test_bad_references_are_the_users_mistake),
		cmocka_unit_test(test_names_and_tags_have_limits),
		cmocka_unit_test(test_prefixes_name_the_transport),
		cmocka_unit_test(test_registry_and_engine_names_hold_a_reference),
		cmocka_unit_test(test_what_exists_is_recognised_by_its_content),
		cmocka_unit_test(test_missing_paths_and_empty_names_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
