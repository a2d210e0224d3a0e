#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/loader.h"
#include "lint/rule.h"
#include "lint/runtime.h"

/* What is wrong with that element of a search path; NULL: nothing. */
static const char *problem_of(const struct facts *facts, const char *dir)
{
	const struct tree_node *node;

	if (strchr(dir, '$'))
		return "holds a variable that nobody replaces";
	if (*dir == '~')
		return "begins with ~, which only a shell replaces";
	if (*dir != '/')
		return NULL; /* relative and empty ones are another rule's */
	if (facts_is_dir(facts, dir))
		return NULL;
	node = facts_resolve(facts, dir, NULL);
	if (!node)
		return "does not exist";
	return strstr(path_name(dir), ".so") ? "is a library, not the directory of one"
					     : "is not a directory";
}

/* Directories that platforms mount at start. */
static bool is_mounted(const char *dir)
{
	static const char *const dirs[] = { "/usr/local/nvidia/bin",
					    "/usr/local/nvidia",
					    "/usr/lib/wsl",
					    "/usr/lib/wsl/bin",
					    "/run/opengl-driver/lib",
					    "/usr/local/fuse/bin",
					    "/proc",
					    "/dev",
					    "/sys" };

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (str_equal(dir, dirs[i]))
			return true;
	}
	return runtime_is_mount_point(dir) || str_starts(dir, "/.singularity.d/");
}

/* What systems list whether or not anything is there. */
static bool is_customary(const char *dir)
{
	static const char *const patterns[] = { "/bin",
						"/sbin",
						"/usr/bin",
						"/usr/sbin",
						"/usr/local/bin",
						"/usr/local/sbin",
						"/usr/games",
						"/usr/local/games",
						"/snap/bin",
						"/root/*bin",
						"/lib",
						"/lib64",
						"/lib32",
						"/usr/lib",
						"/usr/lib64",
						"/usr/lib32",
						"/lib/*-linux-*",
						"/usr/lib/*-linux-*",
						"/usr/local/lib",
						"/usr/local/lib/*-linux-*",
						"/usr/local/lib64" };

	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		if (path_matches(patterns[i], dir))
			return true;
	}
	return false;
}

static void report(const struct rule *rule, const struct facts *facts, struct findings *found,
		   const char *path, const char *where, const char *dir, const char *problem)
{
	const struct tree_node *node = *path ? facts_resolve(facts, path, NULL) : NULL;
	bool mounted = is_mounted(dir);
	struct finding *f;

	f = finding_add(found, rule, path, facts_layer(facts, node),
			arena_printf(facts_arena(facts), "%s %s", where, dir),
			"%s has %s, which %s%s.", where, dir, problem,
			mounted ? "; older runtimes mount the driver there, current ones do not, "
				  "and it does no harm"
				: "");
	if (mounted)
		f->severity = SEVERITY_INFO;
}

static void check_list(const struct rule *rule, const struct facts *facts, struct findings *found,
		       const struct search_dirs *dirs, bool is_file)
{
	for (size_t i = 0; i < dirs->len; i++) {
		const char *problem = problem_of(facts, dirs->items[i].path);

		if (problem && dirs->items[i].path[0] && !is_customary(dirs->items[i].path))
			report(rule, facts, found, is_file ? dirs->items[i].where : "",
			       dirs->items[i].where, dirs->items[i].path, problem);
	}
}

/* Where nobody set PATH the default is not the image's mistake. */
static void check_path(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	if (facts_env(facts, "PATH"))
		check_list(rule, facts, found, &facts->path, false);
}

/* Elements of a RUNPATH that are written in full; builders leave those of their own machine. */
static void check_object(const struct rule *rule, const struct facts *facts, struct findings *found,
			 const struct object *o)
{
	struct slice rest = slice_str(o->elf->runpath), one;

	while (slice_cut(&rest, ':', &one)) {
		const char *dir = arena_slice(facts_arena(facts), one);
		const char *problem;

		if (*dir != '/' || strchr(dir, '$'))
			continue;
		problem = problem_of(facts, dir);
		if (problem && facts_resolve(facts, dir, NULL))
			report(rule, facts, found, o->path,
			       arena_printf(facts_arena(facts), "RUNPATH of %s", o->path), dir,
			       problem);
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	check_list(rule, facts, found, &facts->environment, false);
	check_path(rule, facts, found);
	check_list(rule, facts, found, &facts->conf, true);
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		if (o->elf->runpath && object_is_used(facts, o))
			check_object(rule, facts, found, o);
	}
	return 0;
}

const struct rule rule_lnk005 = {
	.id = "LNK005",
	.name = "search-path-entry-broken",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_ALL_LAYERS,
	.what = "A directory on a search path of the loader or the shell is none.",
	.why = "It was meant to make something found, and finds nothing: a name was mistyped, a "
	       "version changed, or a variable was left as it stood because it was set in a file "
	       "that "
	       "no shell reads.",
	.fix = "Correct the element, or drop it.",
	.sources = "ld.so(8); ldconfig(8)",
	.check = check,
};
