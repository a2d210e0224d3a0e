/*
 * The addresses of sources, with what the platform is called filled in: one manifest serves all its
 * platforms.
 */
#ifndef BUILDER_SOURCES_SOURCE_URL_H
#define BUILDER_SOURCES_SOURCE_URL_H

#include "builder/sources/package_source.h"

/*
 * `url` with {debarch} ("amd64", "arm64": Debian's name), {arch} ("x86_64", "aarch64": the
 * machine's, which is rpm's) and {sbsa} ("x86_64", "sbsa": NVIDIA's for its repositories) filled
 * in; heap. NULL when another {word} stands in it, or one for a platform that has no such name.
 */
char *source_url_fill(const char *url, const struct platform *platform);
/* The url of a source for the platform of the context; heap. NULL: ERROR_USAGE at its place. */
char *source_url(const struct source_context *context, const struct stack_source *source,
		 struct error *err) MUST_USE;

#endif
