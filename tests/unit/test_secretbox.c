#include "tests/support/test.h"

#include "base/secretbox.h"

/* The vector of NaCl's own tests (tests/secretbox.c of nacl-20110221). */
static const char key_hex[] = "1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389";
static const char nonce_hex[] = "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37";
static const char message_hex[] =
	"be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d4"
	"5e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a"
	"024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705";
static const char box_hex[] =
	"f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c5"
	"31a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8a"
	"b932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622"
	"a43d14a6599b1f654cb45a74e355a5";

enum { MESSAGE = 131 };

static void unhex(const char *hex, uint8_t *out, size_t len)
{
	assert_int_equal(strlen(hex), 2 * len);
	for (size_t i = 0; i < len; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		out[i] = (uint8_t)byte;
	}
}

struct vector {
	uint8_t key[SECRETBOX_KEY], nonce[SECRETBOX_NONCE], message[MESSAGE];
	uint8_t box[MESSAGE + SECRETBOX_TAG];
};

static struct vector read_vector(void)
{
	struct vector v;

	unhex(key_hex, v.key, sizeof(v.key));
	unhex(nonce_hex, v.nonce, sizeof(v.nonce));
	unhex(message_hex, v.message, sizeof(v.message));
	unhex(box_hex, v.box, sizeof(v.box));
	return v;
}

static void test_the_vector_of_nacl_is_sealed(void **state)
{
	struct vector v = read_vector();
	uint8_t box[sizeof(v.box)];

	(void)state;
	secretbox_seal(v.key, v.nonce, slice_of(v.message, MESSAGE), box);
	assert_memory_equal(box, v.box, sizeof(box));
}

static void test_the_vector_of_nacl_is_opened(void **state)
{
	struct vector v = read_vector();
	uint8_t message[MESSAGE];

	(void)state;
	assert_true(secretbox_open(v.key, v.nonce, slice_of(v.box, sizeof(v.box)), message));
	assert_memory_equal(message, v.message, MESSAGE);
}

static void test_a_changed_byte_anywhere_is_refused(void **state)
{
	struct vector v = read_vector();
	uint8_t message[MESSAGE];

	(void)state;
	for (size_t i = 0; i < sizeof(v.box); i++) {
		v.box[i] ^= 1;
		assert_false(
			secretbox_open(v.key, v.nonce, slice_of(v.box, sizeof(v.box)), message));
		v.box[i] ^= 1;
	}
}

static void test_every_truncation_is_refused(void **state)
{
	struct vector v = read_vector();
	uint8_t message[MESSAGE];

	(void)state;
	for (size_t len = 0; len < sizeof(v.box); len++) {
		cleanup_free uint8_t *copy = xcalloc(len + 1, 1);

		memcpy(copy, v.box, len);
		assert_false(secretbox_open(v.key, v.nonce, slice_of(copy, len), message));
	}
}

static void test_messages_of_all_lengths_come_back(void **state)
{
	struct vector v = read_vector();

	(void)state;
	for (size_t len = 0; len <= 200; len++) {
		uint8_t message[200] = { 0 }, box[216], back[200] = { 0 };

		memset(message, (int)len, len);
		secretbox_seal(v.key, v.nonce, slice_of(message, len), box);
		assert_true(
			secretbox_open(v.key, v.nonce, slice_of(box, len + SECRETBOX_TAG), back));
		assert_memory_equal(message, back, sizeof(back));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_vector_of_nacl_is_sealed),
		cmocka_unit_test(test_the_vector_of_nacl_is_opened),
		cmocka_unit_test(test_a_changed_byte_anywhere_is_refused),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_messages_of_all_lengths_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
