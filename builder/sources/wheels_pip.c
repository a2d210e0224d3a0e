#include "builder/sources/wheels_pip.h"

#include <ctype.h>

#include "base/process.h"
#include "builder/sources/requirements.h"
#include "builder/sources/wheel_check.h"
#include "formats/json.h"
#include "formats/wheel_meta.h"
#include "manifests/dotted.h"

enum { REPORT_BYTES_MAX = 64 * 1024 * 1024, OUTPUT_BYTES_MAX = 64 * 1024 * 1024, TAGS_SHOWN = 6 };

struct texts {
	const char **items;
	size_t len, cap;
};

/* Of the lock before: nothing, what the manifest named, or every package. */
enum keep { KEEP_NOTHING, KEEP_NAMED, KEEP_ALL };

struct pip_call {
	const struct source_context *context;
	const struct source_request *request;
	const struct wheel_target *target;
	struct arena arena;
	struct texts args, environment;
	char *directory; /* temporary, for the report */
	const char *report;
	const char *constraints; /* a file; NULL: none */
	bool hashes;             /* a requirements file pins them */
	enum keep keep;          /* of the lock before */
	const char *moved_to;    /* with KEEP_ALL: the version of what moves; or NULL */
	bool keeping;            /* `constraints` holds something of the lock before */
	bool unsettled;          /* leave out what the solver settled, to see what there is */
	size_t fixed;            /* arguments before those about packages */
};

static const struct lock_input *locked_deb(const struct source_context *context,
					   const struct stack_stage *stage, const char *name)
{
	const struct lock_platform *inputs = context->inputs;

	for (size_t i = 0; i < inputs->inputs.len; i++) {
		const struct lock_input *in = &inputs->inputs.items[i];

		if (in->kind == LOCK_DEB && str_equal(in->stage, stage->name) &&
		    str_equal(in->name, name))
			return in;
	}
	return NULL;
}

/* The digits and dots at the start of a Debian version, without its epoch. */
static const char *upstream(const char *version, struct arena *arena)
{
	const char *colon = strchr(version, ':'), *text = colon ? colon + 1 : version;

	return arena_slice(arena, slice_of(text, strspn(text, "0123456789.")));
}

/* Whether Python 3.`minor` is what the manifest asks for ("3.11", "3.11.2", ">=3.10", or nothing).
 */
static bool python_wanted(const struct stack *stack, uint64_t minor)
{
	cleanup_free char *version = xasprintf("3.%llu", (unsigned long long)minor);

	return dotted_in(version, stack->stack.python);
}

/* The Python that the manifest comes to, where nothing brings one. */
static int manifest_python(const struct source_context *context, struct wheel_target *out,
			   struct error *err)
{
	const char *text = context->python ? context->python : "3.11";
	struct slice rest = slice_str(text), major, number;
	uint64_t minor;

	if (!dotted_is(rest) || !slice_cut(&rest, '.', &major) || !slice_is(major, "3") ||
	    !slice_cut(&rest, '.', &number) || !slice_u64(number, &minor) || minor > 99)
		return stack_error(context->stack, context->stack->stack.place, err,
				   "stack.python: '%s' is not a version such as 3.11", text);
	out->python_minor = (unsigned)minor;
	out->python_full = text;
	return 0;
}

/* The base image's Python, unless the manifest names another. */
static bool python_of_base(const struct source_context *context, struct wheel_target *out)
{
	uint64_t minor;

	if (!slice_u64(slice_str(context->base->python + strlen("3.")), &minor) ||
	    !python_wanted(context->stack, minor))
		return false;
	out->python_minor = (unsigned)minor;
	out->python_full = context->base->python;
	return true;
}

static int find_python(const struct source_context *context, const struct stack_stage *stage,
		       struct arena *arena, struct wheel_target *out, struct error *err)
{
	const struct stack *stack = context->stack;

	for (unsigned m = 6; m < 40; m++) {
		cleanup_free char *name = xasprintf("python3.%u-minimal", m);
		const struct lock_input *in = locked_deb(context, stage, name);

		if (!in)
			continue;
		if (!python_wanted(stack, m))
			return stack_error(stack, stack->stack.place, err,
					   "stack.python is %s, and the packages of stage %s bring "
					   "Python 3.%u; leave it out or name the other",
					   stack->stack.python, stage->name, m);
		out->python_minor = m;
		out->python_full = upstream(in->version, arena);
		return 0;
	}
	if (context->base && context->base->python && python_of_base(context, out))
		return 0;
	return manifest_python(context, out, err);
}

