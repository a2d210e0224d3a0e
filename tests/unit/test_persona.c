#include "tests/support/test.h"

#include "registry/persona.h"

static const struct host_facts nothing;

static const char *kind_of(const char *host, const char *service)
{
	return persona_for(host, service)->name;
}

static void test_hosts_are_known_by_their_names(void **state)
{
	(void)state;
	assert_string_equal(kind_of("nvcr.io", NULL), "nvcr");
	assert_string_equal(kind_of("123456789012.dkr.ecr.eu-west-1.amazonaws.com", NULL), "ecr");
	assert_string_equal(kind_of("europe-docker.pkg.dev", NULL), "google");
	assert_string_equal(kind_of("acme.azurecr.io:443", NULL), "azure");
	assert_string_equal(kind_of("ghcr.io", NULL), "github");
	assert_string_equal(kind_of("docker.io", NULL), "dockerhub");
	assert_string_equal(kind_of("quay.io", NULL), "quay");
}

static void test_other_hosts_are_the_most_fragile_kind(void **state)
{
	(void)state;
	assert_string_equal(kind_of("registry.example.org:5000", NULL), "distribution");
	assert_string_equal(kind_of("ghcr.io.example.org", NULL), "distribution");
	assert_string_equal(kind_of("notquay.io", NULL), "distribution");
}

static void test_harbor_is_known_by_its_token_service(void **state)
{
	(void)state;
	assert_string_equal(kind_of("registry.example.org", "harbor-registry"), "harbor");
	assert_string_equal(kind_of("registry.example.org", "other"), "distribution");
}

static void test_personas_have_names_of_their_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < persona_count; i++)
		assert_ptr_equal(persona_named(personas[i].name), &personas[i]);
	assert_null(persona_named("nobody"));
}

static void test_small_blobs_go_in_one_request(void **state)
{
	struct upload_rules r = upload_rules(persona_named("distribution"), &nothing, 1000, 0);

	(void)state;
	assert_int_equal(r.style, UPLOAD_SINGLE);
	r = upload_rules(persona_named("artifactory"), &nothing, 1000, 0);
	assert_int_equal(r.style, UPLOAD_STREAM);
}

static void test_a_limit_of_bodies_makes_parts_of_that_size(void **state)
{
	struct host_facts facts = { .body_max = 3 * MIB };
	struct upload_rules r = upload_rules(persona_named("distribution"), &facts, 100 * MIB, 0);

	(void)state;
	assert_int_equal(r.style, UPLOAD_CHUNK);
	assert_int_equal(r.chunk, 3 * MIB);
	assert_false(r.impossible);
}

static void test_a_limit_is_no_limit_for_what_fits(void **state)
{
	struct host_facts facts = { .body_max = 100 * MIB };
	struct upload_rules r = upload_rules(persona_named("distribution"), &facts, 99 * MIB, 0);

	(void)state;
	assert_int_equal(r.style, UPLOAD_STREAM);
}

static void test_limits_may_leave_no_way(void **state)
{
	struct host_facts facts = { .body_max = 3 * MIB };

	(void)state;
	assert_true(upload_rules(persona_named("google"), &facts, 100 * MIB, 0).impossible);
	assert_true(upload_rules(persona_named("ecr"), &facts, 100 * MIB, 0).impossible);
	assert_true(upload_rules(persona_named("distribution"), &facts, 100 * MIB, 20 * MIB)
			    .impossible);
}

static void test_parts_are_as_large_as_the_registry_says(void **state)
{
	struct upload_rules r =
		upload_rules(persona_named("quay"), &nothing, 1000 * MIB, 200 * MIB);

	(void)state;
	assert_int_equal(r.style, UPLOAD_CHUNK);
	assert_int_equal(r.chunk, 200 * MIB);
}

static void test_lines_that_are_cut_get_parts_with_connections_of_their_own(void **state)
{
	struct host_facts facts = { .cut_bytes = 50 * MIB };
	struct upload_rules r = upload_rules(persona_named("distribution"), &facts, 1000 * MIB, 0);

	(void)state;
	assert_int_equal(r.style, UPLOAD_CHUNK);
	assert_int_equal(r.chunk, 25 * MIB);
	assert_true(r.fresh);
	facts.cut_bytes = 10;
	r = upload_rules(persona_named("distribution"), &facts, 1000 * MIB, 0);
	assert_int_equal(r.chunk, 4 * MIB);
	r = upload_rules(persona_named("google"), &facts, 1000 * MIB, 0);
	assert_int_equal(r.style, UPLOAD_STREAM);
}

static void test_sessions_that_outlive_cuts_get_parts(void **state)
{
	struct host_facts facts = { .resume = ANSWER_YES };

	(void)state;
	assert_int_equal(upload_rules(persona_named("distribution"), &facts, GIB, 0).style,
			 UPLOAD_CHUNK);
	facts.no_chunk = true;
	assert_int_equal(upload_rules(persona_named("distribution"), &facts, GIB, 0).style,
			 UPLOAD_STREAM);
}

