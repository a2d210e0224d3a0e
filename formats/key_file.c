#include "formats/key_file.h"

#include "base/base64.h"
#include "base/digest.h"
#include "base/secretbox.h"
#include "formats/json.h"
#include "formats/pem.h"

enum { COST = 65536, SALT = 32 };

#define LABEL_SEALED "ENCRYPTED SIGSTORE PRIVATE KEY"

enum form { FORM_UNKNOWN, FORM_PLAIN, FORM_PBES2, FORM_SEALED, FORM_PUBLIC };

static enum form form_of(struct slice label)
{
	static const struct {
		const char *label;
		enum form form;
	} forms[] = {
		{ "PRIVATE KEY", FORM_PLAIN },     { "EC PRIVATE KEY", FORM_PLAIN },
		{ "RSA PRIVATE KEY", FORM_PLAIN }, { "ENCRYPTED PRIVATE KEY", FORM_PBES2 },
		{ LABEL_SEALED, FORM_SEALED },     { "ENCRYPTED COSIGN PRIVATE KEY", FORM_SEALED },
		{ "PUBLIC KEY", FORM_PUBLIC },
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (slice_is(label, forms[i].label))
			return forms[i].form;
	}
	return FORM_UNKNOWN;
}

static int unknown_form(struct slice label, struct error *err)
{
	cleanup_strbuf struct strbuf quoted = { 0 };

	strbuf_add_quoted(&quoted, label, 60);
	return error_set(err, ERROR_FORMAT, "PEM: %s is none of the keys that are read",
			 strbuf_text(&quoted));
}

/* Cosign's document. */

struct sealed {
	uint64_t cost;
	struct strbuf salt, nonce, box;
};

static void sealed_release(struct sealed *s)
{
	strbuf_release(&s->salt);
	strbuf_release(&s->nonce);
	strbuf_release(&s->box);
}

static int get_bytes(const json_t *o, const char *where, const char *key, struct strbuf *out,
		     struct error *err)
{
	const char *text;

	if (json_get_str(o, where, key, &text, err) < 0)
		return -1;
	if (!base64_decode_strict(slice_str(text), out))
		return error_set(err, ERROR_FORMAT, "%s%s%s: is no base64", where,
				 *where ? "." : "", key);
	return 0;
}

static int expect(const json_t *o, const char *where, const char *name, struct error *err)
{
	const char *text;

	if (json_get_str(o, where, "name", &text, err) < 0)
		return -1;
	if (!str_equal(text, name))
		return error_set(err, ERROR_FORMAT, "%s.name: is '%.40s' instead of %s", where,
				 text, name);
	return 0;
}

static int expect_number(const json_t *o, const char *where, const char *key, uint64_t want,
			 struct error *err)
{
	uint64_t value;

	if (json_get_u64(o, where, key, &value, err) < 0)
		return -1;
	if (value != want)
		return error_set(err, ERROR_LIMIT, "%s.%s: is %" PRIu64 "; %" PRIu64 " is taken",
				 where, key, value, want);
	return 0;
}

static int parse_sealed(struct slice text, struct sealed *out, struct error *err)
{
	cleanup_json json_t *root = NULL;
	json_t *kdf, *cipher, *params;

	if (json_parse(text, &root, err) < 0)
		return -1;
	if (!json_is_object(root))
		return error_set(err, ERROR_FORMAT, "is not an object");
	if (json_get_object(root, "", "kdf", &kdf, err) < 0 ||
	    json_get_object(root, "", "cipher", &cipher, err) < 0 ||
	    get_bytes(root, "", "ciphertext", &out->box, err) < 0 ||
	    expect(kdf, "kdf", "scrypt", err) < 0 ||
	    json_get_object(kdf, "kdf", "params", &params, err) < 0 ||
	    get_bytes(kdf, "kdf", "salt", &out->salt, err) < 0 ||
	    json_get_u64(params, "kdf.params", "N", &out->cost, err) < 0 ||
	    expect_number(params, "kdf.params", "r", 8, err) < 0 ||
	    expect_number(params, "kdf.params", "p", 1, err) < 0 ||
	    expect(cipher, "cipher", "nacl/secretbox", err) < 0 ||
	    get_bytes(cipher, "cipher", "nonce", &out->nonce, err) < 0)
		return -1;
	if (out->nonce.len != SECRETBOX_NONCE)
		return error_set(err, ERROR_FORMAT, "cipher.nonce: is %zu bytes instead of %d",
				 out->nonce.len, SECRETBOX_NONCE);
	if (out->box.len <= SECRETBOX_TAG)
		return error_set(err, ERROR_FORMAT, "ciphertext: is too short");
	return 0;
}

static struct key *open_sealed(const struct sealed *s, struct slice password, struct error *err)
{
	cleanup_secret struct strbuf der = { 0 };
	uint8_t secret[SECRETBOX_KEY];
	bool whole;

	if (key_scrypt(password, strbuf_slice(&s->salt), s->cost, secret, err) < 0)
		return NULL;
	strbuf_add_zeros(&der, s->box.len - SECRETBOX_TAG);
	whole = secretbox_open(secret, (const uint8_t *)s->nonce.data, strbuf_slice(&s->box),
			       (uint8_t *)der.data);
	explicit_bzero(secret, sizeof(secret));
	if (whole)
		return key_from_private(strbuf_slice(&der), err);
	error_set(err, ERROR_USAGE, "the password does not open it");
	return NULL;
}

