#include "builder/stage.h"

#include "builder/image_record.h"
#include "builder/layer.h"
#include "builder/sandbox.h"
#include "builder/sources/dir.h"
#include "builder/workdir.h"

void stages_release(struct stages *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->trees.len; i++) {
		assembled_release(s->trees.items[i]);
		free(s->trees.items[i]);
	}
	vec_release(&s->trees);
}

static size_t index_of(const struct assembly *a, const struct stack_stage *stage)
{
	return (size_t)(stage - a->stack->stages);
}

/* The tree of a stage, assembled once. */
static struct assembled *tree_of(const struct assembly *a, const struct stack_stage *stage,
				 struct stages *stages, struct arena *arena, struct error *err)
{
	size_t at = index_of(a, stage);
	struct component **copies;
	struct assembled *tree;

	while (stages->trees.len < a->stack->stage_count)
		vec_push(&stages->trees, NULL);
	if (stages->trees.items[at])
		return stages->trees.items[at];
	if (stage_copies(a, stage, stages, arena, &copies, err) < 0)
		return NULL;
	tree = xcalloc(1, sizeof(*tree));
	stages->trees.items[at] =
		tree; /* released with the others, also when it stays unfinished */
	if (assemble_stage(a, stage, copies, tree, err) < 0) {
		error_wrap(err, "stage %s", stage->name);
		return NULL;
	}
	return tree;
}

static void key_of(const struct assembly *a, const struct stack_stage *stage,
		   struct digest_state *state);

static void key_copies(const struct assembly *a, const struct stack_stage *stage,
		       struct digest_state *state)
{
	for (size_t i = 0; i < stage->copy_count; i++) {
		const struct stack_copy *copy = &stage->copies[i];

		layer_key_text(state, copy->path);
		layer_key_text(state, copy->to);
		layer_key_text(state, copy->mode ? copy->mode : "");
		key_of(a, stack_stage(a->stack, copy->from), state);
	}
}

/* Everything that goes into a stage. */
static void key_of(const struct assembly *a, const struct stack_stage *stage,
		   struct digest_state *state)
{
	const struct digest *files = &a->files[index_of(a, stage)];

	layer_key_text(state, "gpuimg stage");
	layer_key_u64(state, ASSEMBLY_VERSION);
	layer_key_text(state, a->inputs->platform);
	layer_key_text(state, stage->name);
	layer_key_u64(state, stage->profile);
	layer_key_text(state, a->lock->stack.cuda);
	layer_key_text(state, a->lock->stack.python);
	for (size_t i = 0; i < a->inputs->inputs.len; i++) {
		if (a->inputs->inputs.items[i].kind == LOCK_IMAGE ||
		    str_equal(a->inputs->inputs.items[i].stage, stage->name))
			image_record_key_input(state, &a->inputs->inputs.items[i]);
	}
	digest_update(state, files->bytes, digest_size(files->algorithm));
	for (size_t i = 0; i < stage->run.count; i++)
		layer_key_text(state, stage->run.items[i]);
	for (size_t i = 0; i < stage->secret_count; i++)
		layer_key_text(state, stage->secrets[i].id); /* its bytes count for nothing */
	if (stage->gpu) /* neither does which driver this machine has */
		layer_key_text(state, stage->gpu);
	key_copies(a, stage, state);
}

static struct digest artifact_key(const struct assembly *a, const struct stack_stage *stage,
				  const char *path)
{
	cleanup_digest struct digest_state state = { 0 };

	digest_init(&state, DIGEST_SHA256);
	key_of(a, stage, &state);
	layer_key_text(&state, path);
	return digest_finish(&state);
}

/* Points the contents at the store's objects. False when one is missing. */
static bool find_objects(struct store *store, struct component *c)
{
	for (size_t i = 0; i < c->entries.len; i++) {
		struct component_entry *e = &c->entries.items[i];
		struct error ignored = { 0 };
		cleanup_free char *name = NULL;
		struct digest digest;
		int dirfd;

		if (e->tar.type != TAR_FILE)
			continue;
		digest = content_digest(&e->content);
		if (!store_intact(store, &digest, e->tar.size) ||
		    store_locate(store, &digest, &dirfd, &name, &ignored) < 0)
			return false;
		e->content.path = arena_printf(&c->arena, "%s/%s", store_path(store), name);
	}
	return true;
}

/*
 * What an earlier build copied from the same stage, or NULL. The record names the object that
 * holds the listing, which may be long.
 */
static struct component *recall(const struct assembly *a, const struct digest *key)
{
	cleanup_component struct component *c = component_new(COMPONENT_STAGE, "stage", "");
	cleanup_strbuf struct strbuf name = { 0 }, text = { 0 };
	struct error ignored = { 0 };
	struct digest listing;

