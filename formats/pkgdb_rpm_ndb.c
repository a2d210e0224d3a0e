#include "formats/pkgdb.h"

#include "base/reader.h"

/*
 * Packages.db, little-endian.
 *   0      "RpmP", version, generation, pages of slots, next index of a package, 3 words
 *   32     slots of 16 bytes up to the end of those pages (4096 bytes each):
 *          "Slot", index of the package (0: free), first block, count of blocks
 *   ...    blobs at block × 16: "BlbS", index, generation, bytes, the header, …
 */
enum {
	PAGE_BYTES = 4096,
	SLOT_BYTES = 16,
	FIRST_SLOT = 32,
	BLOCK_BYTES = 16,
	MAGIC_SLOT = 0x746f6c53, /* "Slot" */
	MAGIC_BLOB = 0x53626c42, /* "BlbS" */
};

static int read_blob(struct slice bytes, uint32_t package, uint32_t block,
		     const struct pkgdb_taker *taker, struct error *err)
{
	struct reader r = reader_of(bytes);
	uint32_t magic, index, len;

	reader_seek(&r, (uint64_t)block * BLOCK_BYTES);
	magic = reader_u32(&r);
	index = reader_u32(&r);
	reader_u32(&r); /* generation */
	len = reader_u32(&r);
	if (r.bad || magic != MAGIC_BLOB || index != package || len > reader_left(&r))
		return error_set(err, ERROR_FORMAT,
				 "ndb: package %" PRIu32 " is not where its slot "
				 "says",
				 package);
	return taker->take(taker->user, reader_bytes(&r, len), err);
}

int pkgdb_rpm_ndb(struct slice bytes, const struct pkgdb_taker *taker, struct error *err)
{
	struct reader r = reader_of(bytes);
	uint32_t version, pages;
	uint64_t end;
	int rc = 0;

	reader_seek(&r, 4);
	version = reader_u32(&r);
	reader_u32(&r);
	pages = reader_u32(&r);
	end = MIN((uint64_t)pages * PAGE_BYTES, (uint64_t)bytes.len);
	if (r.bad || version != 0)
		return error_set(err, ERROR_FORMAT, "ndb: ends early, or is of version %" PRIu32,
				 version);
	reader_seek(&r, FIRST_SLOT);
	while (!r.bad && r.at + SLOT_BYTES <= end) {
		struct error own = { 0 };
		uint32_t magic = reader_u32(&r), package = reader_u32(&r), block = reader_u32(&r);

		reader_u32(&r); /* blocks */
		if (magic != MAGIC_SLOT)
			return error_set(err, ERROR_FORMAT, "ndb: no slot where one must be");
		if (package && read_blob(bytes, package, block, taker, &own) < 0 &&
		    !pkgdb_rpm_goes_on(&own, &rc, err))
			break;
	}
	return rc;
}
