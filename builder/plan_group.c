#include "builder/plan_group.h"

#include "base/vec.h"

static const struct {
	const char *name;
	unsigned changes; /* a year */
} classes[] = {
	[PLAN_CLASS_CUDA] = { "cuda", 4 },
	[PLAN_CLASS_FRAMEWORK] = { "framework", 8 },
	[PLAN_CLASS_OS] = { "os", 12 },
	[PLAN_CLASS_PYTHON] = { "python", 30 },
	[PLAN_CLASS_APPLICATION] = { "application", 300 },
	[PLAN_CLASS_METADATA] = { "metadata", 1000 },
};

/* About 64 MiB compressed. */
#define SOLO_BYTES (96 * MIB)
#define BIN_BYTES (128 * MIB)

enum {
	SOLO_MAX = 40, /* so that the image stays below 48 layers */
	BINS_MAX = 8,  /* of a class; 1 when there are many layers of the base or solo */
	MANY_LAYERS = 24,
};

const char *plan_class_name(enum plan_class class)
{
	return classes[class].name;
}

static bool is_framework(const char *name)
{
	static const char *const names[] = { "torch",           "triton",      "tensorflow",
					     "jaxlib",          "jax",         "vllm",
					     "onnxruntime-gpu", "onnxruntime", "tensorrt" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_equal(names[i], name))
			return true;
	}
	return str_starts(name, "jax-cuda");
}

static enum plan_class classify(const struct component *c)
{
	switch (c->kind) {
	case COMPONENT_WHEEL:
		if (c->toolkit || str_starts(c->name, "nvidia-"))
			return PLAN_CLASS_CUDA;
		return is_framework(c->name) ? PLAN_CLASS_FRAMEWORK : PLAN_CLASS_PYTHON;
	case COMPONENT_REDIST:
		return PLAN_CLASS_CUDA;
	case COMPONENT_TREE:
	case COMPONENT_STAGE:
		return PLAN_CLASS_APPLICATION;
	case COMPONENT_FINISH:
		if (str_equal(c->name, PLAN_FILESYSTEM))
			return PLAN_CLASS_OS;
		return str_equal(c->name, PLAN_CUDA) ? PLAN_CLASS_CUDA : PLAN_CLASS_METADATA;
	default: /* packages of a distribution */
		return c->toolkit ? PLAN_CLASS_CUDA : PLAN_CLASS_OS;
	}
}

void plan_groups_release(struct plan_groups *g)
{
	for (size_t i = 0; i < g->len; i++)
		vec_release(&g->items[i].parts);
	vec_release(g);
}

static uint64_t part_bytes(const struct rootfs_part *part)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < part->nodes.len; i++) {
		const struct rootfs_node *n = part->nodes.items[i];

		if (n && n->owner == part->component && n->index == i && n->tar->type == TAR_FILE)
			sum += n->tar->size;
	}
	return sum;
}

/* FNV-1a over what does not change with the version: digits and dots are left out. */
static uint32_t hash_name(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++) {
		if ((*name >= '0' && *name <= '9') || *name == '.')
			continue;
		h = (h ^ (uint8_t)*name) * 16777619u;
	}
	return h ^ h >> 15;
}

bool plan_cuts(const struct plan_cutter *c, uint64_t bytes, const struct tar_entry *next)
{
	if (!bytes || next->type == TAR_HARDLINK) /* a link stays in the layer of its file */
		return false;
	return bytes + next->size > c->max ||
	       (bytes >= c->min && hash_name(next->path) % c->one_in == 0);
}

struct plan_cutter plan_cutter(uint64_t max)
{
	return (struct plan_cutter){ max / 2, max, 4 };
}

/* At least a sixteenth of the total, so that a folder makes no more layers than that, twice. */
static uint64_t sixteenth(uint64_t total, uint64_t least)
{
	uint64_t size = least;

	while (size < total / 16)
		size *= 2;
	return size;
}

struct plan_cutter plan_folder_cutter(uint64_t total, bool large, uint64_t max)
{
	uint64_t min = sixteenth(total, large ? 256 * MIB : 64 * MIB);

