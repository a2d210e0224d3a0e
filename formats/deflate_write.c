#include "formats/deflate_write.h"

#include "base/alloc.h"

enum {
	HASH_BITS = 13,
	HASH_BYTES = 5,
	WINDOW = 32768,
	MATCH_MIN = 4,
	MATCH_MAX = 258,
	BLOCK_BYTES = 128 * 1024,
	SEQUENCES_MAX = 32768,
	LITLEN_SYMBOLS = 286,
	DIST_SYMBOLS = 30,
	CODELEN_SYMBOLS = 19,
	END_OF_BLOCK = 256,
	LITLEN_BITS_MAX = 14, /* four literals and what is left of a byte fit 64 bits */
	DIST_BITS_MAX = 15,
	CODELEN_BITS_MAX = 7,
	STORED_MAX = 65535,
	WILD = 32, /* so many bytes are copied where fewer may be meant */
	TAIL = 12, /* near the end no match begins: eight bytes may be read anywhere before */
};

/* Literals, then a match; the last one of a block may have length 0: no match. */
struct sequence {
	uint32_t literals;
	uint16_t length, distance;
};

struct code {
	uint16_t bits;
	uint8_t len;
};

struct deflate_write {
	uint16_t table[1 << HASH_BITS]; /* low 16 bits of a position */
	uint32_t litlen_counts[LITLEN_SYMBOLS];
	uint32_t dist_counts[DIST_SYMBOLS];
	uint8_t literals[BLOCK_BYTES + MATCH_MAX + WILD]; /* of the block, one after the other */
	size_t literal_count;
	struct sequence sequences[SEQUENCES_MAX];
	size_t sequence_count;
	struct code litlen[LITLEN_SYMBOLS], dist[DIST_SYMBOLS];
	uint32_t length_bits[MATCH_MAX + 1]; /* a match length's code with its extra bits */
	uint8_t length_len[MATCH_MAX + 1];
	uint8_t length_symbol[MATCH_MAX + 1]; /* less 257 */
	uint8_t dist_symbol[512]; /* of distance - 1 below 256; else by (distance - 1) >> 7 */
};

struct writer {
	uint64_t bits;
	unsigned count;
	uint8_t *at;
};

static const uint16_t length_base[29] = { 3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
					  15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
					  67, 83, 99, 115, 131, 163, 195, 227, 258 };
static const uint8_t length_extra[29] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
					  2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0 };
static const uint16_t dist_base[30] = { 1,    2,    3,    4,     5,     7,    9,    13,
					17,   25,   33,   49,    65,    97,   129,  193,
					257,  385,  513,  769,   1025,  1537, 2049, 3073,
					4097, 6145, 8193, 12289, 16385, 24577 };
static const uint8_t dist_extra[30] = { 0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
					6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13 };

struct deflate_write *deflate_write_new(void)
{
	struct deflate_write *z = xcalloc(1, sizeof(*z));

	for (unsigned s = 0; s < 29; s++) {
		unsigned end = s < 28 ? length_base[s] + (1u << length_extra[s]) : MATCH_MAX + 1;

		for (unsigned l = length_base[s]; l < end && l <= MATCH_MAX; l++)
			z->length_symbol[l] = (uint8_t)s;
	}
	for (unsigned s = 0; s < DIST_SYMBOLS; s++) {
		for (unsigned d = dist_base[s]; d < dist_base[s] + (1u << dist_extra[s]); d++) {
			if (d <= 256)
				z->dist_symbol[d - 1] = (uint8_t)s;
			else
				z->dist_symbol[256 + ((d - 1) >> 7)] = (uint8_t)s;
		}
	}
	return z;
}

void deflate_write_free(struct deflate_write *z)
{
	free(z);
}

size_t deflate_write_bound(size_t len)
{
	/* stored blocks of 65535 bytes, one more for each block of ours that begins within a byte
	 */
	return len + 5 * (len / STORED_MAX + len / BLOCK_BYTES * 2 + 2) + 16;
}

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline uint32_t hash_of(uint64_t v)
{
	return (uint32_t)((v << (64 - 8 * HASH_BYTES)) * 0x9e3779b185ebca87u >> (64 - HASH_BITS));
}

static inline unsigned dist_symbol(const struct deflate_write *z, unsigned d)
{
	unsigned x = d - 1, far = (255 - x) >> 31; /* without a branch: nobody could predict it */

	return z->dist_symbol[(x >> 7 * far) + 256 * far];
}

