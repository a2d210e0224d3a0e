#include "tests/support/test.h"

#include <stdlib.h>

#include "base/base64.h"
#include "registry/credentials.h"

/* "user:password" in base64 */
#define JOE "am9lOnMzY3JldA==" /* joe:s3cret */
#define ANN "YW5uOmE6Yg=="     /* ann:a:b */

static void check(const char *config, const char *registry, const char *repository,
		  const char *username, const char *secret)
{
	cleanup_credential_entry struct credential_entry e = { 0 };
	struct error err = { 0 };

	assert_ok(credential_parse_config(slice_str(config), registry, repository, &e, &err), err);
	if (!username) {
		assert_int_equal(e.found.kind, CREDENTIAL_NONE);
		return;
	}
	assert_int_equal(e.found.kind, CREDENTIAL_PASSWORD);
	assert_string_equal(e.found.username, username);
	assert_string_equal(e.found.secret, secret);
}

static void test_keys_match_with_scheme_and_version(void **state)
{
	(void)state;
	check("{\"auths\":{\"r.example.org\":{\"auth\":\"" JOE "\"}}}", "r.example.org", "a", "joe",
	      "s3cret");
	check("{\"auths\":{\"https://r.example.org\":{\"auth\":\"" JOE "\"}}}", "r.example.org",
	      "a", "joe", "s3cret");
	check("{\"auths\":{\"https://r.example.org/v1/\":{\"auth\":\"" JOE "\"}}}", "r.example.org",
	      "a", "joe", "s3cret");
	check("{\"auths\":{\"r.example.org/v2/\":{\"auth\":\"" JOE "\"}}}", "r.example.org", "a",
	      "joe", "s3cret");
}

static void test_ports_count(void **state)
{
	const char *config = "{\"auths\":{\"r.example.org:5000\":{\"auth\":\"" JOE "\"}}}";

	(void)state;
	check(config, "r.example.org:5000", "a", "joe", "s3cret");
	check(config, "r.example.org", "a", NULL, NULL);
	check(config, "r.example.org:50000", "a", NULL, NULL);
}

static void test_docker_hub_has_many_names(void **state)
{
	const char *config = "{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"" JOE "\"}}}";

	(void)state;
	check(config, "docker.io", "library/debian", "joe", "s3cret");
	check(config, "registry-1.docker.io", "library/debian", "joe", "s3cret");
}

static void test_the_longest_path_wins(void **state)
{
	const char *config = "{\"auths\":{\"r.example.org\":{\"auth\":\"" JOE "\"},"
			     "\"r.example.org/team\":{\"auth\":\"" ANN "\"}}}";

	(void)state;
	check(config, "r.example.org", "team/app", "ann", "a:b");
	check(config, "r.example.org", "team", "ann", "a:b");
	check(config, "r.example.org", "teammate/app", "joe", "s3cret");
}

static void test_user_and_password_may_stand_apart(void **state)
{
	(void)state;
	check("{\"auths\":{\"r.example.org\":{\"username\":\"u\",\"password\":\"p\"}}}",
	      "r.example.org", "a", "u", "p");
}

static void test_the_old_form_is_read(void **state)
{
	(void)state;
	check("{\"https://r.example.org/v1/\":{\"auth\":\"" JOE "\"}}", "r.example.org", "a", "joe",
	      "s3cret");
}

static void test_empty_entries_and_files_hold_nothing(void **state)
{
	(void)state;
	check("", "r.example.org", "a", NULL, NULL);
	check("{}", "r.example.org", "a", NULL, NULL);
	check("{\"auths\":{\"r.example.org\":{}},\"HttpHeaders\":{}}", "r.example.org", "a", NULL,
	      NULL);
}

static void test_an_identity_token_is_told_from_a_password(void **state)
{
	cleanup_credential_entry struct credential_entry e = { 0 };
	struct error err = { 0 };
	const char *config =
		"{\"auths\":{\"r.example.org\":{\"auth\":\"" JOE "\",\"identitytoken\":\"tok\"}}}";

	(void)state;
	assert_ok(credential_parse_config(slice_str(config), "r.example.org", "a", &e, &err), err);
	assert_int_equal(e.found.kind, CREDENTIAL_IDENTITY_TOKEN);
	assert_string_equal(e.found.secret, "tok");
}

static void check_helper(const char *config, const char *helper)
{
	cleanup_credential_entry struct credential_entry e = { 0 };
	struct error err = { 0 };

	assert_ok(credential_parse_config(slice_str(config), "r.example.org", "a", &e, &err), err);
	if (helper)
		assert_string_equal(e.helper, helper);
	else
		assert_null(e.helper);
}

