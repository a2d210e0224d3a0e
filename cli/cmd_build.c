#include "builder/build.h"

#include "builder/fetch.h"
#include "builder/left_to_host.h"
#include "builder/lock.h"
#include "cli/base_arg.h"
#include "cli/sbom_arg.h"
#include "cli/build_remote.h"
#include "cli/build_report.h"
#include "cli/command.h"
#include "cli/lint_check.h"
#include "cli/progress.h"
#include "cli/registry_cache.h"
#include "cli/report_output.h"
#include "cli/stack_arg.h"
#include "oci/reference.h"

static const struct option options[] = {
	{ .name = "to",
	  .letter = 't',
	  .value = "IMAGE",
	  .repeatable = true,
	  .help = "where the image goes: oci:DIR[:TAG], oci-archive:FILE[:TAG], "
		  "docker-archive:FILE[:NAME:TAG], docker-daemon:NAME, containers-storage:NAME, "
		  "rootfs:DIR, docker://HOST/NAME[:TAG] (layers are sent while the next are made), "
		  "or - for standard output (default oci:out/NAME:TAG)" },
	{ .name = "send-ahead",
	  .value = "docker://NAME",
	  .repeatable = true,
	  .help = "send layers there while the next are made; the image is pushed later" },
	{ .name = "offline", .help = "open no socket: everything must lie in the store" },
	{ .name = "sbom",
	  .value = "FORMAT=FILE",
	  .repeatable = true,
	  .help = "write an SBOM: spdx, cyclonedx, or files (who owns each path); "
		  "{arch} in FILE is the platform's" },
	{ .name = "provenance",
	  .value = "FILE",
	  .help = "write how it was built: SLSA v1, an in-toto statement" },
	{ .name = "no-lint", .help = "do not check the image before it is written" },
	{ .name = "jobs",
	  .letter = 'j',
	  .value = "N",
	  .help = "threads (default: as many as there are processors)" },
	STACK_SECRET_OPTION,
	STACK_CDI_OPTION,
	STACK_SET_OPTION,
	STACK_VARIANT_OPTION,
	REPORT_OUTPUT_OPTION("text or json"),
	REGISTRY_CACHE_OPTIONS,
	PUSH_EXTRAS_OPTIONS,
	REGISTRY_OPTIONS,
	{ 0 },
};

struct texts {
	const char **items;
	size_t len, cap;
};

/* What the build of one image works with. */
struct build_call {
	const struct invocation *in;
	struct stack *stack;
	struct lockfile lock;
	struct store *store;
	char *lock_path;
	bool offline;
	bool is_one_of_many;
	const struct report_outputs *outputs;
	struct strbuf *reports; /* one for each output */
	struct registry_arg *registry;
	struct registry_cache *cache;
	const struct key *key; /* of --sign */
};

/* Without a lock it is made now, unless that is forbidden. */
static int make_lock(struct build_call *call, struct error *err)
{
	const struct base_opener opener = base_arg_opener();
	struct lock_request request = {
		.stack = call->stack, .store = call->store, .opener = &opener, .out = call->in->out
	};
	cleanup_http struct http_client *http = NULL;
	cleanup_strbuf struct strbuf text = { 0 };

	if (call->offline)
		return error_set(
			err, ERROR_NOT_FOUND,
			"%s does not exist, and --offline forbids to make it: run `gpuimg lock "
			"%s` where there is a network",
			call->lock_path, call->stack->file);
	out_note(call->in->out, "%s does not exist: locking", call->lock_path);
	http = http_client_new(&(struct http_options){ 0 });
	request.http = http;
	if (lock_stack(&request, &call->lock, err) < 0)
		return error_wrap(err, "lock %s", call->stack->file);
	lockfile_write(&call->lock, &text);
	return fs_write(AT_FDCWD, call->lock_path, strbuf_slice(&text), 0644, err);
}

