#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/loader.h"
#include "lint/rule.h"

enum { CONSUMERS_NAMED = 3 };

static struct arena *arena_of(const struct facts *facts)
{
	return (struct arena *)&facts->arena;
}

/* "it is at /x/libfoo.so.1, where the loader does not look", or "". */
static const char *elsewhere(const struct facts *facts, const char *name, const struct object *like)
{
	const struct object_names *named = facts_named(facts, name);

	for (size_t i = 0; named && i < named->len; i++) {
		if (named->items[i]->elf->machine == like->elf->machine &&
		    named->items[i]->elf->is64 == like->elf->is64)
			return arena_printf(
				arena_of(facts),
				"; it is at %s, where the loader does not look: add that "
				"directory to an RPATH or to /etc/ld.so.conf.d",
				named->items[i]->path);
	}
	return "";
}

/* Another version of the same library: a mix of versions rather than an absent package. */
static const char *other_version(const struct facts *facts, const char *name,
				 const struct object *like)
{
	const char *so = strstr(name, ".so.");
	size_t stem = so ? (size_t)(so - name) + 4 : 0;

	for (size_t i = 0; stem && i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const char *other = o->elf->soname ? o->elf->soname : path_name(o->path);

		if (strncmp(other, name, stem) == 0 && !str_equal(other, name) &&
		    o->elf->machine == like->elf->machine)
			return arena_printf(arena_of(facts),
					    "; the image has %s (%s), another version of it", other,
					    o->path);
	}
	return "";
}

/*
 * A plug-in that is the purpose of its package: its host opens it by name, and goes on without it
 * in a way that is seen too late.
 */
static const char *purpose_of(const struct object *o)
{
	return str_equal(path_name(o->path), "libonnxruntime_providers_cuda.so")
		       ? "; ONNX Runtime opens it for its CUDA provider, and computes on the CPU "
			 "without"
		       : NULL;
}

/* Rows [first, end) are about one library. Reachable ones decide, if there are any. */
static void report(const struct rule *rule, const struct facts *facts, struct findings *found,
		   const struct loader_missing *rows, size_t count)
{
	const struct object *first = NULL;
	const char *name = rows[0].name, *consumers = "", *purpose = NULL, *hint;
	size_t judged = 0;
	bool reachable = false;
	struct finding *f;

	for (size_t i = 0; i < count; i++)
		reachable |= rows[i].object->reachable;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].object->reachable != reachable)
			continue;
		if (!first)
			first = rows[i].object;
		if (!reachable && !purpose)
			purpose = purpose_of(rows[i].object);
		if (judged++ < CONSUMERS_NAMED)
			consumers = arena_printf(arena_of(facts), "%s%s%s", consumers,
						 *consumers ? ", " : "", rows[i].object->path);
	}
	hint = elsewhere(facts, name, first);
	if (!*hint)
		hint = other_version(facts, name, first);
	f = finding_add(
		found, rule, first->path, facts_layer(facts, first->node), name,
		"%s is needed by %zu object%s (%s%s) and is not in the image where the loader "
		"looks%s%s.",
		name, judged, judged == 1 ? "" : "s", consumers,
		judged > CONSUMERS_NAMED ? ", ..." : "", hint,
		reachable ? ""
		: purpose ? purpose
			  : "; nothing that is known to start loads them");
	if (!reachable)
		f->severity = purpose ? SEVERITY_WARNING : SEVERITY_INFO;
	if (!reachable && !purpose)
		f->fix = "Nothing, unless you use what loads them; then install the package or "
			 "wheel "
			 "that holds the library.";
	finding_evidence(found, f, "library", name);
}

/* On musl the missing glibc is the cause of it all, and another rule's. */
static bool is_anothers(const struct facts *facts, const char *name)
{
	static const char *const parts[] = { "libm.so.6",    "libdl.so.2",   "libpthread.so.0",
					     "librt.so.1",   "libutil.so.1", "libresolv.so.2",
					     "libmvec.so.1", "libanl.so.1" };

	if (!facts->is_musl)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (str_equal(name, parts[i]))
			return !facts_named(facts, "libc.so.6");
	}
	return str_equal(name, "libc.so.6") || str_starts(name, "ld-linux");
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct loader_report *missing = loader_missing(facts->loader);
	size_t i = 0;

	(void)err;
	while (i < missing->len) {
		size_t end = i + 1;

		while (end < missing->len &&
		       str_equal(missing->items[end].name, missing->items[i].name))
			end++;
		if (!is_anothers(facts, missing->items[i].name))
			report(rule, facts, found, &missing->items[i], end - i);
		i = end;
	}
	return 0;
}

const struct rule rule_lnk001 = {
	.id = "LNK001",
	.name = "needed-library-missing",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_ALL_LAYERS,
	.what = "A program or module that can be started needs a shared library that is nowhere on "
		"the "
		"loader's search path, and that the driver does not provide either.",
	.why = "The loader refuses to start it: \"error while loading shared libraries: cannot "
	       "open "
	       "shared object file\". For objects that nothing is known to load it is a note only.",
	.fix = "Install the package or wheel that holds the library, or bring its directory on the "
	       "search path.",
	.sources = "ld.so(8); System V gABI, \"Shared Object Dependencies\"",
	.check = check,
};
