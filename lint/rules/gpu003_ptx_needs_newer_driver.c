#include "lint/compat.h"
#include "lint/coverage.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"

static struct arena *arena_of(const struct facts *facts)
{
	return (struct arena *)&facts->arena;
}

/* The oldest version among the PTX that would be compiled; NULL: none would. */
static const struct gpu_row *oldest_ptx(const struct facts *facts, const struct object *o,
					const struct host_gpu *gpu)
{
	const struct gpu_row *oldest = NULL;

	for (size_t i = 0; i < o->elf->gpu->count; i++) {
		const struct gpu_row *r = &o->elf->gpu->rows[i];
		bool taken = gpu ? coverage_of_row(r, gpu, &facts->tables) == COVER_PTX
				 : r->kind == FATBIN_PTX;

		if (!gpu && r->kind == FATBIN_CUBIN)
			return NULL;
		if (taken &&
		    (!oldest || r->ptx_major < oldest->ptx_major ||
		     (r->ptx_major == oldest->ptx_major && r->ptx_minor < oldest->ptx_minor)))
			oldest = r;
	}
	if (gpu && coverage_of(o->elf->gpu, gpu, &facts->tables) != COVER_PTX)
		return NULL;
	return oldest && oldest->ptx_major ? oldest : NULL;
}

struct refused {
	struct object_list list;
	const struct gpu_row *row; /* of the first */
	const char *cuda;
};

static void collect(const struct facts *facts, const struct host_driver *driver,
		    const struct host_gpu *gpu, struct refused *out)
{
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const struct gpu_row *row;
		const char *cuda;

		if (!o->elf->gpu || !object_is_used(facts, o))
			continue;
		row = oldest_ptx(facts, o, gpu);
		cuda = row ? ptx_cuda(&facts->tables.gpus, row->ptx_major, row->ptx_minor,
				      arena_of(facts))
			   : NULL;
		if (!cuda || cuda_minor_compare(cuda, driver->cuda) <= 0 ||
		    compat_serves(facts, driver, cuda))
			continue;
		if (!out->list.len) {
			out->row = row;
			out->cuda = cuda;
		}
		vec_push(&out->list, o);
	}
}

static void check_pair(const struct rule *rule, const struct facts *facts, struct findings *found,
		       const struct host_driver *driver, const struct host_gpu *gpu)
{
	struct refused r = { 0 };
	const struct object *first;

	if (driver->cuda)
		collect(facts, driver, gpu, &r);
	if (r.list.len) {
		first = r.list.items[0];
		finding_add(found, rule, first->path, facts_layer(facts, first->node),
			    arena_printf(arena_of(facts), "%s %s", driver->text,
					 gpu ? gpu->target.arch->sm : ""),
			    "%s has PTX %u.%u, which CUDA %s writes; %s compiles PTX up to that of "
			    "CUDA %s and refuses it with error 222%s%s%s%s.",
			    first->path, r.row->ptx_major, r.row->ptx_minor, r.cuda,
			    host_driver_name(driver, arena_of(facts)), driver->cuda,
			    gpu ? "; there is no machine code for " : "",
			    gpu ? host_gpu_name(gpu, arena_of(facts)) : "",
			    r.list.len > 1 ? "; the same holds for " : "",
			    r.list.len > 1
				    ? arena_printf(arena_of(facts), "%zu more", r.list.len - 1)
				    : "");
	}
	vec_release(&r.list);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->hosts.drivers.len; i++) {
		const struct host_driver *driver = &facts->hosts.drivers.items[i];

		for (size_t k = 0; k < facts->hosts.gpus.len; k++)
			check_pair(rule, facts, found, driver, &facts->hosts.gpus.items[k]);
		/* Without a GPU only what has no machine code at all is sure to be compiled. */
		if (!facts->hosts.gpus.len)
			check_pair(rule, facts, found, driver, NULL);
	}
	return 0;
}

const struct rule rule_gpu003 = {
	.id = "GPU003",
	.name = "ptx-needs-newer-driver",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_DRIVER | NEEDS_GPU_IMAGE,
	.what = "PTX that the driver would have to compile is newer than that driver knows.",
	.why = "Minor version compatibility covers machine code only: a driver compiles PTX up to "
	       "the version of the CUDA release it came with. Newer PTX ends with error 222, \"the "
	       "provided PTX was compiled with an unsupported toolchain\".",
	.fix = "Add machine code for the GPU, build the PTX with an older toolkit, or raise the "
	       "driver.",
	.sources = "CUDA Compatibility guide, \"Minor Version Compatibility\"; PTX ISA, \"Release "
		   "Notes\"; CUDA Driver API, CUresult 222",
	.check = check,
};
