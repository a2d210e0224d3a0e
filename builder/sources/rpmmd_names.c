#include "builder/sources/rpmmd.h"

/* "12.6" */
static bool read_cuda(struct slice text, uint64_t *out_major, uint64_t *out_minor)
{
	struct slice major;

	return slice_cut(&text, '.', &major) && slice_u64(major, out_major) &&
	       slice_cut(&text, '.', &major) && slice_u64(major, out_minor);
}

/* After "+cuda" or ".cuda": "12.4"; NULL where it is not said. */
static const char *cuda_mark(const char *evr)
{
	for (const char *at = evr; (at = strstr(at, "cuda")) != NULL; at += strlen("cuda")) {
		const char *after = at + strlen("cuda");

		if (at > evr && (at[-1] == '+' || at[-1] == '.') && *after >= '0' && *after <= '9')
			return after;
	}
	return NULL;
}

bool rpmmd_names_cuda(const char *evr)
{
	return cuda_mark(evr) != NULL;
}

bool rpmmd_fits_cuda(const char *evr, const char *cuda)
{
	const char *mark = cuda_mark(evr);
	uint64_t built_major, built_minor, major, minor;
	size_t len;

	if (!mark || !cuda || !read_cuda(slice_str(cuda), &major, &minor))
		return true;
	len = strspn(mark, "0123456789.");
	if (!read_cuda(slice_of(mark, len), &built_major, &built_minor))
		return true;
	return built_major == major && built_minor <= minor;
}

bool rpmmd_is_path(const char *path)
{
	return rpmmd_is_word(path) && *path != '/' && !strchr(path, ':') &&
	       !slice_has_part(slice_str(path), "..");
}

bool rpmmd_is_word(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text <= ' ' || *text >= 0x7f)
			return false;
	}
	return true;
}