int wheel_target_of(const struct source_context *context, const struct source_request *request,
		    struct arena *arena, struct wheel_target *out, struct error *err)
{
	const struct lock_input *libc = locked_deb(context, request->stage, "libc6");
	const char *version = NULL;
	struct slice rest, part;
	uint64_t minor;

	*out = (struct wheel_target){ .glibc_minor = 28 };
	out->machine = str_equal(context->platform.architecture, "arm64") ? "aarch64" : "x86_64";
	if (libc)
		version = upstream(libc->version, arena);
	else if (context->base)
		version = context->base->glibc;
	if (!version && context->base && context->base->musl)
		return error_set(err, ERROR_USAGE,
				 "the base image has musl for a C library, and wheels are chosen "
				 "for glibc alone; take a base image with glibc");
	if (version) {
		rest = slice_str(version);
		if (slice_cut(&rest, '.', &part) && slice_is(part, "2") &&
		    slice_cut(&rest, '.', &part) && slice_u64(part, &minor) && minor < 100)
			out->glibc_minor = (unsigned)minor;
	}
	return find_python(context, request->stage, arena, out, err);
}

static void argument(struct pip_call *call, const char *text)
{
	vec_push(&call->args, text);
}

static void option(struct pip_call *call, const char *name, const char *value)
{
	argument(call, name);
	argument(call, value);
}

/*
 * pip takes a platform literally, so every tag from the image's glibc down has to be named. The
 * oldest that exists for x86_64 is 2.5 (manylinux1), for aarch64 2.17 (manylinux2014).
 */
static void platform_arguments(struct pip_call *call)
{
	const char *machine = call->target->machine;
	unsigned oldest = str_equal(machine, "x86_64") ? 5 : 17;

	for (unsigned minor = call->target->glibc_minor; minor >= oldest; minor--)
		option(call, "--platform",
		       arena_printf(&call->arena, "manylinux_2_%u_%s", minor, machine));
	if (call->target->glibc_minor >= 17)
		option(call, "--platform", arena_printf(&call->arena, "manylinux2014_%s", machine));
	option(call, "--platform", arena_printf(&call->arena, "linux_%s", machine));
}

/*
 * A source with an address or a folder is that and nothing else: without what pip's configuration
 * and environment would add, but for the certificates.
 */
static void source_arguments(struct pip_call *call)
{
	const struct stack_source *source = call->request->source;
	const char *cert = getenv("PIP_CERT") ? getenv("PIP_CERT") : getenv("SSL_CERT_FILE");

	if (source->url) {
		argument(call, "--isolated");
		option(call, "--index-url", source->url);
		if (cert && *cert)
			option(call, "--cert", cert);
	} else if (source->path) {
		argument(call, "--isolated");
		argument(call, "--no-index");
		option(call, "--find-links",
		       stack_path(call->context->stack, source->path, &call->arena));
	}
}

static void environment(struct pip_call *call)
{
	const struct stack_source *source = call->request->source;

	for (char **e = environ; *e; e++) {
		if (!str_starts(*e, "PIP_CONFIG_FILE=") || !(source->url || source->path))
			vec_push(&call->environment, *e);
	}
	if (source->url || source->path)
		vec_push(&call->environment, "PIP_CONFIG_FILE=/dev/null");
	vec_push(&call->environment, NULL);
}

/* Constraints for what is kept of the lock before; false when that is nothing. */
static bool keep_constraints(const struct pip_call *call, struct strbuf *out)
{
	const struct source_keep *keep = &call->context->keep;

	if (call->hashes || call->keep == KEEP_NOTHING)
		return false;
	for (size_t i = 0; keep->inputs && i < keep->inputs->inputs.len; i++) {
		const struct lock_input *in = &keep->inputs->inputs.items[i];

		if (source_keeps(keep, in, LOCK_WHEEL, call->request->stage->name) &&
		    str_equal(in->source, call->request->source->id) &&
		    (call->keep == KEEP_ALL || in->requested))
			strbuf_addf(out, "%s==%s\n", in->name, in->version);
	}
	if (out->len && call->moved_to)
		strbuf_addf(out, "%s==%s\n", keep->moves, call->moved_to);
	return out->len > 0;
}

