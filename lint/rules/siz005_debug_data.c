#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

#include "base/out.h"

enum { TOLD_FROM = 10 * 1024 * 1024 };

/* What debuggers read apart from the program: /usr/lib/debug, x.so.debug. */
static bool is_debug_file(const char *path)
{
	return str_starts(path, "/usr/lib/debug/") || str_ends(path, ".debug");
}

struct tally {
	uint64_t bytes, largest;
	size_t objects;
	const struct object *first; /* the one with the most */
};

static void tell(const struct rule *rule, const struct facts *facts, struct findings *found,
		 const struct tally *t, const char *cause, const char *what)
{
	char size[32], largest[32];

	if (t->objects == 1)
		finding_add(found, rule, t->first->path, facts_layer(facts, t->first->node), cause,
			    "%s carries %s for debuggers.", t->first->path,
			    out_size(t->bytes, size));
	else if (t->first)
		finding_add(found, rule, t->first->path, facts_layer(facts, t->first->node), cause,
			    "%zu %s carry %s for debuggers; the most, %s, is in %s.", t->objects,
			    what, out_size(t->bytes, size), out_size(t->largest, largest),
			    t->first->path);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	struct tally inside = { 0 }, apart = { 0 };

	(void)err;
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		bool separate = is_debug_file(o->path);
		uint64_t bytes = separate ? o->node->entry.size : o->elf->debug_bytes;
		struct tally *t = separate ? &apart : &inside;

		if (bytes < TOLD_FROM || o->node->entry.type != TAR_FILE || path_is_sample(o->path))
			continue;
		t->bytes += bytes;
		t->objects++;
		if (bytes > t->largest) {
			t->largest = bytes;
			t->first = o;
		}
	}
	tell(rule, facts, found, &inside, "inside", "programs and libraries");
	tell(rule, facts, found, &apart, "apart", "separate files");
	return 0;
}

const struct rule rule_siz005 = {
	.id = "SIZ005",
	.name = "debug-data",
	.severity = SEVERITY_INFO,
	.confidence = CONFIDENCE_CERTAIN,
	.wave = 2,
	.needs = 0,
	.what = "Programs and libraries carry more than 10 MiB each of symbols and debug sections, "
		"or "
		"files with nothing else are there.",
	.why = "Only a debugger reads them, and every pull transfers them.",
	.fix = "strip --strip-unneeded in the step that brings them; never touch .nv_fatbin, which "
	       "holds the GPU code. Separate files: leave out the -dbg, -dbgsym or -debuginfo "
	       "packages.",
	.sources = "strip(1); System V ABI, \"Special Sections\"; DWARF 5, \"Object File Formats\"",
	.check = check,
};
