#include "lint/capabilities.h"
#include "lint/findings.h"
#include "lint/rule.h"

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	struct finding *f;

	(void)err;
	if (capabilities_are_set(facts) || is_legacy_image(facts))
		return 0;
	f = finding_add(found, rule, "", -1, "NVIDIA_DRIVER_CAPABILITIES",
			"NVIDIA_DRIVER_CAPABILITIES is not set: Docker and containerd then mount "
			"what utility and compute need, enroot only utility, without libcuda.");
	if (facts->target->runtimes & RUNTIME_ENROOT)
		f->severity = SEVERITY_ERROR;
	return 0;
}

const struct rule rule_env004 = {
	.id = "ENV004",
	.name = "driver-capabilities-unset",
	.severity = SEVERITY_INFO,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG,
	.what = "A GPU image does not say which parts of the driver it needs.",
	.why = "The default differs: Docker and containerd mount the libraries for utility and "
	       "compute, enroot those for utility only, so that libcuda.so.1 is missing there.",
	.fix = "ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility",
	.sources = "NVIDIA Container Toolkit, \"Driver Capabilities\"; NVIDIA/enroot "
		   "conf/hooks/98-nvidia.sh",
	.check = check,
};
