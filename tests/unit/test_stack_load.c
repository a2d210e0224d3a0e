#include "tests/support/test.h"

#include "manifests/stack.h"
#include "manifests/stack_load.h"

struct file {
	const char *name, *text;
};

/* A folder in memory; ends with a NULL name. */
static int load(void *user, const char *path, struct strbuf *out, struct error *err)
{
	for (const struct file *f = user; f->name; f++) {
		if (str_equal(f->name, path)) {
			strbuf_adds(out, f->text);
			return 0;
		}
	}
	return error_set(err, ERROR_NOT_FOUND, "%s does not exist", path);
}

static int read_with(const struct file *files, const char *const *sets, size_t set_count,
		     struct stacks *out, struct error *err)
{
	struct stack_options options = { .sets = sets,
					 .set_count = set_count,
					 .load = load,
					 .load_user = (void *)(uintptr_t)files };

	return stacks_parse(slice_str(files[0].text), files[0].name, &options, out, err);
}

static void check_refused(const struct file *files, const char *set, const char *want)
{
	cleanup_stacks struct stacks stacks = { 0 };
	struct error err = { 0 };

	if (read_with(files, &set, set != NULL, &stacks, &err) == 0)
		fail_msg("taken, not refused with \"%s\"", want);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_string_equal(err.text, want);
}

static const char base_text[] =
	"gpuimg: 1\n"
	"name: acme/base\n"
	"stack: { cuda: \"12.6\", gpus: [a100, h100], framework: { torch: \"2.7\" } }\n"
	"sources: [ { id: os, type: apt, from: host } ]\n"
	"base: { image: \"oci:x\" }\n"
	"stages:\n"
	"  build: { profile: devel, run: [one, two] }\n"
	"  run: { packages: { os: [bash, dash] } }\n"
	"image: { env: { A: \"1\", B: \"2\" } }\n";

static void test_maps_merge_and_lists_and_scalars_replace(void **state)
{
	static const struct file files[] = {
		{ "top.yaml", "extends: base.yaml\n"
			      "name: acme/app\n"
			      "stack: { gpus: [l4], framework: { jax: \"0.7\" } }\n"
			      "stages: { run: { packages: { os: [zsh] } }, last: {} }\n"
			      "image: { env: { B: \"3\", C: \"4\" } }\n" },
		{ "base.yaml", base_text },
		{ 0 },
	};
	cleanup_stacks struct stacks stacks = { 0 };
	struct error err = { 0 };
	const struct stack *s;

	(void)state;
	assert_ok(read_with(files, NULL, 0, &stacks, &err), err);
	assert_int_equal(stacks.count, 1);
	s = &stacks.items[0];
	assert_string_equal(s->name, "acme/app");
	assert_string_equal(s->stack.cuda, "12.6");
	assert_int_equal(s->stack.gpus.count, 1);
	assert_string_equal(s->stack.gpus.items[0], "l4");
	assert_int_equal(s->stack.framework.count, 2);
	assert_string_equal(s->stack.framework.items[1].key, "jax");
	assert_int_equal(s->stage_count, 3);
	assert_string_equal(s->stages[1].name, "run");
	assert_int_equal(s->stages[1].packages[0].count, 1);
	assert_string_equal(s->stages[2].name, "last");
	assert_int_equal(s->image.env.count, 3);
	assert_string_equal(s->image.env.items[1].value, "3");
}

static void test_a_key_with_nothing_takes_away(void **state)
{
	static const struct file files[] = {
		{ "top.yaml", "extends: base.yaml\nbase:\nstack: { cuda: ~ }\n" },
		{ "base.yaml", base_text },
		{ 0 },
	};
	cleanup_stacks struct stacks stacks = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(read_with(files, NULL, 0, &stacks, &err), err);
	assert_null(stacks.items[0].base_image);
	assert_null(stacks.items[0].stack.cuda);
	assert_int_equal(stacks.items[0].stack.gpus.count, 2);
}

static void test_names_start_at_the_folder_of_the_file_they_stand_in(void **state)
{
	static const struct file files[] = {
		{ "a/top.yaml", "extends: ../b/./middle.yaml\n" },
		{ "b/middle.yaml", "extends: base.json\nname: acme/middle\n" },
		{ "b/base.json",
		  "{\"gpuimg\": 1, \"name\": \"acme/base\", \"stages\": {\"run\": {}}}" },
		{ 0 },
	};
	cleanup_stacks struct stacks stacks = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(read_with(files, NULL, 0, &stacks, &err), err);
	assert_string_equal(stacks.items[0].name, "acme/middle");
	assert_string_equal(stacks.items[0].directory, "a");
}

