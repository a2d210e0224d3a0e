#include "lint/compat.h"
#include "lint/findings.h"
#include "lint/floor.h"
#include "lint/rule.h"
#include "manifests/dotted.h"

/* A compat package that makes up for it; some boards may not use it, but the data center's may. */
static bool compat_helps(const struct facts *facts, const struct floor *floor,
			 const struct host_driver *driver)
{
	return compat_serves(facts, driver, arena_printf(facts_arena(facts), "%u.0", floor->major));
}

static const char *fix_of(const struct facts *facts, const struct floor *floor)
{
	return arena_printf(facts_arena(facts),
			    "Build on an older CUDA, add the compat package for CUDA %u (hosts "
			    "with data-center GPUs), or raise the driver to %s.",
			    floor->major, floor->driver ? floor->driver : "one of that CUDA");
}

static void check_floor(const struct rule *rule, const struct facts *facts, struct findings *found,
			const struct host_driver *driver)
{
	struct floor floor;
	struct finding *f;
	bool unbound;

	floor_find(facts, &floor);
	unbound = !floor.object;
	if (unbound)
		floor_find_unbound(facts, &floor);
	if (floor_met(facts, &floor, driver) || compat_helps(facts, &floor, driver))
		return;
	f = finding_add(
		found, rule, floor.object->path, facts_layer(facts, floor.object->node),
		driver->text, "%s %s%s, and CUDA %u needs driver %s or newer; %s is too old.",
		floor.object->path, unbound ? "is of CUDA " : "needs ",
		unbound ? arena_printf(facts_arena(facts), "%u", floor.major) : floor.library,
		floor.major, floor.driver ? floor.driver : "of that major",
		host_driver_name(driver, facts_arena(facts)));
	f->fix = fix_of(facts, &floor);
	/* Whether anything opens it is not known. */
	if (unbound)
		f->severity = SEVERITY_WARNING;
}

/* Newer drivers have dropped old GPUs. */
static void check_dropped(const struct rule *rule, const struct facts *facts,
			  struct findings *found, const struct host_driver *driver)
{
	for (size_t i = 0; i < facts->hosts.gpus.len; i++) {
		const struct host_gpu *gpu = &facts->hosts.gpus.items[i];
		unsigned last = gpu->target.arch->last_branch;
		unsigned first = gpu->target.arch->stated_first_branch;
		uint64_t branch = driver->version ? dotted_number(driver->version, 0) : 0;

		if (!branch)
			continue;
		if (last && branch > last)
			finding_add(found, rule, "", -1,
				    arena_printf(facts_arena(facts), "%s %s", driver->text,
						 gpu->target.arch->sm),
				    "%s no longer supports %s: branch %u is the last that does.",
				    host_driver_name(driver, facts_arena(facts)),
				    host_gpu_name(gpu, facts_arena(facts)), last);
		else if (first && branch < first)
			finding_add(found, rule, "", -1,
				    arena_printf(facts_arena(facts), "%s %s", driver->text,
						 gpu->target.arch->sm),
				    "%s does not know %s: branch %u is the first that does.",
				    host_driver_name(driver, facts_arena(facts)),
				    host_gpu_name(gpu, facts_arena(facts)), first);
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->hosts.drivers.len; i++) {
		check_floor(rule, facts, found, &facts->hosts.drivers.items[i]);
		check_dropped(rule, facts, found, &facts->hosts.drivers.items[i]);
	}
	return 0;
}

const struct rule rule_ver006 = {
	.id = "VER006",
	.name = "driver-floor-not-met",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_DRIVER | NEEDS_GPU_IMAGE,
	.what = "Programs of the image need a CUDA major that the driver that was named is too old "
		"for; or that driver does not support the GPU that was named. A warning where "
		"nothing is "
		"linked to the CUDA libraries, as in a base image.",
	.why = "A driver runs all releases of a CUDA major from one floor on. Below it the first "
	       "call "
	       "ends with error 35, \"CUDA driver version is insufficient for CUDA runtime "
	       "version\".",
	.fix = "Build on an older CUDA, add the compat package (hosts with data-center GPUs), or "
	       "raise the driver.",
	.sources =
		"CUDA Toolkit release notes, \"CUDA Toolkit and Corresponding Driver Versions\"; "
		"CUDA Compatibility guide",
	.check = check,
};
