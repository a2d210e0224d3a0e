/*
 * cuFFT, cuRAND, cuSOLVER, cuSPARSE and cuDNN: a small calculation each, whose result is known.
 */
#include "gpu.h"

struct cufft {
	void *handle;
	GPU_API_CUFFT(API_FIELD)
};
API_OPEN(cufft, GPU_API_CUFFT)

#define FFT_TRY(name, call) LIBRARY_TRY(g->check, fft, "libcufft", name, call)

static bool cufft_test(const struct gpu *g, const struct cufft *fft)
{
	enum { COUNT = 4096 };
	size_t bytes = 2 * COUNT * sizeof(float);
	float *in = host_buffer(g->check, 3 * bytes), *there = in + 2 * COUNT,
	      *back = there + 2 * COUNT;
	uint64_t data, image;
	int plan = 0;

	in[0] = COUNT; /* an impulse, whose image is flat: exactly COUNT everywhere */
	if (!gpu_buffer(g, in, bytes, &data) || !gpu_buffer(g, NULL, bytes, &image))
		return false;
	FFT_TRY("cufftPlan1d", fft->plan(&plan, COUNT, FFT_COMPLEX, 1));
	FFT_TRY("cufftExecC2C forward",
		fft->execute(plan, gpu_pointer(data), gpu_pointer(image), FFT_FORWARD));
	if (!gpu_read(g, image, there, bytes))
		return false;
	FFT_TRY("cufftExecC2C back",
		fft->execute(plan, gpu_pointer(image), gpu_pointer(data), FFT_INVERSE));
	if (!gpu_read(g, data, back, bytes))
		return false;
	for (size_t i = 0; i < 2 * COUNT; i++) {
		float flat = i % 2 ? 0 : COUNT, off = back[i] - in[i] * COUNT;

		if (there[i] - flat > 1 || flat - there[i] > 1 || !(there[i] == there[i]))
			return gpu_wrong(g->check, i, 2 * COUNT, (double)there[i], (double)flat);
		if (!(off < 16 && off > -16)) /* of COUNT * COUNT, which floats cannot hit */
			return gpu_wrong(g->check, i, 2 * COUNT, (double)back[i],
					 (double)in[i] * COUNT);
	}
	FFT_TRY("cufftDestroy", fft->destroy(plan));
	gpu_pass(g->check, fft->handle, "points", COUNT);
	return true;
}

/* args: libcufft. Its code for this device, of which much is made at run time. */
void run_cufft(const struct check *check)
{
	struct cufft fft = { 0 };
	struct gpu g;

	if (gpu_begin(check, &g) && cufft_open(check, check->args[0], &fft))
		cufft_test(&g, &fft);
}

struct curand {
	void *handle;
	GPU_API_CURAND(API_FIELD)
};
API_OPEN(curand, GPU_API_CURAND)

/* Between 0 and 1, with the mean and the variance of the uniform distribution. */
static bool curand_right(const struct check *check, const float *x, size_t count)
{
	double sum = 0, squares = 0, mean, variance;
	char text[128];

	for (size_t i = 0; i < count; i++) {
		if (!(x[i] > 0 && x[i] <= 1))
			return gpu_wrong(check, i, count, (double)x[i], 0.5);
		sum += (double)x[i];
		squares += (double)x[i] * (double)x[i];
	}
	mean = sum / (double)count;
	variance = squares / (double)count - mean * mean;
	if (mean > 0.495 && mean < 0.505 && variance > 0.08 && variance < 0.087)
		return true;
	put_text(text, sizeof(text), "%lu numbers have mean %g and variance %g, not 0.5 and 0.0833",
		 (unsigned long)count, mean, variance);
	result_fail(check, "wrong-numbers", text);
	return false;
}

static bool curand_test(const struct gpu *g, const struct curand *rand)
{
	enum { COUNT = 1 << 20 };
	float *x = host_buffer(g->check, COUNT * sizeof(*x));
	void *generator = NULL;
	uint64_t device;

	if (!gpu_buffer(g, NULL, COUNT * sizeof(*x), &device))
		return false;
	LIBRARY_TRY(g->check, rand, "libcurand", "curandCreateGenerator",
		    rand->create(&generator, RANDOM_DEFAULT));
	LIBRARY_TRY(g->check, rand, "libcurand", "curandSetPseudoRandomGeneratorSeed",
		    rand->seed(generator, 1234));
	LIBRARY_TRY(g->check, rand, "libcurand", "curandGenerateUniform",
		    rand->uniform(generator, gpu_pointer(device), COUNT));
	if (!gpu_read(g, device, x, COUNT * sizeof(*x)) || !curand_right(g->check, x, COUNT))
		return false;
	LIBRARY_TRY(g->check, rand, "libcurand", "curandDestroyGenerator",
		    rand->destroy(generator));
	gpu_pass(g->check, rand->handle, "numbers", COUNT);
	return true;
}

