#include "cli/stack_report.h"

static void add_origins(struct strbuf *out, const struct solver_sentence *s, bool explain)
{
	for (size_t i = 0; explain && i < s->origin_count; i++)
		strbuf_addf(out, "      [%s: %s%s%s]\n", s->origins[i].file, s->origins[i].row,
			    *s->origins[i].source ? "; " : "", s->origins[i].source);
}

static void add_sentences(struct strbuf *out, const char *title,
			  const struct solver_sentences *list, size_t limit, bool explain)
{
	size_t shown = explain ? list->len : MIN(list->len, limit);

	if (!list->len)
		return;
	strbuf_addf(out, "\n%s\n", title);
	for (size_t i = 0; i < shown; i++) {
		strbuf_addf(out, "  - %s\n", list->items[i].text);
		add_origins(out, &list->items[i], explain);
	}
	if (shown < list->len)
		strbuf_addf(out, "  - and %zu more; --explain shows them\n", list->len - shown);
}

static void add_choice(struct strbuf *out, const struct solver_choice *c)
{
	for (size_t i = 0; i < c->build_count; i++)
		strbuf_addf(out, "%-12s%s (%s)\n", c->builds[i]->framework, c->builds[i]->version,
			    c->builds[i]->flavour);
	if (c->toolkit)
		strbuf_addf(out, "%-12s%s\n", "cuda", c->toolkit->version);
	if (c->cudnn)
		strbuf_addf(out, "%-12s%s\n", "cudnn", c->cudnn);
	if (c->nccl)
		strbuf_addf(out, "%-12s%s\n", "nccl", c->nccl);
	if (c->python)
		strbuf_addf(out, "%-12s%s\n", "python", c->python);
	if (!c->toolkit && !c->build_count)
		strbuf_adds(out, "the stack section asks for no CUDA\n");
}

/* Branches that are served alike are one line: "driver 570 … 620". */
static void add_branches(struct strbuf *out, const struct solution *s)
{
	for (size_t i = 0; i < s->branch_count; i++) {
		const struct solver_branch *b = &s->branches[i];
		size_t last = i;

		while (!b->is_floor && last + 1 < s->branch_count &&
		       s->branches[last + 1].service == b->service && b->service != SERVICE_FORWARD)
			last++;
		strbuf_addf(out, "  %s%s%s%s: %s\n", b->driver, b->is_floor ? " (the floor)" : "",
			    last > i ? " to " : "", last > i ? s->branches[last].driver : "",
			    driver_service_name(b->service));
		i = last;
	}
}

static void add_solution(struct strbuf *out, const struct solution *s, bool explain)
{
	add_choice(out, &s->choice);
	if (*s->require_cuda)
		strbuf_addf(out, "%-12s%.120s%s\n", "require", s->require_cuda,
			    strlen(s->require_cuda) > 120 ? " ..." : "");
	if (s->branch_count) {
		strbuf_adds(out, "\ndrivers\n");
		add_branches(out, s);
	}
	if (s->gpu_count)
		strbuf_adds(out, "\nGPUs\n");
	for (size_t i = 0; i < s->gpu_count; i++)
		strbuf_addf(out, "  %s\n", s->gpus[i].sentence);
	if (explain)
		add_sentences(out, "why", &s->sentences, SIZE_MAX, true);
	add_sentences(out, "mind", &s->warnings, SIZE_MAX, explain);
}

static void add_conflict(struct strbuf *out, const struct solution *s, bool explain)
{
	strbuf_adds(out, "no stack satisfies these clauses together:\n");
	for (size_t i = 0; i < s->conflict_count; i++)
		strbuf_addf(out, "  %s: %s\n", s->conflict[i].key, s->conflict[i].value);
	add_sentences(out, "because", &s->reasons, 6, explain);
	if (s->repairs.len)
		strbuf_adds(out, "\nany one of these changes is enough\n");
	for (size_t i = 0; i < s->repairs.len; i++)
		strbuf_addf(out, "  %zu. %s\n", i + 1, s->repairs.items[i].sentence);
}

void stack_report_text(const struct solution *solution, bool explain, struct strbuf *out)
{
	if (solution->solved)
		add_solution(out, solution, explain);
	else
		add_conflict(out, solution, explain);
}

