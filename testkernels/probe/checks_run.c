/*
 * The run tier: kernels on the GPU, through the driver library that was injected.
 */
#include "probe.h"

#include <stdlib.h>
#include <string.h>

/* Of cuda.h; the _v2 forms are what its names stand for. */
struct driver {
	void *handle;
	int (*init)(unsigned);
	int (*version)(int *);
	int (*device_count)(int *);
	int (*device_get)(int *, int);
	int (*device_name)(char *, int, int);
	int (*device_attribute)(int *, int, int);
	int (*error_name)(int, const char **);
	int (*context_retain)(void **, int);
	int (*context_set)(void *);
	int (*context_sync)(void);
	int (*module_load)(void **, const void *, unsigned, int *, void **);
	int (*module_function)(void **, void *, const char *);
	int (*alloc)(uint64_t *, size_t);
	int (*to_device)(uint64_t, const void *, size_t);
	int (*to_host)(void *, uint64_t, size_t);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
};

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, ELEMENTS = 4096, BLOCK = 256 };

#define LOAD(field, name)                                                         \
	do {                                                                      \
		d->field = (__typeof__(d->field))library_symbol(d->handle, name); \
		if (!d->field)                                                    \
			missing = name;                                           \
	} while (0)

static bool driver_open(const struct check *check, struct driver *d)
{
	const char *missing = NULL;
	char text[128];

	d->handle = library_open(check, "libcuda.so.1");
	if (!d->handle)
		return false;
	LOAD(init, "cuInit");
	LOAD(version, "cuDriverGetVersion");
	LOAD(device_count, "cuDeviceGetCount");
	LOAD(device_get, "cuDeviceGet");
	LOAD(device_name, "cuDeviceGetName");
	LOAD(device_attribute, "cuDeviceGetAttribute");
	LOAD(error_name, "cuGetErrorName");
	LOAD(context_retain, "cuDevicePrimaryCtxRetain");
	LOAD(context_set, "cuCtxSetCurrent");
	LOAD(context_sync, "cuCtxSynchronize");
	LOAD(module_load, "cuModuleLoadDataEx");
	LOAD(module_function, "cuModuleGetFunction");
	LOAD(alloc, "cuMemAlloc_v2");
	LOAD(to_device, "cuMemcpyHtoD_v2");
	LOAD(to_host, "cuMemcpyDtoH_v2");
	LOAD(launch, "cuLaunchKernel");
	if (!missing)
		return true;
	put_text(text, sizeof(text), "libcuda.so.1 has no function %s", missing);
	result_fail(check, "symbol", text);
	return false;
}

/* Say which library refused, what and with which code. Returns false. */
static bool refused(const struct check *check, const struct driver *d, const char *call, int code)
{
	const char *name = NULL;
	struct say s;
	int version = 0;

	result_begin(&s, check, "fail");
	say_str(&s, "kind", "call");
	say_str(&s, "domain", "driver");
	say_str(&s, "call", call);
	say_int(&s, "code", code);
	if (d->error_name(code, &name) == 0 && name)
		say_str(&s, "code_name", name);
	if (d->version(&version) == 0)
		say_int(&s, "driver_api", version);
	say_library(&s, check, d->handle);
	say_end(&s);
	return false;
}

#define TRY(call, name)                                         \
	do {                                                    \
		int try_rc = (call);                            \
                                                                \
		if (try_rc)                                     \
			return refused(check, d, name, try_rc); \
	} while (0)

static bool driver_init(const struct check *check, struct driver *d, int *out_count)
{
	if (!driver_open(check, d))
		return false;
	TRY(d->init(0), "cuInit");
	TRY(d->device_count(out_count), "cuDeviceGetCount");
	if (*out_count > 0)
		return true;
	return refused(check, d, "cuDeviceGetCount", 100);
}

