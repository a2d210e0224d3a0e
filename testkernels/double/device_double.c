/*
 * A driver whose device is this processor: memory of it is memory of the process, and our kernels
 * are executed by the host. It is for tests: each check of the run tier is shown a device that does
 * as it should, one that gives wrong numbers, and one that refuses a call.
 *
 *   GPUIMG_DOUBLE_VERSION     what cuDriverGetVersion says; 13000 unless set
 *   GPUIMG_DOUBLE_INIT        the code that cuInit gives; 0 unless set
 *   GPUIMG_DOUBLE_DEVICES     how many devices there are; 1 unless set
 *   GPUIMG_DOUBLE_CAPABILITY  90 unless set
 *   GPUIMG_DOUBLE_FAIL        "cuLaunchKernel=719": that function gives that code
 *   GPUIMG_DOUBLE_WRONG       the name of a function that does its work wrongly, but says 0
 *   CUDA_DISABLE_PTX_JIT      as for the real driver: PTX is refused with 223
 *
 * It knows the kernels "vectoradd" and "reduce" by name, in PTX and in cubins of the device's
 * architecture. NVML's functions are here too: it is linked a second time under that name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "testkernels/double/double.h"
#include "testkernels/probe/gpu_api.h"

enum {
	INVALID = 1,
	NO_BINARY = 209,
	BAD_PTX = 218,
	NEW_PTX = 222,
	JIT_OFF = 223,
	NOT_FOUND = 500,
	KERNELS_MAX = 64
};

#define DECLARE(result, field, name, parameters) result name parameters;
GPU_API_DRIVER(DECLARE)
GPU_API_GRAPH(DECLARE)
GPU_API_NVML(DECLARE)
int cuGetErrorString(int code, const char **out);
int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);

struct launch {
	int kernel;
	uint64_t args[4];
	unsigned blocks;
};

/* One stream is captured at a time. */
struct graph {
	struct launch launches[KERNELS_MAX];
	unsigned count;
};
static struct graph *capturing;
static void *captured_stream;
static double device_ms; /* grows with each piece of work */

enum { KERNEL_NONE, KERNEL_VECTORADD, KERNEL_REDUCE };

int cuInit(unsigned flags)
{
	(void)flags;
	return double_number("GPUIMG_DOUBLE_INIT", double_fails(__func__));
}

int cuDriverGetVersion(int *out)
{
	*out = double_number("GPUIMG_DOUBLE_VERSION", 13000);
	return 0;
}

int cuGetErrorName(int code, const char **out)
{
	*out = "CUDA_ERROR_OF_THE_DOUBLE";
	return code == 0;
}

int cuGetErrorString(int code, const char **out)
{
	return cuGetErrorName(code, out);
}

int cuDeviceGetCount(int *out)
{
	*out = double_number("GPUIMG_DOUBLE_DEVICES", 1);
	return double_fails(__func__);
}

int cuDeviceGet(int *out, int index)
{
	int count = 0;

	cuDeviceGetCount(&count);
	*out = index;
	return index < 0 || index >= count ? 101 : double_fails(__func__);
}

int cuDeviceGetName(char *out, int size, int device)
{
	static const char name[] = "stand-in on the host's processor";

	(void)device;
	if (size < (int)sizeof(name))
		return INVALID;
	memcpy(out, name, sizeof(name));
	return double_fails(__func__);
}

int cuDeviceGetUuid(void *out, int device)
{
	memset(out, 0x10 + device, 16);
	return double_fails(__func__);
}

static int capability(void)
{
	return double_number("GPUIMG_DOUBLE_CAPABILITY", 90);
}

int cuDeviceGetAttribute(int *out, int attribute, int device)
{
	(void)device;
	switch (attribute) {
	case DEVICE_CAPABILITY_MAJOR:
		*out = capability() / 10;
		break;
	case DEVICE_CAPABILITY_MINOR:
		*out = capability() % 10;
		break;
	case DEVICE_MANAGED_MEMORY:
		*out = !double_wrong(__func__);
		break;
	case DEVICE_MEMORY_CLOCK_KHZ:
		*out = 1000000;
		break;
	case DEVICE_MEMORY_BUS_BITS:
		*out = 1024;
		break;
	default:
		return INVALID;
	}
	return double_fails(__func__);
}

int cuDevicePrimaryCtxRetain(void **out, int device)
{
	*out = (void *)(uintptr_t)(0x1000 + device);
	return double_fails(__func__);
}

int cuCtxSetCurrent(void *context)
{
	(void)context;
	return double_fails(__func__);
}

