#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"
#include "lint/runtime.h"

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *require = facts_env(facts, "NVIDIA_REQUIRE_CUDA");
	bool legacy = facts_env(facts, "CUDA_VERSION") && (!require || !*require);

	struct finding *f;

	(void)err;
	if (legacy || facts_env(facts, "NVIDIA_VISIBLE_DEVICES"))
		return 0;
	f = finding_add(found, rule, "", -1, "NVIDIA_VISIBLE_DEVICES",
			"NVIDIA_VISIBLE_DEVICES is not set in an image that uses the GPU (it %s): "
			"runtimes that go by the environment give the container no GPU%s.",
			facts->gpu_reason,
			runtime_is_apptainer(facts) ? "; apptainer --nv does not ask" : "");
	if (runtime_is_apptainer(facts))
		f->severity = SEVERITY_INFO;
	return 0;
}

const struct rule rule_env001 = {
	.id = "ENV001",
	.name = "visible-devices-unset",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG,
	.what = "A GPU image does not set NVIDIA_VISIBLE_DEVICES.",
	.why = "Where the runtime decides by the environment (Docker with the NVIDIA runtime as "
	       "default, "
	       "enroot, some schedulers) nothing is injected, and CUDA finds no device.",
	.fix = "ENV NVIDIA_VISIBLE_DEVICES=all",
	.sources = "NVIDIA/nvidia-container-toolkit internal/config/image",
	.check = check,
};
