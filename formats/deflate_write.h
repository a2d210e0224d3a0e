/*
 * A fast deflate encoder of our own, for data where time counts more than the last hundredth of
 * size: large files of images. Portable C without a processor's special instructions, so what it
 * writes depends on the input alone: never on processor, library version or threads.
 *
 * One pass finds matches greedily through one small table of positions (4 bytes hash to the last
 * place they were seen at, within 32 KiB); every 128 KiB of input or 32768 matches get a block with
 * Huffman codes of its own, or are stored where that is shorter. Measured against others in
 * docs/formats/compression.md. Source: RFC 1951.
 */
#ifndef FORMATS_DEFLATE_WRITE_H
#define FORMATS_DEFLATE_WRITE_H

#include "base/slice.h"

/* Number of the rules above; a change of the bytes is a change of it. */
#define DEFLATE_WRITE_VERSION 1

/* Working memory, about 200 KiB. Keeps nothing from one call to the next that shows in the bytes.
 */
struct deflate_write *deflate_write_new(void);
void deflate_write_free(struct deflate_write *z);

/* Most bytes that `len` bytes become. */
size_t deflate_write_bound(size_t len);
/*
 * `in` as one raw deflate stream of `deflate_write_bound(in.len)` bytes at most at `out`, which
 * must have that much room; less than 2^31 bytes of input. Returns its length.
 */
size_t deflate_write(struct deflate_write *z, struct slice in, uint8_t *out);

#endif
