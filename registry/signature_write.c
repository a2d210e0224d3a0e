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

/* What one signature puts. All of it is put before any of it is seen to stay: one while for all. */
struct putting {
	char *tag;
	json_t *layer_annotations, *annotations;
	struct descriptor layer;
	struct cosign_adding adding;
	struct artifact_attaching attaching;
};

static void putting_release(struct putting *p)
{
	artifact_attaching_release(&p->attaching);
	json_decref(p->annotations);
	json_decref(p->layer_annotations);
	free(p->tag);
}

static int settle(const struct signature_request *r, struct putting *p, struct error *err)
{
	if (artifact_update_settle(r->place, &p->adding.update, err) < 0)
		return -1;
	return artifact_update_settle(r->place, &p->attaching.update, err);
}

/* Cosign's tags. */

static int put_layer(const struct signature_request *r, const char *suffix, const char *media_type,
		     struct slice bytes, struct putting *p, struct error *err)
{
	p->tag = artifact_tag(&r->subject->digest, suffix);
	p->layer = (struct descriptor){ .media_type = media_type,
					.digest = digest_of(bytes),
					.size = bytes.len,
					.annotations = p->layer_annotations };
	if (bytes.len > ARTIFACT_BYTES_MAX)
		return error_set(err, ERROR_LIMIT, "%zu bytes; %d are allowed", bytes.len,
				 ARTIFACT_BYTES_MAX);
	if (r->place->ops->put_blob(r->place, &p->layer, bytes, err) < 0)
		return -1;
	return cosign_tag_begin(r->place, p->tag, &p->layer, 1, &p->adding, err);
}

static int sign_legacy(const struct signature_request *r, struct putting *p, struct error *err)
{
	cleanup_json json_t *optional = remarks(r, false);
	cleanup_strbuf struct strbuf payload = { 0 }, signature = { 0 }, text = { 0 };

	simple_signing_write(r->reference, &r->subject->digest, optional, &payload);
	if (key_sign(r->key, strbuf_slice(&payload), &signature, err) < 0)
		return -1;
	base64_encode(strbuf_slice(&signature), &text);
	p->layer_annotations = json_object();
	json_put(p->layer_annotations, ANNOTATION_SIGNATURE, json_text(strbuf_text(&text)));
	return put_layer(r, ".sig", MEDIATYPE_SIMPLE_SIGNING, strbuf_slice(&payload), p, err);
}

static int attest_legacy(const struct signature_request *r, const char *predicate_type,
			 struct slice predicate, struct putting *p, struct error *err)
{
	cleanup_json json_t *envelope = NULL;
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
	p->layer_annotations = json_object();
	json_put(p->layer_annotations, ANNOTATION_SIGNATURE, json_text(""));
	json_put(p->layer_annotations, ANNOTATION_PREDICATE, json_text(predicate_type));
	return put_layer(r, ".att", MEDIATYPE_DSSE, strbuf_slice(&text), p, err);
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
		      struct slice predicate, struct putting *p, struct error *err)
{
	cleanup_json json_t *said = remarks(r, true);
	cleanup_strbuf struct strbuf statement = { 0 }, bundle = { 0 };
	struct intoto_request about = { .type = INTOTO_V1,
					.digest = r->subject->digest,
					.annotations = said,
					.predicate_type = predicate_type,
					.predicate = predicate };
	struct artifact artifact = { .subject = r->subject, .type = SIGSTORE_BUNDLE_TYPE };

	intoto_write(&about, &statement);
	if (sigstore_bundle_sign(r->key, strbuf_slice(&statement), &bundle, err) < 0)
		return -1;
	strbuf_release(&statement); /* it may be large */
	p->annotations = json_object();
	if (r->time_s)
		put_time(p->annotations, r->time_s);
	json_put(p->annotations, "dev.sigstore.bundle.content", json_text("dsse-envelope"));
	json_put(p->annotations, ANNOTATION_BUNDLE_PREDICATE, json_text(predicate_type));
	artifact.annotations = p->annotations;
	artifact.bytes = strbuf_slice(&bundle);
	return artifact_attach_begin(r->place, &artifact, &p->attaching, err);
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

/* Sign, or with a predicate type that of an attestation, in the forms that are not there. */
static int put_missing(const struct signature_request *r, const char *predicate_type,
		       struct slice predicate, struct signature_put *out, struct error *err)
{
	cleanup(putting_release) struct putting p = { 0 };
	unsigned there, missing;
	int rc = 0;

	*out = (struct signature_put){ 0 };
	if (find_there(r, predicate_type, predicate, &there, err) < 0)
		return -1;
	missing = r->forms & ~there;
	if (missing & SIGNATURE_LEGACY)
		rc = predicate_type ? attest_legacy(r, predicate_type, predicate, &p, err)
				    : sign_legacy(r, &p, err);
	if (rc == 0 && missing & SIGNATURE_BUNDLE)
		rc = put_bundle(r, predicate_type ? predicate_type : INTOTO_SIGNATURE, predicate,
				&p, err);
	if (rc < 0 || settle(r, &p, err) < 0)
		return -1;
	out->there = (unsigned)__builtin_popcount(there & r->forms);
	out->made = (unsigned)__builtin_popcount(missing);
	return 0;
}

int signature_sign(const struct signature_request *r, struct signature_put *out, struct error *err)
{
	if (put_missing(r, NULL, (struct slice){ 0 }, out, err) < 0)
		return error_wrap(err, "sign");
	return 0;
}

int signature_attest(const struct signature_request *r, const char *predicate_type,
		     struct slice predicate, struct signature_put *out, struct error *err)
{
	if (put_missing(r, predicate_type, predicate, out, err) < 0)
		return error_wrap(err, "attest");
	return 0;
}
