#include "lint/capabilities.h"

static const char *const known[] = { "all",     "compute", "compat32", "graphics",
				     "utility", "video",   "display",  "ngx" };

bool capability_is_known(struct slice word)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (slice_is(word, known[i]))
			return true;
	}
	return false;
}

bool capabilities_are_set(const struct facts *facts)
{
	const char *value = facts_env(facts, "NVIDIA_DRIVER_CAPABILITIES");

	return value && *value;
}

bool capabilities_are_valid(const struct facts *facts)
{
	const char *value = facts_env(facts, "NVIDIA_DRIVER_CAPABILITIES");
	struct slice rest = slice_str(value ? value : ""), word;

	while (value && *value && slice_cut(&rest, ',', &word)) {
		if (!capability_is_known(word))
			return false;
	}
	return true;
}

const char *capabilities_default(const struct facts *facts)
{
	return facts->target && facts->target->runtimes == RUNTIME_ENROOT ? "utility"
									  : "utility,compute";
}

bool capabilities_have(const struct facts *facts, const char *capability)
{
	const char *value = facts_env(facts, "NVIDIA_DRIVER_CAPABILITIES");
	struct slice rest, word;

	if (!value || !*value)
		value = capabilities_default(facts);
	rest = slice_str(value);
	while (slice_cut(&rest, ',', &word)) {
		if (slice_is(word, capability) || slice_is(word, "all"))
			return true;
	}
	return false;
}

bool is_legacy_image(const struct facts *facts)
{
	const char *require = facts_env(facts, "NVIDIA_REQUIRE_CUDA");

	return facts_env(facts, "CUDA_VERSION") && !(require && *require);
}
