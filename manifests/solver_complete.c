#include "manifests/dotted.h"
#include "manifests/solver_search.h"

/* One attempt: builds that were chosen, and what they are to be completed with. */
struct attempt {
	const struct solver_problem *p;
	solver_mask mask;
	const struct framework_build *const *builds;
	size_t count;
	struct solver_why *why;
};

static bool is_on(const struct attempt *a, enum solver_clause_kind kind, size_t index)
{
	return (a->mask & solver_bit(a->p, kind, index)) != 0;
}

static const char *range_on(const struct attempt *a, enum solver_clause_kind kind,
			    const char *range)
{
	return range && is_on(a, kind, 0) ? range : NULL;
}

static const char *name_of(const struct attempt *a, size_t i)
{
	bool wanted = a->why && a->why->sentences->len < SOLVER_REASONS_MAX;

	return wanted ? framework_build_name(a->builds[i], a->p->arena) : "";
}

/* What rests on a whole list and not on one row of it. */
static const struct table_origin all_toolkits = { "cuda-toolkits.json", "toolkits", "" };
static const struct table_origin all_cudnn = { "cudnn.json", "releases", "" };
static const struct table_origin all_nccl = { "nccl.json", "releases", "" };

static void because_of_ranges(const struct attempt *a)
{
	const char *asked = range_on(a, CLAUSE_CUDA, a->p->cuda);

	for (size_t i = 0; i < a->count; i++) {
		const char *range = a->builds[i]->cuda;

		if (range)
			solver_because(a->why, &a->builds[i]->origin, "%s brings CUDA %s",
				       name_of(a, i), dotted_plain(range));
	}
	if (!a->count && asked)
		solver_because(a->why, &all_toolkits, "no known CUDA toolkit is in %s", asked);
}

/* Whether build `k` is what build `i` pins, if it pins it. */
static bool needs_agree(const struct attempt *a, size_t i, size_t k)
{
	const struct framework_build *b = a->builds[i], *c = a->builds[k];

	if (!b->needs || !str_equal(c->framework, b->needs) ||
	    dotted_in(c->version, b->needs_range))
		return true;
	solver_because(a->why, &b->origin, "%s pins %s %s, not %s", name_of(a, i), b->needs,
		       b->needs_range + 2, c->version);
	return false;
}

/* Whether the last of the builds goes with each before it; those go with one another. */
static bool last_agrees(const struct attempt *a)
{
	size_t i = a->count - 1;
	const struct framework_build *b = a->builds[i];

	for (size_t k = 0; k < i; k++) {
		const struct framework_build *c = a->builds[k];

		if (!needs_agree(a, i, k) || !needs_agree(a, k, i))
			return false;
		if (b->cuda_major && c->cuda_major && b->cuda_major != c->cuda_major) {
			solver_because(a->why, &b->origin,
				       "%s is built for CUDA %u, %s for CUDA %u: their "
				       "libraries write the same files",
				       name_of(a, i), b->cuda_major, name_of(a, k), c->cuda_major);
			return false;
		}
		if (b->exact && c->exact &&
		    !dotted_prefix(slice_str(b->built_with), slice_str(c->built_with))) {
			because_of_ranges(a);
			return false;
		}
	}
	return true;
}

bool solver_agree(const struct solver_problem *p, solver_mask mask,
		  const struct framework_build *const *builds, size_t count, struct solver_why *why)
{
	struct attempt a = { .p = p, .mask = mask, .builds = builds, .count = count, .why = why };

	return !count || last_agrees(&a);
}

#define PYTHON_MINOR_MAX 40

/* The newest Python 3 that the builds and the range allow. */
static bool choose_python(const struct attempt *a, struct solver_choice *out)
{
	const char *range = range_on(a, CLAUSE_PYTHON, a->p->python);
	uint64_t least = 5, most = PYTHON_MINOR_MAX;

	for (size_t i = 0; i < a->count; i++) {
		const struct framework_build *b = a->builds[i];

		if (b->python_min)
			least = MAX(least, dotted_number(b->python_min, 1));
		if (b->python_max)
			most = MIN(most, dotted_number(b->python_max, 1));
	}
	for (uint64_t minor = most; minor >= least; minor--) {
		char python[32];

		snprintf(python, sizeof(python), "3.%llu", (unsigned long long)minor);
		if (!dotted_in(python, range))
			continue;
		if (minor < PYTHON_MINOR_MAX)
			out->python = arena_strdup(a->p->arena, python);
		return true;
	}
	for (size_t i = 0; i < a->count; i++) {
		const struct framework_build *b = a->builds[i];

		if (b->python_min && b->python_max)
			solver_because(a->why, &b->origin, "%s %s is for Python %s to %s",
				       b->framework, b->version, b->python_min, b->python_max);
		else if (b->python_min)
			solver_because(a->why, &b->origin, "%s %s needs Python %s or newer",
				       b->framework, b->version, b->python_min);
	}
	return false;
}

