/*
 * pylock.toml. Properties: what is taken stands in the list of all that the file names, has a plain
 * address and no name twice; an error names the file.
 */
#include "builder/sources/pylock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool is_listed(const struct pylock_names *names, const char *name)
{
	for (size_t i = 0; i < names->len; i++) {
		if (str_equal(names->items[i].name, name))
			return true;
	}
	return false;
}

static void check(const struct pylock *found, const struct pylock_names *names)
{
	for (size_t i = 0; i < found->len; i++) {
		const struct pylock_wheel *w = &found->items[i];

		assert(is_listed(names, w->name) && (w->url || w->path) && w->line);
		assert(str_ends(w->file, ".whl"));
		for (size_t k = 0; k < i; k++)
			assert(!str_equal(found->items[k].name, w->name));
		for (const char *c = w->url ? w->url : ""; *c; c++)
			assert((unsigned char)*c > ' ');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct wheel_target target = {
		.python_minor = 11, .python_full = "3.11.2", .glibc_minor = 28, .machine = "x86_64"
	};
	cleanup_arena struct arena arena = { 0 };
	struct pylock_names names = { 0 };
	struct pylock found = { 0 };
	struct error err = { 0 };

	if (len > 64 * KIB)
		return 0;
	if (pylock_parse(slice_of(data, len), "f", &target, NULL, &arena, &found, &err) < 0) {
		assert(err.code && str_starts(err.text, "f"));
	} else if (pylock_list(slice_of(data, len), "f", &arena, &names, &err) == 0) {
		check(&found, &names);
	} else {
		abort();
	}
	vec_release(&found);
	vec_release(&names);
	return 0;
}
