/*
 * Python requirements: pip resolves them at lock time, for the image's platform and Python, and
 * reports what it would install; we take addresses and digests, and check what it says. What a
 * pylock.toml holds is taken as it stands, and pip is only asked for the rest.
 * Source: pip documentation, "Installation report" version 1.
 */
#include "builder/sources/package_source.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/fs.h"
#include "builder/index_credentials.h"
#include "formats/marker.h"
#include "builder/sources/pylock.h"
#include "builder/sources/wheel_check.h"
#include "formats/wheel_meta.h"
#include "builder/sources/wheels_pip.h"

enum { WHEELS_MAX = 10000, LOCK_BYTES_MAX = 16 * 1024 * 1024 };

struct resolving {
	const struct source_context *context;
	const struct source_request *request;
	struct arena arena;
	struct wheel_target target;
	struct pylock pylock; /* what the request's lock files bring */
	struct index_credentials credentials;
	bool yanked_shown;
};

/* "#sha256=…" is not part of the address. */
static const char *clean_url(const char *url, struct arena *arena)
{
	cleanup_strbuf struct strbuf b = { 0 };
	cleanup_free char *whole = xasprintf("%.*s", (int)strcspn(url, "#"), url);

	pip_without_credentials(&b, whole);
	return arena_strdup(arena, strbuf_text(&b));
}

/* Bytes of the wheel at `url`, by HEAD, or by bringing it into the store when that says nothing. */
static int find_size(const struct resolving *r, const char *url, const struct digest *digest,
		     uint64_t *out, struct error *err)
{
	const struct source_context *context = r->context;
	cleanup_authorization char *authorization = index_credentials_for(&r->credentials, url);
	cleanup_arena struct arena arena = { 0 };
	const char *plain = clean_url(url, &arena);
	cleanup_response struct http_response response = { 0 };
	const struct http_request head = { .method = "HEAD",
					   .url = plain,
					   .authorization = authorization };
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
	    http_download(context->http, plain, authorization, 3, put.sink, err) < 0)
		return -1;
	return store_put_commit(&put, digest, UINT64_MAX, &got, out, err);
}

/* The last part of an address, without a query. */
static const char *file_of(const char *url, struct arena *arena)
{
	size_t len = strcspn(url, "?");
	const char *slash = memrchr(url, '/', len), *name = slash ? slash + 1 : url;

	return arena_slice(arena, slice_of(name, len - (size_t)(name - url)));
}

/* Named in the manifest or in a requirements file. Old pips do not say; then the names decide. */
static bool is_requested(const struct resolving *r, const json_t *item, const char *name)
{
	if (json_is_true(json_object_get(item, "requested")))
		return true;
	for (size_t i = 0; i < r->request->package_count; i++) {
		const char *spec = r->request->packages[i].spec;
		struct arena arena = { 0 };
		bool same =
			spec &&
			str_equal(name, wheel_normalize(slice_of(spec, strcspn(spec, " [<>=!~;(@")),
							&arena));

		arena_release(&arena);
		if (same)
			return true;
	}
	return false;
}

static bool plain_name(const char *name)
{
	for (const char *c = name; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
			return false;
	}
	return *name && strlen(name) < 200;
}

static bool plain_version(const char *version)
{
	for (const char *c = version; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr("-_.+!", *c))
			return false;
	}
	return *version && strlen(version) < 100;
}

/* What the report says of one wheel. */
struct reported {
	const char *name, *version, *url, *file, *sha256;
};

/* "hashes": {"sha256": …}, or of pip before 23.1 for local files "hash": "sha256=…" alone. */
static int read_sha256(const json_t *archive, const char *where, const char **out,
		       struct error *err)
{
	json_t *hashes;
	const char *one;

	if (json_get_object_opt(archive, where, "hashes", &hashes, err) < 0 ||
	    json_get_str_opt(archive, where, "hash", &one, err) < 0)
		return -1;
	if (hashes || !one || !str_starts(one, "sha256="))
		return hashes ? json_get_str(hashes, where, "sha256", out, err)
			      : error_set(err, ERROR_FORMAT, "%s.hashes: is missing", where);
	*out = one + strlen("sha256=");
	return 0;
}

static int read_item(struct resolving *r, const json_t *item, const char *where,
		     struct reported *out, struct error *err)
{
	json_t *download, *archive, *metadata;

