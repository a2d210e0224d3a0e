/*
 * Products of matrices, whole numbers throughout, so that every type gives the exact result.
 */
#include "gpu.h"

enum { SIZE = 128 };

/* A whole number between -`most` and `most`, from its place. */
static float whole(size_t i, int most)
{
	return (float)((int)(i * 7 + i / 13) % (2 * most + 1) - most);
}

/* c = a' b, columns first; a and b have `k` rows, a `m` columns and b `n`. */
static void multiply(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
	for (size_t j = 0; j < n; j++) {
		for (size_t i = 0; i < m; i++) {
			float sum = 0;

			for (size_t l = 0; l < k; l++)
				sum += a[i * k + l] * b[j * k + l];
			c[j * m + i] = sum;
		}
	}
}

struct product {
	float *a, *b, *got, *want; /* SIZE by SIZE each */
	uint64_t da, db, dc;       /* on the device */
};

static bool product_make(const struct check *check, struct product *p, int most)
{
	p->a = host_buffer(check, 4 * SIZE * SIZE * sizeof(float));
	p->b = p->a + SIZE * SIZE;
	p->got = p->b + SIZE * SIZE;
	p->want = p->got + SIZE * SIZE;
	for (size_t i = 0; i < SIZE * SIZE; i++) {
		p->a[i] = whole(i, most);
		p->b[i] = whole(i + 3, most);
	}
	multiply(p->a, p->b, p->want, SIZE, SIZE, SIZE);
	return true;
}

static bool product_right(const struct gpu *g, struct product *p)
{
	return gpu_read(g, p->dc, p->got, SIZE * SIZE * sizeof(float)) &&
	       gpu_equal(g->check, p->got, p->want, SIZE * SIZE);
}

struct cublas {
	void *handle;
	GPU_API_CUBLAS(API_FIELD)
};
API_OPEN(cublas, GPU_API_CUBLAS)

static bool cublas_test(const struct gpu *g, const struct cublas *blas)
{
	size_t bytes = SIZE * SIZE * sizeof(float);
	const float one = 1, zero = 0;
	struct product p = { 0 };
	void *handle = NULL;

	if (!product_make(g->check, &p, 4) || !gpu_buffer(g, p.a, bytes, &p.da) ||
	    !gpu_buffer(g, p.b, bytes, &p.db) || !gpu_buffer(g, NULL, bytes, &p.dc))
		return false;
	LIBRARY_TRY(g->check, blas, "libcublas", "cublasCreate", blas->create(&handle));
	LIBRARY_TRY(g->check, blas, "libcublas", "cublasSgemm",
		    blas->sgemm(handle, BLAS_TRANSPOSE, BLAS_NO_TRANSPOSE, SIZE, SIZE, SIZE, &one,
				gpu_pointer(p.da), SIZE, gpu_pointer(p.db), SIZE, &zero,
				gpu_pointer(p.dc), SIZE));
	if (!product_right(g, &p))
		return false;
	LIBRARY_TRY(g->check, blas, "libcublas", "cublasDestroy", blas->destroy(handle));
	gpu_pass(g->check, blas->handle, "size", SIZE);
	return true;
}

/* args: libcublas. It has code for this device. */
void run_cublas_sgemm(const struct check *check)
{
	struct cublas blas = { 0 };
	struct gpu g;

	if (gpu_begin(check, &g) && cublas_open(check, check->args[0], &blas))
		cublas_test(&g, &blas);
}

struct cublaslt {
	void *handle;
	GPU_API_CUBLASLT(API_FIELD)
};
API_OPEN(cublaslt, GPU_API_CUBLASLT)

#define LT_TRY(name, call) LIBRARY_TRY(g->check, lt, "libcublasLt", name, call)

/* A way in which matrices are stored and multiplied. */
struct lt_type {
	const char *name;
	int type, compute;
	size_t bytes;        /* of an element */
	int most;            /* whole numbers up to it are exact */
	int capability;      /* of a device that can, times ten */
	const char *lacking; /* for one that cannot */
};

static const struct lt_type lt_tf32 = {
	"tf32", TYPE_FLOAT, COMPUTE_FAST_TF32, 4, 8, 80, "TF32 needs compute capability 8.0"
};
static const struct lt_type lt_bf16 = {
	"bf16", TYPE_BF16, COMPUTE_FLOAT, 2, 8, 80, "BF16 needs compute capability 8.0"
};
static const struct lt_type lt_fp8 = {
	"fp8", TYPE_FP8_E4M3, COMPUTE_FLOAT, 1, 2, 89, "FP8 needs compute capability 8.9"
};

/* The element as the type stores it. Of FP8 (E4M3) only 0, 1 and 2 are needed: 2^(e-7). */
static void lt_store(const struct lt_type *type, float value, unsigned char *out)
{
	union {
		float f;
		unsigned char bytes[4];
	} u = { .f = value };
	unsigned char sign = value < 0 ? 0x80 : 0;

	if (type->bytes == 1) {
		out[0] = value == 0 ? 0 : (unsigned char)(sign | (value * value > 1 ? 0x40 : 0x38));
		return;
	}
	for (size_t i = 0; i < type->bytes; i++)
		out[i] = u.bytes[4 - type->bytes + i];
}

