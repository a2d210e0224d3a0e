#include "builder/fetch.h"

#include "cli/command.h"
#include "cli/progress.h"

static const struct option options[] = {
	{ .name = "jobs", .letter = 'j', .value = "N", .help = "transfers at a time (default 4)" },
	{ 0 },
};

/* A manifest's name stands for its lock. */
static char *lock_of(const char *arg)
{
	return str_ends(arg, ".lock.json") ? xstrdup(arg) : lockfile_path(arg);
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_lockfile struct lockfile lock = { 0 };
	cleanup_store struct store *store = NULL;
	cleanup_free char *path = lock_of(in->args[0]);
	struct fetch_result result = { 0 };
	struct progress progress = progress_start(in, "fetch");
	struct fetch_request request = { .lock = &lock,
					 .report = progress_fetch,
					 .report_user = &progress };
	uint64_t jobs;
	char a[32], b[32];

	if (option_number(in, "jobs", 1, 64, 4, &jobs, err) < 0 ||
	    lockfile_read(path, &lock, err) < 0)
		return -1;
	store = store_open(option_text(in, "store", NULL), err);
	if (!store)
		return -1;
	request.store = store;
	request.workers = (unsigned)jobs;
	if (fetch_lock(&request, &result, err) < 0) {
		progress_end(&progress);
		return error_wrap(err, "fetch %s", path);
	}
	progress_end(&progress);
	out_note(in->out, "%s: %zu inputs, %s; %zu fetched now, %s", path, result.inputs,
		 out_size(result.bytes, a), result.fetched, out_size(result.fetched_bytes, b));
	return 0;
}

const struct command command_fetch = {
	.name = "fetch",
	.usage = "LOCK",
	.summary = "bring every locked input into the store",
	.description = "Downloads what the lock LOCK (or the lock beside a manifest STACK) names and the\n"
		       "content store does not hold yet, and verifies each against its SHA-256.",
	.examples = "gpuimg fetch stack.lock.json\n"
		    "gpuimg fetch stack.yaml           # the lock beside it\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
