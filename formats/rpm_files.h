/*
 * What a package's header says, in the form rpm_read.h hands out; private to formats/rpm_*.c.
 */
#ifndef FORMATS_RPM_FILES_H
#define FORMATS_RPM_FILES_H

#include "base/arena.h"
#include "base/map.h"
#include "formats/rpm_read.h"

/*
 * Fills `p`, whose header has been parsed; strings go to the arena or stay in the header.
 * `paths`: path → index + 1, of those that are not ghosts. Errors as rpm_read_open.
 */
int rpm_files_fill(struct rpm_package *p, struct arena *arena, struct map *paths,
		   struct error *err) MUST_USE;

#endif
