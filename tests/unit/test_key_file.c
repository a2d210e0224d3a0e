#include "tests/support/test.h"

#include "base/base64.h"
#include "formats/key_file.h"
#include "formats/pem.h"

static int give(void *user, struct strbuf *out, struct error *err)
{
	(void)err;
	strbuf_adds(out, user);
	return 0;
}

static char *fixture(const char *name)
{
	cleanup_free char *path = xasprintf("tests/fixtures/keys/%s", name);
	struct strbuf text = { 0 };
	struct error err = { 0 };

	assert_ok(fs_read(AT_FDCWD, path, PEM_BYTES_MAX, &text, &err), err);
	return strbuf_steal(&text);
}

static struct key *open_with(const char *text, const char *password, struct error *err)
{
	return key_file_private(slice_str(text), give, (void *)(uintptr_t)password, err);
}

static void check_signs(const struct key *k)
{
	cleanup_strbuf struct strbuf der = { 0 }, signature = { 0 };
	cleanup_key struct key *public = NULL;
	struct error err = { 0 };

	key_public_der(k, &der);
	public = key_from_public(strbuf_slice(&der), &err);
	assert_non_null(public);
	assert_ok(key_sign(k, slice_str("hello"), &signature, &err), err);
	assert_true(key_verify(public, slice_str("hello"), strbuf_slice(&signature)));
	assert_false(key_verify(public, slice_str("hellp"), strbuf_slice(&signature)));
}

static void test_keys_that_cosign_wrote_are_opened(void **state)
{
	static const char *const names[] = { "cosign-rsa-label.key", "cosign-sec1.key",
					     "cosign-sigstore.key" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		cleanup_free char *text = fixture(names[i]);
		struct error err = { 0 };
		cleanup_key struct key *k = open_with(text, "hello", &err);

		if (!k)
			fail_msg("%s: %s", names[i], err.text);
		check_signs(k);
	}
}

static void test_a_wrong_password_is_the_users_mistake(void **state)
{
	cleanup_free char *text = fixture("cosign-sigstore.key");
	struct error err = { 0 };

	(void)state;
	assert_null(open_with(text, "hallo", &err));
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "the password does not open it");
	assert_null(strstr(err.text, "hallo"));
}

static void test_an_encrypted_key_without_a_password_says_so(void **state)
{
	cleanup_free char *text = fixture("cosign-sigstore.key");
	struct error err = { 0 };

	(void)state;
	assert_null(key_file_private(slice_str(text), NULL, NULL, &err));
	assert_int_equal(err.code, ERROR_USAGE);
}

static void test_what_is_sealed_opens_again(void **state)
{
	cleanup_key struct key *k = key_new(), *again = NULL;
	cleanup_strbuf struct strbuf text = { 0 }, a = { 0 }, b = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(key_file_seal(k, slice_str("s3cret"), &text, &err), err);
	assert_contains(text.data, "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n");
	again = open_with(text.data, "s3cret", &err);
	assert_non_null(again);
	key_private_der(k, &a);
	key_private_der(again, &b);
	assert_true(slice_equal(strbuf_slice(&a), strbuf_slice(&b)));
}

static void test_a_plain_key_needs_no_password(void **state)
{
	cleanup_key struct key *k = key_new(), *again = NULL;
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	(void)state;
	key_file_plain(k, &text);
	again = key_file_private(strbuf_slice(&text), NULL, NULL, &err);
	assert_non_null(again);
	check_signs(again);
}

static void test_the_two_halves_are_told_apart(void **state)
{
	cleanup_key struct key *k = key_new();
	cleanup_strbuf struct strbuf secret = { 0 }, public = { 0 };
	struct error err = { 0 };

	(void)state;
	key_file_plain(k, &secret);
	key_file_write_public(k, &public);
	assert_null(key_file_public(strbuf_slice(&secret), &err));
	assert_contains(err.text, "this is a private key");
	err = (struct error){ 0 };
	assert_null(key_file_private(strbuf_slice(&public), NULL, NULL, &err));
	assert_contains(err.text, "this is a public key");
}

