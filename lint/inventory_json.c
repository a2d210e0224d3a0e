#include "lint/inventory.h"

#include "lint/facts_parts.h"
#include "lint/loader.h"
#include "lint/stack_versions.h"

static void put(json_t *object, const char *key, const char *text)
{
	if (text && *text)
		json_put(object, key, json_text(text));
}

static void put_number(json_t *object, const char *key, uint64_t number)
{
	json_put(object, key, json_integer((json_int_t)number));
}

json_t *inventory_stack(const struct facts *facts)
{
	cleanup_arena struct arena arena = { 0 };
	struct stack_versions stack;
	json_t *out = json_object();

	stack_versions_find(facts, &arena, &stack);
	put(out, "cuda", stack.cuda);
	put(out, "cudnn", stack.cudnn);
	put(out, "nccl", stack.nccl);
	put(out, "torch", stack.torch);
	return out;
}

static const char *type_name(enum tar_type type)
{
	static const char *const names[] = { [TAR_FILE] = "file",
					     [TAR_DIR] = "directory",
					     [TAR_SYMLINK] = "symlink",
					     [TAR_HARDLINK] = "hardlink",
					     [TAR_CHAR] = "character device",
					     [TAR_BLOCK] = "block device",
					     [TAR_FIFO] = "fifo" };

	return names[type];
}

static json_t *entry_json(const struct facts *facts, const struct tree_node *node)
{
	static const char *const fates[] = { NULL, "replaced", "deleted", "hidden" };
	cleanup_free char *mode = xasprintf("%04o", node->entry.mode);
	const struct tree_node *target = tree_target(node);
	cleanup_strbuf struct strbuf path = { 0 };
	json_t *out = json_object();

	put(out, "path", facts_path_in(facts, node, &path));
	put(out, "type", type_name(node->entry.type));
	put(out, "mode", mode);
	put_number(out, "uid", node->entry.uid);
	put_number(out, "gid", node->entry.gid);
	if (node->entry.type == TAR_FILE)
		put_number(out, "size", node->entry.size);
	put(out, "link", target ? tree_path(&facts->tree, target, &path) : tree_link(node));
	if (!facts->is_rootfs)
		put_number(out, "layer", node->layer);
	if (node->fate != TREE_EFFECTIVE) {
		put(out, "fate", fates[node->fate]);
		put_number(out, "fate_layer", node->fate_layer);
	}
	return out;
}

json_t *inventory_tree(const struct facts *facts)
{
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);
	json_t *out = json_array();

	for (size_t i = 0; i < count; i++)
		json_push(out, entry_json(facts, nodes[i]));
	return out;
}

json_t *inventory_packages(const struct facts *facts)
{
	json_t *out = json_array();

	for (size_t i = 0; i < facts->packages.len; i++) {
		const struct package *p = &facts->packages.items[i];
		json_t *one = json_object();

		put(one, "name", p->name);
		put(one, "version", p->version);
		put(one, "kind", p->kind);
		put(one, "arch", p->arch);
		put(one, "source", p->source);
		put(one, "license", p->license);
		put(one, "record", p->path);
		if (p->bytes)
			put_number(one, "bytes", p->bytes);
		json_push(out, one);
	}
	return out;
}

json_t *inventory_components(const struct facts *facts)
{
	cleanup_arena struct arena arena = { 0 };
	struct components components = { 0 };
	json_t *out = json_array();

	components_find(facts, &arena, &components);
	for (size_t i = 0; i < components.len; i++) {
		json_t *one = json_object();

		put(one, "name", components.items[i].name);
		put_number(one, "bytes", components.items[i].bytes);
		put_number(one, "files", components.items[i].files);
		json_push(out, one);
	}
	vec_release(&components);
	return out;
}

static const char *kind_name(enum fatbin_kind kind)
{
	switch (kind) {
	case FATBIN_PTX:
		return "ptx";
	case FATBIN_LTO:
		return "lto-ir";
	case FATBIN_CUBIN:
	case FATBIN_OLD_CUBIN:
		break;
	}
	return "machine code";
}

/* What a file's facts say of it; NULL: nothing. */
typedef json_t *file_json_fn(const struct file_facts *f);

/* The path of each file of which something is said, and that under `key`. */
static json_t *files_json(const struct facts *facts, const char *key, file_json_fn *say)
{
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);
	json_t *out = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct file_facts *f =
			nodes[i]->entry.type == TAR_FILE ? node_facts(nodes[i]) : NULL;
		json_t *said = f ? say(f) : NULL, *one;

		if (!said)
			continue;
		one = json_object();
		put(one, "path", facts_path(facts, nodes[i]));
		json_put(one, key, said);
		json_push(out, one);
	}
	return out;
}

