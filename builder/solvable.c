#include "builder/solvable.h"

#include "base/strbuf.h"
#include "manifests/dotted.h"
#include "manifests/solver.h"
#include "manifests/tables.h"

/* "cuda 13.0 and gpus v100 cannot be had together: REASON; REPAIR" */
static int refuse(const struct stack *stack, const struct solution *s, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	for (size_t i = 0; i < s->conflict_count; i++)
		strbuf_addf(&text, "%s%s: %s", i ? ", " : "", s->conflict[i].key,
			    s->conflict[i].value);
	strbuf_adds(&text, s->conflict_count > 1 ? " cannot be had together" : " cannot be had");
	if (s->reasons.len)
		strbuf_addf(&text, ": %s", s->reasons.items[0].text);
	if (s->repairs.len)
		strbuf_addf(&text, "; nearest change: %s", s->repairs.items[0].sentence);
	stack_error(stack, stack->stack.place, err, "stack: %s (`gpuimg resolve %s` tells all)",
		    strbuf_text(&text), stack->file);
	err->code = ERROR_VERDICT;
	return -1;
}

/* "docker://HOST/NAME:TAG@DIGEST" as the tables name images. */
static const char *plain_name(const char *image, char *buf, size_t len)
{
	const char *name = str_starts(image, "docker://") ? image + strlen("docker://") : image;

	snprintf(buf, len, "%.*s", (int)strcspn(name, "@"), name);
	return buf;
}

static void warn_all(const struct solution *s, const struct out *out)
{
	for (size_t i = 0; i < s->warnings.len; i++)
		out_warn(out, "stack: %s", s->warnings.items[i].text);
}

/* "13.0.2" as the manifest may write it: one release and no other. */
static bool names_release(const char *cuda)
{
	if (!cuda)
		return false;
	while (*cuda == '=')
		cuda++;
	return dotted_is(slice_str(cuda)) && strchr(cuda, '.') &&
	       strchr(strchr(cuda, '.') + 1, '.');
}

/* Whose compatibility package goes into the image, or NULL. */
static const char *compat_cuda(const struct stack *stack, const struct tables *tables,
			       const struct solver_choice *choice, const struct out *out)
{
	const char *minor = choice->toolkit->minor;

	if (stack->stack.compat == COMPAT_NEVER ||
	    (stack->stack.compat == COMPAT_AUTO && !choice->compat))
		return NULL;
	if (compat_for(&tables->compat, minor))
		return minor;
	out_warn(out, "stack.compat: there is no compatibility package for CUDA %s", minor);
	return NULL;
}

/* Own minor first, then newer ones upwards: the libraries of a newer driver run older programs. */
static void find_serving(const struct stack *stack, const struct tables *tables,
			 struct arena *arena, struct solved_stack *out)
{
	const struct table_compat *t = &tables->compat;
	struct error ignored = { 0 };
	const char *floor = NULL, *last = out->compat;
	struct stack_texts *texts = &out->compat_serving;

	texts->items = arena_array(arena, t->count + 1, sizeof(*texts->items));
	texts->items[texts->count++] = out->compat;
	if (!stack->stack.driver || solver_floor(stack->stack.driver, arena, &floor, &ignored) < 0)
		return;
	for (;;) {
		const struct compat_package *next = NULL;

		for (size_t i = 0; i < t->count; i++) {
			const struct compat_package *p = &t->items[i];

			if (dotted_order(p->cuda, last) > 0 &&
			    (!next || dotted_order(p->cuda, next->cuda) < 0) &&
			    table_numbers_have(&p->hosts, (unsigned)dotted_number(floor, 0)))
				next = p;
		}
		if (!next)
			return;
		last = arena_strdup(arena, next->cuda);
		texts->items[texts->count++] = last;
	}
}

static void take(const struct stack *stack, const struct tables *tables, const struct solution *s,
		 const struct out *out_text, struct arena *arena, struct solved_stack *out)
{
	const struct solver_choice *c = &s->choice;
	const char *compat;

	if (!c->toolkit)
		return;
	compat = compat_cuda(stack, tables, c, out_text);
	*out = (struct solved_stack){
		.cuda = arena_strdup(arena, c->toolkit->minor),
		.release = arena_strdup(arena, c->toolkit->version),
		.exact = names_release(stack->stack.cuda),
		.cudnn = c->cudnn ? arena_strdup(arena, c->cudnn) : NULL,
		.nccl = c->nccl ? arena_strdup(arena, c->nccl) : NULL,
		.compat = compat ? arena_strdup(arena, compat) : NULL,
	};
	if (out->compat)
		find_serving(stack, tables, arena, out);
}

struct solver_request solvable_request(const struct tables *tables, const struct stack *stack,
				       const char *platform, const struct base_image *base,
				       const char *python, struct arena *arena)
{
	struct solver_request request = solver_request_of(tables, stack, platform, arena);
	struct stack_request *asked = arena_alloc(arena, sizeof(*asked));
	char name[512];

	*asked = stack->stack;
	request.stack = asked;
	if (stack->base_image)
		request.base_image =
			arena_strdup(arena, plain_name(stack->base_image, name, sizeof(name)));
	if (base)
		request.glibc = base->glibc;
	if (!asked->python && asked->framework.count)
		asked->python = python ? python : base ? base->python : NULL;
	return request;
}

/* Warnings and the choice are those of the first platform: one stack is locked for all. */
static int solve(const struct stack *stack, const struct tables *tables, size_t index,
		 const struct base_image *base, const char *python, const struct out *out_text,
		 struct arena *arena, struct solved_stack *out, struct error *err)
{
	const char *platform = stack->platforms.items[index];
	struct solver_request request =
		solvable_request(tables, stack, platform, base, python, arena);
	cleanup_solution struct solution solution = { 0 };

	if (solver_find(tables, &request, &solution, err) < 0)
		return -1;
	if (index == 0)
		warn_all(&solution, out_text);
	if (!solution.solved)
		return refuse(stack, &solution, err);
	if (index == 0)
		take(stack, tables, &solution, out_text, arena, out);
	return 0;
}

int solvable_check(const struct stack *stack, const struct base_image *bases, const char *python,
		   const struct out *out_text, struct arena *arena, struct solved_stack *out,
		   struct error *err)
{
	cleanup_tables struct tables tables = { 0 };

	*out = (struct solved_stack){ 0 };
	if (!stack->stack.cuda && !stack->stack.framework.count && !stack->stack.gpus.count)
		return 0;
	if (tables_load(NULL, &tables, err) < 0)
		return -1;
	for (size_t i = 0; i < stack->platforms.count; i++) {
		if (solve(stack, &tables, i, bases ? &bases[i] : NULL, python, out_text, arena, out,
			  err) < 0)
			return -1;
	}
	return 0;
}
