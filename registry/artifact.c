#include "registry/artifact.h"

#include "base/clock.h"
#include "base/key.h"
#include "net/http.h"
#include "oci/mediatype.h"
#include "registry/cosign_tag.h"

enum {
	UPDATE_TRIES = 10,
	REFUSED_TRIES = 4,
	LOOKS_MAX = 10,
	COPY_DEPTH_MAX = 4,
	PAUSE_MS = 500,
	PAUSE_MAX_MS = 5000
};

static const char empty[] = "{}";

void artifact_place_close(struct artifact_place *p)
{
	if (p)
		p->ops->close(p);
}

/* A hash longer than a tag may be is cut to 64 characters. */
char *artifact_tag(const struct digest *subject, const char *suffix)
{
	char hex[DIGEST_HEX_MAX];

	return xasprintf("%s-%.64s%s", subject->algorithm == DIGEST_SHA512 ? "sha512" : "sha256",
			 digest_hex(subject, hex), suffix);
}

int artifact_get_tag(struct artifact_place *p, const char *tag, struct arena *arena,
		     struct strbuf *out, struct descriptor *desc, bool *out_there,
		     struct error *err)
{
	struct error failed = { 0 };

	*out_there = p->ops->get_manifest(p, tag, arena, out, desc, &failed) == 0;
	if (*out_there || failed.code == ERROR_NOT_FOUND)
		return 0;
	*err = failed;
	return -1;
}

/* Listing. */

static bool listed(const struct artifact_list *list, const struct digest *digest)
{
	for (size_t i = 0; i < list->len; i++) {
		if (digest_equal(&list->items[i].digest, digest))
			return true;
	}
	return false;
}

static int list_index(struct slice text, struct arena *arena, struct artifact_list *out,
		      struct error *err)
{
	struct index index = { 0 };

	if (index_parse(text, arena, &index, err) < 0)
		return -1;
	for (size_t i = 0; i < index.manifest_count; i++) {
		struct descriptor d = index.manifests[i];

		d.annotations = NULL;
		if (out->len == ARTIFACTS_MAX) {
			index_release(&index);
			return error_set(err, ERROR_LIMIT, "lists more than %d referrers",
					 ARTIFACTS_MAX);
		}
		if (!listed(out, &d.digest))
			vec_push(out, d);
	}
	index_release(&index);
	return 0;
}

static int list_tag(struct artifact_place *p, const struct digest *subject, struct arena *arena,
		    struct artifact_list *out, struct error *err)
{
	cleanup_free char *tag = artifact_tag(subject, "");
	cleanup_strbuf struct strbuf text = { 0 };
	struct descriptor desc;
	bool there;

	if (artifact_get_tag(p, tag, arena, &text, &desc, &there, err) < 0)
		return -1;
	if (there && list_index(strbuf_slice(&text), arena, out, err) < 0)
		return error_wrap(err, "list of referrers %.30s", tag);
	return 0;
}

int artifact_list(struct artifact_place *p, const struct digest *subject, struct arena *arena,
		  struct artifact_list *out, struct error *err)
{
	bool there = false;

	if (p->ops->list && p->ops->list(p, subject, arena, out, &there, err) < 0)
		return -1;
	return there ? 0 : list_tag(p, subject, arena, out, err);
}

/* Changing. */

static int read_document(struct artifact_place *p, const char *tag, struct strbuf *out,
			 struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct descriptor desc;
	bool there;

	strbuf_truncate(out, 0);
	return artifact_get_tag(p, tag, &arena, out, &desc, &there, err);
}

/*
 * Until those who read before we wrote have written: they are as slow as we were, and the machine
 * that all of us may be on is not even. Scattered, the more the longer it goes on, so that those
 * who met do not meet again.
 */
static void wait_for_others(const struct artifact_update *u)
{
	uint64_t pause = MIN(2 * u->took_ms, (uint64_t)PAUSE_MAX_MS), passed;
	uint8_t dice;

	key_random(&dice, sizeof(dice));
	pause = MAX(pause, (uint64_t)PAUSE_MS) * (512u + (uint64_t)dice * u->tries) / 512u;
	passed = clock_ms(CLOCK_MONOTONIC) - u->since_ms;
	if (passed < pause)
		http_sleep_ms(pause - passed);
}

/*
 * Make the new document and put it, unless another one came meanwhile: making it may take a while,
 * since blobs go first.
 */
