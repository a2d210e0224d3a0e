#include "lint/lint.h"

#include "lint/facts.h"

static const char *reason_not_to_run(const struct rule *rule, const struct facts *facts,
				     const struct policy *policy)
{
	if (!policy_runs(policy, rule))
		return "disabled";
	if (rule->needs & NEEDS_LAYERS && facts->is_rootfs)
		return "not applicable: an unpacked root has no layers";
	if (rule->needs & NEEDS_CONFIG && !facts->config)
		return "not applicable: an unpacked root has no configuration";
	if (rule->needs & NEEDS_GPU_IMAGE && !facts->is_gpu_image)
		return "not applicable: not a GPU image";
	if (rule->needs & NEEDS_ALL_LAYERS && facts->lacks_entries)
		return "a layer could not be read";
	if (rule->needs & NEEDS_GPU && !facts->hosts.gpus.len)
		return "needs --gpu";
	if (rule->needs & NEEDS_DRIVER && !facts->hosts.drivers.len)
		return "needs --driver";
	return NULL;
}

static int run_rules(const struct facts *facts, const struct policy *policy,
		     struct lint_result *out, struct error *err)
{
	for (size_t i = 0; i < rules_count; i++) {
		const char *reason = reason_not_to_run(rules[i], facts, policy);

		if (reason)
			vec_push(&out->not_run, ((struct lint_not_run){ rules[i], reason }));
		else if (rules[i]->check(rules[i], facts, &out->findings, err) < 0)
			return error_wrap(err, "%s", rules[i]->id);
	}
	return 0;
}

static void count(struct lint_result *out)
{
	for (size_t i = 0; i < out->findings.len; i++) {
		const struct finding *f = out->findings.items[i];

		if (f->suppressed)
			out->suppressed++;
		else if (f->severity == SEVERITY_ERROR)
			out->errors++;
		else if (f->severity == SEVERITY_WARNING)
			out->warnings++;
		else
			out->infos++;
	}
}

static void describe(const struct facts *facts, struct lint_result *out)
{
	out->layers = facts->is_rootfs ? 0 : facts->layer_count;
	out->is_gpu_image = facts->is_gpu_image;
	stack_versions_find(facts, &out->arena, &out->stack);
	if (facts->gpu_reason)
		out->gpu_reason = arena_strdup(&out->arena, facts->gpu_reason);
	if (facts->unreadable)
		out->unreadable = arena_strdup(&out->arena, facts->unreadable_text);
	if (facts->config && facts->config->platform.os)
		out->platform = platform_text(&facts->config->platform, &out->arena);
	for (size_t i = 0; i < facts->tree.all.len; i++) {
		if (facts->tree.all.items[i]->entry.type == TAR_FILE)
			out->bytes += facts->tree.all.items[i]->entry.size;
	}
}

int lint_judge(const struct facts *facts, const struct lint_options *options,
	       struct lint_result *out, struct error *err)
{
	static const struct lint_options none = { 0 };
	const struct policy *policy = options ? &options->policy : &none.policy;

	describe(facts, out);
	if (run_rules(facts, policy, out, err) < 0)
		return -1;
	findings_finish(&out->findings);
	policy_apply(policy, &out->findings);
	out->failed = policy_fails(policy, &out->findings);
	count(out);
	return 0;
}

int lint_run(struct image *image, const struct lint_options *options, struct lint_result *out,
	     struct error *err)
{
	cleanup_facts struct facts facts = { 0 };

	*out = (struct lint_result){ 0 };
	out->reference = arena_strdup(&out->arena, image->name);
	if (!image->rootfs)
		digest_text(&image->descriptor.digest, out->digest);
	if (facts_read(&facts, image, &options->target, err) < 0)
		return -1;
	return lint_judge(&facts, options, out, err);
}

void lint_result_release(struct lint_result *result)
{
	findings_release(&result->findings);
	vec_release(&result->not_run);
	arena_release(&result->arena);
}

int lint_exit_status(const struct lint_result *result)
{
	return result->unreadable ? 3 : result->failed ? 1 : 0;
}

const struct rule *lint_rule(const char *id_or_name)
{
	for (size_t i = 0; i < rules_count; i++) {
		if (strcasecmp(rules[i]->id, id_or_name) == 0 ||
		    str_equal(rules[i]->name, id_or_name))
			return rules[i];
	}
	return NULL;
}
