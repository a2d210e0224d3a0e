#include "builder/describe.h"

int describe_tree(const struct assembly *a, struct assembled *tree, struct description *out,
		  struct error *err)
{
	cleanup_store_put struct store_pending pending = { 0 };

	if (image_sbom_make(a, tree, &out->sbom, err) < 0 ||
	    store_put_open(a->store, &pending, err) < 0 ||
	    image_sbom_write_files(tree, pending.sink, err) < 0)
		return -1;
	return store_put_commit(&pending, NULL, UINT64_MAX,
				&out->attachments.items[ATTACHMENT_FILES].digest,
				&out->attachments.items[ATTACHMENT_FILES].size, err);
}

static int put(struct store *store, struct attachments *attachments, enum attachment which,
	       struct slice text, struct error *err)
{
	attachments->items[which].size = text.len;
	return store_put_bytes(store, text, &attachments->items[which].digest, err);
}

int describe_image(struct store *store, struct description *d, struct provenance_request *request,
		   const struct digest *key, struct error *err)
{
	cleanup_strbuf struct strbuf spdx = { 0 }, cyclonedx = { 0 }, provenance = { 0 };
	struct provenance_byproduct byproducts[3];
	struct sbom *s = &d->sbom;

	s->name = request->stack->name;
	s->tag = request->stack->tag;
	s->created = request->created;
	s->manifest = request->image;
	s->has_manifest = true;
	sbom_write_spdx(s, &spdx);
	sbom_write_cyclonedx(s, &cyclonedx);
	if (put(store, &d->attachments, ATTACHMENT_SPDX, strbuf_slice(&spdx), err) < 0 ||
	    put(store, &d->attachments, ATTACHMENT_CYCLONEDX, strbuf_slice(&cyclonedx), err) < 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		enum attachment which = i < 2 ? (enum attachment)i : ATTACHMENT_FILES;

		byproducts[i] = (struct provenance_byproduct){ attachment_name(which),
							       d->attachments.items[which].digest };
	}
	request->byproducts = byproducts;
	request->byproduct_count = ARRAY_LEN(byproducts);
	provenance_write(request, &provenance);
	if (put(store, &d->attachments, ATTACHMENT_PROVENANCE, strbuf_slice(&provenance), err) <
		    0 ||
	    attachments_keep(store, key, &d->attachments, err) < 0)
		return -1;
	return attachments_keep(store, &request->image, &d->attachments, err);
}
