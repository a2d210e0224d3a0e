#include "tests/support/test.h"

#include "registry/journal.h"
#include "registry/upload.h"
#include "tests/support/http_server.h"

/* Parts of the script. */
#define HELLO                                \
	{                                    \
		.answer = "200 OK\r\n\r\n{}" \
	}
#define ANSWER(text)                      \
	{                                 \
		.answer = text "\r\n\r\n" \
	}
#define MISSING ANSWER("404 Not")
#define OPENED ANSWER("202 Accepted\r\nLocation: /up/1?s=1")
#define CREATED ANSWER("201 Created")
#define CUT(bytes)                                \
	{                                         \
		.answer = NULL, .body_cut = bytes \
	}
#define AT(range) ANSWER("204 No Content\r\nRange: " range)

static const char content[] = "0123456789abcdefghijklmnopqrstuvwxyz";
enum { SIZE = sizeof(content) - 1 };

/* One upload of `content` to a scripted registry. */
struct bench {
	struct http_server *server;
	struct client_options options;
	struct client_repository *repository;
	struct client *client;
	struct upload_host *host;
	struct digest digest;
	struct descriptor desc;
	struct upload upload;
	struct upload_result result;
	char *dir;
	bool stop;
	size_t opens;
	uint64_t position, sent;
};

static struct stream *open_content(void *user, struct error *err)
{
	struct bench *b = user;

	(void)err;
	b->opens++;
	return stream_memory(slice_str(content));
}

static bool is_stopped(void *user)
{
	return ((struct bench *)user)->stop;
}

static void count(void *user, uint64_t position, uint64_t sent)
{
	struct bench *b = user;

	b->position = position;
	b->sent += sent;
}

static void begin(struct bench *b, const struct http_server_step *script, size_t steps,
		  const char *persona)
{
	struct error err = { 0 };

	*b = (struct bench){ .server = http_server_start(script, steps), .dir = test_dir() };
	b->options = (struct client_options){ .credentials = { .anonymous = true },
					      .tries = 3,
					      .backoff_ms = 1,
					      .commit_wait_ms = 1 };
	b->repository = client_repository_open(http_server_url(b->server) + 7, "a/b", CLIENT_PUSH,
					       &b->options, &err);
	if (!b->repository)
		fail_msg("%s", err.text);
	b->client = client_new(b->repository);
	b->host = upload_host_open(NULL, "h", NULL, persona_named(persona));
	b->digest = digest_of(slice_str(content));
	b->desc = (struct descriptor){ .digest = b->digest, .size = SIZE };
	b->upload = (struct upload){ .host = b->host,
				     .desc = &b->desc,
				     .open = open_content,
				     .stopped = is_stopped,
				     .moved = count,
				     .user = b };
}

static void end(struct bench *b)
{
	client_free(b->client);
	client_repository_close(b->repository);
	upload_host_close(b->host);
	http_server_stop(b->server);
	test_dir_free(b->dir);
}

static int run(struct bench *b, struct error *err)
{
	return upload_blob(&b->upload, b->client, &b->result, err);
}

static size_t requests_of(struct bench *b, const char *method)
{
	size_t n = 0;

	for (size_t i = 0; i < http_server_count(b->server); i++)
		n += str_starts(http_server_request(b->server, i), method);
	return n;
}

static void check_ends(struct bench *b, size_t n, const char *want)
{
	if (!str_ends(http_server_request(b->server, n), want))
		fail_msg("request %zu is \"%s\", without \"%s\" at its end", n,
			 http_server_request(b->server, n), want);
}

static void test_a_cut_part_goes_on_where_the_registry_stands(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,  MISSING, OPENED, CUT(10), AT("0-9"), ANSWER("202 Accepted\r\nRange: 0-35"),
		CREATED
	};
	struct error err = { 0 };
	struct bench b;

	(void)state;
	begin(&b, script, ARRAY_LEN(script), "artifactory");
	assert_ok(run(&b, &err), err);
	check_ends(&b, 5, "\r\n\r\nabcdefghijklmnopqrstuvwxyz");
	assert_contains(http_server_request(b.server, 5), "Content-Range: 10-35\r\n");
	assert_int_equal(b.result.restarts, 0);
	assert_int_equal(upload_host_facts(b.host).resume, ANSWER_YES);
	assert_int_equal(b.position, SIZE);
	end(&b);
}

