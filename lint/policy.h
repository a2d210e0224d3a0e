/*
 * What the user wants reported: which rules run, from which confidence on, which findings are
 * accepted with a reason, and from which severity on the verdict is against the image.
 */
#ifndef LINT_POLICY_H
#define LINT_POLICY_H

#include "base/vec.h"
#include "lint/findings.h"

enum fail_on { FAIL_ON_ERROR, FAIL_ON_WARNING, FAIL_ON_INFO, FAIL_ON_NEVER };

/* One accepted finding. Strings are borrowed. */
struct policy_ignore {
	const char *rule; /* a selector: "SIZ003", "package-caches", "SIZ" */
	const char *path; /* shell pattern over the finding's path ("**" as "*"); NULL: any */
	const char *reason;
	const char *until; /* "2027-01-01": from that day on it no longer holds; NULL: for ever */
};

struct policy {
	struct {
		const char **items;
		size_t len, cap;
	} select; /* none: all rules */
	struct {
		const char **items;
		size_t len, cap;
	} ignore;
	struct {
		struct policy_ignore *items;
		size_t len, cap;
	} ignores;
	enum confidence min_confidence;
	enum fail_on fail_on;
	const char *today; /* "2026-11-30", against `until`; NULL: `until` is not looked at */
};

void policy_release(struct policy *policy);

/*
 * Add selectors: ids, names or prefixes of ids ("DRV"), separated by commas. ERROR_USAGE when one
 * names no rule, with the nearest that does.
 */
int policy_select(struct policy *policy, const char *text, struct error *err) MUST_USE;
int policy_ignore(struct policy *policy, const char *text, struct error *err) MUST_USE;
/* "error", "warning", "info", "never". ERROR_USAGE. */
int policy_set_fail_on(struct policy *policy, const char *text, struct error *err) MUST_USE;
/* "certain", "likely", "heuristic". ERROR_USAGE. */
int policy_set_confidence(struct policy *policy, const char *text, struct error *err) MUST_USE;

/* True when a selector (id, name or prefix) means this rule. */
bool selector_matches(const char *selector, const struct rule *rule);
/* Selected and not ignored. */
bool policy_runs(const struct policy *policy, const struct rule *rule);
/* Drop what is not confident enough, and mark what is accepted. */
void policy_apply(const struct policy *policy, struct findings *found);
/* A finding that is not suppressed stands at or above the threshold. */
bool policy_fails(const struct policy *policy, const struct findings *found);

#endif
