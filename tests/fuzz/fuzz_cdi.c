/* CDI specifications. Property: adding a specification's edits twice to nothing changes no node. */
#include "formats/cdi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "x.yaml", "x.json" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_cdi_spec struct cdi_spec spec = { 0 };
		struct cdi_edits edits = { 0 };
		struct error err = { 0 };
		size_t nodes;

		if (cdi_parse(slice_of(data, size), names[i], &arena, &spec, &err) < 0)
			continue;
		cdi_edits_add(&edits, &spec.edits);
		nodes = edits.nodes.len;
		cdi_edits_add(&edits, &spec.edits);
		cdi_edits_sort(&edits);
		if (edits.nodes.len != nodes)
			abort();
		cdi_edits_release(&edits);
	}
	return 0;
}
