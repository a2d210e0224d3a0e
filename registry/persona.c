#include "registry/persona.h"

#include <fnmatch.h>
#include <pthread.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "formats/json.h"

enum {
	FACTS_VERSION = 1,
	FACTS_BYTES_MAX = 64 * 1024,
	FACTS_AGE_MAX_S = 30 * 24 * 3600,
	CUT_AGE_MAX_S = 24 * 3600
};

#define CUT_CHUNK_MOST (32 * MIB)
#define CHUNK_USUAL (64 * MIB)

/*
 * Sources: measurements on docker-registry 2.8; for the services their documentation (GitHub
 * Packages, Amazon ECR quotas, Azure Container Registry limits), the source of Quay and Zot, and
 * reports of other clients' users (google/go-containerregistry, regclient, containers/image,
 * docker/buildx, jib, goharbor/harbor). They drift: what a host does itself is learned.
 */
const struct persona personas[] = {
	{ .name = "distribution", /* the default, for its 2.8 is the most fragile */
	  .hosts = "registry.gitlab.com",
	  .style = UPLOAD_STREAM,
	  .single_max = 4 * MIB,
	  .chunk = CHUNK_USUAL,
	  .mount = true },
	{ .name = "distribution-3",
	  .hosts = "",
	  .style = UPLOAD_CHUNK,
	  .single_max = 4 * MIB,
	  .chunk = CHUNK_USUAL,
	  .mount = true },
	{ .name = "nvcr",
	  .hosts = "nvcr.io",
	  .style = UPLOAD_STREAM,
	  .single_max = 4 * MIB,
	  .chunk = CHUNK_USUAL,
	  .mount = true },
	{ .name = "harbor",
	  .hosts = "",
	  .style = UPLOAD_STREAM,
	  .single_max = 4 * MIB,
	  .chunk = CHUNK_USUAL,
	  .mount = true },
	{ .name = "quay",
	  .hosts = "quay.io",
	  .style = UPLOAD_CHUNK,
	  .single_max = 0,
	  .chunk = CHUNK_USUAL,
	  .layer_max = 20 * GIB,
	  .status_range = RANGE_COUNT,
	  .mount = true },
	{ .name = "ecr",
	  .hosts = "*.dkr.ecr.*.amazonaws.com *.dkr.ecr.*.amazonaws.com.cn "
		   "*.dkr.ecr-fips.*.amazonaws.com *.dkr-ecr.*.on.aws",
	  .style = UPLOAD_CHUNK,
	  .single_max = CHUNK_USUAL,
	  .chunk = CHUNK_USUAL,
	  .chunk_min = 5 * MIB,
	  .layer_max = 52000 * MIB,
	  .last_in_put = true,
	  .mount = true },
	{ .name = "ecr-public",
	  .hosts = "public.ecr.aws",
	  .style = UPLOAD_CHUNK,
	  .single_max = CHUNK_USUAL,
	  .chunk = CHUNK_USUAL,
	  .chunk_min = 5 * MIB,
	  .layer_max = 10000 * MIB,
	  .last_in_put = true },
	{ .name = "google",
	  .hosts = "*.pkg.dev gcr.io *.gcr.io",
	  .style = UPLOAD_STREAM,
	  .single_max = 4 * MIB,
	  .mount = true },
	{ .name = "azure",
	  .hosts = "*.azurecr.io *.azurecr.cn *.azurecr.us",
	  .style = UPLOAD_STREAM,
	  .single_max = 4 * MIB,
	  .chunk = CHUNK_USUAL,
	  .layer_max = 200 * GIB },
	{ .name = "github",
	  .hosts = "ghcr.io",
	  .style = UPLOAD_STREAM,
	  .single_max = 4 * MIB,
	  .chunk = 4 * MIB,
	  .chunk_max = 4 * MIB,
	  .layer_max = 10 * GIB },
	{ .name = "dockerhub",
	  .hosts = "docker.io registry-1.docker.io index.docker.io",
	  .style = UPLOAD_STREAM,
	  .single_max = 4 * MIB,
	  .chunk = CHUNK_USUAL,
	  .mount = true },
	{ .name = "artifactory",
	  .hosts = "*.jfrog.io",
	  .style = UPLOAD_STREAM,
	  .single_max = 0,
	  .chunk = CHUNK_USUAL },
	{ .name = "zot",
	  .hosts = "",
	  .style = UPLOAD_STREAM,
	  .single_max = 4 * MIB,
	  .chunk = CHUNK_USUAL,
	  .mount = true },
};
const size_t persona_count = ARRAY_LEN(personas);

const struct persona *persona_named(const char *name)
{
	for (size_t i = 0; i < persona_count; i++)
		if (str_equal(personas[i].name, name))
			return &personas[i];
	return NULL;
}

