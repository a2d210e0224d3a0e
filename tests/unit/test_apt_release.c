#include "tests/support/test.h"

#include "base/process.h"
#include "builder/sources/apt_release.h"
#include "builder/sources/armor.h"

#define FIXTURES "tests/fixtures/apt/"
#define GOOD FIXTURES "keys/good.asc"
#define OTHER FIXTURES "keys/other.asc"
#define SHORT FIXTURES "keys/short.asc"

static void read_file(const char *path, struct strbuf *out)
{
	struct error err = { 0 };

	assert_ok(fs_read(AT_FDCWD, path, MIB, out, &err), err);
}

static void split(struct slice in, struct strbuf *text, struct strbuf *signature)
{
	struct error err = { 0 };

	assert_ok(apt_clearsigned_split(in, "InRelease", text, signature, &err), err);
}

/* Check an InRelease of the fixtures against one keyring. */
static int verify(const char *in_release, const char *keyring, struct error *err)
{
	cleanup_strbuf struct strbuf whole = { 0 }, text = { 0 }, signature = { 0 };
	struct apt_keys keys = { .keyrings = &keyring, .keyring_count = 1 };

	if (!process_available("gpgv"))
		skip();
	read_file(in_release, &whole);
	split(strbuf_slice(&whole), &text, &signature);
	return apt_release_verify(strbuf_slice(&text), strbuf_slice(&signature), &keys, in_release,
				  err);
}

static void expect_distrust(const char *in_release, const char *keyring, const char *part)
{
	struct error err = { 0 };

	assert_int_equal(verify(in_release, keyring, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, part);
	assert_contains(err.text, keyring);
}

static void test_a_good_signature_is_accepted(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_ok(verify(FIXTURES "repo/dists/stable/InRelease", GOOD, &err), err);
}

static void test_one_good_signature_of_two_suffices(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_ok(verify(FIXTURES "repo/dists/both/InRelease", GOOD, &err), err);
	assert_ok(verify(FIXTURES "repo/dists/both/InRelease", OTHER, &err), err);
}

static void test_a_detached_signature_counts_for_release(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 }, signature = { 0 };
	const char *keyring = GOOD;
	struct apt_keys keys = { .keyrings = &keyring, .keyring_count = 1 };
	struct error err = { 0 };

	(void)state;
	if (!process_available("gpgv"))
		skip();
	read_file(FIXTURES "repo/dists/stable/Release", &text);
	read_file(FIXTURES "repo/dists/stable/Release.gpg", &signature);
	assert_ok(apt_release_verify(strbuf_slice(&text), strbuf_slice(&signature), &keys,
				     "Release", &err),
		  err);
	text.data[10] ^= 1;
	assert_int_equal(apt_release_verify(strbuf_slice(&text), strbuf_slice(&signature), &keys,
					    "Release", &err),
			 -1);
	assert_contains(err.text, "changed, or damaged");
}

static void test_a_binary_keyring_is_taken_as_it_is(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *path = fs_join(dir, "good.gpg");
	cleanup_strbuf struct strbuf armoured = { 0 }, bytes = { 0 };
	struct error err = { 0 };

	(void)state;
	read_file(GOOD, &armoured);
	assert_ok(armor_decode(strbuf_slice(&armoured), GOOD, &bytes, &err), err);
	assert_ok(fs_write(AT_FDCWD, path, strbuf_slice(&bytes), 0644, &err), err);
	assert_ok(verify(FIXTURES "repo/dists/stable/InRelease", path, &err), err);
}

static void test_a_changed_text_is_refused(void **state)
{
	cleanup_strbuf struct strbuf whole = { 0 }, text = { 0 }, signature = { 0 };
	const char *keyring = GOOD;
	struct apt_keys keys = { .keyrings = &keyring, .keyring_count = 1 };
	struct error err = { 0 };
	char *at;

	(void)state;
	if (!process_available("gpgv"))
		skip();
	read_file(FIXTURES "repo/dists/stable/InRelease", &whole);
	at = strstr(whole.data, "Suite: stable");
	at[7] = 'S';
	split(strbuf_slice(&whole), &text, &signature);
	assert_int_equal(apt_release_verify(strbuf_slice(&text), strbuf_slice(&signature), &keys,
					    "InRelease", &err),
			 -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "changed, or damaged");
}

