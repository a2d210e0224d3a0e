/*
 * gzip, zstd, xz and plain data, both ways (xz: reading only), as streams and sinks.
 *
 * What is written depends on the input and the level alone: never on time, host, processor or
 * number of threads. gzip is written as members of 1 MiB of input each (header 1f 8b 08 00
 * 00000000 00 ff) by libdeflate, at LEVEL_FAST by formats/deflate_write; a member whose order-0
 * entropy says it will not shrink is stored; zstd as frames of 4 MiB of input each, checksum on,
 * content size set. Members and frames concatenate, so what two sinks wrote may be joined.
 *
 * Reading takes gzip of any origin (many members, through ISA-L), zstd (many frames), xz, plain
 * tar; trailing zero padding after the last gzip member is allowed, other trailing data is
 * ERROR_FORMAT. Source: RFC 1952, RFC 1951, RFC 8878.
 */
#ifndef FORMATS_COMPRESS_H
#define FORMATS_COMPRESS_H

#include "base/digest.h"
#include "base/pool.h"
#include "base/sink.h"
#include "base/stream.h"

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD, COMPRESSION_XZ };
enum compression_level { LEVEL_FAST, LEVEL_DEFAULT, LEVEL_MAX };

/* "none", "gzip", "zstd", "xz". */
const char *compression_name(enum compression c);
/*
 * Coder, its version and its parameters, as they go into cache keys, the lock and annotations:
 * "gzip libdeflate-1.14 level 6 member 1048576 store 7.95".
 */
char *compression_identity(enum compression c, enum compression_level level);
/* The part of it that differs between levels: "libdeflate-1.14 level 6"; heap. */
char *compression_parameters(enum compression c, enum compression_level level);

/* By magic number; `head` holds the first bytes (6 suffice). Anything unknown is NONE. */
enum compression compression_detect(struct slice head);

/*
 * The bytes of `inner`, decompressed. Memory is bounded whatever the input says (zstd windows
 * above 128 MiB and xz dictionaries above 128 MiB are ERROR_LIMIT). At the end the check sums of
 * the format have been verified and `inner` was read to its end. Borrows `inner`.
 */
struct stream *decompress_stream(struct stream *inner, enum compression c);
/*
 * The same, with the kind detected from the first bytes; *out_kind (may be NULL) is set before
 * this returns. NULL on a read error.
 */
struct stream *decompress_auto(struct stream *inner, enum compression *out_kind,
			       struct error *err) MUST_USE;
/*
 * A raw deflate stream (the body of a zip entry). `inner` must end where the stream's own end
 * marker stands; anything after it is ERROR_FORMAT. Borrows `inner`.
 */
struct stream *inflate_stream(struct stream *inner);

/* CRC-32 as gzip and zip use it, of more data; `crc` is 0 at first. */
uint32_t compress_crc32(uint32_t crc, const void *data, size_t len);

/*
 * Compress into `inner` on the threads of `pool` (NULL: in the caller's). sink_finish() ends the
 * last member; an empty input writes nothing at all. Borrows `inner` and `pool`. At most two blocks
 * (1 MiB for gzip, 4 MiB for zstd) a thread wait to be written, and never more than 64 MiB of
 * input and output. Not to be used from within a job of `pool`. Writing xz is not supported.
 */
struct sink *compress_sink(struct sink *inner, enum compression c, enum compression_level level,
			   struct pool *pool);
/*
 * For sinks of compress_sink: end the member or frame here, so that what follows depends on nothing
 * before it, and go on with `level`. *out_at (may be NULL; must live until it is set) becomes the
 * number of compressed bytes before this place, once they are written: after sink_finish or
 * compress_sink_insert at the latest. Nothing is written for a member without input.
 */
int compress_sink_cut(struct sink *s, enum compression_level level, uint64_t *out_at,
		      struct error *err) MUST_USE;
/*
 * End the member here and write bytes that are compressed already (whole members or frames), in
 * their place; they count as compressed bytes. The caller digests them, and what they stand for.
 */
int compress_sink_insert(struct sink *s, const void *data, size_t len, struct error *err) MUST_USE;
/*
 * Digest what is written to the sink and what it writes, side by side; before anything is written.
 * Both are complete up to here after sink_finish.
 */
struct compress_digests {
	struct digest_state *input, *coded; /* borrowed */
};
void compress_sink_digests(struct sink *s, const struct compress_digests *digests);

/*
 * A raw deflate stream as a gzip member: 10 bytes before it, 8 behind it. `size` is that of the
 * content, in bytes; RFC 1952 keeps it modulo 2^32.
 */
enum { GZIP_HEADER_BYTES = 10, GZIP_TRAILER_BYTES = 8 };
void gzip_header(uint8_t out[GZIP_HEADER_BYTES]);
void gzip_trailer(uint8_t out[GZIP_TRAILER_BYTES], uint32_t crc32, uint64_t size);

#endif
