#include "formats/json.h"
#include "lint/report.h"
#include "lint/rule_cases.h"

static const struct {
	unsigned need;
	const char *text;
} needs[] = {
	{ NEEDS_GPU, "--gpu" },
	{ NEEDS_DRIVER, "--driver or --driver-cuda" },
	{ NEEDS_LAYERS, "an image with layers" },
	{ NEEDS_CONFIG, "an image configuration" },
	{ NEEDS_GPU_IMAGE, "an image for GPUs" },
	{ NEEDS_POLICY, "--policy" },
};

static void put_needs(const struct rule *rule, struct strbuf *out)
{
	const char *comma = "";

	for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
		if (!(rule->needs & needs[i].need))
			continue;
		strbuf_addf(out, "%s%s", comma, needs[i].text);
		comma = ", ";
	}
}

/* The first case whose first expectation is (or is not) about the rule, without its name line. */
static struct slice first_case(const struct rule *rule, bool fires, struct slice *name)
{
	struct slice rest = rule_cases(rule->id), line, start = { 0 };
	bool in_case = false, decided = false, right = false;

	for (;;) {
		bool more = slice_cut(&rest, '\n', &line);

		if (!more || slice_starts(line, "case ")) {
			if (in_case && decided && right)
				return slice_of(
					start.data,
					(size_t)((more ? line.data : start.data + start.len) -
						 start.data));
			if (!more)
				return (struct slice){ 0 };
			*name = slice_of(line.data + 5, line.len - 5);
			start = rest;
			in_case = true;
			decided = false;
		} else if (!decided && slice_starts(line, "expect ")) {
			bool about = line.len >= 7 + strlen(rule->id) &&
				     memcmp(line.data + 7, rule->id, strlen(rule->id)) == 0;

			decided = true;
			right = about == fires;
		}
	}
}

static void put_example(const struct rule *rule, bool fires, struct strbuf *out)
{
	struct slice name = { 0 }, text = slice_trim(first_case(rule, fires, &name)), line;

	if (!text.len)
		return;
	strbuf_addf(out, "## %s: %.*s\n\n", fires ? "Reported" : "Not reported", (int)name.len,
		    (const char *)name.data);
	while (slice_cut(&text, '\n', &line))
		strbuf_addf(out, "    %.*s\n", (int)line.len,
			    line.len ? (const char *)line.data : "");
	strbuf_addc(out, '\n');
}

/* What the rule is in a sentence: "An error, decided from what is in the image; for a GPU image."
 */
static void put_kind(const struct rule *rule, struct strbuf *out)
{
	static const char *const kinds[] = { "Information", "A warning", "An error" };
	static const char *const grounds[] = {
		"told by a pattern that can be wrong",
		"on an assumption that the finding states",
		"decided from what is in the image",
	};

	strbuf_addf(out, "%s, %s", kinds[rule->severity], grounds[rule->confidence]);
	if (rule->needs & ~(unsigned)NEEDS_ALL_LAYERS) {
		strbuf_adds(out, "; needs ");
		put_needs(rule, out);
	}
	strbuf_adds(out, ".\n\n");
}

/* Its findings are about a file: an acceptance can name those it is for. */
static bool has_paths(const struct rule *rule)
{
	struct slice name, text = first_case(rule, true, &name), line;

	while (slice_cut(&text, '\n', &line)) {
		size_t prefix = strlen("expect ") + strlen(rule->id);

		if (slice_starts(line, "expect ") && line.len > prefix + 1 &&
		    memcmp(line.data + 7, rule->id, strlen(rule->id)) == 0)
			return line.data[prefix + 1] == '/';
	}
	return false;
}

static void put_acceptance(const struct rule *rule, struct strbuf *out)
{
	bool paths = has_paths(rule);

	strbuf_addf(out,
		    "## When it is meant\n\nAccept the finding with a reason, in a policy "
		    "(`--policy FILE`) or in a label of the image; a report still shows it:\n\n"
		    "    ignore: [{ rule: %s, %sreason: why }]\n"
		    "    LABEL gpuimg.lint.ignore=\"%s%s: why\"\n\n",
		    rule->id, paths ? "path: \"/opt/vendor/*\", " : "", rule->id,
		    paths ? " /opt/vendor/*" : "");
}

