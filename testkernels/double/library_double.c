/*
 * Stand-ins for CUDA's libraries on the device of device_double.c: the few functions that the run
 * tier calls, calculated on the host. They are linked from this one file under each library's
 * name, and obey GPUIMG_DOUBLE_FAIL and GPUIMG_DOUBLE_WRONG, so that each check is shown a library
 * that works, one that gives wrong numbers and one that refuses. For tests; in no image of
 * anyone's.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "testkernels/double/double.h"
#include "testkernels/probe/gpu_api.h"

#define DECLARE(result, field, name, parameters) result name parameters;
GPU_API_CUDART(DECLARE)
GPU_API_CUBLAS(DECLARE)
GPU_API_CUBLASLT(DECLARE)
GPU_API_CUDNN(DECLARE)
GPU_API_CUFFT(DECLARE)
GPU_API_CURAND(DECLARE)
GPU_API_CUSOLVER(DECLARE)
GPU_API_CUSPARSE(DECLARE)
GPU_API_NCCL(DECLARE)
GPU_API_NCCL_LATER(DECLARE)
GPU_API_NVRTC(DECLARE)

/* A descriptor of anything: up to ten numbers, or an address. */
struct record {
	int64_t n[10];
	void *p[3];
};

static int record_new(void **out, const char *function)
{
	*out = calloc(1, sizeof(struct record));
	return double_fails(function);
}

static float spoiled(const char *function)
{
	return double_wrong(function) ? 1 : 0;
}

/* --- what the load tier asks */

#define PROPERTY(name, major)                    \
	int name(int which, int *out);           \
	int name(int which, int *out)            \
	{                                        \
		*out = which == 0 ? (major) : 0; \
		return 0;                        \
	}
PROPERTY(cublasGetProperty, 13)
PROPERTY(cublasLtGetProperty, 13)
PROPERTY(cudnnGetProperty, 9)
PROPERTY(cufftGetProperty, 12)
PROPERTY(curandGetProperty, 10)
PROPERTY(cusolverGetProperty, 12)
PROPERTY(cusparseGetProperty, 12)

int cudaRuntimeGetVersion(int *out);
int cudaDriverGetVersion(int *out);
int cudaGetDeviceCount(int *out);
int ncclGetVersion(int *out);
int nvrtcVersion(int *major, int *minor);
int curandCreateGeneratorHost(void **out, int type);

int cudaRuntimeGetVersion(int *out)
{
	*out = 13000;
	return 0;
}

int cudaDriverGetVersion(int *out)
{
	*out = 13000;
	return 0;
}

int cudaGetDeviceCount(int *out)
{
	*out = double_number("GPUIMG_DOUBLE_DEVICES", 1);
	if (double_number("GPUIMG_DOUBLE_VERSION", 13000) < 13000)
		return 35;
	return double_number("GPUIMG_DOUBLE_INIT", double_fails(__func__));
}

int ncclGetVersion(int *out)
{
	*out = 22809;
	return 0;
}

int nvrtcVersion(int *major, int *minor)
{
	*major = 13;
	*minor = 0;
	return 0;
}

int curandCreateGeneratorHost(void **out, int type)
{
	(void)type;
	return record_new(out, __func__);
}

/* --- the runtime */

int cudaSetDevice(int device)
{
	(void)device;
	return double_fails(__func__);
}

int cudaMalloc(void **out, size_t bytes)
{
	*out = malloc(bytes);
	return double_fails(__func__);
}

int cudaFree(void *p)
{
	free(p);
	return double_fails(__func__);
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	(void)kind;
	memcpy(to, from, bytes - (double_wrong(__func__) ? 4 : 0));
	return double_fails(__func__);
}

int cudaMemset(void *p, int value, size_t bytes)
{
	memset(p, value, bytes - (double_wrong(__func__) ? 4 : 0));
	return double_fails(__func__);
}

int cudaDeviceSynchronize(void)
{
	return double_fails(__func__);
}

const char *cudaGetErrorName(int code)
{
	(void)code;
	return "cudaErrorOfTheDouble";
}

/* --- cuBLAS and cuBLASLt: c = a' b */

int cublasCreate_v2(void **out)
{
	return record_new(out, __func__);
}

int cublasDestroy_v2(void *handle)
{
	free(handle);
	return double_fails(__func__);
}

