#include "tests/support/test.h"

#include "manifests/stack.h"

#define HEAD "gpuimg: 1\nname: acme/app\n"
#define LEAST HEAD "stages: { run: {} }\n"

static void parse(const char *text, const char *file, struct stack *out)
{
	struct error err = { 0 };

	assert_ok(stack_parse(slice_str(text), file, out, &err), err);
}

static void check_same_twice(const char *text, const char *file)
{
	cleanup_stack struct stack first = { 0 }, second = { 0 };
	cleanup_strbuf struct strbuf one = { 0 }, two = { 0 };

	parse(text, file, &first);
	stack_print(&first, &one);
	parse(strbuf_text(&one), "again.yaml", &second);
	stack_print(&second, &two);
	assert_string_equal(strbuf_text(&one), strbuf_text(&two));
	assert_true(digest_equal(&first.digest, &second.digest));
}

static void test_the_least_is_printed_with_its_defaults(void **state)
{
	cleanup_stack struct stack stack = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	parse(LEAST, "stack.yaml", &stack);
	stack_print(&stack, &out);
	assert_string_equal(strbuf_text(&out), "gpuimg: 1\n"
					       "name: \"acme/app\"\n"
					       "tag: \"latest\"\n"
					       "platforms: [\"linux/amd64\"]\n"
					       "stack:\n"
					       "  libraries: auto\n"
					       "  compat: auto\n"
					       "stages:\n"
					       "  \"run\":\n"
					       "    profile: runtime\n"
					       "layers:\n"
					       "  compression: gzip\n"
					       "  level: default\n"
					       "  split: component\n"
					       "  max-size: 1GiB\n"
					       "lint:\n"
					       "  fail-on: error\n");
}

static const char rich[] = HEAD
	"stack: { cuda: 13.0, gpus: [a100], framework: { torch: \"2.7.*\" } }\n"
	"sources:\n"
	"  - { id: os, type: apt, from: host }\n"
	"  - { id: pip, type: wheels, path: wheels/ }\n"
	"base: { image: \"oci:x\" }\n"
	"stages:\n"
	"  build: { run: [\"a # b\", \"c: d\", \"two\\nlines\\ttab\"], packages: { os: [] } }\n"
	"  run:\n"
	"    packages: { pip: [x, { requirements: r.txt }], os: [y] }\n"
	"    copy: [ { from: build, path: /a, to: /b } ]\n"
	"image:\n"
	"  user: { name: app, uid: 7 }\n"
	"  cmd: [\"\", \"'\", \"\\\"\", \"\\\\\", \"\\u0085\\u2028\\ufeff é 漢 😀\"]\n"
	"  env: { A: \"\", B: \"x\" }\n"
	"layers: { max-size: 1500KiB }\n"
	"lint: { ignore: [ { rule: SIZ003, reason: big, path: \"/**\" } ] }\n"
	"test: { run: [ { cmd: [a], expect: \"\" } ] }\n"
	"publish: [ \"registry.example/{name}:{tag}\" ]\n";

static void test_what_is_printed_reads_as_the_same(void **state)
{
	cleanup_strbuf struct strbuf long_key = { 0 };

	(void)state;
	check_same_twice(LEAST, "stack.yaml");
	check_same_twice(rich, "stack.yaml");
	strbuf_adds(&long_key,
		    "{\"gpuimg\":1,\"name\":\"a\",\"stages\":{\"r\":{}},\"image\":{\"labels\":{\"");
	for (int i = 0; i < 3000; i++)
		strbuf_addc(&long_key, 'k');
	strbuf_adds(&long_key, "\":\"v\",\": # [\":\"- ? !\"}}}");
	check_same_twice(strbuf_text(&long_key), "stack.json");
}

static void check_digests(const char *a, const char *b, bool same)
{
	cleanup_stack struct stack x = { 0 }, y = { 0 };

	parse(a, "x.yaml", &x);
	parse(b, "y.yaml", &y);
	assert_int_equal(digest_equal(&x.digest, &y.digest), same);
}