/* args: libcurand */
void run_curand(const struct check *check)
{
	struct curand rand = { 0 };
	struct gpu g;

	if (gpu_begin(check, &g) && curand_open(check, check->args[0], &rand))
		curand_test(&g, &rand);
}

struct cusolver {
	void *handle;
	GPU_API_CUSOLVER(API_FIELD)
};
API_OPEN(cusolver, GPU_API_CUSOLVER)

#define SOLVER_TRY(name, call) LIBRARY_TRY(g->check, solver, "libcusolver", name, call)

enum { SYSTEM = 64 };

/*
 * A = L U, columns first, where L has ones and below them halves, U twos and above them fours: no
 * pivot is exchanged, and each step is exact. `b` is A x.
 */
static void system_make(float *a, float *x, float *b)
{
	for (int i = 0; i < SYSTEM; i++) {
		x[i] = (float)(i % 7 - 3);
		b[i] = 0;
		a[i * SYSTEM + i] = i ? 4 : 2; /* 0.5 * 4 + 2 */
		if (i + 1 < SYSTEM) {
			a[i * SYSTEM + i + 1] = 1;
			a[(i + 1) * SYSTEM + i] = 4;
		}
	}
	for (int j = 0; j < SYSTEM; j++) {
		for (int i = 0; i < SYSTEM; i++)
			b[i] += a[j * SYSTEM + i] * x[j];
	}
}

static bool cusolver_test(const struct gpu *g, const struct cusolver *solver)
{
	float *a = host_buffer(g->check, (SYSTEM + 3) * SYSTEM * sizeof(float)),
	      *x = a + SYSTEM * SYSTEM, *b = x + SYSTEM, *got = b + SYSTEM;
	uint64_t da, db, pivots, info, work;
	int words = 0, outcomes[2] = { 0 }; /* of the factors, and of the solution */
	void *handle = NULL;

	system_make(a, x, b);
	SOLVER_TRY("cusolverDnCreate", solver->create(&handle));
	if (!gpu_buffer(g, a, SYSTEM * SYSTEM * sizeof(float), &da) ||
	    !gpu_buffer(g, b, SYSTEM * sizeof(float), &db) ||
	    !gpu_buffer(g, NULL, SYSTEM * 4, &pivots) ||
	    !gpu_buffer(g, NULL, sizeof(outcomes), &info))
		return false;
	SOLVER_TRY("cusolverDnSgetrf_bufferSize",
		   solver->work_size(handle, SYSTEM, SYSTEM, gpu_pointer(da), SYSTEM, &words));
	if (!gpu_buffer(g, NULL, ((size_t)(words > 0 ? words : 0) + 1) * 4, &work))
		return false;
	SOLVER_TRY("cusolverDnSgetrf",
		   solver->factor(handle, SYSTEM, SYSTEM, gpu_pointer(da), SYSTEM,
				  gpu_pointer(work), gpu_pointer(pivots), gpu_pointer(info)));
	SOLVER_TRY("cusolverDnSgetrs",
		   solver->solve(handle, BLAS_NO_TRANSPOSE, SYSTEM, 1, gpu_pointer(da), SYSTEM,
				 gpu_pointer(pivots), gpu_pointer(db), SYSTEM,
				 gpu_pointer(info + 4)));
	if (!gpu_read(g, info, outcomes, sizeof(outcomes)) ||
	    !gpu_read(g, db, got, SYSTEM * sizeof(float)))
		return false;
	for (size_t i = 0; i < 2; i++) {
		if (outcomes[i])
			return gpu_wrong(g->check, i, 2, outcomes[i], 0);
	}
	if (!gpu_equal(g->check, got, x, SYSTEM))
		return false;
	SOLVER_TRY("cusolverDnDestroy", solver->destroy(handle));
	gpu_pass(g->check, solver->handle, "unknowns", SYSTEM);
	return true;
}

/* args: libcusolver. It, cuBLAS and cuSPARSE behind it have code for this device. */
void run_cusolver(const struct check *check)
{
	struct cusolver solver = { 0 };
	struct gpu g;

	if (gpu_begin(check, &g) && cusolver_open(check, check->args[0], &solver))
		cusolver_test(&g, &solver);
}

struct cusparse {
	void *handle;
	GPU_API_CUSPARSE(API_FIELD)
};
API_OPEN(cusparse, GPU_API_CUSPARSE)

#define SPARSE_TRY(name, call) LIBRARY_TRY(g->check, sparse, "libcusparse", name, call)

