#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/installed.h"
#include "lint/rule.h"
#include "lint/versions.h"
#include "manifests/dotted.h"

static bool can_target(const struct host_gpu *gpu, const char *release)
{
	const struct gpu_arch *arch = gpu->target.arch;

	return dotted_order_minor(release, arch->first_cuda) >= 0 &&
	       (!arch->last_cuda || dotted_order_minor(release, arch->last_cuda) <= 0);
}

static void check_ptxas(const struct rule *rule, const struct facts *facts, struct findings *found,
			const char *path, const char *who, const struct host_gpu *gpu,
			const char *variable)
{
	const struct object *o = facts_object(facts, path);
	const char *release = o ? o->elf->embedded_version : NULL;
	struct finding *f;

	if (!release || can_target(gpu, release))
		return;
	f = finding_add(
		found, rule, o->path, facts_layer(facts, o->node),
		arena_printf(facts_arena(facts), "%s %s", who, gpu->target.arch->sm),
		"%s compiles with %s of CUDA %s, which cannot target %s (it takes CUDA %s%s%s).",
		who, o->path, release, host_gpu_name(gpu, facts_arena(facts)),
		gpu->target.arch->first_cuda, gpu->target.arch->last_cuda ? " to " : " or newer",
		gpu->target.arch->last_cuda ? gpu->target.arch->last_cuda : "");
	if (variable)
		f->fix = arena_printf(facts_arena(facts),
				      "Set %s to the ptxas of a CUDA release that targets it, or "
				      "upgrade %s.",
				      variable, who);
}

/* From version 3.6 on a second one serves Blackwell. */
static void check_triton(const struct rule *rule, const struct facts *facts, struct findings *found,
			 const struct package *triton, const struct host_gpu *gpu)
{
	const char *site = path_dir(facts, triton->path);
	bool blackwell = gpu->sm >= 100;
	const char *variable = blackwell && dotted_order(triton->version, "3.6") >= 0
				       ? "TRITON_PTXAS_BLACKWELL_PATH"
				       : "TRITON_PTXAS_PATH";
	const char *path = facts_env(facts, variable);

	if (!path && str_equal(variable, "TRITON_PTXAS_BLACKWELL_PATH"))
		path = arena_printf(facts_arena(facts),
				    "%s/triton/backends/nvidia/bin/ptxas-blackwell", site);
	if (!path || !facts_resolve(facts, path, NULL))
		path = arena_printf(facts_arena(facts), "%s/triton/backends/nvidia/bin/ptxas",
				    site);
	if (!facts_resolve(facts, path, NULL))
		path = arena_printf(facts_arena(facts), "%s/triton/third_party/cuda/bin/ptxas",
				    site);
	check_ptxas(rule, facts, found, path, "triton", gpu, variable);
}

static void check_jax(const struct rule *rule, const struct facts *facts, struct findings *found,
		      const struct package *plugin, const struct host_gpu *gpu)
{
	const char *site = path_dir(facts, plugin->path);
	const char *path = arena_printf(facts_arena(facts), "%s/nvidia/cuda_nvcc/bin/ptxas", site);

	if (!facts_resolve(facts, path, NULL))
		path = arena_printf(facts_arena(facts), "%s/nvidia/cu13/bin/ptxas", site);
	if (!facts_resolve(facts, path, NULL))
		path = installed_program(facts, "ptxas");
	if (!path)
		path = "/usr/local/cuda/bin/ptxas";
	check_ptxas(rule, facts, found, path, "jax", gpu, NULL);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct package *triton = wheel_in(facts, NULL, "triton");
	const struct package *jax = wheel_in(facts, NULL, "jax-cuda12-plugin");

	(void)err;
	if (!jax)
		jax = wheel_in(facts, NULL, "jax-cuda13-plugin");
	for (size_t i = 0; i < facts->hosts.gpus.len; i++) {
		if (triton)
			check_triton(rule, facts, found, triton, &facts->hosts.gpus.items[i]);
		if (jax)
			check_jax(rule, facts, found, jax, &facts->hosts.gpus.items[i]);
	}
	return 0;
}

const struct rule rule_gpu004 = {
	.id = "GPU004",
	.name = "ptxas-too-old",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU | NEEDS_GPU_IMAGE,
	.what = "The assembler that a framework compiles with when it runs cannot target the GPU "
		"that "
		"was named.",
	.why = "Triton and XLA make PTX and call ptxas. A release from before the GPU ends with "
	       "\"Value 'sm_120' is not defined for option 'gpu-name'\", one after the GPU was "
	       "dropped "
	       "likewise.",
	.fix = "Install a ptxas of a CUDA release that targets it.",
	.sources =
		"triton-lang/triton third_party/nvidia/backend/compiler.py; CUDA Toolkit release "
		"notes; PTX ISA, \"Release Notes\"",
	.check = check,
};
