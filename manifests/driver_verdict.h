/*
 * How a driver runs a CUDA version, and how a GPU is served: the two questions of the solver and
 * of `gpuimg matrix`, answered from the tables.
 *
 * Sources: CUDA compatibility documentation (minor version compatibility, forward compatibility),
 * CUDA toolkit release notes, PTX instruction set document; each verdict names its rows.
 */
#ifndef MANIFESTS_DRIVER_VERDICT_H
#define MANIFESTS_DRIVER_VERDICT_H

#include "manifests/tables.h"

enum driver_service { /* worst first */
		      SERVICE_IMPOSSIBLE,
		      SERVICE_FORWARD, /* only with the compatibility package, on data-center GPUs
					*/
		      SERVICE_MINOR,   /* machine code runs; PTX newer than the driver is refused */
		      SERVICE_NATIVE,
};

struct driver_verdict {
	enum driver_service service;
	const struct driver_branch *branch;  /* nearest known, not newer; NULL: older than all */
	const struct compat_package *compat; /* may be used on such hosts; also where MINOR holds */
	const struct toolkit_major *floor;   /* of the CUDA major; NULL: not known */
	const struct toolkit *toolkit;       /* NULL: no toolkit of that version is known */
};

/*
 * `driver`: a version ("535.104.05") or a branch alone ("535", any release of it); `cuda`: a
 * version whose first two numbers count.
 */
struct driver_verdict driver_verdict(const struct tables *tables, const char *driver,
				     const char *cuda);
const char *driver_service_name(enum driver_service service);
/* What it means for that CUDA, as the end of a sentence that begins "driver 535 …". */
const char *driver_verdict_text(const struct driver_verdict *verdict, const char *cuda,
				struct arena *arena);
/* True when `driver` is older than `other`; a branch alone is as old as any release of it. */
bool driver_older(const char *driver, const char *other);

enum gpu_service { /* worst first */
		   GPU_NONE,
		   GPU_PTX,     /* compiled by the driver when it starts */
		   GPU_UNKNOWN, /* what the build holds is not established */
		   GPU_CODE,
};

struct gpu_verdict {
	enum gpu_service service;
	const char *by; /* the capability whose code or PTX serves it; NULL: none */
};

/*
 * What serves a target among capabilities with machine code (`code`) and PTX (`ptx`, may be NULL):
 * machine code of the same major and no newer minor, else PTX that is not newer.
 */
struct gpu_verdict gpu_verdict(const struct gpu_arch *target, const struct table_texts *code,
			       const char *ptx);
/* The same for what the compilers of a toolkit can make (minor "12.6"): code, or nothing. */
struct gpu_verdict gpu_toolkit_verdict(const struct tables *tables, const struct gpu_arch *target,
				       const char *cuda_minor);
const char *gpu_service_name(enum gpu_service service);
/* True when the toolkit compiles for exactly that architecture. */
bool gpu_compiles(const struct gpu_arch *arch, const char *cuda_minor);
/*
 * The oldest branch whose drivers know the GPU: stated, else that of the first CUDA with it
 * (inferred); 0 when neither is known.
 */
unsigned gpu_first_branch(const struct tables *tables, const struct gpu_arch *arch);
/* Whether forward compatibility may be used on it. */
enum gpu_compat { COMPAT_NOT_SUPPORTED, COMPAT_SOME_PRODUCTS, COMPAT_SUPPORTED };
enum gpu_compat gpu_compat(const struct gpu_target *target);

#endif
