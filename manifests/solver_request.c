#include "manifests/solver.h"

/* The C library of the system that the packages make, where a suite names it; else NULL. */
static const char *glibc_of(const struct tables *tables, const struct stack *stack)
{
	for (size_t i = 0; i < stack->source_count && !stack->base_image; i++) {
		const struct base_system *system =
			stack->sources[i].type == SOURCE_APT && stack->sources[i].suite
				? base_system_of_suite(&tables->images, stack->sources[i].suite)
				: NULL;

		if (system)
			return system->glibc;
	}
	return NULL;
}

/* ".../whl/cu128/" → "cu128"; "" for what names no builds. */
static const char *flavour_in(const char *url, struct arena *arena)
{
	size_t len = strlen(url);

	while (len && url[len - 1] == '/')
		len--;
	if (len > 6 && url[len - 6] == '/' && memcmp(url + len - 5, "cu", 2) == 0 &&
	    strspn(url + len - 3, "0123456789") >= 3)
		return arena_slice(arena, slice_of(url + len - 5, 5));
	return "";
}

/* Which builds the first source of wheels has; see struct solver_request. */
static const char *flavour_of(const struct stack *stack, struct arena *arena)
{
	for (size_t i = 0; i < stack->source_count; i++) {
		const struct stack_source *s = &stack->sources[i];

		if (s->type == SOURCE_WHEELS)
			return s->path ? NULL : s->url ? flavour_in(s->url, arena) : "";
	}
	return NULL;
}

struct solver_request solver_request_of(const struct tables *tables, const struct stack *stack,
					const char *platform, struct arena *arena)
{
	bool arm64 = str_ends(platform, "/arm64") || strstr(platform, "/arm64/");

	return (struct solver_request){ .stack = &stack->stack,
					.base_image = stack->base_image,
					.glibc = glibc_of(tables, stack),
					.flavour = flavour_of(stack, arena),
					.arm64 = arm64,
					.amd64 = !arm64 };
}
