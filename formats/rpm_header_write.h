/*
 * A header of rpm (rpm_header.h) written entry by entry, in the order of their tags.
 */
#ifndef FORMATS_RPM_HEADER_WRITE_H
#define FORMATS_RPM_HEADER_WRITE_H

#include "base/strbuf.h"
#include "formats/rpm_header.h"

/* A zeroed one is empty; release with rpm_header_writer_release. */
struct rpm_header_writer {
	struct strbuf index, store;
	uint32_t count;
};

/* One entry; `data` holds all its values as they stand in a header. */
void rpm_header_put(struct rpm_header_writer *w, const struct rpm_value *v);
/* Append the whole header, as rpm_header_parse takes it. */
void rpm_header_write(const struct rpm_header_writer *w, struct strbuf *out);
/*
 * The same of entries that are one immutable region, as rpm makes of what it does not have from a
 * package: what is added to the header later stands behind them.
 */
void rpm_header_write_region(const struct rpm_header_writer *w, struct strbuf *out);
void rpm_header_writer_release(struct rpm_header_writer *w);
#define cleanup_rpm_header_writer cleanup(rpm_header_writer_release)

#endif