/* GPU code of an ELF file or of one on its own. */
static json_t *gpu_json(const struct file_facts *f)
{
	const struct gpu_code *code = f->elf ? f->elf->gpu : f->gpu;
	json_t *out = code && code->count ? json_array() : NULL;

	for (size_t i = 0; out && i < code->count; i++) {
		const struct gpu_row *row = &code->rows[i];
		char suffix[2] = { row->suffix, '\0' };
		cleanup_free char *arch = xasprintf("sm_%u%s", row->sm, suffix);
		cleanup_free char *ptx = xasprintf("%u.%u", row->ptx_major, row->ptx_minor);
		json_t *one = json_object();

		put(one, "kind", kind_name(row->kind));
		put(one, "arch", arch);
		put(one, "section", row->section);
		if (row->kind == FATBIN_PTX)
			put(one, "ptx_version", ptx);
		put_number(one, "entries", row->count);
		put_number(one, "stored", row->stored);
		put_number(one, "unpacked", row->unpacked);
		json_push(out, one);
	}
	return out;
}

json_t *inventory_gpu(const struct facts *facts)
{
	return files_json(facts, "code", gpu_json);
}

static json_t *texts(const char *const *items, size_t count)
{
	json_t *out = json_array();

	for (size_t i = 0; i < count; i++)
		json_push(out, json_text(items[i]));
	return out;
}

static json_t *opens_json(unsigned opens)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = { { OPENS_COMPUTE, "compute" },
		      { OPENS_UTILITY, "utility" },
		      { OPENS_VIDEO, "video" },
		      { OPENS_GRAPHICS, "graphics" },
		      { OPENS_NVRTC, "nvrtc" } };
	json_t *out = json_array();

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (opens & names[i].bit)
			json_push(out, json_text(names[i].name));
	}
	return out;
}

/* Undefined names of the GPU libraries and of PyTorch; those that may stay undefined end in "?". */
static json_t *undefined_json(const struct elf_facts *elf)
{
	json_t *out = json_array();

	for (size_t i = 0; i < elf->undefined_count; i++) {
		cleanup_free char *name = xasprintf("%s%s", elf->undefined[i].name,
						    elf->undefined[i].weak ? "?" : "");

		json_push(out, json_text(name));
	}
	return out;
}

static json_t *elf_json(const struct object *o)
{
	const struct elf_facts *elf = o->elf;
	json_t *out = json_object(), *needs = json_array();

	put(out, "path", o->path);
	put(out, "machine", machine_name(elf->machine));
	put_number(out, "class", elf->is64 ? 64 : 32);
	json_put(out, "reachable", json_boolean(o->reachable));
	put(out, "interpreter", elf->interp);
	put(out, "soname", elf->soname);
	put(out, "rpath", elf->rpath);
	put(out, "runpath", elf->runpath);
	json_put(out, "needed", texts(elf->needed, elf->needed_count));
	for (size_t i = 0; i < elf->version_need_count; i++) {
		cleanup_free char *text = xasprintf("%s %s", elf->version_needs[i].file,
						    elf->version_needs[i].version);

		json_push(needs, json_text(text));
	}
	json_put(out, "version_needs", needs);
	json_put(out, "version_definitions", texts(elf->version_defs, elf->version_def_count));
	json_put(out, "gpu_code", json_boolean(elf->gpu_code));
	json_put(out, "opens", opens_json(elf->opens));
	json_put(out, "undefined", undefined_json(elf));
	put_number(out, "exports_known", elf->export_count);
	put_number(out, "debug_bytes", elf->debug_bytes);
	json_put(out, "python_module", json_boolean(elf->python_module));
	json_put(out, "cut_short", json_boolean(elf->cut_short));
	put(out, "states_version", elf->embedded_version);
	put(out, "compat_note", elf->compat_note);
	return out;
}

static json_t *objects_json(const struct facts *facts)
{
	json_t *out = json_array();

	for (size_t i = 0; i < facts->objects.len; i++)
		json_push(out, elf_json(&facts->objects.items[i]));
	return out;
}

