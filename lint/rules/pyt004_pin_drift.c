#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

#include "formats/marker.h"

/* "3.11" of ".../lib/python3.11/site-packages"; NULL: not told by the path. */
static const char *python_of(const struct facts *facts, const char *home)
{
	const char *at = strstr(home, "/python3.");
	size_t len;

	if (!at)
		return NULL;
	at += strlen("/python");
	len = 2 + strspn(at + 2, "0123456789");
	return len == 2 || (at[len] != '/' && at[len])
		       ? NULL
		       : arena_slice(facts_arena(facts), slice_of(at, len));
}

/* What is between the name (and extras) and the marker: ">=1,<2"; brackets are dropped. */
static struct slice specifiers_of(struct slice text)
{
	const uint8_t *semicolon = memchr(text.data, ';', text.len);
	size_t at = 0;

	if (semicolon)
		text.len = (size_t)(semicolon - text.data);
	while (at < text.len && !strchr("<>=!~([ \t", text.data[at]))
		at++;
	text = slice_trim(slice_of(text.data + at, text.len - at));
	if (text.len && text.data[0] == '[') {
		const uint8_t *end = memchr(text.data, ']', text.len);

		text = end ? slice_trim(slice_of(end + 1, text.len - (size_t)(end + 1 - text.data)))
			   : (struct slice){ 0 };
	}
	if (text.len && text.data[0] == '(')
		text = slice_of(text.data + 1, text.len - 1);
	if (text.len && text.data[text.len - 1] == ')')
		text.len--;
	return slice_trim(text);
}

/* 1 met, 0 not met, -1 not understood; *exact: an "==" without "*" is what is not met. */
static int meets(struct slice specifiers, const char *version, bool *exact)
{
	/* "==2.7.1" is met by 2.7.1+cu126. */
	struct slice have = slice_of(version, strcspn(version, "+")), one;

	if (!specifiers.len || specifiers.data[0] == '@')
		return 1;
	while (slice_cut(&specifiers, ',', &one)) {
		size_t op = 0;
		struct slice wanted;
		bool valid = true, local;

		one = slice_trim(one);
		while (op < one.len && strchr("<>=!~", one.data[op]))
			op++;
		wanted = slice_trim(slice_of(one.data + op, one.len - op));
		local = wanted.len && memchr(wanted.data, '+', wanted.len);
		if (!op || !wanted.len)
			return -1;
		if (!marker_version_meets(local ? slice_str(version) : have, slice_of(one.data, op),
					  wanted, &valid)) {
			*exact = slice_is(slice_of(one.data, op), "==") &&
				 !memchr(wanted.data, '*', wanted.len);
			return valid ? 0 : -1;
		}
		if (!valid)
			return -1;
	}
	return 1;
}

static bool is_framework(const char *name)
{
	static const char *const names[] = { "torch",        "torchvision",  "torchaudio",
					     "tensorflow",   "jax",          "jaxlib",
					     "vllm",         "sglang",       "onnxruntime-gpu",
					     "xformers",     "flash-attn",   "flashinfer-python",
					     "tensorrt-llm", "cupy-cuda12x", "cupy-cuda13x",
					     "deepspeed",    "bitsandbytes", "transformer-engine" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_equal(names[i], name))
			return true;
	}
	return str_starts(name, "jax-cuda") || str_starts(name, "nvidia-");
}

static void drifted(const struct rule *rule, const struct python_dist *d,
		    const struct requirement *wanted, struct slice specifiers,
		    const struct python_dist *have, bool exact, struct findings *found)
{
	bool pinned =
		exact && (str_starts(wanted->name, "nvidia-") || str_equal(wanted->name, "triton"));
	struct finding *f = finding_add(found, rule, d->path, d->layer, wanted->name,
					"%s %s wants %s %.*s, and %s%s%s.", d->name, d->version,
					wanted->name, (int)specifiers.len,
					specifiers.len ? (const char *)specifiers.data : "",
					have ? "has " : "there is none", have ? have->version : "",
					have ? "" : " beside it");

	if (pinned && have)
		f->severity = SEVERITY_ERROR;
}

/* A requirement that cannot be judged (another extra, a marker that is not understood) is met. */
static void check_requirement(const struct rule *rule, const struct facts *facts,
			      const struct python_dist *d, struct slice text, const char *python,
			      struct findings *found)
{
	struct arena *arena = facts_arena(facts);
	struct marker_environment env = {
		.python_version = python,
		.python_full_version = arena_printf(arena, "%s.0", python),
		.platform_machine = facts->machine == ELF_MACHINE_AARCH64 ? "aarch64" : "x86_64",
	};
	struct requirement wanted;
	const struct python_dist *have;
	struct error ignored = { 0 };
	bool applies = true, exact = false;
	int met;

	if (requirement_parse(text, arena, &wanted, &ignored) < 0 ||
	    (wanted.marker.len &&
	     (marker_evaluate(wanted.marker, &env, "", &applies, &ignored) < 0 || !applies)))
		return;
	have = facts_dist(facts, d->home, wanted.name);
	if (!have) /* may be elsewhere on the path: only what nothing else brings is told */
		have = facts_dist(facts, NULL, wanted.name);
	if (!have) {
		if (str_starts(wanted.name, "nvidia-") && str_starts(d->name, "torch"))
			drifted(rule, d, &wanted, specifiers_of(text), NULL, false, found);
		return;
	}
	met = meets(specifiers_of(text), have->version, &exact);
	if (met == 0 && str_equal(have->home, d->home))
		drifted(rule, d, &wanted, specifiers_of(text), have, exact, found);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->dists.len; i++) {
		const struct python_dist *d = &facts->dists.items[i];
		const char *python = python_of(facts, d->home);

		if (!is_framework(d->name))
			continue;
		for (size_t k = 0; k < d->require_count; k++)
			check_requirement(rule, facts, d, d->requires[k], python ? python : "3.11",
					  found);
	}
	return 0;
}

const struct rule rule_pyt004 = {
	.id = "PYT004",
	.name = "pin-drift",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = 0,
	.what = "An installed Python package asks for another version of a package than the one "
		"that is installed, or for one that is not there.",
	.why = "pip only warns when a later command breaks what an earlier one had solved. "
	       "Frameworks pin their CUDA libraries and triton exactly, and break in ways that do "
	       "not name the cause: missing symbols, wrong kernels.",
	.fix = "Install what is wanted in one command with exact pins, or with a constraints file "
	       "(pip install -c); pip check says what does not fit.",
	.sources =
		"packaging.python.org, \"Dependency specifiers\"; pip documentation, \"pip check\"",
	.check = check,
};
