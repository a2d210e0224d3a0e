/*
 * The lock: the exact inputs of a build, per platform, canonical and stable so that it diffs well.
 * Lies as stack.lock.json beside stack.yaml. Pretty JSON with sorted keys; schema "gpuimg-lock/1";
 * the layout is on docs/formats/lockfile.md. Empty texts, false flags and a digest of nothing but
 * zeros are left out.
 *
 * Strings live in the lock's arena.
 */
#ifndef MANIFESTS_LOCKFILE_H
#define MANIFESTS_LOCKFILE_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum lock_kind {
	LOCK_DEB,
	LOCK_WHEEL,
	LOCK_TREE,   /* a folder source */
	LOCK_REDIST, /* an archive of a redistrib manifest */
	LOCK_RPM,
	LOCK_IMAGE, /* a blob of the base image: its manifest, configuration, a layer */
};

/* One input of one stage. The order within a stage counts: it is that of configuration. */
struct lock_input {
	enum lock_kind kind;
	const char *stage;
	const char *source;  /* id in the manifest */
	const char *name;    /* package name; LOCK_TREE: path; LOCK_IMAGE: "base" (the manifest),
				"base.config", "base.layer[0]" */
	const char *version; /* "" for LOCK_TREE; LOCK_IMAGE: "sha256:…" of the manifest, or "" */
	const char *arch;    /* "amd64", "all", "noarch", ""; LOCK_REDIST: "linux-x86_64" */
	const char *url;     /* where it was found, credentials cut; LOCK_TREE: ""; LOCK_IMAGE: the
				image's name, "docker://HOST/NAME@sha256:…" or "oci:DIR:TAG" */
	const char *license; /* as the source calls it: "CUDA Toolkit"; "" or NULL */
	struct digest digest; /* SHA-256 of the file; LOCK_TREE: of the canonical listing */
	uint64_t size;        /* bytes; LOCK_TREE: sum of the files */
	bool requested;       /* named in the manifest, not only wanted by another package */
	bool toolkit;         /* brought by the stack section: goes under /usr/local/cuda-X.Y */
	/*
	 * LOCK_DEB, LOCK_RPM: of the driver, which the host brings, so that only its record goes
	 * into the image: the package that needs it. "" or NULL: of any other.
	 */
	const char *host_for;
};

/* Of the driver: only its record goes into the image. */
static inline bool lock_input_is_hosts(const struct lock_input *in)
{
	return in->host_for && *in->host_for;
}

struct lock_platform {
	const char *platform; /* "linux/amd64" */
	struct {
		struct lock_input *items;
		size_t len, cap;
	} inputs;
};

/* What a source said of itself, for freeze and downgrade checks. */
struct lock_source {
	const char *id, *type;
	const char *suite; /* "bookworm/main amd64"; of rpm-md "x86_64"; "" */
	const char *date;  /* of the Release file or repomd.xml, RFC 3339 UTC; "" */
	struct digest
		digest; /* of the signed text: Release, repomd.xml; of the redistrib manifest */
};

/* "torch", "2.7.1+cu126" */
struct lock_framework {
	const char *key, *version;
};

struct lock_stack {
	const char *driver, *cuda, *cudnn, *nccl, *python; /* exact or ""; "13.0" for cuda */
	const char *cuda_release; /* "13.0.2", when it is known which one was locked; "" */
	const char *require_cuda; /* NVIDIA_REQUIRE_CUDA, "" */
	struct lock_framework *frameworks;
	size_t framework_count; /* of those that the manifest names, in its order; written sorted */
};

/* What one key of the manifest said, so that a stale lock can name what has moved. */
struct lock_key {
	const char *path; /* "stack.cuda"; "./requirements.txt" */
	struct digest digest;
};

struct lockfile {
	struct arena arena;
	struct digest manifest; /* of the normalised manifest: see stack_print */
	unsigned assembly;      /* version of the rules that make bytes; see builder/layer.h */
	const char *coder;      /* what compresses layers, with its version and parameters, "" or
				   NULL: not said */
	struct lock_stack stack;
	struct {
		struct lock_key *items;
		size_t len, cap;
	} keys; /* written sorted by path */
	struct {
		struct lock_source *items;
		size_t len, cap;
	} sources;
	struct {
		struct lock_platform *items;
		size_t len, cap;
	} platforms;
};

/* ERROR_USAGE when it is not a lock of this version, ERROR_FORMAT, ERROR_NOT_FOUND. */
int lockfile_read(const char *file, struct lockfile *out, struct error *err) MUST_USE;
int lockfile_parse(struct slice text, const char *file, struct lockfile *out,
		   struct error *err) MUST_USE;
/* Appended; same content, same bytes. Sorts lock->sources. */
void lockfile_write(struct lockfile *lock, struct strbuf *out);
void lockfile_release(struct lockfile *lock);
#define cleanup_lockfile cleanup(lockfile_release)
/*
 * "dir/stack.yaml" → "dir/stack.lock.json"; with the variant of a matrix, which is not "",
 * "dir/stack.VARIANT.lock.json". Heap.
 */
char *lockfile_path(const char *manifest_file, const char *variant);
/* The platform's section, created when missing; valid until the next is created. */
struct lock_platform *lockfile_platform(struct lockfile *lock, const char *platform);

#endif
