#include "lint/facts.h"

#include <fnmatch.h>

#include "lint/facts_parts.h"
#include "lint/loader.h"

void facts_add(struct facts *facts, size_t layer, const struct tar_entry *entry,
	       struct file_facts *content)
{
	struct tree_node *node = tree_add(&facts->tree, layer, entry);

	if (node)
		node->facts = content;
	facts->layer_count = MAX(facts->layer_count, layer + 1);
}

const struct file_facts *node_facts(const struct tree_node *node)
{
	if (node && node->entry.type == TAR_HARDLINK)
		node = tree_target(node);
	return node && node->entry.type == TAR_FILE ? node->facts : NULL;
}

/* --- objects */

static void add_name(struct facts *facts, const char *name, const struct object *object)
{
	struct object_names *names = map_get(&facts->objects_by_name, name);

	if (!names) {
		names = arena_alloc(&facts->arena, sizeof(*names));
		map_put(&facts->objects_by_name, name, names);
	}
	if (!names->len || names->items[names->len - 1] != object)
		vec_push(names, object);
}

static void collect_objects(struct facts *facts)
{
	size_t count;
	struct tree_node **nodes = tree_sorted(&facts->tree, &count);

	for (size_t i = 0; i < count; i++) {
		const struct file_facts *content = node_facts(nodes[i]);

		if (!content || !content->elf)
			continue;
		vec_push(&facts->objects, ((struct object){ .path = facts_path(facts, nodes[i]),
							    .node = nodes[i],
							    .elf = content->elf }));
	}
	for (size_t i = 0; i < facts->objects.len; i++) {
		struct object *o = &facts->objects.items[i];

		map_put(&facts->object_by_path, o->path, o);
		add_name(facts, path_name(o->path), o);
		if (o->elf->soname)
			add_name(facts, o->elf->soname, o);
	}
}

static uint16_t machine_of(const char *architecture)
{
	if (str_equal(architecture, "amd64"))
		return ELF_MACHINE_X86_64;
	if (str_equal(architecture, "arm64"))
		return ELF_MACHINE_AARCH64;
	if (str_equal(architecture, "386"))
		return ELF_MACHINE_386;
	if (str_equal(architecture, "arm"))
		return ELF_MACHINE_ARM;
	return 0;
}

/* The machine that more than half of the objects are for. */
static uint16_t majority_machine(const struct facts *facts)
{
	uint16_t best = 0;
	size_t votes = 0;

	for (size_t i = 0; i < facts->objects.len; i++) {
		uint16_t machine = facts->objects.items[i].elf->machine;

		if (!votes)
			best = machine;
		votes = best == machine ? votes + 1 : votes - 1;
	}
	return best;
}

const char *machine_triplet(uint16_t machine)
{
	switch (machine) {
	case ELF_MACHINE_X86_64:
		return "x86_64-linux-gnu";
	case ELF_MACHINE_AARCH64:
		return "aarch64-linux-gnu";
	case ELF_MACHINE_386:
		return "i386-linux-gnu";
	case ELF_MACHINE_ARM:
		return "arm-linux-gnueabihf";
	default:
		return "";
	}
}

const char *machine_name(uint16_t machine)
{
	switch (machine) {
	case ELF_MACHINE_X86_64:
		return "x86-64";
	case ELF_MACHINE_AARCH64:
		return "AArch64";
	case ELF_MACHINE_386:
		return "i386";
	case ELF_MACHINE_ARM:
		return "Arm";
	case ELF_MACHINE_CUDA:
		return "CUDA";
	default:
		return "another machine";
	}
}

static void derive_libc(struct facts *facts)
{
	cleanup_free char *libc = xasprintf("/lib/%s/libc.so.6", machine_triplet(facts->machine));
	struct tree_nodes lib = { 0 };

	facts->has_debian_version = facts_resolve(facts, "/etc/debian_version", NULL);
	facts->is_debian_libc = facts_resolve(facts, libc, NULL);
	facts_list(facts, "/lib", &lib);
	for (size_t i = 0; i < lib.len; i++)
		facts->is_musl |= str_starts(facts_name(facts, lib.items[i]), "ld-musl-");
	vec_release(&lib);
	if (facts->is_debian_libc || facts_resolve(facts, "/lib64/libc.so.6", NULL) ||
	    facts_resolve(facts, "/usr/lib64/libc.so.6", NULL))
		facts->is_musl = false;
}

