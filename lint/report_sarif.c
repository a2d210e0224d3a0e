/*
 * SARIF 2.1.0: a run per image, all rules with their help, results with fingerprints that survive
 * rebuilds. Files in an image have no lines: a location is the path below the base IMAGE, with the
 * layer as a logical location; what is about the image as a whole is placed at its name.
 * Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
 */
#include "lint/report_parts.h"

/* GitHub shows no more of a run; what is beyond is grouped by rule. */
enum { RESULTS_MAX = 5000 };

static json_t *message(const char *text)
{
	json_t *out = json_object();
	cleanup_strbuf struct strbuf clean = { 0 };

	put_clean(&clean, text);
	json_put(out, "text", json_text(strbuf_text(&clean)));
	return out;
}

static const char *level_of(enum severity severity)
{
	static const char *const levels[] = { "note", "warning", "error" };

	return levels[severity];
}

static json_t *rule_object(const struct rule *rule)
{
	static const char *const precisions[] = { "medium", "high", "very-high" };
	json_t *out = json_object(), *help = json_object(), *defaults = json_object();
	json_t *properties = json_object(), *tags = json_array();
	cleanup_strbuf struct strbuf page = { 0 };
	cleanup_free char *plain = xasprintf("%s %s %s", rule->what, rule->why, rule->fix);

	rule_page(rule, &page);
	json_put(help, "text", json_text(plain));
	json_put(help, "markdown", json_text(strbuf_text(&page)));
	json_put(defaults, "level", json_text(level_of(rule->severity)));
	json_push(tags, json_text(str_starts(rule->id, "SEC") ? "security" : "gpu"));
	json_put(properties, "precision", json_text(precisions[rule->confidence]));
	json_put(properties, "tags", tags);
	json_put(out, "id", json_text(rule->id));
	json_put(out, "name", json_text(rule->name));
	json_put(out, "shortDescription", message(rule->what));
	json_put(out, "fullDescription", message(rule->why));
	json_put(out, "help", help);
	json_put(out, "defaultConfiguration", defaults);
	json_put(out, "properties", properties);
	return out;
}

static json_int_t rule_index(const struct rule *rule)
{
	json_int_t i = 0;

	while (rules[i] != rule)
		i++;
	return i;
}

/* The line of the recipe that made the layer, else the path in the image. */
static json_t *physical_location(const struct lint_result *r, const struct finding *f)
{
	json_t *physical = json_object(), *artifact = json_object();
	size_t line = report_line(r, f);
	cleanup_strbuf struct strbuf uri = { 0 };

	put_uri(&uri, line ? r->recipe : *f->path ? f->path + 1 : report_name(r));
	json_put(artifact, "uri", json_text(strbuf_text(&uri)));
	if (*f->path && !line)
		json_put(artifact, "uriBaseId", json_text("IMAGE"));
	json_put(physical, "artifactLocation", artifact);
	if (line) {
		json_t *region = json_object();

		json_put(region, "startLine", json_integer((json_int_t)line));
		json_put(physical, "region", region);
	}
	return physical;
}

static json_t *location_object(const struct lint_result *r, const struct finding *f)
{
	json_t *out = json_object();
	int layer = f->layer;

	json_put(out, "physicalLocation", physical_location(r, f));
	if (layer >= 0) {
		json_t *list = json_array(), *logical = json_object();
		cleanup_free char *name = xasprintf("layer %d", layer);

		json_put(logical, "name", json_text(name));
		json_put(logical, "kind", json_text("layer"));
		json_push(list, logical);
		json_put(out, "logicalLocations", list);
	}
	return out;
}

static json_t *result_object(const struct lint_result *r, const struct finding *f)
{
	json_t *out = json_object(), *locations = json_array(), *prints = json_object();
	json_t *properties = json_object(), *suppressions = json_array();

	json_put(out, "ruleId", json_text(f->rule->id));
	json_put(out, "ruleIndex", json_integer(rule_index(f->rule)));
	json_put(out, "level", json_text(level_of(f->severity)));
	json_put(out, "message", message(f->message));
	json_push(locations, location_object(r, f));
	json_put(out, "locations", locations);
	json_put(prints, "gpuimg/v1", json_text(f->fingerprint));
	json_put(out, "partialFingerprints", prints);
	if (f->suppressed) {
		json_t *one = message(f->suppressed), *suppression = json_object();

		json_put(suppression, "kind", json_text("external"));
		json_put(suppression, "justification", json_incref(json_object_get(one, "text")));
		json_push(suppressions, suppression);
		json_decref(one);
	}
	json_put(out, "suppressions", suppressions);
	json_put(properties, "confidence", json_text(confidence_name(f->confidence)));
	json_put(properties, "fix", json_text(f->fix));
	json_put(out, "properties", properties);
	return out;
}

