#include "tests/support/test.h"

#include "formats/json.h"
#include "manifests/dotted.h"
#include "manifests/embedded.h"
#include "manifests/require.h"

static const struct require_host h100_535 = { "12.2", "535.183.06", "9.0", "tesla" };

static bool holds(const char *expression, const struct require_host *host)
{
	struct error err = { 0 };
	bool out;

	assert_ok(require_holds(expression, host, &out, &err), err);
	return out;
}

static void test_blank_is_or_and_comma_is_and(void **state)
{
	static const struct {
		const char *expression;
		bool holds;
	} cases[] = {
		{ "cuda>=12.2", true },
		{ "cuda>=12.6", false },
		{ "cuda>=12.6 driver>=535", true },
		{ "cuda>=12.6,driver>=535", false },
		{ "cuda>=12.6 brand=tesla,driver>=535,driver<536", true },
		{ "cuda>=12.6 brand=geforce,driver>=535,driver<536", false },
		{ "brand!=geforce", true },
		{ "brand=TESLA", true },
		{ "CUDA>=12", true },
		{ "arch>=8.0,arch<10", true },
		{ "arch=9", true },
		{ "driver!=535.183.06", false },
		{ "driver!535.183.06", false },
		{ "cuda<12", false },
		{ "cuda<=12.2", true },
		{ "cuda>12.2", false },
		{ "  cuda>=12.2", true },
		{ "", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (holds(cases[i].expression, &h100_535) != cases[i].holds)
			fail_msg("'%s'", cases[i].expression);
	}
}

static void test_without_a_gpu_arch_and_brand_count_as_satisfied(void **state)
{
	static const struct require_host none = { "12.2", "535.183.06", NULL, NULL };

	(void)state;
	assert_true(holds("arch>=99,brand=nothing", &none));
}

static void test_terms_after_an_alternative_that_holds_are_not_read(void **state)
{
	(void)state;
	assert_true(holds("cuda>=12.0 nonsense", &h100_535));
	assert_true(holds("cuda>=12.0 color=red", &h100_535));
}

static void test_malformed_terms_that_are_reached_are_refused(void **state)
{
	static const char *const bad[] = { "cuda",
					   "cuda==12.2",
					   "cuda=>12",
					   "color=red",
					   "cuda>=x",
					   ">=12.2",
					   "cuda >=12.2",
					   "cuda>= 12.2",
					   "brand>=tesla",
					   "cuda>=12.6,",
					   "cuda>=12.2,,driver>=1",
					   "cuda>=12.2-1",
					   "cuda=!12" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct error err = { 0 };
		bool out;

		if (require_holds(bad[i], &h100_535, &out, &err) == 0 && out)
			fail_msg("'%s' was taken", bad[i]);
	}
	{
		struct error err = { 0 };
		bool out;

		assert_int_equal(require_holds("color=red", &h100_535, &out, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		assert_contains(err.text, "color");
	}
}

/* What a driver of a branch can do for a CUDA on a GPU. */
static enum driver_service service_of(const struct tables *t, const char *driver, const char *cuda,
				      const struct gpu_arch *arch)
{
	struct driver_verdict v = driver_verdict(t, driver, cuda);
	struct gpu_target target = { .text = arch->sm, .arch = arch };

	if (v.service == SERVICE_FORWARD && gpu_compat(&target) == COMPAT_NOT_SUPPORTED)
		return SERVICE_IMPOSSIBLE;
	return v.service;
}

/*
 * Every (branch, CUDA, GPU): a newer driver is never worse, except that forward compatibility
 * ends with the hosts of its table, and that a branch is the last for an old GPU.
 */
static void test_a_newer_driver_is_never_worse(void **state)
{
	cleanup_tables struct tables t = { 0 };
	struct error err = { 0 };
	size_t triples = 0;

	(void)state;
	assert_ok(tables_load(NULL, &t, &err), err);
	for (size_t c = 0; c < t.toolkits.count; c++) {
		for (size_t g = 0; g < t.gpus.count; g++) {
			enum driver_service best = SERVICE_IMPOSSIBLE;

			for (size_t b = 0; b < t.drivers.count; b++) {
				const struct driver_branch *branch = &t.drivers.items[b];
				cleanup_free char *driver = xasprintf("%u", branch->branch);
				enum driver_service s = service_of(
					&t, driver, t.toolkits.items[c].version, &t.gpus.items[g]);

				triples++;
				if (best >= SERVICE_MINOR && s < best)
					fail_msg("%s is worse for CUDA %s than an older driver",
						 driver, t.toolkits.items[c].version);
				best = MAX(best, s);
			}
			assert_int_equal(best, SERVICE_NATIVE);
		}
	}
	assert_true(triples > 30000);
}

static void check_admission(const struct tables *t, const char *cuda, const struct gpu_arch *arch,
			    const char *floor, const char *value)
{
	struct gpu_target target = { .text = arch->sm, .arch = arch };
	bool compat = gpu_compat(&target) != COMPAT_NOT_SUPPORTED;

	for (size_t b = 0; b < t->drivers.count; b++) {
		const struct driver_branch *branch = &t->drivers.items[b];
		cleanup_free char *driver = xasprintf("%u.999", branch->branch);
		struct require_host host = { branch->native_cuda ? branch->native_cuda : "0",
					     driver, arch->capability,
					     compat ? "tesla" : "geforce" };
		enum driver_service s = service_of(t, driver, cuda, arch);
		bool serves = s == SERVICE_NATIVE ||
			      (s != SERVICE_IMPOSSIBLE && !driver_older(driver, floor));

		if (holds(value, &host) != serves)
			fail_msg("driver %s, CUDA %s, %s: %s, but the value says otherwise: %s",
				 driver, cuda, arch->sm, driver_service_name(s), value);
	}
}

/* The generated value admits exactly the drivers of the verdict, for every triple and floor. */
static void test_the_value_admits_exactly_the_drivers_of_the_verdict(void **state)
{
	cleanup_tables struct tables t = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	size_t values = 0;

	(void)state;
	assert_ok(tables_load(NULL, &t, &err), err);
	for (size_t c = 0; c < t.toolkits.count; c++) {
		const char *cuda = t.toolkits.items[c].minor;

		if (c && str_equal(cuda, t.toolkits.items[c - 1].minor))
			continue;
		for (size_t g = 0; g < t.gpus.count; g++) {
			const struct gpu_arch *arch = &t.gpus.items[g];

			for (size_t b = 0; b < t.drivers.count; b++) {
				const char *floor =
					arena_printf(&arena, "%u", t.drivers.items[b].branch);
				enum driver_service s = service_of(&t, floor, cuda, arch);
				const char *value;

				if (s == SERVICE_IMPOSSIBLE)
					continue;
				assert_ok(require_value(&t, cuda, floor, s == SERVICE_FORWARD,
							&arena, &value, &err),
					  err);
				values++;
				if (s == SERVICE_FORWARD)
					check_admission(&t, cuda, arch, floor, value);
				else if (str_equal(arch->sm, "sm_90"))
					check_admission(&t, cuda, arch, floor, value);
			}
		}
	}
	assert_true(values > 5000);
}

static void test_a_floor_that_cannot_run_it_is_a_verdict(void **state)
{
	cleanup_tables struct tables t = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	const char *value;

	(void)state;
	assert_ok(tables_load(NULL, &t, &err), err);
	assert_int_equal(require_value(&t, "13.0", "535", false, &arena, &value, &err), -1);
	assert_int_equal(err.code, ERROR_VERDICT);
	assert_int_equal(require_value(&t, "13.0", "550", true, &arena, &value, &err), -1);
	assert_ok(require_value(&t, "13.0", "535", true, &arena, &value, &err), err);
	assert_contains(value, "cuda>=13.0 driver>=580.65.06 brand=unknown,driver>=535,driver<536");
}

static bool listed(const json_t *branches, unsigned branch)
{
	for (size_t i = 0; i < json_array_size(branches); i++) {
		if (json_integer_value(json_array_get(branches, i)) == (json_int_t)branch)
			return true;
	}
	return false;
}

/* The strings of NVIDIA's own images let in the host branches that their rows list, and no others.
 */
static void test_the_strings_of_official_images_mean_what_their_rows_say(void **state)
{
	cleanup_json json_t *root = NULL;
	cleanup_tables struct tables t = { 0 };
	struct error err = { 0 };
	const json_t *strings;

	(void)state;
	assert_ok(tables_load(NULL, &t, &err), err);
	assert_ok(json_parse(embedded_file("require-strings.json"), &root, &err), err);
	strings = json_object_get(root, "strings");
	assert_true(json_array_size(strings) > 50);
	for (size_t i = 0; i < json_array_size(strings); i++) {
		const json_t *row = json_array_get(strings, i);
		const char *value = json_string_value(json_object_get(row, "value"));
		const char *cuda = json_string_value(json_object_get(row, "cuda"));

		if (json_array_size(json_object_get(row, "open_ended_terms")))
			continue;
		for (size_t b = 0; b < t.drivers.count; b++) {
			const struct driver_branch *branch = &t.drivers.items[b];
			cleanup_free char *driver = xasprintf("%u.10", branch->branch);
			struct require_host host = { branch->native_cuda ? branch->native_cuda
									 : "0",
						     driver, "8.0", "tesla" };
			bool expected =
				dotted_order(host.cuda, cuda) >= 0 ||
				listed(json_object_get(row, "host_branches"), branch->branch);

			if (holds(value, &host) != expected)
				fail_msg("CUDA %s, driver %s: %s", cuda, driver, value);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blank_is_or_and_comma_is_and),
		cmocka_unit_test(test_without_a_gpu_arch_and_brand_count_as_satisfied),
		cmocka_unit_test(test_terms_after_an_alternative_that_holds_are_not_read),
		cmocka_unit_test(test_malformed_terms_that_are_reached_are_refused),
		cmocka_unit_test(test_a_newer_driver_is_never_worse),
		cmocka_unit_test(test_the_value_admits_exactly_the_drivers_of_the_verdict),
		cmocka_unit_test(test_a_floor_that_cannot_run_it_is_a_verdict),
		cmocka_unit_test(test_the_strings_of_official_images_mean_what_their_rows_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