	if (json_get_object(item, where, "download_info", &download, err) < 0 ||
	    json_get_str(download, where, "url", &out->url, err) < 0 ||
	    json_get_object(item, where, "metadata", &metadata, err) < 0 ||
	    json_get_str(metadata, where, "name", &out->name, err) < 0 ||
	    json_get_str(metadata, where, "version", &out->version, err) < 0)
		return -1;
	if (!plain_name(out->name) || !plain_version(out->version))
		return error_set(err, ERROR_FORMAT, "%s: '%.60s' '%.60s' is no name and version",
				 where, out->name, out->version);
	if (json_get_object(download, where, "archive_info", &archive, err) < 0 ||
	    read_sha256(archive, where, &out->sha256, err) < 0)
		return error_wrap(err, "%s: the index gives no SHA-256 for it", out->name);
	out->file = file_of(clean_url(out->url, &r->arena), &r->arena);
	return 0;
}

/* The file is a wheel of that distribution, and one that the image can use. */
static int check_file(struct resolving *r, const struct reported *item, struct error *err)
{
	struct wheel_name file;

	if (wheel_name_parse(item->file, &r->arena, &file, err) < 0)
		return -1;
	if (!str_equal(wheel_normalize(slice_str(file.distribution), &r->arena),
		       wheel_normalize(slice_str(item->name), &r->arena)))
		return error_set(err, ERROR_FORMAT, "the file is %s, another distribution",
				 item->file);
	if (!wheel_fits(&file, &r->target))
		return error_set(
			err, ERROR_VERDICT,
			"its wheel is for %s-%s-%s, which Python 3.%u on %s with glibc 2.%u "
			"does not take",
			file.python, file.abi, file.platform, r->target.python_minor,
			r->target.machine, r->target.glibc_minor);
	return 0;
}

/* The base image has that very version; of another one the user should know. */
static bool is_in_base(const struct resolving *r, const struct lock_input *input)
{
	const char *there = base_image_distribution(r->context->base, input->name);

	if (!there)
		return false;
	if (str_equal(there, input->version)) {
		out_verbose(r->context->out, "%s %s is in the base image", input->name, there);
		return true;
	}
	out_warn(r->context->out,
		 "%s: the base image has %s, and %s goes over it; ask for the base's version to "
		 "keep that",
		 input->name, there, input->version);
	return false;
}

static int take_item(struct resolving *r, const json_t *item, const char *where, struct error *err)
{
	struct arena *arena = &r->context->lock->arena;
	struct lock_input input = { .kind = LOCK_WHEEL, .arch = "" };
	struct reported what = { 0 };

	if (read_item(r, item, where, &what, err) < 0)
		return -1;
	input.name = wheel_normalize(slice_str(what.name), arena);
	input.version = arena_strdup(arena, what.version);
	input.url = clean_url(what.url, arena);
	input.stage = arena_strdup(arena, r->request->stage->name);
	input.source = arena_strdup(arena, r->request->source->id);
	input.toolkit = r->request->toolkit;
	input.requested = is_requested(r, item, input.name);
	if (check_file(r, &what, err) < 0 ||
	    digest_parse_sha256_hex(slice_str(what.sha256), &input.digest, err) < 0 ||
	    find_size(r, what.url, &input.digest, &input.size, err) < 0)
		return error_wrap(err, "%s %s", what.name, what.version);
	if (json_is_true(json_object_get(item, "is_yanked")) && !r->yanked_shown)
		out_warn(r->context->out, "%s %s was withdrawn (yanked) by its publisher",
			 what.name, what.version);
	if (!is_in_base(r, &input))
		vec_push(&r->context->inputs->inputs, input);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct lock_input *)a)->name, ((const struct lock_input *)b)->name);
}

static int take_report(struct resolving *r, const json_t *report, struct error *err)
{
	struct lock_platform *inputs = r->context->inputs;
	size_t first = inputs->inputs.len, count;
	json_t *install;

	if (json_get_array(report, "", "install", &install, err) < 0)
		return error_wrap(err, "pip's report");
	count = json_array_size(install);
	if (count > WHEELS_MAX)
		return error_set(err, ERROR_LIMIT, "pip's report has %zu wheels; the limit is %d",
				 count, WHEELS_MAX);
	for (size_t i = 0; i < count; i++) {
		cleanup_free char *where = xasprintf("install[%zu]", i);

		if (take_item(r, json_array_get(install, i), where, err) < 0)
			return -1;
	}
	if (inputs->inputs.len > first)
		qsort(inputs->inputs.items + first, inputs->inputs.len - first,
		      sizeof(*inputs->inputs.items), by_name);
	return 0;
}

