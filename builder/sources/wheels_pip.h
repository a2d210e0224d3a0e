/*
 * pip at lock time: what it is asked, and what it means when it says no. pip never runs otherwise,
 * and never builds anything: wheels only.
 * Source: pip documentation, "pip install", "Installation report" version 1.
 */
#ifndef BUILDER_SOURCES_WHEELS_PIP_H
#define BUILDER_SOURCES_WHEELS_PIP_H

#include "builder/sources/package_source.h"

/* What an image is for pip. */
struct wheel_target {
	unsigned python_minor;   /* of 3.X */
	const char *python_full; /* "3.11.2", or "3.11" when only that is known */
	unsigned glibc_minor;    /* of 2.X: which manylinux wheels run there */
	const char *machine;     /* "x86_64", "aarch64" */
};

/*
 * Python and C library of a stage: those of its locked packages; for Python else the manifest's
 * stack.python, else 3.11; glibc else 2.28, which current wheels ask for. ERROR_USAGE when the
 * manifest's Python is no version, or is not the one that the packages bring.
 */
int wheel_target_of(const struct source_context *context, const struct source_request *request,
		    struct arena *arena, struct wheel_target *out, struct error *err) MUST_USE;

/*
 * Ask pip which wheels `request` needs; *out_report is what it says. Wheels that their publisher
 * withdrew are warned of when pip warns; *out_warned then is true.
 * Errors: ERROR_USAGE     a requirement or requirements file that cannot be taken (with its place)
 *         ERROR_VERDICT   no set of wheels fits: pip's reason, and the tags that there are
 *         ERROR_INTEGRITY a wheel is not what the requirements file's hashes say
 *         ERROR_NETWORK   the index does not answer, or refuses
 *         ERROR_NOT_FOUND no python3, or none with a pip that writes reports (22.2)
 *         ERROR_SYSTEM    pip broke: its last words
 */
int pip_resolve(const struct source_context *context, const struct source_request *request,
		const struct wheel_target *target, json_t **out_report, bool *out_warned,
		struct error *err) MUST_USE;

/* Append `text` with "user:secret@" cut from every address in it. */
void pip_without_credentials(struct strbuf *out, const char *text);

#endif
