/*
 * Python requirements: pip resolves them at lock time, for the image's platform and Python, and
 * reports what it would install; we only take addresses and digests. pip is never called later.
 * Source: pip documentation, "Installation report" version 1.
 */
#include "builder/sources/package_source.h"

#include <ctype.h>

#include "base/process.h"
#include "builder/sources/wheel_meta.h"

enum { REPORT_BYTES_MAX = 64 * 1024 * 1024 };

/* A growing argv whose strings live in an arena. */
struct arguments {
	const char **items;
	size_t len, cap;
};

struct pip_call {
	const struct source_context *context;
	const struct source_request *request;
	struct arena arena;
	struct arguments args;
	char *directory; /* temporary, for the report */
	const char *report;
	unsigned python_minor; /* of 3.X */
};

static const char *requirement_name(struct slice spec, struct arena *arena)
{
	size_t n = 0;

	while (n < spec.len && (isalnum(spec.data[n]) || strchr("-_.", spec.data[n])))
		n++;
	return wheel_normalize(slice_of(spec.data, n), arena);
}

/* The version of a locked package of this stage, or NULL. */
static const char *locked_version(const struct pip_call *call, const char *name)
{
	const struct lock_platform *inputs = call->context->inputs;

	for (size_t i = 0; i < inputs->inputs.len; i++) {
		const struct lock_input *in = &inputs->inputs.items[i];

		if (in->kind == LOCK_DEB && str_equal(in->stage, call->request->stage->name) &&
		    str_equal(in->name, name))
			return in->version;
	}
	return NULL;
}

/* "3.11" from the manifest, else from the Python packages of the stage, else 11. */
static int choose_python(struct pip_call *call, struct error *err)
{
	const struct stack *stack = call->context->stack;
	uint64_t minor = 0;

	if (stack->stack.python) {
		struct slice rest = slice_str(stack->stack.python), major, text;

		if (!slice_cut(&rest, '.', &major) || !slice_is(major, "3") ||
		    !slice_cut(&rest, '.', &text) || !slice_u64(text, &minor) || minor > 99)
			return stack_error(stack, stack->stack.place, err,
					   "stack.python: '%s' is not a version such as 3.11",
					   stack->stack.python);
	}
	for (unsigned m = 6; !minor && m < 40; m++) {
		cleanup_free char *name = xasprintf("python3.%u-minimal", m);

		if (locked_version(call, name))
			minor = m;
	}
	call->python_minor = minor ? (unsigned)minor : 11;
	return 0;
}

/* glibc's minor version of the image: which manylinux tags it can run. */
static unsigned glibc_minor(const struct pip_call *call)
{
	const char *version = locked_version(call, "libc6");
	uint64_t minor = 0;

	if (version && str_starts(version, "2.")) {
		const char *end = version + 2;

		while (isdigit((unsigned char)*end))
			end++;
		if (slice_u64(slice_of(version + 2, (size_t)(end - version) - 2), &minor) &&
		    minor < 100)
			return (unsigned)minor;
	}
	return 28; /* no libc in this stage: what current wheels ask for */
}

static void argument(struct pip_call *call, const char *text)
{
	vec_push(&call->args, text);
}

/* pip 23 takes a platform literally: every tag from the image's glibc down has to be named. */
static void platform_arguments(struct pip_call *call)
{
	const char *machine = str_equal(call->context->platform.architecture, "arm64") ? "aarch64" :
											  "x86_64";

	for (unsigned minor = glibc_minor(call); minor >= 17; minor--) {
		argument(call, "--platform");
		argument(call, arena_printf(&call->arena, "manylinux_2_%u_%s", minor, machine));
	}
	argument(call, "--platform");
	argument(call, arena_printf(&call->arena, "manylinux2014_%s", machine));
	argument(call, "--platform");
	argument(call, arena_printf(&call->arena, "linux_%s", machine));
}

