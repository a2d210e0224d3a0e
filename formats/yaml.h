/*
 * YAML 1.1 and strict JSON into nodes that know where they stand.
 * Limits: 16 MiB of text, 64 levels, 200 000 nodes; anchors and aliases are allowed but each
 * expansion counts against the node limit; a key twice in one map, several documents, tags other
 * than the core ones, merge keys ("<<") and keys that are not scalars are errors. Columns count
 * characters.
 * Source: yaml.org/spec/1.1; uses libyaml.
 */
#ifndef FORMATS_YAML_H
#define FORMATS_YAML_H

#include "formats/node.h"

/*
 * `name` is for error texts ("stack.yaml:12:3: …"). ERROR_FORMAT, ERROR_LIMIT.
 * *out lives in `arena`; each node's `file` is `name`, which must live as long.
 */
int yaml_parse(struct slice text, const char *name, struct arena *arena, struct node *out,
	       struct error *err) MUST_USE;
/* As yaml_parse for a text that must be strict JSON (RFC 8259). */
int yaml_parse_json(struct slice text, const char *name, struct arena *arena, struct node *out,
		    struct error *err) MUST_USE;

#endif
