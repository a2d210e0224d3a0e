#include "base/out.h"
#include "lint/coverage.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"

/* Below this many bytes of PTX the first start is not noticeably longer. */
enum { SMALL_PTX = 64 * 1024 };

/* Bytes of PTX that the driver may compile. */
static uint64_t bytes_of(const struct facts *facts, const struct object *o,
			 const struct host_gpu *gpu)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < o->elf->gpu->count; i++) {
		const struct gpu_row *r = &o->elf->gpu->rows[i];

		if (coverage_of_row(r, gpu, &facts->tables) == COVER_PTX)
			bytes += r->unpacked;
	}
	return bytes;
}

static const char *needs_text(const struct facts *facts, const struct gpu_row *row)
{
	const char *cuda;

	if (!row || !row->ptx_major)
		return "";
	cuda = ptx_cuda(&facts->tables.gpus, row->ptx_major, row->ptx_minor, facts_arena(facts));
	if (!cuda)
		return arena_printf(facts_arena(facts), " (PTX %u.%u)", row->ptx_major,
				    row->ptx_minor);
	return arena_printf(facts_arena(facts),
			    " (PTX %u.%u: it takes a driver that serves CUDA %s by itself)",
			    row->ptx_major, row->ptx_minor, cuda);
}

static void check_gpu(const struct rule *rule, const struct facts *facts, struct findings *found,
		      const struct host_gpu *gpu)
{
	struct object_list judged, list = { 0 };
	const struct gpu_row *newest = NULL;
	uint64_t bytes = 0;
	struct finding *f;
	char size[32];
	bool unbound;

	judged_code(facts, &judged, &unbound);
	for (size_t i = 0; i < judged.len; i++) {
		const struct object *o = judged.items[i];
		const struct gpu_row *row = coverage_compiled(o->elf->gpu, gpu, &facts->tables);

		if (!row)
			continue;
		bytes += bytes_of(facts, o, gpu);
		if (!newest || ptx_is_newer(row, newest))
			newest = row;
		vec_push(&list, o);
	}
	if (list.len) {
		f = finding_add(found, rule, list.items[0]->path,
				facts_layer(facts, list.items[0]->node), gpu->target.arch->sm,
				"%zu object%s no machine code for %s, only PTX that the driver "
				"compiles when it is first used: %s; %s of PTX%s%s.",
				list.len, list.len == 1 ? " has" : "s have",
				host_gpu_name(gpu, facts_arena(facts)),
				object_list_text(facts, &list), out_size(bytes, size),
				needs_text(facts, newest),
				unbound ? "; no program of the image loads them" : "");
		if (bytes < SMALL_PTX || unbound)
			f->severity = SEVERITY_INFO;
	}
	vec_release(&list);
	vec_release(&judged);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->hosts.gpus.len; i++)
		check_gpu(rule, facts, found, &facts->hosts.gpus.items[i]);
	return 0;
}

const struct rule rule_gpu002 = {
	.id = "GPU002",
	.name = "ptx-only-for-gpu",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU | NEEDS_GPU_IMAGE,
	.what = "An object runs on the GPU that was named only because the driver compiles its "
		"PTX.",
	.why = "The first start takes minutes for large libraries, the result fills a cache of "
	       "hundreds of megabytes that a container loses when it ends, and a driver older than "
	       "the PTX refuses it.",
	.fix = "Add machine code for that architecture to the build (nvcc -gencode); of a library "
	       "that comes built, take a release that has it.",
	.sources = "CUDA C++ Programming Guide, \"Just-in-Time Compilation\"; CUDA environment "
		   "variables, CUDA_CACHE_MAXSIZE",
	.check = check,
};
