#include "cli/verify_signature.h"

#include <time.h>

#include "base/fs.h"
#include "cli/artifact_arg.h"
#include "cli/key_arg.h"
#include "cli/report_output.h"
#include "formats/intoto.h"
#include "registry/signature.h"

enum { DAY_S = 24 * 60 * 60, DAYS_MAX = 36500 };

/* One thing that is wanted of one manifest, and what was found. */
struct judged {
	const struct descriptor *subject;
	const char *predicate_type; /* NULL: a signature */
	struct signature_result result;
};

struct verifying {
	const struct invocation *in;
	struct artifact_arg image;
	struct artifact_list images; /* of an index; else the image itself */
	VEC(struct key *) keys;
	VEC(struct signature_key) named;
	json_t *annotations;
	struct signature_check check; /* what all have in common */
	VEC(struct judged) judged;
};

static void release(struct verifying *v)
{
	for (size_t i = 0; i < v->keys.len; i++)
		key_free(v->keys.items[i]);
	for (size_t i = 0; i < v->judged.len; i++)
		signature_result_release(&v->judged.items[i].result);
	vec_release(&v->keys);
	vec_release(&v->named);
	vec_release(&v->judged);
	vec_release(&v->images);
	json_decref(v->annotations);
	artifact_arg_release(&v->image);
}

/* Options. */

static int take_keys(struct verifying *v, struct error *err)
{
	const char *file;

	for (size_t n = 0; (file = option_nth(v->in, "key", n)); n++) {
		struct key *key = key_arg_public(file, err);

		if (!key)
			return -1;
		vec_push(&v->keys, key);
		vec_push(&v->named, ((struct signature_key){ key, file }));
	}
	v->check.keys = v->named.items;
	v->check.key_count = v->named.len;
	return 0;
}

static int take_options(struct verifying *v, struct error *err)
{
	uint64_t days;

	if (option_number(v->in, "max-age", 1, DAYS_MAX, 0, &days, err) < 0 ||
	    artifact_arg_annotations(v->in, &v->annotations, err) < 0 || take_keys(v, err) < 0)
		return -1;
	v->check.annotations = v->annotations;
	v->check.max_age_s = days * DAY_S;
	v->check.now_s = (uint64_t)time(NULL);
	v->check.keep = option_given(v->in, "predicate");
	return 0;
}

/* Only the image of --platform, if that is given. */
static int choose_images(struct verifying *v, struct error *err)
{
	const char *wanted = option_text(v->in, "platform", NULL);
	struct platform platform;
	size_t kept = 0;

	if (artifact_arg_images(&v->image, &v->images, err) < 0)
		return -1;
	if (!wanted)
		return 0;
	if (platform_parse(wanted, &v->image.arena, &platform, err) < 0)
		return -1;
	for (size_t i = 0; i < v->images.len; i++) {
		if (platform_equal(&v->images.items[i].platform, &platform))
			v->images.items[kept++] = v->images.items[i];
	}
	v->images.len = kept;
	return kept ? 0
		    : error_set(err, ERROR_NOT_FOUND, "%s has no image for %s", v->image.name,
				wanted);
}

/* Judging. */

static int judge(struct verifying *v, const struct descriptor *subject, const char *type,
		 struct error *err)
{
	struct signature_check check = v->check;
	struct judged *j;

	check.place = v->image.place;
	check.subject = subject;
	check.predicate_type = type;
	j = vec_add(&v->judged);
	j->subject = subject;
	j->predicate_type = type;
	return signature_verify(&check, &j->result, err);
}

