#include "cli/lint_check.h"

#include <time.h>

#include "cli/fact_store.h"
#include "cli/image_arg.h"
#include "cli/lint_verdict.h"

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

static void show(const struct lint_check *check, const struct lint_verdict *verdict, bool failed)
{
	const struct out *out = check->in->out;

	if (check->out_json)
		*check->out_json = json_incref(verdict->report);
	if (failed || (verdict->has_findings && out->verbosity >= 0) || out->verbosity > 0)
		fputs(strbuf_text(out->err_colour ? &verdict->coloured : &verdict->plain),
		      out->err);
}

static int judge(const struct lint_check *check, const char *image_name, struct store *store,
		 const struct lint_options *options, struct error *err)
{
	cleanup_lint_result struct lint_result result = { 0 };
	cleanup_lint_verdict struct lint_verdict kept = { 0 }, verdict = { 0 };
	cleanup_image struct image image = { 0 };
	cleanup_free char *reference = xasprintf("%s:%s", check->stack->name, check->stack->tag);
	struct digest key;

	if (image_arg_open(check->in, image_name, &image, err) < 0)
		return -1;
	key = lint_verdict_key(&image, reference, &options->policy);
	if (store && lint_verdict_recall(store, &key, &kept)) {
		show(check, &kept, false);
		return 0;
	}
	if (lint_run(&image, options, &result, err) < 0)
		return -1;
	result.reference = reference;
	lint_verdict_make(&result, &verdict);
	if (result.unreadable) {
		if (check->out_json)
			*check->out_json = json_incref(verdict.report);
		return error_set(err, ERROR_INTEGRITY, "%s", result.unreadable);
	}
	show(check, &verdict, result.failed);
	if (!result.failed && store)
		lint_verdict_keep(store, &key, &verdict);
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
		rc = judge(check, image, facts.store, &options, err);
	policy_release(&options.policy);
	return rc;
}
