/*
 * Whole images between a source of blobs (a layout, an archive) and registries.
 *
 * A push skips what the registry has, sends blobs in parallel, largest first, and manifests last,
 * children before their index, so that nobody sees a tag whose blobs are missing. Bytes are
 * verified against their digest while they are sent: a damaged source never becomes a blob.
 */
#ifndef REGISTRY_TRANSFER_H
#define REGISTRY_TRANSFER_H

#include "oci/reference.h"
#include "oci/source.h"
#include "registry/client.h"
#include "registry/origins.h"
#include "registry/persona.h"

enum push_state {
	PUSH_PENDING = 0,
	PUSH_SENDING,
	PUSH_PRESENT, /* the registry had it */
	PUSH_SENT,
	PUSH_MOUNTED, /* taken over from another repository of the registry */
	PUSH_SKIPPED, /* a layer that may not be distributed */
};

struct push_blob {
	struct digest digest;
	uint64_t size;      /* bytes */
	size_t destination; /* index into the request's */
	enum push_state state;
	uint64_t bytes_sent;    /* over all tries */
	uint64_t bytes_resumed; /* of a session that an earlier push left */
	unsigned restarts;      /* sessions that were lost */
};

/* Told from any thread, one at a time. `blob` is valid during the call. */
struct push_progress {
	const struct push_blob *blob;
	uint64_t blob_bytes;              /* of this blob, in the present try */
	uint64_t done_bytes, total_bytes; /* of all blobs of the destination; present ones count */
};
typedef void push_progress_fn(void *user, const struct push_progress *p);

struct push_request {
	struct image_source *source; /* not an unpacked root; its blob() is called by one thread at
				      * a time, the streams are read by several */
	const struct reference *destinations;
	size_t destination_count; /* several tags and registries; each with a tag or digest */
	struct client_options client;
	const char *const *mount_from; /* repositories, on the destinations' own registries, that
					* may have blobs; NULL-terminated, may be NULL */
	const struct persona *persona; /* how the registries want uploads; NULL: as is known */
	unsigned parallel;             /* blobs at once; 0: 4 */
	bool if_unchanged;             /* a tag that somebody moves meanwhile is an error */
	push_progress_fn *progress;    /* NULL: none */
	void *progress_user;
};

struct push_result {
	struct descriptor root;  /* digest and size of what the tags now stand for */
	size_t manifest_count;   /* documents put per destination */
	struct push_blob *blobs; /* per destination repository */
	size_t blob_count;
	uint64_t bytes_sent; /* of blobs */
	uint64_t elapsed_ms;
};

void push_result_release(struct push_result *r);
#define cleanup_push_result cleanup(push_result_release)

/*
 * Push the source's image, or index with all its images, to each destination.
 * Errors: ERROR_USAGE a destination's digest is not the image's, or an unpacked root; ERROR_FORMAT,
 * ERROR_INTEGRITY the source's documents or blobs; ERROR_LIMIT more than 4096 manifests or
 * 8 levels; with `if_unchanged` those of tag_state.h; those of client.h. What was sent before an
 * error stays, and the next push skips it.
 */
int transfer_push(const struct push_request *request, struct push_result *out,
		  struct error *err) MUST_USE;

/*
 * A registry's image as a source of blobs, by way of the mirrors that registries.conf names.
 * `options` must outlive it. NULL on error. Errors: those of origins_open.
 */
struct image_source *registry_source(const struct reference *ref,
				     const struct client_options *options,
				     struct error *err) MUST_USE;
/* Where the blobs of such a source can be asked for. */
struct origins *registry_source_origins(const struct image_source *source);

#endif
