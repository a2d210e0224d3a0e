#include "tests/support/test.h"

#include <sys/stat.h>

#include "registry/credential_store.h"

struct fixture {
	char *dir, *file;
};

static int begin(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = test_dir();
	f->file = fs_join(f->dir, "auth.json");
	*state = f;
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	test_dir_free(f->dir);
	free(f->file);
	free(f);
	return 0;
}

static void put(const struct fixture *f, const char *text)
{
	struct error err = { 0 };

	assert_ok(fs_write(AT_FDCWD, f->file, slice_str(text), 0644, &err), err);
}

static char *content(const struct fixture *f)
{
	struct strbuf text = { 0 };
	struct error err = { 0 };

	assert_ok(fs_read(AT_FDCWD, f->file, 1 << 20, &text, &err), err);
	return strbuf_steal(&text);
}

static int store(const struct fixture *f, const char *registry, struct error *err)
{
	char user[] = "joe", secret[] = "s3cret";
	struct credential c = { .kind = CREDENTIAL_PASSWORD, .username = user, .secret = secret };
	cleanup_free char *where = NULL;

	return credential_store(f->file, registry, &c, &where, err);
}

static void test_what_is_stored_is_found(void **state)
{
	struct fixture *f = *state;
	struct credential_options options = { .auth_file = f->file };
	cleanup_credential struct credential found = { 0 };
	struct error err = { 0 };
	struct stat st;

	assert_ok(store(f, "h.example:5000", &err), err);
	assert_int_equal(stat(f->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_ok(credential_find(&options, "h.example:5000", "a", &found, &err), err);
	assert_string_equal(found.username, "joe");
	assert_string_equal(found.secret, "s3cret");
}

static void test_all_else_in_the_file_stays(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *text = NULL;
	struct error err = { 0 };

	put(f, "{\"auths\":{\"o.example\":{\"auth\":\"YTpi\"}},\"x\":[1,{\"y\":null}]}");
	assert_ok(store(f, "h.example", &err), err);
	text = content(f);
	assert_contains(text, "o.example");
	assert_contains(text, "YTpi");
	assert_contains(text, "\"y\": null");
	assert_contains(text, "h.example");
}

static void test_the_hub_is_kept_under_dockers_own_key(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *text = NULL;
	struct error err = { 0 };

	assert_ok(store(f, "docker.io", &err), err);
	text = content(f);
	assert_contains(text, "https://index.docker.io/v1/");
}

static void test_what_is_erased_is_gone_in_all_its_forms(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *text = NULL;
	cleanup_free char *where = NULL;
	struct error err = { 0 };
	bool found;

	put(f, "{\"auths\":{\"https://h.example/v1/\":{\"auth\":\"YTpi\"},\"o.example\":{}}}");
	assert_ok(credential_erase(f->file, "h.example", &found, &where, &err), err);
	assert_true(found);
	text = content(f);
	assert_null(strstr(text, "h.example"));
	assert_contains(text, "o.example");
}

static void test_what_is_not_there_is_not_erased(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *where = NULL;
	struct error err = { 0 };
	bool found = true;

	put(f, "{\"auths\":{}}");
	assert_ok(credential_erase(f->file, "h.example", &found, &where, &err), err);
	assert_false(found);
}

static void test_a_file_that_is_no_such_json_stays_as_it_is(void **state)
{
	static const char *const cases[] = { "[]", "{", "{\"auths\":5}" };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *text = NULL;
		struct error err = { 0 };

		put(f, cases[i]);
		assert_int_equal(store(f, "h.example", &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		assert_contains(err.text, f->file);
		text = content(f);
		assert_string_equal(text, cases[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_stored_is_found, begin, end),
		cmocka_unit_test_setup_teardown(test_all_else_in_the_file_stays, begin, end),
		cmocka_unit_test_setup_teardown(test_the_hub_is_kept_under_dockers_own_key, begin,
						end),
		cmocka_unit_test_setup_teardown(test_what_is_erased_is_gone_in_all_its_forms, begin,
						end),
		cmocka_unit_test_setup_teardown(test_what_is_not_there_is_not_erased, begin, end),
		cmocka_unit_test_setup_teardown(test_a_file_that_is_no_such_json_stays_as_it_is,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
