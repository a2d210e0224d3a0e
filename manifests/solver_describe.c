#include "manifests/dotted.h"
#include "manifests/require.h"
#include "manifests/solver_search.h"

static void add_origin(struct solver_sentence *s, const struct table_origin *origin)
{
	if (origin && origin->file && s->origin_count < SENTENCE_ORIGINS)
		s->origins[s->origin_count++] = *origin;
}

/* A sentence with up to two rows behind it. */
static void say(struct solver_sentences *list, const struct table_origin *first,
		const struct table_origin *second, const char *text)
{
	struct solver_sentence s = { .text = text };

	add_origin(&s, first);
	add_origin(&s, second);
	vec_push(list, s);
}

static const struct table_origin *library_origin(const struct library_release *list, size_t count,
						 const char *version)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal(list[i].version, version))
			return &list[i].origin;
	}
	return NULL;
}

static void describe_builds(const struct solver_problem *p, struct solution *out)
{
	struct arena *arena = &out->arena;

	for (size_t i = 0; i < out->choice.build_count; i++) {
		const struct framework_build *b = out->choice.builds[i];
		const char *glibc = framework_glibc(&p->tables->frameworks, b, p->arm64);
		const char *pins =
			b->confidence ? arena_printf(arena, " (pins: %s)", b->confidence) : "";

		if (str_equal(b->framework, "torch"))
			say(&out->sentences, &b->origin, NULL,
			    arena_printf(arena,
					 "torch %s is the newest release that satisfies every "
					 "clause; its %s "
					 "build brings CUDA %s%s%s",
					 b->version, b->flavour, b->built_with,
					 b->is_default ? " and is the one of the package index"
						       : " and is in PyTorch's own wheel index",
					 pins));
		else
			say(&out->sentences, &b->origin, NULL,
			    arena_printf(
				    arena,
				    "%s %s is the newest release that satisfies every clause%s",
				    framework_build_name(b, arena), "", pins));
		if (glibc)
			say(&out->sentences, &p->tables->frameworks.tag_origin, NULL,
			    arena_printf(
				    arena, "its wheels are tagged for glibc %s or newer%s", glibc,
				    p->glibc ? arena_printf(arena, "; the system has %s", p->glibc)
					     : ""));
	}
}

static bool pinned(const struct solver_choice *c, bool cudnn, const char **by, struct arena *arena)
{
	for (size_t i = 0; i < c->build_count; i++) {
		if (cudnn ? c->builds[i]->pins_cudnn : c->builds[i]->pins_nccl) {
			*by = framework_build_name(c->builds[i], arena);
			return true;
		}
	}
	return false;
}

static void describe_library(const struct solver_problem *p, struct solution *out, bool cudnn)
{
	const struct table_libraries *l = &p->tables->libraries;
	const char *version = cudnn ? out->choice.cudnn : out->choice.nccl, *by;
	const char *name = cudnn ? "cuDNN" : "NCCL";
	const struct table_origin *origin;
	struct arena *arena = &out->arena;

	if (!version)
		return;
	origin = cudnn ? library_origin(l->cudnn, l->cudnn_count, version)
		       : library_origin(l->nccl, l->nccl_count, version);
	if (pinned(&out->choice, cudnn, &by, arena))
		say(&out->sentences, &out->choice.builds[0]->origin, origin,
		    arena_printf(arena, "%s %s is what %s pins", name, version, by));
	else
		say(&out->sentences, origin, NULL,
		    arena_printf(arena,
				 "%s %s is the newest that is built for CUDA %u and fits; %s "
				 "follows the "
				 "CUDA major, not its minor",
				 name, version, out->choice.toolkit->major, name));
}

static void add_branch(const struct solver_problem *p, const char *driver, bool is_floor,
		       struct solution *out)
{
	const char *cuda = out->choice.toolkit->minor;
	struct driver_verdict v = driver_verdict(p->tables, driver, cuda);
	struct solver_branch *b = &out->branches[out->branch_count++];
	struct arena *arena = &out->arena;

