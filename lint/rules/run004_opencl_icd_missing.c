#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/loader.h"
#include "lint/rule.h"
#include "lint/versions.h"

/* Codecs are linked against it and work without. */
static bool is_codec(const char *name)
{
	static const char *const stems[] = { "libav",  "libsw",   "libpostproc",
					     "ffmpeg", "ffprobe", "ffplay" };

	for (size_t i = 0; i < ARRAY_LEN(stems); i++) {
		if (str_starts(name, stems[i]))
			return true;
	}
	return false;
}

/* What needs OpenCL: an object, or the Python module. */
static const char *user_of(const struct facts *facts, const struct tree_node **out_node)
{
	const struct package *p = wheel_in(facts, NULL, "pyopencl");

	*out_node = NULL;
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		if (!object_is_used(facts, o) || is_codec(path_name(o->path)) ||
		    str_starts(path_name(o->path), "libOpenCL"))
			continue;
		for (size_t k = 0; k < o->elf->needed_count; k++) {
			if (!str_equal(o->elf->needed[k], "libOpenCL.so.1"))
				continue;
			*out_node = o->node;
			return o->path;
		}
	}
	return p ? p->path : NULL;
}

static bool has_icd(const struct facts *facts)
{
	struct tree_nodes nodes = { 0 };
	bool found = false;

	facts_list(facts, "/etc/OpenCL/vendors", &nodes);
	for (size_t i = 0; i < nodes.len && !found; i++) {
		struct slice text = facts_text(facts, facts_path(facts, nodes.items[i]));

		found = str_ends(facts_name(facts, nodes.items[i]), ".icd") && text.len &&
			memmem(text.data, text.len, "libnvidia-opencl.so", 19);
	}
	vec_release(&nodes);
	return found;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct tree_node *node;
	const char *user = user_of(facts, &node);

	(void)err;
	if (user && !has_icd(facts))
		finding_add(found, rule, user, facts_layer(facts, node), "",
			    "%s uses OpenCL, and no file in /etc/OpenCL/vendors names "
			    "libnvidia-opencl.so.1; older runtimes do not mount one.",
			    user);
	return 0;
}

const struct rule rule_run004 = {
	.id = "RUN004",
	.name = "opencl-icd-missing",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_LIKELY,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "A program uses OpenCL and the image does not tell where NVIDIA's implementation "
		"is.",
	.why = "The OpenCL loader reads /etc/OpenCL/vendors to find implementations. Without a "
	       "file for "
	       "NVIDIA it reports no platform, although the driver's library is mounted. Recent "
	       "runtimes mount the file, older ones do not.",
	.fix = "Write libnvidia-opencl.so.1 into /etc/OpenCL/vendors/nvidia.icd.",
	.sources = "Khronos OpenCL ICD loader; NVIDIA/nvidia-container-toolkit internal/discover",
	.check = check,
};