int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
		   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
		   int ldc)
{
	(void)handle;
	if (ta != BLAS_TRANSPOSE || tb != BLAS_NO_TRANSPOSE || *alpha != 1 || *beta != 0)
		return 15;
	for (int j = 0; j < n; j++) {
		for (int i = 0; i < m; i++) {
			c[j * ldc + i] = 0;
			for (int l = 0; l < k; l++)
				c[j * ldc + i] += a[i * lda + l] * b[j * ldb + l];
		}
	}
	c[m - 1] += spoiled(__func__);
	return double_fails(__func__);
}

int cublasLtCreate(void **out)
{
	return record_new(out, __func__);
}

int cublasLtDestroy(void *handle)
{
	free(handle);
	return double_fails(__func__);
}

int cublasLtMatmulDescCreate(void **out, int compute, int scale)
{
	(void)compute;
	(void)scale;
	return record_new(out, __func__);
}

int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t size)
{
	(void)desc;
	(void)attribute;
	(void)value;
	return size == 4 ? double_fails(__func__) : 7;
}

int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
	int rc = record_new(out, __func__);
	struct record *r = *out;

	r->n[0] = type;
	r->n[1] = (int64_t)rows;
	r->n[2] = (int64_t)columns;
	r->n[3] = ld;
	return rc;
}

int cublasLtMatmulPreferenceCreate(void **out)
{
	return record_new(out, __func__);
}

int cublasLtMatmulPreferenceSetAttribute(void *p, int attribute, const void *value, size_t size)
{
	(void)p;
	(void)attribute;
	(void)value;
	return size == 8 ? double_fails(__func__) : 7;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d,
				   void *preference, int wanted, struct cublaslt_choice *choices,
				   int *found)
{
	(void)handle;
	(void)desc;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	(void)preference;
	memset(choices, 0, sizeof(*choices));
	*found = double_wrong(__func__) ? 0 : wanted;
	return double_fails(__func__);
}

static float element(const void *data, int64_t type, int64_t i)
{
	const unsigned char *bytes = data;
	union {
		uint32_t bits;
		float f;
	} u;

	if (type == TYPE_FLOAT)
		return ((const float *)data)[i];
	if (type == TYPE_BF16) {
		u.bits = (uint32_t)(bytes[2 * i] | bytes[2 * i + 1] << 8) << 16;
		return u.f;
	}
	if (!(bytes[i] & 0x7f))
		return 0;
	return ldexpf(1 + (float)(bytes[i] & 7) / 8, (bytes[i] >> 3 & 15) - 7) *
	       (bytes[i] & 0x80 ? -1 : 1);
}

int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *adesc,
		   const void *b, void *bdesc, const void *beta, const void *c, void *cdesc,
		   void *d, void *ddesc, const void *algorithm, void *workspace, size_t bytes,
		   void *stream)
{
	const struct record *in = adesc, *out = ddesc;
	int64_t n = in->n[3];

	(void)handle;
	(void)desc;
	(void)alpha;
	(void)bdesc;
	(void)beta;
	(void)c;
	(void)cdesc;
	(void)algorithm;
	(void)workspace;
	(void)bytes;
	(void)stream;
	if (out->n[0] != TYPE_FLOAT)
		return 15;
	for (int64_t i = 0; i < n * n; i++) {
		float sum = 0;

		for (int64_t l = 0; l < n; l++)
			sum += element(a, in->n[0], i % n * n + l) *
			       element(b, in->n[0], i / n * n + l);
		((float *)d)[i] = sum;
	}
	((float *)d)[0] += spoiled(__func__);
	return double_fails(__func__);
}

/* --- cuDNN */

int cudnnCreate(void **out)
{
	return record_new(out, __func__);
}

int cudnnDestroy(void *handle)
{
	free(handle);
	return double_fails(__func__);
}

const char *cudnnGetErrorString(int code)
{
	(void)code;
	return "CUDNN_STATUS_OF_THE_DOUBLE";
}

int cudnnCreateTensorDescriptor(void **out)
{
	return record_new(out, __func__);
}

int cudnnCreateFilterDescriptor(void **out)
{
	return record_new(out, __func__);
}

int cudnnCreateConvolutionDescriptor(void **out)
{
	return record_new(out, __func__);
}

static int four(void *record, const char *function, int a, int b, int c, int d)
{
	struct record *r = record;

	r->n[0] = a;
	r->n[1] = b;
	r->n[2] = c;
	r->n[3] = d;
	return double_fails(function);
}

