#include "tests/support/test.h"

#include "base/base64.h"
#include "formats/dsse.h"
#include "formats/intoto.h"
#include "formats/sigstore_bundle.h"
#include "formats/simple_signing.h"
#include "oci/mediatype.h"
#include "registry/signature.h"
#include "registry/signature_form.h"

#define REFERENCE "registry.example.org/app:1"
enum { NOW = 1800000000, DAY = 86400 };

/* A layout with two "images" (any documents are), a key, and signatures beside the first. */
struct bench {
	char *dir;
	struct artifact_place *place;
	struct key *key, *other;
	struct descriptor image, other_image;
	struct error err;
};

static struct descriptor put_image(struct artifact_place *place, const char *text)
{
	struct descriptor d = { .media_type = MEDIATYPE_OCI_MANIFEST,
				.digest = digest_of(slice_str(text)),
				.size = strlen(text) };
	char name[DIGEST_TEXT_MAX];
	struct error err = { 0 };
	bool listed;

	assert_ok(place->ops->put_manifest(place, digest_text(&d.digest, name), &d, slice_str(text),
					   &listed, &err),
		  err);
	return d;
}

static void open_bench(struct bench *b)
{
	struct layout *layout;

	*b = (struct bench){ .dir = test_dir() };
	layout = layout_create(b->dir, &b->err);
	assert_non_null(layout);
	b->place = artifact_layout(layout);
	b->key = key_new();
	b->other = key_new();
	b->image = put_image(b->place, "{\"schemaVersion\":2}");
	b->other_image = put_image(b->place, "{\"schemaVersion\":2 }");
}

static void close_bench(struct bench *b)
{
	artifact_place_close(b->place);
	key_free(b->key);
	key_free(b->other);
	test_dir_free(b->dir);
}

static struct signature_request request_of(struct bench *b, enum signature_form forms)
{
	return (struct signature_request){ .place = b->place,
					   .subject = &b->image,
					   .reference = REFERENCE,
					   .key = b->key,
					   .forms = forms,
					   .creator = "gpuimg test",
					   .time_s = NOW };
}

static unsigned sign(struct bench *b, enum signature_form forms)
{
	struct signature_request r = request_of(b, forms);
	struct signature_put put;

	assert_ok(signature_sign(&r, &put, &b->err), b->err);
	return put.made;
}

static struct signature_check check_of(struct bench *b, struct signature_key *key)
{
	*key = (struct signature_key){ b->key, "ours" };
	return (struct signature_check){ .place = b->place,
					 .subject = &b->image,
					 .keys = key,
					 .key_count = 1,
					 .now_s = NOW + DAY };
}

/* How many are good; `reason` (may be NULL) has to be that of the first that is not. */
static size_t verify(struct bench *b, const struct signature_check *check, const char *reason)
{
	cleanup_signature_result struct signature_result r = { 0 };
	const char *first = NULL;
	size_t good;

	assert_ok(signature_verify(check, &r, &b->err), b->err);
	for (size_t i = 0; i < r.found.len && !first; i++)
		first = r.found.items[i].good ? NULL : r.found.items[i].reason;
	if (reason && (!first || !strstr(first, reason)))
		fail_msg("'%s' instead of '%s'", first ? first : "nothing refused", reason);
	good = r.good;
	return good;
}

static size_t verify_plain(struct bench *b, const char *reason)
{
	struct signature_key key;
	struct signature_check check = check_of(b, &key);

	return verify(b, &check, reason);
}

/* What an attacker with the right to push can put there. */

static void put_legacy(struct bench *b, const char *suffix, const char *media_type,
		       struct slice payload, const char *signature)
{
	cleanup_free char *tag = artifact_tag(&b->image.digest, suffix);
	cleanup_json json_t *annotations = json_object();
	cleanup_strbuf struct strbuf text = { 0 };
	struct descriptor config = { .media_type = MEDIATYPE_OCI_CONFIG,
				     .digest = digest_of(slice_str("{}")),
				     .size = 2 };
	struct descriptor layer = { .media_type = media_type,
				    .digest = digest_of(payload),
				    .size = payload.len,
				    .annotations = annotations };
	struct descriptor manifest = { .media_type = MEDIATYPE_OCI_MANIFEST };
	bool listed;

