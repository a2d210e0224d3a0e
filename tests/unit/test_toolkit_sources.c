#include "tests/support/test.h"

#include "base/process.h"
#include "builder/lock.h"

#define FIXTURES "tests/fixtures/cuda/"

/* A store, a manifest and its lock. */
struct site {
	char *dir, *fixtures;
	struct store *store;
	struct http_client *http;
	struct stack stack;
	struct lockfile lock;
};

static void site_release(struct site *s)
{
	stack_release(&s->stack);
	lockfile_release(&s->lock);
	http_client_free(s->http);
	store_close(s->store);
	free(s->fixtures);
	test_dir_free(s->dir);
}

static void open_site(struct site *s)
{
	cleanup_free char *store = NULL;
	struct error err = { 0 };

	if (!process_available("gpgv"))
		skip();
	s->dir = test_dir();
	s->fixtures = realpath(FIXTURES, NULL);
	assert_non_null(s->fixtures);
	store = fs_join(s->dir, "store");
	s->store = store_open(store, &err);
	assert_non_null(s->store);
	s->http = http_client_new(&(struct http_options){ 0 });
}

/* "apt apt-part": a source for each of the fixtures, in that order, named as they are. */
static void add_sources(const struct site *s, const char *names, struct strbuf *out)
{
	struct slice rest = slice_str(names), name;

	while (slice_cut(&rest, ' ', &name)) {
		const char *more = slice_is(name, "apt-suite") ? ", suite: stable, components: "
								 "[multiverse], signed-by: "
				   : slice_starts(name, "apt") ? ", suite: \"./\", signed-by: "
							       : ", gpgkey: ";

		strbuf_addf(
			out,
			"  - { id: %.*s, type: %s, url: \"file://%s/%.*s/\"%s\"%s/keys/cuda.asc\" "
			"}\n",
			(int)name.len, (const char *)name.data,
			slice_starts(name, "apt") ? "apt" : "rpm-md", s->fixtures, (int)name.len,
			(const char *)name.data, more, s->fixtures);
	}
}

static int lock(struct site *s, const char *section, const char *profile, const char *sources,
		const char *packages, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct lock_request request;

	open_site(s);
	strbuf_addf(&text,
		    "gpuimg: 1\nname: acme/app\ntag: \"1\"\nplatforms: [linux/amd64]\n"
		    "stack: { %s }\nsources:\n",
		    section);
	add_sources(s, sources, &text);
	strbuf_addf(&text, "stages:\n  runtime:\n    profile: %s\n%s", profile, packages);
	assert_ok(stack_parse(strbuf_slice(&text), "stack.yaml", &s->stack, err), *err);
	request = (struct lock_request){ .stack = &s->stack, .store = s->store, .http = s->http };
	return lock_stack(&request, &s->lock, err);
}

/* "name version source; " for each input, sorted; "*": named by the user. */
static int by_name(const void *a, const void *b)
{
	const struct lock_input *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void expect(const char *section, const char *profile, const char *sources,
		   const char *packages, const char *inputs)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_strbuf struct strbuf got = { 0 };
	struct lock_platform *p;
	struct error err = { 0 };

	assert_ok(lock(&s, section, profile, sources, packages, &err), err);
	p = lockfile_platform(&s.lock, "linux/amd64");
	vec_sort(&p->inputs, by_name);
	for (size_t i = 0; i < p->inputs.len; i++) {
		const struct lock_input *in = &p->inputs.items[i];

		strbuf_addf(&got, "%s%s %s %s%s%s", i ? "\n" : "", in->name, in->version,
			    in->source, in->requested ? "*" : "", in->toolkit ? "" : " !");
	}
	assert_string_equal(strbuf_text(&got), inputs);
}

static void refuse(const char *section, const char *profile, const char *sources, const char *part)
{
	cleanup(site_release) struct site s = { 0 };
	struct error err = { 0 };

	assert_int_equal(lock(&s, section, profile, sources, "", &err), -1);
	assert_contains(err.text, part);
	assert_int_equal(err.code, ERROR_USAGE);
}

static void test_a_flat_apt_repository_has_the_components(void **state)
{
	(void)state;
	expect("cuda: \"12.6\"", "base", "apt", "",
	       "cuda-cudart-12-6 12.6.77-1 apt\n"
	       "cuda-toolkit-12-6-config-common 12.6.77-1 apt");
}

static void test_an_rpm_repository_has_the_components(void **state)
{
	(void)state;
	expect("cuda: \"12.6\"", "base", "rpm", "",
	       "cuda-cudart-12-6 12.6.77-1 rpm\n"
	       "cuda-toolkit-12-6-config-common 12.6.77-1 rpm !");
}

static const char runtime_debs[] = "cuda-cudart-12-6 12.6.77-1 apt\n"
				   "cuda-nvrtc-12-6 12.6.85-1 apt\n"
				   "cuda-toolkit-12-6-config-common 12.6.77-1 apt\n"
				   "libcublas-12-6 12.6.4.1-1 apt\n"
				   "libcufft-12-6 11.3.0.4-1 apt\n"
				   "libcurand-12-6 10.3.7.77-1 apt\n"
				   "libcusolver-12-6 11.7.1.2-1 apt\n"
				   "libcusparse-12-6 12.5.4.2-1 apt\n"
				   "libnvjitlink-12-6 12.6.85-1 apt";

