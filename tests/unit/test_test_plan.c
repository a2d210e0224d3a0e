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

static const struct plan_skip *skipped(const struct test_plan *plan, const char *id)
{
	for (size_t i = 0; i < plan->skips.len; i++) {
		if (str_equal(plan->skips.items[i].id, id))
			return &plan->skips.items[i];
	}
	return NULL;
}

static void test_libraries_calculate_in_the_run_tier_and_absent_ones_are_named(void **state)
{
	struct test_plan plan;

	(void)state;
	plan_of("libcublas", "libcublas.so.13", &plan);
	assert_int_equal(find(&plan, "run.cublas-sgemm")->tier, TIER_RUN);
	assert_contains(strbuf_text(&plan.lines[TIER_RUN]),
			"run.cublas-sgemm\t1000\tcublas-sgemm\t/opt/lib/x");
	assert_non_null(find(&plan, "run.managed"));
	assert_non_null(find(&plan, "run.own-code")); /* not looked for, so it is skipped as one */
	assert_null(skipped(&plan, "run.cublas-sgemm"));
	assert_int_equal(skipped(&plan, "run.cufft")->tier, TIER_RUN);
	assert_contains(skipped(&plan, "run.cufft")->why, "cuFFT");
	assert_int_equal(skipped(&plan, "load.libcufft")->tier, TIER_LOAD);
	assert_true(test_plan_id_known("run.nccl-allreduce"));
	assert_true(test_plan_id_known("run.own-code@/opt/app"));
	assert_false(test_plan_id_known("run.nonsense"));
	test_plan_release(&plan);
}

static void test_own_code_is_named_with_its_places(void **state)
{
	struct code_object object = { .path = "/opt/app", .count = 2 };
	struct code_objects code = { .items = &object, .len = 1, .cap = 1 };
	struct plan_request request = { .timeout_ms = 1000, .code = &code };
	struct library_copies none = { 0 };
	struct test_plan plan;

	(void)state;
	object.containers[0] = (struct code_container){ 64, 40 };
	object.containers[1] = (struct code_container){ 104, 24 };
	test_plan_make(&none, &request, &plan);
	assert_contains(strbuf_text(&plan.lines[TIER_RUN]),
			"run.own-code@/opt/app\t1000\town-code\t/opt/app\t64:40\t104:24");
	test_plan_release(&plan);
	code.len = 0;
	test_plan_make(&none, &request, &plan);
	assert_contains(skipped(&plan, "run.own-code")->why, "no GPU code of its own");
	test_plan_release(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions_are_asked_without_a_driver),
		cmocka_unit_test(test_cupti_is_opened_without_a_driver_and_asked_only_with_one),
		cmocka_unit_test(
			test_libraries_calculate_in_the_run_tier_and_absent_ones_are_named),
		cmocka_unit_test(test_own_code_is_named_with_its_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