static bool matches(const char *patterns, const char *host)
{
	struct slice rest = slice_str(patterns), one;

	while (slice_cut(&rest, ' ', &one)) {
		cleanup_free char *pattern = xstrndup((const char *)one.data, one.len);

		if (*pattern && fnmatch(pattern, host, FNM_CASEFOLD) == 0)
			return true;
	}
	return false;
}

const struct persona *persona_for(const char *host, const char *service)
{
	cleanup_free char *name = xstrndup(host, strcspn(host, ":"));

	for (size_t i = 0; i < persona_count; i++)
		if (matches(personas[i].hosts, name))
			return &personas[i];
	if (service && str_equal(service, "harbor-registry"))
		return persona_named("harbor");
	return &personas[0];
}

/* Rules. */

/* The size of parts; 0 when the limits leave no room for any. */
static uint64_t part_size(const struct persona *p, const struct host_facts *f, uint64_t said_min)
{
	uint64_t least = MAX(p->chunk_min, said_min), size = MAX(p->chunk, least);

	if (p->chunk_max)
		size = MIN(size, p->chunk_max);
	if (f->cut_bytes)
		size = MIN(size, MAX(MIN(f->cut_bytes / 2, CUT_CHUNK_MOST), CUT_PART_LEAST));
	size = MAX(size, (uint64_t)BODY_LEAST);
	if (f->body_max)
		size = MIN(size, f->body_max);
	return size < least ? 0 : size;
}

struct upload_rules upload_rules(const struct persona *p, const struct host_facts *f, uint64_t size,
				 uint64_t chunk_min)
{
	struct upload_rules rules = { .style = p->style, .chunk = UINT64_MAX };
	bool parts = p->chunk && !f->no_chunk;
	bool fits = !f->body_max || size <= f->body_max;

	if (size <= p->single_max && !f->no_single && fits && size <= (uint64_t)CHUNK_USUAL) {
		rules.style = UPLOAD_SINGLE;
		return rules;
	}
	if (rules.style == UPLOAD_CHUNK && !parts)
		rules.style = UPLOAD_STREAM;
	if (rules.style == UPLOAD_STREAM && parts &&
	    (!fits || f->cut_bytes || f->resume == ANSWER_YES))
		rules.style = UPLOAD_CHUNK;
	rules.fresh = f->cut_bytes != 0;
	if (rules.style != UPLOAD_CHUNK) {
		rules.impossible = !fits;
		return rules;
	}
	rules.chunk = part_size(p, f, chunk_min);
	rules.impossible = rules.chunk == 0;
	return rules;
}

/* Records. */

static uint64_t number(const json_t *root, const char *key)
{
	struct error ignored = { 0 };
	uint64_t value;

	return json_get_u64(root, "", key, &value, &ignored) < 0 ? 0 : value;
}

static bool truth(const json_t *root, const char *key)
{
	return json_is_true(json_object_get(root, key));
}

bool host_facts_parse(struct slice text, uint64_t now_s, struct host_facts *out)
{
	cleanup_json json_t *root = NULL;
	struct error ignored = { 0 };
	const char *name;
	uint64_t learned;

	*out = (struct host_facts){ 0 };
	if (json_parse(text, &root, &ignored) < 0 || !json_is_object(root) ||
	    number(root, "version") != FACTS_VERSION)
		return false;
	learned = number(root, "learned");
	if (learned > now_s || now_s - learned > FACTS_AGE_MAX_S)
		return false;
	if (json_object_get(root, "resume"))
		out->resume = truth(root, "resume") ? ANSWER_YES : ANSWER_NO;
	out->body_max = number(root, "body_max");
	if (now_s - learned < CUT_AGE_MAX_S) /* that was the line, not the registry */
		out->cut_bytes = number(root, "cut_bytes");
	out->no_single = truth(root, "no_single");
	out->no_chunk = truth(root, "no_chunk");
	out->no_mount = truth(root, "no_mount");
	if (json_object_get(root, "referrers"))
		out->referrers = truth(root, "referrers") ? ANSWER_YES : ANSWER_NO;
	name = json_string_value(json_object_get(root, "persona"));
	out->persona = name ? persona_named(name) : NULL;
	return true;
}

void host_facts_print(const struct host_facts *f, uint64_t now_s, struct strbuf *out)
{
	cleanup_json json_t *root = json_object();

	json_put(root, "version", json_integer(FACTS_VERSION));
	json_put(root, "learned", json_integer((json_int_t)now_s));
	if (f->resume)
		json_put(root, "resume", json_boolean(f->resume == ANSWER_YES));
	if (f->body_max)
		json_put(root, "body_max", json_integer((json_int_t)f->body_max));
	if (f->cut_bytes)
		json_put(root, "cut_bytes", json_integer((json_int_t)f->cut_bytes));
	if (f->no_single)
		json_put(root, "no_single", json_true());
	if (f->no_chunk)
		json_put(root, "no_chunk", json_true());
	if (f->no_mount)
		json_put(root, "no_mount", json_true());
	if (f->referrers)
		json_put(root, "referrers", json_boolean(f->referrers == ANSWER_YES));
	if (f->persona)
		json_put(root, "persona", json_text(f->persona->name));
	json_pretty(root, out);
}

