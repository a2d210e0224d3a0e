#include "builder/sources/wheel_check.h"

/* "cp311" with prefix "cp3" → 11; "py3" with "py3" → 0; false for other texts. */
static bool minor_of(struct slice tag, const char *prefix, uint64_t *out)
{
	struct slice rest;

	if (!slice_starts(tag, prefix))
		return false;
	rest = slice_of(tag.data + strlen(prefix), tag.len - strlen(prefix));
	*out = 0;
	return !rest.len || slice_u64(rest, out);
}

static bool interpreter_fits(struct slice python, struct slice abi, unsigned minor)
{
	uint64_t n;

	if (minor_of(python, "cp3", &n) && n) {
		cleanup_free char *own = xasprintf("cp3%u", minor);

		return slice_is(abi, "abi3") ? n <= minor :
					       n == minor && (slice_is(abi, own) || slice_is(abi, "none"));
	}
	return slice_is(abi, "none") && minor_of(python, "py3", &n) && n <= minor;
}

static bool platform_fits(struct slice tag, const struct wheel_target *target)
{
	static const struct {
		const char *name;
		unsigned glibc;
	} old[] = { { "manylinux1", 5 }, { "manylinux2010", 12 }, { "manylinux2014", 17 } };
	cleanup_free char *text = xasprintf("%.*s", (int)tag.len, (const char *)tag.data);
	cleanup_free char *plain = xasprintf("linux_%s", target->machine);
	size_t name = strlen(text) - MIN(strlen(text), strlen(target->machine) + 1);
	struct slice rest = slice_of(text, name), number;
	uint64_t minor;

	if (str_equal(text, "any") || str_equal(text, plain))
		return true;
	if (text[name] != '_' || !str_equal(text + name + 1, target->machine))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(old); i++) {
		if (slice_is(rest, old[i].name))
			return old[i].glibc <= target->glibc_minor;
	}
	return slice_starts(rest, "manylinux_2_") &&
	       slice_sub(rest, strlen("manylinux_2_"), rest.len - strlen("manylinux_2_"), &number) &&
	       slice_u64(number, &minor) && minor <= target->glibc_minor;
}

static bool any_interpreter(const struct wheel_name *file, unsigned minor)
{
	struct slice pythons = slice_str(file->python), python, abi;

	while (slice_cut(&pythons, '.', &python)) {
		struct slice abis = slice_str(file->abi);

		while (slice_cut(&abis, '.', &abi)) {
			if (interpreter_fits(python, abi, minor))
				return true;
		}
	}
	return false;
}

bool wheel_fits(const struct wheel_name *file, const struct wheel_target *target)
{
	struct slice platforms = slice_str(file->platform), platform;

	while (slice_cut(&platforms, '.', &platform)) {
		if (platform_fits(platform, target))
			return any_interpreter(file, target->python_minor);
	}
	return false;
}
