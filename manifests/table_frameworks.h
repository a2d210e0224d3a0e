/*
 * Framework builds in one shape: typed access to torch.json, tensorflow.json, jax.json and
 * frameworks-other.json. A release that exists for several CUDA versions is several builds.
 */
#ifndef MANIFESTS_TABLE_FRAMEWORKS_H
#define MANIFESTS_TABLE_FRAMEWORKS_H

#include "base/vec.h"
#include "manifests/table_read.h"

struct framework_build {
	const char *framework; /* "torch", "tensorflow", "jax", "onnxruntime-gpu", … */
	const char *version;   /* "2.7.1" */
	const char *flavour;   /* "cu126", "and-cuda", "cuda12": how the build is asked for */
	const char *package; /* what pip is asked for ("jax[cuda12]"); NULL: the framework's name */
	const char *cuda;    /* a range of toolkits: "=12.6", ">=12.1.105,<13" */
	unsigned cuda_major;
	bool exact;                 /* the build pins one CUDA minor: two such must agree */
	const char *cudnn, *nccl;   /* ranges; NULL: not established, or not used */
	bool pins_cudnn, pins_nccl; /* the range is one version */
	struct table_texts sm_amd64, sm_arm64; /* capabilities with machine code; none: not known */
	const char *ptx;                       /* capability with PTX; NULL: none, or not known */
	const char *built_with;                /* the CUDA its PTX comes from */
	const char *python_min, *python_max;   /* NULL: not established */
	const char *capability_min;            /* the least GPU it serves; NULL: not established */
	struct table_texts
		compiles_with; /* CUDA versions whose compilers it brings; none: no matter */
	const char *needs, *needs_range; /* another framework it pins; NULL */
	bool is_default;                 /* what the package index gives without more words */
	const char *confidence;          /* of the pins; NULL: observed or documented */
	struct table_origin origin;
};

struct framework_tag {
	const char *from, *to;     /* releases; to NULL: still */
	const char *amd64, *arm64; /* "2.28": what manylinux tag asks of the C library; NULL */
};

struct table_frameworks {
	VEC(struct framework_build) builds; /* per framework newest first */
	struct framework_tag *torch_tags;
	size_t torch_tag_count;
	struct table_origin tag_origin;
};

int table_torch_read(const struct table *table, struct arena *arena, struct table_frameworks *out,
		     struct error *err) MUST_USE;
int table_tensorflow_read(const struct table *table, struct arena *arena,
			  struct table_frameworks *out, struct error *err) MUST_USE;
int table_jax_read(const struct table *table, struct arena *arena, struct table_frameworks *out,
		   struct error *err) MUST_USE;
int table_others_read(const struct table *table, struct arena *arena, struct table_frameworks *out,
		      struct error *err) MUST_USE;
/* Newest release first, then newest CUDA first; what a release calls its default decides ties. */
void table_frameworks_sort(struct table_frameworks *t);
/* True when any build has that name; pip's spellings of one name are one ("onnxruntime_gpu"). */
bool framework_known(const struct table_frameworks *t, const char *name);
/* The C library a build's wheel asks for ("2.28"), or NULL when that is not established. */
const char *framework_glibc(const struct table_frameworks *t, const struct framework_build *build,
			    bool arm64);
/* A name for people: "torch 2.7.1 (cu126)". */
const char *framework_build_name(const struct framework_build *build, struct arena *arena);

#endif