int cuCtxSynchronize(void)
{
	return double_fails(__func__);
}

/* Is there `word` in the bytes, which end where their kind of module says? */
static int holds(const char *data, size_t size, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= size; i++) {
		if (memcmp(data + i, word, n) == 0)
			return 1;
	}
	return 0;
}

static int load_ptx(const char *text)
{
	if (getenv("CUDA_DISABLE_PTX_JIT"))
		return JIT_OFF;
	if (!strstr(text, ".version"))
		return BAD_PTX;
	return strstr(text, ".version 99") ? NEW_PTX : 0;
}

/* A fat binary: a cubin that fits, else PTX. */
static int load_container(const unsigned char *data)
{
	uint64_t size, head, payload;
	int ptx = 0;

	memcpy(&size, data + 8, 8);
	for (uint64_t at = 16; at + 64 <= 16 + size; at += head + payload) {
		uint32_t sm, head32;

		memcpy(&head32, data + at + 4, 4);
		memcpy(&payload, data + at + 8, 8);
		memcpy(&sm, data + at + 28, 4);
		head = head32;
		if (data[at] == 2 && (int)sm / 10 == capability() / 10 && (int)sm <= capability())
			return 0;
		ptx |= data[at] == 1 && (int)sm <= capability();
	}
	if (!ptx)
		return NO_BINARY;
	return getenv("CUDA_DISABLE_PTX_JIT") ? JIT_OFF : 0;
}

static int load_cubin(const unsigned char *data)
{
	uint32_t flags;
	int sm;

	memcpy(&flags, data + 48, 4);
	sm = data[8] >= 8 ? flags >> 8 & 0xff : flags & 0xff;
	return sm / 10 == capability() / 10 && sm <= capability() ? 0 : NO_BINARY;
}

static uint64_t elf_size(const unsigned char *data)
{
	uint64_t sections;
	uint16_t size, count;

	memcpy(&sections, data + 40, 8);
	memcpy(&size, data + 58, 2);
	memcpy(&count, data + 60, 2);
	return sections + (uint64_t)size * count;
}

int cuModuleLoadDataEx(void **out, const void *image, unsigned count, int *options, void **values)
{
	int rc = double_fails(__func__);

	(void)count;
	(void)options;
	(void)values;
	*out = (void *)(uintptr_t)image;
	if (rc)
		return rc;
	if (memcmp(image, "\x50\xed\x55\xba", 4) == 0)
		return load_container(image);
	if (memcmp(image,
		   "\x7f"
		   "ELF",
		   4) == 0)
		return load_cubin(image);
	return load_ptx(image);
}

int cuModuleUnload(void *module)
{
	(void)module;
	return double_fails(__func__);
}

int cuModuleGetFunction(void **out, void *module, const char *name)
{
	const char *data = module;
	size_t size = memcmp(data,
			     "\x7f"
			     "ELF",
			     4) == 0
			      ? elf_size(module)
			      : strlen(data);

	*out = NULL;
	if (!holds(data, size, name))
		return NOT_FOUND;
	*out = (void *)(uintptr_t)(strcmp(name, "vectoradd") == 0 ? KERNEL_VECTORADD
				   : strcmp(name, "reduce") == 0  ? KERNEL_REDUCE
								  : KERNEL_NONE);
	return *out ? double_fails(__func__) : NOT_FOUND;
}

int cuMemAlloc_v2(uint64_t *out, size_t bytes)
{
	*out = (uintptr_t)malloc(bytes);
	return *out ? double_fails(__func__) : 2;
}

int cuMemAllocManaged(uint64_t *out, size_t bytes, unsigned flags)
{
	(void)flags;
	*out = (uintptr_t)malloc(bytes);
	return double_fails(__func__);
}

int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
	(void)flags;
	*out = malloc(bytes);
	return double_fails(__func__);
}

/* Copy; where the copy is to be wrong, its last byte stays as it was. */
static int copy(const char *name, void *to, const void *from, size_t bytes)
{
	device_ms += (double)bytes / 1e8;
	memcpy(to, from, bytes - (double_wrong(name) ? 1 : 0));
	return double_fails(name);
}

