#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

static bool is_judged(const struct facts *facts, const struct object *o)
{
	return o->reachable && o->elf->interp && o->elf->machine == facts->machine &&
	       !path_is_sample(o->path);
}

/* The loader a program asks for, when it is not there or of another machine; else NULL. */
static const char *broken(const struct facts *facts, const struct object *o)
{
	const char *real = NULL;
	const struct object *loader = facts_object(facts, o->elf->interp);

	if (!facts_resolve(facts, o->elf->interp, &real))
		return "is not in the image";
	if (loader && loader->elf->machine != o->elf->machine)
		return "is for another machine";
	return NULL;
}

/* The programs that ask for one loader. */
struct group {
	const struct object *first;
	size_t programs;
};

static void collect(const struct facts *facts, struct map *groups)
{
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		struct group *g;

		if (!is_judged(facts, o))
			continue;
		g = map_get(groups, o->elf->interp);
		if (!g) {
			g = arena_alloc(facts_arena(facts), sizeof(*g));
			g->first = o;
			map_put(groups, o->elf->interp, g);
		}
		g->programs++;
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	cleanup_map struct map groups = { 0 };

	(void)err;
	collect(facts, &groups);
	for (size_t i = 0; i < groups.len; i++) {
		const struct group *g = groups.entries[i].value;
		const struct object *o = g->first;
		const char *problem = broken(facts, o);

		if (!problem)
			continue;
		finding_add(found, rule, o->path, facts_layer(facts, o->node), o->elf->interp,
			    "%s%s asks for the loader %s, which %s: starting it ends with \"no "
			    "such file "
			    "or directory\" although the program is there.",
			    o->path, g->programs > 1 ? " (and other programs)" : "", o->elf->interp,
			    problem);
	}
	return 0;
}

const struct rule rule_lnk003 = {
	.id = "LNK003",
	.name = "interpreter-missing",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_ALL_LAYERS,
	.what = "The loader (PT_INTERP) of a program that can be started is not in the image.",
	.why = "The kernel says \"no such file or directory\" for the program itself. Usual "
	       "causes: a "
	       "program built for glibc in a musl image, or one copied into an image without a C "
	       "library.",
	.fix = "Use a base with that C library, or link the program statically.",
	.sources = "execve(2), ENOENT; System V gABI, \"Program Interpreter\"",
	.check = check,
};