static bool lt_upload(const struct gpu *g, const struct lt_type *type, const float *from,
		      uint64_t *out)
{
	unsigned char *data = host_buffer(g->check, SIZE * SIZE * type->bytes);

	for (size_t i = 0; i < SIZE * SIZE; i++)
		lt_store(type, from[i], data + i * type->bytes);
	return gpu_buffer(g, data, SIZE * SIZE * type->bytes, out);
}

/* What is to be multiplied, as cuBLASLt wants it described. */
struct lt_plan {
	void *handle, *desc, *in, *out, *preference;
	struct cublaslt_choice choice;
};

static bool lt_describe(const struct gpu *g, const struct cublaslt *lt, const struct lt_type *type,
			struct lt_plan *p)
{
	const int transpose = BLAS_TRANSPOSE, keep = BLAS_NO_TRANSPOSE;
	const size_t no_workspace = 0;
	int found = 0, rc;

	LT_TRY("cublasLtCreate", lt->create(&p->handle));
	LT_TRY("cublasLtMatmulDescCreate", lt->desc_create(&p->desc, type->compute, TYPE_FLOAT));
	LT_TRY("cublasLtMatmulDescSetAttribute",
	       lt->desc_set(p->desc, MATMUL_TRANSPOSE_A, &transpose, sizeof(transpose)));
	LT_TRY("cublasLtMatmulDescSetAttribute",
	       lt->desc_set(p->desc, MATMUL_TRANSPOSE_B, &keep, sizeof(keep)));
	LT_TRY("cublasLtMatrixLayoutCreate",
	       lt->layout_create(&p->in, type->type, SIZE, SIZE, SIZE));
	LT_TRY("cublasLtMatrixLayoutCreate",
	       lt->layout_create(&p->out, TYPE_FLOAT, SIZE, SIZE, SIZE));
	LT_TRY("cublasLtMatmulPreferenceCreate", lt->preference_create(&p->preference));
	LT_TRY("cublasLtMatmulPreferenceSetAttribute",
	       lt->preference_set(p->preference, MATMUL_MAX_WORKSPACE, &no_workspace,
				  sizeof(no_workspace)));
	rc = lt->choose(p->handle, p->desc, p->in, p->in, p->out, p->out, p->preference, 1,
			&p->choice, &found);
	if (rc || found < 1)
		return library_refused(g->check, lt->handle, "libcublasLt",
				       "cublasLtMatmulAlgoGetHeuristic", rc ? rc : 15,
				       "no heuristic found");
	return true;
}

static bool lt_test(const struct gpu *g, const struct cublaslt *lt, const struct lt_type *type)
{
	const float one = 1, zero = 0;
	struct product m = { 0 };
	struct lt_plan p = { 0 };
	struct say s;

	if (!product_make(g->check, &m, type->most) || !lt_upload(g, type, m.a, &m.da) ||
	    !lt_upload(g, type, m.b, &m.db) ||
	    !gpu_buffer(g, NULL, SIZE * SIZE * sizeof(float), &m.dc) ||
	    !lt_describe(g, lt, type, &p))
		return false;
	LT_TRY("cublasLtMatmul",
	       lt->matmul(p.handle, p.desc, &one, gpu_pointer(m.da), p.in, gpu_pointer(m.db), p.in,
			  &zero, gpu_pointer(m.dc), p.out, gpu_pointer(m.dc), p.out,
			  p.choice.algorithm, NULL, 0, NULL));
	if (!product_right(g, &m))
		return false;
	LT_TRY("cublasLtDestroy", lt->destroy(p.handle));
	result_begin(&s, g->check, "pass");
	say_str(&s, "type", type->name);
	say_int(&s, "size", SIZE);
	say_library(&s, g->check, lt->handle);
	say_end(&s);
	return true;
}

/* args: libcublasLt. Tensor cores of this device have code for the type. */
static void run_cublaslt(const struct check *check, const struct lt_type *type)
{
	struct cublaslt lt = { 0 };
	struct gpu g;

	if (!gpu_begin(check, &g))
		return;
	if (10 * g.major + g.minor < type->capability)
		result_skip(check, "device-lacks-feature", type->lacking);
	else if (cublaslt_open(check, check->args[0], &lt))
		lt_test(&g, &lt, type);
}

void run_cublaslt_tf32(const struct check *check)
{
	run_cublaslt(check, &lt_tf32);
}

void run_cublaslt_bf16(const struct check *check)
{
	run_cublaslt(check, &lt_bf16);
}

void run_cublaslt_fp8(const struct check *check)
{
	run_cublaslt(check, &lt_fp8);
}