	if (signature)
		json_put(annotations, ANNOTATION_SIGNATURE, json_text(signature));
	manifest_write(&config, &layer, 1, NULL, &text);
	manifest.digest = digest_of(strbuf_slice(&text));
	manifest.size = text.len;
	assert_ok(b->place->ops->put_blob(b->place, &layer, payload, &b->err), b->err);
	assert_ok(b->place->ops->put_manifest(b->place, tag, &manifest, strbuf_slice(&text),
					      &listed, &b->err),
		  b->err);
}

static void put_payload(struct bench *b, const struct key *key, const char *payload)
{
	cleanup_strbuf struct strbuf signature = { 0 }, text = { 0 };

	assert_ok(key_sign(key, slice_str(payload), &signature, &b->err), b->err);
	base64_encode(strbuf_slice(&signature), &text);
	put_legacy(b, ".sig", MEDIATYPE_SIMPLE_SIGNING, slice_str(payload), text.data);
}

static void put_bundle(struct bench *b, const char *text)
{
	struct artifact a = { .subject = &b->image,
			      .type = SIGSTORE_BUNDLE_TYPE,
			      .bytes = slice_str(text) };

	assert_ok(artifact_attach(b->place, &a, &b->err), b->err);
}

static char *statement(const struct digest *digest, const char *type)
{
	struct strbuf out = { 0 };
	struct intoto_request r = { .type = INTOTO_V1, .digest = *digest, .predicate_type = type };

	intoto_write(&r, &out);
	return strbuf_steal(&out);
}

static char *bundle(struct bench *b, const struct key *key, const char *payload)
{
	struct strbuf out = { 0 };

	assert_ok(sigstore_bundle_sign(key, slice_str(payload), &out, &b->err), b->err);
	return strbuf_steal(&out);
}

/* Signatures. */

static void test_both_forms_are_made_and_verified(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	assert_int_equal(sign(&b, SIGNATURE_BOTH), 2);
	assert_int_equal(verify_plain(&b, NULL), 2);
	close_bench(&b);
}

static void test_an_image_without_signatures_has_none(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	assert_int_equal(verify_plain(&b, NULL), 0);
	close_bench(&b);
}

static void test_what_is_signed_is_not_signed_again(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	assert_int_equal(sign(&b, SIGNATURE_BOTH), 2);
	assert_int_equal(sign(&b, SIGNATURE_BOTH), 0);
	assert_int_equal(verify_plain(&b, NULL), 2);
	close_bench(&b);
}

static void test_renewing_signs_again(void **state)
{
	struct bench b;
	struct signature_request r;
	struct signature_put put;

	(void)state;
	open_bench(&b);
	sign(&b, SIGNATURE_BOTH);
	r = request_of(&b, SIGNATURE_BOTH);
	r.renew = true;
	r.time_s = NOW + 1;
	assert_ok(signature_sign(&r, &put, &b.err), b.err);
	assert_int_equal(put.made, 2);
	assert_int_equal(verify_plain(&b, NULL), 4);
	close_bench(&b);
}

static void test_signatures_of_two_keys_stand_beside_each_other(void **state)
{
	struct bench b;
	struct signature_request r;
	struct signature_put put;

	(void)state;
	open_bench(&b);
	r = request_of(&b, SIGNATURE_BOTH);
	r.key = b.other;
	assert_ok(signature_sign(&r, &put, &b.err), b.err);
	sign(&b, SIGNATURE_BOTH);
	assert_int_equal(verify_plain(&b, "is not by this key"), 2);
	close_bench(&b);
}

