/* What libsolv chose, as locked inputs; or why it chose nothing. */
#include "builder/sources/rpmmd_solv.h"

#include <solv/problems.h>
#include <solv/solver.h>
#include <solv/transaction.h>

#include "builder/sources/apt_repository.h"
#include "builder/sources/driver_package.h"
#include "builder/sources/rpm_signature.h"

enum { QUOTE_LIMIT = 80, PROBLEMS_SHOWN = 20 };

static void explain_solutions(Solver *solver, Id problem, struct strbuf *out)
{
	Id solution = 0;

	while ((solution = solver_next_solution(solver, problem, solution)) != 0) {
		Id element = 0, p, rp;
		const char *before = "\n    a way out: ";

		while ((element = solver_next_solutionelement(solver, problem, solution, element,
							      &p, &rp)) != 0) {
			strbuf_addf(out, "%s%s", before, solver_solutionelement2str(solver, p, rp));
			before = ", ";
		}
	}
}

/* libsolv's own words, each problem with all that leads to it. */
static void explain(Solver *solver, struct strbuf *out)
{
	Id problem = 0;
	size_t shown = 0;
	Queue rules;

	queue_init(&rules);
	while ((problem = solver_next_problem(solver, problem)) != 0 && shown++ < PROBLEMS_SHOWN) {
		cleanup_free char *headline = xstrdup(solver_problem2str(solver, problem));

		strbuf_addf(out, "%s%s", out->len ? "\n" : "", headline);
		queue_empty(&rules);
		solver_findallproblemrules(solver, problem, &rules);
		for (int i = 0; i < rules.count; i++) {
			Id source, target, dep;
			SolverRuleinfo type =
				solver_ruleinfo(solver, rules.elements[i], &source, &target, &dep);
			const char *text =
				solver_problemruleinfo2str(solver, type, source, target, dep);

			if (type != SOLVER_RULE_JOB && !str_equal(text, headline))
				strbuf_addf(out, "\n    %s", text);
		}
		explain_solutions(solver, problem, out);
	}
	queue_free(&rules);
}

static const struct rpm_repo *repo_of_package(const struct rpm_session *s, const Solvable *package)
{
	for (size_t i = 0; i < s->repos.len; i++) {
		if (s->repos.items[i]->repo == package->repo)
			return s->repos.items[i];
	}
	return NULL;
}

/* Of a repository that is not signed: fetched now, to see whether the package itself is. */
static int prove_package(struct rpm_session *s, Solvable *package, const struct lock_input *input,
			 struct error *err)
{
	const struct rpmmd_repository *r = &repo_of_package(s, package)->repository;
	const struct apt_keys keys = { .keyrings = &r->keyring,
				       .keyring_count = 1,
				       .setting = "gpgkey" };
	const struct rpmmd_file file = { .location = solvable_lookup_location(package, NULL),
					 .digest = input->digest,
					 .size = input->size };
	const struct rpm_package *read;
	cleanup_rpm_reader struct rpm_reader *reader = NULL;
	cleanup_stream struct stream *stream = NULL;
	cleanup_fd int fd = -1;

	if (solvable_lookup_str(package, SOLVABLE_MEDIABASE))
		return error_set(err, ERROR_INTEGRITY,
				 "%s lies elsewhere than its repository, which is not signed",
				 input->name);
	fd = rpmmd_repository_file(&s->access, r, &file, err);
	stream = fd < 0 ? NULL : stream_fd(fd, input->name);
	reader = stream ? rpm_read_open(stream, err) : NULL;
	if (!reader)
		return error_wrap(err, "%s", input->name);
	read = rpm_read_package(reader);
	if (!str_equal(read->name, input->name) || !str_equal(read->version, input->version) ||
	    !str_equal(read->arch, input->arch))
		return error_set(err, ERROR_INTEGRITY,
				 "%s %s: the file is %s %s, another package than the repository "
				 "said it is",
				 input->name, input->version, read->name, read->version);
	return rpm_signature_verify(read, &keys, input->url, err);
}

static char *package_url(const struct rpm_session *s, Solvable *package)
{
	const char *base = solvable_lookup_str(package, SOLVABLE_MEDIABASE);
	const char *location = solvable_lookup_location(package, NULL);
	cleanup_free char *folder = NULL;

	if (!base && repo_of_package(s, package))
		base = repo_of_package(s, package)->repository.base;
	if (!location || !*location || *location == '/' || !base || !strstr(base, "://"))
		return NULL;
	folder = xasprintf("%s%s", base, str_ends(base, "/") ? "" : "/");
	return apt_repository_url(folder, slice_str(location));
}

/* Whether a package is a root of the user's, or of the stack section's. */
static bool is_root(const struct rpm_session *s, Id package, bool toolkit)
{
	for (size_t i = 0; i < s->roots.len; i++) {
		const Queue *q = &s->roots.items[i].solvables;

		for (int k = 0; k < q->count && s->roots.items[i].toolkit == toolkit; k++) {
			if (q->elements[k] == package)
				return true;
		}
	}
	return false;
}

