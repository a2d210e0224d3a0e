#include "cli/lint_check.h"

#include <time.h>

#include "cli/fact_store.h"
#include "cli/image_arg.h"
#include "lint/report.h"

static int set_policy(const struct lint_check *check, const char *today, struct policy *policy,
		      struct error *err)
{
	const struct stack *stack = check->stack;

	policy->today = today;
	policy->min_confidence = CONFIDENCE_HEURISTIC;
	for (size_t i = 0; i < stack->lint_ignore_count; i++) {
		const struct stack_ignore *s = &stack->lint_ignores[i];

		vec_push(&policy->ignores,
			 ((struct policy_ignore){ s->rule, s->path, s->reason, s->until, NULL }));
	}
	return policy_set_fail_on(policy, stack->lint_fail_on ? stack->lint_fail_on : "error", err);
}

static void take_json(const struct lint_result *const *list, json_t **out)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };

	report_json(list, 1, &text);
	ignore_result(json_parse(strbuf_slice(&text), out, &ignored)); /* it is our own */
}

static int judge(const struct lint_check *check, const char *image_name,
		 const struct lint_options *options, struct error *err)
{
	cleanup_lint_result struct lint_result result = { 0 };
	cleanup_image struct image image = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	const struct out *out = check->in->out;
	const struct lint_result *list[] = { &result };

	if (image_arg_open(check->in, image_name, &image, err) < 0 ||
	    lint_run(&image, options, &result, err) < 0)
		return -1;
	result.reference =
		arena_printf(&result.arena, "%s:%s", check->stack->name, check->stack->tag);
	if (check->out_json)
		take_json(list, check->out_json);
	if (result.unreadable)
		return error_set(err, ERROR_INTEGRITY, "%s", result.unreadable);
	if (result.failed || (result.errors + result.warnings && out->verbosity >= 0) ||
	    out->verbosity > 0) {
		(out->err_colour ? report_text_coloured : report_text)(list, 1, &text);
		fputs(strbuf_text(&text), out->err);
	}
	if (!result.failed)
		return 0;
	return error_set(
		err, ERROR_VERDICT,
		"lint has findings at or above the threshold (lint.fail-on: %s), so no image "
		"was written; mend them, accept them under lint.ignore, or use --no-lint",
		check->stack->lint_fail_on ? check->stack->lint_fail_on : "error");
}

int lint_check_run(void *user, const char *image, struct error *err)
{
	const struct lint_check *check = user;
	cleanup_fact_store struct fact_store facts = { 0 };
	struct lint_options options = { .cache = fact_store_open(check->in, &facts) };
	time_t now = time(NULL);
	char today[16] = "";
	struct tm utc;
	int rc;

	if (gmtime_r(&now, &utc))
		strftime(today, sizeof(today), "%Y-%m-%d", &utc);
	rc = set_policy(check, today, &options.policy, err);
	if (rc == 0)
		rc = judge(check, image, &options, err);
	policy_release(&options.policy);
	return rc;
}