static void test_another_key_is_refused(void **state)
{
	struct bench b;
	struct signature_key key;
	struct signature_check check;

	(void)state;
	open_bench(&b);
	sign(&b, SIGNATURE_BOTH);
	check = check_of(&b, &key);
	key.key = b.other;
	assert_int_equal(verify(&b, &check, "is not by this key"), 0);
	close_bench(&b);
}

static void test_a_payload_for_another_image_is_refused(void **state)
{
	struct bench b;
	cleanup_strbuf struct strbuf payload = { 0 };

	(void)state;
	open_bench(&b);
	simple_signing_write(REFERENCE, &b.other_image.digest, NULL, &payload);
	put_payload(&b, b.key, payload.data);
	assert_int_equal(verify_plain(&b, "was made for another image"), 0);
	close_bench(&b);
}

static void test_a_bundle_for_another_image_is_refused(void **state)
{
	struct bench b;
	cleanup_free char *said = NULL, *text = NULL;

	(void)state;
	open_bench(&b);
	said = statement(&b.other_image.digest, INTOTO_SIGNATURE);
	text = bundle(&b, b.key, said);
	put_bundle(&b, text);
	assert_int_equal(verify_plain(&b, "was made for another image"), 0);
	close_bench(&b);
}

static void test_an_attestation_is_no_signature(void **state)
{
	struct bench b;
	cleanup_free char *said = NULL, *text = NULL;

	(void)state;
	open_bench(&b);
	said = statement(&b.image.digest, "https://spdx.dev/Document");
	text = bundle(&b, b.key, said);
	put_bundle(&b, text);
	assert_int_equal(verify_plain(&b, NULL), 0);
	close_bench(&b);
}

static void test_an_altered_payload_is_refused(void **state)
{
	struct bench b;
	cleanup_strbuf struct strbuf payload = { 0 }, signature = { 0 }, text = { 0 };

	(void)state;
	open_bench(&b);
	simple_signing_write("registry.example.org/app:2", &b.image.digest, NULL, &payload);
	assert_ok(key_sign(b.key, strbuf_slice(&payload), &signature, &b.err), b.err);
	base64_encode(strbuf_slice(&signature), &text);
	payload.data[payload.len - 2] ^= 1;
	put_legacy(&b, ".sig", MEDIATYPE_SIMPLE_SIGNING, strbuf_slice(&payload), text.data);
	assert_int_equal(verify_plain(&b, "was altered"), 0);
	close_bench(&b);
}

static void test_loose_base64_is_refused(void **state)
{
	struct bench b;
	cleanup_strbuf struct strbuf payload = { 0 }, signature = { 0 }, text = { 0 };

	(void)state;
	open_bench(&b);
	simple_signing_write(REFERENCE, &b.image.digest, NULL, &payload);
	assert_ok(key_sign(b.key, strbuf_slice(&payload), &signature, &b.err), b.err);
	base64_encode(strbuf_slice(&signature), &text);
	strbuf_adds(&text, "\n");
	put_legacy(&b, ".sig", MEDIATYPE_SIMPLE_SIGNING, strbuf_slice(&payload), text.data);
	assert_int_equal(verify_plain(&b, "no base64"), 0);
	close_bench(&b);
}

static void test_layers_of_other_kinds_are_passed_over(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	put_legacy(&b, ".sig", "application/octet-stream", slice_str("{}"), "AAAA");
	assert_int_equal(verify_plain(&b, NULL), 0);
	put_legacy(&b, ".sig", MEDIATYPE_SIMPLE_SIGNING, slice_str("{}"), NULL);
	assert_int_equal(verify_plain(&b, NULL), 0);
	close_bench(&b);
}