static bool glibc_fits(const struct attempt *a)
{
	const char *has = a->p->glibc;

	if (!has || !(is_on(a, CLAUSE_BASE, 0) || is_on(a, CLAUSE_GLIBC, 0)))
		return true;
	for (size_t i = 0; i < a->count; i++) {
		const char *wants =
			framework_glibc(&a->p->tables->frameworks, a->builds[i], a->p->arm64);

		if (!*has) {
			solver_because(a->why, &a->p->glibc_origin,
				       "the system has another C library than glibc, for which "
				       "there are no wheels of %s",
				       a->builds[i]->framework);
			return false;
		}
		if (wants && dotted_order(has, wants) < 0) {
			solver_because(a->why, &a->p->tables->frameworks.tag_origin,
				       "the wheels of %s %s are tagged for glibc %s or newer, the "
				       "system has %s",
				       a->builds[i]->framework, a->builds[i]->version, wants, has);
			return false;
		}
	}
	return true;
}

/* An image with a stack of its own: its CUDA is given, its torch is not to be replaced. */
static bool base_fits(const struct attempt *a, const char *cuda)
{
	const struct ngc_image *base = a->p->ngc;
	struct slice minor;

	if (!base || !is_on(a, CLAUSE_BASE, 0))
		return true;
	for (size_t i = 0; i < a->count; i++) {
		if (base->torch && str_equal(a->builds[i]->framework, "torch")) {
			solver_because(a->why, &base->origin,
				       "%s brings its own torch %s, a build before the release: "
				       "another torch beside it breaks the stack",
				       base->image, base->torch);
			return false;
		}
	}
	if (!base->cuda)
		return true;
	minor = slice_of(base->cuda, strcspn(base->cuda, "."));
	minor.len += base->cuda[minor.len] ? 1 + strcspn(base->cuda + minor.len + 1, ".") : 0;
	if (dotted_prefix(minor, slice_str(cuda)))
		return true;
	solver_because(a->why, &base->origin, "%s brings CUDA %s", base->image, base->cuda);
	return false;
}

/* True when the toolkit is what the clause and every build ask for. */
static bool toolkit_in_ranges(const struct attempt *a, const struct toolkit *t)
{
	if (!dotted_in(t->version, range_on(a, CLAUSE_CUDA, a->p->cuda)))
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct framework_build *b = a->builds[i];

		if (b->exact && b->cuda_major != t->major)
			return false; /* without reading the ranges */
		if (b->cuda && !dotted_in(t->version, b->cuda))
			return false;
	}
	return true;
}

/* A GPU on which the compatibility package ends in error 804, or NULL. */
static const struct gpu_target *gpu_without_compat(const struct attempt *a)
{
	for (size_t i = 0; i < a->p->gpu_count; i++) {
		if (is_on(a, CLAUSE_GPU, i) && gpu_compat(&a->p->gpus[i]) == COMPAT_NOT_SUPPORTED)
			return &a->p->gpus[i];
	}
	return NULL;
}

static bool may_use_compat(const struct attempt *a)
{
	return !(a->p->compat == COMPAT_NEVER && is_on(a, CLAUSE_COMPAT, 0)) &&
	       !gpu_without_compat(a);
}

