#include "tests/support/test.h"

#include "builder/component.h"
#include "builder/image_config.h"

struct site {
	struct stack stack;
	struct lock_stack solved;
	struct arena arena;
	struct image_config config;
};

static void site_release(struct site *s)
{
	stack_release(&s->stack);
	arena_release(&s->arena);
}

static void make(struct site *s, const char *section, const char *image, const char *cuda,
		 const char *require)
{
	cleanup_free char *text = xasprintf("gpuimg: 1\nname: a/b\ntag: \"1\"\n"
					    "platforms: [linux/amd64]\nstack: %s\nsources: []\n"
					    "stages: { runtime: { profile: base } }\nimage: %s\n",
					    section, image);
	struct error err = { 0 };
	struct image_config_request request = { .stack = &s->stack,
						.solved = &s->solved,
						.platform = { "linux", "amd64", NULL },
						.created = "1980-01-01T00:00:00Z",
						.cuda_programs = *cuda != '\0' };

	assert_ok(stack_parse(slice_str(text), "stack.yaml", &s->stack, &err), err);
	s->solved = (struct lock_stack){ ">=580", cuda, "", "", "", require };
	image_config_make(&request, &s->arena, &s->config);
}

static void test_a_gpu_image_says_what_it_needs_of_the_runtime(void **state)
{
	cleanup(site_release) struct site s = { 0 };

	(void)state;
	make(&s, "{ driver: \">=580\", gpus: [a100, h100], cuda: \"13.0\" }", "{}", "13.0",
	     "cuda>=13.0");
	assert_string_equal(config_env(&s.config, "NVIDIA_VISIBLE_DEVICES"), "all");
	assert_string_equal(config_env(&s.config, "NVIDIA_DRIVER_CAPABILITIES"), "compute,utility");
	assert_string_equal(config_env(&s.config, "NVIDIA_REQUIRE_CUDA"), "cuda>=13.0");
	assert_null(config_env(&s.config, "CUDA_VERSION"));
	assert_null(config_env(&s.config, "LD_LIBRARY_PATH"));
	assert_true(str_starts(config_env(&s.config, "PATH"), "/usr/local/cuda/bin:"));
	assert_string_equal(config_label(&s.config, "io.gpuimg.gpus"), "a100,h100");
	assert_string_equal(config_label(&s.config, "io.gpuimg.driver"), ">=580");
	assert_string_equal(config_label(&s.config, "io.gpuimg.cuda"), "13.0");
}

static void test_an_image_without_gpus_says_nothing_of_them(void **state)
{
	cleanup(site_release) struct site s = { 0 };

	(void)state;
	make(&s, "{}", "{}", "", "");
	assert_null(config_env(&s.config, "NVIDIA_VISIBLE_DEVICES"));
	assert_null(config_env(&s.config, "NVIDIA_REQUIRE_CUDA"));
	assert_true(str_starts(config_env(&s.config, "PATH"), "/usr/local/sbin:"));
}

static void test_the_manifest_wins_and_no_variable_stands_twice(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	size_t count = 0;

	(void)state;
	make(&s, "{ driver: \">=580\", cuda: \"13.0\" }",
	     "{ env: { LANG: de_DE.UTF-8, NVIDIA_DRIVER_CAPABILITIES: all, A: b },"
	     " labels: { io.gpuimg.cuda: mine } }",
	     "13.0", "cuda>=13.0");
	for (size_t i = 0; i < s.config.env.count; i++)
		count += str_starts(s.config.env.items[i], "LANG=");
	assert_int_equal(count, 1);
	assert_string_equal(config_env(&s.config, "LANG"), "de_DE.UTF-8");
	assert_string_equal(config_env(&s.config, "NVIDIA_DRIVER_CAPABILITIES"), "all");
	assert_string_equal(config_env(&s.config, "A"), "b");
	assert_string_equal(config_label(&s.config, "io.gpuimg.cuda"), "mine");
}

static void test_times_are_written_as_rfc_3339_in_utc(void **state)
{
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	assert_string_equal(image_config_time(0, &arena), "1970-01-01T00:00:00Z");
	assert_string_equal(image_config_time(FIXED_MTIME, &arena), "1980-01-01T00:00:00Z");
	assert_string_equal(image_config_time(1700000000, &arena), "2023-11-14T22:13:20Z");
	assert_string_equal(image_config_time(INT64_MAX, &arena), "9999-12-31T23:59:59Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_gpu_image_says_what_it_needs_of_the_runtime),
		cmocka_unit_test(test_an_image_without_gpus_says_nothing_of_them),
		cmocka_unit_test(test_the_manifest_wins_and_no_variable_stands_twice),
		cmocka_unit_test(test_times_are_written_as_rfc_3339_in_utc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
