#include "registry/transfer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include "base/alloc.h"
#include "oci/mediatype.h"

enum { TRIES = 5 };

struct remote_source {
	struct image_source base;
	struct client_repository *repository;
	struct client *client; /* for documents; each blob has its own */
	char *name;            /* tag or digest */
	struct arena arena;
};

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
	if (client_manifest_get(s->client, digest_text(&desc->digest, name), &s->arena, &out->text,
				&got, err) == 0)
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
	struct client *client;
	struct descriptor desc;
	int rc; /* the thread's outcome, valid once joined */
	struct error err;
};

struct counting_sink {
	struct sink base;
	struct sink *inner;
	bool wrote;
};

static int counting_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct counting_sink *s = (struct counting_sink *)base;

	s->wrote = true;
	return sink_write(s->inner, data, len, err);
}

static const struct sink_ops counting_ops = { .write = counting_write };

static void *receive(void *user)
{
	struct blob_stream *s = user;
	cleanup_sink struct sink *pipe = sink_fd(s->write_fd, "pipe");
	struct counting_sink sink = { .base = { &counting_ops }, .inner = pipe };

	for (unsigned try = 1;; try++) {
		struct error failed = { 0 };

		s->rc = client_blob_get(s->client, &s->desc, &sink.base, &failed);
		if (s->rc == 0)
			break;
		s->err = failed;
		if (try == TRIES || sink.wrote || !client_last_transient(s->client))
			break;
		client_back_off(s->client, try);
	}
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
	client_free(s->client);
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

static struct stream *open_blob(struct remote_source *source, const struct descriptor *desc,
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
	s->client = client_new(source->repository);
	s->desc = (struct descriptor){ .digest = desc->digest, .size = desc->size };
	rc = start_thread(s);
	if (rc == 0)
		return &s->base;
	error_set_errno(err, rc, "thread");
	close(fds[0]);
	close(fds[1]);
	client_free(s->client);
	free(s);
	return NULL;
}

/* The source. */

static int remote_root(struct image_source *base, struct strbuf *out, struct descriptor *desc,
		       struct error *err)
{
	struct remote_source *s = (struct remote_source *)base;

	return client_manifest_get(s->client, s->name, &s->arena, out, desc, err);
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

	client_free(s->client);
	client_repository_close(s->repository);
	arena_release(&s->arena);
	free(s->name);
	free(s);
}

static const struct image_source_ops remote_ops = { remote_root, remote_blob, remote_close };

struct image_source *registry_source(const struct reference *ref,
				     const struct client_options *options, struct error *err)
{
	struct client_repository *repository =
		client_repository_open(ref->registry, ref->repository, CLIENT_PULL, options, err);
	char digest[DIGEST_TEXT_MAX];
	struct remote_source *s;

	if (!repository)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->base.ops = &remote_ops;
	s->repository = repository;
	s->client = client_new(repository);
	s->name = xstrdup(ref->has_digest ? digest_text(&ref->digest, digest) : ref->tag);
	return &s->base;
}
