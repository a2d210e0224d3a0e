/*
 * The run tier: which test has which name; what the driver alone must do.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <string.h>

static bool init_say(struct gpu *g)
{
	static const char hex[] = "0123456789abcdef";
	int device = 0, version = 0;
	unsigned char uuid[16] = { 0 };
	char name[128] = "", capability[32], uuid_text[40] = "";
	struct say s;

	GPU_TRY(g, device_get, &device, 0);
	GPU_TRY(g, device_name, name, sizeof(name), device);
	GPU_TRY(g, device_attribute, &g->major, DEVICE_CAPABILITY_MAJOR, device);
	GPU_TRY(g, device_attribute, &g->minor, DEVICE_CAPABILITY_MINOR, device);
	GPU_TRY(g, device_uuid, uuid, device);
	GPU_TRY(g, version, &version);
	put_text(capability, sizeof(capability), "%d.%d", g->major, g->minor);
	for (size_t i = 0, at = 0; i < sizeof(uuid); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			uuid_text[at++] = '-';
		uuid_text[at++] = hex[uuid[i] >> 4];
		uuid_text[at++] = hex[uuid[i] & 15];
	}
	result_begin(&s, g->check, "pass");
	say_int(&s, "devices", g->count);
	say_str(&s, "device", name);
	say_str(&s, "uuid", uuid_text);
	say_str(&s, "compute_capability", capability);
	say_int(&s, "driver_api", version);
	say_library(&s, g->check, g->d.handle);
	say_end(&s);
	return true;
}

/* The driver that was injected is the one that loads, and it finds a device. */
void run_init(const struct check *check)
{
	struct gpu g;

	if (gpu_open(check, &g))
		init_say(&g);
}

struct nvml {
	void *handle;
	GPU_API_NVML(API_FIELD)
};
API_OPEN(nvml, GPU_API_NVML)

#define NVML_TRY(call, name)                                                              \
	do {                                                                              \
		int nvml_rc = (call);                                                     \
                                                                                          \
		if (nvml_rc)                                                              \
			return library_refused(check, nvml.handle, "nvml", name, nvml_rc, \
					       nvml.error_string(nvml_rc));               \
	} while (0)

static bool nvml_test(const struct check *check)
{
	struct nvml nvml = { 0 };
	unsigned count = 0;
	char version[96] = "";
	struct say s;

	if (!nvml_open(check, "libnvidia-ml.so.1", &nvml))
		return false;
	NVML_TRY(nvml.init(), "nvmlInit");
	NVML_TRY(nvml.driver_version(version, sizeof(version)), "nvmlSystemGetDriverVersion");
	NVML_TRY(nvml.device_count(&count), "nvmlDeviceGetCount");
	result_begin(&s, check, "pass");
	say_str(&s, "driver_version", version);
	say_int(&s, "devices", (long)count);
	say_library(&s, check, nvml.handle);
	say_end(&s);
	return true;
}

/* The "utility" capability was injected, and agrees with the kernel module. */
void run_nvml(const struct check *check)
{
	const char *text;

	if (!library_open(check, "libcuda.so.1")) /* no driver at all */
		return;
	text = dlopen("libnvidia-ml.so.1", RTLD_NOW) ? NULL : dlerror();
	if (text && strncmp(text, "libnvidia-ml.so.1: cannot open", 30) == 0)
		result_skip(check, "not-requested",
			    "libnvidia-ml.so.1 was not injected: NVIDIA_DRIVER_CAPABILITIES lacks "
			    "\"utility\"");
	else
		nvml_test(check);
}

static bool vadd_test(const struct gpu *g, const void *image, const char *code)
{
	size_t bytes = GPU_ELEMENTS * sizeof(float);
	float *a = host_buffer(g->check, 4 * bytes), *b = a + GPU_ELEMENTS;
	uint64_t da, db, dc;
	void *function;
	struct say s;

	gpu_fill(a, b);
	for (int i = 0; i < GPU_ELEMENTS; i++)
		b[2 * GPU_ELEMENTS + i] = a[i] + b[i];
	if (!gpu_kernel_of(g, image, "vectoradd", &function) || !gpu_buffer(g, a, bytes, &da) ||
	    !gpu_buffer(g, b, bytes, &db) || !gpu_buffer(g, NULL, bytes, &dc) ||
	    !gpu_vectoradd(g, function, da, db, dc, NULL) ||
	    !gpu_read(g, dc, b + GPU_ELEMENTS, bytes) ||
	    !gpu_equal(g->check, b + GPU_ELEMENTS, b + 2 * GPU_ELEMENTS, GPU_ELEMENTS))
		return false;
	result_begin(&s, g->check, "pass");
	say_str(&s, "code_loaded", code);
	say_int(&s, "elements", GPU_ELEMENTS);
	say_library(&s, g->check, g->d.handle);
	say_end(&s);
	return true;
}

