/*
 * What is said beside an image: from the tree while it is at hand, then from the finished image,
 * to the store's attachments.
 */
#ifndef BUILDER_DESCRIBE_H
#define BUILDER_DESCRIBE_H

#include "builder/attachments.h"
#include "builder/image_sbom.h"
#include "builder/provenance.h"

struct description {
	struct sbom sbom; /* without what names the image */
	struct attachments attachments;
};

static inline void description_release(struct description *d)
{
	sbom_release(&d->sbom);
}
#define cleanup_description cleanup(description_release)

/* Account for a tree. ERROR_INTEGRITY a path without an owner; those of reading and the store. */
int describe_tree(const struct assembly *a, struct assembled *tree, struct description *out,
		  struct error *err) MUST_USE;
/*
 * Write SBOMs and provenance for the image of `request` (its byproducts are set here) and remember
 * all under `key` and under the image's digest. Errors as above.
 */
int describe_image(struct store *store, struct description *d, struct provenance_request *request,
		   const struct digest *key, struct error *err) MUST_USE;

#endif
