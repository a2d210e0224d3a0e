/* Payloads that are read, written again, say the same. */
#include "formats/simple_signing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_simple_signing struct simple_signing said = { 0 }, again = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	if (simple_signing_parse(slice_of(data, len), &said, &err) < 0) {
		assert(err.code == ERROR_FORMAT);
		return 0;
	}
	simple_signing_write(said.reference, &said.digest, said.optional, &text);
	if (simple_signing_parse(strbuf_slice(&text), &again, &err) < 0)
		abort();
	assert(digest_equal(&said.digest, &again.digest));
	assert(str_equal(said.reference, again.reference));
	return 0;
}
