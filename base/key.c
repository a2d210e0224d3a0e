#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

#include "base/key.h"

#include "base/alloc.h"

enum {
	RSA_BITS_MIN = 2048,
	RSA_BITS_MAX = 4096,
	SCRYPT_BLOCKS = 8,
	SCRYPT_COST_MAX = 1 << 20,
	SIGNATURE_MAX = 1024,
};

struct key {
	EVP_PKEY *pkey;
};

void key_free(struct key *k)
{
	if (!k)
		return;
	EVP_PKEY_free(k->pkey);
	free(k);
}

/* Takes `pkey`. */
static struct key *wrap(EVP_PKEY *pkey)
{
	struct key *k = xcalloc(1, sizeof(*k));

	k->pkey = pkey;
	return k;
}

struct key *key_new(void)
{
	EVP_PKEY *pkey = EVP_EC_gen("P-256");

	if (!pkey)
		abort(); /* no source of randomness, or no memory */
	return wrap(pkey);
}

static bool curve_taken(const EVP_PKEY *pkey)
{
	static const char *const curves[] = { "prime256v1", "P-256",     "secp384r1",
					      "P-384",      "secp521r1", "P-521" };
	char name[64];
	size_t len;

	if (!EVP_PKEY_get_group_name(pkey, name, sizeof(name), &len))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(curves); i++) {
		if (str_equal(name, curves[i]))
			return true;
	}
	return false;
}

static int check_kind(const EVP_PKEY *pkey, struct error *err)
{
	int bits = EVP_PKEY_get_bits(pkey);

	if (EVP_PKEY_is_a(pkey, "EC")) {
		if (curve_taken(pkey))
			return 0;
		return error_set(err, ERROR_LIMIT, "its curve is none of P-256, P-384 and P-521");
	}
	if (EVP_PKEY_is_a(pkey, "RSA")) {
		if (bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX)
			return 0;
		return error_set(err, ERROR_LIMIT, "an RSA key of %d bits; %d to %d bits are taken",
				 bits, RSA_BITS_MIN, RSA_BITS_MAX);
	}
	if (EVP_PKEY_is_a(pkey, "ED25519"))
		return 0;
	return error_set(err, ERROR_LIMIT, "a key that is neither elliptic, RSA nor Ed25519");
}

/* A checked key of what libcrypto read, all of it or not. */
static struct key *take(EVP_PKEY *pkey, bool complete, struct error *err)
{
	ERR_clear_error();
	if (!pkey || !complete) {
		EVP_PKEY_free(pkey);
		error_set(err, ERROR_FORMAT, "holds no key that can be read");
		return NULL;
	}
	if (check_kind(pkey, err) < 0) {
		EVP_PKEY_free(pkey);
		return NULL;
	}
	return wrap(pkey);
}

struct key *key_from_private(struct slice der, struct error *err)
{
	const unsigned char *at = der.data;
	EVP_PKEY *pkey = der.len && der.len <= LONG_MAX
				 ? d2i_AutoPrivateKey(NULL, &at, (long)der.len)
				 : NULL;

	return take(pkey, at == der.data + der.len, err);
}

struct key *key_from_public(struct slice der, struct error *err)
{
	const unsigned char *at = der.data;
	EVP_PKEY *pkey =
		der.len && der.len <= LONG_MAX ? d2i_PUBKEY(NULL, &at, (long)der.len) : NULL;

	return take(pkey, at == der.data + der.len, err);
}

struct key *key_from_encrypted(struct slice der, struct slice password, struct error *err)
{
	const unsigned char *at = der.data;
	X509_SIG *sealed =
		der.len && der.len <= LONG_MAX ? d2i_X509_SIG(NULL, &at, (long)der.len) : NULL;
	PKCS8_PRIV_KEY_INFO *info;
	EVP_PKEY *pkey;

	if (!sealed || password.len > INT_MAX) {
		ERR_clear_error();
		X509_SIG_free(sealed);
		error_set(err, ERROR_FORMAT, "holds no encrypted key that can be read");
		return NULL;
	}
	info = PKCS8_decrypt(sealed, (const char *)password.data, (int)password.len);
	X509_SIG_free(sealed);
	ERR_clear_error();
	if (!info) {
		error_set(err, ERROR_USAGE, "the password does not open it");
		return NULL;
	}
	pkey = EVP_PKCS82PKEY(info);
	PKCS8_PRIV_KEY_INFO_free(info); /* wipes */
	return take(pkey, true, err);
}

void key_private_der(const struct key *k, struct strbuf *out)
{
	PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(k->pkey);
	unsigned char *der = NULL;
	int len = info ? i2d_PKCS8_PRIV_KEY_INFO(info, &der) : -1;

	if (len < 0)
		abort(); /* it was read, so it can be written */
	strbuf_reserve(out, (size_t)len);
	strbuf_add(out, der, (size_t)len);
	OPENSSL_clear_free(der, (size_t)len);
	PKCS8_PRIV_KEY_INFO_free(info);
}

void key_public_der(const struct key *k, struct strbuf *out)
{
	unsigned char *der = NULL;
	int len = i2d_PUBKEY(k->pkey, &der);

	if (len < 0)
		abort();
	strbuf_add(out, der, (size_t)len);
	OPENSSL_free(der);
}

/* Ed25519 takes the message as it is. */
static const EVP_MD *hash_of(const struct key *k)
{
	return EVP_PKEY_is_a(k->pkey, "ED25519") ? NULL : EVP_sha256();
}

int key_sign(const struct key *k, struct slice message, struct strbuf *out, struct error *err)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t signature[SIGNATURE_MAX];
	size_t len = sizeof(signature);
	bool done = ctx && EVP_DigestSignInit(ctx, NULL, hash_of(k), NULL, k->pkey) == 1 &&
		    EVP_DigestSign(ctx, signature, &len, message.data, message.len) == 1;

	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	if (!done)
		return error_set(err, ERROR_FORMAT, "the key cannot sign; is it a private one?");
	strbuf_add(out, signature, len);
	return 0;
}

bool key_verify(const struct key *k, struct slice message, struct slice signature)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good = ctx && EVP_DigestVerifyInit(ctx, NULL, hash_of(k), NULL, k->pkey) == 1 &&
		    EVP_DigestVerify(ctx, signature.data, signature.len, message.data,
				     message.len) == 1;

	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return good;
}

int key_scrypt(struct slice password, struct slice salt, uint64_t cost, uint8_t out[32],
	       struct error *err)
{
	uint64_t memory = 128 * SCRYPT_BLOCKS * cost + 32 * MIB;

	if (cost < 2 || cost > SCRYPT_COST_MAX || (cost & (cost - 1)))
		return error_set(err, ERROR_LIMIT,
				 "scrypt with N = %" PRIu64 "; powers of two up to %d are taken",
				 cost, SCRYPT_COST_MAX);
	if (EVP_PBE_scrypt(password.len ? (const char *)password.data : "", password.len, salt.data,
			   salt.len, cost, SCRYPT_BLOCKS, 1, memory, out, 32) == 1)
		return 0;
	ERR_clear_error();
	return error_set(err, ERROR_LIMIT, "scrypt with N = %" PRIu64 " finds no memory", cost);
}

void key_random(uint8_t *out, size_t len)
{
	if (len > INT_MAX || RAND_priv_bytes(out, (int)len) != 1)
		abort();
}
