#include "cli/build_remote.h"

#include "registry/transfer.h"

enum { PARALLEL = 2 };

int build_remote_take(struct build_remote *r, const char *const *destinations, size_t count,
		      struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct reference ref;

		if (!str_starts(destinations[i], "docker://"))
			continue;
		if (reference_parse(destinations[i] + strlen("docker://"), &r->arena, &ref, err) <
		    0)
			return -1;
		vec_push(&r->to, ref);
	}
	return 0;
}

static struct stream *open_blob(void *user, const struct digest *digest, uint64_t size,
				struct error *err)
{
	struct build_remote *r = user;

	return store_read(r->store, digest, size, err);
}

static void on_layer(void *user, const struct digest *digest, uint64_t size)
{
	struct build_remote *r = user;

	push_ahead_add(r->ahead, digest, size);
}

static void show(void *user, const struct push_progress *p)
{
	struct registry_arg *w = user;
	char digest[DIGEST_TEXT_MAX];

	pthread_mutex_lock(&w->lock);
	digest_text(&p->blob->digest, digest);
	digest[19] = 0;
	progress_bytes(&w->progress, digest, p->done_bytes, p->total_bytes);
	pthread_mutex_unlock(&w->lock);
}

static int push(struct build_remote *r, struct image_source *source, struct error *err)
{
	cleanup_push_result struct push_result result = { 0 };
	struct push_request request = { .source = source,
					.destinations = r->to.items,
					.destination_count = r->to.len,
					.client = r->registry->client,
					.progress = show,
					.progress_user = r->registry };
	uint64_t before = 0;
	char size[32], ahead[32];
	int rc;

	push_ahead_end(r->ahead, false, &before);
	r->ahead = NULL;
	rc = transfer_push(&request, &result, err);
	progress_end(&r->registry->progress);
	if (rc < 0)
		return -1;
	out_note(r->in->out, "%s sent while layers were made, %s afterwards",
		 out_size(before, ahead), out_size(result.bytes_sent, size));
	return push_extras_put(r->in, r->registry, source, r->to.items, r->to.len,
			       &result.root.digest, r->key, NULL, err);
}

/* A build_check_fn. */
static int check(void *user, struct image_source *image, struct error *err)
{
	struct build_remote *r = user;

	if (r->then && r->then(r->then_user, image, err) < 0)
		return -1;
	return r->only_ahead ? 0 : push(r, image, err);
}

void build_remote_start(struct build_remote *r, struct build_request *request)
{
	if (!r->to.len)
		return;
	r->store = request->store;
	r->then = request->check;
	r->then_user = request->check_user;
	request->check = check;
	request->check_user = r;
	request->layer_ready = on_layer;
	request->layer_user = r;
	r->ahead = push_ahead_start(r->to.items, r->to.len, &r->registry->client, PARALLEL,
				    open_blob, r);
}

void build_remote_end(struct build_remote *r, bool failed)
{
	push_ahead_end(r->ahead, failed, NULL);
	r->ahead = NULL;
	vec_release(&r->to);
	arena_release(&r->arena);
}
