/*
 * Whether a block of bytes is worth compressing, from how often each byte value occurs (order-0
 * entropy). Integers only, so that the answer is the same with every compiler and libm.
 *
 * Measured on CUDA libraries and on Debian files (docs/formats/compression.md): of the blocks
 * above the threshold next to none shrink by more than a hundredth.
 */
#ifndef FORMATS_ENTROPY_H
#define FORMATS_ENTROPY_H

#include "base/slice.h"

/* Bits per byte from which on a block is stored. Part of the coder's identity. */
#define ENTROPY_STORE_TEXT "7.95"
#define ENTROPY_STORE_MILLIBITS 7950

/* Of a block of 64 KiB and more one run of 4 KiB in four is counted: it decides as well. */
enum { ENTROPY_SAMPLE_MIN = 64 * 1024, ENTROPY_SAMPLE_RUN = 4096, ENTROPY_SAMPLE_EVERY = 4 };

/* True when the entropy is at least the threshold. */
bool entropy_is_dense(struct slice s);

#endif