static int bring_inputs(struct build_call *call, struct error *err)
{
	const struct base_opener opener = base_arg_opener();
	struct progress progress;
	struct fetch_result result = { 0 };
	struct fetch_request request = { .lock = &call->lock,
					 .store = call->store,
					 .directory = call->stack->directory,
					 .opener = &opener,
					 .report = progress_fetch,
					 .report_user = &progress };
	int rc;

	if (!fetch_missing(&call->lock, call->store))
		return 0;
	progress = progress_start(call->in, "fetch");
	rc = fetch_lock(&request, &result, err);
	progress_end(&progress);
	return rc < 0 ? error_wrap(err, "fetch %s", call->lock_path) : 0;
}

static int prepare(struct build_call *call, struct error *err)
{
	call->lock_path = stack_arg_lock(call->stack);
	if (!fs_exists(AT_FDCWD, call->lock_path)) {
		if (make_lock(call, err) < 0)
			return -1;
	} else if (lockfile_read(call->lock_path, &call->lock, err) < 0) {
		return -1;
	}
	if (lock_check_current(&call->lock, call->stack, err) < 0)
		return error_wrap(err, "%s", call->lock_path);
	if (call->offline || registry_cache_reads(call->cache))
		return 0;
	return bring_inputs(call, err);
}

/* With a cache they are only wanted for what it has not. */
static int bring_late(void *user, struct error *err)
{
	return bring_inputs(user, err);
}

/* A destination with {name}, {tag} and {variant} filled in; `arch` NULL: there is none. */
static const char *fill_in_arch(const char *to, const struct stack *stack, const char *arch,
				struct arena *arena)
{
	const struct {
		const char *word, *value;
	} words[] = { { "{name}", stack->name },
		      { "{tag}", stack->tag },
		      { "{variant}", stack->variant },
		      { "{arch}", arch } };
	cleanup_strbuf struct strbuf filled = { 0 };

	while (*to) {
		size_t i = 0;

		while (i < ARRAY_LEN(words) && !(words[i].value && str_starts(to, words[i].word)))
			i++;
		if (i < ARRAY_LEN(words)) {
			strbuf_adds(&filled, words[i].value);
			to += strlen(words[i].word);
		} else {
			strbuf_addc(&filled, *to++);
		}
	}
	return arena_strdup(arena, strbuf_text(&filled));
}

static const char *fill_in(const char *to, const struct stack *stack, struct arena *arena)
{
	return fill_in_arch(to, stack, NULL, arena);
}

static void destinations(const struct build_call *call, struct texts *out, struct arena *arena)
{
	const char *text;

	for (size_t n = 0; (text = option_nth(call->in, "to", n)); n++) {
		text = fill_in(text, call->stack, arena);
		if (str_starts(text, "docker://") &&
		    (!strrchr(text, '/') || !strchr(strrchr(text, '/'), ':')))
			text = arena_printf(arena, "%s:%s", text, call->stack->tag);
		vec_push(out, text);
	}
	if (!out->len)
		vec_push(out, fill_in("oci:out/{name}:{tag}", call->stack, arena));
}

/* What --sbom asks for: its kind, and the rest of the text. */
static int sbom_option(const char *text, enum attachment *out_kind, const char **out_file,
		       struct error *err)
{
	const char *equal = strchr(text, '=');
	cleanup_free char *name = xstrndup(text, equal ? (size_t)(equal - text) : strlen(text));

	if (!equal || !equal[1])
		return error_set(err, ERROR_USAGE,
				 "--sbom %s: write FORMAT=FILE, such as spdx=app.spdx.json", text);
	*out_file = equal + 1;
	return sbom_arg_kind("sbom", name, out_kind, err);
}

/* Files of several images must not be written over each other either. */
static int check_sbom(const char *option, const char *file, const struct stacks *stacks,
		      struct error *err)
{
	const struct stack *first = &stacks->items[0];
	cleanup_arena struct arena arena = { 0 };

	if (first->platforms.count > 1 && !strstr(file, "{arch}"))
		return error_set(
			err, ERROR_USAGE,
			"--%s %s: the images of %zu platforms have an SBOM each; put {arch} "
			"into the name",
			option, file, first->platforms.count);
	if (stacks->count > 1 &&
	    str_equal(fill_in(file, first, &arena), fill_in(file, &stacks->items[1], &arena)))
		return error_set(
			err, ERROR_USAGE,
			"--%s %s: the images of the matrix have an SBOM each; put {variant} "
			"into the name",
			option, file);
	return 0;
}

