#include "lint/components.h"
#include "lint/findings.h"
#include "lint/rule.h"

#include "base/out.h"

enum { DIRS_MAX = 8, COUNTED_FROM = 1024 * 1024 };

/* One directory with files of a library. */
struct place {
	const char *dir;
	uint64_t bytes;
	bool used; /* something that starts loads it from here */
};

struct family {
	const char *name;
	struct place places[DIRS_MAX];
	size_t count;
};

static struct place *place_of(struct family *family, const char *dir)
{
	for (size_t i = 0; i < family->count; i++) {
		if (str_equal(family->places[i].dir, dir))
			return &family->places[i];
	}
	if (family->count == DIRS_MAX)
		return NULL;
	family->places[family->count].dir = dir;
	return &family->places[family->count++];
}

/* Tools with libraries of their own, and what is not on the way of any program. */
static bool is_left_out(const char *path)
{
	return path_is_stub(path) || path_is_compat(path) || path_is_sample(path) ||
	       path_matches("*/nsight*", path) || path_matches("*/extras/*", path) ||
	       path_matches("*/triton/backends/*", path) || path_matches("*.libs/*", path) ||
	       path_matches("*/pkgs/*", path) || path_is_tegra(path);
}

static void count_object(const struct facts *facts, const struct object *o, struct family *families,
			 size_t *count, size_t most)
{
	const char *name = component_library(path_name(o->path));
	struct family *family = NULL;
	struct place *place;

	if (!name || o->node->entry.type != TAR_FILE || is_left_out(o->path))
		return;
	for (size_t i = 0; i < *count; i++) {
		if (str_equal(families[i].name, name))
			family = &families[i];
	}
	if (!family && *count < most) {
		family = &families[(*count)++];
		family->name = name;
	}
	place = family ? place_of(family, path_dir(facts, o->path)) : NULL;
	if (!place)
		return;
	place->bytes += o->node->entry.size;
	place->used |= o->reachable;
}

/* Bytes in all places but the largest that is used (or the largest of all). */
static uint64_t surplus(const struct family *family)
{
	uint64_t total = 0, kept = 0;
	size_t large = 0;

	for (size_t i = 0; i < family->count; i++) {
		if (family->places[i].bytes < COUNTED_FROM)
			continue;
		large++;
		total += family->places[i].bytes;
		kept = MAX(kept, family->places[i].bytes);
	}
	return large > 1 ? total - kept : 0;
}

static void describe(struct strbuf *out, const struct family *family)
{
	char size[32];

	strbuf_addf(out, "%s%s in", out->len ? "; " : "", family->name);
	for (size_t i = 0, shown = 0; i < family->count; i++) {
		const struct place *p = &family->places[i];

		if (p->bytes >= COUNTED_FROM)
			strbuf_addf(out, "%s %s (%s%s)", shown++ ? " and" : "", p->dir,
				    out_size(p->bytes, size), p->used ? ", loaded" : "");
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	struct family families[40] = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	const char *first = NULL;
	uint64_t total = 0;
	size_t count = 0;
	char size[32];

	(void)err;
	for (size_t i = 0; i < facts->objects.len; i++)
		count_object(facts, &facts->objects.items[i], families, &count,
			     ARRAY_LEN(families));
	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = surplus(&families[i]);

		if (!bytes)
			continue;
		total += bytes;
		describe(&text, &families[i]);
		if (!first || strcmp(families[i].places[0].dir, first) < 0)
			first = families[i].places[0].dir;
	}
	if (total)
		finding_add(found, rule, first, facts_layer(facts, facts_lookup(facts, first)), "",
			    "%s are in the image more than once: %s.", out_size(total, size),
			    strbuf_text(&text));
	return 0;
}

const struct rule rule_siz002 = {
	.id = "SIZ002",
	.name = "duplicate-gpu-stack",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE,
	.what = "A library of the CUDA stack is in the image more than once.",
	.why = "cuBLAS, cuDNN and NCCL are hundreds of megabytes each. A toolkit in "
	       "/usr/local/cuda under wheels that bring their own doubles the image, and which "
	       "copy a process gets depends on who loads first.",
	.fix = "With wheels that bring the libraries, build on a base without them (nvidia/cuda "
	       "base instead of runtime); or use the framework of the base image and install no "
	       "wheels of nvidia-*.",
	.sources = "NVIDIA/nvidia-docker wiki, flavours base, runtime and devel; pytorch.org, "
		   "\"Get Started\"",
	.check = check,
};
