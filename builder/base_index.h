/*
 * What the layers of a base image show together, as a text that is made once and kept in the
 * store: paths, modes, owners, times, sizes and digests of everything, the content of the files
 * that finish actions read, and the sonames of the libraries, so that nothing has to be unpacked
 * to build on the image.
 *
 * Whiteouts are applied; a hard link is a file of its own, since its other name may be replaced;
 * devices, sockets and extended attributes are left out: the layers keep them.
 */
#ifndef BUILDER_BASE_INDEX_H
#define BUILDER_BASE_INDEX_H

#include "builder/component.h"
#include "builder/store.h"
#include "oci/image.h"

struct base_index {
	struct strbuf listing; /* release */
	struct digest pack;    /* object with the contents kept; of nothing when pack_size is 0 */
	uint64_t pack_size;    /* bytes */
	uint64_t *raw_sizes;   /* of the layers' tars, bytes; heap */
	size_t layer_count;
	char glibc[16]; /* "2.36", or "" */
};

void base_index_release(struct base_index *index);
#define cleanup_base_index cleanup(base_index_release)

/*
 * Read all layers of `image`, proving digests and diff_ids, and keep the result in `store` under
 * `key`; what an earlier call kept is taken from there. ERROR_INTEGRITY, ERROR_FORMAT,
 * ERROR_NOT_FOUND, with the layer.
 */
int base_index_get(struct store *store, struct image *image, const struct digest *key,
		   struct base_index *out, struct error *err) MUST_USE;
/*
 * The entries as a component of kind COMPONENT_BASE, sorted by path. Only kept files can be read.
 * NULL on error.
 */
struct component *base_index_component(struct store *store, const struct base_index *index,
				       const char *name, struct error *err) MUST_USE;
/* The same with every file readable, from an unlinked file in the store: for build stages. */
struct component *base_index_unpack(struct store *store, struct image *image, const char *name,
				    struct error *err) MUST_USE;

#endif