static void test_the_runtime_profile_takes_the_math_libraries(void **state)
{
	(void)state;
	expect("cuda: \"12.6\"", "runtime", "apt", "", runtime_debs);
}

static void test_the_devel_profile_takes_compiler_headers_and_link_names(void **state)
{
	(void)state;
	expect("cuda: \"12.6\"", "devel", "apt", "",
	       "cuda-cccl-12-6 12.6.77-1 apt\n"
	       "cuda-cudart-12-6 12.6.77-1 apt\n"
	       "cuda-cudart-dev-12-6 12.6.77-1 apt\n"
	       "cuda-cuobjdump-12-6 12.6.77-1 apt\n"
	       "cuda-nvcc-12-6 12.6.85-1 apt\n"
	       "cuda-nvrtc-12-6 12.6.85-1 apt\n"
	       "cuda-nvrtc-dev-12-6 12.6.85-1 apt\n"
	       "cuda-nvtx-12-6 12.6.77-1 apt\n"
	       "cuda-profiler-api-12-6 12.6.77-1 apt\n"
	       "cuda-toolkit-12-6-config-common 12.6.77-1 apt\n"
	       "libcublas-12-6 12.6.4.1-1 apt\n"
	       "libcublas-dev-12-6 12.6.4.1-1 apt\n"
	       "libcufft-12-6 11.3.0.4-1 apt\n"
	       "libcufft-dev-12-6 11.3.0.4-1 apt\n"
	       "libcurand-12-6 10.3.7.77-1 apt\n"
	       "libcurand-dev-12-6 10.3.7.77-1 apt\n"
	       "libcusolver-12-6 11.7.1.2-1 apt\n"
	       "libcusolver-dev-12-6 11.7.1.2-1 apt\n"
	       "libcusparse-12-6 12.5.4.2-1 apt\n"
	       "libcusparse-dev-12-6 12.5.4.2-1 apt\n"
	       "libnvjitlink-12-6 12.6.85-1 apt\n"
	       "libnvjitlink-dev-12-6 12.6.85-1 apt");
}

static void test_a_release_that_is_named_is_taken_and_no_other(void **state)
{
	(void)state;
	expect("cuda: \"12.6.1\"", "base", "apt", "",
	       "cuda-cudart-12-6 12.6.68-1 apt\n"
	       "cuda-toolkit-12-6-config-common 12.6.77-1 apt");
	refuse("cuda: \"12.6.0\"", "base", "apt",
	       "asks for cudart 12.6.37 exactly of CUDA 12.6, and no source has it: 'apt' (apt) "
	       "has "
	       "no cuda-cudart-12-6;");
}

static void test_cudnn_and_nccl_are_those_of_the_solved_cuda(void **state)
{
	(void)state;
	expect("cuda: \"12.6\", cudnn: \"9.5.1\", nccl: \"2.21.5\"", "runtime", "apt", "",
	       "cuda-cudart-12-6 12.6.77-1 apt\n"
	       "cuda-nvrtc-12-6 12.6.85-1 apt\n"
	       "cuda-toolkit-12-6-config-common 12.6.77-1 apt\n"
	       "libcublas-12-6 12.6.4.1-1 apt\n"
	       "libcudnn9-cuda-12 9.5.1.17-1 apt\n"
	       "libcufft-12-6 11.3.0.4-1 apt\n"
	       "libcurand-12-6 10.3.7.77-1 apt\n"
	       "libcusolver-12-6 11.7.1.2-1 apt\n"
	       "libcusparse-12-6 12.5.4.2-1 apt\n"
	       "libnccl2 2.21.5-1+cuda12.6 apt\n"
	       "libnvjitlink-12-6 12.6.85-1 apt");
}

static void test_a_newer_minor_takes_the_nccl_built_for_the_nearest_one_below(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	struct lock_platform *p;
	struct error err = { 0 };
	bool found = false;

	(void)state;
	assert_ok(lock(&s, "cuda: \"12.6\", nccl: \"2\"", "runtime", "rpm", "", &err), err);
	p = lockfile_platform(&s.lock, "linux/amd64");
	for (size_t i = 0; i < p->inputs.len; i++)
		found |= str_equal(p->inputs.items[i].name, "libnccl") &&
			 str_equal(p->inputs.items[i].version, "2.23.4-1+cuda12.6");
	assert_true(found);
}

