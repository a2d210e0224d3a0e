#include "tests/support/test.h"

#include "builder/settled.h"

#define MANIFEST(stack)                                                                     \
	"gpuimg: 1\nname: t\nplatforms: [linux/amd64]\nstack: { " stack " }\nsources:\n"    \
	"  - { id: pip, type: wheels, url: \"https://pip.example.org/simple\" }\nstages:\n" \
	"  runtime: { profile: runtime }\n"

struct case_of {
	struct stack stack;
	struct arena arena;
	struct settled settled;
	struct lockfile lock;
};

static void case_release(struct case_of *c)
{
	settled_release(&c->settled);
	lockfile_release(&c->lock);
	stack_release(&c->stack);
	arena_release(&c->arena);
}

static void settle(struct case_of *c, const char *manifest)
{
	struct error err = { 0 };

	assert_ok(stack_parse(slice_str(manifest), "stack.yaml", &c->stack, &err), err);
	assert_ok(settled_find(&c->stack, 0, NULL, NULL, &c->arena, &c->settled, &err), err);
}

static void lock_wheel(struct case_of *c, const char *stage, const char *name, const char *version)
{
	struct lock_input in = { .kind = LOCK_WHEEL,
				 .stage = stage,
				 .source = "pip",
				 .name = name,
				 .version = version,
				 .url = "",
				 .arch = "" };

	vec_push(&lockfile_platform(&c->lock, "linux/amd64")->inputs, in);
}

static int confirm(struct case_of *c, struct error *err)
{
	return settled_confirm(&c->stack, lockfile_platform(&c->lock, "linux/amd64"), &c->settled,
			       err);
}

static void test_nothing_is_settled_of_a_stack_that_asks_nothing(void **state)
{
	cleanup(case_release) struct case_of c = { 0 };

	(void)state;
	settle(&c, MANIFEST("python: \"3.11\""));
	assert_string_equal(c.settled.constraints, "");
	assert_int_equal(c.settled.frameworks.len, 0);
	assert_null(c.settled.cuda);
}

static void test_a_framework_that_pins_itself_only_has_to_agree_on_cuda(void **state)
{
	cleanup(case_release) struct case_of c = { 0 };

	(void)state;
	settle(&c, MANIFEST("driver: \">=535\", framework: { torch: \"2.7.*\" }"));
	assert_string_equal(c.settled.constraints, "torch==2.7.1\n"
						   "nvidia-cuda-runtime-cu12==12.6.*\n"
						   "nvidia-cudnn-cu12==9.5.1.17\n"
						   "nvidia-nccl-cu12==2.26.2\n");
	assert_string_equal(c.settled.frameworks.items[0].package, "torch");
	assert_string_equal(c.settled.cuda, "12.6");
}

static void test_of_a_framework_with_ranges_all_parts_of_cuda_are_settled(void **state)
{
	cleanup(case_release) struct case_of c = { 0 };

	(void)state;
	settle(&c, MANIFEST("cuda: \"12.8\", framework: { jax: \"0.8.*\" }"));
	assert_contains(c.settled.constraints, "jax==0.8.3\n");
	assert_contains(c.settled.constraints, "nvidia-cuda-runtime-cu12==12.8.*\n");
	assert_contains(c.settled.constraints, "nvidia-cuda-nvrtc-cu12==12.8.*\n");
	assert_string_equal(c.settled.frameworks.items[0].package, "jax[cuda12]");
}

static void test_libraries_of_the_system_need_no_extras(void **state)
{
	cleanup(case_release) struct case_of c = { 0 };

	(void)state;
	settle(&c, MANIFEST("libraries: system, framework: { tensorflow: \"2.18.*\" }"));
	assert_string_equal(c.settled.frameworks.items[0].package, "tensorflow");
}

static void test_a_series_binds_only_as_far_as_it_is_known(void **state)
{
	cleanup(case_release) struct case_of c = { 0 };
	struct error err = { 0 };

	(void)state;
	settle(&c, MANIFEST("framework: { onnxruntime-gpu: \"1.22\" }"));
	assert_contains(c.settled.constraints, "onnxruntime-gpu==1.22.*\n");
	assert_string_equal(c.settled.frameworks.items[0].package, "onnxruntime-gpu[cuda,cudnn]");
	lock_wheel(&c, "runtime", "onnxruntime-gpu", "1.22.3");
	assert_ok(confirm(&c, &err), err);
}

static void test_the_package_of_a_framework_may_have_another_name(void **state)
{
	cleanup(case_release) struct case_of c = { 0 };

	(void)state;
	settle(&c, MANIFEST("driver: \">=535\", framework: { cupy: \"14\" }"));
	assert_contains(c.settled.constraints, "cupy-cuda12x==14.*\n");
	assert_string_equal(c.settled.frameworks.items[0].package, "cupy-cuda12x[ctk]");
	assert_string_equal(c.settled.frameworks.items[0].name, "cupy-cuda12x");
}

