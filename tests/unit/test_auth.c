#include "tests/support/test.h"

#include "base/strbuf.h"
#include "registry/auth.h"
#include "base/base64.h"
#include "tests/support/http_server.h"

static void test_tokens_and_their_life_are_read(void **state)
{
	static const struct {
		const char *text, *value;
		uint64_t life_s;
	} cases[] = {
		{ "{\"token\":\"a\",\"expires_in\":300}", "a", 300 },
		{ "{\"access_token\":\"b\"}", "b", 60 },
		{ "{\"token\":\"\",\"access_token\":\"c\",\"expires_in\":0}", "c", 60 },
		{ "{\"token\":\"a\",\"access_token\":\"b\",\"issued_at\":\"x\"}", "a", 60 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct token t = { 0 };
		struct error err = { 0 };

		assert_ok(token_parse(slice_str(cases[i].text), &t, &err), err);
		assert_string_equal(t.value, cases[i].value);
		assert_int_equal(t.life_s, cases[i].life_s);
		token_release(&t);
	}
}

static void test_the_life_of_a_jwt_counts_when_none_is_told(void **state)
{
	static const char claims[] = "{\"iat\":1000,\"exp\":1600}";
	cleanup_strbuf struct strbuf body = { 0 };
	cleanup_free char *text = NULL;
	struct token t = { 0 };
	struct error err = { 0 };

	(void)state;
	base64_encode(slice_str(claims), &body);
	text = xasprintf("{\"token\":\"e30.%s.c2ln\"}", strbuf_text(&body));
	assert_ok(token_parse(slice_str(text), &t, &err), err);
	assert_int_equal(t.life_s, 600);
	token_release(&t);
}

static void test_answers_without_a_usable_token_are_refused(void **state)
{
	static const char *const cases[] = {
		"", "[]", "{}", "{\"token\":\"\"}", "{\"token\":\"a\\r\\nX: y\"}", "{\"token\":1}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct token t = { 0 };
		struct error err = { 0 };

		assert_int_equal(token_parse(slice_str(cases[i]), &t, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void check_url(const char *realm, const char *service, const char *const *scopes,
		      const char *want)
{
	cleanup_free char *url = token_url(realm, service, scopes);

	assert_string_equal(url, want);
}

static void test_token_addresses_join_what_the_realm_has(void **state)
{
	static const char *const one[] = { "repository:a/b:pull,push", NULL };
	static const char *const none[] = { NULL };

	(void)state;
	check_url("https://t.example.org/token", "svc", one,
		  "https://t.example.org/token?service=svc&scope=repository%3Aa%2Fb%3Apull%2Cpush");
	check_url("https://t.example.org/t?x=1", NULL, one,
		  "https://t.example.org/t?x=1&scope=repository%3Aa%2Fb%3Apull%2Cpush");
	check_url("https://t.example.org/t", "", none, "https://t.example.org/t?service=");
}

static void test_realms_are_trusted_by_owner(void **state)
{
	static const char *const allowed[] = { "sso.elsewhere.example", NULL };
	static const struct {
		const char *registry, *url, *realm;
		bool trusted;
	} cases[] = {
		{ "r.example.org", "https://r.example.org", "https://r.example.org/t", true },
		{ "r.example.org", "https://r.example.org", "https://auth.example.org/t", true },
		{ "r.example.org", "https://r.example.org", "http://auth.example.org/t", false },
		{ "r.example.org", "https://r.example.org", "https://example.com/t", false },
		{ "r.example.org", "https://r.example.org", "https://badexample.org/t", false },
		{ "r.a.co.uk", "https://r.a.co.uk", "https://auth.b.co.uk/t", false },
		{ "r.a.co.uk", "https://r.a.co.uk", "https://auth.a.co.uk/t", true },
		{ "r.example.org", "https://r.example.org", "https://169.254.169.254/t", false },
		{ "r.example.org", "https://r.example.org", "https://127.0.0.1/t", false },
		{ "r.example.org", "https://r.example.org", "https://r.example.org@evil.example/t",
		  false },
		{ "r.example.org", "https://r.example.org", "https://sso.elsewhere.example/t",
		  true },
		{ "r.example.org", "https://r.example.org", "file:///etc/passwd", false },
		{ "10.0.0.5:5000", "https://10.0.0.5:5000", "https://10.0.0.5/t", true },
		{ "10.0.0.5:5000", "https://10.0.0.5:5000", "https://10.0.0.6/t", false },
		{ "nvcr.io", "https://nvcr.io", "https://nvcr.io/proxy_auth", true },
		{ "nvcr.io", "https://nvcr.io", "https://authn.nvidia.com/token", true },
		{ "nvcr.io", "https://nvcr.io", "https://evil.nvcr.io/token", false },
		{ "localhost:5000", "http://localhost:5000", "http://127.0.0.1:5001/t", true },
		{ "localhost:5000", "http://localhost:5000", "http://r.example.org/t", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (realm_trusted(cases[i].registry, cases[i].url, cases[i].realm, allowed) !=
		    cases[i].trusted)
			fail_msg("%s at %s", cases[i].realm, cases[i].url);
}

static void test_loopback_is_told_from_elsewhere(void **state)
{
	static const char *const yes[] = { "localhost",    "localhost:5000", "127.0.0.1:1",
					   "127.1.2.3",    "[::1]:5000",     "x.localhost",
					   "http://[::1]/" };
	static const char *const no[] = { "localhost.example.org",
					  "127.0.0.1.example.org",
					  "128.0.0.1",
					  "r.example.org",
					  "[::2]",
					  "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		assert_true(auth_host_is_loopback(yes[i]));
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		assert_false(auth_host_is_loopback(no[i]));
}

/* An auth of joe:s3cret at a registry on loopback that has answered with `challenge`. */
static struct auth *challenged(const char *challenge, int *rc, struct error *err)
{
	struct credential joe = { .kind = CREDENTIAL_PASSWORD,
				  .username = xstrdup("joe"),
				  .secret = xstrdup("s3cret"),
				  .origin = xstrdup("a file") };
	struct auth *a = auth_new("127.0.0.1:1", "http://127.0.0.1:1", &joe, NULL);
	struct http_response r = { .status = 401 };

	strbuf_addf(&r.headers, "www-authenticate: %s\n", challenge);
	*rc = auth_challenged(a, &r, NULL, err);
	http_response_release(&r);
	return a;
}

static void test_a_token_is_fetched_once_and_sent_with_basic(void **state)
{
	static const char *const scopes[] = { "repository:a:pull", NULL };
	static const struct http_server_step script[] = {
		{ .answer = "200 OK\r\n\r\n{\"token\":\"tok\",\"expires_in\":300}" }
	};
	cleanup_http_server struct http_server *s = http_server_start(script, 1);
	cleanup_free char *challenge =
		xasprintf("Bearer realm=\"%s/token\",service=\"svc\"", http_server_url(s));
	cleanup_http struct http_client *c = http_client_new(NULL);
	struct error err = { 0 };
	struct auth *a;
	int rc;

	(void)state;
	a = challenged(challenge, &rc, &err);
	assert_int_equal(rc, 1);
	for (int i = 0; i < 2; i++) {
		cleanup_auth_header char *header = NULL;

		assert_ok(auth_header(a, c, scopes, &header, &err), err);
		assert_string_equal(header, "Bearer tok");
	}
	assert_int_equal(http_server_count(s), 1);
	assert_contains(http_server_request(s, 0), "Authorization: Basic am9lOnMzY3JldA==");
	assert_contains(http_server_request(s, 0), "service=svc&scope=repository%3Aa%3Apull");
	auth_free(a);
}

static void test_a_refused_token_call_names_status_and_origin(void **state)
{
	static const char *const scopes[] = { "repository:a:pull", NULL };
	static const struct http_server_step script[] = {
		{ .answer = "401 No\r\n\r\n{\"details\":\"incorrect password\"}" }
	};
	cleanup_http_server struct http_server *s = http_server_start(script, 1);
	cleanup_free char *challenge = xasprintf("Bearer realm=\"%s/token\"", http_server_url(s));
	cleanup_http struct http_client *c = http_client_new(NULL);
	cleanup_auth_header char *header = NULL;
	struct error err = { 0 };
	struct auth *a;
	int rc;

	(void)state;
	a = challenged(challenge, &rc, &err);
	assert_int_equal(auth_header(a, c, scopes, &header, &err), -1);
	assert_contains(err.text, "401");
	assert_contains(err.text, "incorrect password");
	assert_contains(err.text, "a file");
	assert_null(strstr(err.text, "s3cret"));
	auth_free(a);
}

static void test_a_foreign_token_server_gets_nothing(void **state)
{
	struct error err = { 0 };
	struct auth *a;
	int rc;

	(void)state;
	a = challenged("Bearer realm=\"https://evil.example.org/token\"", &rc, &err);
	assert_int_equal(rc, -1);
	assert_contains(err.text, "https://evil.example.org/token");
	auth_free(a);
}

static void test_basic_is_answered_once(void **state)
{
	static const char *const scopes[] = { NULL };
	cleanup_http struct http_client *c = http_client_new(NULL);
	cleanup_auth_header char *header = NULL;
	struct http_response r = { .status = 401 };
	struct error err = { 0 };
	struct auth *a;
	int rc;

	(void)state;
	a = challenged("Basic realm=\"x\"", &rc, &err);
	assert_int_equal(rc, 1);
	assert_ok(auth_header(a, c, scopes, &header, &err), err);
	assert_string_equal(header, "Basic am9lOnMzY3JldA==");
	strbuf_adds(&r.headers, "www-authenticate: Basic realm=\"x\"\n");
	assert_int_equal(auth_challenged(a, &r, header, &err), 0);
	http_response_release(&r);
	auth_free(a);
}

static void test_basic_after_bearer_keeps_to_bearer(void **state)
{
	static const char *const scopes[] = { "repository:a:pull", NULL };
	static const struct http_server_step script[] = {
		{ .answer = "200 OK\r\n\r\n{\"token\":\"one\"}" },
		{ .answer = "200 OK\r\n\r\n{\"token\":\"two\"}" },
	};
	cleanup_http_server struct http_server *s = http_server_start(script, 2);
	cleanup_free char *challenge = xasprintf("Bearer realm=\"%s/token\"", http_server_url(s));
	cleanup_http struct http_client *c = http_client_new(NULL);
	cleanup_auth_header char *one = NULL;
	cleanup_auth_header char *two = NULL;
	struct http_response r = { .status = 401 };
	struct error err = { 0 };
	struct auth *a;
	int rc;

	(void)state;
	a = challenged(challenge, &rc, &err);
	assert_ok(auth_header(a, c, scopes, &one, &err), err);
	strbuf_adds(&r.headers, "www-authenticate: Basic realm=\"harbor\"\n");
	assert_int_equal(auth_challenged(a, &r, one, &err), 1);
	assert_ok(auth_header(a, c, scopes, &two, &err), err);
	assert_string_equal(two, "Bearer two");
	http_response_release(&r);
	auth_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens_and_their_life_are_read),
		cmocka_unit_test(test_the_life_of_a_jwt_counts_when_none_is_told),
		cmocka_unit_test(test_answers_without_a_usable_token_are_refused),
		cmocka_unit_test(test_token_addresses_join_what_the_realm_has),
		cmocka_unit_test(test_realms_are_trusted_by_owner),
		cmocka_unit_test(test_loopback_is_told_from_elsewhere),
		cmocka_unit_test(test_a_token_is_fetched_once_and_sent_with_basic),
		cmocka_unit_test(test_a_refused_token_call_names_status_and_origin),
		cmocka_unit_test(test_a_foreign_token_server_gets_nothing),
		cmocka_unit_test(test_basic_is_answered_once),
		cmocka_unit_test(test_basic_after_bearer_keeps_to_bearer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
