#include "lint/site_policy.h"

#include "formats/yaml.h"
#include "manifests/stack_check.h"
#include "manifests/stack_parse.h"
#include "manifests/stack_schema.h"

#define AT(type, member) ((uint32_t)offsetof(struct type, member))
#define KEYS(table) .keys = (table), .key_count = ARRAY_LEN(table)
#define NO_PLAIN .plain_offset = STACK_NO_OFFSET

static const char *const fail_on_choices[] = { "error", "warning", "info", "never", NULL };
static const char *const confidence_choices[] = { "certain", "likely", "heuristic", NULL };
static const char *const image_choices[] = { "heard", "ignored", NULL };

static const char *check_severity(const char *text, struct arena *arena)
{
	static const char *const known[] = { "error", "warning", "info", "off" };

	(void)arena;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (str_equal(text, known[i]))
			return NULL;
	}
	return "is not one of error, warning, info, off";
}

/* Ids, names or prefixes of ids, separated by commas. */
static const char *check_selectors(const char *text, struct arena *arena)
{
	struct slice rest = slice_str(text), one;

	while (slice_cut(&rest, ',', &one)) {
		const char *selector = arena_slice(arena, slice_trim(one));
		bool known = false;

		for (size_t i = 0; i < rules_count; i++)
			known |= selector_matches(selector, rules[i]);
		if (!known)
			return "names no rule (see gpuimg lint --list-rules)";
	}
	return NULL;
}

static const struct stack_key ignore_keys[] = {
	{ .name = "rule",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(site_ignore, rule),
	  .check = check_selectors,
	  .help = "Ids, names or prefixes of ids, separated by commas: `SIZ003`, `SIZ,ENV002`." },
	{ .name = "path",
	  .type = KEY_TEXT,
	  .offset = AT(site_ignore, path),
	  .fallback = "any",
	  .help = "A shell pattern over the finding's path; `*` crosses `/`." },
	{ .name = "reason",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(site_ignore, reason),
	  .help = "Why; it stands in every report." },
	{ .name = "until",
	  .type = KEY_TEXT,
	  .offset = AT(site_ignore, until),
	  .check = stack_check_date,
	  .fallback = "for ever",
	  .help = "From that day on it counts again: `2027-01-01`." },
};

static const struct stack_section ignore_section = {
	.title = "ignore[]",
	KEYS(ignore_keys),
	.size = sizeof(struct site_ignore),
	.place_offset = AT(site_ignore, place),
	NO_PLAIN,
	.help = "Findings that do not count. They are still in the reports, with the reason.",
};

static const struct stack_key label_keys[] = {
	{ .name = "name",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(site_label, name),
	  .help = "The label." },
	{ .name = "matches",
	  .type = KEY_TEXT,
	  .offset = AT(site_label, matches),
	  .fallback = "any value",
	  .help = "A shell pattern over its value." },
};

static const struct stack_section label_section = {
	.title = "labels[]",
	KEYS(label_keys),
	.size = sizeof(struct site_label),
	.place_offset = AT(site_label, place),
	.plain_offset = AT(site_label, name),
	.help = "Labels that an image must have (POL001). A text is the name of one.",
};

static const struct stack_key file_keys[] = {
	{ .name = "path",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(site_file, path),
	  .check = stack_check_absolute,
	  .help = "A shell pattern over absolute paths; `*` crosses `/`." },
	{ .name = "reason",
	  .type = KEY_TEXT,
	  .offset = AT(site_file, reason),
	  .fallback = "none",
	  .help = "Why; it stands in the finding." },
};

static const struct stack_section must_have_section = {
	.title = "files.must-have[]",
	KEYS(file_keys),
	.size = sizeof(struct site_file),
	.place_offset = AT(site_file, place),
	.plain_offset = AT(site_file, path),
	.help = "Files that an image must have (POL004). A text is a pattern.",
};

static const struct stack_section must_not_have_section = {
	.title = "files.must-not-have[]",
	KEYS(file_keys),
	.size = sizeof(struct site_file),
	.place_offset = AT(site_file, place),
	.plain_offset = AT(site_file, path),
	.help = "Files that no image may have (POL005). A text is a pattern.",
};

static const struct stack_key files_keys[] = {
	{ .name = "must-have",
	  .type = KEY_LIST,
	  .offset = AT(site_policy, must_have),
	  .count_offset = AT(site_policy, must_have_count),
	  .section = &must_have_section,
	  .help = "At least one entry must match each." },
	{ .name = "must-not-have",
	  .type = KEY_LIST,
	  .offset = AT(site_policy, must_not_have),
	  .count_offset = AT(site_policy, must_not_have_count),
	  .section = &must_not_have_section,
	  .help = "No entry may match any." },
};

