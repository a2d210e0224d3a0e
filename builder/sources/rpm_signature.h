/*
 * The signature that a package carries itself, for repositories whose repomd.xml is not signed. It
 * is made over the header, and the header has the digests of the payload, so together they cover
 * the package. It stands in RSAHEADER or DSAHEADER, as bytes, or from rpm 4.20 on in OPENPGP: any
 * number of them in base64, of which one has to be good.
 * Source: rpm's docs/manual/format.md and signatures.md.
 */
#ifndef BUILDER_SOURCES_RPM_SIGNATURE_H
#define BUILDER_SOURCES_RPM_SIGNATURE_H

#include "builder/sources/apt_release.h"
#include "formats/rpm_read.h"

/*
 * Check the package's own signature against the keys. `name` is what messages call it.
 * ERROR_INTEGRITY: it has none, it is by no key that counts, or the header does not say what the
 * payload must be; ERROR_NOT_FOUND when gpgv is missing.
 */
int rpm_signature_verify(const struct rpm_package *package, const struct apt_keys *keys,
			 const char *name, struct error *err) MUST_USE;

#endif
