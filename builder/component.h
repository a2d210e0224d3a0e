/*
 * One component of an image: a package, a wheel, a folder, the files of a stage, or what a finish
 * action made – as a list of entries whose content can be opened at any time, in any order, any
 * number of times, without the whole being in memory.
 */
#ifndef BUILDER_COMPONENT_H
#define BUILDER_COMPONENT_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/stream.h"
#include "formats/deb822.h"
#include "formats/tar.h"
#include "formats/zip_read.h"

struct file_stamp;

enum content_kind {
	CONTENT_MEMORY, /* bytes in the component's arena */
	CONTENT_RANGE,  /* a range of fd */
	CONTENT_ZIP,    /* an entry of the zip file fd */
	CONTENT_PATH,   /* a file of the host, opened when read; its digest is known */
	CONTENT_ABSENT, /* in a layer of the base image: only the digest is at hand */
};

/* There may be half a million of these: every byte counts. */
struct content {
	uint8_t kind;    /* enum content_kind */
	bool has_digest; /* `sha256` is known: proven while read */
	int fd;          /* of RANGE and ZIP; borrowed from the component */
	union {
		struct slice memory; /* MEMORY */
		uint64_t offset;     /* RANGE: bytes; size is the entry's */
		struct {             /* ZIP */
			const struct zip_entry *zip;
			const struct digest *archive; /* settles the compressed bytes as well */
		};
		struct {                    /* PATH */
			const char *folder; /* that `path` lies in; NULL: `path` is whole */
			/*
			 * The file is what was digested as long as it has this stamp; NULL: read
			 * it to know.
			 */
			const struct file_stamp *stamp;
		};
	};
	const char *path; /* PATH: on the host; else for error texts, or NULL */
	/*
	 * Of a library, where it was looked up already; "" for what is no library of the image's
	 * machine; NULL: not looked at.
	 */
	const char *soname;
	uint8_t sha256[32]; /* of the content */
};

static inline struct digest content_digest(const struct content *c)
{
	struct digest d = { .algorithm = DIGEST_SHA256 };

	memcpy(d.bytes, c->sha256, sizeof(c->sha256));
	return d;
}

/* A digest of another kind is not kept. */
static inline void content_set_digest(struct content *c, const struct digest *d)
{
	c->has_digest = d->algorithm == DIGEST_SHA256;
	memcpy(c->sha256, d->bytes, sizeof(c->sha256));
}

/* The host's path of a PATH; heap. */
char *content_host_path(const struct content *c);
/*
 * `size` is the entry's. The caller closes the stream. NULL: ERROR_NOT_FOUND; ERROR_INTEGRITY, a
 * file of the host that is not the one that was looked at.
 */
struct stream *content_open(const struct content *c, uint64_t size, struct error *err) MUST_USE;

struct component_entry {
	struct tar_entry tar; /* strings in the component's arena */
	struct content content;
};

enum component_kind {
	COMPONENT_DEB,
	COMPONENT_WHEEL,
	COMPONENT_TREE,   /* a folder source or `files` */
	COMPONENT_STAGE,  /* what was copied from an earlier stage */
	COMPONENT_FINISH, /* what gpuimg made */
	COMPONENT_REDIST, /* an archive of a redistrib manifest, placed as a toolkit */
	COMPONENT_RPM,
	COMPONENT_BASE, /* what the layers of the base image show: in no layer of ours */
};

/* A maintainer script, for the report of what was not reproduced. */
struct component_script {
	const char *name; /* "postinst"; of an .rpm "post" */
	const char *text;
	size_t len;
	const char *interpreter; /* of an .rpm: "/bin/sh", "<lua>"; else NULL: the text says it */
};

/* Of an .rpm: an entry that does not belong to root. The accounts of the image settle its ids. */
struct component_owner {
	size_t entry;
	const char *user, *group;
};

/* A control file that only goes to the package database. */
struct component_control {
	const char *name; /* "shlibs" */
	struct slice text;
	uint32_t mode;
};

struct component {
	struct arena arena;
	enum component_kind kind;
	const char *name, *version, *arch, *source_name; /* source_name: Debian's Source */
	const char *stage;
	const char *license; /* as the source calls it, or "" */
	struct digest key;   /* identity for caches: digest of the input and how it was placed */
	struct {
		struct component_entry *items;
		size_t len, cap;
	} entries; /* in the package's order */
	int fd;    /* backing of ranges and zip entries, owned; -1 */
	/* LOCK_DEB only */
	struct slice control;   /* the control stanza */
	struct slice conffiles; /* text of DEBIAN/conffiles, or empty */
	struct slice md5sums;   /* text of DEBIAN/md5sums, or empty */
	struct slice triggers;  /* text of DEBIAN/triggers, or empty */
	/* COMPONENT_RPM only */
	struct slice rpm_header, rpm_signature; /* as formats/rpm_header.h takes them */
	struct {
		struct component_owner *items;
		size_t len, cap;
	} owners; /* in the order of entries */
	struct {
		struct component_script *items;
		size_t len, cap;
	} scripts;
	struct {
		struct component_control *items;
		size_t len, cap;
	} controls; /* its other control files: shlibs, symbols, templates … */
	bool requested, toolkit;
	bool host;    /* of the driver, which the host brings: its record alone */
	bool settled; /* no entry is added any more: pointers to them last */
};

struct component *component_new(enum component_kind kind, const char *name, const char *version);
void component_free(struct component *c);
static inline void component_free_p(struct component **c)
{
	component_free(*c);
}
#define cleanup_component cleanup(component_free_p)

/* Append an entry; `path` etc. are copied to the arena. Returns it, valid until the next add. */
struct component_entry *component_add(struct component *c, const struct tar_entry *tar);
/* Conveniences over component_add with owner root, the fixed time, and content in memory. */
struct component_entry *component_add_text(struct component *c, const char *path, uint32_t mode,
					   struct slice text);
struct component_entry *component_add_symlink(struct component *c, const char *path,
					      const char *target);
struct component_entry *component_add_dir(struct component *c, const char *path, uint32_t mode);

/* 1980-01-01T00:00:00Z: the time of everything that no package dates. */
#define FIXED_MTIME INT64_C(315532800)

#endif
