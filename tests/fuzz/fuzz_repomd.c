/*
 * repomd.xml, as libsolv and expat read it for us. Property: every file that is believed lies below
 * the repository, and has a strong digest and a size.
 */
#include "builder/sources/rpmmd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct rpmmd_file *file)
{
	if (!file->location)
		return;
	if (!*file->location || *file->location == '/' || strchr(file->location, ':') ||
	    slice_has_part(slice_str(file->location), "..") || !file->size)
		abort();
	if (file->digest.algorithm != DIGEST_SHA256 && file->digest.algorithm != DIGEST_SHA512)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	struct rpmmd_index index;
	struct error err = { 0 };

	if (rpmmd_index_parse(slice_of(data, len), "f", &arena, &index, &err) < 0)
		return 0;
	if (!index.primary.location || index.date < 0)
		abort();
	check(&index.primary);
	check(&index.filelists);
	return 0;
}
