#include "builder/lock.h"

#include "builder/distribution_cuda.h"
#include "builder/fragment.h"

#include "builder/layer.h"
#include "builder/settled.h"
#include "builder/solvable.h"
#include "builder/sources/package_source.h"
#include "builder/toolkit.h"
#include "manifests/dotted.h"
#include "manifests/tables.h"
#include "builder/toolkit_sources.h"

struct locking {
	const struct lock_request *request;
	const struct stack *stack;
	struct lockfile *lock;
	struct source_context context; /* of the platform at hand */
	struct solved_stack solved;
	struct settled settled; /* for the platform at hand */
	const char *cuda;       /* "13.0"; NULL: none, or the framework decides */
	struct redist_catalogs redist;
	struct apt_sessions apt;
	struct rpm_sessions rpm;
	struct base_image *bases; /* by platform; NULL: there is no base */
	const char *python;       /* what packages of the image's stage bring; NULL: not known */
};

struct requests {
	struct source_request *items;
	size_t len, cap;
};

struct toolkit_packages {
	const struct stack_package *items;
	size_t len;
};

static const struct stack_source *first_source(const struct stack *stack,
					       enum stack_source_type type)
{
	for (size_t i = 0; i < stack->source_count; i++) {
		if (stack->sources[i].type == type)
			return &stack->sources[i];
	}
	return NULL;
}

/* Whether a source could have the components of a toolkit as packages. */
static bool has_packages(const struct stack *stack)
{
	return first_source(stack, SOURCE_WHEELS) || first_source(stack, SOURCE_REDIST);
}

static bool is_last(const struct locking *l, const struct stack_stage *stage)
{
	return stage == &l->stack->stages[l->stack->stage_count - 1];
}

/* Whether a stage names packages of a source of that type. */
static bool takes_from(const struct locking *l, const struct stack_stage *stage,
		       enum stack_source_type type)
{
	for (size_t i = 0; i < stage->package_count; i++) {
		const struct stack_source *s = stack_source(l->stack, stage->packages[i].source);

		if (s && s->type == type)
			return true;
	}
	return false;
}

/* Where the CUDA libraries of a stage go: /usr/local/cuda-X.Y, or beside the Python packages. */
static bool is_toolkit(const struct locking *l, const struct stack_stage *stage)
{
	if (stage->profile == PROFILE_DEVEL || l->stack->stack.libraries == LIBRARIES_SYSTEM)
		return true;
	return l->stack->stack.libraries == LIBRARIES_AUTO && !l->stack->stack.framework.count &&
	       !takes_from(l, stage, SOURCE_WHEELS);
}

/* What the user names of a source, and for wheels what the stack section wants beside it. */
static const struct stack_package *join(struct arena *arena, const struct stack_packages *named,
					const struct toolkit_packages *more, size_t *out_count)
{
	size_t first = named ? named->count : 0;
	struct stack_package *all = arena_array(arena, first + more->len + 1, sizeof(*all));

	for (size_t i = 0; i < first; i++)
		all[i] = named->items[i];
	for (size_t i = 0; i < more->len; i++)
		all[first + i] = more->items[i];
	*out_count = first + more->len;
	return all;
}

static void framework_packages(const struct locking *l, struct toolkit_orders *out)
{
	struct toolkit_order *order = vec_add(out);

	order->source = first_source(l->stack, SOURCE_WHEELS);
	/* the version is among the constraints that go with every request */
	for (size_t i = 0; i < l->settled.frameworks.len && i < l->stack->stack.framework.count;
	     i++) {
		const struct settled_framework *f = &l->settled.frameworks.items[i];
		struct stack_package p = { .place = l->stack->stack.place, .spec = f->package };
		const char *there = base_image_distribution(l->context.base, f->name);

		if (there) {
			out_note(l->request->out, "%s %s of the base image is kept", f->name,
				 there);
			continue;
		}
		vec_push(&order->packages, p);
	}
}

/* The components that the stack section asks for in a stage, but for the compatibility package. */
static int wanted_components(const struct locking *l, const struct stack_stage *stage,
			     struct toolkit_components *out, struct error *err)
{
	enum stack_profile shipped = l->stack->stages[l->stack->stage_count - 1].profile;
	bool math = stage->profile == PROFILE_DEVEL && shipped != PROFILE_BASE;

