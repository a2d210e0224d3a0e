#include "tests/support/test.h"

#include "oci/mediatype.h"
#include "registry/push_plan.h"
#include "registry/transfer.h"
#include "tests/support/http_server.h"

#define HELLO                                \
	{                                    \
		.answer = "200 OK\r\n\r\n{}" \
	}
#define MISSING                             \
	{                                   \
		.answer = "404 Not\r\n\r\n" \
	}
#define OPENED                                                          \
	{                                                               \
		.answer = "202 Accepted\r\nLocation: /up/1?s=1\r\n\r\n" \
	}
#define CREATED                                 \
	{                                       \
		.answer = "201 Created\r\n\r\n" \
	}

/* A source in memory: its first document is the root. */
struct memory_source {
	struct image_source base;
	struct slice items[16];
	size_t count;
	const char *root_type;
	bool damaged; /* blobs other than documents come with a wrong byte */
	char damage[64];
};

static int memory_root(struct image_source *base, struct strbuf *out, struct descriptor *desc,
		       struct error *err)
{
	struct memory_source *s = (struct memory_source *)base;

	(void)err;
	strbuf_add(out, s->items[0].data, s->items[0].len);
	*desc = (struct descriptor){ .media_type = s->root_type,
				     .digest = digest_of(s->items[0]),
				     .size = s->items[0].len };
	return 0;
}

static struct stream *memory_blob(struct image_source *base, const struct descriptor *desc,
				  struct error *err)
{
	struct memory_source *s = (struct memory_source *)base;

	for (size_t i = 0; i < s->count; i++) {
		struct digest d = digest_of(s->items[i]);

		if (!digest_equal(&d, &desc->digest))
			continue;
		if (!s->damaged || s->items[i].len >= sizeof(s->damage))
			return stream_memory(s->items[i]);
		memcpy(s->damage, s->items[i].data, s->items[i].len);
		s->damage[0] ^= 1;
		return stream_memory(slice_of(s->damage, s->items[i].len));
	}
	error_set(err, ERROR_NOT_FOUND, "no such blob");
	return NULL;
}

static const struct image_source_ops memory_ops = { .root = memory_root, .blob = memory_blob };

static const char config_text[] = "{\"architecture\":\"amd64\",\"os\":\"linux\",\"rootfs\":"
				  "{\"type\":\"layers\",\"diff_ids\":[]}}";

/* {"mediaType":…,"digest":…,"size":…} */
static void add_descriptor(struct strbuf *out, const char *type, struct slice content)
{
	struct digest d = digest_of(content);
	char text[DIGEST_TEXT_MAX];

	strbuf_addf(out, "{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":%zu}", type,
		    digest_text(&d, text), content.len);
}

struct material {
	struct strbuf manifest, index;
	struct memory_source source;
};

/* An image of one configuration and the layer "layer", twice. */
static void make_image(struct material *m)
{
	struct slice config = slice_str(config_text), layer = slice_str("layer");

	strbuf_adds(&m->manifest, "{\"schemaVersion\":2,\"mediaType\":\"" MEDIATYPE_OCI_MANIFEST
				  "\",\"config\":");
	add_descriptor(&m->manifest, MEDIATYPE_OCI_CONFIG, config);
	strbuf_adds(&m->manifest, ",\"layers\":[");
	add_descriptor(&m->manifest, MEDIATYPE_OCI_LAYER, layer);
	strbuf_adds(&m->manifest, ",");
	add_descriptor(&m->manifest, MEDIATYPE_OCI_LAYER, layer);
	strbuf_adds(&m->manifest, "]}");
	m->source = (struct memory_source){ .base = { .ops = &memory_ops },
					    .items = { strbuf_slice(&m->manifest), config, layer },
					    .count = 3,
					    .root_type = MEDIATYPE_OCI_MANIFEST };
}

/* The same below an index. */
static void make_index(struct material *m)
{
	make_image(m);
	strbuf_adds(&m->index, "{\"schemaVersion\":2,\"mediaType\":\"" MEDIATYPE_OCI_INDEX
			       "\",\"manifests\":[");
	add_descriptor(&m->index, MEDIATYPE_OCI_MANIFEST, strbuf_slice(&m->manifest));
	strbuf_adds(&m->index, "]}");
	m->source.items[m->source.count++] = m->source.items[0];
	m->source.items[0] = strbuf_slice(&m->index);
	m->source.root_type = MEDIATYPE_OCI_INDEX;
}

static void material_release(struct material *m)
{
	strbuf_release(&m->manifest);
	strbuf_release(&m->index);
}

