#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/loader.h"
#include "lint/rule.h"
#include "lint/runtime.h"
#include "lint/versions.h"

/* The copy that the object's own RUNPATH leads to; NULL: none. */
static const struct object *pinned(const struct facts *facts, const struct object *o,
				   const char *name)
{
	struct slice rest = slice_str(o->elf->runpath ? o->elf->runpath : ""), one;
	const char *dir = path_dir(facts, o->path);

	while (slice_cut(&rest, ':', &one)) {
		const char *element = arena_slice(facts_arena(facts), one);
		const struct object *copy;

		if (str_starts(element, "$ORIGIN"))
			element = arena_printf(facts_arena(facts), "%s%s", dir, element + 7);
		else if (str_starts(element, "${ORIGIN}"))
			element = arena_printf(facts_arena(facts), "%s%s", dir, element + 9);
		if (*element != '/')
			continue;
		copy = facts_object(facts,
				    arena_printf(facts_arena(facts), "%s/%s", element, name));
		if (copy && copy->elf->machine == o->elf->machine)
			return copy;
	}
	return NULL;
}

/* By the first three numbers; unknown versions are the same. */
static bool same_version(const char *a, const char *b)
{
	return !a || !b || dotted_prefix(slice_str(a), slice_str(b));
}

/* Another rule says it: the winner lacks a version or a symbol that this object needs. */
static bool is_anothers(const struct loader_edge *e)
{
	const struct elf_facts *user = e->from->elf, *winner = e->to->elf;

	for (size_t i = 0; i < user->version_need_count; i++) {
		bool has = !winner->version_def_count || user->version_needs[i].weak ||
			   !str_equal(user->version_needs[i].file, e->name);

		for (size_t k = 0; k < winner->version_def_count && !has; k++)
			has = str_equal(winner->version_defs[k], user->version_needs[i].version);
		if (!has)
			return true;
	}
	return str_starts(e->name, "libcudnn");
}

static void check_edge(const struct rule *rule, const struct facts *facts, struct findings *found,
		       const struct loader_edge *e)
{
	const struct object *copy = pinned(facts, e->from, e->name);
	const char *winner, *loser;

	if (!copy || copy == e->to || !runtime_is_cuda_library(e->name) || is_anothers(e))
		return;
	winner = library_version(facts, e->to);
	loser = library_version(facts, copy);
	if (same_version(winner, loser))
		return;
	finding_add(found, rule, e->from->path, facts_layer(facts, e->from->node), e->name,
		    "%s brings %s %s (%s) by its RUNPATH, and %s %s comes first, by %s.",
		    e->from->path, e->name, loser, copy->path, e->to->path, winner, e->via);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const struct loader_edge *e;

		if (!o->elf->runpath || !object_is_used(facts, o))
			continue;
		for (e = loader_edges(facts->loader, o); e; e = e->next) {
			if (e->to && !e->opened && e->via && str_equal(e->via, "LD_LIBRARY_PATH"))
				check_edge(rule, facts, found, e);
		}
	}
	return 0;
}

const struct rule rule_lnk006 = {
	.id = "LNK006",
	.name = "library-shadowed",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE,
	.what = "A library brings its own version of another by RUNPATH, and LD_LIBRARY_PATH makes "
		"the loader take a different one.",
	.why = "LD_LIBRARY_PATH is searched before RUNPATH. What was tested together does not run "
	       "together, which shows as wrong results, missing symbols or slow paths.",
	.fix = "Drop the CUDA directories from LD_LIBRARY_PATH: wheels find theirs by themselves.",
	.sources = "ld.so(8), \"DESCRIPTION\"",
	.check = check,
};
