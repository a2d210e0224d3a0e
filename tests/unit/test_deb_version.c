#include "tests/support/test.h"

#include "base/process.h"
#include "builder/sources/deb_relation.h"

static int compare(const char *a, const char *b)
{
	int order = deb_version_compare(slice_str(a), slice_str(b));

	return order < 0 ? -1 : order > 0;
}

static void test_versions_come_in_the_order_of_policy(void **state)
{
	/* Each is earlier than all that follow. */
	static const char *const order[] = {
		"1.0~~",  "1.0~rc1", "1.0",   "1.0-1~~x", "1.0-1", "1.0-1+b1", "1.0-2", "1.0a",
		"1.0+b1", "1.0-1-2", "1.0.1", "1.2",      "1.10",  "1:0.1",    "2:0",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		for (size_t k = 0; k < ARRAY_LEN(order); k++) {
			int want = i < k ? -1 : i > k;

			if (compare(order[i], order[k]) != want)
				fail_msg("%s and %s: not %d", order[i], order[k], want);
		}
	}
}

static void test_equal_versions_may_look_different(void **state)
{
	(void)state;
	assert_int_equal(compare("1.0", "1.0-0"), 0);
	assert_int_equal(compare("1.01", "1.1"), 0);
	assert_int_equal(compare("0:1.0", "1.0"), 0);
	assert_int_equal(compare("1.0-", "1.0"), 0);
	assert_int_equal(compare("", ""), 0);
}

static void test_numbers_may_be_of_any_length(void **state)
{
	(void)state;
	assert_int_equal(compare("1.99999999999999999999999998", "1.99999999999999999999999999"),
			 -1);
	assert_int_equal(compare("1.100000000000000000000000000", "1.99999999999999999999999999"),
			 1);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

static void random_version(uint32_t *seed, char out[16])
{
	static const char letters[] = "0011229ab~~+..-Z";
	size_t len = 1 + next_random(seed) % 8, n = 0;

	if (next_random(seed) % 6 == 0) {
		out[n++] = (char)('0' + next_random(seed) % 3);
		out[n++] = ':';
	}
	out[n++] = (char)('0' + next_random(seed) % 3);
	for (size_t i = 0; i < len; i++)
		out[n++] = letters[next_random(seed) % (sizeof(letters) - 1)];
	while (out[n - 1] == '-')
		n--;
	out[n] = 0;
}

static void test_order_is_antisymmetric_and_transitive(void **state)
{
	uint32_t seed = 7;
	char v[3][16];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		for (size_t i = 0; i < 3; i++)
			random_version(&seed, v[i]);
		if (compare(v[0], v[1]) != -compare(v[1], v[0]))
			fail_msg("%s and %s: not antisymmetric", v[0], v[1]);
		if (compare(v[0], v[1]) <= 0 && compare(v[1], v[2]) <= 0 && compare(v[0], v[2]) > 0)
			fail_msg("%s, %s, %s: not transitive", v[0], v[1], v[2]);
	}
}

static void test_dpkg_gives_the_same_order(void **state)
{
	static const char script[] =
		"while read -r a b; do if dpkg --compare-versions \"$a\" lt \"$b\"; then echo -1; "
		"elif dpkg --compare-versions \"$a\" eq \"$b\"; then echo 0; else echo 1; fi; done";
	static const char *const argv[] = { "sh", "-c", script, NULL };
	enum { PAIRS = 300 };
	cleanup_strbuf struct strbuf input = { 0 }, ours = { 0 };
	cleanup_process struct process_result result = { 0 };
	struct process p = { .argv = argv };
	struct error err = { 0 };
	uint32_t seed = 42;

	(void)state;
	if (!process_available("dpkg"))
		skip();
	for (int i = 0; i < PAIRS; i++) {
		char a[16], b[16];

		random_version(&seed, a);
		random_version(&seed, b);
		strbuf_addf(&input, "%s %s\n", a, b);
		strbuf_addf(&ours, "%d\n", compare(a, b));
	}
	p.stdin_data = strbuf_slice(&input);
	assert_ok(process_run(&p, &result, &err), err);
	assert_string_equal(strbuf_text(&ours), strbuf_text(&result.out_stdout));
}

