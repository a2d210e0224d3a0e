/*
 * The SBOM of an image that was built, from its complete file accounting: every path
 * of the tree belongs to a component (a package, a wheel, an archive of a redistrib manifest, the
 * manifest's files, a stage's output, a finish action, the base image), or there is no image.
 */
#ifndef BUILDER_IMAGE_SBOM_H
#define BUILDER_IMAGE_SBOM_H

#include "builder/assemble.h"
#include "formats/sbom.h"

/*
 * Account for the tree: components with licences, package URLs, digests of the lock, libraries.
 * Texts that name the image (name, tag, time, digest) are the caller's to set. Release *out.
 * Errors: ERROR_INTEGRITY a path that nobody owns, by name; those of reading.
 */
int image_sbom_make(const struct assembly *a, struct assembled *tree, struct sbom *out,
		    struct error *err) MUST_USE;

/*
 * Write the accounting itself: a line "OWNER<TAB>/PATH" for every path, in image order; control
 * characters of a path are written as \xNN. ERROR_INTEGRITY as above.
 */
int image_sbom_write_files(struct assembled *tree, struct sink *sink, struct error *err) MUST_USE;

/* A path as the accounting writes it, appended. */
void image_sbom_put_path(struct strbuf *out, const char *path);

#endif