	if (large)
		return (struct plan_cutter){ MIN(min, max / 2), max, 2 };
	return (struct plan_cutter){ MIN(min, max / 2), MIN(2 * min, max), 4 };
}

/* The parts with what sorting them takes. */
struct part {
	size_t index;
	uint64_t bytes;
	enum plan_class class;
	const struct component *component;
	bool solo;
};

struct parts {
	struct part *items;
	size_t len, cap;
};

static int by_size(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int by_index(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

static size_t mark_solo(struct parts *parts, size_t max)
{
	size_t solos = 0;

	vec_sort(parts, by_size);
	for (size_t i = 0; i < parts->len; i++) {
		struct part *p = &parts->items[i];

		p->solo = p->bytes >= SOLO_BYTES && solos < max &&
			  p->component->kind != COMPONENT_FINISH;
		solos += p->solo;
	}
	vec_sort(parts, by_index);
	return solos;
}

static void collect(const struct rootfs *r, struct parts *out)
{
	for (size_t i = 0; i < r->parts.len; i++) {
		const struct component *c = r->parts.items[i].component;
		struct part p = { .index = i,
				  .bytes = part_bytes(&r->parts.items[i]),
				  .class = classify(c),
				  .component = c };

		if (c->kind != COMPONENT_BASE) /* its layers are there */
			vec_push(out, p);
	}
}

static struct plan_group *group_of(struct plan_groups *groups, const char *title,
				   enum plan_class class)
{
	struct plan_group *g;

	for (size_t i = 0; i < groups->len; i++) {
		if (!groups->items[i].solo && str_equal(groups->items[i].title, title))
			return &groups->items[i];
	}
	g = vec_add(groups);
	g->title = title;
	g->class = class;
	return g;
}

static void group_add(struct plan_group *g, const struct part *p)
{
	vec_push(&g->parts, p->index);
	g->bytes += p->bytes;
}

/* Class first, then solo layers by size, the shared layers of a class last. */
static int compare_groups(const void *a, const void *b)
{
	const struct plan_group *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->solo != y->solo)
		return x->solo ? -1 : 1;
	if (x->solo && x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->title, y->title);
}

/* A power of two, so that a class that grows splits its groups and does not reshuffle them. */
static unsigned bins_of(const struct parts *parts, enum plan_class class, size_t others)
{
	uint64_t total = 0;
	unsigned bins = 1;

	for (size_t i = 0; i < parts->len; i++) {
		if (parts->items[i].class == class && !parts->items[i].solo)
			total += parts->items[i].bytes;
	}
	while (others < MANY_LAYERS && bins < BINS_MAX && total / BIN_BYTES >= 2 * bins)
		bins *= 2;
	return bins;
}

static void add_solo(struct plan_groups *groups, const struct part *p, struct arena *arena)
{
	struct plan_group *g = vec_add(groups);
	const struct component *c = p->component;

	g->title = arena_printf(arena, "%s%s%s", c->name, *c->version ? " " : "", c->version);
	g->reason = "holds at least 96 MiB: a layer of its own, the same in every image";
	g->class = p->class;
	g->solo = true;
	g->folder = c->kind == COMPONENT_TREE || c->kind == COMPONENT_STAGE;
	group_add(g, p);
}

static void group_by_component(struct parts *parts, size_t base_layers, bool few,
			       struct arena *arena, struct plan_groups *out)
{
	size_t others = mark_solo(parts, few ? 0 : SOLO_MAX) + base_layers;

	for (size_t i = 0; i < parts->len; i++) {
		const struct part *p = &parts->items[i];
		const char *class = plan_class_name(p->class),
			   *source = *p->component->source_name ? p->component->source_name
								: p->component->name;
		unsigned bins, bin;
		struct plan_group *g;

		if (p->solo) {
			add_solo(out, p, arena);
			continue;
		}
		bins = bins_of(parts, p->class, few ? MANY_LAYERS : others);
		bin = p->component->kind == COMPONENT_FINISH ? 0 : hash_name(source) & (bins - 1);
		g = group_of(out, bin ? arena_printf(arena, "%s, group %u", class, bin + 1) : class,
			     p->class);
		if (!g->reason)
			g->reason = arena_printf(
				arena, "small, and changes about %u times a year%s",
				classes[p->class].changes,
				bins > 1 ? "; grouped by the hash of the source's name" : "");
		group_add(g, p);
	}
	for (size_t i = 0; i < out->len; i++) {
		if (out->items[i].class == PLAN_CLASS_METADATA)
			out->items[i].reason = "depends on the whole set";
	}
}

static bool can_merge(const struct plan_group *a, const struct plan_group *b)
{
	return a->class == b->class && !a->solo && !b->solo;
}

/* The first of the two neighbours that are smallest together; SIZE_MAX: none can be merged. */
static size_t smallest_pair(const struct plan_groups *g)
{
	uint64_t least = UINT64_MAX;
	size_t found = SIZE_MAX;

	for (size_t i = 1; i < g->len; i++) {
		const struct plan_group *a = &g->items[i - 1], *b = &g->items[i];

		if (can_merge(a, b) && a->bytes + b->bytes < least) {
			least = a->bytes + b->bytes;
			found = i - 1;
		}
	}
	return found;
}

static int compare_indexes(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

#define TOO_MANY "the image would have more than 48 layers"
static_assert(PLAN_LAYERS_WANTED == 48, "TOO_MANY says so");

static void merge_at(struct plan_groups *g, size_t at, struct arena *arena)
{
	struct plan_group *a = &g->items[at], *b = a + 1;

	for (size_t i = 0; i < b->parts.len; i++)
		vec_push(&a->parts, b->parts.items[i]);
	vec_sort(&a->parts, compare_indexes);
	a->bytes += b->bytes;
	a->reason = arena_printf(arena,
				 "small, and changes about %u times a year; groups are merged, "
				 "since " TOO_MANY,
				 classes[a->class].changes);
	vec_release(&b->parts);
	memmove(b, b + 1, (g->len - at - 2) * sizeof(*b));
	g->len--;
}

size_t plan_groups_merge(struct plan_groups *g, size_t count, struct arena *arena)
{
	size_t more = 0;

	for (size_t at; count && (at = smallest_pair(g)) != SIZE_MAX; count--)
		merge_at(g, at, arena);
	for (size_t i = 1; i < g->len; i++)
		more += can_merge(&g->items[i - 1], &g->items[i]);
	return more;
}

void plan_groups_coarsen(struct plan_groups *g, struct arena *arena)
{
	for (size_t i = 0; i < g->len; i++) {
		if (!g->items[i].folder)
			continue;
		g->items[i].folder = false;
		g->items[i].reason = arena_printf(
			arena, "%s; cut at max-size alone, since " TOO_MANY, g->items[i].reason);
	}
}

static void group_by_stage(struct parts *parts, struct plan_groups *out)
{
	for (size_t i = 0; i < parts->len; i++) {
		const struct component *c = parts->items[i].component;
		bool copied = c->kind == COMPONENT_STAGE && c->stage;
		struct plan_group *g = group_of(out, copied ? c->stage : "image",
						copied ? PLAN_CLASS_APPLICATION : PLAN_CLASS_OS);

		g->reason = "layers.split is stage";
		group_add(g, &parts->items[i]);
	}
}

static void group_all(struct parts *parts, struct plan_groups *out)
{
	for (size_t i = 0; i < parts->len; i++) {
		struct plan_group *g = group_of(out, "image", PLAN_CLASS_OS);

		g->reason = "layers.split is single";
		group_add(g, &parts->items[i]);
	}
}

void plan_groups_make(const struct rootfs *r, enum stack_split split, bool few, struct arena *arena,
		      struct plan_groups *out)
{
	struct parts parts = { 0 };

	collect(r, &parts);
	switch (split) {
	case SPLIT_COMPONENT:
		group_by_component(&parts, r->base_layers, few, arena, out);
		break;
	case SPLIT_STAGE:
		group_by_stage(&parts, out);
		break;
	case SPLIT_SINGLE:
		group_all(&parts, out);
		break;
	}
	vec_sort(out, compare_groups);
	vec_release(&parts);
}
