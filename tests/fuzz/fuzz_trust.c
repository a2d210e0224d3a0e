/*
 * Certificates with what they are trusted for. Property: the bundle that is made is PEM that reads
 * again, with as many certificates as it holds.
 */
#include "formats/trust.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static size_t count_blocks(const struct strbuf *text)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----\n";
	size_t count = 0;

	for (const char *at = strstr(strbuf_text(text), begin); at; at = strstr(at + 1, begin))
		count++;
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_trust struct trust trust = { 0 }, again = { 0 };
	cleanup_strbuf struct strbuf bundle = { 0 };
	struct error err = { 0 };
	size_t before = 0;

	if (trust_read(&trust, slice_of(data, len), TRUST_PLAIN, &arena, &err) < 0)
		return 0;
	for (size_t i = 0; i < trust.certificates.len; i++)
		before += trust_serves(&trust, &trust.certificates.items[i], TRUST_SERVERS);
	trust_bundle(&trust, TRUST_SERVERS, &bundle);
	if (!bundle.len)
		return 0;
	if (trust_read(&again, strbuf_slice(&bundle), TRUST_ANCHORS, &arena, &err) < 0 ||
	    again.certificates.len > before || again.certificates.len > count_blocks(&bundle))
		abort();
	return 0;
}
