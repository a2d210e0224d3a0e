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
	s->solved = (struct lock_stack){ .driver = ">=580",
					 .cuda = cuda,
					 .cudnn = "",
					 .nccl = "",
					 .python = "",
					 .cuda_release = "",
					 .require_cuda = require };
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

/* What a base image says. */
static const char base_text[] =
	"{\"architecture\":\"amd64\",\"os\":\"linux\",\"author\":\"them\",\"config\":{"
	"\"Cmd\":[\"serve\"],\"Entrypoint\":[\"/entry\"],\"Env\":[\"PATH=/opt/bin:/"
	"bin\",\"LANG=C\","
	"\"A=base\",\"B=base\"],\"ExposedPorts\":{\"80/tcp\":{}},\"Labels\":{\"x\":\"base\","
	"\"y\":\"base\"},\"User\":\"7\",\"WorkingDir\":\"/"
	"srv\"},\"history\":[{\"created_by\":\"one\"},"
	"{\"created_by\":\"two\",\"empty_layer\":true}],\"rootfs\":{\"diff_ids\":[],\"type\":"
	"\"layers\"}}";

static void make_over(struct site *s, const char *image, const char *text, size_t base_layers)
{
	cleanup_free char *manifest =
		xasprintf("gpuimg: 1\nname: a/b\ntag: \"1\"\nbase: { image: \"oci:x\" }\n"
			  "stages: { runtime: { profile: base } }\nimage: %s\n",
			  image);
	struct build_layer layers[3] = { { .title = "0", .base = base_layers > 0 },
					 { .title = "1", .base = base_layers > 1 },
					 { .title = "ours" } };
	struct base_image base = { 0 };
	struct error err = { 0 };
	struct image_config_request request = { .stack = &s->stack,
						.solved = &s->solved,
						.platform = { "linux", "amd64", NULL },
						.created = "1980-01-01T00:00:00Z",
						.cuda_programs = true,
						.bash = true,
						.base = &base,
						.layers = layers,
						.layer_count = 3 };

	assert_ok(config_parse(slice_str(text), &s->arena, &base.config, &err), err);
	assert_ok(stack_parse(slice_str(manifest), "stack.yaml", &s->stack, &err), err);
	s->solved = (struct lock_stack){ .driver = "",
					 .cuda = "",
					 .cudnn = "",
					 .nccl = "",
					 .python = "",
					 .cuda_release = "",
					 .require_cuda = "" };
	image_config_make(&request, &s->arena, &s->config);
}

static void test_a_base_images_configuration_goes_on(void **state)
{
	cleanup(site_release) struct site s = { 0 };

	(void)state;
	make_over(&s, "{ env: { B: ours }, labels: { y: ours }, expose: [\"443/tcp\"] }", base_text,
		  1);
	assert_string_equal(config_env(&s.config, "PATH"), "/usr/local/cuda/bin:/opt/bin:/bin");
	assert_string_equal(config_env(&s.config, "LANG"), "C");
	assert_string_equal(config_env(&s.config, "A"), "base");
	assert_string_equal(config_env(&s.config, "B"), "ours");
	assert_string_equal(config_label(&s.config, "x"), "base");
	assert_string_equal(config_label(&s.config, "y"), "ours");
	assert_string_equal(s.config.user, "7");
	assert_string_equal(s.config.workdir, "/srv");
	assert_string_equal(s.config.author, "them");
	assert_string_equal(s.config.entrypoint.items[0], "/entry");
	assert_string_equal(s.config.cmd.items[0], "serve");
	assert_int_equal(s.config.ports.count, 2);
}

static void test_an_entrypoint_of_the_manifest_drops_the_bases_command(void **state)
{
	cleanup(site_release) struct site s = { 0 };

	(void)state;
	make_over(&s, "{ entrypoint: [/ours], user: { name: u, uid: 9 } }", base_text, 1);
	assert_int_equal(s.config.entrypoint.count, 1);
	assert_string_equal(s.config.entrypoint.items[0], "/ours");
	assert_int_equal(s.config.cmd.count, 0);
	assert_string_equal(s.config.user, "9:9");
}

static void test_a_base_images_history_comes_first_as_it_is(void **state)
{
	cleanup(site_release) struct site s = { 0 };

	(void)state;
	make_over(&s, "{}", base_text, 1);
	assert_int_equal(s.config.history_count, 4);
	assert_string_equal(s.config.history[0].created_by, "one");
	assert_true(s.config.history[1].empty_layer);
	assert_string_equal(s.config.history[3].created_by, "gpuimg ours");
	assert_int_equal(s.config.diff_id_count, 3);
}

static void test_a_base_without_a_history_gets_an_entry_for_each_layer(void **state)
{
	cleanup(site_release) struct site s = { 0 };

	(void)state;
	make_over(&s, "{}", base_text, 2); /* tells of one layer, and has two */
	assert_int_equal(s.config.history_count, 3);
	assert_string_equal(s.config.history[1].created_by, "layer 1 of the base image");
	assert_string_equal(s.config.history[2].created_by, "gpuimg ours");
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
		cmocka_unit_test(test_a_base_images_configuration_goes_on),
		cmocka_unit_test(test_an_entrypoint_of_the_manifest_drops_the_bases_command),
		cmocka_unit_test(test_a_base_images_history_comes_first_as_it_is),
		cmocka_unit_test(test_a_base_without_a_history_gets_an_entry_for_each_layer),
		cmocka_unit_test(test_a_gpu_image_says_what_it_needs_of_the_runtime),
		cmocka_unit_test(test_an_image_without_gpus_says_nothing_of_them),
		cmocka_unit_test(test_the_manifest_wins_and_no_variable_stands_twice),
		cmocka_unit_test(test_times_are_written_as_rfc_3339_in_utc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
