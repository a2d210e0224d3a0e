#include "tests/support/test.h"

#include "manifests/stack.h"

/* The least that a manifest needs; a test appends to it. Lines count from 4 after it. */
#define LEAST "gpuimg: 1\nname: acme/app\nstages: { run: {} }\n"

static const char full[] =
	"gpuimg: 1\n"
	"name: acme/ml/trainer\n"
	"tag: \"2.3.1\"\n"
	"platforms: [linux/amd64, linux/arm64]\n"
	"stack:\n"
	"  driver: \">=535.183.06\"\n"
	"  gpus: [a100, h100, sm_120]\n"
	"  cuda: 13.0\n"
	"  cudnn: 9\n"
	"  nccl: \"2\"\n"
	"  framework: { torch: \"2.7.*\" }\n"
	"  libraries: wheels\n"
	"  python: 3.10\n"
	"  compat: never\n"
	"sources:\n"
	"  - { id: os, type: apt, from: host }\n"
	"  - { id: cuda, type: apt, url: \"https://mirror.example/{arch}/\", suite: ./, signed-by: "
	"keys/c.gpg }\n"
	"  - { id: deb, type: apt, url: \"http://mirror.example/debian\", suite: bookworm, "
	"components: [main] }\n"
	"  - { id: rocky, type: rpm-md, url: \"https://mirror.example/{sbsa}/\", gpgkey: "
	"keys/c.asc }\n"
	"  - { id: pip, type: wheels, from: host }\n"
	"  - { id: redist, type: redist, url: \"https://mirror.example/redist/\" }\n"
	"  - { id: kit, type: dir, path: /usr/local/cuda-13.0 }\n"
	"base: { image: \"docker://registry.example/debian:12\" }\n"
	"stages:\n"
	"  build:\n"
	"    profile: devel\n"
	"    packages: { os: [g++, make] }\n"
	"    files: [ { from: src/, to: /src } ]\n"
	"    run: [ \"make -C /src\" ]\n"
	"  runtime:\n"
	"    packages: { os: [ca-certificates], pip: [einops, { requirements: requirements.txt }] "
	"}\n"
	"    copy: [ { from: build, path: /src/bin/app, to: /opt/app, mode: 0755 } ]\n"
	"image:\n"
	"  user: { name: app, uid: 1000 }\n"
	"  entrypoint: [/opt/app]\n"
	"  cmd: [\"\"]\n"
	"  env: { OMP_NUM_THREADS: \"8\", EMPTY: \"\", ON: yes }\n"
	"  workdir: /opt\n"
	"  labels: { a.b: c }\n"
	"  annotations: {}\n"
	"  expose: [8080, 53/udp]\n"
	"  volumes: [/data]\n"
	"  stop-signal: SIGINT\n"
	"layers: { compression: zstd, level: max, split: single, max-size: 512MiB }\n"
	"scripts: { acknowledge: [ \"sha256:"
	"0000000000000000000000000000000000000000000000000000000000000000\" ] }\n"
	"lint: { fail-on: warning, ignore: [ { rule: SIZ003, path: \"/opt/**\", reason: big, "
	"until: 2028-02-29 } ] }\n"
	"test: { require: load, run: [ { cmd: [python3, -c, \"import torch\"], expect: \"\" } ] }\n"
	"publish: [ \"registry.example/{name}:{tag}\" ]\n";

static void parse(const char *text, struct stack *out)
{
	struct error err = { 0 };

	assert_ok(stack_parse(slice_str(text), "dir/stack.yaml", out, &err), err);
}

static void check_refused(const char *text, const char *want)
{
	struct stack stack = { 0 };
	struct error err = { 0 };

	if (stack_parse(slice_str(text), "stack.yaml", &stack, &err) == 0)
		fail_msg("taken, not refused with \"%s\"", want);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_string_equal(err.text, want);
	assert_null(stack.arena.blocks);
}

struct refusal {
	const char *text, *want;
};

/* Each text is appended to LEAST. */
static void check_refusals(const struct refusal *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cleanup_free char *text = xasprintf(LEAST "%s\n", cases[i].text);

		check_refused(text, cases[i].want);
	}
}

static void test_scalars_keep_their_text(void **state)
{
	cleanup_stack struct stack stack = { 0 };

	(void)state;
	parse(full, &stack);
	assert_string_equal(stack.name, "acme/ml/trainer");
	assert_string_equal(stack.tag, "2.3.1");
	assert_string_equal(stack.stack.cuda, "13.0");
	assert_string_equal(stack.stack.cudnn, "9");
	assert_string_equal(stack.stack.python, "3.10");
	assert_string_equal(stack.image.env.items[2].value, "yes");
	assert_string_equal(stack.stages[1].copies[0].mode, "0755");
}

