#include "formats/intoto.h"

#include "base/alloc.h"
#include "formats/json_members.h"

static const struct {
	const char *name, *uri;
} predicates[] = {
	{ "spdx", "https://spdx.dev/Document" },
	{ "spdxjson", "https://spdx.dev/Document" },
	{ "cyclonedx", "https://cyclonedx.org/bom" },
	{ "provenance", "https://slsa.dev/provenance/v1" },
	{ "slsaprovenance1", "https://slsa.dev/provenance/v1" },
	{ "slsaprovenance02", "https://slsa.dev/provenance/v0.2" },
	{ "openvex", "https://openvex.dev/ns" },
	{ "vuln", "https://cosign.sigstore.dev/attestation/vuln/v1" },
};

const char *intoto_predicate_type(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(predicates); i++) {
		if (str_equal(name, predicates[i].name))
			return predicates[i].uri;
	}
	return strstr(name, "://") ? name : NULL;
}

const char *intoto_predicate_name(const char *uri)
{
	for (size_t i = 0; i < ARRAY_LEN(predicates); i++) {
		if (str_equal(uri, predicates[i].uri))
			return predicates[i].name;
	}
	return uri;
}

void intoto_release(struct intoto *s)
{
	if (!s)
		return;
	json_decref(s->json);
	*s = (struct intoto){ 0 };
}

static int check_subjects(const json_t *subjects, struct error *err)
{
	size_t count = json_array_size(subjects);

	if (count > INTOTO_SUBJECTS_MAX)
		return error_set(err, ERROR_LIMIT, "subject: has %zu entries, %d are allowed",
				 count, INTOTO_SUBJECTS_MAX);
	for (size_t i = 0; i < count; i++) {
		cleanup_free char *where = xasprintf("subject[%zu]", i);
		const json_t *o = json_array_get(subjects, i);
		json_t *digests;

		if (!json_is_object(o))
			return error_set(err, ERROR_FORMAT, "%s: is not an object", where);
		if (json_get_object(o, where, "digest", &digests, err) < 0)
			return -1;
	}
	return 0;
}

/* All but the predicate, in memory. */
static int parse_rest(const struct json_member *rest, size_t count, json_t **out, struct error *err)
{
	*out = json_object();
	for (size_t i = 0; i < count; i++) {
		json_t *value;

		if (!rest[i].value.data)
			continue;
		if (json_parse(rest[i].value, &value, err) < 0)
			return error_wrap(err, "%s", rest[i].key);
		json_put(*out, rest[i].key, value);
	}
	return 0;
}

int intoto_parse(struct slice text, struct intoto *out, struct error *err)
{
	struct json_member members[] = {
		{ .key = "_type" },
		{ .key = "predicateType" },
		{ .key = "subject" },
		{ .key = "predicate" },
	};
	const size_t rest = ARRAY_LEN(members) - 1;
	const char *type;
	json_t *subjects;

	if (json_members(text, members, ARRAY_LEN(members), err) < 0 ||
	    parse_rest(members, rest, &out->json, err) < 0)
		return error_wrap(err, "statement");
	if (json_get_str(out->json, "", "_type", &type, err) < 0 ||
	    json_get_str(out->json, "", "predicateType", &out->predicate_type, err) < 0 ||
	    json_get_array(out->json, "", "subject", &subjects, err) < 0 ||
	    check_subjects(subjects, err) < 0)
		return error_wrap(err, "statement");
	if (!str_equal(type, INTOTO_V1) && !str_equal(type, INTOTO_V01))
		return error_set(err, ERROR_FORMAT, "statement: _type: '%.60s' is not in-toto's",
				 type);
	out->subjects = subjects;
	out->predicate = members[rest].value;
	return 0;
}

const json_t *intoto_subject(const struct intoto *s, const struct digest *digest)
{
	const char *algorithm = digest->algorithm == DIGEST_SHA512 ? "sha512" : "sha256";
	char hex[DIGEST_HEX_MAX];

	digest_hex(digest, hex);
	for (size_t i = 0; i < json_array_size(s->subjects); i++) {
		const json_t *o = json_array_get(s->subjects, i);
		const char *have =
			json_string_value(json_object_get(json_object_get(o, "digest"), algorithm));

		if (have && str_equal(have, hex))
			return o;
	}
	return NULL;
}

static json_t *subject_json(const struct intoto_request *r)
{
	json_t *subject = json_object(), *digest = json_object();
	char hex[DIGEST_HEX_MAX];

	json_put(digest, r->digest.algorithm == DIGEST_SHA512 ? "sha512" : "sha256",
		 json_text(digest_hex(&r->digest, hex)));
	json_put(subject, "digest", digest);
	if (r->name)
		json_put(subject, "name", json_text(r->name));
	if (r->annotations && json_object_size(r->annotations))
		json_put(subject, "annotations", json_deep_copy(r->annotations));
	return subject;
}

static void add_member(const char *before, const char *key, json_t *value, struct strbuf *out)
{
	cleanup_json json_t *owned = value;

	strbuf_addf(out, "%s\"%s\":", before, key);
	json_canonical(owned, out);
}

void intoto_write(const struct intoto_request *r, struct strbuf *out)
{
	struct slice predicate = r->predicate.len ? r->predicate : slice_str("{}");
	json_t *subjects = json_array();

	json_push(subjects, subject_json(r));
	add_member("{", "_type", json_text(r->type), out);
	strbuf_adds(out, ",\"predicate\":");
	strbuf_add(out, predicate.data, predicate.len);
	add_member(",", "predicateType", json_text(r->predicate_type), out);
	add_member(",", "subject", subjects, out);
	strbuf_addc(out, '}');
}
