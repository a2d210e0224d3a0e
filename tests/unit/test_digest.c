#include "tests/support/test.h"

#include "base/digest.h"

/* FIPS 180-4, the examples for "abc". */
#define ABC256 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define ABC512                                                             \
	"ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a" \
	"2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"

static void test_the_published_examples_are_met(void **state)
{
	struct digest d = digest_of(slice_str("abc"));
	char text[DIGEST_TEXT_MAX];

	(void)state;
	assert_string_equal(digest_text(&d, text), "sha256:" ABC256);
	assert_string_equal(digest_hex(&d, text), ABC256);
}

static void test_nothing_has_a_digest(void **state)
{
	struct digest d = digest_of((struct slice){ 0 });
	char text[DIGEST_TEXT_MAX];

	(void)state;
	assert_string_equal(digest_hex(&d, text),
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void test_pieces_give_the_digest_of_the_whole(void **state)
{
	cleanup_digest struct digest_state s = { 0 };
	char text[DIGEST_TEXT_MAX];
	struct digest d;

	(void)state;
	digest_init(&s, DIGEST_SHA512);
	digest_update(&s, "a", 1);
	digest_update(&s, NULL, 0);
	digest_update(&s, "bc", 2);
	d = digest_finish(&s);
	assert_string_equal(digest_text(&d, text), "sha512:" ABC512);
}

static void test_a_text_parses_to_itself(void **state)
{
	static const char *const texts[] = { "sha256:" ABC256, "sha512:" ABC512 };
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		char text[DIGEST_TEXT_MAX];
		struct digest d;

		assert_ok(digest_parse(slice_str(texts[i]), &d, &err), err);
		assert_string_equal(digest_text(&d, text), texts[i]);
	}
}

static void test_what_is_no_digest_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"sha256:",
		ABC256,
		"sha256:" ABC256 "0",
		"sha512:" ABC256,
		"sha1:" ABC256,
		"SHA256:" ABC256,
		"sha256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
		"sha256:ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		" sha256:" ABC256,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct error err = { 0 };
		struct digest d;

		assert_int_equal(digest_parse(slice_str(texts[i]), &d, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_every_truncation_is_refused(void **state)
{
	static const char text[] = "sha256:" ABC256;

	(void)state;
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		cleanup_free uint8_t *copy = xmemdup(text, len);
		struct error err = { 0 };
		struct digest d;

		assert_int_equal(digest_parse(slice_of(copy, len), &d, &err), -1);
	}
}

static void test_bare_digits_may_be_of_either_case(void **state)
{
	struct digest want = digest_of(slice_str("abc")), d;
	struct error err = { 0 };

	(void)state;
	assert_ok(digest_parse_sha256_hex(slice_str(ABC256), &d, &err), err);
	assert_true(digest_equal(&d, &want));
	assert_ok(
		digest_parse_sha256_hex(
			slice_str(
				"BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"),
			&d, &err),
		err);
	assert_true(digest_equal(&d, &want));
	assert_int_equal(digest_parse_sha256_hex(slice_str("sha256:" ABC256), &d, &err), -1);
}

static void test_algorithms_are_part_of_equality(void **state)
{
	struct digest a = { .algorithm = DIGEST_SHA256 }, b = { .algorithm = DIGEST_SHA512 };

	(void)state;
	assert_false(digest_equal(&a, &b));
	b.algorithm = DIGEST_SHA256;
	b.bytes[40] = 1; /* beyond what counts */
	assert_true(digest_equal(&a, &b));
	b.bytes[31] = 1;
	assert_false(digest_equal(&a, &b));
}

static void test_record_files_get_url_safe_base64(void **state)
{
	struct digest d = digest_of(slice_str("abc"));
	struct digest ones = { 0 };
	char text[48];

	(void)state;
	assert_string_equal(digest_base64url(&d, text),
			    "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
	memset(ones.bytes, 0xff, 32);
	assert_string_equal(digest_base64url(&ones, text),
			    "__________________________________________8");
}

/* Lengths that end before, at and behind blocks; `lead` bytes went into one of them before. */
static void check_both(const uint8_t *data, size_t lead, size_t x, size_t y, bool same)
{
	cleanup_digest struct digest_state a = { 0 }, b = { 0 }, one = { 0 }, two = { 0 };
	const uint8_t *other = same ? data : data + 7;
	struct digest got, want;

	digest_init(&a, DIGEST_SHA256);
	digest_init(&b, DIGEST_SHA256);
	digest_init(&one, DIGEST_SHA256);
	digest_init(&two, DIGEST_SHA256);
	digest_update(&a, data, lead);
	digest_update(&one, data, lead);
	for (int i = 0; i < 2; i++) {
		digest_update_both(&a, slice_of(data, x), &b, slice_of(other, y));
		digest_update(&one, data, x);
		digest_update(&two, other, y);
	}
	got = digest_finish(&a);
	want = digest_finish(&one);
	assert_true(digest_equal(&got, &want));
	got = digest_finish(&b);
	want = digest_finish(&two);
	assert_true(digest_equal(&got, &want));
}

static void test_two_at_once_are_as_each_alone(void **state)
{
	static const size_t lengths[] = { 0, 1, 63, 64, 65, 128, 500, 4096, 4099 };
	uint8_t data[5000];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31 + i / 256);
	for (size_t x = 0; x < ARRAY_LEN(lengths); x++) {
		for (size_t y = 0; y < ARRAY_LEN(lengths); y++) {
			check_both(data, 0, lengths[x], lengths[y], false);
			check_both(data, 512, lengths[x], lengths[y], true);
			check_both(data, 5, lengths[x], lengths[y], true);
		}
	}
}

static void check_three(const uint8_t *data, size_t lead, const size_t len[3])
{
	struct digest_state together[3] = { 0 }, alone[3] = { 0 };

	for (size_t i = 0; i < 3; i++) {
		digest_init(&together[i], DIGEST_SHA256);
		digest_init(&alone[i], DIGEST_SHA256);
	}
	digest_update(&together[2], data, lead);
	digest_update(&alone[2], data, lead);
	for (int round = 0; round < 2; round++) {
		digest_update_three(&together[0], slice_of(data, len[0]), &together[1],
				    slice_of(data, len[1]), &together[2],
				    slice_of(data + 9, len[2]));
		for (size_t i = 0; i < 3; i++)
			digest_update(&alone[i], data + (i == 2 ? 9 : 0), len[i]);
	}
	for (size_t i = 0; i < 3; i++) {
		struct digest got = digest_finish(&together[i]), want = digest_finish(&alone[i]);

		assert_true(digest_equal(&got, &want));
		digest_release(&together[i]);
		digest_release(&alone[i]);
	}
}

static void test_three_at_once_are_as_each_alone(void **state)
{
	static const size_t lengths[] = { 0, 1, 64, 127, 640, 4096, 4500 };
	enum { N = ARRAY_LEN(lengths) };
	uint8_t data[5000];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 37 + i / 256);
	for (size_t i = 0; i < (size_t)N * N * N; i++) {
		const size_t len[] = { lengths[i % N], lengths[i / N % N], lengths[i / N / N] };

		check_three(data, 0, len);
		check_three(data, 10, len);
	}
}

static void test_two_at_once_may_be_of_two_algorithms(void **state)
{
	cleanup_digest struct digest_state a = { 0 }, b = { 0 };
	struct digest got, want = digest_of(slice_str("abc"));

	(void)state;
	digest_init(&a, DIGEST_SHA512);
	digest_init(&b, DIGEST_SHA256);
	digest_update_both(&a, slice_str("abc"), &b, slice_str("abc"));
	got = digest_finish(&b);
	assert_true(digest_equal(&got, &want));
	got = digest_finish(&a);
	assert_int_equal(got.bytes[0], 0xdd); /* FIPS 180-4 example */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_published_examples_are_met),
		cmocka_unit_test(test_nothing_has_a_digest),
		cmocka_unit_test(test_pieces_give_the_digest_of_the_whole),
		cmocka_unit_test(test_a_text_parses_to_itself),
		cmocka_unit_test(test_what_is_no_digest_is_refused),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_bare_digits_may_be_of_either_case),
		cmocka_unit_test(test_algorithms_are_part_of_equality),
		cmocka_unit_test(test_record_files_get_url_safe_base64),
		cmocka_unit_test(test_two_at_once_are_as_each_alone),
		cmocka_unit_test(test_three_at_once_are_as_each_alone),
		cmocka_unit_test(test_two_at_once_may_be_of_two_algorithms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