/* Equal bytes at a and b, at most `limit`; both may be read 8 bytes beyond what is compared. */
static inline unsigned match_length(const uint8_t *a, const uint8_t *b, unsigned limit)
{
	unsigned n = 0;

	while (n + 8 <= limit) {
		uint64_t x = load64(a + n) ^ load64(b + n);

		if (x)
			return n + (unsigned)__builtin_ctzll(x) / 8;
		n += 8;
	}
	while (n < limit && a[n] == b[n])
		n++;
	return n;
}

static inline void add_literals(struct deflate_write *z, const uint8_t *p, size_t n, bool wild)
{
	uint8_t *to = z->literals + z->literal_count;

	if (wild && n <= WILD)
		memcpy(to, p, WILD);
	else
		memcpy(to, p, n);
	z->literal_count += n;
}

static inline void add_sequence(struct deflate_write *z, size_t literals, unsigned length,
				unsigned distance)
{
	z->sequences[z->sequence_count++] =
		(struct sequence){ (uint32_t)literals, (uint16_t)length, (uint16_t)(distance - 1) };
}

static void count_literals(struct deflate_write *z)
{
	uint32_t counts[4][256] = { { 0 } }; /* equal neighbours do not wait for each other */
	const uint8_t *p = z->literals;
	size_t n = z->literal_count;

	for (; n >= 4; n -= 4, p += 4) {
		for (unsigned i = 0; i < 4; i++)
			counts[i][p[i]]++;
	}
	for (; n; n--)
		counts[0][*p++]++;
	for (unsigned s = 0; s < 256; s++)
		z->litlen_counts[s] = counts[0][s] + counts[1][s] + counts[2][s] + counts[3][s];
}

static void count_symbols(struct deflate_write *z)
{
	memset(z->litlen_counts, 0, sizeof(z->litlen_counts));
	memset(z->dist_counts, 0, sizeof(z->dist_counts));
	count_literals(z);
	for (size_t i = 0; i < z->sequence_count; i++) {
		const struct sequence *q = &z->sequences[i];

		if (!q->length)
			continue;
		z->litlen_counts[257 + z->length_symbol[q->length]]++;
		z->dist_counts[dist_symbol(z, q->distance + 1u)]++;
	}
	z->litlen_counts[END_OF_BLOCK] = 1;
}

/* Matches from `at` on, up to a block's worth. Returns where the block ends. */
static size_t find_matches(struct deflate_write *z, struct slice in, size_t at)
{
	size_t block_end = MIN(in.len, at + BLOCK_BYTES);
	size_t last = in.len < TAIL ? 0 : MIN(block_end, in.len - TAIL); /* no match begins here */
	const uint8_t *p = in.data;
	size_t anchor = at;

	while (at < last && z->sequence_count < SEQUENCES_MAX - 1) {
		uint64_t v = load64(p + at);
		uint16_t *slot = &z->table[hash_of(v)];
		unsigned distance = (uint16_t)((uint16_t)at - *slot);
		unsigned length;

		*slot = (uint16_t)at;
		/* no entry is of a later position: distance <= at */
		if ((distance - 1 >= WINDOW) | (load32(p + at - distance) != (uint32_t)v)) {
			at += 1 + ((at - anchor) >> 8);
			continue;
		}
		length = MATCH_MIN +
			 match_length(p + at + 4, p + at - distance + 4,
				      (unsigned)MIN((size_t)MATCH_MAX - 4, in.len - at - 4));
		while (at > anchor && distance < at && length < MATCH_MAX &&
		       p[at - 1] == p[at - 1 - distance]) {
			at--;
			length++;
		}
		add_literals(z, p + anchor, at - anchor, anchor + WILD <= in.len);
		add_sequence(z, at - anchor, length, distance);
		if (at + length < last) {
			z->table[hash_of(load64(p + at + 1))] = (uint16_t)(at + 1);
			z->table[hash_of(load64(p + at + length - 2))] =
				(uint16_t)(at + length - 2);
		}
		at += length;
		anchor = at;
	}
	if (z->sequence_count == SEQUENCES_MAX - 1)
		return anchor;
	at = MAX(anchor, block_end);
	if (at > anchor) {
		add_literals(z, p + anchor, at - anchor, false);
		add_sequence(z, at - anchor, 0, 1);
	}
	return at;
}

/* `count` symbols by how often they occur, rarest first, equal ones by number. Returns how many
 * occur at all; `out` and `spare` hold occurrences << 9 | symbol. */
