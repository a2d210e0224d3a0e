#include "base/strbuf.h"
#include "lint/compat.h"
#include "lint/findings.h"
#include "lint/floor.h"
#include "lint/judge.h"
#include "lint/rule.h"

static const char *branches_text(const struct facts *facts, const struct compat_library *library)
{
	cleanup_strbuf struct strbuf text = { 0 };

	for (size_t i = 0; i < library->branches.len; i++)
		strbuf_addf(&text, "%s%u", i ? ", " : "", library->branches.items[i]);
	return arena_strdup(facts_arena(facts), strbuf_text(&text));
}

static void report(const struct rule *rule, const struct facts *facts, struct findings *found,
		   const struct compat_library *library, const struct host_driver *driver,
		   enum compat_use use)
{
	const char *dir = path_dir(facts, library->path);
	struct floor floor;
	struct finding *f;

	f = finding_add(found, rule, dir, facts_layer(facts, library->node), driver->text,
			"The compat library %s%s%s is not used on hosts with %s%s%s: %s%s.",
			path_name(library->path), library->cuda ? " of CUDA " : "",
			library->cuda ? library->cuda : "",
			host_driver_name(driver, facts_arena(facts)),
			driver->version && driver->cuda ? ", CUDA " : "",
			driver->version && driver->cuda ? driver->cuda : "",
			use == COMPAT_BRANCH_NOT_LISTED
				? "its note does not list that branch, only "
				: "it is not newer than the host's own",
			use == COMPAT_BRANCH_NOT_LISTED ? branches_text(facts, library) : "");
	floor_find(facts, &floor);
	if (!floor.object || floor_met(facts, &floor, driver))
		f->severity = SEVERITY_INFO;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	cleanup_compat_library struct compat_library library;

	(void)err;
	compat_library_find(facts, &library);
	if (!library.path || compat_is_forced(facts))
		return 0;
	for (size_t i = 0; i < facts->hosts.drivers.len; i++) {
		const struct host_driver *driver = &facts->hosts.drivers.items[i];
		enum compat_use use = compat_decide(facts, &library, driver);

		if (use == COMPAT_BRANCH_NOT_LISTED || use == COMPAT_NOT_NEWER)
			report(rule, facts, found, &library, driver, use);
	}
	return 0;
}

const struct rule rule_cmp003 = {
	.id = "CMP003",
	.name = "compat-does-not-cover-driver",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_DRIVER | NEEDS_GPU_IMAGE,
	.what = "The forward-compatibility libraries in the image are not used on a host with the "
		"driver that was named.",
	.why = "A compat library lists the driver branches that it may run on, and the runtime "
	       "takes "
	       "it only when it is newer than the host's driver. Else the host's own driver serves "
	       "the container, with the CUDA that it knows. Where that is enough, nothing is lost.",
	.fix = "Install the compat package of the toolkit's own CUDA release, or raise the driver.",
	.sources = "NVIDIA/nvidia-container-toolkit cmd/nvidia-cdi-hook/cudacompat; CUDA "
		   "Compatibility guide, \"Forward Compatibility\"",
	.check = check,
};