/* A statement about the index counts for all its images; else each has to have one. */
static int judge_attestation(struct verifying *v, const char *name, struct error *err)
{
	const char *type = intoto_predicate_type(name);
	bool alone = v->images.len == 1 &&
		     digest_equal(&v->images.items[0].digest, &v->image.subject.digest);

	if (!type)
		return error_set(err, ERROR_USAGE,
				 "--attestation %s: spdx, cyclonedx, provenance, openvex, vuln, or "
				 "a URI",
				 name);
	if (judge(v, &v->image.subject, type, err) < 0)
		return -1;
	if (alone || v->judged.items[v->judged.len - 1].result.good)
		return 0;
	signature_result_release(&v->judged.items[--v->judged.len].result);
	for (size_t i = 0; i < v->images.len; i++) {
		if (judge(v, &v->images.items[i], type, err) < 0)
			return -1;
	}
	return 0;
}

static int judge_all(struct verifying *v, struct error *err)
{
	const char *name;

	if (judge(v, &v->image.subject, NULL, err) < 0)
		return -1;
	for (size_t i = 0; option_given(v->in, "recursive") && i < v->images.len; i++) {
		if (!digest_equal(&v->images.items[i].digest, &v->image.subject.digest) &&
		    judge(v, &v->images.items[i], NULL, err) < 0)
			return -1;
	}
	for (size_t n = 0; (name = option_nth(v->in, "attestation", n)); n++) {
		if (judge_attestation(v, name, err) < 0)
			return -1;
	}
	return 0;
}

static bool all_good(const struct verifying *v)
{
	for (size_t i = 0; i < v->judged.len; i++) {
		if (!v->judged.items[i].result.good)
			return false;
	}
	return true;
}

/* Reports. */

static const char *time_text(struct arena *arena, uint64_t time_s)
{
	time_t t = (time_t)time_s;
	char text[32] = "";
	struct tm utc;

	if (gmtime_r(&t, &utc))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
	return arena_strdup(arena, text);
}

static const char *wanted_name(const struct judged *j)
{
	return j->predicate_type ? intoto_predicate_name(j->predicate_type) : "signature";
}

static void add_found(struct verifying *v, const struct signature_found *f, struct strbuf *out)
{
	strbuf_addf(out, "  %-6s %s  ", f->good ? "good" : "no", signature_form_name(f->form));
	if (f->good)
		strbuf_addf(out, "by %s", f->key);
	else
		strbuf_add_quoted(out, slice_str(f->reason), 300);
	if (f->good && f->time_s)
		strbuf_addf(out, ", made %s", time_text(&v->image.arena, f->time_s));
	if (f->good && *f->reference) {
		strbuf_adds(out, ", as ");
		strbuf_add_quoted(out, slice_str(f->reference), 200);
	}
	strbuf_addf(out, "  (%.80s)\n", f->name);
}

static void write_text(struct verifying *v, struct strbuf *out)
{
	strbuf_addf(out, "%s\n", v->image.name);
	for (size_t i = 0; i < v->judged.len; i++) {
		const struct judged *j = &v->judged.items[i];
		char digest[DIGEST_TEXT_MAX];

		strbuf_addf(out, "%s  %s", j->result.good ? "verified" : "NOT VERIFIED",
			    wanted_name(j));
		if (!digest_equal(&j->subject->digest, &v->image.subject.digest))
			strbuf_addf(out, " of %s %s",
				    platform_text(&j->subject->platform, &v->image.arena),
				    digest_text(&j->subject->digest, digest));
		strbuf_adds(out, j->result.found.len ? "\n" : ": there is none\n");
		for (size_t k = 0; k < j->result.found.len; k++)
			add_found(v, &j->result.found.items[k], out);
	}
}

static void put_text(json_t *o, const char *key, const char *value)
{
	json_put(o, key, value && *value ? json_text(value) : json_null());
}

static json_t *found_json(struct verifying *v, const struct signature_found *f)
{
	json_t *o = json_object();

	json_put(o, "form", json_text(signature_form_name(f->form)));
	json_put(o, "verified", json_boolean(f->good));
	put_text(o, "key", f->good ? f->key : NULL);
	put_text(o, "reason", f->reason);
	put_text(o, "document", f->name);
	put_text(o, "signed_as", f->reference);
	put_text(o, "made", f->time_s ? time_text(&v->image.arena, f->time_s) : NULL);
	return o;
}

