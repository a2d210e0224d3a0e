/*
 * The variables of an image that hold requirement expressions.
 */
#ifndef LINT_REQUIRE_ENV_H
#define LINT_REQUIRE_ENV_H

#include "lint/facts.h"
#include "lint/host_requirement.h"

/*
 * The next variable NAME=VALUE of the environment, from *at on, that holds an expression
 * (NVIDIA_REQUIRE_*, not JETPACK). False at the end. Texts live as the facts do.
 */
bool require_env_next(const struct facts *facts, size_t *at, const char **out_name,
		      const char **out_value);

#endif
