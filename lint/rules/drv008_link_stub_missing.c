#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/runtime.h"
#include "lint/versions.h"

/* Libraries that come apart from the toolkit, for those who link nothing themselves. */
static bool is_of_toolkit(const char *name)
{
	static const char *const apart[] = { "libcudnn",      "libnccl",     "libnvinfer",
					     "libcusparseLt", "libcutensor", "libnvshmem" };

	for (size_t i = 0; i < ARRAY_LEN(apart); i++) {
		if (str_starts(name, apart[i]))
			return false;
	}
	return runtime_is_cuda_library(name) && !library_is_private_copy(name);
}

/* The first library of the CUDA toolkit, in path order; cudart rather than another. */
static const struct object *toolkit_library(const struct facts *facts)
{
	const struct object *first = NULL;

	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const char *name = path_name(o->path);

		if (!is_of_toolkit(name) || path_is_set_aside(o->path) || path_is_stub(o->path) ||
		    path_is_tegra(o->path))
			continue;
		if (str_starts(name, "libcudart"))
			return o;
		if (!first)
			first = o;
	}
	return first;
}

static bool has_stub(const struct facts *facts)
{
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	for (size_t i = 0; i < count; i++) {
		const char *path;

		if (!str_equal(facts_name(facts, nodes[i]), "libcuda.so"))
			continue;
		path = facts_path(facts, nodes[i]);
		if (str_ends(path, "/stubs/libcuda.so") && facts_resolve(facts, path, NULL))
			return true;
	}
	return false;
}

static bool on_path(const struct facts *facts, const char *program)
{
	for (size_t i = 0; i < facts->path.len; i++) {
		const char *path = arena_printf(facts_arena(facts), "%s/%s",
						facts->path.items[i].path, program);

		if (*path == '/' && facts_resolve(facts, path, NULL))
			return true;
	}
	return false;
}

/* A wheel's headers and compiler serve the package that needs them, which has its own severity. */
static bool is_in_wheel(const char *path)
{
	return strstr(path, "/site-packages/") || strstr(path, "/dist-packages/");
}

static bool has_compiler_or_headers(const struct facts *facts)
{
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	for (size_t i = 0; i < count; i++) {
		const char *name = facts_name(facts, nodes[i]), *path;
		bool nvcc = str_equal(name, "nvcc");

		if (nodes[i]->entry.type == TAR_DIR || (!nvcc && !str_equal(name, "cuda.h")))
			continue;
		path = facts_path(facts, nodes[i]);
		if (!is_in_wheel(path) &&
		    (nvcc ? strstr(path, "bin/") != NULL : str_ends(path, "/include/cuda.h")))
			return true;
	}
	return false;
}

static bool built_by_us(const struct facts *facts)
{
	for (size_t i = 0; facts->config && i < facts->config->label_keys.count; i++) {
		if (str_starts(facts->config->label_keys.items[i], "io.gpuimg."))
			return true;
	}
	return false;
}

/* From 3.6 on Triton names libcuda.so.1, which the driver brings, to the linker. */
static bool needs_no_stub(const struct package *p)
{
	return strstr(p->name, "triton") && dotted_order(p->version, "3.6") >= 0;
}

/* What links against -lcuda when it runs. */
static const char *links_at_run_time(const struct facts *facts)
{
	static const char *const names[] = { "triton", "pytorch-triton", "torch", "deepspeed",
					     "flashinfer-python" };

	for (size_t i = 0; i < facts->packages.len; i++) {
		const struct package *p = &facts->packages.items[i];

		for (size_t k = 0; k < ARRAY_LEN(names); k++) {
			if (str_equal(p->kind, "wheel") && str_equal(p->name, names[k]) &&
			    !needs_no_stub(p))
				return p->name;
		}
	}
	return NULL;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct object *library = toolkit_library(facts);
	const char *reason, *package;
	enum severity severity = SEVERITY_INFO;
	struct finding *f;

	(void)err;
	if (!library || facts->driver_container || has_stub(facts))
		return 0;
	package = links_at_run_time(facts);
	if (built_by_us(facts)) {
		severity = SEVERITY_ERROR;
		reason = "the image says that gpuimg built it, which always brings the stub";
	} else if (has_compiler_or_headers(facts) &&
		   (on_path(facts, "ld") || on_path(facts, "gcc") || on_path(facts, "ld.lld"))) {
		severity = SEVERITY_ERROR;
		reason = "the image has a CUDA compiler or headers, and a linker";
	} else if (package) {
		severity = SEVERITY_WARNING;
		reason = arena_printf(facts_arena(facts), "%s links against -lcuda when it runs",
				      package);
	} else {
		reason = "nothing here is known to need it";
	}
	f = finding_add(found, rule, path_dir(facts, library->path),
			facts_layer(facts, library->node), "",
			"%s is there, but no stubs/libcuda.so of any toolkit directory; %s.",
			library->path, reason);
	f->severity = severity;
	return 0;
}

const struct rule rule_drv008 = {
	.id = "DRV008",
	.name = "link-stub-missing",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "The image holds CUDA libraries and no link-time stub of the driver library.",
	.why = "Linking with -lcuda needs a libcuda.so, and the driver's own is only there at run "
	       "time on a GPU host. Without the stub, builds in the image and programs that "
	       "compile "
	       "when they run end with \"cannot find -lcuda\". It is an error where a compiler and "
	       "a "
	       "linker are there, a warning where an installed package links when it runs, else a "
	       "note.",
	.fix = "Ship the toolkit's stub as stubs/libcuda.so in its library directory (package "
	       "cuda-driver-dev), and on no run-time search path.",
	.sources = "CUDA Installation Guide for Linux, \"Driver stubs\"; "
		   "triton/backends/nvidia/driver.py of "
		   "3.5.0 and 3.6.0; torch/_inductor/cpp_builder.py of 2.15.0",
	.check = check,
};
