/*
 * Image names as users write them (transport:rest) and registry references
 * (registry/name:tag@digest). Source: distribution specification 1.1 "Pulling manifests";
 * containers-transports(5) for the prefixes.
 */
#ifndef OCI_REFERENCE_H
#define OCI_REFERENCE_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"

struct reference {
	const char *registry;   /* host[:port]; "docker.io" when none is written */
	const char *repository; /* "library/debian" */
	const char *tag;        /* NULL: none written and a digest is there; else "latest" */
	bool has_digest;
	struct digest digest;
};

/*
 * The part before the first "/" is the registry when it holds a "." or ":" or an upper-case letter
 * or is "localhost". index.docker.io is docker.io, whose one-part names lie in "library/".
 * ERROR_USAGE with the offending part. Strings live in `arena`.
 */
int reference_parse(const char *text, struct arena *arena, struct reference *out,
		    struct error *err) MUST_USE;
/* "registry/repository:tag@digest", in `arena`. */
const char *reference_text(const struct reference *r, struct arena *arena);
/* Of one repository, whatever tag and digest. */
bool reference_same_repository(const struct reference *a, const struct reference *b);
/* [a-zA-Z0-9_][a-zA-Z0-9._-]{0,127} */
bool reference_tag_valid(const char *tag);
/*
 * A tag that stands for what is attached to an image, not for one: "sha256-<64 hex digits>", also
 * with ".sig", ".att", ".sbom" behind it.
 * Source: distribution specification 1.1, "Referrers tag schema"; cosign's tags.
 */
bool reference_tag_attached(const char *tag);

enum transport {
	TRANSPORT_OCI,                /* oci:DIR[:TAG] */
	TRANSPORT_OCI_ARCHIVE,        /* oci-archive:FILE[:TAG] */
	TRANSPORT_DOCKER_ARCHIVE,     /* docker-archive:FILE[:TAG] */
	TRANSPORT_ROOTFS,             /* rootfs:DIR */
	TRANSPORT_DOCKER,             /* docker://REF */
	TRANSPORT_DOCKER_DAEMON,      /* docker-daemon:REF */
	TRANSPORT_CONTAINERS_STORAGE, /* containers-storage:REF */
	TRANSPORT_STDIN,              /* - */
};

struct image_name {
	enum transport transport;
	const char *path;     /* file or directory; NULL for the others */
	const char *tag;      /* after the path; NULL: none */
	struct reference ref; /* TRANSPORT_DOCKER and the two engines */
	const char *text;     /* as the user wrote it */
};

/*
 * Without a prefix an existing path is recognised by its content (a directory with oci-layout,
 * another directory, an archive: then TRANSPORT_OCI_ARCHIVE, archive_source() tells the kinds
 * apart), anything else is a registry reference. ERROR_USAGE, ERROR_NOT_FOUND (written like a
 * path, and nothing is there).
 *
 * A path with ":" in it: the whole if that exists; else the longest existing path that ends before
 * a ":", so that "docker-archive:app.tar:example/app:v1" works; else, for what is yet to be
 * written, all before the last ":" if a valid tag follows. `tag` may thus be a whole reference.
 */
int image_name_parse(const char *text, struct arena *arena, struct image_name *out,
		     struct error *err) MUST_USE;

#endif
