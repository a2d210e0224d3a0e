#include "tests/support/test.h"

#include "lint/recipe.h"

static const char dockerfile[] = "# syntax=docker/dockerfile:1\n"
				 "FROM debian AS build\n"
				 "RUN make\n"
				 "\n"
				 "FROM debian\n"
				 "ENV A=1\n"
				 "RUN --mount=type=cache,target=/c \\\n"
				 "    # why\n"
				 "    apt-get update && \\\n"
				 "    apt-get install -y x\n"
				 "COPY --from=build /src/app /opt/app/\n"
				 "COPY conf /etc/conf\n"
				 "RUN make\n";

/* The line for what the history says of the first layer. */
static size_t line_of(const char *created_by)
{
	cleanup_recipe struct recipe recipe = { 0 };
	struct config_history history[] = { { .created_by = "ENV A=1", .empty_layer = true },
					    { .created_by = created_by } };
	struct image_config config = { .history = history, .history_count = 2 };

	recipe_parse(slice_str(dockerfile), "Dockerfile", &recipe);
	return recipe_line(&recipe, &config, 0);
}

static void test_a_step_over_several_lines_is_where_it_begins(void **state)
{
	(void)state;
	assert_int_equal(line_of("RUN /bin/sh -c apt-get update &&     apt-get install -y x # "
				 "buildkit"),
			 7);
	assert_int_equal(line_of("/bin/sh -c apt-get update && apt-get install -y x"), 7);
}

static void test_of_equal_steps_the_last_stage_is_meant(void **state)
{
	(void)state;
	assert_int_equal(line_of("RUN /bin/sh -c make # buildkit"), 13);
	assert_int_equal(line_of("|1 A=b /bin/sh -c make"), 13);
}

static void test_copies_are_found_by_their_text_or_where_they_go(void **state)
{
	(void)state;
	assert_int_equal(line_of("COPY conf /etc/conf # buildkit"), 12);
	assert_int_equal(line_of("/bin/sh -c #(nop) COPY file:ab12 in /etc/conf "), 12);
}

static void test_what_the_file_does_not_say_has_no_line(void **state)
{
	(void)state;
	assert_int_equal(line_of("/bin/sh -c #(nop) ADD file:ab12 in / "), 0);
	assert_int_equal(line_of("ake"), 0);
	assert_int_equal(line_of(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_step_over_several_lines_is_where_it_begins),
		cmocka_unit_test(test_of_equal_steps_the_last_stage_is_meant),
		cmocka_unit_test(test_copies_are_found_by_their_text_or_where_they_go),
		cmocka_unit_test(test_what_the_file_does_not_say_has_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
