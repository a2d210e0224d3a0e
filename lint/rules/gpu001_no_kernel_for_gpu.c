#include "lint/coverage.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"

/* Why the code of an object does not serve. */
enum lack { LACK_NONE, LACK_EXACT, LACK_LTO, LACK_EMBEDDED, LACK_COUNT };

static const struct {
	const char *cause, *verb, *more;
	enum severity severity;
	enum confidence confidence;
} lacks[LACK_COUNT] = {
	[LACK_NONE] = { "none", "cannot run on",
			"; CUDA ends with \"no kernel image is available for execution on the "
			"device\"",
			SEVERITY_ERROR, CONFIDENCE_CERTAIN },
	[LACK_EXACT] = { "exact", "hold only code that is made for another chip and cannot run on",
			 "; whoever calls it must choose another way on this GPU", SEVERITY_WARNING,
			 CONFIDENCE_HEURISTIC },
	[LACK_LTO] = { "lto", "have only LTO-IR that could serve",
		       "; that becomes code only where a program links it at run time",
		       SEVERITY_WARNING, CONFIDENCE_CERTAIN },
	[LACK_EMBEDDED] = { "embedded", "have only code of another minor for",
			    "; whether such a chip runs it is not established", SEVERITY_WARNING,
			    CONFIDENCE_HEURISTIC },
};

/* What the objects of one target have in common. */
struct group {
	struct object_list lists[LACK_COUNT];
	size_t judged;
	bool unbound; /* no program of the image loads them */
};

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
 * Programs do not run the code of profilers, which is for their own measurements. PyTorch's library
 * for CPUs holds such a profiler, CUPTI, and no kernel of its own.
 */
static bool is_tool(const char *name)
{
	return library_is_profiler(name) || str_starts(name, "libtorch_cpu.so");
}

/* LACK_COUNT: it is served. */
static enum lack lack_of(const struct facts *facts, const struct object *o,
			 const struct host_gpu *gpu)
{
	switch (of_set(facts, o, gpu)) {
	case COVER_NONE:
		return coverage_is_exact(o->elf->gpu) ? LACK_EXACT : LACK_NONE;
	case COVER_LTO:
		return LACK_LTO;
	case COVER_EMBEDDED:
		return LACK_EMBEDDED;
	default:
		return LACK_COUNT;
	}
}

static void judge(const struct facts *facts, const struct host_gpu *gpu, struct group *g)
{
	struct object_list list;

	judged_code(facts, &list, &g->unbound);
	for (size_t i = 0; i < list.len; i++) {
		enum lack lack;

		if (is_tool(path_name(list.items[i]->path)))
			continue;
		g->judged++;
		lack = lack_of(facts, list.items[i], gpu);
		if (lack != LACK_COUNT)
			vec_push(&g->lists[lack], list.items[i]);
	}
	vec_release(&list);
}

static void report(const struct rule *rule, const struct facts *facts, struct findings *found,
		   const struct host_gpu *gpu, const struct group *g, enum lack lack)
{
	const struct object_list *list = &g->lists[lack];
	const struct object *first = list->items[0];
	struct finding *f;

	f = finding_add(found, rule, first->path, facts_layer(facts, first->node),
			arena_printf(facts_arena(facts), "%s %s", lacks[lack].cause,
				     gpu->target.arch->sm),
			"%zu of %zu objects with GPU code %s %s: %s. %s holds %s%s%s.", list->len,
			g->judged, lacks[lack].verb, host_gpu_name(gpu, facts_arena(facts)),
			object_list_text(facts, list), path_name(first->path),
			coverage_text(first->elf->gpu, facts_arena(facts)), lacks[lack].more,
			g->unbound ? "; no program of the image loads it" : "");
	f->severity = g->unbound ? SEVERITY_INFO : lacks[lack].severity;
	f->confidence = g->unbound ? MIN(lacks[lack].confidence, CONFIDENCE_LIKELY)
				   : lacks[lack].confidence;
	for (size_t i = 0; i < MIN(list->len, (size_t)20); i++)
		finding_evidence(
			found, f, "object",
			arena_printf(facts_arena(facts), "%s: %s", list->items[i]->path,
				     coverage_text(list->items[i]->elf->gpu, facts_arena(facts))));
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->hosts.gpus.len; i++) {
		struct group g = { 0 };

		judge(facts, &facts->hosts.gpus.items[i], &g);
		for (enum lack lack = 0; lack < LACK_COUNT; lack++) {
			if (g.lists[lack].len)
				report(rule, facts, found, &facts->hosts.gpus.items[i], &g, lack);
			vec_release(&g.lists[lack]);
		}
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
		"that was named. Where no program of the image loads any GPU code, as in a base "
		"image, what its libraries lack is told as info.",
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
