#include "tests/support/test.h"

#include <stdlib.h>

#include "net/http.h"
#include "tests/support/http_server.h"

/* One GET against a script; gives the status, or -1 with `err`. */
static int get(struct http_server *server, const char *path, const char *authorization,
	       struct http_response *out, struct error *err)
{
	cleanup_http struct http_client *c = http_client_new(NULL);
	cleanup_free char *url = xasprintf("%s%s", http_server_url(server), path);
	struct http_request request = { .method = "GET",
					.url = url,
					.authorization = authorization };

	return http_perform(c, &request, out, err) < 0 ? -1 : out->status;
}

static void test_status_headers_and_body_come_back(void **state)
{
	static const struct http_server_step script[] = {
		{ .answer = "200 OK\r\nX-One: a\r\nx-one:  b \r\n\r\nhello" }
	};
	cleanup_http_server struct http_server *s = http_server_start(script, 1);
	cleanup_response struct http_response r = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(get(s, "/x?y=1", "Basic abc", &r, &err), 200);
	assert_string_equal(strbuf_text(&r.body), "hello");
	assert_true(slice_is(http_header(&r, "x-one"), "a"));
	assert_true(slice_is(http_header_nth(&r, "x-one", 1), "b"));
	assert_null(http_header_nth(&r, "x-one", 2).data);
	assert_contains(http_server_request(s, 0), "GET /x?y=1 HTTP/1.1\r\n");
	assert_contains(http_server_request(s, 0), "Authorization: Basic abc\r\n");
}

static void test_credentials_follow_a_redirect_at_home(void **state)
{
	static const struct http_server_step script[] = {
		{ .answer = "307 Moved\r\nLocation: /next\r\n\r\n" },
		{ .answer = "200 OK\r\n\r\nhere" },
	};
	cleanup_http_server struct http_server *s = http_server_start(script, 2);
	cleanup_response struct http_response r = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(get(s, "/", "Bearer t", &r, &err), 200);
	assert_true(str_ends(r.url, "/next"));
	assert_contains(http_server_request(s, 1), "Authorization: Bearer t");
}

static void test_credentials_stay_away_from_another_port(void **state)
{
	static const struct http_server_step there[] = { { .answer = "200 OK\r\n\r\nthere" } };
	cleanup_http_server struct http_server *other = http_server_start(there, 1);
	cleanup_free char *answer =
		xasprintf("302 Found\r\nLocation: %s/elsewhere\r\n\r\n", http_server_url(other));
	const struct http_server_step here[] = { { .answer = answer } };
	cleanup_http_server struct http_server *s = http_server_start(here, 1);
	cleanup_response struct http_response r = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(get(s, "/", "Bearer t", &r, &err), 200);
	assert_contains(http_server_request(other, 0), "GET /elsewhere");
	assert_null(strstr(http_server_request(other, 0), "Bearer"));
}

static void test_a_redirect_loop_ends(void **state)
{
	struct http_server_step script[20];
	cleanup_http_server struct http_server *s = NULL;
	cleanup_response struct http_response r = { 0 };
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(script); i++)
		script[i] = (struct http_server_step){
			.answer = "302 Found\r\nLocation: /again\r\n\r\n"
		};
	s = http_server_start(script, ARRAY_LEN(script));
	assert_int_equal(get(s, "/", NULL, &r, &err), -1);
	assert_int_equal(err.code, ERROR_NETWORK);
	assert_int_equal(r.failure, HTTP_FAILURE_REDIRECT);
	assert_int_equal(http_server_count(s), 11);
}

static void test_a_redirect_to_a_file_is_refused(void **state)
{
	static const struct http_server_step script[] = {
		{ .answer = "302 Found\r\nLocation: file:///etc/passwd\r\n\r\n" }
	};
	cleanup_http_server struct http_server *s = http_server_start(script, 1);
	cleanup_response struct http_response r = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(get(s, "/", NULL, &r, &err), -1);
	assert_int_equal(r.failure, HTTP_FAILURE_REDIRECT);
}

