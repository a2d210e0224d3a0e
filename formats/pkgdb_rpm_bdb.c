#include "formats/pkgdb.h"

#include "base/reader.h"
#include "base/strbuf.h"
#include "formats/rpm_header.h"

/*
 * A hash of Berkeley DB, in the byte order of the machine that wrote it.
 *   page 0: at 12 the magic 0x00061561, at 20 the bytes of a page, at 32 the number of the last
 * page every page of the hash (type 2 or 13, at 25): at 20 the count of items, from 26 on their
 *   places (16 bits each), a key and a value in turn
 *   an item: a byte for its kind: 1 the bytes themselves, 3 three unused bytes, the page where it
 *   begins and how many bytes it has
 *   pages of what is long (type 7): at 16 the next page, at 22 how many bytes are on this one, the
 *   bytes from 26 on
 * Source: Berkeley DB's dbinc/db_page.h; rpm's lib/backend/bdb_ro.c.
 */
enum {
	PAGE_HEAD = 26,
	TYPE_HASH_UNSORTED = 2,
	TYPE_OVERFLOW = 7,
	TYPE_HASH = 13,
	ITEM_BYTES = 1,
	ITEM_OFF_PAGE = 3,
};

struct database {
	struct slice bytes;
	bool big_endian;
	uint32_t page_bytes, pages;
	uint64_t budget; /* bytes that may still be copied: chains may overlap */
};

static bool page_at(const struct database *d, uint32_t number, struct reader *out)
{
	struct slice page;

	if (!slice_sub(d->bytes, (uint64_t)number * d->page_bytes, d->page_bytes, &page))
		return false;
	*out = reader_of(page);
	out->big_endian = d->big_endian;
	return true;
}

static uint64_t number_at(struct reader *page, uint64_t at, unsigned bytes)
{
	reader_seek(page, at);
	return reader_uint(page, bytes);
}

/* The bytes of a chain of overflow pages. */
static int read_chain(struct database *d, uint32_t number, uint32_t len, struct strbuf *out,
		      struct error *err)
{
	if (len > RPM_HEADER_LIMIT || len > d->budget)
		return error_set(err, ERROR_LIMIT, "Berkeley DB: a value of %" PRIu32 " bytes",
				 len);
	d->budget -= len;
	while (out->len < len) {
		struct reader page;
		struct slice part;
		uint32_t type;
		uint64_t here;

		if (!number || !page_at(d, number, &page))
			return error_set(err, ERROR_FORMAT,
					 "Berkeley DB: page %" PRIu32 " is not in the file",
					 number);
		type = (uint32_t)number_at(&page, 25, 1);
		here = number_at(&page, 22, 2);
		number = (uint32_t)number_at(&page, 16, 4);
		reader_seek(&page, PAGE_HEAD);
		part = reader_bytes(&page, MIN(here, (uint64_t)(len - out->len)));
		if (page.bad || type != TYPE_OVERFLOW || !part.len)
			return error_set(err, ERROR_FORMAT,
					 "Berkeley DB: a value that goes nowhere");
		strbuf_add(out, part.data, part.len);
	}
	return 0;
}

/* One value of a page of the hash. */
static int read_value(struct database *d, struct reader *page, uint64_t at,
		      const struct pkgdb_taker *taker, struct error *err)
{
	cleanup_strbuf struct strbuf blob = { 0 };
	uint8_t kind = (uint8_t)number_at(page, at, 1);
	uint32_t first, len;

	if (kind == ITEM_BYTES)
		return 0; /* a counter: headers never fit in a page */
	first = (uint32_t)number_at(page, at + 4, 4);
	len = (uint32_t)number_at(page, at + 8, 4);
	if (kind != ITEM_OFF_PAGE || page->bad)
		return error_set(err, ERROR_FORMAT, "Berkeley DB: a value of kind %u", kind);
	if (read_chain(d, first, len, &blob, err) < 0)
		return -1;
	return taker->take(taker->user, strbuf_slice(&blob), err);
}

static int read_page(struct database *d, uint32_t number, const struct pkgdb_taker *taker,
		     struct error *err)
{
	struct error own = { 0 };
	struct reader page;
	uint32_t type;
	uint64_t items;
	int rc = 0;

	if (!page_at(d, number, &page))
		return error_set(err, ERROR_FORMAT, "Berkeley DB: ends early");
	type = (uint32_t)number_at(&page, 25, 1);
	items = number_at(&page, 20, 2);
	if (type != TYPE_HASH && type != TYPE_HASH_UNSORTED)
		return 0;
	for (uint64_t i = 1; i < items; i += 2) {
		uint64_t at = number_at(&page, PAGE_HEAD + 2 * i, 2);

		if (read_value(d, &page, at, taker, &own) < 0 &&
		    (!pkgdb_rpm_goes_on(&own, &rc, err) || page.bad))
			break;
	}
	return rc;
}

int pkgdb_rpm_bdb(struct slice bytes, const struct pkgdb_taker *taker, struct error *err)
{
	struct database d = { .bytes = bytes, .budget = 4 * (uint64_t)bytes.len };
	struct reader head = reader_of(bytes);
	int rc = 0;

	d.big_endian = number_at(&head, 12, 4) != 0x00061561;
	head.big_endian = d.big_endian;
	d.page_bytes = (uint32_t)number_at(&head, 20, 4);
	d.pages = (uint32_t)number_at(&head, 32, 4);
	if (head.bad || d.page_bytes < 512 || d.page_bytes > 64 * 1024 ||
	    d.page_bytes & (d.page_bytes - 1))
		return error_set(err, ERROR_FORMAT, "Berkeley DB: pages of %" PRIu32 " bytes",
				 d.page_bytes);
	if (d.pages >= bytes.len / d.page_bytes) {
		rc = error_set(err, ERROR_FORMAT, "Berkeley DB: ends early");
		d.pages = (uint32_t)(bytes.len / d.page_bytes) - 1;
	}
	for (uint32_t i = 1; i <= d.pages && bytes.len >= 2 * (size_t)d.page_bytes; i++) {
		struct error own = { 0 };

		if (read_page(&d, i, taker, &own) < 0 && !pkgdb_rpm_goes_on(&own, &rc, err))
			break;
	}
	return rc;
}
