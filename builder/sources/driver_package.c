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
	{ "nvidia-fs", .begins = false },
	{ "nvidia-fs-", .begins = true },
	{ "libnvidia-cfg", .begins = true },
	{ "libnvidia-fbc", .begins = true },
	{ "libnvidia-gpucomp", .begins = true },
	/* .debs: of a branch (550, tesla-535, legacy-390xx), or of the newest one */
	{ "libnvidia-tesla-", .begins = true },
	{ "libnvidia-legacy-", .begins = true },
	{ "nvidia-tesla-", .begins = true },
	{ "nvidia-legacy-", .begins = true },
	{ "libcuda1", .begins = false },
	{ "libcuda1-", .begins = true },
	{ "libcudadebugger1", .begins = false },
	{ "libnvcuvid1", .begins = false },
	{ "libnvoptix1", .begins = false },
	{ "libegl-nvidia", .begins = true },
	{ "libgl1-nvidia-", .begins = true },
	{ "libgles-nvidia", .begins = true },
	{ "libglx-nvidia", .begins = true },
	{ "libnvidia-allocator1", .begins = true },
	{ "libnvidia-api1", .begins = true },
	{ "libnvidia-common-", .begins = true },
	{ "libnvidia-compiler", .begins = true },
	{ "libnvidia-compute", .begins = true },
	{ "libnvidia-decode", .begins = true },
	{ "libnvidia-eglcore", .begins = true },
	{ "libnvidia-encode", .begins = true },
	{ "libnvidia-extra-", .begins = true },
	{ "libnvidia-gl-", .begins = true },
	{ "libnvidia-glcore", .begins = true },
	{ "libnvidia-glvkspirv", .begins = true },
	{ "libnvidia-ml1", .begins = true },
	{ "libnvidia-ngx1", .begins = true },
	{ "libnvidia-nvvm", .begins = true },
	{ "libnvidia-opticalflow1", .begins = true },
	{ "libnvidia-pkcs11", .begins = true },
	{ "libnvidia-ptxjitcompiler", .begins = true },
	{ "libnvidia-rtcore", .begins = true },
	{ "glx-alternative-nvidia", .begins = true },
	{ "firmware-nvidia-", .begins = true },
	{ "linux-modules-nvidia-", .begins = true },
	{ "nvidia-alternative", .begins = false },
	{ "nvidia-compute-utils-", .begins = true },
	{ "nvidia-cuda-mps", .begins = false },
	{ "nvidia-dkms-", .begins = true },
	{ "nvidia-egl-common", .begins = true },
	{ "nvidia-egl-icd", .begins = true },
	{ "nvidia-firmware-", .begins = true },
	{ "nvidia-headless-", .begins = true },
	{ "nvidia-installer-cleanup", .begins = true },
	{ "nvidia-kernel", .begins = true },
	{ "nvidia-opencl-icd", .begins = true },
	{ "nvidia-powerd", .begins = false },
	{ "nvidia-smi", .begins = false },
	{ "nvidia-support", .begins = false },
	{ "nvidia-suspend-common", .begins = true },
	{ "nvidia-utils-", .begins = true },
	{ "nvidia-vdpau-driver", .begins = true },
	{ "nvidia-vulkan-common", .begins = true },
	{ "nvidia-vulkan-icd", .begins = true },
	{ "xserver-xorg-video-nvidia", .begins = true },
	/* .rpms */
	{ "libnvidia-ml", .begins = false },
	{ "kmod-nvidia", .begins = true },
	{ "akmod-nvidia", .begins = true },
	{ "dkms-nvidia", .begins = true },
	{ "nvidia-kmod", .begins = true },
	{ "xorg-x11-drv-nvidia", .begins = true },
	{ "nvidia-compute-G", .begins = true },
	{ "nvidia-gl-G", .begins = true },
	{ "nvidia-video-G", .begins = true },
	/* the toolkit and the driver in one */
	{ "cuda", .besides = true },
	{ "cuda-runtime-", .begins = true, .besides = true },
};

/* Repositories have ten thousands of names: all above have one of these in them. */
static bool may_be(struct slice name)
{
	return memmem(name.data, name.len, "nv", 2) || memmem(name.data, name.len, "cuda", 4);
}

static const struct name_rule *rule_of(struct slice name)
{
	if (!may_be(name))
		return NULL;
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