static int update_once(struct artifact_place *p, struct artifact_update *u, struct slice old,
		       struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 }, now = { 0 };
	struct descriptor desc = { .media_type = u->media_type };
	uint64_t start;
	bool ignored;

	if (u->change(u->user, old, &text, err) < 0)
		return error_wrap(err, "%s", u->tag);
	start = clock_ms(CLOCK_MONOTONIC);
	if (read_document(p, u->tag, &now, err) < 0)
		return -1;
	if (!slice_equal(strbuf_slice(&now), old))
		return 0;
	desc.digest = digest_of(strbuf_slice(&text));
	desc.size = text.len;
	if (p->ops->put_manifest(p, u->tag, &desc, strbuf_slice(&text), &ignored, err) < 0)
		return -1;
	u->seen = desc.digest;
	u->took_ms = MAX(u->took_ms, clock_ms(CLOCK_MONOTONIC) - start);
	return 0;
}

/* Of two that put a tag at the same moment some registries refuse one, in words of their own. */
static int update_try(struct artifact_place *p, struct artifact_update *u, struct slice old,
		      struct error *err)
{
	struct error failed = { 0 };

	if (++u->tries > UPDATE_TRIES)
		return error_set(
			err, ERROR_NETWORK,
			"%s: others change it all the time, and ours was lost %d times; try "
			"again when they have ended",
			u->tag, UPDATE_TRIES);
	u->seen = (struct digest){ 0 };
	if (update_once(p, u, old, &failed) < 0 &&
	    (failed.code != ERROR_NETWORK || u->tries >= REFUSED_TRIES)) {
		*err = failed;
		return -1;
	}
	u->since_ms = clock_ms(CLOCK_MONOTONIC);
	return 0;
}

static int begin(struct artifact_place *p, struct artifact_update *u, struct error *err)
{
	cleanup_strbuf struct strbuf now = { 0 };

	if (read_document(p, u->tag, &now, err) < 0)
		return -1;
	u->pending = !u->done(u->user, strbuf_slice(&now));
	return u->pending ? update_try(p, u, strbuf_slice(&now), err) : 0;
}

int artifact_update_begin(struct artifact_place *p, struct artifact_update *u, struct error *err)
{
	int rc;

	if (!p->ops->hold)
		return begin(p, u, err);
	if (p->ops->hold(p, err) < 0)
		return -1;
	rc = begin(p, u, err);
	p->ops->release(p);
	u->pending = false; /* whoever comes next adds to it */
	return rc;
}

int artifact_update_settle(struct artifact_place *p, struct artifact_update *u, struct error *err)
{
	cleanup_strbuf struct strbuf now = { 0 };

	for (unsigned looks = 0; u->pending;) {
		struct digest seen;

		wait_for_others(u);
		if (read_document(p, u->tag, &now, err) < 0)
			return -1;
		if (!u->done(u->user, strbuf_slice(&now))) {
			if (update_try(p, u, strbuf_slice(&now), err) < 0)
				return -1;
			continue;
		}
		seen = digest_of(strbuf_slice(&now));
		u->pending = !digest_equal(&seen, &u->seen) && ++looks < LOOKS_MAX;
		u->seen = seen;
		u->since_ms = clock_ms(CLOCK_MONOTONIC);
	}
	return 0;
}

static int add_to_index(void *user, struct slice old, struct strbuf *out, struct error *err)
{
	const struct artifact_list *ours = user;
	cleanup_arena struct arena arena = { 0 };
	cleanup_index struct index index = { 0 };
	struct artifact_list all = { 0 };
	int rc = 0;

	if (old.len && index_parse(old, &arena, &index, err) < 0)
		return -1;
	for (size_t i = 0; i < index.manifest_count; i++)
		vec_push(&all, index.manifests[i]);
	for (size_t i = 0; i < ours->len; i++) {
		if (!listed(&all, &ours->items[i].digest))
			vec_push(&all, ours->items[i]);
	}
	if (all.len > ARTIFACTS_MAX)
		rc = error_set(err, ERROR_LIMIT, "would have %zu referrers; %d are allowed",
			       all.len, ARTIFACTS_MAX);
	else
		index_write(all.items, all.len, NULL, out);
	vec_release(&all);
	return rc;
}

static bool are_on_index(void *user, struct slice now)
{
	const struct artifact_list *ours = user;
	cleanup_arena struct arena arena = { 0 };
	struct artifact_list all = { 0 };
	struct error ignored = { 0 };
	bool there = now.len && list_index(now, &arena, &all, &ignored) == 0;

	for (size_t i = 0; there && i < ours->len; i++)
		there = listed(&all, &ours->items[i].digest);
	vec_release(&all);
	return there;
}

static struct artifact_update listing(const char *tag, struct artifact_list *ours)
{
	return (struct artifact_update){ .tag = tag,
					 .change = add_to_index,
					 .done = are_on_index,
					 .user = ours,
					 .media_type = MEDIATYPE_OCI_INDEX };
}

