#include "lint/require_env.h"

bool require_env_next(const struct facts *facts, size_t *at, const char **out_name,
		      const char **out_value)
{
	static const char prefix[] = "NVIDIA_REQUIRE_";

	while (facts->config && *at < facts->config->env.count) {
		const char *variable = facts->config->env.items[(*at)++];
		const char *equals = strchr(variable, '=');

		if (!equals || !equals[1] || !str_starts(variable, prefix) ||
		    str_starts(variable, "NVIDIA_REQUIRE_JETPACK"))
			continue;
		*out_name = arena_printf((struct arena *)&facts->arena, "%.*s",
					 (int)(equals - variable), variable);
		*out_value = equals + 1;
		return true;
	}
	return false;
}