static void build_arguments(struct pip_call *call)
{
	static const char *const fixed[] = {
		"python3",
		"-m",
		"pip",
		"install",
		"--dry-run",
		"--ignore-installed",
		"--no-input",
		"--disable-pip-version-check",
		"--progress-bar",
		"off",
		"--only-binary=:all:",
		"--implementation",
		"cp",
	};
	unsigned minor = call->target->python_minor;

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		argument(call, fixed[i]);
	option(call, "--python-version", call->target->python_full);
	option(call, "--abi", arena_printf(&call->arena, "cp3%u", minor));
	option(call, "--abi", "abi3");
	option(call, "--abi", "none");
	platform_arguments(call);
	/* pip wants a target beside --platform, even for a dry run */
	option(call, "--target", arena_printf(&call->arena, "%s/target", call->directory));
	option(call, "--report", call->report);
	source_arguments(call);
	call->fixed = call->args.len;
	if (call->constraints)
		option(call, "--constraint", call->constraints);
	if (call->hashes)
		argument(call, "--require-hashes");
	for (size_t i = 0; i < call->request->package_count; i++) {
		const struct stack_package *p = &call->request->packages[i];

		if (p->requirements)
			option(call, "-r",
			       stack_path(call->context->stack, p->requirements, &call->arena));
		else
			argument(call, p->spec);
	}
}

static int check_requirements(struct pip_call *call, const struct stack_package *p,
			      struct error *err)
{
	const char *path = stack_path(call->context->stack, p->requirements, &call->arena);
	struct error cause = { 0 };
	bool hashes;

	if (requirements_check(path, &hashes, &cause) < 0)
		return stack_error(call->context->stack, p->place, err, "requirements: %s",
				   cause.text);
	call->hashes |= hashes;
	return 0;
}

/* pip would take it for an option, a path or an address; or it is something else altogether. */
static bool is_requirement(const char *spec)
{
	static const char *const archives[] = { ".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2" };
	size_t n = strcspn(spec, " [<>=!~;(@");

	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)spec[i]) && !strchr("-_.", spec[i]))
			return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(archives); i++) {
		if (str_ends(spec, archives[i]))
			return false;
	}
	return isalnum((unsigned char)spec[0]) && !strpbrk(spec, "/\\@\n\r");
}

static int check_request(struct pip_call *call, struct error *err)
{
	const struct stack *stack = call->context->stack;
	const struct stack_source *source = call->request->source;

	if (source->path) {
		const char *path = stack_path(call->context->stack, source->path, &call->arena);
		struct stat st;

		if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
			return stack_error(stack, source->place, err,
					   "source %s: there is no folder '%s'", source->id, path);
	}
	for (size_t i = 0; i < call->request->package_count; i++) {
		const struct stack_package *p = &call->request->packages[i];

		if (p->requirements) {
			if (check_requirements(call, p, err) < 0)
				return -1;
		} else if (!is_requirement(p->spec)) {
			return stack_error(
				stack, p->place, err,
				"'%s' is not a Python requirement (NAME or NAME==VERSION)",
				p->spec);
		}
	}
	return 0;
}

void pip_without_credentials(struct strbuf *out, const char *text)
{
	const char *start;

	while ((start = strstr(text, "://"))) {
		size_t host = 3 + strcspn(start + 3, "/ \t\r\n'\"");
		const char *sign = memrchr(start, '@', host);

		strbuf_add(out, text, (size_t)(start + 3 - text));
		text = sign ? sign + 1 : start + 3;
	}
	strbuf_adds(out, text);
}

static void add_sentence(struct strbuf *out, struct slice text)
{
	strbuf_addf(out, "%s%.*s", out->len ? "; " : "", (int)text.len, (const char *)text.data);
}

