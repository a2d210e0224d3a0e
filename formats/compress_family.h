/*
 * What the files of formats/compress share; nobody else includes this.
 *
 * Decoders read their input through `struct input`, which keeps some room before the data, so
 * that bytes a decoder took too many can be put back even when they came with an earlier fill.
 */
#ifndef FORMATS_COMPRESS_FAMILY_H
#define FORMATS_COMPRESS_FAMILY_H

#include "formats/compress.h"

enum { INPUT_BYTES = 128 * 1024, INPUT_ROOM = 16 };

struct input {
	struct stream *inner; /* borrowed */
	uint8_t *buf;         /* INPUT_ROOM + INPUT_BYTES bytes */
	size_t pos, len;      /* what is left lies in buf[pos … len) */
	bool ended;           /* inner gave 0 */
};

void input_init(struct input *in, struct stream *inner);
void input_release(struct input *in);
/* More bytes when none are left: 1 when there are some, 0 at the end of `inner`, -1. */
int input_fill(struct input *in, struct error *err) MUST_USE;
/* The next byte: 1, 0 at the end, -1. */
int input_byte(struct input *in, uint8_t *out, struct error *err) MUST_USE;

/* Decoders of each kind; all borrow `inner`. */
struct stream *gunzip_stream(struct stream *inner);
struct stream *unzstd_stream(struct stream *inner);
struct stream *unxz_stream(struct stream *inner);

/*
 * A coder turns one block of input into one member or frame, on its own. `ctx` is what one call
 * at a time may use and keeps nothing from one call to the next that shows in the bytes.
 */
struct coder {
	size_t block;                /* bytes of input of all blocks but the last */
	size_t (*bound)(size_t len); /* most bytes that `len` bytes become */
	void *(*open)(enum compression_level level);
	size_t (*encode)(void *ctx, const uint8_t *in, size_t len, uint8_t *out, size_t cap);
	void (*close)(void *ctx);
};

extern const struct coder coder_gzip, coder_zstd;

/* Which coder writes a level, its version where that is not the library's, its parameters; heap. */
char *gzip_parameters(enum compression_level level);
char *zstd_parameters(enum compression_level level);

#define GZIP_MEMBER_BYTES ((size_t)1 << 20)
#define ZSTD_FRAME_BYTES ((size_t)4 << 20)

#endif
