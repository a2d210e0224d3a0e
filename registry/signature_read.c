#include "registry/signature.h"

#include "base/base64.h"
#include "formats/intoto.h"
#include "formats/sigstore_bundle.h"
#include "formats/simple_signing.h"
#include "registry/signature_form.h"

enum { LAYERS_MAX = 1000, PAYLOAD_BYTES_MAX = 1024 * 1024, CLOCK_LEEWAY_S = 300 };

void signature_result_release(struct signature_result *r)
{
	for (size_t i = 0; i < r->found.len; i++)
		strbuf_release(&r->found.items[i].predicate);
	vec_release(&r->found);
	arena_release(&r->arena);
}

static const char by_certificate[] = "is by a certificate, not by a key";

/* What all steps of one verification share. */
struct verifying {
	const struct signature_check *check;
	struct signature_result *out;
};

static struct signature_found *add(struct verifying *v, enum signature_form form, const char *name)
{
	struct signature_found *f = vec_add(&v->out->found);

	f->form = form;
	f->name = arena_strdup(&v->out->arena, name);
	f->reference = "";
	return f;
}

/* It does not count, because of this; what was wrong with it is forgotten by `err`. */
static int refuse(struct verifying *v, struct signature_found *f, const struct error *err)
{
	f->good = false;
	f->reason = arena_strdup(&v->out->arena, err->text);
	return 0;
}

static int refuse_for(struct verifying *v, struct signature_found *f, const char *reason)
{
	f->good = false;
	f->reason = arena_strdup(&v->out->arena, reason);
	return 0;
}

/* Conditions on what was signed. */

/* A text, or what a number or another value is written as. */
static bool says(const json_t *value, const char *want)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (json_is_string(value))
		return str_equal(json_string_value(value), want);
	if (!value)
		return false;
	json_canonical(value, &text);
	return str_equal(strbuf_text(&text), want);
}

static bool has_annotations(const json_t *signed_with, const json_t *wanted, const char **missing)
{
	const char *key;
	json_t *value;

	if (!wanted)
		return true;
	json_object_foreach((json_t *)(uintptr_t)wanted, key, value)
	{
		if (!says(json_object_get(signed_with, key), json_string_value(value))) {
			*missing = key;
			return false;
		}
	}
	return true;
}

static uint64_t time_of(const json_t *signed_with)
{
	const json_t *time = json_object_get(signed_with, ANNOTATION_TIME);
	uint64_t value = 0;

	if (json_is_integer(time) && json_integer_value(time) > 0)
		return (uint64_t)json_integer_value(time);
	if (json_is_string(time) && slice_u64(slice_str(json_string_value(time)), &value))
		return value;
	return 0;
}

static int judge_age(struct verifying *v, struct signature_found *f)
{
	uint64_t max = v->check->max_age_s, now = v->check->now_s;

	if (!max)
		return 0;
	if (!f->time_s)
		return refuse_for(v, f, "does not tell when it was made, and has to be young");
	if (f->time_s > now + CLOCK_LEEWAY_S)
		return refuse_for(v, f, "says that it was made in the future");
	if (now > f->time_s && now - f->time_s > max)
		return refuse_for(v, f, "has expired: it is older than is allowed");
	return 0;
}

/* What was signed is about this image; `signed_with` is what was said besides. */
static int judge(struct verifying *v, struct signature_found *f, const json_t *signed_with)
{
	const char *missing = NULL;

	f->good = true;
	f->time_s = time_of(signed_with);
	if (!has_annotations(signed_with, v->check->annotations, &missing)) {
		f->reason = arena_printf(&v->out->arena,
					 "was not signed with the wanted value of '%s'", missing);
		f->good = false;
		return 0;
	}
	return judge_age(v, f);
}

/* Simple signing. */

static const struct signature_key *signer_of(const struct verifying *v, struct slice message,
					     struct slice signature)
{
	for (size_t i = 0; i < v->check->key_count; i++) {
		if (key_verify(v->check->keys[i].key, message, signature))
			return &v->check->keys[i];
	}
	return NULL;
}