static bool is_driver_container(const struct facts *facts)
{
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	for (size_t i = 0; i < count; i++) {
		const char *name = facts_name(facts, nodes[i]);

		if (!str_starts(name, "nvidia") && !str_starts(name, "NVIDIA-Linux-"))
			continue;
		if (str_ends(name, ".ko") || str_ends(name, ".ko.xz") ||
		    str_ends(name, ".ko.zst") || str_ends(name, ".run"))
			return true;
	}
	return false;
}

static void read_cache(struct facts *facts)
{
	struct slice text = facts_text(facts, "/etc/ld.so.cache");
	struct error bad = { 0 };

	if (!text.data)
		return;
	/* A cache the loader would not take either is no cache. */
	facts->has_cache = ldcache_read(text, &facts->cache, &bad) == 0;
}

int facts_derive(struct facts *facts, struct error *err)
{
	if (driver_libraries_load(&facts->driver, err) < 0 ||
	    tables_load(NULL, &facts->tables, err) < 0 || hosts_derive(facts, err) < 0)
		return -1;
	collect_objects(facts);
	if (facts->config && facts->config->platform.architecture)
		facts->machine = machine_of(facts->config->platform.architecture);
	if (!facts->machine)
		facts->machine = majority_machine(facts);
	derive_libc(facts);
	facts->driver_container = is_driver_container(facts);
	read_cache(facts);
	config_facts_derive(facts);
	config_secrets_derive(facts);
	package_facts_derive(facts);
	python_facts_derive(facts);
	gpu_facts_derive(facts);
	facts->loader = loader_new(facts);
	return 0;
}

int facts_read(struct facts *facts, struct image *image, const struct target *target,
	       struct error *err)
{
	facts->target = target;
	if (image->rootfs) {
		facts->is_rootfs = true;
		if (rootfs_facts_read(facts, image->rootfs, err) < 0)
			return -1;
	} else {
		facts->config = &image->config;
		facts->manifest = &image->manifest;
		facts->entry_platform = &image->descriptor.platform;
		tree_facts_read(facts, image);
		facts->layer_count = image->manifest.layer_count;
		facts->manifest_type = image->manifest.media_type;
		for (size_t i = 0; i < facts->layer_count; i++)
			vec_push(&facts->media,
				 ((struct layer_media){ image->manifest.layers[i].media_type,
							image->layer_compressions[i] }));
	}
	return facts_derive(facts, err);
}

static void release_names(struct facts *facts)
{
	for (size_t i = 0; i < facts->objects_by_name.len; i++) {
		struct object_names *names = facts->objects_by_name.entries[i].value;

		vec_release(names);
	}
}

void facts_release(struct facts *facts)
{
	loader_free(facts->loader);
	hosts_release(&facts->hosts);
	tables_release(&facts->tables);
	release_names(facts);
	vec_release(&facts->objects);
	map_release(&facts->object_by_path);
	map_release(&facts->objects_by_name);
	vec_release(&facts->environment);
	vec_release(&facts->conf);
	vec_release(&facts->path);
	ldcache_release(&facts->cache);
	driver_libraries_release(&facts->driver);
	vec_release(&facts->packages);
	vec_release(&facts->dists);
	vec_release(&facts->package_files);
	vec_release(&facts->package_problems);
	vec_release(&facts->odd_entries);
	vec_release(&facts->media);
	vec_release(&facts->problems);
	vec_release(&facts->config_secrets);
	tree_release(&facts->tree);
	for (size_t i = 0; i < facts->arenas.len; i++)
		arena_release(facts->arenas.items[i]);
	vec_release(&facts->arenas);
	arena_release(&facts->arena);
}

/* --- queries. The tree sorts and allocates behind a const question. */

static struct tree *tree_of(const struct facts *facts)
{
	return (struct tree *)&facts->tree;
}

static const char *relative(const char *path)
{
	while (*path == '/')
		path++;
	return path;
}

struct tree_node *facts_lookup(const struct facts *facts, const char *path)
{
	return tree_lookup(&facts->tree, relative(path));
}

