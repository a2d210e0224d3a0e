#include "tests/support/test.h"

#include "formats/trust.h"

/* Not certificates: the bundle takes their bytes as they are. KEY stands in ONE. */
#define ONE "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=\n"
#define TWO "enl4d3Z1dHNycXBvbm1sa2ppaGdmZWRjYmE=\n"
#define KEY_OF_ONE "SElKS0xNTk8=\n"
#define PEM(body) "-----BEGIN CERTIFICATE-----\n" body "-----END CERTIFICATE-----\n"
#define PUBLIC(body) "-----BEGIN PUBLIC KEY-----\n" body "-----END PUBLIC KEY-----\n"
#define OBJECT "[p11-kit-object-v1]\n"
#define USAGE(oids) \
	OBJECT "class: x-certificate-extension\nobject-id: 2.5.29.37\nvalue: \"0%0c" oids "\"\n"
#define FOR_SERVERS "%06%08%2b%06%01%05%05%07%03%01"
#define FOR_MAIL "%06%08%2b%06%01%05%05%07%03%04"

static char *bundle_of(const char *text, unsigned purpose, enum trust_default how)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_trust struct trust t = { 0 };
	struct strbuf out = { 0 };
	struct error err = { 0 };

	assert_ok(trust_read(&t, slice_str(text), how, &arena, &err), err);
	trust_bundle(&t, purpose, &out);
	return out.data ? strbuf_steal(&out) : xstrdup("");
}

static void assert_bundle(const char *text, unsigned purpose, const char *want)
{
	cleanup_free char *got = bundle_of(text, purpose, TRUST_PLAIN);

	assert_string_equal(got, want);
}

static void test_trusted_certificates_are_in_the_bundle_with_their_labels(void **state)
{
	(void)state;
	assert_bundle("# a comment\n" OBJECT "label: \"The %43A\"\ntrusted: true\n" PEM(ONE),
		      TRUST_SERVERS, "# The CA\n" PEM(ONE));
	assert_bundle(OBJECT "label: \"CA\"\n" PEM(ONE), TRUST_SERVERS, "");
}

static void test_distrust_goes_before_trust_in_whatever_order(void **state)
{
	(void)state;
	assert_bundle(OBJECT "trusted: true\n" PEM(ONE) OBJECT "x-distrusted: true\n" PEM(ONE)
			      OBJECT "trusted: true\n" PEM(TWO),
		      TRUST_SERVERS, PEM(TWO));
}

static void test_usage_of_a_key_limits_what_its_certificate_serves(void **state)
{
	static const char text[] = OBJECT "trusted: true\n" PEM(ONE) USAGE(FOR_MAIL)
		PUBLIC(KEY_OF_ONE) OBJECT "trusted: true\n" PEM(TWO);

	(void)state;
	assert_bundle(text, TRUST_SERVERS, PEM(TWO));
	assert_bundle(text, TRUST_EMAIL, PEM(ONE) "\n" PEM(TWO));
}

static void test_several_usages_count_together(void **state)
{
	(void)state;
	assert_bundle(OBJECT "trusted: true\n" PEM(ONE) USAGE(FOR_MAIL FOR_SERVERS)
			      PUBLIC(KEY_OF_ONE),
		      TRUST_SERVERS, PEM(ONE));
}

static void test_a_certificate_that_comes_twice_is_in_once(void **state)
{
	(void)state;
	assert_bundle(OBJECT "trusted: true\n" PEM(ONE) OBJECT "trusted: true\n" PEM(ONE),
		      TRUST_ALL, PEM(ONE));
}

static void test_plain_pem_is_what_its_folder_says(void **state)
{
	cleanup_free char *anchor = bundle_of(PEM(ONE), TRUST_SERVERS, TRUST_ANCHORS);
	cleanup_free char *plain = bundle_of(PEM(ONE), TRUST_SERVERS, TRUST_PLAIN);
	cleanup_free char *blocked = bundle_of(PEM(ONE), TRUST_SERVERS, TRUST_BLOCKED);

	(void)state;
	assert_string_equal(anchor, PEM(ONE));
	assert_string_equal(plain, "");
	assert_string_equal(blocked, "");
}

static void test_labels_hold_no_control_characters(void **state)
{
	(void)state;
	assert_bundle(OBJECT "label: \"a%0ab%1b[2J\"\ntrusted: true\n" PEM(ONE), TRUST_SERVERS,
		      "# a?b?[2J\n" PEM(ONE));
}

static void test_malformed_blocks_are_told_with_their_line(void **state)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "\n-----BEGIN CERTIFICATE-----\nQUJD\n", "line 2: a PEM block without its end" },
		{ "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n",
		  "line 1: not base64" },
		{ "-----BEGIN CERTIFICATE-----\nQUJ\n-----END KEY-----\n", "without its end" },
		{ PEM("Q\n"), "not base64" },
		{ PEM("QUJDRA==QQ\n"), "not base64" },
		{ PEM(""), "not base64" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_trust struct trust t = { 0 };
		struct error err = { 0 };

		assert_int_equal(
			trust_read(&t, slice_str(bad[i].text), TRUST_ANCHORS, &arena, &err), -1);
		assert_contains(err.text, bad[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trusted_certificates_are_in_the_bundle_with_their_labels),
		cmocka_unit_test(test_distrust_goes_before_trust_in_whatever_order),
		cmocka_unit_test(test_usage_of_a_key_limits_what_its_certificate_serves),
		cmocka_unit_test(test_several_usages_count_together),
		cmocka_unit_test(test_a_certificate_that_comes_twice_is_in_once),
		cmocka_unit_test(test_plain_pem_is_what_its_folder_says),
		cmocka_unit_test(test_labels_hold_no_control_characters),
		cmocka_unit_test(test_malformed_blocks_are_told_with_their_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
