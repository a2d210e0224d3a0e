/*
 * What the user wants reported: which rules run and how grave they are, from which confidence on,
 * which findings are accepted with a reason or known from a baseline, and from which severity on
 * the verdict is against the image.
 */
#ifndef LINT_POLICY_H
#define LINT_POLICY_H

#include "base/vec.h"
#include "lint/baseline.h"
#include "lint/findings.h"
#include "oci/config.h"
#include "oci/manifest.h"

enum fail_on { FAIL_ON_ERROR, FAIL_ON_WARNING, FAIL_ON_INFO, FAIL_ON_NEVER };

/* One accepted finding. Strings are borrowed. */
struct policy_ignore {
	const char *rule; /* a selector: "SIZ003", "package-caches", "SIZ" */
	const char *path; /* shell pattern over the finding's path ("**" as "*"); NULL: any */
	const char *reason;
	const char *until; /* "2027-01-01": from that day on it no longer holds; NULL: for ever */
	const char *where; /* who says so: "site.yaml:12:3", "label gpuimg.lint.ignore"; NULL */
};

struct policy_ignores {
	struct policy_ignore *items;
	size_t len, cap;
};

/* Another severity for rules; the last that matches a rule counts. */
struct policy_severity {
	const char *rule; /* selectors, borrowed */
	bool off;         /* does not run at all */
	enum severity severity;
};

/* An acceptance that did nothing. */
struct policy_unused {
	const char *text; /* "SIZ003 (site.yaml:12:3)" */
	const char *why;  /* "matched no finding", "ended on 2026-01-01", "has no reason" */
};

struct policy_unuseds {
	struct policy_unused *items;
	size_t len, cap;
};

struct site_policy;

struct policy {
	struct arena arena; /* of texts that are made */
	struct {
		const char **items;
		size_t len, cap;
	} select; /* none: all rules */
	struct {
		const char **items;
		size_t len, cap;
	} ignore;
	struct policy_ignores ignores;
	struct {
		struct policy_severity *items;
		size_t len, cap;
	} severities;
	const struct baseline *baseline; /* borrowed; NULL: none */
	const struct site_policy *site;  /* borrowed; NULL: none. What it asks of images */
	bool deaf; /* what the image itself says about findings is not heard */
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
/* "DRV001,SIZ=warning", with error, warning, info or off. ERROR_USAGE. */
int policy_set_severity(struct policy *policy, const char *text, struct error *err) MUST_USE;
/* "certain", "likely", "heuristic". ERROR_USAGE. */
int policy_set_confidence(struct policy *policy, const char *text, struct error *err) MUST_USE;

/* True when a selector (id, name or prefix) means this rule. */
bool selector_matches(const char *selector, const struct rule *rule);
/* True when one of a list of selectors ("SIZ003,DRV") means it. */
bool selectors_match(const char *list, const struct rule *rule);
/* Selected, not ignored, and not switched off by a severity. */
bool policy_runs(const struct policy *policy, const struct rule *rule);
/*
 * Drop what is not confident enough, set severities, mark what is accepted, by the policy or by
 * `own` (the image's; may be NULL), and what the baseline knows. Acceptances that did nothing are
 * added to `unused`; their strings live in `arena`. An acceptance of rules of which none is in
 * `ran` (sorted by id) is not counted as unused.
 */
void policy_apply(const struct policy *policy, const struct policy_ignores *own,
		  const struct rule *const *ran, size_t ran_count, struct findings *found,
		  struct arena *arena, struct policy_unuseds *unused);
/* A finding that is not suppressed stands at or above the threshold. */
bool policy_fails(const struct policy *policy, const struct findings *found);
/* The finding counts at this threshold. */
bool policy_counts(enum fail_on fail_on, const struct finding *f);

/*
 * What an image says of its own findings: the label and the annotation "gpuimg.lint.ignore" (docs/
 * lint.md), entries "RULES [PATH]: REASON" separated by ";" or line ends. `config` and `manifest`
 * may be NULL. Entries that are not understood go to `unused`. Strings live in `arena`.
 */
void policy_image_ignores(const struct image_config *config, const struct manifest *manifest,
			  struct arena *arena, struct policy_ignores *out,
			  struct policy_unuseds *unused);

#endif