static void test_garbage_beside_a_good_signature_does_not_hide_it(void **state)
{
#define V03 "{\"mediaType\":\"application/vnd.dev.sigstore.bundle.v0.3+json\""
	static const char *const garbage[] = {
		"",
		"{",
		"[]",
		V03 "}",
		V03 ",\"verificationMaterial\":{\"certificate\":{\"rawBytes\":\"AAAA\"}},"
		    "\"dsseEnvelope\":{\"payload\":\"AAAA\",\"payloadType\":\"x\","
		    "\"signatures\":[{\"sig\":\"AAAA\"}]}}",
		V03 ",\"verificationMaterial\":{\"publicKey\":{}},\"messageSignature\":{}}",
		"{\"a\":1,\"a\":2}",
	};
	struct bench b;

	(void)state;
	open_bench(&b);
	sign(&b, SIGNATURE_BUNDLE);
	for (size_t i = 0; i < ARRAY_LEN(garbage); i++)
		put_bundle(&b, garbage[i]);
	put_legacy(&b, ".sig", MEDIATYPE_SIMPLE_SIGNING, slice_str("{}"), "AAAA");
	assert_int_equal(verify_plain(&b, "is not by this key"), 1);
	close_bench(&b);
}

static void test_an_envelope_needs_one_good_signature_of_several(void **state)
{
	struct bench b;
	cleanup_free char *said = NULL;
	cleanup_json json_t *mine = NULL, *theirs = NULL;
	cleanup_dsse struct dsse parsed = { 0 };

	(void)state;
	open_bench(&b);
	said = statement(&b.image.digest, INTOTO_SIGNATURE);
	mine = dsse_sign(b.key, DSSE_INTOTO, slice_str(said), &b.err);
	theirs = dsse_sign(b.other, DSSE_INTOTO, slice_str(said), &b.err);
	json_push(json_object_get(theirs, "signatures"),
		  json_incref(json_array_get(json_object_get(mine, "signatures"), 0)));
	assert_ok(dsse_parse(theirs, "e", &parsed, &b.err), b.err);
	assert_true(dsse_verify(&parsed, b.key));
	close_bench(&b);
}

static void test_the_type_of_a_payload_is_signed_with_it(void **state)
{
	struct bench b;
	cleanup_json json_t *envelope = NULL;
	cleanup_dsse struct dsse parsed = { 0 };

	(void)state;
	open_bench(&b);
	envelope = dsse_sign(b.key, DSSE_INTOTO, slice_str("{}"), &b.err);
	json_put(envelope, "payloadType", json_text("application/other"));
	assert_ok(dsse_parse(envelope, "e", &parsed, &b.err), b.err);
	assert_false(dsse_verify(&parsed, b.key));
	close_bench(&b);
}

static void test_an_envelope_without_signatures_is_malformed(void **state)
{
	cleanup_json json_t *envelope = json_object();
	cleanup_dsse struct dsse parsed = { 0 };
	struct error err = { 0 };

	(void)state;
	json_put(envelope, "payload", json_text("e30="));
	json_put(envelope, "payloadType", json_text(DSSE_INTOTO));
	json_put(envelope, "signatures", json_array());
	assert_int_equal(dsse_parse(envelope, "e", &parsed, &err), -1);
	assert_contains(err.text, "e.signatures: is empty");
}

