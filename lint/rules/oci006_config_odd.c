#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

static void odd(struct findings *found, const struct rule *rule, const char *cause,
		const char *text)
{
	finding_add(found, rule, "", -1, cause, "%s", text);
}

static void check_environment(const struct rule *rule, const struct facts *facts,
			      struct findings *found)
{
	const struct string_list *env = &facts->config->env;
	cleanup_map struct map seen = { 0 };

	for (size_t i = 0; i < env->count; i++) {
		size_t len = strcspn(env->items[i], "=");
		cleanup_free char *key = xstrndup(env->items[i], len);
		cleanup_free char *text = NULL;

		if (!env->items[i][len] || !len)
			text = xasprintf("The Env entry %zu ('%.20s') has no name and value with "
					 "'=' between them.",
					 i, key);
		else if (map_has(&seen, key))
			text = xasprintf("The variable %s stands in Env more than once.", key);
		if (text)
			odd(found, rule, key, text);
		map_put(&seen, key, (void *)(uintptr_t)env);
	}
}

/* What is started by its path, or not at all, needs none. */
static void check_path(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	const struct image_config *config = facts->config;
	const struct string_list *start =
		config->entrypoint.count ? &config->entrypoint : &config->cmd;
	cleanup_free char *text = NULL;

	if (facts_env(facts, "PATH") || !start->count || strchr(start->items[0], '/'))
		return;
	text = xasprintf("Env has no PATH, and '%.60s', which is started, is looked for along it: "
			 "every engine and scheduler takes its own, or none.",
			 start->items[0]);
	odd(found, rule, "PATH", text);
}

static void check_history(const struct rule *rule, const struct facts *facts,
			  struct findings *found)
{
	size_t with_layer = 0;
	cleanup_free char *text = NULL;

	for (size_t i = 0; i < facts->config->history_count; i++)
		with_layer += !facts->config->history[i].empty_layer;
	if (!facts->config->history_count || !facts->manifest ||
	    with_layer == facts->manifest->layer_count)
		return;
	text = xasprintf("The history has %zu entries with a layer, the image %zu layers.",
			 with_layer, facts->manifest->layer_count);
	odd(found, rule, "history", text);
}

/* The name before ":" is a line of /etc/passwd; numbers need none. */
static void check_user(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	const char *user = facts->config->user ? facts->config->user : "";
	size_t len = strcspn(user, ":");
	struct slice rest = facts_text(facts, "/etc/passwd"), line;
	bool known = !len || strspn(user, "0123456789") >= len;
	cleanup_free char *text = NULL;

	while (!known && slice_cut(&rest, '\n', &line))
		known = line.len > len && memcmp(line.data, user, len) == 0 &&
			line.data[len] == ':';
	if (known || facts->lacks_entries)
		return;
	text = xasprintf("User is '%.60s', and /etc/passwd has no such name.", user);
	odd(found, rule, "User", text);
}

/* Days since 0000-03-01 of "2026-11-30…"; 0 when it is no date. */
static long days_of(const char *text)
{
	int year, month, day, n = 0;

	if (!text || sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &n) != 3 || n != 10)
		return 0;
	if (month < 3) {
		year--;
		month += 12;
	}
	return year * 365L + year / 4 - year / 100 + year / 400 + (153 * (month - 3) + 2) / 5 + day;
}

/* A day is left for the places of the world. */
static void check_created(const struct rule *rule, const struct facts *facts,
			  struct findings *found)
{
	const char *created = facts->config->created;
	long today = days_of(facts->today), then = days_of(created);
	cleanup_free char *text = NULL;

	if (!today || then <= today + 1)
		return;
	text = xasprintf("It says that it was created on %.10s, which is not yet (today is %s).",
			 created, facts->today);
	odd(found, rule, "created", text);
}

static void check_digests(const struct rule *rule, const struct facts *facts,
			  struct findings *found)
{
	for (size_t i = 0; facts->manifest && i < facts->manifest->layer_count; i++) {
		if (facts->manifest->layers[i].digest.algorithm == DIGEST_SHA256)
			continue;
		odd(found, rule, "digest",
		    "Blobs are named by a digest other than sha256, which several engines and "
		    "registries do not take.");
		return;
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	check_environment(rule, facts, found);
	check_path(rule, facts, found);
	check_history(rule, facts, found);
	check_user(rule, facts, found);
	check_digests(rule, facts, found);
	check_created(rule, facts, found);
	return 0;
}

const struct rule rule_oci006 = {
	.id = "OCI006",
	.name = "config-odd",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.wave = 2,
	.needs = NEEDS_CONFIG,
	.what = "The configuration says something that engines read differently: a variable "
		"without \"=\", one variable twice, no PATH for what is started, a history that "
		"does not match the "
		"layers, a "
		"digest other than sha256, a user that does not exist, a creation in the future.",
	.why = "What an engine makes of it is its own choice: the first or the last value wins, "
	       "programs are looked for along another PATH, the start ends with \"unable to find "
	       "user\", or the image is refused; what sorts images by age keeps one from the "
	       "future for ever.",
	.fix = "Set it once, in the last step, and copy the image with a current tool.",
	.sources = "OCI image specification, config.md and descriptor.md",
	.check = check,
};
