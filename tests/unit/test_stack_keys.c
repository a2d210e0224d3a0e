#include "tests/support/test.h"

#include "manifests/stack_keys.h"

/* Calls `check` for every section of the manifest. */
static void each_section(const struct stack_section *section,
			 void (*check)(const struct stack_section *section))
{
	check(section);
	for (size_t i = 0; i < section->key_count; i++) {
		if (section->keys[i].section)
			each_section(section->keys[i].section, check);
	}
}

static void check_complete(const struct stack_section *section)
{
	for (size_t i = 0; i < section->key_count; i++) {
		const struct stack_key *key = &section->keys[i];
		bool choice =
			key->type == KEY_CHOICE || key->type == KEY_ENUM || key->type == KEY_FLAG;
		bool group = key->type == KEY_SECTION || key->type == KEY_LIST ||
			     key->type == KEY_MAP || key->type == KEY_PACKAGES;
		bool array = group && key->type != KEY_SECTION;

		assert_true(str_ends(key->help, "."));
		assert_int_equal(choice, key->choices != NULL);
		assert_int_equal(group, key->section != NULL);
		assert_ptr_equal(stack_key_find(section, key->name), key); /* no name twice */
		if (array) {
			assert_true(key->section->size > 0);
			assert_true(key->count_offset > key->offset);
		}
		if (key->type == KEY_MAP)
			assert_true(key->section->place_offset != STACK_NO_OFFSET);
		if (key->type == KEY_UINT)
			assert_true(key->max > 0);
		if (key->required)
			assert_null(key->fallback);
	}
}

static void test_every_key_is_complete(void **state)
{
	(void)state;
	each_section(&stack_top, check_complete);
}

static void check_apart(const struct stack_section *section)
{
	for (size_t i = 0; i < section->key_count; i++) {
		const struct stack_key *a = &section->keys[i];

		for (size_t j = 0; j < i; j++) {
			const struct stack_key *b = &section->keys[j];

			/* Sections that write into the struct around them share its start. */
			if (a->offset != STACK_NO_OFFSET && a->type != KEY_SECTION &&
			    b->type != KEY_SECTION)
				assert_int_not_equal(a->offset, b->offset);
		}
	}
}

static void test_no_two_keys_write_to_one_place(void **state)
{
	(void)state;
	each_section(&stack_top, check_apart);
}

static void test_the_nearest_word_is_near(void **state)
{
	static const char *const words[] = { "packages", "profile", "run", "", "copy" };
	static const struct {
		const char *word, *nearest;
	} cases[] = {
		{ "pakages", "packages" },
		{ "pacakges", "packages" },
		{ "package", "packages" },
		{ "profiel", "profile" },
		{ "rnu", "run" },
		{ "copies", NULL },
		{ "rum", "run" },
		{ "xyz", NULL },
		{ "", NULL },
		{ "packagespackages", NULL },
		{ "a-word-that-is-longer-than-any-key-could-ever-be", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *near = stack_nearest(cases[i].word, words, ARRAY_LEN(words));

		if (cases[i].nearest)
			assert_string_equal(near, cases[i].nearest);
		else
			assert_null(near);
	}
}

static void test_a_key_is_found_elsewhere(void **state)
{
	(void)state;
	assert_string_equal(stack_key_elsewhere("entrypoint"), "image");
	assert_string_equal(stack_key_elsewhere("sources"), "the top level");
	assert_string_equal(stack_key_elsewhere("requirements"), "stages.NAME.packages.SOURCE[]");
	assert_null(stack_key_elsewhere("nowhere"));
}

static void test_the_committed_page_is_what_the_table_says(void **state)
{
	cleanup_strbuf struct strbuf want = { 0 }, have = { 0 };
	struct error err = { 0 };

	(void)state;
	stack_keys_markdown(&want);
	assert_ok(fs_read(AT_FDCWD, "docs/manifest.md", MIB, &have, &err), err);
	if (!str_equal(strbuf_text(&want), strbuf_text(&have)))
		fail_msg("docs/manifest.md is not what manifests/stack_keys.c says; make it anew");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key_is_complete),
		cmocka_unit_test(test_no_two_keys_write_to_one_place),
		cmocka_unit_test(test_the_nearest_word_is_near),
		cmocka_unit_test(test_a_key_is_found_elsewhere),
		cmocka_unit_test(test_the_committed_page_is_what_the_table_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
