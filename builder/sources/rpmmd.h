/*
 * The `rpm-md` source, by libsolv: only rpmmd.c and the files of that name that include
 * rpmmd_solv.h see it. What others call is rpmmd_resolve() in builder/sources/package_source.h.
 * libsolv trusts what it reads, so it is only given metadata that a signature or a checksum under
 * one has proven; never a .solv file.
 */
#ifndef BUILDER_SOURCES_RPMMD_H
#define BUILDER_SOURCES_RPMMD_H

#include "builder/sources/rpmmd_repository.h"

/* What a repomd.xml says. */
struct rpmmd_index {
	struct rpmmd_file primary, filelists; /* filelists.location may be NULL */
	int64_t date; /* seconds since 1970: the latest of its files; 0: not said */
};

/*
 * Read a repomd.xml; texts into the arena. ERROR_FORMAT names what is missing or malformed;
 * ERROR_INTEGRITY when a file has no SHA-256 or SHA-512.
 */
int rpmmd_index_parse(struct slice text, const char *name, struct arena *arena,
		      struct rpmmd_index *out, struct error *err) MUST_USE;
/*
 * Whether a version fits the stack's CUDA ("12.6"; NULL, "": any): "2.27.5-1+cuda12.4" is built for
 * the same major and a minor that is not above. Versions that do not say so fit.
 */
bool rpmmd_fits_cuda(const char *evr, const char *cuda);
/* Whether a version says for which CUDA it was built: "…+cuda12.4", "….cuda12.4". */
bool rpmmd_names_cuda(const char *evr);
/* A word, relative, below the repository, and nothing that could be mistaken in a text or an
 * address. */
bool rpmmd_is_path(const char *path);
/* Printable ASCII without blanks, and not empty. */
bool rpmmd_is_word(const char *text);

#endif
