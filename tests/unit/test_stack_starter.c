#include "tests/support/test.h"

#include "manifests/stack_starter.h"

struct fixture {
	struct tables tables;
	struct stack_request asked;
	struct stack_pair framework;
	const char *gpus[2];
	struct stack_starter starter;
	struct solution solution;
	struct strbuf text;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct error err = { 0 };

	assert_ok(tables_load(NULL, &f->tables, &err), err);
	f->starter = (struct stack_starter){ .name = "acme/app",
					     .platform = "linux/amd64",
					     .stack = &f->asked,
					     .solution = &f->solution };
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	solution_release(&f->solution);
	tables_release(&f->tables);
	strbuf_release(&f->text);
	free(f);
	return 0;
}

static void ask_for_torch(struct fixture *f, const char *range)
{
	f->framework = (struct stack_pair){ .key = "torch", .value = range };
	f->asked.framework = (struct stack_pairs){ .items = &f->framework, .count = 1 };
}

static void ask_for_gpu(struct fixture *f, const char *gpu)
{
	f->gpus[0] = gpu;
	f->asked.gpus = (struct stack_texts){ .items = f->gpus, .count = 1 };
}

static void solve(const struct tables *tables, const struct stack_request *stack,
		  struct solution *out)
{
	struct solver_request request = { .stack = stack, .amd64 = true };
	struct error err = { 0 };

	assert_ok(solver_find(tables, &request, out, &err), err);
	assert_true(out->solved);
}

static const char *written(struct fixture *f)
{
	solve(&f->tables, &f->asked, &f->solution);
	stack_starter_write(&f->starter, &f->text);
	return strbuf_text(&f->text);
}

static void read_back(const char *text, struct stack *out)
{
	struct error err = { 0 };

	assert_ok(stack_parse(slice_str(text), "stack.yaml", out, &err), err);
}

/* Writes, reads and solves what was read. */
static void check_round_trip(struct fixture *f, struct stack *out)
{
	struct solution again = { 0 };

	read_back(written(f), out);
	solve(&f->tables, &out->stack, &again);
	solution_release(&again);
}

static void test_what_is_written_reads_as_the_stack_that_was_asked_for(void **state)
{
	struct fixture *f = *state;
	cleanup_stack struct stack stack = { 0 };

	f->asked.driver = "535.104";
	ask_for_gpu(f, "rtx 4090");
	ask_for_torch(f, "2.7.*");
	check_round_trip(f, &stack);
	assert_string_equal(stack.name, "acme/app");
	assert_string_equal(stack.stack.driver, ">=535.104");
	assert_int_equal(stack.stack.gpus.count, 1);
	assert_string_equal(stack.stack.gpus.items[0], "rtx 4090");
	assert_string_equal(stack.stack.framework.items[0].key, "torch");
	assert_string_equal(stack.stack.framework.items[0].value, "2.7.*");
	assert_null(stack.stack.cuda);
}

static void test_a_framework_without_a_version_gets_the_minor_that_was_chosen(void **state)
{
	struct fixture *f = *state;
	cleanup_stack struct stack stack = { 0 };

	ask_for_torch(f, "");
	check_round_trip(f, &stack);
	assert_true(str_ends(stack.stack.framework.items[0].value, ".*"));
}

static void test_the_driver_nobody_named_is_that_of_the_toolkit(void **state)
{
	struct fixture *f = *state;
	cleanup_stack struct stack stack = { 0 };

	f->asked.cuda = "12.6";
	check_round_trip(f, &stack);
	assert_string_equal(stack.stack.driver, ">=560.35.05");
	assert_string_equal(stack.stack.cuda, "12.6");
}

static void test_the_newest_cuda_is_written_as_a_minor(void **state)
{
	struct fixture *f = *state;
	cleanup_stack struct stack stack = { 0 };

	f->asked.cuda = ">=1";
	check_round_trip(f, &stack);
	assert_string_equal(stack.stack.cuda, f->solution.choice.toolkit->minor);
}