enum { ROWS = 1024, ENTRIES = 3 * ROWS - 2 };

/* -1, 2, -1 along the diagonal, as compressed rows, and its product with `x`. */
struct band {
	int starts[ROWS + 1], columns[ENTRIES];
	float values[ENTRIES], x[ROWS], y[ROWS], got[ROWS];
};

static void band_make(struct band *m)
{
	int at = 0;

	for (int i = 0; i < ROWS; i++)
		m->x[i] = (float)(i % 17);
	for (int i = 0; i < ROWS; i++) {
		m->starts[i] = at;
		m->y[i] = 0;
		for (int j = i - 1; j <= i + 1; j++) {
			if (j < 0 || j >= ROWS)
				continue;
			m->columns[at] = j;
			m->values[at] = j == i ? 2 : -1;
			m->y[i] += m->values[at++] * m->x[j];
		}
	}
	m->starts[ROWS] = at;
}

static bool cusparse_test(const struct gpu *g, const struct cusparse *sparse)
{
	struct band *m = host_buffer(g->check, sizeof(*m));
	uint64_t starts, columns, values, dx, dy, work;
	void *handle = NULL, *matrix = NULL, *x = NULL, *y = NULL;
	const float one = 1, zero = 0;
	size_t bytes = 0;

	band_make(m);
	if (!gpu_buffer(g, m->starts, sizeof(m->starts), &starts) ||
	    !gpu_buffer(g, m->columns, sizeof(m->columns), &columns) ||
	    !gpu_buffer(g, m->values, sizeof(m->values), &values) ||
	    !gpu_buffer(g, m->x, sizeof(m->x), &dx) || !gpu_buffer(g, NULL, sizeof(m->y), &dy))
		return false;
	SPARSE_TRY("cusparseCreate", sparse->create(&handle));
	SPARSE_TRY("cusparseCreateCsr",
		   sparse->matrix(&matrix, ROWS, ROWS, ENTRIES, gpu_pointer(starts),
				  gpu_pointer(columns), gpu_pointer(values), SPARSE_INDEX_32,
				  SPARSE_INDEX_32, SPARSE_BASE_ZERO, TYPE_FLOAT));
	SPARSE_TRY("cusparseCreateDnVec", sparse->vector(&x, ROWS, gpu_pointer(dx), TYPE_FLOAT));
	SPARSE_TRY("cusparseCreateDnVec", sparse->vector(&y, ROWS, gpu_pointer(dy), TYPE_FLOAT));
	SPARSE_TRY("cusparseSpMV_bufferSize",
		   sparse->work_size(handle, SPARSE_NO_TRANSPOSE, &one, matrix, x, &zero, y,
				     TYPE_FLOAT, SPARSE_DEFAULT, &bytes));
	if (!gpu_buffer(g, NULL, bytes + 4, &work))
		return false;
	SPARSE_TRY("cusparseSpMV",
		   sparse->multiply(handle, SPARSE_NO_TRANSPOSE, &one, matrix, x, &zero, y,
				    TYPE_FLOAT, SPARSE_DEFAULT, gpu_pointer(work)));
	if (!gpu_read(g, dy, m->got, sizeof(m->got)) || !gpu_equal(g->check, m->got, m->y, ROWS))
		return false;
	SPARSE_TRY("cusparseDestroy", sparse->destroy(handle));
	gpu_pass(g->check, sparse->handle, "rows", ROWS);
	return true;
}

/* args: libcusparse */
void run_cusparse(const struct check *check)
{
	struct cusparse sparse = { 0 };
	struct gpu g;

	if (gpu_begin(check, &g) && cusparse_open(check, check->args[0], &sparse))
		cusparse_test(&g, &sparse);
}

struct cudnn {
	void *handle;
	GPU_API_CUDNN(API_FIELD)
};
API_OPEN(cudnn, GPU_API_CUDNN)

#define DNN_TRY(name, call)                                                                     \
	do {                                                                                    \
		int dnn_rc = (call);                                                            \
                                                                                                \
		if (dnn_rc)                                                                     \
			return library_refused(g->check, dnn->handle, "libcudnn", name, dnn_rc, \
					       dnn->error_string(dnn_rc));                      \
	} while (0)

/* A picture of CHANNELS planes, OUTPUTS filters of 3 by 3; what lies outside counts as 0. */
enum { CHANNELS = 4, OUTPUTS = 8, EDGE = 16, PLANE = EDGE * EDGE, FILTER = 3 };

