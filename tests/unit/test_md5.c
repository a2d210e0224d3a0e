#include "tests/support/test.h"

#include "base/md5.h"

/* The test suite of RFC 1321, A.5, and lengths around the block's. */
static void test_the_vectors_of_the_rfc(void **state)
{
	static const char *const vectors[][2] = {
		{ "", "d41d8cd98f00b204e9800998ecf8427e" },
		{ "a", "0cc175b9c0f1b6a831c399e269772661" },
		{ "abc", "900150983cd24fb0d6963f7d28e17f72" },
		{ "message digest", "f96b697d7cb7938d525a2f31aaf161d0" },
		{ "abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b" },
		{ "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
		  "d174ab98d277d9f5a5611c2c9f419d9f" },
		{ "1234567890123456789012345678901234567890123456789012345678901234567890123456789"
		  "0",
		  "57edf4a22be3c955ac49da2e2107b67a" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
		char hex[MD5_HEX_SIZE];

		assert_string_equal(md5_hex(slice_str(vectors[i][0]), hex), vectors[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_vectors_of_the_rfc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