static int check_sboms(const struct invocation *in, const struct stacks *stacks, struct error *err)
{
	const char *text, *file;
	enum attachment kind;

	for (size_t n = 0; (text = option_nth(in, "sbom", n)); n++) {
		if (sbom_option(text, &kind, &file, err) < 0 ||
		    check_sbom("sbom", file, stacks, err) < 0)
			return -1;
	}
	text = option_text(in, "provenance", NULL);
	return text ? check_sbom("provenance", text, stacks, err) : 0;
}

static int write_sbom(const struct build_call *call, const struct build_image *image,
		      enum attachment kind, const char *file, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	const char *path = fill_in_arch(file, call->stack, image->platform.architecture, &arena);

	if (attachments_read(call->store, &image->manifest.digest, kind, &text, err) < 0)
		return -1;
	return fs_write(AT_FDCWD, path, strbuf_slice(&text), 0644, err);
}

/* What is said of each image, to the files that were asked for. */
static int write_sboms(const struct build_call *call, const struct build_result *result,
		       struct error *err)
{
	const char *provenance = option_text(call->in, "provenance", NULL), *text, *file;
	enum attachment kind;

	for (size_t i = 0; i < result->images.len; i++) {
		const struct build_image *image = &result->images.items[i];

		for (size_t n = 0; (text = option_nth(call->in, "sbom", n)); n++) {
			if (sbom_option(text, &kind, &file, err) < 0 ||
			    write_sbom(call, image, kind, file, err) < 0)
				return -1;
		}
		if (provenance &&
		    write_sbom(call, image, ATTACHMENT_PROVENANCE, provenance, err) < 0)
			return -1;
	}
	return 0;
}