static void *at(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

int cuMemsetD32_v2(uint64_t to, unsigned value, size_t count)
{
	unsigned *p = at(to);

	for (size_t i = 0; i < count; i++)
		p[i] = value;
	return double_fails(__func__);
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
	return copy(__func__, at(to), from, bytes);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	return copy(__func__, to, at(from), bytes);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	(void)stream;
	return copy(__func__, at(to), from, bytes);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	(void)stream;
	return copy(__func__, to, at(from), bytes);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
	(void)stream;
	return copy(__func__, at(to), at(from), bytes);
}

int cuMemcpyPeer(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes)
{
	(void)to_context;
	(void)from_context;
	return copy(__func__, at(to), at(from), bytes);
}

static void execute(const struct launch *l)
{
	const float *a = at(l->args[0]), *b = at(l->args[1]);
	float *c = at(l->kernel == KERNEL_REDUCE ? l->args[1] : l->args[2]);
	int n = (int)l->args[l->kernel == KERNEL_REDUCE ? 2 : 3];

	device_ms += n / 1e6;
	if ((unsigned)n > l->blocks * 256)
		n = (int)l->blocks * 256;
	for (int i = 0; i < n; i++) {
		if (l->kernel == KERNEL_REDUCE)
			*c += a[i];
		else
			c[i] = a[i] + b[i];
	}
	if (double_wrong("cuLaunchKernel"))
		c[l->kernel == KERNEL_REDUCE ? 0 : n - 1] += 1;
}

static void copy_args(struct launch *l, void **params)
{
	int pointers = l->kernel == KERNEL_REDUCE ? 2 : 3;

	for (int i = 0; i < pointers; i++)
		l->args[i] = *(uint64_t *)params[i];
	l->args[pointers] = (uint64_t) * (int *)params[pointers];
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
	struct launch l = { .kernel = (int)(uintptr_t)function, .blocks = gx };

	(void)shared;
	(void)extra;
	if (gy != 1 || gz != 1 || bx != 256 || by != 1 || bz != 1 || !l.kernel)
		return INVALID;
	copy_args(&l, params);
	if (capturing && stream == captured_stream)
		capturing->launches[capturing->count++ % KERNELS_MAX] = l;
	else
		execute(&l);
	return double_fails(__func__);
}

int cuStreamCreate(void **out, unsigned flags)
{
	(void)flags;
	*out = malloc(1);
	return double_fails(__func__);
}

int cuStreamSynchronize(void *stream)
{
	(void)stream;
	return double_fails(__func__);
}

int cuEventCreate(void **out, unsigned flags)
{
	(void)flags;
	*out = calloc(1, sizeof(double));
	return double_fails(__func__);
}

int cuEventRecord(void *event, void *stream)
{
	(void)stream;
	*(double *)event = device_ms;
	return double_fails(__func__);
}

int cuEventSynchronize(void *event)
{
	(void)event;
	return double_fails(__func__);
}

int cuEventElapsedTime(float *out, void *from, void *to)
{
	*out = (float)(*(double *)to - *(double *)from) * (double_wrong(__func__) ? -1 : 1);
	return double_fails(__func__);
}

int cuDeviceCanAccessPeer(int *out, int device, int peer)
{
	*out = device != peer;
	return double_fails(__func__);
}

int cuCtxEnablePeerAccess(void *context, unsigned flags)
{
	(void)context;
	(void)flags;
	return double_fails(__func__);
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
	(void)mode;
	capturing = calloc(1, sizeof(*capturing));
	captured_stream = stream;
	return double_fails(__func__);
}

int cuStreamEndCapture(void *stream, void **out)
{
	(void)stream;
	*out = capturing;
	capturing = NULL;
	return double_fails(__func__);
}

int cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags)
{
	(void)flags;
	*out = graph;
	return double_fails(__func__);
}

int cuGraphLaunch(void *ready, void *stream)
{
	static int times;
	struct graph *graph = ready;

	(void)stream;
	if (double_wrong(__func__) && ++times == 50)
		return 0; /* one replay is left out */
	for (unsigned i = 0; i < graph->count; i++)
		execute(&graph->launches[i]);
	return double_fails(__func__);
}

int nvmlInit_v2(void)
{
	return double_fails(__func__);
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
	if (size < 12)
		return 7;
	memcpy(out, "580.95.05", 10);
	return double_fails(__func__);
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
	*out = (unsigned)double_number("GPUIMG_DOUBLE_DEVICES", 1);
	return double_fails(__func__);
}

const char *nvmlErrorString(int code)
{
	return code == 18 ? "Driver/library version mismatch" : "the stand-in was told to refuse";
}

/* The runtime's doubles need nothing of this; the real one asks for several hundred names. */
int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status)
{
	(void)name;
	(void)version;
	(void)flags;
	*out = NULL;
	if (status)
		*status = 1;
	return NOT_FOUND;
}
