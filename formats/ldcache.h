/*
 * The loader cache /etc/ld.so.cache, read and written: glibc's new format
 * ("glibc-ld.so.cache1.1") with its extension area; reading also takes the old header before it.
 * Source: glibc elf/cache.c, sysdeps/generic/dl-cache.h.
 */
#ifndef FORMATS_LDCACHE_H
#define FORMATS_LDCACHE_H

#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum {
	LDCACHE_X86_64_LIB64 = 0x0303,
	LDCACHE_AARCH64_LIB64 = 0x0a03,
};

struct ldcache_entry {
	const char *soname; /* "libcudart.so.13" */
	const char *path;   /* absolute, as the loader opens it */
	uint32_t flags;     /* LDCACHE_* */
	const char *hwcaps; /* "x86-64-v3", or "" */
};

struct ldcache {
	struct ldcache_entry *items; /* in the file's order */
	size_t len, cap;
	char *text; /* backs the strings; owned */
};

/* ERROR_FORMAT on anything that points outside. Release with ldcache_release. */
int ldcache_read(struct slice file, struct ldcache *out, struct error *err) MUST_USE;
void ldcache_release(struct ldcache *cache);
#define cleanup_ldcache cleanup(ldcache_release)

/*
 * Write a cache for these entries (any order: they are sorted as ldconfig sorts them, descending
 * by the loader's number-aware comparison, hwcaps variants before plain ones) that glibc's
 * loader and `ldconfig -p` accept.
 */
void ldcache_write(const struct ldcache_entry *entries, size_t count, struct strbuf *out);
/* The same, with that name of who wrote it instead of ours. */
void ldcache_write_as(const char *generator, const struct ldcache_entry *entries, size_t count,
		      struct strbuf *out);
/* The loader's comparison of names: digits as numbers (glibc _dl_cache_libcmp). */
int ldcache_compare(const char *a, const char *b);

/* Whether ldconfig looks at a file of that name: "libc.so.6", "ld-linux-x86-64.so.2". */
bool ldcache_takes_name(const char *name);

#endif