static void test_the_request_is_read(void **state)
{
	cleanup_stack struct stack stack = { 0 };

	(void)state;
	parse(full, &stack);
	assert_string_equal(stack.stack.driver, ">=535.183.06");
	assert_int_equal(stack.stack.gpus.count, 3);
	assert_string_equal(stack.stack.gpus.items[2], "sm_120");
	assert_string_equal(stack.stack.framework.items[0].key, "torch");
	assert_string_equal(stack.stack.framework.items[0].value, "2.7.*");
	assert_int_equal(stack.stack.libraries, LIBRARIES_WHEELS);
	assert_int_equal(stack.stack.compat, COMPAT_NEVER);
	assert_int_equal(stack.platforms.count, 2);
	assert_string_equal(stack.base_image, "docker://registry.example/debian:12");
}

static void test_sources_are_read_in_order(void **state)
{
	static const enum stack_source_type types[] = { SOURCE_APT,    SOURCE_APT,    SOURCE_APT,
							SOURCE_RPM_MD, SOURCE_WHEELS, SOURCE_REDIST,
							SOURCE_DIR };
	cleanup_stack struct stack stack = { 0 };

	(void)state;
	parse(full, &stack);
	assert_int_equal(stack.source_count, ARRAY_LEN(types));
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		assert_int_equal(stack.sources[i].type, types[i]);
	assert_true(stack.sources[0].from_host);
	assert_false(stack.sources[1].from_host);
	assert_string_equal(stack.sources[1].suite, "./");
	assert_string_equal(stack.sources[1].signed_by, "keys/c.gpg");
	assert_string_equal(stack.sources[2].components.items[0], "main");
	assert_string_equal(stack_source(&stack, "kit")->path, "/usr/local/cuda-13.0");
	assert_null(stack_source(&stack, "none"));
	assert_int_equal(stack.sources[1].place.line, 17);
	assert_int_equal(stack.sources[1].place.column, 5);
}

static void test_stages_are_read_in_order(void **state)
{
	cleanup_stack struct stack stack = { 0 };
	const struct stack_stage *build, *runtime;

	(void)state;
	parse(full, &stack);
	build = stack_stage(&stack, "build");
	runtime = &stack.stages[stack.stage_count - 1];
	assert_int_equal(stack.stage_count, 2);
	assert_ptr_equal(build, &stack.stages[0]);
	assert_int_equal(build->profile, PROFILE_DEVEL);
	assert_string_equal(build->packages[0].items[1].spec, "make");
	assert_string_equal(build->files[0].from, "src/");
	assert_string_equal(build->files[0].to, "/src");
	assert_null(build->files[0].mode);
	assert_string_equal(build->run.items[0], "make -C /src");
	assert_string_equal(runtime->name, "runtime");
	assert_int_equal(runtime->profile, PROFILE_RUNTIME);
	assert_string_equal(runtime->packages[1].source, "pip");
	assert_string_equal(runtime->packages[1].items[0].spec, "einops");
	assert_null(runtime->packages[1].items[1].spec);
	assert_string_equal(runtime->packages[1].items[1].requirements, "requirements.txt");
	assert_string_equal(runtime->copies[0].path, "/src/bin/app");
	assert_int_equal(runtime->place.line, 30);
	assert_int_equal(runtime->packages[1].items[1].place.line, 31);
}

static void test_the_image_section_is_read(void **state)
{
	cleanup_stack struct stack stack = { 0 };
	const struct stack_image *image = &stack.image;

	(void)state;
	parse(full, &stack);
	assert_string_equal(image->user_name, "app");
	assert_int_equal(image->uid, 1000);
	assert_int_equal(image->gid, 1000); /* as the uid */
	assert_string_equal(image->home, "/home/app");
	assert_string_equal(image->entrypoint.items[0], "/opt/app");
	assert_string_equal(image->cmd.items[0], "");
	assert_string_equal(image->env.items[1].value, "");
	assert_string_equal(image->expose.items[1], "53/udp");
	assert_string_equal(image->volumes.items[0], "/data");
	assert_string_equal(image->stop_signal, "SIGINT");
	assert_string_equal(image->labels.items[0].key, "a.b");
}

static void test_the_last_sections_are_read(void **state)
{
	cleanup_stack struct stack stack = { 0 };

	(void)state;
	parse(full, &stack);
	assert_int_equal(stack.layers.compression, COMPRESSION_ZSTD);
	assert_int_equal(stack.layers.level, LEVEL_MAX);
	assert_int_equal(stack.layers.split, SPLIT_SINGLE);
	assert_int_equal(stack.layers.max_size, 512 * MIB);
	assert_int_equal(stack.acknowledged_scripts.count, 1);
	assert_string_equal(stack.lint_fail_on, "warning");
	assert_string_equal(stack.lint_ignores[0].rule, "SIZ003");
	assert_string_equal(stack.lint_ignores[0].until, "2028-02-29");
	assert_string_equal(stack.test_require, "load");
	assert_int_equal(stack.test_runs[0].cmd.count, 3);
	assert_string_equal(stack.test_runs[0].expect, "");
	assert_string_equal(stack.publish.items[0], "registry.example/{name}:{tag}");
}