static void test_requirements_with_hashes_keep_the_framework_line_out(void **state)
{
	struct fixture *f = *state;
	cleanup_stack struct stack stack = { 0 };

	ask_for_torch(f, "==2.7.1");
	f->starter.requirements = "sub dir/requirements.txt";
	f->starter.hashed = true;
	check_round_trip(f, &stack);
	assert_int_equal(stack.stack.framework.count, 0);
	assert_string_equal(stack.stages[0].packages[1].items[0].requirements,
			    "sub dir/requirements.txt");
}

static void test_arguments_of_an_image_cannot_leave_their_comment(void **state)
{
	struct fixture *f = *state;
	cleanup_stack struct stack stack = { 0 };
	const char *hostile[] = { "a\nname: evil" },
		   *line_separator[] = { "a\xe2\x80\xa8name: evil" };

	f->asked.cuda = "12.6";
	f->starter.entrypoint = (struct stack_texts){ .items = hostile, .count = 1 };
	f->starter.cmd = (struct stack_texts){ .items = line_separator, .count = 1 };
	check_round_trip(f, &stack);
	assert_string_equal(stack.name, "acme/app");
	assert_null(strstr(strbuf_text(&f->text), "evil"));
}

/* "  # key: value" → "  key: value"; other lines stay. */
static void put_to_use(const char *text, struct strbuf *out)
{
	struct slice rest = slice_str(text), line;

	while (slice_cut(&rest, '\n', &line)) {
		const char *start = (const char *)line.data;
		size_t indent = strspn(start, " ");
		size_t key = start[indent] == '#'
				     ? strspn(start + indent + 2, "abcdefghijklmnopqrstuvwxyz-")
				     : 0;
		size_t skip = key && start[indent + 2 + key] == ':' ? 2 : 0;

		strbuf_add(out, start, indent);
		strbuf_add(out, start + indent + skip, line.len - indent - skip);
		strbuf_addc(out, '\n');
	}
}

static void check_each_line_is_ready(struct fixture *f)
{
	cleanup_stack struct stack stack = { 0 };
	cleanup_strbuf struct strbuf used = { 0 };

	put_to_use(written(f), &used);
	read_back(strbuf_text(&used), &stack);
	assert_int_equal(stack.publish.count, 1);
	assert_string_equal(stack.test_require, "load");
}

static void test_lines_that_are_commented_out_are_ready_for_use(void **state)
{
	struct fixture *f = *state;

	ask_for_torch(f, "2.7.*");
	check_each_line_is_ready(f);
}

static void test_so_are_those_of_a_stack_without_a_framework(void **state)
{
	struct fixture *f = *state;

	f->asked.cuda = "12.6";
	check_each_line_is_ready(f);
}

static void test_every_line_has_a_comment(void **state)
{
	struct fixture *f = *state;
	struct slice rest, line;

	f->asked.python = "3.12";
	ask_for_torch(f, "2.7.*");
	rest = slice_str(written(f));
	while (slice_cut(&rest, '\n', &line)) {
		if (line.len && !memchr(line.data, '#', line.len))
			fail_msg("no comment: %.*s", (int)line.len, (const char *)line.data);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_written_reads_as_the_stack_that_was_asked_for),
		TEST(test_a_framework_without_a_version_gets_the_minor_that_was_chosen),
		TEST(test_the_driver_nobody_named_is_that_of_the_toolkit),
		TEST(test_the_newest_cuda_is_written_as_a_minor),
		TEST(test_requirements_with_hashes_keep_the_framework_line_out),
		TEST(test_arguments_of_an_image_cannot_leave_their_comment),
		TEST(test_lines_that_are_commented_out_are_ready_for_use),
		TEST(test_so_are_those_of_a_stack_without_a_framework),
		TEST(test_every_line_has_a_comment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