static const struct stack_section files_section = {
	.title = "files",
	KEYS(files_keys),
	.place_offset = STACK_NO_OFFSET,
	NO_PLAIN,
	.help = "Rules about what is in the merged tree of an image.",
};

static const struct stack_key budget_keys[] = {
	{ .name = "image",
	  .type = KEY_SIZE,
	  .offset = AT(site_policy, image_bytes),
	  .fallback = "no limit",
	  .help = "Most bytes of all layers, unpacked." },
	{ .name = "layer",
	  .type = KEY_SIZE,
	  .offset = AT(site_policy, layer_bytes),
	  .fallback = "no limit",
	  .help = "Most bytes of any layer, unpacked." },
	{ .name = "pull",
	  .type = KEY_SIZE,
	  .offset = AT(site_policy, pull_bytes),
	  .fallback = "no limit",
	  .help = "Most bytes of all layers as they are stored and pulled." },
	{ .name = "layers",
	  .type = KEY_UINT,
	  .offset = AT(site_policy, layer_count),
	  .max = 10000,
	  .fallback = "no limit",
	  .help = "Most layers." },
};

static const struct stack_section budget_section = {
	.title = "budgets",
	KEYS(budget_keys),
	.place_offset = STACK_NO_OFFSET,
	NO_PLAIN,
	.help = "How large an image may be (POL003).",
};

static const struct stack_key top_keys[] = {
	{ .name = "gpuimg-policy",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(site_policy, version),
	  .check = stack_check_version,
	  .help = "The version of this format: `1`." },
	{ .name = "fail-on",
	  .type = KEY_CHOICE,
	  .offset = AT(site_policy, fail_on),
	  .choices = fail_on_choices,
	  .fallback = "`error`",
	  .help = "The least severity that makes the verdict; `--fail-on` goes before it." },
	{ .name = "min-confidence",
	  .type = KEY_CHOICE,
	  .offset = AT(site_policy, min_confidence),
	  .choices = confidence_choices,
	  .fallback = "`heuristic`",
	  .help = "Less certain findings are left out; `--min-confidence` goes before it." },
	{ .name = "image-ignores",
	  .type = KEY_CHOICE,
	  .offset = AT(site_policy, image_says),
	  .choices = image_choices,
	  .fallback = "`heard`",
	  .help = "Whether an image's own label `gpuimg.lint.ignore` counts." },
	{ .name = "severities",
	  .type = KEY_PAIRS,
	  .offset = AT(site_policy, severities),
	  .check = check_severity,
	  .check_key = check_selectors,
	  .help = "`error`, `warning`, `info` or `off` for rules, by id, name or prefix of ids; "
		  "of several that match a rule the last counts." },
	{ .name = "ignore",
	  .type = KEY_LIST,
	  .offset = AT(site_policy, ignores),
	  .count_offset = AT(site_policy, ignore_count),
	  .section = &ignore_section,
	  .help = "Findings that do not count." },
	{ .name = "labels",
	  .type = KEY_LIST,
	  .offset = AT(site_policy, labels),
	  .count_offset = AT(site_policy, label_count),
	  .section = &label_section,
	  .help = "Labels that an image must have." },
	{ .name = "bases",
	  .type = KEY_TEXTS,
	  .offset = AT(site_policy, bases),
	  .distinct = true,
	  .help = "Bases that are allowed (POL002): shell patterns over "
		  "`org.opencontainers.image.base.name`, or digests, compared with "
		  "`org.opencontainers.image.base.digest`." },
	{ .name = "budgets",
	  .type = KEY_SECTION,
	  .section = &budget_section,
	  .help = "How large an image may be." },
	{ .name = "files",
	  .type = KEY_SECTION,
	  .section = &files_section,
	  .help = "Files that must, or must not, be there." },
};

const struct stack_section site_policy_top = {
	.title = "",
	KEYS(top_keys),
	.place_offset = STACK_NO_OFFSET,
	NO_PLAIN,
	.help = "What a site asks of images: a YAML file, or JSON when its name ends in `.json`, "
		"for `gpuimg lint --policy FILE`. Keys that are not on this page are refused, with "
		"line and column.",
};

void site_policy_release(struct site_policy *site)
{
	arena_release(&site->arena);
}

