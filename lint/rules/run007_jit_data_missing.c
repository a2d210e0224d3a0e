#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/installed.h"
#include "lint/rule.h"
#include "lint/versions.h"

static void report(const struct rule *rule, const struct facts *facts, struct findings *found,
		   const struct package *p, const char *what)
{
	finding_add(found, rule, p->path, facts_layer(facts, facts_resolve(facts, p->path, NULL)),
		    "", "%s %s compiles kernels when it runs and finds no %s in the image.",
		    p->name, p->version, what);
}

static const struct package *any_of(const struct facts *facts, const char *const *names)
{
	const struct package *p = NULL;

	for (; *names && !p; names++)
		p = wheel_in(facts, NULL, *names);
	return p;
}

/*
 * XLA's plugin assembles with ptxas or with libnvJitLink, whichever there is, and has neither in
 * itself. Functions such as pow and exp come from libdevice alone.
 */
static void check_xla(const struct rule *rule, const struct facts *facts, struct findings *found,
		      const struct package *p)
{
	bool assembler =
		installed_file(facts, "*/bin/ptxas") || installed_file(facts, "*/libnvJitLink.so*");
	bool device = installed_file(facts, "*/libdevice.10.bc");

	if (!assembler && !device)
		report(rule, facts, found, p,
		       "libdevice.10.bc, nor ptxas or libnvJitLink to assemble them with,");
	else if (!assembler)
		report(rule, facts, found, p, "ptxas or libnvJitLink to assemble them with");
	else if (!device)
		report(rule, facts, found, p,
		       "libdevice.10.bc (exp, pow and their like come from it)");
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	static const char *const xla[] = { "jax-cuda12-plugin", "jax-cuda13-plugin", NULL };
	static const char *const cupy[] = { "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", NULL };
	static const char *const numba[] = { "numba-cuda", NULL };
	const struct package *p = any_of(facts, xla);

	(void)err;
	if (p)
		check_xla(rule, facts, found, p);
	p = any_of(facts, cupy);
	if (p && !installed_file(facts, "*/include/cuda_fp16.h") &&
	    !installed_file(facts, "*/include/vector_types.h"))
		report(rule, facts, found, p, "headers of the CUDA runtime (cuda_fp16.h)");
	p = any_of(facts, numba);
	if (p && !installed_file(facts, "*/libnvvm.so*"))
		report(rule, facts, found, p, "libnvvm");
	return 0;
}

const struct rule rule_run007 = {
	.id = "RUN007",
	.name = "jit-data-missing",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_LIKELY,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "A package that compiles kernels when it runs finds no headers, device library or "
		"compiler library in the image.",
	.why = "They are parts of the toolkit that a runtime image leaves out: XLA needs "
	       "libdevice, and "
	       "ptxas or libnvJitLink, CuPy the headers of the CUDA runtime, Numba libnvvm. The "
	       "first kernel that "
	       "must "
	       "be compiled fails.",
	.fix = "Install the wheel that brings it (nvidia-cuda-nvcc, nvidia-cuda-runtime), or the "
	       "toolkit's package.",
	.sources = "OpenXLA nvptx backend and the texts of jax-cuda12-pjrt 0.12.0.1 (\"Can't find "
		   "libdevice directory\", \"Neither ptxas/nvlink nor nvjtlink is available\"); "
		   "CuPy installation guide; numba-cuda documentation",
	.check = check,
};
