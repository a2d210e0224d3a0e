#include "builder/build.h"

#include <sys/stat.h>

#include "builder/build_plan.h"
#include "builder/describe.h"
#include "builder/fetch.h"
#include "builder/fragment.h"
#include "builder/image_config.h"
#include "builder/image_record.h"
#include "builder/layer.h"
#include "builder/lock.h"
#include "builder/plan.h"
#include "builder/publish.h"
#include "builder/secret.h"
#include "builder/sources/dir.h"
#include "builder/stage.h"
#include "oci/manifest.h"
#include "oci/mediatype.h"
#include "oci/reference.h"

enum { WRITERS = 3 };

struct build {
	const struct build_request *request;
	struct build_result *result;
	struct pool *pool;
	const char *created;
	struct digest *files; /* by stage: dir_files_digest */
	struct publication publication;
	bool unchanged;
	struct build_plan *planned; /* only this is wanted */
	bool brought;               /* inputs were asked for */
	bool other_manifest;        /* the lock need not be of this version of the manifest */
};

void build_result_release(struct build_result *result)
{
	if (!result)
		return;
	for (size_t i = 0; i < result->images.len; i++)
		vec_release(&result->images.items[i].layers);
	vec_release(&result->images);
	vec_release(&result->actions);
	vec_release(&result->warnings);
	arena_release(&result->arena);
}

const char *build_fate_name(enum script_fate fate)
{
	static const char *const names[] = { "done", "harmless", "NOT DONE", "accepted" };

	return names[fate];
}

static int check_inputs(const struct build *b, struct error *err)
{
	const struct lock_input *missing = fetch_missing(b->request->lock, b->request->store);

	if (!missing)
		return 0;
	return error_set(err, ERROR_NOT_FOUND, "%s %s is not in the store; run `gpuimg fetch`",
			 missing->name, missing->version);
}

/* What is to be assembled has to be at hand. */
static int bring_inputs(struct build *b, struct error *err)
{
	if (!b->request->bring || b->brought)
		return 0;
	b->brought = true;
	if (b->request->bring(b->request->bring_user, err) < 0)
		return -1;
	return check_inputs(b, err);
}

/* The lock must be of this manifest and of these rules, and all it names at hand. */
static int check_lock(const struct build *b, struct error *err)
{
	const struct lockfile *lock = b->request->lock;

	if (!b->other_manifest && lock_check_current(lock, b->request->stack, err) < 0)
		return -1;
	if (lock->assembly != ASSEMBLY_VERSION)
		return error_set(err, ERROR_USAGE,
				 "the lock is for assembly version %u, this program has %d; run "
				 "`gpuimg lock` again",
				 lock->assembly, ASSEMBLY_VERSION);
	for (size_t i = 0; i < b->request->stack->platforms.count; i++) {
		const char *platform = b->request->stack->platforms.items[i];
		bool there = false;

		for (size_t k = 0; k < lock->platforms.len; k++)
			there |= str_equal(lock->platforms.items[k].platform, platform);
		if (!there)
			return error_set(err, ERROR_USAGE,
					 "the lock has no platform %s; run `gpuimg lock` again",
					 platform);
	}
	return b->request->bring ? 0 : check_inputs(b, err);
}

/* One layer on a writer's thread; compression goes to the pool that all share. */
struct writing {
	struct pool_job job;
	struct build *build;
	const struct plan_layer *planned;
	struct layer layer;
	struct error error;
	int rc;
};

static void write_layer(struct pool_job *job)
{
	struct writing *w = (struct writing *)job;
	const struct stack_layers *how = &w->build->request->stack->layers;
	struct layer_options options = { .compression = how->compression, .level = how->level };

	w->rc = layer_write(w->build->request->store, &w->planned->entries, &options,
			    w->build->pool, &w->layer, &w->error);
	if (w->rc == 0 && w->build->request->layer_ready)
		w->build->request->layer_ready(w->build->request->layer_user, &w->layer.digest,
					       w->layer.size);
}

static void take_layer(struct build *b, const struct writing *w, struct build_image *image)
{
	struct arena *arena = &b->result->arena;
	struct build_layer made = {
		.title = arena_strdup(arena, w->planned->title),
		.components = arena_strdup(arena, w->planned->components),
		.media_type = w->layer.media_type,
		.diff_id = w->layer.diff_id,
		.digest = w->layer.digest,
		.size = w->layer.size,
		.raw_size = w->layer.raw_size,
		.cached = w->layer.cached,
	};

	vec_push(&image->layers, made);
}

