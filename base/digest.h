/*
 * SHA-256 and SHA-512: a running state, a value, and the "sha256:<hex>" text both ways.
 * Source: OCI image specification 1.1, descriptor.md, "Digests". Uses libcrypto.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "base/error.h"
#include "base/slice.h"

enum digest_algorithm { DIGEST_SHA256 = 0, DIGEST_SHA512 };

enum { DIGEST_HEX_MAX = 128 + 1, DIGEST_TEXT_MAX = 7 + DIGEST_HEX_MAX };

struct digest {
	enum digest_algorithm algorithm;
	uint8_t bytes[64]; /* 32 or 64 of them count */
};

/*
 * Once, before anything of libcrypto is used: it, too, ends the program when memory is short, where
 * it would say that a signature is wrong.
 */
void digest_use_alloc(void);
/* Bytes of a value: 32 or 64. */
size_t digest_size(enum digest_algorithm algorithm);
/* Parse "sha256:" + 64 or "sha512:" + 128 lower-case hex digits. ERROR_FORMAT otherwise. */
int digest_parse(struct slice text, struct digest *out, struct error *err) MUST_USE;
/* Bare 64 hex digits, either case, as package indexes write SHA-256. ERROR_FORMAT otherwise. */
int digest_parse_sha256_hex(struct slice text, struct digest *out, struct error *err) MUST_USE;
/* Write "sha256:<hex>" with a NUL into `out`. Returns out. */
const char *digest_text(const struct digest *d, char out[DIGEST_TEXT_MAX]);
/* The hex digits alone, with a NUL. Returns out. */
const char *digest_hex(const struct digest *d, char out[DIGEST_HEX_MAX]);
bool digest_equal(const struct digest *a, const struct digest *b);
/* "has digest A instead of B", ERROR_INTEGRITY, unless they are equal. */
int digest_check(const struct digest *got, const struct digest *want, struct error *err) MUST_USE;
/* SHA-256 of a slice. */
struct digest digest_of(struct slice s);
/* SHA-1, for formats that are sealed with it and for nothing that has to be proven. */
void digest_sha1(struct slice s, uint8_t out[20]);
/* RECORD files of wheels: sha256 as urlsafe base64 without padding (43 characters + NUL). */
const char *digest_base64url(const struct digest *d, char out[48]);

/* A running digest. Owned by the caller; release it even when finished. */
struct digest_state {
	void *ctx;
	enum digest_algorithm algorithm;
	int pairs; /* private: this processor takes two at a time; 0: nobody asked */
};

void digest_init(struct digest_state *s, enum digest_algorithm algorithm);
void digest_update(struct digest_state *s, const void *data, size_t len);
/*
 * digest_update() of each, for little more than one of them where the processor can (x86 with SHA
 * instructions). `x` and `y` may be the same bytes; what one is longer by is taken alone.
 */
void digest_update_both(struct digest_state *a, struct slice x, struct digest_state *b,
			struct slice y);
/*
 * The same of three, two by two. Least is left to be taken alone where none is longer than the
 * other two together.
 */
void digest_update_three(struct digest_state *a, struct slice x, struct digest_state *b,
			 struct slice y, struct digest_state *c, struct slice z);
/* The value; the state may only be released afterwards. */
struct digest digest_finish(struct digest_state *s);
void digest_release(struct digest_state *s);
#define cleanup_digest cleanup(digest_release)

#endif
