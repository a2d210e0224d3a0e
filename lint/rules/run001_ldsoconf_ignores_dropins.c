#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/runtime.h"

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct tree_node *conf = facts_lookup(facts, "/etc/ld.so.conf");
	const struct tree_node *dropins = facts_resolve(facts, "/etc/ld.so.conf.d", NULL);
	bool blocked = dropins && dropins->entry.type != TAR_DIR;
	const char *dirs[2], *driver;
	struct finding *f;

	(void)err;
	if (facts->is_musl || !facts_named(facts, "libc.so.6") || !conf || !facts->has_conf ||
	    (facts->conf_includes_dropins && !blocked))
		return 0;
	runtime_driver_dirs(facts, dirs);
	driver = facts_real(facts, dirs[0]);
	f = finding_add(
		found, rule, "/etc/ld.so.conf", facts_layer(facts, conf), "",
		"%s, so the directory of the driver (%s here) that the runtime registers there "
		"never reaches the loader cache%s.",
		blocked ? "/etc/ld.so.conf.d is not a directory"
			: "/etc/ld.so.conf includes nothing that matches "
			  "/etc/ld.so.conf.d/00-*.conf",
		dirs[0],
		is_default_dir(facts, driver)
			? "; that one is a default directory of this loader, compat and others are "
			  "not"
			: "");
	if (is_default_dir(facts, driver))
		f->severity = SEVERITY_WARNING;
	finding_evidence(found, f, "driver-directory", dirs[0]);
	return 0;
}

const struct rule rule_run001 = {
	.id = "RUN001",
	.name = "ldsoconf-ignores-dropins",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "The loader's configuration does not include the folder of drop-ins.",
	.why = "At start the runtime writes the driver's directories to /etc/ld.so.conf.d and runs "
	       "ldconfig. It creates /etc/ld.so.conf only where there is none: an existing one "
	       "without "
	       "the include line makes that vain, and only the default directories work.",
	.fix = "Add the line \"include /etc/ld.so.conf.d/*.conf\" to /etc/ld.so.conf.",
	.sources = "NVIDIA/nvidia-container-toolkit internal/ldconfig; ldconfig(8)",
	.check = check,
};