static void test_tries_without_progress_end(void **state)
{
	struct http_server_step script[40] = { HELLO, MISSING, OPENED };
	struct error err = { 0 };
	struct bench b;
	size_t n = 3;

	(void)state;
	while (n + 2 <= ARRAY_LEN(script)) {
		script[n++] = (struct http_server_step)CUT(5);
		script[n++] = (struct http_server_step)AT("0-0");
	}
	begin(&b, script, n, "artifactory");
	assert_int_equal(run(&b, &err), -1);
	assert_int_equal(err.code, ERROR_NETWORK);
	assert_int_equal(requests_of(&b, "PATCH"), 9);
	assert_int_equal(requests_of(&b, "POST"), 1);
	end(&b);
}

static void test_progress_starts_the_count_of_tries_anew(void **state)
{
	struct http_server_step script[40] = { HELLO, MISSING, OPENED };
	char answers[12][64];
	struct error err = { 0 };
	struct bench b;
	size_t n = 3;

	(void)state;
	for (int i = 0; i < 12; i++) {
		snprintf(answers[i], sizeof(answers[i]), "204 No Content\r\nRange: 0-%d\r\n\r\n",
			 i * 2 + 1);
		script[n++] = (struct http_server_step)CUT(2);
		script[n++] = (struct http_server_step){ .answer = answers[i] };
	}
	script[n++] = (struct http_server_step)ANSWER("202 Accepted");
	script[n++] = (struct http_server_step)CREATED;
	begin(&b, script, n, "artifactory");
	assert_ok(run(&b, &err), err);
	assert_int_equal(requests_of(&b, "PATCH"), 13);
	end(&b);
}

static void test_sessions_that_keep_vanishing_end_with_a_reason(void **state)
{
	struct http_server_step script[40] = { HELLO, MISSING };
	struct error err = { 0 };
	struct bench b;
	size_t n = 2;

	(void)state;
	while (n + 4 <= ARRAY_LEN(script)) {
		script[n++] = (struct http_server_step)OPENED;
		script[n++] = (struct http_server_step)CUT(5);
		script[n++] = (struct http_server_step)MISSING; /* status */
		script[n++] = (struct http_server_step)MISSING; /* blob */
	}
	begin(&b, script, n, "artifactory");
	assert_int_equal(run(&b, &err), -1);
	assert_contains(err.text, "sessions were lost");
	assert_contains(err.text, "http.secret");
	assert_int_equal(requests_of(&b, "POST"), 7);
	assert_int_equal(upload_host_facts(b.host).resume, ANSWER_NO);
	end(&b);
}

#define UNKNOWN                                                               \
	{                                                                     \
		.answer = "404 Not\r\nContent-Type: application/json\r\n\r\n" \
			  "{\"errors\":[{\"code\":\"BLOB_UPLOAD_UNKNOWN\"}]}" \
	}

static void test_a_session_that_only_questions_find_is_a_lost_one(void **state)
{
	struct http_server_step script[40] = { HELLO, MISSING };
	struct error err = { 0 };
	struct bench b;
	size_t n = 2;

	(void)state;
	while (n + 5 <= ARRAY_LEN(script)) {
		script[n++] = (struct http_server_step)OPENED;
		script[n++] = (struct http_server_step)UNKNOWN;
		script[n++] = (struct http_server_step)AT("0--1");
		script[n++] = (struct http_server_step)UNKNOWN;
		script[n++] = (struct http_server_step)MISSING; /* blob */
	}
	begin(&b, script, n, "distribution");
	assert_int_equal(run(&b, &err), -1);
	assert_contains(err.text, "7 upload sessions were lost");
	assert_contains(err.text, "http.secret");
	assert_int_equal(requests_of(&b, "PUT"), 14);
	end(&b);
}

