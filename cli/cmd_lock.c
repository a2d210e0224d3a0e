#include "builder/lock.h"

#include "cli/command.h"

static const struct option options[] = {
	{ .name = "check", .help = "change nothing; exit 1 when the lock is not up to date" },
	{ 0 },
};

static size_t count_inputs(const struct lockfile *lock)
{
	size_t n = 0;

	for (size_t i = 0; i < lock->platforms.len; i++)
		n += lock->platforms.items[i].inputs.len;
	return n;
}

/* A Release file older than the one locked before would be a step back in time. */
static int check_dates(const struct lockfile *old, const struct lockfile *new, struct error *err)
{
	for (size_t i = 0; i < old->sources.len; i++) {
		const struct lock_source *was = &old->sources.items[i];

		for (size_t k = 0; k < new->sources.len; k++) {
			const struct lock_source *is = &new->sources.items[k];

			if (str_equal(was->id, is->id) && str_equal(was->suite, is->suite) &&
			    *was->date && *is->date && strcmp(is->date, was->date) < 0)
				return error_set(err, ERROR_INTEGRITY,
						 "source %s, %s: its Release file is of %s, older than "
						 "%s in the present lock; a mirror that lags or replays "
						 "old files. Remove the lock to accept it",
						 is->id, is->suite, is->date, was->date);
		}
	}
	return 0;
}

/* The lock that lies there, when it can be read at all. */
static bool read_old(const char *path, struct strbuf *text, struct lockfile *old)
{
	struct error ignored = { 0 };

	return fs_read(AT_FDCWD, path, 256 * MIB, text, &ignored) == 0 &&
	       lockfile_parse(strbuf_slice(text), path, old, &ignored) == 0;
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_stack struct stack stack = { 0 };
	cleanup_store struct store *store = NULL;
	cleanup_http struct http_client *http = http_client_new(&(struct http_options){ 0 });
	cleanup_lockfile struct lockfile lock = { 0 }, old = { 0 };
	cleanup_strbuf struct strbuf text = { 0 }, old_text = { 0 };
	cleanup_free char *path = lockfile_path(in->args[0]);
	bool same;

	if (stack_read(in->args[0], &stack, err) < 0)
		return -1;
	store = store_open(option_text(in, "store", NULL), err);
	if (!store)
		return -1;
	if (lock_stack(&(struct lock_request){ &stack, store, http, in->out }, &lock, err) < 0)
		return error_wrap(err, "lock %s", in->args[0]);
	if (read_old(path, &old_text, &old) && check_dates(&old, &lock, err) < 0)
		return error_wrap(err, "lock %s", in->args[0]);
	lockfile_write(&lock, &text);
	same = slice_equal(strbuf_slice(&text), strbuf_slice(&old_text));
	if (option_given(in, "check")) {
		out_note(in->out, "%s is %s", path, same ? "up to date" : "not up to date");
		return same ? 0 : 1;
	}
	if (!same && fs_write(AT_FDCWD, path, strbuf_slice(&text), 0644, err) < 0)
		return -1;
	out_note(in->out, "%s: %zu inputs locked%s", path, count_inputs(&lock),
		 same ? ", nothing changed" : "");
	return 0;
}

const struct command command_lock = {
	.name = "lock",
	.usage = "STACK",
	.summary = "resolve a manifest's packages and write its lock",
	.description =
		"Asks the sources of the stack manifest STACK for every package that its stages need,\n"
		"with all they depend on, and writes each with its address, SHA-256 and size to the\n"
		"lock beside the manifest (stack.yaml: stack.lock.json). Repository signatures are\n"
		"checked before anything is believed. Builds use nothing that is not in the lock.",
	.examples = "gpuimg lock stack.yaml            # resolve, write stack.lock.json\n"
		    "gpuimg lock --check stack.yaml    # in CI: is the lock up to date?\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
