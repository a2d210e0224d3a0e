#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

/* A build argument stands in the history of each step after it: one secret, told once. */
static bool is_same(const struct config_secret *a, const struct config_secret *b)
{
	return str_equal(a->where, "history") && str_equal(b->where, "history") &&
	       str_equal(a->kind, b->kind) && str_equal(a->masked, b->masked);
}

static bool told_before(const struct facts *facts, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (is_same(&facts->config_secrets.items[i], &facts->config_secrets.items[at]))
			return true;
	}
	return false;
}

/* "entry 3, entry 4": all places of the same secret. */
static const char *places_of(const struct facts *facts, size_t at)
{
	const struct config_secret *s = &facts->config_secrets.items[at];
	const char *places = s->key;

	for (size_t i = at + 1; i < facts->config_secrets.len; i++) {
		const struct config_secret *other = &facts->config_secrets.items[i];

		if (is_same(s, other))
			places = arena_printf(facts_arena(facts), "%s, %s", places, other->key);
	}
	return places;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->config_secrets.len; i++) {
		const struct config_secret *s = &facts->config_secrets.items[i];
		cleanup_free char *cause = xasprintf("%s %s", s->where, s->key);
		struct finding *f;

		if (told_before(facts, i))
			continue;
		f = finding_add(found, rule, "", s->layer, cause,
				"%s %s holds a credential: %s (%s).", s->where, places_of(facts, i),
				s->kind, s->masked);
		if (s->by_name) {
			f->severity = SEVERITY_WARNING;
			f->confidence = CONFIDENCE_HEURISTIC;
		}
		finding_evidence(found, f, "key", s->key);
		finding_evidence(found, f, "masked", s->masked);
	}
	return 0;
}

const struct rule rule_sec004 = {
	.id = "SEC004",
	.name = "secret-in-config-or-history",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_CONFIG,
	.what = "The environment, a label, the command or the history of the image holds a "
		"credential.",
	.why = "The configuration is public to whoever can pull the image, without pulling a "
	       "layer; build "
	       "arguments are written to the history. A variable that only has the name of a "
	       "secret is a "
	       "warning.",
	.fix = "Revoke it, then rebuild and hand it to the build as a secret mount, or to the "
	       "container at "
	       "run time.",
	.sources = "OCI image specification, config.md; Docker build reference, \"secrets\"",
	.check = check,
};