static void source_arguments(struct pip_call *call)
{
	const struct stack_source *source = call->request->source;

	if (source->url) {
		argument(call, "--isolated");
		argument(call, "--index-url");
		argument(call, source->url);
	} else if (source->path) {
		argument(call, "--isolated");
		argument(call, "--no-index");
		argument(call, "--find-links");
		argument(call, arena_printf(&call->arena, "%s%s%s",
					    source->path[0] == '/' ?
						    "" :
						    call->context->stack->directory,
					    source->path[0] == '/' ? "" : "/", source->path));
	}
}

static void build_arguments(struct pip_call *call)
{
	static const char *const fixed[] = {
		"python3", "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet",
		"--no-input", "--disable-pip-version-check", "--only-binary=:all:",
		"--implementation", "cp",
	};

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		argument(call, fixed[i]);
	argument(call, "--python-version");
	argument(call, arena_printf(&call->arena, "3.%u", call->python_minor));
	argument(call, "--abi");
	argument(call, arena_printf(&call->arena, "cp3%u", call->python_minor));
	argument(call, "--abi");
	argument(call, "abi3");
	argument(call, "--abi");
	argument(call, "none");
	platform_arguments(call);
	argument(call, "--target"); /* pip wants one, even for a dry run */
	argument(call, arena_printf(&call->arena, "%s/target", call->directory));
	argument(call, "--report");
	argument(call, call->report);
	source_arguments(call);
	for (size_t i = 0; i < call->request->package_count; i++) {
		const struct stack_package *p = &call->request->packages[i];

		if (p->requirements) {
			argument(call, "-r");
			argument(call, arena_printf(&call->arena, "%s/%s",
						    call->context->stack->directory,
						    p->requirements));
		} else {
			argument(call, p->spec);
		}
	}
	argument(call, NULL);
}

/* A requirement that pip would read as an option, a path or an address is not one. */
static int check_specs(const struct pip_call *call, struct error *err)
{
	const struct stack *stack = call->context->stack;

	for (size_t i = 0; i < call->request->package_count; i++) {
		const struct stack_package *p = &call->request->packages[i];

		if (p->requirements) {
			cleanup_free char *path = fs_join(stack->directory, p->requirements);

			if (!fs_exists(AT_FDCWD, path))
				return stack_error(stack, p->place, err,
						   "requirements: there is no file '%s'", path);
		} else if (!isalnum((unsigned char)p->spec[0]) || strstr(p->spec, "://") ||
			   strchr(p->spec, '/')) {
			return stack_error(stack, p->place, err,
					   "'%s' is not a Python requirement (NAME or NAME==VERSION)",
					   p->spec);
		}
	}
	return 0;
}

/* Addresses in pip's own texts may carry credentials: cut "//user:secret@". */
static void cut_credentials(struct strbuf *text)
{
	cleanup_free char *copy = strbuf_steal(text);
	const char *at = copy, *start;

	while ((start = strstr(at, "://"))) {
		size_t host = 3 + strcspn(start + 3, "/ \t\r\n'\"");
		const char *sign = memrchr(start, '@', host);

		strbuf_add(text, at, (size_t)(start + 3 - at));
		at = sign ? sign + 1 : start + 3;
	}
	strbuf_adds(text, at);
}

/* What pip said last, without its "ERROR: ". */
static void pip_message(struct slice text, struct strbuf *out)
{
	struct slice line;

	while (slice_cut(&text, '\n', &line)) {
		line = slice_trim(line);
		if (slice_starts(line, "ERROR: ") &&
		    memmem(line.data, line.len, "pip's dependency resolver", 25) == NULL)
			strbuf_addf(out, "%s%.*s", out->len ? "; " : "", (int)line.len - 7,
				    (const char *)line.data + 7);
	}
	if (!out->len)
		strbuf_adds(out, "pip gave no reason");
	if (out->len > 380)
		strbuf_truncate(out, 380);
	cut_credentials(out);
}

static int pip_failed(const struct pip_call *call, const struct process_result *result,
		      struct error *err)
{
	static const char *const network[] = { "ConnectionError", "NewConnectionError",
					       "Could not fetch URL", "connection broken",
					       "Connection refused", "Max retries exceeded",
					       "ConnectTimeoutError" };
	const char *text = strbuf_text(&result->out_stderr);
	cleanup_strbuf struct strbuf message = { 0 };

