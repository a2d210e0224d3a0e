#include "builder/sources/rpmmd.h"

#include <solv/dataiterator.h>
#include <solv/evr.h>
#include <solv/poolarch.h>
#include <solv/repo.h>
#include <solv/repo_rpmmd.h>
#include <solv/selection.h>
#include <solv/solver.h>

#include "base/nearest.h"
#include "builder/sources/apt.h"
#include "builder/sources/apt_release.h"
#include "builder/sources/apt_repository.h"
#include "builder/sources/driver_package.h"
#include "builder/sources/package_source.h"
#include "builder/sources/rpmmd_solv.h"
#include "builder/sources/source_url.h"
#include "formats/compress.h"

enum { SPEC_LIMIT = 255, SHOWN = 6 };
#define TEXT_LIMIT (UINT64_C(8) << 30)

static void release_roots(struct rpm_session *s)
{
	for (size_t i = 0; i < s->roots.len; i++)
		queue_free(&s->roots.items[i].solvables);
	s->roots.len = 0;
	queue_empty(&s->jobs);
}

static void session_release(struct rpm_session *s)
{
	release_roots(s);
	vec_release(&s->roots);
	queue_free(&s->jobs);
	for (size_t i = 0; i < s->repos.len; i++) {
		rpmmd_repository_release(&s->repos.items[i]->repository);
		free(s->repos.items[i]);
	}
	vec_release(&s->repos);
	if (s->pool) {
		s->pool->considered = NULL;
		pool_free(s->pool);
	}
	map_free(&s->considered);
	free(s->machine);
	arena_release(&s->arena);
}

/* ---- packages ---- */

/* A stream that libsolv reads as a FILE. */
struct cookie {
	struct stream *stream;
	struct error error;
	bool broken;
};

static ssize_t cookie_read(void *user, char *buf, size_t len)
{
	struct cookie *c = user;
	ssize_t n = len ? stream_read(c->stream, buf, len, &c->error) : 0;

	c->broken |= n < 0;
	return n;
}

static int add_xml(struct rpm_repo *r, struct stream *text, const char *language, int flags,
		   struct error *err)
{
	struct cookie cookie = { .stream = text };
	FILE *file = fopencookie(&cookie, "r", (cookie_io_functions_t){ .read = cookie_read });
	int rc;

	if (!file)
		return error_set_errno(err, errno, "fopencookie");
	rc = repo_add_rpmmd(r->repo, file, language, flags);
	fclose(file);
	if (cookie.broken) {
		*err = cookie.error;
		return -1;
	}
	if (rc != 0)
		return error_set(err, ERROR_FORMAT, "%.200s", pool_errstr(r->repo->pool));
	return stream_drain(text, NULL, err);
}

static int add_metadata(struct rpm_session *s, struct rpm_repo *r, const struct rpmmd_file *which,
			const char *language, int flags, struct error *err)
{
	int fd = rpmmd_repository_file(&s->access, &r->repository, which, err);
	cleanup_stream struct stream *file = fd < 0 ? NULL : stream_fd(fd, which->location);
	cleanup_stream struct stream *plain = NULL, *limited = NULL;

	if (!file)
		return -1;
	plain = decompress_auto(file, NULL, err);
	if (!plain)
		return error_wrap(err, "%s%s", r->repository.display, which->location);
	limited = stream_limit(plain, TEXT_LIMIT);
	if (add_xml(r, limited, language, flags, err) < 0)
		return error_wrap(err, "%s%s", r->repository.display, which->location);
	return 0;
}

/* The same source twice (two stages) is one record. */
static void record(const struct rpm_session *s, const struct rpm_repo *r)
{
	struct lockfile *lock = s->context->lock;
	struct lock_source *found = NULL;
	char date[32];

	for (size_t i = 0; i < lock->sources.len; i++) {
		struct lock_source *it = &lock->sources.items[i];

		if (str_equal(it->id, r->source->id) && str_equal(it->suite, s->machine) &&
		    digest_equal(&it->digest, &r->repository.digest))
			found = it;
	}
	if (!found)
		found = vec_add(&lock->sources);
	found->id = arena_strdup(&lock->arena, r->source->id);
	found->type = "rpm-md";
	found->suite = arena_strdup(&lock->arena, s->machine);
	found->date =
		r->index.date ? arena_strdup(&lock->arena, apt_date_text(r->index.date, date)) : "";
	found->digest = r->repository.digest;
}

