/*
 * An SBOM: what an image is made of, in one shape that is written as SPDX 2.3 or as
 * CycloneDX 1.6. Written twice it gives the same bytes: components are sorted, the one time of the
 * image is the time, and identifiers come from the image's digest.
 *
 * Files are not listed one by one; of a component that has libraries which no package database
 * names (wheels, archives of a redistrib manifest, files of the user) each library is.
 * Sources: SPDX specification 2.3; CycloneDX 1.6 (bom-1.6.schema.json); purl-spec, PURL-TYPES.
 */
#ifndef FORMATS_SBOM_H
#define FORMATS_SBOM_H

#include "base/digest.h"
#include "base/strbuf.h"
#include "formats/license.h"

enum sbom_kind {
	SBOM_DEB,
	SBOM_RPM,
	SBOM_WHEEL,
	SBOM_REDIST,
	SBOM_TREE,  /* files of the manifest, or a folder source */
	SBOM_STAGE, /* what a build stage gave */
	SBOM_OWN,   /* what gpuimg made: links, caches, accounts */
	SBOM_BASE,  /* the base image */
	SBOM_OTHER, /* of another package manager: apk, conda */
};

/* A library of a component. */
struct sbom_library {
	const char *path; /* absolute in the image */
	bool has_digest;
	struct digest digest;
	const char *redistribution; /* what a list says of it, or NULL */
};

struct sbom_component {
	enum sbom_kind kind;
	const char *name, *version; /* version: "" when there is none */
	const char *arch;           /* "" */
	const char *source;         /* the source package, or "" */
	const char *license;        /* an SPDX expression, or NULL */
	const char *license_path;   /* of its text in the image, or NULL */
	const char *redistribution; /* what the lists say of its libraries, or NULL */
	const char *purl;           /* or NULL */
	const char *note;           /* a sentence on what of it is in the image, or NULL */
	const char *url;            /* where it came from, or "" */
	bool has_digest;
	struct digest digest; /* of the package's file */
	size_t files;         /* of the image that are its own */
	VEC(struct sbom_library) libraries;
};

struct sbom {
	struct arena arena;   /* of all texts */
	const char *name;     /* "acme/ml/trainer" */
	const char *tag;      /* or "" */
	const char *platform; /* "linux/amd64" */
	const char *created;  /* RFC 3339, UTC */
	bool has_manifest;
	struct digest manifest; /* of the platform's image; else of anything that settles it */
	VEC(struct sbom_component) components;
	struct license_refs refs;
};

void sbom_release(struct sbom *sbom);
#define cleanup_sbom cleanup(sbom_release)

/* Sort components by kind, name, version and architecture, their libraries by path. */
void sbom_sort(struct sbom *sbom);

/* Append the document, canonical JSON with a final newline; `sbom` is sorted. */
void sbom_write_spdx(const struct sbom *sbom, struct strbuf *out);
void sbom_write_cyclonedx(const struct sbom *sbom, struct strbuf *out);

struct sbom_qualifier {
	const char *key, *value; /* in the order of keys; NULL or "" is left out */
};

/*
 * "pkg:deb/debian/libc6@2.36-9?arch=amd64", in `arena`. `space` may be NULL or several parts
 * with "/" between. Source: purl-spec, "How to build purl string from its components".
 */
const char *sbom_purl(struct arena *arena, const char *type, const char *space, const char *name,
		      const char *version, const struct sbom_qualifier *qualifiers, size_t count);

/* "lib*.so", "lib*.so.1.2": the file name of a shared library. */
bool sbom_is_library(const char *path);

/*
 * A name-based UUID (version 8 of RFC 9562: the first 122 free bits of SHA-256 of the texts), for
 * serial numbers. 36 characters and a NUL. Returns `out`.
 */
const char *sbom_uuid(const struct sbom *sbom, const char *purpose, char out[37]);

#endif