static bool driver_fits(const struct attempt *a, const struct toolkit *t, struct solver_choice *out)
{
	const char *floor = is_on(a, CLAUSE_DRIVER, 0) ? a->p->floor : NULL;
	const struct gpu_target *gpu = gpu_without_compat(a);
	struct driver_verdict v;

	if (!floor)
		return true;
	v = driver_verdict(a->p->tables, floor, t->version);
	if (v.service >= SERVICE_MINOR) {
		out->compat = a->p->compat == COMPAT_ALWAYS && v.compat && may_use_compat(a);
		return true;
	}
	if (v.service == SERVICE_FORWARD && may_use_compat(a)) {
		out->compat = true;
		return true;
	}
	if (v.service == SERVICE_FORWARD && gpu)
		solver_because(a->why, &gpu->arch->origin,
			       "drivers of branch %llu run CUDA %u only with the compatibility "
			       "package, which does not work on %s (error 804)",
			       (unsigned long long)dotted_number(floor, 0), t->major,
			       gpu->product ? gpu->product->name : gpu->arch->sm);
	else if (v.service == SERVICE_FORWARD)
		solver_because(a->why, &v.compat->origin,
			       "drivers of branch %llu run CUDA %u only with the compatibility "
			       "package, and compat is never",
			       (unsigned long long)dotted_number(floor, 0), t->major);
	else if (v.floor && v.floor->min_driver)
		solver_because(a->why, &v.floor->origin,
			       "CUDA %u needs driver %s or newer, the floor is %s, and no "
			       "compatibility package is for branch %llu",
			       t->major, v.floor->min_driver, floor,
			       (unsigned long long)dotted_number(floor, 0));
	else
		solver_because(a->why, &t->origin,
			       "CUDA %s needs driver %s or newer, the floor is %s", t->minor,
			       t->own_driver ? t->own_driver : "(not known)", floor);
	return false;
}

const char *solver_ptx_cuda(const struct solver_choice *choice)
{
	for (size_t i = 0; i < choice->build_count; i++) {
		if (choice->builds[i]->built_with && choice->builds[i]->cuda_major)
			return choice->builds[i]->built_with;
	}
	return choice->toolkit->minor;
}

static void worse(struct gpu_verdict *all, struct gpu_verdict one)
{
	if (one.service < all->service)
		*all = one;
}

struct gpu_verdict solver_gpu_verdict(const struct solver_problem *p,
				      const struct solver_choice *choice,
				      const struct gpu_target *target)
{
	struct gpu_verdict all = { .service = GPU_CODE };
	bool any = false;

	for (size_t i = 0; i < choice->build_count; i++) {
		const struct framework_build *b = choice->builds[i];

		if (!b->cuda_major)
			continue;
		any = true;
		worse(&all,
		      gpu_verdict(target->arch, p->arm64 ? &b->sm_arm64 : &b->sm_amd64, b->ptx));
		if (all.service == GPU_CODE && !all.by)
			all = gpu_verdict(target->arch, p->arm64 ? &b->sm_arm64 : &b->sm_amd64,
					  b->ptx);
	}
	if (!any && choice->toolkit)
		return gpu_toolkit_verdict(p->tables, target->arch, choice->toolkit->minor);
	return all;
}

/* The driver the target's hosts have at least: the floor, or the first that knows the GPU. */
static const char *gpu_floor(const struct solver_problem *p, solver_mask mask,
			     const struct gpu_target *target)
{
	const char *floor = mask & solver_bit(p, CLAUSE_DRIVER, 0) ? p->floor : NULL;
	unsigned first = gpu_first_branch(p->tables, target->arch);

	if (!floor || !first || dotted_number(floor, 0) >= first)
		return floor;
	return arena_printf(p->arena, "%u", first);
}

/* Why no code for a target: what the toolkit or the builds lack. */
static void because_of_gpu(const struct attempt *a, const struct solver_choice *made,
			   const struct gpu_target *g)
{
	const struct gpu_arch *arch = g->arch;
	bool any = false;

	for (size_t i = 0; i < a->count; i++) {
		const struct framework_build *b = a->builds[i];

		if (!b->cuda_major)
			continue;
		any = true;
		if (gpu_verdict(arch, a->p->arm64 ? &b->sm_arm64 : &b->sm_amd64, b->ptx).service ==
		    GPU_NONE)
			solver_because(a->why, &b->origin, "%s holds no code for %s (%s)",
				       name_of(a, i), g->text, arch->sm);
	}
	if (any)
		return;
	if (arch->last_cuda && dotted_order(made->toolkit->minor, arch->last_cuda) > 0)
		solver_because(a->why, &arch->origin,
			       "the last CUDA that compiles for %s (%s, %s) is %s", g->text,
			       arch->sm, arch->generation, arch->last_cuda);
	else
		solver_because(a->why, &arch->origin,
			       "the first CUDA that compiles for %s (%s, %s) is %s", g->text,
			       arch->sm, arch->generation, arch->first_cuda);
}

