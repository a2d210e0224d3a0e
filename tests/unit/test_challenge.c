#include "tests/support/test.h"

#include "registry/challenge.h"

struct parsed {
	struct arena arena;
	struct challenges all;
	struct error err;
	int rc;
};

static struct parsed parse(const char *header)
{
	struct parsed p = { 0 };

	p.rc = challenge_parse(slice_str(header), &p.arena, &p.all, &p.err);
	return p;
}

static void release(struct parsed *p)
{
	challenges_release(&p->all);
	arena_release(&p->arena);
}

static void check_param(const char *header, const char *scheme, const char *name, const char *value)
{
	struct parsed p = parse(header);
	const struct challenge *c;

	assert_ok(p.rc, p.err);
	c = challenge_find(&p.all, scheme);
	if (!c)
		fail_msg("\"%s\": no challenge %s", header, scheme);
	if (!challenge_param(c, name))
		fail_msg("\"%s\": no parameter %s", header, name);
	assert_string_equal(challenge_param(c, name), value);
	release(&p);
}

static void test_realm_service_and_scope_are_read(void **state)
{
	const char *header = "Bearer realm=\"https://auth.example.org/token\",service=\"reg\","
			     "scope=\"repository:a/b:pull,push\"";

	(void)state;
	check_param(header, "bearer", "realm", "https://auth.example.org/token");
	check_param(header, "bearer", "service", "reg");
	check_param(header, "bearer", "scope", "repository:a/b:pull,push");
}

static void test_a_realm_alone_is_enough(void **state)
{
	struct parsed p = parse("Bearer realm=\"https://nvcr.example.org/proxy_auth\"");

	(void)state;
	assert_ok(p.rc, p.err);
	assert_int_equal(p.all.items[0].param_count, 1);
	assert_null(challenge_param(&p.all.items[0], "service"));
	release(&p);
}

static void test_a_realm_may_hold_a_query(void **state)
{
	(void)state;
	check_param("Bearer realm=\"https://h.example.org/auth?scope=repository:x:pull\"", "bearer",
		    "realm", "https://h.example.org/auth?scope=repository:x:pull");
}

static void test_an_unquoted_scope_keeps_its_actions(void **state)
{
	const char *header = "Bearer realm=https://h.example.org/auth,"
			     "scope=repository:nvidia/cuda:pull,push,service=x";

	(void)state;
	check_param(header, "bearer", "realm", "https://h.example.org/auth");
	check_param(header, "bearer", "scope", "repository:nvidia/cuda:pull,push");
	check_param(header, "bearer", "service", "x");
}

static void test_quoted_pairs_and_commas_within_quotes_are_read(void **state)
{
	(void)state;
	check_param("Basic realm=\"a \\\"b\\\", c\"", "basic", "realm", "a \"b\", c");
}

static void test_several_schemes_in_one_header_are_told_apart(void **state)
{
	const char *header =
		"Negotiate, Basic realm=\"x\", Bearer realm=\"https://t.example.org/\", "
		"service=\"s\"";

	(void)state;
	check_param(header, "basic", "realm", "x");
	check_param(header, "bearer", "service", "s");
}

static void test_a_token68_is_skipped(void **state)
{
	(void)state;
	check_param("Negotiate YWJjZA==, Basic realm=\"x\"", "basic", "realm", "x");
}

static void test_names_are_read_in_any_case(void **state)
{
	(void)state;
	check_param("BEARER Realm = \"https://t.example.org/\"", "bearer", "realm",
		    "https://t.example.org/");
}

static void test_an_empty_service_is_kept(void **state)
{
	(void)state;
	check_param("Bearer realm=\"https://t.example.org/\",service=\"\"", "bearer", "service",
		    "");
}

static void test_an_open_quote_is_refused(void **state)
{
	struct parsed p = parse("Bearer realm=\"https://t.example.org/");

	(void)state;
	assert_int_equal(p.rc, -1);
	assert_int_equal(p.err.code, ERROR_FORMAT);
	release(&p);
}

static void test_text_that_is_no_scheme_is_refused(void **state)
{
	struct parsed p = parse("\"x\"");

	(void)state;
	assert_int_equal(p.rc, -1);
	assert_int_equal(p.err.code, ERROR_FORMAT);
	release(&p);
}

static void test_more_parameters_than_the_limit_are_refused(void **state)
{
	cleanup_strbuf struct strbuf b = { 0 };
	struct parsed p;

	(void)state;
	strbuf_adds(&b, "Bearer ");
	for (int i = 0; i <= CHALLENGE_PARAMS_MAX; i++)
		strbuf_addf(&b, "p%d=x,", i);
	p = parse(b.data);
	assert_int_equal(p.err.code, ERROR_LIMIT);
	release(&p);
}

static void test_more_challenges_than_the_limit_are_refused(void **state)
{
	cleanup_strbuf struct strbuf b = { 0 };
	struct parsed p;

	(void)state;
	for (int i = 0; i <= CHALLENGE_COUNT_MAX; i++)
		strbuf_adds(&b, "Basic,");
	p = parse(b.data);
	assert_int_equal(p.err.code, ERROR_LIMIT);
	release(&p);
}

static void test_every_truncation_is_read_or_refused(void **state)
{
	static const char whole[] = "Negotiate YWJj==, Bearer realm=\"https://t.example.org/a,b\", "
				    "scope=repository:x:pull,push, error=\"in\\\"valid\"";

	(void)state;
	for (size_t len = 0; len < sizeof(whole); len++) {
		struct parsed p = { 0 };
		uint8_t *copy = xmemdup(whole, len ? len : 1);

		p.rc = challenge_parse(slice_of(copy, len), &p.arena, &p.all, &p.err);
		assert_true(p.rc == 0 || p.err.code == ERROR_FORMAT || p.err.code == ERROR_LIMIT);
		release(&p);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_realm_service_and_scope_are_read),
		cmocka_unit_test(test_a_realm_alone_is_enough),
		cmocka_unit_test(test_a_realm_may_hold_a_query),
		cmocka_unit_test(test_an_unquoted_scope_keeps_its_actions),
		cmocka_unit_test(test_quoted_pairs_and_commas_within_quotes_are_read),
		cmocka_unit_test(test_several_schemes_in_one_header_are_told_apart),
		cmocka_unit_test(test_a_token68_is_skipped),
		cmocka_unit_test(test_names_are_read_in_any_case),
		cmocka_unit_test(test_an_empty_service_is_kept),
		cmocka_unit_test(test_an_open_quote_is_refused),
		cmocka_unit_test(test_text_that_is_no_scheme_is_refused),
		cmocka_unit_test(test_more_parameters_than_the_limit_are_refused),
		cmocka_unit_test(test_more_challenges_than_the_limit_are_refused),
		cmocka_unit_test(test_every_truncation_is_read_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
