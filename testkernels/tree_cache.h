/*
 * The unpacked tree of an image: in a scratch directory, or kept in a cache under its layers'
 * digests, so that the next test of the same image does not unpack it again.
 *
 *   DIR/<hex>/root      the tree
 *   DIR/<hex>/record    JSON: what it is of, and a digest over what lies in it
 *   DIR/<hex>/ptx       samples of the PTX in it (image_ptx.h), once they were looked for
 *   DIR/<hex>/lock      held, shared, while the tree is used; whoever removes it takes it whole
 *
 * <hex> is a digest of the layers' diff_ids in order and of how we unpack. A tree appears under its
 * name when it is complete. Before it is used again, names, sizes, modes and times of all that
 * lies in it are compared with the record (no content is read): a tree that something wrote into
 * is made anew. Loader mode runs the image's code as you, so nothing proves more than that.
 */
#ifndef TESTKERNELS_TREE_CACHE_H
#define TESTKERNELS_TREE_CACHE_H

#include "oci/image.h"

struct tree {
	char *path; /* absolute; "" for the whole machine; NULL: none */
	int fd;
	int lock; /* of a cached one, or -1 */
};

/*
 * The tree of `image`: in place for an unpacked root; from the cache `cache_dir`, which is made
 * when missing; or, when that is NULL or the image does not say its diff_ids, unpacked below
 * `scratch`. ERROR_USAGE when the cache cannot run programs. Else errors as unpack_image gives
 * them.
 */
int tree_open(struct image *image, const char *cache_dir, const char *scratch, struct tree *out,
	      struct error *err) MUST_USE;
void tree_close(struct tree *tree);

#endif