int cudnnSetTensor4dDescriptor(void *desc, int format, int type, int n, int c, int h, int w)
{
	return format == CUDNN_NCHW && type == CUDNN_FLOAT ? four(desc, __func__, n, c, h, w)
							   : 2000;
}

int cudnnSetFilter4dDescriptor(void *desc, int type, int format, int k, int c, int h, int w)
{
	return format == CUDNN_NCHW && type == CUDNN_FLOAT ? four(desc, __func__, k, c, h, w)
							   : 2000;
}

int cudnnSetConvolution2dDescriptor(void *desc, int pad_h, int pad_w, int u, int v, int dh, int dw,
				    int mode, int type)
{
	if (u != 1 || v != 1 || dh != 1 || dw != 1 || mode != CUDNN_CROSS_CORRELATE)
		return 3000;
	return four(desc, __func__, pad_h, pad_w, type, 0);
}

int cudnnGetConvolutionForwardWorkspaceSize(void *handle, void *x, void *w, void *conv, void *y,
					    int algorithm, size_t *out)
{
	(void)handle;
	(void)x;
	(void)w;
	(void)conv;
	(void)y;
	(void)algorithm;
	*out = 64;
	return double_fails(__func__);
}

int cudnnConvolutionForward(void *handle, const void *alpha, void *xdesc, const void *x,
			    void *wdesc, const void *w, void *conv, int algorithm, void *workspace,
			    size_t bytes, const void *beta, void *ydesc, void *y)
{
	const struct record *in = xdesc, *filter = wdesc, *out = ydesc, *pad = conv;
	int64_t height = out->n[2], width = out->n[3];

	(void)handle;
	(void)alpha;
	(void)algorithm;
	(void)workspace;
	(void)bytes;
	(void)beta;
	for (int64_t i = 0; i < out->n[1] * height * width; i++) {
		int64_t k = i / (height * width), row = i / width % height, column = i % width;
		float sum = 0;

		for (int64_t f = 0; f < filter->n[1] * filter->n[2] * filter->n[3]; f++) {
			int64_t c = f / (filter->n[2] * filter->n[3]);
			int64_t yy = row + f / filter->n[3] % filter->n[2] - pad->n[0];
			int64_t xx = column + f % filter->n[3] - pad->n[1];

			if (yy < 0 || yy >= in->n[2] || xx < 0 || xx >= in->n[3])
				continue;
			sum += ((const float *)x)[(c * in->n[2] + yy) * in->n[3] + xx] *
			       ((const float *)
					w)[k * filter->n[1] * filter->n[2] * filter->n[3] + f];
		}
		((float *)y)[i] = sum;
	}
	((float *)y)[5] += spoiled(__func__);
	return double_fails(__func__);
}

/* --- cuFFT: the sum as it is defined, of powers of two by halves */

static int fft_points;

int cufftPlan1d(int *out, int points, int type, int batch)
{
	*out = 1;
	fft_points = points;
	return type == FFT_COMPLEX && batch == 1 ? double_fails(__func__) : 4;
}

static void fft(const double *in, double *out, int count, int step, int direction)
{
	if (count == 1) {
		out[0] = in[0];
		out[1] = in[1];
		return;
	}
	fft(in, out, count / 2, 2 * step, direction);
	fft(in + 2 * step, out + count, count / 2, 2 * step, direction);
	for (int i = 0; i < count / 2; i++) {
		double angle = direction * 2 * acos(-1) * i / count, c = cos(angle), s = sin(angle);
		double *p = out + 2 * i, *q = out + count + 2 * i;
		double re = c * q[0] - s * q[1], im = c * q[1] + s * q[0];

		q[0] = p[0] - re;
		q[1] = p[1] - im;
		p[0] += re;
		p[1] += im;
	}
}

int cufftExecC2C(int plan, void *in, void *out, int direction)
{
	size_t count = 2 * (size_t)fft_points;
	double *from = calloc(count, sizeof(*from)), *to = calloc(count, sizeof(*to));

	(void)plan;
	for (size_t i = 0; i < count; i++)
		from[i] = (double)((float *)in)[i];
	fft(from, to, fft_points, 1, direction);
	for (size_t i = 0; i < count; i++)
		((float *)out)[i] = (float)to[i];
	((float *)out)[7] += 100 * spoiled(__func__);
	free(from);
	free(to);
	return double_fails(__func__);
}

int cufftDestroy(int plan)
{
	(void)plan;
	return double_fails(__func__);
}

/* --- cuRAND */