	*b = (struct solver_branch){
		.driver = driver,
		.is_floor = is_floor,
		.service = v.service,
		.package = v.compat ? v.compat->name : NULL,
	};
	if (v.service == SERVICE_FORWARD && p->compat == COMPAT_NEVER)
		b->service = SERVICE_IMPOSSIBLE;
	b->sentence =
		arena_printf(arena, "driver %s %s%s", driver, driver_verdict_text(&v, cuda, arena),
			     b->service == v.service ? "" : "; compat is never, so it does not");
	say(&out->sentences, v.branch ? &v.branch->origin : NULL,
	    v.service == SERVICE_NATIVE    ? (v.toolkit ? &v.toolkit->origin : NULL)
	    : v.service == SERVICE_FORWARD ? &v.compat->origin
	    : v.floor                      ? &v.floor->origin
					   : NULL,
	    b->sentence);
}

static void describe_branches(const struct solver_problem *p, struct solution *out)
{
	const struct table_drivers *t = &p->tables->drivers;
	uint64_t from = p->floor ? dotted_number(p->floor, 0) : 0;

	out->branches = arena_array(&out->arena, t->count + 2, sizeof(*out->branches));
	if (p->floor)
		add_branch(p, p->floor, true, out);
	for (size_t i = 0; i < t->count; i++) {
		const char *name = arena_printf(&out->arena, "%u", t->items[i].branch);
		struct driver_verdict v;

		if (t->items[i].branch < from || (p->floor && str_equal(name, p->floor)))
			continue;
		v = driver_verdict(p->tables, name, out->choice.toolkit->minor);
		if (p->floor || v.service != SERVICE_IMPOSSIBLE)
			add_branch(p, name, false, out);
	}
}

static const char *gpu_text(const struct solver_problem *p, struct solver_gpu *g,
			    const struct solver_choice *choice, struct arena *arena)
{
	const char *cuda = solver_ptx_cuda(choice);
	const struct toolkit *toolkit = toolkit_find(&p->tables->toolkits, cuda);
	const char *name =
		str_equal(g->target.text, g->target.arch->sm)
			? g->target.text
			: arena_printf(arena, "%s (%s)", g->target.text, g->target.arch->sm);

	switch (g->verdict.service) {
	case GPU_CODE:
		return arena_printf(arena, "%s runs machine code for %s%s%s", name, g->verdict.by,
				    dotted_order(g->verdict.by, g->target.arch->capability) == 0
					    ? ""
					    : ", which serves every newer minor of its major",
				    choice->build_count ? "" : " that this CUDA compiles");
	case GPU_PTX:
		g->ptx_driver = toolkit ? toolkit->own_driver : NULL;
		return arena_printf(
			arena,
			"%s is served by PTX for %s only: the driver compiles it at the first "
			"start, which needs driver %s or newer, or the compatibility package",
			name, g->verdict.by,
			g->ptx_driver ? g->ptx_driver : "of CUDA's own branch");
	case GPU_UNKNOWN:
		return arena_printf(arena, "%s: which code the build holds is not established",
				    name);
	default:
		return arena_printf(arena, "%s has no code", name);
	}
}

static void warn_of_gpu(const struct solver_problem *p, const struct solver_gpu *g,
			struct solution *out)
{
	struct arena *arena = &out->arena;
	const char *name = g->target.product ? g->target.product->name : g->target.arch->sm;
	enum gpu_compat compat = gpu_compat(&g->target);

	if ((p->compat == COMPAT_ALWAYS || out->choice.compat) && compat != COMPAT_SUPPORTED)
		say(&out->warnings, &g->target.arch->origin,
		    p->tables->compat.count ? &p->tables->compat.items[0].origin : NULL,
		    compat == COMPAT_NOT_SUPPORTED
			    ? arena_printf(arena,
					   "the compatibility package is for data-center GPUs: on "
					   "%s CUDA "
					   "ends in error 804 "
					   "(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE) "
					   "where it is used",
					   name)
			    : arena_printf(arena,
					   "not every product of %s can use the compatibility "
					   "package: on "
					   "others CUDA ends in error 804 "
					   "(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE)",
					   name));
	if (g->target.arch->embedded && g->verdict.service == GPU_CODE &&
	    dotted_order(g->verdict.by, g->target.arch->capability) != 0)
		say(&out->warnings, &g->target.arch->origin, NULL,
		    arena_printf(
			    arena,
			    "%s is an embedded board: that it runs code of another minor (%s) is "
			    "not established",
			    name, g->verdict.by));
	if (g->last_branch)
		say(&out->warnings, &g->target.arch->origin, NULL,
		    arena_printf(arena, "driver branch %u is the last that supports %s (%s)",
				 g->last_branch, name, g->target.arch->generation));
}

