/*
 * The search behind manifests/solver.h, for the files of that family only: clauses that can be
 * switched off one by one, and the best choice that satisfies those that are on.
 */
#ifndef MANIFESTS_SOLVER_SEARCH_H
#define MANIFESTS_SOLVER_SEARCH_H

#include "base/vec.h"
#include "manifests/solver.h"

#define SOLVER_CLAUSES_MAX 64
#define SOLVER_FRAMEWORKS_MAX 8
#define SOLVER_REASONS_MAX 40 /* of a conflict; what a wide range meets first says enough */

struct solver_problem {
	const struct tables *tables;
	struct arena *arena;
	struct solver_clause clauses[SOLVER_CLAUSES_MAX];
	size_t clause_count;
	const char *floor; /* NULL: none asked */
	struct gpu_target *gpus;
	size_t gpu_count;
	const char *cuda, *cudnn, *nccl, *python; /* ranges; NULL: not asked */
	const char *frameworks[SOLVER_FRAMEWORKS_MAX], *ranges[SOLVER_FRAMEWORKS_MAX];
	size_t owners[SOLVER_FRAMEWORKS_MAX]; /* whose clause switches it: itself, or who pins it */
	size_t framework_count;
	enum stack_compat compat;
	enum stack_libraries libraries;
	const struct ngc_image *ngc; /* the base brings this stack */
	const char *glibc;           /* NULL: not known; "": another C library */
	struct table_origin glibc_origin;
	const char *flavour; /* see struct solver_request */
	bool arm64;
};

typedef uint64_t solver_mask; /* bit i: clause i holds */

/* Why candidates fell, each once; for the explanation of a conflict. */
struct solver_why {
	struct arena *arena;
	struct solver_sentences *sentences;
};

/* The bit of a clause; 0 when the problem has none of that kind and index. */
solver_mask solver_bit(const struct solver_problem *p, enum solver_clause_kind kind, size_t index);

/*
 * The best choice under the clauses of `mask`. False: there is none. `why` (may be NULL) collects
 * the reasons.
 */
bool solver_search(const struct solver_problem *p, solver_mask mask, struct solver_choice *out,
		   struct solver_why *why);

/*
 * Whether the last of the chosen builds goes with each before it: CUDA majors and minors, and what
 * one pins of another.
 */
bool solver_agree(const struct solver_problem *p, solver_mask mask,
		  const struct framework_build *const *builds, size_t count,
		  struct solver_why *why);

/*
 * Whether the chosen builds, which agree with one another, work under `mask`, and with which CUDA,
 * cuDNN, NCCL and Python. Used by solver_search.
 */
bool solver_complete(const struct solver_problem *p, solver_mask mask,
		     const struct framework_build *const *builds, size_t count,
		     struct solver_choice *out, struct solver_why *why);

/* One more reason, unless it is there. */
void solver_because(struct solver_why *why, const struct table_origin *origin, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* What serves a target with these builds and this toolkit; the worst over builds and platforms. */
struct gpu_verdict solver_gpu_verdict(const struct solver_problem *p,
				      const struct solver_choice *choice,
				      const struct gpu_target *target);
/* The CUDA whose driver compiles a choice's PTX. */
const char *solver_ptx_cuda(const struct solver_choice *choice);

/* A build that the source of wheels does not give, as far as the request knows it. */
bool solver_build_elsewhere(const struct solver_problem *p, const struct framework_build *build);
/* Text and origins of a solved problem. */
void solver_describe(const struct solver_problem *p, solver_mask mask, struct solution *out);
/* Conflict, reasons and repairs of one that is not. */
void solver_explain(struct solver_problem *p, solver_mask mask, struct solution *out);

#endif
