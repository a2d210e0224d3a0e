#include "formats/dsse.h"

#include "base/alloc.h"
#include "base/base64.h"

void dsse_release(struct dsse *d)
{
	if (!d)
		return;
	strbuf_release(&d->payload);
	for (size_t i = 0; i < d->signature_count; i++)
		strbuf_release(&d->signatures[i]);
	free(d->signatures);
	*d = (struct dsse){ 0 };
}

static int get_base64(const json_t *o, const char *where, const char *key, struct strbuf *out,
		      struct error *err)
{
	const char *text;

	if (json_get_str(o, where, key, &text, err) < 0)
		return -1;
	if (!base64_decode_strict(slice_str(text), out))
		return error_set(err, ERROR_FORMAT, "%s.%s: is no base64", where, key);
	return 0;
}

static int parse_signatures(const json_t *list, const char *where, struct dsse *out,
			    struct error *err)
{
	size_t count = json_array_size(list);

	if (count > DSSE_SIGNATURES_MAX)
		return error_set(err, ERROR_LIMIT, "%s.signatures: has %zu, %d are allowed", where,
				 count, DSSE_SIGNATURES_MAX);
	if (!count)
		return error_set(err, ERROR_FORMAT, "%s.signatures: is empty", where);
	out->signatures = xcalloc(count, sizeof(*out->signatures));
	out->signature_count = count;
	for (size_t i = 0; i < count; i++) {
		cleanup_free char *at = xasprintf("%s.signatures[%zu]", where, i);
		const json_t *o = json_array_get(list, i);

		if (!json_is_object(o))
			return error_set(err, ERROR_FORMAT, "%s: is not an object", at);
		if (get_base64(o, at, "sig", &out->signatures[i], err) < 0)
			return -1;
	}
	return 0;
}

int dsse_parse(const json_t *value, const char *where, struct dsse *out, struct error *err)
{
	json_t *list;

	if (!json_is_object(value))
		return error_set(err, ERROR_FORMAT, "%s: is not an object", where);
	if (json_get_str(value, where, "payloadType", &out->payload_type, err) < 0 ||
	    get_base64(value, where, "payload", &out->payload, err) < 0 ||
	    json_get_array(value, where, "signatures", &list, err) < 0)
		return -1;
	return parse_signatures(list, where, out, err);
}

void dsse_encode(const char *payload_type, struct slice payload, struct strbuf *out)
{
	strbuf_addf(out, "DSSEv1 %zu %s %zu ", strlen(payload_type), payload_type, payload.len);
	strbuf_add(out, payload.data, payload.len);
}

bool dsse_verify(const struct dsse *d, const struct key *key)
{
	cleanup_strbuf struct strbuf text = { 0 };

	dsse_encode(d->payload_type, strbuf_slice(&d->payload), &text);
	for (size_t i = 0; i < d->signature_count; i++) {
		if (key_verify(key, strbuf_slice(&text), strbuf_slice(&d->signatures[i])))
			return true;
	}
	return false;
}

json_t *dsse_sign(const struct key *key, const char *payload_type, struct slice payload,
		  struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 }, signature = { 0 }, encoded = { 0 };
	json_t *envelope, *list, *one;

	dsse_encode(payload_type, payload, &text);
	if (key_sign(key, strbuf_slice(&text), &signature, err) < 0)
		return NULL;
	strbuf_release(&text); /* it may be large */
	envelope = json_object();
	list = json_array();
	one = json_object();
	base64_encode(strbuf_slice(&signature), &encoded);
	json_put(one, "sig", json_text(strbuf_text(&encoded)));
	json_push(list, one);
	strbuf_truncate(&encoded, 0);
	base64_encode(payload, &encoded);
	json_put(envelope, "payload", json_text(strbuf_text(&encoded)));
	json_put(envelope, "payloadType", json_text(payload_type));
	json_put(envelope, "signatures", list);
	return envelope;
}
