#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "testkernels/run_mode.h"

struct words {
	char **items;
	size_t len, cap;
};

static void words_release(struct words *w)
{
	for (size_t i = 0; i < w->len; i++)
		free(w->items[i]);
	vec_release(w);
}
#define cleanup_words cleanup(words_release)

static const char *prefix(const struct run_context *c)
{
	return c->root;
}

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
	if (!config_env(c->config, "PATH"))
		vec_push(env, xstrdup("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/"
				      "sbin:/bin"));
	for (size_t i = 0; i < c->config->env.count; i++) {
		if (!is_ours(c->config->env.items[i]))
			vec_push(env, xstrdup(c->config->env.items[i]));
	}
	vec_push(env, xasprintf("HOME=%s/home", c->scratch));
	vec_push(env, xasprintf("TMPDIR=%s/tmp", c->scratch));
	vec_push(env, xasprintf("CUDA_CACHE_PATH=%s/home/.nv", c->scratch));
	vec_push(env, NULL);
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

static void arguments(const struct run_context *c, struct words *argv)
{
	vec_push(argv, xasprintf("%s/%s", c->root, c->loader->path));
	if (!c->loader->musl)
		vec_push(argv, xstrdup("--inhibit-cache"));
	vec_push(argv, xstrdup("--library-path"));
	vec_push(argv, library_path(c));
	vec_push(argv, fs_join(c->scratch, "probe"));
	vec_push(argv, xstrdup("run"));
	vec_push(argv, fs_join(c->scratch, "plan"));
	vec_push(argv, xstrdup(c->root));
	vec_push(argv, NULL);
}

static int prepare(const struct run_context *c, struct slice plan, struct error *err)
{
	static const char *const dirs[] = { "home", "tmp" };
	cleanup_fd int fd = open(c->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, errno, "open %s", c->scratch);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (fs_mkdirs(fd, dirs[i], err) < 0)
			return -1;
	}
	if (fs_write(fd, "probe", slice_of(probe_bytes, probe_size), 0755, err) < 0 ||
	    fs_write(fd, "plan", plan, 0644, err) < 0)
		return error_wrap(err, "%s", c->scratch);
	return 0;
}

static int run(const struct run_context *c, struct slice plan, struct launch_result *out,
	       struct error *err)
{
	cleanup_words struct words argv = { 0 }, env = { 0 };
	struct launch launch = { .cwd = c->scratch, .timeout_ms = c->timeout_ms };

	if (strpbrk(c->root, ":;"))
		return error_set(err, ERROR_USAGE,
				 "'%s': a \":\" or \";\" in the path does not go into a library "
				 "search path; move or rename it",
				 c->root);
	if (prepare(c, plan, err) < 0)
		return -1;
	arguments(c, &argv);
	environment(c, &env);
	launch.argv = (const char *const *)argv.items;
	launch.env = (const char *const *)env.items;
	return launch_run(&launch, out, err);
}

const struct run_mode run_mode_loader = {
	.name = "loader",
	.prefix = prefix,
	.run = run,
};