static void test_what_is_left_out_has_defaults(void **state)
{
	cleanup_stack struct stack stack = { 0 };

	(void)state;
	parse(LEAST, &stack);
	assert_string_equal(stack.tag, "latest");
	assert_int_equal(stack.platforms.count, 1);
	assert_string_equal(stack.platforms.items[0], "linux/amd64");
	assert_int_equal(stack.layers.compression, COMPRESSION_GZIP);
	assert_int_equal(stack.layers.level, LEVEL_DEFAULT);
	assert_int_equal(stack.layers.split, SPLIT_COMPONENT);
	assert_int_equal(stack.layers.max_size, GIB);
	assert_int_equal(stack.stages[0].profile, PROFILE_RUNTIME);
	assert_string_equal(stack.lint_fail_on, "error");
	assert_null(stack.test_require);
	assert_null(stack.image.user_name);
	assert_null(stack.image.home);
	assert_null(stack.base_image);
	assert_int_equal(stack.source_count, 0);
}

static void test_sections_and_lists_may_be_left_empty(void **state)
{
	cleanup_stack struct stack stack = { 0 };

	(void)state;
	parse("gpuimg: 1\nname: a\nstack:\nsources:\nimage: { labels: , expose: }\nlint:\n"
	      "stages:\n  run:\n  more: { files: , packages: }\n",
	      &stack);
	assert_int_equal(stack.stage_count, 2);
	assert_int_equal(stack.stages[0].place.line, 8);
	assert_int_equal(stack.stages[0].profile, PROFILE_RUNTIME);
}

static void test_json_is_the_same_document(void **state)
{
	static const char text[] = "{\"gpuimg\": 1, \"name\": \"a\", \"stack\": {\"cuda\": 13.0},\n"
				   " \"stages\": {\"run\": {\"profile\": \"base\"}}}";
	cleanup_stack struct stack stack = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(stack_parse(slice_str(text), "a.json", &stack, &err), err);
	assert_string_equal(stack.stack.cuda, "13.0");
	assert_int_equal(stack.stages[0].profile, PROFILE_BASE);
	assert_int_equal(stack_parse(slice_str("{\n\"name\": x}"), "a.json", &stack, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "a.json:2:");
}

static void test_a_file_is_read_and_known_by_its_folder(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "stack.yaml");
	cleanup_stack struct stack stack = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_write(AT_FDCWD, file, slice_str(LEAST), 0644, &err), err);
	assert_ok(stack_read(file, &stack, &err), err);
	assert_string_equal(stack.file, file);
	assert_string_equal(stack.directory, dir);
}

