/* The running state of SHA-256 is laid open, so that two sums can go on side by side. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/sha256_pair.h"

static const struct {
	const char *prefix;
	size_t bytes;
} algorithms[] = {
	[DIGEST_SHA256] = { "sha256:", 32 },
	[DIGEST_SHA512] = { "sha512:", 64 },
};

/* Nothing of no bytes, as libcrypto's own. */
static void *crypto_malloc(size_t bytes, const char *file, int line)
{
	(void)file, (void)line;
	return bytes ? xmalloc(bytes) : NULL;
}

static void crypto_free(void *p, const char *file, int line)
{
	(void)file, (void)line;
	free(p);
}

static void *crypto_realloc(void *old, size_t bytes, const char *file, int line)
{
	(void)file, (void)line;
	if (bytes)
		return xreallocarray(old, 1, bytes);
	free(old);
	return NULL;
}

void digest_use_alloc(void)
{
	CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free);
}

size_t digest_size(enum digest_algorithm algorithm)
{
	return algorithms[algorithm].bytes;
}

static int hex_value(uint8_t c, bool any_case)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (any_case && c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool parse_hex(struct slice text, bool any_case, struct digest *out)
{
	size_t bytes = digest_size(out->algorithm);

	if (text.len != bytes * 2)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		int hi = hex_value(text.data[2 * i], any_case);
		int lo = hex_value(text.data[2 * i + 1], any_case);

		if (hi < 0 || lo < 0)
			return false;
		out->bytes[i] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}

static int not_a_digest(struct slice text, struct error *err)
{
	return error_set(err, ERROR_FORMAT, "'%.*s' is not a digest (sha256:<64 hex digits>)",
			 (int)MIN(text.len, (size_t)150), text.len ? (const char *)text.data : "");
}

int digest_parse(struct slice text, struct digest *out, struct error *err)
{
	for (size_t a = 0; a < ARRAY_LEN(algorithms); a++) {
		struct digest d = { .algorithm = (enum digest_algorithm)a };
		size_t skip = strlen(algorithms[a].prefix);

		if (!slice_starts(text, algorithms[a].prefix))
			continue;
		if (!parse_hex(slice_of(text.data + skip, text.len - skip), false, &d))
			return not_a_digest(text, err);
		*out = d;
		return 0;
	}
	return not_a_digest(text, err);
}

int digest_parse_sha256_hex(struct slice text, struct digest *out, struct error *err)
{
	struct digest d = { .algorithm = DIGEST_SHA256 };

	if (!parse_hex(text, true, &d))
		return not_a_digest(text, err);
	*out = d;
	return 0;
}

const char *digest_hex(const struct digest *d, char out[DIGEST_HEX_MAX])
{
	static const char digits[] = "0123456789abcdef";
	size_t bytes = digest_size(d->algorithm);

	for (size_t i = 0; i < bytes; i++) {
		out[2 * i] = digits[d->bytes[i] >> 4];
		out[2 * i + 1] = digits[d->bytes[i] & 15];
	}
	out[2 * bytes] = '\0';
	return out;
}

const char *digest_text(const struct digest *d, char out[DIGEST_TEXT_MAX])
{
	memcpy(out, algorithms[d->algorithm].prefix, 7);
	digest_hex(d, out + 7);
	return out;
}

void digest_sha1(struct slice s, uint8_t out[20])
{
	int done = EVP_Digest(s.len ? s.data : (const uint8_t *)"", s.len, out, NULL, EVP_sha1(),
			      NULL);

	assert(done == 1);
	(void)done;
}

const char *digest_base64url(const struct digest *d, char out[48])
{
	size_t len;

	EVP_EncodeBlock((uint8_t *)out, d->bytes, 32);
	len = 43;
	out[len] = '\0';
	for (size_t i = 0; i < len; i++) {
		if (out[i] == '+')
			out[i] = '-';
		else if (out[i] == '/')
			out[i] = '_';
	}
	return out;
}

int digest_check(const struct digest *got, const struct digest *want, struct error *err)
{
	char a[DIGEST_TEXT_MAX], b[DIGEST_TEXT_MAX];

	if (digest_equal(got, want))
		return 0;
	return error_set(err, ERROR_INTEGRITY, "has digest %s instead of %s", digest_text(got, a),
			 digest_text(want, b));
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
	return a->algorithm == b->algorithm &&
	       memcmp(a->bytes, b->bytes, digest_size(a->algorithm)) == 0;
}

void digest_init(struct digest_state *s, enum digest_algorithm algorithm)
{
	*s = (struct digest_state){ .algorithm = algorithm };
	if (algorithm == DIGEST_SHA256) {
		s->ctx = xmalloc(sizeof(SHA256_CTX));
		SHA256_Init(s->ctx);
		return;
	}
	s->ctx = EVP_MD_CTX_new();
	if (!s->ctx || EVP_DigestInit_ex(s->ctx, EVP_sha512(), NULL) != 1)
		abort();
}

void digest_update(struct digest_state *s, const void *data, size_t len)
{
	if (s->algorithm == DIGEST_SHA256)
		SHA256_Update(s->ctx, data, len);
	else if (EVP_DigestUpdate(s->ctx, data, len) != 1)
		abort();
}

/* Up to where whole blocks can be taken. */
static struct slice to_block(struct digest_state *s, struct slice data)
{
	const SHA256_CTX *c = s->ctx;
	size_t head = MIN(data.len, c->num ? SHA256_CBLOCK - c->num : 0);

	digest_update(s, data.data, head);
	return slice_of(data.data + head, data.len - head);
}

/* `bytes` went into the state directly. */
static void count(SHA256_CTX *c, size_t bytes)
{
	uint64_t bits = ((uint64_t)c->Nh << 32 | c->Nl) + (uint64_t)bytes * 8;

	c->Nh = (SHA_LONG)(bits >> 32);
	c->Nl = (SHA_LONG)bits;
}

void digest_update_both(struct digest_state *a, struct slice x, struct digest_state *b,
			struct slice y)
{
	if (a->pairs == 0)
		a->pairs = a->algorithm == DIGEST_SHA256 && sha256_pair_available() ? 1 : -1;
	if (a->pairs > 0 && b->algorithm == DIGEST_SHA256 && x.len && y.len) {
		SHA256_CTX *p = a->ctx, *q = b->ctx;
		size_t blocks;

		x = to_block(a, x);
		y = to_block(b, y);
		blocks = MIN(x.len, y.len) / SHA256_CBLOCK;
		if (p->num || q->num)
			blocks = 0;
		if (blocks) {
			size_t len = blocks * SHA256_CBLOCK;

			sha256_pair(p->h, x.data, q->h, y.data, blocks);
			count(p, len);
			count(q, len);
			x = slice_of(x.data + len, x.len - len);
			y = slice_of(y.data + len, y.len - len);
		}
	}
	digest_update(a, x.data, x.len);
	digest_update(b, y.data, y.len);
}

/* Up to `len` bytes from the front. */
static struct slice take(struct slice *s, size_t len)
{
	struct slice front = slice_of(s->data, MIN(len, s->len));

	*s = slice_of(s->data + front.len, s->len - front.len);
	return front;
}

/* a and b, a and c, b and c: each with what leaves to the others what they need of it. */
void digest_update_three(struct digest_state *a, struct slice x, struct digest_state *b,
			 struct slice y, struct digest_state *c, struct slice z)
{
	size_t of_z = z.len / 2 / SHA256_CBLOCK * SHA256_CBLOCK, both = MIN(x.len, y.len);

	both -= MIN(both, of_z);
	if (both) {
		struct slice front = take(&x, both);

		digest_update_both(a, front, b, take(&y, both));
	}
	digest_update_both(a, x, c, take(&z, of_z));
	digest_update_both(b, y, c, z);
}

struct digest digest_finish(struct digest_state *s)
{
	struct digest d = { .algorithm = s->algorithm };
	unsigned len = 0;

	if (s->algorithm == DIGEST_SHA256)
		SHA256_Final(d.bytes, s->ctx);
	else if (EVP_DigestFinal_ex(s->ctx, d.bytes, &len) != 1)
		abort();
	return d;
}

void digest_release(struct digest_state *s)
{
	if (!s)
		return;
	if (s->algorithm == DIGEST_SHA256)
		free(s->ctx);
	else
		EVP_MD_CTX_free(s->ctx);
	s->ctx = NULL;
}

struct digest digest_of(struct slice data)
{
	cleanup_digest struct digest_state s = { 0 };

	digest_init(&s, DIGEST_SHA256);
	digest_update(&s, data.data, data.len);
	return digest_finish(&s);
}