	if (!l->cuda)
		return 0;
	if (takes_from(l, stage, SOURCE_DIR) && !has_packages(l->stack)) {
		if (l->request->out)
			out_verbose(l->request->out, "stage %s: CUDA %s is taken from its folders",
				    stage->name, l->cuda);
		return 0;
	}
	return toolkit_components(l->stack, &l->solved, stage->profile, math, &l->lock->arena, out,
				  err);
}

/* What the stack section asks of each source in this stage. */
static int wanted_by_stack(struct locking *l, const struct stack_stage *stage,
			   struct toolkit_orders *out, struct error *err)
{
	cleanup_toolkit_components struct toolkit_components components = { 0 }, compat = { 0 };
	bool wheels = l->stack->stack.libraries == LIBRARIES_WHEELS;

	if (is_last(l, stage) && l->stack->stack.framework.count) {
		if (!first_source(l->stack, SOURCE_WHEELS))
			return stack_error(l->stack, l->stack->stack.place, err,
					   "the stack section asks for %s, and no source has it; "
					   "add a source of type wheels ({ id: pip, type: wheels, "
					   "from: host })",
					   l->stack->stack.framework.items[0].key);
		framework_packages(l, out); /* it brings the CUDA it was built with */
	} else if (wanted_components(l, stage, &components, err) < 0 ||
		   toolkit_sources_find(&l->context, stage, &l->solved, wheels, &components, out,
					err) < 0) {
		return -1;
	}
	if (!is_last(l, stage))
		return 0;
	if (toolkit_compat(&l->solved, &l->lock->arena, &compat, err) < 0)
		return -1;
	return toolkit_sources_find(&l->context, stage, &l->solved, wheels, &compat, out, err);
}

/* The packages that the stack section asks of a source, or none. */
static struct toolkit_packages ordered(const struct toolkit_orders *orders,
				       const struct stack_source *source)
{
	for (size_t i = 0; i < orders->len; i++) {
		if (orders->items[i].source == source)
			return (struct toolkit_packages){ orders->items[i].packages.items,
							  orders->items[i].packages.len };
	}
	return (struct toolkit_packages){ 0 };
}

static int resolve_wheels(struct locking *l, const struct stack_stage *stage,
			  const struct toolkit_orders *orders, struct error *err)
{
	const struct stack_source *first = first_source(l->stack, SOURCE_WHEELS);
	struct toolkit_packages more = ordered(orders, first), none = { 0 };
	struct requests requests = { 0 };
	bool placed = false;
	int rc = 0;

	if (is_toolkit(l, stage) && more.len) {
		struct source_request r = { .source = first,
					    .stage = stage,
					    .toolkit = true,
					    .settled = l->settled.constraints };

		r.packages = join(&l->lock->arena, NULL, &more, &r.package_count);
		vec_push(&requests, r);
		placed = true;
	}
	for (size_t i = 0; i < stage->package_count && rc == 0; i++) {
		const struct stack_packages *named = &stage->packages[i];
		struct source_request r = { .stage = stage, .settled = l->settled.constraints };
		bool join_here;

		r.source = stack_source(l->stack, named->source);
		if (!r.source || r.source->type != SOURCE_WHEELS)
			continue;
		join_here = !placed && r.source == first;
		r.packages =
			join(&l->lock->arena, named, join_here ? &more : &none, &r.package_count);
		placed |= join_here;
		vec_push(&requests, r);
	}
	if (!placed && more.len) {
		struct source_request r = { .source = first,
					    .stage = stage,
					    .settled = l->settled.constraints };

		r.packages = join(&l->lock->arena, NULL, &more, &r.package_count);
		vec_push(&requests, r);
	}
	if (requests.len)
		rc = wheels_resolve(&l->context, requests.items, requests.len, err);
	vec_release(&requests);
	return rc;
}

/* What the stage names of sources of a type, and what the stack section asks of them. */
static void collect(const struct locking *l, const struct stack_stage *stage,
		    const struct toolkit_orders *orders, enum stack_source_type type,
		    struct requests *out)
{
	for (size_t i = 0; i < stage->package_count; i++) {
		const struct stack_packages *named = &stage->packages[i];
		struct source_request r = { .stage = stage,
					    .packages = named->items,
					    .package_count = named->count };

		r.source = stack_source(l->stack, named->source);
		if (r.source && r.source->type == type)
			vec_push(out, r);
	}
	for (size_t i = 0; i < orders->len; i++) {
		struct source_request r = { .source = orders->items[i].source,
					    .stage = stage,
					    .packages = orders->items[i].packages.items,
					    .package_count = orders->items[i].packages.len,
					    .toolkit = true };

		if (r.source->type == type)
			vec_push(out, r);
	}
}

