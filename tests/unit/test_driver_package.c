#include "tests/support/test.h"

#include "builder/sources/driver_package.h"

enum kind { OTHER, HOSTS, BESIDES };

static void test_names_of_the_driver_are_known(void **state)
{
	static const struct {
		const char *name;
		enum kind kind;
	} cases[] = {
		{ "cuda", BESIDES },
		{ "cuda-12-6", BESIDES },
		{ "cuda-13-0", BESIDES },
		{ "cuda-runtime-12-6", BESIDES },
		{ "cuda-drivers", HOSTS },
		{ "cuda-drivers-580", HOSTS },
		{ "nvidia-driver", HOSTS },
		{ "nvidia-driver-535", HOSTS },
		{ "nvidia-open-580", HOSTS },
		{ "nvidia-persistenced", HOSTS },
		{ "nvidia-fabric-manager", HOSTS },
		{ "libcuda1", HOSTS },
		{ "libcuda1-i386", HOSTS },
		{ "libnvidia-compute-535", HOSTS },
		{ "libnvidia-gl-550", HOSTS },
		{ "libnvidia-ml1", HOSTS },
		{ "libnvidia-cfg1", HOSTS },
		{ "nvidia-driver-cuda-libs", HOSTS },
		{ "libnvidia-ml", HOSTS },
		{ "kmod-nvidia-open-dkms", HOSTS },
		{ "xorg-x11-drv-nvidia-cuda", HOSTS },
		{ "libnvcuvid1", HOSTS },
		{ "libnvidia-tesla-535-cuda1", HOSTS },
		{ "libnvidia-legacy-390xx-cuda1", HOSTS },
		{ "libgl1-nvidia-glvnd-glx", HOSTS },
		{ "nvidia-tesla-535-alternative", HOSTS },
		{ "nvidia-support", HOSTS },
		{ "nvidia-opencl-icd", HOSTS },
		{ "nvidia-fs-dkms", HOSTS },
		{ "nvidia-compute-G06", HOSTS },
		{ "nvidia-compute-utils-550", HOSTS },
		{ "cuda-", OTHER },
		{ "libnvidia-egl-wayland1", OTHER },
		{ "nvidia-vaapi-driver", OTHER },
		{ "nvidia-opencl-common", OTHER }, /* nvidia.icd, which images bring */
		{ "nvidia-cuda-dev", OTHER },
		{ "nvidia-opencl-dev", OTHER },
		{ "nvidia-libopencl1", OTHER },
		{ "nvidia-profiler", OTHER },
		{ "cuda-toolkit-12-6", OTHER },
		{ "cuda-cudart-12-6", OTHER },
		{ "cuda-compat-12-6", OTHER },
		{ "cuda-keyring", OTHER },
		{ "cuda-nvcc-12-6", OTHER },
		{ "libcudnn9-cuda-12", OTHER },
		{ "libcudart12", OTHER },
		{ "libcublas-12-6", OTHER },
		{ "libnvidia-ml-dev", OTHER },
		{ "nvidia-container-toolkit", OTHER },
		{ "nvidia-cuda-toolkit", OTHER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct slice name = slice_str(cases[i].name);
		enum kind got = package_is_hosts(name)    ? HOSTS
				: package_is_driver(name) ? BESIDES
							  : OTHER;

		if (got != cases[i].kind)
			fail_msg("%s: %d", cases[i].name, (int)got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_the_driver_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