/* PTX is only as good as the driver that has to compile it. */
static bool ptx_fits(const struct attempt *a, struct solver_choice *made,
		     const struct gpu_target *g)
{
	const char *floor = gpu_floor(a->p, a->mask, g);
	const char *cuda = solver_ptx_cuda(made);
	struct driver_verdict v;

	if (!floor)
		return true;
	v = driver_verdict(a->p->tables, floor, cuda);
	if (v.service == SERVICE_NATIVE)
		return true;
	if (v.compat && may_use_compat(a)) {
		made->compat = true;
		return true;
	}
	solver_because(a->why, v.toolkit ? &v.toolkit->origin : &all_toolkits,
		       "%s is served by PTX of CUDA %s only, which drivers older than %s refuse; "
		       "the floor is %s",
		       g->text, cuda,
		       v.toolkit && v.toolkit->own_driver ? v.toolkit->own_driver : "its own",
		       floor);
	return false;
}

/* Whether one of the compilers that a build brings knows the GPU. */
static bool build_compiles(const struct attempt *a, const struct framework_build *b,
			   const struct gpu_arch *arch)
{
	for (size_t i = 0; i < b->compiles_with.count; i++) {
		if (gpu_toolkit_verdict(a->p->tables, arch, b->compiles_with.items[i]).service !=
		    GPU_NONE)
			return true;
	}
	return !b->compiles_with.count;
}

/* What builds say of GPUs beside the code that they hold. */
static bool builds_take_gpu(const struct attempt *a, const struct gpu_target *g)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct framework_build *b = a->builds[i];

		if (b->capability_min && dotted_order(g->arch->capability, b->capability_min) < 0) {
			solver_because(a->why, &b->origin,
				       "%s serves GPUs from capability %s on, %s has %s",
				       name_of(a, i), b->capability_min, g->text,
				       g->arch->capability);
			return false;
		}
		if (!build_compiles(a, b, g->arch)) {
			solver_because(a->why, &b->origin,
				       "%s brings the compiler of CUDA %s, and the first that "
				       "compiles for %s (%s) is that of %s",
				       name_of(a, i),
				       b->compiles_with.items[b->compiles_with.count - 1], g->text,
				       g->arch->sm, g->arch->first_cuda);
			return false;
		}
	}
	return true;
}

static bool gpus_fit(const struct attempt *a, struct solver_choice *made)
{
	const char *floor = is_on(a, CLAUSE_DRIVER, 0) ? a->p->floor : NULL;

	for (size_t i = 0; i < a->p->gpu_count; i++) {
		const struct gpu_target *g = &a->p->gpus[i];
		struct gpu_verdict v;

		if (!is_on(a, CLAUSE_GPU, i))
			continue;
		if (floor && g->arch->last_branch &&
		    dotted_number(floor, 0) > g->arch->last_branch) {
			solver_because(a->why, &g->arch->origin,
				       "the last driver branch for %s (%s) is %u, the floor is %s",
				       g->text, g->arch->generation, g->arch->last_branch, floor);
			return false;
		}
		if (!builds_take_gpu(a, g))
			return false;
		v = solver_gpu_verdict(a->p, made, g);
		if (v.service == GPU_NONE) {
			because_of_gpu(a, made, g);
			return false;
		}
		if (v.service == GPU_PTX && !ptx_fits(a, made, g))
			return false;
	}
	return true;
}

static bool bad_gpu(const struct attempt *a, const struct known_bad *bad)
{
	for (size_t i = 0; i < bad->gpus.count; i++) {
		for (size_t k = 0; k < a->p->gpu_count; k++) {
			if (is_on(a, CLAUSE_GPU, k) &&
			    dotted_order(a->p->gpus[k].arch->capability, bad->gpus.items[i]) == 0)
				return true;
		}
	}
	return !bad->gpus.count;
}

