#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

/* The libraries of one installed torch. */
struct torch {
	const struct python_dist *dist;
	const struct object *libraries[64];
	size_t count;
	bool known; /* what each of them exports */
};

static bool is_torch_library(const char *name)
{
	return str_starts(name, "libtorch") || str_starts(name, "libc10");
}

static void find_libraries(const struct facts *facts, struct torch *torch)
{
	cleanup_free char *lib = xasprintf("%s/torch/", torch->dist->home);

	torch->known = true;
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		if (!str_starts(o->path, lib) || !is_torch_library(path_name(o->path)))
			continue;
		torch->known &= o->elf->symbols_known && torch->count < ARRAY_LEN(torch->libraries);
		if (torch->count < ARRAY_LEN(torch->libraries))
			torch->libraries[torch->count++] = o;
	}
	torch->known &= torch->count >= 2; /* libc10 and libtorch_cpu at least */
}

static bool needs_torch(const struct object *o)
{
	for (size_t i = 0; i < o->elf->needed_count; i++) {
		if (is_torch_library(o->elf->needed[i]))
			return true;
	}
	return false;
}

static bool is_torch_name(const char *symbol)
{
	return str_starts(symbol, "_ZN3c10") || str_starts(symbol, "_ZNK3c10") ||
	       str_starts(symbol, "_ZN2at") || str_starts(symbol, "_ZNK2at") ||
	       str_starts(symbol, "_ZN5torch") || str_starts(symbol, "_ZNK5torch");
}

/* An object beside the extension may define it: packages split their code. */
static bool is_defined(const struct facts *facts, const struct torch *torch, const struct object *o,
		       const char *symbol)
{
	for (size_t i = 0; i < torch->count; i++) {
		if (elf_exports(torch->libraries[i]->elf, symbol))
			return true;
	}
	for (size_t i = 0; i < o->elf->needed_count; i++) {
		const struct object_names *named = facts_named(facts, o->elf->needed[i]);

		for (size_t k = 0; named && k < named->len; k++) {
			if (!named->items[k]->elf->symbols_known ||
			    elf_exports(named->items[k]->elf, symbol))
				return true;
		}
	}
	return elf_exports(o->elf, symbol);
}

/* The first name that is nowhere; *count of them. */
static const char *missing_name(const struct facts *facts, const struct torch *torch,
				const struct object *o, size_t *count)
{
	const char *first = NULL;

	*count = 0;
	for (size_t i = 0; i < o->elf->undefined_count; i++) {
		const struct undefined_symbol *u = &o->elf->undefined[i];

		if (u->weak || !is_torch_name(u->name) || is_defined(facts, torch, o, u->name))
			continue;
		++*count;
		if (!first || strcmp(u->name, first) < 0)
			first = u->name;
	}
	return first;
}

static void check_objects(const struct rule *rule, const struct facts *facts,
			  const struct torch *torch, struct findings *found)
{
	cleanup_free char *home = xasprintf("%s/", torch->dist->home);
	cleanup_free char *own = xasprintf("%s/torch/", torch->dist->home);

	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const char *symbol;
		size_t count;

		if (!str_starts(o->path, home) || str_starts(o->path, own) || !needs_torch(o) ||
		    !o->elf->symbols_known)
			continue;
		symbol = missing_name(facts, torch, o, &count);
		if (symbol)
			finding_add(found, rule, o->path, facts_layer(facts, o->node), "",
				    "%s needs %zu names that torch %s does not export, the first "
				    "is %s%s.",
				    o->path, count, torch->dist->version, symbol,
				    strstr(symbol, "7__cxx11") ? " (of the new string ABI)" : "");
	}
}

/* "2.6" of "2.7.4+cu12torch2.6cxx11abiFALSE"; data NULL: no such tag. */
static struct slice built_for(const char *version)
{
	const char *at = strstr(version, "torch");
	size_t len;

	if (!strchr(version, '+') || !at)
		return (struct slice){ 0 };
	at += strlen("torch");
	len = strspn(at, "0123456789.");
	return memchr(at, '.', len) ? slice_of(at, len) : (struct slice){ 0 };
}

static void check_tags(const struct rule *rule, const struct facts *facts,
		       const struct torch *torch, struct findings *found)
{
	for (size_t i = 0; i < facts->dists.len; i++) {
		const struct python_dist *d = &facts->dists.items[i];
		struct slice wanted = built_for(d->version);
		const char *have = torch->dist->version;

		if (!wanted.data || !str_equal(d->home, torch->dist->home) ||
		    (strncmp(have, (const char *)wanted.data, wanted.len) == 0 &&
		     !(have[wanted.len] >= '0' && have[wanted.len] <= '9')))
			continue;
		finding_add(found, rule, d->path, d->layer, "",
			    "%s %s is built for torch %.*s, and torch %s is installed.", d->name,
			    d->version, (int)wanted.len, (const char *)wanted.data, have);
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->dists.len; i++) {
		struct torch torch = { .dist = &facts->dists.items[i] };

		if (!str_equal(torch.dist->name, "torch"))
			continue;
		find_libraries(facts, &torch);
		if (torch.known)
			check_objects(rule, facts, &torch, found);
		check_tags(rule, facts, &torch, found);
	}
	return 0;
}

const struct rule rule_pyt002 = {
	.id = "PYT002",
	.name = "extension-abi-mismatch",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_LIKELY,
	.needs = NEEDS_GPU_IMAGE,
	.what = "An extension was built against another PyTorch than the one that is installed.",
	.why = "The import ends with \"undefined symbol: _ZN3c10...\", or, when by chance all "
	       "names are there, the program crashes. C++ names of PyTorch change with every minor "
	       "release, and with the string ABI it was built with.",
	.fix = "Install the wheel that is made for this torch (its version names it: "
	       "+cu12torch2.7cxx11abiTRUE), or build the extension from source in this "
	       "environment.",
	.sources = "pytorch.org, \"C++ extensions\"; Itanium C++ ABI, name mangling; GCC manual, "
		   "\"Dual ABI\"",
	.check = check,
};