/* Those that lie there by digest, into the list under the subject's tag. */
static int put_on_list(struct artifact_place *p, const struct digest *subject,
		       struct artifact_list *ours, struct error *err)
{
	cleanup_free char *tag = artifact_tag(subject, "");
	struct artifact_update update = listing(tag, ours);

	if (artifact_update_begin(p, &update, err) < 0)
		return -1;
	return artifact_update_settle(p, &update, err);
}

/* By its digest; *out_listed: the place lists it by itself. */
static int put_by_digest(struct artifact_place *p, const struct descriptor *desc, struct slice text,
			 bool *out_listed, struct error *err)
{
	char name[DIGEST_TEXT_MAX];

	return p->ops->put_manifest(p, digest_text(&desc->digest, name), desc, text, out_listed,
				    err);
}

void artifact_attaching_release(struct artifact_attaching *a)
{
	free(a->tag);
}

int artifact_attach_manifest(struct artifact_place *p, const struct digest *subject,
			     const struct descriptor *desc, struct slice text, struct error *err)
{
	struct descriptor one = *desc;
	struct artifact_list ours = { .items = &one, .len = 1 };
	bool there;

	if (put_by_digest(p, desc, text, &there, err) < 0)
		return -1;
	return there ? 0 : put_on_list(p, subject, &ours, err);
}

/* Attaching. */

static struct descriptor describe(const char *media_type, struct slice bytes)
{
	return (struct descriptor){ .media_type = media_type,
				    .digest = digest_of(bytes),
				    .size = bytes.len };
}

/* Subject, type and annotations, with the empty configuration and one blob. */
static void write_manifest(const struct artifact *a, const struct descriptor *config,
			   const struct descriptor *blob, struct strbuf *out)
{
	cleanup_json json_t *json = json_object();
	json_t *layers = json_array();
	struct descriptor subject = { .media_type = a->subject->media_type,
				      .digest = a->subject->digest,
				      .size = a->subject->size };

	json_push(layers, descriptor_json(blob));
	json_put(json, "schemaVersion", json_integer(2));
	json_put(json, "mediaType", json_text(MEDIATYPE_OCI_MANIFEST));
	json_put(json, "artifactType", json_text(a->type));
	json_put(json, "config", descriptor_json(config));
	json_put(json, "layers", layers);
	json_put(json, "subject", descriptor_json(&subject));
	if (a->annotations && json_object_size(a->annotations))
		json_put(json, "annotations", json_deep_copy(a->annotations));
	json_canonical(json, out);
}

int artifact_attach_begin(struct artifact_place *p, const struct artifact *a,
			  struct artifact_attaching *out, struct error *err)
{
	struct descriptor config = describe(MEDIATYPE_OCI_EMPTY, slice_str(empty));
	struct descriptor blob = describe(a->type, a->bytes);
	cleanup_strbuf struct strbuf text = { 0 };
	bool there;

	if (a->bytes.len > ARTIFACT_BYTES_MAX)
		return error_set(err, ERROR_LIMIT, "%s: %zu bytes; %d are allowed", a->type,
				 a->bytes.len, ARTIFACT_BYTES_MAX);
	write_manifest(a, &config, &blob, &text);
	out->manifest = describe(MEDIATYPE_OCI_MANIFEST, strbuf_slice(&text));
	out->manifest.artifact_type = a->type;
	out->manifest.annotations = a->annotations;
	if (p->ops->put_blob(p, &config, slice_str(empty), err) < 0 ||
	    p->ops->put_blob(p, &blob, a->bytes, err) < 0 ||
	    put_by_digest(p, &out->manifest, strbuf_slice(&text), &there, err) < 0)
		return -1;
	out->ours = (struct artifact_list){ .items = &out->manifest, .len = 1 };
	out->tag = artifact_tag(&a->subject->digest, "");
	out->update = listing(out->tag, &out->ours);
	return there ? 0 : artifact_update_begin(p, &out->update, err);
}

int artifact_attach(struct artifact_place *p, const struct artifact *a, struct error *err)
{
	cleanup_artifact_attaching struct artifact_attaching attaching = { 0 };

	if (artifact_attach_begin(p, a, &attaching, err) < 0)
		return -1;
	return artifact_update_settle(p, &attaching.update, err);
}

/* Copying. */

struct copying {
	struct artifact_place *from, *to;
	size_t count;
};

static int copy_blob(struct copying *c, const struct descriptor *desc, struct error *err)
{
	cleanup_strbuf struct strbuf bytes = { 0 };

	if (c->from->ops->get_blob(c->from, desc, &bytes, err) < 0)
		return -1;
	return c->to->ops->put_blob(c->to, desc, strbuf_slice(&bytes), err);
}

static int copy_blobs(struct copying *c, const struct manifest *m, struct error *err)
{
	if (copy_blob(c, &m->config, err) < 0)
		return -1;
	for (size_t i = 0; i < m->layer_count; i++) {
		if (copy_blob(c, &m->layers[i], err) < 0)
			return -1;
	}
	return 0;
}