static unsigned sort_symbols(const uint32_t *counts, unsigned count, uint32_t *out, uint32_t *spare)
{
	unsigned used = 0;
	uint32_t most = 0;

	for (unsigned s = 0; s < count; s++) {
		if (!counts[s])
			continue;
		out[used++] = counts[s] << 9 | s;
		most = MAX(most, counts[s]);
	}
	for (unsigned shift = 9; shift < 32 && most >> (shift - 9); shift += 8) {
		unsigned starts[257] = { 0 };

		for (unsigned i = 0; i < used; i++)
			starts[(out[i] >> shift & 255) + 1]++;
		for (unsigned i = 0; i < 255; i++)
			starts[i + 1] += starts[i];
		for (unsigned i = 0; i < used; i++)
			spare[starts[out[i] >> shift & 255]++] = out[i];
		memcpy(out, spare, used * sizeof(*out));
	}
	return used;
}

/* Depths of an optimal tree, in place: Moffat and Katajainen 1995. `a` is sorted, n >= 2. */
static void minimum_redundancy(uint32_t *a, int n)
{
	int root = 0, leaf = 2, next, available, used, depth;

	a[0] += a[1];
	for (next = 1; next < n - 1; next++) {
		if (leaf >= n || a[root] < a[leaf]) {
			a[next] = a[root];
			a[root++] = (uint32_t)next;
		} else {
			a[next] = a[leaf++];
		}
		if (leaf >= n || (root < next && a[root] < a[leaf])) {
			a[next] += a[root];
			a[root++] = (uint32_t)next;
		} else {
			a[next] += a[leaf++];
		}
	}
	a[n - 2] = 0;
	for (next = n - 3; next >= 0; next--)
		a[next] = a[a[next]] + 1;
	available = 1;
	used = depth = 0;
	root = n - 2;
	next = n - 1;
	while (available > 0) {
		while (root >= 0 && (int)a[root] == depth) {
			used++;
			root--;
		}
		while (available > used) {
			a[next--] = (uint32_t)depth;
			available--;
		}
		available = 2 * used;
		depth++;
		used = 0;
	}
}

/* How many codes of each length, none longer than `limit`, from the depths of a tree. */
static void limit_lengths(const uint32_t *depths, unsigned n, unsigned limit, unsigned *out)
{
	uint32_t total = 0;

	for (unsigned i = 0; i < n; i++)
		out[MIN(depths[i], limit)]++;
	for (unsigned l = 1; l <= limit; l++)
		total += out[l] << (limit - l);
	while (total > 1u << limit) { /* a leaf goes down beside one of the longest */
		unsigned l = limit - 1;

		while (!out[l])
			l--;
		out[l]--;
		out[l + 1] += 2;
		out[limit]--;
		total--;
	}
}

static uint16_t reversed(uint32_t code, unsigned len)
{
	uint32_t r = 0;

	for (unsigned i = 0; i < len; i++)
		r |= (code >> i & 1) << (len - 1 - i);
	return (uint16_t)r;
}

/* RFC 1951 section 3.2.2. At least two symbols must occur. */
static void make_codes(const uint32_t *counts, unsigned count, unsigned limit, struct code *out)
{
	uint32_t sorted[LITLEN_SYMBOLS], depths[LITLEN_SYMBOLS];
	unsigned lengths[16] = { 0 }, at = 0;
	uint32_t next[17] = { 0 };
	unsigned used = sort_symbols(counts, count, sorted, depths);

	assert(used >= 2);
	for (unsigned i = 0; i < used; i++)
		depths[i] = sorted[i] >> 9;
	minimum_redundancy(depths, (int)used);
	limit_lengths(depths, used, limit, lengths);
	memset(out, 0, count * sizeof(*out));
	for (unsigned l = limit; l > 0; l--) {
		for (unsigned i = 0; i < lengths[l]; i++)
			out[sorted[at++] & 511].len = (uint8_t)l;
	}
	for (unsigned l = 1; l <= limit; l++)
		next[l + 1] = (next[l] + lengths[l]) << 1;
	for (unsigned s = 0; s < count; s++) {
		if (out[s].len)
			out[s].bits = reversed(next[out[s].len]++, out[s].len);
	}
}

static inline void put_bits(struct writer *w, uint64_t bits, unsigned count)
{
	w->bits |= bits << w->count;
	w->count += count;
}

/* Leaves fewer than 8 bits; writes 8 bytes. */
static inline void flush_bits(struct writer *w)
{
	uint64_t le = htole64(w->bits);

	memcpy(w->at, &le, sizeof(le));
	w->at += w->count >> 3;
	w->bits >>= w->count & 56;
	w->count &= 7;
}