static void test_errors_keep_the_file_they_stand_in(void **state)
{
	static const struct file unknown[] = {
		{ "top.yaml", "extends: base.yaml\nname: a/b\n" },
		{ "base.yaml", "gpuimg: 1\nstack: { cudaa: 1 }\nstages: { run: {} }\n" },
		{ 0 },
	};
	static const struct file value[] = {
		{ "top.yaml", "extends: lib/base.yaml\ntag: \"1\"\n" },
		{ "lib/base.yaml", "gpuimg: 1\nname: UPPER\nstages: { run: {} }\n" },
		{ 0 },
	};
	static const struct file syntax[] = {
		{ "top.yaml", "extends: base.yaml\n" },
		{ "base.yaml", "a: [\n" },
		{ 0 },
	};
	static const struct file missing[] = {
		{ "top.yaml", "gpuimg: 1\nextends: none.yaml\n" },
		{ 0 },
	};
	static const struct file whole[] = {
		{ "top.yaml", "extends: base.yaml\nname: a/b\n" },
		{ "base.yaml", "gpuimg: 1\nstages:\n  run:\n    packages:\n      oss: [x]\n" },
		{ 0 },
	};

	(void)state;
	check_refused(unknown, NULL,
		      "base.yaml:2:10: unknown key 'cudaa' in stack; did you mean 'cuda'?");
	check_refused(
		value, NULL,
		"lib/base.yaml:2:7: 'name': 'UPPER' is not a name: lower-case letters and digits, "
		"with single '.', '_', '__' or '-' between them, in parts joined by '/'; the "
		"registry goes into publish, the tag into tag");
	check_refused(missing, NULL, "top.yaml:2:10: extends: none.yaml does not exist");
	check_refused(whole, NULL,
		      "base.yaml:5:7: stages.run.packages: 'oss' is not the id of a source; "
		      "declare it in "
		      "sources");
	check_refused(syntax, NULL,
		      "base.yaml:2:1: not valid YAML: did not find expected node content (while "
		      "parsing a "
		      "flow node that begins at line 2)");
}

static void test_extends_is_the_name_of_a_file(void **state)
{
	static const struct file list[] = { { "t.yaml", "extends: [a]\n" }, { 0 } };
	static const struct file folder[] = { { "t.yaml", "extends: a/\n" }, { 0 } };
	static const struct file map[] = { { "t.yaml", "extends: b.yaml\n" },
					   { "b.yaml", "- a\n" },
					   { 0 } };

	(void)state;
	check_refused(list, NULL, "t.yaml:1:10: extends: must be the name of a file, not a list");
	check_refused(folder, NULL, "t.yaml:1:10: extends: 'a/' is not the name of a file");
	check_refused(map, NULL, "b.yaml:1:1: the manifest must be a map, not a list");
}

static void test_circles_are_refused_with_the_chain(void **state)
{
	static const struct file itself[] = { { "./a.yaml", "extends: a.yaml\n" }, { 0 } };
	static const struct file three[] = {
		{ "a.yaml", "extends: d/b.yaml\n" },
		{ "d/b.yaml", "extends: ../c.yaml\n" },
		{ "c.yaml", "\nextends: ./a.yaml\n" },
		{ 0 },
	};

	(void)state;
	check_refused(itself, NULL,
		      "./a.yaml:1:10: extends: goes in a circle: ./a.yaml extends a.yaml");
	check_refused(
		three, NULL,
		"c.yaml:2:10: extends: goes in a circle: a.yaml extends d/b.yaml extends c.yaml "
		"extends a.yaml");
}

/* N.yaml extends N+1.yaml, for ever. */
static int endless(void *user, const char *path, struct strbuf *out, struct error *err)
{
	size_t *calls = user;

	(void)path;
	(void)err;
	strbuf_addf(out, "extends: %zu.yaml\n", ++*calls);
	return 0;
}

