#include "registry/transfer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include "base/alloc.h"
#include "oci/mediatype.h"
#include "registry/fetch_blob.h"

struct remote_source {
	struct image_source base;
	struct origins *origins;
	char *name; /* tag or digest */
	struct arena arena;
};

/* A document of the first origin that gives it. */
static int get_document(struct remote_source *s, const char *name, struct strbuf *out,
			struct descriptor *desc, struct error *err)
{
	struct origins_walk walk = { 0 };
	size_t index;

	while (origins_next(s->origins, &walk, 0, &index)) {
		cleanup_client struct client *c = NULL;
		struct client_repository *repository;

		*err = (struct error){ 0 };
		repository = origins_get(s->origins, index, err);
		if (!repository)
			continue;
		c = client_new(repository);
		if (client_manifest_get(c, name, &s->arena, out, desc, err) == 0)
			return 0;
		if (client_last_transient(c))
			origins_demote(s->origins, index);
	}
	return -1;
}

/* Documents, from memory. */

struct owned_stream {
	struct stream base;
	struct strbuf text;
	size_t at;
};

static ssize_t owned_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct owned_stream *s = (struct owned_stream *)base;
	size_t n = MIN(len, s->text.len - s->at);

	(void)err;
	if (n)
		memcpy(buf, s->text.data + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static void owned_close(struct stream *base)
{
	strbuf_release(&((struct owned_stream *)base)->text);
}

static const struct stream_ops owned_ops = { owned_read, owned_close };

static struct stream *open_document(struct remote_source *s, const struct descriptor *desc,
				    struct error *err)
{
	struct owned_stream *out = xcalloc(1, sizeof(*out));
	char name[DIGEST_TEXT_MAX];
	struct descriptor got;

	out->base.ops = &owned_ops;
	if (get_document(s, digest_text(&desc->digest, name), &out->text, &got, err) == 0)
		return &out->base;
	stream_close(&out->base);
	return NULL;
}

/* Blobs: a thread receives into a pipe, the reader reads the other end. */

struct blob_stream {
	struct stream base;
	pthread_t thread;
	bool joined;
	int read_fd, write_fd;
	const struct remote_source *source;
	struct descriptor desc;
	int rc; /* the thread's outcome, valid once joined */
	struct error err;
};

static void *receive(void *user)
{
	struct blob_stream *s = user;
	cleanup_sink struct sink *pipe = sink_fd(s->write_fd, "pipe");
	struct blob_fetch fetch = { .origins = s->source->origins, .desc = &s->desc, .out = pipe };

	digest_init(&fetch.state, s->desc.digest.algorithm);
	s->rc = fetch_blob(&fetch, &s->err);
	digest_release(&fetch.state);
	close(s->write_fd);
	return NULL;
}

static void join(struct blob_stream *s)
{
	if (!s->joined)
		pthread_join(s->thread, NULL);
	s->joined = true;
}

static ssize_t blob_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct blob_stream *s = (struct blob_stream *)base;
	ssize_t n;

	while ((n = read(s->read_fd, buf, len)) < 0 && errno == EINTR)
		;
	if (n < 0)
		return error_set_errno(err, errno, "pipe");
	if (n > 0)
		return n;
	join(s);
	if (s->rc < 0) {
		*err = s->err;
		return -1;
	}
	return 0;
}

static void blob_close(struct stream *base)
{
	struct blob_stream *s = (struct blob_stream *)base;

	close(s->read_fd); /* the thread's next write ends it */
	join(s);
}

static const struct stream_ops blob_ops = { blob_read, blob_close };

/* Signals are the main thread's; a closed pipe is an errno, not SIGPIPE. */
static int start_thread(struct blob_stream *s)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&s->thread, NULL, receive, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

static struct stream *open_blob(const struct remote_source *source, const struct descriptor *desc,
				struct error *err)
{
	struct blob_stream *s;
	int fds[2], rc;

	if (pipe2(fds, O_CLOEXEC) < 0) {
		error_set_errno(err, errno, "pipe");
		return NULL;
	}
	s = xcalloc(1, sizeof(*s));
	s->base.ops = &blob_ops;
	s->read_fd = fds[0];
	s->write_fd = fds[1];
	s->source = source;
	s->desc = (struct descriptor){ .digest = desc->digest, .size = desc->size };
	rc = start_thread(s);
	if (rc == 0)
		return &s->base;
	error_set_errno(err, rc, "thread");
	close(fds[0]);
	close(fds[1]);
	free(s);
	return NULL;
}

/* The source. */

static int remote_root(struct image_source *base, struct strbuf *out, struct descriptor *desc,
		       struct error *err)
{
	struct remote_source *s = (struct remote_source *)base;

	return get_document(s, s->name, out, desc, err);
}

static struct stream *remote_blob(struct image_source *base, const struct descriptor *desc,
				  struct error *err)
{
	struct remote_source *s = (struct remote_source *)base;
	const struct mediatype *type = desc->media_type ? mediatype_find(desc->media_type) : NULL;

	if (type && (type->kind == MEDIA_INDEX || type->kind == MEDIA_MANIFEST))
		return open_document(s, desc, err);
	return open_blob(s, desc, err);
}

static void remote_close(struct image_source *base)
{
	struct remote_source *s = (struct remote_source *)base;

	origins_close(s->origins);
	arena_release(&s->arena);
	free(s->name);
	free(s);
}

/* A registry that gave other bytes would be found out by whoever pulls the image. */
static enum blob_identity remote_identity(struct image_source *base, const struct descriptor *desc,
					  struct strbuf *out)
{
	(void)base;
	(void)desc;
	(void)out;
	return BLOB_IS_DIGEST;
}

static const struct image_source_ops remote_ops = { remote_root, remote_blob, remote_close,
						    remote_identity };

struct image_source *registry_source(const struct reference *ref,
				     const struct client_options *options, struct error *err)
{
	struct origins *origins = origins_open(ref, options, err);
	char digest[DIGEST_TEXT_MAX];
	struct remote_source *s;

	if (!origins)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->base.ops = &remote_ops;
	s->origins = origins;
	s->name = xstrdup(ref->has_digest ? digest_text(&ref->digest, digest) : ref->tag);
	return &s->base;
}

struct origins *registry_source_origins(const struct image_source *source)
{
	return ((const struct remote_source *)source)->origins;
}