/* A text in place of the map was not checked by its key. */
static int check_files(const struct site_policy *site, const struct site_file *files, size_t count,
		       struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (files[i].path[0] != '/')
			return error_set(err, ERROR_USAGE,
					 "%s:%zu:%zu: files: '%.60s' is not an absolute path",
					 site->file, files[i].place.line, files[i].place.column,
					 files[i].path);
	}
	return 0;
}

int site_policy_parse(struct slice text, const char *file, struct site_policy *out,
		      struct error *err)
{
	struct node top = { 0 };

	out->file = arena_strdup(&out->arena, file);
	if ((str_ends(file, ".json") ? yaml_parse_json : yaml_parse)(text, out->file, &out->arena,
								     &top, err) < 0)
		return -1;
	if (stack_parse_section(&top, &site_policy_top, out->file, &out->arena, out, err) < 0 ||
	    check_files(out, out->must_have, out->must_have_count, err) < 0)
		return -1;
	return check_files(out, out->must_not_have, out->must_not_have_count, err);
}

static enum severity severity_named(const char *name)
{
	return str_equal(name, "error")     ? SEVERITY_ERROR
	       : str_equal(name, "warning") ? SEVERITY_WARNING
					    : SEVERITY_INFO;
}

static void add_severities(const struct site_policy *site, struct policy *policy)
{
	for (size_t i = 0; i < site->severities.count; i++) {
		const struct stack_pair *pair = &site->severities.items[i];
		struct policy_severity s = { .rule = pair->key,
					     .off = str_equal(pair->value, "off"),
					     .severity = severity_named(pair->value) };

		vec_push(&policy->severities, s);
	}
}

int site_policy_apply(const struct site_policy *site, struct policy *policy, struct error *err)
{
	struct arena *arena = (struct arena *)&site->arena;

	policy->site = site;
	policy->deaf |= site->image_says && str_equal(site->image_says, "ignored");
	add_severities(site, policy);
	for (size_t i = 0; i < site->ignore_count; i++) {
		const struct site_ignore *s = &site->ignores[i];
		const char *where = arena_printf(arena, "%s:%zu:%zu", site->file, s->place.line,
						 s->place.column);

		vec_push(&policy->ignores,
			 ((struct policy_ignore){ s->rule, s->path, s->reason, s->until, where }));
	}
	if (site->fail_on && policy_set_fail_on(policy, site->fail_on, err) < 0)
		return -1;
	return site->min_confidence ? policy_set_confidence(policy, site->min_confidence, err) : 0;
}

bool site_policy_asks(const struct site_policy *site, const char *rule_id)
{
	if (str_equal(rule_id, "POL001"))
		return site->label_count;
	if (str_equal(rule_id, "POL002"))
		return site->bases.count;
	if (str_equal(rule_id, "POL003"))
		return site->image_bytes || site->layer_bytes || site->pull_bytes ||
		       site->layer_count;
	if (str_equal(rule_id, "POL004"))
		return site->must_have_count;
	return site->must_not_have_count;
}

void site_policy_markdown(struct strbuf *out)
{
	strbuf_addf(out,
		    "# The policy of a site\n\n"
		    "<!-- Made from the table in lint/site_policy.c by `make docs`. -->\n\n%s\n",
		    site_policy_top.help);
	strbuf_adds(out, "\n```yaml\n"
			 "gpuimg-policy: 1\n"
			 "fail-on: warning\n"
			 "severities: { SIZ: \"off\", ENV002: error }\n"
			 "ignore:\n"
			 "  - { rule: DRV001, path: \"/opt/dcgm/*\", reason: our monitoring agent, "
			 "until: 2027-06-30 }\n"
			 "labels:\n"
			 "  - org.opencontainers.image.source\n"
			 "  - { name: com.example.team, matches: \"ml-*\" }\n"
			 "bases: [\"registry.example.org/base/*\"]\n"
			 "budgets: { image: 12GiB, layer: 6GiB, layers: 60 }\n"
			 "files:\n"
			 "  must-have: [/etc/ssl/certs/ca-certificates.crt]\n"
			 "  must-not-have: [{ path: \"/usr/bin/gcc*\", reason: no compilers in "
			 "production }]\n"
			 "```\n");
	stack_section_markdown(&site_policy_top, out);
}

void site_policy_schema(struct strbuf *out)
{
	stack_section_schema(&site_policy_top, "urn:gpuimg:lint-policy:1",
			     "gpuimg lint: policy of a site", out);
}
