#include "builder/sources/rpm_signature.h"

#include "base/base64.h"

/* Stands before the header in a package, and is signed with it. */
static const uint8_t magic[] = { 0x8e, 0xad, 0xe8, 0x01, 0, 0, 0, 0 };

enum { SIGNATURES_MAX = 16 };

/* OpenPGP packets, each borrowed from the package or held by `decoded`. */
struct signatures {
	struct strbuf decoded[SIGNATURES_MAX];
	struct slice items[SIGNATURES_MAX];
	size_t count;
};

static void signatures_release(struct signatures *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->decoded); i++)
		strbuf_release(&s->decoded[i]);
}

/* What rpm 4.20 and later write: a list of texts in base64. What is none is passed over. */
static void take_texts(struct rpm_value list, struct signatures *out)
{
	const char *text;

	while (out->count < SIGNATURES_MAX && (text = rpm_value_next(&list)) != NULL) {
		struct strbuf *packet = &out->decoded[out->count];
		cleanup_strbuf struct strbuf line = { 0 };

		for (; *text; text++) {
			if (*text != '\n')
				strbuf_addc(&line, *text);
		}
		strbuf_truncate(packet, 0);
		if (line.len && base64_decode_strict(strbuf_slice(&line), packet))
			out->items[out->count++] = strbuf_slice(packet);
	}
}

static void find_all(const struct rpm_header *h, struct signatures *out)
{
	static const uint32_t single[] = { RPMTAG_RSAHEADER, RPMTAG_DSAHEADER };
	struct rpm_value v;

	for (size_t i = 0; i < ARRAY_LEN(single); i++) {
		if (rpm_header_find(h, single[i], &v) && v.type == RPM_TYPE_BIN)
			out->items[out->count++] = v.data;
	}
	if (rpm_header_find(h, RPMTAG_OPENPGP, &v) && v.type == RPM_TYPE_STRING_ARRAY)
		take_texts(v, out);
}

/* One that is good is enough: others may be by keys or of kinds that nobody here knows. */
static int verify_any(const struct signatures *s, struct slice text, const struct apt_keys *keys,
		      const char *name, struct error *err)
{
	struct error why = { 0 };

	for (size_t i = 0; i < s->count; i++) {
		why = (struct error){ 0 };
		if (apt_release_verify(text, s->items[i], keys, name, &why) == 0)
			return 0;
		if (why.code != ERROR_INTEGRITY)
			break;
	}
	*err = why;
	return -1;
}

int rpm_signature_verify(const struct rpm_package *package, const struct apt_keys *keys,
			 const char *name, struct error *err)
{
	cleanup(signatures_release) struct signatures signatures = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct rpm_value payload;

	find_all(&package->signature, &signatures);
	if (!signatures.count)
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
	return verify_any(&signatures, strbuf_slice(&text), keys, name, err);
}
