#include "base/out.h"
#include "lint/report.h"

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

/* Text wrapped at blanks to 96 columns, each line after an indent. */
static void put_wrapped(struct strbuf *out, const char *indent, const char *text)
{
	size_t column = 0, room = 96 - strlen(indent);

	strbuf_adds(out, indent);
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
	cleanup_free char *clean = xstrdup(text);

	for (char *p = clean; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	}
	put_wrapped(out, indent, clean);
}

static void put_finding(struct strbuf *out, const struct finding *f, bool colour)
{
	put_painted(out, colour, colour_of(f->severity), severity_name(f->severity));
	strbuf_addf(out, "  %s %s", f->rule->id, f->rule->name);
	if (f->confidence != CONFIDENCE_CERTAIN)
		strbuf_addf(out, " (%s)", confidence_name(f->confidence));
	if (f->layer >= 0)
		strbuf_addf(out, "  layer %d", f->layer);
	strbuf_addc(out, '\n');
	put_message(out, "    ", f->message);
	if (f->suppressed) {
		cleanup_free char *text = xasprintf("accepted: %s", f->suppressed);

		put_message(out, "    ", text);
	} else {
		cleanup_free char *text = xasprintf("fix: %s", f->fix);

		put_message(out, "    ", text);
	}
	strbuf_addc(out, '\n');
}

static void put_counts(struct strbuf *out, const struct lint_result *r)
{
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

static void put_stack(struct strbuf *out, const struct stack_versions *v)
{
	const struct {
		const char *name, *version;
	} parts[] = { { "CUDA", v->cuda },
		      { "cuDNN", v->cudnn },
		      { "NCCL", v->nccl },
		      { "torch", v->torch } };
	bool any = false;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (!parts[i].version)
			continue;
		strbuf_addf(out, "%s%s %s", any ? ", " : "stack: ", parts[i].name,
			    parts[i].version);
		any = true;
	}
	strbuf_adds(out, any ? "\n" : "");
}

void report_text(const struct lint_result *r, bool colour, struct strbuf *out)
{
	char size[32];

	strbuf_addf(out, "%s", r->reference ? r->reference : "image");
	if (r->platform)
		strbuf_addf(out, "  %s", r->platform);
	if (r->layers)
		strbuf_addf(out, "  %zu layer%s", r->layers, r->layers == 1 ? "" : "s");
	strbuf_addf(out, "  %s\n", out_size(r->bytes, size));
	put_stack(out, &r->stack);
	if (r->is_gpu_image)
		strbuf_addf(out, "GPU image: %s\n\n", r->gpu_reason);
	else
		strbuf_adds(out, "not a GPU image: rules about GPUs do not apply\n\n");
	for (size_t i = 0; i < r->findings.len; i++)
		put_finding(out, r->findings.items[i], colour);
	if (r->unreadable) {
		cleanup_free char *text = xasprintf("not read completely: %s", r->unreadable);

		put_message(out, "", text);
	}
	put_not_run(out, r);
	put_counts(out, r);
}
