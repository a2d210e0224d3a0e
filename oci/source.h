/*
 * Where an image's blobs come from, as an interface: a layout directory, an archive, an unpacked
 * root; a registry implements it too, so that lint never includes registry.
 *
 * A source supplies the minimum; oci/image.h computes the rest. Layers are asked for by several
 * threads at a time, everything else by one.
 */
#ifndef OCI_SOURCE_H
#define OCI_SOURCE_H

#include "base/stream.h"
#include "oci/descriptor.h"

struct image_source;

/* What may be believed of a blob without reading it. */
enum blob_identity {
	BLOB_UNKNOWN,
	BLOB_IS_FILE,   /* the same bytes as long as the text stays the same */
	BLOB_IS_DIGEST, /* it is asked for by its digest, of somebody who answers for that */
};

struct image_source_ops {
	/*
	 * The document that the name stands for (index or manifest), appended to `out`, and its
	 * descriptor. Its digest has been verified where the source knows one.
	 */
	int (*root)(struct image_source *s, struct strbuf *out, struct descriptor *desc,
		    struct error *err);
	/* The bytes of a blob, unverified; NULL on error. The caller closes the stream. */
	struct stream *(*blob)(struct image_source *s, const struct descriptor *desc,
			       struct error *err);
	void (*close)(struct image_source *s);
	/* See source_identity(); NULL: nothing is known. */
	enum blob_identity (*identity)(struct image_source *s, const struct descriptor *desc,
				       struct strbuf *out);
};

struct image_source {
	const struct image_source_ops *ops;
	const char *rootfs; /* path of an unpacked root: then there are no blobs; else NULL */
};

static inline void image_source_close(struct image_source *s)
{
	if (s)
		s->ops->close(s);
}
/* The same source for one more user, who may close it: `s` itself stays open. Never NULL. */
struct image_source *source_borrow(struct image_source *s);
/*
 * What is known of a blob's bytes; for BLOB_IS_FILE a text is appended to `out` that changes with
 * whatever is done to the file. One that was written in the last seconds is not known yet.
 */
enum blob_identity source_identity(struct image_source *s, const struct descriptor *desc,
				   struct strbuf *out);
/* The same of an open file, for sources: its inode, size and times. `fd` may be -1. */
enum blob_identity source_file_identity(int fd, struct strbuf *out);
/*
 * Append a whole blob, verified. ERROR_LIMIT over `limit` bytes, ERROR_INTEGRITY, and what the
 * source gives.
 */
int source_read(struct image_source *s, const struct descriptor *desc, uint64_t limit,
		struct strbuf *out, struct error *err) MUST_USE;

DEFINE_CLEANUP(struct image_source *, image_source_close)
#define cleanup_source cleanup(image_source_close_p)

#endif