/* All apt requests of a stage together, and all rpm-md requests. */
static int resolve_apt(struct locking *l, const struct stack_stage *stage,
		       const struct toolkit_orders *orders, struct error *err)
{
	struct requests requests = { 0 };
	int rc = 0;

	collect(l, stage, orders, SOURCE_APT, &requests);
	if (requests.len && l->context.base && l->context.base->dpkg == BASE_DPKG_NONE &&
	    (l->context.base->rpm || l->context.base->musl))
		out_warn(l->request->out,
			 "stage %s: the base image (%s) is no Debian: its packages do not count as "
			 "installed",
			 stage->name,
			 *l->context.base->system ? l->context.base->system : "unknown");
	if (requests.len)
		rc = apt_resolve(&l->context, requests.items, requests.len, false, err);
	vec_release(&requests);
	return rc;
}

/* Packages of .rpms upon a base image go on with its database, which must be of a form we write. */
static int check_rpm_base(struct locking *l, const struct stack_stage *stage, struct error *err)
{
	const struct base_image *base = l->context.base;

	if (!base || (base->rpm_path && str_ends(base->rpm_path, ".sqlite")))
		return 0;
	return stack_error(l->stack, stage->place, err,
			   "stage %s: the base image (%s) has %s; take .rpm packages upon a base "
			   "image of rpm 4.16 or later, or the system from packages",
			   stage->name, *base->system ? base->system : "unknown",
			   base->rpm_path ? "a database of packages of an older form"
					  : "no database of .rpm packages");
}

static int resolve_rpm(struct locking *l, const struct stack_stage *stage,
		       const struct toolkit_orders *orders, struct error *err)
{
	struct requests requests = { 0 };
	int rc = 0;

	collect(l, stage, orders, SOURCE_RPM_MD, &requests);
	if (requests.len)
		rc = check_rpm_base(l, stage, err);
	if (rc == 0 && requests.len)
		rc = rpmmd_resolve(&l->context, requests.items, requests.len, err);
	vec_release(&requests);
	return rc;
}

static int resolve_redist(struct locking *l, const struct stack_stage *stage,
			  const struct toolkit_orders *orders, struct error *err)
{
	struct requests requests = { 0 };
	int rc = 0;

	collect(l, stage, orders, SOURCE_REDIST, &requests);
	for (size_t i = requests.len; i-- > 0 && rc == 0;)
		rc = redist_resolve(&l->context, &requests.items[i], err);
	vec_release(&requests);
	return rc;
}

static int resolve_others(struct locking *l, const struct stack_stage *stage, struct error *err)
{
	for (size_t i = 0; i < stage->package_count; i++) {
		const struct stack_packages *named = &stage->packages[i];
		struct source_request r = { .stage = stage,
					    .packages = named->items,
					    .package_count = named->count };

		r.source = stack_source(l->stack, named->source);
		if (!r.source)
			return stack_error(l->stack, named->place, err,
					   "packages: there is no source '%s'", named->source);
		if (r.source->type == SOURCE_DIR && dir_resolve(&l->context, &r, err) < 0)
			return -1;
	}
	return 0;
}

/* What of the lock before is kept of a platform. */
static struct source_keep keep_of(const struct lock_request *request, const char *platform)
{
	struct source_keep keep = { .moves = request->moves };

	for (size_t i = 0; request->keep && i < request->keep->platforms.len; i++) {
		if (str_equal(request->keep->platforms.items[i].platform, platform))
			keep.inputs = &request->keep->platforms.items[i];
	}
	return keep;
}

/* The Python that the packages of the stage bring, "3.11", or NULL. */
static const char *packaged_python(struct locking *l, const struct stack_stage *stage)
{
	const struct lock_platform *p = l->context.inputs;

	for (size_t i = 0; i < p->inputs.len; i++) {
		const struct lock_input *in = &p->inputs.items[i];
		unsigned minor;
		int end = 0;

		if (in->kind == LOCK_DEB && str_equal(in->stage, stage->name) &&
		    sscanf(in->name, "python3.%2u-minimal%n", &minor, &end) == 1 && end > 0 &&
		    !in->name[end])
			return arena_printf(&l->lock->arena, "3.%u", minor);
	}
	return NULL;
}

