#include "gpu.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

API_OPEN(driver, GPU_API_DRIVER)

bool library_lacks(const struct check *check, const char *library, const char *function)
{
	char text[256];

	put_text(text, sizeof(text), "%s has no function %s", library, function);
	result_fail(check, "symbol", text);
	return false;
}

void gpu_pass(const struct check *check, void *handle, const char *key, long count)
{
	struct say s;

	result_begin(&s, check, "pass");
	say_int(&s, key, count);
	say_library(&s, check, handle);
	say_end(&s);
}

bool gpu_refused(const struct gpu *g, const char *call, int code)
{
	const char *name = NULL;
	struct say s;
	int version = 0;

	result_begin(&s, g->check, "fail");
	say_str(&s, "kind", "call");
	say_str(&s, "domain", "driver");
	say_str(&s, "call", call);
	say_int(&s, "code", code);
	if (g->d.error_name(code, &name) == 0 && name)
		say_str(&s, "code_name", name);
	if (g->d.version(&version) == 0)
		say_int(&s, "driver_api", version);
	say_library(&s, g->check, g->d.handle);
	say_end(&s);
	return false;
}

bool library_refused(const struct check *check, void *handle, const char *domain, const char *call,
		     int code, const char *text)
{
	struct say s;

	result_begin(&s, check, "fail");
	say_str(&s, "kind", "call");
	say_str(&s, "domain", domain);
	say_str(&s, "call", call);
	say_int(&s, "code", code);
	say_str(&s, "message", text);
	say_library(&s, check, handle);
	say_end(&s);
	return false;
}

bool gpu_open(const struct check *check, struct gpu *g)
{
	memset(g, 0, sizeof(*g));
	g->check = check;
	if (!driver_open(check, "libcuda.so.1", &g->d))
		return false;
	GPU_TRY(g, init, 0);
	GPU_TRY(g, device_count, &g->count);
	return g->count > 0 || gpu_refused(g, gpu_name_device_count, 100);
}

bool gpu_begin(const struct check *check, struct gpu *g)
{
	int device = 0;

	if (!gpu_open(check, g))
		return false;
	GPU_TRY(g, device_get, &device, 0);
	GPU_TRY(g, device_attribute, &g->major, DEVICE_CAPABILITY_MAJOR, device);
	GPU_TRY(g, device_attribute, &g->minor, DEVICE_CAPABILITY_MINOR, device);
	GPU_TRY(g, context_retain, &g->context, device);
	GPU_TRY(g, context_set, g->context);
	return true;
}

void *host_buffer(const struct check *check, size_t bytes)
{
	void *p = calloc(1, bytes);

	if (p)
		return p;
	result_fail(check, "host", "there is no memory");
	_exit(0);
}

bool gpu_buffer(const struct gpu *g, const void *from, size_t bytes, uint64_t *out)
{
	GPU_TRY(g, alloc, out, bytes);
	if (from)
		GPU_TRY(g, to_device, *out, from, bytes);
	else
		GPU_TRY(g, set, *out, 0, bytes / 4);
	return true;
}

bool gpu_read(const struct gpu *g, uint64_t from, void *to, size_t bytes)
{
	GPU_TRY(g, context_sync);
	GPU_TRY(g, to_host, to, from, bytes);
	return true;
}

static uint64_t number_at(const unsigned char *p, unsigned bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | p[bytes];
	return n;
}

/*
 * Our fat binary holds plain cubins only: container header of 16 bytes, then entries of a header
 * (its size at 4, the payload's at 8, the architecture at 28) and a payload. Code for X.y runs on
 * X.z with z not below y.
 */
const void *gpu_cubin(int major, int minor, int *out_sm)
{
	const unsigned char *p = kernel_fatbin + 16, *end = kernel_fatbin + kernel_fatbin_size;
	const void *found = NULL;

	*out_sm = 0;
	while (p + 64 <= end) {
		uint64_t head = number_at(p + 4, 4), payload = number_at(p + 8, 8);
		int sm = (int)number_at(p + 28, 4);

		if (head < 64 || payload > (uint64_t)(end - p) ||
		    head > (uint64_t)(end - p) - payload)
			break;
		if (sm / 10 == major && sm % 10 <= minor && sm > *out_sm) {
			*out_sm = sm;
			found = p + head;
		}
		p += head + payload;
	}
	return found;
}

bool gpu_kernel_of(const struct gpu *g, const void *image, const char *name, void **out)
{
	void *module = NULL;

	GPU_TRY(g, module_load, &module, image, 0, NULL, NULL);
	GPU_TRY(g, module_function, out, module, name);
	return true;
}

bool gpu_kernel(const struct gpu *g, const char *name, void **out)
{
	int sm;
	const void *image = gpu_cubin(g->major, g->minor, &sm);

	if (!image)
		image = strcmp(name, "reduce") == 0 ? kernel_reduce_ptx : kernel_vectoradd_ptx;
	return gpu_kernel_of(g, image, name, out);
}

bool gpu_vectoradd(const struct gpu *g, void *function, uint64_t a, uint64_t b, uint64_t c,
		   void *stream)
{
	enum { BLOCK = 256 };
	int n = GPU_ELEMENTS;
	void *params[] = { &a, &b, &c, &n };

	GPU_TRY(g, launch, function, GPU_ELEMENTS / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, params,
		NULL);
	return true;
}

void gpu_fill(float *a, float *b)
{
	for (int i = 0; i < GPU_ELEMENTS; i++) {
		a[i] = (float)(i % 1024);
		b[i] = (float)(3 * (i % 511));
	}
}

bool gpu_wrong(const struct check *check, size_t at, size_t count, double got, double want)
{
	char text[160];

	put_text(text, sizeof(text), "element %lu of %lu is wrong: %g instead of %g",
		 (unsigned long)at, (unsigned long)count, got, want);
	result_fail(check, "wrong-numbers", text);
	return false;
}

bool gpu_equal(const struct check *check, const float *got, const float *want, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (got[i] != want[i])
			return gpu_wrong(check, i, count, (double)got[i], (double)want[i]);
	}
	return true;
}
