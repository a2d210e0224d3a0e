/*
 * redistrib_*.json of a hostile server. Property: what parses has paths that stay below their
 * folder and need no quoting in an address, sizes above 0, and gives for each of its archives a
 * choice that is one of its own.
 */
#include "builder/sources/redist_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_file(const struct redist_component *c, const struct redist_file *f)
{
	const struct redist_file *chosen = NULL;
	struct error err = { 0 };
	struct slice rest = slice_str(f->path), part;

	if (!f->size || strpbrk(f->path, " \\:?#%\"<>"))
		abort();
	while (slice_cut(&rest, '/', &part)) {
		if (!part.len || slice_is(part, ".") || slice_is(part, ".."))
			abort();
	}
	if (redist_json_choose(c, f->platform, "13.0", &chosen, &err) == 0 &&
	    (chosen < c->files || chosen >= c->files + c->count))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	struct redist_manifest m = { 0 };
	struct error err = { 0 };

	if (redist_json_parse(slice_of(data, len), "input", &arena, &m, &err) < 0)
		return 0;
	for (size_t i = 0; i < m.count; i++) {
		if (!redist_json_find(&m, m.items[i].key))
			abort();
		for (size_t k = 0; k < m.items[i].count; k++)
			check_file(&m.items[i], &m.items[i].files[k]);
	}
	return 0;
}
