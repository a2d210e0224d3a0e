/*
 * Findings that are known already: a file of fingerprints, so that only what is new counts.
 *
 * The file is JSON, schema gpuimg-baseline/1; a report of schema gpuimg-lint/1 (or a list of them)
 * is read as well. Its rows are sorted, so the same findings give the same bytes.
 */
#ifndef LINT_BASELINE_H
#define LINT_BASELINE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "lint/findings.h"

struct baseline {
	struct arena arena;
	struct map known; /* fingerprint → id of the rule */
};

/* `name` is for errors ("NAME:LINE:COLUMN: …"). ERROR_FORMAT. */
int baseline_parse(struct slice text, const char *name, struct baseline *out,
		   struct error *err) MUST_USE;
void baseline_release(struct baseline *baseline);
#define cleanup_baseline cleanup(baseline_release)

bool baseline_knows(const struct baseline *baseline, const char *fingerprint);

/*
 * The file that makes these findings known. Those that are accepted with a reason are left out:
 * they are no debt. `found` is a list of `count` sets of findings.
 */
void baseline_write(const struct findings *const *found, size_t count, struct strbuf *out);

#endif
