#include "formats/pkgdb.h"

enum { WORD_LIMIT = 256 };

struct pkgdb_package *pkgdb_add(struct pkgdb *out, const char *kind, struct error *err)
{
	struct pkgdb_package *p;

	if (out->len >= PKGDB_PACKAGES_LIMIT) {
		error_set(err, ERROR_LIMIT, "more than %d packages", PKGDB_PACKAGES_LIMIT);
		return NULL;
	}
	p = vec_add(out);
	p->kind = kind;
	p->name = p->version = p->arch = p->source = p->license = "";
	return p;
}

bool pkgdb_is_word(struct slice text)
{
	if (!text.len || text.len > WORD_LIMIT)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] <= ' ' || text.data[i] > '~')
			return false;
	}
	return true;
}
