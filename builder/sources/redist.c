/*
 * The source of NVIDIA's redistrib manifests at lock time: which release's manifest is read, from
 * where, and what it has. A manifest is read once per lock and kept here.
 *
 * The source's `url` is the folder of a product that holds redistrib_LABEL.json, such as
 * "https://mirror.example/compute/cuda/redist/". Its `suite` is the label; without it, the label is
 * the newest known release of stack.cuda, and for a folder of cuDNN that of stack.cudnn.
 */
#include <fnmatch.h>

#include "base/nearest.h"
#include "builder/sources/redist_json.h"
#include "builder/sources/source_url.h"
#include "formats/json.h"
#include "manifests/dotted.h"
#include "manifests/embedded.h"
#include "manifests/tables.h"

enum { TRIES = 3, LABEL_LIMIT = 40 };
#define MANIFEST_LIMIT (16 * MIB)

/* One manifest. */
struct redist_catalog {
	struct arena arena;
	const char *source, *label;
	const char *file; /* "redistrib_13.0.2.json" */
	char *folder;     /* ends in "/"; may hold credentials; heap */
	struct redist_manifest manifest;
	struct digest digest;
};

static void catalog_free(struct redist_catalog *c)
{
	arena_release(&c->arena);
	free(c->folder);
	free(c);
}

void redist_catalogs_release(struct redist_catalogs *catalogs)
{
	for (size_t i = 0; i < catalogs->len; i++)
		catalog_free(catalogs->items[i]);
	vec_release(catalogs);
}

/* "https://mirror.example/compute/cudnn/redist/" → "cudnn" */
static struct slice product_of(const char *url)
{
	struct slice rest = slice_str(url), part, last = { 0 }, before = { 0 };

	while (slice_cut(&rest, '/', &part)) {
		if (!part.len)
			continue;
		before = last;
		last = part;
	}
	return slice_is(last, "redist") ? before : last;
}

/* A product whose labels are not those of CUDA. */
static bool is_other_product(const char *url)
{
	static const char *const others[] = { "cudnn",      "cudss",     "cusparselt",
					      "cutensor",   "nvcomp",    "nvidia-driver",
					      "nvshmem",    "tensorrt",  "cublasmp",
					      "cusolvermp", "cuquantum", "nvjpeg2000",
					      "nvtiff" };

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		if (slice_is(product_of(url), others[i]))
			return true;
	}
	return false;
}

/* "9.14.0.64" → "9.14.0" */
static const char *three_numbers(const char *version, struct arena *arena)
{
	size_t dots = 0, n = 0;

	for (; version[n]; n++) {
		if (version[n] == '.' && ++dots == 3)
			break;
	}
	return arena_slice(arena, slice_of(version, n));
}

/* The newest cuDNN that stack.cudnn allows and that was built for the CUDA major. */
static const char *cudnn_label(const struct source_context *context, const struct tables *t,
			       struct arena *arena)
{
	const char *range = context->stack->stack.cudnn;

	if (range && dotted_is(slice_str(range)) && strchr(range, '.') &&
	    strchr(strchr(range, '.') + 1, '.'))
		return three_numbers(range, arena);
	for (size_t i = t->libraries.cudnn_count; i-- > 0;) {
		const struct library_release *r = &t->libraries.cudnn[i];

		if (r->withdrawn || !dotted_in(r->version, range))
			continue;
		for (size_t k = 0; k < r->majors.count; k++) {
			if (r->majors.items[k] == dotted_number(context->cuda, 0))
				return three_numbers(r->version, arena);
		}
	}
	return NULL;
}

/* "13.0.2" as stack.cuda says it, else the newest release of the toolkit that was chosen. */
static const char *cuda_label(const struct source_context *context, const struct tables *t,
			      struct arena *arena)
{
	const char *asked = context->stack->stack.cuda;
	const struct toolkit *found;
	size_t i = 0;