static int open_source(struct rpm_session *s, const struct stack_source *source, int priority,
		       struct error *err)
{
	const struct stack *stack = s->context->stack;
	struct rpm_repo *r = xcalloc(1, sizeof(*r));
	cleanup_free char *url = source_url(s->context, source, err);
	const char *key;

	vec_push(&s->repos, r);
	r->source = source;
	if (!url)
		return -1;
	if (!source->gpgkey)
		return stack_error(
			stack, source->place, err,
			"source '%s': an rpm-md source needs gpgkey: the file with the key "
			"of the repository",
			source->id);
	key = stack_path(stack, source->gpgkey, &s->arena);
	if (rpmmd_repository_open(&s->access, url, key, &r->repository, err) < 0 ||
	    rpmmd_index_parse(strbuf_slice(&r->repository.repomd), r->repository.display,
			      &r->repository.arena, &r->index, err) < 0)
		return error_wrap(err, "source '%s'", source->id);
	if (r->repository.unsigned_)
		out_warn(s->context->out,
			 "source '%s': its repomd.xml is not signed: each package's own signature "
			 "counts instead, and an old state of the repository could not be told",
			 source->id);
	r->repo = repo_create(s->pool, source->id);
	r->repo->priority = priority;
	if (add_metadata(s, r, &r->index.primary, NULL, 0, err) < 0)
		return error_wrap(err, "source '%s'", source->id);
	record(s, r);
	out_verbose(s->context->out, "%s: %d packages", source->id, r->repo->nsolvables);
	return 0;
}

static bool is_driver(Pool *pool, const Solvable *it)
{
	return it->repo != pool->installed &&
	       package_is_driver(slice_str(pool_id2str(pool, it->name)));
}

/*
 * A build for another CUDA is never taken, and the driver only when there is no other way; what it
 * requires itself is the host's to have.
 */
static void drop_misfits(struct rpm_session *s)
{
	const char *cuda = s->context->cuda;
	Pool *pool = s->pool;
	Id p;

	map_free(&s->considered);
	map_init(&s->considered, pool->nsolvables);
	map_setall(&s->considered);
	FOR_POOL_SOLVABLES(p)
	{
		Solvable *it = &pool->solvables[p];
		const char *name = pool_id2str(pool, it->name), *evr = pool_id2str(pool, it->evr);

		if (is_driver(pool, it) && package_is_hosts(slice_str(name)))
		it->requires = 0;
		if (it->repo != pool->installed &&
		    ((is_driver(pool, it) && !s->with_driver) || !rpmmd_fits_cuda(evr, cuda)))
			map_clr(&s->considered, p);
	}
	pool->considered = &s->considered;
}

static void prepare(struct rpm_session *s)
{
	drop_misfits(s);
	pool_addfileprovides(s->pool);
	pool_createwhatprovides(s->pool);
}

static int open_all(struct rpm_session *s, struct error *err)
{
	const struct stack *stack = s->context->stack;

	s->pool = rpmmd_pool();
	if (pool_setdisttype(s->pool, DISTTYPE_RPM) < 0)
		return error_set(err, ERROR_NOT_FOUND,
				 "the libsolv of this machine does not know RPM packages");
	pool_setarch(s->pool, s->machine);
	/* One name may stand for two architectures beside each other, as rpm and dnf have it. */
	pool_set_flag(s->pool, POOL_FLAG_IMPLICITOBSOLETEUSESCOLORS, 1);
	if (s->context->base && s->context->base->rpm_database.len &&
	    rpmmd_add_installed(s->pool, strbuf_slice(&s->context->base->rpm_database), err) < 0)
		return error_wrap(err, "packages of the base image, /%s",
				  s->context->base->rpm_path);
	for (size_t i = 0; i < stack->source_count; i++) {
		if (stack->sources[i].type == SOURCE_RPM_MD &&
		    open_source(s, &stack->sources[i], (int)(stack->source_count - i), err) < 0)
			return -1;
	}
	prepare(s);
	return 0;
}