void rule_page(const struct rule *rule, struct strbuf *out)
{
	strbuf_addf(out, "# %s %s\n\n", rule->id, rule->name);
	put_kind(rule, out);
	strbuf_addf(out, "%s\n\n## Why\n\n%s\n\n## What to do\n\n%s\n\n", rule->what, rule->why,
		    rule->fix);
	put_example(rule, true, out);
	put_example(rule, false, out);
	strbuf_adds(
		out,
		"Both are images in a few words, which docs/lint-cases.md explains; all findings "
		"that such an image has are named.\n\n");
	put_acceptance(rule, out);
	strbuf_addf(out, "## Sources\n\n%s\n", rule->sources);
}

/* One line of Markdown for a terminal: wrapped at blanks, without marks. */
static void put_plain_line(struct slice line, struct strbuf *out)
{
	enum { WIDTH = 88 };
	size_t column = 0;
	struct slice word;

	while (slice_cut(&line, ' ', &word)) {
		size_t len = word.len;

		if (column && column + 1 + len > WIDTH) {
			strbuf_addc(out, '\n');
			column = 0;
		} else if (column) {
			strbuf_addc(out, ' ');
			column++;
		}
		for (size_t i = 0; i < word.len; i++) {
			if (word.data[i] != '`')
				strbuf_addc(out, (char)word.data[i]);
		}
		column += len;
	}
	strbuf_addc(out, '\n');
}

void rule_page_text(const struct rule *rule, struct strbuf *out)
{
	cleanup_strbuf struct strbuf page = { 0 };
	struct slice rest, line;

	rule_page(rule, &page);
	rest = slice_of(page.data, page.len - 1);
	while (slice_cut(&rest, '\n', &line)) {
		bool heading = slice_starts(line, "#");
		size_t marks = heading ? (slice_starts(line, "## ") ? 3 : 2) : 0;

		line = slice_of(line.data + marks, line.len - marks);
		if (slice_starts(line, "    "))
			strbuf_addf(out, "%.*s\n", (int)line.len, (const char *)line.data);
		else
			put_plain_line(line, out);
		if (heading) {
			for (size_t i = 0; i < MIN(line.len, (size_t)88); i++)
				strbuf_addc(out, marks == 2 ? '=' : '-');
			strbuf_addc(out, '\n');
		}
	}
}

/* 1: of the first release; 2: came later. */
static int rule_wave(const struct rule *rule)
{
	return rule->wave == 2 ? 2 : 1;
}

void rule_list_text(struct strbuf *out)
{
	for (size_t i = 0; i < rules_count; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		put_needs(rules[i], &text);
		strbuf_addf(out, "%s  %-32s %-8s %-9s  wave %d%s%s\n", rules[i]->id, rules[i]->name,
			    severity_name(rules[i]->severity),
			    confidence_name(rules[i]->confidence), rule_wave(rules[i]),
			    text.len ? "  needs " : "", strbuf_text(&text));
	}
}

/* A case as a member of `object`: its name and the lines of the image. */
static void put_case(json_t *object, const char *key, const struct rule *rule, bool fires)
{
	struct slice name = { 0 }, text = slice_trim(first_case(rule, fires, &name));
	cleanup_free char *title = xstrndup((const char *)name.data, text.len ? name.len : 0);
	cleanup_free char *image = xstrndup((const char *)text.data, text.len);
	json_t *one = json_object();

	json_put(one, "name", json_text(title));
	json_put(one, "image", json_text(image));
	json_put(object, key, one);
}

static json_t *rule_json(const struct rule *rule)
{
	json_t *out = json_object();
	cleanup_strbuf struct strbuf text = { 0 };

	put_needs(rule, &text);
	json_put(out, "id", json_text(rule->id));
	json_put(out, "name", json_text(rule->name));
	json_put(out, "severity", json_text(severity_name(rule->severity)));
	json_put(out, "confidence", json_text(confidence_name(rule->confidence)));
	json_put(out, "wave", json_integer(rule_wave(rule)));
	json_put(out, "needs", json_text(strbuf_text(&text)));
	json_put(out, "what", json_text(rule->what));
	json_put(out, "why", json_text(rule->why));
	json_put(out, "fix", json_text(rule->fix));
	json_put(out, "sources", json_text(rule->sources));
	return out;
}

void rule_page_json(const struct rule *rule, struct strbuf *out)
{
	cleanup_json json_t *page = rule_json(rule);

	put_case(page, "reported", rule, true);
	put_case(page, "not_reported", rule, false);
	json_canonical(page, out);
	strbuf_addc(out, '\n');
}

void rule_list_json(struct strbuf *out)
{
	cleanup_json json_t *all = json_array();

	for (size_t i = 0; i < rules_count; i++)
		json_push(all, rule_json(rules[i]));
	json_canonical(all, out);
	strbuf_addc(out, '\n');
}
