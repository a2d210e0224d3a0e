/*
 * The NVIDIA driver of this machine: its device nodes, its version, and its libraries.
 */
#ifndef TESTKERNELS_HOST_DRIVER_H
#define TESTKERNELS_HOST_DRIVER_H

#include "base/arena.h"
#include "base/error.h"

struct host_driver {
	bool has_nodes;      /* /dev/nvidiactl is there */
	const char *dir;     /* that holds libcuda.so.1; NULL: not found */
	const char *version; /* of the library, from its name: "580.95.05"; NULL: unknown */
	const char *module;  /* of the kernel module; NULL: not loaded */
	const char *devices; /* nodes, "/dev/nvidia0 /dev/nvidiactl", sorted; "" when none */
};

/* Look; strings live in `arena`. `host` is "" or a directory that stands for "/" (for tests). */
void host_driver_find(const char *host, struct arena *arena, struct host_driver *out);

#endif
