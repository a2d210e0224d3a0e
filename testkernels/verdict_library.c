#include "testkernels/verdict_library.h"

#include "base/base.h"
#include "base/slice.h"

#define NO_CODE "it has no code that this GPU can run"
#define NO_START "it does not start, although the driver does"
#define NO_MEMORY "there is no memory left"
#define NEWER "use a version of the library that is made for this GPU"
#define SAME_SET "install the library and those it needs from one release of CUDA"
#define SEE_USE "see what else uses the device's memory"

static const struct library_status statuses[] = {
	{ "libcublas", 1, "CUBLAS_STATUS_NOT_INITIALIZED", BLAME_IMAGE, NO_START, SAME_SET },
	{ "libcublas", 3, "CUBLAS_STATUS_ALLOC_FAILED", BLAME_HOST, NO_MEMORY, SEE_USE },
	{ "libcublas", 8, "CUBLAS_STATUS_ARCH_MISMATCH", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcublas", 13, "CUBLAS_STATUS_EXECUTION_FAILED", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcublas", 14, "CUBLAS_STATUS_INTERNAL_ERROR", BLAME_IMAGE, NULL, SAME_SET },
	{ "libcublas", 15, "CUBLAS_STATUS_NOT_SUPPORTED", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcublasLt", 1, "CUBLAS_STATUS_NOT_INITIALIZED", BLAME_IMAGE, NO_START, SAME_SET },
	{ "libcublasLt", 3, "CUBLAS_STATUS_ALLOC_FAILED", BLAME_HOST, NO_MEMORY, SEE_USE },
	{ "libcublasLt", 8, "CUBLAS_STATUS_ARCH_MISMATCH", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcublasLt", 13, "CUBLAS_STATUS_EXECUTION_FAILED", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcublasLt", 14, "CUBLAS_STATUS_INTERNAL_ERROR", BLAME_IMAGE, NULL, SAME_SET },
	{ "libcublasLt", 15, "CUBLAS_STATUS_NOT_SUPPORTED", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcudnn", 1001, "CUDNN_STATUS_NOT_INITIALIZED", BLAME_IMAGE, NO_START, SAME_SET },
	{ "libcudnn", 1008, "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED", BLAME_IMAGE,
	  "a part of cuDNN does not load", "install all of cuDNN from one release" },
	{ "libcudnn", 3000, "CUDNN_STATUS_NOT_SUPPORTED", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcudnn", 3005, "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER", BLAME_HOST,
	  "the driver is too old for it", "use a newer driver, or an older cuDNN" },
	{ "libcudnn", 3006, "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART", BLAME_IMAGE,
	  "the CUDA runtime is too old for it", SAME_SET },
	{ "libcudnn", 3007, "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", BLAME_IMAGE, NO_CODE,
	  NEWER },
	{ "libcudnn", 3008, "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING", BLAME_IMAGE,
	  "a library that it opens as it runs is missing", "install nvrtc and nvJitLink with it" },
	{ "libcudnn", 4000, "CUDNN_STATUS_INTERNAL_ERROR", BLAME_IMAGE, NULL, SAME_SET },
	{ "libcudnn", 4001, "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED", BLAME_IMAGE,
	  "its engines could not be compiled", "install nvrtc and nvJitLink with it" },
	{ "libcudnn", 4004, "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", BLAME_HOST,
	  NO_MEMORY, SEE_USE },
	{ "libcudnn", 5000, "CUDNN_STATUS_EXECUTION_FAILED", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcufft", 2, "CUFFT_ALLOC_FAILED", BLAME_HOST, NO_MEMORY, SEE_USE },
	{ "libcufft", 5, "CUFFT_INTERNAL_ERROR", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcufft", 6, "CUFFT_EXEC_FAILED", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcufft", 7, "CUFFT_SETUP_FAILED", BLAME_IMAGE, NO_START, SAME_SET },
	{ "libcurand", 102, "CURAND_STATUS_ALLOCATION_FAILED", BLAME_HOST, NO_MEMORY, SEE_USE },
	{ "libcurand", 201, "CURAND_STATUS_LAUNCH_FAILURE", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcurand", 203, "CURAND_STATUS_INITIALIZATION_FAILED", BLAME_IMAGE, NO_START,
	  SAME_SET },
	{ "libcurand", 204, "CURAND_STATUS_ARCH_MISMATCH", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcurand", 999, "CURAND_STATUS_INTERNAL_ERROR", BLAME_IMAGE, NULL, SAME_SET },
	{ "libcusolver", 1, "CUSOLVER_STATUS_NOT_INITIALIZED", BLAME_IMAGE, NO_START, SAME_SET },
	{ "libcusolver", 2, "CUSOLVER_STATUS_ALLOC_FAILED", BLAME_HOST, NO_MEMORY, SEE_USE },
	{ "libcusolver", 4, "CUSOLVER_STATUS_ARCH_MISMATCH", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcusolver", 6, "CUSOLVER_STATUS_EXECUTION_FAILED", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcusolver", 7, "CUSOLVER_STATUS_INTERNAL_ERROR", BLAME_IMAGE, NULL, SAME_SET },
	{ "libcusparse", 1, "CUSPARSE_STATUS_NOT_INITIALIZED", BLAME_IMAGE, NO_START, SAME_SET },
	{ "libcusparse", 2, "CUSPARSE_STATUS_ALLOC_FAILED", BLAME_HOST, NO_MEMORY, SEE_USE },
	{ "libcusparse", 4, "CUSPARSE_STATUS_ARCH_MISMATCH", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcusparse", 6, "CUSPARSE_STATUS_EXECUTION_FAILED", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libcusparse", 7, "CUSPARSE_STATUS_INTERNAL_ERROR", BLAME_IMAGE, NULL, SAME_SET },
	{ "libcusparse", 10, "CUSPARSE_STATUS_NOT_SUPPORTED", BLAME_IMAGE, NO_CODE, NEWER },
	{ "libnccl", 1, "ncclUnhandledCudaError", BLAME_IMAGE,
	  "a call of CUDA in it did not succeed", NEWER },
	{ "libnccl", 2, "ncclSystemError", BLAME_HOST,
	  "a call to the operating system did not succeed",
	  "look at the size of /dev/shm, the limit of locked memory and the network interfaces" },
	{ "libnccl", 3, "ncclInternalError", BLAME_IMAGE, NULL,
	  "NCCL_DEBUG=INFO says more; a plug-in of another version is often the cause" },
	{ "libnccl", 5, "ncclInvalidUsage", BLAME_HOST, "it finds no network interface",
	  "a container without a network needs its loopback interface up" },
	{ "libnccl", 6, "ncclRemoteError", BLAME_HOST, "another process or the network is gone",
	  NULL },
	{ "nvml", 9, "NVML_ERROR_DRIVER_NOT_LOADED", BLAME_HOST,
	  "the kernel's driver is not loaded", "load it: nvidia-smi on the host must work" },
	{ "nvml", 12, "NVML_ERROR_LIBRARY_NOT_FOUND", BLAME_INJECTION,
	  "a library of the driver was not injected",
	  "NVIDIA_DRIVER_CAPABILITIES must hold \"utility\"" },
	{ "nvml", 15, "NVML_ERROR_GPU_IS_LOST", BLAME_HARDWARE, "the device has fallen off the bus",
	  "look at the kernel's log for Xid; the host must be restarted" },
	{ "nvml", 18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH", BLAME_INJECTION,
	  "the driver library and the kernel module are of different versions",
	  "make the injection anew, or restart the host after an update of the driver" },
	{ "nvml", 999, "NVML_ERROR_UNKNOWN", BLAME_INJECTION,
	  "the device nodes can no longer be opened",
	  "a reload of systemd takes them from containers whose runtime did not name them" },
};

const struct library_status *library_status_find(const char *domain, int64_t code)
{
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		if (statuses[i].code == code && str_equal(statuses[i].domain, domain))
			return &statuses[i];
	}
	return NULL;
}

enum test_blame library_blame(const char *domain)
{
	return str_starts(domain, "lib") ? BLAME_IMAGE : BLAME_HOST;
}
