#include "builder/settled.h"

#include "base/strbuf.h"
#include "builder/solvable.h"
#include "formats/wheel_meta.h"
#include "formats/json.h"
#include "manifests/dotted.h"
#include "manifests/embedded.h"
#include "manifests/solver.h"
#include "manifests/tables.h"

void settled_release(struct settled *settled)
{
	vec_release(&settled->frameworks);
}

static void settle_frameworks(const struct solver_choice *c, enum stack_libraries libraries,
			      struct arena *arena, struct settled *out)
{
	for (size_t i = 0; i < c->build_count; i++) {
		const struct framework_build *b = c->builds[i];
		const char *package = b->package ? b->package : b->framework;
		size_t bare = strcspn(package, "[");
		struct settled_framework f = { .key = arena_strdup(arena, b->framework),
					       .version = arena_strdup(arena, b->version),
					       .flavour = arena_strdup(arena, b->flavour) };

		f.name = wheel_normalize(slice_of(package, bare), arena);
		/* extras bring the libraries as wheels, which the system is to bring here */
		f.package = libraries == LIBRARIES_SYSTEM ? f.name : arena_strdup(arena, package);
		vec_push(&out->frameworks, f);
	}
}

/* "1.22" names a series, "1.22.0" a release. */
static bool is_series(const char *version)
{
	const char *dot = strchr(version, '.');

	return !dot || !strchr(dot + 1, '.');
}

/* Whether the pins of all builds were seen, so that they bind. */
static bool is_certain(const struct solver_choice *c)
{
	for (size_t i = 0; i < c->build_count; i++) {
		if (c->builds[i]->confidence)
			return false;
	}
	return true;
}

/* Some build pins its libraries itself, to the version. */
static bool pins_itself(const struct solver_choice *c)
{
	for (size_t i = 0; i < c->build_count; i++) {
		if (c->builds[i]->exact)
			return true;
	}
	return false;
}

/* The name of a component's wheel for a CUDA major, or NULL. */
static const char *wheel_of(const json_t *component, const char *cuda)
{
	cleanup_free char *major = xstrndup(cuda, strcspn(cuda, "."));

	return json_string_value(json_object_get(json_object_get(component, "wheels"), major));
}

/*
 * "name==version" for each wheel that the solution speaks of. A framework that pins its libraries
 * only has to agree on CUDA itself; of one that gives ranges all parts of CUDA are of that CUDA.
 */
static int write_constraints(const struct settled *s, const struct base_image *base, bool all,
			     struct strbuf *out, struct error *err)
{
	cleanup_json json_t *table = NULL;
	json_t *components;

	for (size_t i = 0; i < s->frameworks.len; i++) {
		const struct settled_framework *f = &s->frameworks.items[i];

		if (!base_image_distribution(base, f->name))
			strbuf_addf(out, "%s==%s%s\n", f->name, f->version,
				    is_series(f->version) ? ".*" : "");
	}
	if (!s->cuda)
		return 0;
	if (json_parse(embedded_file("components.json"), &table, err) < 0 ||
	    json_get_array(table, "", "components", &components, err) < 0)
		return error_wrap(err, "components.json");
	for (size_t i = 0; i < json_array_size(components); i++) {
		const json_t *c = json_array_get(components, i);
		const char *id, *kind, *wheel = wheel_of(c, s->cuda);

		if (json_get_str(c, "components", "id", &id, err) < 0 ||
		    json_get_str(c, "components", "version", &kind, err) < 0)
			return -1;
		if (!wheel)
			continue;
		if (str_equal(id, "cudnn") && s->cudnn)
			strbuf_addf(out, "%s==%s\n", wheel, s->cudnn);
		else if (str_equal(id, "nccl") && s->nccl)
			strbuf_addf(out, "%s==%s\n", wheel, s->nccl);
		else if (str_equal(kind, "toolkit") && (all || str_equal(id, "cudart")))
			strbuf_addf(out, "%s==%s.*\n", wheel, s->cuda);
	}
	return 0;
}

static int settle(const struct stack *stack, const struct solution *solution,
		  const struct base_image *base, struct arena *arena, struct settled *out,
		  struct error *err)
{
	const struct solver_choice *c = &solution->choice;
	cleanup_strbuf struct strbuf text = { 0 };

