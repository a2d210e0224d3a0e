#include "cli/command.h"
#include "cli/report_output.h"
#include "cli/stack_report.h"
#include "manifests/matrix.h"

static const struct option options[] = {
	{ .name = "check", .help = "prove the tables consistent instead of asking them" },
	{ .name = "driver",
	  .value = "VERSION",
	  .help = "of a combination: the driver or its branch" },
	{ .name = "cuda", .value = "VERSION", .help = "of a combination: the CUDA version" },
	{ .name = "gpu", .value = "NAME", .help = "of a combination: sm_90, h100" },
	{ .name = "explain", .help = "the table row and the source behind every sentence" },
	{ .name = "tables",
	  .value = "DIR",
	  .help = "compatibility tables of this folder instead of those of the program" },
	REPORT_OUTPUT_OPTION("text or json"),
	{ 0 },
};

static void answer_text(const struct matrix_answer *a, bool explain, struct strbuf *text)
{
	for (size_t i = 0; i < a->sentences.len; i++) {
		const struct solver_sentence *s = &a->sentences.items[i];

		strbuf_addf(text, "%s\n", s->text);
		for (size_t k = 0; explain && k < s->origin_count; k++)
			strbuf_addf(text, "    [%s: %s; %s]\n", s->origins[k].file,
				    s->origins[k].row, s->origins[k].source);
	}
}

static void answer_json(const struct matrix_query *q, const struct matrix_answer *a,
			struct strbuf *text)
{
	cleanup_json json_t *o = json_object();
	const char *pairs[][2] = { { "kind", q->kind },
				   { "value", q->value },
				   { "driver", q->driver },
				   { "cuda", q->cuda },
				   { "gpu", q->gpu } };
	json_t *query = json_object(), *facts = json_object(), *sentences = json_array();

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		if (pairs[i][1])
			json_put(query, pairs[i][0], json_text(pairs[i][1]));
	}
	for (size_t i = 0; i < a->facts.len; i++)
		json_put(facts, a->facts.items[i].key, json_text(a->facts.items[i].value));
	for (size_t i = 0; i < a->sentences.len; i++) {
		const struct solver_sentence *s = &a->sentences.items[i];
		json_t *one = json_object();

		json_put(one, "text", json_text(s->text));
		json_put(one, "origins", stack_report_origins(s->origins, s->origin_count));
		json_push(sentences, one);
	}
	json_put(o, "schema", json_text("gpuimg-matrix/1"));
	json_put(o, "query", query);
	json_put(o, "facts", facts);
	json_put(o, "against", json_boolean(a->against));
	json_put(o, "sentences", sentences);
	json_pretty(o, text);
}

static int check_tables(const struct invocation *in, const struct tables *tables)
{
	cleanup_tables_faults struct tables_faults faults = { 0 };

	tables_check(tables, &faults);
	for (size_t i = 0; i < faults.len; i++)
		out_print(in->out, "%s: %s: %s\n", faults.items[i].file, faults.items[i].row,
			  faults.items[i].text);
	if (!faults.len)
		out_note(in->out, "the tables are consistent");
	return faults.len ? 1 : 0;
}

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", NULL };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_tables struct tables tables = { 0 };
	cleanup_matrix struct matrix_answer answer = { 0 };
	struct matrix_query query;

	if (report_outputs_parse(in, formats, &outputs, err) < 0 ||
	    tables_load(option_text(in, "tables", NULL), &tables, err) < 0)
		return -1;
	if (option_given(in, "check"))
		return check_tables(in, &tables);
	if (matrix_parse(&tables, in->args, in->arg_count, &query, err) < 0)
		return -1;
	query.driver = option_text(in, "driver", NULL);
	query.cuda = option_text(in, "cuda", NULL);
	query.gpu = option_text(in, "gpu", NULL);
	if (query.kind && (query.driver || query.cuda || query.gpu))
		return error_set(
			err, ERROR_USAGE,
			"ask either by words or with --driver, --cuda and --gpu, not both");
	if (matrix_ask(&tables, &query, &answer, err) < 0)
		return -1;
	for (size_t i = 0; i < outputs.len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (str_equal(outputs.items[i].format, "json"))
			answer_json(&query, &answer, &text);
		else
			answer_text(&answer, option_given(in, "explain") || in->out->verbosity > 0,
				    &text);
		if (report_output_write(&outputs.items[i], strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return answer.against ? 1 : 0;
}

const struct command command_matrix = {
	.name = "matrix",
	.usage = "[QUESTION]",
	.summary = "what goes with what: drivers, CUDA, GPUs, frameworks, images",
	.description = "Answers from the compatibility tables. A question is a kind and a value "
		       "(driver 535, "
		       "cuda 12.6, gpu l4, cudnn 9.10, torch 2.7, ngc pytorch:24.10), or a GPU "
		       "alone (sm_120). "
		       "With two or three of --driver, --cuda and --gpu it says whether they fit "
		       "each other; "
		       "exit status 1 when they do not.",
	.examples =
		"gpuimg matrix driver 535                              # what that branch runs\n"
		"gpuimg matrix torch 2.7                               # its builds and their "
		"pins\n"
		"gpuimg matrix --driver 535.104 --cuda 12.6 --gpu l4   # do they fit?\n"
		"gpuimg matrix ngc pytorch:24.10 -o json               # for programs\n"
		"gpuimg matrix --check                                 # are the tables "
		"consistent?",
	.options = options,
	.args_min = 0,
	.args_max = 2,
	.run = run,
};
