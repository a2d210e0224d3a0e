#include "manifests/dotted.h"
#include "manifests/solver_search.h"

/* Clauses are left out in this order, so that what remains speaks of the weightier ones. */
static const enum solver_clause_kind by_weight[] = {
	CLAUSE_GLIBC, CLAUSE_COMPAT, CLAUSE_PYTHON, CLAUSE_NCCL,      CLAUSE_CUDNN,
	CLAUSE_BASE,  CLAUSE_GPU,    CLAUSE_CUDA,   CLAUSE_FRAMEWORK, CLAUSE_DRIVER,
};

/* Which sets of clauses have been found to clash, or not: the rounds ask for the same ones again.
 */
struct asked_before {
	struct {
		solver_mask mask;
		bool solved;
	} * items;
	size_t len, cap;
};

static bool can_be_had(const struct solver_problem *p, solver_mask mask, struct asked_before *asked)
{
	struct solver_choice ignored;

	for (size_t i = 0; i < asked->len; i++) {
		if (asked->items[i].mask == mask)
			return asked->items[i].solved;
	}
	vec_add(asked)->mask = mask;
	return asked->items[asked->len - 1].solved = solver_search(p, mask, &ignored, NULL);
}

/* One round of leaving out what the clash does not need. */
static solver_mask fewer_clauses(const struct solver_problem *p, solver_mask mask,
				 struct asked_before *asked)
{
	for (size_t k = 0; k < ARRAY_LEN(by_weight); k++) {
		for (size_t i = 0; i < p->clause_count; i++) {
			solver_mask less = mask & ~(UINT64_C(1) << i);

			if (p->clauses[i].kind == by_weight[k] && less != mask &&
			    !can_be_had(p, less, asked))
				mask = less;
		}
	}
	return mask;
}

/*
 * A set of clauses that cannot hold together, and can without any one of them. A clause less is
 * not always a weaker question (without a framework the toolkit's own compilers decide about a
 * GPU), so one round is not always enough.
 */
static solver_mask minimal_conflict(const struct solver_problem *p, solver_mask mask)
{
	struct asked_before asked = { 0 };
	solver_mask before;

	do {
		before = mask;
		mask = fewer_clauses(p, mask, &asked);
	} while (mask != before);
	vec_release(&asked);
	return mask;
}

/* What a repaired problem gives, in a few words. */
static const char *outcome(const struct solver_problem *p, const struct solver_choice *c)
{
	cleanup_strbuf struct strbuf text = { 0 };

	for (size_t i = 0; i < c->build_count; i++)
		strbuf_addf(&text, "%s%s", text.len ? ", " : "",
			    framework_build_name(c->builds[i], p->arena));
	if (c->toolkit)
		strbuf_addf(&text, "%sCUDA %s", text.len ? ", " : "", c->toolkit->version);
	if (c->cudnn)
		strbuf_addf(&text, ", cuDNN %s", c->cudnn);
	if (c->nccl)
		strbuf_addf(&text, ", NCCL %s", c->nccl);
	if (c->compat)
		strbuf_adds(&text, ", with the compatibility package");
	if (!text.len)
		strbuf_adds(&text, "the rest holds");
	return arena_slice(p->arena, strbuf_slice(&text));
}

/* Solve the changed problem; a success is a repair. */
static bool try_repair(const struct solver_problem *changed, solver_mask mask, const char *key,
		       const char *value, struct solution *out)
{
	struct solver_choice choice;
	struct solver_repair r = { .key = key, .value = value };

	if (!solver_search(changed, mask, &choice, NULL))
		return false;
	if (value)
		r.sentence = arena_printf(changed->arena, "set %s to %s: %s", key, value,
					  outcome(changed, &choice));
	else
		r.sentence = arena_printf(changed->arena, "leave %s out: %s", key,
					  outcome(changed, &choice));
	vec_push(&out->repairs, r);
	return true;
}

struct versions {
	const char **items; /* oldest first */
	size_t len, cap;
};

static int compare_versions(const void *a, const void *b)
{
	return dotted_order(*(const char *const *)a, *(const char *const *)b);
}

static void add_version(struct versions *list, const char *version)
{
	for (size_t i = 0; i < list->len; i++) {
		if (str_equal(list->items[i], version))
			return;
	}
	vec_push(list, version);
}

/* "2.7.1" → "2.7" */
static const char *series(const char *version, struct arena *arena)
{
	return arena_printf(arena, "%llu.%llu", (unsigned long long)dotted_number(version, 0),
			    (unsigned long long)dotted_number(version, 1));
}

/* The branch with which a CUDA major begins; there the exact driver counts. */
static bool begins_major(const struct table_toolkits *t, unsigned branch)
{
	for (size_t i = 0; i < t->major_count; i++) {
		if (t->majors[i].min_branch == branch)
			return true;
	}
	return false;
}

