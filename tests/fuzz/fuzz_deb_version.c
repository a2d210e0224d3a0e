/*
 * Versions and relations of packages. Properties: the order is antisymmetric, equal versions match
 * themselves, and a relation's parts lie within its text.
 */
#include "builder/sources/deb_relation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int sign(int order)
{
	return order < 0 ? -1 : order > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct slice rest = slice_of(data, len), a = { 0 }, b, group;
	struct deb_relation r;
	int rc;

	if (slice_cut(&rest, '\n', &a)) {
		b = rest;
		if (sign(deb_version_compare(a, b)) != -sign(deb_version_compare(b, a)))
			abort();
		if (deb_version_compare(a, a) != 0 || (a.len < 200 && !deb_version_matches(a, a)))
			abort();
		if (deb_version_valid(a) && memchr(a.data, ' ', a.len))
			abort();
	}
	rest = slice_of(data, len);
	while (deb_relation_group(&rest, &group)) {
		while ((rc = deb_relation_next(&group, &r))) {
			if (rc > 0 &&
			    (r.name.data < data || r.name.data + r.name.len > data + len ||
			     !deb_name_valid(r.name)))
				abort();
		}
	}
	return 0;
}
