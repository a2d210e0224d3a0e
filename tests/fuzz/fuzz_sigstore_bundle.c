/* Bundles: an envelope that no key signed is verified by none, and its statement is read. */
#include "formats/intoto.h"
#include "formats/sigstore_bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_sigstore_bundle struct sigstore_bundle bundle = { 0 };
	cleanup_intoto struct intoto statement = { 0 };
	struct digest digest = digest_of(slice_of(data, len));
	struct error err = { 0 };

	if (sigstore_bundle_parse(slice_of(data, len), &bundle, &err) < 0) {
		assert(err.code == ERROR_FORMAT || err.code == ERROR_LIMIT);
		return 0;
	}
	assert(bundle.envelope.signature_count > 0);
	assert(bundle.envelope.payload_type);
	if (intoto_parse(strbuf_slice(&bundle.envelope.payload), &statement, &err) < 0) {
		assert(err.code == ERROR_FORMAT || err.code == ERROR_LIMIT);
		return 0;
	}
	assert(statement.predicate_type && json_is_array(statement.subjects));
	assert(!intoto_subject(&statement, &digest));
	return 0;
}