/* A few layers at a time: one reads and hashes while another waits for its compressed bytes. */
static int write_layers(struct build *b, struct plan *plan, struct build_image *image,
			struct error *err)
{
	cleanup_free struct writing *writings = xcalloc(plan->layers.len + 1, sizeof(*writings));
	cleanup_pool struct pool *writers = pool_new((unsigned)MIN(plan->layers.len + 1, WRITERS));
	int rc = 0;

	for (size_t i = 0; i < plan->layers.len; i++) {
		writings[i] = (struct writing){ .job.run = write_layer,
						.build = b,
						.planned = &plan->layers.items[i] };
		pool_submit(writers, &writings[i].job);
	}
	for (size_t i = 0; i < plan->layers.len; i++) {
		struct writing *w = &writings[i];

		pool_wait(writers, &w->job);
		if (rc == 0 && w->rc < 0) {
			*err = w->error;
			rc = error_wrap(err, "layer %zu (%s)", i, w->planned->title);
		}
		if (rc == 0)
			take_layer(b, w, image);
	}
	return rc;
}

/* The base's own layers, byte for byte, lie below ours. */
static int take_base_layers(struct build *b, const struct base_image *base,
			    struct build_image *image, struct error *err)
{
	for (size_t i = 0; i < base->layer_count; i++) {
		const struct base_layer *l = &base->layers[i];
		struct build_layer made = {
			.title = arena_printf(&b->result->arena, "base [%zu]", i),
			.components = "base",
			.media_type = l->media_type,
			.diff_id = l->diff_id,
			.digest = l->digest,
			.size = l->size,
			.raw_size = l->raw_size,
			.cached = true,
			.base = true,
		};

		if (!store_has(b->request->store, &l->digest, l->size))
			return error_set(err, ERROR_NOT_FOUND,
					 "layer %zu of the base image is not in the store; run "
					 "`gpuimg fetch`",
					 i);
		vec_push(&image->layers, made);
	}
	return 0;
}

/* What of the configuration depends on the tree. */
static void look_at_tree(struct rootfs *r, struct image_config_request *out)
{
	struct rootfs_node *programs = rootfs_resolve(r, "usr/local/cuda/bin");

	out->cuda_programs = programs && programs->tar->type == TAR_DIR;
	out->bash = rootfs_resolve(r, "bin/bash") != NULL;
}

/* `request`: what look_at_tree found. */
static void make_config(struct build *b, struct image_config_request *request,
			struct image_record *record)
{
	struct image_config config;

	request->stack = b->request->stack;
	request->solved = &b->request->lock->stack;
	request->created = b->created;
	request->layers = record->image.layers.items;
	request->layer_count = record->image.layers.len;
	image_config_make(request, &b->result->arena, &config);
	config_write(&config, &record->config);
}

static int check_layer_count(size_t count, const struct base_image *base, struct error *err)
{
	if (count <= PLAN_LAYERS_MAX)
		return 0;
	return error_set(err, ERROR_LIMIT,
			 "the image would have %zu layers, %zu of them the base's; no engine takes "
			 "more than %d: set layers.split to stage, or flatten the base",
			 count, base->layer_count, PLAN_LAYERS_MAX);
}

/* Inputs to layers and configuration. */
static int make_image(struct build *b, const struct lock_platform *inputs,
		      const struct platform *platform, struct image_record *record,
		      struct description *description, struct error *err)
{
	const struct stack *stack = b->request->stack;
	struct assembly assembly = {
		.stack = stack,
		.lock = b->request->lock,
		.inputs = inputs,
		.platform = *platform,
		.store = b->request->store,
		.pool = b->pool,
		.out = b->request->out,
		.arena = &b->result->arena,
		.files = b->files,
		.secrets = b->request->secrets,
		.secret_count = b->request->secret_count,
		.cdi_dirs = b->request->cdi_dirs,
	};
	const struct stack_stage *last = &stack->stages[stack->stage_count - 1];
	cleanup_base_image struct base_image base = { 0 };
	cleanup_stages struct stages stages = { 0 };
	cleanup_assembled struct assembled tree = { 0 };
	cleanup_plan struct plan plan = { 0 };
	struct image_config_request config = { .platform = *platform };
	struct component **copies;