/* What the document says of itself, for the list: artifactType, else its configuration's type. */
static void describe_itself(const struct manifest *m, struct arena *arena, struct descriptor *desc)
{
	const char *type = json_string_value(json_object_get(m->json, "artifactType"));
	const json_t *annotations = json_object_get(m->json, "annotations");

	desc->media_type = m->media_type;
	desc->artifact_type = arena_strdup(arena, type ? type : m->config.media_type);
	desc->annotations = json_is_object(annotations) ? annotations : NULL;
}

static int copy_all(struct copying *c, const struct digest *subject, unsigned depth,
		    struct error *err);

/* What a place has that it does not list by itself, and the documents whose annotations are told.
 */
struct unlisted {
	struct arena arena;
	struct artifact_list list;
	json_t *documents;
};

static void unlisted_release(struct unlisted *u)
{
	vec_release(&u->list);
	json_decref(u->documents);
	arena_release(&u->arena);
}

static int copy_referrer(struct copying *c, const struct descriptor *desc, unsigned depth,
			 struct unlisted *unlisted, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_manifest struct manifest m = { 0 };
	char name[DIGEST_TEXT_MAX];
	struct descriptor got;
	bool there;

	if (c->from->ops->get_manifest(c->from, digest_text(&desc->digest, name), &unlisted->arena,
				       &text, &got, err) < 0 ||
	    manifest_parse(strbuf_slice(&text), &unlisted->arena, &m, err) < 0 ||
	    copy_blobs(c, &m, err) < 0)
		return error_wrap(err, "referrer %.19s", name);
	describe_itself(&m, &unlisted->arena, &got);
	if (put_by_digest(c->to, &got, strbuf_slice(&text), &there, err) < 0)
		return error_wrap(err, "referrer %.19s", name);
	c->count++;
	if (!there) {
		json_push(unlisted->documents, json_incref(m.json));
		vec_push(&unlisted->list, got);
	}
	return copy_all(c, &desc->digest, depth + 1, err);
}

/* As it is, if nothing is there yet; signatures that are there stay. */
static int put_tag(struct copying *c, const char *tag, const struct manifest *m,
		   const struct descriptor *desc, struct slice text, struct error *err)
{
	cleanup_strbuf struct strbuf old = { 0 };
	bool ignored;

	if (read_document(c->to, tag, &old, err) < 0)
		return -1;
	if (old.len)
		return cosign_tag_add(c->to, tag, m->layers, m->layer_count, err);
	return c->to->ops->put_manifest(c->to, tag, desc, text, &ignored, err);
}

static int copy_tag(struct copying *c, const struct digest *subject, const char *suffix,
		    struct error *err)
{
	cleanup_free char *tag = artifact_tag(subject, suffix);
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_manifest struct manifest m = { 0 };
	struct descriptor desc;
	bool there;

	if (artifact_get_tag(c->from, tag, &arena, &text, &desc, &there, err) < 0)
		return -1;
	if (!there)
		return 0;
	if (manifest_parse(strbuf_slice(&text), &arena, &m, err) < 0 ||
	    copy_blobs(c, &m, err) < 0 || put_tag(c, tag, &m, &desc, strbuf_slice(&text), err) < 0)
		return error_wrap(err, "%.80s", tag);
	c->count++;
	return 0;
}

static int copy_all(struct copying *c, const struct digest *subject, unsigned depth,
		    struct error *err)
{
	static const char *const suffixes[] = { ".sig", ".att", ".sbom" };
	cleanup_arena struct arena arena = { 0 };
	cleanup(unlisted_release) struct unlisted unlisted = { .documents = json_array() };
	struct artifact_list list = { 0 };
	int rc;

	if (depth > COPY_DEPTH_MAX)
		return error_set(err, ERROR_LIMIT,
				 "referrers refer to each other more than %d deep", COPY_DEPTH_MAX);
	rc = artifact_list(c->from, subject, &arena, &list, err);
	for (size_t i = 0; rc == 0 && i < list.len; i++)
		rc = copy_referrer(c, &list.items[i], depth, &unlisted, err);
	if (rc == 0 && unlisted.list.len)
		rc = put_on_list(c->to, subject, &unlisted.list, err);
	vec_release(&list);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(suffixes); i++)
		rc = copy_tag(c, subject, suffixes[i], err);
	return rc;
}

int artifact_copy(struct artifact_place *from, struct artifact_place *to,
		  const struct digest *subject, size_t *out_count, struct error *err)
{
	struct copying c = { from, to, 0 };
	int rc = copy_all(&c, subject, 0, err);

	if (out_count)
		*out_count = c.count;
	return rc;
}