static void test_a_session_that_is_known_by_turns_names_the_reason(void **state)
{
	struct http_server_step script[22] = { HELLO, MISSING, OPENED, UNKNOWN, AT("0--1") };
	struct error err = { 0 };
	struct bench b;
	size_t n = 5;

	(void)state;
	while (n + 2 <= ARRAY_LEN(script)) {
		script[n++] = (struct http_server_step)CUT(5);
		script[n++] = (struct http_server_step)AT("0--1");
	}
	begin(&b, script, n, "artifactory");
	assert_int_equal(run(&b, &err), -1);
	assert_contains(err.text, "known by turns");
	assert_contains(err.text, "http.secret");
	end(&b);
}

static void test_a_blob_that_somebody_else_brought_is_not_sent_again(void **state)
{
	static const struct http_server_step script[] = { HELLO,   MISSING, OPENED,
							  CUT(10), MISSING, ANSWER("200 OK") };
	struct error err = { 0 };
	struct bench b;

	(void)state;
	begin(&b, script, ARRAY_LEN(script), "artifactory");
	assert_ok(run(&b, &err), err);
	assert_int_equal(requests_of(&b, "POST"), 1);
	end(&b);
}

static void test_502_to_the_question_is_a_lost_session(void **state)
{
	static const struct http_server_step script[] = { HELLO,
							  MISSING,
							  OPENED,
							  CUT(10),
							  ANSWER("502 Bad"),
							  ANSWER("502 Bad"),
							  MISSING,
							  OPENED,
							  ANSWER("202 Accepted"),
							  CREATED };
	struct error err = { 0 };
	struct bench b;

	(void)state;
	begin(&b, script, ARRAY_LEN(script), "artifactory");
	assert_ok(run(&b, &err), err);
	assert_int_equal(b.result.restarts, 1);
	end(&b);
}

static void test_a_digest_refused_twice_is_the_registrys_fault(void **state)
{
#define WRONG                                                                           \
	{                                                                               \
		.answer = "400 Bad\r\n\r\n{\"errors\":[{\"code\":\"DIGEST_INVALID\"}]}" \
	}
	static const struct http_server_step script[] = { HELLO,   MISSING, OPENED, WRONG,
							  MISSING, OPENED,  WRONG,  MISSING };
	struct error err = { 0 };
	struct bench b;

	(void)state;
	begin(&b, script, ARRAY_LEN(script), "distribution");
	assert_int_equal(run(&b, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "refused twice");
	end(&b);
}

static void test_amazons_refusal_names_the_byte_it_wants(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		MISSING,
		OPENED,
		{ .answer =
			  "416 Range\r\n\r\n{\"errors\":[{\"code\":\"X\",\"message\":\"First byte "
			  "of the layer part is 0 instead of 30\"}]}" },
		ANSWER("202 Accepted"),
		CREATED,
	};
	struct error err = { 0 };
	struct bench b;

	(void)state;
	begin(&b, script, ARRAY_LEN(script), "artifactory");
	assert_ok(run(&b, &err), err);
	check_ends(&b, 4, "\r\n\r\nuvwxyz");
	end(&b);
}

static void test_the_wanted_byte_is_read_with_care(void **state)
{
	uint64_t n = 0;

	(void)state;
	assert_true(upload_wanted_offset("first byte is 9 instead of 12.", &n));
	assert_int_equal(n, 12);
	assert_false(upload_wanted_offset("", &n));
	assert_false(upload_wanted_offset("First byte is 9 instead of", &n));
	assert_false(upload_wanted_offset("instead of 3", &n));
	assert_false(upload_wanted_offset("First byte instead of 99999999999999999999999", &n));
}