static struct versions candidates(const struct solver_problem *p, const struct solver_clause *c)
{
	const struct tables *t = p->tables;
	struct versions list = { 0 };

	if (c->kind == CLAUSE_CUDA) {
		for (size_t i = 0; i < t->toolkits.count; i++)
			add_version(&list, t->toolkits.items[i].minor);
	} else if (c->kind == CLAUSE_FRAMEWORK) {
		for (size_t i = 0; i < t->frameworks.builds.len; i++) {
			const struct framework_build *b = &t->frameworks.builds.items[i];

			if (str_equal(b->framework, p->frameworks[c->index]))
				add_version(&list, series(b->version, p->arena));
		}
	} else if (c->kind == CLAUSE_CUDNN) {
		for (size_t i = 0; i < t->libraries.cudnn_count; i++)
			add_version(&list, series(t->libraries.cudnn[i].version, p->arena));
	} else if (c->kind == CLAUSE_NCCL) {
		for (size_t i = 0; i < t->libraries.nccl_count; i++)
			add_version(&list, series(t->libraries.nccl[i].version, p->arena));
	} else if (c->kind == CLAUSE_DRIVER) {
		for (size_t i = 0; i < t->toolkits.major_count; i++) {
			if (t->toolkits.majors[i].min_driver)
				add_version(&list, t->toolkits.majors[i].min_driver);
		}
		for (size_t i = 0; i < t->drivers.count; i++) {
			if (!begins_major(&t->toolkits, t->drivers.items[i].branch))
				add_version(&list, arena_printf(p->arena, "%u",
								t->drivers.items[i].branch));
		}
	} else if (c->kind == CLAUSE_GLIBC) {
		for (size_t i = 0; i < t->images.system_count; i++) {
			if (t->images.systems[i].glibc)
				add_version(&list, t->images.systems[i].glibc);
		}
	}
	vec_sort(&list, compare_versions);
	return list;
}

/* The clause with another value. */
static const char *change(struct solver_problem *p, const struct solver_clause *c,
			  const char *version)
{
	const char *range = arena_printf(p->arena, "%s.*", version);

	switch (c->kind) {
	case CLAUSE_CUDA:
		p->cuda = version;
		return version;
	case CLAUSE_CUDNN:
		p->cudnn = range;
		return range;
	case CLAUSE_NCCL:
		p->nccl = range;
		return range;
	case CLAUSE_FRAMEWORK:
		p->ranges[c->index] = range;
		return range;
	case CLAUSE_GLIBC:
		p->glibc = version;
		return arena_printf(p->arena, "%s or newer", version);
	default:
		p->floor = version;
		return arena_printf(p->arena, ">=%s", version);
	}
}

/* True when the clause as written already allows the version. */
static bool allows(const struct solver_problem *p, const struct solver_clause *c,
		   const char *version)
{
	switch (c->kind) {
	case CLAUSE_CUDA:
		return dotted_in(version, p->cuda);
	case CLAUSE_CUDNN:
		return dotted_in(version, p->cudnn);
	case CLAUSE_NCCL:
		return dotted_in(version, p->nccl);
	case CLAUSE_FRAMEWORK:
		return dotted_in(version, p->ranges[c->index]);
	case CLAUSE_GLIBC:
		return dotted_order(version, p->glibc) == 0;
	default:
		return dotted_order(version, p->floor) == 0;
	}
}

/* Where the clause stands among the candidates: the first that is not older than it allows. */
static size_t position(const struct solver_problem *p, const struct solver_clause *c,
		       const struct versions *list)
{
	const char *floor = c->kind == CLAUSE_DRIVER  ? p->floor
			    : c->kind == CLAUSE_GLIBC ? p->glibc
						      : c->value + strcspn(c->value, "0123456789");

	for (size_t i = 0; i < list->len; i++) {
		if (allows(p, c, list->items[i]) || dotted_order(list->items[i], floor) >= 0)
			return i;
	}
	return list->len;
}

static void repair_version(const struct solver_problem *p, solver_mask mask,
			   const struct solver_clause *c, struct solution *out)
{
	struct versions list = candidates(p, c);
	size_t at = position(p, c, &list);

	for (size_t i = at; i < list.len; i++) { /* the nearest newer one */
		struct solver_problem q = *p;

		if (!allows(p, c, list.items[i]) &&
		    try_repair(&q, mask, c->key, change(&q, c, list.items[i]), out))
			break;
	}
	for (size_t i = MIN(at, list.len); i-- > 0;) { /* the nearest older one */
		struct solver_problem q = *p;

		if (!allows(p, c, list.items[i]) &&
		    try_repair(&q, mask, c->key, change(&q, c, list.items[i]), out))
			break;
	}
	vec_release(&list);
}

