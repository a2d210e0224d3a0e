#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/sha256_pair.h"

#if defined(__x86_64__)

#define SHA_CODE __attribute__((target("sha,sse4.1")))
#define SHA_INLINE SHA_CODE __attribute__((always_inline)) static inline

/* FIPS 180-4, section 4.2.2. */
static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

/* The instructions want a, b, e, f in one register and c, d, g, h in the other. */
struct lane {
	__m128i abef, cdgh;
	__m128i message[4];
};

SHA_INLINE void lane_load(struct lane *l, const uint32_t state[8])
{
	__m128i low = _mm_loadu_si128((const __m128i *)(const void *)state);
	__m128i high = _mm_loadu_si128((const __m128i *)(const void *)(state + 4));

	low = _mm_shuffle_epi32(low, 0xb1);
	high = _mm_shuffle_epi32(high, 0x1b);
	l->abef = _mm_alignr_epi8(low, high, 8);
	l->cdgh = _mm_blend_epi16(high, low, 0xf0);
}

SHA_INLINE void lane_store(const struct lane *l, uint32_t state[8])
{
	__m128i low = _mm_shuffle_epi32(l->abef, 0x1b), high = _mm_shuffle_epi32(l->cdgh, 0xb1);

	_mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(low, high, 0xf0));
	_mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

/* Words 4 * group to 4 * group + 3 of the message schedule, with their constants. */
SHA_INLINE __m128i lane_words(struct lane *l, const uint8_t *block, unsigned group)
{
	const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	const __m128i add = _mm_loadu_si128((const __m128i *)(const void *)(constants + 4 * group));
	__m128i *m = &l->message[group & 3];
	__m128i next = l->message[(group + 1) & 3], last = l->message[(group + 3) & 3];

	if (group < 4) {
		*m = _mm_loadu_si128((const __m128i *)(const void *)(block + 16 * group));
		*m = _mm_shuffle_epi8(*m, big_endian);
	} else {
		__m128i seven_back = _mm_alignr_epi8(last, l->message[(group + 2) & 3], 4);

		*m = _mm_add_epi32(_mm_sha256msg1_epu32(*m, next), seven_back);
		*m = _mm_sha256msg2_epu32(*m, last);
	}
	return _mm_add_epi32(*m, add);
}

SHA_INLINE void two_rounds_each(struct lane *a, struct lane *b, __m128i x, __m128i y)
{
	__m128i t = _mm_sha256rnds2_epu32(a->cdgh, a->abef, x);
	__m128i u = _mm_sha256rnds2_epu32(b->cdgh, b->abef, y);

	a->cdgh = a->abef;
	b->cdgh = b->abef;
	a->abef = t;
	b->abef = u;
}

SHA_INLINE void run(uint32_t a[8], const uint8_t *p, uint32_t b[8], const uint8_t *q, size_t blocks,
		    bool same)
{
	struct lane one, two;

	lane_load(&one, a);
	lane_load(&two, b);
	for (; blocks; blocks--, p += 64, q += 64) {
		const struct lane before_one = one, before_two = two;

#pragma GCC unroll 16
		for (unsigned group = 0; group < 16; group++) {
			__m128i x = lane_words(&one, p, group);
			__m128i y = same ? x : lane_words(&two, q, group);

			two_rounds_each(&one, &two, x, y);
			x = _mm_shuffle_epi32(x, 0x0e);
			y = same ? x : _mm_shuffle_epi32(y, 0x0e);
			two_rounds_each(&one, &two, x, y);
		}
		one.abef = _mm_add_epi32(one.abef, before_one.abef);
		one.cdgh = _mm_add_epi32(one.cdgh, before_one.cdgh);
		two.abef = _mm_add_epi32(two.abef, before_two.abef);
		two.cdgh = _mm_add_epi32(two.cdgh, before_two.cdgh);
	}
	lane_store(&one, a);
	lane_store(&two, b);
}

SHA_CODE void sha256_pair(uint32_t a[8], const uint8_t *p, uint32_t b[8], const uint8_t *q,
			  size_t blocks)
{
	if (p == q)
		run(a, p, b, p, blocks, true);
	else
		run(a, p, b, q, blocks, false);
}

bool sha256_pair_available(void)
{
	unsigned eax, ebx, ecx, edx;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_SSE4_1) || !(ecx & bit_SSSE3))
		return false;
	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ebx & bit_SHA;
}

#else

bool sha256_pair_available(void)
{
	return false;
}

void sha256_pair(uint32_t a[8], const uint8_t *p, uint32_t b[8], const uint8_t *q, size_t blocks)
{
	(void)a;
	(void)p;
	(void)b;
	(void)q;
	(void)blocks;
	assert(false);
}

#endif