	if (base_image_locked(inputs)) {
		if (base_image_open(b->request->store, inputs, &base, err) < 0 ||
		    take_base_layers(b, &base, &record->image, err) < 0)
			return error_wrap(err, "base image");
		assembly.base = &base;
	}
	if (stage_copies(&assembly, last, &stages, &b->result->arena, &copies, err) < 0 ||
	    assemble_stage(&assembly, last, copies, &tree, err) < 0 ||
	    plan_make(&tree.rootfs, &stack->layers, &plan, err) < 0)
		return -1;
	if (b->planned)
		return build_plan_take(b->planned, inputs->platform, &tree.rootfs, &plan,
				       &record->image, &stack->layers, b->request->store, err);
	if (describe_tree(&assembly, &tree, description, err) < 0)
		return -1;
	look_at_tree(&tree.rootfs, &config);
	rootfs_forget_nodes(&tree.rootfs); /* memory for the coders */
	if (write_layers(b, &plan, &record->image, err) < 0 ||
	    check_layer_count(record->image.layers.len, &base, err) < 0)
		return -1;
	config.base = assembly.base;
	make_config(b, &config, record);
	for (size_t i = 0; i < tree.finish.actions.len; i++)
		vec_push(&record->actions, tree.finish.actions.items[i]);
	return 0;
}

static const struct lock_platform *inputs_of(const struct lockfile *lock, const char *platform)
{
	for (size_t i = 0; i < lock->platforms.len; i++) {
		if (str_equal(lock->platforms.items[i].platform, platform))
			return &lock->platforms.items[i];
	}
	return NULL;
}

/* Where a registry has the blob already, so that a push mounts it. */
static void annotate_source(json_t *annotations, const struct lock_input *base)
{
	cleanup_arena struct arena arena = { 0 };
	struct error ignored = { 0 };
	struct image_name name;

	if (base && str_starts(base->url, "docker://") &&
	    image_name_parse(base->url, &arena, &name, &ignored) == 0)
		json_put(annotations,
			 arena_printf(&arena, "containerd.io/distribution.source.%s",
				      name.ref.registry),
			 json_text(name.ref.repository));
}

static json_t *layer_annotations(const struct build_layer *l, const struct lock_input *base)
{
	json_t *a = json_object();
	cleanup_free char *raw = xasprintf("%" PRIu64, l->raw_size);

	if (l->base) {
		annotate_source(a, base);
		return a;
	}
	json_put(a, "io.gpuimg.components", json_text(l->components));
	json_put(a, "io.gpuimg.raw-size", json_text(raw));
	return a;
}

/* The manifest of one platform; its blobs go to the publication. */
static int make_manifest(struct build *b, struct image_record *record,
			 const struct lock_platform *inputs, const struct platform *platform,
			 struct error *err)
{
	struct build_image *image = &record->image;
	const struct stack_layers *how = &b->request->stack->layers;
	struct layer_options options = { .compression = how->compression, .level = how->level };
	cleanup_free char *coder = fragment_coder(&options);
	const struct lock_input *base = base_image_locked(inputs);
	struct image_config_request request = { .stack = b->request->stack,
						.solved = &b->request->lock->stack,
						.created = b->created,
						.base_digest = base ? &base->digest : NULL };
	cleanup_json json_t *annotations = image_config_annotations(&request, coder);
	cleanup_free struct descriptor *layers = xcalloc(image->layers.len + 1, sizeof(*layers));
	struct descriptor config = { .media_type = MEDIATYPE_OCI_CONFIG };
	cleanup_strbuf struct strbuf text = { 0 };

	config.digest = digest_of(strbuf_slice(&record->config));
	config.size = record->config.len;
	for (size_t i = 0; i < image->layers.len; i++)
		layers[i] = (struct descriptor){
			.media_type = image->layers.items[i].media_type,
			.digest = image->layers.items[i].digest,
			.size = image->layers.items[i].size,
			.annotations = layer_annotations(&image->layers.items[i], base),
		};
	manifest_write(&config, layers, image->layers.len, annotations, &text);
	for (size_t i = 0; i < image->layers.len; i++)
		json_decref((json_t *)(uintptr_t)layers[i].annotations);
	if (text.len > MANIFEST_BYTES_MAX)
		return error_set(err, ERROR_LIMIT, "the manifest would be longer than 4 MiB");
	image->platform = *platform;
	image->manifest = (struct descriptor){ .media_type = MEDIATYPE_OCI_MANIFEST,
					       .digest = digest_of(strbuf_slice(&text)),
					       .size = text.len,
					       .platform = *platform };
	publication_add_bytes(&b->publication, strbuf_slice(&record->config));
	publication_add_bytes(&b->publication, strbuf_slice(&text));
	for (size_t i = 0; i < image->layers.len; i++)
		publication_add_layer(&b->publication, &image->layers.items[i].digest,
				      image->layers.items[i].size, image->layers.items[i].raw_size);
	return 0;
}

