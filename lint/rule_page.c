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
	{ NEEDS_GPU_IMAGE, "a GPU image" },
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

void rule_page(const struct rule *rule, struct strbuf *out)
{
	strbuf_addf(out, "# %s %s\n\n", rule->id, rule->name);
	strbuf_addf(out, "%s, %s", severity_name(rule->severity),
		    confidence_name(rule->confidence));
	if (rule->needs) {
		strbuf_adds(out, "; needs ");
		put_needs(rule, out);
	}
	strbuf_addf(out, "\n\n%s\n\n## Why\n\n%s\n\n## What to do\n\n%s\n\n", rule->what, rule->why,
		    rule->fix);
	put_example(rule, true, out);
	put_example(rule, false, out);
	strbuf_addf(out, "## Sources\n\n%s\n", rule->sources);
}

void rule_list_text(struct strbuf *out)
{
	for (size_t i = 0; i < rules_count; i++) {
		strbuf_addf(out, "%s  %-28s %-8s %s\n", rules[i]->id, rules[i]->name,
			    severity_name(rules[i]->severity),
			    confidence_name(rules[i]->confidence));
	}
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