	settle_frameworks(c, stack->stack.libraries, arena, out);
	if (c->toolkit)
		out->cuda = arena_strdup(arena, c->toolkit->minor);
	if (c->python)
		out->python = arena_strdup(arena, c->python);
	if (c->cudnn && is_certain(c))
		out->cudnn = arena_strdup(arena, c->cudnn);
	if (c->nccl && is_certain(c))
		out->nccl = arena_strdup(arena, c->nccl);
	if (write_constraints(out, base, !pins_itself(c), &text, err) < 0)
		return -1;
	out->constraints = arena_strdup(arena, strbuf_text(&text));
	return 0;
}

int settled_find(const struct stack *stack, size_t index, const struct base_image *base,
		 const char *python, struct arena *arena, struct settled *out, struct error *err)
{
	cleanup_tables struct tables tables = { 0 };
	cleanup_solution struct solution solution = { 0 };
	struct solver_request request;

	out->constraints = "";
	if (!stack->stack.cuda && !stack->stack.framework.count && !stack->stack.gpus.count)
		return 0;
	if (tables_load(NULL, &tables, err) < 0)
		return -1;
	request = solvable_request(&tables, stack, stack->platforms.items[index], base, python,
				   arena);
	if (solver_find(&tables, &request, &solution, err) < 0)
		return -1;
	return solution.solved ? settle(stack, &solution, base, arena, out, err) : 0;
}

/* What was locked as a wheel under one of the names, in the image's stage. */
static const struct lock_input *locked_wheel(const struct stack *stack,
					     const struct lock_platform *inputs,
					     const char *const *names, size_t count)
{
	const char *stage = stack->stages[stack->stage_count - 1].name;

	for (size_t i = 0; i < inputs->inputs.len; i++) {
		const struct lock_input *in = &inputs->inputs.items[i];

		for (size_t k = 0; k < count; k++) {
			if (in->kind == LOCK_WHEEL && str_equal(in->stage, stage) &&
			    str_equal(in->name, names[k]))
				return in;
		}
	}
	return NULL;
}

/* "2.7.1+cu128" is 2.7.1, and 1.22.3 is of the series 1.22. */
static bool is_of(const char *locked, const char *settled)
{
	size_t n = strlen(settled);

	if (strncmp(locked, settled, n) != 0)
		return false;
	return !locked[n] || locked[n] == '+' || (is_series(settled) && locked[n] == '.');
}

static int disagree(const struct stack *stack, const char *what, const char *settled,
		    const struct lock_input *in, const char *help, struct error *err)
{
	stack_error(stack, stack->stack.place, err,
		    "stack: the solver says %s %s, and source %s gives %s %s; %s "
		    "(`gpuimg resolve %s` tells why)",
		    what, settled, in->source, in->name, in->version, help, stack->file);
	err->code = ERROR_VERDICT;
	return -1;
}

static int confirm_cuda(const struct stack *stack, const struct lock_platform *inputs,
			const struct settled *s, struct error *err)
{
	static const char *const names[] = { "nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12",
					     "nvidia-cuda-runtime-cu11" };
	const struct lock_input *in = locked_wheel(stack, inputs, names, ARRAY_LEN(names));
	cleanup_free char *help = NULL;
	const char *second;

	if (!in || !s->cuda || is_of(in->version, s->cuda))
		return 0;
	second = strchr(in->version, '.');
	second = second ? strchr(second + 1, '.') : NULL;
	help = xasprintf("set stack.cuda to \"%.*s\", or name a source that has the %s build",
			 (int)(second ? (size_t)(second - in->version) : strlen(in->version)),
			 in->version, s->frameworks.len ? s->frameworks.items[0].flavour : s->cuda);
	return disagree(stack, "CUDA", s->cuda, in, help, err);
}

/* The digits and dots after `mark` in a local version: "2.7" of "cu12torch2.7cxx11abitrue". */
static struct slice part_after(const char *local, const char *mark)
{
	const char *at = strstr(local, mark);

	at = at ? at + strlen(mark) : "";
	return slice_of(at, strspn(at, "0123456789."));
}

