#include "tests/support/test.h"

#include "formats/json.h"
#include "lint/lint.h"
#include "lint/site_policy.h"

/* Two findings: DRV001 (error) and SIZ001 (info), and the rules that ran. */
struct made {
	struct arena arena;
	struct findings found;
	struct policy_unuseds unused;
	const struct rule *ran[2];
};

static void make(struct made *m)
{
	*m = (struct made){ .ran = { lint_rule("DRV001"), lint_rule("SIZ001") } };
	finding_add(&m->found, m->ran[0], "/usr/lib/libcuda.so.535.54.03", 0, "", "a driver");
	finding_add(&m->found, m->ran[1], "", -1, "", "dead bytes");
	findings_finish(&m->found);
}

static void apply(struct made *m, const struct policy *policy, const struct policy_ignores *own)
{
	policy_apply(policy, own, m->ran, ARRAY_LEN(m->ran), &m->found, &m->arena, &m->unused);
}

static void release(struct made *m)
{
	findings_release(&m->found);
	vec_release(&m->unused);
	arena_release(&m->arena);
}

static void test_a_severity_goes_over_the_rules_own(void **state)
{
	struct policy policy = { .fail_on = FAIL_ON_ERROR };
	struct made m;

	(void)state;
	make(&m);
	vec_push(&policy.severities, ((struct policy_severity){ "DRV,CMP", false, SEVERITY_INFO }));
	vec_push(&policy.severities, ((struct policy_severity){ "SIZ001", false, SEVERITY_ERROR }));
	apply(&m, &policy, NULL);
	assert_string_equal(m.found.items[0]->rule->id, "SIZ001");
	assert_int_equal(m.found.items[1]->severity, SEVERITY_INFO);
	assert_true(policy_fails(&policy, &m.found));
	policy_release(&policy);
	release(&m);
}

static void test_severities_are_read_and_mistakes_are_told(void **state)
{
	static const char *const bad[] = { "SIZ", "SIZ=fatal", "NOPE=info", "=info", "SIZ,=info" };
	struct policy policy = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(policy_set_severity(&policy, "SIZ001,DRV=warning", &err), err);
	assert_string_equal(policy.severities.items[0].rule, "SIZ001,DRV");
	assert_int_equal(policy.severities.items[0].severity, SEVERITY_WARNING);
	assert_ok(policy_set_severity(&policy, "SEC=off", &err), err);
	assert_false(policy_runs(&policy, lint_rule("SEC001")));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct error why = { 0 };

		assert_int_equal(policy_set_severity(&policy, bad[i], &why), -1);
		assert_int_equal(why.code, ERROR_USAGE);
	}
	policy_release(&policy);
}

static void test_a_rule_that_is_off_does_not_run(void **state)
{
	struct policy policy = { 0 };

	(void)state;
	vec_push(&policy.severities, ((struct policy_severity){ "SIZ", true, SEVERITY_INFO }));
	assert_false(policy_runs(&policy, lint_rule("SIZ001")));
	assert_true(policy_runs(&policy, lint_rule("DRV001")));
	policy_release(&policy);
}

static void test_acceptances_that_did_nothing_are_told(void **state)
{
	struct policy policy = { .today = "2026-05-05" };
	struct made m;

	(void)state;
	make(&m);
	vec_push(&policy.ignores,
		 ((struct policy_ignore){ "SIZ001", "/opt/*", "x", NULL, "site.yaml:3:5" }));
	vec_push(&policy.ignores, ((struct policy_ignore){ "DRV", NULL, "x", "2026-05-05", NULL }));
	vec_push(&policy.ignores, ((struct policy_ignore){ "CMP001", NULL, "x", NULL, NULL }));
	vec_push(&policy.ignores, ((struct policy_ignore){ "DRV001", NULL, "x", NULL, NULL }));
	apply(&m, &policy, NULL);
	assert_int_equal(m.unused.len, 2); /* CMP001 did not run */
	assert_string_equal(m.unused.items[0].text, "SIZ001 /opt/* (site.yaml:3:5)");
	assert_string_equal(m.unused.items[0].why, "matched no finding");
	assert_string_equal(m.unused.items[1].why, "ended on 2026-05-05");
	policy_release(&policy);
	release(&m);
}

