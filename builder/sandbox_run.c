#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "builder/sandbox.h"

#include "base/clock.h"

enum { OUTPUT_KEPT_BYTES = 256 * 1024, DISK_FULL_BYTES = 1024 * 1024 };

const char *const sandbox_environment[] = {
	"HOME=/root", "LANG=C.UTF-8", "SOURCE_DATE_EPOCH=315532800", "TZ=UTC", "TMPDIR=/tmp",
	"USER=root",  NULL,
};

const char *const sandbox_capabilities[] = {
	"CAP_CHOWN",  "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID",
	"CAP_SETGID", "CAP_SETUID",       "CAP_KILL",   NULL,
};

/* The arguments of a program, as they come together. */
struct words {
	struct arena arena;
	VEC(const char *) list;
};

static void words_release(struct words *w)
{
	vec_release(&w->list);
	arena_release(&w->arena);
}

static void add_words(struct words *w, const char *const *words)
{
	for (; *words; words++)
		vec_push(&w->list, *words);
}

static void add_variable(struct words *w, const char *pair)
{
	struct slice rest = slice_str(pair), key;

	slice_cut(&rest, '=', &key);
	add_words(w, (const char *const[]){ "--setenv", arena_slice(&w->arena, key),
					    arena_slice(&w->arena, rest), NULL });
}

static void add_environment(struct words *w, const char *path, const struct sandbox_devices *d)
{
	vec_push(&w->list, "--clearenv");
	add_words(w, (const char *const[]){ "--setenv", "PATH", path, NULL });
	for (size_t i = 0; sandbox_environment[i]; i++)
		add_variable(w, sandbox_environment[i]);
	for (size_t i = 0; i < d->edits.env.len; i++)
		add_variable(w, d->edits.env.items[i]);
	if (d->libraries)
		add_words(w, (const char *const[]){ "--setenv", "LD_LIBRARY_PATH", d->libraries,
						    NULL });
}

/* A file in memory with the secret's bytes, to be read by the program that makes the sandbox. */
static int secret_fd(const struct secret *secret, struct error *err)
{
	cleanup_fd int fd = memfd_create("secret", MFD_CLOEXEC);
	cleanup_sink struct sink *sink = fd < 0 ? NULL : sink_fd(fd, "secret");

	if (fd < 0)
		return error_set_errno(err, errno, "make a file in memory");
	if (sink_write(sink, secret->bytes.data, secret->bytes.len, err) < 0)
		return -1;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_set_errno(err, errno, "seek");
	return steal_fd(&fd);
}

/* Secrets lie in a file system in memory that is gone when the command ends. */
static int add_secrets(struct words *w, const struct secrets *secrets, int *fds, struct error *err)
{
	if (secrets->len)
		add_words(w, (const char *const[]){ "--perms", "0700", "--tmpfs", SECRETS_FOLDER,
						    NULL });
	for (size_t i = 0; i < secrets->len; i++) {
		fds[i] = secret_fd(&secrets->items[i], err);
		if (fds[i] < 0)
			return -1;
		add_words(w, (const char *const[]){ "--perms", "0400", "--ro-bind-data",
						    arena_printf(&w->arena, "%d", fds[i]),
						    secrets->items[i].to, NULL });
	}
	return 0;
}

static void add_devices(struct words *w, const struct sandbox_devices *d)
{
	for (size_t i = 0; i < d->edits.nodes.len; i++)
		add_words(w, (const char *const[]){ "--dev-bind", d->edits.nodes.items[i].host_path,
						    d->edits.nodes.items[i].path, NULL });
	for (size_t i = 0; i < d->edits.mounts.len; i++) {
		const struct cdi_mount *m = &d->edits.mounts.items[i];

		if (m->type && str_equal(m->type, "tmpfs"))
			add_words(w, (const char *const[]){ "--tmpfs", m->container_path, NULL });
		else
			add_words(w, (const char *const[]){
					     cdi_mount_is_read_only(m) ? "--ro-bind" : "--bind",
					     m->host_path, m->container_path, NULL });
	}
}

static void add_privileges(struct words *w)
{
	if (geteuid() != 0) {
		add_words(w, (const char *const[]){ "--unshare-user", "--uid", "0", "--gid", "0",
						    "--unshare-net", NULL });
		return;
	}
	add_words(w, (const char *const[]){ "--cap-drop", "ALL", NULL });
	for (size_t i = 0; sandbox_capabilities[i]; i++)
		add_words(w, (const char *const[]){ "--cap-add", sandbox_capabilities[i], NULL });
}

