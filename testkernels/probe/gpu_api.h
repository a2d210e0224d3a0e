/*
 * The functions of CUDA's libraries that the tests call, as tables: F(result, field, name,
 * parameters). Handles are void pointers, addresses on the device 64-bit numbers where the driver
 * takes them and pointers where libraries do, status codes and other enumerations int.
 *
 * Each table makes a structure of pointers (gpu.h), the prototypes of the stand-ins for tests
 * (testkernels/double/), and is compared with the official headers, and with what the real
 * libraries export, by tests/tools/gpu-api where a toolkit is installed.
 *
 * Only what CUDA 11.4 has had and CUDA 13 still has.
 */
#ifndef TESTKERNELS_PROBE_GPU_API_H
#define TESTKERNELS_PROBE_GPU_API_H

#include <stddef.h>
#include <stdint.h>

/* cuda.h: the names with _v2 are what its macros stand for. */
#define GPU_API_DRIVER(F)                                                                          \
	F(int, init, cuInit, (unsigned))                                                           \
	F(int, version, cuDriverGetVersion, (int *))                                               \
	F(int, error_name, cuGetErrorName, (int, const char **))                                   \
	F(int, device_count, cuDeviceGetCount, (int *))                                            \
	F(int, device_get, cuDeviceGet, (int *, int))                                              \
	F(int, device_name, cuDeviceGetName, (char *, int, int))                                   \
	F(int, device_uuid, cuDeviceGetUuid, (void *, int))                                        \
	F(int, device_attribute, cuDeviceGetAttribute, (int *, int, int))                          \
	F(int, context_retain, cuDevicePrimaryCtxRetain, (void **, int))                           \
	F(int, context_set, cuCtxSetCurrent, (void *))                                             \
	F(int, context_sync, cuCtxSynchronize, (void))                                             \
	F(int, module_load, cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **)) \
	F(int, module_unload, cuModuleUnload, (void *))                                            \
	F(int, module_function, cuModuleGetFunction, (void **, void *, const char *))              \
	F(int, alloc, cuMemAlloc_v2, (uint64_t *, size_t))                                         \
	F(int, set, cuMemsetD32_v2, (uint64_t, unsigned, size_t))                                  \
	F(int, to_device, cuMemcpyHtoD_v2, (uint64_t, const void *, size_t))                       \
	F(int, to_host, cuMemcpyDtoH_v2, (void *, uint64_t, size_t))                               \
	F(int, launch, cuLaunchKernel,                                                             \
	  (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,   \
	   void **, void **))                                                                      \
	F(int, stream_create, cuStreamCreate, (void **, unsigned))                                 \
	F(int, stream_sync, cuStreamSynchronize, (void *))                                         \
	F(int, event_create, cuEventCreate, (void **, unsigned))                                   \
	F(int, event_record, cuEventRecord, (void *, void *))                                      \
	F(int, event_sync, cuEventSynchronize, (void *))                                           \
	F(int, event_elapsed, cuEventElapsedTime, (float *, void *, void *))                       \
	F(int, alloc_pinned, cuMemHostAlloc, (void **, size_t, unsigned))                          \
	F(int, alloc_managed, cuMemAllocManaged, (uint64_t *, size_t, unsigned))                   \
	F(int, to_device_async, cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *))    \
	F(int, to_host_async, cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *))            \
	F(int, copy_async, cuMemcpyDtoDAsync_v2, (uint64_t, uint64_t, size_t, void *))             \
	F(int, can_access_peer, cuDeviceCanAccessPeer, (int *, int, int))                          \
	F(int, enable_peer, cuCtxEnablePeerAccess, (void *, unsigned))                             \
	F(int, copy_peer, cuMemcpyPeer, (uint64_t, void *, uint64_t, void *, size_t))

