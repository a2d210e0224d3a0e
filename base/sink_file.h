/*
 * A file that appears when it is complete, and not at all when writing it failed.
 */
#ifndef BASE_SINK_FILE_H
#define BASE_SINK_FILE_H

#include "base/sink.h"

typedef int sink_file_fn(void *user, struct sink *sink, struct error *err);

/*
 * What `write` writes becomes `file`, on the disk and readable by all; a file that is there is
 * replaced. Missing folders are made. Errors: those of `write`; ERROR_SYSTEM.
 */
int sink_file_write(const char *file, sink_file_fn *write, void *user, struct error *err) MUST_USE;

#endif
