#include "lint/compat.h"
#include "lint/coverage.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "manifests/dotted.h"

/*
 * Without a GPU: the oldest, which is the least that any GPU has compiled, of a file without
 * machine code; NULL: none is sure to be.
 */
static const struct gpu_row *compiled_for_any(const struct gpu_code *code)
{
	const struct gpu_row *oldest = NULL;

	for (size_t i = 0; i < code->count; i++) {
		const struct gpu_row *r = &code->rows[i];

		if (r->kind == FATBIN_CUBIN)
			return NULL;
		if (r->kind == FATBIN_PTX && (!oldest || ptx_is_newer(oldest, r)))
			oldest = r;
	}
	return oldest;
}

struct refused {
	struct object_list list;
	const struct gpu_row *row; /* of the first */
	const char *cuda;
	const char *gpus; /* for which the first would be compiled; "" when none is stated */
};

/* The CUDA release of the PTX, where the driver is older and no compat helps; else NULL. */
static const char *refused_cuda(const struct facts *facts, const struct host_driver *driver,
				const struct gpu_row *row)
{
	const char *cuda = row && row->ptx_major ? ptx_cuda(&facts->tables.gpus, row->ptx_major,
							    row->ptx_minor, facts_arena(facts))
						 : NULL;

	return cuda && dotted_order_minor(cuda, driver->cuda) > 0 &&
			       !compat_serves(facts, driver, cuda)
		       ? cuda
		       : NULL;
}

/* Adds the object when the PTX it has for this GPU is refused; NULL: whatever the GPU. */
static void look_at(const struct facts *facts, const struct host_driver *driver,
		    const struct host_gpu *gpu, const struct object *o, struct refused *out)
{
	const struct gpu_row *row = gpu ? coverage_compiled(o->elf->gpu, gpu, &facts->tables)
					: compiled_for_any(o->elf->gpu);
	const char *cuda = refused_cuda(facts, driver, row);

	if (!cuda)
		return;
	if (!out->list.len)
		*out = (struct refused){ .row = row, .cuda = cuda, .gpus = "" };
	if (!out->list.len || out->list.items[out->list.len - 1] != o)
		vec_push(&out->list, o);
	if (gpu && out->list.len == 1)
		out->gpus = arena_printf(facts_arena(facts), "%s%s%s", out->gpus,
					 *out->gpus ? ", " : "",
					 host_gpu_name(gpu, facts_arena(facts)));
}

static void collect(const struct facts *facts, const struct host_driver *driver,
		    struct refused *out)
{
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		if (!o->elf->gpu || !object_is_used(facts, o))
			continue;
		for (size_t k = 0; k < facts->hosts.gpus.len; k++)
			look_at(facts, driver, &facts->hosts.gpus.items[k], o, out);
		/* Without a GPU only what has no machine code at all is sure to be compiled. */
		if (!facts->hosts.gpus.len)
			look_at(facts, driver, NULL, o, out);
	}
}

static void report(const struct rule *rule, const struct facts *facts, struct findings *found,
		   const struct host_driver *driver, const struct refused *r)
{
	const struct object *first = r->list.items[0];

	finding_add(found, rule, first->path, facts_layer(facts, first->node), driver->text,
		    "%s has PTX %u.%u, which CUDA %s writes; %s compiles PTX up to that of CUDA %s "
		    "and refuses it with error 222%s%s%s%s.",
		    first->path, r->row->ptx_major, r->row->ptx_minor, r->cuda,
		    host_driver_name(driver, facts_arena(facts)), driver->cuda,
		    *r->gpus ? "; there is no machine code for " : "", r->gpus,
		    r->list.len > 1 ? "; the same holds for " : "",
		    r->list.len > 1 ? arena_printf(facts_arena(facts), "%zu more", r->list.len - 1)
				    : "");
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->hosts.drivers.len; i++) {
		const struct host_driver *driver = &facts->hosts.drivers.items[i];
		struct refused r = { 0 };

		if (driver->cuda)
			collect(facts, driver, &r);
		if (r.list.len)
			report(rule, facts, found, driver, &r);
		vec_release(&r.list);
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
