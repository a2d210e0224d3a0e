#include "builder/fetch.h"

#include <pthread.h>

#include "base/map.h"
#include "base/pool.h"
#include "base/vec.h"
#include "builder/index_credentials.h"
#include "builder/sources/apt_config.h"

enum { WORKERS = 4, TRIES = 4, RESTARTS = 3 };

struct wanted {
	const struct lock_input *input;
	const char *platform;
};

struct fetch {
	const struct fetch_request *request;
	pthread_mutex_t lock; /* guards all below */
	struct {
		struct wanted *items; /* distinct files */
		size_t len, cap;
	} inputs;
	struct index_credentials credentials; /* read-only while workers run */
	struct apt_config apt;                /* the same, for auth.conf */
	size_t next;
	struct fetch_result result;
	size_t done;
	uint64_t done_bytes;
	bool stopped;
	struct error error; /* the first */
};

struct worker {
	struct pool_job job;
	struct fetch *fetch;
	struct image image; /* the base image opened last, of this name and platform */
	char *image_name;
	const char *image_platform;
};

static void collect(struct fetch *f)
{
	const struct lockfile *lock = f->request->lock;
	cleanup_map struct map seen = { 0 };

	for (size_t p = 0; p < lock->platforms.len; p++) {
		for (size_t i = 0; i < lock->platforms.items[p].inputs.len; i++) {
			const struct lock_input *in = &lock->platforms.items[p].inputs.items[i];
			char hex[DIGEST_HEX_MAX];

			if (in->kind == LOCK_TREE ||
			    map_put(&seen, digest_hex(&in->digest, hex), f))
				continue;
			vec_push(&f->inputs,
				 ((struct wanted){ in, lock->platforms.items[p].platform }));
			f->result.inputs++;
			f->result.bytes += in->size;
		}
	}
}

/* The next input to bring, or NULL when there is none or another worker met an error. */
static const struct wanted *take(struct fetch *f)
{
	const struct wanted *in = NULL;

	pthread_mutex_lock(&f->lock);
	if (!f->stopped && f->next < f->inputs.len)
		in = &f->inputs.items[f->next++];
	pthread_mutex_unlock(&f->lock);
	return in;
}

static void report(struct fetch *f, const struct lock_input *in, bool present)
{
	pthread_mutex_lock(&f->lock);
	f->done++;
	f->done_bytes += in->size;
	if (!present) {
		f->result.fetched++;
		f->result.fetched_bytes += in->size;
	}
	if (f->request->report)
		f->request->report(f->request->report_user,
				   &(struct fetch_event){ .input = in,
							  .done = f->done,
							  .total = f->inputs.len,
							  .done_bytes = f->done_bytes,
							  .total_bytes = f->result.bytes,
							  .present = present });
	pthread_mutex_unlock(&f->lock);
}

/* What this machine would show to whom it asks for such a file; NULL: nothing. */
static char *authorization_for(const struct fetch *f, const struct lock_input *in)
{
	if (in->kind == LOCK_DEB)
		return apt_config_authorization(&f->apt, in->url);
	return in->kind == LOCK_WHEEL ? index_credentials_for(&f->credentials, in->url) : NULL;
}

static bool has_kind(const struct fetch *f, enum lock_kind kind)
{
	for (size_t i = 0; i < f->inputs.len; i++) {
		if (f->inputs.items[i].input->kind == kind)
			return true;
	}
	return false;
}

/* A configuration that cannot be read is apt's business; it gives no credentials. */
static void load_credentials(struct fetch *f)
{
	struct error ignored = { 0 };

	if (has_kind(f, LOCK_WHEEL))
		index_credentials_load(&f->credentials);
	if (has_kind(f, LOCK_DEB))
		ignore_result(apt_config_read("/", getenv("APT_CONFIG"), &f->apt, &ignored));
}

/* Into `pending`; what broke off half-way begins anew. */
static int download(struct fetch *f, struct http_client *client, const struct lock_input *in,
		    struct store_pending *pending, struct error *err)
{
	cleanup_authorization char *authorization = authorization_for(f, in);

	http_client_proxy(client, in->kind == LOCK_DEB ? apt_config_proxy(&f->apt, in->url) : NULL);

	for (unsigned restart = 0;; restart++) {
		if (store_put_open(f->request->store, pending, err) < 0)
			return -1;
		if (http_download(client, in->url, authorization, TRIES, pending->sink, err) == 0)
			return 0;
		if (err->code != ERROR_NETWORK || !pending->bytes || restart == RESTARTS)
			return -1;
		store_put_release(pending);
		http_sleep_ms(UINT64_C(500) << restart);
	}
}

static int bring(struct fetch *f, struct http_client *client, const struct lock_input *in,
		 struct error *err)
{
	cleanup_store_put struct store_pending pending = { 0 };
	cleanup_free char *shown = http_url_display(in->url);
	struct digest digest;
	uint64_t size;

	if (download(f, client, in, &pending, err) < 0)
		return error_wrap(err, "%s %s", in->name, in->version);
	if (store_put_commit(&pending, &in->digest, in->size, &digest, &size, err) < 0)
		return error_wrap(err, "%s %s: what %s sent is not what was locked", in->name,
				  in->version, shown);
	return 0;
}

/* Open the image that a blob belongs to, unless it is the one opened last. */
static int open_base(struct worker *w, const struct wanted *wanted, struct error *err)
{
	const struct fetch_request *r = w->fetch->request;
	cleanup_free char *name = base_image_name(r->directory, wanted->input->url);
	cleanup_arena struct arena arena = { 0 };
	struct platform platform;

	if (w->image_name && str_equal(w->image_name, name) &&
	    str_equal(w->image_platform, wanted->platform))
		return 0;
	if (!r->opener)
		return error_set(err, ERROR_USAGE, "%s cannot be opened here", name);
	image_release(&w->image);
	free(steal_ptr(&w->image_name));
	if (platform_parse(wanted->platform, &arena, &platform, err) < 0 ||
	    r->opener->open(r->opener->user, name, &platform, &w->image, err) < 0)
		return -1;
	w->image_name = steal_ptr(&name);
	w->image_platform = wanted->platform;
	return 0;
}