/* ---- what is asked for ---- */

static struct rpm_repo *repo_of(const struct rpm_session *s, const struct stack_source *source)
{
	for (size_t i = 0; i < s->repos.len; i++) {
		if (s->repos.items[i]->source == source)
			return s->repos.items[i];
	}
	return NULL;
}

static int unknown(struct rpm_session *s, const struct rpm_root *root, Queue *elsewhere,
		   struct error *err)
{
	const struct stack_package *package = root->package;
	struct nearest near = nearest_start(package->spec);
	cleanup_strbuf struct strbuf text = { 0 };
	Pool *pool = s->pool;
	Id p;

	for (int i = 0; i < elsewhere->count && i < SHOWN; i++) {
		Solvable *it = pool_id2solvable(pool, elsewhere->elements[i]);

		strbuf_addf(&text, "%s%s (%s)", i ? ", " : "", pool_solvable2str(pool, it),
			    it->repo->name);
	}
	if (text.len)
		return stack_error(s->context->stack, package->place, err,
				   "source '%s' has no package '%s' for %s; there is: %s",
				   root->source->id, package->spec, s->machine, strbuf_text(&text));
	FOR_POOL_SOLVABLES(p)
	{
		if (pool->solvables[p].repo == repo_of(s, root->source)->repo)
			nearest_try(&near, pool_id2str(pool, pool->solvables[p].name));
	}
	return stack_error(s->context->stack, package->place, err,
			   "source '%s' has no package '%s' for %s%s%s%s", root->source->id,
			   package->spec, s->machine, near.best ? "; did you mean '" : "",
			   near.best ? near.best : "", near.best ? "'?" : "");
}

static int check_spec(struct rpm_session *s, const struct stack_package *package, struct error *err)
{
	const char *spec = package->spec ? package->spec : "";
	cleanup_free char *name = NULL;
	size_t len = strlen(spec);
	bool good = len && len <= SPEC_LIMIT && *spec != '@' && *spec != '-' && *spec != '/';

	for (size_t i = 0; i < len; i++)
		good &= spec[i] >= ' ' && spec[i] < 0x7f && !strchr("*?[]{}", spec[i]);
	if (!good)
		return stack_error(s->context->stack, package->place, err,
				   "'%.80s' is no request for an RPM package; it is NAME, "
				   "NAME-VERSION, \"NAME = VERSION\" or NAME.ARCH",
				   package->spec ? spec : "requirements");
	name = xstrndup(spec, strcspn(spec, " <>="));
	if (package_is_driver(slice_str(name)))
		return stack_error(
			s->context->stack, package->place, err,
			"'%s' brings the driver into the image, which belongs to the host: "
			"name the libraries you need (cuda-toolkit-…, cuda-libraries-…), or "
			"leave them to the stack section",
			spec);
	return 0;
}

/* The base image has it, in a version that is asked for: that will do. */
static bool is_installed(struct rpm_session *s, const struct stack_package *package)
{
	Queue selection, found;
	bool installed = false;

	queue_init(&selection);
	queue_init(&found);
	if (s->pool->installed) {
		selection_make(s->pool, &selection, package->spec,
			       SELECTION_NAME | SELECTION_PROVIDES | SELECTION_REL |
				       SELECTION_CANON | SELECTION_DOTARCH |
				       SELECTION_INSTALLED_ONLY);
		selection_solvables(s->pool, &selection, &found);
		installed = found.count > 0;
	}
	if (installed)
		out_verbose(s->context->out, "%s is in the base image",
			    pool_solvid2str(s->pool, found.elements[0]));
	queue_free(&selection);
	queue_free(&found);
	return installed;
}

static bool obsoletes(Pool *pool, Id by, Id package)
{
	Queue relations;
	bool found = false;

	queue_init(&relations);
	solvable_lookup_deparray(pool_id2solvable(pool, by), SOLVABLE_OBSOLETES, &relations, 0);
	for (int i = 0; i < relations.count && !found; i++)
		found = pool_match_nevr(pool, pool_id2solvable(pool, package),
					relations.elements[i]);
	queue_free(&relations);
	return found;
}