/* What an image's label accepts. */
static void read_label(struct made *m, const char *label, struct policy_ignores *out)
{
	const char *keys[] = { "gpuimg.lint.ignore" }, *values[] = { label };
	struct image_config config = { .label_keys = { keys, 1 }, .label_values = { values, 1 } };

	policy_image_ignores(&config, NULL, &m->arena, out, &m->unused);
}

static void test_an_image_accepts_its_own_findings_with_a_reason(void **state)
{
	struct policy policy = { 0 };
	struct policy_ignores own = { 0 };
	struct made m;

	(void)state;
	make(&m);
	read_label(&m, "DRV001,DRV002 /usr/lib/*: our agent: needed; SIZ001: small", &own);
	assert_int_equal(own.len, 2);
	assert_string_equal(own.items[0].reason, "our agent: needed");
	apply(&m, &policy, &own);
	assert_string_equal(m.found.items[0]->suppressed, "our agent: needed");
	assert_string_equal(m.found.items[1]->suppressed, "small");
	vec_release(&own);
	release(&m);
}

static void test_an_image_without_a_reason_accepts_nothing(void **state)
{
	struct policy_ignores own = { 0 };
	struct made m;

	(void)state;
	make(&m);
	read_label(&m, "DRV001;XYZ: why;\nSIZ001 :", &own);
	assert_int_equal(own.len, 0);
	assert_int_equal(m.unused.len, 3);
	assert_contains(m.unused.items[0].why, "no reason");
	assert_contains(m.unused.items[1].why, "no rule");
	vec_release(&own);
	release(&m);
}

static void test_a_baseline_hides_what_it_knows_and_survives_a_round_trip(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 }, again = { 0 };
	cleanup_baseline struct baseline baseline = { 0 };
	const struct findings *list[1];
	struct error err = { 0 };
	struct policy policy = { 0 };
	struct made m;

	(void)state;
	make(&m);
	list[0] = &m.found;
	baseline_write(list, 1, &text);
	assert_ok(baseline_parse(strbuf_slice(&text), "known.json", &baseline, &err), err);
	assert_int_equal(baseline.known.len, 2);
	policy.baseline = &baseline;
	apply(&m, &policy, NULL);
	assert_string_equal(m.found.items[0]->suppressed, "known from the baseline");
	assert_false(policy_fails(&policy, &m.found));
	baseline_write(list, 1, &again);
	assert_string_equal(strbuf_text(&text), strbuf_text(&again));
	release(&m);
}

static void test_an_accepted_finding_is_no_debt(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	const struct findings *list[1];
	struct policy policy = { 0 };
	struct made m;

	(void)state;
	make(&m);
	vec_push(&policy.ignores, ((struct policy_ignore){ "DRV001", NULL, "x", NULL, NULL }));
	apply(&m, &policy, NULL);
	list[0] = &m.found;
	baseline_write(list, 1, &text);
	assert_null(strstr(strbuf_text(&text), "DRV001"));
	assert_contains(strbuf_text(&text), "SIZ001");
	policy_release(&policy);
	release(&m);
}

static void test_what_is_no_baseline_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "{", "b.json:" },
		{ "{}", "schema" },
		{ "{\"schema\":\"x/1\",\"findings\":[]}", "gpuimg-baseline/1" },
		{ "{\"schema\":\"gpuimg-baseline/1\",\"findings\":[{\"rule\":\"A\","
		  "\"fingerprint\":\"zz\"}]}",
		  "findings[0].fingerprint" },
		{ "[1]", "[0]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_baseline struct baseline baseline = { 0 };
		struct error err = { 0 };

		assert_int_equal(baseline_parse(slice_str(bad[i].text), "b.json", &baseline, &err),
				 -1);
		assert_contains(err.text, bad[i].says);
	}
}

