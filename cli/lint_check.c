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

/* The judging of all images of a build. */
struct judging {
	const struct lint_check *check;
	struct store *store; /* of kept verdicts; NULL: none is kept */
	const struct lint_options *options;
	json_t *reports; /* one for each image */
	bool failed;     /* findings at or above the threshold */
};

static void show(struct judging *j, const struct lint_verdict *verdict, bool failed)
{
	const struct out *out = j->check->in->out;

	json_push(j->reports, json_incref(verdict->report));
	j->failed |= failed;
	if (failed || (verdict->has_findings && out->verbosity >= 0) || out->verbosity > 0)
		fputs(strbuf_text(out->err_colour ? &verdict->coloured : &verdict->plain),
		      out->err);
}

static int judge(struct judging *j, struct image *image, const char *reference, struct error *err)
{
	cleanup_lint_result struct lint_result result = { 0 };
	cleanup_lint_verdict struct lint_verdict kept = { 0 }, verdict = { 0 };
	struct digest key = lint_verdict_key(image, reference, &j->options->policy);

	if (j->store && lint_verdict_recall(j->store, &key, &kept)) {
		show(j, &kept, false);
		return 0;
	}
	if (lint_run(image, j->options, &result, err) < 0)
		return -1;
	result.reference = reference;
	lint_verdict_make(&result, &verdict);
	if (result.unreadable) {
		json_push(j->reports, json_incref(verdict.report));
		return error_set(err, ERROR_INTEGRITY, "%s", result.unreadable);
	}
	show(j, &verdict, result.failed);
	if (!result.failed && j->store)
		lint_verdict_keep(j->store, &key, &verdict);
	return 0;
}

/* The image of every platform; where there are several, each is named with its own. */
static int judge_all(struct judging *j, struct image_source *source, struct error *err)
{
	const struct stack *stack = j->check->stack;
	cleanup_arena struct arena arena = { 0 };
	const char *name = arena_printf(&arena, "%s:%s", stack->name, stack->tag);
	struct platforms platforms = { 0 };
	int rc = image_platforms(source, &arena, &platforms, err);

	for (size_t i = 0; rc == 0 && i < platforms.len; i++) {
		const struct platform *platform = &platforms.items[i];
		cleanup_image struct image image = { 0 };
		const char *reference = name;

		if (platforms.len > 1)
			reference = arena_printf(&arena, "%s (%s)", name,
						 platform_text(platform, &arena));
		rc = image_open_source(source_borrow(source), reference, platform, &image, err);
		if (rc == 0)
			rc = judge(j, &image, reference, err);
	}
	vec_release(&platforms);
	return rc;
}

static int verdict(struct judging *j, struct image_source *source, struct error *err)
{
	const char *threshold = j->check->stack->lint_fail_on;
	size_t count;
	int rc;

	j->reports = json_array();
	rc = judge_all(j, source, err);
	count = json_array_size(j->reports);
	if (j->check->out_json && count)
		*j->check->out_json =
			json_incref(count == 1 ? json_array_get(j->reports, 0) : j->reports);
	json_decref(j->reports);
	if (rc < 0 || !j->failed)
		return rc;
	return error_set(
		err, ERROR_VERDICT,
		"lint has findings at or above the threshold (lint.fail-on: %s), so no image "
		"was written; mend them, accept them under lint.ignore, or use --no-lint",
		threshold ? threshold : "error");
}

int lint_check_run(void *user, struct image_source *image, struct error *err)
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
		rc = verdict(&(struct judging){ .check = check,
						.store = facts.store,
						.options = &options },
			     image, err);
	policy_release(&options.policy);
	return rc;
}

int lint_check_image(const struct lint_check *check, const char *image, struct error *err)
{
	cleanup_source struct image_source *source = image_arg_source(image, err);
	struct lint_check again = *check; /* a build_check_fn is given what it may write to */

	return source ? lint_check_run(&again, source, err) : -1;
}
