#include "builder/toolkit_sources.h"

#include "builder/sources/apt.h"

void toolkit_orders_release(struct toolkit_orders *orders)
{
	for (size_t i = 0; i < orders->len; i++)
		vec_release(&orders->items[i].packages);
	vec_release(orders);
}

struct finding {
	const struct source_context *context;
	const struct stack_stage *stage;
	const struct solved_stack *solved;
	struct toolkit_orders *orders;
};

static void order(struct finding *f, const struct stack_source *source, const char *spec)
{
	struct toolkit_order *to = NULL;
	struct stack_package package = { .spec = spec, .place = f->context->stack->stack.place };

	for (size_t i = 0; i < f->orders->len; i++) {
		if (f->orders->items[i].source == source)
			to = &f->orders->items[i];
	}
	if (!to) {
		to = vec_add(f->orders);
		to->source = source;
	}
	vec_push(&to->packages, package);
}

static const char *kind_of(enum stack_source_type type)
{
	return type == SOURCE_APT ? "deb" : type == SOURCE_RPM_MD ? "rpm" : NULL;
}

/* The CUDA in a component's names: that of its own for the compatibility package. */
static const char *cuda_of(const struct finding *f, const struct toolkit_component *c)
{
	return str_equal(c->id, "compat") ? f->solved->compat : f->solved->cuda;
}

static int names_of(const struct finding *f, const struct toolkit_component *c,
		    const struct stack_source *source, struct toolkit_names *out, struct error *err)
{
	const char *kind = kind_of(source->type);

	*out = (struct toolkit_names){ 0 };
	if (kind)
		return toolkit_names(c, kind, cuda_of(f, c), f->stage->profile,
				     &f->context->lock->arena, out, err);
	if (source->type == SOURCE_REDIST && c->redist)
		out->items[out->count++] = c->redist;
	return 0;
}

/* Whether a specification is of a package of that name. */
static bool is_named(const char *spec, const char *name)
{
	size_t n = spec ? strcspn(spec, "=<>!~: ") : 0;

	return n && strlen(name) == n && memcmp(spec, name, n) == 0;
}

/* Whether a stage names a package of the component itself. */
static int stage_names(const struct finding *f, const struct toolkit_component *c, bool *out,
		       struct error *err)
{
	*out = false;
	for (size_t i = 0; i < f->stage->package_count; i++) {
		const struct stack_packages *named = &f->stage->packages[i];
		const struct stack_source *s = stack_source(f->context->stack, named->source);
		struct toolkit_names names;

		if (!s)
			continue;
		if (names_of(f, c, s, &names, err) < 0)
			return -1;
		for (size_t k = 0; k < named->count && names.count; k++)
			*out |= is_named(named->items[k].spec, names.items[0]);
	}
	return 0;
}

/* All packages of a component in an apt or rpm-md source, at one version. */
static int ask_packages(struct finding *f, const struct stack_source *source,
			struct toolkit_component *c, struct error *err)
{
	struct version_wish wish = { .version = c->version, .exact = c->exact, .range = c->range };
	const bool apt = source->type == SOURCE_APT;
	const char *version = NULL;
	struct toolkit_names names;

	if (names_of(f, c, source, &names, err) < 0)
		return -1;
	wish.marked = names.marked;
	for (size_t i = 0; i < names.count; i++) {
		if ((apt ? apt_offers : rpmmd_offers)(f->context, source, names.items[i], &wish,
						      &version, err) < 0)
			return -1;
		if (!version)
			return 0;
		wish.same = version;
	}
	for (size_t i = 0; i < names.count; i++)
		order(f, source,
		      arena_printf(&f->context->lock->arena, apt ? "%s=%s" : "%s = %s",
				   names.items[i], version));
	c->served = names.count > 0;
	return 0;
}

static int ask_redist(struct finding *f, const struct stack_source *source,
		      struct toolkit_component *c, struct error *err)
{
	bool has = false;

	if (!c->redist)
		return 0;
	if (redist_serves(f->context, source, c->redist, c->range, &has, err) < 0)
		return -1;
	if (has)
		order(f, source, c->redist);
	c->served = has;
	return 0;
}

static int ask_wheels(struct finding *f, const struct stack_source *source,
		      struct toolkit_component *c, struct error *err)
{
	const char *spec;

	if (!c->wheel)
		return 0;
	if (toolkit_requirement(f->context->stack, f->solved, c, &f->context->lock->arena, &spec,
				err) < 0)
		return -1;
	order(f, source, spec);
	c->served = true;
	return 0;
}

