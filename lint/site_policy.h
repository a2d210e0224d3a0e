/*
 * What a site asks of images: its own severities and acceptances, and rules of its own about
 * labels, bases, sizes and files (POL001 to POL005). A YAML or JSON file; the keys, their types and
 * their help are a table in lint/site_policy.c, of which docs/lint-policy.md and
 * docs/lint-policy.schema.json are made.
 */
#ifndef LINT_SITE_POLICY_H
#define LINT_SITE_POLICY_H

#include "lint/policy.h"
#include "manifests/stack.h"
#include "manifests/stack_keys.h"

struct site_label {
	const char *name;
	const char *matches; /* shell pattern over the value; NULL: any */
	struct stack_place place;
};

struct site_file {
	const char *path;   /* shell pattern over absolute paths; "*" crosses "/" */
	const char *reason; /* NULL: none given */
	struct stack_place place;
};

struct site_ignore {
	const char *rule, *path, *reason, *until;
	struct stack_place place;
};

struct site_policy {
	struct arena arena;
	const char *file;
	const char *version;
	const char *fail_on, *min_confidence, *image_says; /* NULL: not set */
	struct stack_pairs severities;                     /* selector → severity or "off" */
	struct site_ignore *ignores;
	size_t ignore_count;
	struct site_label *labels;
	size_t label_count;
	struct stack_texts bases;                      /* patterns of names, digests */
	uint64_t image_bytes, layer_bytes, pull_bytes; /* most; 0: no limit */
	uint64_t layer_count;
	struct site_file *must_have, *must_not_have;
	size_t must_have_count, must_not_have_count;
};

extern const struct stack_section site_policy_top;

/* `file` is for errors, "FILE:LINE:COLUMN: …"; JSON when it ends in ".json". ERROR_USAGE. */
int site_policy_parse(struct slice text, const char *file, struct site_policy *out,
		      struct error *err) MUST_USE;
void site_policy_release(struct site_policy *site);
#define cleanup_site_policy cleanup(site_policy_release)

/*
 * Let it count: severities and acceptances go to `policy`, the threshold and the confidence too.
 * `site` must outlive `policy`. ERROR_USAGE: a selector that names no rule.
 */
int site_policy_apply(const struct site_policy *site, struct policy *policy,
		      struct error *err) MUST_USE;
/* The policy has something for that rule of POL001 … POL005 to check. */
bool site_policy_asks(const struct site_policy *site, const char *rule_id);

/* The page of the keys, Markdown, and the JSON Schema. */
void site_policy_markdown(struct strbuf *out);
void site_policy_schema(struct strbuf *out);

#endif