/* `certified`: it came with a certificate, of which nothing is believed. */
static int check_payload(struct verifying *v, struct signature_found *f, struct slice payload,
			 const char *encoded, bool certified)
{
	cleanup_simple_signing struct simple_signing said = { 0 };
	cleanup_strbuf struct strbuf signature = { 0 };
	const struct signature_key *signer;
	struct error err = { 0 };

	if (!base64_decode_strict(slice_str(encoded), &signature))
		return refuse_for(v, f, "the signature is no base64");
	signer = signer_of(v, payload, strbuf_slice(&signature));
	if (!signer)
		return refuse_for(
			v, f, certified ? by_certificate : "is not by this key, or was altered");
	f->key = signer->name;
	if (simple_signing_parse(payload, &said, &err) < 0)
		return refuse(v, f, &err);
	f->reference = arena_strdup(&v->out->arena, said.reference);
	if (!digest_equal(&said.digest, &v->check->subject->digest))
		return refuse_for(v, f, "was made for another image");
	return judge(v, f, said.optional);
}

/* Statements. */

static const struct signature_key *dsse_signer(const struct verifying *v, const struct dsse *d)
{
	for (size_t i = 0; i < v->check->key_count; i++) {
		if (dsse_verify(d, v->check->keys[i].key))
			return &v->check->keys[i];
	}
	return NULL;
}

static bool is_wanted(const struct verifying *v, const char *predicate_type)
{
	const char *want = v->check->predicate_type;

	return str_equal(predicate_type, want ? want : INTOTO_SIGNATURE);
}

/* False when it is a statement of another kind: then it is none of those that were asked for. */
static bool check_envelope(struct verifying *v, struct signature_found *f, const struct dsse *d)
{
	cleanup_intoto struct intoto statement = { 0 };
	const struct signature_key *signer = dsse_signer(v, d);
	struct error err = { 0 };
	const json_t *subject;

	if (!str_equal(d->payload_type, DSSE_INTOTO))
		return refuse_for(v, f, "its payload is no statement"), true;
	if (intoto_parse(strbuf_slice(&d->payload), &statement, &err) < 0)
		return refuse(v, f, &err), true;
	if (!is_wanted(v, statement.predicate_type))
		return false;
	f->predicate_type = arena_strdup(&v->out->arena, statement.predicate_type);
	if (!signer)
		return refuse_for(v, f, "is not by this key, or was altered"), true;
	f->key = signer->name;
	subject = intoto_subject(&statement, &v->check->subject->digest);
	if (!subject)
		return refuse_for(v, f, "was made for another image"), true;
	judge(v, f, json_object_get(subject, "annotations"));
	if (f->good && v->check->keep)
		strbuf_add(&f->predicate, statement.predicate.data, statement.predicate.len);
	return true;
}

/* Documents. */

/* A blob of a document. 1: there; 0: not, and `f` says why; -1: the place cannot be read. */
static int get_blob(struct verifying *v, struct signature_found *f, const struct descriptor *desc,
		    uint64_t limit, struct strbuf *out, struct error *err)
{
	struct artifact_place *p = v->check->place;
	struct error failed = { 0 };

	if (desc->size > limit)
		return refuse_for(v, f, "is larger than a signature may be");
	if (p->ops->get_blob(p, desc, out, &failed) == 0)
		return 1;
	if (failed.code != ERROR_NETWORK && failed.code != ERROR_SYSTEM)
		return refuse(v, f, &failed);
	*err = failed;
	return -1;
}

static int check_simple_layer(struct verifying *v, const char *name, const struct descriptor *layer,
			      struct error *err)
{
	const char *encoded =
		json_string_value(json_object_get(layer->annotations, ANNOTATION_SIGNATURE));
	cleanup_strbuf struct strbuf payload = { 0 };
	struct signature_found *f;
	int got;

