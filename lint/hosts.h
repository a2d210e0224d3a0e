/*
 * The GPUs and drivers an image is judged for: what the user named, else what the labels of an
 * image say that gpuimg built; looked up in the tables. None is guessed.
 */
#ifndef LINT_HOSTS_H
#define LINT_HOSTS_H

#include "lint/target.h"
#include "manifests/driver_verdict.h"

struct facts;

struct host_gpu {
	const char *text;         /* as named: "h100", "sm_90" */
	struct gpu_target target; /* architecture and product */
	unsigned sm;              /* 90 */
};

struct host_driver {
	const char *text;    /* as named: ">=550", "535.183.06"; "CUDA 12.4" when only that is */
	const char *version; /* "550", "535.183.06"; NULL: only its CUDA version is known */
	const char *cuda;    /* the CUDA it serves by itself: "12.2"; NULL: not established */
};

struct hosts {
	VEC(struct host_gpu) gpus;
	VEC(struct host_driver) drivers;
	bool gpus_from_labels, drivers_from_labels;
};

/*
 * Fill facts->hosts. ERROR_USAGE for a GPU that the user named and nobody knows; labels that
 * cannot be read count as absent.
 */
int hosts_derive(struct facts *facts, struct error *err) MUST_USE;
void hosts_release(struct hosts *hosts);

/* The same check for options before any image was read. */
int hosts_check(const struct target *target, struct error *err) MUST_USE;

/* "sm_90" or "h100 (sm_90)", for messages; in `arena`. */
const char *host_gpu_name(const struct host_gpu *gpu, struct arena *arena);
/* "driver 535.183.06", "driver 550 or newer", "a driver of CUDA 12.4". */
const char *host_driver_name(const struct host_driver *driver, struct arena *arena);

/* The CUDA minor that writes PTX of that version ("8.7": "12.8"); NULL: not established. */
const char *ptx_cuda(const struct table_gpus *gpus, unsigned major, unsigned minor,
		     struct arena *arena);

#endif