/* A sealed key whose document says this. */
static void refused(const char *json, enum error_code code, const char *why)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	pem_write("ENCRYPTED COSIGN PRIVATE KEY", slice_str(json), &text);
	assert_null(open_with(text.data, "x", &err));
	assert_int_equal(err.code, code);
	assert_contains(err.text, why);
}

#define DOCUMENT(cost, r, cipher, nonce, box)                                                 \
	"{\"kdf\":{\"name\":\"scrypt\",\"params\":{\"N\":" cost ",\"r\":" r                   \
	",\"p\":1},\"salt\":\"AAAA\"},\"cipher\":{\"name\":\"" cipher "\",\"nonce\":\"" nonce \
	"\"},\"ciphertext\":\"" box "\"}"
#define NONCE "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define BOX "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static void test_hostile_parameters_are_refused(void **state)
{
	(void)state;
	refused(DOCUMENT("1073741824", "8", "nacl/secretbox", NONCE, BOX), ERROR_LIMIT,
		"N = 1073741824");
	refused(DOCUMENT("3", "8", "nacl/secretbox", NONCE, BOX), ERROR_LIMIT, "powers of two");
	refused(DOCUMENT("1024", "1024", "nacl/secretbox", NONCE, BOX), ERROR_LIMIT,
		"kdf.params.r");
	refused(DOCUMENT("1024", "8", "none", NONCE, BOX), ERROR_FORMAT, "cipher.name");
	refused(DOCUMENT("1024", "8", "nacl/secretbox", "AAAA", BOX), ERROR_FORMAT, "nonce");
	refused(DOCUMENT("1024", "8", "nacl/secretbox", NONCE, "AAAA"), ERROR_FORMAT, "ciphertext");
	refused(DOCUMENT("1024", "8", "nacl/secretbox", NONCE, "A-_A"), ERROR_FORMAT, "base64");
	refused(DOCUMENT("1024", "8", "nacl/secretbox", NONCE, BOX), ERROR_USAGE, "password");
	refused("[]", ERROR_FORMAT, "not an object");
	refused("{\"kdf\":1}", ERROR_FORMAT, "kdf");
}

/* Vector 3 of RFC 7914, 12 has another r and p; this is what Python's hashlib.scrypt gives. */
static void test_scrypt_gives_what_others_give(void **state)
{
	static const char want[] = "VBc2h9Jl5DImvZFLAVJn4v3UEIqgWTf7VJ7OsMJ2ooU=";
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };
	uint8_t out[32];

	(void)state;
	assert_ok(key_scrypt(slice_str("pleaseletmein"), slice_str("SodiumChloride"), 1024, out,
			     &err),
		  err);
	base64_encode(slice_of(out, sizeof(out)), &text);
	assert_string_equal(text.data, want);
}

static void test_weak_and_strange_keys_are_refused(void **state)
{
	/* P-224 and secp256k1, of sigstore/cosign, pkg/cosign/keys_test.go */
	static const char p224[] =
		"-----BEGIN EC PRIVATE KEY-----\n"
		"MGgCAQEEHNpr8qVw+OcDrk/2aSqCGkWFKIjJSH0smeuloomgBwYFK4EEACGhPAM6\n"
		"AARL+L9osuD8BYNr/aCkJiDHfDhxosXNOkcml4XPsnN88EjUqI2J7lMqmea5guwr\n"
		"eu5jUfVoZzti6A==\n"
		"-----END EC PRIVATE KEY-----\n";
	static const char koblitz[] =
		"-----BEGIN EC PRIVATE KEY-----\n"
		"MHQCAQEEIJ6iubjORxWrzL3Z0i30s80TuLD+N6YTYVk49nzl+O1eoAcGBSuBBAAK\n"
		"oUQDQgAEBadoFlV8pUuQ+WvRapCRJRGYk34h2nYkXW0BPdaCiPiEHawiVq9XXwG9\n"
		"BuLB48bb77i0pTkVEefOuiNrbdBibw==\n"
		"-----END EC PRIVATE KEY-----\n";
	struct error err = { 0 };

	(void)state;
	assert_null(key_file_private(slice_str(p224), NULL, NULL, &err));
	assert_int_equal(err.code, ERROR_LIMIT);
	err = (struct error){ 0 };
	assert_null(key_file_private(slice_str(koblitz), NULL, NULL, &err));
	assert_int_equal(err.code, ERROR_LIMIT);
}

