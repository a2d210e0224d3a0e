#include "tests/support/test.h"

#include "registry/client.h"
#include "registry/session.h"
#include "tests/support/http_server.h"

/* What the registry says to GET /v2/; the https try before it is no request of the script's. */
#define HELLO                                \
	{                                    \
		.answer = "200 OK\r\n\r\n{}" \
	}

static const struct client_options quick = {
	.credentials = { .anonymous = true }, .tries = 3, .backoff_ms = 1, .commit_wait_ms = 300
};

struct bench {
	struct http_server *server;
	struct client_repository *repository;
	struct client *client;
};

static struct bench begin(const struct http_server_step *script, size_t count)
{
	struct bench b = { .server = http_server_start(script, count) };
	struct error err = { 0 };

	b.repository = client_repository_open(http_server_url(b.server) + 7, "team/app",
					      CLIENT_PUSH, &quick, &err);
	if (!b.repository)
		fail_msg("%s", err.text);
	b.client = client_new(b.repository);
	return b;
}

/* The n-th request after the greeting. */
static const char *request(struct bench *b, size_t n)
{
	return http_server_request(b->server, n + 1);
}

static void end(struct bench *b)
{
	client_free(b->client);
	client_repository_close(b->repository);
	http_server_stop(b->server);
}

static struct digest some_digest(void)
{
	return digest_of(slice_str("blob"));
}

static void test_a_location_may_be_relative_or_absolute(void **state)
{
	static const char base[] = "https://r.example.org:5000";
	static const char request_url[] = "https://r.example.org:5000/v2/a/blobs/uploads/";
	static const struct {
		const char *location, *want;
	} cases[] = {
		{ "/v2/a/blobs/uploads/1?s=%2f",
		  "https://r.example.org:5000/v2/a/blobs/uploads/1?s=%2f" },
		{ "https://o.example.org/1?b=1&a=2", "https://o.example.org/1?b=1&a=2" },
		{ "http://r.example.org:5000/1", "https://r.example.org:5000/1" },
		{ "http://o.example.org/1", NULL },
		{ "ftp://r.example.org/1", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *got = client_location(base, request_url, cases[i].location);

		if (!cases[i].want)
			assert_null(got);
		else
			assert_string_equal(got, cases[i].want);
	}
}

static void test_plain_http_does_not_leave_loopback(void **state)
{
	cleanup_free char *got = client_location("http://127.0.0.1:5000", "http://127.0.0.1:5000/x",
						 "http://r.example.org/1");

	(void)state;
	assert_null(got);
}

static void test_the_digest_is_appended_to_the_query_as_it_came(void **state)
{
	struct digest d = some_digest();
	char text[DIGEST_HEX_MAX];
	cleanup_free char *bare = client_location_digest("https://r.example.org/1", &d);
	cleanup_free char *query = client_location_digest("https://r.example.org/1?_s=b%2Fa", &d);
	cleanup_free char *want = xasprintf("https://r.example.org/1?_s=b%%2Fa&digest=sha256%%3A%s",
					    digest_hex(&d, text));

	(void)state;
	assert_contains(bare, "/1?digest=sha256%3A");
	assert_string_equal(query, want);
}

/* "blob" through one session. */
static int upload(struct bench *b, struct error *err)
{
	cleanup_session struct session u = { 0 };
	bool mounted;
	cleanup_stream struct stream *bytes = stream_memory(slice_str("blob"));
	struct session_part part = { .bytes = bytes, .size = 4 };
	struct digest d = some_digest();

	if (session_open(b->client, NULL, &u, &mounted, err) < 0 ||
	    session_send(b->client, &u, &part, err) < 0)
		return -1;
	return session_commit(b->client, &u, &d, err);
}

static void test_an_upload_is_post_patch_put(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		{ .answer = "202 Accepted\r\nLocation: $URL/up/1?_state=a\r\n\r\n" },
		{ .answer = "202 Accepted\r\nLocation: /up/2?_state=b\r\nRange: 0-3\r\n\r\n" },
		{ .answer = "201 Created\r\n\r\n" },
	};
	struct bench b = begin(script, ARRAY_LEN(script));
	struct error err = { 0 };

	(void)state;
	assert_ok(upload(&b, &err), err);
	assert_contains(request(&b, 0), "POST /v2/team/app/blobs/uploads/ ");
	assert_contains(request(&b, 0), "Content-Length: 0\r\n");
	assert_contains(request(&b, 1), "PATCH /up/1?_state=a ");
	assert_true(str_ends(request(&b, 1), "\r\n\r\nblob"));
	assert_contains(request(&b, 2), "PUT /up/2?_state=b&digest=sha256%3A");
	end(&b);
}

