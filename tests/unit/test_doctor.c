#include "tests/support/test.h"

#include "registry/doctor.h"

static void test_kinds_are_told_by_what_they_do(void **state)
{
	const struct persona *unknown = persona_for("h.example", NULL);
	static const struct {
		struct host_facts facts;
		bool counts, least;
		const char *want;
	} cases[] = {
		{ .facts = { .resume = ANSWER_NO }, .want = "distribution" },
		{ .facts = { .resume = ANSWER_YES }, .want = "distribution-3" },
		{ .facts = { .resume = ANSWER_YES }, .counts = true, .want = "quay" },
		{ .facts = { .resume = ANSWER_YES }, .least = true, .want = "ecr" },
		{ .facts = { .no_chunk = true }, .want = "google" },
		{ .facts = { .no_single = true }, .want = "artifactory" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(doctor_persona(unknown, &cases[i].facts, cases[i].counts,
						   cases[i].least)
					    ->name,
				    cases[i].want);
}

static void test_a_registry_that_is_known_by_name_keeps_its_kind(void **state)
{
	struct host_facts facts = { .resume = ANSWER_YES };

	(void)state;
	assert_string_equal(doctor_persona(persona_for("ghcr.io", NULL), &facts, true, true)->name,
			    "github");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_are_told_by_what_they_do),
		cmocka_unit_test(test_a_registry_that_is_known_by_name_keeps_its_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
