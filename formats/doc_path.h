/*
 * Which paths of a package are documentation: what the record of a package that the host brings
 * keeps, and how such a record is told from a package. Paths are as in an archive, without a "/"
 * before them.
 * Source: Filesystem Hierarchy Standard 3.0, 4.11 "/usr/share"; Fedora, "Licensing Guidelines", for
 * /usr/share/licenses.
 */
#ifndef FORMATS_DOC_PATH_H
#define FORMATS_DOC_PATH_H

#include "base/base.h"

/* Below usr/share/doc or usr/share/licenses. */
bool doc_path_is(const char *path);
/* A folder that those lie in, or one of the two; "" is the root. */
bool doc_path_is_above(const char *path);

#endif
