/*
 * The Dockerfile an image was built from, so that a finding can be shown at the line that made its
 * layer. Layers are matched by what the history says of them; what does not match has no line.
 * Source: Docker build reference; BuildKit and buildah write the instruction into `created_by`.
 */
#ifndef LINT_RECIPE_H
#define LINT_RECIPE_H

#include "base/arena.h"
#include "base/vec.h"
#include "oci/config.h"

struct recipe_step {
	size_t line;      /* from 1, where the instruction begins */
	const char *text; /* "RUN make -C /src", blanks and continuations joined */
};

struct recipe {
	struct arena arena;
	const char *file; /* as the user named it */
	struct {
		struct recipe_step *items;
		size_t len, cap;
	} steps;
};

/* Anything is a Dockerfile; lines that are no instruction are passed over. */
void recipe_parse(struct slice text, const char *file, struct recipe *out);
void recipe_release(struct recipe *recipe);
#define cleanup_recipe cleanup(recipe_release)

/*
 * The line of the instruction that made a layer (counted from 0 over entries of the history that
 * have one), or 0. Of several equal instructions the last is meant, for only the last stage is in
 * the image; of one that stands there once it does not matter.
 */
size_t recipe_line(const struct recipe *recipe, const struct image_config *config, size_t layer);

#endif