/* Who wanted what, from "The conflict is caused by:" to the next empty line. */
static void conflict_lines(struct slice text, struct strbuf *out)
{
	struct slice line;
	bool inside = false;

	while (slice_cut(&text, '\n', &line)) {
		line = slice_trim(line);
		if (inside && !line.len)
			return;
		if (inside)
			add_sentence(out, line);
		inside |= slice_starts(line, "The conflict is caused by");
	}
}

/* What pip gave as errors, without "ERROR: " and what says nothing. */
static void error_lines(struct slice text, struct strbuf *out)
{
	struct slice line;

	while (slice_cut(&text, '\n', &line)) {
		line = slice_trim(line);
		if (slice_starts(line, "ERROR: ") &&
		    !slice_starts(line, "ERROR: ResolutionImpossible") &&
		    !memmem(line.data, line.len, "pip's dependency resolver", 25))
			add_sentence(out, slice_of(line.data + 7, line.len - 7));
	}
}

/* The last lines of what pip said, for when it broke. */
static void last_words(struct slice text, struct strbuf *out)
{
	struct slice last[3] = { 0 }, line;

	while (slice_cut(&text, '\n', &line)) {
		line = slice_trim(line);
		if (!line.len)
			continue;
		last[0] = last[1];
		last[1] = last[2];
		last[2] = line;
	}
	for (size_t i = 0; i < ARRAY_LEN(last); i++) {
		if (last[i].len)
			add_sentence(out, last[i]);
	}
}

/* pip's reason for people, at most `limit` bytes, without credentials; empty: it gave none. */
static void pip_message(const struct process_result *result, size_t limit, struct strbuf *out)
{
	cleanup_strbuf struct strbuf text = { 0 };

	conflict_lines(strbuf_slice(&result->out_stdout), &text);
	if (!text.len)
		error_lines(strbuf_slice(&result->out_stderr), &text);
	pip_without_credentials(out, strbuf_text(&text));
	if (out->len > limit)
		strbuf_truncate(out, limit);
}

static bool is_network(const char *text)
{
	static const char *const signs[] = {
		"ConnectionError",    "NewConnectionError",   "connection broken",
		"Connection refused", "Max retries exceeded", "ConnectTimeoutError",
		"ReadTimeoutError",   "ProxyError",           "SSLError"
	};

	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		if (strstr(text, signs[i]))
			return true;
	}
	return false;
}

/* "Could not fetch URL X: 403 …" in pip's long output; a 404 only says that there is no package. */
static bool refusal_line(struct slice text, struct slice *out)
{
	while (slice_cut(&text, '\n', out)) {
		*out = slice_trim(*out);
		if (slice_starts(*out, "Could not fetch URL ") &&
		    !memmem(out->data, out->len, ": 404 ", 6))
			return true;
	}
	return false;
}

/* The tags of wheels that pip passed over, each once, at most TAGS_SHOWN. */
static void offered_tags(struct slice text, const char *version, struct strbuf *out)
{
	static const char start[] = "none of the wheel's tags (";
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *part = xasprintf("-%s-", version);
	struct texts seen = { 0 };
	struct slice line;

	while (seen.len < TAGS_SHOWN && slice_cut(&text, '\n', &line)) {
		const uint8_t *at = memmem(line.data, line.len, start, sizeof(start) - 1), *end;
		const char *tags;
		bool known = false;

		if (!at || (*version && !memmem(line.data, line.len, part, strlen(part))))
			continue;
		at += sizeof(start) - 1;
		end = memchr(at, ')', line.len - (size_t)(at - line.data));
		tags = arena_slice(&arena,
				   slice_of(at, MIN(end ? (size_t)(end - at) : 0, (size_t)80)));
		for (size_t i = 0; i < seen.len; i++)
			known |= str_equal(seen.items[i], tags);
		if (known || !*tags)
			continue;
		vec_push(&seen, tags);
		strbuf_addf(out, "%s%s", out->len ? ", " : "", tags);
	}
	vec_release(&seen);
}

/* pip's long account of why nothing of that name fits. False when there is none. */
static bool ask_again(struct pip_call *call, const char *name, struct process_result *out)
{
	struct process p = { .env = call->environment.items, .output_limit = OUTPUT_BYTES_MAX };
	struct error ignored = { 0 };
	struct texts args = { 0 };
	int rc;

	for (size_t i = 0; i < call->fixed; i++)
		vec_push(&args, call->args.items[i]);
	vec_push(&args, "-vv");
	vec_push(&args, "--no-deps");
	vec_push(&args, name);
	vec_push(&args, NULL);
	p.argv = args.items;
	rc = process_run(&p, out, &ignored);
	vec_release(&args);
	return rc == 0;
}