/* Context, memory and launch work: machine code runs. */
void run_vadd_cubin(const struct check *check)
{
	struct gpu g;
	const void *image;
	char text[96];
	int sm;

	if (!gpu_begin(check, &g))
		return;
	image = gpu_cubin(g.major, g.minor, &sm);
	put_text(text, sizeof(text), "the test carries no machine code for capability %d.%d",
		 g.major, g.minor);
	if (!image) {
		result_skip(check, "device-lacks-feature", text);
		return;
	}
	put_text(text, sizeof(text), "sm_%d", sm);
	vadd_test(&g, image, text);
}

/* The driver's compiler was injected, and the image's environment does not switch it off. */
void run_vadd_ptx(const struct check *check)
{
	struct gpu g;

	if (gpu_begin(check, &g))
		vadd_test(&g, kernel_vectoradd_ptx, "PTX 6.0");
}

static bool reduce_test(struct gpu *g)
{
	enum { COUNT = 1 << 20, BLOCK = 256 };
	float *in = host_buffer(g->check, COUNT * sizeof(*in)), sum = 0, want = 0;
	uint64_t device_in, device_sum;
	void *function;
	int n = COUNT;
	void *params[] = { &device_in, &device_sum, &n };

	if (!gpu_kernel(g, "reduce", &function))
		return false;
	for (int i = 0; i < COUNT; i++) {
		in[i] = (float)(i % 5); /* the sum stays below 2^24 */
		want += in[i];
	}
	if (!gpu_buffer(g, in, COUNT * sizeof(*in), &device_in) ||
	    !gpu_buffer(g, NULL, sizeof(sum), &device_sum))
		return false;
	GPU_TRY(g, launch, function, COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, params, NULL);
	if (!gpu_read(g, device_sum, &sum, sizeof(sum)) || !gpu_equal(g->check, &sum, &want, 1))
		return false;
	gpu_pass(g->check, g->d.handle, "elements", COUNT);
	return true;
}

/* Shared memory, barriers and atomics. */
void run_reduce(const struct check *check)
{
	struct gpu g;

	if (gpu_begin(check, &g))
		reduce_test(&g);
}

static const struct check_entry run_checks[] = {
	{ "init", run_init },
	{ "nvml", run_nvml },
	{ "vadd-cubin", run_vadd_cubin },
	{ "vadd-ptx", run_vadd_ptx },
	{ "reduce", run_reduce },
	{ "pinned-overlap", run_pinned_overlap },
	{ "graph", run_graph },
	{ "managed", run_managed },
	{ "p2p", run_p2p },
	{ "bandwidth", run_bandwidth },
	{ "cudart", run_cudart },
	{ "cublas-sgemm", run_cublas_sgemm },
	{ "cublaslt-tf32", run_cublaslt_tf32 },
	{ "cublaslt-bf16", run_cublaslt_bf16 },
	{ "cublaslt-fp8", run_cublaslt_fp8 },
	{ "cudnn-conv", run_cudnn_conv },
	{ "cufft", run_cufft },
	{ "curand", run_curand },
	{ "cusolver", run_cusolver },
	{ "cusparse", run_cusparse },
	{ "nvrtc-run", run_nvrtc },
	{ "nccl-allreduce", run_nccl },
	{ "own-code", run_own_code },
};

check_fn *check_run_find(const char *name)
{
	for (size_t i = 0; i < sizeof(run_checks) / sizeof(run_checks[0]); i++) {
		if (strcmp(run_checks[i].name, name) == 0)
			return run_checks[i].run;
	}
	return NULL;
}
