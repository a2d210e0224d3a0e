#include "base/strbuf.h"
#include "lint/capabilities.h"
#include "lint/findings.h"
#include "lint/rule.h"
#include "lint/runtime.h"

/* The first word that is wrong, quoted for people, or NULL. */
static const char *wrong_word(const struct facts *facts, const char *value)
{
	struct slice rest = slice_str(value), word;

	while (slice_cut(&rest, ',', &word)) {
		cleanup_strbuf struct strbuf quoted = { 0 };

		if (capability_is_known(word))
			continue;
		if (!word.len)
			return "an empty word";
		strbuf_add_quoted(&quoted, word, 60);
		return arena_strdup(facts_arena(facts), strbuf_text(&quoted));
	}
	return NULL;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *value = facts_env(facts, "NVIDIA_DRIVER_CAPABILITIES");
	const char *word = value && *value ? wrong_word(facts, value) : NULL;
	struct finding *f;

	(void)err;
	if (!word)
		return 0;
	f = finding_add(
		found, rule, "", -1, "NVIDIA_DRIVER_CAPABILITIES",
		"NVIDIA_DRIVER_CAPABILITIES holds %s; allowed are compute, compat32, graphics, "
		"utility, video, display, ngx and all, separated by commas without blanks.",
		word);
	if (!runtime_reads_capabilities(facts))
		f->severity = SEVERITY_INFO;
	return 0;
}

const struct rule rule_env002 = {
	.id = "ENV002",
	.name = "driver-capabilities-invalid",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG,
	.what = "NVIDIA_DRIVER_CAPABILITIES holds a word that the runtime does not know.",
	.why = "The classic runtime and enroot stop the container's start on it. Where the runtime "
	       "uses CDI "
	       "the variable is not read.",
	.fix = "ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility (and what else the programs need).",
	.sources = "NVIDIA/nvidia-container-toolkit internal/config/image, driver capabilities; "
		   "NVIDIA/enroot conf/hooks/98-nvidia.sh",
	.check = check,
};
