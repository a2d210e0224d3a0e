#include "cli/sign_arg.h"

#include <time.h>

#include "builder/attachments.h"
#include "cli/version.h"
#include "formats/intoto.h"
#include "formats/json_members.h"

const char *const sign_arg_formats[] = { "both", "legacy", "bundle", NULL };

/* Unlike option_text, for commands that may not have the option. */
static const char *value_of(const struct invocation *in, const char *name)
{
	for (size_t i = in->values.len; i-- > 0;) {
		if (str_equal(in->values.items[i].option->name, name))
			return in->values.items[i].value;
	}
	return NULL;
}

static uint64_t now(void)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	uint64_t seconds;

	if (epoch && slice_u64(slice_str(epoch), &seconds))
		return seconds;
	return (uint64_t)time(NULL);
}

struct signature_request sign_arg_request(const struct invocation *in, struct artifact_arg *to,
					  const struct key *key)
{
	const char *format = value_of(in, "format");
	struct signature_request r = { .place = to->place,
				       .subject = &to->subject,
				       .reference = to->reference ? to->reference : "",
				       .key = key,
				       .forms = SIGNATURE_BOTH,
				       .creator = "gpuimg " GPUIMG_VERSION,
				       .time_s = now(),
				       .renew = value_of(in, "renew") != NULL };

	if (format && str_equal(format, "legacy"))
		r.forms = SIGNATURE_LEGACY;
	if (format && str_equal(format, "bundle"))
		r.forms = SIGNATURE_BUNDLE;
	return r;
}

static int sign_one(const struct signature_request *request, struct sign_outcome *outcome,
		    struct error *err)
{
	struct signature_put put;

	if (signature_sign(request, &put, err) < 0)
		return -1;
	outcome->made += put.made;
	outcome->there += put.there;
	return 0;
}

int sign_arg_sign(struct artifact_arg *to, const struct signature_request *request, bool recursive,
		  struct sign_outcome *outcome, struct error *err)
{
	struct artifact_list images = { 0 };
	int rc = sign_one(request, outcome, err);

	if (rc == 0 && recursive)
		rc = artifact_arg_images(to, &images, err);
	for (size_t i = 0; rc == 0 && i < images.len; i++) {
		struct signature_request one = *request;

		one.subject = &images.items[i];
		if (!digest_equal(&images.items[i].digest, &to->subject.digest))
			rc = sign_one(&one, outcome, err);
	}
	vec_release(&images);
	return rc;
}

/* What a build said. */

static const struct {
	enum attachment which;
	const char *type;
} statements[] = {
	{ ATTACHMENT_SPDX, "https://spdx.dev/Document" },
	{ ATTACHMENT_CYCLONEDX, "https://cyclonedx.org/bom" },
	{ ATTACHMENT_PROVENANCE, "https://slsa.dev/provenance/v1" },
};

int sign_arg_predicate(struct slice text, const char *predicate_type, struct slice *out,
		       struct error *err)
{
	struct json_member m[] = { { .key = "_type" },
				   { .key = "predicateType" },
				   { .key = "predicate" } };
	cleanup_json json_t *type = NULL;

	if (json_members(text, m, ARRAY_LEN(m), err) < 0)
		return -1;
	*out = slice_trim(text);
	if (!m[0].value.data || !m[2].value.data)
		return 0;
	*out = m[2].value;
	if (m[1].value.data && json_parse(m[1].value, &type, err) < 0)
		return -1;
	if (json_is_string(type) && str_equal(json_string_value(type), predicate_type))
		return 0;
	return error_set(err, ERROR_USAGE, "it is a statement of the type '%.100s', not %s",
			 json_is_string(type) ? json_string_value(type) : "", predicate_type);
}

static int attest(const struct signature_request *request, size_t which, struct slice text,
		  struct sign_outcome *outcome, struct error *err)
{
	struct signature_put put;
	struct slice predicate;

	if (sign_arg_predicate(text, statements[which].type, &predicate, err) < 0 ||
	    signature_attest(request, statements[which].type, predicate, &put, err) < 0)
		return -1;
	outcome->made += put.made;
	outcome->there += put.there;
	return 0;
}

static bool is_attached(const struct artifact_list *list, const char *type)
{
	for (size_t i = 0; i < list->len; i++) {
		if (list->items[i].artifact_type && str_equal(list->items[i].artifact_type, type))
			return true;
	}
	return false;
}

/* A document as it is, once for an image: its build says the same each time. */
static int attach(const struct signature_request *request, const struct artifact_list *there,
		  size_t which, struct slice text, struct sign_outcome *outcome, struct error *err)
{
	const char *type = attachment_media_type(statements[which].which);
	struct artifact artifact = { .subject = request->subject, .type = type, .bytes = text };

	if (is_attached(there, type)) {
		outcome->there++;
		return 0;
	}
	outcome->attached++;
	return artifact_attach(request->place, &artifact, err);
}

static int attach_image(const struct signature_request *request, struct store *store,
			struct sign_outcome *outcome, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct artifact_list there = { 0 };
	struct attachments found;
	int rc = 0;

	if (!attachments_find(store, &request->subject->digest, &found))
		return 0;
	if (!request->key)
		rc = artifact_list(request->place, &request->subject->digest, &arena, &there, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(statements); i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		rc = attachments_read(store, &request->subject->digest, statements[i].which, &text,
				      err);
		if (rc == 0)
			rc = request->key ? attest(request, i, strbuf_slice(&text), outcome, err)
					  : attach(request, &there, i, strbuf_slice(&text), outcome,
						   err);
	}
	vec_release(&there);
	return rc;
}

int sign_arg_attach(struct artifact_arg *to, const struct signature_request *request,
		    struct store *store, struct sign_outcome *outcome, struct error *err)
{
	struct artifact_list images = { 0 };
	int rc = artifact_arg_images(to, &images, err);

	for (size_t i = 0; rc == 0 && i < images.len; i++) {
		struct signature_request one = *request;

		one.subject = &images.items[i];
		rc = attach_image(&one, store, outcome, err);
	}
	vec_release(&images);
	return rc;
}
