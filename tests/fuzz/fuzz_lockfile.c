/* What parses prints, and parses to the same again. */
#include "manifests/lockfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_lockfile struct lockfile first = { 0 };
	cleanup_lockfile struct lockfile second = { 0 };
	cleanup_strbuf struct strbuf once = { 0 };
	cleanup_strbuf struct strbuf twice = { 0 };
	struct error err = { 0 };

	if (len > MIB || lockfile_parse(slice_of(data, len), "f", &first, &err) < 0)
		return 0;
	lockfile_write(&first, &once);
	if (lockfile_parse(strbuf_slice(&once), "f", &second, &err) < 0)
		abort();
	lockfile_write(&second, &twice);
	assert(slice_equal(strbuf_slice(&once), strbuf_slice(&twice)));
	return 0;
}
