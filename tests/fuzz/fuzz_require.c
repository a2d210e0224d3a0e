/*
 * Requirement expressions of the container tools. Properties: the same answer twice, and an
 * alternative put in front that holds makes every expression hold.
 */
#include "base/alloc.h"
#include "manifests/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct require_host host = { "12.2", "535.183.06", "9.0", "tesla" };
	cleanup_free char *text = xstrndup((const char *)data, len);
	cleanup_free char *open = xasprintf("cuda>=0 %s", text);
	struct error err = { 0 };
	bool first = false, second = false;
	int rc = require_holds(text, &host, &first, &err);

	if (require_holds(text, &host, &second, &err) != rc || first != second)
		abort();
	if (require_holds(open, &host, &first, &err) < 0 || !first)
		abort();
	return 0;
}
