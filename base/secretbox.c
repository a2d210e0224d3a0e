#include "base/secretbox.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

enum { BLOCK = 64, WORDS = 16, ROUNDS = 20 };

static uint32_t load32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void store32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t rotate(uint32_t v, int by)
{
	return v << by | v >> (32 - by);
}

static void quarter(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
	*b ^= rotate(*a + *d, 7);
	*c ^= rotate(*b + *a, 9);
	*d ^= rotate(*c + *b, 13);
	*a ^= rotate(*d + *c, 18);
}

static void rounds(uint32_t x[WORDS])
{
	for (int i = 0; i < ROUNDS; i += 2) {
		quarter(&x[0], &x[4], &x[8], &x[12]);
		quarter(&x[5], &x[9], &x[13], &x[1]);
		quarter(&x[10], &x[14], &x[2], &x[6]);
		quarter(&x[15], &x[3], &x[7], &x[11]);
		quarter(&x[0], &x[1], &x[2], &x[3]);
		quarter(&x[5], &x[6], &x[7], &x[4]);
		quarter(&x[10], &x[11], &x[8], &x[9]);
		quarter(&x[15], &x[12], &x[13], &x[14]);
	}
}

/* The square of constants, key and 16 bytes of input that Salsa20 starts from. */
static void fill(uint32_t x[WORDS], const uint8_t key[SECRETBOX_KEY], const uint8_t input[16])
{
	static const uint8_t constant[] = "expand 32-byte k";

	for (int i = 0; i < 4; i++) {
		x[5 * i] = load32(constant + 4 * i);
		x[1 + i] = load32(key + 4 * i);
		x[11 + i] = load32(key + 16 + 4 * i);
		x[6 + i] = load32(input + 4 * i);
	}
}

/* HSalsa20: a key for each nonce. */
static void derive(const uint8_t key[SECRETBOX_KEY], const uint8_t input[16],
		   uint8_t out[SECRETBOX_KEY])
{
	static const int taken[] = { 0, 5, 10, 15, 6, 7, 8, 9 };
	uint32_t x[WORDS];

	fill(x, key, input);
	rounds(x);
	for (int i = 0; i < 8; i++)
		store32(out + 4 * i, x[taken[i]]);
	OPENSSL_cleanse(x, sizeof(x));
}

static void block(const uint8_t key[SECRETBOX_KEY], const uint8_t nonce[8], uint64_t count,
		  uint8_t out[BLOCK])
{
	uint32_t x[WORDS], start[WORDS];
	uint8_t input[16];

	memcpy(input, nonce, 8);
	store32(input + 8, (uint32_t)count);
	store32(input + 12, (uint32_t)(count >> 32));
	fill(start, key, input);
	memcpy(x, start, sizeof(x));
	rounds(x);
	for (int i = 0; i < WORDS; i++)
		store32(out + 4 * i, x[i] + start[i]);
	OPENSSL_cleanse(x, sizeof(x));
	OPENSSL_cleanse(start, sizeof(start));
}

/* The message starts at byte 32 of the stream: the first 32 are the authenticator's key. */
static void cipher(const uint8_t key[SECRETBOX_KEY], const uint8_t nonce[8], struct slice in,
		   uint8_t *out, uint8_t mac_key[32])
{
	uint8_t stream[BLOCK];
	uint64_t count = 0;

	for (size_t at = 0, pos = 32; at < in.len; at++, pos++) {
		if (at == 0 || pos == BLOCK) {
			pos = at == 0 ? 32 : 0;
			block(key, nonce, count++, stream);
		}
		if (out)
			out[at] = in.data[at] ^ stream[pos];
	}
	block(key, nonce, 0, stream);
	memcpy(mac_key, stream, 32);
	OPENSSL_cleanse(stream, sizeof(stream));
}

/* Ends the program when libcrypto has no Poly1305: nothing that was input leads there. */
static void authenticate(const uint8_t key[32], struct slice data, uint8_t tag[SECRETBOX_TAG])
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "POLY1305", NULL);
	EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac);
	size_t len = 0;

	if (!ctx || !EVP_MAC_init(ctx, key, 32, NULL) ||
	    (data.len && !EVP_MAC_update(ctx, data.data, data.len)) ||
	    !EVP_MAC_final(ctx, tag, &len, SECRETBOX_TAG) || len != SECRETBOX_TAG)
		abort();
	EVP_MAC_CTX_free(ctx);
	EVP_MAC_free(mac);
}

bool secretbox_open(const uint8_t key[SECRETBOX_KEY], const uint8_t nonce[SECRETBOX_NONCE],
		    struct slice box, uint8_t *out)
{
	uint8_t derived[SECRETBOX_KEY], mac_key[32], tag[SECRETBOX_TAG];
	struct slice sealed;
	bool whole;

	if (!slice_sub(box, SECRETBOX_TAG, box.len - MIN(box.len, (size_t)SECRETBOX_TAG), &sealed))
		return false;
	derive(key, nonce, derived);
	cipher(derived, nonce + 16, (struct slice){ 0 }, NULL, mac_key);
	authenticate(mac_key, sealed, tag);
	whole = CRYPTO_memcmp(tag, box.data, SECRETBOX_TAG) == 0;
	if (whole)
		cipher(derived, nonce + 16, sealed, out, mac_key);
	OPENSSL_cleanse(derived, sizeof(derived));
	OPENSSL_cleanse(mac_key, sizeof(mac_key));
	return whole;
}

void secretbox_seal(const uint8_t key[SECRETBOX_KEY], const uint8_t nonce[SECRETBOX_NONCE],
		    struct slice message, uint8_t *out)
{
	uint8_t derived[SECRETBOX_KEY], mac_key[32];

	derive(key, nonce, derived);
	cipher(derived, nonce + 16, message, out + SECRETBOX_TAG, mac_key);
	authenticate(mac_key, slice_of(out + SECRETBOX_TAG, message.len), out);
	OPENSSL_cleanse(derived, sizeof(derived));
	OPENSSL_cleanse(mac_key, sizeof(mac_key));
}
