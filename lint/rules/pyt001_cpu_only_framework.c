#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

/* A library of that name below a distribution's folder. */
static bool has_library(const struct facts *facts, const struct python_dist *dist, const char *path)
{
	return facts_resolve(facts, arena_printf(facts_arena(facts), "%s/%s", dist->home, path),
			     NULL);
}

static bool starts_any(const struct facts *facts, const char *home, const char *start)
{
	for (size_t i = 0; i < facts->dists.len; i++) {
		if (str_equal(facts->dists.items[i].home, home) &&
		    str_starts(facts->dists.items[i].name, start))
			return true;
	}
	return false;
}

/* Another framework of the same environment is for GPUs, so this one may be meant for the CPU. */
static bool has_gpu_framework(const struct facts *facts, const char *home)
{
	const struct python_dist *torch = facts_dist(facts, home, "torch");

	return (torch && has_library(facts, torch, "torch/lib/libtorch_cuda.so")) ||
	       facts_dist(facts, home, "tensorflow") || starts_any(facts, home, "jax-cuda") ||
	       facts_dist(facts, home, "vllm") || starts_any(facts, home, "tensorrt");
}

static void add(struct findings *found, const struct rule *rule, const struct python_dist *d,
		enum severity severity, const char *why)
{
	struct finding *f = finding_add(found, rule, d->path, d->layer, d->name, "%s %s %s.",
					d->name, d->version, why);

	f->severity = severity;
	finding_evidence(found, f, "version", d->version);
}

static void check_torch(const struct rule *rule, const struct facts *facts,
			const struct python_dist *d, struct findings *found)
{
	if (strstr(d->version, "+cpu"))
		add(found, rule, d, SEVERITY_ERROR, "is the build for CPUs, as its version says");
	else if (has_library(facts, d, "torch/lib/libtorch_cpu.so") &&
		 !has_library(facts, d, "torch/lib/libtorch_cuda.so") &&
		 !has_library(facts, d, "torch/lib/libtorch_hip.so"))
		add(found, rule, d, SEVERITY_ERROR,
		    "is a build for CPUs: torch/lib has no libtorch_cuda.so");
}

static void check_onnxruntime(const struct rule *rule, const struct facts *facts,
			      const struct python_dist *d, struct findings *found)
{
	if (facts_dist(facts, d->home, "onnxruntime-gpu"))
		add(found, rule, d, SEVERITY_ERROR,
		    "lies over onnxruntime-gpu in the same folder; whichever was installed last "
		    "has overwritten the other");
	else if (!has_library(facts, d, "onnxruntime/capi/libonnxruntime_providers_cuda.so"))
		add(found, rule, d,
		    has_gpu_framework(facts, d->home) ? SEVERITY_INFO : SEVERITY_ERROR,
		    "is the build for CPUs, and onnxruntime-gpu is not installed");
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->dists.len; i++) {
		const struct python_dist *d = &facts->dists.items[i];

		if (str_equal(d->name, "torch"))
			check_torch(rule, facts, d, found);
		else if (str_equal(d->name, "onnxruntime"))
			check_onnxruntime(rule, facts, d, found);
		else if (str_equal(d->name, "tensorflow-cpu") ||
			 str_equal(d->name, "intel-tensorflow"))
			add(found, rule, d, SEVERITY_ERROR, "is the build for CPUs");
		else if (str_equal(d->name, "faiss-cpu") &&
			 (starts_any(facts, d->home, "faiss-gpu")))
			add(found, rule, d, SEVERITY_ERROR,
			    "lies over faiss-gpu in the same folder");
		else if (str_equal(d->name, "jaxlib") && !strstr(d->version, "cuda") &&
			 !starts_any(facts, d->home, "jax-cuda") &&
			 !starts_any(facts, d->home, "jax-rocm"))
			add(found, rule, d,
			    has_gpu_framework(facts, d->home) ? SEVERITY_INFO : SEVERITY_ERROR,
			    "has no CUDA plugin beside it (jax-cuda12-plugin, jax-cuda13-plugin)");
	}
	return 0;
}

const struct rule rule_pyt001 = {
	.id = "PYT001",
	.name = "cpu-only-framework",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "A framework is installed in its build for CPUs, in an image that is for GPUs.",
	.why = "The program starts and then runs on the CPU, slowly and often without a word; or "
	       "the two builds of one package lie over each other and the one that was installed "
	       "last wins.",
	.fix = "Install the build for GPUs: torch from the index of the CUDA version, "
	       "onnxruntime-gpu instead of onnxruntime, jax with its cuda extra, tensorflow "
	       "instead of tensorflow-cpu.",
	.sources = "pytorch.org, \"Get Started\"; onnxruntime.ai, \"Install ONNX Runtime\"; "
		   "docs.jax.dev, \"Installation\"",
	.check = check,
};