/* cuda.h, since 11.4 in this form. */
#define GPU_API_GRAPH(F)                                                                        \
	F(int, capture_begin, cuStreamBeginCapture_v2, (void *, int))                           \
	F(int, capture_end, cuStreamEndCapture, (void *, void **))                              \
	F(int, instantiate, cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
	F(int, graph_launch, cuGraphLaunch, (void *, void *))

/* nvml.h, of the driver. */
#define GPU_API_NVML(F)                                                        \
	F(int, init, nvmlInit_v2, (void))                                      \
	F(int, driver_version, nvmlSystemGetDriverVersion, (char *, unsigned)) \
	F(int, device_count, nvmlDeviceGetCount_v2, (unsigned *))              \
	F(const char *, error_string, nvmlErrorString, (int))

/* cuda_runtime_api.h */
#define GPU_API_CUDART(F)                                             \
	F(int, set_device, cudaSetDevice, (int))                      \
	F(int, alloc, cudaMalloc, (void **, size_t))                  \
	F(int, free, cudaFree, (void *))                              \
	F(int, copy, cudaMemcpy, (void *, const void *, size_t, int)) \
	F(int, set, cudaMemset, (void *, int, size_t))                \
	F(int, sync, cudaDeviceSynchronize, (void))                   \
	F(const char *, error_name, cudaGetErrorName, (int))

/* cublas_v2.h */
#define GPU_API_CUBLAS(F)                                                                          \
	F(int, create, cublasCreate_v2, (void **))                                                 \
	F(int, destroy, cublasDestroy_v2, (void *))                                                \
	F(int, sgemm, cublasSgemm_v2,                                                              \
	  (void *, int, int, int, int, int, const float *, const float *, int, const float *, int, \
	   const float *, float *, int))

/* cublasLt.h, cublasLtMatmulHeuristicResult_t */
struct cublaslt_choice {
	uint64_t algorithm[8];
	size_t workspace_bytes;
	int state;
	float waves;
	int reserved[4];
};

/* cublasLt.h */
#define GPU_API_CUBLASLT(F)                                                                        \
	F(int, create, cublasLtCreate, (void **))                                                  \
	F(int, destroy, cublasLtDestroy, (void *))                                                 \
	F(int, desc_create, cublasLtMatmulDescCreate, (void **, int, int))                         \
	F(int, desc_set, cublasLtMatmulDescSetAttribute, (void *, int, const void *, size_t))      \
	F(int, layout_create, cublasLtMatrixLayoutCreate,                                          \
	  (void **, int, uint64_t, uint64_t, int64_t))                                             \
	F(int, preference_create, cublasLtMatmulPreferenceCreate, (void **))                       \
	F(int, preference_set, cublasLtMatmulPreferenceSetAttribute,                               \
	  (void *, int, const void *, size_t))                                                     \
	F(int, choose, cublasLtMatmulAlgoGetHeuristic,                                             \
	  (void *, void *, void *, void *, void *, void *, void *, int, struct cublaslt_choice *,  \
	   int *))                                                                                 \
	F(int, matmul, cublasLtMatmul,                                                             \
	  (void *, void *, const void *, const void *, void *, const void *, void *, const void *, \
	   const void *, void *, void *, void *, const void *, void *, size_t, void *))

/* cudnn.h: the functions that cuDNN 8 and 9 both have. */
#define GPU_API_CUDNN(F)                                                                          \
	F(int, create, cudnnCreate, (void **))                                                    \
	F(int, destroy, cudnnDestroy, (void *))                                                   \
	F(const char *, error_string, cudnnGetErrorString, (int))                                 \
	F(int, tensor_create, cudnnCreateTensorDescriptor, (void **))                             \
	F(int, tensor_set, cudnnSetTensor4dDescriptor, (void *, int, int, int, int, int, int))    \
	F(int, filter_create, cudnnCreateFilterDescriptor, (void **))                             \
	F(int, filter_set, cudnnSetFilter4dDescriptor, (void *, int, int, int, int, int, int))    \
	F(int, conv_create, cudnnCreateConvolutionDescriptor, (void **))                          \
	F(int, conv_set, cudnnSetConvolution2dDescriptor,                                         \
	  (void *, int, int, int, int, int, int, int, int))                                       \
	F(int, workspace_size, cudnnGetConvolutionForwardWorkspaceSize,                           \
	  (void *, void *, void *, void *, void *, int, size_t *))                                \
	F(int, forward, cudnnConvolutionForward,                                                  \
	  (void *, const void *, void *, const void *, void *, const void *, void *, int, void *, \
	   size_t, const void *, void *, void *))

/* cufft.h */
#define GPU_API_CUFFT(F)                                          \
	F(int, plan, cufftPlan1d, (int *, int, int, int))         \
	F(int, execute, cufftExecC2C, (int, void *, void *, int)) \
	F(int, destroy, cufftDestroy, (int))

/* curand.h */
#define GPU_API_CURAND(F)                                                              \
	F(int, create, curandCreateGenerator, (void **, int))                          \
	F(int, seed, curandSetPseudoRandomGeneratorSeed, (void *, unsigned long long)) \
	F(int, uniform, curandGenerateUniform, (void *, float *, size_t))              \
	F(int, destroy, curandDestroyGenerator, (void *))

/* cusolverDn.h */
#define GPU_API_CUSOLVER(F)                                                                       \
	F(int, create, cusolverDnCreate, (void **))                                               \
	F(int, destroy, cusolverDnDestroy, (void *))                                              \
	F(int, work_size, cusolverDnSgetrf_bufferSize, (void *, int, int, float *, int, int *))   \
	F(int, factor, cusolverDnSgetrf, (void *, int, int, float *, int, float *, int *, int *)) \
	F(int, solve, cusolverDnSgetrs,                                                           \
	  (void *, int, int, int, const float *, int, const int *, float *, int, int *))

/* cusparse.h */
#define GPU_API_CUSPARSE(F)                                                                      \
	F(int, create, cusparseCreate, (void **))                                                \
	F(int, destroy, cusparseDestroy, (void *))                                               \
	F(int, matrix, cusparseCreateCsr,                                                        \
	  (void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int))      \
	F(int, vector, cusparseCreateDnVec, (void **, int64_t, void *, int))                     \
	F(int, work_size, cusparseSpMV_bufferSize,                                               \
	  (void *, int, const void *, void *, void *, const void *, void *, int, int, size_t *)) \
	F(int, multiply, cusparseSpMV,                                                           \
	  (void *, int, const void *, void *, void *, const void *, void *, int, int, void *))

/* nccl.h */
#define GPU_API_NCCL(F)                                                \
	F(int, init_all, ncclCommInitAll, (void **, int, const int *)) \
	F(int, destroy, ncclCommDestroy, (void *))                     \
	F(int, group_start, ncclGroupStart, (void))                    \
	F(int, group_end, ncclGroupEnd, (void))                        \
	F(int, all_reduce, ncclAllReduce,                              \
	  (const void *, void *, size_t, int, int, void *, void *))    \
	F(const char *, error_string, ncclGetErrorString, (int))

/* nccl.h, since 2.13 */
#define GPU_API_NCCL_LATER(F) F(const char *, last_error, ncclGetLastError, (void *))

/* nvrtc.h */
#define GPU_API_NVRTC(F)                                                                        \
	F(int, create, nvrtcCreateProgram,                                                      \
	  (void **, const char *, const char *, int, const char *const *, const char *const *)) \
	F(int, compile, nvrtcCompileProgram, (void *, int, const char *const *))                \
	F(int, log_size, nvrtcGetProgramLogSize, (void *, size_t *))                            \
	F(int, log, nvrtcGetProgramLog, (void *, char *))                                       \
	F(int, ptx_size, nvrtcGetPTXSize, (void *, size_t *))                                   \
	F(int, ptx, nvrtcGetPTX, (void *, char *))                                              \
	F(int, cubin_size, nvrtcGetCUBINSize, (void *, size_t *))                               \
	F(int, cubin, nvrtcGetCUBIN, (void *, char *))                                          \
	F(int, arch_count, nvrtcGetNumSupportedArchs, (int *))                                  \
	F(int, archs, nvrtcGetSupportedArchs, (int *))

/* Values of their enumerations, by their own names in gpu_api_values below. */
enum {
	DEVICE_CAPABILITY_MAJOR = 75,
	DEVICE_CAPABILITY_MINOR = 76,
	DEVICE_MEMORY_CLOCK_KHZ = 36,
	DEVICE_MEMORY_BUS_BITS = 37,
	DEVICE_MANAGED_MEMORY = 83,
	STREAM_NON_BLOCKING = 1,
	MANAGED_GLOBAL = 1,
	CAPTURE_THREAD_LOCAL = 1,
	COPY_TO_DEVICE = 1,
	COPY_TO_HOST = 2,
	BLAS_NO_TRANSPOSE = 0,
	BLAS_TRANSPOSE = 1,
	TYPE_FLOAT = 0,
	TYPE_BF16 = 14,
	TYPE_FP8_E4M3 = 28,
	COMPUTE_FLOAT = 68,
	COMPUTE_FAST_TF32 = 77,
	MATMUL_TRANSPOSE_A = 3,
	MATMUL_TRANSPOSE_B = 4,
	MATMUL_MAX_WORKSPACE = 1,
	CUDNN_NCHW = 0,
	CUDNN_FLOAT = 0,
	CUDNN_CROSS_CORRELATE = 1,
	CUDNN_IMPLICIT_GEMM = 0,
	FFT_COMPLEX = 0x29,
	FFT_FORWARD = -1,
	FFT_INVERSE = 1,
	RANDOM_DEFAULT = 100,
	SPARSE_INDEX_32 = 2,
	SPARSE_BASE_ZERO = 0,
	SPARSE_NO_TRANSPOSE = 0,
	SPARSE_DEFAULT = 0,
	NCCL_INT32 = 2,
	NCCL_SUM = 0,
};

/* V(our name, the header's name) */
#define GPU_API_VALUES(V)                                                        \
	V(DEVICE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) \
	V(DEVICE_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) \
	V(DEVICE_MEMORY_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)        \
	V(DEVICE_MEMORY_BUS_BITS, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)   \
	V(DEVICE_MANAGED_MEMORY, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)             \
	V(STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING)                           \
	V(MANAGED_GLOBAL, CU_MEM_ATTACH_GLOBAL)                                  \
	V(CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)             \
	V(COPY_TO_DEVICE, cudaMemcpyHostToDevice)                                \
	V(COPY_TO_HOST, cudaMemcpyDeviceToHost)                                  \
	V(BLAS_NO_TRANSPOSE, CUBLAS_OP_N)                                        \
	V(BLAS_TRANSPOSE, CUBLAS_OP_T)                                           \
	V(TYPE_FLOAT, CUDA_R_32F)                                                \
	V(TYPE_BF16, CUDA_R_16BF)                                                \
	V(TYPE_FP8_E4M3, CUDA_R_8F_E4M3)                                         \
	V(COMPUTE_FLOAT, CUBLAS_COMPUTE_32F)                                     \
	V(COMPUTE_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32)                       \
	V(MATMUL_TRANSPOSE_A, CUBLASLT_MATMUL_DESC_TRANSA)                       \
	V(MATMUL_TRANSPOSE_B, CUBLASLT_MATMUL_DESC_TRANSB)                       \
	V(MATMUL_MAX_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)        \
	V(CUDNN_NCHW, CUDNN_TENSOR_NCHW)                                         \
	V(CUDNN_FLOAT, CUDNN_DATA_FLOAT)                                         \
	V(CUDNN_CROSS_CORRELATE, CUDNN_CROSS_CORRELATION)                        \
	V(CUDNN_IMPLICIT_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM)         \
	V(FFT_COMPLEX, CUFFT_C2C)                                                \
	V(FFT_FORWARD, CUFFT_FORWARD)                                            \
	V(FFT_INVERSE, CUFFT_INVERSE)                                            \
	V(RANDOM_DEFAULT, CURAND_RNG_PSEUDO_DEFAULT)                             \
	V(SPARSE_INDEX_32, CUSPARSE_INDEX_32I)                                   \
	V(SPARSE_BASE_ZERO, CUSPARSE_INDEX_BASE_ZERO)                            \
	V(SPARSE_NO_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE)                 \
	V(SPARSE_DEFAULT, CUSPARSE_SPMV_ALG_DEFAULT)                             \
	V(NCCL_INT32, ncclInt32)                                                 \
	V(NCCL_SUM, ncclSum)

#endif