/* The first package of the answer that requires another; NULL: none does. */
static const char *needed_by(Pool *pool, const Transaction *t, Id id)
{
	const char *name = NULL;
	Queue requires;

	queue_init(&requires);
	for (int i = 0; i < t->steps.count && !name; i++) {
		Solvable *by = pool_id2solvable(pool, t->steps.elements[i]);
		Id p, pp;

		queue_empty(&requires);
		solvable_lookup_deparray(by, SOLVABLE_REQUIRES, &requires, 0);
		for (int k = 0; k < requires.count && !name; k++) {
			FOR_PROVIDES(p, pp, requires.elements[k])
			{
				if (p == id && t->steps.elements[i] != id)
					name = pool_id2str(pool, by->name);
			}
		}
	}
	queue_free(&requires);
	return name;
}

/* Of a package of the driver: for which package it is there, since it cannot be for itself. */
static int say_host_for(struct rpm_session *s, const Transaction *t, Id id,
			struct lock_input *input, struct error *err)
{
	const char *by;

	if (!package_is_hosts(slice_str(input->name)))
		return 0;
	by = needed_by(s->pool, t, id);
	if (!by || !rpmmd_is_word(by))
		return error_set(err, ERROR_VERDICT,
				 "%s %s wanted by the manifest belongs to the driver, which the "
				 "host brings",
				 input->name, input->version);
	input->host_for = arena_strdup(&s->context->lock->arena, by);
	return 0;
}

static int append_one(struct rpm_session *s, const Transaction *t, Id id, struct error *err)
{
	struct arena *a = &s->context->lock->arena;
	Pool *pool = s->pool;
	Solvable *package = pool_id2solvable(pool, id);
	const char *name = pool_id2str(pool, package->name), *evr = pool_id2str(pool, package->evr);
	const char *arch = pool_id2str(pool, package->arch);
	cleanup_free char *url = package_url(s, package);
	cleanup_strbuf struct strbuf quoted = { 0 };
	struct lock_input input = { .kind = LOCK_RPM,
				    .requested = is_root(s, id, false),
				    .toolkit = is_root(s, id, true) };
	const unsigned char *checksum;
	Id type = 0;

	strbuf_add_quoted(&quoted, slice_str(pool_solvable2str(pool, package)), QUOTE_LIMIT);
	if (!rpmmd_is_word(name) || !rpmmd_is_word(evr) || !rpmmd_is_word(arch) || !url ||
	    !rpmmd_is_word(url))
		return error_set(err, ERROR_FORMAT,
				 "source '%s': the metadata of %s is malformed: name, version, "
				 "architecture or location",
				 package->repo->name, strbuf_text(&quoted));
	checksum = solvable_lookup_bin_checksum(package, SOLVABLE_CHECKSUM, &type);
	input.size = solvable_lookup_num(package, SOLVABLE_DOWNLOADSIZE, 0);
	if (rpmmd_digest(checksum, type, &input.digest) < 0 ||
	    input.digest.algorithm != DIGEST_SHA256)
		return error_set(err, ERROR_INTEGRITY,
				 "source '%s': %s has no checksum of type sha256; use a repository "
				 "that has",
				 package->repo->name, strbuf_text(&quoted));
	input.stage = arena_strdup(a, s->stage);
	input.source = arena_strdup(a, package->repo->name);
	input.name = arena_strdup(a, name);
	input.version = arena_strdup(a, evr);
	input.arch = arena_strdup(a, arch);
	input.url = arena_strdup(a, url);
	if (say_host_for(s, t, id, &input, err) < 0)
		return -1;
	if (repo_of_package(s, package)->repository.unsigned_ &&
	    prove_package(s, package, &input, err) < 0)
		return error_wrap(err, "source '%s'", package->repo->name);
	vec_push(&s->context->inputs->inputs, input);
	return 0;
}

static int append(struct rpm_session *s, Solver *solver, struct error *err)
{
	Transaction *t = solver_create_transaction(solver);
	size_t before = s->context->inputs->inputs.len;
	int rc = 0;

	transaction_order(t, 0);
	for (int i = 0; i < t->steps.count && rc == 0; i++) {
		Id id = t->steps.elements[i];

		if (pool_id2solvable(s->pool, id)->repo != s->pool->installed)
			rc = append_one(s, t, id, err);
	}
	if (rc < 0)
		s->context->inputs->inputs.len = before;
	transaction_free(t);
	return rc;
}

int rpmmd_solve(struct rpm_session *s, bool quiet, bool *out_solved, struct error *err)
{
	Solver *solver = solver_create(s->pool);
	cleanup_strbuf struct strbuf why = { 0 };
	int rc = 0;

	solver_set_flag(solver, SOLVER_FLAG_IGNORE_RECOMMENDED, 1);
	*out_solved = solver_solve(solver, &s->jobs) == 0;
	if (*out_solved) {
		rc = append(s, solver, err);
	} else if (!quiet) {
		explain(solver, &why);
		out_note(s->context->out, "%s", strbuf_text(&why));
		rc = error_set(err, ERROR_VERDICT, "the packages do not fit: %.*s",
			       (int)MIN(strcspn(strbuf_text(&why), "\n"), (size_t)300),
			       strbuf_text(&why));
	}
	solver_free(solver);
	return rc;
}
