/*
 * Code that is not ours: through the image's runtime, made by the image's compiler, and the image's
 * own.
 */
#include "gpu.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cudart {
	void *handle;
	GPU_API_CUDART(API_FIELD)
};
API_OPEN(cudart, GPU_API_CUDART)

#define CUDART_TRY(call, name)                                                                     \
	do {                                                                                       \
		int cudart_rc = (call);                                                            \
                                                                                                   \
		if (cudart_rc)                                                                     \
			return library_refused(g->check, rt->handle, "libcudart", name, cudart_rc, \
					       rt->error_name(cudart_rc));                         \
	} while (0)

/* Memory of the runtime, a kernel of the driver: both use one context. */
static bool cudart_test(const struct gpu *g, const struct cudart *rt)
{
	size_t bytes = GPU_ELEMENTS * sizeof(float), half = bytes / 2;
	float *a = host_buffer(g->check, 4 * bytes), *b = a + GPU_ELEMENTS, *got = b + GPU_ELEMENTS,
	      *want = got + GPU_ELEMENTS;
	void *da = NULL, *db = NULL, *dc = NULL, *function;

	if (!gpu_kernel(g, "vectoradd", &function))
		return false;
	gpu_fill(a, b);
	for (size_t i = 0; i < GPU_ELEMENTS; i++)
		want[i] = i < GPU_ELEMENTS / 2 ? b[i] : a[i] + b[i];
	CUDART_TRY(rt->set_device(0), "cudaSetDevice");
	CUDART_TRY(rt->alloc(&da, bytes), "cudaMalloc");
	CUDART_TRY(rt->alloc(&db, bytes), "cudaMalloc");
	CUDART_TRY(rt->alloc(&dc, bytes), "cudaMalloc");
	CUDART_TRY(rt->copy(da, a, bytes, COPY_TO_DEVICE), "cudaMemcpy");
	CUDART_TRY(rt->copy(db, b, bytes, COPY_TO_DEVICE), "cudaMemcpy");
	CUDART_TRY(rt->set(da, 0, half), "cudaMemset");
	if (!gpu_vectoradd(g, function, (uintptr_t)da, (uintptr_t)db, (uintptr_t)dc, NULL))
		return false;
	CUDART_TRY(rt->sync(), "cudaDeviceSynchronize");
	CUDART_TRY(rt->copy(got, dc, bytes, COPY_TO_HOST), "cudaMemcpy");
	CUDART_TRY(rt->free(da), "cudaFree");
	if (!gpu_equal(g->check, got, want, GPU_ELEMENTS))
		return false;
	gpu_pass(g->check, rt->handle, "elements", GPU_ELEMENTS);
	return true;
}

/* args: libcudart. The runtime and the driver make a pair. */
void run_cudart(const struct check *check)
{
	struct cudart rt = { 0 };
	struct gpu g;

	if (gpu_begin(check, &g) && cudart_open(check, check->args[0], &rt))
		cudart_test(&g, &rt);
}

struct nvrtc {
	void *handle;
	GPU_API_NVRTC(API_FIELD)
};
API_OPEN(nvrtc, GPU_API_NVRTC)

static bool nvrtc_refused(const struct gpu *g, const struct nvrtc *n, void *program, int code,
			  const char *target)
{
	char log[1024] = "", call[96];
	size_t size = 0;

	if (program && !n->log_size(program, &size) && size && size < sizeof(log))
		n->log(program, log);
	put_text(call, sizeof(call), "nvrtcCompileProgram for %s", target);
	return library_refused(g->check, n->handle, "libnvrtc", call, code, log);
}

/* "sm_90" where this nvrtc knows the device, else PTX for the newest that it knows below it. */
static bool nvrtc_target(const struct gpu *g, const struct nvrtc *n, char *out, size_t size)
{
	int archs[128] = { 0 }, count = 0, best = 0, own = 10 * g->major + g->minor;

	LIBRARY_TRY(g->check, n, "libnvrtc", "nvrtcGetNumSupportedArchs", n->arch_count(&count));
	if (count > 128)
		count = 0;
	LIBRARY_TRY(g->check, n, "libnvrtc", "nvrtcGetSupportedArchs", n->archs(archs));
	for (int i = 0; i < count; i++) {
		if (archs[i] <= own && archs[i] > best)
			best = archs[i];
	}
	put_text(out, size, "%s_%d", best == own ? "sm" : "compute", best);
	return true;
}

static bool nvrtc_make(const struct gpu *g, const struct nvrtc *n, const char *target, char **out)
{
	bool cubin = target[0] == 's';
	char option[96];
	const char *options[] = { option };
	void *program = NULL;
	size_t size = 0;
	int rc;

	put_text(option, sizeof(option), "--gpu-architecture=%s", target);
	rc = n->create(&program, kernel_vectoradd_cu, "vectoradd.cu", 0, NULL, NULL);
	if (!rc)
		rc = n->compile(program, 1, options);
	if (rc)
		return nvrtc_refused(g, n, program, rc, target);
	LIBRARY_TRY(g->check, n, "libnvrtc", cubin ? "nvrtcGetCUBINSize" : "nvrtcGetPTXSize",
		    (cubin ? n->cubin_size : n->ptx_size)(program, &size));
	*out = host_buffer(g->check, size + 1);
	LIBRARY_TRY(g->check, n, "libnvrtc", cubin ? "nvrtcGetCUBIN" : "nvrtcGetPTX",
		    (cubin ? n->cubin : n->ptx)(program, *out));
	return true;
}

