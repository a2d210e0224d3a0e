#include "lint/capabilities.h"
#include "lint/findings.h"
#include "lint/installed.h"
#include "lint/judge.h"
#include "lint/rule.h"

/* The variable has the word itself; "all" is what people write who need none. */
static const char *requested(const struct facts *facts)
{
	const char *value = facts_env(facts, "NVIDIA_DRIVER_CAPABILITIES");
	struct slice rest = slice_str(value ? value : ""), word;

	while (value && slice_cut(&rest, ',', &word)) {
		if (slice_is(word, "graphics") || slice_is(word, "display"))
			return value;
	}
	return NULL;
}

static const char *add(const struct facts *facts, const char *list, const char *what)
{
	return arena_printf(facts_arena(facts), "%s%s%s", list, *list ? ", " : "", what);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	static const char *const libraries[] = { "libGL.so.1",         "libEGL.so.1",
						 "libGLdispatch.so.0", "libX11.so.6",
						 "libXext.so.6",       "libxcb.so.1" };
	const char *value = requested(facts), *missing = "";

	(void)err;
	if (!value)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
		if (!facts_named(facts, libraries[i]))
			missing = add(facts, missing, libraries[i]);
	}
	if (!installed_file(facts, "*/egl_vendor.d/*nvidia*.json"))
		missing = add(facts, missing, "egl_vendor.d/10_nvidia.json");
	if (!installed_file(facts, "*/vulkan/icd.d/*nvidia*.json"))
		missing = add(facts, missing, "vulkan/icd.d/nvidia_icd.json");
	if (*missing)
		finding_add(found, rule, "", -1, "NVIDIA_DRIVER_CAPABILITIES",
			    "NVIDIA_DRIVER_CAPABILITIES=%s asks for graphics, and the image lacks "
			    "what the driver's part needs from it: %s.",
			    value, missing);
	return 0;
}

const struct rule rule_run005 = {
	.id = "RUN005",
	.name = "graphics-support-missing",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_LIKELY,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG | NEEDS_ALL_LAYERS,
	.what = "The image asks for graphics and lacks the libraries or files that lead to the "
		"driver's "
		"implementation.",
	.why = "The driver brings only NVIDIA's half: programs load the vendor-neutral libraries "
	       "(libGL, "
	       "libEGL, the Vulkan loader) from the image, these find NVIDIA's by files that older "
	       "runtimes do not mount, and the GLX part needs X libraries.",
	.fix = "Install libglvnd0, libgl1, libegl1, libx11-6, libxext6 (or their like), and add "
	       "the two "
	       "files.",
	.sources = "NVIDIA/libglvnd README.md; NVIDIA/nvidia-container-toolkit internal/discover "
		   "graphics.go",
	.check = check,
};
