/*
 * Databases of packages: the first byte says of which kind the rest is. Properties: names and
 * versions are words, lists of files have what they count, and an error is told in words.
 */
#include "formats/pkgdb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

typedef int read_fn(struct slice bytes, struct arena *arena, struct pkgdb *out, struct error *err);

static void check(const struct pkgdb *db)
{
	for (size_t i = 0; i < db->len; i++) {
		const struct pkgdb_package *p = &db->items[i];

		if (!pkgdb_is_word(slice_str(p->name)) || !*p->version || !p->arch || !p->source ||
		    !p->license)
			abort();
		for (size_t k = 0; k < p->file_count; k++) {
			if (!p->files[k])
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static read_fn *const readers[] = { pkgdb_dpkg, pkgdb_apk, pkgdb_conda, pkgdb_rpm,
					    pkgdb_rpm_manifest };
	cleanup_arena struct arena arena = { 0 };
	cleanup_pkgdb struct pkgdb db = { 0 };
	struct error err = { 0 };

	if (!len)
		return 0;
	if (readers[data[0] % ARRAY_LEN(readers)](slice_of(data + 1, len - 1), &arena, &db, &err) <
		    0 &&
	    !*err.text)
		abort();
	check(&db);
	return 0;
}