static void test_a_key_that_is_not_in_the_keyring_is_refused(void **state)
{
	(void)state;
	expect_distrust(FIXTURES "repo/dists/other/InRelease", GOOD,
			"not in the keyring; get the repository's current key and name its file as "
			"signed-by");
}

static void test_an_expired_key_is_refused(void **state)
{
	(void)state;
	expect_distrust(FIXTURES "repo/dists/short/InRelease", SHORT, "the key has expired");
}

static void test_a_signature_over_sha1_is_refused(void **state)
{
	(void)state;
	expect_distrust(FIXTURES "repo/dists/sha1/InRelease", GOOD, "weak digest");
}

static void test_a_missing_keyring_is_named(void **state)
{
	(void)state;
	expect_distrust(FIXTURES "repo/dists/stable/InRelease", FIXTURES "keys/none.gpg",
			"keyring " FIXTURES "keys/none.gpg is missing");
}

static void test_a_damaged_keyring_is_refused(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *path = fs_join(dir, "bad.asc");
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	(void)state;
	read_file(GOOD, &text);
	text.data[200] = text.data[200] == 'A' ? 'B' : 'A';
	assert_ok(fs_write(AT_FDCWD, path, strbuf_slice(&text), 0644, &err), err);
	expect_distrust(FIXTURES "repo/dists/stable/InRelease", path, "CRC-24");
}

static void test_only_the_fingerprints_that_are_named_count(void **state)
{
	static const char *const wrong[] = { "0123456789ABCDEF0123456789ABCDEF01234567" };
	static const char status[] = "[GNUPG:] NEWSIG\n[GNUPG:] GOODSIG C647FBE79E64964F x\n"
				     "[GNUPG:] VALIDSIG 5183DF06CD66A751650BFC62C647FBE79E64964F "
				     "2026-01-01 1767225600 0 4 "
				     "0 1 8 01 5183DF06CD66A751650BFC62C647FBE79E64964F\n";
	static const char *const right[] = { "5183df06cd66a751650bfc62c647fbe79e64964f" };
	struct apt_keys keys = { .fingerprints = wrong, .fingerprint_count = 1 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(apt_gpgv_judge(slice_str(status), &keys, &err), -1);
	assert_contains(err.text, "fingerprints");
	keys.fingerprints = right;
	assert_ok(apt_gpgv_judge(slice_str(status), &keys, &err), err);
}

static void test_status_lines_are_judged_by_keyword(void **state)
{
#define VALID "[GNUPG:] VALIDSIG F 2026-01-01 1 0 4 0 1 8 01 F\n"
#define WEAK "[GNUPG:] VALIDSIG F 2026-01-01 1 0 4 0 1 2 01 F\n"
	static const struct {
		const char *status;
		bool good;
	} cases[] = {
		{ "", false },
		{ "gpgv: Good signature\n", false },
		{ "[GNUPG:] GOODSIG F x\n", false },
		{ VALID, false },
		{ "[GNUPG:] GOODSIG F x\n" VALID, true },
		{ "[GNUPG:] GOODSIG F x\n" WEAK, false },
		{ "[GNUPG:] GOODSIG F x\n[GNUPG:] NEWSIG\n" VALID, false },
		{ "[GNUPG:] EXPKEYSIG F x\n" VALID, false },
		{ "[GNUPG:] REVKEYSIG F x\n" VALID, false },
		{ "[GNUPG:] EXPSIG F x\n" VALID, false },
		{ "[GNUPG:] GOODSIG F x\n" VALID "[GNUPG:] BADSIG G y\n", false },
		{ "[GNUPG:] ERRSIG G 1 8 01 1 9 -\n[GNUPG:] NO_PUBKEY G\n[GNUPG:] NEWSIG\n"
		  "[GNUPG:] GOODSIG F x\n" VALID,
		  true },
		{ "[GNUPG:] EXPKEYSIG G y\n" VALID "[GNUPG:] NEWSIG\n[GNUPG:] GOODSIG F x\n" VALID,
		  true },
		{ "x [GNUPG:] GOODSIG F x\n" VALID, false },
	};
	struct apt_keys keys = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };

		if ((apt_gpgv_judge(slice_str(cases[i].status), &keys, &err) == 0) != cases[i].good)
			fail_msg("case %zu: %s", i, err.text);
	}
}