static void test_a_body_over_the_limit_is_refused(void **state)
{
	static const struct http_server_step script[] = { { .answer =
								    "200 OK\r\n\r\n0123456789" } };
	cleanup_http_server struct http_server *s = http_server_start(script, 1);
	cleanup_http struct http_client *c = http_client_new(NULL);
	cleanup_response struct http_response r = { 0 };
	struct http_request request = { .method = "GET",
					.url = http_server_url(s),
					.body_limit = 9 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(http_perform(c, &request, &r, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

/* PUT of `text`, announced as `size` bytes. */
static int put(struct http_server *s, const char *text, uint64_t size, struct http_response *r,
	       struct error *err)
{
	cleanup_http struct http_client *c = http_client_new(NULL);
	cleanup_stream struct stream *body = stream_memory(slice_str(text));
	struct http_request request = { .method = "PUT",
					.url = http_server_url(s),
					.body = body,
					.body_size = size,
					.expect_continue = true };

	return http_perform(c, &request, r, err);
}

static void test_a_body_is_sent_with_its_length(void **state)
{
	static const struct http_server_step script[] = { { .answer = "201 Created\r\n\r\n" } };
	cleanup_http_server struct http_server *s = http_server_start(script, 1);
	cleanup_response struct http_response r = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(put(s, "payload", 7, &r, &err), err);
	assert_int_equal(r.status, 201);
	assert_int_equal(r.body_sent, 7);
	assert_contains(http_server_request(s, 0), "Content-Length: 7\r\n");
	assert_true(str_ends(http_server_request(s, 0), "\r\n\r\npayload"));
}

static void test_a_body_of_another_length_is_not_sent_whole(void **state)
{
	static const struct http_server_step script[] = { { .answer = "201 Created\r\n\r\n" },
							  { .answer = "201 Created\r\n\r\n" } };
	cleanup_http_server struct http_server *s = http_server_start(script, 2);
	struct error err = { 0 };

	(void)state;
	for (uint64_t size = 6; size <= 8; size += 2) {
		cleanup_response struct http_response r = { 0 };

		assert_int_equal(put(s, "payload", size, &r, &err), -1);
		assert_int_equal(err.code, ERROR_INTEGRITY);
		assert_int_equal(r.failure, HTTP_FAILURE_LOCAL);
	}
}

static void test_an_early_refusal_costs_no_byte_of_the_body(void **state)
{
	static const struct http_server_step script[] = { { .answer = "401 Unauthorized\r\n\r\n",
							    .early = true } };
	cleanup_http_server struct http_server *s = http_server_start(script, 1);
	cleanup_response struct http_response r = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(put(s, "payload", 7, &r, &err), err);
	assert_int_equal(r.status, 401);
	assert_int_equal(r.body_sent, 0);
}

static void test_417_is_answered_without_expect(void **state)
{
	static const struct http_server_step script[] = {
		{ .answer = "417 No\r\n\r\n", .early = true },
		{ .answer = "201 Created\r\n\r\n" },
	};
	cleanup_http_server struct http_server *s = http_server_start(script, 2);
	cleanup_response struct http_response r = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(put(s, "payload", 7, &r, &err), err);
	assert_int_equal(r.status, 201);
	assert_null(strstr(http_server_request(s, 1), "Expect"));
}

static int download(struct http_server *s, const char *path, struct strbuf *out, struct error *err)
{
	cleanup_http struct http_client *c = http_client_new(NULL);
	cleanup_sink struct sink *sink = sink_memory(out);
	cleanup_free char *url = xasprintf("%s%s", http_server_url(s), path);

	return http_download(c, url, NULL, 2, sink, err);
}

static void test_a_download_is_tried_again_at_503(void **state)
{
	static const struct http_server_step script[] = { { .answer = "503 Later\r\n\r\nno" },
							  { .answer = "200 OK\r\n\r\nyes" } };
	cleanup_http_server struct http_server *s = http_server_start(script, 2);
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(download(s, "/", &out, &err), err);
	assert_string_equal(strbuf_text(&out), "yes");
}

static void test_a_missing_download_is_not_found_and_its_query_is_not_shown(void **state)
{
	static const struct http_server_step script[] = { { .answer = "404 Not\r\n\r\nno" } };
	cleanup_http_server struct http_server *s = http_server_start(script, 1);
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(download(s, "/file?sig=canary", &out, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "/file");
	assert_null(strstr(err.text, "canary"));
	assert_int_equal(out.len, 0);
}

static void test_a_download_that_breaks_off_is_not_appended_to(void **state)
{
	static const struct http_server_step script[] = {
		{ .answer = "200 OK\r\nContent-Length: 10\r\n\r\nhalf" },
		{ .answer = "200 OK\r\n\r\n0123456789" },
	};
	cleanup_http_server struct http_server *s = http_server_start(script, 2);
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(download(s, "/", &out, &err), -1);
	assert_int_equal(err.code, ERROR_NETWORK);
	assert_int_equal(http_server_count(s), 1);
}

static void test_files_are_downloaded_too(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *path = fs_join(dir, "a b");
	cleanup_free char *url = xasprintf("file://%s/a%%20b", dir);
	cleanup_http struct http_client *c = http_client_new(NULL);
	cleanup_strbuf struct strbuf out = { 0 };
	cleanup_sink struct sink *sink = sink_memory(&out);
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_write(AT_FDCWD, path, slice_str("text"), 0644, &err), err);
	assert_ok(http_download(c, url, NULL, 1, sink, &err), err);
	assert_string_equal(strbuf_text(&out), "text");
}

static void test_addresses_are_shown_without_secrets(void **state)
{
	static const struct {
		const char *url, *shown;
	} cases[] = {
		{ "https://u:p@h.example.org/a?b=c#d", "https://h.example.org/a" },
		{ "https://u:p@x@h.example.org", "https://h.example.org" },
		{ "http://h.example.org:80?x", "http://h.example.org:80" },
		{ "https://h.example.org/a@b", "https://h.example.org/a@b" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *shown = http_url_display(cases[i].url);

		assert_string_equal(shown, cases[i].shown);
	}
}

static void test_locations_resolve_and_stay_as_they_came(void **state)
{
	static const char base[] = "https://r.example.org:5000/v2/a/blobs/uploads/1?x=y";
	static const struct {
		const char *location, *resolved;
	} cases[] = {
		{ "https://r.example.org/up?_state=a%2fb&z=1&a=2#f",
		  "https://r.example.org/up?_state=a%2fb&z=1&a=2" },
		{ "/v2/a/../b?s=%3d", "https://r.example.org:5000/v2/a/../b?s=%3d" },
		{ "//o.example.org/p", "https://o.example.org/p" },
		{ "2?s=1", "https://r.example.org:5000/v2/a/blobs/uploads/2?s=1" },
		{ "/a b", "https://r.example.org:5000/a%20b" },
		{ "file:///etc/passwd", NULL },
		{ "ftp://h.example.org/", NULL },
		{ "http:///x", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *got = http_resolve(base, cases[i].location);

		if (!cases[i].resolved)
			assert_null(got);
		else if (!got)
			fail_msg("%s: not resolved", cases[i].location);
		else
			assert_string_equal(got, cases[i].resolved);
	}
}

static void test_origins_count_scheme_host_and_port(void **state)
{
	(void)state;
	assert_true(http_same_origin("https://h.example.org/a", "https://H.example.org:443/b"));
	assert_false(http_same_origin("https://h.example.org/", "http://h.example.org/"));
	assert_false(http_same_origin("https://h.example.org/", "https://h.example.org:444/"));
	assert_false(http_same_origin("https://h.example.org/", "https://g.example.org/"));
}

static void test_nobody_listening_is_a_failure_to_connect(void **state)
{
	cleanup_http struct http_client *c = http_client_new(NULL);
	cleanup_response struct http_response r = { 0 };
	struct http_request request = { .method = "GET", .url = "http://u:canary@127.0.0.1:1/" };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(http_perform(c, &request, &r, &err), -1);
	assert_int_equal(r.failure, HTTP_FAILURE_CONNECT);
	assert_null(strstr(err.text, "canary"));
}

static void test_an_answer_whose_head_comes_byte_by_byte_ends(void **state)
{
	static const struct http_server_step script[] = { { .answer = "200 OK\r\n\r\nx",
							    .byte_ms = 100 } };
	struct http_options options = { .connect_timeout_ms = 500, .stall_timeout_ms = 500 };
	cleanup_http_server struct http_server *s = http_server_start(script, 1);
	cleanup_http struct http_client *c = http_client_new(&options);
	cleanup_response struct http_response r = { 0 };
	struct http_request request = { .method = "GET", .url = http_server_url(s) };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(http_perform(c, &request, &r, &err), -1);
	assert_int_equal(r.failure, HTTP_FAILURE_TRANSFER);
	assert_contains(err.text, "did not come in time");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status_headers_and_body_come_back),
		cmocka_unit_test(test_credentials_follow_a_redirect_at_home),
		cmocka_unit_test(test_credentials_stay_away_from_another_port),
		cmocka_unit_test(test_a_redirect_loop_ends),
		cmocka_unit_test(test_a_redirect_to_a_file_is_refused),
		cmocka_unit_test(test_a_body_over_the_limit_is_refused),
		cmocka_unit_test(test_a_body_is_sent_with_its_length),
		cmocka_unit_test(test_a_body_of_another_length_is_not_sent_whole),
		cmocka_unit_test(test_an_early_refusal_costs_no_byte_of_the_body),
		cmocka_unit_test(test_417_is_answered_without_expect),
		cmocka_unit_test(test_a_download_is_tried_again_at_503),
		cmocka_unit_test(test_a_missing_download_is_not_found_and_its_query_is_not_shown),
		cmocka_unit_test(test_a_download_that_breaks_off_is_not_appended_to),
		cmocka_unit_test(test_files_are_downloaded_too),
		cmocka_unit_test(test_addresses_are_shown_without_secrets),
		cmocka_unit_test(test_locations_resolve_and_stay_as_they_came),
		cmocka_unit_test(test_origins_count_scheme_host_and_port),
		cmocka_unit_test(test_nobody_listening_is_a_failure_to_connect),
		cmocka_unit_test(test_an_answer_whose_head_comes_byte_by_byte_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
