#include "lint/components.h"
#include "lint/findings.h"
#include "lint/rule.h"

#include "base/out.h"

enum {
	DIRS_MAX = 8,
	COUNTED_FROM = 1024 * 1024,
	COPIES_TOLD_FROM = 32 * 1024 * 1024,
};

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

/* --- the same file several times, whatever it is */

static int by_content(const void *left, const void *right)
{
	const struct object *a = *(const struct object *const *)left;
	const struct object *b = *(const struct object *const *)right;
	uint64_t x = node_facts(a->node)->head_hash, y = node_facts(b->node)->head_hash;

	if (a->node->entry.size != b->node->entry.size)
		return a->node->entry.size < b->node->entry.size ? -1 : 1;
	return x != y ? (x < y ? -1 : 1) : strcmp(a->path, b->path);
}

static bool is_same(const struct object *a, const struct object *b)
{
	return a->node->entry.size == b->node->entry.size &&
	       node_facts(a->node)->head_hash == node_facts(b->node)->head_hash;
}

/* What lies there several times, summed up: the largest of it is named. */
struct copies {
	uint64_t bytes; /* too many */
	size_t files;   /* of which there are several */
	const struct object *first, *second;
	uint64_t largest;
	size_t times;
};

static void note_copies(struct copies *c, const struct object *const *group, size_t count)
{
	uint64_t surplus_bytes = group[0]->node->entry.size * (count - 1);

	c->files++;
	c->bytes += surplus_bytes;
	if (surplus_bytes <= c->largest)
		return;
	c->largest = surplus_bytes;
	c->first = group[0];
	c->second = group[1];
	c->times = count;
}

static void tell_copies(const struct rule *rule, const struct facts *facts, const struct copies *c,
			struct findings *found)
{
	char size[32];
	struct finding *f = finding_add(
		found, rule, c->first->path, facts_layer(facts, c->first->node), "copies",
		"%zu large objects are there more than once, %s too many; the largest is %s, %zu "
		"times, also as %s (of one size and with the same beginning).",
		c->files, out_size(c->bytes, size), c->first->path, c->times, c->second->path);

	f->severity = SEVERITY_INFO;
	f->confidence = CONFIDENCE_LIKELY;
}

static void check_copies(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	cleanup_free const struct object **all = xcalloc(facts->objects.len + 1, sizeof(*all));
	struct copies copies = { 0 };
	size_t count = 0, first = 0;

	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const struct file_facts *content = node_facts(o->node);

		/* Those of the CUDA stack are told above. */
		if (o->node->entry.type == TAR_FILE && content && content->head_hash &&
		    !is_left_out(o->path) && !component_library(path_name(o->path)))
			all[count++] = o;
	}
	qsort(all, count, sizeof(*all), by_content);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && is_same(all[first], all[i]))
			continue;
		if (i - first > 1)
			note_copies(&copies, all + first, i - first);
		first = i;
	}
	if (copies.bytes >= COPIES_TOLD_FROM)
		tell_copies(rule, facts, &copies, found);
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
	check_copies(rule, facts, found);
	return 0;
}

const struct rule rule_siz002 = {
	.id = "SIZ002",
	.name = "duplicate-gpu-stack",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE,
	.what = "A library of the CUDA stack, or one and the same large library, is in the image "
		"more than once.",
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
