/*
 * TOML 1.0 into nodes that know where they stand.
 * Texts in quotes are `quoted` scalars. All else is a plain scalar: integers in decimal without
 * underscores, floats without underscores, "true" and "false", "inf", "nan", and dates and times
 * as they are written.
 * Limits: 16 MiB of text, 64 levels, 200 000 values. Columns count characters. A NUL character,
 * which TOML can write as an escape, is refused.
 * Source: toml.io/en/v1.0.0.
 */
#ifndef FORMATS_TOML_H
#define FORMATS_TOML_H

#include "formats/node.h"

/*
 * `name` is for error texts ("pylock.toml:12:3: …"). ERROR_FORMAT, ERROR_LIMIT.
 * *out, a map, lives in `arena`; each node's `file` is `name`, which must live as long.
 */
int toml_parse(struct slice text, const char *name, struct arena *arena, struct node *out,
	       struct error *err) MUST_USE;

#endif
