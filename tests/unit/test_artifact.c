#include "tests/support/test.h"

#include "oci/mediatype.h"
#include "registry/artifact.h"
#include "tests/support/http_server.h"

/* As we write them. */
#define INDEX(entries)             \
	"{\"manifests\":[" entries \
	"],\"mediaType\":\"application/vnd.oci.image.index.v1+json\",\"schemaVersion\":2}"
#define ENTRY(digit)                                                            \
	"{\"artifactType\":\"a/" digit "\",\"digest\":\"sha256:"                \
	"000000000000000000000000000000000000000000000000000000000000000" digit \
	"\",\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"size\":1}"
#define GREETING                             \
	{                                    \
		.answer = "200 OK\r\n\r\n{}" \
	}

struct listed {
	int rc;
	size_t count;
	char types[100];
	size_t requests;
	char last[400]; /* request */
	struct error err;
};

/* The referrers of some subject, from a registry that answers so. */
static struct listed list_from(const struct http_server_step *steps, size_t count)
{
	cleanup_http_server struct http_server *server = http_server_start(steps, count);
	struct client_options options = { .credentials = { .anonymous = true }, .backoff_ms = 1 };
	struct client_repository *repository;
	cleanup_artifact_place struct artifact_place *place = NULL;
	struct digest subject = digest_of(slice_str("subject"));
	cleanup_arena struct arena arena = { 0 };
	struct artifact_list list = { 0 };
	struct listed out = { 0 };
	size_t len = 0;

	repository = client_repository_open(http_server_url(server) + 7, "a/b", CLIENT_PUSH,
					    &options, &out.err);
	assert_non_null(repository);
	place = artifact_registry(repository);
	out.rc = artifact_list(place, &subject, &arena, &list, &out.err);
	out.count = list.len;
	for (size_t i = 0; i < list.len && len < sizeof(out.types); i++)
		len += (size_t)snprintf(out.types + len, sizeof(out.types) - len, "%s ",
					list.items[i].artifact_type);
	vec_release(&list);
	out.requests = http_server_count(server);
	snprintf(out.last, sizeof(out.last), "%s", http_server_request(server, out.requests - 1));
	return out;
}

static void test_all_pages_of_referrers_are_read(void **state)
{
	static const struct http_server_step steps[] = {
		GREETING,
		{ .answer =
			  "200 OK\r\nLink: </v2/a/b/referrers/x?at=1>; rel=\"next\"\r\n\r\n" INDEX(
				  ENTRY("1")) },
		{ .answer =
			  "200 OK\r\nLink: <$URL/v2/a/b/referrers/x?at=2>; rel=next\r\n\r\n" INDEX(
				  ENTRY("2")) },
		{ .answer = "200 OK\r\n\r\n" INDEX(ENTRY("3")) },
	};
	struct listed got = list_from(steps, ARRAY_LEN(steps));

	(void)state;
	assert_ok(got.rc, got.err);
	assert_string_equal(got.types, "a/1 a/2 a/3 ");
}

static void test_pages_that_lead_elsewhere_or_in_a_circle_end_the_list(void **state)
{
	static const struct http_server_step foreign[] = {
		GREETING,
		{ .answer = "200 OK\r\nLink: <http://127.0.0.9:1/x>; rel=\"next\"\r\n\r\n" INDEX(
			  ENTRY("1")) },
	};
	static const struct http_server_step circle[] = {
		GREETING,
		{ .answer = "200 OK\r\nLink: </v2/a/b/referrers/x>; rel=\"next\"\r\n\r\n" INDEX(
			  ENTRY("1")) },
		{ .answer = "200 OK\r\nLink: </v2/a/b/referrers/x>; rel=\"next\"\r\n\r\n" INDEX(
			  ENTRY("1")) },
	};
	struct listed got = list_from(foreign, ARRAY_LEN(foreign));

	(void)state;
	assert_int_equal(got.rc, -1);
	assert_contains(got.err.text, "none of its own");
	got = list_from(circle, ARRAY_LEN(circle));
	assert_int_equal(got.rc, -1);
	assert_int_equal(got.err.code, ERROR_FORMAT);
}