/*
 * A name that another package of the source obsoletes stands for that one as well, which libsolv
 * then prefers, as dnf does. True when there is one: it is in root->solvables.
 */
static bool add_obsoleters(struct rpm_session *s, struct rpm_root *root)
{
	Pool *pool = s->pool;
	Repo *repo = repo_of(s, root->source)->repo;
	int named = root->solvables.count;
	Id p;

	if (strpbrk(root->package->spec, " <>="))
		return false;
	FOR_POOL_SOLVABLES(p)
	{
		const Solvable *it = &pool->solvables[p];

		for (int i = 0; i < named && it->repo == repo && it->obsoletes; i++) {
			if (MAPTST(&s->considered, p) && p != root->solvables.elements[i] &&
			    obsoletes(pool, p, root->solvables.elements[i])) {
				queue_pushunique(&root->solvables, p);
				break;
			}
		}
	}
	return root->solvables.count > named;
}

/* Everything of that source which a specification may be; an install job of it. */
static int add_root(struct rpm_session *s, const struct source_request *request,
		    const struct stack_package *package, struct error *err)
{
	static const int ways[] = {
		SELECTION_NAME | SELECTION_REL | SELECTION_DOTARCH,
		SELECTION_CANON | SELECTION_DOTARCH,
		SELECTION_PROVIDES | SELECTION_REL | SELECTION_DOTARCH,
	};
	struct rpm_root *root;
	Queue selection, elsewhere, here;

	if (check_spec(s, package, err) < 0)
		return -1;
	if (is_installed(s, package))
		return 0;
	root = vec_add(&s->roots);
	*root = (struct rpm_root){ .source = request->source,
				   .package = package,
				   .toolkit = request->toolkit };
	queue_init(&root->solvables);
	queue_init(&selection);
	queue_init(&elsewhere);
	queue_init(&here);
	queue_push2(&here, SOLVER_SOLVABLE_REPO | SOLVER_SETREPO,
		    repo_of(s, request->source)->repo->repoid);
	for (size_t i = 0; i < ARRAY_LEN(ways) && !root->solvables.count; i++) {
		selection_make(s->pool, &selection, package->spec, ways[i]);
		if (!elsewhere.count)
			selection_solvables(s->pool, &selection, &elsewhere);
		selection_filter(s->pool, &selection, &here);
		selection_solvables(s->pool, &selection, &root->solvables);
	}
	if (root->solvables.count && add_obsoleters(s, root)) {
		queue_empty(&selection);
		queue_push2(&selection, SOLVER_SOLVABLE_ONE_OF,
			    pool_queuetowhatprovides(s->pool, &root->solvables));
	}
	for (int i = 0; i + 1 < selection.count && root->solvables.count; i += 2)
		queue_push2(&s->jobs, selection.elements[i] | SOLVER_INSTALL,
			    selection.elements[i + 1]);
	if (!root->solvables.count)
		unknown(s, root, &elsewhere, err);
	queue_free(&selection);
	queue_free(&elsewhere);
	queue_free(&here);
	return root->solvables.count ? 0 : -1;
}

/* Packages of the lock before are preferred, where they are still to be had. */
static void favour_kept(struct rpm_session *s)
{
	const struct source_keep *keep = &s->context->keep;
	Pool *pool = s->pool;
	Id p;

	for (size_t i = 0; keep->inputs && i < keep->inputs->inputs.len; i++) {
		const struct lock_input *in = &keep->inputs->inputs.items[i];

		if (!source_keeps(keep, in, LOCK_RPM, s->stage))
			continue;
		FOR_POOL_SOLVABLES(p)
		{
			Solvable *it = pool_id2solvable(pool, p);

			if (str_equal(pool_id2str(pool, it->name), in->name) &&
			    str_equal(pool_id2str(pool, it->evr), in->version) &&
			    str_equal(pool_id2str(pool, it->arch), in->arch) &&
			    str_equal(it->repo->name, in->source))
				queue_push2(&s->jobs, SOLVER_FAVOR | SOLVER_SOLVABLE, p);
		}
	}
}