/* Hosts. */

struct upload_host {
	char *path; /* of the record; NULL: nothing is remembered */
	const struct persona *persona;
	pthread_mutex_t lock; /* of what follows */
	struct host_facts facts;
	bool changed;
	bool lacks_journal; /* was told */
};

char *upload_state_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && *state == '/')
		return fs_join(state, "gpuimg");
	return home && *home == '/' ? fs_join(home, ".local/state/gpuimg") : NULL;
}

/* "<state>/hosts/<host>.json", whatever the host is written with. */
static char *record_path(const char *state_dir, const char *host)
{
	cleanup_free char *name = xasprintf("hosts/%s.json", host);

	for (char *c = name + strlen("hosts/"); *c; c++)
		if (*c == '/' || *c == '[' || *c == ']')
			*c = '_';
	return fs_join(state_dir, name);
}

static uint64_t now_s(void)
{
	return (uint64_t)time(NULL);
}

struct upload_host *upload_host_open(const char *state_dir, const char *host, const char *service,
				     const struct persona *persona)
{
	struct upload_host *h = xcalloc(1, sizeof(*h));
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };

	pthread_mutex_init(&h->lock, NULL);
	h->persona = persona ? persona : persona_for(host, service);
	h->path = state_dir ? record_path(state_dir, host) : NULL;
	if (h->path && fs_read(AT_FDCWD, h->path, FACTS_BYTES_MAX, &text, &ignored) == 0)
		ignore_result(host_facts_parse(strbuf_slice(&text), now_s(), &h->facts));
	if (!persona && h->facts.persona)
		h->persona = h->facts.persona;
	return h;
}

/* A host's record is of use only, and nobody waits for it: what goes wrong is not told. */
static void save(const struct upload_host *h)
{
	cleanup_free char *dir = xstrndup(h->path, (size_t)(strrchr(h->path, '/') - h->path));
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };

	host_facts_print(&h->facts, now_s(), &text);
	if (fs_mkdirs(AT_FDCWD, dir, &ignored) == 0)
		ignore_result(fs_write(AT_FDCWD, h->path, strbuf_slice(&text), 0600, &ignored));
}

void upload_host_close(struct upload_host *h)
{
	if (!h)
		return;
	if (h->changed && h->path)
		save(h);
	pthread_mutex_destroy(&h->lock);
	free(h->path);
	free(h);
}

const struct persona *upload_host_persona(const struct upload_host *h)
{
	return h->persona;
}

struct host_facts upload_host_facts(struct upload_host *h)
{
	struct host_facts facts;

	pthread_mutex_lock(&h->lock);
	facts = h->facts;
	pthread_mutex_unlock(&h->lock);
	return facts;
}

struct upload_rules upload_host_rules(struct upload_host *h, uint64_t size, uint64_t chunk_min)
{
	struct host_facts facts = upload_host_facts(h);

	return upload_rules(h->persona, &facts, size, chunk_min);
}

/* Lessons. */

static void lower(struct upload_host *h, uint64_t *field, uint64_t bytes)
{
	pthread_mutex_lock(&h->lock);
	if (!*field || bytes < *field) {
		*field = bytes;
		h->changed = true;
	}
	pthread_mutex_unlock(&h->lock);
}

static void raise_flag(struct upload_host *h, bool *flag)
{
	pthread_mutex_lock(&h->lock);
	h->changed = h->changed || !*flag;
	*flag = true;
	pthread_mutex_unlock(&h->lock);
}

bool upload_host_lacks_journal(struct upload_host *h)
{
	bool first;

	pthread_mutex_lock(&h->lock);
	first = !h->lacks_journal;
	h->lacks_journal = true;
	pthread_mutex_unlock(&h->lock);
	return first;
}

void upload_host_resumes(struct upload_host *h, bool yes)
{
	enum answer answer = yes ? ANSWER_YES : ANSWER_NO;

	pthread_mutex_lock(&h->lock);
	h->changed = h->changed || h->facts.resume != answer;
	h->facts.resume = answer;
	pthread_mutex_unlock(&h->lock);
}

void upload_host_body_max(struct upload_host *h, uint64_t bytes)
{
	lower(h, &h->facts.body_max, MAX(bytes, UINT64_C(1)));
}

void upload_host_cut_at(struct upload_host *h, uint64_t bytes)
{
	lower(h, &h->facts.cut_bytes, MAX(bytes, UINT64_C(1)));
}

void upload_host_refuses(struct upload_host *h, enum upload_style style)
{
	raise_flag(h, style == UPLOAD_SINGLE ? &h->facts.no_single : &h->facts.no_chunk);
}

void upload_host_measured(struct upload_host *h, const struct host_facts *facts)
{
	pthread_mutex_lock(&h->lock);
	h->facts = *facts;
	h->changed = true;
	pthread_mutex_unlock(&h->lock);
}