static void test_registries_without_the_api_are_asked_for_the_tag(void **state)
{
	static const char *const answers[] = {
		"404 Not Found\r\nContent-Type: text/plain\r\n\r\n404 page not found",
		"404 Not Found\r\n\r\n{\"errors\":[{\"code\":\"NOT_FOUND\"}]}",
		"405 Method Not Allowed\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		const struct http_server_step steps[] = {
			GREETING,
			{ .answer = answers[i] },
			{ .answer = "200 OK\r\n\r\n" INDEX(ENTRY("7") "," ENTRY("7")) },
		};
		struct listed got = list_from(steps, ARRAY_LEN(steps));

		assert_ok(got.rc, got.err);
		assert_string_equal(got.types, "a/7 ");
		assert_contains(got.last, "/v2/a/b/manifests/sha256-");
	}
}

static void test_no_list_under_the_tag_is_an_empty_one(void **state)
{
	static const struct http_server_step steps[] = {
		GREETING,
		{ .answer = "404 Not Found\r\n\r\n" },
		{ .answer = "404 Not Found\r\n\r\n" },
	};
	struct listed got = list_from(steps, ARRAY_LEN(steps));

	(void)state;
	assert_ok(got.rc, got.err);
	assert_int_equal(got.count, 0);
}

static void test_a_page_of_html_is_no_list(void **state)
{
	static const struct http_server_step steps[] = {
		GREETING,
		{ .answer = "200 OK\r\nContent-Type: text/html\r\n\r\n<html>sign in</html>" },
	};
	struct listed got = list_from(steps, ARRAY_LEN(steps));

	(void)state;
	assert_int_equal(got.rc, -1);
	assert_int_equal(got.err.code, ERROR_FORMAT);
}

static void test_a_refusal_is_no_empty_list(void **state)
{
	static const struct http_server_step steps[] = {
		GREETING,
		{ .answer = "403 Forbidden\r\n\r\n{\"errors\":[{\"code\":\"DENIED\"}]}" },
	};
	struct listed got = list_from(steps, ARRAY_LEN(steps));

	(void)state;
	assert_int_equal(got.rc, -1);
	assert_int_equal(got.err.code, ERROR_NETWORK);
}

/* Attach a manifest that is made already; what was asked, one method and path a line. */
static char *attach_to(const struct http_server_step *steps, size_t count)
{
	cleanup_http_server struct http_server *server = http_server_start(steps, count);
	struct client_options options = { .credentials = { .anonymous = true }, .backoff_ms = 1 };
	struct client_repository *repository;
	cleanup_artifact_place struct artifact_place *place = NULL;
	struct digest subject = digest_of(slice_str("subject"));
	struct descriptor d = { .media_type = MEDIATYPE_OCI_MANIFEST,
				.digest = digest_of(slice_str("{}")),
				.size = 2,
				.artifact_type = "a/b" };
	struct strbuf out = { 0 };
	struct error err = { 0 };

	repository = client_repository_open(http_server_url(server) + 7, "a/b", CLIENT_PUSH,
					    &options, &err);
	assert_non_null(repository);
	place = artifact_registry(repository);
	assert_ok(artifact_attach_manifest(place, &subject, &d, slice_str("{}"), &err), err);
	for (size_t i = 1; i < http_server_count(server); i++)
		strbuf_addf(&out, "%.*s\n", (int)strcspn(http_server_request(server, i), ":\r"),
			    http_server_request(server, i));
	return strbuf_steal(&out);
}

static void test_a_registry_that_lists_subjects_gets_no_tag(void **state)
{
	static const struct http_server_step steps[] = {
		GREETING,
		{ .answer = "201 Created\r\nOCI-Subject: sha256:0\r\n\r\n" },
	};
	cleanup_free char *asked = attach_to(steps, ARRAY_LEN(steps));

	(void)state;
	assert_string_equal(asked, "PUT /v2/a/b/manifests/sha256\n");
}

#define OURS                                                                  \
	"{\"artifactType\":\"a/b\",\"digest\":\"sha256:"                      \
	"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\"," \
	"\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"size\":2}"

#define NONE                                      \
	{                                         \
		.answer = "404 Not Found\r\n\r\n" \
	}
#define PUT                                     \
	{                                       \
		.answer = "201 Created\r\n\r\n" \
	}
#define LIST(entries)                                     \
	{                                                 \
		.answer = "200 OK\r\n\r\n" INDEX(entries) \
	}

/* All that the script has is asked, nothing more, and so many times something is put. */
static void expect_puts(const struct http_server_step *steps, size_t count, size_t puts)
{
	cleanup_free char *asked = attach_to(steps, count);
	size_t requests = 1, found = 0;

	for (const char *at = asked; (at = strchr(at, '\n')); at++)
		requests++;
	for (const char *at = asked; (at = strstr(at, "PUT ")); at++)
		found++;
	assert_int_equal(requests, count);
	assert_int_equal(found, puts);
	assert_non_null(strstr(asked, "PUT /v2/a/b/manifests/sha256-"));
}