static void test_a_registry_that_lost_count_is_noticed(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		{ .answer = "202 Accepted\r\nLocation: /up/1\r\n\r\n" },
		{ .answer = "202 Accepted\r\nLocation: /up/2\r\nRange: 0-4\r\n\r\n" },
	};
	struct bench b = begin(script, ARRAY_LEN(script));
	struct error err = { 0 };

	(void)state;
	assert_int_equal(upload(&b, &err), -1);
	assert_contains(err.text, "counts 5 bytes where 4 were sent");
	end(&b);
}

static void test_a_post_is_tried_again_at_503(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		{ .answer = "503 Later\r\n\r\n" },
		{ .answer = "202 Accepted\r\nLocation: /up/1\r\n\r\n" },
	};
	struct bench b = begin(script, ARRAY_LEN(script));
	cleanup_session struct session u = { 0 };
	bool mounted;
	struct error err = { 0 };

	(void)state;
	assert_ok(session_open(b.client, NULL, &u, &mounted, &err), err);
	end(&b);
}

static void count_note(void *user, enum client_note kind, const char *text)
{
	if (kind == CLIENT_NOTE_WARNING && strstr(text, "warns: 'old tag'"))
		++*(int *)user;
}

static void test_a_warning_is_told_once(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		{ .answer = "200 OK\r\nWarning: 299 - \"old tag\"\r\n\r\n" },
		{ .answer = "200 OK\r\nWarning: 299 - \"old tag\"\r\n\r\n" },
	};
	int told = 0;
	struct client_options options = { .credentials = { .anonymous = true },
					  .note = count_note,
					  .note_user = &told };
	cleanup_http_server struct http_server *s = http_server_start(script, ARRAY_LEN(script));
	struct error err = { 0 };
	cleanup_client_repository struct client_repository *r =
		client_repository_open(http_server_url(s) + 7, "a", CLIENT_PULL, &options, &err);
	cleanup_client struct client *c = client_new(r);
	struct digest d = some_digest();
	bool there;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_ok(client_blob_exists(c, &d, &there, NULL, &err), err);
	assert_int_equal(told, 1);
}

static void test_tries_end(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		{ .answer = "503 Later\r\n\r\n" },
		{ .answer = "502 Later\r\n\r\n" },
		{ .answer = "500 Later\r\n\r\n" },
	};
	struct bench b = begin(script, ARRAY_LEN(script));
	cleanup_session struct session u = { 0 };
	bool mounted;
	struct error err = { 0 };
	size_t before = http_server_count(b.server);

	(void)state;
	assert_int_equal(session_open(b.client, NULL, &u, &mounted, &err), -1);
	assert_contains(err.text, "500");
	assert_int_equal(http_server_count(b.server) - before, 3);
	end(&b);
}

static void check_refusal(const char *answer, const char *part, enum error_code code)
{
	const struct http_server_step script[] = { HELLO, { .answer = answer } };
	struct bench b = begin(script, ARRAY_LEN(script));
	cleanup_session struct session u = { 0 };
	bool mounted;
	struct error err = { 0 };

	assert_int_equal(session_open(b.client, NULL, &u, &mounted, &err), -1);
	assert_int_equal(err.code, code);
	assert_contains(err.text, "team/app");
	assert_contains(err.text, "POST");
	assert_contains(err.text, part);
	end(&b);
}

static void test_refusals_carry_the_registrys_words_and_advice(void **state)
{
	(void)state;
	check_refusal(
		"403 No\r\n\r\n{\"errors\":[{\"code\":\"DENIED\",\"message\":\"not yours\"}]}",
		"403 DENIED 'not yours'; these credentials may not push", ERROR_NETWORK);
	check_refusal("401 No\r\n\r\n", "log in", ERROR_NETWORK);
	check_refusal("404 No\r\n\r\n{\"errors\":[{\"code\":\"NAME_UNKNOWN\"}]}", "NAME_UNKNOWN",
		      ERROR_NOT_FOUND);
	check_refusal("413 No\r\n\r\n<html>", "limits the size", ERROR_NETWORK);
	check_refusal("202 Accepted\r\nLocation: http://evil.example.org/?c=canary\r\n\r\n",
		      "http://evil.example.org/", ERROR_NETWORK);
}

