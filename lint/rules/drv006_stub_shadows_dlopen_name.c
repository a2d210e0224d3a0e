#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/runtime.h"
#include "lint/versions.h"

static const char *const names[] = { "libcuda.so", "libnvidia-ml.so" };

/* Something installed that opens the name without a version; NULL: nothing. */
static const char *opener(const struct facts *facts)
{
	static const char *const wheels[] = { "numba", "numba-cuda", "warp-lang", "pycuda" };
	const struct package *triton = wheel_in(facts, NULL, "triton");

	for (size_t i = 0; i < ARRAY_LEN(wheels); i++) {
		if (wheel_in(facts, NULL, wheels[i]))
			return wheels[i];
	}
	if (triton && dotted_order(triton->version, "2.1") < 0)
		return "triton";
	return facts_named(facts, "libnccl-net-ofi.so") ? "the OFI plug-in of NCCL" : NULL;
}

/* One of the directories that the runtime puts the driver into. */
static bool gets_driver(const struct facts *facts, const char *dir)
{
	const char *dirs[2];

	runtime_driver_dirs(facts, dirs);
	return str_equal(dir, facts_real(facts, dirs[0])) ||
	       str_equal(dir, facts_real(facts, dirs[1]));
}

static const char *stub_in(const struct facts *facts, const char *dir)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *soname = arena_printf(facts_arena(facts), "%s/%s.1", dir, names[i]);
		const char *path = arena_printf(facts_arena(facts), "%s/%s", dir, names[i]);
		const struct object *o = facts_object(facts, path);

		/* Under its soname it is DRV005's. */
		if (facts_resolve(facts, soname, NULL))
			return NULL;
		if (o && object_is_stub(o))
			return names[i];
	}
	return NULL;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *who = opener(facts);

	(void)err;
	for (size_t i = 0; who && i < facts->environment.len; i++) {
		const char *dir = facts_real(facts, facts->environment.items[i].path);
		const char *name = *dir == '/' ? stub_in(facts, dir) : NULL;

		if (gets_driver(facts, dir))
			return 0;
		if (!name || !path_is_stub(dir))
			continue;
		finding_add(
			found, rule, dir,
			facts_layer(facts, facts_lookup(facts, arena_printf(facts_arena(facts),
									    "%s/%s", dir, name))),
			"",
			"%s is in LD_LIBRARY_PATH and has the link-time stub under the name %s, "
			"which %s opens before it tries the driver's own; calls then end with "
			"error 34.",
			dir, name, who);
		return 0;
	}
	return 0;
}

const struct rule rule_drv006 = {
	.id = "DRV006",
	.name = "stub-shadows-dlopen-name",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_LIKELY,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG,
	.what = "A stubs directory in LD_LIBRARY_PATH has the driver library's name without a "
		"version, "
		"and an installed package opens that name.",
	.why = "Programs that are linked ask for libcuda.so.1, which a stubs directory does not "
	       "have. "
	       "But some packages open libcuda.so by name, and the loader gives them the stub.",
	.fix = "Take the stubs directory off LD_LIBRARY_PATH; for builds LIBRARY_PATH or -L is "
	       "enough.",
	.sources = "numba numba/cuda/cudadrv/driver.py; CUDA Driver API, CUresult 34",
	.check = check,
};