/* True when a cuDNN is one to avoid in this company. */
static bool is_bad_cudnn(const struct attempt *a, const struct toolkit *t, const char *cudnn,
			 const struct known_bad **which)
{
	for (size_t i = 0; i < a->p->tables->known_bad.count; i++) {
		const struct known_bad *bad = &a->p->tables->known_bad.items[i];

		if (bad->avoid && bad->cudnn && dotted_in(cudnn, bad->cudnn) &&
		    dotted_in(t->version, bad->cuda) && bad_gpu(a, bad)) {
			*which = bad;
			return true;
		}
	}
	return false;
}

static bool cudnn_serves_gpus(const struct attempt *a, const char *cudnn)
{
	const struct library_gpu_rule *rule = cudnn_gpu_rule(&a->p->tables->libraries, cudnn);

	for (size_t i = 0; rule && i < a->p->gpu_count; i++) {
		const struct gpu_target *g = &a->p->gpus[i];

		if (is_on(a, CLAUSE_GPU, i) &&
		    dotted_order(g->arch->capability, rule->capability) < 0) {
			solver_because(
				a->why, &a->p->tables->libraries.gpu_rule_origin,
				"cuDNN from %s on serves GPUs from capability %s on, %s has %s",
				rule->from, rule->capability, g->text, g->arch->capability);
			return false;
		}
	}
	return true;
}

/* A library (cuDNN or NCCL): what the clause and the builds ask of its version. */
struct wanted {
	const char *name;  /* "cuDNN" */
	const char *asked; /* range of the clause; NULL */
	const char *ranges[SOLVER_FRAMEWORKS_MAX];
	const char *pin; /* one build's exact version */
	size_t pinned_by;
	bool any;
	const char *base; /* what the base image brings */
};

static struct wanted wanted_of(const struct attempt *a, bool cudnn)
{
	bool base = a->p->ngc && is_on(a, CLAUSE_BASE, 0);
	struct wanted w = { .name = cudnn ? "cuDNN" : "NCCL" };

	w.asked = cudnn ? range_on(a, CLAUSE_CUDNN, a->p->cudnn)
			: range_on(a, CLAUSE_NCCL, a->p->nccl);
	w.any = w.asked != NULL;
	if (base)
		w.base = cudnn ? a->p->ngc->cudnn : a->p->ngc->nccl;
	for (size_t i = 0; i < a->count; i++) {
		const struct framework_build *b = a->builds[i];

		w.ranges[i] = cudnn ? b->cudnn : b->nccl;
		w.any |= w.ranges[i] != NULL;
		if (w.ranges[i] && !w.pin && (cudnn ? b->pins_cudnn : b->pins_nccl)) {
			w.pin = w.ranges[i] + strlen("==");
			w.pinned_by = i;
		}
	}
	if (!w.pin && w.base) {
		w.pin = w.base;
		w.pinned_by = SIZE_MAX;
		w.any = true;
	}
	return w;
}

static bool in_ranges(const struct attempt *a, const struct wanted *w, const char *version)
{
	if (!dotted_in(version, w->asked))
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!dotted_in(version, w->ranges[i]))
			return false;
	}
	return true;
}

static bool take_pin(const struct attempt *a, const struct wanted *w, const char **out)
{
	*out = w->pin;
	if (in_ranges(a, w, w->pin))
		return true;
	if (w->pinned_by == SIZE_MAX)
		solver_because(a->why, &a->p->ngc->origin, "%s brings %s %s", a->p->ngc->image,
			       w->name, w->pin);
	else
		solver_because(a->why, &a->builds[w->pinned_by]->origin, "%s pins %s %s",
			       name_of(a, w->pinned_by), w->name, w->pin);
	for (size_t i = 0; i < a->count; i++) {
		if (w->ranges[i] && i != w->pinned_by && !dotted_in(w->pin, w->ranges[i]))
			solver_because(a->why, &a->builds[i]->origin, "%s asks for %s %s",
				       name_of(a, i), w->name, w->ranges[i]);
	}
	return false;
}

/* True when the clause names that very release: then it is meant, and only warned about. */
static bool is_exactly(const char *asked, const char *version)
{
	return asked && str_equal(dotted_plain(asked), version);
}

