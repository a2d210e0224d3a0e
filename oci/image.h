/*
 * One opened image of one platform: manifest, configuration, layers; computes what its source
 * does not carry, and verifies every byte it hands out. Threads may read layers of one image at a
 * time; all else is one thread's.
 */
#ifndef OCI_IMAGE_H
#define OCI_IMAGE_H

#include "base/vec.h"
#include "formats/compress.h"
#include "oci/config.h"
#include "oci/manifest.h"
#include "oci/reference.h"
#include "oci/source.h"

struct image {
	struct arena arena;
	const char *name;             /* as the user wrote it */
	struct image_source *source;  /* owned */
	const char *rootfs;           /* unpacked root: no manifest, config or layers; else NULL */
	struct descriptor root;       /* what the name stands for: index or manifest */
	struct descriptor descriptor; /* of the image manifest; its platform is the index entry's */
	struct manifest manifest;
	struct image_config config;
	struct strbuf manifest_text, config_text; /* the exact bytes */
	uint64_t unpacked_floor;         /* bytes that a layer may unpack to, however small it is */
	signed char *layer_compressions; /* enum compression of each layer whose content was opened,
					    else -1 */
};

/*
 * Open the image a parsed name stands for: oci:, oci-archive:, docker-archive:, rootfs: and
 * standard input; docker-daemon: and containers-storage: through `docker save` and `podman save`.
 * (docker:// comes from registry/: the caller then uses image_open_source.) Errors of any code,
 * with the name.
 *
 * From an index, also a nested one (4 deep), the image of `platform` is taken; attestations and
 * artifacts do not count; an entry that differs in the variant alone serves when none was asked
 * for. `platform` NULL: the host's, or else the only image there is; a name that stands for one
 * image is then opened whatever its platform. ERROR_NOT_FOUND lists the platforms there are.
 */
int image_open(const struct image_name *name, const struct platform *platform, struct image *out,
	       struct error *err) MUST_USE;
/* The same of a source, which is taken, also when it fails. `name` is for texts. */
int image_open_source(struct image_source *source, const char *name,
		      const struct platform *platform, struct image *out,
		      struct error *err) MUST_USE;
/* Where the blobs of that name come from, for several images of one index. NULL on error. */
struct image_source *image_source_open(const struct image_name *name, struct error *err) MUST_USE;

struct platforms {
	struct platform *items;
	size_t len, cap;
};

/*
 * The platforms of the images that the source's name stands for, in the order of the index, nested
 * ones too, each once. A single image, or an unpacked root, gives one whose os is NULL. Strings
 * live in `arena`; release *out with vec_release. ERROR_FORMAT, ERROR_LIMIT: nested too deep.
 */
int image_platforms(struct image_source *source, struct arena *arena, struct platforms *out,
		    struct error *err) MUST_USE;
void image_release(struct image *image);
#define cleanup_image cleanup(image_release)

/*
 * Most that a layer unpacks to, so that an archive bomb ends: 64 GiB (image.unpacked_floor, which
 * tests lower), or a hundred times its own bytes where that is more.
 */
#define IMAGE_UNPACKED_FLOOR (64 * GIB)
enum { IMAGE_RATIO_MAX = 100 };

/*
 * The plain tar of layer `i`. Both the compressed digest and the diff_id are verified: reading to
 * the end fails with ERROR_INTEGRITY when either is wrong. The compression is told by the content,
 * not by the media type. ERROR_LIMIT when it unpacks to more than is allowed. NULL on error. The
 * caller closes it, before the image.
 */
struct stream *image_layer(struct image *image, size_t i, struct error *err) MUST_USE;
/* The compressed bytes of layer `i`, verified at the end. NULL on error; the caller closes it. */
struct stream *image_layer_blob(struct image *image, size_t i, struct error *err) MUST_USE;

#endif