static void test_bad_versions_are_refused(void **state)
{
	static const char *const bad[] = { "",    ":1",  "1:",  "a:1",     "1-",          "1_2",
					   "1 2", "1/2", "1\n", "1.0-a:b", "9999999999:1" };
	static const char *const good[] = { "0",       "1:1.0-1",
					    "1:1:2-1", "2.28.3-1+cuda12.9",
					    "a1",      "1.0~rc1-0ubuntu1~22.04" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (deb_version_valid(slice_str(bad[i])))
			fail_msg("'%s' passes", bad[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		if (!deb_version_valid(slice_str(good[i])))
			fail_msg("'%s' is refused", good[i]);
	}
}

static void test_patterns_match_whole_versions(void **state)
{
	(void)state;
	assert_true(deb_version_matches(slice_str("2.28.3-1"), slice_str("2.28.*")));
	assert_true(deb_version_matches(slice_str("2.28"), slice_str("2.28")));
	assert_true(deb_version_matches(slice_str("abcabd"), slice_str("*ab?")));
	assert_false(deb_version_matches(slice_str("2.280"), slice_str("2.28.*")));
	assert_false(deb_version_matches(slice_str("2.28"), slice_str("2.2")));
	assert_false(deb_version_matches(slice_str(""), slice_str("?")));
	assert_true(deb_version_matches(slice_str(""), slice_str("*")));
}

static void test_operators_hold_as_they_read(void **state)
{
	static const struct {
		const char *op;
		bool earlier, equal, later;
	} cases[] = {
		{ "<<", true, false, false }, { "<=", true, true, false },
		{ "<", true, true, false },   { "=", false, true, false },
		{ ">=", false, true, true },  { ">", false, true, true },
		{ ">>", false, false, true },
	};
	enum deb_operator op;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct slice two = slice_str("2");

		assert_true(deb_operator_parse(slice_str(cases[i].op), &op));
		assert_int_equal(deb_version_satisfies(slice_str("1"), op, two), cases[i].earlier);
		assert_int_equal(deb_version_satisfies(slice_str("2"), op, two), cases[i].equal);
		assert_int_equal(deb_version_satisfies(slice_str("3"), op, two), cases[i].later);
	}
	assert_false(deb_operator_parse(slice_str("=="), &op));
	assert_false(deb_operator_parse(slice_str(""), &op));
}

static void test_a_relation_is_read_with_all_its_parts(void **state)
{
	struct slice rest = slice_str(" a:any (>= 1:2.0-1) | b ,, c(<<3), "), group;
	struct deb_relation r;

	(void)state;
	assert_true(deb_relation_group(&rest, &group));
	assert_int_equal(deb_relation_next(&group, &r), 1);
	assert_true(slice_is(r.name, "a") && slice_is(r.arch, "any"));
	assert_int_equal(r.op, DEB_LATER_EQUAL);
	assert_true(slice_is(r.version, "1:2.0-1"));
	assert_int_equal(deb_relation_next(&group, &r), 1);
	assert_true(slice_is(r.name, "b"));
	assert_int_equal(r.op, DEB_ANY);
	assert_int_equal(deb_relation_next(&group, &r), 0);
	assert_true(deb_relation_group(&rest, &group));
	assert_int_equal(deb_relation_next(&group, &r), 1);
	assert_true(slice_is(r.name, "c"));
	assert_int_equal(r.op, DEB_EARLIER);
	assert_false(deb_relation_group(&rest, &group));
}

static void test_a_relation_that_cannot_be_read_is_refused(void **state)
{
	static const char *const bad[] = { "a (",     "a ()",      "a (1)",     "a (== 1)",
					   "a (>= )", "(>= 1)",    "a b",       "a [amd64]",
					   "a <!x>",  "a:",        "a: (>= 1)", "a (>= 1) x",
					   "../a",    "a (>= 1_2)" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct slice group = slice_str(bad[i]);
		struct deb_relation r;

		if (deb_relation_next(&group, &r) != -1)
			fail_msg("'%s' passes", bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions_come_in_the_order_of_policy),
		cmocka_unit_test(test_equal_versions_may_look_different),
		cmocka_unit_test(test_numbers_may_be_of_any_length),
		cmocka_unit_test(test_order_is_antisymmetric_and_transitive),
		cmocka_unit_test(test_dpkg_gives_the_same_order),
		cmocka_unit_test(test_bad_versions_are_refused),
		cmocka_unit_test(test_patterns_match_whole_versions),
		cmocka_unit_test(test_operators_hold_as_they_read),
		cmocka_unit_test(test_a_relation_is_read_with_all_its_parts),
		cmocka_unit_test(test_a_relation_that_cannot_be_read_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
