#include "tests/support/test.h"

#include "base/vec.h"
#include "registry/listing.h"
#include "tests/support/http_server.h"

static void check_next(const char *header, const char *want)
{
	struct slice got = listing_next(slice_str(header));
	cleanup_free char *text = xstrndup(got.data ? (const char *)got.data : "", got.len);

	assert_string_equal(text, want);
}

static void test_the_next_page_is_found_in_a_link(void **state)
{
	(void)state;
	check_next("</v2/a/tags/list?n=2&last=b>; rel=\"next\"", "/v2/a/tags/list?n=2&last=b");
	check_next("<http://h/x?a,b;c>;rel=next", "http://h/x?a,b;c");
	check_next("</x>; title=\"y\"; rel=\"next\"", "/x");
}

static void test_links_to_other_things_are_none(void **state)
{
	(void)state;
	check_next("", "");
	check_next("</x>; rel=\"prev\"", "");
	check_next("/x; rel=\"next\"", "");
	check_next("<", "");
	check_next("</x>", "");
	check_next("junk </x>; rel=next", "");
}

static void test_names_are_read_and_appended(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct listing names = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(listing_parse(slice_str("{\"name\":\"a\",\"tags\":[\"1\",\"2\"]}"), "tags",
				&arena, &names, &err),
		  err);
	assert_ok(listing_parse(slice_str("{\"tags\":null}"), "tags", &arena, &names, &err), err);
	assert_ok(listing_parse(slice_str("{}"), "tags", &arena, &names, &err), err);
	assert_ok(listing_parse(slice_str("{\"tags\":[\"3\"]}"), "tags", &arena, &names, &err),
		  err);
	assert_int_equal(names.len, 3);
	assert_string_equal(names.items[2], "3");
	vec_release(&names);
}

static void test_what_is_no_list_of_names_is_refused(void **state)
{
	static const char *const cases[] = {
		"", "[]", "{\"tags\":5}", "{\"tags\":[5]}", "{\"tags\":[\"a\"", "<html>"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct listing names = { 0 };
		struct error err = { 0 };

		assert_int_equal(listing_parse(slice_str(cases[i]), "tags", &arena, &names, &err),
				 -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		vec_release(&names);
	}
}

/* The tags by a scripted registry, joined. */
static int tags_of(const struct http_server_step *steps, size_t count, struct strbuf *out,
		   struct error *err)
{
	cleanup_http_server struct http_server *server = http_server_start(steps, count);
	struct client_options options = { .credentials = { .anonymous = true }, .tries = 1 };
	cleanup_client_repository struct client_repository *r = client_repository_open(
		http_server_url(server) + 7, "a/b", CLIENT_PULL, &options, err);
	cleanup_client struct client *c = r ? client_new(r) : NULL;
	cleanup_arena struct arena arena = { 0 };
	struct listing names = { 0 };
	int rc = c ? listing_tags(c, &arena, &names, err) : -1;

	for (size_t i = 0; i < names.len; i++)
		strbuf_addf(out, "%s ", names.items[i]);
	vec_release(&names);
	return rc;
}

static void test_all_pages_are_read(void **state)
{
	static const struct http_server_step steps[] = {
		{ .answer = "200 OK\r\n\r\n{}" },
		{ .answer = "200 OK\r\nLink: </v2/a/b/tags/list?last=2>; rel=\"next\"\r\n\r\n"
			    "{\"tags\":[\"1\",\"2\"]}" },
		{ .answer = "200 OK\r\nLink: <$URL/v2/a/b/tags/list?last=3>; rel=next\r\n\r\n"
			    "{\"tags\":[\"3\"]}" },
		{ .answer = "200 OK\r\n\r\n{\"tags\":[\"4\"]}" },
	};
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tags_of(steps, ARRAY_LEN(steps), &text, &err), err);
	assert_string_equal(strbuf_text(&text), "1 2 3 4 ");
}

static void test_a_page_that_is_its_own_next_ends_the_list(void **state)
{
	static const struct http_server_step steps[] = {
		{ .answer = "200 OK\r\n\r\n{}" },
		{ .answer = "200 OK\r\nLink: </v2/a/b/tags/list?n=1000>; rel=\"next\"\r\n\r\n"
			    "{\"tags\":[\"1\"]}" },
	};
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(tags_of(steps, ARRAY_LEN(steps), &text, &err), -1);
	assert_contains(err.text, "next page that is none of its own");
}

static void test_a_next_page_of_another_host_is_not_asked(void **state)
{
	static const struct http_server_step steps[] = {
		{ .answer = "200 OK\r\n\r\n{}" },
		{ .answer = "200 OK\r\nLink: <http://127.0.0.2:1/x>; rel=\"next\"\r\n\r\n"
			    "{\"tags\":[\"1\"]}" },
	};
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(tags_of(steps, ARRAY_LEN(steps), &text, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_next_page_is_found_in_a_link),
		cmocka_unit_test(test_links_to_other_things_are_none),
		cmocka_unit_test(test_names_are_read_and_appended),
		cmocka_unit_test(test_what_is_no_list_of_names_is_refused),
		cmocka_unit_test(test_all_pages_are_read),
		cmocka_unit_test(test_a_page_that_is_its_own_next_ends_the_list),
		cmocka_unit_test(test_a_next_page_of_another_host_is_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