static void test_keys_of_all_kinds_in_use_are_read(void **state)
{
	/* P-256, P-384 and Ed25519, of the same file */
	static const char *const keys[] = {
		"-----BEGIN EC PRIVATE KEY-----\n"
		"MHcCAQEEIIGhcmCI5F7BPMH4r3pWCpQdAsveErdU5DjvVQerErJuoAoGCCqGSM49\n"
		"AwEHoUQDQgAE+9E3Qe+h25ofmz3Uo2T004Dfy49iX06MMbxf9rsGmLkOPrS0KYDl\n"
		"1QMfFuSbrtf8wTWNT9HNxrW/Foz39mDhHw==\n"
		"-----END EC PRIVATE KEY-----",
		"-----BEGIN EC PRIVATE KEY-----\n"
		"MIGkAgEBBDDWIebxSdyJVber6J/l5MKnD0+VU0b7fcjY/RbIxuIsHLVIvwJrSohY\n"
		"r3gJ/iJmIKGgBwYFK4EEACKhZANiAAQeoKZkkc1GafmIgp1tbNbMBjr2EdvX2dtT\n"
		"lGhzHJgE0YB6TavazcYH1iOBNmX7/pInCopiyWbjF/5olrRKJMG6DQz80td++fYf\n"
		"O4tr+Z3nyUgRGmf/fqYA4PSN30CuOMU=\n"
		"-----END EC PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\n"
		"MC4CAQAwBQYDK2VwBCIEIALEbo1EFnWFqBK/wC+hhypG/8hXEerwdNetAoFoFVdv\n"
		"-----END PRIVATE KEY-----",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		struct error err = { 0 };
		cleanup_key struct key *k = key_file_private(slice_str(keys[i]), NULL, NULL, &err);

		if (!k)
			fail_msg("key %zu: %s", i, err.text);
		check_signs(k);
	}
}

static void test_broken_pem_says_what_is_broken(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "no PEM" },
		{ "-----BEGIN PRIVATE KEY-----\nAAAA\n", "the line that ends it is missing" },
		{ "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
		  "different names" },
		{ "-----BEGIN PRIVATE KEY-----\n@@@@\n-----END PRIVATE KEY-----\n", "no base64" },
		{ "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n"
		  "-----END EC PRIVATE KEY-----\n",
		  "headers" },
		{ "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "no key" },
		{ "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
		  "'OPENSSH PRIVATE KEY' is none" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };

		assert_null(key_file_private(slice_str(cases[i].text), NULL, NULL, &err));
		assert_int_equal(err.code, ERROR_FORMAT);
		assert_contains(err.text, cases[i].why);
	}
}

static void test_wiped_buffers_are_empty(void **state)
{
	struct strbuf b = { 0 };

	(void)state;
	strbuf_adds(&b, "secret");
	strbuf_wipe(&b);
	assert_null(b.data);
	strbuf_wipe(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_that_cosign_wrote_are_opened),
		cmocka_unit_test(test_a_wrong_password_is_the_users_mistake),
		cmocka_unit_test(test_an_encrypted_key_without_a_password_says_so),
		cmocka_unit_test(test_what_is_sealed_opens_again),
		cmocka_unit_test(test_a_plain_key_needs_no_password),
		cmocka_unit_test(test_the_two_halves_are_told_apart),
		cmocka_unit_test(test_hostile_parameters_are_refused),
		cmocka_unit_test(test_scrypt_gives_what_others_give),
		cmocka_unit_test(test_weak_and_strange_keys_are_refused),
		cmocka_unit_test(test_keys_of_all_kinds_in_use_are_read),
		cmocka_unit_test(test_broken_pem_says_what_is_broken),
		cmocka_unit_test(test_wiped_buffers_are_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