/* Images of a matrix must not be written over each other. */
static int check_destinations(const struct invocation *in, const struct stacks *stacks,
			      struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *to;

	for (size_t n = 0; (to = option_nth(in, "to", n)); n++) {
		const char *colon = strrchr(to, ':'), *first = strchr(to, ':');
		bool tagged = colon != first && reference_tag_valid(colon + 1);

		if (stacks->count < 2 || (str_starts(to, "oci:") && !tagged))
			continue;
		for (size_t i = 1; i < stacks->count; i++) {
			if (str_equal(fill_in(to, &stacks->items[i], &arena),
				      fill_in(to, &stacks->items[0], &arena)))
				return error_set(
					err, ERROR_USAGE,
					"--to %s: the %zu images of the matrix would be written "
					"over each other; put {tag} or {variant} into it, or "
					"choose one with --variant",
					to, stacks->count);
		}
	}
	return 0;
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

static void report(struct build_call *call, const struct build_result *result,
		   const struct texts *to)
{
	for (size_t i = 0; i < call->outputs->len; i++) {
		struct strbuf *text = &call->reports[i];

		if (!str_equal(call->outputs->items[i].format, "json")) {
			build_report_text(call->in->out, call->stack, result, to->items, to->len,
					  text);
			continue;
		}
		if (call->is_one_of_many)
			strbuf_adds(text, text->len ? ",\n" : "[\n");
		build_report_json(call->stack, &call->lock, result, to->items, to->len, text);
	}
}

/* Those that are not registries. */
static void local_ones(const struct texts *to, struct texts *out)
{
	for (size_t i = 0; i < to->len; i++) {
		if (!str_starts(to->items[i], "docker://"))
			vec_push(out, to->items[i]);
	}
}

static int take_ahead(const struct build_call *call, struct build_remote *remote, struct error *err)
{
	const char *text;

	for (size_t n = 0; (text = option_nth(call->in, "send-ahead", n)); n++) {
		text = fill_in(text, call->stack, &remote->arena);
		remote->only_ahead = true;
		if (!str_starts(text, "docker://"))
			return error_set(err, ERROR_USAGE,
					 "--send-ahead '%s': write docker://HOST/NAME", text);
		if (build_remote_take(remote, &text, 1, err) < 0)
			return -1;
	}
	return 0;
}

static int take_remote(const struct build_call *call, const struct texts *to,
		       struct build_remote *remote, struct error *err)
{
	if (build_remote_take(remote, to->items, to->len, err) < 0)
		return -1;
	if (remote->to.len && option_given(call->in, "send-ahead"))
		return error_set(err, ERROR_USAGE,
				 "--send-ahead is for images that another command pushes");
	if (take_ahead(call, remote, err) < 0)
		return -1;
	if (remote->to.len && call->offline)
		return error_set(err, ERROR_USAGE, "--offline: registries are not reached");
	return 0;
}

/* With what goes to registries and comes from them around it. */
static int run_build(struct build_call *call, const struct texts *to, struct build_request *request,
		     struct build_result *result, struct error *err)
{
	struct build_remote remote = { .in = call->in,
				       .registry = call->registry,
				       .key = call->key };
	struct texts local = { 0 };
	int rc = take_remote(call, to, &remote, err);

	local_ones(to, &local);
	request->destinations = local.items;
	request->destination_count = local.len;
	if (registry_cache_reads(call->cache)) {
		request->bring = bring_late;
		request->bring_user = call;
	}
	registry_cache_attach(call->cache, call->store);
	if (rc == 0) {
		build_remote_start(&remote, request);
		rc = build_run(request, result, err);
	}
	build_remote_end(&remote, rc < 0);
	store_set_upstream(call->store, NULL);
	if (rc == 0)
		registry_cache_save(call->cache, call->store);
	vec_release(&local);
	return rc;
}

static int build(struct build_call *call, struct texts *to, struct error *err)
{
	cleanup_build_result struct build_result result = { 0 };
	struct lint_check check = { .in = call->in, .stack = call->stack };
	struct build_request request = { .stack = call->stack,
					 .lock = &call->lock,
					 .store = call->store,
					 .out = call->in->out };
	cleanup_free const char **secrets = stack_arg_secrets(call->in, &request.secret_count);
	cleanup_free const char **cdi_dirs = stack_arg_cdi_dirs(call->in);
	uint64_t jobs;

	if (option_number(call->in, "jobs", 1, 64, 0, &jobs, err) < 0 ||
	    take_created(&request, err) < 0)
		return -1;
	request.threads = (unsigned)jobs;
	request.secrets = secrets;
	request.cdi_dirs = cdi_dirs;
	if (!option_given(call->in, "no-lint")) {
		request.check = lint_check_run;
		request.check_user = &check;
	}
	if (run_build(call, to, &request, &result, err) < 0)
		return error_wrap(err, "build %s", stack_arg_name(call->stack));
	if (write_sboms(call, &result, err) < 0)
		return -1;
	left_to_host_tell(&call->lock, call->in->out);
	for (size_t i = 0; i < result.warnings.len; i++)
		out_warn(call->in->out, "%s", result.warnings.items[i]);
	report(call, &result, to);
	return 0;
}

/* One image, from its lock to its destinations. */
static int build_one(struct build_call *call, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct texts to = { 0 };
	int rc = prepare(call, err);

	if (rc == 0) {
		destinations(call, &to, &arena);
		rc = build(call, &to, err);
	}
	vec_release(&to);
	free(call->lock_path);
	lockfile_release(&call->lock);
	return rc;
}

/* Of several images, a list of their reports. */
static int write_reports(const struct invocation *in, const struct report_outputs *outputs,
			 struct strbuf *reports, bool many, struct error *err)
{
	for (size_t i = 0; i < outputs->len; i++) {
		if (many && str_equal(outputs->items[i].format, "json"))
			strbuf_adds(&reports[i], "]\n");
		if (report_output_write(&outputs->items[i], strbuf_slice(&reports[i]), in->out,
					err) < 0)
			return -1;
	}
	return 0;
}

/* What the builds of all images have in common with registries. */
struct build_registry {
	struct registry_arg arg;
	struct registry_cache cache;
	struct key *key;
};

static int build_registry_take(const struct invocation *in, struct build_registry *r,
			       struct error *err)
{
	if (registry_arg_take(in, "push", &r->arg, err) < 0 ||
	    registry_cache_take(in, &r->arg, &r->cache, err) < 0)
		return -1;
	if (registry_cache_reads(&r->cache) && option_given(in, "offline"))
		return error_set(err, ERROR_USAGE, "--offline: registries are not reached");
	r->key = push_extras_key(in, err);
	return !r->key && option_given(in, "sign") ? -1 : 0;
}

static void build_registry_release(struct build_registry *r)
{
	key_free(r->key);
	registry_cache_release(&r->cache);
	registry_arg_release(&r->arg);
}

static int build_all(const struct invocation *in, struct stacks *stacks, struct store *store,
		     struct build_registry *registry, const struct report_outputs *outputs,
		     struct error *err)
{
	cleanup_free struct strbuf *reports = xcalloc(outputs->len + 1, sizeof(*reports));
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < stacks->count; i++) {
		struct build_call call = { .in = in,
					   .stack = &stacks->items[i],
					   .store = store,
					   .offline = option_given(in, "offline"),
					   .is_one_of_many = stacks->count > 1,
					   .outputs = outputs,
					   .reports = reports,
					   .registry = &registry->arg,
					   .cache = &registry->cache,
					   .key = registry->key };

		rc = build_one(&call, err);
	}
	if (rc == 0)
		rc = write_reports(in, outputs, reports, stacks->count > 1, err);
	for (size_t i = 0; i < outputs->len; i++)
		strbuf_release(&reports[i]);
	return rc;
}