static json_t *search_json(const struct facts *facts)
{
	const struct loader_dirs *dirs = loader_dirs(facts->loader);
	json_t *out = json_array();

	for (size_t i = 0; i < dirs->len; i++) {
		json_t *one = json_object();

		put(one, "directory", dirs->items[i].path);
		put(one, "from", dirs->items[i].where);
		json_put(one, "only_when_rebuilt", json_boolean(dirs->items[i].only_rebuilt));
		json_push(out, one);
	}
	return out;
}

/* Kinds and places of secrets; never what they are. */
static json_t *secrets_json(const struct facts *facts)
{
	json_t *out = json_array();

	for (size_t i = 0; i < facts->tree.count; i++) {
		const struct tree_node *node = tree_node_at(&facts->tree, i);
		const struct file_facts *f = node->entry.type == TAR_FILE ? node->facts : NULL;

		for (const struct secret_facts *s = f ? f->secrets : NULL; s; s = s->next) {
			json_t *one = json_object();

			put(one, "path", facts_path(facts, node));
			put(one, "kind", s->kind);
			put(one, "masked", s->masked);
			put_number(one, "layer", node->layer);
			json_push(out, one);
		}
	}
	return out;
}

static json_t *masked(const char *text)
{
	cleanup_arena struct arena arena = { 0 };

	return json_text(secrets_masked(text, &arena));
}

static json_t *masked_texts(const struct string_list *list)
{
	json_t *out = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_push(out, masked(list->items[i]));
	return out;
}

static json_t *history_json(const struct image_config *config)
{
	json_t *out = json_array();

	for (size_t i = 0; i < config->history_count; i++) {
		const struct config_history *h = &config->history[i];
		json_t *one = json_object();

		json_put(one, "created_by", masked(h->created_by ? h->created_by : ""));
		json_put(one, "empty_layer", json_boolean(h->empty_layer));
		json_push(out, one);
	}
	return out;
}

/* Without the values of secrets. */
static json_t *config_json(const struct image_config *config)
{
	json_t *out = json_object(), *labels = json_object();

	put(out, "os", config->platform.os);
	put(out, "architecture", config->platform.architecture);
	put(out, "variant", config->platform.variant);
	put(out, "created", config->created);
	put(out, "user", config->user);
	put(out, "workdir", config->workdir);
	json_put(out, "env", masked_texts(&config->env));
	json_put(out, "entrypoint", masked_texts(&config->entrypoint));
	json_put(out, "cmd", masked_texts(&config->cmd));
	for (size_t i = 0; i < config->label_keys.count; i++)
		json_put(labels, config->label_keys.items[i],
			 masked(config->label_values.items[i]));
	json_put(out, "labels", labels);
	json_put(out, "history", history_json(config));
	return out;
}

/* First lines of scripts: what a runtime starts for them. */
static json_t *interpreter_json(const struct file_facts *f)
{
	return f->shebang ? masked(f->shebang) : NULL;
}

/* Engines of TensorRT, and which TensorRT made each. */
static json_t *tensorrt_json(const struct file_facts *f)
{
	return f->engine ? json_text(f->engine) : NULL;
}

static json_t *dead_json(const struct facts *facts)
{
	json_t *out = json_array();

	for (size_t i = 0; i < facts->tree.count; i++) {
		if (tree_node_at(&facts->tree, i)->fate != TREE_EFFECTIVE)
			json_push(out, entry_json(facts, tree_node_at(&facts->tree, i)));
	}
	return out;
}

json_t *inventory_facts(const struct facts *facts)
{
	json_t *out = json_object();

	put(out, "schema", "gpuimg-facts/1");
	put(out, "machine", machine_name(facts->machine));
	put(out, "gpu_image", facts->gpu_reason);
	json_put(out, "stack", inventory_stack(facts));
	if (facts->config)
		json_put(out, "config", config_json(facts->config));
	json_put(out, "tree", inventory_tree(facts));
	json_put(out, "scripts", files_json(facts, "interpreter", interpreter_json));
	json_put(out, "engines", files_json(facts, "tensorrt", tensorrt_json));
	json_put(out, "dead", dead_json(facts));
	json_put(out, "packages", inventory_packages(facts));
	json_put(out, "package_problems",
		 texts(facts->package_problems.items, facts->package_problems.len));
	json_put(out, "objects", objects_json(facts));
	json_put(out, "gpu_code", inventory_gpu(facts));
	json_put(out, "search", search_json(facts));
	json_put(out, "secrets", secrets_json(facts));
	json_put(out, "components", inventory_components(facts));
	put(out, "unreadable", facts->unreadable ? facts->unreadable_text : NULL);
	return out;
}
