#include "lint/runtime.h"

/* Names of libraries that are not the driver's and mean CUDA; what follows is ".so" or a suffix. */
static const char *const cuda_stems[] = {
	"libcudart",         "libcublas",    "libcublasLt",      "libcudnn",      "libcufft",
	"libcufftw",         "libcurand",    "libcusolver",      "libcusolverMg", "libcusparse",
	"libcusparseLt",     "libcutensor",  "libcupti",         "libnccl",       "libnvrtc",
	"libnvrtc-builtins", "libnvJitLink", "libnvblas",        "libnvjpeg",     "libnvinfer",
	"libcufile",         "libnvshmem",   "libnvptxcompiler", "libnvfatbin",   "libnppc",
	"libnppial",         "libnppicc",    "libnppidei",       "libnppif",      "libnppig",
	"libnppim",          "libnppist",    "libnppisu",        "libnppitc",     "libnpps",
	"libnvvm",           "libcudadevrt",
};

const struct driver_entry *runtime_driver_library(const struct facts *facts, const char *name)
{
	const struct driver_entry *e = driver_library(&facts->driver, name);

	return e && e->verdict != DRIVER_ALLOW ? e : NULL;
}

bool runtime_provides(const struct facts *facts, const char *name)
{
	return runtime_driver_library(facts, name) || str_starts(name, "libnvrm") ||
	       str_starts(name, "libnvos.so");
}

bool runtime_is_cuda_library(const char *name)
{
	const char *so = strstr(name, ".so");
	size_t len = so ? (size_t)(so - name) : 0;

	for (size_t i = 0; len && i < ARRAY_LEN(cuda_stems); i++) {
		size_t stem = strlen(cuda_stems[i]);

		/* libcudnn_ops.so.9, libcudart-1b2c3d.so.12 */
		if (len >= stem && memcmp(name, cuda_stems[i], stem) == 0 &&
		    (len == stem || name[stem] == '_' || name[stem] == '-'))
			return true;
	}
	return false;
}

bool runtime_is_gpu_library(const struct facts *facts, const char *name)
{
	return runtime_is_cuda_library(name) || runtime_driver_library(facts, name);
}

void runtime_driver_dirs(const struct facts *facts, const char *out[2])
{
	const char *triplet = machine_triplet(facts->machine);
	const char *debian = "/usr/lib", *other = "/usr/lib64";

	if (*triplet)
		debian = arena_printf(facts_arena(facts), "/usr/lib/%s", triplet);
	out[0] = facts->has_debian_version ? debian : other;
	out[1] = facts->has_debian_version ? other : debian;
}

bool runtime_reads_capabilities(const struct facts *facts)
{
	unsigned named = facts->target ? facts->target->runtimes : 0;

	return !named || named & ~((unsigned)RUNTIME_CDI | RUNTIME_APPTAINER);
}

bool runtime_is_apptainer(const struct facts *facts)
{
	return facts->target && facts->target->runtimes == RUNTIME_APPTAINER;
}

bool runtime_is_mount_point(const char *dir)
{
	return str_equal(dir, "/usr/local/nvidia/lib") ||
	       str_equal(dir, "/usr/local/nvidia/lib64") || str_equal(dir, "/usr/lib/wsl/lib");
}