static bool nvrtc_test(const struct gpu *g, const struct nvrtc *n)
{
	size_t bytes = GPU_ELEMENTS * sizeof(float);
	float *a = host_buffer(g->check, 4 * bytes), *b = a + GPU_ELEMENTS, *got = b + GPU_ELEMENTS,
	      *want = got + GPU_ELEMENTS;
	char target[32], *image = NULL;
	uint64_t da, db, dc;
	void *function;
	struct say s;

	if (!nvrtc_target(g, n, target, sizeof(target)) || !nvrtc_make(g, n, target, &image) ||
	    !gpu_kernel_of(g, image, "vectoradd", &function))
		return false;
	gpu_fill(a, b);
	for (size_t i = 0; i < GPU_ELEMENTS; i++)
		want[i] = a[i] + b[i];
	if (!gpu_buffer(g, a, bytes, &da) || !gpu_buffer(g, b, bytes, &db) ||
	    !gpu_buffer(g, NULL, bytes, &dc) || !gpu_vectoradd(g, function, da, db, dc, NULL) ||
	    !gpu_read(g, dc, got, bytes) || !gpu_equal(g->check, got, want, GPU_ELEMENTS))
		return false;
	result_begin(&s, g->check, "pass");
	say_str(&s, "compiled_for", target);
	say_library(&s, g->check, n->handle);
	say_end(&s);
	return true;
}

/* args: libnvrtc. What programs do that compile as they run: source to numbers. */
void run_nvrtc(const struct check *check)
{
	struct nvrtc n = { 0 };
	struct gpu g;

	if (gpu_begin(check, &g) && nvrtc_open(check, check->args[0], &n))
		nvrtc_test(&g, &n);
}

static const char *number(const char *text, uint64_t *out)
{
	for (*out = 0; *text >= '0' && *text <= '9'; text++)
		*out = *out * 10 + (uint64_t)(*text - '0');
	return text;
}

/* The container "OFFSET:BYTES" of the file. NULL after a result line. */
static void *container_read(const struct check *check, int fd, const char *where)
{
	uint64_t offset, bytes, at = 0;
	char *data;

	where = number(where, &offset);
	number(*where == ':' ? where + 1 : where, &bytes);
	data = host_buffer(check, bytes + 1);
	while (at < bytes) {
		ssize_t n = pread(fd, data + at, bytes - at, (off_t)(offset + at));

		if (n <= 0) {
			result_fail(check, "file", "its GPU code cannot be read");
			return NULL;
		}
		at += (uint64_t)n;
	}
	return data;
}

static bool own_code_say(const struct gpu *g, long loaded, long refused, int code,
			 const char *where)
{
	char call[4200];
	struct say s;

	put_text(call, sizeof(call), "cuModuleLoadDataEx of the GPU code of %s at %s",
		 g->check->args[0], where);
	if (!loaded && refused)
		return gpu_refused(g, call, code);
	result_begin(&s, g->check, "pass");
	say_int(&s, "loaded", loaded);
	say_int(&s, "refused", refused);
	if (refused) {
		say_str(&s, "first_refused", where);
		say_int(&s, "refused_with", code);
	}
	say_library(&s, g->check, g->d.handle);
	say_end(&s);
	return true;
}

/*
 * args: a file of the image, then where its GPU code lies in it. Code for one architecture alone
 * may be refused on another; a file none of whose code is taken has nothing for this device.
 */
static bool own_code_test(const struct gpu *g)
{
	const struct check *check = g->check;
	const char *where = "";
	char path[4096];
	long loaded = 0, refused = 0;
	int fd, first = 0;

	put_text(path, sizeof(path), "%s%s", check->root, check->args[0]);
	fd = open(path, O_RDONLY);
	if (fd < 0) {
		result_fail(check, "file", "it cannot be opened");
		return false;
	}
	for (size_t i = 1; i < check->count; i++) {
		void *module = NULL, *image = container_read(check, fd, check->args[i]);
		int rc;

		if (!image)
			return false;
		rc = g->d.module_load(&module, image, 0, NULL, NULL);
		if (!rc)
			g->d.module_unload(module);
		if (rc && !refused++) {
			first = rc;
			where = check->args[i];
		}
		loaded += !rc;
		free(image);
	}
	return own_code_say(g, loaded, refused, first, where);
}

void run_own_code(const struct check *check)
{
	struct gpu g;

	if (gpu_begin(check, &g))
		own_code_test(&g);
}
