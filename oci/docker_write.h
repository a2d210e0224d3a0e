/*
 * An image as `docker load` and `podman load` take it: layers as plain tars named by their diff_id,
 * the configuration named by its digest, manifest.json and repositories in canonical JSON, all of
 * one time. The same image gives the same bytes.
 * Source: Docker image specification 1.2, "Combined Image JSON + Filesystem Changeset Format".
 */
#ifndef OCI_DOCKER_WRITE_H
#define OCI_DOCKER_WRITE_H

#include "base/sink.h"
#include "oci/image.h"

/*
 * Write `image` under the name `reference` ("acme/app:1"; NULL: without one). `raw_sizes` are the
 * bytes of each layer's tar. Digests and diff_ids are proven on the way: after an error what was
 * written must be thrown away. ERROR_INTEGRITY, and those of reading and writing.
 */
int docker_archive_write(struct image *image, const uint64_t *raw_sizes, const char *reference,
			 struct sink *out, struct error *err) MUST_USE;

#endif
