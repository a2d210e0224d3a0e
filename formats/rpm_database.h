/*
 * The database of installed packages as rpm 4.16 and later keep it: an SQLite file rpmdb.sqlite
 * with one table of headers and one table for each thing by which rpm looks them up.
 *
 * The header of an installed package is that of the .rpm, left as it is so that its digests and
 * signatures still hold, with what its signature header says and what is only known after the
 * installation behind it.
 * Source: rpm's lib/backend/sqlite.c, lib/rpmdb.c, docs/manual/hregions.md; sqlite.org/fileformat2.
 */
#ifndef FORMATS_RPM_DATABASE_H
#define FORMATS_RPM_DATABASE_H

#include "base/strbuf.h"
#include "formats/rpm_header.h"

struct rpm_installed {
	struct slice stored; /* as it stood in a database, taken as it is; else empty, and: */
	struct slice header, signature; /* as rpm_header_parse takes them */
	uint32_t color;        /* of the transaction: 1 takes 32-bit files, 2 64-bit, 3 both */
	const uint8_t *absent; /* by file: 1 when it was left out; NULL: all are there */
};

/*
 * Append the whole file. `time` (seconds since 1970) is when all were installed. The same packages
 * in the same order give the same bytes with one version of SQLite.
 * Errors: ERROR_FORMAT a header that cannot be read or extended; ERROR_SYSTEM of SQLite.
 */
int rpm_database_write(const struct rpm_installed *items, size_t count, uint32_t time,
		       struct strbuf *out, struct error *err) MUST_USE;
/* The header of an installed package, as it stands in the database. */
int rpm_installed_header(const struct rpm_installed *item, uint32_t time, struct strbuf *out,
			 struct error *err) MUST_USE;

#endif
