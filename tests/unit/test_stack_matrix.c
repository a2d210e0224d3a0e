#include "tests/support/test.h"

#include "manifests/stack.h"
#include "manifests/stack_matrix.h"

#define HEAD "gpuimg: 1\nname: acme/app\nstages: { run: {} }\n"

static int parse(const char *text, const struct stack_options *options, struct stacks *out,
		 struct error *err)
{
	return stacks_parse(slice_str(text), "stack.yaml", options, out, err);
}

static void check_refused(const char *more, const char *want)
{
	cleanup_free char *text = xasprintf(HEAD "%s\n", more);
	cleanup_stacks struct stacks stacks = { 0 };
	struct error err = { 0 };

	if (parse(text, NULL, &stacks, &err) == 0)
		fail_msg("taken, not refused with \"%s\"", want);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_string_equal(err.text, want);
}

static const char two_by_two[] = "gpuimg: 1\n"
				 "name: acme/app\n"
				 "tag: \"{cuda}-py{python}\"\n"
				 "stack: { nccl: \"2\" }\n"
				 "matrix:\n"
				 "  cuda: [\"12.6\", \"13.0\"]\n"
				 "  python: [\"3.11\", \"3.12\"]\n"
				 "  exclude: [ { cuda: \"12.6\", python: \"3.12\" } ]\n"
				 "stages: { run: {} }\n";

static void test_each_combination_is_an_image(void **state)
{
	static const char *const want[][4] = {
		{ "cuda12.6-python3.11", "12.6-py3.11", "12.6", "3.11" },
		{ "cuda13.0-python3.11", "13.0-py3.11", "13.0", "3.11" },
		{ "cuda13.0-python3.12", "13.0-py3.12", "13.0", "3.12" },
	};
	cleanup_stacks struct stacks stacks = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(parse(two_by_two, NULL, &stacks, &err), err);
	assert_int_equal(stacks.count, ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		const struct stack *s = &stacks.items[i];

		assert_string_equal(s->variant, want[i][0]);
		assert_string_equal(s->tag, want[i][1]);
		assert_string_equal(s->stack.cuda, want[i][2]);
		assert_string_equal(s->stack.python, want[i][3]);
		assert_string_equal(s->stack.nccl, "2");
		assert_int_equal(s->matrix.cuda.count, 0);
	}
	assert_false(digest_equal(&stacks.items[0].digest, &stacks.items[1].digest));
}

static void test_frameworks_go_into_their_place_and_lose_the_star(void **state)
{
	cleanup_stacks struct stacks stacks = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(parse(HEAD "tag: t{torch}\nstack: { framework: { jax: \"0.7\" } }\n"
			     "matrix: { torch: [\"2.7.*\"] }\n",
			NULL, &stacks, &err),
		  err);
	assert_int_equal(stacks.count, 1);
	assert_string_equal(stacks.items[0].variant, "torch2.7");
	assert_string_equal(stacks.items[0].tag, "t2.7");
	assert_int_equal(stacks.items[0].stack.framework.count, 2);
	assert_string_equal(stacks.items[0].stack.framework.items[1].value, "2.7.*");
}

static void test_one_variant_is_chosen_by_its_name(void **state)
{
	static const char *const names[] = { "cuda13.0-python3.12" };
	struct stack_options options = { .variants = names, .variant_count = 1 };
	cleanup_stacks struct stacks stacks = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(parse(two_by_two, &options, &stacks, &err), err);
	assert_int_equal(stacks.count, 1);
	assert_string_equal(stacks.items[0].tag, "13.0-py3.12");
}

static void test_a_variant_that_is_not_there_is_named_with_the_nearest(void **state)
{
	static const char *const names[] = { "cuda13.0-python3.13" }, *const far[] = { "x" };
	struct stack_options options = { .variants = names, .variant_count = 1 };
	cleanup_stacks struct stacks stacks = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(parse(two_by_two, &options, &stacks, &err), -1);
	assert_string_equal(err.text,
			    "stack.yaml: there is no variant 'cuda13.0-python3.13'; did you mean "
			    "'cuda13.0-python3.11'?");
	options.variants = far;
	assert_int_equal(parse(two_by_two, &options, &stacks, &err), -1);
	assert_string_equal(err.text,
			    "stack.yaml: there is no variant 'x'; there are: cuda12.6-python3.11, "
			    "cuda13.0-python3.11, cuda13.0-python3.12");
	assert_int_equal(parse(HEAD, &options, &stacks, &err), -1);
	assert_string_equal(err.text, "stack.yaml: there is no variant 'x': it has no matrix");
}

