#include "manifests/solver_search.h"

#include "manifests/dotted.h"

solver_mask solver_bit(const struct solver_problem *p, enum solver_clause_kind kind, size_t index)
{
	for (size_t i = 0; i < p->clause_count; i++) {
		if (p->clauses[i].kind == kind && p->clauses[i].index == index)
			return UINT64_C(1) << i;
	}
	return 0;
}

void solver_because(struct solver_why *why, const struct table_origin *origin, const char *fmt, ...)
{
	char text[400];
	struct solver_sentence s = { 0 };
	va_list ap;

	if (!why || why->sentences->len >= SOLVER_REASONS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < why->sentences->len; i++) {
		if (str_equal(why->sentences->items[i].text, text))
			return;
	}
	s.text = arena_strdup(why->arena, text);
	if (origin && origin->file)
		s.origins[s.origin_count++] = *origin;
	vec_push(why->sentences, s);
}

/* The builds of one release: items[first … end - 1]. */
struct span {
	size_t first, end;
};

struct search {
	const struct solver_problem *p;
	solver_mask mask;
	struct solver_why *why;
	size_t active[SOLVER_FRAMEWORKS_MAX]; /* the frameworks that are on */
	size_t active_count;
	struct span spans[SOLVER_FRAMEWORKS_MAX];
};

bool solver_build_elsewhere(const struct solver_problem *p, const struct framework_build *b)
{
	if (!p->flavour || b->package || !str_starts(b->flavour, "cu"))
		return false;
	return *p->flavour ? !str_equal(b->flavour, p->flavour) : !b->is_default;
}

static unsigned builds_elsewhere(const struct solver_problem *p, const struct solver_choice *c)
{
	unsigned count = 0;

	for (size_t i = 0; i < c->build_count; i++)
		count += solver_build_elsewhere(p, c->builds[i]);
	return count;
}

/* -1, 0, 1 as a is better than, as good as, worse than b. */
static int compare_choices(const struct solver_problem *p, const struct solver_choice *a,
			   const struct solver_choice *b)
{
	const char *pairs[3][2] = {
		{ a->toolkit ? a->toolkit->version : "0", b->toolkit ? b->toolkit->version : "0" },
		{ a->cudnn ? a->cudnn : "0", b->cudnn ? b->cudnn : "0" },
		{ a->nccl ? a->nccl : "0", b->nccl ? b->nccl : "0" },
	};

	if (a->compat != b->compat)
		return (p->compat == COMPAT_ALWAYS) == a->compat ? -1 : 1;
	if (builds_elsewhere(p, a) != builds_elsewhere(p, b))
		return builds_elsewhere(p, a) < builds_elsewhere(p, b) ? -1 : 1;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		int order = dotted_order(pairs[i][1], pairs[i][0]);

		if (order)
			return order;
	}
	return 0;
}

/* Every way to take one build of each span; keeps the best. */
static bool best_of(struct search *s, size_t depth, size_t count,
		    const struct framework_build **builds, struct solver_choice *best, bool found)
{
	if (depth == count) {
		struct solver_choice made = { 0 };

		if (!solver_complete(s->p, s->mask, builds, count, &made, s->why))
			return found;
		if (found && compare_choices(s->p, &made, best) >= 0)
			return found;
		made.builds = arena_array(s->p->arena, count + 1, sizeof(*made.builds));
		for (size_t i = 0; i < count; i++)
			made.builds[i] = builds[i];
		made.build_count = count;
		*best = made;
		return true;
	}
	for (size_t i = s->spans[depth].first; i < s->spans[depth].end; i++) {
		builds[depth] = &s->p->tables->frameworks.builds.items[i];
		if (!solver_agree(s->p, s->mask, builds, depth + 1, s->why))
			continue;
		found = best_of(s, depth + 1, count, builds, best, found);
	}
	return found;
}

/* The next release of a framework in its range, from position `at` on. */
static bool next_release(const struct solver_problem *p, size_t framework, size_t *at,
			 struct span *out)
{
	const struct table_frameworks *t = &p->tables->frameworks;
	const char *name = p->frameworks[framework];

	for (size_t i = *at; i < t->builds.len; i++) {
		const struct framework_build *b = &t->builds.items[i];
		size_t end = i + 1;

		if (!str_equal(b->framework, name))
			continue;
		while (end < t->builds.len && str_equal(t->builds.items[end].framework, name) &&
		       dotted_order(t->builds.items[end].version, b->version) == 0)
			end++;
		*at = end;
		if (dotted_in(b->version, p->ranges[framework])) {
			*out = (struct span){ .first = i, .end = end };
			return true;
		}
		i = end - 1;
	}
	return false;
}

static const struct table_origin all_releases = { "torch.json, tensorflow.json, jax.json, "
						  "frameworks-other.json",
						  "releases", "" };

static bool search_from(struct search *s, size_t depth, struct solver_choice *out)
{
	const struct framework_build *builds[SOLVER_FRAMEWORKS_MAX];
	size_t at = 0;
	bool any = false;

	if (depth == s->active_count)
		return depth > 0 || best_of(s, 0, 0, builds, out, false);
	while (next_release(s->p, s->active[depth], &at, &s->spans[depth])) {
		struct solver_choice made = { 0 };

		any = true;
		if (!best_of(s, 0, depth + 1, builds, &made, false))
			continue;
		if (depth + 1 == s->active_count)
			*out = made;
		if (search_from(s, depth + 1, out))
			return true;
	}
	if (!any)
		solver_because(s->why, &all_releases,
			       "no release of %s with a known build is in %s",
			       s->p->frameworks[s->active[depth]], s->p->ranges[s->active[depth]]);
	return false;
}

bool solver_search(const struct solver_problem *p, solver_mask mask, struct solver_choice *out,
		   struct solver_why *why)
{
	struct search s = { .p = p, .mask = mask, .why = why };

	*out = (struct solver_choice){ 0 };
	for (size_t i = 0; i < p->framework_count; i++) {
		if (mask & solver_bit(p, CLAUSE_FRAMEWORK, p->owners[i]))
			s.active[s.active_count++] = i;
	}
	return search_from(&s, 0, out);
}
