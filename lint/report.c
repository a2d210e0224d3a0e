#include "lint/report_parts.h"

const struct report_format report_formats[] = {
	{ "text", report_text },
	{ "concise", report_concise },
	{ "json", report_json },
	{ "jsonl", report_jsonl },
	{ "sarif", report_sarif },
	{ "junit", report_junit },
	{ "github", report_github },
	{ "gitlab", report_gitlab },
	{ "checkstyle", report_checkstyle },
	{ "markdown", report_markdown },
	{ "html", report_html },
	{ NULL, NULL },
};

const struct report_format *report_format_find(const char *name)
{
	for (const struct report_format *f = report_formats; f->name; f++) {
		if (str_equal(f->name, name))
			return f;
	}
	return NULL;
}

/* The length of the UTF-8 sequence at `p`, its code point in *out; 0 when it is none. */
static size_t decode(const uint8_t *p, uint32_t *out)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = *p < 0x80   ? 1
		     : *p < 0xc2 ? 0
		     : *p < 0xe0 ? 2
		     : *p < 0xf0 ? 3
		     : *p < 0xf5 ? 4
				 : 0;

	if (len < 2) {
		*out = *p;
		return len;
	}
	*out = (uint32_t)(*p & (0x7f >> len));
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*out = *out << 6 | (p[i] & 0x3f);
	}
	return *out < least[len] || *out > 0x10ffff || (*out >= 0xd800 && *out < 0xe000) ? 0 : len;
}

/* Characters that are not seen, or that change how what follows is seen. */
static bool is_treacherous(uint32_t c)
{
	return c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       c == 0xfffe || c == 0xffff;
}

static void put_text(struct strbuf *out, const char *text, bool markup)
{
	const uint8_t *p = (const uint8_t *)text;
	uint32_t c;

	while (*p) {
		size_t len = decode(p, &c);
		const char *entity = !markup     ? NULL
				     : c == '<'  ? "&lt;"
				     : c == '>'  ? "&gt;"
				     : c == '&'  ? "&amp;"
				     : c == '"'  ? "&quot;"
				     : c == '\'' ? "&#39;"
						 : NULL;

		if (!len)
			strbuf_adds(out, "\xef\xbf\xbd");
		else if (entity)
			strbuf_adds(out, entity);
		else if (c == '\n' || c == '\t' || c == '\r')
			strbuf_addc(out, ' ');
		else if (c < ' ' || (c >= 0x7f && c < 0xa0))
			strbuf_addf(out, "\\x%02x", c);
		else if (is_treacherous(c))
			strbuf_addf(out, "\\u%04x", c);
		else
			strbuf_add(out, p, len);
		p += len ? len : 1;
	}
}

void put_clean(struct strbuf *out, const char *text)
{
	put_text(out, text, false);
}

void put_markup(struct strbuf *out, const char *text)
{
	put_text(out, text, true);
}

void put_json(const json_t *value, struct strbuf *out)
{
	cleanup_strbuf struct strbuf text = { 0 };

	json_canonical(value, &text);
	for (const uint8_t *p = (const uint8_t *)strbuf_text(&text); *p;) {
		uint32_t c = *p;
		size_t len = *p < 0x7f ? 1 : decode(p, &c);

		if (len && c >= 0x7f && (c < 0xa0 || is_treacherous(c)))
			strbuf_addf(out, "\\u%04x", c);
		else
			strbuf_add(out, p, len ? len : 1);
		p += len ? len : 1;
	}
}

void put_uri(struct strbuf *out, const char *path)
{
	for (const uint8_t *p = (const uint8_t *)path; *p; p++) {
		bool plain = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
			     (*p >= 'A' && *p <= 'Z') || strchr("/-._~", *p);

		if (plain)
			strbuf_addc(out, (char)*p);
		else
			strbuf_addf(out, "%%%02X", *p);
	}
}

const char *report_name(const struct lint_result *r)
{
	return r->reference ? r->reference : "image";
}

size_t report_failures(const struct lint_result *r, const struct rule *rule, size_t *out_all)
{
	size_t failures = 0, all = 0;

	for (size_t i = 0; i < r->findings.len; i++) {
		const struct finding *f = r->findings.items[i];

		if (f->rule != rule || f->suppressed)
			continue;
		all++;
		failures += policy_counts(r->fail_on, f);
	}
	if (out_all)
		*out_all = all;
	return failures;
}

size_t report_line(const struct lint_result *r, const struct finding *f)
{
	return r->recipe && f->layer >= 0 && (size_t)f->layer < r->layer_list.len
		       ? r->layer_list.items[f->layer].line
		       : 0;
}

void report_stack(const struct lint_result *r, struct report_stack out[8], size_t *count)
{
	const struct report_stack parts[] = { { "CUDA", r->stack.cuda },
					      { "cuDNN", r->stack.cudnn },
					      { "NCCL", r->stack.nccl },
					      { "torch", r->stack.torch } };

	*count = 0;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (parts[i].version)
			out[(*count)++] = parts[i];
	}
}

static void put_targets(const struct target_texts *texts, const char *before, const char *after,
			struct strbuf *out)
{
	for (size_t i = 0; i < texts->len; i++)
		strbuf_addf(out, "%s%s%s", out->len ? ", " : "", before, texts->items[i]);
	if (texts->len)
		strbuf_adds(out, after);
}

void report_targets(const struct lint_result *r, struct strbuf *out)
{
	const struct lint_targets *t = &r->targets;
	static const char labels[] = " (by the image's labels)";

	put_targets(&t->gpus, "", t->gpus_from_labels ? labels : "", out);
	put_targets(&t->drivers, "", t->drivers_from_labels ? labels : "", out);
	put_targets(&t->runtimes, "runtime ", "", out);
}
