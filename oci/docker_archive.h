/*
 * The image in an archive of `docker save` or `podman save`: manifest.json names a configuration
 * and layer files, plain or compressed; links stand for layers that occur twice. It has no image
 * manifest, so one is made.
 * Source: Docker image specification 1.2, "Combined Image JSON + Filesystem Changeset Format".
 */
#ifndef OCI_DOCKER_ARCHIVE_H
#define OCI_DOCKER_ARCHIVE_H

#include "formats/compress.h"
#include "oci/manifest.h"
#include "oci/tar_index.h"

struct docker_archive {
	struct arena arena;
	struct strbuf manifest; /* the OCI manifest we made */
	struct descriptor root; /* of it */
	struct map blobs;       /* digest as text → const struct tar_member */
	struct map hashed;      /* member's name → struct digest */
};

/*
 * `tag` is one of the RepoTags, the same reference written otherwise ("app", "app:latest"), or only
 * what follows its ":"; NULL: the only image. A plain layer's digest is taken from the
 * configuration, for whoever reads it verifies it; a compressed layer is read and hashed here.
 * *out borrows members of `index`. ERROR_NOT_FOUND lists the tags there are; ERROR_FORMAT.
 */
int docker_archive_open(const struct tar_index *index, const char *tag, struct docker_archive *out,
			struct error *err) MUST_USE;
void docker_archive_release(struct docker_archive *a);
/* The member with that blob, or NULL. */
const struct tar_member *docker_archive_blob(const struct docker_archive *a,
					     const struct digest *digest);

#endif