/* What is said beside the image goes to the store. */
static int describe(struct build *b, const struct lock_platform *inputs,
		    const struct build_image *image, struct description *description,
		    const struct digest *key, struct error *err)
{
	const struct stack_layers *how = &b->request->stack->layers;
	struct layer_options options = { .compression = how->compression, .level = how->level };
	cleanup_free char *coder = fragment_coder(&options);
	struct provenance_request request = { .stack = b->request->stack,
					      .lock = b->request->lock,
					      .inputs = inputs,
					      .files = b->files,
					      .coder = coder,
					      .created = b->created,
					      .image = image->manifest.digest };

	return describe_image(b->request->store, description, &request, key, err);
}

static int build_platform(struct build *b, const char *name, struct error *err)
{
	const struct lock_platform *inputs = inputs_of(b->request->lock, name);
	cleanup_image_record struct image_record record = { 0 };
	cleanup_description struct description description = { 0 };
	struct store *store = b->request->store;
	struct build_result *result = b->result;
	struct platform platform;
	struct attachments said;
	struct digest key;
	bool known;

	if (platform_parse(name, &result->arena, &platform, err) < 0)
		return -1;
	key = image_record_key(b->request->stack, b->request->lock, inputs, b->files, b->created);
	known = attachments_find(store, &key, &said) &&
		image_record_recall(store, &key, &result->arena, &record);
	if (!known) {
		b->unchanged = false;
		if (bring_inputs(b, err) < 0 ||
		    make_image(b, inputs, &platform, &record, &description, err) < 0 ||
		    image_record_keep(store, &key, &record, err) < 0)
			return -1;
	}
	if (make_manifest(b, &record, inputs, &platform, err) < 0 ||
	    (!known && describe(b, inputs, &record.image, &description, &key, err) < 0))
		return -1;
	if (!result->images.len) {
		for (size_t i = 0; i < record.actions.len; i++)
			vec_push(&result->actions, record.actions.items[i]);
	}
	vec_push(&result->images, record.image);
	record.image.layers.items = NULL; /* the result's now */
	return 0;
}

static int compare_images(const void *a, const void *b)
{
	const struct build_image *x = a, *y = b;

	return strcmp(x->platform.architecture, y->platform.architecture);
}

static void make_index(struct build *b)
{
	struct build_result *result = b->result;
	cleanup_free struct descriptor *manifests =
		xcalloc(result->images.len + 1, sizeof(*manifests));
	cleanup_json json_t *annotations = json_object();
	cleanup_strbuf struct strbuf text = { 0 };

	vec_sort(&result->images, compare_images);
	for (size_t i = 0; i < result->images.len; i++)
		manifests[i] = result->images.items[i].manifest;
	json_put(annotations, "org.opencontainers.image.created", json_text(b->created));
	index_write(manifests, result->images.len, annotations, &text);
	result->index = (struct descriptor){ .media_type = MEDIATYPE_OCI_INDEX,
					     .digest = digest_of(strbuf_slice(&text)),
					     .size = text.len };
	publication_add_bytes(&b->publication, strbuf_slice(&text));
	b->publication.index = result->index;
}

/* Contents stay the same with another version of a compressor, compressed bytes need not. */
static void warn_coder(struct build *b)
{
	const struct stack_layers *how = &b->request->stack->layers;
	struct layer_options options = { .compression = how->compression, .level = how->level };
	cleanup_free char *coder = fragment_coder(&options);
	const char *locked = b->request->lock->coder;

	if (locked && *locked && !str_equal(locked, coder))
		vec_push(&b->result->warnings,
			 arena_printf(&b->result->arena,
				      "the lock was made for layers by \"%s\", this program has "
				      "\"%s\": their digests may be others, their contents are not",
				      locked, coder));
}

/* Engines take 127; what is built upon the image wants some of them. */
static void warn_layers(struct build *b)
{
	for (size_t i = 0; i < b->result->images.len; i++) {
		size_t layers = b->result->images.items[i].layers.len;

		if (layers <= PLAN_LAYERS_WARN)
			continue;
		vec_push(&b->result->warnings,
			 arena_printf(
				 &b->result->arena,
				 "the image has %zu layers; engines mount %d at most, so little "
				 "can be built upon it: raise layers.max-size, or flatten the "
				 "base",
				 layers, PLAN_LAYERS_MAX));
		return;
	}
}

