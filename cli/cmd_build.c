#include "builder/build.h"

#include "builder/fetch.h"
#include "builder/lock.h"
#include "cli/build_report.h"
#include "cli/command.h"
#include "cli/lint_check.h"
#include "cli/progress.h"
#include "cli/report_output.h"

static const struct option options[] = {
	{ .name = "to", .letter = 't', .value = "IMAGE", .repeatable = true,
	  .help = "where the image goes: oci:DIR[:TAG] or oci-archive:FILE[:TAG] (default "
		  "oci:out/NAME:TAG)" },
	{ .name = "offline", .help = "open no socket: everything must lie in the store" },
	{ .name = "no-lint", .help = "do not check the image before it is written" },
	{ .name = "jobs", .letter = 'j', .value = "N",
	  .help = "threads (default: as many as there are processors)" },
	REPORT_OUTPUT_OPTION("text or json"),
	{ 0 },
};

struct texts {
	const char **items;
	size_t len, cap;
};

/* What one build works with. */
struct build_call {
	const struct invocation *in;
	struct stack stack;
	struct lockfile lock;
	struct store *store;
	char *lock_path;
	bool offline;
};

/* Without a lock it is made now, unless that is forbidden. */
static int make_lock(struct build_call *call, struct error *err)
{
	cleanup_http struct http_client *http = NULL;
	cleanup_strbuf struct strbuf text = { 0 };

	if (call->offline)
		return error_set(err, ERROR_NOT_FOUND,
				 "%s does not exist, and --offline forbids to make it: run `gpuimg lock "
				 "%s` where there is a network",
				 call->lock_path, call->stack.file);
	out_note(call->in->out, "%s does not exist: locking", call->lock_path);
	http = http_client_new(&(struct http_options){ 0 });
	if (lock_stack(&(struct lock_request){ &call->stack, call->store, http, call->in->out },
		       &call->lock, err) < 0)
		return error_wrap(err, "lock %s", call->stack.file);
	lockfile_write(&call->lock, &text);
	return fs_write(AT_FDCWD, call->lock_path, strbuf_slice(&text), 0644, err);
}

static int bring_inputs(struct build_call *call, struct error *err)
{
	struct progress progress;
	struct fetch_result result = { 0 };
	struct fetch_request request = { .lock = &call->lock,
					 .store = call->store,
					 .report = progress_fetch,
					 .report_user = &progress };
	int rc;

	if (call->offline || !fetch_missing(&call->lock, call->store))
		return 0;
	progress = progress_start(call->in, "fetch");
	rc = fetch_lock(&request, &result, err);
	progress_end(&progress);
	return rc < 0 ? error_wrap(err, "fetch %s", call->lock_path) : 0;
}

static int prepare(struct build_call *call, struct error *err)
{
	if (stack_read(call->in->args[0], &call->stack, err) < 0)
		return -1;
	call->lock_path = lockfile_path(call->in->args[0]);
	call->store = store_open(option_text(call->in, "store", NULL), err);
	if (!call->store)
		return -1;
	if (!fs_exists(AT_FDCWD, call->lock_path)) {
		if (make_lock(call, err) < 0)
			return -1;
	} else if (lockfile_read(call->lock_path, &call->lock, err) < 0) {
		return -1;
	}
	if (!digest_equal(&call->lock.manifest, &call->stack.digest))
		return error_set(err, ERROR_USAGE,
				 "%s was made for another text of %s: run `gpuimg lock %s`",
				 call->lock_path, call->stack.file, call->stack.file);
	return bring_inputs(call, err);
}

static void destinations(const struct build_call *call, struct texts *out, struct arena *arena)
{
	const char *text;

	for (size_t n = 0; (text = option_nth(call->in, "to", n)); n++)
		vec_push(out, text);
	if (!out->len)
		vec_push(out, arena_printf(arena, "oci:out/%s:%s", call->stack.name,
					   call->stack.tag));
}

static int take_created(struct build_request *request, struct error *err)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	uint64_t seconds;

	if (!text || !*text)
		return 0;
	if (!slice_u64(slice_str(text), &seconds) || seconds > UINT64_C(253402300799))
		return error_set(err, ERROR_USAGE,
				 "SOURCE_DATE_EPOCH: '%s' is not a number of seconds since 1970",
				 text);
	request->has_created = true;
	request->created = (int64_t)seconds;
	return 0;
}

static int build(struct build_call *call, struct texts *to, const struct report_outputs *outputs,
		 struct error *err)
{
	cleanup_build_result struct build_result result = { 0 };
	struct lint_check check = { .in = call->in, .stack = &call->stack };
	struct build_request request = { .stack = &call->stack,
					 .lock = &call->lock,
					 .store = call->store,
					 .destinations = to->items,
					 .destination_count = to->len,
					 .out = call->in->out };
	uint64_t jobs;

	if (option_number(call->in, "jobs", 1, 64, 0, &jobs, err) < 0 ||
	    take_created(&request, err) < 0)
		return -1;
	request.threads = (unsigned)jobs;
	if (!option_given(call->in, "no-lint")) {
		request.check = lint_check_run;
		request.check_user = &check;
	}
	if (build_run(&request, &result, err) < 0)
		return error_wrap(err, "build %s", call->stack.file);
	for (size_t i = 0; i < result.warnings.len; i++)
		out_warn(call->in->out, "%s", result.warnings.items[i]);
	for (size_t i = 0; i < outputs->len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (str_equal(outputs->items[i].format, "json"))
			build_report_json(&call->stack, &call->lock, &result, to->items, to->len, &text);
		else
			build_report_text(call->in->out, &call->stack, &result, to->items, to->len,
					  &text);
		if (report_output_write(&outputs->items[i], strbuf_slice(&text), call->in->out,
					err) < 0)
			return -1;
	}
	return 0;
}

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", NULL };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	struct build_call call = { .in = in, .offline = option_given(in, "offline") };
	struct arena arena = { 0 };
	struct texts to = { 0 };
	int rc = report_outputs_parse(in, formats, &outputs, err);

	if (rc == 0)
		rc = prepare(&call, err);
	if (rc == 0) {
		destinations(&call, &to, &arena);
		rc = build(&call, &to, &outputs, err);
	}
	vec_release(&to);
	arena_release(&arena);
	free(call.lock_path);
	store_close(call.store);
	lockfile_release(&call.lock);
	stack_release(&call.stack);
	return rc;
}

const struct command command_build = {
	.name = "build",
	.usage = "STACK",
	.summary = "assemble the image of a stack manifest",
	.description =
		"Assembles the image that the stack manifest STACK describes from the inputs of its lock,\n"
		"directly as layers, without a daemon, without root and with the same bytes every time.\n"
		"A missing lock is made, missing inputs are fetched, unless --offline. The image is\n"
		"linted first and not written when there are findings at or above the manifest's\n"
		"threshold (lint.fail-on). SOURCE_DATE_EPOCH sets the image's creation time.",
	.examples = "gpuimg build stack.yaml                              # to oci:out/NAME:TAG\n"
		    "gpuimg build --offline --to oci-archive:app.tar stack.yaml\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