/* Of alternatives the driver is the last. */
static void disfavour_driver(struct rpm_session *s)
{
	Pool *pool = s->pool;
	Id p;

	FOR_POOL_SOLVABLES(p)
	{
		if (s->with_driver && is_driver(pool, &pool->solvables[p]))
			queue_push2(&s->jobs, SOLVER_DISFAVOR | SOLVER_SOLVABLE, p);
	}
}

static int add_roots(struct rpm_session *s, const struct source_request *requests, size_t count,
		     struct error *err)
{
	release_roots(s);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < requests[i].package_count; k++) {
			if (add_root(s, &requests[i], &requests[i].packages[k], err) < 0)
				return -1;
		}
	}
	favour_kept(s);
	disfavour_driver(s);
	return 0;
}

/* ---- file dependencies ---- */

/* Whether a dependency names a file that no package is known to have. */
static bool lacks_file(Pool *pool, Id dep)
{
	if (ISRELDEP(dep)) {
		Reldep *rel = GETRELDEP(pool, dep);

		switch (rel->flags) {
		case REL_AND:
		case REL_OR:
		case REL_WITH:
		case REL_WITHOUT:
		case REL_COND:
		case REL_UNLESS:
		case REL_ELSE:
			return lacks_file(pool, rel->name) || lacks_file(pool, rel->evr);
		default:
			return false;
		}
	}
	return *pool_id2str(pool, dep) == '/' &&
	       !pool->whatprovidesdata[pool_whatprovides(pool, dep)];
}

/*
 * Whether anything that could come in needs a file that the primary metadata does not list. What
 * could come in is everything reachable through Requires: more than what will.
 */
static bool needs_filelists(struct rpm_session *s)
{
	Pool *pool = s->pool;
	Queue todo, requires;
	Map seen;
	bool found = false;
	Id p, pp;

	map_init(&seen, pool->nsolvables);
	queue_init(&todo);
	queue_init(&requires);
	for (size_t i = 0; i < s->roots.len; i++)
		queue_insertn(&todo, todo.count, s->roots.items[i].solvables.count,
			      s->roots.items[i].solvables.elements);
	while (todo.count && !found) {
		Id at = queue_pop(&todo);

		if (MAPTST(&seen, at))
			continue;
		map_set(&seen, at);
		queue_empty(&requires);
		solvable_lookup_deparray(pool_id2solvable(pool, at), SOLVABLE_REQUIRES, &requires,
					 0);
		for (int i = 0; i < requires.count && !found; i++) {
			found = lacks_file(pool, requires.elements[i]);
			FOR_PROVIDES(p, pp, requires.elements[i])
			{
				if (!MAPTST(&seen, p))
					queue_push(&todo, p);
			}
		}
	}
	queue_free(&requires);
	queue_free(&todo);
	map_free(&seen);
	return found;
}

static int add_filelists(struct rpm_session *s, struct error *err)
{
	for (size_t i = 0; i < s->repos.len; i++) {
		struct rpm_repo *r = s->repos.items[i];

		if (!r->index.filelists.location)
			continue;
		out_verbose(s->context->out, "%s: reading its file lists", r->source->id);
		if (add_metadata(s, r, &r->index.filelists, "FL",
				 REPO_EXTEND_SOLVABLES | REPO_LOCALPOOL, err) < 0)
			return error_wrap(err, "source '%s'", r->source->id);
	}
	s->has_filelists = true;
	prepare(s);
	return 0;
}

/* With the packages of the driver, or as if there were none. */
static int try_resolve(struct rpm_session *s, const struct source_request *requests, size_t count,
		       bool with_driver, bool quiet, bool *out_solved, struct error *err)
{
	if (s->with_driver != with_driver) {
		s->with_driver = with_driver;
		prepare(s);
	}
	if (add_roots(s, requests, count, err) < 0)
		return -1;
	/* Selections are good for one reading of the providers only. */
	if (!s->has_filelists && needs_filelists(s) &&
	    (add_filelists(s, err) < 0 || add_roots(s, requests, count, err) < 0))
		return -1;
	return rpmmd_solve(s, quiet, out_solved, err);
}

