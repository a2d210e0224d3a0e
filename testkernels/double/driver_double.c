/*
 * A stand-in for the driver's libcuda.so.1, that answers initialisation as it is told by the
 * environment and refuses all else. Two uses: the question whether an image's own runtime would
 * accept an older driver (gpuimg test --driver), and tests of what each code is blamed on, on
 * machines without a GPU.
 *
 *   GPUIMG_DOUBLE_VERSION   what cuDriverGetVersion says, as 1000 * major + 10 * minor
 *   GPUIMG_DOUBLE_INIT      the code that cuInit gives; 0 unless set
 *   GPUIMG_DOUBLE_DEVICES   how many devices there are; 1 unless set. None can be used
 *
 * All names of the driver API are there (driver_names.gen.c, from manifests/tables/driver-api.txt):
 * the CUDA runtime asks for several hundred of them before it does anything. It is linked as the
 * probe is, for C libraries of any age.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_FOUND = 500, NOT_SUPPORTED = 801, DEFAULT_VERSION = 13000 };

struct driver_name {
	const char *name;
	void *function;
};
extern const struct driver_name driver_names[];
extern const unsigned driver_name_count;

int cuInit(unsigned flags);
int cuDriverGetVersion(int *out);
int cuDeviceGetCount(int *out);
int cuGetErrorName(int code, const char **out);
int cuGetErrorString(int code, const char **out);
int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);
int double_other(void);

static int number(const char *name, int fallback)
{
	const char *text = getenv(name);
	int n = 0;

	if (!text || !*text)
		return fallback;
	for (; *text >= '0' && *text <= '9' && n < 100000; text++)
		n = n * 10 + (*text - '0');
	return n;
}

int double_other(void)
{
	int init = number("GPUIMG_DOUBLE_INIT", 0);

	return init ? init : NOT_SUPPORTED;
}

int cuInit(unsigned flags)
{
	(void)flags;
	return number("GPUIMG_DOUBLE_INIT", 0);
}

int cuDriverGetVersion(int *out)
{
	*out = number("GPUIMG_DOUBLE_VERSION", DEFAULT_VERSION);
	return 0;
}

int cuDeviceGetCount(int *out)
{
	*out = number("GPUIMG_DOUBLE_DEVICES", 1);
	return number("GPUIMG_DOUBLE_INIT", 0);
}

int cuGetErrorName(int code, const char **out)
{
	(void)code;
	*out = NULL;
	return 1;
}

int cuGetErrorString(int code, const char **out)
{
	return cuGetErrorName(code, out);
}

int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status)
{
	(void)version;
	(void)flags;
	*out = NULL;
	for (unsigned i = 0; i < driver_name_count; i++) {
		if (strcmp(driver_names[i].name, name) == 0)
			*out = driver_names[i].function;
	}
	if (status)
		*status = *out ? 0 : 1;
	return *out ? 0 : NOT_FOUND;
}

int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(name, out, version, flags, NULL);
}