static void describe_gpus(const struct solver_problem *p, struct solution *out)
{
	out->gpus = arena_array(&out->arena, p->gpu_count + 1, sizeof(*out->gpus));
	for (size_t i = 0; i < p->gpu_count; i++) {
		struct solver_gpu *g = &out->gpus[out->gpu_count++];

		g->target = p->gpus[i];
		g->first_branch = gpu_first_branch(p->tables, g->target.arch);
		g->last_branch = g->target.arch->last_branch;
		g->verdict = solver_gpu_verdict(p, &out->choice, &g->target);
		g->sentence = gpu_text(p, g, &out->choice, &out->arena);
		say(&out->sentences, &g->target.arch->origin,
		    out->choice.build_count ? &out->choice.builds[0]->origin : NULL, g->sentence);
		if (p->floor && g->first_branch > dotted_number(p->floor, 0))
			say(&out->sentences, &g->target.arch->origin, NULL,
			    arena_printf(
				    &out->arena,
				    "hosts with %s have a driver of branch %u or newer in any "
				    "case%s",
				    g->target.text, g->first_branch,
				    g->target.arch->stated_first_branch
					    ? ""
					    : " (inferred from the first CUDA with that GPU)"));
		warn_of_gpu(p, g, out);
	}
}

static bool targets(const struct solver_problem *p, const struct known_bad *bad)
{
	for (size_t i = 0; i < bad->gpus.count; i++) {
		for (size_t k = 0; k < p->gpu_count; k++) {
			if (dotted_order(p->gpus[k].arch->capability, bad->gpus.items[i]) == 0)
				return true;
		}
	}
	return !bad->gpus.count;
}

static bool has_framework(const struct solver_choice *c, const struct known_bad *bad)
{
	for (size_t i = 0; i < c->build_count; i++) {
		if (bad->framework && str_equal(c->builds[i]->framework, bad->framework) &&
		    dotted_in(c->builds[i]->version, bad->framework_range))
			return true;
	}
	return !bad->framework;
}

/* A build that the source of wheels, as far as is known, does not give. */
static void warn_of_elsewhere(const struct solver_problem *p, struct solution *out)
{
	for (size_t i = 0; i < out->choice.build_count; i++) {
		const struct framework_build *b = out->choice.builds[i];

		if (!solver_build_elsewhere(p, b))
			continue;
		say(&out->warnings, &b->origin, NULL,
		    *p->flavour ? arena_printf(&out->arena,
					       "the %s build of %s %s is not in an index of %s "
					       "builds: name a source of wheels that has it",
					       b->flavour, b->framework, b->version, p->flavour)
				: arena_printf(&out->arena,
					       "a package index gives another build of %s %s by "
					       "default: name a source of wheels that has the %s "
					       "build (PyTorch's own index is …/whl/%s)",
					       b->framework, b->version, b->flavour, b->flavour));
	}
}

static void warn_of_known_bad(const struct solver_problem *p, struct solution *out)
{
	const struct solver_choice *c = &out->choice;

	for (size_t i = 0; i < p->tables->known_bad.count; i++) {
		const struct known_bad *bad = &p->tables->known_bad.items[i];

		if (bad->cudnn && (!c->cudnn || !dotted_in(c->cudnn, bad->cudnn)))
			continue;
		if (!dotted_in(c->toolkit->version, bad->cuda) || !has_framework(c, bad) ||
		    !targets(p, bad) ||
		    (bad->system_libraries && p->libraries != LIBRARIES_SYSTEM && !p->ngc))
			continue;
		say(&out->warnings, &bad->origin, NULL,
		    arena_printf(&out->arena, "%s: %s", bad->id, bad->effect));
	}
}

