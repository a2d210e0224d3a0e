/*
 * The link-time libcuda: a small ELF shared object with soname libcuda.so.1 that exports the names
 * of the CUDA driver API and returns 34 (CUDA_ERROR_STUB_LIBRARY) from each. Written byte by byte,
 * so that it is the same on every host; no compiler takes part.
 *
 * It is for linkers only and lies in a `stubs` directory that is on no run-time path: at run time
 * the container runtime mounts the driver's own library.
 */
#ifndef BUILDER_STUB_H
#define BUILDER_STUB_H

#include "base/error.h"
#include "base/strbuf.h"

/*
 * Append the library for an OCI architecture ("amd64", "arm64"). ERROR_USAGE for any other.
 * The names are those of manifests/tables/driver-api.txt.
 * Source: System V gABI 4.1; CUDA Driver API, CUresult.
 */
int stub_write(const char *architecture, struct strbuf *out, struct error *err) MUST_USE;

#endif