static float convolved(const float *in, const float *filter, int y, int x)
{
	float sum = 0;

	for (int c = 0; c < CHANNELS; c++) {
		for (int k = 0; k < FILTER * FILTER; k++) {
			int yy = y + k / FILTER - 1, xx = x + k % FILTER - 1;

			if (yy >= 0 && yy < EDGE && xx >= 0 && xx < EDGE)
				sum += in[c * PLANE + yy * EDGE + xx] *
				       filter[c * FILTER * FILTER + k];
		}
	}
	return sum;
}

struct picture {
	float in[CHANNELS * PLANE], filters[OUTPUTS * CHANNELS * FILTER * FILTER];
	float got[OUTPUTS * PLANE], want[OUTPUTS * PLANE];
};

static void picture_make(struct picture *p)
{
	for (int i = 0; i < CHANNELS * PLANE; i++)
		p->in[i] = (float)(i * 5 % 17 - 8);
	for (int i = 0; i < OUTPUTS * CHANNELS * FILTER * FILTER; i++)
		p->filters[i] = (float)(i * 3 % 7 - 3);
	for (int i = 0; i < OUTPUTS * PLANE; i++)
		p->want[i] = convolved(p->in, p->filters + i / PLANE * CHANNELS * FILTER * FILTER,
				       i % PLANE / EDGE, i % EDGE);
}

struct dnn_plan {
	void *handle, *in, *filter, *conv, *out;
	size_t work_bytes;
};

static bool dnn_describe(const struct gpu *g, const struct cudnn *dnn, struct dnn_plan *p)
{
	DNN_TRY("cudnnCreate", dnn->create(&p->handle));
	DNN_TRY("cudnnCreateTensorDescriptor", dnn->tensor_create(&p->in));
	DNN_TRY("cudnnSetTensor4dDescriptor",
		dnn->tensor_set(p->in, CUDNN_NCHW, CUDNN_FLOAT, 1, CHANNELS, EDGE, EDGE));
	DNN_TRY("cudnnCreateTensorDescriptor", dnn->tensor_create(&p->out));
	DNN_TRY("cudnnSetTensor4dDescriptor",
		dnn->tensor_set(p->out, CUDNN_NCHW, CUDNN_FLOAT, 1, OUTPUTS, EDGE, EDGE));
	DNN_TRY("cudnnCreateFilterDescriptor", dnn->filter_create(&p->filter));
	DNN_TRY("cudnnSetFilter4dDescriptor", dnn->filter_set(p->filter, CUDNN_FLOAT, CUDNN_NCHW,
							      OUTPUTS, CHANNELS, FILTER, FILTER));
	DNN_TRY("cudnnCreateConvolutionDescriptor", dnn->conv_create(&p->conv));
	DNN_TRY("cudnnSetConvolution2dDescriptor",
		dnn->conv_set(p->conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATE, CUDNN_FLOAT));
	DNN_TRY("cudnnGetConvolutionForwardWorkspaceSize",
		dnn->workspace_size(p->handle, p->in, p->filter, p->conv, p->out,
				    CUDNN_IMPLICIT_GEMM, &p->work_bytes));
	return true;
}

static bool cudnn_test(const struct gpu *g, const struct cudnn *dnn)
{
	struct picture *p = host_buffer(g->check, sizeof(*p));
	const float one = 1, zero = 0;
	uint64_t in, filters, out, work;
	struct dnn_plan plan = { 0 };

	picture_make(p);
	if (!dnn_describe(g, dnn, &plan) || !gpu_buffer(g, p->in, sizeof(p->in), &in) ||
	    !gpu_buffer(g, p->filters, sizeof(p->filters), &filters) ||
	    !gpu_buffer(g, NULL, sizeof(p->got), &out) ||
	    !gpu_buffer(g, NULL, plan.work_bytes + 4, &work))
		return false;
	DNN_TRY("cudnnConvolutionForward",
		dnn->forward(plan.handle, &one, plan.in, gpu_pointer(in), plan.filter,
			     gpu_pointer(filters), plan.conv, CUDNN_IMPLICIT_GEMM,
			     gpu_pointer(work), plan.work_bytes, &zero, plan.out,
			     gpu_pointer(out)));
	if (!gpu_read(g, out, p->got, sizeof(p->got)) ||
	    !gpu_equal(g->check, p->got, p->want, OUTPUTS * PLANE))
		return false;
	DNN_TRY("cudnnDestroy", dnn->destroy(plan.handle));
	gpu_pass(g->check, dnn->handle, "elements", OUTPUTS * PLANE);
	return true;
}

/* args: libcudnn. Its engines have code for this device. */
void run_cudnn_conv(const struct check *check)
{
	struct cudnn dnn = { 0 };
	struct gpu g;

	if (gpu_begin(check, &g) && cudnn_open(check, check->args[0], &dnn))
		cudnn_test(&g, &dnn);
}