/*
 * Which Python an image has that does not say so in stack.python is known once its packages are.
 * True when it was news: the solver has to be asked once more, as frameworks depend on it.
 */
static bool python_is_news(struct locking *l, const struct stack_stage *stage)
{
	if (l->python || l->stack->stack.python || !l->stack->stack.framework.count ||
	    !is_last(l, stage))
		return false;
	l->python = packaged_python(l, stage);
	return l->python != NULL;
}

/* 1: the stack has to be solved once more, for the Python that was found. */
static int lock_stage(struct locking *l, const struct stack_stage *stage, struct error *err)
{
	cleanup_toolkit_orders struct toolkit_orders orders = { 0 };

	if (wanted_by_stack(l, stage, &orders, err) < 0 ||
	    resolve_apt(l, stage, &orders, err) < 0 || resolve_rpm(l, stage, &orders, err) < 0)
		return -1;
	if (python_is_news(l, stage))
		return 1;
	if (resolve_redist(l, stage, &orders, err) < 0 ||
	    resolve_wheels(l, stage, &orders, err) < 0 || resolve_others(l, stage, err) < 0)
		return -1;
	return 0;
}

/* The base image of a platform: its blobs are the first inputs. */
static int lock_base(struct locking *l, size_t index, struct error *err)
{
	const char *platform = l->stack->platforms.items[index];
	struct source_keep keep = keep_of(l->request, platform);
	bool moves = !l->request->moves || str_equal(l->request->moves, "base");
	struct base_lock_request request = { .stack = l->stack,
					     .store = l->request->store,
					     .opener = l->request->opener,
					     .keep = moves ? NULL : keep.inputs,
					     .out = l->request->out };
	struct lock_platform *inputs = lockfile_platform(l->lock, platform);

	if (platform_parse(platform, &l->lock->arena, &request.platform, err) < 0 ||
	    base_image_lock(&request, inputs, &l->lock->arena, err) < 0 ||
	    base_image_open(l->request->store, inputs, &l->bases[index], err) < 0)
		return error_wrap(err, "base.image (%s)", platform);
	return 0;
}

