#include "tests/support/test.h"

#include "lint/lint.h"
#include "lint/report.h"
#include "lint/rule_cases.h"
#include "tests/support/lint_case.h"

static void run_all(bool (*run)(struct slice body, struct strbuf *why))
{
	cleanup_strbuf struct strbuf all = { 0 };

	for (size_t i = 0; i < rules_count; i++) {
		struct slice rest = rule_cases(rules[i]->id), name, body;

		while (lint_case_next(&rest, &name, &body)) {
			cleanup_strbuf struct strbuf why = { 0 };

			if (!run(body, &why))
				strbuf_addf(&all, "%s: %.*s:\n%s", rules[i]->id, (int)name.len,
					    (const char *)name.data, strbuf_text(&why));
		}
	}
	fputs(strbuf_text(&all), stderr);
	assert_int_equal(all.len, 0);
}

static void test_every_case_says_exactly_what_it_expects(void **state)
{
	(void)state;
	run_all(lint_case_run);
}

static void test_every_case_says_the_same_from_facts_that_were_kept(void **state)
{
	(void)state;
	run_all(lint_case_run_recorded);
}

static void test_every_rule_has_a_case_that_fires_and_one_that_does_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < rules_count; i++) {
		struct slice rest = rule_cases(rules[i]->id), name, body;
		bool fires = false, silent = false;

		while (lint_case_next(&rest, &name, &body)) {
			fires |= lint_case_expects(body, rules[i]->id);
			silent |= !lint_case_expects(body, rules[i]->id);
		}
		if (!fires || !silent)
			fail_msg("%s has no case that %s", rules[i]->id,
				 fires ? "does not fire" : "fires");
	}
}

static void assert_sentence(const struct rule *rule, const char *field, const char *text)
{
	if (!text || strlen(text) < 10)
		fail_msg("%s: %s is missing", rule->id, field);
}

static void test_every_rule_is_complete_and_sorted(void **state)
{
	(void)state;
	for (size_t i = 0; i < rules_count; i++) {
		const struct rule *r = rules[i];

		assert_sentence(r, "what", r->what);
		assert_sentence(r, "why", r->why);
		assert_sentence(r, "fix", r->fix);
		assert_sentence(r, "sources", r->sources);
		assert_non_null(r->check);
		assert_int_equal(strlen(r->id), 6);
		if (i)
			assert_true(strcmp(rules[i - 1]->id, r->id) < 0);
	}
}

static void test_the_files_are_named_for_their_rules(void **state)
{
	(void)state;
	assert_int_equal(rule_case_file_count, rules_count);
	for (size_t i = 0; i < rules_count; i++) {
		cleanup_free char *want = xasprintf("%s_%s.cases", rules[i]->id, rules[i]->name);

		for (char *p = want; *p; p++)
			*p = *p == '-' ? '_' : (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
		assert_string_equal(rule_case_files[i].name, want);
	}
}

static void test_no_two_rules_share_a_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < rules_count; i++) {
		assert_ptr_equal(lint_rule(rules[i]->name), rules[i]);
		assert_ptr_equal(lint_rule(rules[i]->id), rules[i]);
	}
}

static void test_the_pages_are_up_to_date(void **state)
{
	(void)state;
	if (!fs_exists(AT_FDCWD, "docs/rules"))
		skip();
	for (size_t i = 0; i < rules_count; i++) {
		cleanup_free char *path = xasprintf("docs/rules/%s.md", rules[i]->id);
		cleanup_strbuf struct strbuf want = { 0 }, have = { 0 };
		struct error err = { 0 };

		rule_page(rules[i], &want);
		assert_ok(fs_read(AT_FDCWD, path, MIB, &have, &err), err);
		if (!str_equal(strbuf_text(&want), strbuf_text(&have)))
			fail_msg("%s is not what the rule says: make docs", path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_case_says_exactly_what_it_expects),
		cmocka_unit_test(test_every_case_says_the_same_from_facts_that_were_kept),
		cmocka_unit_test(test_every_rule_has_a_case_that_fires_and_one_that_does_not),
		cmocka_unit_test(test_every_rule_is_complete_and_sorted),
		cmocka_unit_test(test_the_files_are_named_for_their_rules),
		cmocka_unit_test(test_no_two_rules_share_a_name),
		cmocka_unit_test(test_the_pages_are_up_to_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
