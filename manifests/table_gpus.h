/*
 * GPU architectures and products: typed access to gpu-archs.json.
 */
#ifndef MANIFESTS_TABLE_GPUS_H
#define MANIFESTS_TABLE_GPUS_H

#include "manifests/table_read.h"

/* Who may use forward compatibility: the table's product_classes. */
enum gpu_class { GPU_DATA_CENTER, GPU_WORKSTATION, GPU_CONSUMER, GPU_EMBEDDED };

struct gpu_product {
	const char *name; /* "GeForce RTX 4090" */
	enum gpu_class class;
};

struct gpu_arch {
	const char *sm;         /* "sm_89" */
	const char *capability; /* "8.9" */
	const char *generation; /* "Ada" */
	const char *family;     /* "sm_12x"; NULL: none */
	bool embedded;          /* a board whose rules for machine code are not established */
	struct gpu_product *products;
	size_t product_count;
	const char *first_cuda, *last_cuda; /* that compile for it; last NULL: still does */
	const char *first_basis;            /* what first_cuda rests on */
	unsigned last_branch;               /* 0: still supported */
	unsigned stated_first_branch;       /* 0: none stated */
	struct table_origin origin;
};

struct ptx_version {
	const char *ptx, *cuda; /* "8.7", "12.8" */
};

struct table_gpus {
	struct gpu_arch *items; /* by capability */
	size_t count;
	struct ptx_version *ptx; /* oldest first */
	size_t ptx_count;
};

/* What a user called a GPU: an architecture, or one product of it. */
struct gpu_target {
	const char *text;
	const struct gpu_arch *arch;
	const struct gpu_product *product; /* NULL: named by architecture */
};

int table_gpus_read(const struct table *table, struct arena *arena, struct table_gpus *out,
		    struct error *err) MUST_USE;
/* The row of "9.0", or NULL. */
const struct gpu_arch *gpu_arch(const struct table_gpus *t, const char *capability);
/*
 * "sm_90", "sm_90a", "compute_90", "9.0" or a product without regard to case, blanks, hyphens
 * and brand words ("h100", "rtx-4090", "Tesla T4"). ERROR_USAGE names the nearest known one.
 */
int gpu_target_find(const struct table_gpus *t, const char *text, struct gpu_target *out,
		    struct error *err) MUST_USE;
/*
 * The PTX version that a CUDA minor writes ("8.5" for 12.5: between two rows of one major it
 * follows the minor, but stays below the newer row: 12.6 writes 8.5); NULL when it is not
 * established. In `arena`.
 */
const char *gpu_ptx_of(const struct table_gpus *t, const char *cuda_minor, struct arena *arena);

#endif
