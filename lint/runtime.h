/*
 * What the container runtime adds when a container starts: which libraries come from the host's
 * driver and where they are put.
 * Source: NVIDIA/libnvidia-container src/nvc_mount.c and src/nvc_info.c; NVIDIA/nvidia-container-
 * toolkit pkg/nvcdi; apptainer etc/nvliblist.conf and internal/pkg/util/gpu.
 */
#ifndef LINT_RUNTIME_H
#define LINT_RUNTIME_H

#include "lint/facts.h"

/* The driver's entry of that library file name, unless such a file is fine in an image; or NULL. */
const struct driver_entry *runtime_driver_library(const struct facts *facts, const char *name);
/* True when a program may need `name` although no layer holds it. */
bool runtime_provides(const struct facts *facts, const char *name);
/* A library of the driver, the CUDA toolkit or its companions: what makes an image a GPU image. */
bool runtime_is_gpu_library(const struct facts *facts, const char *name);
/* A library of the CUDA toolkit and its companions (cudart, cublas, cuDNN, NCCL, …). */
bool runtime_is_cuda_library(const char *name);
/*
 * The directories the host's driver may be put into: the classic one for this image first, then
 * the other one. Always two.
 */
void runtime_driver_dirs(const struct facts *facts, const char *out[2]);
/*
 * Some runtime that was named reads NVIDIA_DRIVER_CAPABILITIES, or none was named. CDI does not;
 * nor does apptainer, whose --nv brings the host's driver whatever the image says, into a directory
 * of its own that comes first in LD_LIBRARY_PATH.
 */
bool runtime_reads_capabilities(const struct facts *facts);
/* Apptainer is the only runtime that was named. */
bool runtime_is_apptainer(const struct facts *facts);
/* A directory that drivers are mounted over at run time and that need not exist. */
bool runtime_is_mount_point(const char *dir);

#endif
