#include "builder/solvable.h"

#include "base/strbuf.h"
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

static int check_platform(const struct stack *stack, const struct tables *tables, size_t index,
			  const struct out *out, struct error *err)
{
	const char *platform = stack->platforms.items[index];
	struct solver_request request = { .stack = &stack->stack, .base_image = stack->base_image };
	cleanup_solution struct solution solution = { 0 };

	request.arm64 = str_ends(platform, "/arm64") || strstr(platform, "/arm64/");
	request.amd64 = !request.arm64;
	if (solver_find(tables, &request, &solution, err) < 0)
		return -1;
	for (size_t i = 0; index == 0 && i < solution.warnings.len; i++)
		out_warn(out, "stack: %s", solution.warnings.items[i].text);
	return solution.solved ? 0 : refuse(stack, &solution, err);
}

int solvable_check(const struct stack *stack, const struct out *out, struct error *err)
{
	cleanup_tables struct tables tables = { 0 };

	if (!stack->stack.cuda && !stack->stack.framework.count && !stack->stack.gpus.count)
		return 0;
	if (tables_load(NULL, &tables, err) < 0)
		return -1;
	for (size_t i = 0; i < stack->platforms.count; i++) {
		if (check_platform(stack, &tables, i, out, err) < 0)
			return -1;
	}
	return 0;
}
