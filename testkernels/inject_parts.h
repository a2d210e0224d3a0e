/*
 * What the files of inject share, and nobody else includes.
 */
#ifndef TESTKERNELS_INJECT_PARTS_H
#define TESTKERNELS_INJECT_PARTS_H

#include "testkernels/host_driver.h"
#include "testkernels/inject.h"

void inject_fault(struct injection *in, const char *code, const char *text);
void inject_note(struct injection *in, const char *code, const char *text);

/*
 * Edits from what this machine has: nodes, libraries of the driver's version, its programs, and the
 * hooks NVIDIA's tools would write for them. With method "legacy" or "enroot" what the image's
 * environment asks for, into the directory that they use.
 */
int inject_discover(const struct inject_request *request, const struct host_driver *driver,
		    struct arena *arena, struct injection *out, struct error *err) MUST_USE;

#endif