/* protocol.md of DSSE 1.0, "Test Vectors". */
static void test_the_encoding_is_that_of_the_specification(void **state)
{
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	dsse_encode("http://example.com/HelloWorld", slice_str("hello world"), &out);
	assert_string_equal(out.data, "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

static void test_old_signatures_expire_when_age_counts(void **state)
{
	struct bench b;
	struct signature_key key;
	struct signature_check check;

	(void)state;
	open_bench(&b);
	sign(&b, SIGNATURE_BOTH);
	check = check_of(&b, &key);
	check.max_age_s = 2 * DAY;
	assert_int_equal(verify(&b, &check, NULL), 2);
	check.now_s = NOW + 3 * DAY;
	assert_int_equal(verify(&b, &check, "has expired"), 0);
	check.now_s = NOW - DAY;
	assert_int_equal(verify(&b, &check, "in the future"), 0);
	close_bench(&b);
}

static void test_a_signature_without_a_time_is_not_young(void **state)
{
	struct bench b;
	struct signature_key key;
	struct signature_check check;
	cleanup_strbuf struct strbuf payload = { 0 };

	(void)state;
	open_bench(&b);
	simple_signing_write(REFERENCE, &b.image.digest, NULL, &payload);
	put_payload(&b, b.key, payload.data);
	assert_int_equal(verify_plain(&b, NULL), 1);
	check = check_of(&b, &key);
	check.max_age_s = DAY;
	assert_int_equal(verify(&b, &check, "does not tell when"), 0);
	close_bench(&b);
}

static void test_annotations_have_to_be_signed_ones(void **state)
{
	struct bench b;
	struct signature_key key;
	struct signature_check check;
	struct signature_request r;
	struct signature_put put;
	cleanup_json json_t *said = json_object(), *wanted = json_object();

	(void)state;
	open_bench(&b);
	json_put(said, "commit", json_text("1f2e3d"));
	r = request_of(&b, SIGNATURE_BOTH);
	r.annotations = said;
	assert_ok(signature_sign(&r, &put, &b.err), b.err);
	check = check_of(&b, &key);
	check.annotations = said;
	assert_int_equal(verify(&b, &check, NULL), 2);
	json_put(wanted, "commit", json_text("other"));
	check.annotations = wanted;
	assert_int_equal(verify(&b, &check, "'commit'"), 0);
	close_bench(&b);
}

/* Attestations. */

static void test_attestations_are_made_in_both_forms_and_kept_apart_by_type(void **state)
{
	struct bench b;
	struct signature_key key;
	struct signature_check check;
	struct signature_request r;
	struct signature_put put;
	struct slice predicate = slice_str("{\"spdxVersion\":\"SPDX-2.3\"}");

	(void)state;
	open_bench(&b);
	r = request_of(&b, SIGNATURE_BOTH);
	assert_ok(signature_attest(&r, "https://spdx.dev/Document", predicate, &put, &b.err),
		  b.err);
	assert_int_equal(put.made, 2);
	assert_ok(signature_attest(&r, "https://spdx.dev/Document", predicate, &put, &b.err),
		  b.err);
	assert_int_equal(put.made, 0);
	check = check_of(&b, &key);
	check.predicate_type = "https://spdx.dev/Document";
	assert_int_equal(verify(&b, &check, NULL), 2);
	check.predicate_type = "https://cyclonedx.org/bom";
	assert_int_equal(verify(&b, &check, NULL), 0);
	assert_int_equal(verify_plain(&b, NULL), 0);
	close_bench(&b);
}

static void test_a_verified_predicate_is_given_as_it_was_signed(void **state)
{
	struct bench b;
	struct signature_key key;
	struct signature_check check;
	struct signature_request r;
	struct signature_put put;
	cleanup_signature_result struct signature_result found = { 0 };
	struct slice predicate = slice_str("{ \"b\": 1,\n\"a\": \"b\" }");

	(void)state;
	open_bench(&b);
	r = request_of(&b, SIGNATURE_BUNDLE);
	assert_ok(signature_attest(&r, "https://example.org/x", predicate, &put, &b.err), b.err);
	check = check_of(&b, &key);
	check.predicate_type = "https://example.org/x";
	check.keep = true;
	assert_ok(signature_verify(&check, &found, &b.err), b.err);
	assert_string_equal(found.found.items[0].predicate.data, "{ \"b\": 1,\n\"a\": \"b\" }");
	close_bench(&b);
}

/* Copies, and lists that others change. */

static void test_what_is_attached_is_copied_with_its_referrers(void **state)
{
	struct bench a, b;
	size_t count;

	(void)state;
	open_bench(&a);
	open_bench(&b);
	sign(&a, SIGNATURE_BOTH);
	assert_ok(artifact_copy(a.place, b.place, &a.image.digest, &count, &a.err), a.err);
	assert_int_equal(count, 2);
	key_free(b.key);
	b.key = a.key;
	assert_int_equal(verify_plain(&b, NULL), 2);
	b.key = NULL;
	close_bench(&a);
	close_bench(&b);
}

static void test_a_list_that_names_another_images_referrer_is_not_believed(void **state)
{
	struct bench b;
	struct artifact_list list = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct descriptor got;
	struct signature_request r;
	struct signature_put put;
	char name[DIGEST_TEXT_MAX];

	(void)state;
	open_bench(&b);
	r = request_of(&b, SIGNATURE_BUNDLE);
	r.subject = &b.other_image;
	assert_ok(signature_sign(&r, &put, &b.err), b.err);
	assert_ok(artifact_list(b.place, &b.other_image.digest, &arena, &list, &b.err), b.err);
	assert_int_equal(list.len, 1);
	assert_ok(b.place->ops->get_manifest(b.place, digest_text(&list.items[0].digest, name),
					     &arena, &text, &got, &b.err),
		  b.err);
	got.media_type = MEDIATYPE_OCI_MANIFEST;
	got.artifact_type = SIGSTORE_BUNDLE_TYPE;
	assert_ok(artifact_attach_manifest(b.place, &b.image.digest, &got, strbuf_slice(&text),
					   &b.err),
		  b.err);
	assert_int_equal(verify_plain(&b, "refers to another image"), 0);
	vec_release(&list);
	close_bench(&b);
}

static void test_a_damaged_list_is_told_and_cosigns_tag_still_counts(void **state)
{
	struct bench b;
	cleanup_free char *tag = NULL;
	struct descriptor d = { .media_type = MEDIATYPE_OCI_INDEX,
				.digest = digest_of(slice_str("<html>")),
				.size = 6 };
	bool listed;

	(void)state;
	open_bench(&b);
	sign(&b, SIGNATURE_LEGACY);
	tag = artifact_tag(&b.image.digest, "");
	assert_ok(b.place->ops->put_manifest(b.place, tag, &d, slice_str("<html>"), &listed,
					     &b.err),
		  b.err);
	assert_int_equal(verify_plain(&b, "list of referrers"), 1);
	close_bench(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_forms_are_made_and_verified),
		cmocka_unit_test(test_an_image_without_signatures_has_none),
		cmocka_unit_test(test_what_is_signed_is_not_signed_again),
		cmocka_unit_test(test_renewing_signs_again),
		cmocka_unit_test(test_signatures_of_two_keys_stand_beside_each_other),
		cmocka_unit_test(test_another_key_is_refused),
		cmocka_unit_test(test_a_payload_for_another_image_is_refused),
		cmocka_unit_test(test_a_bundle_for_another_image_is_refused),
		cmocka_unit_test(test_an_attestation_is_no_signature),
		cmocka_unit_test(test_an_altered_payload_is_refused),
		cmocka_unit_test(test_loose_base64_is_refused),
		cmocka_unit_test(test_layers_of_other_kinds_are_passed_over),
		cmocka_unit_test(test_garbage_beside_a_good_signature_does_not_hide_it),
		cmocka_unit_test(test_an_envelope_needs_one_good_signature_of_several),
		cmocka_unit_test(test_the_type_of_a_payload_is_signed_with_it),
		cmocka_unit_test(test_an_envelope_without_signatures_is_malformed),
		cmocka_unit_test(test_the_encoding_is_that_of_the_specification),
		cmocka_unit_test(test_old_signatures_expire_when_age_counts),
		cmocka_unit_test(test_a_signature_without_a_time_is_not_young),
		cmocka_unit_test(test_annotations_have_to_be_signed_ones),
		cmocka_unit_test(test_attestations_are_made_in_both_forms_and_kept_apart_by_type),
		cmocka_unit_test(test_a_verified_predicate_is_given_as_it_was_signed),
		cmocka_unit_test(test_what_is_attached_is_copied_with_its_referrers),
		cmocka_unit_test(test_a_list_that_names_another_images_referrer_is_not_believed),
		cmocka_unit_test(test_a_damaged_list_is_told_and_cosigns_tag_still_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
