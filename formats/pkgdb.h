/*
 * What is installed, as the databases of package managers say: one shape for all of them. Each
 * pkgdb_*.c reads one kind of database from its bytes. Databases come from images that others
 * made, so nothing in them is believed: a record that cannot be read is left out, one that ends
 * early ends the reading, and what was read until then stays.
 */
#ifndef FORMATS_PKGDB_H
#define FORMATS_PKGDB_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

enum {
	PKGDB_PACKAGES_LIMIT = 100000,
	PKGDB_FILES_LIMIT = 2000000, /* of all packages of one database */
};

struct pkgdb_package {
	const char *kind;           /* "dpkg", "rpm", "apk", "conda" */
	const char *name, *version; /* version with epoch and release, as its manager writes it */
	const char *arch;           /* or "" */
	const char *source;         /* the source package, or "" */
	const char *license;        /* as the database calls it, or "" */
	uint64_t bytes;             /* installed, as the database says; 0: it does not */
	const char *const *files; /* absolute, but of conda: from its prefix; not folders where the
				   * database tells them apart */
	size_t file_count;
};

struct pkgdb {
	struct pkgdb_package *items;
	size_t len, cap;
	size_t files; /* of all packages so far */
};

static inline void pkgdb_release(struct pkgdb *db)
{
	vec_release(db);
}
#define cleanup_pkgdb cleanup(pkgdb_release)

/*
 * Each appends to `out`; strings go to `arena`. -1 when the database could not be read, or not to
 * its end: what was read is in `out` all the same, and the error says why. ERROR_FORMAT,
 * ERROR_LIMIT.
 */

/*
 * /var/lib/dpkg/status, or one file of status.d. Packages that are not installed are left out.
 * Files stand elsewhere: pkgdb_dpkg_files. Source: dpkg(1), deb-control(5).
 */
int pkgdb_dpkg(struct slice text, struct arena *arena, struct pkgdb *out,
	       struct error *err) MUST_USE;
/* The paths of info/NAME.list, or of status.d/NAME.md5sums (`sums`), for a package. ERROR_LIMIT. */
int pkgdb_dpkg_files(struct slice text, bool sums, struct arena *arena, struct pkgdb *db,
		     struct pkgdb_package *package, struct error *err) MUST_USE;
/*
 * /var/lib/rpm or /usr/lib/sysimage/rpm: rpmdb.sqlite, Packages.db (ndb) or Packages (Berkeley DB,
 * hash), told apart by their first bytes. Keys of signers (gpg-pubkey) are no packages.
 * Source: rpm's lib/backend/{sqlite,ndb/rpmpkg,bdb_ro}.c.
 */
int pkgdb_rpm(struct slice bytes, struct arena *arena, struct pkgdb *out,
	      struct error *err) MUST_USE;
/*
 * The same, header by header, each without its magic as rpm_header_parse takes it, keys of signers
 * included. What `take` says of one header is told at the end; ERROR_LIMIT ends the reading.
 */
struct pkgdb_taker {
	int (*take)(void *user, struct slice header, struct error *err);
	void *user;
};
int pkgdb_rpm_each(struct slice bytes, const struct pkgdb_taker *taker, struct error *err) MUST_USE;
/* /var/lib/rpmmanifest/container-manifest-2: lines of rpm's query format, separated by tabs. */
int pkgdb_rpm_manifest(struct slice text, struct arena *arena, struct pkgdb *out,
		       struct error *err) MUST_USE;
/* /lib/apk/db/installed. Source: apk-tools, doc/apk-v2.5.scd "INSTALLED". */
int pkgdb_apk(struct slice text, struct arena *arena, struct pkgdb *out,
	      struct error *err) MUST_USE;
/* One conda-meta/NAME-VERSION-BUILD.json. Source: conda's PrefixRecord. */
int pkgdb_conda(struct slice text, struct arena *arena, struct pkgdb *out,
		struct error *err) MUST_USE;

/* --- for pkgdb_*.c */

/*
 * The next package; NULL (ERROR_LIMIT) when there are too many. Its strings are "" until they are
 * set.
 */
struct pkgdb_package *pkgdb_add(struct pkgdb *out, const char *kind, struct error *err);
/* False for what cannot be a name or version: empty, over 256 bytes, or not printable ASCII. */
bool pkgdb_is_word(struct slice text);
/*
 * One header of many was bad, for what is in *own: *err and *rc keep the first, or the limit that
 * was met. False: the reading ends here.
 */
bool pkgdb_rpm_goes_on(const struct error *own, int *rc, struct error *err);
int pkgdb_rpm_sqlite(struct slice bytes, const struct pkgdb_taker *taker,
		     struct error *err) MUST_USE;
int pkgdb_rpm_ndb(struct slice bytes, const struct pkgdb_taker *taker, struct error *err) MUST_USE;
int pkgdb_rpm_bdb(struct slice bytes, const struct pkgdb_taker *taker, struct error *err) MUST_USE;

#endif
