/*
 * Manifest, index and configuration from hostile bytes. What parses, prints to something that
 * parses and prints to the same.
 */
#include "base/alloc.h"
#include "oci/config.h"
#include "oci/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require_equal(const struct strbuf *a, const struct strbuf *b)
{
	if (!slice_equal(strbuf_slice(a), strbuf_slice(b)))
		abort();
}

static bool print_manifest(struct slice text, struct strbuf *out)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_manifest struct manifest m = { 0 };
	struct error err = { 0 };

	if (manifest_parse(text, &arena, &m, &err) < 0) {
		if (err.code != ERROR_FORMAT)
			abort();
		return false;
	}
	manifest_write(&m.config, m.layers, m.layer_count, json_object_get(m.json, "annotations"),
		       out);
	return true;
}

static bool print_index(struct slice text, struct strbuf *out)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_index struct index i = { 0 };
	struct error err = { 0 };

	if (index_parse(text, &arena, &i, &err) < 0) {
		if (err.code != ERROR_FORMAT)
			abort();
		return false;
	}
	index_write(i.manifests, i.manifest_count, json_object_get(i.json, "annotations"), out);
	return true;
}

static bool print_config(struct slice text, struct strbuf *out)
{
	cleanup_arena struct arena arena = { 0 };
	struct image_config c;
	struct error err = { 0 };

	if (config_parse(text, &arena, &c, &err) < 0) {
		if (err.code != ERROR_FORMAT)
			abort();
		return false;
	}
	config_write(&c, out);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static bool (*const printers[])(
		struct slice, struct strbuf *) = { print_manifest, print_index, print_config };

	for (size_t i = 0; i < ARRAY_LEN(printers); i++) {
		cleanup_strbuf struct strbuf once = { 0 }, twice = { 0 };

		if (!printers[i](slice_of(data, len), &once))
			continue;
		/* Annotations at the top may be of any kind on the way in. */
		if (!printers[i](strbuf_slice(&once), &twice))
			abort();
		require_equal(&once, &twice);
	}
	return 0;
}
