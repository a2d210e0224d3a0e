#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/loader.h"
#include "lint/rule.h"
#include "lint/runtime.h"

/* Where such a name without a version is found by programs. */
static bool is_on_search_path(const struct facts *facts, const char *dir)
{
	const struct loader_dirs *dirs = loader_dirs(facts->loader);

	if (is_default_dir(facts, dir) || str_starts(dir, "/usr/local/nvidia/lib"))
		return true;
	for (size_t i = 0; i < dirs->len; i++) {
		if (!dirs->items[i].by_object && str_equal(dirs->items[i].path, dir))
			return true;
	}
	return false;
}

static bool is_allowed(const struct facts *facts, const struct driver_entry *e,
		       const struct object *o)
{
	return driver_allowed_at(&facts->driver, e, o->path) || path_is_stub(o->path) ||
	       path_is_compat(o->path) || path_is_tegra(o->path) || path_is_set_aside(o->path);
}

static void report(const struct rule *rule, const struct facts *facts, struct findings *found,
		   const struct object *o, const struct driver_entry *e, const char *version)
{
	const char *package = owning_package(facts, o->path);
	struct finding *f;

	f = finding_add(found, rule, o->path, facts_layer(facts, o->node), "",
			"%s belongs to the GPU driver%s%s%s%s; the container runtime mounts the "
			"host's own copy, and a host with another driver then has both: "
			"\"driver/library version mismatch\", or error 803 from CUDA.",
			o->path, version ? " " : "", version ? version : "",
			package ? ", from package " : "", package ? package : "");
	if (e->verdict == DRIVER_WARNING)
		f->severity = SEVERITY_WARNING;
	if (facts->driver_container)
		f->severity = SEVERITY_INFO;
	finding_evidence(found, f, "capability", e->capability);
	if (version)
		finding_evidence(found, f, "version", version);
	if (package)
		finding_evidence(found, f, "package", package);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const char *name = path_name(o->path), *version = driver_version_of(name);
		const struct driver_entry *e = runtime_driver_library(facts, name);

		if (!e && o->elf->soname && o->elf->type == ELF_TYPE_DYN)
			e = runtime_driver_library(facts, o->elf->soname);
		if (e && !version &&
		    (!is_on_search_path(facts, path_dir(facts, o->path)) || object_is_stub(o)))
			continue;
		if (!e)
			e = driver_program(&facts->driver, name);
		if (e && e->verdict != DRIVER_ALLOW && !is_allowed(facts, e, o))
			report(rule, facts, found, o, e, version);
	}
	return 0;
}

const struct rule rule_drv001 = {
	.id = "DRV001",
	.name = "baked-driver-library",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE,
	.what = "A library or program of the GPU driver is part of the image.",
	.why = "The driver's user-mode libraries must match the kernel module of the host, so the "
	       "container runtime mounts them at start. A baked copy stands beside them under its "
	       "own version, ldconfig links the soname to the higher version, and on a host with "
	       "an "
	       "older driver programs load the wrong one. Starts that stop with \"file exists\" "
	       "are "
	       "on record too.",
	.fix = "Remove the package that brought it, build without the GPU runtime as the engine's "
	       "default, and link against the stub in the toolkit's stubs directory.",
	.sources = "NVIDIA/libnvidia-container src/nvc_info.c; NVIDIA/nvidia-container-toolkit "
		   "issue 295; NVIDIA/nvidia-docker issue 825",
	.check = check,
};