static bool has_driver(const struct rpm_session *s)
{
	Pool *pool = s->pool;
	Id p;

	FOR_POOL_SOLVABLES(p)
	{
		if (is_driver(pool, &pool->solvables[p]))
			return true;
	}
	return false;
}

static int resolve(struct rpm_session *s, const struct source_request *requests, size_t count,
		   struct error *err)
{
	bool again = has_driver(s), solved = false;

	s->stage = count && requests[0].stage ? requests[0].stage->name : "";
	if (try_resolve(s, requests, count, false, again, &solved, err) < 0)
		return -1;
	return solved || !again ? 0 : try_resolve(s, requests, count, true, false, &solved, err);
}

/* ---- sessions ---- */

static void session_free(struct rpm_session *s)
{
	session_release(s);
	free(s);
}

void rpm_sessions_release(struct rpm_sessions *sessions)
{
	for (size_t i = 0; i < sessions->len; i++)
		session_free(sessions->items[i]);
	vec_release(sessions);
}

/* The session of the platform: kept where the context has a place for it, else the caller's. */
static struct rpm_session *open_session(const struct source_context *context, struct error *err)
{
	cleanup_free char *machine = source_url_fill("{arch}", &context->platform);
	struct rpm_session *s;

	if (!machine) {
		error_set(err, ERROR_USAGE, "RPM has no architecture for %s/%s",
			  context->platform.os, context->platform.architecture);
		return NULL;
	}
	for (size_t i = 0; context->rpm && i < context->rpm->len; i++) {
		s = context->rpm->items[i];
		if (str_equal(s->machine, machine)) {
			s->context = context;
			return s;
		}
	}
	s = xcalloc(1, sizeof(*s));
	s->context = context;
	s->access = (struct rpmmd_access){ .store = context->store, .http = context->http };
	s->machine = steal_ptr(&machine);
	queue_init(&s->jobs);
	if (open_all(s, err) < 0) {
		session_free(s);
		return NULL;
	}
	if (context->rpm)
		vec_push(context->rpm, s);
	return s;
}

int rpmmd_resolve(const struct source_context *context, const struct source_request *requests,
		  size_t count, struct error *err)
{
	struct rpm_session *s = open_session(context, err);
	int rc;

	if (!s)
		return -1;
	rc = resolve(s, requests, count, err);
	if (!context->rpm)
		session_free(s);
	return rc;
}

/* Better first by the wish, then by the CUDA it was built for, then by version. */
static const char *best_offer(const struct rpm_session *s, const char *id, const char *name,
			      const struct version_wish *wish)
{
	Pool *pool = s->pool;
	const char *best = NULL;
	int best_rank = 0;
	Id p;

	FOR_POOL_SOLVABLES(p)
	{
		const Solvable *it = &pool->solvables[p];
		const char *evr = pool_id2str(pool, it->evr);
		int rank;

		if (!MAPTST(&s->considered, p) || !str_equal(it->repo->name, id) ||
		    !str_equal(pool_id2str(pool, it->name), name) ||
		    (!str_equal(pool_id2str(pool, it->arch), s->machine) &&
		     it->arch != ARCH_NOARCH) ||
		    (wish->marked && !rpmmd_names_cuda(evr)))
			continue;
		rank = version_meets(slice_str(evr), wish);
		if (rank > best_rank || (rank && rank == best_rank &&
					 pool_evrcmp_str(pool, evr, best, EVRCMP_COMPARE) > 0)) {
			best = evr;
			best_rank = rank;
		}
	}
	return best;
}

int rpmmd_offers(const struct source_context *context, const struct stack_source *source,
		 const char *name, const struct version_wish *wish, const char **out,
		 struct error *err)
{
	struct rpm_session *s = open_session(context, err);
	const char *best;

	*out = NULL;
	if (!s)
		return -1;
	best = best_offer(s, source->id, name, wish);
	*out = best ? arena_strdup(&context->lock->arena, best) : NULL;
	if (!context->rpm)
		session_free(s);
	return 0;
}
