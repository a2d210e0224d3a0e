#include "manifests/lockfile.h"

#include "base/fs.h"
#include "formats/json.h"

enum { FILE_LIMIT = 64 << 20, QUOTE_LIMIT = 60 };

static const char schema[] = "gpuimg-lock/1";
static const char again[] = "make the lock anew with gpuimg lock";

static const char *const kind_names[] = {
	[LOCK_DEB] = "deb",       [LOCK_WHEEL] = "wheel", [LOCK_TREE] = "tree",
	[LOCK_REDIST] = "redist", [LOCK_RPM] = "rpm",     [LOCK_IMAGE] = "image",
};

/* What the parts of a lock may hold, sorted as they are written. */
static const char *const top_members[] = { "assembly",  "coder",  "keys",    "manifest",
					   "platforms", "schema", "sources", "stack" };
static const char *const stack_members[] = {
	"cuda", "cuda_release", "cudnn", "driver", "frameworks", "nccl", "python", "require_cuda"
};
static const char *const source_members[] = { "date", "digest", "id", "suite", "type" };
static const char *const platform_members[] = { "inputs" };
static const char *const input_members[] = { "arch",    "digest", "host_for",  "kind",
					     "license", "name",   "requested", "size",
					     "source",  "stage",  "toolkit",   "url",
					     "version" };

/* ---- reading ---- */

static int only_members(const json_t *object, const char *where, const char *const *known,
			size_t count, struct error *err)
{
	for (void *i = json_object_iter((json_t *)object); i;
	     i = json_object_iter_next((json_t *)object, i)) {
		cleanup_strbuf struct strbuf quoted = { 0 };
		const char *key = json_object_iter_key(i);
		bool found = false;

		for (size_t k = 0; k < count; k++)
			found |= str_equal(key, known[k]);
		if (found)
			continue;
		strbuf_add_quoted(&quoted, slice_str(key), QUOTE_LIMIT);
		return error_set(err, ERROR_USAGE,
				 "%s%sunknown member %s, perhaps of a later version; %s", where,
				 *where ? ": " : "", strbuf_text(&quoted), again);
	}
	return 0;
}

static int check_text(const char *text, const char *where, const char *key, bool required,
		      struct error *err)
{
	if (required && !*text)
		return error_set(err, ERROR_FORMAT, "%s%s%s: is empty", where, *where ? "." : "",
				 key);
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return error_set(err, ERROR_FORMAT, "%s%s%s: holds a control character",
					 where, *where ? "." : "", key);
	}
	return 0;
}

/* A text into the arena; absent and not required: "". */
static int get_text(struct lockfile *lock, const json_t *object, const char *where, const char *key,
		    bool required, const char **out, struct error *err)
{
	const char *text;
	int rc = required ? json_get_str(object, where, key, &text, err)
			  : json_get_str_opt(object, where, key, &text, err);

	if (rc < 0 || (text && check_text(text, where, key, required, err) < 0))
		return -1;
	*out = text ? arena_strdup(&lock->arena, text) : "";
	return 0;
}

static int get_digest(const json_t *object, const char *where, const char *key, struct digest *out,
		      struct error *err)
{
	const char *text;

	if (json_get_str(object, where, key, &text, err) < 0)
		return -1;
	if (digest_parse(slice_str(text), out, err) < 0)
		return error_wrap(err, "%s%s%s", where, *where ? "." : "", key);
	if (out->algorithm != DIGEST_SHA256)
		return error_set(err, ERROR_FORMAT, "%s%s%s: is not a SHA-256 digest", where,
				 *where ? "." : "", key);
	return 0;
}

static int get_flag(const json_t *object, const char *where, const char *key, bool *out,
		    struct error *err)
{
	const json_t *value = json_object_get(object, key);

	if (value && !json_is_boolean(value))
		return error_set(err, ERROR_FORMAT, "%s.%s: is not true or false", where, key);
	*out = json_is_true(value);
	return 0;
}

/* The name of an image on disk, which may be relative to the lock. */
static bool is_local_image(const char *url)
{
	return str_starts(url, "oci:") || str_starts(url, "oci-archive:") ||
	       str_starts(url, "docker-archive:");
}

