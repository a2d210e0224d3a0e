#include "lint/require_env.h"

/* The value when `variable` is one that holds an expression; NULL: it is not. */
static const char *expression_of(const char *variable)
{
	const char *equals = strchr(variable, '=');

	return equals && equals[1] && str_starts(variable, "NVIDIA_REQUIRE_") &&
			       !str_starts(variable, "NVIDIA_REQUIRE_JETPACK")
		       ? equals + 1
		       : NULL;
}

void require_env_each(const struct rule *rule, const struct facts *facts, struct findings *found,
		      require_env_judge judge)
{
	struct arena *arena = facts_arena(facts);

	for (size_t i = 0; facts->config && i < facts->config->env.count; i++) {
		const char *variable = facts->config->env.items[i];
		struct require_env v = { .value = expression_of(variable) };

		if (!v.value)
			continue;
		v.name = arena_printf(arena, "%.*s", (int)(v.value - 1 - variable), variable);
		host_requirement_parse(v.value, arena, &v.expression);
		judge(rule, facts, found, &v);
		host_requirement_release(&v.expression);
	}
}
