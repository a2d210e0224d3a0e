#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"
#include "lint/runtime.h"

static bool needs(const struct object *o, const char *name)
{
	for (size_t i = 0; i < o->elf->needed_count; i++) {
		if (str_equal(o->elf->needed[i], name))
			return true;
	}
	return false;
}

/* The CUDA library, else the first object that needs glibc, else the first that uses CUDA. */
static const struct object *culprit(const struct facts *facts, bool *out_gpu)
{
	const struct object *first = NULL, *gpu = NULL;

	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		bool uses = o->elf->gpu_code || runtime_is_gpu_library(facts, path_name(o->path));

		if (path_is_sample(o->path) || path_is_stub(o->path))
			continue;
		for (size_t k = 0; k < o->elf->needed_count; k++)
			uses |= runtime_is_gpu_library(facts, o->elf->needed[k]);
		if (uses && !gpu)
			gpu = o;
		if (needs(o, "libc.so.6") && !first)
			first = o;
	}
	*out_gpu = gpu != NULL;
	return gpu ? gpu : first;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	bool gpu = false;
	const struct object *o = facts->is_musl ? culprit(facts, &gpu) : NULL;
	struct finding *f;

	(void)err;
	if (!o || (!gpu && facts_named(facts, "libc.so.6"))) /* a glibc of its own is beside it */
		return 0;
	f = finding_add(found, rule, o->path, facts_layer(facts, o->node), "",
			"The image's C library is musl, and %s %s%s.", o->path,
			gpu ? "uses CUDA, whose driver libraries need glibc"
			    : "needs libc.so.6 of glibc",
			facts_named(facts, "libgcompat.so.0")
				? "; gcompat is there and covers a part of glibc only"
				: "");
	if (!gpu)
		f->severity = SEVERITY_WARNING;
	return 0;
}

const struct rule rule_lnk004 = {
	.id = "LNK004",
	.name = "libc-mix",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.what = "An image with musl holds programs or libraries that need glibc.",
	.why = "They do not start, and CUDA cannot work at all: the driver's libraries, which come "
	       "from the "
	       "host, need glibc.",
	.fix = "Use a base with glibc.",
	.sources = "musl, \"Functional differences from glibc\"; CUDA Installation Guide, \"System "
		   "requirements\"",
	.check = check,
};
