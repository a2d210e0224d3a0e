#include "lint/floor.h"

#include "lint/companions.h"
#include "lint/judge.h"
#include "lint/runtime.h"
#include "lint/versions.h"

static const char *driver_floor(const struct facts *facts, unsigned major)
{
	const struct toolkit_major *m = toolkit_major(&facts->tables.toolkits, major);

	return m && m->minor_compat ? m->min_driver : NULL;
}

void floor_find(const struct facts *facts, struct floor *out)
{
	*out = (struct floor){ 0 };
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		if (!object_is_used(facts, o))
			continue;
		for (size_t k = 0; k < o->elf->needed_count; k++) {
			unsigned major = library_cuda_major(o->elf->needed[k]);

			/* The CUDA libraries need each other: their user is the one to name. */
			if (major <= out->major || (out->object && major == out->major) ||
			    runtime_is_cuda_library(path_name(o->path)))
				continue;
			*out = (struct floor){ .object = o,
					       .library = o->elf->needed[k],
					       .major = major,
					       .driver = driver_floor(facts, major) };
		}
	}
}

/*
 * libcudart, libnvrtc and their like by their own name, or the plug-in that opens them. A profiler
 * that lies about tells nothing of the programs.
 */
static unsigned major_of(const struct object *o)
{
	const char *name = path_name(o->path);

	if (companions_is_plugin(o))
		return path_has_part(o->path, "xla_cuda13")   ? 13
		       : path_has_part(o->path, "xla_cuda12") ? 12
							      : 0;
	if (str_starts(name, "libcupti"))
		return 0;
	return library_cuda_major(o->elf->soname ? o->elf->soname : name);
}

void floor_find_unbound(const struct facts *facts, struct floor *out)
{
	*out = (struct floor){ 0 };
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		unsigned major = major_of(o);

		if (major <= out->major || o->elf->machine != facts->machine ||
		    path_is_set_aside(o->path) || object_is_stub(o) ||
		    library_is_private_copy(path_name(o->path)))
			continue;
		*out = (struct floor){ .object = o,
				       .library = path_name(o->path),
				       .major = major,
				       .driver = driver_floor(facts, major) };
	}
}

bool floor_met(const struct facts *facts, const struct floor *floor,
	       const struct host_driver *driver)
{
	(void)facts;
	if (!floor->object)
		return true;
	if (driver->version)
		return !floor->driver || !driver_older(driver->version, floor->driver);
	return dotted_number(driver->cuda, 0) >= floor->major;
}
