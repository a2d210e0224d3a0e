/*
 * The media types of images and what each implies, as a table.
 * Source: OCI image specification 1.1, media-types.md; Docker image manifest v2 schema 2.
 */
#ifndef OCI_MEDIATYPE_H
#define OCI_MEDIATYPE_H

#include "formats/compress.h"

#define MEDIATYPE_OCI_INDEX "application/vnd.oci.image.index.v1+json"
#define MEDIATYPE_OCI_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define MEDIATYPE_OCI_CONFIG "application/vnd.oci.image.config.v1+json"
#define MEDIATYPE_OCI_LAYER "application/vnd.oci.image.layer.v1.tar"
#define MEDIATYPE_OCI_LAYER_GZIP "application/vnd.oci.image.layer.v1.tar+gzip"
#define MEDIATYPE_OCI_LAYER_ZSTD "application/vnd.oci.image.layer.v1.tar+zstd"
#define MEDIATYPE_DOCKER_INDEX "application/vnd.docker.distribution.manifest.list.v2+json"
#define MEDIATYPE_DOCKER_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"
#define MEDIATYPE_DOCKER_CONFIG "application/vnd.docker.container.image.v1+json"
#define MEDIATYPE_DOCKER_LAYER_GZIP "application/vnd.docker.image.rootfs.diff.tar.gzip"
#define MEDIATYPE_DOCKER_LAYER "application/vnd.docker.image.rootfs.diff.tar"

enum media_kind { MEDIA_UNKNOWN, MEDIA_INDEX, MEDIA_MANIFEST, MEDIA_CONFIG, MEDIA_LAYER };

struct mediatype {
	const char *name;
	enum media_kind kind;
	enum compression compression; /* of a layer */
	bool docker;                  /* Docker's family rather than OCI's */
	bool nondistributable;
};

/* The row of that name, or NULL; `name` may be NULL. */
const struct mediatype *mediatype_find(const char *name);
/* The OCI layer type for a compression; NULL for xz, which has none. */
const char *mediatype_layer(enum compression c);

#endif