static int parse(const char *text, struct site_policy *out, struct error *err)
{
	return site_policy_parse(slice_str(text), "site.yaml", out, err);
}

static void test_a_policy_of_a_site_is_read(void **state)
{
	cleanup_site_policy struct site_policy site = { 0 };
	struct policy policy = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(parse("gpuimg-policy: 1\nfail-on: warning\nimage-ignores: ignored\n"
			"severities: { SIZ: off, \"DRV001,DRV002\": info }\n"
			"ignore: [{ rule: SEC, reason: keys of tests }]\n"
			"labels: [maintainer, { name: team, matches: \"ml-*\" }]\n"
			"budgets: { image: 2GiB, layers: 10 }\n"
			"files: { must-not-have: [\"/usr/bin/gcc*\"] }\n",
			&site, &err),
		  err);
	assert_ok(site_policy_apply(&site, &policy, &err), err);
	assert_true(policy.deaf);
	assert_int_equal(policy.fail_on, FAIL_ON_WARNING);
	assert_false(policy_runs(&policy, lint_rule("SIZ001")));
	assert_int_equal(policy.ignores.len, 1);
	assert_string_equal(policy.ignores.items[0].where, "site.yaml:5:10");
	assert_int_equal(site.label_count, 2);
	assert_string_equal(site.labels[0].name, "maintainer");
	assert_true(site.image_bytes == 2 * GIB);
	assert_true(site_policy_asks(&site, "POL005"));
	assert_false(site_policy_asks(&site, "POL002"));
	policy_release(&policy);
}

static void test_mistakes_in_a_policy_are_told_with_their_place(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "gpuimg-policy: 2\n", "site.yaml:1:16" },
		{ "gpuimg-policy: 1\nlabel: [a]\n", "site.yaml:2:1: unknown key 'label'" },
		{ "gpuimg-policy: 1\nlabel: [a]\n", "did you mean 'labels'?" },
		{ "gpuimg-policy: 1\nseverities: { NOPE: info }\n", "names no rule" },
		{ "gpuimg-policy: 1\nseverities: { SIZ: fatal }\n", "site.yaml:2:20" },
		{ "gpuimg-policy: 1\nignore: [{ rule: SIZ }]\n", "'reason' is missing" },
		{ "gpuimg-policy: 1\nignore: [{ rule: SIZ, reason: x, until: soon }]\n", "until" },
		{ "gpuimg-policy: 1\nbudgets: { image: big }\n", "site.yaml:2:19" },
		{ "gpuimg-policy: 1\nfiles: { must-have: [etc] }\n", "site.yaml:2:22" },
		{ "- a\n", "must be a map" },
		{ "fail-on: error\n", "'gpuimg-policy' is missing" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_site_policy struct site_policy site = { 0 };
		struct error err = { 0 };

		if (parse(bad[i].text, &site, &err) != -1)
			fail_msg("taken: %s", bad[i].text);
		assert_contains(err.text, bad[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_severity_goes_over_the_rules_own),
		cmocka_unit_test(test_severities_are_read_and_mistakes_are_told),
		cmocka_unit_test(test_a_rule_that_is_off_does_not_run),
		cmocka_unit_test(test_acceptances_that_did_nothing_are_told),
		cmocka_unit_test(test_an_image_accepts_its_own_findings_with_a_reason),
		cmocka_unit_test(test_an_image_without_a_reason_accepts_nothing),
		cmocka_unit_test(test_a_baseline_hides_what_it_knows_and_survives_a_round_trip),
		cmocka_unit_test(test_an_accepted_finding_is_no_debt),
		cmocka_unit_test(test_what_is_no_baseline_is_refused_with_its_place),
		cmocka_unit_test(test_a_policy_of_a_site_is_read),
		cmocka_unit_test(test_mistakes_in_a_policy_are_told_with_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