/*
 * A wheel that was compiled against one minor of torch and one major of CUDA, and says so in its
 * local version, as flash-attn does ("2.8.3+cu12torch2.7cxx11abiTRUE").
 */
static int confirm_extension(const struct stack *stack, const struct lock_input *in,
			     const char *torch, const char *cuda, struct error *err)
{
	const char *local = strchr(in->version, '+');
	struct slice for_torch = local ? part_after(local, "torch") : (struct slice){ 0 };
	struct slice for_cuda = local ? part_after(local, "cu") : (struct slice){ 0 };
	cleanup_free char *help = NULL;
	const char *what = NULL;

	if (!for_torch.len || !torch)
		return 0;
	if (!dotted_prefix(slice_str(torch), for_torch))
		what = "torch";
	/* "cu12", or all digits of a minor: "cu126" */
	else if (cuda && for_cuda.len &&
		 strncmp((const char *)for_cuda.data, cuda, strcspn(cuda, ".")) != 0)
		what = "CUDA";
	if (!what)
		return 0;
	help = xasprintf("it was compiled against torch %.*s and CUDA %.*s: name the wheel of %s "
			 "for these",
			 (int)for_torch.len, (const char *)for_torch.data,
			 for_cuda.len ? (int)for_cuda.len : 1,
			 for_cuda.len ? (const char *)for_cuda.data : "?", in->name);
	return disagree(stack, what, str_equal(what, "torch") ? torch : cuda, in, help, err);
}

static int confirm_extensions(const struct stack *stack, const struct lock_platform *inputs,
			      const struct settled *s, struct error *err)
{
	static const char *const torch[] = { "torch" };
	static const char *const cudart[] = { "nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12",
					      "nvidia-cuda-runtime-cu11" };
	const char *stage = stack->stages[stack->stage_count - 1].name;
	const struct lock_input *framework = locked_wheel(stack, inputs, torch, ARRAY_LEN(torch));
	const struct lock_input *runtime = locked_wheel(stack, inputs, cudart, ARRAY_LEN(cudart));
	const char *cuda = runtime ? runtime->version : s->cuda;

	for (size_t i = 0; i < inputs->inputs.len && framework; i++) {
		const struct lock_input *in = &inputs->inputs.items[i];

		if (in->kind == LOCK_WHEEL && str_equal(in->stage, stage) &&
		    confirm_extension(stack, in, framework->version, cuda, err) < 0)
			return -1;
	}
	return 0;
}

int settled_confirm(const struct stack *stack, const struct lock_platform *inputs,
		    const struct settled *s, struct error *err)
{
	static const char *const cudnn[] = { "nvidia-cudnn-cu13", "nvidia-cudnn-cu12",
					     "nvidia-cudnn-cu11" };
	static const char *const nccl[] = { "nvidia-nccl-cu13", "nvidia-nccl-cu12",
					    "nvidia-nccl-cu11" };
	const struct lock_input *in;

	for (size_t i = 0; i < s->frameworks.len; i++) {
		const struct settled_framework *f = &s->frameworks.items[i];
		cleanup_free char *help = NULL;

		in = locked_wheel(stack, inputs, &f->name, 1);
		if (!in || is_of(in->version, f->version))
			continue;
		help = xasprintf("ask for the version that there is, framework: { %s: \"%.40s\" }",
				 f->key, in->version);
		return disagree(stack, f->key, f->version, in, help, err);
	}
	if (confirm_cuda(stack, inputs, s, err) < 0)
		return -1;
	in = locked_wheel(stack, inputs, cudnn, ARRAY_LEN(cudnn));
	if (in && s->cudnn && !is_of(in->version, s->cudnn))
		return disagree(stack, "cuDNN", s->cudnn, in,
				"ask for that cudnn in the stack section", err);
	in = locked_wheel(stack, inputs, nccl, ARRAY_LEN(nccl));
	if (in && s->nccl && !is_of(in->version, s->nccl))
		return disagree(stack, "NCCL", s->nccl, in,
				"ask for that nccl in the stack section", err);
	return confirm_extensions(stack, inputs, s, err);
}
