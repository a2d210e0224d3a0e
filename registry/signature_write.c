#include "registry/signature.h"

#include <time.h>

#include "base/base64.h"
#include "formats/intoto.h"
#include "formats/sigstore_bundle.h"
#include "formats/simple_signing.h"
#include "registry/cosign_tag.h"
#include "registry/signature_form.h"

const char *signature_form_name(enum signature_form form)
{
	return form == SIGNATURE_LEGACY ? "legacy" : "bundle";
}

/* What is signed besides: the caller's annotations, who made it and when. */
static json_t *remarks(const struct signature_request *r, bool time_as_text)
{
	json_t *o = r->annotations ? json_deep_copy(r->annotations) : json_object();
	cleanup_free char *text = xasprintf("%" PRIu64, r->time_s);

	if (r->creator)
		json_put(o, ANNOTATION_CREATOR, json_text(r->creator));
	if (r->time_s)
		json_put(o, ANNOTATION_TIME,
			 time_as_text ? json_text(text) : json_integer((json_int_t)r->time_s));
	return o;
}

/* Cosign's tags. */

static int put_layer(const struct signature_request *r, const char *suffix, const char *media_type,
		     struct slice bytes, const json_t *annotations, struct error *err)
{
	cleanup_free char *tag = artifact_tag(&r->subject->digest, suffix);
	struct descriptor layer = { .media_type = media_type,
				    .digest = digest_of(bytes),
				    .size = bytes.len,
				    .annotations = annotations };

	if (bytes.len > ARTIFACT_BYTES_MAX)
		return error_set(err, ERROR_LIMIT, "%zu bytes; %d are allowed", bytes.len,
				 ARTIFACT_BYTES_MAX);
	if (r->place->ops->put_blob(r->place, &layer, bytes, err) < 0)
		return -1;
	return cosign_tag_add(r->place, tag, &layer, 1, err);
}

static int sign_legacy(const struct signature_request *r, struct error *err)
{
	cleanup_json json_t *optional = remarks(r, false), *annotations = json_object();
	cleanup_strbuf struct strbuf payload = { 0 }, signature = { 0 }, text = { 0 };

	simple_signing_write(r->reference, &r->subject->digest, optional, &payload);
	if (key_sign(r->key, strbuf_slice(&payload), &signature, err) < 0)
		return -1;
	base64_encode(strbuf_slice(&signature), &text);
	json_put(annotations, ANNOTATION_SIGNATURE, json_text(strbuf_text(&text)));
	return put_layer(r, ".sig", MEDIATYPE_SIMPLE_SIGNING, strbuf_slice(&payload), annotations,
			 err);
}

static int attest_legacy(const struct signature_request *r, const char *predicate_type,
			 struct slice predicate, struct error *err)
{
	cleanup_json json_t *annotations = json_object(), *envelope = NULL;
	cleanup_strbuf struct strbuf statement = { 0 }, text = { 0 };
	struct intoto_request about = { .type = INTOTO_V01,
					.name = r->reference,
					.digest = r->subject->digest,
					.predicate_type = predicate_type,
					.predicate = predicate };
	json_t *first;

	intoto_write(&about, &statement);
	envelope = dsse_sign(r->key, DSSE_INTOTO, strbuf_slice(&statement), err);
	if (!envelope)
		return -1;
	strbuf_release(&statement); /* it may be large */
	first = json_array_get(json_object_get(envelope, "signatures"), 0);
	json_put(first, "keyid", json_text(""));
	json_canonical(envelope, &text);
	json_put(annotations, ANNOTATION_SIGNATURE, json_text(""));
	json_put(annotations, ANNOTATION_PREDICATE, json_text(predicate_type));
	return put_layer(r, ".att", MEDIATYPE_DSSE, strbuf_slice(&text), annotations, err);
}

/* Bundles. */

static void put_time(json_t *annotations, uint64_t time_s)
{
	time_t t = (time_t)time_s;
	char text[32];
	struct tm utc;

	if (gmtime_r(&t, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc))
		json_put(annotations, "org.opencontainers.image.created", json_text(text));
}

