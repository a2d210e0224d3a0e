/*
 * Blobs sent before the image they belong to is complete: a layer uploads while the next is made.
 * Nothing gets a name, and what goes wrong is no error: the push that follows sends what is
 * missing, and finds out for itself.
 */
#ifndef REGISTRY_PUSH_AHEAD_H
#define REGISTRY_PUSH_AHEAD_H

#include "base/digest.h"
#include "base/stream.h"
#include "oci/reference.h"
#include "registry/client.h"

struct push_ahead;

/* Opens a blob's bytes; called by several threads at once. NULL on error. */
typedef struct stream *push_ahead_open_fn(void *user, const struct digest *digest, uint64_t size,
					  struct error *err);

/*
 * To these repositories (each once), `parallel` blobs at a time for each. `options`, `destinations`
 * and `user` must outlive it. Never NULL: a registry that does not answer is passed over.
 */
struct push_ahead *push_ahead_start(const struct reference *destinations, size_t count,
				    const struct client_options *options, unsigned parallel,
				    push_ahead_open_fn *open, void *user);
/* One more blob, from any thread. */
void push_ahead_add(struct push_ahead *p, const struct digest *digest, uint64_t size);
/* Wait for what was added, or with `stop` give up soon; free. *out_bytes: sent. NULL is allowed. */
void push_ahead_end(struct push_ahead *p, bool stop, uint64_t *out_bytes);

#endif
