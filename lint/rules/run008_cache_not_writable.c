#include "lint/account.h"
#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

/* Packages that keep what they compile or download below HOME, and what sends them elsewhere. */
static const struct {
	const char *distribution, *what, *variables[4];
} writers[] = {
	{ "triton", "~/.triton", { "TRITON_CACHE_DIR", "TRITON_HOME" } },
	{ "huggingface-hub",
	  "~/.cache/huggingface",
	  { "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME" } },
	{ "cupy-cuda11x", "~/.cupy", { "CUPY_CACHE_DIR" } },
	{ "cupy-cuda12x", "~/.cupy", { "CUPY_CACHE_DIR" } },
	{ "cupy-cuda13x", "~/.cupy", { "CUPY_CACHE_DIR" } },
	{ "flashinfer-python", "~/.cache/flashinfer", { "FLASHINFER_WORKSPACE_BASE" } },
};

static bool is_sent_elsewhere(const struct facts *facts, size_t writer)
{
	for (size_t i = 0; i < ARRAY_LEN(writers[writer].variables); i++) {
		const char *variable = writers[writer].variables[i];
		const char *value = variable ? facts_env(facts, variable) : NULL;

		if (value && *value)
			return true;
	}
	return false;
}

/* Why nothing can be made in `home`, or NULL. */
static const char *problem_of(const struct facts *facts, const struct account *account,
			      const char *home)
{
	const struct tree_node *node = facts_resolve(facts, home, NULL);

	if (str_equal(home, "/") || !*home)
		return "is / and only root writes there";
	if (*home != '/')
		return "is not an absolute path";
	if (!node)
		return facts_is_dir(facts, home) ? "is a directory of root's" : "does not exist";
	if (node->entry.type != TAR_DIR)
		return "is no directory";
	return account_may_write(account, node) ? NULL : "is not writable for it";
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	struct account account = account_of_user(facts);
	const char *home = account_home(facts, &account), *problem, *list = "";

	(void)err;
	if (!account.known || account.uid == 0)
		return 0;
	problem = problem_of(facts, &account, home);
	for (size_t i = 0; problem && i < ARRAY_LEN(writers); i++) {
		if (facts_dist(facts, NULL, writers[i].distribution) &&
		    !is_sent_elsewhere(facts, i))
			list = arena_printf(facts_arena(facts), "%s%s%s (%s; %s)", list,
					    *list ? ", " : "", writers[i].distribution,
					    writers[i].what, writers[i].variables[0]);
	}
	if (*list)
		finding_add(found, rule, "", -1, "HOME",
			    "The image runs as '%s', whose HOME '%s' %s; these packages keep what "
			    "they compile or download there: %s.",
			    facts->config->user, home, problem, list);
	return 0;
}

const struct rule rule_run008 = {
	.id = "RUN008",
	.name = "cache-not-writable",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_LIKELY,
	.wave = 2,
	.needs = NEEDS_CONFIG | NEEDS_ALL_LAYERS,
	.what = "The image does not run as root, and packages that write into caches below HOME "
		"cannot.",
	.why = "Triton stops with \"Permission denied: '/.triton'\" at the first kernel, a model "
	       "cannot be downloaded, or each start compiles everything again.",
	.fix = "Create the home directory with the user as its owner, or set the variables that "
	       "the "
	       "finding names to a directory that is writable.",
	.sources = "Triton, \"Configuration\"; Hugging Face Hub, \"Environment variables\"; CuPy, "
		   "\"Environment variables\"",
	.check = check,
};
