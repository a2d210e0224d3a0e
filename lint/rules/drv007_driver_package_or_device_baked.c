#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"

/* Names of packages that hold the driver; tools of containers begin alike and are none. */
static bool is_driver_package(const char *name)
{
	static const char *const patterns[] = {
		"nvidia-driver-[0-9]*",
		"nvidia-driver",
		"nvidia-driver-libs*",
		"nvidia-driver-cuda*",
		"nvidia-utils-[0-9]*",
		"libnvidia-*-[0-9][0-9][0-9]",
		"libnvidia-*-[0-9][0-9][0-9]-server",
		"nvidia-compute-utils-[0-9]*",
		"nvidia-kernel-source-*",
		"nvidia-kernel-common-*",
		"nvidia-dkms-*",
		"kmod-nvidia*",
		"cuda-drivers",
		"cuda-drivers-*",
		"xserver-xorg-video-nvidia-*",
		"nvidia-l4t-*",
	};

	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		if (path_matches(patterns[i], name))
			return true;
	}
	return false;
}

static void check_packages(const struct rule *rule, const struct facts *facts,
			   struct findings *found)
{
	const struct package *first = NULL;
	const char *names = "";
	size_t count = 0, records = 0;
	struct finding *f;

	for (size_t i = 0; i < facts->packages.len; i++) {
		const struct package *p = &facts->packages.items[i];

		if (str_equal(p->kind, "wheel") || !is_driver_package(p->name))
			continue;
		if (!first)
			first = p;
		records += p->record_only;
		if (count++ < 5)
			names = arena_printf(facts_arena(facts), "%s%s%s %s", names,
					     *names ? ", " : "", p->name, p->version);
	}
	if (count == records) /* none, or none with a file of its own */
		return;
	f = finding_add(found, rule, first->path,
			facts_layer(facts, facts_resolve(facts, first->path, NULL)), "",
			"%zu package%s of the GPU driver %s installed: %s%s. Whatever became of "
			"the files, upgrades bring them back.",
			count, count == 1 ? "" : "s", count == 1 ? "is" : "are", names,
			count > 5 ? ", ..." : "");
	if (facts_requests_jetson(facts))
		f->severity = SEVERITY_INFO;
}

static bool is_driver_node(const struct tree_node *node, const char *path)
{
	static const char *const patterns[] = { "/dev/nvidia*",
						"/dev/dri/*",
						"*/nvidia*.ko",
						"*/nvidia*.ko.xz",
						"*/nvidia*.ko.zst",
						"/lib/firmware/nvidia/*.bin",
						"/usr/lib/firmware/nvidia/*/gsp*" };
	size_t first = 0, end = 2;

	/* Device nodes; in an ordinary file of that name nothing is wrong. */
	if (node->entry.type != TAR_CHAR && node->entry.type != TAR_BLOCK) {
		first = 2;
		end = ARRAY_LEN(patterns);
	}
	for (size_t i = first; i < end; i++) {
		if (path_matches(patterns[i], path))
			return true;
	}
	return false;
}

static void check_nodes(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	size_t count, hits = 0;
	struct tree_node **nodes = facts_nodes(facts, &count);
	const struct tree_node *first = NULL;
	cleanup_strbuf struct strbuf buf = { 0 };

	for (size_t i = 0; i < count; i++) {
		const char *path = facts_path_in(facts, nodes[i], &buf);

		if (!strstr(path, "nvidia") || !is_driver_node(nodes[i], path))
			continue;
		if (!first)
			first = nodes[i];
		hits++;
	}
	if (first)
		finding_add(found, rule, facts_path(facts, first), facts_layer(facts, first), "",
			    "%s%s %s of the host's driver: a device node, kernel module or "
			    "firmware is the host's, whatever an image has.",
			    facts_path(facts, first),
			    hits > 1 ? arena_printf(facts_arena(facts), " and %zu more", hits - 1)
				     : "",
			    hits > 1 ? "are" : "is");
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	if (facts->driver_container)
		return 0;
	check_packages(rule, facts, found);
	check_nodes(rule, facts, found);
	return 0;
}

const struct rule rule_drv007 = {
	.id = "DRV007",
	.name = "driver-package-or-device-baked",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.wave = 2,
	.needs = NEEDS_GPU_IMAGE,
	.what = "A package of the GPU driver is installed in the image, or a device node, kernel "
		"module "
		"or firmware of it is there.",
	.why = "The driver belongs to the host. Its packages bring libraries that clash with those "
	       "the "
	       "runtime mounts, pull hundreds of megabytes, and come back with the next upgrade "
	       "even "
	       "where their files were deleted. Records alone, in whose lists no file of the "
	       "driver is, are no fault: what depends on the driver is met by them.",
	.fix = "Install sub-packages of the toolkit (cuda-cudart-12-4, cuda-nvcc-12-4) rather than "
	       "cuda, and nothing that depends on cuda-drivers.",
	.sources = "CUDA Installation Guide, \"Meta Packages\"; NVIDIA/libnvidia-container "
		   "src/nvc_info.c",
	.check = check,
};