/* Branches above a floor that only the package serves, but that the package's row leaves out. */
static void warn_of_gaps(const struct compat_package *package, struct solution *out)
{
	cleanup_strbuf struct strbuf gaps = { 0 };

	for (size_t i = 0; i < out->branch_count; i++) {
		if (out->branches[i].service == SERVICE_IMPOSSIBLE)
			strbuf_addf(&gaps, "%s%s", gaps.len ? ", " : "", out->branches[i].driver);
	}
	if (gaps.len)
		say(&out->warnings, package ? &package->origin : NULL, NULL,
		    arena_printf(
			    &out->arena,
			    "NVIDIA's table has no hosts of branch %s for it: they are newer than "
			    "the floor and still not served",
			    gaps.data));
}

/* What the floor costs: the two points people overlook. */
static void warn_of_floor(const struct solver_problem *p, struct solution *out)
{
	struct arena *arena = &out->arena;
	const struct compat_package *package =
		compat_for(&p->tables->compat, out->choice.toolkit->minor);

	if (out->choice.compat)
		say(&out->warnings, package ? &package->origin : NULL, NULL,
		    arena_printf(
			    arena,
			    "the floor needs %s in the image, under /usr/local/cuda/compat and off "
			    "the loader path",
			    package ? package->name : "the compatibility package"));
	if (out->choice.compat)
		warn_of_gaps(package, out);
	if (p->floor && !out->choice.compat && out->branch_count &&
	    out->branches[0].service == SERVICE_MINOR)
		say(&out->warnings,
		    &toolkit_major(&p->tables->toolkits, out->choice.toolkit->major)->origin, NULL,
		    arena_printf(
			    arena,
			    "driver %s is older than CUDA %s: code that is compiled at run time to "
			    "PTX (NVRTC, Triton, numba) may be refused there",
			    p->floor, out->choice.toolkit->minor));
}

static void describe_base(const struct solver_problem *p, struct solution *out)
{
	struct arena *arena = &out->arena;

	if (p->ngc)
		say(&out->sentences, &p->ngc->origin, NULL,
		    arena_printf(
			    arena, "%s brings CUDA %s%s%s%s%s%s%s", p->ngc->image,
			    p->ngc->cuda ? p->ngc->cuda : "(not established)",
			    p->ngc->torch ? ", torch " : "", p->ngc->torch ? p->ngc->torch : "",
			    p->ngc->cudnn ? ", cuDNN " : "", p->ngc->cudnn ? p->ngc->cudnn : "",
			    p->ngc->driver ? ", and the compatibility libraries of driver " : "",
			    p->ngc->driver ? p->ngc->driver : ""));
}

void solver_describe(const struct solver_problem *p, solver_mask mask, struct solution *out)
{
	const struct solver_choice *c = &out->choice;
	struct error ignored = { 0 };

	(void)mask;
	describe_base(p, out);
	describe_builds(p, out);
	if (!c->toolkit)
		return;
	if (!c->build_count)
		say(&out->sentences, &c->toolkit->origin, NULL,
		    arena_printf(&out->arena,
				 "CUDA %s (%s) is the newest that satisfies every clause",
				 c->toolkit->version, c->toolkit->label));
	else
		say(&out->sentences, &c->toolkit->origin, &c->builds[0]->origin,
		    arena_printf(&out->arena, "CUDA %s (%s) is what the builds agree on",
				 c->toolkit->version, c->toolkit->label));
	describe_library(p, out, true);
	describe_library(p, out, false);
	describe_branches(p, out);
	describe_gpus(p, out);
	warn_of_floor(p, out);
	warn_of_known_bad(p, out);
	warn_of_elsewhere(p, out);
	ignore_result(require_value(p->tables, c->toolkit->minor, p->floor, c->compat, &out->arena,
				    &out->require_cuda, &ignored) < 0);
}
