/*
 * How cosign's tags and bundles look, for those who write and those who read them. For registry/.
 * Source: as signature.h.
 */
#ifndef REGISTRY_SIGNATURE_FORM_H
#define REGISTRY_SIGNATURE_FORM_H

#define MEDIATYPE_SIMPLE_SIGNING "application/vnd.dev.cosign.simplesigning.v1+json"
#define MEDIATYPE_DSSE "application/vnd.dsse.envelope.v1+json"
/* The type of an experimental form of cosign's: a referrer that looks as what is under ".sig". */
#define ARTIFACT_COSIGN_SIGNATURE "application/vnd.dev.cosign.artifact.sig.v1+json"
#define ANNOTATION_SIGNATURE "dev.cosignproject.cosign/signature"
#define ANNOTATION_CERTIFICATE "dev.sigstore.cosign/certificate"
#define ANNOTATION_PREDICATE "predicateType"
#define ANNOTATION_BUNDLE_PREDICATE "dev.sigstore.bundle.predicateType"
/* Signed with the rest, on the subject of a bundle's statement or in a payload's "optional". */
#define ANNOTATION_TIME "timestamp"
#define ANNOTATION_CREATOR "creator"

#endif
