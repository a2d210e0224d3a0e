#include "tests/support/test.h"

#include <sys/socket.h>

#include "net/address.h"

static void test_addresses_inside_are_known(void **state)
{
	static const char *const inside[] = {
		"127.0.0.1",
		"127.255.255.254",
		"10.1.2.3",
		"172.16.0.1",
		"172.31.255.255",
		"192.168.1.1",
		"169.254.169.254",
		"100.64.0.1",
		"0.0.0.0",
		"224.0.0.1",
		"255.255.255.255",
		"::1",
		"::",
		"fe80::1",
		"fc00::1",
		"fdff::1",
		"::ffff:10.0.0.1",
		"64:ff9b::a9fe:a9fe",
		"2002:0a00:0001::",
		"ff02::1",
		"::127.0.0.1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(inside); i++)
		if (!address_text_is_internal(inside[i]))
			fail_msg("%s", inside[i]);
}

static void test_addresses_outside_are_not(void **state)
{
	static const char *const outside[] = {
		"8.8.8.8",          "172.15.0.1",       "172.32.0.1",           "100.128.0.1",
		"192.0.1.1",        "169.253.0.1",      "2001:4860::8888",      "::ffff:8.8.8.8",
		"64:ff9b::808:808", "2002:0808:0808::", "registry.example.org", ""
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(outside); i++)
		if (address_text_is_internal(outside[i]))
			fail_msg("%s", outside[i]);
}

static void test_other_families_count_as_inside(void **state)
{
	struct sockaddr address = { .sa_family = AF_UNIX };

	(void)state;
	assert_true(address_is_internal(&address));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_inside_are_known),
		cmocka_unit_test(test_addresses_outside_are_not),
		cmocka_unit_test(test_other_families_count_as_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