static void test_a_missing_file_is_not_found(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "stack.yaml");
	struct stack stack = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(stack_read(file, &stack, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void test_the_folder_follows_from_the_name(void **state)
{
	static const struct {
		const char *file, *directory;
	} cases[] = { { "stack.yaml", "." }, { "a/b/s.yaml", "a/b" }, { "/s.yaml", "/" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_stack struct stack stack = { 0 };
		struct error err = { 0 };

		assert_ok(stack_parse(slice_str(LEAST), cases[i].file, &stack, &err), err);
		assert_string_equal(stack.directory, cases[i].directory);
	}
}

static void test_unknown_keys_are_refused_with_the_nearest(void **state)
{
	check_refused("gpuimg: 1\nname: a\nstages:\n  runtime:\n    pakages: {}\n",
		      "stack.yaml:5:5: unknown key 'pakages' in stages.runtime; did you mean "
		      "'packages'?");
	static const struct refusal cases[] = {
		{ "imgae: {}", "stack.yaml:4:1: unknown key 'imgae'; did you mean 'image'?" },
		{ "image: { entry-point: [] }", "stack.yaml:4:10: unknown key 'entry-point' in "
						"image; did you mean 'entrypoint'?" },
		{ "image: { user: { naem: x } }",
		  "stack.yaml:4:18: unknown key 'naem' in image.user; did you mean 'name'?" },
		{ "env: { A: b }", "stack.yaml:4:1: unknown key 'env'; it belongs in image" },
		{ "layers: { xyzzy: 1 }",
		  "stack.yaml:4:11: unknown key 'xyzzy' in layers; known here: "
		  "compression, level, split, max-size" },
		{ "sources: [ { id: a, tpye: apt } ]",
		  "stack.yaml:4:21: unknown key 'tpye' in sources[0]; did you mean 'type'?" },
		{ "\"\\e[31m\": 1",
		  "stack.yaml:4:1: unknown key '\\x1b[31m'; known here: gpuimg, extends, name, "
		  "tag, platforms, stack, "
		  "sources, base, matrix, stages, image, layers, scripts, lint, test, publish" },
	};

	(void)state;
	check_refusals(cases, ARRAY_LEN(cases));
}

static void test_wrong_types_are_refused(void **state)
{
	static const struct refusal cases[] = {
		{ "image: { env: [a] }",
		  "stack.yaml:4:15: image: 'env' must be a map, not a list" },
		{ "image: { env: x }", "stack.yaml:4:15: image: 'env' must be a map, not text" },
		{ "image: { entrypoint: run }", "stack.yaml:4:22: image: 'entrypoint' must be a "
						"list, not text; write [\"run\"]" },
		{ "image: { cmd: { a: b } }",
		  "stack.yaml:4:15: image: 'cmd' must be a list, not a map" },
		{ "image: [x]", "stack.yaml:4:8: 'image' must be a map, not a list" },
		{ "image: { env: { A: [x] } }",
		  "stack.yaml:4:20: image.env: 'A' must be text, not a list" },
		{ "image: { env: { A: } }",
		  "stack.yaml:4:20: image.env: 'A' must be text, not nothing; "
		  "write \"\" for an empty one" },
		{ "image: { cmd: [a, [b]] }",
		  "stack.yaml:4:19: image: item 2 of 'cmd' must be text, not a list" },
		{ "image: { user: { name: a, uid: [1] } }",
		  "stack.yaml:4:32: image.user: 'uid' must be a whole number, not a list" },
		{ "tag:", "stack.yaml:4:5: 'tag' must be text, not nothing" },
		{ "tag: { a: b }", "stack.yaml:4:6: 'tag' must be text, not a map" },
		{ "sources: { a: b }", "stack.yaml:4:10: 'sources' must be a list, not a map" },
		{ "sources: [ a ]",
		  "stack.yaml:4:12: item 1 of 'sources' must be a map, not text" },
		{ "layers: { level: [fast] }",
		  "stack.yaml:4:18: layers: 'level' must be text, not a list" },
		{ "layers: { max-size: {} }",
		  "stack.yaml:4:21: layers: 'max-size' must be a size, not a map" },
	};

	(void)state;
	check_refusals(cases, ARRAY_LEN(cases));
	check_refused("- a\n", "stack.yaml:1:1: the manifest must be a map, not a list");
}

static void test_missing_keys_are_named(void **state)
{
	static const struct refusal cases[] = {
		{ "sources: [ { type: apt } ]", "stack.yaml:4:12: sources[0]: 'id' is missing" },
		{ "sources: [ { id: a } ]", "stack.yaml:4:12: sources[0]: 'type' is missing" },
		{ "image: { user: { uid: 1 } }", "stack.yaml:4:16: image.user: 'name' is missing" },
		{ "image: { user: { name: a } }", "stack.yaml:4:16: image.user: 'uid' is missing" },
		{ "base: {}", "stack.yaml:4:7: base: 'image' is missing" },
		{ "lint: { ignore: [ { rule: SIZ003 } ] }",
		  "stack.yaml:4:19: lint.ignore[0]: 'reason' is missing" },
		{ "test: { run: [ { cmd: [] } ] }",
		  "stack.yaml:4:23: test.run[0]: 'cmd' must not be empty" },
	};

	(void)state;
	check_refusals(cases, ARRAY_LEN(cases));
	check_refused("", "stack.yaml:1:1: 'gpuimg' is missing");
	check_refused("name: a\nstages: { r: {} }\n", "stack.yaml:1:1: 'gpuimg' is missing");
	check_refused("gpuimg: 1\nstages: { r: {} }\n", "stack.yaml:1:1: 'name' is missing");
	check_refused("gpuimg: 1\nname: a\n", "stack.yaml:1:1: 'stages' is missing");
	check_refused("gpuimg: 1\nname: a\nstages: {}\n",
		      "stack.yaml:3:9: 'stages' must not be empty");
}

static void test_choices_are_listed(void **state)
{
	static const struct refusal cases[] = {
		{ "layers: { compression: bzip2 }", "stack.yaml:4:24: layers: 'compression': "
						    "'bzip2' is not one of none, gzip, zstd" },
		{ "layers: { level: fats }",
		  "stack.yaml:4:18: layers: 'level': 'fats' is not one of fast, "
		  "default, max; did you mean 'fast'?" },
		{ "stack: { libraries: pip }",
		  "stack.yaml:4:21: stack: 'libraries': 'pip' is not one of auto, wheels, system" },
		{ "sources: [ { id: a, type: deb } ]", "stack.yaml:4:27: sources[0]: 'type': 'deb' "
						       "is not one of apt, wheels, dir, rpm-md, "
						       "redist" },
		{ "sources: [ { id: a, type: apt, from: hots } ]",
		  "stack.yaml:4:38: sources[0]: 'from': 'hots' is not host; did you mean 'host'?" },
		{ "lint: { fail-on: warnings }", "stack.yaml:4:18: lint: 'fail-on': 'warnings' is "
						 "not one of error, warning, info, never; "
						 "did you mean 'warning'?" },
		{ "test: { require: gpu }",
		  "stack.yaml:4:18: test: 'require': 'gpu' is not one of load, run" },
		{ "platforms: [arm64]",
		  "stack.yaml:4:13: item 1 of 'platforms': 'arm64' is not one of "
		  "linux/amd64, linux/arm64; did you mean 'linux/arm64'?" },
	};

	(void)state;
	check_refusals(cases, ARRAY_LEN(cases));
}

static void test_keys_and_names_stand_once(void **state)
{
	static const struct refusal cases[] = {
		{ "name: b",
		  "stack.yaml:4:1: key 'name' stands twice in one map (first in line 2)" },
		{ "platforms: [linux/amd64, linux/amd64]",
		  "stack.yaml:4:26: 'platforms' names 'linux/amd64' twice (first in line 4)" },
		{ "stack: { gpus: [a100, a100] }",
		  "stack.yaml:4:23: stack: 'gpus' names 'a100' twice (first in line 4)" },
		{ "sources:\n- { id: a, type: apt, from: host }\n- { id: a, type: apt, from: host "
		  "}",
		  "stack.yaml:6:3: a second source 'a'; the first is in line 5" },
	};

	(void)state;
	check_refusals(cases, ARRAY_LEN(cases));
}

static void test_sources_need_what_their_type_needs(void **state)
{
	static const struct refusal cases[] = {
		{ "sources: [ { id: a, type: apt } ]", "stack.yaml:4:12: source 'a' of type apt "
						       "needs 'from: host', or 'url' and 'suite'" },
		{ "sources: [ { id: a, type: apt, url: \"http://x.example/\", suite: stable } ]",
		  "stack.yaml:4:12: source 'a' needs 'components', such as [main]; the suite of a "
		  "flat "
		  "repository ends in '/'" },
		{ "sources: [ { id: a, type: apt, url: \"http://x.example/\", suite: ./, "
		  "components: [m] } ]",
		  "stack.yaml:4:12: source 'a' is flat (its suite ends in '/') and so has no "
		  "components" },
		{ "sources: [ { id: a, type: dir } ]",
		  "stack.yaml:4:12: source 'a' of type dir needs 'path'" },
		{ "sources: [ { id: a, type: redist } ]",
		  "stack.yaml:4:12: source 'a' of type redist needs 'url'" },
		{ "sources: [ { id: a, type: rpm-md } ]",
		  "stack.yaml:4:12: source 'a' of type rpm-md needs 'url'" },
		{ "sources: [ { id: a, type: wheels } ]",
		  "stack.yaml:4:12: source 'a' of type wheels needs 'from: host', 'url' or "
		  "'path'" },
		{ "sources: [ { id: a, type: wheels, path: w, from: host } ]",
		  "stack.yaml:4:12: source 'a' has both 'from: host' and 'path'; keep one" },
		{ "sources: [ { id: a, type: wheels, path: w, url: \"http://x.example\" } ]",
		  "stack.yaml:4:12: source 'a' has both 'url' and 'path'; keep one" },
		{ "sources: [ { id: a, type: dir, path: x, suite: y } ]",
		  "stack.yaml:4:12: source 'a' has 'suite', which means nothing to type dir" },
		{ "sources: [ { id: a, type: dir, path: x, from: host } ]",
		  "stack.yaml:4:12: source 'a' has 'from', which means nothing to type dir" },
		{ "sources: [ { id: a, type: apt, url: ftp://x } ]",
		  "stack.yaml:4:37: sources[0]: 'url': 'ftp://x' is not an address that begins "
		  "with "
		  "https://, http:// or file:///" },
		{ "sources: [ { id: a, type: apt, url: \"http://x/{acrh}\" } ]",
		  "stack.yaml:4:37: sources[0]: 'url': 'http://x/{acrh}' holds '{acrh}', which is "
		  "not "
		  "filled in; did you mean '{arch}'?" },
		{ "sources: [ { id: a, type: apt, url: \"http://x/{\" } ]",
		  "stack.yaml:4:37: sources[0]: 'url': 'http://x/{' holds '{' without '}'" },
	};

	(void)state;
	check_refusals(cases, ARRAY_LEN(cases));
}

static void test_packages_name_a_declared_source(void **state)
{
	static const struct refusal cases[] = {
		{ "stages: { r: { packages: { os: [a] } } }",
		  "stack.yaml:3:28: stages.r.packages: 'os' is not the id of a source; declare it "
		  "in "
		  "sources" },
		{ "sources: [{id: cuda, type: apt, from: host}]\nstages: { r: { packages: { cdua: "
		  "[a] } } }",
		  "stack.yaml:4:28: stages.r.packages: 'cdua' is not the id of a source; did you "
		  "mean "
		  "'cuda'?" },
		{ "sources: [{id: cuda, type: apt, from: host}]\nstages: { r: { packages: { os: "
		  "[a] } } }",
		  "stack.yaml:4:28: stages.r.packages: 'os' is not the id of a source; there are: "
		  "cuda" },
		{ "sources: [{id: os, type: apt, from: host}]\n"
		  "stages: { r: { packages: { os: [{requirements: r.txt}] } } }",
		  "stack.yaml:4:33: stages.r.packages: 'requirements' is for sources of type "
		  "wheels; 'os' is "
		  "apt" },
		{ "stages: { r: { packages: { os: g++ } } }",
		  "stack.yaml:3:32: stages.r.packages: 'os' must be a list, not text; write "
		  "[\"g++\"]" },
		{ "stages: { r: { packages: { os: [[x]] } } }",
		  "stack.yaml:3:33: stages.r.packages: item 1 of 'os' must be text or a map, not a "
		  "list" },
		{ "stages: { r: { packages: { os: [\"\"] } } }",
		  "stack.yaml:3:33: stages.r.packages: item 1 of 'os' must not be empty" },
		{ "stages: { r: { packages: { os: [{requirement: x}] } } }",
		  "stack.yaml:3:34: unknown key 'requirement' in stages.r.packages.os[0]; did you "
		  "mean "
		  "'requirements'?" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *text = xasprintf("gpuimg: 1\nname: a\n%s\n", cases[i].text);

		check_refused(text, cases[i].want);
	}
}

static void test_a_stage_copies_from_those_before_it(void **state)
{
	static const struct refusal cases[] = {
		{ "stages: { a: { copy: [{from: b, path: /x, to: /x}] }, b: {} }",
		  "stack.yaml:3:23: stages.a.copy[0]: stage 'b' is a later one; a stage copies "
		  "from those "
		  "before it" },
		{ "stages: { a: { copy: [{from: a, path: /x, to: /x}] } }",
		  "stack.yaml:3:23: stages.a.copy[0]: stage 'a' is this one; a stage copies from "
		  "those "
		  "before it" },
		{ "stages: { build: {}, b: { copy: [{from: biuld, path: /x, to: /x}] } }",
		  "stack.yaml:3:34: stages.b.copy[0]: 'biuld' is not a stage before this one; did "
		  "you mean "
		  "'build'?" },
		{ "stages: { build: {}, b: { copy: [{from: zzz, path: /x, to: /x}] } }",
		  "stack.yaml:3:34: stages.b.copy[0]: 'zzz' is not a stage before this one; there "
		  "are: "
		  "build" },
		{ "stages: { b: { copy: [{from: zzz, path: /x, to: /x}] } }",
		  "stack.yaml:3:23: stages.b.copy[0]: 'zzz' is not a stage before this one; there "
		  "is none" },
		{ "stages: { \"a b\": {} }", "stack.yaml:3:11: 'stages': 'a b' is not a name: "
					     "letters and digits, and after the first "
					     "also '.', '_' and '-'" },
		{ "stages: { a: [] }", "stack.yaml:3:14: stages: 'a' must be a map, not a list" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *text = xasprintf("gpuimg: 1\nname: a\n%s\n", cases[i].text);

		check_refused(text, cases[i].want);
	}
}

static void test_paths_stay_where_they_belong(void **state)
{
	static const struct refusal cases[] = {
		{ "{ from: ../x, to: /x }", "stack.yaml:3:31: stages.a.files[0]: 'from': '../x' "
					    "leaves the manifest's folder; move the "
					    "manifest up, or what is needed below its folder" },
		{ "{ from: a/./../../x, to: /x }",
		  "stack.yaml:3:31: stages.a.files[0]: 'from': 'a/./../../x' leaves the manifest's "
		  "folder; "
		  "move the manifest up, or what is needed below its folder" },
		{ "{ from: /etc/x, to: /x }",
		  "stack.yaml:3:31: stages.a.files[0]: 'from': '/etc/x' is absolute; paths here "
		  "start at the "
		  "manifest's folder: copy it there and name it from there" },
		{ "{ from: x, to: opt/x }",
		  "stack.yaml:3:38: stages.a.files[0]: 'to': 'opt/x' is not absolute; did you mean "
		  "'/opt/x'?" },
		{ "{ from: x, to: /opt/../x }", "stack.yaml:3:38: stages.a.files[0]: 'to': "
						"'/opt/../x' has '..' in it; write the path "
						"without" },
		{ "{ from: x, to: \"/a\\nb\" }", "stack.yaml:3:38: stages.a.files[0]: 'to': "
						 "'/a\\x0ab' holds a control character" },
		{ "{ from: \"\", to: /x }",
		  "stack.yaml:3:31: stages.a.files[0]: 'from' must not be empty" },
		{ "{ to: /x }", "stack.yaml:3:23: stages.a.files[0]: 'from' is missing" },
		{ "{ from: x, to: /x, mode: 999 }", "stack.yaml:3:48: stages.a.files[0]: 'mode': "
						    "'999' is not a mode; write permissions in "
						    "octal, such as \"0755\"" },
		{ "{ from: x, to: /x, mode: u+x }", "stack.yaml:3:48: stages.a.files[0]: 'mode': "
						    "'u+x' is not a mode; write permissions in "
						    "octal, such as \"0755\"" },
		{ "{ from: x, to: /x, mode: 17777 }", "stack.yaml:3:48: stages.a.files[0]: 'mode': "
						      "'17777' is not a mode; write permissions in "
						      "octal, such as \"0755\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *text = xasprintf(
			"gpuimg: 1\nname: a\nstages: { a: {files: [%s]}}\n", cases[i].text);

		check_refused(text, cases[i].want);
	}
}

static void test_values_of_the_image_are_checked(void **state)
{
	static const struct refusal cases[] = {
		{ "image: { env: { 1A: x } }", "stack.yaml:4:17: image: 'env': '1A' is not the "
					       "name of an environment variable: letters, "
					       "digits and '_', not a digit first" },
		{ "image: { env: { A-B: x } }", "stack.yaml:4:17: image: 'env': 'A-B' is not the "
						"name of an environment variable: "
						"letters, digits and '_', not a digit first" },
		{ "image: { labels: { \"\": x } }",
		  "stack.yaml:4:20: image: a key in 'labels' is empty" },
		{ "image: { user: { name: a, uid: 4294967295 } }",
		  "stack.yaml:4:32: image.user: 'uid': '4294967295' is not a whole number from 0 "
		  "to "
		  "4294967294" },
		{ "image: { user: { name: a, uid: -1 } }",
		  "stack.yaml:4:32: image.user: 'uid': '-1' is not a whole number from 0 to "
		  "4294967294" },
		{ "image: { user: { name: a, uid: \"5\" } }",
		  "stack.yaml:4:32: image.user: 'uid': '5' is not a whole number from 0 to "
		  "4294967294" },
		{ "image: { user: { name: a, uid: 0 } }",
		  "stack.yaml:4:16: image.user: uid 0 is root's; give 'a' another" },
		{ "image: { user: { name: root, uid: 5 } }",
		  "stack.yaml:4:16: image.user: the uid of root is 0" },
		{ "image: { user: { name: \"A b\", uid: 5 } }",
		  "stack.yaml:4:24: image.user: 'name': 'A b' is not an account's name: lower-case "
		  "letters "
		  "and '_', and after the first also digits and '-'" },
		{ "image: { workdir: opt }", "stack.yaml:4:19: image: 'workdir': 'opt' is not "
					     "absolute; did you mean '/opt'?" },
		{ "image: { expose: [0] }",
		  "stack.yaml:4:19: image: item 1 of 'expose': '0' is not a port "
		  "from 1 to 65535, such as 8080 or \"53/udp\"" },
		{ "image: { expose: [80/icmp] }",
		  "stack.yaml:4:19: image: item 1 of 'expose': '80/icmp' "
		  "names a protocol other than tcp, udp and sctp" },
		{ "image: { stop-signal: TERM }", "stack.yaml:4:23: image: 'stop-signal': 'TERM' "
						  "is not a signal, such as SIGTERM" },
		{ "image: { stop-signal: 65 }", "stack.yaml:4:23: image: 'stop-signal': '65' is "
						"not a signal: they go from 1 to 64" },
	};

	(void)state;
	check_refusals(cases, ARRAY_LEN(cases));
}

static void test_values_of_other_sections_are_checked(void **state)
{
	static const struct refusal cases[] = {
		{ "layers: { max-size: 1GB }", "stack.yaml:4:21: layers: 'max-size': '1GB' is not "
					       "a size; write a whole number above 0 "
					       "and KiB, MiB or GiB, such as 512MiB" },
		{ "layers: { max-size: 0 }", "stack.yaml:4:21: layers: 'max-size': '0' is not a "
					     "size; write a whole number above 0 "
					     "and KiB, MiB or GiB, such as 512MiB" },
		{ "layers: { max-size: 18446744073709551615GiB }",
		  "stack.yaml:4:21: layers: 'max-size': '18446744073709551615GiB' is not a size; "
		  "write a "
		  "whole number above 0 and KiB, MiB or GiB, such as 512MiB" },
		{ "scripts: { acknowledge: [x] }",
		  "stack.yaml:4:26: scripts: item 1 of 'acknowledge': 'x' is not a digest: sha256: "
		  "and 64 "
		  "lower-case hexadecimal digits" },
		{ "lint: { ignore: [ { rule: size, reason: r } ] }",
		  "stack.yaml:4:27: lint.ignore[0]: 'rule': 'size' is not the id of a rule, such "
		  "as SIZ003" },
		{ "lint: { ignore: [ { rule: SIZ003, reason: r, until: 2027-02-29 } ] }",
		  "stack.yaml:4:53: lint.ignore[0]: 'until': '2027-02-29' is not a day of the "
		  "calendar" },
		{ "lint: { ignore: [ { rule: SIZ003, reason: r, until: soon } ] }",
		  "stack.yaml:4:53: lint.ignore[0]: 'until': 'soon' is not a day, written as "
		  "2027-01-31" },
		{ "publish: [ \"r.example/x:{tga}\" ]",
		  "stack.yaml:4:12: item 1 of 'publish': 'r.example/x:{tga}' holds '{tga}', which "
		  "is not "
		  "filled in; did you mean '{tag}'?" },
		{ "stack: { cuda: \">=12.4,\" }", "stack.yaml:4:16: stack: 'cuda': '>=12.4,' is "
						  "not a version or a range of them, such as "
						  "\"12.6\", \"2.7.*\" or \">=12.4,<13\"" },
		{ "stack: { framework: { \"torch \": 2 } }",
		  "stack.yaml:4:23: stack: 'framework': 'torch ' is not a name: letters and "
		  "digits, and after "
		  "the first also '.', '_' and '-'" },
		{ "tag: .x",
		  "stack.yaml:4:6: 'tag': '.x' is not a tag: letters, digits, '_', and after the "
		  "first also '.' and '-'" },
	};

	(void)state;
	check_refusals(cases, ARRAY_LEN(cases));
	check_refused("gpuimg: 2\nname: a\nstages: { r: {} }\n",
		      "stack.yaml:1:9: 'gpuimg': '2' is not a format this program knows; it reads "
		      "gpuimg: 1");
}

static void test_names_follow_the_grammar_of_repositories(void **state)
{
	static const struct {
		const char *name;
		bool good;
	} cases[] = {
		{ "a", true },     { "a/b-c/d.e", true }, { "a__b", true },  { "a---b", true },
		{ "A", false },    { "a//b", false },     { "/a", false },   { "a/", false },
		{ "a..b", false }, { "a___b", false },    { "-a", false },   { "a-", false },
		{ "a:b", false },  { "a b", false },      { "a._b", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *text =
			xasprintf("gpuimg: 1\nname: \"%s\"\nstages: { r: {} }\n", cases[i].name);
		cleanup_stack struct stack stack = { 0 };
		struct error err = { 0 };
		int rc = stack_parse(slice_str(text), "stack.yaml", &stack, &err);

		if ((rc == 0) != cases[i].good)
			fail_msg("'%s': %s", cases[i].name, err.text);
	}
}

static void test_an_error_can_name_a_place_later(void **state)
{
	cleanup_stack struct stack stack = { 0 };
	struct error err = { 0 };

	(void)state;
	parse(full, &stack);
	assert_int_equal(stack_error(&stack, stack.sources[0].place, &err, "no such %s", "thing"),
			 -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_string_equal(err.text, "dir/stack.yaml:16:5: no such thing");
	stack_error(&stack, (struct stack_place){ 0 }, &err, "x");
	assert_string_equal(err.text, "dir/stack.yaml: x");
}

static void test_no_truncation_is_read_beyond_its_end(void **state)
{
	(void)state;
	for (size_t len = 0; len < sizeof(full) - 1; len += 7) {
		cleanup_free uint8_t *copy = xmemdup(full, len);
		cleanup_stack struct stack stack = { 0 };
		struct error err = { 0 };

		if (stack_parse(slice_of(copy, len), "stack.yaml", &stack, &err) < 0)
			assert_true(str_starts(err.text, "stack.yaml:"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalars_keep_their_text),
		cmocka_unit_test(test_the_request_is_read),
		cmocka_unit_test(test_sources_are_read_in_order),
		cmocka_unit_test(test_stages_are_read_in_order),
		cmocka_unit_test(test_the_image_section_is_read),
		cmocka_unit_test(test_the_last_sections_are_read),
		cmocka_unit_test(test_what_is_left_out_has_defaults),
		cmocka_unit_test(test_sections_and_lists_may_be_left_empty),
		cmocka_unit_test(test_json_is_the_same_document),
		cmocka_unit_test(test_a_file_is_read_and_known_by_its_folder),
		cmocka_unit_test(test_a_missing_file_is_not_found),
		cmocka_unit_test(test_the_folder_follows_from_the_name),
		cmocka_unit_test(test_unknown_keys_are_refused_with_the_nearest),
		cmocka_unit_test(test_wrong_types_are_refused),
		cmocka_unit_test(test_missing_keys_are_named),
		cmocka_unit_test(test_choices_are_listed),
		cmocka_unit_test(test_keys_and_names_stand_once),
		cmocka_unit_test(test_sources_need_what_their_type_needs),
		cmocka_unit_test(test_packages_name_a_declared_source),
		cmocka_unit_test(test_a_stage_copies_from_those_before_it),
		cmocka_unit_test(test_paths_stay_where_they_belong),
		cmocka_unit_test(test_values_of_the_image_are_checked),
		cmocka_unit_test(test_values_of_other_sections_are_checked),
		cmocka_unit_test(test_names_follow_the_grammar_of_repositories),
		cmocka_unit_test(test_an_error_can_name_a_place_later),
		cmocka_unit_test(test_no_truncation_is_read_beyond_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
