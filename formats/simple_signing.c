#include "formats/simple_signing.h"

#define TYPE_COSIGN "cosign container image signature"
#define TYPE_ATOMIC "atomic container signature"

void simple_signing_release(struct simple_signing *s)
{
	if (!s)
		return;
	json_decref(s->json);
	*s = (struct simple_signing){ 0 };
}

int simple_signing_parse(struct slice text, struct simple_signing *out, struct error *err)
{
	json_t *critical, *identity, *image, *optional;
	const char *type, *digest;

	if (json_parse(text, &out->json, err) < 0)
		return error_wrap(err, "payload");
	if (!json_is_object(out->json))
		return error_set(err, ERROR_FORMAT, "payload: is not an object");
	if (json_get_object(out->json, "", "critical", &critical, err) < 0 ||
	    json_get_str(critical, "critical", "type", &type, err) < 0 ||
	    json_get_object(critical, "critical", "image", &image, err) < 0 ||
	    json_get_str(image, "critical.image", "docker-manifest-digest", &digest, err) < 0 ||
	    json_get_object(critical, "critical", "identity", &identity, err) < 0 ||
	    json_get_str(identity, "critical.identity", "docker-reference", &out->reference, err) <
		    0 ||
	    json_get_object_opt(out->json, "", "optional", &optional, err) < 0 ||
	    digest_parse(slice_str(digest), &out->digest, err) < 0)
		return error_wrap(err, "payload");
	if (!str_equal(type, TYPE_COSIGN) && !str_equal(type, TYPE_ATOMIC))
		return error_set(err, ERROR_FORMAT,
				 "payload: critical.type: '%.60s' is no signature of an image",
				 type);
	out->optional = optional;
	return 0;
}

void simple_signing_write(const char *reference, const struct digest *digest,
			  const json_t *optional, struct strbuf *out)
{
	cleanup_json json_t *json = json_object();
	json_t *critical = json_object(), *identity = json_object(), *image = json_object();
	char text[DIGEST_TEXT_MAX];

	json_put(identity, "docker-reference", json_text(reference));
	json_put(image, "docker-manifest-digest", json_text(digest_text(digest, text)));
	json_put(critical, "identity", identity);
	json_put(critical, "image", image);
	json_put(critical, "type", json_text(TYPE_COSIGN));
	json_put(json, "critical", critical);
	json_put(json, "optional",
		 optional && json_object_size(optional) ? json_deep_copy(optional) : json_null());
	json_canonical(json, out);
}