/* The clause without its bounds: what is then chosen is the value to set. */
static void repair_by_choice(const struct solver_problem *p, solver_mask mask, size_t clause,
			     struct solution *out)
{
	const struct solver_clause *c = &p->clauses[clause];
	struct solver_problem q = *p;
	struct solver_choice choice;
	const char *value;

	if (c->kind == CLAUSE_CUDNN)
		q.cudnn = "";
	else if (c->kind == CLAUSE_NCCL)
		q.nccl = "";
	else if (c->kind == CLAUSE_PYTHON)
		q.python = "";
	else
		q.compat = COMPAT_AUTO;
	if (!solver_search(&q, mask, &choice, NULL))
		return;
	value = c->kind == CLAUSE_CUDNN    ? choice.cudnn
		: c->kind == CLAUSE_NCCL   ? choice.nccl
		: c->kind == CLAUSE_PYTHON ? choice.python
					   : "auto";
	try_repair(&q, mask, c->key, value, out);
}

static void repair(const struct solver_problem *p, solver_mask mask, size_t clause,
		   struct solution *out)
{
	const struct solver_clause *c = &p->clauses[clause];

	size_t before = out->repairs.len;

	switch (c->kind) {
	case CLAUSE_CUDNN:
	case CLAUSE_NCCL:
	case CLAUSE_PYTHON:
	case CLAUSE_COMPAT:
		repair_by_choice(p, mask, clause, out);
		break;
	case CLAUSE_GPU:
		try_repair(p, mask & ~(UINT64_C(1) << clause),
			   arena_printf(p->arena, "gpus: %s", c->value), NULL, out);
		break;
	case CLAUSE_BASE:
		try_repair(p, mask & ~(UINT64_C(1) << clause), c->key, NULL, out);
		break;
	default:
		repair_version(p, mask, c, out);
	}
	if (c->kind == CLAUSE_FRAMEWORK && out->repairs.len == before && p->framework_count > 1)
		try_repair(p, mask & ~(UINT64_C(1) << clause), c->key, NULL, out);
}

/* The clause of a conflict that is easiest to give up. */
static solver_mask lightest(const struct solver_problem *p, solver_mask conflict)
{
	for (size_t k = 0; k < ARRAY_LEN(by_weight); k++) {
		for (size_t i = 0; i < p->clause_count; i++) {
			if (p->clauses[i].kind == by_weight[k] && (conflict & (UINT64_C(1) << i)))
				return UINT64_C(1) << i;
		}
	}
	return conflict;
}

/* When no single change helps, since there are several conflicts: what to leave out together. */
static void repair_several(const struct solver_problem *p, solver_mask mask, solver_mask conflict,
			   struct solution *out)
{
	cleanup_strbuf struct strbuf keys = { 0 };
	solver_mask less = mask & ~lightest(p, conflict);
	struct solver_choice choice;

	while (!solver_search(p, less, &choice, NULL))
		less &= ~lightest(p, minimal_conflict(p, less));
	for (size_t i = 0; i < p->clause_count; i++) { /* some may stay after all */
		solver_mask more = less | (mask & (UINT64_C(1) << i));

		if (more != less && solver_search(p, more, &choice, NULL))
			less = more;
	}
	for (size_t i = 0; i < p->clause_count; i++) {
		if ((mask & ~less) & (UINT64_C(1) << i))
			strbuf_addf(&keys, "%s%s %s", keys.len ? " and " : "", p->clauses[i].key,
				    p->clauses[i].value);
	}
	try_repair(p, less, arena_slice(p->arena, strbuf_slice(&keys)), NULL, out);
}

void solver_explain(struct solver_problem *p, solver_mask mask, struct solution *out)
{
	static const enum solver_clause_kind ranked[] = {
		CLAUSE_NCCL,   CLAUSE_CUDNN,  CLAUSE_PYTHON, CLAUSE_CUDA, CLAUSE_FRAMEWORK,
		CLAUSE_COMPAT, CLAUSE_DRIVER, CLAUSE_GLIBC,  CLAUSE_BASE, CLAUSE_GPU,
	};
	solver_mask conflict = minimal_conflict(p, mask);
	struct solver_why why = { .arena = p->arena, .sentences = &out->reasons };
	struct solver_choice ignored;

	out->conflict = arena_array(p->arena, p->clause_count + 1, sizeof(*out->conflict));
	for (size_t i = 0; i < p->clause_count; i++) {
		if (conflict & (UINT64_C(1) << i))
			out->conflict[out->conflict_count++] = p->clauses[i];
	}
	(void)solver_search(p, conflict, &ignored, &why);
	for (size_t k = 0; k < ARRAY_LEN(ranked); k++) {
		for (size_t i = 0; i < p->clause_count; i++) {
			if (p->clauses[i].kind == ranked[k] && (conflict & (UINT64_C(1) << i)))
				repair(p, mask, i, out);
		}
	}
	if (!out->repairs.len)
		repair_several(p, mask, conflict, out);
}