/*
 * pip says "no matching distribution" for many reasons: asked again for that one with -vv, it
 * tells which. Gives ERROR_NETWORK, or appends the tags that are offered to *out.
 */
static int diagnose(struct pip_call *call, const char *message, struct strbuf *out,
		    struct error *err)
{
	static const char sign[] = "No matching distribution found for ";
	const char *found = strstr(message, sign), *name, *version = "";
	cleanup_process struct process_result result = { 0 };
	cleanup_strbuf struct strbuf shown = { 0 };
	struct slice line;

	found = found ? found + sizeof(sign) - 1 : "";
	name = arena_slice(&call->arena, slice_of(found, strcspn(found, " ;[<>=!~")));
	found += strlen(name);
	if (str_starts(found, "=="))
		version =
			arena_slice(&call->arena, slice_of(found + 2, strcspn(found + 2, " ;,*")));
	if (!*name || !is_requirement(name) || !ask_again(call, name, &result))
		return 0;
	if (refusal_line(strbuf_slice(&result.out_stdout), &line)) {
		cleanup_free char *text =
			xasprintf("%.*s", (int)MIN(line.len, (size_t)300), (const char *)line.data);

		pip_without_credentials(&shown, text);
		return error_set(err, ERROR_NETWORK, "source %s: pip got nothing of its index: %s",
				 call->request->source->id, strbuf_text(&shown));
	}
	if (*version || strstr(message, "from versions: none"))
		offered_tags(strbuf_slice(&result.out_stdout), version, out);
	return 0;
}

/* It ended without a reason as it gives them: that is no word about the wheels. */
static int broken(const struct pip_call *call, const struct process_result *result,
		  struct error *err)
{
	cleanup_strbuf struct strbuf words = { 0 }, shown = { 0 };

	last_words(strbuf_slice(&result->out_stderr), &words);
	pip_without_credentials(&shown, strbuf_text(&words));
	if (shown.len > 300)
		strbuf_truncate(&shown, 300);
	return error_set(err, ERROR_SYSTEM, "source %s: pip ended with status %d%s%s",
			 call->request->source->id, result->exit_status,
			 shown.len ? "; its last words: " : " and said nothing",
			 strbuf_text(&shown));
}

static int unsatisfiable(struct pip_call *call, const struct process_result *result,
			 struct error *err)
{
	cleanup_strbuf struct strbuf message = { 0 }, tags = { 0 };

	pip_message(result, 300, &message);
	if (diagnose(call, strbuf_text(&message), &tags, err) < 0)
		return -1;
	return error_set(err, ERROR_VERDICT,
			 "source %s: no set of wheels for Python 3.%u, %s, glibc 2.%u: %s%s%s%s%s",
			 call->request->source->id, call->target->python_minor,
			 call->target->machine, call->target->glibc_minor, strbuf_text(&message),
			 tags.len ? "; offered are only " : "", strbuf_text(&tags),
			 tags.len ? "; taken are " : "",
			 tags.len ? wheel_tags_taken(call->target, &call->arena) : "");
}

static int pip_failed(struct pip_call *call, const struct process_result *result, struct error *err)
{
	const char *text = strbuf_text(&result->out_stderr), *id = call->request->source->id;
	cleanup_strbuf struct strbuf message = { 0 };

	if (strstr(text, "No module named pip"))
		return error_set(
			err, ERROR_NOT_FOUND,
			"python3 has no pip, which resolves Python requirements at lock time; "
			"install it (Debian: python3-pip)");
	if (strstr(text, "no such option: --"))
		return error_set(
			err, ERROR_NOT_FOUND,
			"python3's pip cannot report what it would install; pip 22.2 or newer "
			"is needed");
	if (result->exit_status < 0)
		return error_set(err, ERROR_SYSTEM, "pip was ended by signal %d", result->signal);
	pip_message(result, 380, &message);
	if (!message.len && !is_network(text))
		return broken(call, result, err);
	if (!message.len)
		strbuf_adds(&message, "it gave no reason");
	if (strstr(text, "DO NOT MATCH THE HASHES"))
		return error_set(err, ERROR_INTEGRITY, "source %s: %s", id, strbuf_text(&message));
	if (is_network(text))
		return error_set(err, ERROR_NETWORK, "source %s: pip could not reach its index: %s",
				 id, strbuf_text(&message));
	return unsatisfiable(call, result, err);
}