/* Code lengths as section 3.2.7 packs them: symbol | extra << 8. */
static size_t pack_lengths(const uint8_t *lens, size_t count, uint16_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < count;) {
		size_t run = 1;

		while (i + run < count && lens[i + run] == lens[i])
			run++;
		if (lens[i] == 0 && run >= 3) {
			run = MIN(run, (size_t)138);
			out[n++] =
				(uint16_t)(run <= 10 ? 17 | (run - 3) << 8 : 18 | (run - 11) << 8);
			i += run;
		} else {
			out[n++] = lens[i++];
			for (run--; run >= 3;) {
				size_t part = MIN(run, (size_t)6);

				out[n++] = (uint16_t)(16 | (part - 3) << 8);
				run -= part;
				i += part;
			}
		}
	}
	return n;
}

/* What stands before the codes of a dynamic block. */
struct heading {
	uint16_t packed[LITLEN_SYMBOLS + DIST_SYMBOLS];
	size_t packed_len;
	struct code codelen[CODELEN_SYMBOLS];
	unsigned litlen, dist, codelens; /* how many of each are said */
	uint64_t bits;
};

static const uint8_t codelen_order[CODELEN_SYMBOLS] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
							11, 4,  12, 3, 13, 2, 14, 1, 15 };
static const uint8_t codelen_extra[CODELEN_SYMBOLS] = { [16] = 2, [17] = 3, [18] = 7 };

static void make_heading(const struct deflate_write *z, struct heading *h)
{
	uint8_t lens[LITLEN_SYMBOLS + DIST_SYMBOLS];
	uint32_t counts[CODELEN_SYMBOLS] = { 0 };
	unsigned used = 0;

	h->litlen = LITLEN_SYMBOLS;
	while (h->litlen > 257 && !z->litlen[h->litlen - 1].len)
		h->litlen--;
	h->dist = DIST_SYMBOLS;
	while (h->dist > 1 && !z->dist[h->dist - 1].len)
		h->dist--;
	for (unsigned i = 0; i < h->litlen; i++)
		lens[i] = z->litlen[i].len;
	for (unsigned i = 0; i < h->dist; i++)
		lens[h->litlen + i] = z->dist[i].len;
	h->packed_len = pack_lengths(lens, h->litlen + h->dist, h->packed);
	for (size_t i = 0; i < h->packed_len; i++)
		counts[h->packed[i] & 255]++;
	for (unsigned s = 0; s < CODELEN_SYMBOLS; s++)
		used += counts[s] != 0;
	if (used < 2)
		counts[counts[0] ? 1 : 0]++;
	make_codes(counts, CODELEN_SYMBOLS, CODELEN_BITS_MAX, h->codelen);
	h->codelens = CODELEN_SYMBOLS;
	while (h->codelens > 4 && !h->codelen[codelen_order[h->codelens - 1]].len)
		h->codelens--;
	h->bits = 3 + 5 + 5 + 4 + 3 * h->codelens;
	for (size_t i = 0; i < h->packed_len; i++) {
		unsigned s = h->packed[i] & 255;

		h->bits += h->codelen[s].len + codelen_extra[s];
	}
}

static void put_heading(const struct heading *h, bool final, struct writer *w)
{
	put_bits(w, (uint64_t) final | 2 << 1, 3);
	put_bits(w, h->litlen - 257, 5);
	put_bits(w, h->dist - 1, 5);
	put_bits(w, h->codelens - 4, 4);
	flush_bits(w);
	for (unsigned i = 0; i < h->codelens; i++) {
		put_bits(w, h->codelen[codelen_order[i]].len, 3);
		flush_bits(w);
	}
	for (size_t i = 0; i < h->packed_len; i++) {
		unsigned s = h->packed[i] & 255;

		put_bits(w, h->codelen[s].bits, h->codelen[s].len);
		put_bits(w, h->packed[i] >> 8, codelen_extra[s]);
		flush_bits(w);
	}
}

static void make_length_bits(struct deflate_write *z)
{
	for (unsigned l = 3; l <= MATCH_MAX; l++) {
		unsigned s = z->length_symbol[l];
		struct code c = z->litlen[257 + s];

		z->length_bits[l] = c.bits | (uint32_t)(l - length_base[s]) << c.len;
		z->length_len[l] = (uint8_t)(c.len + length_extra[s]);
	}
}

static inline void put_code(struct writer *w, struct code c)
{
	put_bits(w, c.bits, c.len);
}