static int put_manifest(struct bench *b, struct error *err)
{
	return client_manifest_put(b->client, "v1", "application/vnd.oci.image.manifest.v1+json",
				   slice_str("{}"), err);
}

static void test_a_manifest_is_put_with_its_type(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		{ .answer = "201 Created\r\nDocker-Content-Digest: "
			    "sha256:44136fa355b3678a1146ad16f7e8"
			    "649e94fb4fc21fe77e8310c060f61caaff8a\r\n\r\n" },
	};
	struct bench b = begin(script, ARRAY_LEN(script));
	struct error err = { 0 };

	(void)state;
	assert_ok(put_manifest(&b, &err), err);
	assert_contains(request(&b, 0), "PUT /v2/team/app/manifests/v1 ");
	assert_contains(request(&b, 0),
			"Content-Type: application/vnd.oci.image.manifest.v1+json\r\n");
	end(&b);
}

static void test_another_digest_of_a_manifest_is_refused(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		{ .answer = "201 Created\r\nDocker-Content-Digest: "
			    "sha256:00136fa355b3678a1146ad16f7e8"
			    "649e94fb4fc21fe77e8310c060f61caaff8a\r\n\r\n" },
	};
	struct bench b = begin(script, ARRAY_LEN(script));
	struct error err = { 0 };

	(void)state;
	assert_int_equal(put_manifest(&b, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	end(&b);
}

static void test_a_blob_is_verified_while_it_comes(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		{ .answer = "200 OK\r\n\r\nblob" },
		{ .answer = "200 OK\r\n\r\nblab" },
		{ .answer = "200 OK\r\n\r\nblob!" },
		{ .answer = "200 OK\r\n\r\nblo" },
	};
	struct bench b = begin(script, ARRAY_LEN(script));
	struct descriptor desc = { .digest = some_digest(), .size = 4 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		cleanup_strbuf struct strbuf out = { 0 };
		cleanup_sink struct sink *sink = sink_memory(&out);
		struct error err = { 0 };
		int rc = client_blob_get(b.client, &desc, sink, &err);

		assert_int_equal(rc, i ? -1 : 0);
		assert_int_equal(err.code, i ? ERROR_INTEGRITY : ERROR_NONE);
	}
	end(&b);
}

static void test_a_manifest_by_digest_is_verified(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		{ .answer = "200 OK\r\nContent-Type: a/b; charset=utf-8\r\n\r\nblob" },
		{ .answer = "200 OK\r\nContent-Type: a/b\r\n\r\nblab" },
	};
	struct bench b = begin(script, ARRAY_LEN(script));
	struct digest d = some_digest();
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };
	struct descriptor desc;
	struct error err = { 0 };
	char name[DIGEST_TEXT_MAX];

	(void)state;
	digest_text(&d, name);
	assert_ok(client_manifest_get(b.client, name, &arena, &out, &desc, &err), err);
	assert_string_equal(desc.media_type, "a/b");
	assert_int_equal(desc.size, 4);
	assert_int_equal(client_manifest_get(b.client, name, &arena, &out, &desc, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_location_may_be_relative_or_absolute),
		cmocka_unit_test(test_plain_http_does_not_leave_loopback),
		cmocka_unit_test(test_the_digest_is_appended_to_the_query_as_it_came),
		cmocka_unit_test(test_an_upload_is_post_patch_put),
		cmocka_unit_test(test_a_registry_that_lost_count_is_noticed),
		cmocka_unit_test(test_a_post_is_tried_again_at_503),
		cmocka_unit_test(test_a_warning_is_told_once),
		cmocka_unit_test(test_tries_end),
		cmocka_unit_test(test_refusals_carry_the_registrys_words_and_advice),
		cmocka_unit_test(test_a_manifest_is_put_with_its_type),
		cmocka_unit_test(test_another_digest_of_a_manifest_is_refused),
		cmocka_unit_test(test_a_blob_is_verified_while_it_comes),
		cmocka_unit_test(test_a_manifest_by_digest_is_verified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
