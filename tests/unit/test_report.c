#include "tests/support/test.h"

#include "lint/report_parts.h"

/* Made up, and in two parts, so that no scanner of source code takes it for a real one. */
#define TOKEN \
	"hf_" \
	"u8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL"

/* A result without an image, with one finding whose texts are hostile. */
struct made {
	struct lint_result result;
	const struct lint_result *list[2];
};

static const char hostile[] = "\033]0;x\007 <script>alert('1')</script> & \"|`\xc2\x9b \xff "
			      "\xe2\x80\xae %0A::error::";

static void make(struct made *m)
{
	struct finding *f;

	*m = (struct made){ 0 };
	m->list[0] = &m->result;
	m->result.reference = "oci:a b";
	f = finding_add(&m->result.findings, lint_rule("DRV001"), "/usr/lib/a b\033[1m.so", 2, "",
			"%s", hostile);
	finding_evidence(&m->result.findings, f, "k", hostile);
	findings_finish(&m->result.findings);
	m->result.errors = 1;
	m->result.failed = true;
	vec_push(&m->result.ran, lint_rule("DRV001"));
	vec_push(&m->result.ran, lint_rule("DRV002"));
	vec_push(&m->result.not_run,
		 ((struct lint_not_run){ lint_rule("SIZ001"), "needs layers" }));
	vec_push(&m->result.layer_list, ((struct lint_layer){ .digest = "sha256:0",
							      .media_type = "x",
							      .made_by = hostile,
							      .bytes = 10,
							      .dead = 3 }));
}

static void write_all(struct made *m, const char *format, struct strbuf *out)
{
	report_format_find(format)->write(m->list, 1, out);
}

static void test_no_format_prints_a_control_character(void **state)
{
	struct made m;

	(void)state;
	make(&m);
	for (const struct report_format *f = report_formats; f->name; f++) {
		cleanup_strbuf struct strbuf text = { 0 };

		f->write(m.list, 1, &text);
		for (size_t i = 0; i < text.len; i++) {
			uint8_t c = (uint8_t)text.data[i];

			if ((c < ' ' && c != '\n') || c == 0x7f ||
			    (c == 0xc2 && (uint8_t)text.data[i + 1] < 0xa0))
				fail_msg("%s prints byte %02x", f->name, c);
		}
	}
	lint_result_release(&m.result);
}

static void test_every_format_names_the_rules_that_did_not_run(void **state)
{
	struct made m;

	(void)state;
	make(&m);
	for (const struct report_format *f = report_formats; f->name; f++) {
		cleanup_strbuf struct strbuf text = { 0 };

		f->write(m.list, 1, &text);
		if (!strstr(strbuf_text(&text), "SIZ001") ||
		    !strstr(strbuf_text(&text), "needs layers"))
			fail_msg("%s does not say that SIZ001 did not run", f->name);
	}
	lint_result_release(&m.result);
}

static void test_markup_is_escaped(void **state)
{
	static const char *const formats[] = { "html", "junit", "checkstyle", "markdown" };
	struct made m;

	(void)state;
	make(&m);
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		write_all(&m, formats[i], &text);
		assert_null(strstr(strbuf_text(&text), "<script>alert"));
	}
	lint_result_release(&m.result);
}

static void test_a_message_cannot_start_another_workflow_command(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct made m;

	(void)state;
	make(&m);
	write_all(&m, "github", &text);
	assert_contains(strbuf_text(&text), "::error title=DRV001 baked-driver-library::");
	assert_null(strstr(strbuf_text(&text), "%0A"));
	assert_contains(strbuf_text(&text), "%250A");
	lint_result_release(&m.result);
}

static void test_json_parses_again_with_what_was_there(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *json = NULL;
	struct error err = { 0 };
	struct made m;

	(void)state;
	make(&m);
	write_all(&m, "json", &text);
	assert_ok(json_parse(slice_of(text.data, text.len - 1), &json, &err), err);
	assert_contains(json_string_value(json_object_get(
				json_array_get(json_object_get(json, "findings"), 0), "message")),
			"\xc2\x9b");
	lint_result_release(&m.result);
}

static void test_each_line_of_jsonl_is_a_document(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct slice rest, line;
	struct error err = { 0 };
	struct made m;
	size_t lines = 0;

	(void)state;
	make(&m);
	write_all(&m, "jsonl", &text);
	rest = slice_of(text.data, text.len - 1);
	while (slice_cut(&rest, '\n', &line)) {
		cleanup_json json_t *json = NULL;

		assert_ok(json_parse(line, &json, &err), err);
		assert_string_equal(json_string_value(json_object_get(json, "schema")),
				    "gpuimg-lint/1");
		lines++;
	}
	assert_int_equal(lines, 4); /* image, finding, not_run, summary */
	lint_result_release(&m.result);
}