static int put_bundle(const struct signature_request *r, const char *predicate_type,
		      struct slice predicate, struct error *err)
{
	cleanup_json json_t *said = remarks(r, true), *annotations = json_object();
	cleanup_strbuf struct strbuf statement = { 0 }, bundle = { 0 };
	struct intoto_request about = { .type = INTOTO_V1,
					.digest = r->subject->digest,
					.annotations = said,
					.predicate_type = predicate_type,
					.predicate = predicate };
	struct artifact artifact = { .subject = r->subject,
				     .type = SIGSTORE_BUNDLE_TYPE,
				     .annotations = annotations };
	struct digest ignored;

	intoto_write(&about, &statement);
	if (sigstore_bundle_sign(r->key, strbuf_slice(&statement), &bundle, err) < 0)
		return -1;
	strbuf_release(&statement); /* it may be large */
	if (r->time_s)
		put_time(annotations, r->time_s);
	json_put(annotations, "dev.sigstore.bundle.content", json_text("dsse-envelope"));
	json_put(annotations, ANNOTATION_BUNDLE_PREDICATE, json_text(predicate_type));
	artifact.bytes = strbuf_slice(&bundle);
	return artifact_attach(r->place, &artifact, &ignored, err);
}

/* The whole. */

/* Which forms a good signature of ours, saying the same, has already. */
static int find_there(const struct signature_request *r, const char *predicate_type,
		      struct slice predicate, unsigned *out_forms, struct error *err)
{
	struct signature_key key = { r->key, "" };
	struct signature_check check = { .place = r->place,
					 .subject = r->subject,
					 .keys = &key,
					 .key_count = 1,
					 .predicate_type = predicate_type,
					 .annotations = r->annotations,
					 .keep = predicate.len };
	cleanup_signature_result struct signature_result found = { 0 };

	*out_forms = 0;
	if (r->renew)
		return 0;
	if (predicate.len && r->annotations)
		check.annotations = NULL; /* cosign's attestations have no place for them */
	if (signature_verify(&check, &found, err) < 0)
		return -1;
	for (size_t i = 0; i < found.found.len; i++) {
		const struct signature_found *f = &found.found.items[i];

		if (f->good && (predicate.len ? slice_equal(strbuf_slice(&f->predicate), predicate)
					      : f->form == SIGNATURE_BUNDLE ||
							str_equal(f->reference, r->reference)))
			*out_forms |= f->form;
	}
	return 0;
}

int signature_sign(const struct signature_request *r, struct signature_put *out, struct error *err)
{
	unsigned there;

	*out = (struct signature_put){ 0 };
	if (find_there(r, NULL, (struct slice){ 0 }, &there, err) < 0)
		return error_wrap(err, "sign");
	out->there = (unsigned)__builtin_popcount(there & r->forms);
	if (r->forms & ~there & SIGNATURE_LEGACY) {
		if (sign_legacy(r, err) < 0)
			return error_wrap(err, "sign");
		out->made++;
	}
	if (r->forms & ~there & SIGNATURE_BUNDLE) {
		if (put_bundle(r, INTOTO_SIGNATURE, (struct slice){ 0 }, err) < 0)
			return error_wrap(err, "sign");
		out->made++;
	}
	return 0;
}

int signature_attest(const struct signature_request *r, const char *predicate_type,
		     struct slice predicate, struct signature_put *out, struct error *err)
{
	unsigned there;

	*out = (struct signature_put){ 0 };
	if (find_there(r, predicate_type, predicate, &there, err) < 0)
		return error_wrap(err, "attest");
	out->there = (unsigned)__builtin_popcount(there & r->forms);
	if (r->forms & ~there & SIGNATURE_LEGACY) {
		if (attest_legacy(r, predicate_type, predicate, err) < 0)
			return error_wrap(err, "attest");
		out->made++;
	}
	if (r->forms & ~there & SIGNATURE_BUNDLE) {
		if (put_bundle(r, predicate_type, predicate, err) < 0)
			return error_wrap(err, "attest");
		out->made++;
	}
	return 0;
}
