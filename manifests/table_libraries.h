/*
 * cuDNN and NCCL releases: typed access to cudnn.json and nccl.json. Both follow the CUDA major
 * they were built for, not its minor.
 */
#ifndef MANIFESTS_TABLE_LIBRARIES_H
#define MANIFESTS_TABLE_LIBRARIES_H

#include "manifests/table_read.h"

struct library_release {
	const char *version;         /* "9.10.2.21" */
	struct table_numbers majors; /* CUDA majors it was built for */
	bool withdrawn;
	struct table_origin origin;
};

/* Releases from `from` to `to` serve GPUs of at least that capability. */
struct library_gpu_rule {
	const char *from, *to; /* to NULL: still */
	const char *capability;
	const char *note;
};

struct table_libraries {
	struct library_release *cudnn, *nccl; /* oldest first */
	size_t cudnn_count, nccl_count;
	struct library_gpu_rule *gpu_rules; /* of cuDNN */
	size_t gpu_rule_count;
	struct table_origin gpu_rule_origin;
	const json_t *cudnn_images; /* CUDA release → cuDNN versions of the official images */
};

int table_cudnn_read(const struct table *table, struct arena *arena, struct table_libraries *out,
		     struct error *err) MUST_USE;
int table_nccl_read(const struct table *table, struct arena *arena, struct table_libraries *out,
		    struct error *err) MUST_USE;
/* The least capability that a cuDNN release serves, or NULL when no rule says. */
const struct library_gpu_rule *cudnn_gpu_rule(const struct table_libraries *t, const char *version);

#endif
