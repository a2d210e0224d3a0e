/*
 * The header of an installed package of which next to nothing is there, made from that of the .rpm.
 * It is no longer what was signed, so it has neither signatures nor digests.
 */
#ifndef FORMATS_RPM_RECORD_H
#define FORMATS_RPM_RECORD_H

#include "base/strbuf.h"
#include "formats/rpm_header.h"

/*
 * Append the header, as rpm_header_parse takes it: who the package is, what it provides, conflicts
 * with and obsoletes, and of its files those that are `kept` (by file; may be NULL when it has
 * none). No size, nothing that it requires or recommends, no scripts or triggers. Programs that are
 * not kept are provided by their paths, since others may require them so.
 */
void rpm_record_header(const struct rpm_header *h, const uint8_t *kept, struct strbuf *out);

#endif