	if (!str_equal(layer->media_type, MEDIATYPE_SIMPLE_SIGNING) || !encoded)
		return 0;
	f = add(v, SIGNATURE_LEGACY, name);
	got = get_blob(v, f, layer, PAYLOAD_BYTES_MAX, &payload, err);
	return got <= 0 ? got
			: check_payload(v, f, strbuf_slice(&payload), encoded,
					json_object_get(layer->annotations,
							ANNOTATION_CERTIFICATE) != NULL);
}

/*
 * What a document says of itself unsigned is good enough for passing it over: whoever could lie
 * there could as well take it away. Statements can be large.
 */
static bool says_otherwise(const struct verifying *v, const json_t *annotations, const char *key)
{
	const char *type = json_string_value(json_object_get(annotations, key));

	return type && !is_wanted(v, type);
}

static int check_envelope_layer(struct verifying *v, const char *name,
				const struct descriptor *layer, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *json = NULL;
	cleanup_dsse struct dsse envelope = { 0 };
	struct error failed = { 0 };
	struct signature_found *f;
	int got;

	if (!str_equal(layer->media_type, MEDIATYPE_DSSE) ||
	    says_otherwise(v, layer->annotations, ANNOTATION_PREDICATE))
		return 0;
	f = add(v, SIGNATURE_LEGACY, name);
	got = get_blob(v, f, layer, ARTIFACT_BYTES_MAX, &text, err);
	if (got <= 0)
		return got;
	if (json_parse(strbuf_slice(&text), &json, &failed) < 0 ||
	    dsse_parse(json, "envelope", &envelope, &failed) < 0)
		return refuse(v, f, &failed);
	strbuf_release(&text); /* it may be large */
	if (!check_envelope(v, f, &envelope))
		v->out->found.len--;
	return 0;
}

/* A manifest as under cosign's tags. */
static int check_layers(struct verifying *v, const char *name, struct slice text, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_manifest struct manifest m = { 0 };
	struct error failed = { 0 };
	int rc = 0;

	if (manifest_parse(text, &arena, &m, &failed) < 0)
		return refuse(v, add(v, SIGNATURE_LEGACY, name), &failed);
	if (m.layer_count > LAYERS_MAX)
		return refuse_for(v, add(v, SIGNATURE_LEGACY, name), "holds more than 1000 layers");
	for (size_t i = 0; rc == 0 && i < m.layer_count; i++)
		rc = v->check->predicate_type ? check_envelope_layer(v, name, &m.layers[i], err)
					      : check_simple_layer(v, name, &m.layers[i], err);
	return rc;
}

static int check_tag(struct verifying *v, const char *suffix, struct error *err)
{
	cleanup_free char *tag = artifact_tag(&v->check->subject->digest, suffix);
	cleanup_strbuf struct strbuf text = { 0 };
	struct error failed = { 0 };
	struct descriptor desc;
	bool there;

	if (artifact_get_tag(v->check->place, tag, &v->out->arena, &text, &desc, &there, &failed) <
	    0) {
		if (failed.code != ERROR_NETWORK && failed.code != ERROR_SYSTEM)
			return refuse(v, add(v, SIGNATURE_LEGACY, tag), &failed);
		*err = failed;
		return -1;
	}
	return there ? check_layers(v, tag, strbuf_slice(&text), err) : 0;
}

/* Referrers. */

static int check_bundle(struct verifying *v, const char *name, const struct descriptor *layer,
			struct error *err)
{
	cleanup_sigstore_bundle struct sigstore_bundle bundle = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct signature_found *f = add(v, SIGNATURE_BUNDLE, name);
	struct error failed = { 0 };
	int got = get_blob(v, f, layer, ARTIFACT_BYTES_MAX, &text, err);

	if (got <= 0)
		return got;
	if (sigstore_bundle_parse(strbuf_slice(&text), &bundle, &failed) < 0)
		return refuse(v, f, &failed);
	strbuf_release(&text); /* it may be large */
	if (!bundle.hint)
		return refuse_for(v, f, by_certificate);
	if (!check_envelope(v, f, &bundle.envelope))
		v->out->found.len--;
	return 0;
}