static json_t *judged_json(struct verifying *v, const struct judged *j)
{
	json_t *o = json_object(), *list = json_array();
	char digest[DIGEST_TEXT_MAX];

	json_put(o, "wanted", json_text(j->predicate_type ? j->predicate_type : "signature"));
	json_put(o, "digest", json_text(digest_text(&j->subject->digest, digest)));
	json_put(o, "platform",
		 j->subject->platform.os
			 ? json_text(platform_text(&j->subject->platform, &v->image.arena))
			 : json_null());
	json_put(o, "verified", json_boolean(j->result.good > 0));
	for (size_t i = 0; i < j->result.found.len; i++)
		json_push(list, found_json(v, &j->result.found.items[i]));
	json_put(o, "found", list);
	return o;
}

static void write_json(struct verifying *v, struct strbuf *out)
{
	cleanup_json json_t *root = json_object();
	json_t *list = json_array(), *image = json_object();
	char digest[DIGEST_TEXT_MAX];

	json_put(image, "reference", json_text(v->in->args[0]));
	json_put(image, "digest", json_text(digest_text(&v->image.subject.digest, digest)));
	json_put(root, "schema", json_text("gpuimg-verify/1"));
	json_put(root, "image", image);
	json_put(root, "verified", json_boolean(all_good(v)));
	for (size_t i = 0; i < v->judged.len; i++)
		json_push(list, judged_json(v, &v->judged.items[i]));
	json_put(root, "judged", list);
	json_pretty(root, out);
}

/* The first good predicate, which is then the only one that was asked for. */
static int write_predicate(struct verifying *v, struct error *err)
{
	const char *file = option_text(v->in, "predicate", NULL);

	for (size_t i = 0; file && i < v->judged.len; i++) {
		const struct judged *j = &v->judged.items[i];

		for (size_t k = 0; j->predicate_type && k < j->result.found.len; k++) {
			const struct signature_found *f = &j->result.found.items[k];

			if (f->good)
				return fs_write(AT_FDCWD, file, strbuf_slice(&f->predicate), 0644,
						err);
		}
	}
	return 0;
}

static int check_predicate_option(struct verifying *v, struct error *err)
{
	size_t wanted = 0;

	if (!option_given(v->in, "predicate"))
		return 0;
	while (option_nth(v->in, "attestation", wanted))
		wanted++;
	if (wanted != 1 || v->images.len != 1)
		return error_set(err, ERROR_USAGE,
				 "--predicate FILE takes one: name one --attestation, and of an "
				 "index the --platform");
	return 0;
}

static int report(struct verifying *v, const struct report_outputs *outputs, struct error *err)
{
	for (size_t i = 0; i < outputs->len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		(str_equal(outputs->items[i].format, "json") ? write_json : write_text)(v, &text);
		if (report_output_write(&outputs->items[i], strbuf_slice(&text), v->in->out, err) <
		    0)
			return -1;
	}
	return 0;
}

static int run(struct verifying *v, const struct registry_arg *registry,
	       const struct report_outputs *outputs, struct error *err)
{
	if (take_options(v, err) < 0 ||
	    artifact_arg_open(v->in->args[0], CLIENT_PULL, &registry->client, &v->image, err) < 0 ||
	    choose_images(v, err) < 0 || check_predicate_option(v, err) < 0 ||
	    judge_all(v, err) < 0 || report(v, outputs, err) < 0)
		return -1;
	if (!all_good(v))
		return 1;
	return write_predicate(v, err);
}

int verify_signature_run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", NULL };
	cleanup_registry_arg struct registry_arg registry = { 0 };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup(release) struct verifying v = { .in = in };

	if (in->arg_count != 1)
		return error_set(err, ERROR_USAGE, "--key FILE verifies one IMAGE");
	if (registry_arg_take(in, "verify", &registry, err) < 0 ||
	    report_outputs_parse(in, formats, &outputs, err) < 0)
		return -1;
	return run(&v, &registry, &outputs, err);
}
