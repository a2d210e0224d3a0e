/*
 * NVIDIA_REQUIRE_*: what an expression says, term by term, as the classic runtime reads it. Blanks
 * separate alternatives, commas what must hold together.
 * Source: NVIDIA/libnvidia-container src/cli/dsl.c.
 */
#ifndef LINT_HOST_REQUIREMENT_H
#define LINT_HOST_REQUIREMENT_H

#include "base/arena.h"
#include "base/vec.h"

struct host_requirement_term {
	size_t alternative; /* that it is part of, from 0 */
	const char *text;
	const char *property, *op, *value; /* "" where it has none */
	const char *problem;               /* why the runtime refuses it; NULL: it does not */
};

struct host_requirement {
	VEC(struct host_requirement_term) terms;
	size_t alternatives;
	bool has_empty_factor; /* nothing between two commas, or at an end */
	bool comma_then_blank;
};

/* `arena` keeps the texts. Release with host_requirement_release. */
void host_requirement_parse(const char *expression, struct arena *arena,
			    struct host_requirement *out);
void host_requirement_release(struct host_requirement *requirement);
#define cleanup_host_requirement cleanup(host_requirement_release)
/* "(cuda>=12.4) OR (brand=tesla AND driver>=470)", as it is read. */
const char *host_requirement_text(const struct host_requirement *requirement, struct arena *arena);
/* True when no host can satisfy all terms of that alternative. */
bool host_requirement_is_void(const struct host_requirement *requirement, size_t alternative);

#endif
