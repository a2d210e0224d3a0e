#include "manifests/solver.h"

#include "base/nearest.h"
#include "base/strbuf.h"
#include "manifests/dotted.h"
#include "manifests/require.h"
#include "manifests/solver_search.h"

int solver_floor(const char *text, struct arena *arena, const char **out, struct error *err)
{
	struct slice s = slice_trim(slice_str(text));

	if (slice_starts(s, ">="))
		s = slice_trim(slice_of(s.data + 2, s.len - 2));
	if (!dotted_is(s))
		return error_set(err, ERROR_USAGE,
				 "stack.driver: '%.60s' is not a floor such as >=535.183.06", text);
	*out = arena_slice(arena, s);
	return 0;
}

static int add_clause(struct solver_problem *p, enum solver_clause_kind kind, const char *key,
		      const char *value, size_t index, struct error *err)
{
	if (p->clause_count == SOLVER_CLAUSES_MAX)
		return error_set(err, ERROR_LIMIT, "stack: more than %d clauses",
				 SOLVER_CLAUSES_MAX);
	p->clauses[p->clause_count++] =
		(struct solver_clause){ .kind = kind, .key = key, .value = value, .index = index };
	return 0;
}

static int add_range(struct solver_problem *p, enum solver_clause_kind kind, const char *key,
		     const char *value, const char **out, struct error *err)
{
	if (!value)
		return 0;
	if (dotted_range_check(value, err) < 0)
		return error_wrap(err, "stack.%s", key);
	*out = value;
	return add_clause(p, kind, key, value, 0, err);
}

static int add_gpus(struct solver_problem *p, const struct stack_request *s, struct error *err)
{
	p->gpus = arena_array(p->arena, s->gpus.count + 1, sizeof(*p->gpus));
	for (size_t i = 0; i < s->gpus.count; i++) {
		if (gpu_target_find(&p->tables->gpus, s->gpus.items[i], &p->gpus[p->gpu_count++],
				    err) < 0)
			return error_wrap(err, "stack.gpus");
		if (add_clause(p, CLAUSE_GPU, "gpus", s->gpus.items[i], i, err) < 0)
			return -1;
	}
	return 0;
}

static int unknown_framework(const struct solver_problem *p, const char *name, struct error *err)
{
	const struct table_frameworks *t = &p->tables->frameworks;
	cleanup_strbuf struct strbuf names = { 0 };
	struct nearest n = nearest_start(name);

	for (size_t i = 0; i < t->builds.len; i++)
		nearest_try(&n, t->builds.items[i].framework);
	if (n.best)
		return error_set(err, ERROR_USAGE,
				 "stack.framework: nothing is known of '%.60s'; did you mean %s?",
				 name, n.best);
	for (size_t i = 0; i < t->builds.len; i++) {
		const char *known = t->builds.items[i].framework; /* sorted by it */

		if (!i || !str_equal(known, t->builds.items[i - 1].framework))
			strbuf_addf(&names, "%s%s", names.len ? ", " : "", known);
	}
	return error_set(err, ERROR_USAGE,
			 "stack.framework: nothing is known of '%.60s'; known are %s. Name others "
			 "among a stage's packages",
			 name, strbuf_text(&names));
}

/* A framework that another pins: it takes part, under the other's clause. */
static void add_pinned_framework(struct solver_problem *p, size_t owner)
{
	const struct table_frameworks *t = &p->tables->frameworks;
	const char *needs = NULL;

	for (size_t i = 0; i < t->builds.len && !needs; i++) {
		if (str_equal(t->builds.items[i].framework, p->frameworks[owner]))
			needs = t->builds.items[i].needs;
	}
	for (size_t i = 0; needs && i < p->framework_count; i++) {
		if (str_equal(p->frameworks[i], needs))
			return;
	}
	if (!needs || p->framework_count == SOLVER_FRAMEWORKS_MAX)
		return;
	p->frameworks[p->framework_count] = needs;
	p->ranges[p->framework_count] = "";
	p->owners[p->framework_count++] = owner;
}