/* The address of a wheel that lies at a path relative to its lock file. */
static int path_url(const struct pylock_wheel *wheel, const char *lock, struct arena *arena,
		    const char **out, struct error *err)
{
	const char *slash = strrchr(lock, '/');
	cleanup_free char *path =
		wheel->path[0] == '/' || !slash
			? xstrdup(wheel->path)
			: xasprintf("%.*s/%s", (int)(slash - lock), lock, wheel->path);
	cleanup_free char *full = realpath(path, NULL);
	cleanup_strbuf struct strbuf url = { 0 };

	if (!full)
		return error_set(err, ERROR_NOT_FOUND, "%s:%zu:%zu: there is no file '%s'", lock,
				 wheel->line, wheel->column, path);
	strbuf_adds(&url, "file://");
	for (const char *c = full; *c; c++) {
		if (isalnum((unsigned char)*c) || strchr("/-_.~+", *c))
			strbuf_addc(&url, *c);
		else
			strbuf_addf(&url, "%%%02X", (unsigned)(unsigned char)*c);
	}
	*out = arena_strdup(arena, strbuf_text(&url));
	return 0;
}

/* One wheel of a lock file becomes an input; of its addresses the local one when the file is there.
 */
static int take_locked(struct resolving *r, const struct pylock_wheel *wheel, const char *lock,
		       struct error *err)
{
	struct arena *arena = &r->context->lock->arena;
	struct lock_input input = { .kind = LOCK_WHEEL, .arch = "" };
	struct error ignored = { 0 };
	const char *url = wheel->url;

	if (wheel->path && path_url(wheel, lock, &r->arena, &url, url ? &ignored : err) < 0 &&
	    !wheel->url)
		return -1;
	input.name = arena_strdup(arena, wheel->name);
	input.version = arena_strdup(arena, wheel->version);
	input.stage = arena_strdup(arena, r->request->stage->name);
	input.source = arena_strdup(arena, r->request->source->id);
	input.requested = true;
	input.toolkit = r->request->toolkit;
	input.digest = wheel->digest;
	input.size = wheel->size;
	input.url = clean_url(url, arena);
	if (!input.size && find_size(r, url, &input.digest, &input.size, err) < 0)
		return error_wrap(err, "%s:%zu:%zu: %s", lock, wheel->line, wheel->column,
				  wheel->name);
	vec_push(&r->context->inputs->inputs, input);
	return 0;
}

static int read_pylock(struct resolving *r, const struct stack_package *p, struct error *err)
{
	const char *path = stack_path(r->context->stack, p->requirements, &r->arena);
	cleanup_strbuf struct strbuf text = { 0 };
	struct error cause = { 0 };
	size_t first = r->pylock.len;

	if (fs_read(AT_FDCWD, path, LOCK_BYTES_MAX, &text, &cause) < 0)
		return stack_error(r->context->stack, p->place, err, "requirements: %s",
				   cause.text);
	if (pylock_parse(strbuf_slice(&text), path, &r->target, r->context->out, &r->arena,
			 &r->pylock, err) < 0)
		return -1;
	for (size_t i = first; i < r->pylock.len; i++) {
		if (take_locked(r, &r->pylock.items[i], path, err) < 0)
			return -1;
	}
	return 0;
}

/* What follows the name and the extras of a specifier, up to its marker. */
static struct slice range_of(const char *spec)
{
	const char *start = spec + strcspn(spec, " [<>=!~;(@");
	const char *bracket = strchr(spec, ']');

	if (bracket)
		start = bracket + 1;
	return slice_trim(slice_of(start, strcspn(start, ";")));
}

/* Whether a lock file brings what a specifier asks for. ERROR_USAGE: another version of it. */
static int is_locked(const struct resolving *r, const struct stack_package *p, bool *out,
		     struct error *err)
{
	struct error ignored = { 0 };
	struct arena arena = { 0 };
	struct requirement wanted;
	int rc = 0;