static void test_chains_end_at_eight(void **state)
{
	cleanup_stacks struct stacks stacks = { 0 };
	size_t calls = 0;
	struct stack_options options = { .load = endless, .load_user = &calls };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(stacks_parse(slice_str("extends: 0.yaml\n"), "t.yaml", &options, &stacks,
				      &err),
			 -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_int_equal(calls, STACK_EXTENDS_LIMIT);
	assert_contains(err.text, "7.yaml:1:10: extends: more than 8 files below the first");
}

static void test_without_a_loader_nothing_is_extended(void **state)
{
	cleanup_stack struct stack stack = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(stack_parse(slice_str("extends: /etc/passwd\n"), "t.yaml", &stack, &err),
			 -1);
	assert_string_equal(err.text,
			    "t.yaml:1:10: extends: '/etc/passwd' cannot be read from here");
}

static const struct file plain[] = { { "t.yaml", base_text }, { 0 } };

static void test_set_is_read_by_the_type_of_the_key(void **state)
{
	static const char *const sets[] = {
		"stack.cuda=13.0",
		"stack.gpus=l4, sm_120",
		"platforms=[linux/arm64]",
		"stack.framework.torch=2.8.*",
		"stack.libraries=system",
		"image.user={ name: app, uid: 7 }",
		"image.user.uid=8",
		"image.labels.org.example.title=a=b, c",
		"stages.run.profile=base",
		"stages.run.packages.os=[\"libc6>=2,<3\", zsh]",
		"stages.build.run=",
		"layers.max-size=2GiB",
		"tag=a",
		"tag=b",
	};
	cleanup_stacks struct stacks stacks = { 0 };
	struct error err = { 0 };
	const struct stack *s;

	(void)state;
	assert_ok(read_with(plain, sets, ARRAY_LEN(sets), &stacks, &err), err);
	s = &stacks.items[0];
	assert_string_equal(s->stack.cuda, "13.0");
	assert_string_equal(s->stack.gpus.items[1], "sm_120");
	assert_string_equal(s->platforms.items[0], "linux/arm64");
	assert_string_equal(s->stack.framework.items[0].value, "2.8.*");
	assert_int_equal(s->stack.libraries, LIBRARIES_SYSTEM);
	assert_string_equal(s->image.user_name, "app");
	assert_int_equal(s->image.uid, 8);
	assert_string_equal(s->image.labels.items[0].key, "org.example.title");
	assert_string_equal(s->image.labels.items[0].value, "a=b, c");
	assert_int_equal(s->stages[1].profile, PROFILE_BASE);
	assert_int_equal(s->stages[1].packages[0].count, 2);
	assert_int_equal(s->stages[0].run.count, 0);
	assert_int_equal(s->layers.max_size, 2 * GIB);
	assert_string_equal(s->tag, "b");
}

static void test_set_names_itself_when_it_is_refused(void **state)
{
	static const struct {
		const char *set, *want;
	} cases[] = {
		{ "stack.cuda", "--set 'stack.cuda': write PATH=VALUE, such as stack.cuda=12.6" },
		{ "=1", "--set '=1': write PATH=VALUE, such as stack.cuda=12.6" },
		{ "stack.cuda=a b", "--set 'stack.cuda=a b': stack: 'cuda': 'a b' is not a version "
				    "or a range of them, such "
				    "as \"12.6\", \"2.7.*\" or \">=12.4,<13\"" },
		{ "stack.cuad=1",
		  "--set 'stack.cuad=1': unknown key 'cuad' in stack; did you mean 'cuda'?" },
		{ "stak.cuda=1", "--set 'stak.cuda=1': unknown key 'stak'; did you mean 'stack'?" },
		{ "stages.run.profiel=base", "--set 'stages.run.profiel=base': unknown key "
					     "'profiel' in stages.run; did you mean "
					     "'profile'?" },
		{ "tag.x=1", "--set 'tag.x=1': nothing lies below 'tag': it is one value" },
		{ "sources.os.url=x", "--set 'sources.os.url=x': nothing lies below 'sources': it "
				      "is a list, which is set as a "
				      "whole" },
		{ "stack=[",
		  "--set 'stack=[':2:1: not valid YAML: did not find expected node content "
		  "(while parsing a flow node that begins at line 2)" },
		{ "stack=x", "--set 'stack=x':1:1: 'stack' must be a map, not text" },
		{ "layers.split=stages",
		  "--set 'layers.split=stages': layers: 'split': 'stages' is not one "
		  "of component, stage, single; did you mean 'stage'?" },
		{ "tag=\xff", "--set 'tag=\xff': is not UTF-8" },
		{ "extends=x.yaml", "--set 'extends=x.yaml': 'extends' stands in a file" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_refused(plain, cases[i].set, cases[i].want);
}

static void test_a_map_that_is_set_keeps_its_place(void **state)
{
	static const struct file files[] = {
		{ "t.yaml",
		  "gpuimg: 1\nname: a/b\nimage:\n  user: { uid: 5 }\nstages: { run: {} }\n" },
		{ 0 },
	};

	(void)state;
	check_refused(files, "image.user.home=/x", "t.yaml:4:9: image.user: 'name' is missing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps_merge_and_lists_and_scalars_replace),
		cmocka_unit_test(test_a_key_with_nothing_takes_away),
		cmocka_unit_test(test_names_start_at_the_folder_of_the_file_they_stand_in),
		cmocka_unit_test(test_errors_keep_the_file_they_stand_in),
		cmocka_unit_test(test_extends_is_the_name_of_a_file),
		cmocka_unit_test(test_circles_are_refused_with_the_chain),
		cmocka_unit_test(test_chains_end_at_eight),
		cmocka_unit_test(test_without_a_loader_nothing_is_extended),
		cmocka_unit_test(test_set_is_read_by_the_type_of_the_key),
		cmocka_unit_test(test_set_names_itself_when_it_is_refused),
		cmocka_unit_test(test_a_map_that_is_set_keeps_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
