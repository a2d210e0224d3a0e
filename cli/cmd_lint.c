#include <time.h>

#include "base/fs.h"
#include "cli/command.h"
#include "cli/fact_store.h"
#include "cli/image_arg.h"
#include "cli/report_output.h"
#include "cli/target_arg.h"
#include "lint/report.h"
#include "lint/site_policy.h"

enum { BASELINE_BYTES_MAX = 64 * MIB, POLICY_BYTES_MAX = 4 * MIB, IMAGES_MAX = 1000 };

static const char *const thresholds[] = { "error", "warning", "info", "never", NULL };
static const char *const confidences[] = { "certain", "likely", "heuristic", NULL };

static const struct option options[] = {
	REPORT_OUTPUT_OPTION(
		"text, concise, json, jsonl, sarif, junit, github, gitlab, checkstyle, "
		"markdown, html; several as FORMAT=FILE"),
	{ .name = "fail-on",
	  .value = "SEVERITY",
	  .choices = thresholds,
	  .help = "exit 1 from this severity on (error)" },
	{ .name = "select",
	  .value = "RULES",
	  .repeatable = true,
	  .help = "run only these: ids, names, prefixes (DRV,ENV001)" },
	{ .name = "ignore", .value = "RULES", .repeatable = true, .help = "do not run these" },
	{ .name = "min-confidence",
	  .value = "LEVEL",
	  .choices = confidences,
	  .help = "leave out findings that are less certain (heuristic)" },
	{ .name = "severity",
	  .value = "RULES=LEVEL",
	  .repeatable = true,
	  .help = "error, warning, info or off for rules (SIZ=off, DRV001,DRV002=warning)" },
	{ .name = "policy",
	  .value = "FILE",
	  .help = "a site's severities, acceptances and own rules (docs/lint-policy.md)" },
	{ .name = "baseline",
	  .value = "FILE",
	  .help = "findings that are known: they do not count, and those that vanished are told" },
	{ .name = "write-baseline", .value = "FILE", .help = "write the findings as a baseline" },
	{ .name = "no-image-ignores",
	  .help = "what the image says of its findings does not count" },
	{ .name = "dockerfile",
	  .value = "FILE",
	  .help = "what the image was built from: findings are shown at the line that made the "
		  "layer" },
	TARGET_OPTIONS,
	PLATFORM_OPTION,
	{ .name = "no-cache",
	  .help = "read every layer, and keep nothing of what was found in it for later runs" },
	{ .name = "all-platforms", .help = "every image of a multi-platform index" },
	{ .name = "list-rules", .help = "list the rules and stop" },
	{ .name = "explain", .value = "RULE", .help = "print the page of a rule and stop" },
	{ .name = "exit-zero", .help = "exit 0 whatever is found, for reporting only" },
	{ 0 },
};

static int read_options(const struct invocation *in, struct lint_options *out, struct error *err)
{
	const char *text;

	for (size_t n = 0; (text = option_nth(in, "select", n)); n++) {
		if (policy_select(&out->policy, text, err) < 0)
			return -1;
	}
	for (size_t n = 0; (text = option_nth(in, "ignore", n)); n++) {
		if (policy_ignore(&out->policy, text, err) < 0)
			return -1;
	}
	for (size_t n = 0; (text = option_nth(in, "severity", n)); n++) {
		if (policy_set_severity(&out->policy, text, err) < 0)
			return -1;
	}
	if (target_arg_read(in, &out->target, err) < 0)
		return -1;
	out->policy.deaf |= option_given(in, "no-image-ignores");
	text = option_text(in, "fail-on", NULL);
	if (text && policy_set_fail_on(&out->policy, text, err) < 0)
		return -1;
	text = option_text(in, "min-confidence", NULL);
	return text ? policy_set_confidence(&out->policy, text, err) : 0;
}

/* --policy and --baseline, before the options that go before what they say. */
static int read_files(const struct invocation *in, struct site_policy *site,
		      struct baseline *baseline, struct policy *policy, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	const char *file = option_text(in, "policy", NULL);

	if (file) {
		if (fs_read(AT_FDCWD, file, POLICY_BYTES_MAX, &text, err) < 0 ||
		    site_policy_parse(strbuf_slice(&text), file, site, err) < 0 ||
		    site_policy_apply(site, policy, err) < 0)
			return error_wrap(err, "--policy");
	}
	file = option_text(in, "baseline", NULL);
	if (file) {
		strbuf_truncate(&text, 0);
		if (fs_read(AT_FDCWD, file, BASELINE_BYTES_MAX, &text, err) < 0 ||
		    baseline_parse(strbuf_slice(&text), file, baseline, err) < 0)
			return error_wrap(err, "--baseline");
		policy->baseline = baseline;
	}
	return 0;
}

