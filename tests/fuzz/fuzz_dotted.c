/*
 * Version ranges of manifests and tables. Properties: the order is antisymmetric, and a version
 * lies in the range that names it alone.
 */
#include "base/alloc.h"
#include "manifests/dotted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_free char *text = xstrndup((const char *)data, len);
	char *line = strchr(text, '\n');
	const char *range = "";
	struct error err = { 0 };

	if (line) {
		*line = 0;
		range = line + 1;
	}
	if (dotted_order(text, range) != -dotted_order(range, text) ||
	    dotted_order(text, text) != 0)
		abort();
	if (dotted_is(slice_str(text)) && !dotted_in(text, text))
		abort();
	if (dotted_range_check(range, &err) == 0)
		(void)dotted_in(text, range);
	return 0;
}
