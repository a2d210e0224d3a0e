#include "tests/support/test.h"

#include "registry/certs.h"

static void put(const char *dir, const char *name, const char *text)
{
	cleanup_free char *path = fs_join(dir, name);
	struct error err = { 0 };

	assert_ok(fs_write(AT_FDCWD, path, slice_str(text), 0644, &err), err);
}

static void test_cas_and_a_client_pair_are_read(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_certs struct certs certs = { 0 };
	struct error err = { 0 };
	bool there;

	(void)state;
	put(dir, "b.crt", "B");
	put(dir, "a.crt", "A");
	put(dir, "client.cert", "C");
	put(dir, "client.key", "K");
	put(dir, "other.cert", "C");
	put(dir, "other.key", "K");
	put(dir, "README", "x");
	assert_ok(certs_read(dir, &certs, &there, &err), err);
	assert_true(there);
	assert_string_equal(strbuf_text(&certs.ca_pem), "A\nB\n");
	assert_true(str_ends(certs.client_cert, "/client.cert"));
	assert_true(str_ends(certs.client_key, "/client.key"));
}

static void test_a_certificate_without_its_key_is_named(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_certs struct certs certs = { 0 };
	struct error err = { 0 };
	bool there;

	(void)state;
	put(dir, "client.cert", "C");
	assert_int_equal(certs_read(dir, &certs, &there, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "client.key");
}

static void test_no_folder_is_nothing(void **state)
{
	cleanup_certs struct certs certs = { 0 };
	struct error err = { 0 };
	bool there = true;

	(void)state;
	assert_ok(certs_read("/nowhere/certs.d/h", &certs, &there, &err), err);
	assert_false(there);
	assert_int_equal(certs.ca_pem.len, 0);
}

static void test_the_folder_is_that_of_host_and_port(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *mine = fs_join(dir, "containers/certs.d/h.example:5000");
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_mkdirs(AT_FDCWD, mine, &err), err);
	put(mine, "ca.crt", "A");
	setenv("XDG_CONFIG_HOME", dir, 1);
	for (unsigned i = 0; i < 2; i++) {
		cleanup_certs struct certs certs = { 0 };

		assert_ok(certs_find(i ? "h.example" : "h.example:5000", &certs, &err), err);
		assert_int_equal(certs.ca_pem.len, i ? 0 : 2);
	}
	unsetenv("XDG_CONFIG_HOME");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cas_and_a_client_pair_are_read),
		cmocka_unit_test(test_a_certificate_without_its_key_is_named),
		cmocka_unit_test(test_no_folder_is_nothing),
		cmocka_unit_test(test_the_folder_is_that_of_host_and_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