	pip_message(strbuf_slice(&result->out_stderr), &message);
	if (strstr(text, "No module named pip"))
		return error_set(err, ERROR_NOT_FOUND,
				 "python3 has no pip, which resolves Python requirements at lock time; "
				 "install it (Debian: python3-pip)");
	for (size_t i = 0; i < ARRAY_LEN(network); i++) {
		if (strstr(text, network[i]))
			return error_set(err, ERROR_NETWORK,
					 "source %s: pip could not reach its index: %s",
					 call->request->source->id, strbuf_text(&message));
	}
	return error_set(err, ERROR_VERDICT,
			 "stage %s, source %s: pip finds no set of wheels for Python 3.%u on %s: %s",
			 call->request->stage->name, call->request->source->id, call->python_minor,
			 call->context->platform.architecture, strbuf_text(&message));
}

static int run_pip(struct pip_call *call, struct error *err)
{
	cleanup_process struct process_result result = { 0 };
	const struct process p = { .argv = call->args.items };

	if (process_run(&p, &result, err) < 0)
		return err->code == ERROR_NOT_FOUND ?
			       error_wrap(err, "Python requirements are resolved by pip") :
			       -1;
	return result.exit_status == 0 ? 0 : pip_failed(call, &result, err);
}

/* Bytes of the wheel at `url`, by HEAD, or by bringing it into the store when that says nothing. */
static int find_size(const struct source_context *context, const char *url,
		     const struct digest *digest, uint64_t *out, struct error *err)
{
	cleanup_response struct http_response response = { 0 };
	const struct http_request head = { .method = "HEAD", .url = url };
	cleanup_store_put struct store_pending put = { .file = { .fd = -1 } };
	struct digest got;

	if (!str_starts(url, "file:")) {
		if (http_perform(context->http, &head, &response, err) < 0)
			return -1;
		if (response.status == 200 &&
		    slice_u64(http_header(&response, "content-length"), out) && *out)
			return 0;
	}
	if (store_put_open(context->store, &put, err) < 0 ||
	    http_download(context->http, url, NULL, 3, put.sink, err) < 0)
		return -1;
	return store_put_commit(&put, digest, UINT64_MAX, &got, out, err);
}

static char *url_without_credentials(const char *url)
{
	struct strbuf b = { 0 };
	size_t len = strcspn(url, "#"); /* "#sha256=…" is not part of the address */

	strbuf_add(&b, url, len);
	cut_credentials(&b);
	return strbuf_steal(&b);
}

static bool is_requested(const struct pip_call *call, const json_t *item, const char *name,
			 struct arena *arena)
{
	if (json_is_true(json_object_get(item, "requested")))
		return true;
	for (size_t i = 0; i < call->request->package_count; i++) {
		const char *spec = call->request->packages[i].spec;

		if (spec && str_equal(requirement_name(slice_str(spec), arena), name))
			return true;
	}
	return false;
}

static int take_item(struct pip_call *call, const json_t *item, const char *where,
		     struct error *err)
{
	struct lockfile *lock = call->context->lock;
	json_t *download, *archive, *hashes, *metadata;
	const char *url, *sha256, *name, *version;
	struct wheel_name file_name;
	struct lock_input input = { .kind = LOCK_WHEEL, .arch = "" };
	cleanup_free char *clean = NULL;

