#include "builder/lock.h"

#include "base/nearest.h"
#include "builder/left_to_host.h"
#include "cli/base_arg.h"
#include "cli/command.h"
#include "cli/stack_arg.h"
#include "manifests/lockfile_diff.h"

static const struct option options[] = {
	STACK_SET_OPTION,
	STACK_VARIANT_OPTION,
	{ .name = "update",
	  .value = "NAME",
	  .help = "move only this package, or the packages of this source" },
	{ .name = "check", .help = "change nothing; exit 1 when the lock is not up to date" },
	{ .name = "diff",
	  .help = "change nothing; say what a new lock would change, exit 1 if anything" },
	{ 0 },
};

static size_t count_inputs(const struct lockfile *lock)
{
	size_t n = 0;

	for (size_t i = 0; i < lock->platforms.len; i++)
		n += lock->platforms.items[i].inputs.len;
	return n;
}

/* The lock that lies there, when it can be read at all. */
static bool read_old(const char *path, struct strbuf *text, struct lockfile *old)
{
	struct error ignored = { 0 };

	return fs_read(AT_FDCWD, path, 256 * MIB, text, &ignored) == 0 &&
	       lockfile_parse(strbuf_slice(text), path, old, &ignored) == 0;
}

/* What is the same for all images of a manifest. */
struct lock_call {
	const struct invocation *in;
	struct store *store;
	struct http_client *http;
};

/* Something is kept of a lock that is there, and NAME is in it or in the manifest. */
static int check_update(const struct stack *stack, const struct lockfile *old, const char *path,
			const char *name, struct error *err)
{
	struct nearest near = nearest_start(name);

	if (!old->platforms.len)
		return error_set(
			err, ERROR_USAGE,
			"--update %s: there is no lock to update: %s; run `gpuimg lock %s`", name,
			path, stack->file);
	for (size_t i = 0; i < stack->source_count; i++)
		nearest_try(&near, stack->sources[i].id);
	for (size_t i = 0; i < old->platforms.len; i++) {
		for (size_t k = 0; k < old->platforms.items[i].inputs.len; k++)
			nearest_try(&near, old->platforms.items[i].inputs.items[k].name);
	}
	if (near.best && str_equal(near.best, name))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "--update %s: neither a source of %s nor a package in %s%s%s%s", name,
			 stack->file, path, near.best ? "; did you mean '" : "",
			 near.best ? near.best : "", near.best ? "'?" : "");
}

/* What the new lock would change, to standard output. 0, or 1 when anything. */
static int show_diff(const struct lock_call *call, const char *path, const struct lockfile *old,
		     struct slice new_text, struct error *err)
{
	cleanup_lockfile struct lockfile new = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	FILE *to = call->in->out->out;
	size_t count;

	if (lockfile_parse(new_text, path, &new, err) < 0)
		return -1;
	count = lockfile_diff(old, &new, &text);
	if (!count) {
		out_note(call->in->out, "%s: a new lock would change nothing", path);
		return 0;
	}
	fprintf(to, "%s: %zu difference%s\n%s", path, count, count > 1 ? "s" : "",
		strbuf_text(&text));
	if (fflush(to))
		return error_set_errno(err, errno, "write to standard output");
	return 1;
}

/* 0, or 1 with --check or --diff and a lock that is not up to date. */
static int lock_one(const struct lock_call *call, struct stack *stack, struct error *err)
{
	cleanup_lockfile struct lockfile lock = { 0 }, old = { 0 };
	cleanup_strbuf struct strbuf text = { 0 }, old_text = { 0 };
	cleanup_free char *path = stack_arg_lock(stack);
	const struct base_opener opener = base_arg_opener();
	const struct out *out = call->in->out;
	struct lock_request request = { .stack = stack,
					.store = call->store,
					.http = call->http,
					.out = out,
					.opener = &opener,
					.moves = option_text(call->in, "update", NULL) };
	bool same, has_old = read_old(path, &old_text, &old);

	if (request.moves) {
		if (check_update(stack, &old, path, request.moves, err) < 0)
			return -1;
		request.keep = &old;
	}
	if (lock_stack(&request, &lock, err) < 0)
		return error_wrap(err, "lock %s", stack_arg_name(stack));
	if (has_old && lock_check_dates(&old, &lock, stack, err) < 0)
		return error_wrap(err, "lock %s", stack_arg_name(stack));
	left_to_host_tell(&lock, out);
	lockfile_write(&lock, &text);
	if (option_given(call->in, "diff"))
		return show_diff(call, path, &old, strbuf_slice(&text), err);
	same = slice_equal(strbuf_slice(&text), strbuf_slice(&old_text));
	if (option_given(call->in, "check")) {
		out_note(out, "%s is %s", path, same ? "up to date" : "not up to date");
		return same ? 0 : 1;
	}
	if (!same && fs_write_durable(AT_FDCWD, path, strbuf_slice(&text), 0644, err) < 0)
		return -1;
	out_note(out, "%s: %zu inputs locked%s", path, count_inputs(&lock),
		 same ? ", nothing changed" : "");
	return 0;
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_stacks struct stacks stacks = { 0 };
	cleanup_store struct store *store = NULL;
	cleanup_http struct http_client *http = http_client_new(&(struct http_options){ 0 });
	struct lock_call call = { .in = in, .http = http };
	int status = 0;

	if (stack_arg_read(in, in->args[0], &stacks, err) < 0)
		return -1;
	store = store_open(option_text(in, "store", NULL), err);
	if (!store)
		return -1;
	call.store = store;
	for (size_t i = 0; i < stacks.count; i++) {
		int rc = lock_one(&call, &stacks.items[i], err);

		if (rc < 0)
			return -1;
		status |= rc;
	}
	return status;
}

const struct command command_lock = {
	.name = "lock",
	.usage = "STACK",
	.summary = "resolve a manifest's packages and write its lock",
	.description =
		"Asks the sources of the stack manifest STACK for every package that its stages "
		"need,\n"
		"with all they depend on, and writes each with its address, SHA-256 and size to "
		"the\n"
		"lock beside the manifest (stack.yaml: stack.lock.json). Repository signatures "
		"are\n"
		"checked before anything is believed. Builds use nothing that is not in the lock.\n"
		"A manifest with a matrix has a lock for each of its images "
		"(stack.VARIANT.lock.json).\n"
		"With --update NAME all other packages keep the version of the present lock where "
		"their\n"
		"source still has it and it fits.",
	.examples = "gpuimg lock stack.yaml            # resolve, write stack.lock.json\n"
		    "gpuimg lock --check stack.yaml    # in CI: is the lock up to date?\n"
		    "gpuimg lock --diff stack.yaml     # what would move, without moving it\n"
		    "gpuimg lock --update torch stack.yaml    # move one package, keep the rest\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