	if (store_get_record(a->store, "stages", key, &name, &ignored) < 0 ||
	    digest_parse(strbuf_slice(&name), &listing, &ignored) < 0 ||
	    store_get_bytes(a->store, &listing, DIR_LISTING_BYTES_MAX, &text, &ignored) < 0 ||
	    dir_listing_read(c, strbuf_slice(&text), NULL, &ignored) < 0 ||
	    !find_objects(a->store, c))
		return NULL;
	return steal_ptr(&c);
}

static int keep(const struct assembly *a, const struct sandbox *box, const struct stack_copy *copy,
		struct error *err)
{
	cleanup_component struct component *c = component_new(COMPONENT_STAGE, "stage", "");
	cleanup_strbuf struct strbuf listing = { 0 };
	struct digest key = artifact_key(a, box->stage, copy->path), digest;
	char text[DIGEST_TEXT_MAX];

	if (sandbox_collect(a->store, box->root, copy->path, box->secrets, c, err) < 0) {
		struct error cause = *err;

		if (cause.code == ERROR_USAGE)
			return stack_error(a->stack, copy->place, err, "copy: %s", cause.text);
		return -1;
	}
	dir_listing_write(c, &listing);
	if (store_put_bytes(a->store, strbuf_slice(&listing), &digest, err) < 0)
		return -1;
	return store_put_record(a->store, "stages", &key, slice_str(digest_text(&digest, text)),
				err);
}

static int check_host(const struct assembly *a, const struct stack_stage *stage, struct error *err)
{
	struct platform host = platform_host();

	if (platform_equal(&host, &a->platform))
		return 0;
	return stack_error(a->stack, stage->place, err,
			   "stage %s: its commands are for %s and this machine is not; build that "
			   "platform on one that is",
			   stage->name, a->inputs->platform);
}

static int find_device(const struct assembly *a, const struct stack_stage *stage,
		       struct sandbox_devices *out, struct error *err)
{
	struct error cause = { 0 };

	if (sandbox_devices_find(stage->gpu, a->cdi_dirs, a->out, stage->name, out, &cause) == 0)
		return 0;
	return stack_error(a->stack, stage->place, err, "stage %s: gpu: %s", stage->name,
			   cause.text);
}

/* Write the tree, run the commands, keep what `user` and all later stages copy from it. */
static int run_stage(const struct assembly *a, const struct stack_stage *stage,
		     struct stages *stages, struct arena *arena, struct error *err)
{
	cleanup_workdir char *root = NULL, *scratch = NULL;
	cleanup_secrets struct secrets secrets = { 0 };
	cleanup_sandbox_devices struct sandbox_devices devices = { 0 };
	struct sandbox box = { .stack = a->stack,
			       .stage = stage,
			       .secrets = &secrets,
			       .devices = &devices,
			       .out = a->out };
	struct assembled *tree;

	if (check_host(a, stage, err) < 0 ||
	    secrets_read(a->stack, stage, a->secrets, a->secret_count, &secrets, err) < 0 ||
	    find_device(a, stage, &devices, err) < 0)
		return -1;
	tree = tree_of(a, stage, stages, arena, err);
	root = tree ? workdir_new(a->store, err) : NULL;
	scratch = root ? workdir_new(a->store, err) : NULL;
	if (!scratch || sandbox_extract(&tree->rootfs, root, err) < 0)
		return -1;
	if (chmod(root, 0755) < 0)
		return error_set_errno(err, errno, "set the mode of %s", root);
	box.root = root;
	box.scratch = scratch;
	box.cuda_programs = rootfs_resolve(&tree->rootfs, "usr/local/cuda/bin") != NULL;
	if (sandbox_run(&box, err) < 0)
		return -1;
	for (size_t i = 0; i < a->stack->stage_count; i++) {
		const struct stack_stage *user = &a->stack->stages[i];

		for (size_t k = 0; k < user->copy_count; k++) {
			if (str_equal(user->copies[k].from, stage->name) &&
			    keep(a, &box, &user->copies[k], err) < 0)
				return -1;
		}
	}
	return 0;
}

static struct component *copy_from_run(const struct assembly *a, const struct stack_stage *stage,
				       const struct stack_copy *copy, struct stages *stages,
				       struct arena *arena, struct error *err)
{
	struct digest key = artifact_key(a, stage, copy->path);
	struct component *c = recall(a, &key);

	if (c)
		return c;
	if (run_stage(a, stage, stages, arena, err) < 0)
		return NULL;
	c = recall(a, &key);
	if (!c)
		error_set(err, ERROR_INTEGRITY,
			  "stage %s: what was just kept of %s is not in the store; build again",
			  stage->name, copy->path);
	return c;
}