static void test_what_was_settled_is_confirmed(void **state)
{
	cleanup(case_release) struct case_of c = { 0 };
	struct error err = { 0 };

	(void)state;
	settle(&c, MANIFEST("driver: \">=535\", framework: { torch: \"2.7.*\" }"));
	lock_wheel(&c, "runtime", "torch", "2.7.1+cu126");
	lock_wheel(&c, "runtime", "nvidia-cuda-runtime-cu12", "12.6.77");
	lock_wheel(&c, "runtime", "nvidia-cudnn-cu12", "9.5.1.17");
	lock_wheel(&c, "runtime", "nvidia-nccl-cu12", "2.26.2");
	lock_wheel(&c, "build", "nvidia-nccl-cu12", "1.0"); /* another stage's is its own */
	assert_ok(confirm(&c, &err), err);
}

static void test_what_disagrees_is_named_with_what_helps(void **state)
{
	static const struct {
		const char *name, *version, *want;
	} cases[] = {
		{ "torch", "2.7.0",
		  "the solver says torch 2.7.1, and source pip gives torch 2.7.0; "
		  "ask for the version that there is, framework: { torch: "
		  "\"2.7.0\" }" },
		{ "torch", "2.7.10", "gives torch 2.7.10" },
		{ "nvidia-cuda-runtime-cu12", "12.8.90",
		  "the solver says CUDA 12.6, and source pip gives nvidia-cuda-runtime-cu12 "
		  "12.8.90; "
		  "set stack.cuda to \"12.8\", or name a source that has the cu126 build" },
		{ "nvidia-cuda-runtime", "13.0.96", "set stack.cuda to \"13.0\"" },
		{ "nvidia-cudnn-cu12", "9.5.1.18", "the solver says cuDNN 9.5.1.17" },
		{ "nvidia-nccl-cu12", "2.26.5", "the solver says NCCL 2.26.2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup(case_release) struct case_of c = { 0 };
		struct error err = { 0 };

		settle(&c, MANIFEST("driver: \">=535\", framework: { torch: \"2.7.*\" }"));
		lock_wheel(&c, "runtime", cases[i].name, cases[i].version);
		assert_int_equal(confirm(&c, &err), -1);
		assert_int_equal(err.code, ERROR_VERDICT);
		assert_contains(err.text, cases[i].want);
		assert_contains(err.text, "stack.yaml:4:");
	}
}

static void test_a_wheel_compiled_against_another_torch_or_cuda_is_refused(void **state)
{
	static const struct {
		const char *version, *text; /* NULL: fits */
	} cases[] = {
		{ "2.8.3+cu12torch2.7cxx11abitrue", NULL },
		{ "2.8.3", NULL },
		{ "2.8.3+local", NULL },
		{ "2.8.3+cu12torch2.6cxx11abiTRUE",
		  "the solver says torch 2.7.1+cu126, and source pip gives flash-attn "
		  "2.8.3+cu12torch2.6cxx11abiTRUE; it was compiled against torch 2.6 and CUDA 12" },
		{ "2.8.3+cu13torch2.7", "the solver says CUDA 12.6.77" },
		{ "2.8.3+torch2.10", "compiled against torch 2.10 and CUDA ?" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup(case_release) struct case_of c = { 0 };
		struct error err = { 0 };

		settle(&c, MANIFEST("driver: \">=535\", framework: { torch: \"2.7.*\" }"));
		lock_wheel(&c, "runtime", "torch", "2.7.1+cu126");
		lock_wheel(&c, "runtime", "nvidia-cuda-runtime-cu12", "12.6.77");
		lock_wheel(&c, "build", "flash-attn", "1+cu11torch1.0"); /* another stage's */
		lock_wheel(&c, "runtime", "flash-attn", cases[i].version);
		if (!cases[i].text) {
			assert_ok(confirm(&c, &err), err);
			continue;
		}
		assert_int_equal(confirm(&c, &err), -1);
		assert_int_equal(err.code, ERROR_VERDICT);
		assert_contains(err.text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_settled_of_a_stack_that_asks_nothing),
		cmocka_unit_test(test_a_framework_that_pins_itself_only_has_to_agree_on_cuda),
		cmocka_unit_test(test_of_a_framework_with_ranges_all_parts_of_cuda_are_settled),
		cmocka_unit_test(test_libraries_of_the_system_need_no_extras),
		cmocka_unit_test(test_a_series_binds_only_as_far_as_it_is_known),
		cmocka_unit_test(test_the_package_of_a_framework_may_have_another_name),
		cmocka_unit_test(test_what_was_settled_is_confirmed),
		cmocka_unit_test(test_what_disagrees_is_named_with_what_helps),
		cmocka_unit_test(test_a_wheel_compiled_against_another_torch_or_cuda_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
