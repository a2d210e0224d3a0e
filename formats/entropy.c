#include "formats/entropy.h"

/* log2(x) in units of 2^-16, rounded down; x > 0. */
static uint32_t log2_of(uint32_t x)
{
	uint32_t whole = 31 - (uint32_t)__builtin_clz(x), fraction = 0;
	uint64_t mantissa = ((uint64_t)x << 31) >> whole; /* in [2^31, 2^32) */

	/* Squaring doubles the logarithm: each carry past 2 is the next bit of the fraction. */
	for (int i = 0; i < 16; i++) {
		mantissa = mantissa * mantissa >> 31;
		fraction <<= 1;
		if (mantissa >> 32) {
			mantissa >>= 1;
			fraction |= 1;
		}
	}
	return whole << 16 | fraction;
}

/* Four tables: equal neighbours do not wait for each other. */
static void count_bytes(uint32_t counts[4][256], struct slice s)
{
	size_t i = 0;

	for (; i + 4 <= s.len; i += 4) {
		counts[0][s.data[i]]++;
		counts[1][s.data[i + 1]]++;
		counts[2][s.data[i + 2]]++;
		counts[3][s.data[i + 3]]++;
	}
	for (; i < s.len; i++)
		counts[0][s.data[i]]++;
}

/* Bits per byte in units of 2^-16, of what is counted; 0 for an empty block. `s` holds less than
 * 2^31 bytes. */
static uint32_t bits_of(struct slice s)
{
	const size_t run = s.len < ENTROPY_SAMPLE_MIN ? s.len : ENTROPY_SAMPLE_RUN;
	uint32_t counts[4][256] = { { 0 } };
	uint64_t sum = 0, total = 0;

	if (!s.len)
		return 0;
	for (size_t at = 0; at + run <= s.len; at += run * ENTROPY_SAMPLE_EVERY) {
		count_bytes(counts, slice_of(s.data + at, run));
		total += run;
	}
	for (size_t b = 0; b < 256; b++) {
		uint32_t n = counts[0][b] + counts[1][b] + counts[2][b] + counts[3][b];

		if (n)
			sum += (uint64_t)n * log2_of(n);
	}
	return log2_of((uint32_t)total) - (uint32_t)(sum / total);
}

bool entropy_is_dense(struct slice s)
{
	return (uint64_t)bits_of(s) * 1000 >= (uint64_t)ENTROPY_STORE_MILLIBITS << 16;
}
