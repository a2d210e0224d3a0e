#include "cli/test_summary.h"

#include "base/alloc.h"

#define INDENT "         "

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static long long count_of(const json_t *summary, const char *key)
{
	return (long long)json_integer_value(json_object_get(summary, key));
}

static const json_t *find_test(const json_t *report, const char *id)
{
	const json_t *tests = json_object_get(report, "tests");

	for (size_t i = 0; i < json_array_size(tests); i++) {
		const json_t *test = json_array_get(tests, i);

		if (str_equal(text_of(test, "id"), id))
			return test;
	}
	return NULL;
}

static void add_words(const struct stack_texts *cmd, struct strbuf *out)
{
	for (size_t i = 0; i < cmd->count; i++) {
		strbuf_addc(out, ' ');
		for (const char *p = cmd->items[i]; *p; p++)
			strbuf_addc(out, (uint8_t)*p < 0x20 || *p == 0x7f ? ' ' : *p);
	}
}

/* `n` as the test's id counts, from 1. */
static void add_command(const json_t *report, const struct stack_test_run *run, size_t n,
			struct strbuf *out)
{
	cleanup_free char *id = xasprintf("run.user.%zu", n);
	const json_t *test = find_test(report, id);
	const char *status = test ? text_of(test, "status") : "absent";
	const char *reason = test ? text_of(test, "reason") : "";
	const char *message = test ? text_of(test, "message") : "";

	strbuf_addf(out, INDENT "%-5s", status);
	add_words(&run->cmd, out);
	if (*reason)
		strbuf_addf(out, "  (%s%s%s)", reason, *message ? ": " : "", message);
	else if (*message)
		strbuf_addf(out, "  (%s)", message);
	strbuf_addc(out, '\n');
}

void test_summary_add(const json_t *report, const struct stack *stack, struct strbuf *out)
{
	const json_t *summary = json_object_get(report, "summary");
	const char *mode = text_of(report, "mode");
	size_t n = 0;

	if (!report)
		return;
	strbuf_addf(out,
		    INDENT "mode %s: %lld passed, %lld failed, %lld skipped, %lld not judged\n",
		    *mode ? mode : "none", count_of(summary, "pass"), count_of(summary, "fail"),
		    count_of(summary, "skip"), count_of(summary, "error"));
	for (size_t i = 0; i < stack->test_run_count; i++) {
		if (stack->test_runs[i].cmd.count)
			add_command(report, &stack->test_runs[i], ++n, out);
	}
}
