#include "testkernels/run_mode.h"

#include "base/alloc.h"
#include "base/fs.h"

enum { PTX_MAX = 8 << 20 }; /* bytes of a sample */

void words_add(struct words *w, const char *text)
{
	vec_push(w, xstrdup(text));
}

void words_addf(struct words *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vec_push(w, xvasprintf(fmt, ap));
	va_end(ap);
}

void words_add_all(struct words *w, const char *const *texts)
{
	for (; *texts; texts++)
		words_add(w, *texts);
}

void words_end(struct words *w)
{
	vec_push(w, NULL);
}

void words_release(struct words *w)
{
	for (size_t i = 0; i < w->len; i++)
		free(w->items[i]);
	vec_release(w);
}

const char *run_prefix(const struct run_mode *mode, const struct run_context *c)
{
	return mode->container ? "" : c->root;
}

/* The samples may lie on another file system, and be read by another user: they are copied. */
static int add_ptx(const char *from, int into, struct error *err)
{
	struct fs_names names = { 0 };
	int rc = 0;

	if (fs_mkdirs(into, "ptx", err) < 0)
		return -1;
	if (fchmodat(into, "ptx", 0755, 0) < 0)
		return error_set_errno(err, errno, "change the mode of the directory of PTX");
	if (fs_list(AT_FDCWD, from, &names, err) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < names.len; i++) {
		cleanup_free char *source = fs_join(from, names.items[i]);
		cleanup_free char *name = fs_join("ptx", names.items[i]);
		cleanup_strbuf struct strbuf text = { 0 };

		rc = fs_read(AT_FDCWD, source, PTX_MAX, &text, err) < 0
			     ? -1
			     : fs_write(into, name, strbuf_slice(&text), 0644, err);
	}
	fs_names_release(&names);
	return rc;
}

char *run_prepare(const struct run_context *c, const char *name, struct slice plan,
		  struct error *err)
{
	cleanup_free char *dir = fs_join(c->scratch, name);
	cleanup_fd int fd = -1;

	if (fs_mkdirs(AT_FDCWD, dir, err) < 0)
		return NULL;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		error_set_errno(err, errno, "open %s", dir);
		return NULL;
	}
	if (fchmod(fd, 0755) < 0 ||
	    fs_write(fd, "probe", slice_of(probe_bytes, probe_size), 0755, err) < 0 ||
	    fs_write(fd, "plan", plan, 0644, err) < 0 ||
	    (c->ptx_dir && plan.len && add_ptx(c->ptx_dir, fd, err) < 0)) {
		error_wrap(err, "%s", dir);
		return NULL;
	}
	return steal_ptr(&dir);
}

/* The last value of a name counts, as it does for getenv of most programs. */
static void set(struct words *env, const char *entry)
{
	size_t n = (size_t)(strchrnul(entry, '=') - entry);

	for (size_t i = 0; i < env->len; i++) {
		if (strncmp(env->items[i], entry, n) == 0 && env->items[i][n] == '=') {
			free(env->items[i]);
			env->items[i] = xstrdup(entry);
			return;
		}
	}
	words_add(env, entry);
}

void run_environment(const struct run_context *c, struct words *env)
{
	cleanup_free char *home = xasprintf("HOME=%s", c->user->home);

	set(env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	set(env, home);
	for (size_t i = 0; i < c->config->env.count; i++) {
		const char *entry = c->config->env.items[i];

		if (entry[0] != '=' && strchr(entry, '='))
			set(env, entry);
	}
	for (size_t i = 0; c->injection && i < c->injection->edits.env.len; i++)
		set(env, c->injection->edits.env.items[i]);
}

const char *run_directory(const struct run_context *c)
{
	const char *dir = c->config->workdir;

	return dir && dir[0] == '/' ? dir : "/";
}

void run_arguments(const struct run_context *c, const char *place, struct slice plan,
		   struct words *argv)
{
	words_addf(argv, "/%s", c->loader->path);
	words_addf(argv, "%s/probe", place);
	words_add(argv, plan.len ? "run" : "noop");
	if (plan.len)
		words_addf(argv, "%s/plan", place);
}

char *run_words(const struct launch_result *r)
{
	struct slice rest = strbuf_slice(&r->words), line, last = { 0 };

	while (slice_cut(&rest, '\n', &line)) {
		line = slice_trim(line);
		if (line.len)
			last = line;
	}
	if (!last.len)
		return r->timed_out ? xstrdup("it did not end in time")
		       : r->signal  ? xasprintf("it ended by signal %d", r->signal)
				    : xasprintf("it ended with status %d", r->exit_status);
	return xasprintf("%.*s", (int)MIN(last.len, (size_t)300), (const char *)last.data);
}
