#include "cli/push_extras.h"

#include "builder/attachments.h"
#include "cli/artifact_arg.h"
#include "oci/mediatype.h"

struct key *push_extras_key(const struct invocation *in, struct error *err)
{
	const char *file = option_text(in, "sign", NULL);

	return file ? key_arg_private(in, file, err) : NULL;
}

/* Signing and attaching. */

/* Whether the store knows what was said of one of the images. */
static bool is_known(struct image_source *source, struct store *store)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_index struct index index = { 0 };
	struct attachments found;
	struct error ignored = { 0 };
	struct descriptor root;

	if (source->ops->root(source, &text, &root, &ignored) < 0)
		return false;
	if (attachments_find(store, &root.digest, &found))
		return true;
	if (index_parse(strbuf_slice(&text), &arena, &index, &ignored) < 0)
		return false;
	for (size_t i = 0; i < index.manifest_count; i++) {
		if (attachments_find(store, &index.manifests[i].digest, &found))
			return true;
	}
	return false;
}

struct putting {
	const struct invocation *in;
	struct registry_arg *registry;
	struct store *store; /* NULL: nothing is to be attached */
	const struct key *key;
	struct sign_outcome *out;
};

/* Signed under each name, since the name is part of cosign's form; attached once. */
static int put_beside(struct putting *p, const struct reference *to, bool first,
		      const struct digest *root, struct error *err)
{
	cleanup_artifact_arg struct artifact_arg image = { 0 };
	struct signature_request request;

	if (artifact_arg_open_digest(to, root, CLIENT_PUSH, &p->registry->client, &image, err) < 0)
		return -1;
	request = sign_arg_request(p->in, &image, p->key);
	if (first && p->store && sign_arg_attach(&image, &request, p->store, p->out, err) < 0)
		return -1;
	if (!p->key)
		return 0;
	return sign_arg_sign(&image, &request, option_given(p->in, "recursive"), p->out, err);
}

static int put_everywhere(struct putting *p, const struct reference *to, size_t count,
			  const struct digest *root, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		bool first = true;

		for (size_t k = 0; k < i; k++)
			first &= !reference_same_repository(&to[k], &to[i]);
		if ((first || p->key) && put_beside(p, &to[i], first, root, err) < 0)
			return -1;
	}
	return 0;
}

int push_extras_put(const struct invocation *in, struct registry_arg *registry,
		    struct image_source *source, const struct reference *destinations, size_t count,
		    const struct digest *root, const struct key *key, struct sign_outcome *out,
		    struct error *err)
{
	cleanup_store struct store *store = NULL;
	struct sign_outcome outcome = { 0 };
	struct error failed = { 0 };
	struct putting p = {
		.in = in, .registry = registry, .key = key, .out = out ? out : &outcome
	};

	if (!option_given(in, "no-attach"))
		store = store_open(option_text(in, "store", NULL), &failed);
	if (store && is_known(source, store))
		p.store = store;
	if (!p.store && !key)
		return 0;
	if (put_everywhere(&p, destinations, count, root, &failed) < 0) {
		if (key) {
			*err = failed;
			return -1;
		}
		out_warn(in->out,
			 "the image is there; its SBOMs and provenance could not be attached: %s",
			 failed.text);
		return 0;
	}
	if (key)
		out_note(in->out, "%u signatures and attestations made, %u were there", p.out->made,
			 p.out->there);
	else if (p.out->attached)
		out_note(in->out, "%zu documents attached (SBOMs, provenance)", p.out->attached);
	return 0;
}

/* Copying. */

static struct artifact_place *open_from(const struct image_name *from,
					const struct client_options *client, struct error *err)
{
	if (from->transport == TRANSPORT_DOCKER)
		return artifact_arg_place(&from->ref, CLIENT_PULL, client, err);
	if (from->transport == TRANSPORT_OCI)
		return artifact_layout(layout_open(from->path, err));
	error_set(err, ERROR_USAGE,
		  "'%s': --with-referrers reads registries and layouts; archives hold no more than "
		  "their image",
		  from->text);
	return NULL;
}

static int copy_subject(struct artifact_place *from, struct artifact_place *to,
			const struct digest *subject, size_t *count, struct error *err)
{
	size_t copied;

	if (artifact_copy(from, to, subject, &copied, err) < 0)
		return -1;
	*count += copied;
	return 0;
}

/* Of the root and, when it is an index, of each of its images. */
static int copy_all(struct artifact_place *from, struct artifact_place *to,
		    const struct digest *root, size_t *count, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_index struct index index = { 0 };
	struct error ignored = { 0 };
	struct descriptor desc;
	char name[DIGEST_TEXT_MAX];

	if (to->ops->get_manifest(to, digest_text(root, name), &arena, &text, &desc, err) < 0 ||
	    copy_subject(from, to, root, count, err) < 0)
		return -1;
	if (index_parse(strbuf_slice(&text), &arena, &index, &ignored) < 0)
		return 0; /* an image alone */
	for (size_t i = 0; i < index.manifest_count; i++) {
		if (copy_subject(from, to, &index.manifests[i].digest, count, err) < 0)
			return -1;
	}
	return 0;
}

int push_extras_copy(const struct invocation *in, struct registry_arg *registry,
		     const struct image_name *from, const struct reference *to, const char *layout,
		     const struct digest *root, struct error *err)
{
	cleanup_artifact_place struct artifact_place *source = NULL, *destination = NULL;
	size_t count = 0;

	source = open_from(from, &registry->client, err);
	if (source)
		destination = to ? artifact_arg_place(to, CLIENT_PUSH, &registry->client, err)
				 : artifact_layout(layout_create(layout, err));
	if (!destination || copy_all(source, destination, root, &count, err) < 0)
		return error_wrap(err, "referrers");
	out_note(in->out, "%zu attached documents copied", count);
	return 0;
}