/* Push to "team/app" with the tags, one thread, quick tries. */
static int push(struct material *m, struct http_server *server, const char *const *tags,
		struct push_result *result, struct error *err)
{
	struct reference to[4] = { 0 };
	struct push_request request = { .source = &m->source.base,
					.destinations = to,
					.client = { .credentials = { .anonymous = true },
						    .tries = 3,
						    .backoff_ms = 1,
						    .commit_wait_ms = 1 },
					.parallel = 1 };

	for (; tags[request.destination_count]; request.destination_count++)
		to[request.destination_count] =
			(struct reference){ .registry = http_server_url(server) + 7,
					    .repository = "team/app",
					    .tag = tags[request.destination_count] };
	return transfer_push(&request, result, err);
}

static const char *const one_tag[] = { "v1", NULL };

static void check_begins(struct http_server *s, size_t n, const char *want)
{
	if (!str_starts(http_server_request(s, n), want))
		fail_msg("request %zu is \"%.80s\", not \"%s\"", n, http_server_request(s, n),
			 want);
}

static void test_each_blob_goes_once_and_the_manifest_last(void **state)
{
	static const struct http_server_step script[] = { HELLO,   MISSING, OPENED,  CREATED,
							  MISSING, OPENED,  CREATED, CREATED };
	cleanup_http_server struct http_server *s = http_server_start(script, ARRAY_LEN(script));
	cleanup_push_result struct push_result result = { 0 };
	struct material m = { 0 };
	struct error err = { 0 };

	(void)state;
	make_image(&m);
	assert_ok(push(&m, s, one_tag, &result, &err), err);
	assert_int_equal(http_server_count(s), ARRAY_LEN(script));
	check_begins(s, 1, "HEAD /v2/team/app/blobs/sha256:");
	check_begins(s, 2, "POST ");
	check_begins(s, 3, "PUT /up/1?s=1&digest=");
	assert_true(str_ends(http_server_request(s, 3), config_text)); /* the larger one first */
	check_begins(s, 7, "PUT /v2/team/app/manifests/v1 ");
	assert_int_equal(result.blob_count, 2);
	assert_int_equal(result.blobs[0].state, PUSH_SENT);
	assert_int_equal(result.bytes_sent, strlen(config_text) + 5);
	material_release(&m);
}

static void test_what_is_there_is_not_sent(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,   { .answer = "200 OK\r\n\r\n" }, { .answer = "200 OK\r\n\r\n" }, CREATED,
		CREATED,
	};
	static const char *const tags[] = { "v1", "latest", NULL };
	cleanup_http_server struct http_server *s = http_server_start(script, ARRAY_LEN(script));
	cleanup_push_result struct push_result result = { 0 };
	struct material m = { 0 };
	struct error err = { 0 };

	(void)state;
	make_image(&m);
	assert_ok(push(&m, s, tags, &result, &err), err);
	check_begins(s, 3, "PUT /v2/team/app/manifests/v1 ");
	check_begins(s, 4, "PUT /v2/team/app/manifests/latest ");
	assert_int_equal(result.bytes_sent, 0);
	assert_int_equal(result.blobs[0].state, PUSH_PRESENT);
	material_release(&m);
}

static void test_an_index_comes_after_its_images(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,   { .answer = "200 OK\r\n\r\n" }, { .answer = "200 OK\r\n\r\n" }, CREATED,
		CREATED,
	};
	cleanup_http_server struct http_server *s = http_server_start(script, ARRAY_LEN(script));
	cleanup_push_result struct push_result result = { 0 };
	struct material m = { 0 };
	struct error err = { 0 };

	(void)state;
	make_index(&m);
	assert_ok(push(&m, s, one_tag, &result, &err), err);
	check_begins(s, 3, "PUT /v2/team/app/manifests/sha256:");
	check_begins(s, 4, "PUT /v2/team/app/manifests/v1 ");
	assert_int_equal(result.manifest_count, 2);
	assert_true(result.root.size == m.index.len);
	material_release(&m);
}

static void test_a_cut_upload_starts_over_in_a_new_session(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		MISSING,
		OPENED,
		{ .answer = NULL, .body_cut = 3 },
		MISSING,
		MISSING,
		MISSING,
		MISSING,
		OPENED,
		CREATED,
		{ .answer = "200 OK\r\n\r\n" },
		CREATED,
	};
	cleanup_http_server struct http_server *s = http_server_start(script, ARRAY_LEN(script));
	cleanup_push_result struct push_result result = { 0 };
	struct material m = { 0 };
	struct error err = { 0 };

	(void)state;
	make_image(&m);
	assert_ok(push(&m, s, one_tag, &result, &err), err);
	assert_int_equal(result.blobs[0].restarts, 1);
	assert_int_equal(result.bytes_sent, 2 * strlen(config_text));
	material_release(&m);
}

