#include <fnmatch.h>

#include "lint/policy.h"

#include "base/map.h"
#include "base/slice.h"

static const char own_key[] = "gpuimg.lint.ignore";

static bool has_ended(const struct policy *policy, const struct policy_ignore *ignore)
{
	return ignore->until && policy->today && strcmp(policy->today, ignore->until) >= 0;
}

static bool accepts(const struct policy *policy, const struct policy_ignore *ignore,
		    const struct finding *f)
{
	return selectors_match(ignore->rule, f->rule) && !has_ended(policy, ignore) &&
	       (!ignore->path || fnmatch(ignore->path, f->path, 0) == 0);
}

/* Mark what these accept; the count of findings of each is added to `uses`. */
static void mark(const struct policy *policy, const struct policy_ignores *ignores, size_t *uses,
		 struct findings *found)
{
	for (size_t i = 0; i < found->len; i++) {
		struct finding *f = found->items[i];

		for (size_t k = 0; k < ignores->len; k++) {
			if (!accepts(policy, &ignores->items[k], f))
				continue;
			uses[k]++;
			f->accepted = true;
			if (!f->suppressed)
				f->suppressed = ignores->items[k].reason;
		}
	}
}

static void add_unused(struct policy_unuseds *unused, struct arena *arena,
		       const struct policy_ignore *ignore, const char *why)
{
	const char *text =
		arena_printf(arena, "%s%s%s%s%s%s", ignore->rule, ignore->path ? " " : "",
			     ignore->path ? ignore->path : "", ignore->where ? " (" : "",
			     ignore->where ? ignore->where : "", ignore->where ? ")" : "");

	vec_push(unused, ((struct policy_unused){ text, why }));
}

static bool any_ran(const struct policy_ignore *ignore, const struct rule *const *ran, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (selectors_match(ignore->rule, ran[i]))
			return true;
	}
	return false;
}

static void report_unused(const struct policy *policy, const struct policy_ignores *ignores,
			  const size_t *uses, const struct rule *const *ran, size_t ran_count,
			  struct arena *arena, struct policy_unuseds *unused)
{
	for (size_t i = 0; i < ignores->len; i++) {
		const struct policy_ignore *ignore = &ignores->items[i];

		if (uses[i])
			continue;
		if (has_ended(policy, ignore))
			add_unused(unused, arena, ignore,
				   arena_printf(arena, "ended on %s", ignore->until));
		else if (any_ran(ignore, ran, ran_count))
			add_unused(unused, arena, ignore, "matched no finding");
	}
}

static void set_severities(const struct policy *policy, struct findings *found)
{
	for (size_t i = 0; i < found->len; i++) {
		struct finding *f = found->items[i];

		for (size_t k = 0; k < policy->severities.len; k++) {
			if (selectors_match(policy->severities.items[k].rule, f->rule))
				f->severity = policy->severities.items[k].severity;
		}
	}
}

static void drop_uncertain(const struct policy *policy, struct findings *found)
{
	size_t kept = 0;

	for (size_t i = 0; i < found->len; i++) {
		if (found->items[i]->confidence >= policy->min_confidence)
			found->items[kept++] = found->items[i];
	}
	found->len = kept;
}

void policy_apply(const struct policy *policy, const struct policy_ignores *own,
		  const struct rule *const *ran, size_t ran_count, struct findings *found,
		  struct arena *arena, struct policy_unuseds *unused)
{
	static const struct policy_ignores none = { 0 };
	cleanup_free size_t *uses = xcalloc(policy->ignores.len + 1, sizeof(*uses));
	cleanup_free size_t *own_uses = xcalloc((own ? own->len : 0) + 1, sizeof(*own_uses));

	set_severities(policy, found);
	findings_sort(found);
	mark(policy, &policy->ignores, uses, found);
	mark(policy, own ? own : &none, own_uses, found);
	for (size_t i = 0; policy->baseline && i < found->len; i++) {
		struct finding *f = found->items[i];

		if (!f->suppressed && baseline_knows(policy->baseline, f->fingerprint))
			f->suppressed = "known from the baseline";
	}
	report_unused(policy, &policy->ignores, uses, ran, ran_count, arena, unused);
	report_unused(policy, own ? own : &none, own_uses, ran, ran_count, arena, unused);
	drop_uncertain(policy, found);
}

/* ------------------------------------------------- what an image says of its own findings */

static bool known_rules(const char *selectors)
{
	struct slice rest = slice_str(selectors), one;

	while (slice_cut(&rest, ',', &one)) {
		bool known = false;

		one = slice_trim(one);
		for (size_t i = 0; i < rules_count && one.len; i++) {
			cleanup_free char *text = xstrndup((const char *)one.data, one.len);

			known |= selector_matches(text, rules[i]);
		}
		if (!known)
			return false;
	}
	return true;
}

/* "RULES PATH: the reason" */
static void read_own_entry(struct slice entry, const char *where, struct arena *arena,
			   struct policy_ignores *out, struct policy_unuseds *unused)
{
	struct policy_ignore ignore = { .where = where };
	struct slice reason = slice_trim(entry), head, rule;

	if (!reason.len)
		return;
	slice_cut(&reason, ':', &head);
	head = slice_trim(head);
	reason = slice_trim(reason);
	slice_cut(&head, ' ', &rule);
	head = slice_trim(head);
	ignore.rule = arena_slice(arena, rule);
	ignore.path = head.len ? arena_slice(arena, head) : NULL;
	ignore.reason = arena_slice(arena, reason);
	if (!reason.len)
		add_unused(unused, arena, &ignore, "has no reason, so it counts for nothing");
	else if (!known_rules(ignore.rule))
		add_unused(unused, arena, &ignore, "names no rule");
	else
		vec_push(out, ignore);
}

static void read_own(const char *text, const char *where, struct arena *arena,
		     struct policy_ignores *out, struct policy_unuseds *unused)
{
	struct slice lines = slice_str(text ? text : ""), line, entry;

	while (slice_cut(&lines, '\n', &line)) {
		while (slice_cut(&line, ';', &entry))
			read_own_entry(entry, where, arena, out, unused);
	}
}

void policy_image_ignores(const struct image_config *config, const struct manifest *manifest,
			  struct arena *arena, struct policy_ignores *out,
			  struct policy_unuseds *unused)
{
	const json_t *annotations =
		manifest ? json_object_get(manifest->json, "annotations") : NULL;

	if (config)
		read_own(config_label(config, own_key), "label gpuimg.lint.ignore", arena, out,
			 unused);
	read_own(json_string_value(json_object_get(annotations, own_key)),
		 "annotation gpuimg.lint.ignore", arena, out, unused);
}