	*out = false;
	if (requirement_parse(slice_str(p->spec), &arena, &wanted, &ignored) < 0) {
		arena_release(&arena);
		return 0; /* pip will say what is wrong with it */
	}
	for (size_t i = 0; i < r->pylock.len && !*out; i++) {
		const struct pylock_wheel *w = &r->pylock.items[i];
		bool valid;

		if (!str_equal(w->name, wanted.name))
			continue;
		*out = true;
		if (!marker_version_in(slice_str(w->version), range_of(p->spec), &valid) && valid)
			rc = stack_error(r->context->stack, p->place, err,
					 "'%.100s' is asked for, and the lock file that is asked "
					 "for as well has %s %s",
					 p->spec, w->name, w->version);
	}
	arena_release(&arena);
	return rc;
}

/* The request without what lock files bring, and with their versions as settled. */
static int without_locked(struct resolving *r, struct source_request *out, struct error *err)
{
	struct stack_package *rest =
		arena_array(&r->arena, r->request->package_count + 1, sizeof(*rest));
	cleanup_strbuf struct strbuf settled = { 0 };

	*out = *r->request;
	out->package_count = 0;
	out->packages = rest;
	for (size_t i = 0; i < r->request->package_count; i++) {
		const struct stack_package *p = &r->request->packages[i];
		bool locked = p->requirements && pylock_is_name(p->requirements);

		if (locked && read_pylock(r, p, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < r->request->package_count; i++) {
		const struct stack_package *p = &r->request->packages[i];
		bool locked = p->requirements && pylock_is_name(p->requirements);

		if (!p->requirements && is_locked(r, p, &locked, err) < 0)
			return -1;
		if (!locked)
			rest[out->package_count++] = *p;
	}
	for (size_t i = 0; i < r->pylock.len; i++)
		strbuf_addf(&settled, "%s==%s\n", r->pylock.items[i].name,
			    r->pylock.items[i].version);
	if (r->pylock.len)
		out->locked = arena_strdup(&r->arena, strbuf_text(&settled));
	return 0;
}

static int ask_pip(struct resolving *r, const struct source_request *request, struct error *err)
{
	cleanup_json json_t *report = NULL;

	if (pip_resolve(r->context, request, &r->target, &report, &r->yanked_shown, err) < 0 ||
	    take_report(r, report, err) < 0)
		return -1;
	return wheel_check_closure(report, &r->target, r->context->out, err);
}

static int resolve_one(const struct source_context *context, const struct source_request *request,
		       struct error *err)
{
	struct resolving r = { .context = context, .request = request };
	struct source_request rest;
	int rc = wheel_target_of(context, request, &r.arena, &r.target, err);

	index_credentials_load(&r.credentials);
	index_credentials_add(&r.credentials, request->source->url);
	if (rc == 0)
		rc = without_locked(&r, &rest, err);
	if (rc == 0 && rest.package_count)
		rc = ask_pip(&r, &rest, err);
	index_credentials_release(&r.credentials);
	vec_release(&r.pylock);
	arena_release(&r.arena);
	return rc;
}

/*
 * One distribution of a name in one place: requests of several sources were resolved each by
 * itself. The same file twice is one input.
 */
static int check_unique(const struct source_context *context, size_t first, struct error *err)
{
	struct lock_platform *inputs = context->inputs;

	for (size_t i = first; i < inputs->inputs.len; i++) {
		struct lock_input *a = &inputs->inputs.items[i];

		for (size_t k = i + 1; k < inputs->inputs.len;) {
			const struct lock_input *b = &inputs->inputs.items[k];

			if (!str_equal(a->name, b->name) || a->toolkit != b->toolkit) {
				k++;
				continue;
			}
			if (!digest_equal(&a->digest, &b->digest))
				return error_set(err, ERROR_VERDICT,
						 "%s is asked for twice: %s of source %s and %s of "
						 "source %s; a Python finds only one",
						 a->name, a->version, a->source, b->version,
						 b->source);
			a->requested |= b->requested;
			memmove(&inputs->inputs.items[k], &inputs->inputs.items[k + 1],
				(inputs->inputs.len - k - 1) * sizeof(*b));
			inputs->inputs.len--;
		}
	}
	return 0;
}

int wheels_resolve(const struct source_context *context, const struct source_request *requests,
		   size_t count, struct error *err)
{
	size_t first = context->inputs->inputs.len;

	for (size_t i = 0; i < count; i++) {
		if (requests[i].package_count && resolve_one(context, &requests[i], err) < 0)
			return -1;
	}
	return check_unique(context, first, err);
}
