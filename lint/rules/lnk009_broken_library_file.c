#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/loader.h"
#include "lint/rule.h"
#include "lint/runtime.h"

static bool is_library_name(const char *name)
{
	const char *so = strstr(name, ".so");

	return str_starts(name, "lib") && so && (so[3] == '\0' || so[3] == '.');
}

static bool is_linker_script(struct slice text)
{
	static const char *const words[] = { "GNU ld script", "INPUT",  "GROUP",
					     "OUTPUT_FORMAT", "TARGET", "VERSION" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (memmem(text.data, text.len, words[i], strlen(words[i])))
			return true;
	}
	return false;
}

/* A machine that has no business here; another class of this one has directories of its own. */
static bool is_foreign(const struct facts *facts, const struct object *o)
{
	uint16_t machine = o->elf->machine;

	if (!facts->machine || machine == facts->machine || machine == ELF_MACHINE_CUDA)
		return false;
	if (machine == ELF_MACHINE_386 && facts->machine == ELF_MACHINE_X86_64)
		return false;
	return !(machine == ELF_MACHINE_ARM && facts->machine == ELF_MACHINE_AARCH64);
}

/* Text or bytes that are no ELF file. */
static const char *damage_of_text(const struct file_facts *f)
{
	struct slice text = slice_of(f->text, f->text_len);

	if (slice_starts(text, "version https://git-lfs"))
		return "is a pointer of Git LFS, not the file it stands for";
	if (slice_starts(text, "\x7f"
			       "ELF"))
		return "is an ELF file whose headers cannot be read";
	if (memchr(text.data, 0, text.len))
		return "is not an ELF file";
	return is_linker_script(text) ? NULL : "is a text, and not a linker script";
}

static const char *damage_of(const struct facts *facts, const struct tree_node *node,
			     const char *path)
{
	const struct file_facts *f = node_facts(node);
	const struct object *o;

	if (!f)
		return NULL;
	if (f->zero)
		return runtime_is_gpu_library(facts, path_name(path)) ? NULL : "has no bytes";
	if (!f->elf)
		return f->text ? damage_of_text(f) : NULL;
	o = facts_object(facts, path);
	if (f->elf->cut_short && f->elf->type != ELF_TYPE_REL)
		return "is cut short: a part of it would lie beyond its end";
	if (o && is_foreign(facts, o) && !machine_is_wrong_throughout(facts))
		return arena_printf(facts_arena(facts), "is for %s, the image for %s",
				    machine_name(o->elf->machine), machine_name(facts->machine));
	return NULL;
}

static bool is_set_aside(const char *path)
{
	return path_is_set_aside(path) || path_is_stub(path) || path_is_tegra(path) ||
	       path_matches("*/targets/*-linux*/*", path);
}

/*
 * A real file under another name than its soname, and nothing of that name beside it. Only CUDA's
 * libraries are judged: plug-ins have sonames that nobody asks for.
 */
static const char *soname_absent(const struct facts *facts, const struct object *o, const char *dir)
{
	const char *soname = o->elf->soname;

	if (!soname || strchr(soname, '/') || str_equal(soname, path_name(o->path)) ||
	    !runtime_is_cuda_library(soname) || !name_has_full_version(path_name(o->path)) ||
	    facts_lookup(facts, arena_printf(facts_arena(facts), "%s/%s", dir, soname)))
		return NULL;
	return arena_printf(facts_arena(facts),
			    "has the soname %s, and no entry of that name is beside it", soname);
}

static void check_entry(const struct rule *rule, const struct facts *facts, struct findings *found,
			const struct tree_node *node, const char *dir)
{
	const char *path = facts_path(facts, node), *damage;
	const struct object *o = facts_object(facts, path);

	if (node->entry.type == TAR_SYMLINK || !is_library_name(path_name(path)) ||
	    is_set_aside(path))
		return;
	damage = damage_of(facts, node, path);
	if (!damage && o)
		damage = soname_absent(facts, o, dir);
	if (damage)
		finding_add(found, rule, path, facts_layer(facts, node), "", "%s %s.", path,
			    damage);
}

static void check_dir(const struct rule *rule, const struct facts *facts, struct findings *found,
		      const char *dir, struct map *seen)
{
	struct tree_nodes nodes = { 0 };

	dir = facts_real(facts, dir);
	if (map_has(seen, dir))
		return;
	map_put(seen, dir, seen);
	facts_list(facts, dir, &nodes);
	for (size_t i = 0; i < nodes.len; i++)
		check_entry(rule, facts, found, nodes.items[i], dir);
	vec_release(&nodes);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *const *defaults = loader_default_dirs(facts, facts->machine, true);
	const struct loader_dirs *dirs = loader_dirs(facts->loader);
	cleanup_map struct map seen = { 0 };

	(void)err;
	for (; *defaults; defaults++)
		check_dir(rule, facts, found, *defaults, &seen);
	for (size_t i = 0; i < dirs->len; i++)
		check_dir(rule, facts, found, dirs->items[i].path, &seen);
	return 0;
}

const struct rule rule_lnk009 = {
	.id = "LNK009",
	.name = "broken-library-file",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.what = "A file named like a shared library, where the loader looks, is not one that can "
		"be "
		"loaded.",
	.why = "The loader stops at it (\"file too short\", \"invalid ELF header\") or passes it "
	       "over, "
	       "and ldconfig leaves it out of the cache: copies that were cut, pointers of Git LFS "
	       "that were never fetched, or libraries of another machine.",
	.fix = "Fetch or copy the real file; remove what is of another machine; run ldconfig where "
	       "only "
	       "the link of the soname is missing.",
	.sources = "ld.so(8); ldconfig(8); Git LFS specification",
	.check = check,
};
