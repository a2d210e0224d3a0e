#include "tests/support/test.h"

#include "builder/distribution_cuda.h"

#define SUM "\"sha256:1111111111111111111111111111111111111111111111111111111111111111\""

/* Lock with these inputs: what is said of them. */
static void check(const char *inputs, const char *wanted)
{
	cleanup_free char *text = xasprintf(
		"{\"schema\":\"gpuimg-lock/1\",\"assembly\":1,\"manifest\":" SUM
		",\"sources\":[],\"stack\":{},\"platforms\":{\"linux/amd64\":{\"inputs\":[%s]}}}",
		inputs);
	cleanup_lockfile struct lockfile lock = { 0 };
	struct error err = { 0 };
	char *said = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&said, &size);
	struct out out = { .out = stream, .err = stream };

	assert_ok(lockfile_parse(slice_str(text), "t", &lock, &err), err);
	assert_ok(distribution_cuda_check(&lock, &out, &err), err);
	fclose(stream);
	if (wanted)
		assert_contains(said, wanted);
	else
		assert_string_equal(said, "");
	free(said);
}

#define INPUT(kind, stage, name, version, more)                                                \
	"{\"kind\":\"" kind "\",\"stage\":\"" stage "\",\"source\":\"os\",\"name\":\"" name    \
	"\",\"version\":\"" version "\",\"url\":\"https://example.org/x\",\"arch\":\"amd64\"," \
	"\"digest\":" SUM ",\"size\":1" more "}"

static void test_the_distributions_cuda_beside_nvidias_is_told(void **state)
{
	(void)state;
	check(INPUT("deb", "run", "libcublas11", "11.11", "") "," INPUT(
		      "deb", "run", "nvidia-cuda-toolkit", "11.8.89~11.8.0-5",
		      ",\"requested\":true") "," INPUT("wheel", "run", "nvidia-cuda-runtime",
						       "13.0.96", ""),
	      "stage run (linux/amd64): the distribution's own CUDA (libcublas11 11.11, "
	      "nvidia-cuda-toolkit 11.8.89~11.8.0-5 of source os) is locked beside NVIDIA's "
	      "(nvidia-cuda-runtime 13.0.96 of source os); a program gets whichever the loader "
	      "finds first: leave out what needs nvidia-cuda-toolkit, or");
	check(INPUT("deb", "run", "libcudart12", "12",
		    "") "," INPUT("deb", "run", "cuda-cudart-12-6", "12.6.77", ""),
	      "leave out what needs libcudart12");
}

static void test_either_alone_is_nobodys_business(void **state)
{
	(void)state;
	check(INPUT("deb", "run", "libcudart12", "12", ""), NULL);
	check(INPUT("wheel", "run", "nvidia-cuda-runtime", "13.0.96", ""), NULL);
	check(INPUT("deb", "run", "libcudart12", "12", "") "," INPUT("wheel", "run", "numpy", "2",
								     ""),
	      NULL);
	check("", NULL);
}

static void test_stages_are_looked_at_one_by_one(void **state)
{
	(void)state;
	check(INPUT("deb", "make", "nvidia-cuda-toolkit", "11.8",
		    "") "," INPUT("wheel", "run", "nvidia-cuda-runtime", "13.0.96", ""),
	      NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_distributions_cuda_beside_nvidias_is_told),
		cmocka_unit_test(test_either_alone_is_nobodys_business),
		cmocka_unit_test(test_stages_are_looked_at_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