static void test_a_session_that_is_unknown_at_put_starts_over(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		MISSING,
		OPENED,
		{ .answer = "404 Not\r\n\r\n{\"errors\":[{\"code\":\"BLOB_UPLOAD_UNKNOWN\"}]}" },
		MISSING,
		MISSING,
		OPENED,
		CREATED,
		{ .answer = "200 OK\r\n\r\n" },
		CREATED,
	};
	cleanup_http_server struct http_server *s = http_server_start(script, ARRAY_LEN(script));
	cleanup_push_result struct push_result result = { 0 };
	struct material m = { 0 };
	struct error err = { 0 };

	(void)state;
	make_image(&m);
	assert_ok(push(&m, s, one_tag, &result, &err), err);
	assert_int_equal(http_server_count(s), ARRAY_LEN(script));
	material_release(&m);
}

static void test_a_blob_that_vanished_is_sent_again(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		{ .answer = "200 OK\r\n\r\n" },
		{ .answer = "200 OK\r\n\r\n" },
		{ .answer = "400 Bad\r\n\r\n{\"errors\":[{\"code\":\"MANIFEST_BLOB_UNKNOWN\"}]}" },
		{ .answer = "200 OK\r\n\r\n" },
		MISSING,
		OPENED,
		CREATED,
		CREATED,
	};
	cleanup_http_server struct http_server *s = http_server_start(script, ARRAY_LEN(script));
	cleanup_push_result struct push_result result = { 0 };
	struct material m = { 0 };
	struct error err = { 0 };

	(void)state;
	make_image(&m);
	assert_ok(push(&m, s, one_tag, &result, &err), err);
	check_begins(s, 8, "PUT /v2/team/app/manifests/v1 ");
	material_release(&m);
}

static void test_a_digest_that_is_refused_once_is_sent_again(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		{ .answer = "200 OK\r\n\r\n" },
		{ .answer = "200 OK\r\n\r\n" },
		{ .answer = "400 Bad\r\n\r\n{\"errors\":[{\"code\":\"DIGEST_INVALID\"}]}" },
		{ .answer = "200 OK\r\n\r\n" },
		{ .answer = "200 OK\r\n\r\n" },
		CREATED,
	};
	cleanup_http_server struct http_server *s = http_server_start(script, ARRAY_LEN(script));
	cleanup_push_result struct push_result result = { 0 };
	struct material m = { 0 };
	struct error err = { 0 };

	(void)state;
	make_image(&m);
	assert_ok(push(&m, s, one_tag, &result, &err), err);
	check_begins(s, 6, "PUT /v2/team/app/manifests/v1 ");
	material_release(&m);
}

