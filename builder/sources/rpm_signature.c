#include "builder/sources/rpm_signature.h"

/* Stands before the header in a package, and is signed with it. */
static const uint8_t magic[] = { 0x8e, 0xad, 0xe8, 0x01, 0, 0, 0, 0 };

int rpm_signature_verify(const struct rpm_package *package, const struct apt_keys *keys,
			 const char *name, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct rpm_value signature, payload;

	if ((!rpm_header_find(&package->signature, RPMTAG_RSAHEADER, &signature) &&
	     !rpm_header_find(&package->signature, RPMTAG_DSAHEADER, &signature)) ||
	    signature.type != RPM_TYPE_BIN)
		return error_set(err, ERROR_INTEGRITY,
				 "%s: neither its repository nor the package itself is signed; use "
				 "one that is",
				 name);
	if (!rpm_header_find(&package->header, RPMTAG_PAYLOADDIGEST, &payload))
		return error_set(err, ERROR_INTEGRITY,
				 "%s: its signature does not cover the payload, as with packages "
				 "made before rpm 4.14; use a repository that is signed",
				 name);
	strbuf_add(&text, magic, sizeof(magic));
	strbuf_add(&text, package->header_blob.data, package->header_blob.len);
	return apt_release_verify(strbuf_slice(&text), signature.data, keys, name, err);
}
