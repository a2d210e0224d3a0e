#include "lint/policy.h"

#include "base/nearest.h"
#include "base/slice.h"

static void release_texts(const char **items, size_t len)
{
	for (size_t i = 0; i < len; i++)
		free((void *)items[i]);
}

void policy_release(struct policy *policy)
{
	release_texts(policy->select.items, policy->select.len);
	release_texts(policy->ignore.items, policy->ignore.len);
	vec_release(&policy->select);
	vec_release(&policy->ignore);
	vec_release(&policy->ignores);
	vec_release(&policy->severities);
	arena_release(&policy->arena);
}

bool selector_matches(const char *selector, const struct rule *rule)
{
	size_t len = strlen(selector);

	if (!len)
		return false;
	return strncasecmp(rule->id, selector, len) == 0 || str_equal(rule->name, selector);
}

bool selectors_match(const char *list, const struct rule *rule)
{
	struct slice rest = slice_str(list), one;
	bool found = false;

	while (!found && slice_cut(&rest, ',', &one)) {
		cleanup_free char *text = NULL;

		one = slice_trim(one);
		text = xstrndup(one.data ? (const char *)one.data : "", one.len);
		found = selector_matches(text, rule);
	}
	return found;
}

static int check_selector(const char *option, const char *selector, struct error *err)
{
	struct nearest near = nearest_start(selector);

	for (size_t i = 0; i < rules_count; i++) {
		if (selector_matches(selector, rules[i]))
			return 0;
	}
	for (size_t i = 0; i < rules_count; i++) {
		nearest_try(&near, rules[i]->id);
		nearest_try(&near, rules[i]->name);
	}
	if (near.best)
		return error_set(err, ERROR_USAGE, "%s: no rule '%s'; did you mean '%s'?", option,
				 selector, near.best);
	return error_set(err, ERROR_USAGE, "%s: no rule '%s' (see gpuimg lint --list-rules)",
			 option, selector);
}

/* The next selector of a list, checked, on the heap; NULL at the end or with *err set. */
static char *next_selector(struct slice *rest, const char *option, struct error *err)
{
	cleanup_free char *text = NULL;
	struct slice one;

	if (!slice_cut(rest, ',', &one))
		return NULL;
	one = slice_trim(one);
	text = xstrndup(one.data ? (const char *)one.data : "", one.len);
	if (check_selector(option, text, err) < 0)
		return NULL;
	return steal_ptr(&text);
}

int policy_select(struct policy *policy, const char *text, struct error *err)
{
	struct slice rest = slice_str(text);
	char *selector;

	while ((selector = next_selector(&rest, "--select", err)))
		vec_push(&policy->select, selector);
	return err->code ? -1 : 0;
}

int policy_ignore(struct policy *policy, const char *text, struct error *err)
{
	struct slice rest = slice_str(text);
	char *selector;

	while ((selector = next_selector(&rest, "--ignore", err)))
		vec_push(&policy->ignore, selector);
	return err->code ? -1 : 0;
}

int policy_set_fail_on(struct policy *policy, const char *text, struct error *err)
{
	static const char *const names[] = { "error", "warning", "info", "never" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_equal(text, names[i])) {
			policy->fail_on = (enum fail_on)i;
			return 0;
		}
	}
	return error_set(err, ERROR_USAGE,
			 "--fail-on: '%s' is not one of error, warning, info, never", text);
}

int policy_set_severity(struct policy *policy, const char *text, struct error *err)
{
	static const char *const levels[] = { "info", "warning", "error", "off" };
	const char *equal = strrchr(text, '=');
	struct slice rest = slice_of(text, equal ? (size_t)(equal - text) : 0), one;
	struct policy_severity set = { .rule = arena_slice(&policy->arena, rest) };
	size_t level = 0;

	while (equal && level < ARRAY_LEN(levels) && !str_equal(equal + 1, levels[level]))
		level++;
	if (!equal || level == ARRAY_LEN(levels))
		return error_set(
			err, ERROR_USAGE,
			"--severity: '%.60s' does not end in =error, =warning, =info or =off",
			text);
	while (slice_cut(&rest, ',', &one)) {
		if (check_selector("--severity", arena_slice(&policy->arena, slice_trim(one)),
				   err) < 0)
			return -1;
	}
	set.off = level == 3;
	set.severity = set.off ? SEVERITY_INFO : (enum severity)level;
	vec_push(&policy->severities, set);
	return 0;
}

int policy_set_confidence(struct policy *policy, const char *text, struct error *err)
{
	for (int c = CONFIDENCE_HEURISTIC; c <= CONFIDENCE_CERTAIN; c++) {
		if (str_equal(text, confidence_name((enum confidence)c))) {
			policy->min_confidence = (enum confidence)c;
			return 0;
		}
	}
	return error_set(err, ERROR_USAGE,
			 "--min-confidence: '%s' is not one of certain, likely, heuristic", text);
}

/* The last severity set for a rule, or NULL. */
static const struct policy_severity *severity_of(const struct policy *policy,
						 const struct rule *rule)
{
	for (size_t i = policy->severities.len; i-- > 0;) {
		if (selectors_match(policy->severities.items[i].rule, rule))
			return &policy->severities.items[i];
	}
	return NULL;
}

bool policy_runs(const struct policy *policy, const struct rule *rule)
{
	const struct policy_severity *set = severity_of(policy, rule);
	bool selected = policy->select.len == 0;

	for (size_t i = 0; i < policy->select.len; i++)
		selected |= selector_matches(policy->select.items[i], rule);
	for (size_t i = 0; i < policy->ignore.len; i++)
		selected &= !selector_matches(policy->ignore.items[i], rule);
	return selected && !(set && set->off);
}

bool policy_counts(enum fail_on fail_on, const struct finding *f)
{
	static const enum severity least[] = { [FAIL_ON_ERROR] = SEVERITY_ERROR,
					       [FAIL_ON_WARNING] = SEVERITY_WARNING,
					       [FAIL_ON_INFO] = SEVERITY_INFO };

	return fail_on != FAIL_ON_NEVER && !f->suppressed && f->severity >= least[fail_on];
}

bool policy_fails(const struct policy *policy, const struct findings *found)
{
	for (size_t i = 0; i < found->len; i++) {
		if (policy_counts(policy->fail_on, found->items[i]))
			return true;
	}
	return false;
}
