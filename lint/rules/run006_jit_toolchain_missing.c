#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/installed.h"
#include "lint/rule.h"
#include "lint/versions.h"

static const char *const c_compilers[] = { "cc", "gcc", "clang", NULL };
static const char *const cxx_compilers[] = { "c++", "g++", "clang++", NULL };

static const char *add(const struct facts *facts, const char *list, const char *what)
{
	return arena_printf(facts_arena(facts), "%s%s%s", list, *list ? ", " : "", what);
}

/* A variable may name the compiler. */
static bool has_c_compiler(const struct facts *facts)
{
	const char *cc = facts_env(facts, "CC");

	return installed_any(facts, c_compilers) || (cc && facts_resolve(facts, cc, NULL)) ||
	       (cc && installed_program(facts, cc)) || installed_file(facts, "*/bin/*-gcc");
}

static const char *missing_for_triton(const struct facts *facts)
{
	const char *missing = "";

	if (!has_c_compiler(facts))
		missing = add(facts, missing, "a C compiler");
	if (!installed_file(facts, "*/include/python3*/Python.h"))
		missing = add(facts, missing, "Python.h");
	return missing;
}

static const char *missing_for_cuda(const struct facts *facts)
{
	const char *missing = "";

	if (!installed_program(facts, "nvcc") && !installed_file(facts, "*/bin/nvcc"))
		missing = add(facts, missing, "nvcc");
	if (!installed_any(facts, cxx_compilers) && !facts_env(facts, "CXX"))
		missing = add(facts, missing, "a C++ compiler");
	if (!installed_program(facts, "ninja") && !wheel_in(facts, NULL, "ninja"))
		missing = add(facts, missing, "ninja");
	if (!installed_file(facts, "*/include/cuda_runtime.h"))
		missing = add(facts, missing, "cuda_runtime.h");
	return missing;
}

/* Compiled beforehand, at the same version: nothing is left to compile. */
static bool is_compiled(const struct facts *facts, const struct package *p)
{
	const struct package *cubin, *cache;

	if (!str_starts(p->name, "flashinfer"))
		return false;
	cubin = wheel_in(facts, NULL, "flashinfer-cubin");
	cache = wheel_in(facts, NULL, "flashinfer-jit-cache");
	return (cubin && dotted_prefix(slice_str(cubin->version), slice_str(p->version))) ||
	       (cache && dotted_order(cache->version, p->version) == 0);
}

static void report(const struct rule *rule, struct findings *found, const struct facts *facts,
		   const struct package *p, const char *missing)
{
	finding_add(found, rule, p->path, facts_layer(facts, facts_resolve(facts, p->path, NULL)),
		    "", "%s %s compiles when it runs, and the image lacks %s.", p->name, p->version,
		    missing);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	static const char *const wheels[] = { "flashinfer-python", "flashinfer", "deepspeed",
					      "deep-gemm" };
	const struct package *p = wheel_in(facts, NULL, "triton");
	const char *missing;

	(void)err;
	missing = p ? missing_for_triton(facts) : "";
	if (*missing)
		report(rule, found, facts, p, missing);
	for (size_t i = 0; i < ARRAY_LEN(wheels); i++) {
		p = wheel_in(facts, NULL, wheels[i]);
		if (!p || is_compiled(facts, p))
			continue;
		missing = missing_for_cuda(facts);
		if (*missing)
			report(rule, found, facts, p, missing);
	}
	return 0;
}

const struct rule rule_run006 = {
	.id = "RUN006",
	.name = "jit-toolchain-missing",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_LIKELY,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "An installed package compiles code when it runs, and the tools it needs are not "
		"in the "
		"image.",
	.why = "Triton builds a small C module for each kernel's launcher, so torch.compile needs "
	       "a C "
	       "compiler and Python's headers. FlashInfer, DeepSpeed and DeepGEMM call nvcc. "
	       "Without "
	       "them the first use fails, long after the container started.",
	.fix = "Install the tools (gcc and python3-dev; the compiler packages of the toolkit, g++ "
	       "and "
	       "ninja), or the package's variant that is compiled beforehand where there is one.",
	.sources = "triton-lang/triton python/triton/runtime/build.py; flashinfer-ai/flashinfer "
		   "README.md",
	.check = check,
};