static int ask(struct finding *f, const struct stack_source *source, struct toolkit_component *c,
	       struct error *err)
{
	switch (source->type) {
	case SOURCE_APT:
	case SOURCE_RPM_MD:
		return ask_packages(f, source, c, err);
	case SOURCE_REDIST:
		return ask_redist(f, source, c, err);
	case SOURCE_WHEELS:
		return ask_wheels(f, source, c, err);
	default:
		return 0;
	}
}

static bool is_first_wheels(const struct stack *stack, const struct stack_source *source)
{
	for (size_t i = 0; i < stack->source_count; i++) {
		if (stack->sources[i].type == SOURCE_WHEELS)
			return &stack->sources[i] == source;
	}
	return false;
}

static bool is_asked(const struct finding *f, const struct stack_source *source, bool wheels,
		     const struct toolkit_component *c)
{
	if (source->type == SOURCE_WHEELS)
		return is_first_wheels(f->context->stack, source);
	/* There is no wheel of the compatibility package. */
	return !wheels || str_equal(c->id, "compat");
}

/* "os (apt): libcublas-12-6, libcublas-dev-12-6", or nothing. */
static int describe(const struct finding *f, const struct stack_source *source,
		    const struct toolkit_component *c, struct strbuf *out, struct error *err)
{
	struct toolkit_names names;

	if (names_of(f, c, source, &names, err) < 0)
		return -1;
	if (source->type == SOURCE_WHEELS && c->wheel)
		names.items[names.count++] = c->wheel;
	if (!names.count)
		return 0;
	strbuf_addf(out, "%s'%s' (%s) has no ", out->len ? "; " : "", source->id,
		    stack_source_type_name(source->type));
	for (size_t i = 0; i < names.count; i++)
		strbuf_addf(out, "%s%s", i ? " with " : "", names.items[i]);
	return 0;
}

static int nobody(const struct finding *f, bool wheels, const struct toolkit_component *c,
		  struct error *err)
{
	const struct stack *stack = f->context->stack;
	const char *wanted = c->version ? c->version : c->range ? c->range : "";
	cleanup_strbuf struct strbuf asked = { 0 };

	for (size_t i = 0; i < stack->source_count; i++) {
		if (is_asked(f, &stack->sources[i], wheels, c) &&
		    describe(f, &stack->sources[i], c, &asked, err) < 0)
			return -1;
	}
	return stack_error(
		stack, stack->stack.place, err,
		"the stack section asks for %s%s%s%s of CUDA %s, and no source has it%s%s; add %s",
		c->id, *wanted ? " " : "", wanted, c->exact ? " exactly" : "", cuda_of(f, c),
		asked.len ? ": " : "", strbuf_text(&asked),
		!str_equal(c->id, "compat")
			? "one that has, such as { id: pip, type: wheels, from: host } or NVIDIA's "
			  "apt repository"
		: stack->stack.compat == COMPAT_ALWAYS
			? "NVIDIA's apt or rpm repository, or set compat to auto"
			: "NVIDIA's apt or rpm repository, or raise the driver floor");
}

static int find_one(struct finding *f, bool wheels, struct toolkit_component *c, struct error *err)
{
	const struct stack *stack = f->context->stack;

	if (base_image_has_cuda(f->context->base, c->id, f->stage->profile == PROFILE_DEVEL)) {
		out_verbose(f->context->out, "stage %s: %s is in the base image", f->stage->name,
			    c->id);
		c->served = true;
		return 0;
	}
	if (stage_names(f, c, &c->served, err) < 0)
		return -1;
	for (size_t i = 0; i < stack->source_count && !c->served; i++) {
		const struct stack_source *source = &stack->sources[i];

		if (is_asked(f, source, wheels, c) && ask(f, source, c, err) < 0)
			return -1;
		if (c->served)
			out_verbose(f->context->out, "stage %s: %s comes from source '%s'",
				    f->stage->name, c->id, source->id);
	}
	return c->served || c->optional ? 0 : nobody(f, wheels, c, err);
}

int toolkit_sources_find(const struct source_context *context, const struct stack_stage *stage,
			 const struct solved_stack *solved, bool wheels,
			 struct toolkit_components *components, struct toolkit_orders *out,
			 struct error *err)
{
	struct finding f = { .context = context, .stage = stage, .solved = solved, .orders = out };

	for (size_t i = 0; i < components->len; i++) {
		if (find_one(&f, wheels, &components->items[i], err) < 0)
			return -1;
	}
	return 0;
}