int curandCreateGenerator(void **out, int type)
{
	(void)type;
	return record_new(out, __func__);
}

int curandSetPseudoRandomGeneratorSeed(void *generator, unsigned long long seed)
{
	((struct record *)generator)->n[0] = (int64_t)seed;
	return double_fails(__func__);
}

int curandGenerateUniform(void *generator, float *out, size_t count)
{
	uint64_t x = (uint64_t)((struct record *)generator)->n[0] + 1;

	for (size_t i = 0; i < count; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		out[i] = (float)((x >> 40) + 1) / (float)(1 << 24);
		if (double_wrong(__func__))
			out[i] *= out[i];
	}
	return double_fails(__func__);
}

int curandDestroyGenerator(void *generator)
{
	free(generator);
	return double_fails(__func__);
}

/* --- cuSOLVER: elimination without exchange of rows */

int cusolverDnCreate(void **out)
{
	return record_new(out, __func__);
}

int cusolverDnDestroy(void *handle)
{
	free(handle);
	return double_fails(__func__);
}

int cusolverDnSgetrf_bufferSize(void *handle, int m, int n, float *a, int lda, int *out)
{
	(void)handle;
	(void)m;
	(void)n;
	(void)a;
	(void)lda;
	*out = 16;
	return double_fails(__func__);
}

int cusolverDnSgetrf(void *handle, int m, int n, float *a, int lda, float *work, int *pivots,
		     int *info)
{
	(void)handle;
	(void)work;
	for (int k = 0; k < n; k++) {
		pivots[k] = k + 1;
		for (int i = k + 1; i < m; i++) {
			a[k * lda + i] /= a[k * lda + k];
			for (int j = k + 1; j < n; j++)
				a[j * lda + i] -= a[k * lda + i] * a[j * lda + k];
		}
	}
	*info = double_wrong(__func__) ? 3 : 0;
	return double_fails(__func__);
}

int cusolverDnSgetrs(void *handle, int transpose, int n, int columns, const float *a, int lda,
		     const int *pivots, float *b, int ldb, int *info)
{
	(void)handle;
	(void)pivots;
	(void)ldb;
	if (transpose != BLAS_NO_TRANSPOSE || columns != 1)
		return 3;
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < i; k++)
			b[i] -= a[k * lda + i] * b[k];
	}
	for (int i = n - 1; i >= 0; i--) {
		for (int k = i + 1; k < n; k++)
			b[i] -= a[k * lda + i] * b[k];
		b[i] /= a[i * lda + i];
	}
	b[0] += spoiled(__func__);
	*info = 0;
	return double_fails(__func__);
}

/* --- cuSPARSE */

int cusparseCreate(void **out)
{
	return record_new(out, __func__);
}

int cusparseDestroy(void *handle)
{
	free(handle);
	return double_fails(__func__);
}

int cusparseCreateCsr(void **out, int64_t rows, int64_t columns, int64_t entries, void *starts,
		      void *indices, void *values, int start_type, int index_type, int base,
		      int type)
{
	int rc = record_new(out, __func__);
	struct record *r = *out;

	(void)columns;
	(void)entries;
	r->n[0] = rows;
	r->p[0] = starts;
	r->p[1] = indices;
	r->p[2] = values;
	return start_type == SPARSE_INDEX_32 && index_type == SPARSE_INDEX_32 &&
			       base == SPARSE_BASE_ZERO && type == TYPE_FLOAT
		       ? rc
		       : 3;
}

int cusparseCreateDnVec(void **out, int64_t size, void *values, int type)
{
	int rc = record_new(out, __func__);

	(void)size;
	((struct record *)*out)->p[0] = values;
	return type == TYPE_FLOAT ? rc : 3;
}

int cusparseSpMV_bufferSize(void *handle, int operation, const void *alpha, void *matrix, void *x,
			    const void *beta, void *y, int type, int algorithm, size_t *out)
{
	(void)handle;
	(void)operation;
	(void)alpha;
	(void)matrix;
	(void)x;
	(void)beta;
	(void)y;
	(void)type;
	(void)algorithm;
	*out = 128;
	return double_fails(__func__);
}

