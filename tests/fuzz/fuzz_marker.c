/*
 * Dependency specifiers and their markers, of hostile metadata. Property: a marker that can be
 * judged has the same value in brackets, twice with "or".
 */
#include "base/strbuf.h"
#include "formats/marker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_marker(struct slice marker)
{
	static const struct marker_environment e = { "3.11", "3.11.2", "x86_64", " main dev " };
	cleanup_strbuf struct strbuf twice = { 0 };
	struct error err = { 0 };
	bool once, again;

	if (marker_evaluate(marker, &e, "x", &once, &err) < 0 || !slice_trim(marker).len)
		return;
	strbuf_addc(&twice, '(');
	strbuf_add(&twice, marker.data, marker.len);
	strbuf_adds(&twice, ") or (");
	strbuf_add(&twice, marker.data, marker.len);
	strbuf_addc(&twice, ')');
	if (marker_evaluate(strbuf_slice(&twice), &e, "x", &again, &err) < 0) {
		if (err.code != ERROR_LIMIT) /* one bracket deeper */
			abort();
		return;
	}
	if (once != again)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	struct slice text = slice_of(data, len);
	struct error err = { 0 };
	struct requirement r;

	check_marker(text);
	if (requirement_parse(text, &arena, &r, &err) == 0)
		check_marker(r.marker);
	return 0;
}