static void test_a_registrys_own_helper_goes_before_the_store(void **state)
{
	(void)state;
	check_helper("{\"credsStore\":\"pass\"}", "pass");
	check_helper("{\"credsStore\":\"pass\",\"credHelpers\":{\"r.example.org\":\"own\"}}",
		     "own");
	check_helper("{\"credsStore\":\"pass\",\"credHelpers\":{\"r.example.org\":\"\"}}", NULL);
	check_helper("{\"credHelpers\":{\"other.example.org\":\"own\"}}", NULL);
}

static void test_a_helper_with_a_path_in_its_name_is_refused(void **state)
{
	cleanup_credential_entry struct credential_entry e = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(credential_parse_config(slice_str("{\"credsStore\":\"../x\"}"),
						 "r.example.org", "a", &e, &err),
			 -1);
	assert_int_equal(err.code, ERROR_FORMAT);
}

static void test_errors_do_not_show_what_they_read(void **state)
{
	static const char *const broken[] = {
		"{\"auths\":{\"r.example.org\":{\"auth\":canary",
		"{\"auths\":{\"r.example.org\":{\"auth\":\"canary!\"}}}",
		"{\"auths\":{\"r.example.org\":{\"auth\":\"Y2FuYXJ5\"}}}", /* no colon */
		"{\"auths\":{\"r.example.org\":\"canary\"}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		cleanup_credential_entry struct credential_entry e = { 0 };
		struct error err = { 0 };

		assert_int_equal(credential_parse_config(slice_str(broken[i]), "r.example.org", "a",
							 &e, &err),
				 -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		assert_null(strstr(err.text, "canary"));
	}
}

static void test_a_helpers_answer_is_read(void **state)
{
	cleanup_credential struct credential c = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(credential_parse_helper(
			  slice_str("{\"ServerURL\":\"x\",\"Username\":\"u\",\"Secret\":\"p\"}\n"),
			  &c, &err),
		  err);
	assert_int_equal(c.kind, CREDENTIAL_PASSWORD);
	assert_string_equal(c.secret, "p");
	assert_ok(credential_parse_helper(slice_str("{\"Username\":\"<token>\",\"Secret\":\"t\"}"),
					  &c, &err),
		  err);
	assert_int_equal(c.kind, CREDENTIAL_IDENTITY_TOKEN);
}

/* A home of our own, with nothing in it. */
static char *clean_home(void)
{
	static const char *const names[] = { "DOCKER_CONFIG",      "REGISTRY_AUTH_FILE",
					     "XDG_RUNTIME_DIR",    "XDG_CONFIG_HOME",
					     "DOCKER_AUTH_CONFIG", "GPUIMG_AUTH_FILE",
					     "NGC_API_KEY" };
	char *dir = test_dir();

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		unsetenv(names[i]);
	setenv("HOME", dir, 1);
	return dir;
}

static void write_config(const char *dir, const char *path, const char *username)
{
	cleanup_free char *full = fs_join(dir, path);
	cleanup_free char *parent = xstrndup(full, (size_t)(strrchr(full, '/') - full));
	cleanup_free char *text = xasprintf("{\"auths\":{\"r.example.org\":{\"username\":\"%s\","
					    "\"password\":\"p\"}}}",
					    username);
	struct error err = { 0 };

	assert_ok(fs_mkdirs(AT_FDCWD, parent, &err), err);
	assert_ok(fs_write(AT_FDCWD, full, slice_str(text), 0600, &err), err);
}

static void check_found(const struct credential_options *options, const char *username)
{
	cleanup_credential struct credential c = { 0 };
	struct error err = { 0 };

	assert_ok(credential_find(options, "r.example.org", "a", &c, &err), err);
	if (username)
		assert_string_equal(c.username, username);
	else
		assert_int_equal(c.kind, CREDENTIAL_NONE);
}

static void test_files_are_asked_in_order(void **state)
{
	cleanup_test_dir char *dir = clean_home();
	cleanup_free char *runtime = fs_join(dir, "run");
	cleanup_free char *named = fs_join(dir, "named.json");
	struct credential_options options = { 0 };

	(void)state;
	check_found(&options, NULL);
	write_config(dir, ".config/containers/auth.json", "config");
	check_found(&options, "config");
	write_config(dir, "run/containers/auth.json", "runtime");
	setenv("XDG_RUNTIME_DIR", runtime, 1);
	check_found(&options, "runtime");
	write_config(dir, ".docker/config.json", "docker");
	check_found(&options, "docker");
	write_config(dir, "named.json", "named");
	setenv("REGISTRY_AUTH_FILE", named, 1);
	check_found(&options, "named");
	options.username = "given";
	options.password = "p";
	check_found(&options, "given");
	options.anonymous = true;
	check_found(&options, NULL);
	unsetenv("REGISTRY_AUTH_FILE");
	unsetenv("XDG_RUNTIME_DIR");
}

static void test_a_named_file_must_exist(void **state)
{
	cleanup_test_dir char *dir = clean_home();
	cleanup_free char *file = fs_join(dir, "none.json");
	struct credential_options options = { .auth_file = file };
	cleanup_credential struct credential c = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(credential_find(&options, "r.example.org", "a", &c, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "none.json");
}

static void test_the_ngc_key_is_for_nvcr_alone(void **state)
{
	cleanup_test_dir char *dir = clean_home();
	struct credential_options options = { 0 };
	cleanup_credential struct credential c = { 0 };
	struct error err = { 0 };

	(void)state;
	(void)dir;
	setenv("NGC_API_KEY", "key", 1);
	check_found(&options, NULL);
	assert_ok(credential_find(&options, "nvcr.io", "nvidia/x", &c, &err), err);
	assert_string_equal(c.username, "$oauthtoken");
	assert_string_equal(c.origin, "NGC_API_KEY");
	unsetenv("NGC_API_KEY");
}

static void test_a_helper_is_run(void **state)
{
	cleanup_test_dir char *dir = clean_home();
	cleanup_free char *bin = fs_join(dir, "docker-credential-test");
	cleanup_free char *config = fs_join(dir, ".docker/config.json");
	cleanup_free char *docker = fs_join(dir, ".docker");
	cleanup_free char *path = xasprintf("%s:%s", dir, getenv("PATH"));
	cleanup_free char *old = xstrdup(getenv("PATH"));
	struct credential_options options = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_mkdirs(AT_FDCWD, docker, &err), err);
	assert_ok(fs_write(AT_FDCWD, config, slice_str("{\"credsStore\":\"test\"}"), 0600, &err),
		  err);
	assert_ok(
		fs_write(AT_FDCWD, bin,
			 slice_str("#!/bin/sh\nread -r host\n"
				   "[ \"$1 $host\" = 'get r.example.org' ] || {\n"
				   "  echo 'credentials not found in native keychain'; exit 1; }\n"
				   "echo '{\"Username\":\"helped\",\"Secret\":\"p\"}'\n"),
			 0755, &err),
		err);
	setenv("PATH", path, 1);
	check_found(&options, "helped");
	{
		cleanup_credential struct credential c = { 0 };

		assert_ok(credential_find(&options, "other.example.org", "a", &c, &err), err);
		assert_int_equal(c.kind, CREDENTIAL_NONE);
	}
	setenv("PATH", old, 1);
}

static void test_base64_goes_both_ways(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_strbuf struct strbuf back = { 0 };
	uint8_t data[70];

	(void)state;
	for (size_t len = 0; len <= sizeof(data); len++) {
		for (size_t i = 0; i < len; i++)
			data[i] = (uint8_t)(i * 37 + len);
		strbuf_truncate(&text, 0);
		strbuf_truncate(&back, 0);
		base64_encode(slice_of(data, len), &text);
		assert_true(base64_decode(strbuf_slice(&text), &back));
		assert_int_equal(back.len, len);
		if (len)
			assert_memory_equal(back.data, data, len);
	}
	assert_false(base64_decode(slice_str("a"), &back));
	assert_false(base64_decode(slice_str("ab c"), &back));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_match_with_scheme_and_version),
		cmocka_unit_test(test_ports_count),
		cmocka_unit_test(test_docker_hub_has_many_names),
		cmocka_unit_test(test_the_longest_path_wins),
		cmocka_unit_test(test_user_and_password_may_stand_apart),
		cmocka_unit_test(test_the_old_form_is_read),
		cmocka_unit_test(test_empty_entries_and_files_hold_nothing),
		cmocka_unit_test(test_an_identity_token_is_told_from_a_password),
		cmocka_unit_test(test_a_registrys_own_helper_goes_before_the_store),
		cmocka_unit_test(test_a_helper_with_a_path_in_its_name_is_refused),
		cmocka_unit_test(test_errors_do_not_show_what_they_read),
		cmocka_unit_test(test_a_helpers_answer_is_read),
		cmocka_unit_test(test_files_are_asked_in_order),
		cmocka_unit_test(test_a_named_file_must_exist),
		cmocka_unit_test(test_the_ngc_key_is_for_nvcr_alone),
		cmocka_unit_test(test_a_helper_is_run),
		cmocka_unit_test(test_base64_goes_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