	while (asked[i] == '=')
		i++;
	if (dotted_is(slice_str(asked + i)) && strchr(asked + i, '.') &&
	    strchr(strchr(asked + i, '.') + 1, '.'))
		return arena_strdup(arena, asked + i);
	for (size_t k = t->toolkits.count; k-- > 0;) {
		found = &t->toolkits.items[k];
		if (toolkit_released(found) && str_equal(found->minor, context->cuda) &&
		    dotted_in(found->version, asked))
			return arena_strdup(arena, found->version);
	}
	found = toolkit_find(&t->toolkits, context->cuda);
	return found ? arena_strdup(arena, found->version) : NULL;
}

static bool is_label(const char *label)
{
	return *label && strlen(label) <= LABEL_LIMIT &&
	       !label[strspn(label, "0123456789abcdefghijklmnopqrstuvwxyz._-")] && *label != '.';
}

/* Which manifest, and what our tables say of its digest (hexadecimal; NULL: nothing). */
static int find_label(const struct source_context *context, const struct stack_source *source,
		      struct redist_catalog *c, const char **out_pin, struct error *err)
{
	cleanup_tables struct tables t = { 0 };

	if (tables_load(NULL, &t, err) < 0)
		return -1;
	if (source->suite)
		c->label = arena_strdup(&c->arena, source->suite);
	else if (slice_is(product_of(source->url), "cudnn"))
		c->label = cudnn_label(context, &t, &c->arena);
	else if (!is_other_product(source->url))
		c->label = cuda_label(context, &t, &c->arena);
	if (!c->label || !is_label(c->label))
		return stack_error(context->stack, source->place, err,
				   "source '%s': %s; say which manifest with suite, as 13.0.2 for "
				   "redistrib_13.0.2.json",
				   source->id,
				   c->label ? "its suite is no label" : "its release is not known");
	for (size_t i = 0; i < t.toolkits.count && !is_other_product(source->url); i++) {
		if (str_equal(t.toolkits.items[i].version, c->label) &&
		    t.toolkits.items[i].redist_sha256)
			*out_pin = arena_strdup(&c->arena, t.toolkits.items[i].redist_sha256);
	}
	return 0;
}

/* Nobody on the way can have changed it: TLS, a file, this machine. */
static bool is_safe_way(const char *url)
{
	static const char *const starts[] = { "https://",          "file://",
					      "http://127.",       "http://localhost/",
					      "http://localhost:", "http://[::1]" };

	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		if (str_starts(url, starts[i]))
			return true;
	}
	return false;
}

static int check_pin(const struct source_context *context, const struct stack_source *source,
		     struct redist_catalog *c, const char *pin, struct error *err)
{
	char text[DIGEST_TEXT_MAX];
	struct digest wanted;

	if (!pin && !is_safe_way(c->folder))
		return error_set(err, ERROR_INTEGRITY,
				 "nothing proves it: it has no signature, no digest in our tables, "
				 "and came without TLS; use https");
	if (pin) {
		if (digest_parse_sha256_hex(slice_str(pin), &wanted, err) < 0)
			return error_wrap(err, "cuda-toolkits.json");
		if (!digest_equal(&wanted, &c->digest))
			return error_set(
				err, ERROR_INTEGRITY,
				"its SHA-256 is not %s, that of the manifest NVIDIA published",
				pin);
	}
	if (context->out)
		out_verbose(context->out, "source %s: %s (%s) carries no signature; %s", source->id,
			    c->file, digest_text(&c->digest, text),
			    pin ? "its digest is the one in the tables"
				: "its digest is locked as it came");
	return 0;
}

static int fetch(const struct source_context *context, struct redist_catalog *c,
		 struct strbuf *text, struct error *err)
{
	cleanup_free char *url = xasprintf("%s%s", c->folder, c->file);
	cleanup_sink struct sink *memory = sink_memory(text);
	cleanup_sink struct sink *limited = sink_limit(memory, MANIFEST_LIMIT);

	return http_download(context->http, url, NULL, TRIES, limited, err);
}

