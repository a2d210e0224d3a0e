/*
 * Zip files made entry by entry, as sound or as spoiled as a test needs them.
 */
#ifndef TESTS_SUPPORT_ZIP_H
#define TESTS_SUPPORT_ZIP_H

#include "base/strbuf.h"

/* One entry as it is to be written; zeroed fields are the ordinary thing. */
struct zip_spec {
	const char *name;
	size_t name_len; /* 0: strlen */
	const char *local_name;
	const char *text;
	uint32_t mode; /* Unix mode in the external attributes */
	uint16_t flags, local_flags, method;
	bool deflated;
	int descriptor; /* bytes of it: 12, 16, 20 or 24; 8 spoils its CRC */
	bool zip64;
	uint32_t crc_xor;  /* spoils the CRC in both places */
	int32_t size_plus; /* spoils the size in both places */
	int32_t offset_plus;
	const char *gap; /* bytes behind the entry */
};

struct zip_maker {
	struct strbuf file, central;
	uint16_t count;
};

/* Append a little-endian number. */
void zip_le(struct strbuf *b, uint64_t value, unsigned bytes);
/* Append an entry; then the directory, once. m->file holds the bytes. */
void zip_add(struct zip_maker *m, const struct zip_spec *s);
void zip_end(struct zip_maker *m, bool zip64, const char *comment);
void zip_maker_release(struct zip_maker *m);
#define cleanup_zip_maker cleanup(zip_maker_release)

#endif
