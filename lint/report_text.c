#include "base/out.h"
#include "lint/report_parts.h"

static const char *colour_of(enum severity severity)
{
	static const char *const colours[] = { "\033[36m", "\033[33m", "\033[31m" };

	return colours[severity];
}

static void put_painted(struct strbuf *out, bool colour, const char *code, const char *text)
{
	if (colour)
		strbuf_adds(out, code);
	strbuf_adds(out, text);
	if (colour)
		strbuf_adds(out, "\033[0m");
}

/* Text wrapped at blanks to 96 columns, each line after an indent, the first after `first`. */
static void put_wrapped(struct strbuf *out, const char *first, const char *indent, const char *text)
{
	size_t column = 0, room = 96 - strlen(indent);

	strbuf_adds(out, first);
	while (*text) {
		size_t word = strcspn(text, " ");

		if (column && column + 1 + word > room) {
			strbuf_addf(out, "\n%s", indent);
			column = 0;
		} else if (column) {
			strbuf_addc(out, ' ');
			column++;
		}
		strbuf_add(out, text, word);
		column += word;
		text += word;
		text += strspn(text, " ");
	}
	strbuf_addc(out, '\n');
}

/* What an image says reaches a terminal: no control characters. */
static void put_message(struct strbuf *out, const char *indent, const char *text)
{
	cleanup_strbuf struct strbuf clean = { 0 };

	put_clean(&clean, text);
	put_wrapped(out, indent, indent, strbuf_text(&clean));
}

static void put_item(struct strbuf *out, const char *text)
{
	cleanup_strbuf struct strbuf clean = { 0 };

	put_clean(&clean, text);
	put_wrapped(out, "    - ", "      ", strbuf_text(&clean));
}

/* Findings that differ in nothing but what they are about stand below one heading. */
static bool stand_together(const struct finding *a, const struct finding *b)
{
	return a->rule == b->rule && a->severity == b->severity && a->confidence == b->confidence &&
	       a->layer == b->layer && !a->suppressed && !b->suppressed &&
	       str_equal(a->fix, b->fix);
}

static void put_heading(struct strbuf *out, const struct finding *f, bool colour)
{
	put_painted(out, colour, colour_of(f->severity), severity_name(f->severity));
	strbuf_addf(out, "  %s %s", f->rule->id, f->rule->name);
	if (f->confidence != CONFIDENCE_CERTAIN)
		strbuf_addf(out, " (%s)", confidence_name(f->confidence));
	if (f->layer >= 0)
		strbuf_addf(out, "  layer %d", f->layer);
	strbuf_addc(out, '\n');
}

/* The finding and those that stand below the same heading; how many that are. */
static size_t put_group(struct strbuf *out, struct finding *const *items, size_t len, bool colour)
{
	const struct finding *f = items[0];
	cleanup_free char *last = xasprintf("%s: %s", f->suppressed ? "accepted" : "fix",
					    f->suppressed ? f->suppressed : f->fix);
	size_t count = 1;

	while (count < len && stand_together(f, items[count]))
		count++;
	put_heading(out, f, colour);
	for (size_t i = 0; i < count; i++) {
		if (count == 1)
			put_message(out, "    ", items[i]->message);
		else
			put_item(out, items[i]->message);
	}
	put_message(out, "    ", last);
	strbuf_addc(out, '\n');
	return count;
}

static void put_counts(struct strbuf *out, const struct lint_result *r)
{
	if (!r->findings.len)
		strbuf_addf(out, "nothing found by the %zu rules that ran\n", r->ran.len);
	strbuf_addf(out, "%zu error%s, %zu warning%s, %zu info", r->errors,
		    r->errors == 1 ? "" : "s", r->warnings, r->warnings == 1 ? "" : "s", r->infos);
	if (r->suppressed)
		strbuf_addf(out, ", %zu accepted", r->suppressed);
	strbuf_adds(out, "\n");
}

/* Rules that did not run, by reason. */
static void put_not_run(struct strbuf *out, const struct lint_result *r)
{
	for (size_t i = 0; i < r->not_run.len; i++) {
		const char *reason = r->not_run.items[i].reason;
		cleanup_strbuf struct strbuf line = { 0 };
		bool told = false;

		for (size_t k = 0; k < i; k++)
			told |= str_equal(r->not_run.items[k].reason, reason);
		if (told)
			continue;
		strbuf_addf(&line, "not run (%s):", reason);
		for (size_t k = i; k < r->not_run.len; k++) {
			if (str_equal(r->not_run.items[k].reason, reason))
				strbuf_addf(&line, " %s", r->not_run.items[k].rule->id);
		}
		put_message(out, "", strbuf_text(&line));
	}
}

static void put_stack(struct strbuf *out, const struct lint_result *r)
{
	struct report_stack parts[8];
	size_t count;

	report_stack(r, parts, &count);
	for (size_t i = 0; i < count; i++) {
		strbuf_addf(out, "%s%s ", i ? ", " : "stack: ", parts[i].name);
		put_clean(out, parts[i].version);
	}
	strbuf_adds(out, count ? "\n" : "");
}

static void put_unused(struct strbuf *out, const struct lint_result *r)
{
	for (size_t i = 0; i < r->unused.len; i++) {
		cleanup_free char *text =
			xasprintf("acceptance not used: %s %s", r->unused.items[i].text,
				  r->unused.items[i].why);

		put_message(out, "", text);
	}
	if (r->resolved.len)
		strbuf_addf(out, "resolved since the baseline: %zu\n", r->resolved.len);
}

static void put_head(struct strbuf *out, const struct lint_result *r)
{
	cleanup_strbuf struct strbuf targets = { 0 };
	char size[32];

	put_clean(out, report_name(r));
	if (r->platform) {
		strbuf_adds(out, "  ");
		put_clean(out, r->platform);
	}
	if (r->layers)
		strbuf_addf(out, "  %zu layer%s", r->layers, r->layers == 1 ? "" : "s");
	strbuf_addf(out, "  %s\n", out_size(r->bytes, size));
	put_stack(out, r);
	strbuf_adds(out, r->is_gpu_image ? "GPU image: "
					 : "not a GPU image: rules about GPUs do not apply");
	if (r->is_gpu_image)
		put_clean(out, r->gpu_reason);
	report_targets(r, &targets);
	if (targets.len) {
		strbuf_adds(out, "\njudged for ");
		put_clean(out, strbuf_text(&targets));
	}
	strbuf_adds(out, "\n\n");
}

static void put_result(const struct lint_result *r, bool colour, struct strbuf *out)
{
	put_head(out, r);
	for (size_t i = 0; i < r->findings.len;)
		i += put_group(out, r->findings.items + i, r->findings.len - i, colour);
	if (r->unreadable) {
		cleanup_free char *text = xasprintf("not read completely: %s", r->unreadable);

		put_message(out, "", text);
	}
	put_not_run(out, r);
	put_unused(out, r);
	put_counts(out, r);
}

void report_text(const struct lint_result *const *results, size_t count, struct strbuf *out)
{
	for (size_t i = 0; i < count; i++) {
		strbuf_adds(out, i ? "\n" : "");
		put_result(results[i], false, out);
	}
}

void report_text_coloured(const struct lint_result *const *results, size_t count,
			  struct strbuf *out)
{
	for (size_t i = 0; i < count; i++) {
		strbuf_adds(out, i ? "\n" : "");
		put_result(results[i], true, out);
	}
}
