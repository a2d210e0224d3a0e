/*
 * rpmdb.sqlite, by SQLite itself on a copy in memory. The file may be anybody's: only the table
 * Packages is read, no view, trigger or function of the file is run, and work is bounded.
 */
#include <sqlite3.h>

#include "formats/pkgdb.h"

#include "base/alloc.h"
#include "formats/rpm_header.h"

enum {
	HEADER_BYTES = 100,
	WRITE_VERSION = 18, /* in the file; 2 asks for a write-ahead log beside it */
	READ_VERSION = 19,
	STEPS = 100000, /* operations of SQLite's machine between two looks at the limit */
	STEPS_LIMIT = 10000,
};

struct source {
	sqlite3 *db;
	sqlite3_stmt *rows;
	unsigned looks;
};

static void source_release(struct source *s)
{
	sqlite3_finalize(s->rows);
	sqlite3_close(s->db);
}

static int stop_when_long(void *data)
{
	struct source *s = data;

	return ++s->looks > STEPS_LIMIT;
}

/* Reading columns of Packages and of the schema is all that may happen. */
static int allow(void *data, int action, const char *a, const char *b, const char *c,
		 const char *trigger)
{
	(void)data, (void)b, (void)c;
	if (trigger)
		return SQLITE_DENY;
	if (action == SQLITE_SELECT)
		return SQLITE_OK;
	if (action == SQLITE_READ && a &&
	    (str_equal(a, "Packages") || str_equal(a, "sqlite_master") ||
	     str_equal(a, "sqlite_schema")))
		return SQLITE_OK;
	return SQLITE_DENY;
}

static int sqlite_error(struct source *s, struct error *err)
{
	if (!s->db || sqlite3_errcode(s->db) == SQLITE_NOMEM)
		out_of_memory();
	return error_set(err, ERROR_FORMAT, "SQLite: %.200s", sqlite3_errmsg(s->db));
}

static int open_copy(struct source *s, struct slice bytes, struct error *err)
{
	uint8_t *copy;

	if (sqlite3_open_v2(":memory:", &s->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		return sqlite_error(s, err);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, RPM_HEADER_LIMIT);
	sqlite3_progress_handler(s->db, STEPS, stop_when_long, s);
	copy = sqlite3_malloc64(bytes.len);
	if (!copy)
		out_of_memory();
	memcpy(copy, bytes.data, bytes.len);
	/* memory has no log beside it; what one would hold was written when rpm ended */
	copy[WRITE_VERSION] = copy[READ_VERSION] = 1;
	if (sqlite3_deserialize(
		    s->db, "main", copy, (sqlite3_int64)bytes.len, (sqlite3_int64)bytes.len,
		    SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		return sqlite_error(s, err);
	sqlite3_set_authorizer(s->db, allow, s);
	return 0;
}

/* A table of its own pages: a virtual one has none. */
static int check_table(struct source *s, struct error *err)
{
	static const char sql[] = "SELECT 1 FROM sqlite_master WHERE name = 'Packages' AND "
				  "type = 'table' AND rootpage > 1";
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	if (rc == SQLITE_ROW)
		return 0;
	if (rc == SQLITE_DONE)
		return error_set(err, ERROR_FORMAT, "SQLite: there is no table Packages");
	return sqlite_error(s, err);
}

static int read_rows(struct source *s, const struct pkgdb_taker *taker, struct error *err)
{
	int step, rc = 0;

	while ((step = sqlite3_step(s->rows)) == SQLITE_ROW) {
		struct error own = { 0 };
		const void *blob = sqlite3_column_blob(s->rows, 0);
		int len = sqlite3_column_bytes(s->rows, 0);

		if (taker->take(taker->user, slice_of(blob, len > 0 ? (size_t)len : 0), &own) < 0 &&
		    !pkgdb_rpm_goes_on(&own, &rc, err))
			return -1;
	}
	return step == SQLITE_DONE ? rc : sqlite_error(s, err);
}

int pkgdb_rpm_sqlite(struct slice bytes, const struct pkgdb_taker *taker, struct error *err)
{
	struct source s = { 0 };
	int rc = -1;

	if (bytes.len < HEADER_BYTES)
		return error_set(err, ERROR_FORMAT, "SQLite: ends early");
	if (open_copy(&s, bytes, err) == 0 && check_table(&s, err) == 0) {
		if (sqlite3_prepare_v2(s.db, "SELECT blob FROM Packages", -1, &s.rows, NULL) ==
		    SQLITE_OK)
			rc = read_rows(&s, taker, err);
		else
			rc = sqlite_error(&s, err);
	}
	source_release(&s);
	return rc;
}
