/*
 * What an image leaves to its host (builder/left_to_host.h), in the reports on images that are to
 * be built or were.
 */
#ifndef CLI_HOST_REPORT_H
#define CLI_HOST_REPORT_H

#include "formats/json.h"
#include "manifests/lockfile.h"

/* Append a line for each such package of a platform; nothing where there is none. */
void host_report_text(const struct lockfile *lock, const char *platform, struct strbuf *text);
/* Always an array: name, version, needed_by, and the note that people get. */
json_t *host_report_json(const struct lockfile *lock, const char *platform);

#endif