static void test_a_damaged_blob_is_stopped_and_its_session_ended(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		MISSING,
		OPENED,
		CREATED /* never read: the body ends early */,
		{ .answer = "204 Gone\r\n\r\n" },
	};
	cleanup_http_server struct http_server *s = http_server_start(script, ARRAY_LEN(script));
	cleanup_push_result struct push_result result = { 0 };
	struct material m = { 0 };
	struct error err = { 0 };
	size_t count;

	(void)state;
	make_image(&m);
	m.source.items[1] = slice_str("config"); /* short, so that it is damaged */
	strbuf_truncate(&m.manifest, 0);
	strbuf_adds(&m.manifest, "{\"schemaVersion\":2,\"config\":");
	add_descriptor(&m.manifest, MEDIATYPE_OCI_CONFIG, m.source.items[1]);
	strbuf_adds(&m.manifest, ",\"layers\":[]}");
	m.source.items[0] = strbuf_slice(&m.manifest);
	m.source.damaged = true;
	assert_int_equal(push(&m, s, one_tag, &result, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	count = http_server_count(s);
	check_begins(s, count - 1, "DELETE /up/1?s=1 ");
	for (size_t i = 0; i < count; i++)
		assert_null(strstr(http_server_request(s, i), "manifests"));
	material_release(&m);
}

static void test_a_damaged_child_is_refused_before_anything_is_sent(void **state)
{
	static const struct http_server_step script[] = { HELLO };
	cleanup_http_server struct http_server *s = http_server_start(script, ARRAY_LEN(script));
	cleanup_push_result struct push_result result = { 0 };
	struct material m = { 0 };
	struct error err = { 0 };

	(void)state;
	make_index(&m);
	m.source.count = 3; /* the image manifest is not there */
	assert_int_equal(push(&m, s, one_tag, &result, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "manifest sha256:");
	assert_int_equal(http_server_count(s), 0);
	material_release(&m);
}

static void test_a_destinations_digest_must_be_the_images(void **state)
{
	struct material m = { 0 };
	struct reference to = { .registry = "127.0.0.1:1",
				.repository = "a",
				.has_digest = true,
				.digest = digest_of(slice_str("x")) };
	struct push_request request = { .source = &m.source.base,
					.destinations = &to,
					.destination_count = 1 };
	cleanup_push_result struct push_result result = { 0 };
	struct error err = { 0 };

	(void)state;
	make_image(&m);
	assert_int_equal(transfer_push(&request, &result, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	material_release(&m);
}

static void test_indexes_nested_too_deep_are_refused(void **state)
{
	struct strbuf texts[12] = { 0 };
	struct push_plan plan = { 0 };
	struct memory_source s = { .base = { .ops = &memory_ops },
				   .root_type = MEDIATYPE_OCI_INDEX };
	struct error err = { 0 };

	(void)state;
	strbuf_adds(&texts[0], "{\"schemaVersion\":2,\"manifests\":[]}");
	for (size_t i = 1; i < ARRAY_LEN(texts); i++) {
		strbuf_adds(&texts[i], "{\"schemaVersion\":2,\"manifests\":[");
		add_descriptor(&texts[i], MEDIATYPE_OCI_INDEX, strbuf_slice(&texts[i - 1]));
		strbuf_adds(&texts[i], "]}");
	}
	s.count = ARRAY_LEN(texts);
	for (size_t i = 0; i < s.count; i++)
		s.items[i] = strbuf_slice(&texts[ARRAY_LEN(texts) - 1 - i]);
	assert_int_equal(push_plan_read(&s.base, &plan, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	push_plan_release(&plan);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		strbuf_release(&texts[i]);
}

static void test_an_unpacked_root_is_no_image(void **state)
{
	struct memory_source s = { .base = { .ops = &memory_ops, .rootfs = "/" } };
	struct push_plan plan = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(push_plan_read(&s.base, &plan, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	push_plan_release(&plan);
}

/* A source on the registry side: what was pushed can be read back. */
static void test_a_registrys_image_is_a_source(void **state)
{
	static const struct http_server_step script[] = {
		HELLO,
		{ .answer = "200 OK\r\nContent-Type: a/b\r\n\r\n{}" },
		{ .answer = "503 Later\r\n\r\n" },
		{ .answer = "200 OK\r\n\r\nlayer" },
		{ .answer = "200 OK\r\n\r\nlaxer" },
	};
	cleanup_http_server struct http_server *s = http_server_start(script, ARRAY_LEN(script));
	struct reference ref = { .registry = http_server_url(s) + 7,
				 .repository = "a",
				 .tag = "v1" };
	struct client_options options = { .credentials = { .anonymous = true }, .backoff_ms = 1 };
	struct descriptor layer = { .digest = digest_of(slice_str("layer")), .size = 5 }, root;
	cleanup_source struct image_source *source = NULL;
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	(void)state;
	source = registry_source(&ref, &options, &err);
	if (!source)
		fail_msg("%s", err.text);
	assert_ok(source->ops->root(source, &text, &root, &err), err);
	assert_string_equal(text.data, "{}");
	for (int i = 0; i < 2; i++) {
		cleanup_stream struct stream *blob = source->ops->blob(source, &layer, &err);

		strbuf_truncate(&text, 0);
		assert_int_equal(stream_read_all(blob, 100, &text, &err), i ? -1 : 0);
	}
	assert_int_equal(err.code, ERROR_INTEGRITY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_blob_goes_once_and_the_manifest_last),
		cmocka_unit_test(test_what_is_there_is_not_sent),
		cmocka_unit_test(test_an_index_comes_after_its_images),
		cmocka_unit_test(test_a_cut_upload_starts_over_in_a_new_session),
		cmocka_unit_test(test_a_session_that_is_unknown_at_put_starts_over),
		cmocka_unit_test(test_a_blob_that_vanished_is_sent_again),
		cmocka_unit_test(test_a_digest_that_is_refused_once_is_sent_again),
		cmocka_unit_test(test_a_damaged_blob_is_stopped_and_its_session_ended),
		cmocka_unit_test(test_a_damaged_child_is_refused_before_anything_is_sent),
		cmocka_unit_test(test_a_destinations_digest_must_be_the_images),
		cmocka_unit_test(test_indexes_nested_too_deep_are_refused),
		cmocka_unit_test(test_an_unpacked_root_is_no_image),
		cmocka_unit_test(test_a_registrys_image_is_a_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
