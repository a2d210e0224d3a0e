#include "builder/sources/driver_package.h"

/* A name, or what a name begins with. */
struct name_rule {
	const char *text;
	bool begins;
	bool besides; /* brings more than the driver */
};

static const struct name_rule rules[] = {
	/* NVIDIA's, of either kind */
	{ "cuda-drivers", .begins = false },
	{ "cuda-drivers-", .begins = true },
	{ "nvidia-driver", .begins = false },
	{ "nvidia-driver-", .begins = true },
	{ "nvidia-open", .begins = false },
	{ "nvidia-open-", .begins = true },
	{ "nvidia-fabricmanager", .begins = true },
	{ "nvidia-fabric-manager", .begins = true },
	{ "nvidia-imex", .begins = true },
	{ "nvidia-modprobe", .begins = true },
	{ "nvidia-persistenced", .begins = true },
	{ "nvidia-settings", .begins = true },
	{ "nvidia-xconfig", .begins = true },
	{ "libnvidia-cfg", .begins = true },
	{ "libnvidia-fbc", .begins = true },
	{ "libnvidia-gpucomp", .begins = true },
	/* .debs */
	{ "libcuda1", .begins = false },
	{ "libcuda1-", .begins = true },
	{ "nvidia-smi", .begins = false },
	{ "nvidia-kernel", .begins = true },
	{ "nvidia-dkms-", .begins = true },
	{ "nvidia-utils-", .begins = true },
	{ "nvidia-compute-utils-", .begins = true },
	{ "nvidia-headless-", .begins = true },
	{ "nvidia-tesla-", .begins = true },
	{ "nvidia-legacy-", .begins = true },
	{ "libnvidia-compute", .begins = true },
	{ "libnvidia-ml1", .begins = true },
	{ "libnvidia-encode", .begins = true },
	{ "libnvidia-decode", .begins = true },
	{ "libnvidia-ptxjitcompiler", .begins = true },
	{ "libnvidia-gl-", .begins = true },
	{ "libnvidia-common-", .begins = true },
	{ "libnvidia-extra-", .begins = true },
	/* .rpms */
	{ "libnvidia-ml", .begins = false },
	{ "kmod-nvidia", .begins = true },
	{ "akmod-nvidia", .begins = true },
	{ "dkms-nvidia", .begins = true },
	{ "nvidia-kmod", .begins = true },
	{ "xorg-x11-drv-nvidia", .begins = true },
	/* the toolkit and the driver in one */
	{ "cuda", .besides = true },
	{ "cuda-runtime-", .begins = true, .besides = true },
};

static const struct name_rule *rule_of(struct slice name)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		if (rules[i].begins ? slice_starts(name, rules[i].text)
				    : slice_is(name, rules[i].text))
			return &rules[i];
	}
	return NULL;
}

/* "cuda-12-6" */
static bool is_meta(struct slice name)
{
	if (!slice_starts(name, "cuda-"))
		return false;
	for (size_t i = strlen("cuda-"); i < name.len; i++) {
		if (name.data[i] != '-' && (name.data[i] < '0' || name.data[i] > '9'))
			return false;
	}
	return name.len > strlen("cuda-");
}

bool package_is_driver(struct slice name)
{
	return rule_of(name) || is_meta(name);
}

bool package_is_hosts(struct slice name)
{
	const struct name_rule *rule = rule_of(name);

	return rule && !rule->besides;
}
