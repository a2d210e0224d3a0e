#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/loader.h"
#include "lint/rule.h"

/* One library that lacks versions which its users need. */
struct lack {
	const struct object *provider;
	const struct loader_edge *edge; /* of the first user */
	const char *version;            /* the first one missing */
	struct object_list users;
};

struct lacks {
	struct lack *items;
	size_t len, cap;
};

static bool defines(const struct elf_facts *elf, const char *version)
{
	for (size_t i = 0; i < elf->version_def_count; i++) {
		if (str_equal(elf->version_defs[i], version))
			return true;
	}
	return false;
}

/* The first version that `from` needs of the library of an edge and does not get; NULL: none. */
static const char *lacking(const struct loader_edge *e)
{
	const struct elf_facts *user = e->from->elf;

	if (!e->to || e->opened || !e->to->elf->version_def_count)
		return NULL;
	for (size_t i = 0; i < user->version_need_count; i++) {
		const struct version_need *n = &user->version_needs[i];

		if (!n->weak && str_equal(n->file, e->name) && !defines(e->to->elf, n->version))
			return n->version;
	}
	return NULL;
}

static void add(struct lacks *lacks, const struct loader_edge *e, const char *version)
{
	struct lack *l = NULL;

	for (size_t i = 0; i < lacks->len && !l; i++) {
		if (lacks->items[i].provider == e->to)
			l = &lacks->items[i];
	}
	if (!l) {
		vec_push(lacks,
			 ((struct lack){ .provider = e->to, .edge = e, .version = version }));
		l = &lacks->items[lacks->len - 1];
	}
	if (!l->users.len || l->users.items[l->users.len - 1] != e->from)
		vec_push(&l->users, e->from);
}

/* Another copy of the library that has the version, as the end of a sentence. */
static const char *loser(const struct facts *facts, const struct lack *l)
{
	const struct object_names *named = facts_named(facts, l->edge->name);

	for (size_t i = 0; named && i < named->len; i++) {
		const struct object *o = named->items[i];

		if (o != l->provider && o->elf->machine == l->provider->elf->machine &&
		    o->elf->is64 == l->provider->elf->is64 && defines(o->elf, l->version))
			return arena_printf(facts_arena(facts), "; %s has it", o->path);
	}
	return "";
}

static void report(const struct rule *rule, const struct facts *facts, struct findings *found,
		   const struct lack *l)
{
	const struct object *first = l->users.items[0];
	const char *copy = loser(facts, l);
	struct finding *f;

	f = finding_add(found, rule, first->path, facts_layer(facts, first->node), l->edge->name,
			"%s needs version %s of %s, which %s (found by %s) does not define%s%s.",
			first->path, l->version, l->edge->name, l->provider->path, l->edge->via,
			copy,
			l->users.len > 1 ? arena_printf(facts_arena(facts),
							"; %zu more objects lack versions of it",
							l->users.len - 1)
					 : "");
	for (size_t i = 0; i < MIN(l->users.len, (size_t)20); i++)
		finding_evidence(found, f, "object", l->users.items[i]->path);
	if (*copy)
		f->fix =
			str_equal(l->edge->via, "LD_LIBRARY_PATH")
				? "Take the directory that wins out of LD_LIBRARY_PATH."
				: "Let the copy that has the version be found first, or remove the "
				  "older one.";
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	struct lacks lacks = { 0 };

	(void)err;
	for (size_t i = 0; i < facts->objects.len && !facts->is_musl; i++) {
		const struct object *o = &facts->objects.items[i];
		const struct loader_edge *e;

		if (!object_is_used(facts, o))
			continue;
		for (e = loader_edges(facts->loader, o); e; e = e->next) {
			const char *version = lacking(e);

			if (version)
				add(&lacks, e, version);
		}
	}
	for (size_t i = 0; i < lacks.len; i++) {
		report(rule, facts, found, &lacks.items[i]);
		vec_release(&lacks.items[i].users);
	}
	vec_release(&lacks);
	return 0;
}

const struct rule rule_lnk002 = {
	.id = "LNK002",
	.name = "symbol-version-missing",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.what = "A program or module needs a symbol version that the library the loader takes does "
		"not define.",
	.why = "The loader refuses it: \"version `GLIBC_2.38' not found\". It was built on a newer "
	       "system than it runs on, or an older copy of the library (of a conda environment, "
	       "of "
	       "a toolkit directory in LD_LIBRARY_PATH) is found first.",
	.fix = "Build on the base that it runs on, or take a base with that library.",
	.sources = "Linux Standard Base core, \"Symbol Versioning\"; ld.so(8)",
	.check = check,
};