	if (json_get_object(item, where, "download_info", &download, err) < 0 ||
	    json_get_str(download, where, "url", &url, err) < 0 ||
	    json_get_object(item, where, "metadata", &metadata, err) < 0 ||
	    json_get_str(metadata, where, "name", &name, err) < 0 ||
	    json_get_str(metadata, where, "version", &version, err) < 0)
		return -1;
	if (json_get_object(download, where, "archive_info", &archive, err) < 0 ||
	    json_get_object(archive, where, "hashes", &hashes, err) < 0 ||
	    json_get_str(hashes, where, "sha256", &sha256, err) < 0)
		return error_wrap(err, "%s: the index gives no SHA-256 for it", name);
	clean = url_without_credentials(url);
	input.name = wheel_normalize(slice_str(name), &lock->arena);
	input.version = arena_strdup(&lock->arena, version);
	input.url = arena_strdup(&lock->arena, clean);
	input.stage = arena_strdup(&lock->arena, call->request->stage->name);
	input.source = arena_strdup(&lock->arena, call->request->source->id);
	input.toolkit = call->request->toolkit;
	input.requested = is_requested(call, item, input.name, &lock->arena);
	if (wheel_name_parse(strrchr(clean, '/') ? strrchr(clean, '/') + 1 : clean, &call->arena,
			     &file_name, err) < 0 ||
	    digest_parse_sha256_hex(slice_str(sha256), &input.digest, err) < 0 ||
	    find_size(call->context, url, &input.digest, &input.size, err) < 0)
		return error_wrap(err, "%s %s", name, version);
	if (json_is_true(json_object_get(item, "is_yanked")))
		out_warn(call->context->out, "%s %s was withdrawn (yanked) by its publisher", name,
			 version);
	vec_push(&call->context->inputs->inputs, input);
	return 0;
}

static void check_markers(const struct pip_call *call, const json_t *report)
{
	const json_t *environment = json_object_get(report, "environment");
	const char *python = json_string_value(json_object_get(environment, "python_version"));
	cleanup_free char *wanted = xasprintf("3.%u", call->python_minor);

	if (python && !str_equal(python, wanted))
		out_warn(call->context->out,
			 "pip runs on Python %s and judged environment markers for it; the image has "
			 "Python %s",
			 python, wanted);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct lock_input *)a)->name, ((const struct lock_input *)b)->name);
}

static int read_report(struct pip_call *call, struct error *err)
{
	struct lock_platform *inputs = call->context->inputs;
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *report = NULL;
	size_t first = inputs->inputs.len;
	json_t *install;

	if (fs_read(AT_FDCWD, call->report, REPORT_BYTES_MAX, &text, err) < 0 ||
	    json_parse(strbuf_slice(&text), &report, err) < 0 ||
	    json_get_array(report, "", "install", &install, err) < 0)
		return error_wrap(err, "pip's report");
	check_markers(call, report);
	for (size_t i = 0; i < json_array_size(install); i++) {
		cleanup_free char *where = xasprintf("install[%zu]", i);

		if (take_item(call, json_array_get(install, i), where, err) < 0)
			return -1;
	}
	qsort(inputs->inputs.items + first, inputs->inputs.len - first,
	      sizeof(*inputs->inputs.items), by_name);
	return 0;
}

static int make_directory(struct pip_call *call, struct error *err)
{
	const char *tmp = getenv("TMPDIR");

	call->directory = xasprintf("%s/gpuimg-pip-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(call->directory)) {
		error_set_errno(err, errno, "create a temporary directory %s", call->directory);
		free(call->directory);
		call->directory = NULL;
		return -1;
	}
	call->report = arena_printf(&call->arena, "%s/report.json", call->directory);
	return 0;
}

static int resolve_one(const struct source_context *context, const struct source_request *request,
		       struct error *err)
{
	struct pip_call call = { .context = context, .request = request };
	struct error ignored = { 0 };
	int rc = choose_python(&call, err);

	if (rc == 0)
		rc = check_specs(&call, err);
	if (rc == 0)
		rc = make_directory(&call, err);
	if (rc == 0) {
		build_arguments(&call);
		rc = run_pip(&call, err);
	}
	if (rc == 0)
		rc = read_report(&call, err);
	if (call.directory)
		ignore_result(fs_remove_tree(AT_FDCWD, call.directory, &ignored));
	free(call.directory);
	vec_release(&call.args);
	arena_release(&call.arena);
	return rc;
}

int wheels_resolve(const struct source_context *context, const struct source_request *requests,
		   size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (requests[i].package_count && resolve_one(context, &requests[i], err) < 0)
			return -1;
	}
	return 0;
}