static void warn(struct build *b)
{
	struct build_result *result = b->result;
	cleanup_strbuf struct strbuf names = { 0 };
	const char *last = "";
	size_t scripts = 0;

	for (size_t i = 0; i < result->actions.len; i++) {
		const struct build_action *a = &result->actions.items[i];

		if (a->fate != SCRIPT_NOT_DONE || str_equal(a->package, last))
			continue;
		strbuf_addf(&names, "%s%s", scripts ? ", " : "", a->package);
		last = a->package;
		scripts++;
	}
	if (scripts)
		vec_push(&result->warnings,
			 arena_printf(
				 &result->arena,
				 "maintainer scripts of %zu package%s would have done more than "
				 "was reproduced: %s",
				 scripts, scripts == 1 ? "" : "s", strbuf_text(&names)));
}

/* What the manifest's files are now; every key goes on this, and the trees are held to it. */
static int digest_files(struct build *b, struct error *err)
{
	const struct stack *stack = b->request->stack;
	const struct dir_reading reading = { b->request->store, b->pool };

	b->files = arena_array(&b->result->arena, stack->stage_count, sizeof(*b->files));
	for (size_t i = 0; i < stack->stage_count; i++) {
		cleanup_component struct component *c =
			dir_files(stack, &stack->stages[i], &reading, err);

		if (!c)
			return -1;
		b->files[i] = dir_files_digest(c);
	}
	return 0;
}

static int let_judge(struct build *b, struct error *err)
{
	cleanup_source struct image_source *image = publication_source(&b->publication);

	return b->request->check(b->request->check_user, image, err);
}

static int run(struct build *b, struct error *err)
{
	const struct stack *stack = b->request->stack;

	for (size_t i = 0; i < b->request->destination_count; i++) {
		if (publication_check_name(b->request->destinations[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < b->request->secret_count; i++) {
		if (secrets_check_given(stack, b->request->secrets[i], err) < 0)
			return -1;
	}
	if (check_lock(b, err) < 0 || digest_files(b, err) < 0)
		return -1;
	for (size_t i = 0; i < stack->platforms.count; i++) {
		if (build_platform(b, stack->platforms.items[i], err) < 0)
			return -1;
	}
	make_index(b);
	warn_coder(b);
	warn_layers(b);
	warn(b);
	if (publication_verify(&b->publication, err) < 0 ||
	    (b->request->check && let_judge(b, err) < 0))
		return -1;
	for (size_t i = 0; i < b->request->destination_count; i++) {
		if (publication_write(&b->publication, b->request->destinations[i], err) < 0)
			return -1;
	}
	return 0;
}

int build_run(const struct build_request *request, struct build_result *out, struct error *err)
{
	struct build b = { .request = request, .result = out, .unchanged = true };
	int rc;

	*out = (struct build_result){ 0 };
	b.publication = (struct publication){ .store = request->store,
					      .name = request->stack->name,
					      .default_tag = request->stack->tag,
					      .out = request->out };
	b.created = image_config_time(request->has_created ? request->created : FIXED_MTIME,
				      &out->arena);
	b.pool = pool_new(request->threads);
	rc = run(&b, err);
	pool_join(b.pool);
	publication_release(&b.publication);
	out->unchanged = b.unchanged;
	return rc;
}

static int plan_platforms(struct build *b, struct error *err)
{
	const struct stack *stack = b->request->stack;

	if (check_lock(b, err) < 0 || digest_files(b, err) < 0)
		return -1;
	for (size_t i = 0; i < stack->platforms.count; i++) {
		const char *name = stack->platforms.items[i];
		cleanup_image_record struct image_record record = { 0 };
		cleanup_description struct description description = { 0 };
		struct platform platform;

		if (platform_parse(name, &b->result->arena, &platform, err) < 0 ||
		    make_image(b, inputs_of(b->request->lock, name), &platform, &record,
			       &description, err) < 0)
			return -1;
	}
	return 0;
}

int build_plan_make(const struct build_request *request, bool old, struct build_plan *out,
		    struct error *err)
{
	cleanup_build_result struct build_result result = { 0 };
	struct build b = {
		.request = request, .result = &result, .planned = out, .other_manifest = old
	};
	int rc;

	*out = (struct build_plan){ 0 };
	b.created = image_config_time(FIXED_MTIME, &result.arena);
	b.pool = pool_new(request->threads);
	rc = plan_platforms(&b, err);
	pool_join(b.pool);
	return rc;
}
