/*
 * redistrib_LABEL.json: NVIDIA's list of the archives of one release of a product (CUDA, cuDNN,
 * the driver), with a SHA-256 for each. The files carry no signature.
 *
 * Texts beside the components say date, label and product (from CUDA 12.2 on); every object is a
 * component, every object in it a platform, which holds an archive itself or one for each CUDA
 * variant ("cuda12", "cuda13", "cuda13.5"). What is not known and no object is passed over. The
 * MD5 sums are not read. The layout is on docs/formats/redistrib.md.
 */
#ifndef BUILDER_SOURCES_REDIST_JSON_H
#define BUILDER_SOURCES_REDIST_JSON_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/slice.h"

struct redist_file {
	const char *platform; /* "linux-x86_64" */
	const char *variant;  /* "cuda13", or "" */
	const char *path;     /* relative to the folder of the manifest, clean */
	struct digest digest; /* SHA-256 */
	uint64_t size;        /* bytes */
};

struct redist_component {
	const char *key;     /* "cuda_cudart" */
	const char *title;   /* "CUDA Runtime (cudart)", or "" */
	const char *license; /* "CUDA Toolkit", or "" */
	const char *version; /* "13.0.96": not the label of the release */
	struct redist_file *files;
	size_t count;
};

struct redist_manifest {
	const char *date;               /* "2025-10-09", or "" */
	const char *label;              /* "13.0.2", or "" */
	const char *product;            /* "cuda", or "" */
	struct redist_component *items; /* at least one */
	size_t count;
};

/*
 * Read `text`; everything in *out lives in `arena`. ERROR_FORMAT and ERROR_LIMIT name the file, as
 * `name` calls it, and the component. Paths with "..", a scheme, a leading "/" or a character that
 * no address needs are refused, as are sizes that are not digits, of 0 or above 64 GiB.
 * Limits: 4096 components, 64 archives each.
 */
int redist_json_parse(struct slice text, const char *name, struct arena *arena,
		      struct redist_manifest *out, struct error *err) MUST_USE;
/* The component of that key, or NULL. */
const struct redist_component *redist_json_find(const struct redist_manifest *m, const char *key);
/*
 * The archive for a platform ("linux-x86_64"; else the one for "linux-all") and the CUDA "13.5":
 * the variant of that very version, else of its major. ERROR_NOT_FOUND lists what there is.
 */
int redist_json_choose(const struct redist_component *c, const char *platform, const char *cuda,
		       const struct redist_file **out, struct error *err) MUST_USE;

#endif