static int lock_bases(struct locking *l, struct error *err)
{
	if (!l->stack->base_image)
		return 0;
	l->bases = arena_array(&l->lock->arena, l->stack->platforms.count, sizeof(*l->bases));
	for (size_t i = 0; i < l->stack->platforms.count; i++) {
		if (lock_base(l, i, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * What stack.python comes to: the version that it names, or of a range or nothing the one that the
 * solver chose, else the one next to Debian 12's.
 */
static const char *wanted_python(const struct locking *l)
{
	const char *asked = l->stack->stack.python;

	if (asked && dotted_is(slice_str(asked)) && strchr(asked, '.'))
		return asked;
	if (!asked || l->settled.python)
		return l->settled.python;
	for (int i = 0; i < 40; i++) {
		int minor = i < 29 ? 11 + i : 39 - i; /* 11 … 39, then 10 … 0 */
		const char *version = arena_printf(&l->lock->arena, "3.%d", minor);

		if (dotted_in(version, asked))
			return version;
	}
	return asked;
}

/* 1 as lock_stage. */
static int lock_platform(struct locking *l, size_t index, struct error *err)
{
	const char *platform = l->stack->platforms.items[index];

	l->context.keep = keep_of(l->request, platform);
	l->context.inputs = lockfile_platform(l->lock, platform);
	l->context.base = l->bases ? &l->bases[index] : NULL;
	settled_release(&l->settled);
	l->settled = (struct settled){ 0 };
	if (platform_parse(platform, &l->lock->arena, &l->context.platform, err) < 0 ||
	    settled_find(l->stack, index, l->context.base, l->python, &l->lock->arena, &l->settled,
			 err) < 0)
		return -1;
	l->context.python = wanted_python(l);
	for (size_t i = 0; i < l->stack->stage_count; i++) {
		const struct stack_stage *stage = &l->stack->stages[i];

		int rc = lock_stage(l, stage, err);

		if (rc > 0)
			return rc;
		if (rc < 0)
			return error_wrap(err, "stage %s (%s)", stage->name, platform);
	}
	return settled_confirm(l->stack, l->context.inputs, &l->settled, err);
}

/* The exact version of the first input of that name in the image's stage, or "". */
static const char *version_of(const struct locking *l, const char *name)
{
	const char *stage = l->stack->stages[l->stack->stage_count - 1].name;
	const struct lock_platform *p = &l->lock->platforms.items[0];

	for (size_t i = 0; i < p->inputs.len; i++) {
		if (str_equal(p->inputs.items[i].stage, stage) &&
		    str_equal(p->inputs.items[i].name, name))
			return p->inputs.items[i].version;
	}
	return "";
}

static const char *first_version(const struct locking *l, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *version = version_of(l, names[i]);

		if (*version)
			return version;
	}
	return "";
}

/* "13.0.96" → "13.0" */
static const char *two_numbers(const char *version, struct arena *arena)
{
	const char *dot = strchr(version, '.'), *second = dot ? strchr(dot + 1, '.') : NULL;

	return second ? arena_slice(arena, slice_of(version, (size_t)(second - version))) : version;
}

static const char *locked_python(const struct locking *l)
{
	for (unsigned minor = 39; minor > 5; minor--) {
		cleanup_free char *name = xasprintf("python3.%u-minimal", minor);

		if (*version_of(l, name))
			return arena_printf(&l->lock->arena, "3.%u", minor);
	}
	if (l->context.python)
		return l->context.python;
	return l->bases && l->bases[0].python ? l->bases[0].python : "";
}

/* "2.23.4-1+cuda12.6" → "2.23.4" */
static const char *plain(struct arena *arena, const char *version)
{
	return arena_slice(arena, version_upstream(slice_str(version)));
}

/* The name of CUDA's run-time library in NVIDIA's apt and rpm repositories: "cuda-cudart-12-6". */
static const char *deb_runtime(const char *cuda, struct arena *arena)
{
	size_t major = strcspn(cuda, ".");

	return cuda[major] ? arena_printf(arena, "cuda-cudart-%.*s-%s", (int)major, cuda,
					  cuda + major + 1)
			   : "";
}

/* The release of CUDA that the run-time library was locked of, when the table can tell. */
static int fill_cuda_release(struct locking *l, const char *runtime, struct error *err)
{
	cleanup_tables struct tables tables = { 0 };
	struct lock_stack *s = &l->lock->stack;
	struct arena *arena = &l->lock->arena;
	const struct toolkit *t;

	s->cuda_release = "";
	if (!*s->cuda)
		return 0;
	if (tables_load(NULL, &tables, err) < 0)
		return -1;
	t = *runtime ? toolkit_of_runtime(&tables.toolkits, plain(arena, runtime)) : NULL;
	if (t && str_equal(t->minor, s->cuda))
		s->cuda_release = arena_strdup(arena, t->version);
	else if (l->solved.exact && str_equal(s->cuda, l->solved.cuda))
		s->cuda_release = l->solved.release;
	return 0;
}

/* What the frameworks of the stack section came to. */
static void fill_frameworks(struct locking *l)
{
	struct lock_stack *s = &l->lock->stack;
	size_t count = l->settled.frameworks.len;

	s->frameworks = arena_array(&l->lock->arena, count + 1, sizeof(*s->frameworks));
	for (size_t i = 0; i < count; i++) {
		const struct settled_framework *f = &l->settled.frameworks.items[i];
		const char *version = version_of(l, f->name);

		if (*version)
			s->frameworks[s->framework_count++] =
				(struct lock_framework){ .key = f->key, .version = version };
	}
}

static int fill_stack(struct locking *l, struct error *err)
{
	static const char *const cudart[] = { "nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12",
					      "cuda_cudart" };
	static const char *const cudnn[] = {
		"nvidia-cudnn-cu13", "nvidia-cudnn-cu12", "cudnn",
		"libcudnn9-cuda-13", "libcudnn9-cuda-12", "libcudnn8"
	};
	static const char *const nccl[] = { "nvidia-nccl-cu13", "nvidia-nccl-cu12", "libnccl2",
					    "libnccl" };
	struct arena *arena = &l->lock->arena;
	struct lock_stack *s = &l->lock->stack;
	const char *runtime = first_version(l, cudart, ARRAY_LEN(cudart));

	s->driver = l->stack->stack.driver ? arena_strdup(arena, l->stack->stack.driver) : "";
	s->cuda = l->cuda ? l->cuda : two_numbers(runtime, arena);
	if (!*runtime && *s->cuda)
		runtime = version_of(l, deb_runtime(s->cuda, arena));
	s->cudnn = plain(arena, first_version(l, cudnn, ARRAY_LEN(cudnn)));
	s->nccl = plain(arena, first_version(l, nccl, ARRAY_LEN(nccl)));
	s->python = arena_strdup(arena, locked_python(l));
	s->require_cuda = "";
	fill_frameworks(l);
	if (fill_cuda_release(l, runtime, err) < 0)
		return -1;
	if (*s->cuda && toolkit_require(l->stack, s->cuda, l->solved.compat != NULL, arena,
					&s->require_cuda, err) < 0)
		return -1;
	return 0;
}

static void take_keys(const struct stack *stack, struct lockfile *out)
{
	out->manifest = stack->digest;
	for (size_t i = 0; i < stack->key_count; i++) {
		struct lock_key key = { .path = arena_strdup(&out->arena, stack->keys[i].path),
					.digest = stack->keys[i].digest };

		vec_push(&out->keys, key);
	}
}

/* The solver is asked, and then the sources, platform by platform; 1 as lock_stage. */
static int lock_platforms(struct locking *l, const struct out *out, struct error *err)
{
	const struct stack *stack = l->stack;
	int rc = 0;

	if (solvable_check(stack, l->bases, l->python, out, &l->lock->arena, &l->solved, err) < 0)
		return -1;
	l->cuda = stack->stack.cuda ? l->solved.cuda : NULL;
	l->context.cuda = l->cuda ? l->cuda : l->solved.compat;
	l->context.compat = l->solved.compat_serving;
	for (size_t i = 0; !rc && i < stack->platforms.count; i++)
		rc = lock_platform(l, i, err);
	return rc;
}

/* Only the base images stay; the sources that were opened are still open. */
static void begin_again(struct locking *l)
{
	for (size_t i = 0; i < l->lock->platforms.len; i++) {
		struct lock_platform *p = &l->lock->platforms.items[i];
		size_t kept = 0;

		while (kept < p->inputs.len && p->inputs.items[kept].kind == LOCK_IMAGE)
			kept++;
		p->inputs.len = kept;
	}
}

static int lock_all(struct locking *l, struct error *err)
{
	const struct stack *stack = l->stack;
	bool may_be_news = !stack->stack.python && stack->stack.framework.count;
	int rc;

	l->context = (struct source_context){ .stack = stack,
					      .store = l->request->store,
					      .http = l->request->http,
					      .out = l->request->out,
					      .lock = l->lock,
					      .redist = &l->redist,
					      .apt = &l->apt,
					      .rpm = &l->rpm };
	if (lock_bases(l, err) < 0)
		return -1;
	rc = lock_platforms(l, may_be_news ? NULL : l->request->out, err);
	if (rc > 0) {
		out_verbose(l->request->out, "Python %s comes with the packages: solving for it",
			    l->python);
		begin_again(l);
		rc = lock_platforms(l, l->request->out, err);
	} else if (rc == 0 && may_be_news) {
		struct solved_stack same; /* asked for its warnings */

		rc = solvable_check(stack, l->bases, NULL, l->request->out, &l->lock->arena, &same,
				    err);
	}
	if (rc < 0 || fill_stack(l, err) < 0)
		return -1;
	return distribution_cuda_check(l->lock, l->request->out, err);
}

int lock_stack(const struct lock_request *request, struct lockfile *out, struct error *err)
{
	struct locking l = { .request = request, .stack = request->stack, .lock = out };
	struct layer_options options = { .compression = request->stack->layers.compression,
					 .level = request->stack->layers.level };
	cleanup_free char *coder = fragment_coder(&options);
	int rc;

	take_keys(request->stack, out);
	out->assembly = ASSEMBLY_VERSION;
	out->coder = arena_strdup(&out->arena, coder);
	rc = lock_all(&l, err);
	settled_release(&l.settled);
	redist_catalogs_release(&l.redist);
	apt_sessions_release(&l.apt);
	rpm_sessions_release(&l.rpm);
	for (size_t i = 0; l.bases && i < request->stack->platforms.count; i++)
		base_image_release(&l.bases[i]);
	return rc;
}
