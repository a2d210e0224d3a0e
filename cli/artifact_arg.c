#include "cli/artifact_arg.h"

#include "oci/layout.h"
#include "oci/mediatype.h"

void artifact_arg_release(struct artifact_arg *a)
{
	artifact_place_close(a->place);
	strbuf_release(&a->text);
	arena_release(&a->arena);
	*a = (struct artifact_arg){ 0 };
}

/* What the document says it is, else what it came as. */
static int settle_type(struct artifact_arg *a, struct error *err)
{
	cleanup_json json_t *json = NULL;
	const struct mediatype *type;
	const char *said;

	if (json_parse(strbuf_slice(&a->text), &json, err) < 0)
		return -1;
	said = json_string_value(json_object_get(json, "mediaType"));
	if (said)
		a->subject.media_type = arena_strdup(&a->arena, said);
	type = mediatype_find(a->subject.media_type);
	if (!type || (type->kind != MEDIA_INDEX && type->kind != MEDIA_MANIFEST))
		a->subject.media_type = json_object_get(json, "manifests") ? MEDIATYPE_OCI_INDEX
									   : MEDIATYPE_OCI_MANIFEST;
	a->subject.annotations = NULL;
	a->subject.artifact_type = NULL;
	return 0;
}

static int read_subject(struct artifact_arg *a, const char *name, const char *where,
			struct error *err)
{
	char digest[DIGEST_TEXT_MAX];

	if (a->place->ops->get_manifest(a->place, name, &a->arena, &a->text, &a->subject, err) <
		    0 ||
	    settle_type(a, err) < 0)
		return -1;
	a->name = arena_printf(&a->arena, "%s@%s", where, digest_text(&a->subject.digest, digest));
	return 0;
}

struct artifact_place *artifact_arg_place(const struct reference *ref, enum client_access access,
					  const struct client_options *client, struct error *err)
{
	return artifact_registry(
		client_repository_open(ref->registry, ref->repository, access, client, err));
}

static int open_registry(const struct reference *ref, const char *name, enum client_access access,
			 const struct client_options *client, struct artifact_arg *out,
			 struct error *err)
{
	out->reference = arena_printf(&out->arena, "%s/%s%s%s", ref->registry, ref->repository,
				      ref->tag ? ":" : "", ref->tag ? ref->tag : "");
	out->place = artifact_arg_place(ref, access, client, err);
	return out->place ? read_subject(out, name, out->reference, err) : -1;
}

int artifact_arg_open_digest(const struct reference *ref, const struct digest *digest,
			     enum client_access access, const struct client_options *client,
			     struct artifact_arg *out, struct error *err)
{
	char name[DIGEST_TEXT_MAX];

	return open_registry(ref, digest_text(digest, name), access, client, out, err);
}

static int open_layout(const struct image_name *name, struct artifact_arg *out, struct error *err)
{
	struct layout *layout = layout_open(name->path, err);
	struct descriptor desc;
	char digest[DIGEST_TEXT_MAX];

	out->place = artifact_layout(layout);
	if (!out->place)
		return -1;
	if (layout_resolve(layout, name->tag, &out->arena, &desc, err) < 0 ||
	    read_subject(out, digest_text(&desc.digest, digest), name->text, err) < 0)
		return -1;
	return 0;
}

int artifact_arg_open(const char *text, enum client_access access,
		      const struct client_options *client, struct artifact_arg *out,
		      struct error *err)
{
	char digest[DIGEST_TEXT_MAX];
	struct image_name name;

	if (image_name_parse(text, &out->arena, &name, err) < 0)
		return -1;
	if (name.transport == TRANSPORT_DOCKER)
		return open_registry(&name.ref,
				     name.ref.has_digest ? digest_text(&name.ref.digest, digest)
							 : name.ref.tag,
				     access, client, out, err);
	if (name.transport == TRANSPORT_OCI)
		return open_layout(&name, out, err);
	return error_set(err, ERROR_USAGE,
			 "'%s': signatures lie beside images of registries (docker://…) and of "
			 "layouts (oci:…)",
			 text);
}

int artifact_arg_images(struct artifact_arg *a, struct artifact_list *out, struct error *err)
{
	const struct mediatype *type = mediatype_find(a->subject.media_type);
	struct index index = { 0 };

	if (!type || type->kind != MEDIA_INDEX) {
		vec_push(out, a->subject);
		return 0;
	}
	if (index_parse(strbuf_slice(&a->text), &a->arena, &index, err) < 0)
		return error_wrap(err, "%s", a->name);
	for (size_t i = 0; i < index.manifest_count; i++) {
		struct descriptor d = index.manifests[i];

		d.annotations = NULL;
		if (!d.platform.os || !str_equal(d.platform.os, "unknown"))
			vec_push(out, d);
	}
	index_release(&index);
	return 0;
}

int artifact_arg_annotations(const struct invocation *in, json_t **out, struct error *err)
{
	const char *text;

	*out = NULL;
	for (size_t n = 0; (text = option_nth(in, "annotation", n)); n++) {
		const char *equal = strchr(text, '=');
		cleanup_free char *key = equal ? xstrndup(text, (size_t)(equal - text)) : NULL;

		if (!key || !*key) {
			json_decref(*out);
			*out = NULL;
			return error_set(err, ERROR_USAGE, "--annotation '%s': write KEY=VALUE",
					 text);
		}
		if (!*out)
			*out = json_object();
		json_put(*out, key, json_text(equal + 1));
	}
	return 0;
}