static void test_each_component_comes_from_the_first_source_that_has_it(void **state)
{
	(void)state;
	expect("cuda: \"12.6\"", "base", "apt-part apt", "", "cuda-cudart-12-6 12.6.77-1 apt-part");
	expect("cuda: \"12.6\"", "base", "rpm-part apt", "", "cuda-cudart-12-6 12.6.77-1 rpm-part");
	expect("cuda: \"12.6\"", "runtime", "apt-part rpm", "",
	       "cuda-cudart-12-6 12.6.77-1 apt-part\n"
	       "cuda-nvrtc-12-6 12.6.85-1 rpm\n"
	       "libcublas-12-6 12.6.4.1-1 rpm\n"
	       "libcufft-12-6 11.3.0.4-1 rpm\n"
	       "libcurand-12-6 10.3.7.77-1 rpm\n"
	       "libcusolver-12-6 11.7.1.2-1 rpm\n"
	       "libcusparse-12-6 12.5.4.2-1 rpm\n"
	       "libnvjitlink-12-6 12.6.85-1 rpm");
}

static void test_the_packages_of_a_distribution_are_taken_too(void **state)
{
	(void)state;
	expect("cuda: \"12.6\"", "base", "apt-suite apt", "",
	       "cuda-cudart-12-6 12.6.77-0ubuntu1 apt-suite");
}

static void test_an_nccl_that_does_not_say_its_cuda_is_passed_over(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	struct error err = { 0 };
	struct lock_platform *p;

	(void)state;
	assert_ok(lock(&s, "cuda: \"12.6\", nccl: \"2.23.4\"", "runtime", "apt-part rpm-part apt",
		       "", &err),
		  err);
	p = lockfile_platform(&s.lock, "linux/amd64");
	for (size_t i = 0; i < p->inputs.len; i++) {
		if (str_starts(p->inputs.items[i].name, "libnccl"))
			assert_string_equal(p->inputs.items[i].version, "2.23.4-1+cuda12.6");
	}
}

static void test_what_nobody_has_is_named_with_those_who_were_asked(void **state)
{
	(void)state;
	refuse("cuda: \"12.6\"", "runtime", "apt-part rpm-part",
	       "stack.yaml:5:8: the stack section asks for nvrtc 12.6.85 of CUDA 12.6, and no "
	       "source "
	       "has it: 'apt-part' (apt) has no cuda-nvrtc-12-6; 'rpm-part' (rpm-md) has no "
	       "cuda-nvrtc-12-6; add one that has");
}

static void test_what_the_stage_names_itself_is_not_asked_for_again(void **state)
{
	(void)state;
	expect("cuda: \"12.6\"", "base", "apt",
	       "    packages: { apt: [ \"cuda-cudart-12-6=12.6.68-1\" ] }\n",
	       "cuda-cudart-12-6 12.6.68-1 apt* !\n"
	       "cuda-toolkit-12-6-config-common 12.6.77-1 apt !");
}

static void test_the_compatibility_package_is_locked_when_the_stack_wants_it(void **state)
{
	(void)state;
	expect("cuda: \"12.6\", compat: always", "base", "apt", "",
	       "cuda-compat-12-6 560.35.05-1 apt\n"
	       "cuda-cudart-12-6 12.6.77-1 apt\n"
	       "cuda-toolkit-12-6-config-common 12.6.77-1 apt");
	expect("cuda: \"12.6\", compat: always", "base", "rpm", "",
	       "cuda-compat-12-6 560.35.05-1 rpm\n"
	       "cuda-cudart-12-6 12.6.77-1 rpm\n"
	       "cuda-toolkit-12-6-config-common 12.6.77-1 rpm !");
	expect("cuda: \"12.6\", compat: never", "base", "apt-part", "",
	       "cuda-cudart-12-6 12.6.77-1 apt-part");
	refuse("cuda: \"12.6\", compat: always", "base", "apt-part",
	       "asks for compat of CUDA 12.6, and no source has it: 'apt-part' (apt) has no "
	       "cuda-compat-12-6");
	/* The floor's hosts run CUDA 13 with it alone: it is not a matter of taste. */
	refuse("cuda: \"13.0\", driver: \">=535.183.06\"", "base", "apt",
	       "asks for compat of CUDA 13.0, and no source has it: 'apt' (apt) has no "
	       "cuda-compat-13-0; add NVIDIA's apt or rpm repository, or raise the driver floor");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_flat_apt_repository_has_the_components),
		cmocka_unit_test(test_an_rpm_repository_has_the_components),
		cmocka_unit_test(test_the_runtime_profile_takes_the_math_libraries),
		cmocka_unit_test(test_the_devel_profile_takes_compiler_headers_and_link_names),
		cmocka_unit_test(test_a_release_that_is_named_is_taken_and_no_other),
		cmocka_unit_test(test_cudnn_and_nccl_are_those_of_the_solved_cuda),
		cmocka_unit_test(test_a_newer_minor_takes_the_nccl_built_for_the_nearest_one_below),
		cmocka_unit_test(test_each_component_comes_from_the_first_source_that_has_it),
		cmocka_unit_test(test_the_packages_of_a_distribution_are_taken_too),
		cmocka_unit_test(test_an_nccl_that_does_not_say_its_cuda_is_passed_over),
		cmocka_unit_test(test_what_nobody_has_is_named_with_those_who_were_asked),
		cmocka_unit_test(test_what_the_stage_names_itself_is_not_asked_for_again),
		cmocka_unit_test(test_the_compatibility_package_is_locked_when_the_stack_wants_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
