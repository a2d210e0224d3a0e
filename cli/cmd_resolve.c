#include "cli/command.h"
#include "cli/report_output.h"
#include "cli/stack_arg.h"
#include "cli/stack_report.h"
#include "manifests/stack.h"

static const struct option options[] = {
	{ .name = "explain", .help = "the table row and the source behind every sentence" },
	{ .name = "tables",
	  .value = "DIR",
	  .help = "compatibility tables of this folder instead of those of the program" },
	{ .name = "print-manifest",
	  .help = "print the manifest as it is read: files merged, --set, every default" },
	STACK_SET_OPTION,
	STACK_VARIANT_OPTION,
	REPORT_OUTPUT_OPTION("text or json"),
	{ 0 },
};

struct answer {
	const char *platform;
	struct solution solution;
};

struct answers {
	struct answer *items;
	size_t len, cap;
};

static void answers_release(struct answers *list)
{
	for (size_t i = 0; i < list->len; i++)
		solution_release(&list->items[i].solution);
	vec_release(list);
}

static int solve_all(const struct tables *tables, const struct stack *stack, struct arena *arena,
		     struct answers *out, struct error *err)
{
	for (size_t i = 0; i < stack->platforms.count; i++) {
		const char *platform = stack->platforms.items[i];
		struct solver_request request = solver_request_of(tables, stack, platform, arena);
		struct answer a = { .platform = platform };

		if (solver_find(tables, &request, &a.solution, err) < 0)
			return error_wrap(err, "%s", stack->file);
		vec_push(out, a);
	}
	return 0;
}

/* The second platform's answer is printed only when it is another. */
static void write_text(const struct answers *list, bool explain, struct strbuf *text)
{
	cleanup_strbuf struct strbuf first = { 0 };

	for (size_t i = 0; i < list->len; i++) {
		cleanup_strbuf struct strbuf one = { 0 };

		stack_report_text(&list->items[i].solution, explain, &one);
		if (i == 0)
			strbuf_adds(&first, strbuf_text(&one));
		if (list->len > 1)
			strbuf_addf(text, "%s%s%s\n", i ? "\n" : "", list->items[i].platform,
				    i && str_equal(strbuf_text(&first), strbuf_text(&one))
					    ? ": the same"
					    : "");
		if (i == 0 || !str_equal(strbuf_text(&first), strbuf_text(&one)))
			strbuf_adds(text, strbuf_text(&one));
	}
}

static void write_json(const struct stack *stack, const struct answers *list, struct strbuf *text)
{
	cleanup_json json_t *o = json_object();
	json_t *platforms = json_array();

	json_put(o, "schema", json_text("gpuimg-resolve/1"));
	json_put(o, "stack", json_text(stack->file));
	if (*stack->variant)
		json_put(o, "variant", json_text(stack->variant));
	for (size_t i = 0; i < list->len; i++) {
		json_t *a = stack_report_json(&list->items[i].solution);

		json_put(a, "platform", json_text(list->items[i].platform));
		json_push(platforms, a);
	}
	json_put(o, "platforms", platforms);
	json_pretty(o, text);
}

/* One image's part of each report; `many`: the manifest has a matrix. 0, or 1 when nothing fits. */
static int resolve_one(const struct invocation *in, const struct tables *tables,
		       const struct stack *stack, const struct report_outputs *outputs, bool many,
		       struct strbuf *reports, struct error *err)
{
	cleanup(answers_release) struct answers answers = { 0 };
	cleanup_arena struct arena arena = { 0 };
	bool explain = option_given(in, "explain") || in->out->verbosity > 0, solved = true;

	if (solve_all(tables, stack, &arena, &answers, err) < 0)
		return -1;
	for (size_t i = 0; i < outputs->len; i++) {
		struct strbuf *text = &reports[i];

		if (str_equal(outputs->items[i].format, "json")) {
			if (many)
				strbuf_adds(text, text->len ? ",\n" : "[\n");
			write_json(stack, &answers, text);
			continue;
		}
		if (many)
			strbuf_addf(text, "%s== %s\n", text->len ? "\n" : "", stack->variant);
		write_text(&answers, explain, text);
	}
	for (size_t i = 0; i < answers.len; i++)
		solved &= answers.items[i].solution.solved;
	return solved ? 0 : 1;
}

static int resolve_all(const struct invocation *in, const struct tables *tables,
		       const struct stacks *stacks, const struct report_outputs *outputs,
		       struct strbuf *reports, struct error *err)
{
	int status = 0;

	for (size_t i = 0; i < stacks->count; i++) {
		int rc = resolve_one(in, tables, &stacks->items[i], outputs, stacks->count > 1,
				     reports, err);

		if (rc < 0)
			return -1;
		status |= rc;
	}
	for (size_t i = 0; i < outputs->len; i++) {
		if (stacks->count > 1 && str_equal(outputs->items[i].format, "json"))
			strbuf_adds(&reports[i], "]\n");
		if (report_output_write(&outputs->items[i], strbuf_slice(&reports[i]), in->out,
					err) < 0)
			return -1;
	}
	return status;
}

/* Several images are several documents, each with its variant in a comment. */
static int print_manifest(const struct invocation *in, const struct stacks *stacks,
			  struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	FILE *to = in->out->out;

	for (size_t i = 0; i < stacks->count; i++) {
		if (stacks->count > 1)
			strbuf_addf(&text, "--- # %s\n", stacks->items[i].variant);
		stack_print(&stacks->items[i], &text);
	}
	if (fwrite(text.data, 1, text.len, to) != text.len || fflush(to))
		return error_set_errno(err, errno, "write to standard output");
	return 0;
}

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", NULL };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_tables struct tables tables = { 0 };
	cleanup_stacks struct stacks stacks = { 0 };
	cleanup_free struct strbuf *reports = NULL;
	int status;

	if (report_outputs_parse(in, formats, &outputs, err) < 0 ||
	    stack_arg_read(in, in->args[0], &stacks, err) < 0)
		return -1;
	if (option_given(in, "print-manifest"))
		return print_manifest(in, &stacks, err);
	if (tables_load(option_text(in, "tables", NULL), &tables, err) < 0)
		return -1;
	reports = xcalloc(outputs.len + 1, sizeof(*reports));
	status = resolve_all(in, &tables, &stacks, &outputs, reports, err);
	for (size_t i = 0; i < outputs.len; i++)
		strbuf_release(&reports[i]);
	return status;
}

const struct command command_resolve = {
	.name = "resolve",
	.usage = "STACK",
	.summary = "which versions fit the stack section, and why",
	.description =
		"Solves the stack section of a manifest against the compatibility tables: exact "
		"versions of framework, CUDA, cuDNN, NCCL and Python; how the floor and every "
		"newer "
		"driver branch run them; and what serves each GPU.\n\n"
		"When nothing fits, it names the smallest set of clauses that clash, why, and the "
		"nearest changes that work; each change was solved before it is offered. Exit "
		"status 1.",
	.examples = "gpuimg resolve stack.yaml                      # the versions\n"
		    "gpuimg resolve stack.yaml --explain            # and the row behind each "
		    "sentence\n"
		    "gpuimg resolve stack.yaml -o json=resolve.json # for programs",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
