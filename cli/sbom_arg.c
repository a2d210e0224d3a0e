#include "cli/sbom_arg.h"

#include "lint/facts_sbom.h"

int sbom_arg_kind(const char *option, const char *name, enum attachment *out, struct error *err)
{
	for (int i = 0; i < ATTACHMENT_COUNT; i++) {
		if (str_equal(attachment_name((enum attachment)i), name)) {
			*out = (enum attachment)i;
			return 0;
		}
	}
	return error_set(err, ERROR_USAGE,
			 "--%s: '%s' is none of spdx, cyclonedx, provenance, files", option, name);
}

static const char *platform_of(const struct image *image, struct arena *arena)
{
	const struct platform *p = &image->config.platform;

	if (image->rootfs || !p->os)
		return "";
	return arena_printf(arena, "%s/%s", p->os, p->architecture);
}

int sbom_arg_scan(struct image *image, enum attachment kind, struct strbuf *out, struct error *err)
{
	static const struct target nowhere = { 0 };
	cleanup_facts struct facts facts = { .hash_files = true };
	cleanup_sbom struct sbom sbom = { 0 };

	if (kind != ATTACHMENT_SPDX && kind != ATTACHMENT_CYCLONEDX)
		return error_set(err, ERROR_NOT_FOUND,
				 "%s: was not built with this store, and only its build knows its "
				 "%s",
				 image->name, attachment_name(kind));
	if (facts_read(&facts, image, &nowhere, err) < 0 || facts_sbom(&facts, &sbom, err) < 0)
		return -1;
	if (facts.unreadable)
		return error_set(err, ERROR_INTEGRITY, "%s could not be read completely: %s",
				 image->name, facts.unreadable_text);
	sbom.name = image->name;
	sbom.tag = "";
	sbom.platform = platform_of(image, &sbom.arena);
	sbom.created = image->config.created ? image->config.created : "1980-01-01T00:00:00Z";
	sbom.has_manifest = !image->rootfs;
	sbom.manifest =
		image->rootfs ? digest_of(slice_str(image->name)) : image->descriptor.digest;
	(kind == ATTACHMENT_SPDX ? sbom_write_spdx : sbom_write_cyclonedx)(&sbom, out);
	return 0;
}

bool sbom_arg_recall(const struct invocation *in, const struct image *image, enum attachment kind,
		     struct strbuf *out)
{
	cleanup_store struct store *store = NULL;
	struct error ignored = { 0 };

	if (image->rootfs)
		return false;
	store = store_open(option_text(in, "store", NULL), &ignored);
	return store &&
	       attachments_read(store, &image->descriptor.digest, kind, out, &ignored) == 0;
}
