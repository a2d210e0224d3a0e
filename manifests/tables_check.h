/*
 * What the files of the consistency check (tables_check in manifests/tables.h) share.
 */
#ifndef MANIFESTS_TABLES_CHECK_H
#define MANIFESTS_TABLES_CHECK_H

#include "manifests/tables.h"

struct tables_checking {
	const struct tables *t;
	struct tables_faults *out;
};

void tables_fault_add(const struct tables_checking *c, const struct table_origin *row,
		      const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A fault unless there is a toolkit of that CUDA, or drivers report it (12.7). NULL: nothing. */
void tables_need_minor(const struct tables_checking *c, const struct table_origin *row,
		       const char *what, const char *cuda);
/* What the files say twice, in lists that nothing else reads: the two must agree. */
void tables_check_rows(const struct tables_checking *c);

#endif
