/*
 * What the rules found: collected, merged by cause, sorted, each with a fingerprint that survives
 * rebuilds.
 */
#ifndef LINT_FINDINGS_H
#define LINT_FINDINGS_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/vec.h"
#include "lint/rule.h"

struct evidence {
	const char *key;
	const char *value;
	struct evidence *next;
};

struct finding {
	const struct rule *rule;
	enum severity severity;
	enum confidence confidence;
	const char *path;    /* absolute in the image, or "" */
	int layer;           /* from 0, or -1 */
	const char *message; /* one or more sentences, no newline */
	const char
		*cause;  /* what tells findings of one rule and path apart; part of the identity */
	const char *fix; /* the rule's, or a better one for this case */
	struct evidence *evidence; /* sorted by key; a key may stand several times */
	char fingerprint[33];      /* hex, filled by findings_finish */
	const char *suppressed;    /* the reason, or NULL */
	bool accepted;             /* suppressed with a reason, not by a baseline */
};

struct findings {
	struct arena arena;
	struct finding **items;
	size_t len, cap;
};

void findings_release(struct findings *found);

/*
 * Add a finding with the rule's severity, confidence and fix. `path` "" for none, `cause` "" when
 * rule and path say all. Both are copied. The result may be changed until the next call with the
 * same findings.
 */
struct finding *finding_add(struct findings *found, const struct rule *rule, const char *path,
			    int layer, const char *cause, const char *fmt, ...) PRINTF_LIKE(6, 7);
/* `value` is copied. */
void finding_evidence(struct findings *found, struct finding *f, const char *key,
		      const char *value);
/*
 * Merge findings of one rule with the same path and cause (messages joined, the graver severity),
 * compute fingerprints, sort by severity (errors first), id, path, message.
 */
void findings_finish(struct findings *found);
/* Sort again, after severities were changed. */
void findings_sort(struct findings *found);

#endif
