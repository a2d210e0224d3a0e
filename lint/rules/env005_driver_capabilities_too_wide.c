#include "lint/capabilities.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/runtime.h"

static bool has_word(const char *value, const char *wanted)
{
	struct slice rest = slice_str(value), word;

	while (slice_cut(&rest, ',', &word)) {
		if (slice_is(word, wanted))
			return true;
	}
	return false;
}

/* Anything that draws: a GLVND front end or Vulkan that is needed, or the driver's own part. */
static bool uses_graphics(const struct facts *facts)
{
	static const char *const names[] = { "libGL.so.1",     "libEGL.so.1",    "libGLX.so.0",
					     "libOpenGL.so.0", "libGLESv2.so.2", "libvulkan.so.1",
					     "libX11.so.6" };

	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		/* They look at what draws where there is any. */
		if (library_is_profiler(path_name(o->path)))
			continue;
		if (o->elf->opens & OPENS_GRAPHICS)
			return true;
		for (size_t k = 0; k < o->elf->needed_count; k++) {
			const struct driver_entry *e =
				runtime_driver_library(facts, o->elf->needed[k]);

			if (e && e->capability &&
			    (str_equal(e->capability, "graphics") ||
			     str_equal(e->capability, "display")))
				return true;
			for (size_t n = 0; n < ARRAY_LEN(names); n++) {
				if (str_equal(o->elf->needed[k], names[n]))
					return true;
			}
		}
	}
	return false;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *value = facts_env(facts, "NVIDIA_DRIVER_CAPABILITIES");
	bool all;

	(void)err;
	if (!value || !capabilities_are_valid(facts))
		return 0;
	all = has_word(value, "all");
	if ((!all && !has_word(value, "display")) || uses_graphics(facts))
		return 0;
	finding_add(found, rule, "", -1, "NVIDIA_DRIVER_CAPABILITIES",
		    "NVIDIA_DRIVER_CAPABILITIES=%s asks for %s, and nothing in the image draws; on "
		    "hosts without /dev/nvidia-modeset the classic runtime does not start a "
		    "container with the capability display.",
		    value, all ? "all capabilities" : "the display part");
	return 0;
}

const struct rule rule_env005 = {
	.id = "ENV005",
	.name = "driver-capabilities-too-wide",
	.severity = SEVERITY_INFO,
	.confidence = CONFIDENCE_CERTAIN,
	.wave = 2,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG | NEEDS_ALL_LAYERS,
	.what = "The image asks for parts of the driver that nothing in it uses.",
	.why = "Every start mounts more than is needed, and on headless nodes the capability "
	       "display "
	       "can stop the start.",
	.fix = "Name what is needed: NVIDIA_DRIVER_CAPABILITIES=compute,utility",
	.sources = "NVIDIA/libnvidia-container src/nvc_info.c, src/nvc_mount.c",
	.check = check,
};
