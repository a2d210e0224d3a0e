#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

/* An RPATH element that is wrong, and the objects that have it. */
struct bad_dir {
	const char *dir, *why;
	const struct object *first;
	size_t count;
};

static const char *why_unsafe(const struct facts *facts, const char *dir)
{
	const struct tree_node *node;

	if (!*dir)
		return "an empty element, which means the current directory";
	if (*dir == '$')
		return NULL;
	if (*dir != '/')
		return "a relative directory";
	node = facts_resolve(facts, dir, NULL);
	if (node && node->entry.type == TAR_DIR && node->entry.mode & 0002)
		return "a directory that everybody may write to";
	return NULL;
}

/* Where builds happen and installed files do not. */
static bool is_build_dir(const char *dir)
{
	return path_matches("/tmp/*", dir) || str_equal(dir, "/tmp") ||
	       path_matches("/var/tmp/*", dir) || path_matches("/home/*/*", dir) ||
	       (path_matches("/root/*", dir) && strstr(dir, "build"));
}

static void check_variable(const struct rule *rule, const struct facts *facts,
			   struct findings *found)
{
	const struct search_dirs *dirs = &facts->environment;

	for (size_t i = 0; i < dirs->len; i++) {
		const char *why = why_unsafe(facts, dirs->items[i].path);
		cleanup_free char *cause = xasprintf("LD_LIBRARY_PATH %s", dirs->items[i].path);

		if (why)
			finding_add(found, rule, "", -1, cause,
				    "LD_LIBRARY_PATH is '%s': element %zu ('%s') is %s.",
				    facts_env(facts, "LD_LIBRARY_PATH"), i + 1, dirs->items[i].path,
				    why);
	}
}

static void check_conf(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	for (size_t i = 0; i < facts->conf.len; i++) {
		const struct search_dir *dir = &facts->conf.items[i];
		const char *why = why_unsafe(facts, dir->path);

		if (why)
			finding_add(found, rule, dir->where,
				    facts_layer(facts, facts_lookup(facts, dir->where)), dir->path,
				    "%s names '%s', %s.", dir->where, dir->path, why);
	}
}

static void note(struct bad_dir *bad, size_t *count, size_t most, const char *dir, const char *why,
		 const struct object *object)
{
	for (size_t i = 0; i < *count; i++) {
		if (str_equal(bad[i].dir, dir)) {
			bad[i].count++;
			return;
		}
	}
	if (*count < most)
		bad[(*count)++] = (struct bad_dir){ dir, why, object, 1 };
}

static void look_at(const struct facts *facts, const struct object *object, const char *path,
		    struct bad_dir *bad, size_t *count, size_t most)
{
	struct slice rest = slice_str(path), one;

	if (!*path)
		return; /* nothing at all is no element */
	while (slice_cut(&rest, ':', &one)) {
		const char *dir = arena_slice(facts_arena(facts), one);
		const char *why = why_unsafe(facts, dir);

		if (!why && is_build_dir(dir) && !facts_is_dir(facts, dir))
			why = "a directory of the machine that built it, which anybody with the "
			      "right to make it can fill";
		if (why)
			note(bad, count, most, dir, why, object);
	}
}

/* Of a published wheel it is told only: whoever builds the image cannot change it. */
static void tell(const struct rule *rule, const struct facts *facts, const struct bad_dir *bad,
		 struct findings *found)
{
	const char *path = bad->first->path;
	cleanup_free char *more = bad->count > 1
					  ? xasprintf(" and of %zu more objects", bad->count - 1)
					  : xstrdup("");
	struct finding *f = finding_add(found, rule, path, facts_layer(facts, bad->first->node),
					bad->dir, "The %s of %s%s has '%s', %s.",
					bad->first->elf->runpath ? "RUNPATH" : "RPATH", path, more,
					bad->dir, bad->why);

	if (strstr(path, "/site-packages/") || strstr(path, "/dist-packages/"))
		f->severity = SEVERITY_INFO;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	struct bad_dir bad[50];
	size_t count = 0;

	(void)err;
	check_variable(rule, facts, found);
	check_conf(rule, facts, found);
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		if (!o->reachable)
			continue;
		if (o->elf->runpath || o->elf->rpath)
			look_at(facts, o, o->elf->runpath ? o->elf->runpath : o->elf->rpath, bad,
				&count, ARRAY_LEN(bad));
	}
	for (size_t i = 0; i < count; i++)
		tell(rule, facts, &bad[i], found);
	return 0;
}

const struct rule rule_sec005 = {
	.id = "SEC005",
	.name = "unsafe-loader-path",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = 0,
	.what = "The loader searches the current directory, a relative directory, a directory of "
		"the machine that built the program, or one that everybody may write to.",
	.why = "Whoever can put a file there has it loaded into the program: an empty element of "
	       "LD_LIBRARY_PATH (left by $LD_LIBRARY_PATH:/x when the variable was unset) means "
	       "the current directory.",
	.fix = "Write the variable as /x${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; link with -rpath "
	       "$ORIGIN/... or an installed directory, or remove the entry with patchelf.",
	.sources = "ld.so(8); glibc elf/dl-load.c, fillin_rpath",
	.check = check,
};