static void test_facts_survive_as_text(void **state)
{
	struct host_facts f = { .resume = ANSWER_NO,
				.body_max = 5,
				.cut_bytes = 7,
				.no_single = true,
				.no_mount = true };
	cleanup_strbuf struct strbuf text = { 0 };
	struct host_facts got;

	(void)state;
	host_facts_print(&f, 1000, &text);
	assert_true(host_facts_parse(strbuf_slice(&text), 1001, &got));
	assert_int_equal(got.resume, ANSWER_NO);
	assert_int_equal(got.body_max, 5);
	assert_int_equal(got.cut_bytes, 7);
	assert_true(got.no_single && got.no_mount && !got.no_chunk);
}

static void test_facts_grow_old(void **state)
{
	struct host_facts f = { .body_max = 5, .cut_bytes = 7 }, got;
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	host_facts_print(&f, 1000, &text);
	assert_true(host_facts_parse(strbuf_slice(&text), 1000 + 2 * 86400, &got));
	assert_int_equal(got.body_max, 5);
	assert_int_equal(got.cut_bytes, 0); /* that was the line */
	assert_false(host_facts_parse(strbuf_slice(&text), 1000 + 31 * 86400, &got));
	assert_int_equal(got.body_max, 0);
	assert_false(host_facts_parse(strbuf_slice(&text), 999, &got)); /* of the future */
}

static void test_what_is_no_record_is_nothing(void **state)
{
	static const char *const texts[] = {
		"", "{", "[]", "null", "{\"version\":2,\"learned\":1}", "{\"version\":1}"
	};
	struct host_facts got;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_false(host_facts_parse(slice_str(texts[i]), 10, &got));
	assert_true(host_facts_parse(slice_str(texts[5]), 10, &got));
}

static void test_what_one_push_learns_the_next_knows(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct upload_host *h = upload_host_open(dir, "[::1]:5000", NULL, NULL);
	struct host_facts facts;

	(void)state;
	upload_host_body_max(h, 8 * MIB);
	upload_host_body_max(h, 16 * MIB); /* a larger one is no news */
	upload_host_resumes(h, true);
	upload_host_close(h);
	h = upload_host_open(dir, "[::1]:5000", NULL, NULL);
	facts = upload_host_facts(h);
	assert_int_equal(facts.body_max, 8 * MIB);
	assert_int_equal(facts.resume, ANSWER_YES);
	upload_host_close(h);
}

static void test_what_was_measured_goes_before_the_name_and_older_lessons(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct upload_host *h = upload_host_open(dir, "h.example", NULL, NULL);
	struct host_facts measured = { .resume = ANSWER_YES,
				       .referrers = ANSWER_NO,
				       .persona = persona_named("quay") };
	struct host_facts facts;

	(void)state;
	upload_host_body_max(h, 8 * MIB);
	upload_host_measured(h, &measured);
	upload_host_close(h);
	h = upload_host_open(dir, "h.example", NULL, NULL);
	facts = upload_host_facts(h);
	assert_int_equal(facts.body_max, 0);
	assert_int_equal(facts.referrers, ANSWER_NO);
	assert_string_equal(upload_host_persona(h)->name, "quay");
	upload_host_close(h);
	h = upload_host_open(dir, "h.example", NULL, persona_named("zot")); /* the user's word */
	assert_string_equal(upload_host_persona(h)->name, "zot");
	upload_host_close(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts_are_known_by_their_names),
		cmocka_unit_test(test_other_hosts_are_the_most_fragile_kind),
		cmocka_unit_test(test_harbor_is_known_by_its_token_service),
		cmocka_unit_test(test_personas_have_names_of_their_own),
		cmocka_unit_test(test_small_blobs_go_in_one_request),
		cmocka_unit_test(test_a_limit_of_bodies_makes_parts_of_that_size),
		cmocka_unit_test(test_a_limit_is_no_limit_for_what_fits),
		cmocka_unit_test(test_limits_may_leave_no_way),
		cmocka_unit_test(test_parts_are_as_large_as_the_registry_says),
		cmocka_unit_test(test_lines_that_are_cut_get_parts_with_connections_of_their_own),
		cmocka_unit_test(test_sessions_that_outlive_cuts_get_parts),
		cmocka_unit_test(test_facts_survive_as_text),
		cmocka_unit_test(test_facts_grow_old),
		cmocka_unit_test(test_what_is_no_record_is_nothing),
		cmocka_unit_test(test_what_one_push_learns_the_next_knows),
		cmocka_unit_test(test_what_was_measured_goes_before_the_name_and_older_lessons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
