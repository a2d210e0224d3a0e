/*
 * Two SHA-256 sums side by side. The rounds of one sum wait for each other, so a core with the SHA
 * instructions of x86 (SHA-NI) is half idle; a second sum beside the first costs a tenth of one
 * (measured on an AMD EPYC: 1.8 GB/s alone, 1.65 GB/s each as a pair). For base/digest.c only.
 */
#ifndef BASE_SHA256_PAIR_H
#define BASE_SHA256_PAIR_H

#include "base/base.h"

/* Whether this processor has the instructions; it is asked each time, which may take microseconds.
 */
bool sha256_pair_available(void);
/*
 * Take `blocks` blocks of 64 bytes from `p` into the state `a`, and as many from `q` into `b`; `p`
 * and `q` may be the same, which is cheaper still. Only where it is available.
 */
void sha256_pair(uint32_t a[8], const uint8_t *p, uint32_t b[8], const uint8_t *q, size_t blocks);

#endif