static int run_bwrap(const struct sandbox_command *c, struct process_result *out, struct error *err)
{
	const struct secrets *secrets = c->sandbox->secrets;
	cleanup_free int *fds = xcalloc(secrets->len + 1, sizeof(*fds));
	cleanup(words_release) struct words w = { 0 };
	struct process p = { .no_network = geteuid() == 0,
			     .output_limit = OUTPUT_KEPT_BYTES,
			     .keep_tail = true,
			     .timeout_ms = c->timeout_ms,
			     .kept_fds = fds,
			     .kept_count = secrets->len };
	int rc;

	for (size_t i = 0; i < secrets->len; i++)
		fds[i] = -1;
	add_words(&w, (const char *const[]){ "bwrap", "--bind", c->sandbox->root, "/", "--proc",
					     "/proc", "--dev", "/dev", "--tmpfs", "/tmp", NULL });
	add_devices(&w, c->sandbox->devices);
	rc = add_secrets(&w, secrets, fds, err);
	add_words(&w, (const char *const[]){ "--unshare-pid", "--unshare-ipc", "--unshare-uts",
					     "--hostname", "build", "--die-with-parent",
					     "--new-session", "--chdir", "/", NULL });
	add_environment(&w, c->path, c->sandbox->devices);
	add_privileges(&w);
	add_words(&w, (const char *const[]){ "/bin/sh", "-e", "-c", c->command, NULL });
	vec_push(&w.list, NULL);
	p.argv = w.list.items;
	if (rc == 0)
		rc = process_run(&p, out, err);
	for (size_t i = 0; i < secrets->len; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	return rc;
}

/* The last lines of what a command printed. */
static struct slice tail(const struct strbuf *text)
{
	enum { TAIL_BYTES = 8192 };
	size_t from = text->len > TAIL_BYTES ? text->len - TAIL_BYTES : 0;

	return slice_of(strbuf_text(text) + from, text->len - from);
}

static void show(const struct sandbox *s, const struct process_result *result, bool failed)
{
	const struct strbuf *texts[] = { &result->out_stdout, &result->out_stderr };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup_strbuf struct strbuf masked = { 0 };
		struct slice text;

		secrets_mask(s->secrets, strbuf_slice(texts[i]), &masked);
		text = slice_trim(tail(&masked));
		if (!text.len)
			continue;
		if (failed)
			out_note(s->out, "%.*s", (int)text.len, (const char *)text.data);
		else
			out_verbose(s->out, "%.*s", (int)text.len, (const char *)text.data);
	}
}

static bool disk_is_full(const char *root)
{
	struct statvfs fs;

	return statvfs(root, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < DISK_FULL_BYTES;
}

static int judge(const struct sandbox_command *c, const struct process_result *result,
		 struct error *err)
{
	const char *timeout = c->sandbox->stage->timeout;

	if (result->timed_out)
		return error_set(
			err, ERROR_VERDICT,
			"run \"%s\": was ended with all it started, since the stage's time "
			"of %s is over; `timeout` of the stage gives it more",
			c->command, timeout ? timeout : STACK_TIMEOUT);
	if (result->exit_status == 0)
		return 0;
	if (disk_is_full(c->sandbox->root))
		return error_set(err, ERROR_SYSTEM,
				 "run \"%s\": the disk of the store is full (its commands write "
				 "there); free some, or put the store elsewhere with --store",
				 c->command);
	if (result->exit_status == -1)
		return error_set(err, ERROR_VERDICT, "run \"%s\": ended by signal %d", c->command,
				 result->signal);
	return error_set(err, ERROR_VERDICT, "run \"%s\": ended with status %d", c->command,
			 result->exit_status);
}

/* The first of the programs that is there, or NULL. */
static const char *find_engine(void)
{
	static const char *const engines[] = { "bwrap", "runc", "crun" };

	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		if (process_available(engines[i]))
			return engines[i];
	}
	return NULL;
}

static int run_command(const struct sandbox_command *c, const char *engine, struct error *err)
{
	cleanup_process struct process_result result = { 0 };
	int rc = str_equal(engine, "bwrap") ? run_bwrap(c, &result, err)
					    : sandbox_run_oci(c, engine, &result, err);

	if (rc < 0)
		return -1;
	show(c->sandbox, &result, result.exit_status != 0 || result.timed_out);
	return judge(c, &result, err);
}

/* What a mount point left behind of folders that were not there before. */
struct mount_point {
	bool had_run, had_secrets;
};

static struct mount_point look(const char *root)
{
	cleanup_free char *run = xasprintf("%s/run", root);
	cleanup_free char *secrets = xasprintf("%s" SECRETS_FOLDER, root);
	struct stat st;

	return (struct mount_point){ lstat(run, &st) == 0, lstat(secrets, &st) == 0 };
}

static void clear(const char *root, const struct mount_point *before)
{
	cleanup_free char *run = xasprintf("%s/run", root);
	cleanup_free char *secrets = xasprintf("%s" SECRETS_FOLDER, root);

	if (!before->had_secrets)
		rmdir(secrets);
	if (!before->had_run)
		rmdir(run);
}

static int run_all(const struct sandbox *s, const char *engine, struct error *err)
{
	static const char plain[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	cleanup_free char *path =
		xasprintf("%s%s", s->cuda_programs ? "/usr/local/cuda/bin:" : "", plain);
	const struct stack_stage *stage = s->stage;
	uint64_t end = clock_ms(CLOCK_MONOTONIC) +
		       stack_duration_ms(stage->timeout ? stage->timeout : STACK_TIMEOUT);

	for (size_t i = 0; i < stage->run.count; i++) {
		uint64_t now = clock_ms(CLOCK_MONOTONIC);
		struct sandbox_command c = { .sandbox = s,
					     .command = stage->run.items[i],
					     .path = path,
					     .timeout_ms = end > now ? end - now : 1 };

		out_note(s->out, "stage %s: %s", stage->name, c.command);
		if (run_command(&c, engine, err) < 0)
			return error_wrap(err, "%s: stage %s", s->stack->file, stage->name);
	}
	return 0;
}

int sandbox_run(const struct sandbox *s, struct error *err)
{
	const char *engine = find_engine();
	struct mount_point before = look(s->root);
	int rc;

	if (!engine)
		return error_set(err, ERROR_USAGE,
				 "commands of a stage run in bubblewrap, runc or crun, and none is "
				 "there; install bubblewrap (bwrap)");
	rc = sandbox_devices_place(s->devices, s->root, err);
	if (rc == 0)
		rc = run_all(s, engine, err);
	sandbox_devices_clear(s->devices, s->root);
	clear(s->root, &before);
	return rc;
}
