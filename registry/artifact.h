/*
 * What is attached to images: signatures, SBOMs, statements. Small documents of a registry's
 * repository or of a layout, found from the digest of what they are about: its "subject".
 *
 * Three ways lead from a subject to them, and all are followed:
 *   the referrers API of registries that have it
 *   the tag "sha256-<hex>", an index of referrers, where they have not, and in layouts
 *   the tags "sha256-<hex>.sig" and ".att" of cosign
 * All of it is hostile until a signature says otherwise: digests are checked, sizes and counts
 * limited.
 * Source: OCI distribution specification 1.1, "Listing Referrers", "Pushing Manifests with Subject"
 * and "Referrers Tag Schema"; image specification 1.1, manifest.md, "Guidelines for Artifact
 * Usage".
 */
#ifndef REGISTRY_ARTIFACT_H
#define REGISTRY_ARTIFACT_H

#include "base/vec.h"
#include "oci/layout.h"
#include "oci/reference.h"
#include "registry/client.h"

enum { ARTIFACTS_MAX = 1000, ARTIFACT_BYTES_MAX = 64 * 1024 * 1024 };

#define MEDIATYPE_OCI_EMPTY "application/vnd.oci.empty.v1+json"

struct artifact_list {
	struct descriptor *items; /* strings in the arena; annotations: see below */
	size_t len, cap;
};

/* Where artifacts lie. Kinds embed it as their first member. */
struct artifact_place {
	const struct artifact_place_ops *ops;
};

struct artifact_place_ops {
	/* By tag or digest: as client_manifest_get, ERROR_NOT_FOUND. */
	int (*get_manifest)(struct artifact_place *p, const char *name, struct arena *arena,
			    struct strbuf *out, struct descriptor *desc, struct error *err);
	/* *out_listed: the place itself adds it to its subject's referrers. */
	int (*put_manifest)(struct artifact_place *p, const char *name,
			    const struct descriptor *desc, struct slice text, bool *out_listed,
			    struct error *err);
	/* Appended, verified; at most ARTIFACT_BYTES_MAX. */
	int (*get_blob)(struct artifact_place *p, const struct descriptor *desc, struct strbuf *out,
			struct error *err);
	/* `desc` is of `bytes`. */
	int (*put_blob)(struct artifact_place *p, const struct descriptor *desc, struct slice bytes,
			struct error *err);
	/* The referrers API. *out_there false: there is none, and that is no error. */
	int (*list)(struct artifact_place *p, const struct digest *subject, struct arena *arena,
		    struct artifact_list *out, bool *out_there, struct error *err);
	/*
	 * Between the two nobody else changes what tags stand for. NULL: the place has no such
	 * thing, as registries have not.
	 */
	int (*hold)(struct artifact_place *p, struct error *err);
	void (*release)(struct artifact_place *p);
	void (*close)(struct artifact_place *p);
};

void artifact_place_close(struct artifact_place *p);
DEFINE_CLEANUP(struct artifact_place *, artifact_place_close)
#define cleanup_artifact_place cleanup(artifact_place_close_p)

/*
 * A repository, opened for CLIENT_PULL, or CLIENT_PUSH when something is put. It goes with the
 * place. NULL of NULL, so that an error of opening passes through.
 */
struct artifact_place *artifact_registry(struct client_repository *r);
/* The same of a layout. */
struct artifact_place *artifact_layout(struct layout *l);

/* "sha256-<hex>" and a suffix ("", ".sig", ".att"); heap. */
char *artifact_tag(const struct digest *subject, const char *suffix);
/* The manifest under a tag, or *out_there false. Errors: those of client.h, or of layout.h. */
int artifact_get_tag(struct artifact_place *p, const char *tag, struct arena *arena,
		     struct strbuf *out, struct descriptor *desc, bool *out_there,
		     struct error *err) MUST_USE;
/*
 * The referrers of a subject, as the place lists them, each once. Nobody signed that list: what the
 * documents themselves say is what counts. ERROR_FORMAT, ERROR_LIMIT.
 */
int artifact_list(struct artifact_place *p, const struct digest *subject, struct arena *arena,
		  struct artifact_list *out, struct error *err) MUST_USE;

/*
 * A document that several may change at once: read what is under `tag`, let `change` make the new
 * one, put it unless another came meanwhile, and look after a while whether `done` still holds;
 * else again.
 *
 * Registries have no way to put a document only if the old one is still there, so who writes last
 * wins. What is promised: ours is there for a while (half a second, or twice as long as it took us
 * to look and write, but no more than five seconds) after it was written, and when others wrote as
 * well, for as long after that as the document takes to stay the same for a while. What cannot be:
 * another who read before that while began and writes after it ended takes ours away unseen, and so
 * does a program that does not look before it writes. To sign again adds what was lost. A layout is
 * held while it is updated, and nothing is lost.
 */
struct artifact_update {
	const char *tag;
	/* The document that is there ("" when none) to the new one. */
	int (*change)(void *user, struct slice old, struct strbuf *out, struct error *err);
	/* Whether nothing is to be changed any more. */
	bool (*done)(void *user, struct slice now);
	void *user;
	const char *media_type;
	/* Kept by the functions below; 0 at first. */
	bool pending;
	unsigned tries;
	uint64_t took_ms, since_ms;
	struct digest seen;
};
/*
 * Put it, if it is not done; then see to it that it stays. Between the two the caller may do other
 * things, which count for the while that is waited; what `update` points to has to last until then.
 */
int artifact_update_begin(struct artifact_place *p, struct artifact_update *update,
			  struct error *err) MUST_USE;
int artifact_update_settle(struct artifact_place *p, struct artifact_update *update,
			   struct error *err) MUST_USE;

struct artifact {
	const struct descriptor *subject; /* media type, digest and size count */
	const char *type;                 /* of the artifact and of its one blob */
	struct slice bytes;
	const json_t *annotations; /* borrowed; NULL: none */
};
/*
 * Attach a blob to its subject, with a manifest of its own, put by digest; where the place does not
 * list it by itself, the list under a tag is updated as above.
 */
int artifact_attach(struct artifact_place *p, const struct artifact *artifact,
		    struct error *err) MUST_USE;
/* The same of a manifest that is there or whose blobs are; `desc` as the list is to have it. */
int artifact_attach_manifest(struct artifact_place *p, const struct digest *subject,
			     const struct descriptor *desc, struct slice text,
			     struct error *err) MUST_USE;
/*
 * The same in two steps, the second being artifact_update_settle of `update`. It stays where it is
 * until then, and the artifact's type and annotations last as long.
 */
struct artifact_attaching {
	struct descriptor manifest;
	struct artifact_list ours; /* that one */
	char *tag;
	struct artifact_update update;
};
int artifact_attach_begin(struct artifact_place *p, const struct artifact *artifact,
			  struct artifact_attaching *out, struct error *err) MUST_USE;
void artifact_attaching_release(struct artifact_attaching *a);
#define cleanup_artifact_attaching cleanup(artifact_attaching_release)

/*
 * Copy all that is attached to `subject`: referrers and their referrers, cosign's tags. *out_count
 * (may be NULL) tells how many manifests. ERROR_FORMAT, ERROR_LIMIT what is attached; else as
 * above.
 */
int artifact_copy(struct artifact_place *from, struct artifact_place *to,
		  const struct digest *subject, size_t *out_count, struct error *err) MUST_USE;

#endif