static void test_a_list_that_stays_as_we_put_it_is_looked_at_once(void **state)
{
	static const struct http_server_step steps[] = {
		GREETING, PUT, /* the manifest */
		NONE,          /* no list yet */
		NONE,          /* nor just before */
		PUT,      LIST(OURS),
	};

	(void)state;
	expect_puts(steps, ARRAY_LEN(steps), 2);
}

static void test_a_list_that_another_overwrote_is_written_again(void **state)
{
	static const struct http_server_step steps[] = {
		GREETING,
		PUT,
		NONE,
		NONE,
		PUT,
		LIST(ENTRY("1")), /* the other's came after */
		LIST(ENTRY("1")), /* still */
		PUT,              /* both are put */
		LIST(ENTRY("1") "," OURS),
	};

	(void)state;
	expect_puts(steps, ARRAY_LEN(steps), 3);
}

static void test_a_list_that_others_add_to_is_looked_at_until_it_stays(void **state)
{
	static const struct http_server_step steps[] = {
		GREETING,
		PUT,
		NONE,
		NONE,
		PUT,
		LIST(OURS "," ENTRY("1")), /* ours is there, and so are others who write */
		LIST(ENTRY("2")),          /* one of them had read before us and writes after us */
		LIST(ENTRY("2")),
		PUT,
		LIST(ENTRY("2") "," OURS "," ENTRY("1")),
		LIST(ENTRY("2") "," OURS "," ENTRY("1")), /* nobody any more */
	};

	(void)state;
	expect_puts(steps, ARRAY_LEN(steps), 3);
}

static void test_a_list_that_changed_before_we_put_ours_is_made_anew(void **state)
{
	static const struct http_server_step steps[] = {
		GREETING,
		PUT,
		NONE,
		LIST(ENTRY("1")), /* came while ours was made */
		LIST(ENTRY("1")),
		LIST(ENTRY("1")),
		PUT,
		LIST(ENTRY("1") "," OURS),
	};

	(void)state;
	expect_puts(steps, ARRAY_LEN(steps), 2);
}

static void test_a_refused_list_is_put_again(void **state)
{
	static const struct http_server_step steps[] = {
		GREETING,
		PUT,
		NONE,
		NONE,
		{ .answer = "400 Bad Request\r\n\r\n{\"errors\":[{\"code\":\"DIGEST_INVALID\"}]}" },
		NONE,
		NONE,
		PUT,
		LIST(OURS),
	};

	(void)state;
	expect_puts(steps, ARRAY_LEN(steps), 3);
}

static void test_tags_for_attachments_are_known_as_such(void **state)
{
	static const char hex[] =
		"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
	struct digest digest = digest_of(slice_str("{}"));
	cleanup_free char *plain = artifact_tag(&digest, ""), *sig = artifact_tag(&digest, ".sig");

	(void)state;
	assert_true(str_starts(plain, "sha256-") && str_equal(plain + 7, hex));
	assert_true(reference_tag_attached(plain));
	assert_true(reference_tag_attached(sig));
	assert_false(reference_tag_attached("sha256-1"));
	assert_false(reference_tag_attached("1.0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_pages_of_referrers_are_read),
		cmocka_unit_test(test_pages_that_lead_elsewhere_or_in_a_circle_end_the_list),
		cmocka_unit_test(test_registries_without_the_api_are_asked_for_the_tag),
		cmocka_unit_test(test_no_list_under_the_tag_is_an_empty_one),
		cmocka_unit_test(test_a_page_of_html_is_no_list),
		cmocka_unit_test(test_a_refusal_is_no_empty_list),
		cmocka_unit_test(test_a_registry_that_lists_subjects_gets_no_tag),
		cmocka_unit_test(test_a_list_that_stays_as_we_put_it_is_looked_at_once),
		cmocka_unit_test(test_a_list_that_another_overwrote_is_written_again),
		cmocka_unit_test(test_a_list_that_others_add_to_is_looked_at_until_it_stays),
		cmocka_unit_test(test_a_list_that_changed_before_we_put_ours_is_made_anew),
		cmocka_unit_test(test_a_refused_list_is_put_again),
		cmocka_unit_test(test_tags_for_attachments_are_known_as_such),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