/* How many destinations are standard output. */
static size_t count_stdout(const struct invocation *in)
{
	const char *to;
	size_t count = 0;

	for (size_t n = 0; (to = option_nth(in, "to", n)); n++)
		count += str_equal(to, "-");
	return count;
}

static int run_on(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", NULL };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_stacks struct stacks stacks = { 0 };
	cleanup_store struct store *store = NULL;
	cleanup(build_registry_release) struct build_registry registry = { 0 };

	if (report_outputs_parse(in, formats, &outputs, err) < 0 ||
	    build_registry_take(in, &registry, err) < 0 ||
	    stack_arg_read(in, in->args[0], &stacks, err) < 0 ||
	    check_destinations(in, &stacks, err) < 0 || check_sboms(in, &stacks, err) < 0)
		return -1;
	store = store_open(option_text(in, "store", NULL), err);
	if (!store)
		return -1;
	return build_all(in, &stacks, store, &registry, &outputs, err);
}

/* An image that goes to standard output has that for itself: reports go to standard error. */
static int run(const struct invocation *in, struct error *err)
{
	size_t count = count_stdout(in);
	struct invocation quiet = *in;
	struct out out = *in->out;

	if (!count)
		return run_on(in, err);
	if (count > 1)
		return error_set(err, ERROR_USAGE, "--to -: standard output takes one image");
	out.out = out.err;
	out.colour = out.err_colour;
	quiet.out = &out;
	return run_on(&quiet, err);
}

const struct command command_build = {
	.name = "build",
	.usage = "STACK",
	.summary = "assemble the image of a stack manifest",
	.description =
		"Assembles the image that the stack manifest STACK describes from the inputs of "
		"its lock,\n"
		"directly as layers, without a daemon, without root and with the same bytes every "
		"time.\n"
		"A missing lock is made, missing inputs are fetched, unless --offline. The image "
		"is\n"
		"linted first and not written when there are findings at or above the manifest's\n"
		"threshold (lint.fail-on). SOURCE_DATE_EPOCH sets the image's creation time. All "
		"images\n"
		"of a manifest with a matrix are built; {name}, {tag} and {variant} in IMAGE are "
		"filled in.\n"
		"\n"
		"With --cache-from, what a build elsewhere made of the same inputs is taken from "
		"a\n"
		"registry, if its signature is by one of the keys; with --cache-to it is put "
		"there.",
	.examples =
		"gpuimg build stack.yaml                              # to oci:out/NAME:TAG\n"
		"gpuimg build --to - stack.yaml | docker load\n"
		"gpuimg build --offline --to oci-archive:app.tar stack.yaml\n"
		"gpuimg build --to docker://registry.example.org/ml/app --sign cosign.key "
		"stack.yaml\n"
		"gpuimg build --cache-from docker://registry.example.org/cache --cache-key ci.pub "
		"stack.yaml\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