static void test_401_for_ever_ends_soon(void **state)
{
	struct http_server_step script[20] = { HELLO, MISSING, OPENED };
	struct error err = { 0 };
	struct bench b;
	size_t n = 3;

	(void)state;
	while (n + 2 <= ARRAY_LEN(script)) {
		script[n++] = (struct http_server_step)ANSWER("401 No");
		script[n++] = (struct http_server_step)AT("0-0");
	}
	begin(&b, script, n, "artifactory");
	assert_int_equal(run(&b, &err), -1);
	assert_contains(err.text, "401");
	assert_int_equal(requests_of(&b, "PATCH"), 3);
	end(&b);
}

static void test_a_quota_ends_at_once_with_the_registrys_words(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		MISSING,
		OPENED,
		{ .answer =
			  "403 No\r\n\r\n{\"errors\":[{\"code\":\"DENIED\",\"message\":\"adding 1 "
			  "GiB would exceed the quota\"}]}" }
	};
	struct error err = { 0 };
	struct bench b;

	(void)state;
	begin(&b, script, ARRAY_LEN(script), "artifactory");
	assert_int_equal(run(&b, &err), -1);
	assert_contains(err.text, "exceed the quota");
	assert_int_equal(http_server_count(b.server), 4);
	end(&b);
}

static void test_a_commit_that_got_lost_is_repeated_when_the_session_lives(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,   MISSING,    OPENED, ANSWER("202 Accepted"), ANSWER("503 Later"),
		MISSING, AT("0-35"), CREATED
	};
	struct error err = { 0 };
	struct bench b;

	(void)state;
	begin(&b, script, ARRAY_LEN(script), "artifactory");
	assert_ok(run(&b, &err), err);
	assert_int_equal(requests_of(&b, "PATCH"), 1);
	assert_int_equal(requests_of(&b, "PUT"), 2);
	assert_int_equal(b.sent, SIZE);
	end(&b);
}

static void test_a_registry_that_counts_too_much_is_not_believed(void **state)
{
	static const struct http_server_step script[] = { HELLO,
							  MISSING,
							  OPENED,
							  ANSWER("202 Accepted\r\nRange: 0-99"),
							  MISSING,
							  OPENED,
							  ANSWER("202 Accepted\r\nRange: 0-35"),
							  CREATED };
	struct error err = { 0 };
	struct bench b;

	(void)state;
	begin(&b, script, ARRAY_LEN(script), "artifactory");
	assert_ok(run(&b, &err), err);
	assert_int_equal(b.result.restarts, 1);
	end(&b);
}

static void test_what_another_blob_ended_stops(void **state)
{
	static const struct http_server_step script[] = { HELLO, MISSING, OPENED, CREATED };
	struct error err = { 0 };
	struct bench b;

	(void)state;
	begin(&b, script, ARRAY_LEN(script), "artifactory");
	b.stop = true;
	assert_int_equal(run(&b, &err), -1);
	assert_int_equal(requests_of(&b, "PUT"), 0);
	end(&b);
}

