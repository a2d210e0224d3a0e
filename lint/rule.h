/*
 * What a rule is. One rule is one file of lint/rules/ that defines one constant; the file's name
 * registers it (the Makefile writes the table rules[] from the names, sorted).
 *
 * A rule is a pure function from facts to findings: it opens nothing and prints nothing. If it
 * needs to know more, lint/facts.h learns it, once, for all rules.
 */
#ifndef LINT_RULE_H
#define LINT_RULE_H

#include "base/error.h"

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_ERROR };
enum confidence { CONFIDENCE_HEURISTIC, CONFIDENCE_LIKELY, CONFIDENCE_CERTAIN };

/* What must be there for a rule to run; else it is reported as not run, with the reason. */
enum {
	NEEDS_GPU = 1 << 0,        /* --gpu */
	NEEDS_DRIVER = 1 << 1,     /* --driver or --driver-cuda */
	NEEDS_LAYERS = 1 << 2,     /* an image, not an unpacked root */
	NEEDS_CONFIG = 1 << 3,     /* an image configuration */
	NEEDS_GPU_IMAGE = 1 << 4,  /* something of CUDA in it, or its environment asks for GPUs */
	NEEDS_ALL_LAYERS = 1 << 5, /* all could be read: it decides from what is not there */
	NEEDS_POLICY = 1 << 6,     /* --policy */
};

struct facts;
struct findings;

struct rule {
	const char *id;               /* "DRV001"; never reused */
	const char *name;             /* "baked-driver-library"; reads after "allow" */
	enum severity severity;       /* default; a finding may differ */
	enum confidence confidence;   /* default */
	unsigned needs;               /* NEEDS_* */
	unsigned wave;                /* 2: added after the first release's; else 0 */
	const char *what, *why, *fix; /* full sentences */
	const char *sources;          /* where it can be looked up */
	/* 0, or -1 for "could not decide" with *err set; never -1 for a finding. */
	int (*check)(const struct rule *rule, const struct facts *facts, struct findings *found,
		     struct error *err);
};

/* Sorted by id. */
extern const struct rule *const rules[];
extern const size_t rules_count;

const char *severity_name(enum severity severity); /* "error" … */
const char *confidence_name(enum confidence confidence);

#endif