/* Reading. */

static int ask(key_password_fn *password, void *user, struct strbuf *out, struct error *err)
{
	if (!password)
		return error_set(err, ERROR_USAGE, "it is encrypted, and there is no password");
	return password(user, out, err);
}

static struct key *read_sealed(struct slice text, key_password_fn *password, void *user,
			       struct error *err)
{
	cleanup_secret struct strbuf secret = { 0 };
	struct sealed sealed = { 0 };
	struct key *k = NULL;

	if (parse_sealed(text, &sealed, err) == 0 && ask(password, user, &secret, err) == 0)
		k = open_sealed(&sealed, strbuf_slice(&secret), err);
	sealed_release(&sealed);
	return k;
}

static struct key *read_pbes2(struct slice der, key_password_fn *password, void *user,
			      struct error *err)
{
	cleanup_secret struct strbuf secret = { 0 };

	if (ask(password, user, &secret, err) < 0)
		return NULL;
	return key_from_encrypted(der, strbuf_slice(&secret), err);
}

struct key *key_file_private(struct slice text, key_password_fn *password, void *user,
			     struct error *err)
{
	cleanup_secret struct strbuf der = { 0 };
	struct slice label;

	if (pem_read(text, &label, &der, err) < 0)
		return NULL;
	switch (form_of(label)) {
	case FORM_PLAIN:
		return key_from_private(strbuf_slice(&der), err);
	case FORM_PBES2:
		return read_pbes2(strbuf_slice(&der), password, user, err);
	case FORM_SEALED:
		return read_sealed(strbuf_slice(&der), password, user, err);
	case FORM_PUBLIC:
		error_set(err, ERROR_USAGE, "this is a public key; the private one is wanted");
		return NULL;
	default:
		unknown_form(label, err);
		return NULL;
	}
}

struct key *key_file_public(struct slice text, struct error *err)
{
	cleanup_secret struct strbuf der = { 0 };
	struct slice label;

	if (pem_read(text, &label, &der, err) < 0)
		return NULL;
	switch (form_of(label)) {
	case FORM_PUBLIC:
		return key_from_public(strbuf_slice(&der), err);
	case FORM_UNKNOWN:
		unknown_form(label, err);
		return NULL;
	default:
		error_set(err, ERROR_USAGE, "this is a private key; the public one is wanted");
		return NULL;
	}
}

/* Writing. */

static void put_bytes(json_t *o, const char *key, struct slice bytes)
{
	cleanup_strbuf struct strbuf text = { 0 };

	base64_encode(bytes, &text);
	json_put(o, key, json_text(strbuf_text(&text)));
}

static json_t *kdf_json(struct slice salt)
{
	json_t *kdf = json_object(), *params = json_object();

	json_put(params, "N", json_integer(COST));
	json_put(params, "r", json_integer(8));
	json_put(params, "p", json_integer(1));
	json_put(kdf, "name", json_text("scrypt"));
	json_put(kdf, "params", params);
	put_bytes(kdf, "salt", salt);
	return kdf;
}

static json_t *cipher_json(struct slice nonce)
{
	json_t *cipher = json_object();

	json_put(cipher, "name", json_text("nacl/secretbox"));
	put_bytes(cipher, "nonce", nonce);
	return cipher;
}

int key_file_seal(const struct key *k, struct slice password, struct strbuf *out, struct error *err)
{
	cleanup_secret struct strbuf der = { 0 };
	cleanup_strbuf struct strbuf box = { 0 }, text = { 0 };
	cleanup_json json_t *root = json_object();
	uint8_t secret[SECRETBOX_KEY], salt[SALT], nonce[SECRETBOX_NONCE];

	key_random(salt, sizeof(salt));
	key_random(nonce, sizeof(nonce));
	if (key_scrypt(password, slice_of(salt, sizeof(salt)), COST, secret, err) < 0)
		return -1;
	key_private_der(k, &der);
	strbuf_add_zeros(&box, der.len + SECRETBOX_TAG);
	secretbox_seal(secret, nonce, strbuf_slice(&der), (uint8_t *)box.data);
	explicit_bzero(secret, sizeof(secret));
	json_put(root, "kdf", kdf_json(slice_of(salt, sizeof(salt))));
	json_put(root, "cipher", cipher_json(slice_of(nonce, sizeof(nonce))));
	put_bytes(root, "ciphertext", strbuf_slice(&box));
	json_canonical(root, &text);
	pem_write(LABEL_SEALED, strbuf_slice(&text), out);
	return 0;
}

void key_file_plain(const struct key *k, struct strbuf *out)
{
	cleanup_secret struct strbuf der = { 0 };

	key_private_der(k, &der);
	pem_write("PRIVATE KEY", strbuf_slice(&der), out);
}

void key_file_write_public(const struct key *k, struct strbuf *out)
{
	cleanup_strbuf struct strbuf der = { 0 };

	key_public_der(k, &der);
	pem_write("PUBLIC KEY", strbuf_slice(&der), out);
}

void key_file_hint(const struct key *k, struct strbuf *out)
{
	cleanup_strbuf struct strbuf der = { 0 };
	struct digest digest;

	key_public_der(k, &der);
	digest = digest_of(strbuf_slice(&der));
	base64_encode(slice_of(digest.bytes, 32), out);
}
