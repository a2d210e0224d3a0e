#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/loader.h"
#include "lint/rule.h"

enum { NAMED = 3, EVIDENCE_MAX = 50 };

/* "it is at /x/libfoo.so.1, where the loader does not look", or "". */
static const char *elsewhere(const struct facts *facts, const char *name, const struct object *like)
{
	const struct object_names *named = facts_named(facts, name);

	for (size_t i = 0; named && i < named->len; i++) {
		if (named->items[i]->elf->machine == like->elf->machine &&
		    named->items[i]->elf->is64 == like->elf->is64)
			return arena_printf(
				facts_arena(facts),
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
			return arena_printf(facts_arena(facts),
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

/* Where else the library is, or which other version of it; "" for neither. */
static const char *hint_of(const struct facts *facts, const struct loader_missing *m)
{
	const char *hint = elsewhere(facts, m->name, m->object);

	return *hint ? hint : other_version(facts, m->name, m->object);
}

/* Rows are about one library, which something that can be started needs. */
static void report_library(const struct rule *rule, const struct facts *facts,
			   struct findings *found, const struct loader_missing *rows, size_t count)
{
	const struct loader_missing *first = NULL;
	const char *consumers = "";
	size_t judged = 0;
	struct finding *f;

	for (size_t i = 0; i < count; i++) {
		if (!rows[i].object->reachable)
			continue;
		if (!first)
			first = &rows[i];
		if (judged++ < NAMED)
			consumers = arena_printf(facts_arena(facts), "%s%s%s", consumers,
						 *consumers ? ", " : "", rows[i].object->path);
	}
	if (!first)
		return;
	f = finding_add(found, rule, first->object->path, facts_layer(facts, first->object->node),
			first->name,
			"%s is needed by %zu object%s (%s%s) and is not in the image where the "
			"loader looks%s.",
			first->name, judged, judged == 1 ? "" : "s", consumers,
			judged > NAMED ? ", ..." : "", hint_of(facts, first));
	finding_evidence(found, f, "library", first->name);
}

/* --- objects that nothing is known to load, told together by directory */

/* One is enough for a package that brings a plug-in for each release of what it may work with. */
static const char *group_of(const struct facts *facts, const struct object *o)
{
	return purpose_of(o) ? o->path : path_dir(facts, o->path);
}

struct idle {
	const char *group;
	struct loader_missing missing;
};

struct idle_list {
	struct idle *items;
	size_t len, cap;
};

static int by_group(const void *left, const void *right)
{
	const struct idle *a = left, *b = right;
	int order = strcmp(a->group, b->group);

	if (order == 0)
		order = strcmp(a->missing.object->path, b->missing.object->path);
	return order ? order : strcmp(a->missing.name, b->missing.name);
}

static size_t object_count(const struct idle *rows, size_t count)
{
	size_t objects = 0;

	for (size_t i = 0; i < count; i++)
		objects += !i || rows[i].missing.object != rows[i - 1].missing.object;
	return objects;
}

/*
 * "/x/a.so needs l.so.1, m.so.1", "in /x, a.so needs l.so.1; b.so needs n.so.2; 7 more lack some,
 * too" of rows sorted by object.
 */
static const char *needs_text(const struct facts *facts, const struct idle *rows, size_t count)
{
	cleanup_strbuf struct strbuf out = { 0 };
	size_t all = object_count(rows, count), objects = 0, named = 0;

	if (all > 1)
		strbuf_addf(&out, "In %s, ", rows[0].group);
	for (size_t i = 0; i < count; i++) {
		const struct object *o = rows[i].missing.object;
		bool same = i && o == rows[i - 1].missing.object;

		objects += !same;
		named = same ? named + 1 : 1;
		if (objects > NAMED)
			break;
		if (!same)
			strbuf_addf(&out, "%s%s needs ", objects > 1 ? "; " : "",
				    all > 1 ? path_name(o->path) : o->path);
		if (named <= NAMED)
			strbuf_addf(&out, "%s%s", same ? ", " : "", rows[i].missing.name);
		else if (named == NAMED + 1)
			strbuf_adds(&out, ", ...");
	}
	if (all > NAMED)
		strbuf_addf(&out, "; %zu more lack some, too", all - NAMED);
	return arena_slice(facts_arena(facts), strbuf_slice(&out));
}

static void report_idle(const struct rule *rule, const struct facts *facts, struct findings *found,
			const struct idle *rows, size_t count)
{
	const struct object *first = rows[0].missing.object;
	const char *purpose = purpose_of(first);
	size_t objects = object_count(rows, count);
	struct finding *f;

	f = finding_add(found, rule, first->path, facts_layer(facts, first->node), "not loaded",
			"%s%s in the image where the loader looks%s%s.",
			needs_text(facts, rows, count),
			count == 1 ? ", which is not" : ": none of these libraries is",
			count == 1 ? hint_of(facts, &rows[0].missing) : "",
			purpose        ? purpose
			: objects == 1 ? "; nothing that is known to start loads that object"
				       : ", and nothing that is known to start loads the objects");
	f->severity = purpose ? SEVERITY_WARNING : SEVERITY_INFO;
	if (!purpose)
		f->fix = "Nothing, unless you use what loads them; then install the package or "
			 "wheel that holds the library.";
	for (size_t i = 0; i < MIN(count, (size_t)EVIDENCE_MAX); i++)
		finding_evidence(found, f, "library",
				 arena_printf(facts_arena(facts), "%s: needed by %s%s",
					      rows[i].missing.name, rows[i].missing.object->path,
					      hint_of(facts, &rows[i].missing)));
}

static void report_all_idle(const struct rule *rule, const struct facts *facts,
			    struct findings *found, struct idle_list *list)
{
	size_t i = 0;

	if (!list->len)
		return; /* qsort takes no NULL */
	qsort(list->items, list->len, sizeof(*list->items), by_group);
	while (i < list->len) {
		size_t end = i + 1;

		while (end < list->len && str_equal(list->items[end].group, list->items[i].group))
			end++;
		report_idle(rule, facts, found, &list->items[i], end - i);
		i = end;
	}
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

static bool any_reachable(const struct loader_missing *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].object->reachable)
			return true;
	}
	return false;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct loader_report *missing = loader_missing(facts->loader);
	struct idle_list idle = { 0 };
	size_t i = 0;

	(void)err;
	while (i < missing->len) {
		const struct loader_missing *rows = &missing->items[i];
		size_t count = 1;

		while (i + count < missing->len && str_equal(rows[count].name, rows[0].name))
			count++;
		i += count;
		if (is_anothers(facts, rows[0].name))
			continue;
		if (any_reachable(rows, count)) {
			report_library(rule, facts, found, rows, count);
			continue;
		}
		for (size_t k = 0; k < count; k++)
			vec_push(&idle,
				 ((struct idle){ group_of(facts, rows[k].object), rows[k] }));
	}
	report_all_idle(rule, facts, found, &idle);
	vec_release(&idle);
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
	       "shared object file\". For objects that nothing is known to load it is a note only, "
	       "one for each "
	       "directory.",
	.fix = "Install the package or wheel that holds the library, or bring its directory on the "
	       "search path.",
	.sources = "ld.so(8); System V gABI, \"Shared Object Dependencies\"",
	.check = check,
};
