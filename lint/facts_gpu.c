#include "lint/facts_parts.h"

#include "lint/runtime.h"

static const char *const requests[] = { "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES",
					"CUDA_VERSION" };

static const char *requested(const struct facts *facts, struct arena *arena)
{
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		if (facts_env(facts, requests[i]))
			return arena_printf(arena, "sets %s", requests[i]);
	}
	for (size_t i = 0; facts->config && i < facts->config->env.count; i++) {
		const char *variable = facts->config->env.items[i];

		if (str_starts(variable, "NVIDIA_REQUIRE_"))
			return arena_printf(arena, "sets %.*s", (int)strcspn(variable, "="),
					    variable);
	}
	return NULL;
}

bool facts_requests_gpu(const struct facts *facts)
{
	cleanup_arena struct arena scratch = { 0 };

	return requested(facts, &scratch) != NULL;
}

static const char *of_objects(const struct facts *facts, struct arena *arena)
{
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		if (path_is_sample(o->path))
			continue;
		if (runtime_is_gpu_library(facts, path_name(o->path)))
			return arena_printf(arena, "ships %s", o->path);
		if (o->elf->gpu_code)
			return arena_printf(arena, "has GPU code in %s", o->path);
		for (size_t k = 0; k < o->elf->needed_count; k++) {
			if (runtime_is_gpu_library(facts, o->elf->needed[k]))
				return arena_printf(arena, "%s needs %s", o->path,
						    o->elf->needed[k]);
		}
		if (o->elf->names_gpu)
			return arena_printf(arena, "%s names a CUDA library", o->path);
	}
	return NULL;
}

/* Links and empty placeholders of driver libraries, and toolkit directories. */
static const char *of_entries(const struct facts *facts, struct arena *arena)
{
	cleanup_strbuf struct strbuf buf = { 0 };
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	for (size_t i = 0; i < count; i++) {
		const char *path = facts_path_in(facts, nodes[i], &buf);

		if (str_starts(path, "/usr/local/cuda") && nodes[i]->entry.type != TAR_SYMLINK)
			return arena_printf(arena, "has %.*s", (int)(11 + strcspn(path + 11, "/")),
					    path);
		if (nodes[i]->entry.type != TAR_DIR &&
		    runtime_is_gpu_library(facts, path_name(path)) && !path_is_sample(path))
			return arena_printf(arena, "ships %s", path);
	}
	return NULL;
}

void gpu_facts_derive(struct facts *facts)
{
	facts->gpu_reason = requested(facts, &facts->arena);
	if (!facts->gpu_reason)
		facts->gpu_reason = of_objects(facts, &facts->arena);
	if (!facts->gpu_reason)
		facts->gpu_reason = of_entries(facts, &facts->arena);
	facts->is_gpu_image = facts->gpu_reason != NULL;
}
