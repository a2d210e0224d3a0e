/*
 * Release files: what a repository signs. The text between the signature lines of InRelease, or
 * Release with Release.gpg, is checked by gpgv against named keyrings only; the very bytes that
 * were checked are parsed. Of the lists of digests only SHA256 counts.
 * Source: the Debian repository format; RFC 4880, section 7; gnupg's doc/DETAILS for status lines.
 */
#ifndef BUILDER_SOURCES_APT_RELEASE_H
#define BUILDER_SOURCES_APT_RELEASE_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* A file that the Release names. */
struct apt_release_file {
	struct digest digest;
	uint64_t size; /* bytes */
};

struct apt_release {
	struct arena arena;
	const char *suite, *codename, *origin, *label, *version; /* "" where not said */
	const char *architectures, *components;                  /* words; "" */
	int64_t date;                                            /* seconds since 1970 */
	int64_t valid_until;                                     /* 0: not said */
	bool by_hash, not_automatic, but_automatic_upgrades;
	bool no_all_packages; /* "No-Support-for-Architecture-all: Packages" */
	struct map files;     /* path → struct apt_release_file */
	struct digest digest; /* SHA-256 of the signed text */
};

/*
 * Split a clear-signed text: *out_text gets what is signed (dash escapes undone, blanks at line
 * ends dropped, lines joined by LF without one at the end), *out_signature the armoured signature.
 * ERROR_FORMAT for anything else in the file: text before or after, two messages, NULs, a header
 * that is not "Hash:".
 */
int apt_clearsigned_split(struct slice in, const char *name, struct strbuf *out_text,
			  struct strbuf *out_signature, struct error *err) MUST_USE;

/* Parse verified text. ERROR_FORMAT; ERROR_INTEGRITY when it has no SHA256 list. */
int apt_release_parse(struct slice text, const char *name, struct apt_release *out,
		      struct error *err) MUST_USE;
void apt_release_release(struct apt_release *r);
#define cleanup_apt_release cleanup(apt_release_release)
/* The file of that path below the Release, or NULL. */
const struct apt_release_file *apt_release_file(const struct apt_release *r, const char *path);
/*
 * ERROR_INTEGRITY when Valid-Until has passed at `now` (seconds since 1970), or Date lies more
 * than a day ahead of it.
 */
int apt_release_check_time(const struct apt_release *r, const char *name, int64_t now,
			   struct error *err) MUST_USE;
/* → "2026-07-11T10:16:37Z". Returns buf. */
const char *apt_date_text(int64_t date, char buf[32]);

/* The keys a repository is checked against. */
struct apt_keys {
	const char *const *keyrings; /* files: binary, or armoured; all must exist */
	size_t keyring_count;
	const char *key_text;            /* an armoured key beside them, or NULL */
	const char *const *fingerprints; /* when there are any, only keys of these count */
	size_t fingerprint_count;
	const char *setting; /* the key of the manifest that names them; NULL: "signed-by" */
};

/*
 * Check `text` against a detached, armoured or binary `signature`. `name` is the address it came
 * from. ERROR_INTEGRITY names it, the keyrings and what to do; ERROR_NOT_FOUND when gpgv is
 * missing.
 */
int apt_release_verify(struct slice text, struct slice signature, const struct apt_keys *keys,
		       const char *name, struct error *err) MUST_USE;
/*
 * What gpgv's status lines say: 0 when at least one signature is good by a key that counts and
 * none is bad. Else ERROR_INTEGRITY with the reason alone.
 */
int apt_gpgv_judge(struct slice status, const struct apt_keys *keys, struct error *err) MUST_USE;

#endif