#define HEAD "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n"
#define TAIL "-----BEGIN PGP SIGNATURE-----\n\nAA==\n-----END PGP SIGNATURE-----\n"

static void test_the_signed_text_is_what_the_signature_covers(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 }, signature = { 0 };

	(void)state;
	split(slice_str(HEAD "a  \t\r\n- -dash\n\nb\n" TAIL), &text, &signature);
	assert_string_equal(strbuf_text(&text), "a\n-dash\n\nb");
	assert_string_equal(strbuf_text(&signature), TAIL);
}

static void test_anything_else_in_a_signed_file_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"a\n",
		"x\n" HEAD "a\n" TAIL,
		HEAD "a\n" TAIL "x\n",
		HEAD "a\n" TAIL HEAD "b\n" TAIL,
		HEAD "-a\n" TAIL,
		HEAD "a\n",
		HEAD "a\n-----BEGIN PGP SIGNATURE-----\n\nAA==\n",
		"-----BEGIN PGP SIGNED MESSAGE-----\nOrigin: x\n\na\n" TAIL,
		HEAD "a\n-----BEGIN PGP SIGNATURE-----\n-----BEGIN PGP SIGNATURE-----\n"
		     "-----END PGP SIGNATURE-----\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_strbuf struct strbuf text = { 0 }, signature = { 0 };
		struct error err = { 0 };

		if (apt_clearsigned_split(slice_str(bad[i]), "x", &text, &signature, &err) != -1)
			fail_msg("case %zu passes", i);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_every_truncation_of_a_signed_file_is_refused(void **state)
{
	cleanup_strbuf struct strbuf whole = { 0 };

	(void)state;
	read_file(FIXTURES "repo/dists/stable/InRelease", &whole);
	for (size_t len = 0; len + 1 < whole.len; len++) {
		cleanup_strbuf struct strbuf text = { 0 }, signature = { 0 };
		cleanup_free uint8_t *copy = xmemdup(whole.data, len);
		struct error err = { 0 };

		assert_int_equal(apt_clearsigned_split(slice_of(copy, len), "x", &text, &signature,
						       &err),
				 -1);
	}
}

#define FIELDS "Suite: s\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n"
#define SUM "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void test_a_release_is_read_with_its_digests(void **state)
{
	cleanup_apt_release struct apt_release r = { 0 };
	struct error err = { 0 };
	char buf[32];

	(void)state;
	assert_ok(apt_release_parse(slice_str(FIELDS "Acquire-By-Hash: yes\nNotAutomatic: yes\n"
						     "MD5Sum:\n 00 1 main/x\nSHA256:\n " SUM
						     "   17 main/Packages.xz\n"),
				    "r", &r, &err),
		  err);
	assert_string_equal(r.suite, "s");
	assert_true(r.by_hash && r.not_automatic && !r.but_automatic_upgrades);
	assert_int_equal(apt_release_file(&r, "main/Packages.xz")->size, 17);
	assert_null(apt_release_file(&r, "main/x"));
	assert_string_equal(apt_date_text(r.date, buf), "2026-01-01T00:00:00Z");
}

