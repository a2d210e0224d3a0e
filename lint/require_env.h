/*
 * The variables of an image that hold requirement expressions (NVIDIA_REQUIRE_*, not JETPACK).
 */
#ifndef LINT_REQUIRE_ENV_H
#define LINT_REQUIRE_ENV_H

#include "lint/facts.h"
#include "lint/host_requirement.h"
#include "lint/rule.h"

struct require_env {
	const char *name, *value; /* live as the facts do */
	struct host_requirement expression;
};

typedef void (*require_env_judge)(const struct rule *rule, const struct facts *facts,
				  struct findings *found, const struct require_env *variable);

/* Judges each such variable that has a value, in the order of the environment. */
void require_env_each(const struct rule *rule, const struct facts *facts, struct findings *found,
		      require_env_judge judge);

#endif
