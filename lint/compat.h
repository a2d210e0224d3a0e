/*
 * Forward-compatibility libraries of an image against a host's driver: whether the container
 * runtime takes them, and what they then serve.
 * Source: NVIDIA/nvidia-container-toolkit cmd/nvidia-cdi-hook/cudacompat; CUDA Compatibility
 * guide, "Forward Compatibility".
 */
#ifndef LINT_COMPAT_H
#define LINT_COMPAT_H

#include "lint/facts.h"

/* The library that the runtime would look at; path NULL: none, or not exactly one. */
struct compat_library {
	const char *path;             /* in /usr/local/cuda/compat, links followed */
	const struct tree_node *node; /* the candidate */
	const struct object *object;  /* NULL: not an ELF file */
	const char *version;          /* "570.86.10", of its name */
	const char *cuda;             /* "12.8" of its note, else by its branch; NULL: not known */
	struct {
		unsigned *items;
		size_t len, cap;
	} branches;    /* of hosts, that its note lists */
	bool has_note; /* JSON that could be read */
};

void compat_library_find(const struct facts *facts, struct compat_library *out);
void compat_library_release(struct compat_library *library);
#define cleanup_compat_library cleanup(compat_library_release)

enum compat_use { COMPAT_USED, COMPAT_BRANCH_NOT_LISTED, COMPAT_NOT_NEWER, COMPAT_UNDECIDED };

/* What the runtime decides for a host with that driver. */
enum compat_use compat_decide(const struct facts *facts, const struct compat_library *library,
			      const struct host_driver *driver);
/* True when the image's compat libraries let that driver serve a CUDA minor by itself. */
bool compat_serves(const struct facts *facts, const struct host_driver *driver, const char *cuda);

#endif
