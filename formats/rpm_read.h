/*
 * An .rpm: its headers in memory, then the files of its payload, in order, from a stream.
 *
 * What is proven on the way: the header against the SHA-256 of the signature header, the payload
 * against the SHA-256 in the header, each file against its own where that is one of SHA-256, where
 * the package has them (rpm 4.14 and later do). Signatures are not looked at: that the whole
 * file is the one meant is for the caller to know.
 *
 * The header says what a file is, to whom it belongs and what it links to; of the payload only
 * the bytes count. Payloads are cpio archives, of the form "newc" (070701, 070702) or, for files
 * above 4 GiB, with "stripped" headers (07070X and the number of the file), plain or packed with
 * gzip, xz or zstd. Of files that are one (hard links) the payload holds the bytes once, with the
 * last. Ghost files have no place in the payload.
 * Source: rpm's docs/manual/format.md, large_files.md and tags.md, lib/rpmfi.c, lib/cpio.c;
 * cpio(5).
 */
#ifndef FORMATS_RPM_READ_H
#define FORMATS_RPM_READ_H

#include "base/digest.h"
#include "base/stream.h"
#include "formats/rpm_header.h"

enum rpm_file_flag {
	RPMFILE_CONFIG = 1 << 0,
	RPMFILE_GHOST = 1 << 6,
};

enum {
	RPM_FILES_LIMIT = 2000000,
	RPM_ALONE = UINT32_MAX,
};

struct rpm_file {
	const char *path;         /* relative and clean; "" is the root itself */
	const char *link;         /* target of a symlink, else "" */
	const char *user, *group; /* names */
	const char *caps;         /* "cap_net_raw=ep", or "" */
	uint32_t mode;            /* with its type, as st_mode has it */
	uint32_t flags;           /* enum rpm_file_flag; others pass */
	uint64_t size;            /* bytes of content; of a symlink those of its target */
	int64_t mtime;            /* seconds since 1970 */
	bool has_digest;          /* of SHA-256 */
	struct digest digest;
	uint32_t next_twin;             /* the next file that is the same one, or RPM_ALONE */
	uint32_t first_twin, last_twin; /* of those that are the same one; itself when alone */
};

struct rpm_script {
	/* "pre", "post", "preun", "postun", "pretrans", "posttrans"; for packages with files of
	 * certain names "filetrigger", "transfiletrigger" */
	const char *name;
	const char *interpreter; /* "/bin/sh", "<lua>", "/sbin/ldconfig" */
	const char *text;        /* "" when the interpreter alone is what runs */
};

/* All strings live as long as the reader. */
struct rpm_package {
	const char *name, *version, *arch;        /* version: [epoch:]version-release */
	const char *source, *license;             /* "bash-5.1-9.el9.src.rpm"; "" when not said */
	struct slice signature_blob, header_blob; /* as rpm_header_parse takes them */
	struct rpm_header signature, header;
	struct rpm_file *files;
	uint32_t file_count;
	struct rpm_script *scripts;
	size_t script_count;
};

struct rpm_reader;

/*
 * Reads up to the payload. Borrows `file`. NULL on error: ERROR_FORMAT (no .rpm, ends early, a
 * source package, values of another type or count than they must have, paths that leave the root,
 * a path twice, a payload packed with anything else), ERROR_LIMIT, ERROR_INTEGRITY (digest).
 */
struct rpm_reader *rpm_read_open(struct stream *file, struct error *err) MUST_USE;
const struct rpm_package *rpm_read_package(const struct rpm_reader *r);
/*
 * The next file of the payload, as an index of files; 1, or 0 at the end, or -1. Content that was
 * not read is skipped. At the end all of it is proven: every file but ghosts was there, the
 * payload has its digest, and nothing stands behind it.
 */
int rpm_read_next(struct rpm_reader *r, uint32_t *out_file, struct error *err) MUST_USE;
/*
 * Content of the file just given, proven against its digest; owned by the reader. Of files that are
 * one only the last has any.
 */
struct stream *rpm_read_content(struct rpm_reader *r);
void rpm_read_close(struct rpm_reader *r);
static inline void rpm_read_close_p(struct rpm_reader **r)
{
	rpm_read_close(*r);
}
#define cleanup_rpm_reader cleanup(rpm_read_close_p)

#endif