static void test_a_blob_larger_than_the_registry_takes_is_refused_before_it_is_sent(void **state)
{
	static const struct http_server_step script[] = { HELLO, MISSING };
	struct error err = { 0 };
	struct bench b;

	(void)state;
	begin(&b, script, ARRAY_LEN(script), "github");
	b.desc.size = 11 * GIB;
	assert_int_equal(run(&b, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_contains(err.text, "layers.max-size");
	assert_int_equal(http_server_count(b.server), 2);
	end(&b);
}

/* A blob large enough for a journal. */

struct large {
	struct bench b;
	char *zeros;
};

static struct stream *open_large(void *user, struct error *err)
{
	struct large *l = user;

	(void)err;
	return stream_memory(slice_of(l->zeros, 2 * MIB));
}

static void begin_large(struct large *l, const struct http_server_step *script, size_t steps,
			uint64_t journalled)
{
	struct journal_key key;
	struct journal *j;
	cleanup_free char *location = NULL;
	struct error err = { 0 };

	begin(&l->b, script, steps, "artifactory");
	l->zeros = xcalloc(1, 2 * MIB);
	l->b.digest = digest_of(slice_of(l->zeros, 2 * MIB));
	l->b.desc = (struct descriptor){ .digest = l->b.digest, .size = 2 * MIB };
	l->b.upload.open = open_large;
	l->b.upload.user = l; /* begins with the bench */
	l->b.upload.state_dir = l->b.dir;
	key = (struct journal_key){ .registry = http_server_url(l->b.server) + 7,
				    .repository = "a/b",
				    .digest = &l->b.digest,
				    .size = 2 * MIB };
	location = xasprintf("%s/up/old?s=9", http_server_url(l->b.server));
	assert_ok(journal_open(l->b.dir, &key, &j, &err), err);
	assert_non_null(j);
	journal_write(j, location, journalled);
	journal_close(j);
}

static void end_large(struct large *l)
{
	end(&l->b);
	free(l->zeros);
}

static void test_an_earlier_processs_session_is_taken_up(void **state)
{
	static const struct http_server_step script[] = {
		HELLO, MISSING, AT("0-2097147"), ANSWER("202 Accepted\r\nRange: 0-2097151"), CREATED
	};
	struct error err = { 0 };
	struct large l;

	(void)state;
	begin_large(&l, script, ARRAY_LEN(script), MIB);
	assert_ok(run(&l.b, &err), err);
	assert_contains(http_server_request(l.b.server, 2), "GET /up/old?s=9 ");
	assert_contains(http_server_request(l.b.server, 3), "Content-Range: 2097148-2097151\r\n");
	assert_int_equal(l.b.result.resumed, 2 * MIB - 4);
	assert_int_equal(l.b.sent, 4);
	end_large(&l);
}

static void test_an_earlier_processs_session_that_is_gone_is_no_obstacle(void **state)
{
	static const struct http_server_step script[] = {
		HELLO, MISSING, MISSING, OPENED, ANSWER("202 Accepted"), CREATED
	};
	struct error err = { 0 };
	struct large l;

	(void)state;
	begin_large(&l, script, ARRAY_LEN(script), MIB);
	assert_ok(run(&l.b, &err), err);
	assert_int_equal(l.b.result.resumed, 0);
	assert_int_equal(l.b.result.restarts, 0);
	assert_int_equal(l.b.sent, 2 * MIB);
	end_large(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_cut_part_goes_on_where_the_registry_stands),
		cmocka_unit_test(test_tries_without_progress_end),
		cmocka_unit_test(test_progress_starts_the_count_of_tries_anew),
		cmocka_unit_test(test_sessions_that_keep_vanishing_end_with_a_reason),
		cmocka_unit_test(test_a_session_that_only_questions_find_is_a_lost_one),
		cmocka_unit_test(test_a_session_that_is_known_by_turns_names_the_reason),
		cmocka_unit_test(test_a_blob_that_somebody_else_brought_is_not_sent_again),
		cmocka_unit_test(test_502_to_the_question_is_a_lost_session),
		cmocka_unit_test(test_a_digest_refused_twice_is_the_registrys_fault),
		cmocka_unit_test(test_amazons_refusal_names_the_byte_it_wants),
		cmocka_unit_test(test_the_wanted_byte_is_read_with_care),
		cmocka_unit_test(test_401_for_ever_ends_soon),
		cmocka_unit_test(test_a_quota_ends_at_once_with_the_registrys_words),
		cmocka_unit_test(test_a_commit_that_got_lost_is_repeated_when_the_session_lives),
		cmocka_unit_test(test_a_registry_that_counts_too_much_is_not_believed),
		cmocka_unit_test(test_what_another_blob_ended_stops),
		cmocka_unit_test(
			test_a_blob_larger_than_the_registry_takes_is_refused_before_it_is_sent),
		cmocka_unit_test(test_an_earlier_processs_session_is_taken_up),
		cmocka_unit_test(test_an_earlier_processs_session_that_is_gone_is_no_obstacle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
