/*
 * The stack section's CUDA, as packages: which toolkit it means, which components a profile takes,
 * and under which names and versions a source has them (manifests/tables/components.json).
 */
#ifndef BUILDER_TOOLKIT_H
#define BUILDER_TOOLKIT_H

#include "base/vec.h"
#include "formats/json.h"
#include "manifests/stack.h"

/*
 * The toolkit "X.Y" that stack.cuda asks for: the newest of the table that fits ("13.0", "13.0.2",
 * ">=12.4,<13"). In `arena`. *out is NULL when the manifest asks for none. ERROR_USAGE for an
 * expression that cannot be read, ERROR_VERDICT when no toolkit fits.
 */
int toolkit_choose(const struct stack *stack, struct arena *arena, const char **out,
		   struct error *err) MUST_USE;

struct toolkit_packages {
	struct stack_package *items;
	size_t len, cap;
};

/* A component that a profile takes, under its names in each kind of source. */
struct toolkit_component {
	const char *id;     /* "cublas" */
	const char *wheel;  /* name of its wheel for this CUDA major, or NULL */
	const char *redist; /* key in redistrib manifests, or NULL */
	const char *range;  /* of versions that the manifest asks for; NULL: the toolkit's own */
	const json_t *row;  /* borrowed from the table */
	bool served;        /* some source has it: for the caller */
};

struct toolkit_components {
	json_t *table;
	struct toolkit_component *items;
	size_t len, cap;
};

/* The components that the stack section asks for; see toolkit_wheels. Release them. */
int toolkit_components(const struct stack *stack, const char *cuda, enum stack_profile profile,
		       bool math, struct arena *arena, struct toolkit_components *out,
		       struct error *err) MUST_USE;
void toolkit_components_release(struct toolkit_components *components);
#define cleanup_toolkit_components cleanup(toolkit_components_release)
/*
 * The requirement on the wheel of one of them ("nvidia-cublas==13.1.0.3"), in `arena`. ERROR_USAGE
 * when the table does not know the version for this toolkit.
 */
int toolkit_requirement(const struct stack *stack, const struct toolkit_components *components,
			const struct toolkit_component *c, const char *cuda, struct arena *arena,
			const char **out, struct error *err) MUST_USE;

/*
 * The requirements (of a wheels source) for the toolkit's components in `profile`; `math` adds the
 * math libraries whatever the profile. Appended; strings in `arena`. ERROR_USAGE when the table
 * does not know the versions for this toolkit.
 */
int toolkit_wheels(const struct stack *stack, const char *cuda, enum stack_profile profile,
		   bool math, struct arena *arena, struct toolkit_packages *out,
		   struct error *err) MUST_USE;

/*
 * NVIDIA_REQUIRE_CUDA for a toolkit: "cuda>=13.0". A driver floor of the manifest below the
 * toolkit's own driver adds " driver>=FLOOR": by minor version compatibility such a host runs the
 * image too, and a blank means "or". In `arena`. ERROR_VERDICT when the floor is below what the
 * CUDA major needs at all.
 * Source: NVIDIA container toolkit, requirement expressions; CUDA compatibility documentation.
 */
int toolkit_require(const struct stack *stack, const char *cuda, struct arena *arena,
		    const char **out, struct error *err) MUST_USE;

#endif
