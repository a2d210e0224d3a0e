#include "tests/support/test.h"

#include "builder/fetch.h"
#include "tests/support/http_server.h"

struct site {
	char *dir;
	struct store *store;
	struct lockfile lock;
};

static void site_release(struct site *s)
{
	lockfile_release(&s->lock);
	store_close(s->store);
	test_dir_free(s->dir);
}

static void open_site(struct site *s)
{
	struct error err = { 0 };
	cleanup_free char *store = NULL;

	s->dir = test_dir();
	store = fs_join(s->dir, "store");
	s->store = store_open(store, &err);
	if (!s->store)
		fail_msg("%s", err.text);
}

/* A file that is offered with `text`, locked as if it were `locked`. */
static void offer(struct site *s, const char *name, const char *text, const char *locked)
{
	cleanup_free char *path = fs_join(s->dir, name);
	struct lock_input in = {
		.kind = LOCK_DEB, .stage = "s", .source = "os", .version = "1.0", .arch = "all"
	};
	struct error err = { 0 };

	if (text)
		assert_ok(fs_write(AT_FDCWD, path, slice_str(text), 0644, &err), err);
	in.name = arena_strdup(&s->lock.arena, name);
	in.url = arena_printf(&s->lock.arena, "file://%s", path);
	in.digest = digest_of(slice_str(locked));
	in.size = strlen(locked);
	vec_push(&lockfile_platform(&s->lock, "linux/amd64")->inputs, in);
}

static int fetch(struct site *s, struct fetch_result *result, struct error *err)
{
	struct fetch_request request = { .lock = &s->lock, .store = s->store };

	return fetch_lock(&request, result, err);
}

static void test_every_input_comes_once(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	struct fetch_result result;
	struct error err = { 0 };

	(void)state;
	open_site(&s);
	offer(&s, "one", "1", "1");
	offer(&s, "two", "22", "22");
	offer(&s, "again", "1", "1");
	assert_non_null(fetch_missing(&s.lock, s.store));
	assert_ok(fetch(&s, &result, &err), err);
	assert_int_equal(result.inputs, 2);
	assert_int_equal(result.fetched, 2);
	assert_int_equal(result.fetched_bytes, 3);
	assert_null(fetch_missing(&s.lock, s.store));
	assert_ok(fetch(&s, &result, &err), err);
	assert_int_equal(result.fetched, 0);
}

static void test_other_bytes_than_locked_name_package_and_address(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	struct fetch_result result;
	struct error err = { 0 };

	(void)state;
	open_site(&s);
	offer(&s, "tampered", "evil", "good");
	assert_int_equal(fetch(&s, &result, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "tampered 1.0");
	assert_contains(err.text, "file://");
	assert_string_equal(fetch_missing(&s.lock, s.store)->name, "tampered");
}

static void test_what_is_gone_is_named(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	struct fetch_result result;
	struct error err = { 0 };

	(void)state;
	open_site(&s);
	offer(&s, "gone", NULL, "x");
	assert_int_equal(fetch(&s, &result, &err), -1);
	assert_contains(err.text, "gone 1.0");
}

static void count(void *user, const struct fetch_event *event)
{
	size_t *seen = user;

	(*seen)++;
	assert_int_equal(event->done, *seen);
	assert_int_equal(event->total, 2);
}

static void test_each_input_is_reported(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	struct fetch_result result;
	struct error err = { 0 };
	size_t seen = 0;
	struct fetch_request request;

	(void)state;
	open_site(&s);
	offer(&s, "one", "1", "1");
	offer(&s, "two", "2", "2");
	request = (struct fetch_request){
		.lock = &s.lock, .store = s.store, .report = count, .report_user = &seen
	};
	assert_ok(fetch_lock(&request, &result, &err), err);
	assert_int_equal(seen, 2);
}

static void test_a_download_that_breaks_off_half_way_begins_anew(void **state)
{
	static const struct http_server_step script[] = {
		{ .answer = "200 OK\r\nContent-Length: 5\r\n\r\nwh", .no_length = true },
		{ .answer = "200 OK\r\nContent-Length: 5\r\n\r\nwhole", .no_length = true },
	};
	cleanup_http_server struct http_server *server = http_server_start(script, 2);
	cleanup(site_release) struct site s = { 0 };
	struct lock_input *in;
	struct fetch_result result;
	struct error err = { 0 };

	(void)state;
	open_site(&s);
	offer(&s, "one", NULL, "whole");
	in = &lockfile_platform(&s.lock, "linux/amd64")->inputs.items[0];
	in->url = arena_printf(&s.lock.arena, "%s/one", http_server_url(server));
	assert_ok(fetch(&s, &result, &err), err);
	assert_int_equal(http_server_count(server), 2);
	assert_int_equal(result.fetched_bytes, 5);
	assert_null(fetch_missing(&s.lock, s.store));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_input_comes_once),
		cmocka_unit_test(test_other_bytes_than_locked_name_package_and_address),
		cmocka_unit_test(test_what_is_gone_is_named),
		cmocka_unit_test(test_each_input_is_reported),
		cmocka_unit_test(test_a_download_that_breaks_off_half_way_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