/* The nodes at and below a path as "x" and "x/…"; contents stay those of the tree. */
static struct component *copy_from_tree(const struct assembly *a, const struct stack_stage *stage,
					const struct stack_copy *copy, struct stages *stages,
					struct arena *arena, struct error *err)
{
	cleanup_component struct component *c = component_new(COMPONENT_STAGE, "stage", "");
	struct assembled *tree = tree_of(a, stage, stages, arena, err);
	struct rootfs_node *top = tree ? rootfs_resolve(&tree->rootfs, copy->path) : NULL;
	struct rootfs_nodes all = { 0 };
	size_t len;

	if (!tree)
		return NULL;
	if (!top) {
		stack_error(a->stack, copy->place, err, "copy: stage %s has no %s", stage->name,
			    copy->path);
		return NULL;
	}
	len = strlen(top->tar->path);
	rootfs_sorted(&tree->rootfs, &all);
	for (size_t i = 0; i < all.len; i++) {
		struct rootfs_node *n = all.items[i], *file = rootfs_file(&tree->rootfs, n);
		struct tar_entry tar;
		struct component_entry *e;

		if (n != top &&
		    !(str_starts(n->tar->path, top->tar->path) && n->tar->path[len] == '/'))
			continue;
		tar = file ? *file->tar : *n->tar;
		tar.path = arena_printf(&c->arena, "x%s", n->tar->path + len);
		e = component_add(c, &tar);
		if (tar.type == TAR_FILE) {
			e->content = rootfs_entry(file)->content;
			if (!e->content.has_digest) {
				struct digest digest;

				if (rootfs_digest(rootfs_entry(file), &digest, err) < 0) {
					vec_release(&all);
					return NULL;
				}
				content_set_digest(&e->content, &digest);
			}
		}
	}
	vec_release(&all);
	return steal_ptr(&c);
}

/* "x" becomes the place in the image. Takes nothing; the result reads the same contents. */
static struct component *move(const struct component *from, const struct stack_copy *copy,
			      const char *stage, struct error *err)
{
	cleanup_component struct component *c = component_new(COMPONENT_STAGE, stage, "");
	const char *base = strrchr(copy->path, '/') ? strrchr(copy->path, '/') + 1 : copy->path,
		   *to;
	bool is_dir = from->entries.len && from->entries.items[0].tar.type == TAR_DIR;

	if (dir_image_path(copy->to, &c->arena, &to, err) < 0)
		return NULL;
	if (!is_dir && (str_ends(copy->to, "/") || !*to))
		to = *to ? arena_printf(&c->arena, "%s/%s", to, base) : base;
	c->stage = arena_strdup(&c->arena, stage);
	for (size_t i = 0; i < from->entries.len; i++) {
		const struct component_entry *e = &from->entries.items[i];
		struct tar_entry tar = e->tar;
		struct component_entry *made;
		const char *below = tar.path + 1; /* after "x" */

		tar.path =
			*to ? arena_printf(&c->arena, "%s%s", to, below) : below + (*below == '/');
		if (!*tar.path)
			continue;
		if (copy->mode && tar.type == TAR_FILE)
			tar.mode = (uint32_t)strtoul(copy->mode, NULL, 8) & 07777;
		made = component_add(c, &tar);
		made->content = e->content;
		if (e->content.path)
			made->content.path = arena_strdup(&c->arena, e->content.path);
		if (e->content.kind == CONTENT_PATH && e->content.folder)
			made->content.folder = arena_strdup(&c->arena, e->content.folder);
	}
	return steal_ptr(&c);
}

static struct component *copy_one(const struct assembly *a, const struct stack_copy *copy,
				  struct stages *stages, struct arena *arena, struct error *err)
{
	const struct stack_stage *from = stack_stage(a->stack, copy->from);
	cleanup_component struct component *c = NULL;

	if (!from) {
		stack_error(a->stack, copy->place, err, "copy: there is no stage '%s'", copy->from);
		return NULL;
	}
	c = from->run.count ? copy_from_run(a, from, copy, stages, arena, err)
			    : copy_from_tree(a, from, copy, stages, arena, err);
	return c ? move(c, copy, from->name, err) : NULL;
}

int stage_copies(const struct assembly *a, const struct stack_stage *stage, struct stages *stages,
		 struct arena *arena, struct component ***out, struct error *err)
{
	struct component **copies = arena_array(arena, stage->copy_count + 1, sizeof(*copies));

	for (size_t i = 0; i < stage->copy_count; i++) {
		copies[i] = copy_one(a, &stage->copies[i], stages, arena, err);
		if (!copies[i]) {
			while (i-- > 0)
				component_free(copies[i]);
			return -1;
		}
	}
	*out = copies;
	return 0;
}