int cusparseSpMV(void *handle, int operation, const void *alpha, void *matrix, void *xvec,
		 const void *beta, void *yvec, int type, int algorithm, void *work)
{
	const struct record *m = matrix;
	const int *starts = m->p[0], *columns = m->p[1];
	const float *values = m->p[2], *x = ((struct record *)xvec)->p[0];
	float *y = ((struct record *)yvec)->p[0];

	(void)handle;
	(void)operation;
	(void)alpha;
	(void)beta;
	(void)type;
	(void)algorithm;
	(void)work;
	for (int64_t i = 0; i < m->n[0]; i++) {
		y[i] = 0;
		for (int k = starts[i]; k < starts[i + 1]; k++)
			y[i] += values[k] * x[columns[k]];
	}
	y[3] += spoiled(__func__);
	return double_fails(__func__);
}

/* --- NCCL: the sums are made when the group ends */

enum { RANKS_MAX = 16 };
static struct {
	const int *in;
	int *out;
	size_t count;
} ranks[RANKS_MAX];
static int rank_count;

int ncclCommInitAll(void **comms, int count, const int *devices)
{
	(void)devices;
	for (int i = 0; i < count; i++)
		comms[i] = calloc(1, 1);
	return double_fails(__func__);
}

int ncclCommDestroy(void *comm)
{
	free(comm);
	return double_fails(__func__);
}

int ncclGroupStart(void)
{
	rank_count = 0;
	return double_fails(__func__);
}

int ncclAllReduce(const void *in, void *out, size_t count, int type, int operation, void *comm,
		  void *stream)
{
	(void)comm;
	(void)stream;
	if (type != NCCL_INT32 || operation != NCCL_SUM || rank_count == RANKS_MAX)
		return 4;
	ranks[rank_count].in = in;
	ranks[rank_count].out = out;
	ranks[rank_count++].count = count;
	return double_fails(__func__);
}

int ncclGroupEnd(void)
{
	for (size_t i = 0; rank_count && i < ranks[0].count; i++) {
		int sum = 0;

		for (int r = 0; r < rank_count; r++)
			sum += ranks[r].in[i];
		for (int r = 0; r < rank_count; r++)
			ranks[r].out[i] = sum;
	}
	if (rank_count && double_wrong(__func__))
		ranks[rank_count - 1].out[9]--;
	return double_fails(__func__);
}

const char *ncclGetErrorString(int code)
{
	(void)code;
	return "error of the stand-in";
}

const char *ncclGetLastError(void *comm)
{
	(void)comm;
	return "last error of the stand-in";
}

/* --- nvrtc: its PTX names the kernels of the source, and that is all of it */

int nvrtcCreateProgram(void **out, const char *source, const char *name, int count,
		       const char *const *headers, const char *const *names)
{
	int rc = record_new(out, __func__);

	(void)source;
	(void)name;
	(void)count;
	(void)headers;
	(void)names;
	return rc;
}

int nvrtcCompileProgram(void *program, int count, const char *const *options)
{
	(void)program;
	return count == 1 && strncmp(options[0], "--gpu-architecture=", 19) == 0
		       ? double_fails(__func__)
		       : 5;
}

int nvrtcGetProgramLogSize(void *program, size_t *out)
{
	(void)program;
	*out = 8;
	return double_fails(__func__);
}

int nvrtcGetProgramLog(void *program, char *out)
{
	(void)program;
	memcpy(out, "the log", 8);
	return double_fails(__func__);
}

int nvrtcDestroyProgram(void **program);

int nvrtcDestroyProgram(void **program)
{
	free(*program);
	*program = NULL;
	return double_fails(__func__);
}

static const char made[] = ".version 8.0\n.target sm_90\n.visible .entry vectoradd()\n";
static const char empty[] = ".version 8.0\n.target sm_90\n";

int nvrtcGetPTXSize(void *program, size_t *out)
{
	(void)program;
	*out = sizeof(made);
	return double_fails(__func__);
}

int nvrtcGetPTX(void *program, char *out)
{
	(void)program;
	memcpy(out, double_wrong(__func__) ? empty : made,
	       double_wrong(__func__) ? sizeof(empty) : sizeof(made));
	return double_fails(__func__);
}

int nvrtcGetCUBINSize(void *program, size_t *out)
{
	return nvrtcGetPTXSize(program, out);
}

int nvrtcGetCUBIN(void *program, char *out)
{
	return nvrtcGetPTX(program, out);
}

int nvrtcGetNumSupportedArchs(int *out)
{
	*out = 3;
	return double_fails(__func__);
}

int nvrtcGetSupportedArchs(int *out)
{
	out[0] = 75;
	out[1] = 80;
	out[2] = 86; /* not the device's own: the test must take PTX */
	return double_fails(__func__);
}