/* Withdrawn wheels, which older pips tell on standard error only. */
static bool show_yanked(const struct out *out, struct slice text)
{
	static const char sign[] = "WARNING: The candidate selected for download or install is a "
				   "yanked version: ";
	struct slice line;
	bool any = false;

	while (slice_cut(&text, '\n', &line)) {
		cleanup_strbuf struct strbuf shown = { 0 };
		cleanup_free char *copy = NULL;

		if (!slice_starts(line, sign))
			continue;
		copy = xasprintf("%.*s", (int)(line.len - (sizeof(sign) - 1)),
				 (const char *)line.data + sizeof(sign) - 1);
		pip_without_credentials(&shown, copy);
		out_warn(out, "withdrawn (yanked) by its publisher: %s", strbuf_text(&shown));
		any = true;
	}
	return any;
}

static int run_pip(struct pip_call *call, bool *out_warned, struct error *err)
{
	cleanup_process struct process_result result = { 0 };
	struct process p = { .output_limit = OUTPUT_BYTES_MAX };

	build_arguments(call);
	argument(call, NULL);
	environment(call);
	p.argv = call->args.items;
	p.env = call->environment.items;
	if (process_run(&p, &result, err) < 0)
		return err->code == ERROR_NOT_FOUND
			       ? error_wrap(err, "Python requirements are resolved by pip")
			       : -1;
	if (result.exit_status != 0)
		return pip_failed(call, &result, err);
	*out_warned = show_yanked(call->context->out, strbuf_slice(&result.out_stderr));
	return 0;
}

static int make_directory(struct pip_call *call, struct error *err)
{
	const char *tmp = getenv("TMPDIR");

	call->directory = xasprintf("%s/gpuimg-pip-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(call->directory)) {
		error_set_errno(err, errno, "create a temporary directory %s", call->directory);
		free(steal_ptr(&call->directory));
		return -1;
	}
	call->report = arena_printf(&call->arena, "%s/report.json", call->directory);
	return 0;
}

static int read_report(const struct pip_call *call, json_t **out, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (fs_read(AT_FDCWD, call->report, REPORT_BYTES_MAX, &text, err) < 0 ||
	    json_parse(strbuf_slice(&text), out, err) < 0)
		return error_wrap(err, "pip's report");
	return 0;
}

static int write_constraints(struct pip_call *call, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	call->keeping = keep_constraints(call, &text);
	if (!call->hashes && call->request->locked)
		strbuf_adds(&text, call->request->locked);
	if (!call->hashes && call->request->settled && !call->unsettled)
		strbuf_adds(&text, call->request->settled);
	if (!text.len)
		return 0;
	call->constraints = arena_printf(&call->arena, "%s/constraints.txt", call->directory);
	return fs_write(AT_FDCWD, call->constraints, strbuf_slice(&text), 0600, err);
}

/* Once; 1 when there is no set that keeps so much. */
static int resolve_keeping(struct pip_call call, json_t **out_report, bool *out_warned,
			   struct error *err)
{
	struct error ignored = { 0 };
	int rc = check_request(&call, err);

	if (rc == 0)
		rc = make_directory(&call, err);
	if (rc == 0)
		rc = write_constraints(&call, err);
	if (rc == 0)
		rc = run_pip(&call, out_warned, err);
	if (rc == 0)
		rc = read_report(&call, out_report, err);
	if (call.directory)
		ignore_result(fs_remove_tree(AT_FDCWD, call.directory, &ignored));
	free(call.directory);
	vec_release(&call.args);
	vec_release(&call.environment);
	arena_release(&call.arena);
	return rc < 0 && call.keeping && err->code == ERROR_VERDICT ? 1 : rc;
}

