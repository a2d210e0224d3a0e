#include "lint/coverage.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"

/* What the objects of one target have in common. */
struct group {
	struct object_list none, exact, lto, embedded;
	size_t judged;
};

static struct arena *arena_of(const struct facts *facts)
{
	return (struct arena *)&facts->arena;
}

/*
 * Libraries that split their kernels over several files of one directory, of which the right one
 * is opened when they run: the set is judged, not the file. The common beginning of their names,
 * or 0.
 */
static size_t set_stem(const char *name)
{
	static const char *const stems[] = { "libcudnn", "libnvinfer", "libcublas", "libmyelin",
					     "libcask" };

	for (size_t i = 0; i < ARRAY_LEN(stems); i++) {
		if (str_starts(name, stems[i]))
			return strlen(stems[i]);
	}
	return 0;
}

static enum coverage of_set(const struct facts *facts, const struct object *o,
			    const struct host_gpu *gpu)
{
	enum coverage best = coverage_of(o->elf->gpu, gpu, &facts->tables);
	size_t stem = set_stem(path_name(o->path)), dir = strlen(path_dir(facts, o->path));

	for (size_t i = 0; stem && i < facts->objects.len; i++) {
		const struct object *other = &facts->objects.items[i];

		if (other->elf->gpu && strncmp(other->path, o->path, dir + 1 + stem) == 0 &&
		    !strchr(other->path + dir + 1, '/'))
			best = MAX(best, coverage_of(other->elf->gpu, gpu, &facts->tables));
	}
	return best;
}

/*
 * Libraries of profilers carry code for their own measurements; programs do not run it. PyTorch's
 * library for CPUs holds such a profiler, CUPTI, and no kernel of its own.
 */
static bool is_tool(const char *name)
{
	static const char *const stems[] = { "libcupti", "libnvperf", "libcheckpoint",
					     "libpcsamplingutil", "libtorch_cpu.so" };

	for (size_t i = 0; i < ARRAY_LEN(stems); i++) {
		if (str_starts(name, stems[i]))
			return true;
	}
	return false;
}

static void judge(const struct facts *facts, const struct host_gpu *gpu, struct group *g)
{
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		if (!o->elf->gpu || !object_is_used(facts, o) || is_tool(path_name(o->path)))
			continue;
		g->judged++;
		switch (of_set(facts, o, gpu)) {
		case COVER_NONE:
			if (coverage_is_exact(o->elf->gpu))
				vec_push(&g->exact, o);
			else
				vec_push(&g->none, o);
			break;
		case COVER_LTO:
			vec_push(&g->lto, o);
			break;
		case COVER_EMBEDDED:
			vec_push(&g->embedded, o);
			break;
		default:
			break;
		}
	}
}

static struct finding *report(const struct rule *rule, const struct facts *facts,
			      struct findings *found, const struct host_gpu *gpu,
			      const struct object_list *list, size_t judged, const char *cause,
			      const char *verb, const char *more)
{
	const struct object *first;
	struct finding *f;

	if (!list->len)
		return NULL;
	first = list->items[0];
	f = finding_add(found, rule, first->path, facts_layer(facts, first->node),
			arena_printf(arena_of(facts), "%s %s", cause, gpu->target.arch->sm),
			"%zu of %zu objects with GPU code %s %s: %s. %s holds %s%s.", list->len,
			judged, verb, host_gpu_name(gpu, arena_of(facts)),
			object_list_text(facts, list), path_name(first->path),
			coverage_text(first->elf->gpu, arena_of(facts)), more);
	for (size_t i = 0; i < MIN(list->len, (size_t)20); i++)
		finding_evidence(
			found, f, "object",
			arena_printf(arena_of(facts), "%s: %s", list->items[i]->path,
				     coverage_text(list->items[i]->elf->gpu, arena_of(facts))));
	return f;
}

static void report_all(const struct rule *rule, const struct facts *facts, struct findings *found,
		       const struct host_gpu *gpu, const struct group *g)
{
	struct finding *f;

	report(rule, facts, found, gpu, &g->none, g->judged, "none", "cannot run on",
	       "; CUDA ends with \"no kernel image is available for execution on the device\"");
	f = report(rule, facts, found, gpu, &g->exact, g->judged, "exact",
		   "hold only code that is made for another chip and cannot run on",
		   "; whoever calls it must choose another way on this GPU");
	if (f) {
		f->severity = SEVERITY_WARNING;
		f->confidence = CONFIDENCE_HEURISTIC;
	}
	f = report(rule, facts, found, gpu, &g->lto, g->judged, "lto",
		   "have only LTO-IR that could serve",
		   "; that becomes code only where a program links it at run time");
	if (f)
		f->severity = SEVERITY_WARNING;
	f = report(rule, facts, found, gpu, &g->embedded, g->judged, "embedded",
		   "have only code of another minor for",
		   "; whether such a chip runs it is not established");
	if (f) {
		f->severity = SEVERITY_WARNING;
		f->confidence = CONFIDENCE_HEURISTIC;
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->hosts.gpus.len; i++) {
		struct group g = { 0 };

		judge(facts, &facts->hosts.gpus.items[i], &g);
		report_all(rule, facts, found, &facts->hosts.gpus.items[i], &g);
		vec_release(&g.none);
		vec_release(&g.exact);
		vec_release(&g.lto);
		vec_release(&g.embedded);
	}
	return 0;
}

const struct rule rule_gpu001 = {
	.id = "GPU001",
	.name = "no-kernel-for-gpu",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU | NEEDS_GPU_IMAGE,
	.what = "A library or module that is loaded holds GPU code, and none of it runs on the GPU "
		"that was named.",
	.why = "Machine code runs on its own architecture and on newer minors of the same major; "
	       "code with the suffix a on exactly its chip, with f inside its family; PTX is "
	       "compiled by the driver for newer GPUs only. Where nothing fits, the first kernel "
	       "launch ends with error 209, \"no kernel image is available for execution on the "
	       "device\".",
	.fix = "Rebuild it with that architecture (nvcc -gencode, TORCH_CUDA_ARCH_LIST, "
	       "CMAKE_CUDA_ARCHITECTURES), or install the build that was made for it.",
	.sources = "CUDA C++ Programming Guide, \"Compute Capability and Binary Compatibility\"; "
		   "PTX ISA, \".target\"",
	.check = check,
};