static void test_a_release_that_says_too_little_is_refused(void **state)
{
	static const struct {
		const char *text;
		enum error_code code;
	} cases[] = {
		{ "", ERROR_FORMAT },
		{ "Suite: s\nSHA256:\n " SUM " 1 x\n", ERROR_FORMAT },
		{ FIELDS, ERROR_INTEGRITY },
		{ FIELDS "MD5Sum:\n 00 1 x\n", ERROR_INTEGRITY },
		{ FIELDS "SHA256:\n 00 1 x\n", ERROR_FORMAT },
		{ FIELDS "SHA256:\n " SUM " x x\n", ERROR_FORMAT },
		{ FIELDS "SHA256:\n " SUM " 1\n", ERROR_FORMAT },
		{ FIELDS "Valid-Until: soon\nSHA256:\n " SUM " 1 x\n", ERROR_FORMAT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_apt_release struct apt_release r = { 0 };
		struct error err = { 0 };

		if (apt_release_parse(slice_str(cases[i].text), "r", &r, &err) != -1)
			fail_msg("case %zu passes", i);
		assert_int_equal(err.code, cases[i].code);
	}
}

static void test_time_is_checked_both_ways(void **state)
{
	struct apt_release r = { .date = 1000000, .valid_until = 2000000 };
	struct error err = { 0 };

	(void)state;
	assert_ok(apt_release_check_time(&r, "r", 1500000, &err), err);
	assert_int_equal(apt_release_check_time(&r, "r", 2000001, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "expired on 1970-01-24T03:33:20Z");
	assert_int_equal(apt_release_check_time(&r, "r", 1000, &err), -1);
	assert_contains(err.text, "clock");
}

static void test_the_crc_is_that_of_the_standard(void **state)
{
	(void)state;
	assert_int_equal(armor_crc24(slice_str("")), 0xb704ce);
	assert_int_equal(armor_crc24(slice_str("123456789")), 0x21cf02);
}

static void test_damaged_armour_is_refused(void **state)
{
#define B "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"
#define E "-----END PGP PUBLIC KEY BLOCK-----\n"
	static const char *const bad[] = { "",
					   B E,
					   B "\n" E,
					   B "\nMTIzNDU2Nzg5\n",
					   B "\nMTIzNDU2Nzg\n" E,
					   B "\nMTIz!DU2Nzg5\n" E,
					   B "\nMTIzNDU2Nzg5\n=AAAA\n" E,
					   B "\nMQ==MTIz\n" E,
					   B "\nMTIzNDU2Nzg5\n=Ic8C\nMTIz\n" E,
					   B "MTIzNDU2Nzg5\n" E };
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_strbuf struct strbuf waste = { 0 };

		if (armor_decode(slice_str(bad[i]), "k", &waste, &err) != -1)
			fail_msg("case %zu passes", i);
	}
	assert_ok(armor_decode(slice_str("x\n" B "Comment: y\n\nMTIzNDU2Nzg5\n=Ic8C\n" E), "k",
			       &out, &err),
		  err);
	assert_string_equal(strbuf_text(&out), "123456789");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_good_signature_is_accepted),
		cmocka_unit_test(test_one_good_signature_of_two_suffices),
		cmocka_unit_test(test_a_detached_signature_counts_for_release),
		cmocka_unit_test(test_a_binary_keyring_is_taken_as_it_is),
		cmocka_unit_test(test_a_changed_text_is_refused),
		cmocka_unit_test(test_a_key_that_is_not_in_the_keyring_is_refused),
		cmocka_unit_test(test_an_expired_key_is_refused),
		cmocka_unit_test(test_a_signature_over_sha1_is_refused),
		cmocka_unit_test(test_a_missing_keyring_is_named),
		cmocka_unit_test(test_a_damaged_keyring_is_refused),
		cmocka_unit_test(test_only_the_fingerprints_that_are_named_count),
		cmocka_unit_test(test_status_lines_are_judged_by_keyword),
		cmocka_unit_test(test_the_signed_text_is_what_the_signature_covers),
		cmocka_unit_test(test_anything_else_in_a_signed_file_is_refused),
		cmocka_unit_test(test_every_truncation_of_a_signed_file_is_refused),
		cmocka_unit_test(test_a_release_is_read_with_its_digests),
		cmocka_unit_test(test_a_release_that_says_too_little_is_refused),
		cmocka_unit_test(test_time_is_checked_both_ways),
		cmocka_unit_test(test_the_crc_is_that_of_the_standard),
		cmocka_unit_test(test_damaged_armour_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
