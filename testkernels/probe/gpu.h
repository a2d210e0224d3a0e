/*
 * What the tests of the run tier share: the driver with the first device's primary context current
 * (which the image's libraries then use too), memory on the device, our kernels, and the lines that
 * say what went wrong.
 *
 * A function that returns false has said a result line; the test then ends. Nothing is released:
 * each test is a process of its own.
 */
#ifndef TESTKERNELS_PROBE_GPU_H
#define TESTKERNELS_PROBE_GPU_H

#include "gpu_api.h"
#include "probe.h"

#define API_FIELD(result, field, name, parameters) result(*field) parameters;

/* "bool T_open(check, library, api)": open it and look up its functions; T is a structure with
 * `handle` and the fields of the table. */
#define API_LOAD(result, field, name, parameters)                                \
	api->field = (__typeof__(api->field))library_symbol(api->handle, #name); \
	missing = api->field ? missing : #name;
#define API_OPEN(type, table)                                                                     \
	static bool type##_open(const struct check *check, const char *library, struct type *api) \
	{                                                                                         \
		const char *missing = NULL;                                                       \
                                                                                                  \
		api->handle = library_open(check, library);                                       \
		if (!api->handle)                                                                 \
			return false;                                                             \
		table(API_LOAD) return !missing || library_lacks(check, library, missing);        \
	}

struct driver {
	void *handle;
	GPU_API_DRIVER(API_FIELD)
};

struct gpu {
	const struct check *check;
	struct driver d;
	int count;        /* of devices */
	int major, minor; /* compute capability of the first */
	void *context;    /* its primary context, current */
};

/* Open the driver and start it: no context yet. */
bool gpu_open(const struct check *check, struct gpu *out);
/* The same, with the first device's context. */
bool gpu_begin(const struct check *check, struct gpu *out);

/* The line for a call of the driver that refused. Always false. */
bool gpu_refused(const struct gpu *g, const char *call, int code);
/* The same for a library: `domain` is its stem, `text` its own explanation or "". */
bool library_refused(const struct check *check, void *handle, const char *domain, const char *call,
		     int code, const char *text);
bool library_lacks(const struct check *check, const char *library, const char *function);
/* The line of a test that passed; `handle` is the library under test, `count` of what `key` says.
 */
void gpu_pass(const struct check *check, void *handle, const char *key, long count);

#define GPU_TRY(g, field, ...)                                               \
	do {                                                                 \
		int gpu_try_rc = (g)->d.field(__VA_ARGS__);                  \
                                                                             \
		if (gpu_try_rc)                                              \
			return gpu_refused(g, gpu_name_##field, gpu_try_rc); \
	} while (0)
#define API_NAME(result, field, name, parameters) \
	static const char gpu_name_##field[] __attribute__((unused)) = #name;
GPU_API_DRIVER(API_NAME)

#define LIBRARY_TRY(check, api, domain, name, call)                                                \
	do {                                                                                       \
		int library_try_rc = (call);                                                       \
                                                                                                   \
		if (library_try_rc)                                                                \
			return library_refused(check, (api)->handle, domain, name, library_try_rc, \
					       "");                                                \
	} while (0)

/* `bytes` on the device that hold what `from` does, or zeros when that is NULL. */
bool gpu_buffer(const struct gpu *g, const void *from, size_t bytes, uint64_t *out);
/* Wait for all work, then bring `bytes` back. */
bool gpu_read(const struct gpu *g, uint64_t from, void *to, size_t bytes);
static inline void *gpu_pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

enum { GPU_ELEMENTS = 4096 };

/* Our kernel of that name ("vectoradd", "reduce"): machine code where there is some for the device,
 * else PTX. */
bool gpu_kernel(const struct gpu *g, const char *name, void **out);
/* From a module's bytes: a cubin, or PTX with its NUL. */
bool gpu_kernel_of(const struct gpu *g, const void *image, const char *name, void **out);
/* The cubin for that capability, or NULL when we carry none; `out_sm` is its architecture. */
const void *gpu_cubin(int major, int minor, int *out_sm);
/* c[i] = a[i] + b[i], GPU_ELEMENTS of them. */
bool gpu_vectoradd(const struct gpu *g, void *function, uint64_t a, uint64_t b, uint64_t c,
		   void *stream);
/* Whole numbers: sums of them in floats are exact, so no tolerance is needed. */
void gpu_fill(float *a, float *b);

/* `got` is what it should be, or the line that says where it is not. */
bool gpu_equal(const struct check *check, const float *got, const float *want, size_t count);
bool gpu_wrong(const struct check *check, size_t at, size_t count, double got, double want);

/* Memory of the host, zeroed. When there is none that is the result, and the test's process ends.
 */
void *host_buffer(const struct check *check, size_t bytes);

/* One test each. */
check_fn run_init, run_nvml, run_vadd_cubin, run_vadd_ptx, run_reduce, run_pinned_overlap,
	run_graph, run_managed, run_p2p, run_bandwidth, run_cudart, run_cublas_sgemm,
	run_cublaslt_tf32, run_cublaslt_bf16, run_cublaslt_fp8, run_cudnn_conv, run_cufft,
	run_curand, run_cusolver, run_cusparse, run_nvrtc, run_nccl, run_own_code;

#endif
