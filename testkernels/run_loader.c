#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "testkernels/run_mode.h"

/* "LD_" names steer the loader with paths of the image, which are the host's here. */
static bool is_ours(const char *entry)
{
	static const char *const ours[] = { "LD_", "HOME=", "TMPDIR=", "CUDA_CACHE_PATH=" };

	for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
		if (str_starts(entry, ours[i]))
			return true;
	}
	return false;
}

/* The image's environment alone; what is written at run time stays in the scratch directory. */
static void environment(const struct run_context *c, struct words *env)
{
	cleanup_words struct words all = { 0 };

	run_environment(c, &all);
	for (size_t i = 0; i < all.len; i++) {
		if (!is_ours(all.items[i]))
			words_add(env, all.items[i]);
	}
	words_addf(env, "HOME=%s/home", c->scratch);
	words_addf(env, "TMPDIR=%s/tmp", c->scratch);
	words_addf(env, "CUDA_CACHE_PATH=%s/home/.nv", c->scratch);
	words_end(env);
}

static char *library_path(const struct run_context *c)
{
	struct strbuf path = { 0 };

	for (size_t i = 0; i < c->loader->dirs.len; i++) {
		const char *dir = c->loader->dirs.items[i];

		if (!strpbrk(dir, ":;"))
			strbuf_addf(&path, "%s%s%s", path.len ? ":" : "", c->root, dir);
	}
	if (c->driver_dir)
		strbuf_addf(&path, "%s%s", path.len ? ":" : "", c->driver_dir);
	return path.len ? strbuf_steal(&path) : xstrdup(c->root);
}

static void arguments(const struct run_context *c, const char *probe_dir, struct slice plan,
		      struct words *argv)
{
	cleanup_free char *path = library_path(c);

	words_addf(argv, "%s/%s", c->root, c->loader->path);
	if (!c->loader->musl)
		words_add(argv, "--inhibit-cache");
	words_add(argv, "--library-path");
	words_add(argv, path);
	words_addf(argv, "%s/probe", probe_dir);
	words_add(argv, plan.len ? "run" : "noop");
	if (plan.len) {
		words_addf(argv, "%s/plan", probe_dir);
		words_add(argv, c->root);
	}
	words_end(argv);
}

static int make_dirs(const struct run_context *c, struct error *err)
{
	cleanup_free char *home = fs_join(c->scratch, "home"), *tmp = fs_join(c->scratch, "tmp");

	return fs_mkdirs(AT_FDCWD, home, err) < 0 ? -1 : fs_mkdirs(AT_FDCWD, tmp, err);
}

static int run(const struct run_context *c, struct slice plan, struct launch_result *out,
	       struct error *err)
{
	cleanup_words struct words argv = { 0 }, env = { 0 };
	cleanup_free char *probe_dir = run_prepare(c, "probe-dir", plan, err);
	struct launch launch = { .cwd = c->scratch, .timeout_ms = c->timeout_ms };

	if (strpbrk(c->root, ":;"))
		return error_set(err, ERROR_USAGE,
				 "'%s': a \":\" or \";\" in the path does not go into a library "
				 "search path; move or rename it",
				 c->root);
	if (!probe_dir || make_dirs(c, err) < 0)
		return -1;
	arguments(c, probe_dir, plan, &argv);
	environment(c, &env);
	launch.argv = (const char *const *)argv.items;
	launch.env = (const char *const *)env.items;
	return launch_run(&launch, out, err);
}

const struct run_mode run_mode_loader = {
	.name = "loader",
	.run = run,
};
