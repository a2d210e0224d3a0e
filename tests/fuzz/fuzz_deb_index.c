/*
 * A hostile Packages file: read, and every package of it resolved. Property: a set that is given
 * holds each package once, and only what has a file.
 */
#include "builder/sources/deb_resolve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct deb_universe *u, const struct deb_answer *answer)
{
	for (size_t i = 0; i < answer->choices.len; i++) {
		uint32_t at = answer->choices.items[i].package;

		if (at >= u->packages.len || !u->packages.items[at].sha256.len)
			abort();
		for (size_t k = 0; k < i; k++) {
			if (answer->choices.items[k].package == at)
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct deb_index index = { .id = "f", .label_text = "f" };
	cleanup_universe struct deb_universe u = { .arch = "amd64" };
	struct error err = { 0 };

	if (deb_universe_add(&u, &index, slice_of(data, len), "amd64 all i386", &err) < 0)
		return 0;
	for (uint32_t i = 0; i < u.packages.len && i < 8; i++) {
		cleanup_deb_answer struct deb_answer answer = { 0 };
		struct deb_root root = { .package = i, .requested = true };

		if (deb_resolve(&u, &root, 1, &answer, NULL, &err) == 0)
			check(&u, &answer);
	}
	return 0;
}
