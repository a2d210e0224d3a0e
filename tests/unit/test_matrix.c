#include "tests/support/test.h"

#include "manifests/matrix.h"

/* All sentences of an answer, one a line. */
static char *ask(const struct tables *tables, const char *const *words, size_t count,
		 const struct matrix_query *flags, bool *against)
{
	struct matrix_query query = { 0 };
	cleanup_matrix struct matrix_answer answer = { 0 };
	struct strbuf text = { 0 };
	struct error err = { 0 };

	if (matrix_parse(tables, words, count, &query, &err) < 0)
		return xasprintf("refused: %s", err.text);
	if (flags)
		query = *flags;
	if (matrix_ask(tables, &query, &answer, &err) < 0)
		return xasprintf("refused: %s", err.text);
	for (size_t i = 0; i < answer.sentences.len; i++) {
		assert_true(answer.sentences.items[i].origin_count > 0);
		strbuf_addf(&text, "%s\n", answer.sentences.items[i].text);
	}
	if (against)
		*against = answer.against;
	return strbuf_steal(&text);
}

static void test_questions_are_answered_in_sentences(void **state)
{
	static const char *const cases[][3] = {
		{ "driver", "535", "serves CUDA 12.2 by itself" },
		{ "driver", "535", "any CUDA 12" },
		{ "driver", "535", "CUDA 13.4, 13.3" },
		{ "branch", "580", "last branch for sm_70 (Volta)" },
		{ "driver", "580.95.05", "Driver branch 580, kind LTS" },
		{ "cuda", "12.6", "need driver 560.35.05 or newer" },
		{ "cuda", "12.6", "from driver 525.60.13 on" },
		{ "cuda", "12.6", "serves data-center hosts of driver branch 535" },
		{ "cuda", "13.0", "It compiles for sm_75, " },
		{ "gpu", "l4", "L4 is Ada, capability 8.9" },
		{ "sm_120", NULL, "CUDA 12.8 is the first that compiles for it" },
		{ "h100", NULL, "yes, it is a data-center GPU" },
		{ "gpu", "rtx4090", "error 804" },
		{ "torch", "2.7", "torch 2.7.1 (cu126): CUDA 12.6.3, cuDNN 9.5.1.17, NCCL 2.26.2" },
		{ "torch", NULL, "torch 2.15.0 is the newest release" },
		{ "tensorflow", "2.18", "CUDA 12.5, cuDNN 9.3.0.75, NCCL 2.21.5" },
		{ "jax", "0.6", "cuDNN >=9.8,<10.0" },
		{ "ngc", "pytorch:24.10", "CUDA 12.6.3" },
		{ "ngc", "nvcr.io/nvidia/pytorch:25.10-py3", "driver 580.95.05" },
		{ "ngc", "tritonserver:24.05-trtllm-python-py3", "CUDA 12.3.2.001" },
		{ "cudnn", "8", "cuDNN 8.9.7.29 is built for CUDA 11, 12" },
		{ "nccl", "2.27", "follows the CUDA major" },
		{ "vllm", "0.28", "pins torch 2.13.0" },
		{ "tensorrt", "10.1", "tensorrt 10.1, cuda 12.0-12.4, cc_min 7.0" },
		{ "flash-attn", NULL, "all four must match the image" },
		{ "cupy", "14", "cuda 12.0-13.3" },
		{ "triton", "9.9", "refused: no row of triton" },
		{ "driver", "1.2", "refused: no driver branch 1" },
		{ "driver", "new", "refused: 'new' is not a driver" },
		{ "cuda", "12.7", "refused: no CUDA toolkit 12.7" },
		{ "cuda", "x", "refused: no CUDA toolkit x" },
		{ "torch", "7", "refused: no release 7 of torch" },
		{ "torch", "new", "refused: 'new' is not a version" },
		{ "ngc", "pytorch", "refused: no NGC image 'pytorch'" },
		{ "ngc", "pytorch:", "refused: no NGC image" },
		{ "ngc", "pytorch:24.1", "refused: no NGC image" },
		{ "gpu", "h10", "refused: no GPU 'h10' is known; did you mean" },
		{ "weather", NULL, "refused: 'weather' is no question" },
		{ "driver", NULL, "refused: 'driver' is no question" },
	};
	cleanup_tables struct tables tables = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tables_load(NULL, &tables, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *text = ask(&tables, cases[i], cases[i][1] ? 2 : 1, NULL, NULL);

		assert_contains(text, cases[i][2]);
	}
}

static void test_a_combination_is_judged(void **state)
{
	static const struct {
		struct matrix_query query;
		bool against;
		const char *says;
	} cases[] = {
		{ { .driver = "535.104", .cuda = "12.6", .gpu = "l4" },
		  false,
		  "minor version compatibility" },
		{ { .driver = "560", .cuda = "12.6", .gpu = "l4" },
		  false,
		  "serves CUDA 12.6 by itself" },
		{ { .driver = "535", .cuda = "13.0" },
		  false,
		  "only with the package cuda-compat-13-0" },
		{ { .driver = "535", .cuda = "13.0", .gpu = "4090" }, true, "error 804" },
		{ { .driver = "550", .cuda = "13.0" },
		  true,
		  "cannot run CUDA 13.0, which needs driver 580.65.06" },
		{ { .cuda = "13.0", .gpu = "v100" }, true, "no machine code" },
		{ { .driver = "590", .gpu = "v100" }, true, "the last branch is 580" },
		{ { .driver = "550", .gpu = "b200" }, true, "its first branch is 570" },
		{ { .cuda = "12.6" }, false, "released with driver branch 560" },
	};
	cleanup_tables struct tables tables = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tables_load(NULL, &tables, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool against;
		cleanup_free char *text = ask(&tables, NULL, 0, &cases[i].query, &against);

		assert_contains(text, cases[i].says);
		assert_int_equal(against, cases[i].against);
	}
}

static void test_every_row_can_be_asked_for(void **state)
{
	cleanup_tables struct tables t = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(tables_load(NULL, &t, &err), err);
	for (size_t i = 0; i < t.drivers.count; i++) {
		cleanup_free char *branch = xasprintf("%u", t.drivers.items[i].branch);
		const char *words[] = { "driver", branch };
		cleanup_free char *text = ask(&t, words, 2, NULL, NULL);

		assert_false(str_starts(text, "refused"));
	}
	for (size_t i = 0; i < t.gpus.count; i++) {
		const char *words[] = { t.gpus.items[i].sm };
		cleanup_free char *text = ask(&t, words, 1, NULL, NULL);

		assert_false(str_starts(text, "refused"));
	}
	for (size_t i = 0; i < t.images.ngc.len; i++) {
		const char *words[] = { "ngc", t.images.ngc.items[i].image };
		cleanup_free char *text = ask(&t, words, 2, NULL, NULL);

		assert_contains(text, t.images.ngc.items[i].image);
	}
	for (size_t i = 0; i < t.frameworks.builds.len; i++) {
		const struct framework_build *b = &t.frameworks.builds.items[i];
		const char *words[] = { b->framework, b->version };
		cleanup_free char *text = ask(&t, words, 2, NULL, NULL);

		assert_contains(text, b->version);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_questions_are_answered_in_sentences),
		cmocka_unit_test(test_a_combination_is_judged),
		cmocka_unit_test(test_every_row_can_be_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
