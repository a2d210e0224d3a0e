/*
 * GPU code in files: CUDA's fat binaries and bare cubins, listed from their headers alone while the
 * file streams by. Nothing is unpacked to know architectures; only entries of a few kilobytes that
 * may be the link step's empty stubs are looked into. What an entry holds is given on demand.
 *
 * A container (magic 0xBA55ED50, 16 bytes, then entries of 64 bytes and more, each followed by its
 * payload) stands at a multiple of 8 in the file, in any section: `.nv_fatbin`, `__nv_relfatbin`,
 * and data sections of libraries that load their kernels by hand. Which section holds what was
 * found, and that executable ones hold none, is for the caller to say once it knows them.
 *
 * Source: CUDA header fatbinary_section.h; measured with CUDA 13.0; docs/formats/fatbin.md.
 */
#ifndef FORMATS_FATBIN_H
#define FORMATS_FATBIN_H

#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum fatbin_kind { FATBIN_PTX = 1, FATBIN_CUBIN = 2, FATBIN_OLD_CUBIN = 4, FATBIN_LTO = 8 };

struct fatbin_entry {
	uint64_t container;    /* where its container begins (a bare cubin: itself), in the file */
	uint64_t payload;      /* where its payload begins, in the file */
	uint64_t stored;       /* bytes of payload in the file */
	uint32_t packed;       /* bytes of it that are compressed; 0: it is plain */
	uint64_t unpacked;     /* bytes when unpacked; as stored when it is not compressed */
	uint16_t kind;         /* FATBIN_*, or one that is not known */
	uint16_t sm;           /* 90 */
	uint16_t major, minor; /* PTX: its version; others: a format version */
	char suffix;           /* 'a', 'f', or 0: none, or a bare cubin's, which does not say */
	bool bare;             /* an ELF file for the GPU in no container */
	bool link_stub;        /* the empty cubin of a device-link step */
	bool uncertain;        /* another header version than the known one */
	bool lz4;              /* compressed as an LZ4 block, else as a zstd frame */
	bool scrambled;        /* it cannot be unpacked */
};

struct fatbin {
	struct {
		struct fatbin_entry *items;
		size_t len, cap;
	} entries; /* in the file's order */
	size_t containers;
	size_t broken;  /* containers that end otherwise than their sizes say */
	size_t unknown; /* entries of a kind that is not known */
	bool more;      /* there were more entries than are kept (a million) */
};

void fatbin_release(struct fatbin *f);
#define cleanup_fatbin cleanup(fatbin_release)

struct fatbin_scan;

/* Begin to look through a file of that many bytes. Never NULL. */
struct fatbin_scan *fatbin_scan_new(uint64_t file_size);
/* The next bytes of the file, in pieces of any size. Memory does not depend on what they hold. */
void fatbin_scan_feed(struct fatbin_scan *scan, struct slice bytes);
/* The end of the file: gives what was found (release with fatbin_release) and frees the scan. */
void fatbin_scan_end(struct fatbin_scan *scan, struct fatbin *out);

/*
 * Append what an entry holds, unpacked. `file` is the whole of what was scanned.
 * Errors: ERROR_LIMIT   it says that it is larger than `max` bytes
 *         ERROR_FORMAT  it lies outside the file, is scrambled, or does not unpack to its size
 */
int fatbin_unpack(struct slice file, const struct fatbin_entry *entry, size_t max,
		  struct strbuf *out, struct error *err) MUST_USE;

#endif
