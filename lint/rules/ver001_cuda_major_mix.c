#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/loader.h"
#include "lint/rule.h"
#include "lint/runtime.h"
#include "lint/versions.h"

enum { MAJORS = 32 };

/* The first user of each CUDA major among what belongs together. */
struct side {
	const struct object *user;
	const char *library;
};

struct group {
	const char *name; /* a Python installation; "" of all others */
	struct side sides[MAJORS];
};

struct groups {
	struct group *items;
	size_t len, cap;
};

static struct group *group_of(struct groups *groups, const char *name)
{
	for (size_t i = 0; i < groups->len; i++) {
		if (str_equal(groups->items[i].name, name))
			return &groups->items[i];
	}
	vec_push(groups, ((struct group){ .name = name }));
	return &groups->items[groups->len - 1];
}

/* Users of CUDA's libraries; these need each other, and hashed copies have names of their own. */
static void collect(const struct facts *facts, struct groups *groups)
{
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const char *site;
		const struct loader_edge *e;

		if (!object_is_used(facts, o) || runtime_is_cuda_library(path_name(o->path)))
			continue;
		site = site_of_path(facts, o->path);
		if (!site)
			continue;
		for (e = loader_edges(facts->loader, o); e; e = e->next) {
			unsigned major = library_cuda_major(e->name);
			struct group *g;

			if (!major || major >= MAJORS || !e->to)
				continue;
			g = group_of(groups, site);
			if (!g->sides[major].user)
				g->sides[major] = (struct side){ o, e->name };
		}
	}
}

/* Both are loaded by one process, by what needs them alone. */
static bool meet(const struct facts *facts, const struct side *a, const struct side *b)
{
	cleanup_map struct map reach = { 0 };

	loader_reach(facts->loader, a->user, &reach);
	if (map_has(&reach, b->user->path))
		return true;
	map_release(&reach);
	reach = (struct map){ 0 };
	loader_reach(facts->loader, b->user, &reach);
	return map_has(&reach, a->user->path);
}

static void report(const struct rule *rule, const struct facts *facts, struct findings *found,
		   const struct group *g, unsigned low, unsigned high)
{
	const struct side *a = &g->sides[low], *b = &g->sides[high];
	struct finding *f;

	f = finding_add(found, rule, a->user->path, facts_layer(facts, a->user->node), "",
			"%s needs %s of CUDA %u, and %s needs %s of CUDA %u, in one Python "
			"installation (%s).",
			a->user->path, a->library, low, b->user->path, b->library, high, g->name);
	if (meet(facts, a, b))
		f->severity = SEVERITY_ERROR;
}

static void check_groups(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	struct groups groups = { 0 };

	collect(facts, &groups);
	for (size_t i = 0; i < groups.len; i++) {
		unsigned low = 0;

		for (unsigned major = 1; major < MAJORS; major++) {
			if (!groups.items[i].sides[major].user)
				continue;
			if (low) {
				report(rule, facts, found, &groups.items[i], low, major);
				break;
			}
			low = major;
		}
	}
	vec_release(&groups);
}

/* "2.1.0+cu121" against what the image says of itself. */
static void check_tags(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	const char *declared = facts_env(facts, "CUDA_VERSION");

	for (size_t i = 0; declared && i < facts->packages.len; i++) {
		const struct package *p = &facts->packages.items[i];
		const char *tag = str_equal(p->kind, "wheel") ? strstr(p->version, "+cu") : NULL;
		uint64_t number;

		if (!tag || !slice_u64(slice_str(tag + 3), &number) || number < 100 ||
		    number / 10 == dotted_number(declared, 0))
			continue;
		finding_add(found, rule, p->path,
			    facts_layer(facts, facts_resolve(facts, p->path, NULL)), "tag",
			    "%s %s is built for CUDA %" PRIu64
			    ", and the image says CUDA_VERSION=%s.",
			    p->name, p->version, number / 10, declared);
		return;
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	check_groups(rule, facts, found);
	check_tags(rule, facts, found);
	return 0;
}

const struct rule rule_ver001 = {
	.id = "VER001",
	.name = "cuda-major-mix",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_LIKELY,
	.needs = NEEDS_GPU_IMAGE,
	.what = "Modules of one Python installation are built for different CUDA majors.",
	.why = "Each brings its own set of CUDA libraries. In one process they share the driver's "
	       "context but not their state: memory of one is no memory of the other's streams, "
	       "and "
	       "the image carries everything twice.",
	.fix = "Take builds of all packages for one CUDA major.",
	.sources =
		"CUDA Compatibility guide; CUDA Runtime API, \"Interactions with the CUDA Driver "
		"API\"",
	.check = check,
};