static void test_axes_can_be_set(void **state)
{
	static const char *const sets[] = { "matrix.cuda=13.1" };
	struct stack_options options = { .sets = sets, .set_count = 1 };
	cleanup_stacks struct stacks stacks = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(parse(two_by_two, &options, &stacks, &err),
			 -1); /* the exclusion is vain now */
	assert_contains(err.text,
			"stack.yaml:8:14: matrix.exclude[0]: no combination has these values");
}

static void test_bad_matrices_are_refused_with_their_place(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "matrix: { cuda: [\"1\", \"2\"] }",
		  "stack.yaml:4:9: matrix: cuda1 and cuda2 would both be acme/app:latest; tell "
		  "them apart in "
		  "'tag', such as \"{cuda}-py{python}\"" },
		{ "tag: \"{pyton}\"\nmatrix: { python: [\"3.11\"] }",
		  "stack.yaml:4:6: tag: '{pyton}' is not an axis of the matrix; did you mean "
		  "'{python}'?" },
		{ "tag: \"{cuda\"\nmatrix: { cuda: [\"1\"] }",
		  "stack.yaml:4:6: tag: '{cuda' without '}' is not an axis of the matrix; did you "
		  "mean "
		  "'{cuda}'?" },
		{ "tag: \"{cuda}\"", "stack.yaml:4:6: 'tag': '{cuda}' is not a tag: letters, "
				     "digits, '_', and after the first "
				     "also '.' and '-'" },
		{ "matrix: {}",
		  "stack.yaml:4:9: matrix: it names no values; give one axis at least, such as "
		  "cuda: [\"12.6\", \"13.0\"]" },
		{ "matrix: { cuda: [] }",
		  "stack.yaml:4:9: matrix: it names no values; give one axis at "
		  "least, such as cuda: [\"12.6\", \"13.0\"]" },
		{ "matrix: { cuda: [\"1\", \"1\"] }",
		  "stack.yaml:4:23: matrix: 'cuda' names '1' twice (first in line 4)" },
		{ "matrix: { cuda: [\">=1\"] }", "stack.yaml:4:18: matrix: item 1 of 'cuda': '>=1' "
						 "is not a value of a matrix: a version, "
						 "such as \"12.6\" or \"2.7.*\"" },
		{ "matrix: { cud: [\"1\"] }",
		  "stack.yaml:4:11: unknown key 'cud' in matrix; did you mean 'cuda'?" },
		{ "tag: t{torch}\nmatrix: { torch: [\"2.7\", \"2.7.*\"] }",
		  "stack.yaml:5:9: matrix: two variants would be called 'torch2.7'" },
		{ "stack: { cuda: 1 }\nmatrix: { cuda: [\"1\"] }",
		  "stack.yaml:4:16: stack.cuda: the matrix has values for it as well (line 5); "
		  "keep one" },
		{ "stack: x\nmatrix: { cuda: [\"1\"] }",
		  "stack.yaml:4:8: 'stack' must be a map, not text" },
		{ "tag: \"{cuda}\"\nmatrix: { cuda: [\"1\"], exclude: [ { cuda: \"1\" } ] }",
		  "stack.yaml:5:9: matrix: every combination is excluded" },
		{ "matrix: { cuda: [\"1\"], exclude: [ {} ] }",
		  "stack.yaml:4:35: matrix.exclude[0]: names no values to leave out" },
		{ "matrix: { cuda: [\"1\"], exclude: [ { nccl: \"1\" } ] }",
		  "stack.yaml:4:35: matrix.exclude[0]: no combination has these values" },
		{ "matrix: { cuda: [a,b,c,d,e,f,g,h,i], python: [a,b,c,d,e,f,g,h] }",
		  "stack.yaml:4:9: matrix: more than 64 combinations; a manifest may make that "
		  "many" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_refused(cases[i].text, cases[i].want);
}

static void test_one_stack_is_not_made_of_several(void **state)
{
	cleanup_stack struct stack stack = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(stack_parse(slice_str(two_by_two), "stack.yaml", &stack, &err), -1);
	assert_string_equal(err.text,
			    "stack.yaml:6:3: matrix: makes 3 images, and one is wanted here");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_combination_is_an_image),
		cmocka_unit_test(test_frameworks_go_into_their_place_and_lose_the_star),
		cmocka_unit_test(test_one_variant_is_chosen_by_its_name),
		cmocka_unit_test(test_a_variant_that_is_not_there_is_named_with_the_nearest),
		cmocka_unit_test(test_axes_can_be_set),
		cmocka_unit_test(test_bad_matrices_are_refused_with_their_place),
		cmocka_unit_test(test_one_stack_is_not_made_of_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
