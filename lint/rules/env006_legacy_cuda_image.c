#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

/*
 * A version as the runtime parses it: one to three numbers, then perhaps "-" or "+" and more.
 * Source: golang.org/x/mod/semver, as used by the toolkit's image package.
 */
static bool is_version(const char *s)
{
	size_t numbers = 0;

	if (*s == 'v')
		s++;
	for (;;) {
		size_t n = strspn(s, "0123456789");

		if (!n || (n > 1 && *s == '0'))
			return false;
		s += n;
		numbers++;
		if (*s != '.' || numbers == 3)
			break;
		s++;
	}
	return !*s || (numbers == 3 && (*s == '-' || *s == '+') && s[1]);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *version = facts_env(facts, "CUDA_VERSION");
	const char *require = facts_env(facts, "NVIDIA_REQUIRE_CUDA");
	struct finding *f;

	(void)err;
	if (!version || (require && *require))
		return 0;
	if (is_version(version)) {
		finding_add(found, rule, "", -1, "CUDA_VERSION",
			    "CUDA_VERSION=%s without NVIDIA_REQUIRE_CUDA makes the runtime treat "
			    "this as "
			    "an old CUDA image: it asks for all GPUs and all capabilities, and "
			    "requires "
			    "CUDA %s of the host.",
			    version, version);
		return 0;
	}
	f = finding_add(
		found, rule, "", -1, "CUDA_VERSION",
		"CUDA_VERSION=%s without NVIDIA_REQUIRE_CUDA makes the runtime treat this as an "
		"old CUDA image, and since the value is not a version it refuses to start.",
		version);
	f->severity = SEVERITY_ERROR;
	return 0;
}

const struct rule rule_env006 = {
	.id = "ENV006",
	.name = "legacy-cuda-image",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG,
	.what = "CUDA_VERSION is set and NVIDIA_REQUIRE_CUDA is not.",
	.why = "The runtime takes such an image for one of the first CUDA images: it requests all "
	       "GPUs "
	       "and all driver capabilities whatever else is set, adds the requirement "
	       "cuda>=CUDA_VERSION, and refuses to start when the value is not a version (cu121, "
	       "12-4).",
	.fix = "Set NVIDIA_REQUIRE_CUDA (for instance cuda>=12.4), or rename the variable.",
	.sources = "NVIDIA/nvidia-container-toolkit internal/config/image",
	.check = check,
};