json_t *stack_report_origins(const struct table_origin *origins, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *o = json_object();

		json_put(o, "file", json_text(origins[i].file));
		json_put(o, "row", json_text(origins[i].row));
		json_put(o, "source", json_text(origins[i].source));
		json_push(list, o);
	}
	return list;
}

static json_t *sentences_json(const struct solver_sentences *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->len; i++) {
		json_t *o = json_object();

		json_put(o, "text", json_text(list->items[i].text));
		json_put(o, "origins",
			 stack_report_origins(list->items[i].origins, list->items[i].origin_count));
		json_push(array, o);
	}
	return array;
}

static json_t *text_or_null(const char *text)
{
	return text ? json_text(text) : json_null();
}

static json_t *builds_json(const struct solver_choice *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->build_count; i++) {
		const struct framework_build *b = c->builds[i];
		json_t *o = json_object();

		json_put(o, "name", json_text(b->framework));
		json_put(o, "version", json_text(b->version));
		json_put(o, "build", json_text(b->flavour));
		json_put(o, "cuda", text_or_null(b->cuda));
		json_put(o, "cudnn", text_or_null(b->cudnn));
		json_put(o, "nccl", text_or_null(b->nccl));
		json_put(o, "confidence", json_text(b->confidence ? b->confidence : "observed"));
		json_push(array, o);
	}
	return array;
}

static json_t *drivers_json(const struct solution *s)
{
	json_t *array = json_array();

	for (size_t i = 0; i < s->branch_count; i++) {
		const struct solver_branch *b = &s->branches[i];
		json_t *o = json_object();

		json_put(o, "driver", json_text(b->driver));
		json_put(o, "floor", json_boolean(b->is_floor));
		json_put(o, "verdict", json_text(driver_service_name(b->service)));
		json_put(o, "package", text_or_null(b->package));
		json_put(o, "text", json_text(b->sentence));
		json_push(array, o);
	}
	return array;
}

static json_t *gpus_json(const struct solution *s)
{
	json_t *array = json_array();

	for (size_t i = 0; i < s->gpu_count; i++) {
		const struct solver_gpu *g = &s->gpus[i];
		json_t *o = json_object();

		json_put(o, "target", json_text(g->target.text));
		json_put(o, "architecture", json_text(g->target.arch->sm));
		json_put(o, "verdict", json_text(gpu_service_name(g->verdict.service)));
		json_put(o, "by", text_or_null(g->verdict.by));
		json_put(o, "ptx_driver", text_or_null(g->ptx_driver));
		json_put(o, "text", json_text(g->sentence));
		json_push(array, o);
	}
	return array;
}

static void put_conflict(json_t *o, const struct solution *s)
{
	json_t *clauses = json_array(), *repairs = json_array();

	for (size_t i = 0; i < s->conflict_count; i++) {
		json_t *c = json_object();

		json_put(c, "key", json_text(s->conflict[i].key));
		json_put(c, "value", json_text(s->conflict[i].value));
		json_push(clauses, c);
	}
	for (size_t i = 0; i < s->repairs.len; i++) {
		json_t *r = json_object();

		json_put(r, "key", json_text(s->repairs.items[i].key));
		json_put(r, "value", text_or_null(s->repairs.items[i].value));
		json_put(r, "text", json_text(s->repairs.items[i].sentence));
		json_push(repairs, r);
	}
	json_put(o, "conflict", clauses);
	json_put(o, "reasons", sentences_json(&s->reasons));
	json_put(o, "repairs", repairs);
}

json_t *stack_report_json(const struct solution *s)
{
	json_t *o = json_object();

	json_put(o, "solved", json_boolean(s->solved));
	if (!s->solved) {
		put_conflict(o, s);
		return o;
	}
	json_put(o, "frameworks", builds_json(&s->choice));
	json_put(o, "cuda", text_or_null(s->choice.toolkit ? s->choice.toolkit->version : NULL));
	json_put(o, "cudnn", text_or_null(s->choice.cudnn));
	json_put(o, "nccl", text_or_null(s->choice.nccl));
	json_put(o, "python", text_or_null(s->choice.python));
	json_put(o, "compat", json_boolean(s->choice.compat));
	json_put(o, "require_cuda", json_text(s->require_cuda));
	json_put(o, "drivers", drivers_json(s));
	json_put(o, "gpus", gpus_json(s));
	json_put(o, "explanation", sentences_json(&s->sentences));
	json_put(o, "warnings", sentences_json(&s->warnings));
	return o;
}
