/*
 * What rpmmd.c, rpmmd_index.c and rpmmd_answer.c share of libsolv. Private to them.
 */
#ifndef BUILDER_SOURCES_RPMMD_SOLV_H
#define BUILDER_SOURCES_RPMMD_SOLV_H

#include <solv/pool.h>
#include <solv/queue.h>
#include <solv/repo.h>

#include "base/digest.h"
#include "base/slice.h"
#include "base/vec.h"
#include "builder/sources/package_source.h"
#include "builder/sources/rpmmd.h"

struct rpm_repo {
	const struct stack_source *source;
	struct rpmmd_repository repository;
	struct rpmmd_index index;
	Repo *repo;
};

/* One specification, and what it may be. */
struct rpm_root {
	const struct stack_source *source;
	const struct stack_package *package;
	bool toolkit; /* the stack section asks for it, not the user */
	Queue solvables;
};

struct rpm_session {
	const struct source_context *context;
	struct rpmmd_access access;
	const char *stage;
	char *machine; /* "x86_64" */
	Pool *pool;
	Map considered; /* all but builds for another CUDA, and the driver unless: */
	bool with_driver;
	Queue jobs;
	VEC(struct rpm_repo *) repos;
	VEC(struct rpm_root) roots;
	bool has_filelists;
	struct arena arena;
};

/* An empty pool that prints nothing. */
Pool *rpmmd_pool(void);
/*
 * What a base image has installed, as the pool's installed packages: of a database of rpm as it is
 * (formats/pkgdb.h). -1 when it could not be read, or not to its end.
 */
int rpmmd_add_installed(Pool *pool, struct slice database, struct error *err) MUST_USE;
/* A checksum of libsolv's; -1 unless it is a SHA-256 or SHA-512. */
int rpmmd_digest(const unsigned char *bytes, Id type, struct digest *out) MUST_USE;

/*
 * Solve s->jobs and append the inputs; ERROR_VERDICT says what does not fit. `*out_solved` false
 * and nothing said: it does not, and `quiet` was asked for.
 */
int rpmmd_solve(struct rpm_session *s, bool quiet, bool *out_solved, struct error *err) MUST_USE;

#endif
