/*
 * A descriptor: media type, digest and size, with what else may stand in one.
 * Source: OCI image specification 1.1, descriptor.md.
 */
#ifndef OCI_DESCRIPTOR_H
#define OCI_DESCRIPTOR_H

#include "base/arena.h"
#include "base/digest.h"
#include "formats/json.h"

struct platform {
	const char *os;           /* "linux"; NULL: no platform given */
	const char *architecture; /* "amd64", "arm64" */
	const char *variant;      /* NULL: none */
};

struct descriptor {
	const char *media_type;
	struct digest digest;
	uint64_t size; /* bytes */
	struct platform platform;
	const char *artifact_type; /* NULL: none */
	const json_t *annotations; /* borrowed from the parsed document; NULL: none */
};

/*
 * `where` names the value in errors ("layers[2]"). Strings are copied to `arena`. A platform
 * without os or architecture gets "unknown" for it. ERROR_FORMAT: a required member is missing or
 * ill-typed, the digest is malformed or neither sha256 nor sha512, an annotation is no text.
 */
int descriptor_parse(const json_t *value, const char *where, struct arena *arena,
		     struct descriptor *out, struct error *err) MUST_USE;
/* The value of an annotation, or NULL; as long as the document. */
const char *descriptor_annotation(const struct descriptor *d, const char *key);
/* A new object; the caller's to json_decref. */
json_t *descriptor_json(const struct descriptor *d);
/*
 * Parse "linux/amd64", "linux/arm64/v8" (the default variant is dropped; x86_64 and aarch64 are
 * taken for amd64 and arm64). ERROR_USAGE.
 */
int platform_parse(const char *text, struct arena *arena, struct platform *out,
		   struct error *err) MUST_USE;
/* "linux/amd64"; in `arena`. */
const char *platform_text(const struct platform *p, struct arena *arena);
/* arm64 and arm64/v8 are the same, so are amd64 and amd64/v1. NULL members equal only NULL. */
bool platform_equal(const struct platform *a, const struct platform *b);
/* What this program runs on. */
struct platform platform_host(void);

#endif
