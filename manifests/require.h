/*
 * NVIDIA_REQUIRE_CUDA: the requirement language of the NVIDIA container tools, evaluated and
 * written. Blanks separate alternatives (or), commas separate what must hold together (and); a
 * term is a property, an operator and a value: "cuda>=12.6", "driver<536", "brand=tesla",
 * "arch>=8.0". Only the classic runtime hook and the csv mode check it; the modes jit-cdi and cdi
 * do not, so it is a help to the user and no safety net.
 *
 * Source: NVIDIA/libnvidia-container src/cli/dsl.c (the rules of the classic hook).
 */
#ifndef MANIFESTS_REQUIRE_H
#define MANIFESTS_REQUIRE_H

#include "manifests/driver_verdict.h"

/* What a host answers. */
struct require_host {
	const char *cuda;   /* "12.2": the CUDA of its driver */
	const char *driver; /* "535.183.06" */
	const char *arch;   /* "9.0"; NULL: no GPU is visible, the term counts as satisfied */
	const char *brand;  /* "tesla"; NULL: as arch */
};

/*
 * Whether a host satisfies an expression: as the classic hook reads it, so terms after the first
 * alternative that holds are not looked at. ERROR_FORMAT for an unknown property, operator or
 * value that is reached: there the start of the container fails.
 */
int require_holds(const char *expression, const struct require_host *host, bool *out,
		  struct error *err) MUST_USE;

/*
 * The value for an image with a CUDA version (`cuda`: "12.6"), for a driver floor of the manifest
 * (NULL: none). It lets in every driver that serves this CUDA by itself, and those from the floor
 * on that run it by minor version compatibility. With `compat`, also the hosts from the floor on
 * that need the compatibility package, for the brands of data-center boards. In `arena`.
 * ERROR_VERDICT when the floor is below what the CUDA major needs and `compat` cannot help.
 */
int require_value(const struct tables *tables, const char *cuda, const char *floor, bool compat,
		  struct arena *arena, const char **out, struct error *err) MUST_USE;

#endif