struct tree_node *facts_resolve(const struct facts *facts, const char *path, const char **out_path)
{
	const char *resolved = NULL;
	struct tree_node *node =
		tree_resolve(&facts->tree, relative(path), facts_arena(facts), &resolved);

	if (out_path)
		*out_path = resolved ? arena_printf(facts_arena(facts), "/%s", resolved) : NULL;
	return node;
}

bool facts_is_dir(const struct facts *facts, const char *path)
{
	return tree_is_dir(&facts->tree, relative(path));
}

const char *facts_real(const struct facts *facts, const char *path)
{
	const char *resolved = NULL;

	facts_resolve(facts, path, &resolved);
	return resolved ? resolved : path;
}

struct slice facts_text(const struct facts *facts, const char *path)
{
	const struct file_facts *f = node_facts(facts_resolve(facts, path, NULL));

	if (!f || (!f->text && !f->zero))
		return (struct slice){ 0 };
	return f->zero ? slice_str("") : slice_of(f->text, f->text_len);
}

const struct object *facts_object(const struct facts *facts, const char *path)
{
	const char *resolved = NULL;

	if (!facts_resolve(facts, path, &resolved) || !resolved)
		return NULL;
	return map_get(&facts->object_by_path, resolved);
}

const struct object_names *facts_named(const struct facts *facts, const char *name)
{
	return map_get(&facts->objects_by_name, name);
}

void facts_list(const struct facts *facts, const char *dir, struct tree_nodes *out)
{
	tree_list(tree_of(facts), relative(dir), out);
}

const char *facts_path(const struct facts *facts, const struct tree_node *node)
{
	cleanup_strbuf struct strbuf path = { 0 };

	return arena_strdup(facts_arena(facts), facts_path_in(facts, node, &path));
}

const char *facts_path_in(const struct facts *facts, const struct tree_node *node,
			  struct strbuf *buf)
{
	strbuf_truncate(buf, 0);
	strbuf_addc(buf, '/');
	tree_add_path(&facts->tree, node, buf);
	return strbuf_text(buf);
}

const char *facts_name(const struct facts *facts, const struct tree_node *node)
{
	return tree_name(&facts->tree, node);
}

const char *facts_label(const struct facts *facts, const char *key)
{
	const char *value = facts->config ? config_label(facts->config, key) : NULL;

	return value && *value ? value : NULL;
}

const char *facts_env(const struct facts *facts, const char *name)
{
	return facts->config ? config_env(facts->config, name) : NULL;
}

bool facts_requests_jetson(const struct facts *facts)
{
	return facts->target && facts->target->runtimes & RUNTIME_JETSON;
}

int facts_layer(const struct facts *facts, const struct tree_node *node)
{
	return facts->is_rootfs || !node ? -1 : (int)node->layer;
}

/* --- words about paths */

const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *path_dir(const struct facts *facts, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return "/";
	return arena_printf(facts_arena(facts), "%.*s", (int)(slash - path), path);
}

bool path_has_part(const char *path, const char *part)
{
	size_t len = strlen(part);

	for (const char *at = path; (at = strstr(at, part)); at++) {
		if ((at == path || at[-1] == '/') && (at[len] == '/' || !at[len]))
			return true;
	}
	return false;
}

bool path_is_stub(const char *path)
{
	return path_has_part(path, "stubs");
}

bool path_is_compat(const char *path)
{
	return path_matches("/usr/local/cuda*/compat*", path) || path_has_part(path, "compat") ||
	       path_has_part(path, "cuda-compat");
}

bool path_is_tegra(const char *path)
{
	return path_matches("*/aarch64-linux-gnu/tegra*", path) || path_matches("*/tegra/*", path);
}

bool path_is_sample(const char *path)
{
	static const char *const parts[] = { "testdata", "test-data", "samples", "examples" };

	if (path_matches("*/share/doc/*", path) || path_matches("*-macosx-*", path) ||
	    path_matches("*-darwin-*", path))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (path_has_part(path, parts[i]))
			return true;
	}
	return false;
}

bool path_matches(const char *pattern, const char *path)
{
	return fnmatch(pattern, path, 0) == 0;
}
