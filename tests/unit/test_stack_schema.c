#include "tests/support/test.h"

#include "formats/json.h"
#include "manifests/stack_schema.h"

/* Each check of a text has a pattern that editors can use. */
static void check_patterns(const struct stack_section *section)
{
	for (size_t i = 0; i < section->key_count; i++) {
		const struct stack_key *key = &section->keys[i];

		if (!stack_schema_pattern(key->check) || !stack_schema_pattern(key->check_key))
			fail_msg("'%s' in '%s' has a check without a pattern in "
				 "manifests/stack_schema.c",
				 key->name, section->title);
		if (key->section)
			check_patterns(key->section);
	}
}

static void test_every_check_has_a_pattern(void **state)
{
	(void)state;
	check_patterns(&stack_top);
}

static json_t *schema(void)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };
	json_t *top = NULL;

	stack_schema(&text);
	assert_ok(json_parse(strbuf_slice(&text), &top, &err), err);
	return top;
}

/* Every section is defined, with each of its keys and no others. */
static void check_defined(const json_t *definitions, const struct stack_section *section)
{
	for (size_t i = 0; i < section->key_count; i++) {
		const struct stack_key *key = &section->keys[i];
		cleanup_strbuf struct strbuf name = { 0 };
		const json_t *properties;

		if (!key->section)
			continue;
		for (const char *c = key->section->title; *c; c++) {
			if (*c != '[' && *c != ']')
				strbuf_addc(&name, *c);
		}
		properties = json_object_get(json_object_get(definitions, strbuf_text(&name)),
					     "properties");
		assert_int_equal(json_object_size(properties), key->section->key_count);
		for (size_t k = 0; k < key->section->key_count; k++)
			assert_non_null(json_object_get(properties, key->section->keys[k].name));
		check_defined(definitions, key->section);
	}
}

static void test_every_section_is_defined(void **state)
{
	cleanup_json json_t *top = schema();

	(void)state;
	assert_int_equal(json_object_size(json_object_get(top, "properties")), stack_top.key_count);
	check_defined(json_object_get(top, "$defs"), &stack_top);
}

static void test_what_a_manifest_must_have_is_asked_when_it_extends_nothing(void **state)
{
	cleanup_json json_t *top = schema();
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	json_canonical(json_object_get(top, "else"), &text);
	assert_string_equal(
		strbuf_text(&text),
		"{\"properties\":{\"base\":{\"required\":[\"image\"]},"
		"\"image\":{\"properties\":{\"user\":{\"required\":[\"name\",\"uid\"]}}}},"
		"\"required\":[\"gpuimg\",\"name\",\"stages\"]}");
	assert_null(json_object_get(top, "required"));
}

static void test_the_committed_schema_is_what_the_table_says(void **state)
{
	cleanup_strbuf struct strbuf want = { 0 }, have = { 0 };
	struct error err = { 0 };

	(void)state;
	stack_schema(&want);
	assert_ok(fs_read(AT_FDCWD, "docs/stack.schema.json", MIB, &have, &err), err);
	if (!str_equal(strbuf_text(&want), strbuf_text(&have)))
		fail_msg("docs/stack.schema.json is not what manifests/stack_keys.c says; make "
			 "docs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_check_has_a_pattern),
		cmocka_unit_test(test_every_section_is_defined),
		cmocka_unit_test(test_what_a_manifest_must_have_is_asked_when_it_extends_nothing),
		cmocka_unit_test(test_the_committed_schema_is_what_the_table_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