/* The bytes of a blob: the documents are at hand once the image is open. */
static struct stream *open_blob(struct worker *w, const struct lock_input *in, struct error *err)
{
	struct descriptor blob = { .digest = in->digest, .size = in->size };

	if (digest_equal(&in->digest, &w->image.descriptor.digest))
		return stream_memory(strbuf_slice(&w->image.manifest_text));
	if (digest_equal(&in->digest, &w->image.manifest.config.digest))
		return stream_memory(strbuf_slice(&w->image.config_text));
	return w->image.source->ops->blob(w->image.source, &blob, err);
}

static int bring_blob(struct worker *w, const struct wanted *wanted, struct error *err)
{
	const struct lock_input *in = wanted->input;
	cleanup_store_put struct store_pending pending = { 0 };
	cleanup_stream struct stream *blob = NULL;
	struct digest digest;
	uint64_t size;

	if (open_base(w, wanted, err) < 0)
		return error_wrap(err, "%s", in->name);
	blob = open_blob(w, in, err);
	if (!blob || store_put_open(w->fetch->request->store, &pending, err) < 0 ||
	    sink_copy(pending.sink, blob, NULL, err) < 0 ||
	    store_put_commit(&pending, &in->digest, in->size, &digest, &size, err) < 0)
		return error_wrap(err,
				  "%s: %s does not have what was locked (`gpuimg lock --update "
				  "base` locks what it has now)",
				  in->name, in->url);
	return 0;
}

static void work(struct pool_job *job)
{
	struct worker *w = (struct worker *)job;
	struct fetch *f = w->fetch;
	cleanup_http struct http_client *client = NULL;
	const struct wanted *wanted;

	while ((wanted = take(f)) != NULL) {
		const struct lock_input *in = wanted->input;
		struct error err = { 0 };
		bool is_image = in->kind == LOCK_IMAGE;
		bool present = store_has(f->request->store, &in->digest, in->size);

		if (!present && !is_image && !client)
			client = http_client_new(f->request->http);
		if (!present &&
		    (is_image ? bring_blob(w, wanted, &err) : bring(f, client, in, &err)) < 0) {
			pthread_mutex_lock(&f->lock);
			if (!f->stopped)
				f->error = err;
			f->stopped = true;
			pthread_mutex_unlock(&f->lock);
			break;
		}
		report(f, in, present);
	}
	image_release(&w->image);
	free(w->image_name);
}

static void run_workers(struct fetch *f)
{
	unsigned count = f->request->workers ? f->request->workers : WORKERS;
	cleanup_free struct worker *workers = xcalloc(count, sizeof(*workers));
	cleanup_pool struct pool *pool = pool_new(count);

	for (unsigned i = 0; i < count; i++) {
		workers[i] = (struct worker){ .job.run = work, .fetch = f };
		pool_submit(pool, &workers[i].job);
	}
	for (unsigned i = 0; i < count; i++)
		pool_wait(pool, &workers[i].job);
}

int fetch_lock(const struct fetch_request *request, struct fetch_result *out, struct error *err)
{
	struct fetch f = { .request = request };

	pthread_mutex_init(&f.lock, NULL);
	collect(&f);
	load_credentials(&f);
	run_workers(&f);
	pthread_mutex_destroy(&f.lock);
	index_credentials_release(&f.credentials);
	apt_config_release(&f.apt);
	vec_release(&f.inputs);
	*out = f.result;
	if (f.stopped) {
		*err = f.error;
		return -1;
	}
	return 0;
}

static int carry_one(const struct lock_input *in, struct store *from, struct store *to,
		     struct error *err)
{
	cleanup_store_put struct store_pending pending = { 0 };
	cleanup_stream struct stream *s = store_read(from, &in->digest, in->size, err);
	struct digest digest;
	uint64_t size;

	if (!s || store_put_open(to, &pending, err) < 0 ||
	    sink_copy(pending.sink, s, NULL, err) < 0 ||
	    store_put_commit(&pending, &in->digest, in->size, &digest, &size, err) < 0)
		return error_wrap(err, "%s %s", in->name, in->version);
	return 0;
}

int fetch_carry(const struct lockfile *lock, struct store *from, struct store *to,
		struct fetch_result *out, struct error *err)
{
	*out = (struct fetch_result){ 0 };
	for (size_t p = 0; p < lock->platforms.len; p++) {
		for (size_t i = 0; i < lock->platforms.items[p].inputs.len; i++) {
			const struct lock_input *in = &lock->platforms.items[p].inputs.items[i];

			if (in->kind == LOCK_TREE)
				continue;
			out->inputs++;
			out->bytes += in->size;
			if (store_has(to, &in->digest, in->size))
				continue;
			if (carry_one(in, from, to, err) < 0)
				return -1;
			out->fetched++;
			out->fetched_bytes += in->size;
		}
	}
	return 0;
}

const struct lock_input *fetch_missing(const struct lockfile *lock, struct store *store)
{
	for (size_t p = 0; p < lock->platforms.len; p++) {
		for (size_t i = 0; i < lock->platforms.items[p].inputs.len; i++) {
			const struct lock_input *in = &lock->platforms.items[p].inputs.items[i];

			if (in->kind != LOCK_TREE && !store_has(store, &in->digest, in->size))
				return in;
		}
	}
	return NULL;
}
