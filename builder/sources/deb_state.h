/*
 * What is chosen at a moment of the walk, with a trail to go back: who conflicts with whom, and
 * whether a relation holds. Private to deb_resolve, deb_search and deb_state.
 */
#ifndef BUILDER_SOURCES_DEB_STATE_H
#define BUILDER_SOURCES_DEB_STATE_H

#include "builder/sources/deb_universe.h"

/* Why a package cannot be had, once that is known; texts in the walk's arena. */
struct deb_refusal {
	const char *text; /* "conflicts with …", "is 1.2" */
	uint32_t package; /* refused, or DEB_NONE */
};

/* A group of alternatives that could not be met. */
struct deb_failure {
	uint32_t owner;     /* who wants it */
	struct slice group; /* "a (>= 1) | b" */
	VEC(struct deb_refusal) refusals;
};

struct deb_chosen {
	uint32_t package, wanted_by, conflicts_mark;
	uint32_t replaced; /* installed version that it takes the place of, or DEB_NONE */
};

/* "name is not to be together with owner", from the owner's Conflicts or Breaks. */
struct deb_conflict {
	uint32_t owner, next, name;
	struct deb_relation relation;
	bool breaks;
};

struct deb_state {
	struct deb_universe *u;
	struct arena arena;
	uint8_t *present;              /* per package: 1 chosen or installed */
	bool *discarded;               /* per package: failed, not to be tried again */
	struct deb_failure **failures; /* per package: why it failed, or NULL */
	struct deb_state *required;    /* holds what every set has to hold; NULL: not known */
	uint32_t *conflicts_of;        /* per name: last entry of conflicts, or DEB_NONE */
	VEC(struct deb_chosen) chosen;
	VEC(struct deb_conflict) conflicts;
};

void deb_state_init(struct deb_state *s, struct deb_universe *u);
void deb_state_release(struct deb_state *s);

/* Choose, whatever it conflicts with. */
void deb_state_choose(struct deb_state *s, uint32_t package, uint32_t wanted_by);
/* Take back all that was chosen since there were `mark` choices. */
void deb_state_undo(struct deb_state *s, size_t mark);
/* The present package that meets one alternative of a group for `owner`, or DEB_NONE. */
uint32_t deb_state_holds(const struct deb_state *s, uint32_t owner, struct slice group);
/*
 * What has to be met for `package`: its Pre-Depends and its Depends. Of the host's driver nothing,
 * which works where the host has it.
 */
enum { DEB_NEEDS = 2 };
void deb_state_needs(const struct deb_state *s, uint32_t package, struct slice out[DEB_NEEDS]);
/* Why `package` cannot join what is present (arena), or NULL when it can. */
const char *deb_state_objection(struct deb_state *s, uint32_t package);

/*
 * The packages that may be taken for a group, in the order of preference: apt's, but the host's
 * driver last.
 */
struct deb_options {
	VEC(uint32_t) packages;
};
/* `failure` (may be NULL) learns of alternatives for which there is no package at all. */
void deb_state_options(struct deb_state *s, uint32_t owner, struct slice group,
		       struct deb_options *out, struct deb_failure *failure);
/* "libfoo1 1.2" of a package, in the arena. */
const char *deb_state_name(struct deb_state *s, uint32_t package);

#endif
