#include "builder/build_plan.h"

#include "builder/layer.h"

void build_plan_release(struct build_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->images.len; i++) {
		vec_release(&plan->images.items[i].layers);
		vec_release(&plan->images.items[i].parts);
	}
	vec_release(&plan->images);
	arena_release(&plan->arena);
}

/* Thousandths that files shrink to, as CUDA libraries and a Debian root do together. */
static uint64_t estimate(uint64_t raw, enum compression how)
{
	static const unsigned thousandths[] = {
		[COMPRESSION_NONE] = 1000, [COMPRESSION_GZIP] = 600, [COMPRESSION_ZSTD] = 540
	};

	return raw / 1000 * thousandths[how] + 512;
}

static void take_layer(struct build_plan *out, struct build_plan_image *image,
		       const struct plan_layer *planned, const struct layer_options *options,
		       struct store *store)
{
	struct build_plan_layer *l = vec_add(&image->layers);
	struct layer known;

	l->title = arena_strdup(&out->arena, planned->title);
	l->class = arena_strdup(&out->arena, planned->class);
	l->reason = arena_strdup(&out->arena, planned->reason);
	l->key = layer_key(&planned->entries, options);
	l->raw = planned->bytes;
	l->estimated = !layer_recall(store, &l->key, &known);
	l->size = l->estimated ? estimate(l->raw, options->compression) : known.size;
}

static void take_base(struct build_plan *out, struct build_plan_image *image,
		      const struct build_layer *base)
{
	struct build_plan_layer *l = vec_add(&image->layers);

	l->title = arena_strdup(&out->arena, base->title);
	l->class = "base";
	l->reason = "of the base image, as it is";
	l->key = base->digest;
	l->raw = base->raw_size;
	l->size = base->size;
	l->base = true;
}

static int compare_parts(const void *a, const void *b)
{
	const struct build_plan_part *x = a, *y = b;

	if (x->layer != y->layer)
		return x->layer < y->layer ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* `count` layers of the plan, numbered from 1 in the nodes. */
static void take_parts(struct build_plan *out, struct build_plan_image *image,
		       const struct rootfs_part *part, size_t count, size_t base)
{
	const struct component *c = part->component;
	cleanup_free uint64_t *bytes = xcalloc(count + 1, sizeof(*bytes));
	cleanup_free bool *there = xcalloc(count + 1, sizeof(*there));

	for (size_t i = 0; i < part->nodes.len; i++) {
		const struct rootfs_node *n = part->nodes.items[i];

		if (!n || n->owner != c || n->index != i || n->tar->type == TAR_DIR || !n->layer)
			continue;
		there[n->layer - 1] = true;
		bytes[n->layer - 1] += n->tar->type == TAR_FILE ? n->tar->size : 0;
	}
	for (size_t i = 0; i < count; i++) {
		struct build_plan_part *p;

		if (!there[i])
			continue;
		p = vec_add(&image->parts);
		p->name = arena_strdup(&out->arena, c->name);
		p->version = arena_strdup(&out->arena, c->version);
		p->layer = base + i;
		p->bytes = bytes[i];
	}
}

int build_plan_take(struct build_plan *out, const char *platform, const struct rootfs *r,
		    const struct plan *plan, const struct build_image *base,
		    const struct stack_layers *how, struct store *store, struct error *err)
{
	const struct layer_options options = { how->compression, how->level };
	struct build_plan_image *image = vec_add(&out->images);

	image->platform = arena_strdup(&out->arena, platform);
	image->compression = how->compression;
	for (size_t i = 0; i < base->layers.len; i++)
		take_base(out, image, &base->layers.items[i]);
	for (size_t i = 0; i < plan->layers.len; i++)
		take_layer(out, image, &plan->layers.items[i], &options, store);
	if (image->layers.len > PLAN_LAYERS_MAX)
		return error_set(err, ERROR_LIMIT, "the image would have %zu layers, more than %d",
				 image->layers.len, PLAN_LAYERS_MAX);
	for (size_t i = 0; i < r->parts.len; i++)
		take_parts(out, image, &r->parts.items[i], plan->layers.len, base->layers.len);
	vec_sort(&image->parts, compare_parts);
	return 0;
}

static bool has_layer(const struct build_plan *plan, const char *platform, const struct digest *key)
{
	for (size_t i = 0; i < plan->images.len; i++) {
		const struct build_plan_image *image = &plan->images.items[i];

		for (size_t k = 0; str_equal(image->platform, platform) && k < image->layers.len;
		     k++) {
			if (digest_equal(&image->layers.items[k].key, key))
				return true;
		}
	}
	return false;
}

uint64_t build_plan_compare(struct build_plan_image *plan, const struct build_plan *old)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < plan->layers.len; i++) {
		struct build_plan_layer *l = &plan->layers.items[i];

		l->pulled = !has_layer(old, plan->platform, &l->key);
		sum += l->pulled ? l->size : 0;
	}
	return sum;
}

uint64_t build_plan_size(const struct build_plan_image *plan)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < plan->layers.len; i++)
		sum += plan->layers.items[i].size;
	return sum;
}

double build_plan_seconds(const struct build_plan_image *plan, const struct pull_engine *engine,
			  uint64_t mbit)
{
	cleanup_free struct pull_layer *layers = xcalloc(plan->layers.len + 1, sizeof(*layers));

	for (size_t i = 0; i < plan->layers.len; i++) {
		layers[i].size = plan->layers.items[i].size;
		layers[i].raw = plan->layers.items[i].raw;
	}
	return pull_model_seconds(engine, layers, plan->layers.len, plan->compression, mbit);
}
