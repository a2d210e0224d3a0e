#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/loader.h"
#include "lint/rule.h"
#include "lint/runtime.h"

static bool is_there(const struct facts *facts, const char *path)
{
	return facts_resolve(facts, path, NULL) || facts_is_dir(facts, path);
}

static void check_path(const struct rule *rule, const struct facts *facts, struct findings *found,
		       const char *variable, const char *path)
{
	if (*path == '/' && !strchr(path, '$') && !is_there(facts, path))
		finding_add(found, rule, "", -1, variable,
			    "%s leads to %s, which is not in the image.", variable, path);
}

static bool is_path_variable(const char *name)
{
	static const char *const names[] = { "CUDA_HOME",         "CUDA_PATH",
					     "CUDA_ROOT",         "CUDNN_PATH",
					     "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_equal(name, names[i]))
			return true;
	}
	return str_starts(name, "NUMBAPRO_");
}

static void check_xla(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	static const char option[] = "--xla_gpu_cuda_data_dir=";
	const char *flags = facts_env(facts, "XLA_FLAGS"), *at;

	at = flags ? strstr(flags, option) : NULL;
	if (at) {
		at += sizeof(option) - 1;
		check_path(rule, facts, found, "XLA_FLAGS",
			   arena_printf(facts_arena(facts), "%.*s", (int)strcspn(at, " \t"), at));
	}
}

/* Libraries by path; a bare name is found as the loader finds it. */
static void check_preload(const struct rule *rule, const struct facts *facts,
			  struct findings *found)
{
	const char *value = facts_env(facts, "LD_PRELOAD");

	while (value && *value) {
		size_t len = strcspn(value, " :");

		if (len && *value == '/')
			check_path(rule, facts, found, "LD_PRELOAD",
				   arena_printf(facts_arena(facts), "%.*s", (int)len, value));
		value += len + (value[len] != '\0');
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->config->env.count; i++) {
		const char *variable = facts->config->env.items[i], *equals = strchr(variable, '=');
		const char *name;

		if (!equals)
			continue;
		name = arena_printf(facts_arena(facts), "%.*s", (int)(equals - variable), variable);
		if (is_path_variable(name))
			check_path(rule, facts, found, name, equals + 1);
	}
	check_xla(rule, facts, found);
	check_preload(rule, facts, found);
	return 0;
}

const struct rule rule_env011 = {
	.id = "ENV011",
	.name = "tool-path-dangling",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG | NEEDS_ALL_LAYERS,
	.what = "A variable that tells tools where CUDA or one of its programs is leads to "
		"nothing.",
	.why = "Builds and frameworks believe it and look nowhere else: nvcc, ptxas or libdevice "
	       "are "
	       "then \"not found\" although another copy is installed. A library that LD_PRELOAD "
	       "names and that is missing is complained about by every program.",
	.fix = "Let it lead to what is installed, or drop it.",
	.sources = "PyTorch torch.utils.cpp_extension; OpenXLA flags guide; ld.so(8)",
	.check = check,
};
