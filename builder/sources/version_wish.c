#include "builder/sources/package_source.h"
#include "manifests/dotted.h"

struct slice version_upstream(struct slice version)
{
	struct slice rest = version, epoch;

	if (slice_cut(&rest, ':', &epoch) && rest.data)
		version = rest;
	for (size_t i = version.len; i-- > 0;) {
		if (version.data[i] == '-')
			return slice_of(version.data, i);
	}
	return version;
}

/* Agreeing in every number of the wish: "12.6.4.1" is "12.6.4", and not "12.6.40". */
static bool is_very(struct slice upstream, const char *wanted)
{
	size_t n = strlen(wanted);

	return upstream.len >= n && memcmp(upstream.data, wanted, n) == 0 &&
	       (upstream.len == n || upstream.data[n] == '.');
}

int version_meets(struct slice version, const struct version_wish *wish)
{
	struct slice upstream = version_upstream(version);
	cleanup_free char *text = xstrndup((const char *)upstream.data, upstream.len);

	if (wish->same)
		return slice_is(version, wish->same) ? 2 : 0;
	if (wish->version && is_very(upstream, wish->version))
		return 2;
	if (wish->version && wish->exact)
		return 0;
	return dotted_in(text, wish->range) ? 1 : 0;
}
