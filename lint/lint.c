#include "lint/lint.h"

#include "lint/facts.h"
#include "lint/site_policy.h"

static const char *reason_not_to_run(const struct rule *rule, const struct facts *facts,
				     const struct policy *policy)
{
	if (!policy_runs(policy, rule))
		return "disabled";
	if (rule->needs & NEEDS_POLICY && !policy->site)
		return "needs --policy";
	if (rule->needs & NEEDS_POLICY && !site_policy_asks(policy->site, rule->id))
		return "not asked for by the policy";
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
		else
			vec_push(&out->ran, rules[i]);
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

/* The history entry of each layer, with what looks like a secret masked. */
static const char *made_by(const struct facts *facts, size_t layer, struct arena *arena)
{
	size_t at = 0;

	for (size_t i = 0; facts->config && i < facts->config->history_count; i++) {
		const struct config_history *h = &facts->config->history[i];

		if (!h->empty_layer && at++ == layer)
			return secrets_masked(h->created_by ? h->created_by : "", arena);
	}
	return "";
}

static void describe_layers(const struct facts *facts, struct lint_result *out)
{
	if (facts->is_rootfs)
		return;
	for (size_t i = 0; i < facts->layer_count; i++) {
		const struct descriptor *d = facts->manifest && i < facts->manifest->layer_count
						     ? &facts->manifest->layers[i]
						     : NULL;
		char digest[DIGEST_TEXT_MAX];
		struct lint_layer layer = { .made_by = made_by(facts, i, &out->arena) };

		layer.digest = arena_strdup(&out->arena, d ? digest_text(&d->digest, digest) : "");
		layer.media_type = arena_strdup(&out->arena, d ? d->media_type : "");
		layer.stored = d ? d->size : 0;
		vec_push(&out->layer_list, layer);
	}
	for (size_t i = 0; i < facts->tree.count; i++) {
		const struct tree_node *node = tree_node_at(&facts->tree, i);
		struct lint_layer *layer = &out->layer_list.items[node->layer];

		layer->files++;
		if (node->entry.type != TAR_FILE)
			continue;
		layer->bytes += node->entry.size;
		if (node->fate != TREE_EFFECTIVE && !node->links)
			layer->dead += node->entry.size;
	}
}

static void describe_targets(const struct facts *facts, struct arena *arena,
			     struct lint_targets *out)
{
	const struct hosts *hosts = &facts->hosts;

	for (size_t i = 0; i < hosts->gpus.len; i++)
		vec_push(&out->gpus,
			 arena_strdup(arena, host_gpu_name(&hosts->gpus.items[i], arena)));
	for (size_t i = 0; i < hosts->drivers.len; i++)
		vec_push(&out->drivers,
			 arena_strdup(arena, host_driver_name(&hosts->drivers.items[i], arena)));
	target_runtime_names(facts->target, &out->runtimes);
	out->gpus_from_labels = hosts->gpus_from_labels;
	out->drivers_from_labels = hosts->drivers_from_labels;
}

static void describe(const struct facts *facts, struct lint_result *out)
{
	out->layers = facts->is_rootfs ? 0 : facts->layer_count;
	out->is_gpu_image = facts->is_gpu_image;
	describe_targets(facts, &out->arena, &out->targets);
	stack_versions_find(facts, &out->arena, &out->stack);
	if (facts->gpu_reason)
		out->gpu_reason = arena_strdup(&out->arena, facts->gpu_reason);
	if (facts->unreadable)
		out->unreadable = arena_strdup(&out->arena, facts->unreadable_text);
	if (facts->config && facts->config->platform.os)
		out->platform = platform_text(&facts->config->platform, &out->arena);
	for (size_t i = 0; i < facts->tree.count; i++) {
		if (tree_node_at(&facts->tree, i)->entry.type == TAR_FILE)
			out->bytes += tree_node_at(&facts->tree, i)->entry.size;
	}
	describe_layers(facts, out);
	components_find(facts, &out->arena, &out->components);
}

static void find_lines(const struct facts *facts, const struct recipe *recipe,
		       struct lint_result *out)
{
	out->recipe = arena_strdup(&out->arena, recipe->file);
	for (size_t i = 0; i < out->layer_list.len; i++)
		out->layer_list.items[i].line = recipe_line(recipe, facts->config, i);
}

/* What the baseline knows of rules that ran, and that was not found again. */
static void find_resolved(const struct baseline *baseline, struct lint_result *out)
{
	cleanup_map struct map found = { 0 };
	const struct map_entry *known;

	for (size_t i = 0; i < out->findings.len; i++)
		map_put(&found, out->findings.items[i]->fingerprint, out);
	known = map_sorted((struct map *)&baseline->known);
	for (size_t i = 0; i < baseline->known.len; i++) {
		bool ran = false;

		for (size_t k = 0; k < out->ran.len; k++)
			ran |= str_equal(out->ran.items[k]->id, known[i].value);
		if (ran && !map_has(&found, known[i].key))
			vec_push(&out->resolved, arena_strdup(&out->arena, known[i].key));
	}
}

int lint_judge(const struct facts *facts, const struct lint_options *options,
	       struct lint_result *out, struct error *err)
{
	static const struct lint_options none = { 0 };
	const struct policy *policy = options ? &options->policy : &none.policy;
	struct policy_ignores own = { 0 };

	describe(facts, out);
	if (options && options->recipe)
		find_lines(facts, options->recipe, out);
	out->fail_on = policy->fail_on;
	if (run_rules(facts, policy, out, err) < 0)
		return -1;
	findings_finish(&out->findings);
	if (policy->baseline && !out->unreadable)
		find_resolved(policy->baseline, out);
	if (!policy->deaf)
		policy_image_ignores(facts->config, facts->manifest, &out->arena, &own,
				     &out->unused);
	policy_apply(policy, &own, out->ran.items, out->ran.len, &out->findings, &out->arena,
		     &out->unused);
	vec_release(&own);
	out->failed = policy_fails(policy, &out->findings);
	count(out);
	return 0;
}

int lint_run(struct image *image, const struct lint_options *options, struct lint_result *out,
	     struct error *err)
{
	cleanup_facts struct facts facts = { 0 };

	*out = (struct lint_result){ 0 };
	facts.site = options->policy.site;
	facts.known = options->cache;
	facts.today = options->policy.today;
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
	vec_release(&result->targets.gpus);
	vec_release(&result->targets.drivers);
	vec_release(&result->targets.runtimes);
	vec_release(&result->not_run);
	vec_release(&result->ran);
	vec_release(&result->resolved);
	vec_release(&result->unused);
	vec_release(&result->layer_list);
	vec_release(&result->components);
	arena_release(&result->arena);
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
