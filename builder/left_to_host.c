#include "builder/left_to_host.h"

#include "base/map.h"

const char *left_to_host(const struct lock_input *in, struct arena *arena)
{
	if (!lock_input_is_hosts(in))
		return NULL;
	return arena_printf(arena,
			    "(needed by %s) belongs to the driver: its record and documentation "
			    "are in the image, all else of it is left out, the host's driver "
			    "brings that",
			    in->host_for);
}

void left_to_host_tell(const struct lockfile *lock, const struct out *out)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_map struct map told = { 0 };

	for (size_t i = 0; i < lock->platforms.len; i++) {
		const struct lock_platform *p = &lock->platforms.items[i];

		for (size_t k = 0; k < p->inputs.len; k++) {
			const struct lock_input *in = &p->inputs.items[k];
			const char *text = left_to_host(in, &arena),
				   *name = arena_printf(&arena, "%s %s", in->name, in->version);

			if (text && !map_put(&told, name, &told))
				out_note(out, "%s %s", name, text);
		}
	}
}