/* "2025-10-09" → "2025-10-09T00:00:00Z"; "" for anything else. */
static const char *rfc3339(const char *date, struct arena *arena)
{
	static const char shape[] = "dddd-dd-dd";

	if (strlen(date) != strlen(shape))
		return "";
	for (size_t i = 0; shape[i]; i++) {
		if (shape[i] == 'd' ? date[i] < '0' || date[i] > '9' : date[i] != shape[i])
			return "";
	}
	return arena_printf(arena, "%sT00:00:00Z", date);
}

static void record(const struct source_context *context, const struct redist_catalog *c)
{
	struct arena *arena = &context->lock->arena;
	struct lock_source s = { .id = arena_strdup(arena, c->source),
				 .type = "redist",
				 .suite = arena_strdup(arena, c->label),
				 .date = rfc3339(c->manifest.date, arena),
				 .digest = c->digest };

	for (size_t i = 0; i < context->lock->sources.len; i++) {
		const struct lock_source *had = &context->lock->sources.items[i];

		if (str_equal(had->id, s.id) && str_equal(had->suite, s.suite) &&
		    digest_equal(&had->digest, &s.digest))
			return;
	}
	vec_push(&context->lock->sources, s);
}

/* A folder whose name is a product's must have manifests of that product. */
static int check_product(const struct redist_catalog *c, const char *url, struct error *err)
{
	static const char *const named[] = { "cuda", "cudnn", "nvidia-driver" };
	const char *product = c->manifest.product;

	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		if (slice_is(product_of(url), named[i]) && *product &&
		    !str_equal(product, named[i]))
			return error_set(err, ERROR_INTEGRITY,
					 "%s is of the product '%.40s', and lies in the folder of "
					 "'%s'; see whether the address is right",
					 c->file, product, named[i]);
	}
	return 0;
}

static int read_catalog(const struct source_context *context, const struct stack_source *source,
			struct redist_catalog *c, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	const char *pin = NULL;

	c->source = arena_strdup(&c->arena, source->id);
	if (find_label(context, source, c, &pin, err) < 0)
		return -1;
	c->file = arena_printf(&c->arena, "redistrib_%s.json", c->label);
	if (fetch(context, c, &text, err) < 0)
		return error_wrap(err, "source %s", source->id);
	c->digest = digest_of(strbuf_slice(&text));
	if (check_pin(context, source, c, pin, err) < 0)
		return error_wrap(err, "source %s: %s", source->id, c->file);
	if (redist_json_parse(strbuf_slice(&text), c->file, &c->arena, &c->manifest, err) < 0 ||
	    check_product(c, source->url, err) < 0)
		return error_wrap(err, "source %s", source->id);
	record(context, c);
	return 0;
}

/*
 * The catalog of `source` for the platform of `context`. ERROR_USAGE when there is no label or the
 * stack names no CUDA, ERROR_NOT_FOUND, ERROR_NETWORK, ERROR_INTEGRITY (not the pinned manifest, or
 * nothing proves it: plain http and no pin), ERROR_FORMAT.
 */
static int get_catalog(const struct source_context *context, const struct stack_source *source,
		       const struct redist_catalog **out, struct error *err)
{
	cleanup_free char *url = NULL;
	struct redist_catalog *c;

	if (!context->cuda)
		return stack_error(
			context->stack, source->place, err,
			"source '%s' of type redist needs stack.cuda: it says the folder "
			"/usr/local/cuda-X.Y and the variant of the archives",
			source->id);
	url = source_url(context, source, err);
	if (!url)
		return -1;
	for (size_t i = 0; i < context->redist->len; i++) {
		c = context->redist->items[i];
		if (str_equal(c->source, source->id) && str_starts(c->folder, url) &&
		    strlen(c->folder) <= strlen(url) + 1) {
			*out = c;
			return 0;
		}
	}
	c = xcalloc(1, sizeof(*c));
	c->folder = xasprintf("%s%s", url, str_ends(url, "/") ? "" : "/");
	if (read_catalog(context, source, c, err) < 0) {
		catalog_free(c);
		return -1;
	}
	vec_push(context->redist, c);
	*out = c;
	return 0;
}