/* An address with a scheme, and without the name and password of anybody. */
static int check_url(const char *url, const char *where, struct error *err)
{
	const char *host = strstr(url, "://");

	if (!host || host == url)
		return error_set(err, ERROR_FORMAT, "%s.url: is not an address with a scheme",
				 where);
	for (const char *c = url; *c; c++) {
		if (*c == ' ' || (unsigned char)*c >= 0x7f)
			return error_set(err, ERROR_FORMAT,
					 "%s.url: holds blanks or characters beyond ASCII", where);
	}
	host += 3; /* of an image's name, what follows the "/" may hold a digest after an "@" */
	if (memchr(host, '@', strcspn(host, "/?#")))
		return error_set(err, ERROR_FORMAT,
				 "%s.url: holds credentials, which do not belong in a lock; %s",
				 where, again);
	return 0;
}

static int get_kind(const json_t *object, const char *where, enum lock_kind *out, struct error *err)
{
	cleanup_strbuf struct strbuf quoted = { 0 };
	const char *text;

	if (json_get_str(object, where, "kind", &text, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(kind_names); i++) {
		if (str_equal(text, kind_names[i])) {
			*out = (enum lock_kind)i;
			return 0;
		}
	}
	strbuf_add_quoted(&quoted, slice_str(text), QUOTE_LIMIT);
	return error_set(err, ERROR_USAGE,
			 "%s.kind: %s is not deb, wheel, rpm, tree, redist or image; %s", where,
			 strbuf_text(&quoted), again);
}

static int parse_input(struct lockfile *lock, const json_t *object, const char *where,
		       struct lock_input *out, struct error *err)
{
	bool is_package, is_image;

	if (!json_is_object(object))
		return error_set(err, ERROR_FORMAT, "%s: is not an object", where);
	if (only_members(object, where, input_members, ARRAY_LEN(input_members), err) < 0 ||
	    get_kind(object, where, &out->kind, err) < 0)
		return -1;
	is_package = out->kind != LOCK_TREE;
	is_image = out->kind == LOCK_IMAGE;
	if (get_text(lock, object, where, "stage", true, &out->stage, err) < 0 ||
	    get_text(lock, object, where, "source", true, &out->source, err) < 0 ||
	    get_text(lock, object, where, "name", true, &out->name, err) < 0 ||
	    get_text(lock, object, where, "version", is_package && !is_image, &out->version, err) <
		    0 ||
	    get_text(lock, object, where, "arch", false, &out->arch, err) < 0 ||
	    get_text(lock, object, where, "url", is_package, &out->url, err) < 0 ||
	    get_text(lock, object, where, "license", false, &out->license, err) < 0 ||
	    get_text(lock, object, where, "host_for", false, &out->host_for, err) < 0 ||
	    get_digest(object, where, "digest", &out->digest, err) < 0 ||
	    json_get_u64(object, where, "size", &out->size, err) < 0 ||
	    get_flag(object, where, "requested", &out->requested, err) < 0 ||
	    get_flag(object, where, "toolkit", &out->toolkit, err) < 0)
		return -1;
	if (*out->host_for && out->kind != LOCK_DEB && out->kind != LOCK_RPM)
		return error_set(
			err, ERROR_FORMAT,
			"%s.host_for: only a package of Debian's or Red Hat's kind is left "
			"to the host",
			where);
	if (is_image && is_local_image(out->url))
		return 0;
	if (is_package)
		return check_url(out->url, where, err);
	if (*out->version || *out->url)
		return error_set(err, ERROR_FORMAT, "%s: a tree has neither version nor url",
				 where);
	return 0;
}

static int parse_platform(struct lockfile *lock, const char *name, const json_t *object,
			  struct error *err)
{
	cleanup_free char *where = xasprintf("platforms.%.60s", name);
	struct lock_platform *platform;
	json_t *inputs;

	if (check_text(name, "platforms", "name", true, err) < 0 ||
	    json_get_array(object, where, "inputs", &inputs, err) < 0 ||
	    only_members(object, where, platform_members, ARRAY_LEN(platform_members), err) < 0)
		return -1;
	platform = lockfile_platform(lock, name);
	for (size_t i = 0; i < json_array_size(inputs); i++) {
		cleanup_free char *at = xasprintf("%s.inputs[%zu]", where, i);

		if (parse_input(lock, json_array_get(inputs, i), at, vec_add(&platform->inputs),
				err) < 0)
			return -1;
	}
	return 0;
}

static int parse_platforms(struct lockfile *lock, const json_t *top, struct error *err)
{
	json_t *platforms;

	if (json_get_object(top, "", "platforms", &platforms, err) < 0)
		return -1;
	for (void *i = json_object_iter(platforms); i; i = json_object_iter_next(platforms, i)) {
		if (parse_platform(lock, json_object_iter_key(i), json_object_iter_value(i), err) <
		    0)
			return -1;
	}
	return 0;
}

static int parse_source(struct lockfile *lock, const json_t *object, const char *where,
			struct lock_source *out, struct error *err)
{
	if (!json_is_object(object))
		return error_set(err, ERROR_FORMAT, "%s: is not an object", where);
	if (only_members(object, where, source_members, ARRAY_LEN(source_members), err) < 0 ||
	    get_text(lock, object, where, "id", true, &out->id, err) < 0 ||
	    get_text(lock, object, where, "type", true, &out->type, err) < 0 ||
	    get_text(lock, object, where, "suite", false, &out->suite, err) < 0 ||
	    get_text(lock, object, where, "date", false, &out->date, err) < 0)
		return -1;
	if (!json_object_get(object, "digest"))
		return 0;
	return get_digest(object, where, "digest", &out->digest, err);
}

static int parse_sources(struct lockfile *lock, const json_t *top, struct error *err)
{
	json_t *sources;

	if (json_get_array(top, "", "sources", &sources, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(sources); i++) {
		cleanup_free char *where = xasprintf("sources[%zu]", i);

		if (parse_source(lock, json_array_get(sources, i), where, vec_add(&lock->sources),
				 err) < 0)
			return -1;
	}
	return 0;
}

/* {"torch": "2.7.1"} */
static int parse_frameworks(struct lockfile *lock, const json_t *stack, struct error *err)
{
	struct lock_stack *s = &lock->stack;
	json_t *object;

	if (json_get_object_opt(stack, "stack", "frameworks", &object, err) < 0)
		return -1;
	s->frameworks =
		arena_array(&lock->arena, json_object_size(object) + 1, sizeof(*s->frameworks));
	for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
		const char *key = json_object_iter_key(i);
		struct lock_framework *f = &s->frameworks[s->framework_count];

		if (check_text(key, "stack.frameworks", "name", true, err) < 0 ||
		    get_text(lock, object, "stack.frameworks", key, true, &f->version, err) < 0)
			return -1;
		f->key = arena_strdup(&lock->arena, key);
		s->framework_count++;
	}
	return 0;
}

static int parse_stack(struct lockfile *lock, const json_t *top, struct error *err)
{
	struct lock_stack *s = &lock->stack;
	json_t *object;

	if (json_get_object(top, "", "stack", &object, err) < 0 ||
	    only_members(object, "stack", stack_members, ARRAY_LEN(stack_members), err) < 0 ||
	    get_text(lock, object, "stack", "driver", false, &s->driver, err) < 0 ||
	    get_text(lock, object, "stack", "cuda", false, &s->cuda, err) < 0 ||
	    get_text(lock, object, "stack", "cuda_release", false, &s->cuda_release, err) < 0 ||
	    get_text(lock, object, "stack", "cudnn", false, &s->cudnn, err) < 0 ||
	    get_text(lock, object, "stack", "nccl", false, &s->nccl, err) < 0 ||
	    get_text(lock, object, "stack", "python", false, &s->python, err) < 0 ||
	    get_text(lock, object, "stack", "require_cuda", false, &s->require_cuda, err) < 0)
		return -1;
	return parse_frameworks(lock, object, err);
}

static int parse_keys(struct lockfile *lock, const json_t *top, struct error *err)
{
	json_t *keys;

	if (json_get_object_opt(top, "", "keys", &keys, err) < 0)
		return -1;
	for (void *i = json_object_iter(keys); i; i = json_object_iter_next(keys, i)) {
		const char *path = json_object_iter_key(i);
		struct lock_key *key = vec_add(&lock->keys);

		if (check_text(path, "keys", "path", true, err) < 0 ||
		    get_digest(keys, "keys", path, &key->digest, err) < 0)
			return -1;
		key->path = arena_strdup(&lock->arena, path);
	}
	return 0;
}

static int check_schema(const json_t *top, struct error *err)
{
	cleanup_strbuf struct strbuf quoted = { 0 };
	const char *found = json_string_value(json_object_get(top, "schema"));

	if (!found)
		return error_set(err, ERROR_USAGE, "not a lock: it has no schema \"%s\"", schema);
	if (str_equal(found, schema))
		return 0;
	strbuf_add_quoted(&quoted, slice_str(found), QUOTE_LIMIT);
	return error_set(err, ERROR_USAGE, "its schema is %s and this program reads '%s'; %s",
			 strbuf_text(&quoted), schema, again);
}

static int parse_top(struct lockfile *lock, const json_t *top, struct error *err)
{
	const char *coder;
	uint64_t assembly;

	if (check_schema(top, err) < 0 ||
	    only_members(top, "", top_members, ARRAY_LEN(top_members), err) < 0 ||
	    json_get_u64(top, "", "assembly", &assembly, err) < 0 ||
	    json_get_str_opt(top, "", "coder", &coder, err) < 0 ||
	    get_digest(top, "", "manifest", &lock->manifest, err) < 0)
		return -1;
	lock->coder = arena_strdup(&lock->arena, coder ? coder : "");
	if (assembly > INT_MAX)
		return error_set(err, ERROR_FORMAT, "assembly: %" PRIu64 " is no version",
				 assembly);
	lock->assembly = (unsigned)assembly;
	if (parse_keys(lock, top, err) < 0 || parse_stack(lock, top, err) < 0 ||
	    parse_sources(lock, top, err) < 0 || parse_platforms(lock, top, err) < 0)
		return -1;
	return 0;
}

int lockfile_parse(struct slice text, const char *file, struct lockfile *out, struct error *err)
{
	struct lockfile lock = { 0 };
	cleanup_json json_t *top = NULL;

	if (json_parse_named(text, file, &top, err) < 0)
		return -1;
	if (parse_top(&lock, top, err) < 0) {
		lockfile_release(&lock);
		return error_wrap(err, "%s", file);
	}
	*out = lock;
	return 0;
}

int lockfile_read(const char *file, struct lockfile *out, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (fs_read(AT_FDCWD, file, FILE_LIMIT, &text, err) < 0)
		return -1;
	return lockfile_parse(strbuf_slice(&text), file, out, err);
}

/* ---- writing ---- */

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static void put_text(json_t *object, const char *key, const char *text)
{
	if (text && *text)
		json_put(object, key, json_text(text));
}

static void put_digest(json_t *object, const char *key, const struct digest *digest)
{
	char text[DIGEST_TEXT_MAX];

	json_put(object, key, json_text(digest_text(digest, text)));
}

static json_t *input_json(const struct lock_input *in)
{
	json_t *object = json_object();

	put_text(object, "kind", kind_names[in->kind]);
	put_text(object, "stage", in->stage);
	put_text(object, "source", in->source);
	put_text(object, "name", in->name);
	put_text(object, "version", in->version);
	put_text(object, "arch", in->arch);
	put_text(object, "url", in->url);
	put_text(object, "license", in->license);
	put_text(object, "host_for", in->host_for);
	put_digest(object, "digest", &in->digest);
	/* An index may claim more than any file has; such an input never passes its check. */
	json_put(object, "size", json_integer((json_int_t)MIN(in->size, (uint64_t)INT64_MAX)));
	if (in->requested)
		json_put(object, "requested", json_true());
	if (in->toolkit)
		json_put(object, "toolkit", json_true());
	return object;
}

static json_t *platforms_json(const struct lockfile *lock)
{
	json_t *platforms = json_object();

	for (size_t i = 0; i < lock->platforms.len; i++) {
		const struct lock_platform *p = &lock->platforms.items[i];
		json_t *object = json_object(), *inputs = json_array();

		for (size_t k = 0; k < p->inputs.len; k++)
			json_push(inputs, input_json(&p->inputs.items[k]));
		json_put(object, "inputs", inputs);
		json_put(platforms, p->platform, object);
	}
	return platforms;
}

static int compare_sources(const void *a, const void *b)
{
	const struct lock_source *x = a, *y = b;
	int order = strcmp(or_empty(x->id), or_empty(y->id));

	if (!order)
		order = strcmp(or_empty(x->suite), or_empty(y->suite));
	if (!order)
		order = strcmp(or_empty(x->type), or_empty(y->type));
	if (!order)
		order = strcmp(or_empty(x->date), or_empty(y->date));
	return order ? order : memcmp(x->digest.bytes, y->digest.bytes, 32);
}

static json_t *sources_json(struct lockfile *lock)
{
	static const struct digest none = { 0 };
	json_t *sources = json_array();

	vec_sort(&lock->sources, compare_sources);
	for (size_t i = 0; i < lock->sources.len; i++) {
		const struct lock_source *s = &lock->sources.items[i];
		json_t *object = json_object();

		put_text(object, "id", s->id);
		put_text(object, "type", s->type);
		put_text(object, "suite", s->suite);
		put_text(object, "date", s->date);
		if (!digest_equal(&s->digest, &none))
			put_digest(object, "digest", &s->digest);
		json_push(sources, object);
	}
	return sources;
}

static json_t *keys_json(const struct lockfile *lock)
{
	json_t *keys = json_object();

	for (size_t i = 0; i < lock->keys.len; i++)
		put_digest(keys, lock->keys.items[i].path, &lock->keys.items[i].digest);
	return keys;
}

static json_t *stack_json(const struct lock_stack *s)
{
	json_t *object = json_object(), *frameworks = json_object();

	put_text(object, "driver", s->driver);
	put_text(object, "cuda", s->cuda);
	put_text(object, "cuda_release", s->cuda_release);
	put_text(object, "cudnn", s->cudnn);
	put_text(object, "nccl", s->nccl);
	put_text(object, "python", s->python);
	put_text(object, "require_cuda", s->require_cuda);
	for (size_t i = 0; i < s->framework_count; i++)
		put_text(frameworks, s->frameworks[i].key, s->frameworks[i].version);
	if (json_object_size(frameworks))
		json_put(object, "frameworks", frameworks);
	else
		json_decref(frameworks);
	return object;
}

void lockfile_write(struct lockfile *lock, struct strbuf *out)
{
	cleanup_json json_t *top = json_object();

	json_put(top, "schema", json_text(schema));
	json_put(top, "assembly", json_integer(lock->assembly));
	if (lock->coder && *lock->coder)
		json_put(top, "coder", json_text(lock->coder));
	put_digest(top, "manifest", &lock->manifest);
	if (lock->keys.len)
		json_put(top, "keys", keys_json(lock));
	json_put(top, "stack", stack_json(&lock->stack));
	json_put(top, "sources", sources_json(lock));
	json_put(top, "platforms", platforms_json(lock));
	json_pretty(top, out);
}

void lockfile_release(struct lockfile *lock)
{
	if (!lock)
		return;
	for (size_t i = 0; i < lock->platforms.len; i++)
		vec_release(&lock->platforms.items[i].inputs);
	vec_release(&lock->platforms);
	vec_release(&lock->keys);
	vec_release(&lock->sources);
	arena_release(&lock->arena);
	*lock = (struct lockfile){ 0 };
}

char *lockfile_path(const char *manifest_file, const char *variant)
{
	static const char *const endings[] = { ".yaml", ".yml", ".json" };
	size_t len = strlen(manifest_file);

	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		size_t cut = strlen(endings[i]);

		/* ".yaml" alone is a name, not an ending. */
		if (str_ends(manifest_file, endings[i]) && len > cut &&
		    manifest_file[len - cut - 1] != '/') {
			len -= cut;
			break;
		}
	}
	return xasprintf("%.*s%s%s.lock.json", (int)len, manifest_file, *variant ? "." : "",
			 variant);
}

struct lock_platform *lockfile_platform(struct lockfile *lock, const char *platform)
{
	struct lock_platform *made;

	for (size_t i = 0; i < lock->platforms.len; i++) {
		if (str_equal(lock->platforms.items[i].platform, platform))
			return &lock->platforms.items[i];
	}
	made = vec_add(&lock->platforms);
	made->platform = arena_strdup(&lock->arena, platform);
	return made;
}
