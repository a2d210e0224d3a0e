/*
 * The members of an ar archive (a .deb), in order, from a stream. By hand (60-byte headers);
 * GNU and BSD long names are read. Source: ar(5).
 */
#ifndef FORMATS_AR_READ_H
#define FORMATS_AR_READ_H

#include "base/stream.h"

struct ar_reader;

struct ar_member {
	char name[256]; /* without trailing "/" or blanks */
	uint64_t size;  /* bytes */
};

/* Borrows `inner`. */
struct ar_reader *ar_read_open(struct stream *inner);
/* 1, 0 at the end, -1 on error. Content that was not read is skipped. */
int ar_read_next(struct ar_reader *r, struct ar_member *out, struct error *err) MUST_USE;
/* Content of the member just given; ends at its size; owned by the reader. */
struct stream *ar_read_content(struct ar_reader *r);
void ar_read_close(struct ar_reader *r);
static inline void ar_read_close_p(struct ar_reader **r)
{
	ar_read_close(*r);
}
#define cleanup_ar_reader cleanup(ar_read_close_p)

#endif
