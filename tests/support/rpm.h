/*
 * Headers of rpm and whole .rpm files in memory, as good or as hostile as a test needs them.
 */
#ifndef TESTS_SUPPORT_RPM_H
#define TESTS_SUPPORT_RPM_H

#include "base/strbuf.h"
#include "formats/compress.h"
#include "formats/rpm_header.h"

/* A header that grows. A zeroed one is empty; release with test_header_release. */
struct test_header {
	struct strbuf index, store;
	uint32_t count;
};

void test_header_release(struct test_header *h);
#define cleanup_test_header cleanup(test_header_release)
/* An entry as it is told, whether it is true or not; data is aligned as its type wants. */
void test_header_add(struct test_header *h, uint32_t tag, uint32_t type, uint32_t count,
		     const void *data, size_t len);
void test_header_text(struct test_header *h, uint32_t tag, const char *text);
void test_header_texts(struct test_header *h, uint32_t tag, const char *const *texts, size_t count);
/* `bytes` of each: 2, 4 or 8. */
void test_header_numbers(struct test_header *h, uint32_t tag, unsigned bytes,
			 const uint64_t *values, size_t count);
/* Without magic, as rpm_header_parse takes it. */
void test_header_blob(const struct test_header *h, struct strbuf *out);
/* Name, version and release, and so on: what a header of an installed package has at least. */
void test_header_identity(struct test_header *h, const char *name, const char *version,
			  const char *arch);

struct test_rpm_file {
	const char *path, *content;
	uint32_t mode;         /* with its type; 0: 0100644 */
	uint32_t flags, inode; /* inode 0: its own */
	const char *link, *user, *group, *caps;
	const char *digest; /* NULL: the right one */
	bool missing;       /* from the payload */
};

struct test_rpm {
	const struct test_rpm_file *files;
	size_t file_count;
	bool stripped;                /* headers of cpio */
	enum compression compression; /* of the payload: none, gzip or zstd */
	const char *source;           /* NULL: "demo-1-1.src.rpm"; "": a source package */
	const char *post, *post_interpreter;
	bool wrong_header_digest, wrong_payload_digest;
	const char *behind;       /* bytes after the payload */
	const char *extra_member; /* name of a file that only the payload has */
};

/* "demo" 2:1.0-3 x86_64. */
void test_rpm_make(const struct test_rpm *rpm, struct strbuf *out);

#endif