/* The document says itself whom it refers to; the list is not to be believed. */
static bool refers_to(const json_t *manifest, const struct digest *subject)
{
	const char *text =
		json_string_value(json_object_get(json_object_get(manifest, "subject"), "digest"));
	char want[DIGEST_TEXT_MAX];

	return text && str_equal(text, digest_text(subject, want));
}

/* Of those lists that do not tell the type, the document does. */
static bool is_signature(const struct verifying *v, const char *type, bool *out_simple)
{
	*out_simple = str_equal(type, ARTIFACT_COSIGN_SIGNATURE) && !v->check->predicate_type;
	return *out_simple || sigstore_bundle_type(type);
}

static int check_manifest(struct verifying *v, const char *name, struct slice text,
			  struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_manifest struct manifest m = { 0 };
	struct error failed = { 0 };
	const char *type;
	bool simple;

	if (manifest_parse(text, &arena, &m, &failed) < 0)
		return refuse(v, add(v, SIGNATURE_BUNDLE, name), &failed);
	type = json_string_value(json_object_get(m.json, "artifactType"));
	if (!is_signature(v, type ? type : m.config.media_type, &simple))
		return 0;
	if (!refers_to(m.json, &v->check->subject->digest))
		return refuse_for(v, add(v, SIGNATURE_BUNDLE, name), "refers to another image");
	if (simple)
		return check_layers(v, name, text, err);
	if (says_otherwise(v, json_object_get(m.json, "annotations"), ANNOTATION_BUNDLE_PREDICATE))
		return 0;
	if (m.layer_count != 1)
		return refuse_for(v, add(v, SIGNATURE_BUNDLE, name),
				  "has not one blob, as a bundle has");
	return check_bundle(v, name, &m.layers[0], err);
}

static int check_referrer(struct verifying *v, const struct descriptor *d, struct error *err)
{
	struct artifact_place *p = v->check->place;
	cleanup_strbuf struct strbuf text = { 0 };
	struct error failed = { 0 };
	struct descriptor got;
	char name[DIGEST_TEXT_MAX];
	bool simple;

	if (d->artifact_type && !is_signature(v, d->artifact_type, &simple))
		return 0;
	if (p->ops->get_manifest(p, digest_text(&d->digest, name), &v->out->arena, &text, &got,
				 &failed) == 0)
		return check_manifest(v, name, strbuf_slice(&text), err);
	if (failed.code != ERROR_NETWORK && failed.code != ERROR_SYSTEM)
		return refuse(v, add(v, SIGNATURE_BUNDLE, name), &failed);
	*err = failed;
	return -1;
}

static int check_referrers(struct verifying *v, struct error *err)
{
	struct artifact_list list = { 0 };
	struct error failed = { 0 };
	int rc = artifact_list(v->check->place, &v->check->subject->digest, &v->out->arena, &list,
			       &failed);

	if (rc < 0 && failed.code != ERROR_NETWORK && failed.code != ERROR_SYSTEM)
		rc = refuse(v, add(v, SIGNATURE_BUNDLE, "referrers"), &failed);
	else if (rc < 0)
		*err = failed;
	for (size_t i = 0; rc == 0 && i < list.len; i++)
		rc = check_referrer(v, &list.items[i], err);
	vec_release(&list);
	return rc;
}

int signature_verify(const struct signature_check *check, struct signature_result *out,
		     struct error *err)
{
	struct verifying v = { check, out };

	*out = (struct signature_result){ 0 };
	if (check_tag(&v, check->predicate_type ? ".att" : ".sig", err) < 0 ||
	    check_referrers(&v, err) < 0)
		return error_wrap(err, "verify");
	for (size_t i = 0; i < out->found.len; i++)
		out->good += out->found.items[i].good;
	return 0;
}