static bool device_say(const struct check *check, struct driver *d, int count)
{
	int device = 0, major = 0, minor = 0, version = 0;
	char name[128] = "", capability[32];
	struct say s;

	TRY(d->device_get(&device, 0), "cuDeviceGet");
	TRY(d->device_name(name, sizeof(name), device), "cuDeviceGetName");
	TRY(d->device_attribute(&major, CAPABILITY_MAJOR, device), "cuDeviceGetAttribute");
	TRY(d->device_attribute(&minor, CAPABILITY_MINOR, device), "cuDeviceGetAttribute");
	TRY(d->version(&version), "cuDriverGetVersion");
	put_text(capability, sizeof(capability), "%d.%d", major, minor);
	result_begin(&s, check, "pass");
	say_int(&s, "devices", count);
	say_str(&s, "device", name);
	say_str(&s, "compute_capability", capability);
	say_int(&s, "driver_api", version);
	say_library(&s, check, d->handle);
	say_end(&s);
	return true;
}

static void check_init(const struct check *check)
{
	struct driver d = { 0 };
	int count = 0;

	if (driver_init(check, &d, &count))
		device_say(check, &d, count);
}

/* Whole numbers in floats: sums are exact, so no tolerance is needed. */
static void fill(float *a, float *b)
{
	for (int i = 0; i < ELEMENTS; i++) {
		a[i] = (float)(i % 1024);
		b[i] = (float)(3 * (i % 511));
	}
}

static bool vector_add(const struct check *check, struct driver *d, const void *image, float *a,
		       float *b, float *c)
{
	size_t bytes = ELEMENTS * sizeof(float);
	uint64_t da = 0, db = 0, dc = 0;
	void *context = NULL, *module = NULL, *function = NULL;
	int device = 0, n = ELEMENTS;
	void *params[] = { &da, &db, &dc, &n };

	TRY(d->device_get(&device, 0), "cuDeviceGet");
	TRY(d->context_retain(&context, device), "cuDevicePrimaryCtxRetain");
	TRY(d->context_set(context), "cuCtxSetCurrent");
	TRY(d->module_load(&module, image, 0, NULL, NULL), "cuModuleLoadDataEx");
	TRY(d->module_function(&function, module, "vectoradd"), "cuModuleGetFunction");
	TRY(d->alloc(&da, bytes), "cuMemAlloc");
	TRY(d->alloc(&db, bytes), "cuMemAlloc");
	TRY(d->alloc(&dc, bytes), "cuMemAlloc");
	TRY(d->to_device(da, a, bytes), "cuMemcpyHtoD");
	TRY(d->to_device(db, b, bytes), "cuMemcpyHtoD");
	TRY(d->launch(function, ELEMENTS / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, params, NULL),
	    "cuLaunchKernel");
	TRY(d->context_sync(), "cuCtxSynchronize");
	TRY(d->to_host(c, dc, bytes), "cuMemcpyDtoH");
	return true;
}

static void check_vadd_ptx(const struct check *check)
{
	float *data = malloc(3 * ELEMENTS * sizeof(float));
	float *a = data, *b = data + ELEMENTS, *c = data + 2 * ELEMENTS;
	struct driver d = { 0 };
	struct say s;
	int count = 0;
	char text[128];

	if (!data || !driver_init(check, &d, &count))
		return;
	fill(a, b);
	if (!vector_add(check, &d, kernel_vectoradd_ptx, a, b, c))
		return;
	for (int i = 0; i < ELEMENTS; i++) {
		if (c[i] == a[i] + b[i])
			continue;
		put_text(text, sizeof(text), "element %d of %d is wrong: %d instead of %d", i,
			 ELEMENTS, (int)c[i], (int)(a[i] + b[i]));
		result_fail(check, "wrong-numbers", text);
		return;
	}
	result_begin(&s, check, "pass");
	say_int(&s, "elements", ELEMENTS);
	say_library(&s, check, d.handle);
	say_end(&s);
}

static const struct check_entry run_checks[] = {
	{ "init", check_init },
	{ "vadd-ptx", check_vadd_ptx },
};

check_fn *check_run_find(const char *name)
{
	for (size_t i = 0; i < sizeof(run_checks) / sizeof(run_checks[0]); i++) {
		if (strcmp(run_checks[i].name, name) == 0)
			return run_checks[i].run;
	}
	return NULL;
}
