/*
 * Requirements files. Property: what is accepted is accepted again with a comment and an empty
 * line before it, and asks for the same.
 */
#include "base/strbuf.h"
#include "base/vec.h"
#include "builder/sources/requirements.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct requirements first = { 0 }, second = { 0 };
	struct error err = { 0 };

	if (requirements_parse(slice_of(data, len), "f", &arena, &first, &err) == 0) {
		strbuf_adds(&text, "# comment\n\n");
		strbuf_add(&text, data, len);
		if (requirements_parse(strbuf_slice(&text), "f", &arena, &second, &err) < 0 ||
		    first.hashes != second.hashes || first.nested.len != second.nested.len)
			abort();
	}
	vec_release(&first.nested);
	vec_release(&second.nested);
	return 0;
}
