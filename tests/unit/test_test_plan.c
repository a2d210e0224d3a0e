#include "tests/support/test.h"

#include "testkernels/test_plan.h"

static const struct planned_test *find(const struct test_plan *plan, const char *id)
{
	for (size_t i = 0; i < plan->tests.len; i++) {
		if (str_equal(plan->tests.items[i].id, id))
			return &plan->tests.items[i];
	}
	return NULL;
}

static const struct library_family *family(const char *stem)
{
	for (size_t i = 0; i < library_families_count; i++) {
		if (str_equal(library_families[i].stem, stem))
			return &library_families[i];
	}
	return NULL;
}

static void plan_of(const char *stem, const char *soname, struct test_plan *out)
{
	struct library_copy copy = {
		.family = family(stem), .soname = soname, .path = "/opt/lib/x", .file = "/opt/lib/x"
	};
	struct library_copies copies = { .items = &copy, .len = 1, .cap = 1 };
	struct plan_request request = { .timeout_ms = 1000 };

	test_plan_make(&copies, &request, out);
}

static void test_versions_are_asked_without_a_driver(void **state)
{
	struct test_plan plan;

	(void)state;
	plan_of("libcublas", "libcublas.so.13", &plan);
	assert_int_equal(find(&plan, "load.version.libcublas.so.13")->tier, TIER_LOAD);
	test_plan_release(&plan);
}

static void test_cupti_is_opened_without_a_driver_and_asked_only_with_one(void **state)
{
	struct test_plan plan;

	(void)state;
	plan_of("libcupti", "libcupti.so.13", &plan);
	assert_int_equal(find(&plan, "load.libcupti.so.13")->tier, TIER_LOAD);
	assert_int_equal(find(&plan, "run.version.libcupti.so.13")->tier, TIER_RUN);
	assert_null(find(&plan, "load.version.libcupti.so.13"));
	assert_true(test_plan_id_known("run.version.libcupti.so.13"));
	test_plan_release(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions_are_asked_without_a_driver),
		cmocka_unit_test(test_cupti_is_opened_without_a_driver_and_asked_only_with_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