static int add_frameworks(struct solver_problem *p, const struct stack_request *s,
			  struct error *err)
{
	if (s->framework.count > SOLVER_FRAMEWORKS_MAX)
		return error_set(err, ERROR_LIMIT, "stack.framework: more than %d frameworks",
				 SOLVER_FRAMEWORKS_MAX);
	for (size_t i = 0; i < s->framework.count; i++) {
		const char *name = s->framework.items[i].key;
		const char *range = s->framework.items[i].value;

		if (str_equal(range, "*"))
			range = "";
		if (!framework_known(&p->tables->frameworks, name))
			return unknown_framework(p, name, err);
		if (*range && dotted_range_check(range, err) < 0)
			return error_wrap(err, "stack.framework.%s", name);
		p->frameworks[i] = name;
		p->ranges[i] = range;
		p->owners[i] = i;
		p->framework_count++;
		if (add_clause(p, CLAUSE_FRAMEWORK, arena_printf(p->arena, "framework.%s", name),
			       *range ? range : "*", i, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < s->framework.count; i++)
		add_pinned_framework(p, i);
	return 0;
}

static int add_base(struct solver_problem *p, const struct solver_request *r, struct error *err)
{
	const struct base_system *system = NULL;

	if (r->base_image) {
		p->ngc = ngc_find(&p->tables->images, r->base_image);
		system = base_system_of(&p->tables->images, r->base_image);
		if (add_clause(p, CLAUSE_BASE, "base.image", r->base_image, 0, err) < 0)
			return -1;
	}
	if (system) {
		p->glibc = system->glibc ? system->glibc : "";
		p->glibc_origin = system->origin;
	}
	if (r->glibc) {
		if (!dotted_is(slice_str(r->glibc)))
			return error_set(err, ERROR_USAGE, "glibc '%.40s' is not a version",
					 r->glibc);
		p->glibc = r->glibc;
		return add_clause(p, CLAUSE_GLIBC, "glibc", r->glibc, 0, err);
	}
	return 0;
}

static int read_problem(const struct solver_request *r, struct solver_problem *p, struct error *err)
{
	const struct stack_request *s = r->stack;

	p->compat = s->compat;
	p->libraries = s->libraries;
	p->arm64 = r->arm64 && !r->amd64;
	p->flavour = r->flavour;
	if (s->driver) {
		if (solver_floor(s->driver, p->arena, &p->floor, err) < 0 ||
		    add_clause(p, CLAUSE_DRIVER, "driver", s->driver, 0, err) < 0)
			return -1;
	}
	if (add_gpus(p, s, err) < 0 ||
	    add_range(p, CLAUSE_CUDA, "cuda", s->cuda, &p->cuda, err) < 0 ||
	    add_range(p, CLAUSE_CUDNN, "cudnn", s->cudnn, &p->cudnn, err) < 0 ||
	    add_range(p, CLAUSE_NCCL, "nccl", s->nccl, &p->nccl, err) < 0 ||
	    add_frameworks(p, s, err) < 0 ||
	    add_range(p, CLAUSE_PYTHON, "python", s->python, &p->python, err) < 0)
		return -1;
	if (s->compat == COMPAT_NEVER &&
	    add_clause(p, CLAUSE_COMPAT, "compat", "never", 0, err) < 0)
		return -1;
	return add_base(p, r, err);
}

int solver_find(const struct tables *tables, const struct solver_request *request,
		struct solution *out, struct error *err)
{
	struct solver_problem p = { .tables = tables };
	solver_mask all;

	*out = (struct solution){ .require_cuda = "" };
	p.arena = &out->arena;
	if (read_problem(request, &p, err) < 0) {
		solution_release(out);
		return -1;
	}
	all = p.clause_count == 64 ? UINT64_MAX : (UINT64_C(1) << p.clause_count) - 1;
	out->solved = solver_search(&p, all, &out->choice, NULL);
	if (out->solved)
		solver_describe(&p, all, out);
	else
		solver_explain(&p, all, out);
	return 0;
}

void solution_release(struct solution *solution)
{
	free(solution->sentences.items);
	free(solution->warnings.items);
	free(solution->reasons.items);
	free(solution->repairs.items);
	arena_release(&solution->arena);
	*solution = (struct solution){ 0 };
}
