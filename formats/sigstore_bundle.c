#include "formats/sigstore_bundle.h"

#include "formats/key_file.h"

bool sigstore_bundle_type(const char *media_type)
{
	return str_starts(media_type, "application/vnd.dev.sigstore.bundle.v0.") ||
	       str_starts(media_type, "application/vnd.dev.sigstore.bundle+json");
}

void sigstore_bundle_release(struct sigstore_bundle *b)
{
	if (!b)
		return;
	dsse_release(&b->envelope);
	json_decref(b->json);
	*b = (struct sigstore_bundle){ 0 };
}

static int parse_material(const json_t *root, struct sigstore_bundle *out, struct error *err)
{
	json_t *material, *key;

	if (json_get_object(root, "", "verificationMaterial", &material, err) < 0 ||
	    json_get_object_opt(material, "verificationMaterial", "publicKey", &key, err) < 0)
		return -1;
	if (!key) {
		if (json_object_get(material, "certificate") ||
		    json_object_get(material, "x509CertificateChain"))
			return 0;
		return error_set(err, ERROR_FORMAT,
				 "verificationMaterial: has neither publicKey nor certificate");
	}
	if (json_get_str_opt(key, "verificationMaterial.publicKey", "hint", &out->hint, err) < 0)
		return -1;
	if (!out->hint)
		out->hint = "";
	return 0;
}

int sigstore_bundle_parse(struct slice text, struct sigstore_bundle *out, struct error *err)
{
	const char *type;
	json_t *envelope;

	if (json_parse(text, &out->json, err) < 0)
		return error_wrap(err, "bundle");
	if (!json_is_object(out->json))
		return error_set(err, ERROR_FORMAT, "bundle: is not an object");
	if (json_get_str(out->json, "", "mediaType", &type, err) < 0 ||
	    parse_material(out->json, out, err) < 0 ||
	    json_get_object_opt(out->json, "", "dsseEnvelope", &envelope, err) < 0)
		return error_wrap(err, "bundle");
	if (!sigstore_bundle_type(type))
		return error_set(err, ERROR_FORMAT, "bundle: mediaType: '%.80s' is no bundle's",
				 type);
	if (!envelope && json_object_get(out->json, "messageSignature"))
		return error_set(err, ERROR_LIMIT,
				 "bundle: signs a message, not a statement about an image");
	if (!envelope)
		return error_set(err, ERROR_FORMAT, "bundle: dsseEnvelope: is missing");
	return dsse_parse(envelope, "dsseEnvelope", &out->envelope, err);
}

int sigstore_bundle_sign(const struct key *key, struct slice payload, struct strbuf *out,
			 struct error *err)
{
	cleanup_json json_t *root = json_object();
	json_t *material = json_object(), *named = json_object(), *envelope;
	cleanup_strbuf struct strbuf hint = { 0 };

	key_file_hint(key, &hint);
	json_put(named, "hint", json_text(strbuf_text(&hint)));
	json_put(material, "publicKey", named);
	json_put(material, "tlogEntries", json_array()); /* some readers want it */
	json_put(root, "mediaType", json_text(SIGSTORE_BUNDLE_TYPE));
	json_put(root, "verificationMaterial", material);
	envelope = dsse_sign(key, DSSE_INTOTO, payload, err);
	if (!envelope)
		return -1;
	json_put(root, "dsseEnvelope", envelope);
	json_canonical(root, out);
	return 0;
}
