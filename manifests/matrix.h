/*
 * Questions to the compatibility tables, answered in plain sentences of which each names its rows:
 * what a driver, a CUDA, a GPU, a framework release, a library or an NGC image goes with, and
 * whether a driver, a CUDA and a GPU fit each other.
 */
#ifndef MANIFESTS_MATRIX_H
#define MANIFESTS_MATRIX_H

#include "manifests/solver.h"

struct matrix_query {
	const char *kind;  /* "driver", "cuda", "gpu", "torch", "ngc", "cudnn", …; NULL: none */
	const char *value; /* NULL: of every row */
	const char *driver, *cuda, *gpu; /* of a combination; each may be NULL */
};

struct matrix_fact {
	const char *key, *value;
};

struct matrix_answer {
	struct arena arena;
	struct solver_sentences sentences;
	struct { /* the same for programs */
		struct matrix_fact *items;
		size_t len, cap;
	} facts;
	bool against; /* a combination that does not work */
};

/*
 * "sm_120", "h100", "driver 535", "torch 2.7": one or two words into kind and value.
 * ERROR_USAGE with what is understood.
 */
int matrix_parse(const struct tables *tables, const char *const *words, size_t count,
		 struct matrix_query *out, struct error *err) MUST_USE;
/*
 * Answer. ERROR_USAGE for values that cannot be read, ERROR_NOT_FOUND for what the tables have no
 * row of. Release with matrix_release.
 */
int matrix_ask(const struct tables *tables, const struct matrix_query *query,
	       struct matrix_answer *out, struct error *err) MUST_USE;
void matrix_release(struct matrix_answer *answer);
#define cleanup_matrix cleanup(matrix_release)

#endif
