/*
 * Key stores of Java that hold nothing but certificates to trust: the file that
 * ca-certificates-java and update-ca-trust make, which every Java finds as its cacerts. Only
 * written. docs/formats/jks.md
 *
 * The same certificates give the same bytes: entries come sorted by alias, each with one time.
 * Source: OpenJDK, sun/security/provider/JavaKeyStore.java, engineStore.
 */
#ifndef FORMATS_JKS_H
#define FORMATS_JKS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct jks_entry {
	const char
		*alias; /* UTF-8; no capital ASCII letter, as Java looks aliases up in small ones */
	struct slice der;
};

struct jks_entries {
	struct jks_entry *items;
	size_t len, cap;
};

/* Strings are borrowed. */
void jks_entries_release(struct jks_entries *entries);
#define cleanup_jks_entries cleanup(jks_entries_release)

/*
 * An alias from `text`: ASCII letters become small. Where another entry has it already, "-1", "-2"
 * and so on follow. In `arena`.
 */
const char *jks_alias(const struct jks_entries *entries, struct slice text, struct arena *arena);

/*
 * Append a store of the entries, sealed with `password` (ASCII). `seconds`: since 1970, the time of
 * each entry. Entries are sorted on the way. ERROR_LIMIT for an alias of more than 65535 bytes or a
 * certificate of more than 1 MiB.
 */
int jks_write(struct jks_entries *entries, const char *password, uint64_t seconds,
	      struct strbuf *out, struct error *err) MUST_USE;

#endif