static void test_a_pass_is_visible_in_junit(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct made m;

	(void)state;
	make(&m);
	write_all(&m, "junit", &text);
	assert_contains(strbuf_text(&text),
			"tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\"");
	assert_contains(strbuf_text(&text),
			"name=\"DRV002 driver-symlink-blocks-mount\" time=\"0\"></testcase>");
	lint_result_release(&m.result);
}

static void test_sarif_groups_what_is_beyond_five_thousand(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *json = NULL;
	struct error err = { 0 };
	struct made m = { 0 };
	const json_t *results, *last;

	(void)state;
	m.list[0] = &m.result;
	for (int i = 0; i < 6000; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/%d", i);
		finding_add(&m.result.findings, lint_rule("DRV001"), path, -1, "", "x");
	}
	findings_finish(&m.result.findings);
	write_all(&m, "sarif", &text);
	assert_ok(json_parse(slice_of(text.data, text.len - 1), &json, &err), err);
	results = json_object_get(json_array_get(json_object_get(json, "runs"), 0), "results");
	assert_in_range(json_array_size(results), 4000, 5000);
	last = json_array_get(results, json_array_size(results) - 1);
	assert_int_equal((size_t)json_integer_value(json_object_get(last, "occurrenceCount")),
			 6000 - (json_array_size(results) - 1));
	lint_result_release(&m.result);
}

static void test_gitlab_fingerprints_are_unique_over_images(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *json = NULL;
	cleanup_map struct map seen = { 0 };
	struct error err = { 0 };
	struct made a, b;
	const struct lint_result *list[2];

	(void)state;
	make(&a);
	make(&b);
	b.result.reference = "oci:c";
	list[0] = &a.result;
	list[1] = &b.result;
	report_gitlab(list, 2, &text);
	assert_ok(json_parse(slice_of(text.data, text.len - 1), &json, &err), err);
	assert_int_equal(json_array_size(json), 4);
	for (size_t i = 0; i < json_array_size(json); i++)
		map_put(&seen,
			json_string_value(json_object_get(json_array_get(json, i), "fingerprint")),
			&seen);
	assert_int_equal(seen.len, 4);
	lint_result_release(&a.result);
	lint_result_release(&b.result);
}

static void test_secrets_are_masked_wherever_they_stand(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text = secrets_masked(
		"|2 A=1 DB_PASSWORD=q9Zr4tVw81Lm RUN curl -H " TOKEN " and " TOKEN, &arena);

	(void)state;
	assert_string_equal(text, "|2 A=1 DB_PASSWORD=(12 characters) RUN curl -H "
				  "(hf_u...OL, 37 characters) and (hf_u...OL, 37 characters)");
	assert_string_equal(secrets_masked("/bin/sh -c make", &arena), "/bin/sh -c make");
}

static void test_text_shows_findings_with_one_remedy_below_one_heading(void **state)
{
	struct made m = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	const struct rule *rule = lint_rule("DRV001");

	(void)state;
	m.list[0] = &m.result;
	m.result.reference = "oci:a";
	finding_add(&m.result.findings, rule, "/a", 0, "", "first");
	finding_add(&m.result.findings, rule, "/b", 0, "", "second");
	finding_add(&m.result.findings, rule, "/c", 0, "", "third")->fix = "another";
	findings_finish(&m.result.findings);
	write_all(&m, "text", &text);
	assert_contains(strbuf_text(&text), "error  DRV001 baked-driver-library  layer 0\n"
					    "    - first\n    - second\n    fix: ");
	assert_contains(strbuf_text(&text), "error  DRV001 baked-driver-library  layer 0\n"
					    "    third\n    fix: another\n");
	lint_result_release(&m.result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_format_prints_a_control_character),
		cmocka_unit_test(test_every_format_names_the_rules_that_did_not_run),
		cmocka_unit_test(test_markup_is_escaped),
		cmocka_unit_test(test_a_message_cannot_start_another_workflow_command),
		cmocka_unit_test(test_json_parses_again_with_what_was_there),
		cmocka_unit_test(test_each_line_of_jsonl_is_a_document),
		cmocka_unit_test(test_a_pass_is_visible_in_junit),
		cmocka_unit_test(test_sarif_groups_what_is_beyond_five_thousand),
		cmocka_unit_test(test_gitlab_fingerprints_are_unique_over_images),
		cmocka_unit_test(test_secrets_are_masked_wherever_they_stand),
		cmocka_unit_test(test_text_shows_findings_with_one_remedy_below_one_heading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