static void test_comments_layout_and_defaults_are_not_in_the_digest(void **state)
{
	(void)state;
	check_digests(LEAST, "# c\nname: 'acme/app'\nstages:\n  run: # c\ngpuimg: 1\n", true);
	check_digests(LEAST, LEAST "tag: latest\nlayers: { max-size: 1024MiB }\nimage: {}\n", true);
	check_digests(HEAD "stages: { run: {} }\nimage: { user: { name: a, uid: 1 } }\n",
		      HEAD
		      "stages: { run: {} }\nimage: { user: { uid: 1, name: a, home: /home/a } }\n",
		      true);
}

static void test_what_is_said_is_in_the_digest(void **state)
{
	(void)state;
	check_digests(LEAST, LEAST "tag: a\n", false);
	check_digests(LEAST, LEAST "platforms: [linux/arm64]\n", false);
	check_digests(HEAD "stages: { a: {}, b: {} }\n", HEAD "stages: { b: {}, a: {} }\n", false);
	check_digests(LEAST "image: { env: { A: x, B: y } }\n",
		      LEAST "image: { env: { B: y, A: x } }\n", false);
	check_digests(LEAST "image: { cmd: [a, b] }\n", LEAST "image: { cmd: [\"a, b\"] }\n",
		      false);
}

static void test_keys_are_known_by_their_paths(void **state)
{
	static const char *const want[] = {
		"base.image",
		"image.cmd",
		"image.env",
		"image.user.gid",
		"image.user.home",
		"image.user.name",
		"image.user.uid",
		"layers.compression",
		"layers.level",
		"layers.max-size",
		"layers.split",
		"lint.fail-on",
		"lint.ignore[0]",
		"name",
		"platforms",
		"publish",
		"sources[0]",
		"sources[1]",
		"stack.compat",
		"stack.cuda",
		"stack.framework",
		"stack.gpus",
		"stack.libraries",
		"stages",
		"stages.build.packages.os",
		"stages.build.profile",
		"stages.build.run",
		"stages.run.copy[0]",
		"stages.run.packages.os",
		"stages.run.packages.pip",
		"stages.run.profile",
		"tag",
		"test.run[0]",
	};
	cleanup_stack struct stack stack = { 0 };

	(void)state;
	parse(rich, "stack.yaml", &stack);
	assert_int_equal(stack.key_count, ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(stack.keys[i].path, want[i]);
}

static void put(const char *dir, const char *name, const char *text)
{
	cleanup_free char *path = fs_join(dir, name);
	struct error err = { 0 };

	assert_ok(fs_write(AT_FDCWD, path, slice_str(text), 0644, &err), err);
}

static struct digest digest_in(const char *dir)
{
	cleanup_free char *path = fs_join(dir, "stack.yaml");
	cleanup_stack struct stack stack = { 0 };
	struct error err = { 0 };

	assert_ok(stack_read(path, &stack, &err), err);
	assert_string_equal(stack.keys[0].path, "./r.txt");
	return stack.digest;
}

static void test_requirements_files_count(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct digest none, one, two;

	(void)state;
	put(dir, "stack.yaml", rich);
	none = digest_in(dir);
	put(dir, "r.txt", "x==1\n");
	one = digest_in(dir);
	put(dir, "r.txt", "x==2\n");
	two = digest_in(dir);
	assert_false(digest_equal(&none, &one));
	assert_false(digest_equal(&one, &two));
}

static void test_the_folder_it_lies_in_does_not_count(void **state)
{
	cleanup_test_dir char *a = test_dir(), *b = test_dir();
	struct digest one, two;

	(void)state;
	put(a, "stack.yaml", rich);
	put(b, "stack.yaml", rich);
	one = digest_in(a);
	two = digest_in(b);
	assert_true(digest_equal(&one, &two));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_least_is_printed_with_its_defaults),
		cmocka_unit_test(test_what_is_printed_reads_as_the_same),
		cmocka_unit_test(test_comments_layout_and_defaults_are_not_in_the_digest),
		cmocka_unit_test(test_what_is_said_is_in_the_digest),
		cmocka_unit_test(test_keys_are_known_by_their_paths),
		cmocka_unit_test(test_requirements_files_count),
		cmocka_unit_test(test_the_folder_it_lies_in_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
