/*
 * Base images that bring a stack or a C library of their own: typed access to ngc-frameworks.json
 * and base-images.json.
 */
#ifndef MANIFESTS_TABLE_IMAGES_H
#define MANIFESTS_TABLE_IMAGES_H

#include "base/vec.h"
#include "manifests/table_read.h"

struct ngc_image {
	const char *image;   /* "nvcr.io/nvidia/pytorch:24.10-py3" */
	const char *name;    /* "pytorch", "cuda-dl-base", "tritonserver" */
	const char *release; /* "24.10" */
	const char *cuda;    /* "12.6.3"; NULL: not established, as are the next */
	const char *driver;  /* of the compatibility libraries inside: a version or a branch */
	const char *cudnn, *nccl, *torch, *python, *ubuntu, *note;
	struct table_origin origin;
};

struct base_system {
	const char *name, *release, *codename;
	const char *glibc; /* NULL: another C library */
	struct table_origin origin;
};

struct table_images {
	VEC(struct ngc_image) ngc; /* newest release first per name */
	struct base_system *systems;
	size_t system_count;
};

int table_ngc_read(const struct table *table, struct arena *arena, struct table_images *out,
		   struct error *err) MUST_USE;
int table_systems_read(const struct table *table, struct arena *arena, struct table_images *out,
		       struct error *err) MUST_USE;
/* "pytorch:24.10", "nvcr.io/nvidia/pytorch:24.10-py3"; NULL when the table has no such image. */
const struct ngc_image *ngc_find(const struct table_images *t, const char *reference);
/* The system of an image ("debian:12", "rockylinux:9", "nvidia/cuda:12.6.3-base-ubuntu22.04"). */
const struct base_system *base_system_of(const struct table_images *t, const char *reference);
/* The system whose packages an apt suite holds ("bookworm", "noble-updates"), or NULL. */
const struct base_system *base_system_of_suite(const struct table_images *t, const char *suite);

#endif