/* The version that the report has for a package, in `arena`; or NULL. */
static const char *reported_version(const json_t *report, const char *name, struct arena *arena)
{
	const json_t *list = json_object_get(report, "install");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *metadata = json_object_get(json_array_get(list, i), "metadata");
		const char *found = json_string_value(json_object_get(metadata, "name"));
		const char *version = json_string_value(json_object_get(metadata, "version"));

		if (found && version && str_equal(wheel_normalize(slice_str(found), arena), name))
			return arena_strdup(arena, version);
	}
	return NULL;
}

/*
 * One package moves: as far as the others that the manifest names let it; then whatever else can
 * stay with it does.
 */
static int resolve_update(struct pip_call call, struct arena *arena, json_t **out_report,
			  bool *out_warned, struct error *err)
{
	const char *moves = call.context->keep.moves;
	cleanup_json json_t *first = NULL;
	struct error why = { 0 };
	int rc;

	call.keep = KEEP_NAMED;
	rc = resolve_keeping(call, &first, out_warned, &why);
	if (rc == 1) {
		out_note(call.context->out,
			 "'%s' does not fit the other packages as they are locked: "
			 "they move as well",
			 moves);
		call.keep = KEEP_NOTHING;
		return resolve_keeping(call, out_report, out_warned, err);
	}
	if (rc < 0) {
		*err = why;
		return -1;
	}
	call.keep = KEEP_ALL;
	call.moved_to = reported_version(first, moves, arena);
	rc = resolve_keeping(call, out_report, out_warned, &why);
	if (rc == 1) {
		*out_report = steal_ptr(&first);
		return 0;
	}
	if (rc < 0)
		*err = why;
	return rc;
}

/* "torch 2.14.0 (pip would take 2.15.0)" for each that pip would take otherwise, at most three. */
static size_t differences(const struct source_request *request, const json_t *report,
			  struct arena *arena, struct strbuf *out)
{
	struct slice rest = slice_str(request->settled), line;
	size_t count = 0;

	while (slice_cut(&rest, '\n', &line)) {
		const uint8_t *sign = line.len ? memmem(line.data, line.len, "==", 2) : NULL;
		const char *name, *version, *would;
		size_t n;

		if (!sign)
			continue;
		name = arena_slice(arena, slice_of(line.data, (size_t)(sign - line.data)));
		version = arena_slice(arena, slice_of(sign + 2,
						      line.len - (size_t)(sign + 2 - line.data)));
		would = reported_version(report, name, arena);
		n = strlen(version) - (str_ends(version, ".*") ? 1 : 0);
		if (!would || (strncmp(would, version, n) == 0 &&
			       (version[n] == '*' || !would[n] || would[n] == '+')))
			continue;
		if (count++ < 3)
			strbuf_addf(out, "%s%s %s (without that pip would take %s)",
				    out->len ? ", " : "", name, version, would);
	}
	return count;
}

/*
 * No set fits what the solver settled: is there one without? Then that is what has to be told, and
 * which versions those are. `err` has pip's reason.
 */
static int tell_settled(struct pip_call call, struct error *err)
{
	cleanup_json json_t *report = NULL;
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };
	bool warned;

	call.unsettled = true;
	call.keep = KEEP_NOTHING;
	if (!call.request->settled || !*call.request->settled ||
	    resolve_keeping(call, &report, &warned, &ignored) != 0 ||
	    !differences(call.request, report, &arena, &text))
		return -1;
	return error_set(err, ERROR_VERDICT,
			 "source %s has no set of wheels with what the solver settled: %s; ask for "
			 "other versions in the stack section, or name a source that has these",
			 call.request->source->id, strbuf_text(&text));
}

int pip_resolve(const struct source_context *context, const struct source_request *request,
		const struct wheel_target *target, json_t **out_report, bool *out_warned,
		struct error *err)
{
	struct pip_call call = { .context = context, .request = request, .target = target };
	cleanup_arena struct arena arena = { 0 };
	int rc = context->keep.inputs ? resolve_update(call, &arena, out_report, out_warned, err)
				      : resolve_keeping(call, out_report, out_warned, err);

	return rc < 0 && err->code == ERROR_VERDICT ? tell_settled(call, err) : rc;
}