static bool choose_cudnn(const struct attempt *a, const struct toolkit *t, const char **out)
{
	const struct table_libraries *l = &a->p->tables->libraries;
	struct wanted w = wanted_of(a, true);
	const struct known_bad *bad = NULL;
	bool in_range = false;

	if (!w.any || w.pin)
		return !w.any || take_pin(a, &w, out);
	for (size_t i = l->cudnn_count; i-- > 0;) {
		const struct library_release *r = &l->cudnn[i];

		if (!in_ranges(a, &w, r->version))
			continue;
		in_range = true;
		if (!table_numbers_have(&r->majors, t->major) || !cudnn_serves_gpus(a, r->version))
			continue;
		if (!is_exactly(w.asked, r->version) &&
		    (r->withdrawn || is_bad_cudnn(a, t, r->version, &bad)))
			continue;
		*out = r->version;
		return true;
	}
	if (bad)
		solver_because(a->why, &bad->origin, "cuDNN %s: %s", bad->cudnn, bad->effect);
	solver_because(a->why, &all_cudnn,
		       in_range ? "no cuDNN in %s is built for CUDA %u"
				: "no cuDNN is known in %s that the builds allow (CUDA %u)",
		       w.asked ? w.asked : "the builds' ranges", t->major);
	return false;
}

static bool choose_nccl(const struct attempt *a, const struct toolkit *t, const char **out)
{
	const struct table_libraries *l = &a->p->tables->libraries;
	struct wanted w = wanted_of(a, false);

	if (!w.any || w.pin)
		return !w.any || take_pin(a, &w, out);
	for (size_t i = l->nccl_count; i-- > 0;) {
		const struct library_release *r = &l->nccl[i];

		if (in_ranges(a, &w, r->version) && table_numbers_have(&r->majors, t->major)) {
			*out = r->version;
			return true;
		}
	}
	solver_because(a->why, &all_nccl, "no NCCL in %s is known for CUDA %u",
		       w.asked ? w.asked : "the builds' ranges", t->major);
	return false;
}

/* Nothing asks for CUDA: the stack has none. */
static bool is_empty(const struct attempt *a)
{
	solver_mask frameworks = 0;

	for (size_t i = 0; i < a->p->clause_count; i++) {
		enum solver_clause_kind k = a->p->clauses[i].kind;

		if (k != CLAUSE_PYTHON && k != CLAUSE_COMPAT && k != CLAUSE_GLIBC &&
		    !(k == CLAUSE_BASE && !a->p->ngc))
			frameworks |= UINT64_C(1) << i;
	}
	return !(a->mask & frameworks);
}

static bool try_toolkit(const struct attempt *a, const struct toolkit *t,
			const struct solver_choice *so_far, struct solver_choice *out)
{
	struct solver_choice made = *so_far;

	made.toolkit = t;
	made.builds = (const struct framework_build **)a->builds;
	made.build_count = a->count;
	if (!base_fits(a, t->version) || !driver_fits(a, t, &made) || !gpus_fit(a, &made) ||
	    !choose_cudnn(a, t, &made.cudnn) || !choose_nccl(a, t, &made.nccl))
		return false;
	*out = made;
	return true;
}

bool solver_complete(const struct solver_problem *p, solver_mask mask,
		     const struct framework_build *const *builds, size_t count,
		     struct solver_choice *out, struct solver_why *why)
{
	struct attempt a = { .p = p, .mask = mask, .builds = builds, .count = count, .why = why };
	const struct table_toolkits *t = &p->tables->toolkits;
	struct solver_choice so_far = { 0 }, made;
	bool any = false, found = false;

	if (!choose_python(&a, &so_far) || !glibc_fits(&a))
		return false;
	if (is_empty(&a)) {
		*out = so_far;
		return true;
	}
	for (size_t i = t->count; i-- > 0;) {
		if (!toolkit_released(&t->items[i]) || !toolkit_in_ranges(&a, &t->items[i]))
			continue;
		any = true;
		if (!try_toolkit(&a, &t->items[i], &so_far, &made))
			continue;
		if (!found ||
		    (made.compat != out->compat && made.compat == (p->compat == COMPAT_ALWAYS)))
			*out = made;
		found = true;
		if (out->compat == (p->compat == COMPAT_ALWAYS))
			return true;
	}
	if (!any)
		because_of_ranges(&a);
	return found;
}