static inline const uint8_t *put_literals(const struct code *codes, const uint8_t *p, size_t n,
					  struct writer *w)
{
	for (; n >= 4; n -= 4, p += 4) {
		put_code(w, codes[p[0]]);
		put_code(w, codes[p[1]]);
		put_code(w, codes[p[2]]);
		put_code(w, codes[p[3]]);
		flush_bits(w);
	}
	for (unsigned i = 0; i < 3; i++) { /* how many are left nobody could predict */
		unsigned mask = i < n ? 63 : 0;

		w->bits |= (uint64_t)(codes[p[i]].bits & -(mask & 1)) << w->count;
		w->count += codes[p[i]].len & mask;
	}
	flush_bits(w);
	return p + n;
}

static void put_sequences(const struct deflate_write *z, struct writer *writer)
{
	const uint8_t *p = z->literals;
	struct writer w = *writer; /* in registers */

	for (size_t i = 0; i < z->sequence_count; i++) {
		const struct sequence *q = &z->sequences[i];
		unsigned distance = q->distance + 1u, s;

		p = put_literals(z->litlen, p, q->literals, &w);
		if (!q->length)
			continue;
		s = dist_symbol(z, distance);
		put_bits(&w, z->length_bits[q->length], z->length_len[q->length]);
		put_code(&w, z->dist[s]);
		put_bits(&w, distance - dist_base[s], dist_extra[s]);
		flush_bits(&w);
	}
	put_code(&w, z->litlen[END_OF_BLOCK]);
	flush_bits(&w);
	*writer = w;
}

/* RFC 1951 section 3.2.4. */
static void put_stored(const uint8_t *p, size_t n, bool final, struct writer *w)
{
	do {
		uint16_t len = (uint16_t)MIN(n, (size_t)STORED_MAX);

		put_bits(w, final && len == n, 3);
		w->count = (w->count + 7) & ~7u;
		put_bits(w, len, 16);
		put_bits(w, (uint16_t)~len, 16);
		flush_bits(w);
		memcpy(w->at, p, len);
		w->at += len;
		p += len;
		n -= len;
	} while (n);
}

static uint64_t body_bits(const struct deflate_write *z)
{
	uint64_t bits = 0;

	for (unsigned s = 0; s < LITLEN_SYMBOLS; s++) {
		unsigned extra = s > 256 ? length_extra[s - 257] : 0;

		bits += (uint64_t)z->litlen_counts[s] * (z->litlen[s].len + extra);
	}
	for (unsigned s = 0; s < DIST_SYMBOLS; s++)
		bits += (uint64_t)z->dist_counts[s] * (z->dist[s].len + dist_extra[s]);
	return bits;
}

/* Codes of one symbol alone are not what every decoder takes: two at least. */
static void at_least_two(uint32_t *counts, unsigned first, unsigned second)
{
	counts[first] += !counts[first];
	counts[second] += !counts[second];
}

static void put_block(struct deflate_write *z, struct slice block, bool final, struct writer *w)
{
	uint64_t stored = 8 * (block.len + 5 * (block.len / STORED_MAX + 1));
	unsigned dists = 0;
	struct heading h;

	count_symbols(z);
	at_least_two(z->litlen_counts, END_OF_BLOCK, 0);
	for (unsigned s = 0; s < DIST_SYMBOLS; s++)
		dists += z->dist_counts[s] != 0;
	if (dists < 2)
		at_least_two(z->dist_counts, 0, 1);
	make_codes(z->litlen_counts, LITLEN_SYMBOLS, LITLEN_BITS_MAX, z->litlen);
	make_codes(z->dist_counts, DIST_SYMBOLS, DIST_BITS_MAX, z->dist);
	make_heading(z, &h);
	if (h.bits + body_bits(z) >= stored) {
		put_stored(block.data, block.len, final, w);
		return;
	}
	make_length_bits(z);
	put_heading(&h, final, w);
	put_sequences(z, w);
}

size_t deflate_write(struct deflate_write *z, struct slice in, uint8_t *out)
{
	struct writer w = { .at = out };
	size_t at = 0;

	assert(in.len < (size_t)1 << 31);
	memset(z->table, 0, sizeof(z->table));
	do {
		size_t end;

		z->sequence_count = 0;
		z->literal_count = 0;
		end = find_matches(z, in, at);
		put_block(z, slice_of(in.data + at, end - at), end == in.len, &w);
		at = end;
	} while (at < in.len);
	w.count = (w.count + 7) & ~7u;
	flush_bits(&w);
	return (size_t)(w.at - out);
}
