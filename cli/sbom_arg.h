/*
 * SBOMs for commands: of an image that was built here what the build said, of any
 * other what its package databases say.
 */
#ifndef CLI_SBOM_ARG_H
#define CLI_SBOM_ARG_H

#include "builder/attachments.h"
#include "cli/command.h"
#include "lint/facts.h"

/* The kind of that name; ERROR_USAGE lists those there are. */
int sbom_arg_kind(const char *option, const char *name, enum attachment *out,
		  struct error *err) MUST_USE;
/* Read the image and append an SBOM of that kind. ERROR_NOT_FOUND for what only a build knows. */
int sbom_arg_scan(struct image *image, enum attachment kind, struct strbuf *out,
		  struct error *err) MUST_USE;
/* What the build left in the store; false when nothing is known there. */
bool sbom_arg_recall(const struct invocation *in, const struct image *image, enum attachment kind,
		     struct strbuf *out);

#endif
