/*
 * Which source brings each component of the toolkit: of those that the manifest lists, the first
 * that has all packages of it for the profile. apt, rpm-md and redist sources are looked into; the
 * first wheels source, in its place, is taken to have whatever has a wheel.
 */
#ifndef BUILDER_TOOLKIT_SOURCES_H
#define BUILDER_TOOLKIT_SOURCES_H

#include "builder/sources/package_source.h"
#include "builder/toolkit.h"

/* What the stack section asks of one source. */
struct toolkit_order {
	const struct stack_source *source;
	VEC(struct stack_package) packages;
};

struct toolkit_orders {
	struct toolkit_order *items;
	size_t len, cap;
};

void toolkit_orders_release(struct toolkit_orders *orders);
#define cleanup_toolkit_orders cleanup(toolkit_orders_release)

/*
 * Find the source of each of the components and append what is asked of it; strings in the lock's
 * arena. What the stage names itself, under a name that one of the sources has for it, is passed
 * over. `wheels`: only wheels are wanted.
 * Errors: ERROR_USAGE with the component, the sources that were asked and the names they were
 * asked for when none has it; those of the sources.
 */
int toolkit_sources_find(const struct source_context *context, const struct stack_stage *stage,
			 const struct solved_stack *solved, bool wheels,
			 struct toolkit_components *components, struct toolkit_orders *out,
			 struct error *err) MUST_USE;

#endif