/* Why a component of a product never goes into an image, or NULL. In `arena`. */
static int find_refusal(const struct redist_manifest *m, const char *component, struct arena *arena,
			const char **out, struct error *err)
{
	cleanup_json json_t *table = NULL;
	json_t *refused;

	*out = NULL;
	if (json_parse_named(embedded_file("redist.json"), "redist.json", &table, err) < 0 ||
	    json_get_array(table, "", "refused", &refused, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(refused) && !*out; i++) {
		const json_t *row = json_array_get(refused, i);
		const char *pattern, *why, *except;

		if (json_get_str(row, "refused", "component", &pattern, err) < 0 ||
		    json_get_str(row, "refused", "why", &why, err) < 0 ||
		    json_get_str_opt(row, "refused", "except", &except, err) < 0)
			return -1;
		if (fnmatch(pattern, component, 0) == 0 &&
		    !(except && str_equal(except, m->product)))
			*out = arena_strdup(arena, why);
	}
	return 0;
}

static const char *platform_name(const struct platform *platform)
{
	if (str_equal(platform->os, "linux") && str_equal(platform->architecture, "amd64"))
		return "linux-x86_64";
	if (str_equal(platform->os, "linux") && str_equal(platform->architecture, "arm64"))
		return "linux-sbsa"; /* servers; linux-aarch64 are Jetson boards */
	return NULL;
}

/*
 * The archive of a component. Of the compatibility package any will do that the hosts of the floor
 * may use: its own CUDA first, then newer ones, of which this product has but one or two.
 */
static int choose(const struct source_context *context, const struct redist_component *c,
		  const char *platform, const struct redist_file **out, struct error *err)
{
	struct error ignored = { 0 };

	for (size_t i = 0; str_starts(c->key, "cuda_compat") && i < context->compat.count; i++) {
		cleanup_free char *variant = xasprintf("cuda%s", context->compat.items[i]);

		if (redist_json_choose(c, platform, context->compat.items[i], out, &ignored) == 0 &&
		    (!*(*out)->variant || str_equal((*out)->variant, variant)))
			return 0;
	}
	return redist_json_choose(c, platform, context->cuda, out, err);
}

int redist_serves(const struct source_context *context, const struct stack_source *source,
		  const char *component, const char *range, bool *out, struct error *err)
{
	const struct redist_catalog *catalog;
	const struct redist_component *c;
	const struct redist_file *file;
	cleanup_arena struct arena arena = { 0 };
	const char *platform = platform_name(&context->platform), *refusal;
	struct error ignored = { 0 };

	*out = false;
	if (get_catalog(context, source, &catalog, err) < 0 ||
	    find_refusal(&catalog->manifest, component, &arena, &refusal, err) < 0)
		return -1;
	c = redist_json_find(&catalog->manifest, component);
	*out = c && platform && !refusal && dotted_in(c->version, range) &&
	       choose(context, c, platform, &file, &ignored) == 0;
	return 0;
}

/* One component that is asked for. */
struct wanted {
	const struct source_context *context;
	const struct source_request *request;
	const struct redist_catalog *catalog;
	const struct stack_package *package;
	const char *key, *range; /* range: NULL when any version will do */
};

/* "libcublas=12.6.*" → "libcublas", "12.6.*" */
static int read_spec(struct wanted *w, struct error *err)
{
	struct arena *arena = &w->context->lock->arena;
	const char *spec = w->package->spec;
	size_t n = spec ? strcspn(spec, "=<>!~ ") : 0;

	if (!n)
		return stack_error(
			w->context->stack, w->package->place, err,
			"a redist source takes names of components, such as cuda_cudart or "
			"libcublas=12.6.*");
	w->key = arena_slice(arena, slice_of(spec, n));
	spec += n + strspn(spec + n, " ");
	if (!*spec)
		return 0;
	if (spec[0] == '=' && spec[1] != '=')
		spec++;
	w->range = arena_strdup(arena, spec);
	if (dotted_range_check(w->range, err) < 0) {
		cleanup_free char *why = xstrdup(err->text);

		return stack_error(w->context->stack, w->package->place, err, "%s: %s", w->key,
				   why);
	}
	return 0;
}

static int unknown(const struct wanted *w, struct error *err)
{
	struct nearest near = nearest_start(w->key);

	for (size_t i = 0; i < w->catalog->manifest.count; i++)
		nearest_try(&near, w->catalog->manifest.items[i].key);
	return stack_error(w->context->stack, w->package->place, err,
			   "source '%s': %s has no component '%s'%s%s%s", w->catalog->source,
			   w->catalog->file, w->key, near.best ? "; did you mean '" : "",
			   near.best ? near.best : "", near.best ? "'?" : "");
}

/* The same component once: two sources may both have it. */
static int add_input(const struct wanted *w, const struct lock_input *in, struct error *err)
{
	struct lock_platform *inputs = w->context->inputs;

	for (size_t i = 0; i < inputs->inputs.len; i++) {
		struct lock_input *had = &inputs->inputs.items[i];

		if (had->kind != LOCK_REDIST || !str_equal(had->name, in->name) ||
		    !str_equal(had->stage, in->stage))
			continue;
		if (!digest_equal(&had->digest, &in->digest))
			return error_set(
				err, ERROR_VERDICT,
				"%s is asked for twice: %s of source %s and %s of source %s",
				in->name, had->version, had->source, in->version, in->source);
		had->requested |= in->requested;
		return 0;
	}
	vec_push(&inputs->inputs, *in);
	return 0;
}

static int take(const struct wanted *w, const struct redist_component *c, struct error *err)
{
	struct arena *arena = &w->context->lock->arena;
	const char *platform = platform_name(&w->context->platform);
	cleanup_free char *folder = http_url_display(w->catalog->folder);
	const struct redist_file *file;
	struct lock_input in = { .kind = LOCK_REDIST, .toolkit = true };

	if (!platform)
		return error_set(err, ERROR_NOT_FOUND,
				 "%s: redistrib manifests have no archives for %s/%s",
				 w->catalog->file, w->context->platform.os,
				 w->context->platform.architecture);
	if (choose(w->context, c, platform, &file, err) < 0)
		return error_wrap(err, "source %s: %s", w->catalog->source, w->catalog->file);
	in.stage = arena_strdup(arena, w->request->stage->name);
	in.source = arena_strdup(arena, w->catalog->source);
	in.name = arena_strdup(arena, c->key);
	in.version = arena_strdup(arena, c->version);
	in.arch = arena_strdup(arena, file->platform);
	in.license = arena_strdup(arena, c->license);
	in.url = arena_printf(arena, "%s%s", folder, file->path);
	in.digest = file->digest;
	in.size = file->size;
	in.requested = !w->request->toolkit;
	return add_input(w, &in, err);
}

static int resolve_one(struct wanted *w, struct error *err)
{
	struct arena *arena = &w->context->lock->arena;
	const struct redist_component *c;
	const char *refusal;

	if (read_spec(w, err) < 0)
		return -1;
	c = redist_json_find(&w->catalog->manifest, w->key);
	if (!c)
		return unknown(w, err);
	if (find_refusal(&w->catalog->manifest, w->key, arena, &refusal, err) < 0)
		return -1;
	if (refusal)
		return stack_error(w->context->stack, w->package->place, err,
				   "source '%s': %s does not go into an image: %s",
				   w->catalog->source, w->key, refusal);
	if (!dotted_in(c->version, w->range))
		return error_set(err, ERROR_VERDICT,
				 "source %s: %s has %s %s, and %s is asked for; another release is "
				 "chosen with the source's suite",
				 w->catalog->source, w->catalog->file, c->key, c->version,
				 w->range);
	return take(w, c, err);
}

/* What is kept of an earlier lock needs no care: the label alone decides on the versions. */
int redist_resolve(const struct source_context *context, const struct source_request *request,
		   struct error *err)
{
	struct wanted w = { .context = context, .request = request };

	if (get_catalog(context, request->source, &w.catalog, err) < 0)
		return -1;
	for (size_t i = 0; i < request->package_count; i++) {
		w.package = &request->packages[i];
		w.range = NULL;
		if (resolve_one(&w, err) < 0)
			return -1;
	}
	return 0;
}
