#include "builder/fetch.h"

#include "cli/base_arg.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/stack_arg.h"

static const struct option options[] = {
	STACK_SET_OPTION,
	STACK_VARIANT_OPTION,
	{ .name = "to",
	  .letter = 't',
	  .value = "DIR",
	  .help = "also copy the inputs to the folder DIR, a store to carry to where there is no "
		  "network" },
	{ .name = "jobs", .letter = 'j', .value = "N", .help = "transfers at a time (default 4)" },
	{ 0 },
};

struct paths {
	char **items;
	size_t len, cap;
};

static void paths_release(struct paths *paths)
{
	for (size_t i = 0; i < paths->len; i++)
		free(paths->items[i]);
	vec_release(paths);
}

/* A manifest's name stands for its lock; one with a matrix has several. */
static int locks_of(const struct invocation *in, struct paths *out, struct error *err)
{
	const char *arg = in->args[0];
	cleanup_stacks struct stacks stacks = { 0 };
	cleanup_free char *plain = lockfile_path(arg, "");

	if (str_ends(arg, ".lock.json") ||
	    (fs_exists(AT_FDCWD, plain) && !option_given(in, "variant"))) {
		vec_push(out, str_ends(arg, ".lock.json") ? xstrdup(arg) : steal_ptr(&plain));
		return 0;
	}
	if (stack_arg_read(in, arg, &stacks, err) < 0)
		return -1;
	for (size_t i = 0; i < stacks.count; i++)
		vec_push(out, stack_arg_lock(&stacks.items[i]));
	return 0;
}

/* --to: the inputs in a store of their own. */
static int carry(const struct invocation *in, const char *path, const struct lockfile *lock,
		 struct store *store, struct error *err)
{
	const char *dir = option_text(in, "to", NULL);
	cleanup_store struct store *to = NULL;
	struct fetch_result result;
	char size[32];

	if (!dir)
		return 0;
	to = store_open(dir, err);
	if (!to || fetch_carry(lock, store, to, &result, err) < 0)
		return error_wrap(err, "copy the inputs to %s", dir);
	out_note(in->out,
		 "%s: %zu inputs of %s, %s copied now; build there with --offline --store %s", dir,
		 result.inputs, path, out_size(result.fetched_bytes, size), dir);
	return 0;
}

static int fetch_one(const struct invocation *in, const char *path, struct store *store,
		     uint64_t jobs, struct error *err)
{
	cleanup_lockfile struct lockfile lock = { 0 };
	struct fetch_result result = { 0 };
	struct progress progress = progress_start(in, "fetch");
	const struct base_opener opener = base_arg_opener();
	const char *slash = strrchr(path, '/');
	cleanup_free char *directory = slash ? xstrndup(path, (size_t)(slash - path) + 1) : NULL;
	struct fetch_request request = { .lock = &lock,
					 .store = store,
					 .directory = directory,
					 .opener = &opener,
					 .workers = (unsigned)jobs,
					 .report = progress_fetch,
					 .report_user = &progress };
	char a[32], b[32];
	int rc;

	if (!fs_exists(AT_FDCWD, path))
		return error_set(err, ERROR_USAGE,
				 "%s: there is no such lock; `gpuimg lock` writes one", path);
	if (lockfile_read(path, &lock, err) < 0)
		return -1;
	rc = fetch_lock(&request, &result, err);
	progress_end(&progress);
	if (rc < 0)
		return error_wrap(err, "fetch %s", path);
	out_note(in->out, "%s: %zu inputs, %s; %zu fetched now, %s", path, result.inputs,
		 out_size(result.bytes, a), result.fetched, out_size(result.fetched_bytes, b));
	return carry(in, path, &lock, store, err);
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_store struct store *store = NULL;
	struct paths paths = { 0 };
	uint64_t jobs;
	int rc;

	if (option_number(in, "jobs", 1, 64, 4, &jobs, err) < 0)
		return -1;
	rc = locks_of(in, &paths, err);
	if (rc == 0 && !(store = store_open(option_text(in, "store", NULL), err)))
		rc = -1;
	for (size_t i = 0; rc == 0 && i < paths.len; i++)
		rc = fetch_one(in, paths.items[i], store, jobs, err);
	paths_release(&paths);
	return rc;
}

const struct command command_fetch = {
	.name = "fetch",
	.usage = "LOCK",
	.summary = "bring every locked input into the store",
	.description =
		"Downloads what the lock LOCK (or the lock beside a manifest STACK) names and the\n"
		"content store does not hold yet, and verifies each against its SHA-256. A "
		"manifest with a\n"
		"matrix has several locks; --set and --variant choose among them.",
	.examples = "gpuimg fetch stack.lock.json\n"
		    "gpuimg fetch stack.yaml           # the lock beside it\n"
		    "gpuimg fetch --to /media/usb/store stack.lock.json    # to carry elsewhere\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