/* One result for the findings of a rule that are too many to stand alone. */
static json_t *group_object(const struct lint_result *r, const struct finding *first, size_t count)
{
	cleanup_free char *text =
		xasprintf("%zu more findings of this rule; the first: %s", count, first->message);
	json_t *out = result_object(r, first);

	json_put(out, "message", message(text));
	json_put(out, "occurrenceCount", json_integer((json_int_t)count));
	return out;
}

static void add_groups(const struct lint_result *r, size_t from, json_t *results)
{
	for (size_t i = 0; i < rules_count; i++) {
		const struct finding *first = NULL;
		size_t count = 0;

		for (size_t k = from; k < r->findings.len; k++) {
			if (r->findings.items[k]->rule != rules[i])
				continue;
			first = first ? first : r->findings.items[k];
			count++;
		}
		if (count)
			json_push(results, group_object(r, first, count));
	}
}

static json_t *results_of(const struct lint_result *r)
{
	json_t *results = json_array();
	size_t alone = r->findings.len;

	if (alone > RESULTS_MAX)
		alone = RESULTS_MAX - rules_count;
	for (size_t i = 0; i < alone; i++)
		json_push(results, result_object(r, r->findings.items[i]));
	add_groups(r, alone, results);
	return results;
}

static json_t *notification(const char *id, const char *level, const char *text)
{
	json_t *out = message(text), *whole = json_object(), *rule = json_object();

	json_put(whole, "message", out);
	json_put(whole, "level", json_text(level));
	if (id) {
		json_put(rule, "id", json_text(id));
		json_put(whole, "associatedRule", rule);
	} else {
		json_decref(rule);
	}
	return whole;
}

static json_t *invocation(const struct lint_result *r)
{
	json_t *out = json_object(), *configuration = json_array(), *execution = json_array();

	for (size_t i = 0; i < r->not_run.len; i++) {
		cleanup_free char *text =
			xasprintf("%s did not run: %s", r->not_run.items[i].rule->id,
				  r->not_run.items[i].reason);

		json_push(configuration, notification(r->not_run.items[i].rule->id, "note", text));
	}
	for (size_t i = 0; i < r->unused.len; i++) {
		cleanup_free char *text =
			xasprintf("acceptance not used: %s %s", r->unused.items[i].text,
				  r->unused.items[i].why);

		json_push(configuration, notification(NULL, "warning", text));
	}
	if (r->unreadable)
		json_push(execution, notification(NULL, "error", r->unreadable));
	json_put(out, "executionSuccessful", json_boolean(!r->unreadable));
	json_put(out, "toolConfigurationNotifications", configuration);
	json_put(out, "toolExecutionNotifications", execution);
	return out;
}

static json_t *run_object(const struct lint_result *r)
{
	json_t *out = json_object(), *tool = json_object(), *driver = json_object();
	json_t *all = json_array(), *invocations = json_array(), *bases = json_object();
	json_t *base = json_object(), *properties = json_object();

	for (size_t i = 0; i < rules_count; i++)
		json_push(all, rule_object(rules[i]));
	json_put(driver, "name", json_text("gpuimg"));
	json_put(driver, "rules", all);
	json_put(tool, "driver", driver);
	json_push(invocations, invocation(r));
	json_put(base, "description", message("The root of the image's file system."));
	json_put(bases, "IMAGE", base);
	json_put(properties, "image", report_image_json(r));
	json_put(properties, "summary", report_summary_json(r));
	json_put(out, "tool", tool);
	json_put(out, "invocations", invocations);
	json_put(out, "originalUriBaseIds", bases);
	json_put(out, "results", results_of(r));
	json_put(out, "columnKind", json_text("utf16CodeUnits"));
	json_put(out, "properties", properties);
	return out;
}

void report_sarif(const struct lint_result *const *results, size_t count, struct strbuf *out)
{
	cleanup_json json_t *log = json_object();
	json_t *runs = json_array();

	for (size_t i = 0; i < count; i++)
		json_push(runs, run_object(results[i]));
	json_put(log, "$schema", json_text("https://json.schemastore.org/sarif-2.1.0.json"));
	json_put(log, "version", json_text("2.1.0"));
	json_put(log, "runs", runs);
	put_json(log, out);
	strbuf_addc(out, '\n');
}
