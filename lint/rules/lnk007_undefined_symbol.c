#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/loader.h"
#include "lint/rule.h"
#include "lint/versions.h"

/* Which library defines the symbols that begin so. */
static const struct {
	const char *symbol;
	const char *library;
} families[] = {
	{ "nccl", "libnccl.so." },
	{ "pnccl", "libnccl.so." },
	{ "cudnn", "libcudnn.so." },
	{ "cublasLt", "libcublasLt.so." },
	{ "cublas", "libcublas.so." },
	{ "nvJitLink", "libnvJitLink.so." },
	{ "__nvJitLink", "libnvJitLink.so." },
	{ "nvrtc", "libnvrtc.so." },
	{ "cusparseLt", "libcusparseLt.so." },
	{ "cusparse", "libcusparse.so." },
};

/* Symbols of one object that are looked for in all that is loaded with it. */
enum { ASKED_MAX = 100 };

static const char *library_of(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		if (str_starts(symbol, families[i].symbol))
			return families[i].library;
	}
	return NULL;
}

/* The copy of the library that the object itself gets; NULL: none, or it is not known well. */
static const struct loader_edge *provider(const struct facts *facts, const struct object *o,
					  const char *library)
{
	const struct loader_edge *e = loader_edges(facts->loader, o), *found = NULL;

	for (; e; e = e->next) {
		if (!str_starts(e->name, library))
			continue;
		if (!e->to || !e->to->elf->symbols_known || !e->to->elf->export_count)
			return NULL;
		/* In different processes it gets different copies: each of them is another's. */
		if (found)
			return NULL;
		found = e;
	}
	return found;
}

/* All that is loaded together with the object, in any process, has the symbol nowhere. */
static bool nobody_defines(const struct facts *facts, const struct object *o, const char *symbol)
{
	cleanup_map struct map above = { 0 }, all = { 0 };
	struct object_names queue = { 0 };
	bool defined = false;

	vec_push(&queue, o);
	map_put(&above, o->path, &queue);
	for (size_t i = 0; i < queue.len; i++) {
		struct object_names users = { 0 };

		loader_users(facts->loader, queue.items[i], &users);
		for (size_t k = 0; k < users.len; k++) {
			if (map_has(&above, users.items[k]->path))
				continue;
			map_put(&above, users.items[k]->path, &queue);
			vec_push(&queue, users.items[k]);
		}
		vec_release(&users);
	}
	for (size_t i = 0; i < queue.len; i++)
		loader_reach(facts->loader, queue.items[i], &all);
	for (size_t i = 0; i < all.len && !defined; i++) {
		const struct object *other = all.entries[i].value;

		defined = elf_exports(other->elf, symbol) || !other->elf->symbols_known;
	}
	vec_release(&queue);
	return !defined;
}

/* Something the object needs is missing: that is the finding. */
static bool is_incomplete(const struct facts *facts, const struct object *o)
{
	const struct loader_report *missing = loader_missing(facts->loader);

	for (size_t i = 0; i < missing->len; i++) {
		if (missing->items[i].object == o)
			return true;
	}
	return false;
}

static const char *loser(const struct facts *facts, const struct loader_edge *e, const char *symbol)
{
	const struct object_names *named = facts_named(facts, e->name);

	for (size_t i = 0; named && i < named->len; i++) {
		const struct object *o = named->items[i];
		const char *version;

		if (o == e->to || o->elf->machine != e->from->elf->machine ||
		    !elf_exports(o->elf, symbol))
			continue;
		version = library_version(facts, o);
		return arena_printf(facts_arena(facts), "; %s%s%s has it", o->path,
				    version ? " of version " : "", version ? version : "");
	}
	return "";
}

static void check_object(const struct rule *rule, const struct facts *facts, struct findings *found,
			 const struct object *o)
{
	const struct loader_edge *reported[ARRAY_LEN(families)] = { 0 };
	size_t count = 0, asked = 0;

	for (size_t i = 0; i < o->elf->undefined_count; i++) {
		const struct undefined_symbol *s = &o->elf->undefined[i];
		const char *library = s->weak ? NULL : library_of(s->name), *version;
		const struct loader_edge *e = library ? provider(facts, o, library) : NULL;
		bool known = !e || elf_exports(e->to->elf, s->name);

		for (size_t k = 0; k < count; k++)
			known |= reported[k] == e;
		if (known || count == ARRAY_LEN(reported) || ++asked > ASKED_MAX ||
		    !nobody_defines(facts, o, s->name) || is_incomplete(facts, o))
			continue;
		reported[count++] = e;
		version = library_version(facts, e->to);
		finding_add(found, rule, o->path, facts_layer(facts, o->node), e->name,
			    "%s needs the symbol %s, which %s%s%s (found by %s) does not have%s.",
			    o->path, s->name, e->to->path, version ? " of version " : "",
			    version ? version : "", e->via, loser(facts, e, s->name));
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		if (o->elf->undefined_count && object_is_used(facts, o))
			check_object(rule, facts, found, o);
	}
	return 0;
}

const struct rule rule_lnk007 = {
	.id = "LNK007",
	.name = "undefined-symbol",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_LIKELY,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "A program or module needs a function of NCCL, cuDNN, cuBLAS, cuSPARSE, nvJitLink "
		"or "
		"NVRTC that the copy which the loader takes does not have.",
	.why = "Loading it ends with \"undefined symbol\". Usually an older copy of the library is "
	       "found before the one that was installed for it.",
	.fix = "Remove the older copy, or take its directory from LD_LIBRARY_PATH.",
	.sources = "ld.so(8); System V gABI, \"Symbol Table\"",
	.check = check,
};