/* --list-rules and --explain. */
static int print_rules(const struct invocation *in, const struct report_outputs *outputs,
		       struct error *err)
{
	const char *wanted = option_text(in, "explain", NULL);
	const struct rule *rule = wanted ? lint_rule(wanted) : NULL;

	if (wanted && !rule)
		return error_set(err, ERROR_USAGE,
				 "--explain: no rule '%s' (see gpuimg lint --list-rules)", wanted);
	for (size_t i = 0; i < outputs->len; i++) {
		bool json = str_starts(outputs->items[i].format, "json");
		cleanup_strbuf struct strbuf text = { 0 };

		if (rule && json)
			rule_page_json(rule, &text);
		else if (rule)
			(str_equal(outputs->items[i].format, "markdown")
				 ? rule_page
				 : rule_page_text)(rule, &text);
		else if (json)
			rule_list_json(&text);
		else
			rule_list_text(&text);
		if (report_output_write(&outputs->items[i], strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return 0;
}

/* What vanished from one image but is found in another of this run has not vanished. */
static void settle_resolved(struct lint_result *results, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t kept = 0;

		for (size_t k = 0; k < results[i].resolved.len; k++) {
			const char *print = results[i].resolved.items[k];
			bool found = false;

			for (size_t o = 0; o < count && !found; o++) {
				for (size_t n = 0; n < results[o].findings.len && !found; n++)
					found = str_equal(results[o].findings.items[n]->fingerprint,
							  print);
			}
			if (!found)
				results[i].resolved.items[kept++] = print;
		}
		results[i].resolved.len = kept;
	}
}

static int write_baseline(const char *file, const struct lint_result *results, size_t count,
			  struct error *err)
{
	cleanup_free const struct findings **list = xcalloc(count + 1, sizeof(*list));
	cleanup_strbuf struct strbuf text = { 0 };

	for (size_t i = 0; i < count; i++)
		list[i] = &results[i].findings;
	baseline_write(list, count, &text);
	return fs_write(AT_FDCWD, file, strbuf_slice(&text), 0644, err);
}

static int write_reports(const struct invocation *in, const struct report_outputs *outputs,
			 struct lint_result *results, size_t count, struct error *err)
{
	cleanup_free const struct lint_result **list = xcalloc(count + 1, sizeof(*list));
	const char *baseline = option_text(in, "write-baseline", NULL);

	settle_resolved(results, count);
	for (size_t i = 0; i < count; i++)
		list[i] = &results[i];
	for (size_t i = 0; i < outputs->len; i++) {
		const struct report_output *o = &outputs->items[i];
		report_fn *write = report_format_find(o->format)->write;
		cleanup_strbuf struct strbuf text = { 0 };

		if (write == report_text && in->out->colour && !o->file)
			write = report_text_coloured;
		write(list, count, &text);
		if (report_output_write(o, strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return baseline ? write_baseline(baseline, results, count, err) : 0;
}

/* The verdicts of one run. */
struct verdicts {
	struct lint_result *items; /* IMAGES_MAX */
	size_t count;
	struct error first; /* the first image that could not be judged, or not completely */
	int status;
};

static void add_verdict(struct verdicts *v, const char *name, struct image *image,
			const struct lint_options *how)
{
	struct lint_result *r = &v->items[v->count];
	struct error bad = { 0 };

	if (lint_run(image, how, r, &bad) < 0) {
		lint_result_release(r);
		*r = (struct lint_result){ 0 };
		if (!v->first.code)
			v->first = bad;
		return;
	}
	v->count++;
	if (r->unreadable && !v->first.code)
		error_set(&v->first, ERROR_INTEGRITY, "%s could not be read completely: %s", name,
			  r->unreadable);
	v->status = MAX(v->status, r->failed ? 1 : 0);
}

/* Every image of an index, each named with its platform. */
static int lint_platforms(const char *name, const struct lint_options *how, struct verdicts *v,
			  struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_source struct image_source *source = image_arg_source(name, err);
	struct platforms platforms = { 0 };
	int rc = source ? image_platforms(source, &arena, &platforms, err) : -1;

	for (size_t i = 0; rc == 0 && i < platforms.len && v->count < IMAGES_MAX; i++) {
		const struct platform *platform =
			platforms.items[i].os ? &platforms.items[i] : NULL;
		cleanup_image struct image image = { 0 };

		rc = image_open_source(source_borrow(source), name, platform, &image, err);
		if (rc == 0 && platform && platforms.len > 1)
			image.name = arena_printf(&image.arena, "%s (%s)", name,
						  platform_text(platform, &image.arena));
		if (rc == 0)
			add_verdict(v, image.name, &image, how);
	}
	vec_release(&platforms);
	return rc;
}

static int lint_one(const struct invocation *in, const char *name, const struct lint_options *how,
		    struct verdicts *v, struct error *err)
{
	cleanup_image struct image image = { 0 };

	if (option_given(in, "all-platforms"))
		return lint_platforms(name, how, v, err);
	if (image_arg_open(in, name, &image, err) < 0)
		return -1;
	add_verdict(v, name, &image, how);
	return 0;
}

/*
 * What could be judged is printed, whatever became of the others. 0 or 1, or -1 for what could
 * not be read, which goes before a verdict.
 */
static int lint_all(const struct invocation *in, const struct lint_options *how,
		    const struct report_outputs *outputs, struct error *err)
{
	cleanup_free struct lint_result *results = xcalloc(IMAGES_MAX, sizeof(*results));
	struct verdicts v = { .items = results };

	for (size_t i = 0; i < in->arg_count && v.count < IMAGES_MAX; i++) {
		struct error bad = { 0 };

		if (lint_one(in, in->args[i], how, &v, &bad) < 0 && !v.first.code)
			v.first = bad;
	}
	if (v.count && write_reports(in, outputs, results, v.count, err) < 0)
		v.status = -1;
	for (size_t i = 0; i < v.count; i++)
		lint_result_release(&results[i]);
	if (v.status >= 0 && v.first.code) {
		*err = v.first;
		return -1;
	}
	return v.status == 1 && option_given(in, "exit-zero") ? 0 : v.status;
}

static int read_recipe(const struct invocation *in, struct recipe *recipe, struct lint_options *how,
		       struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	const char *file = option_text(in, "dockerfile", NULL);

	if (!file)
		return 0;
	if (fs_read(AT_FDCWD, file, POLICY_BYTES_MAX, &text, err) < 0)
		return error_wrap(err, "--dockerfile");
	recipe_parse(strbuf_slice(&text), file, recipe);
	how->recipe = recipe;
	return 0;
}

static int judge(const struct invocation *in, const struct report_outputs *outputs,
		 const char *today, struct error *err)
{
	cleanup_site_policy struct site_policy site = { 0 };
	cleanup_baseline struct baseline baseline = { 0 };
	cleanup_recipe struct recipe recipe = { 0 };
	cleanup_fact_store struct fact_store facts = { 0 };
	struct lint_options how = { .policy.today = today };
	int status = read_files(in, &site, &baseline, &how.policy, err);

	if (!option_given(in, "no-cache"))
		how.cache = fact_store_open(in, &facts);
	if (status == 0)
		status = read_recipe(in, &recipe, &how, err);
	if (status == 0)
		status = read_options(in, &how, err);
	if (status == 0)
		status = lint_all(in, &how, outputs, err);
	policy_release(&how.policy);
	target_release(&how.target);
	return status;
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	const char *formats[32];
	size_t count = 0;
	char today[16] = "";
	time_t now = time(NULL);
	struct tm utc;

	for (const struct report_format *f = report_formats; f->name; f++)
		formats[count++] = f->name;
	formats[count] = NULL;
	if (report_outputs_parse(in, formats, &outputs, err) < 0)
		return -1;
	if (option_given(in, "list-rules") || option_given(in, "explain"))
		return print_rules(in, &outputs, err);
	if (!in->arg_count)
		return error_set(err, ERROR_USAGE, "lint: no IMAGE was named");
	if (in->arg_count > IMAGES_MAX)
		return error_set(err, ERROR_USAGE, "lint: at most %d images at once", IMAGES_MAX);
	if (option_given(in, "platform") && option_given(in, "all-platforms"))
		return error_set(err, ERROR_USAGE,
				 "lint: --platform chooses one image, --all-platforms takes all");
	if (gmtime_r(&now, &utc))
		strftime(today, sizeof(today), "%Y-%m-%d", &utc);
	return judge(in, &outputs, today, err);
}

const struct command command_lint = {
	.name = "lint",
	.usage = "IMAGE...",
	.summary = "find what will break on a GPU node",
	.description =
		"Reads images of any origin (oci:DIR, oci-archive:FILE, docker-archive:FILE, "
		"rootfs:DIR, docker://REF, "
		"docker-daemon:REF, containers-storage:REF, - for standard input) and judges them "
		"by rules about driver libraries, "
		"forward-compatibility, dynamic linking, the environment, secrets, size and "
		"conformance. Nothing is executed or unpacked, no GPU is needed.\n\n"
		"Exit status: 0 nothing at or above the threshold, 1 findings, 2 usage, 3 an image "
		"could not be read completely.",
	.examples = "gpuimg lint oci:out/app:1.0\n"
		    "docker save app | gpuimg lint -        # an image of the local Docker\n"
		    "gpuimg lint app.tar --output json=report.json --output text\n"
		    "gpuimg lint docker://registry.example.org/app --all-platforms --gpu h100\n"
		    "gpuimg lint app.tar --policy site.yaml --output sarif=a.sarif --output text\n"
		    "gpuimg lint app.tar --write-baseline known.json --exit-zero\n"
		    "gpuimg lint --explain DRV005",
	.options = options,
	.args_min = 0,
	.args_max = SIZE_MAX,
	.run = run,
};
