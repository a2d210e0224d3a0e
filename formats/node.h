/*
 * A parsed document (YAML or JSON) that knows where each value stands, so that whoever checks it
 * can name line and column. Nodes live in the arena they were parsed into.
 */
#ifndef FORMATS_NODE_H
#define FORMATS_NODE_H

#include "base/arena.h"
#include "base/error.h"

enum node_type { NODE_NULL, NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node_pair;

struct node {
	enum node_type type;
	const char *file;    /* the name its text was given when it was parsed, borrowed */
	size_t line, column; /* from 1 */
	const char *text;    /* NODE_SCALAR: its value; else "" */
	bool quoted;         /* NODE_SCALAR: was written in quotes, so it is text, never a number */
	const struct node *items;      /* NODE_LIST */
	const struct node_pair *pairs; /* NODE_MAP, in the order written, no key twice */
	size_t count;                  /* items or pairs */
};

struct node_pair {
	struct node key; /* a scalar */
	struct node value;
};

/* Make it a list or a map, of copies in `arena`; for parsers. */
void node_set_list(struct node *out, const struct node *items, size_t count, struct arena *arena);
void node_set_map(struct node *out, const struct node_pair *pairs, size_t count,
		  struct arena *arena);
/* The value of `key` in a map, or NULL. */
const struct node *node_get(const struct node *map, const char *key);
/* "a map", "a list", "text", "nothing": for error texts. */
const char *node_type_name(const struct node *node);
/* Sets "FILE:LINE:COLUMN: " and the text; -1. */
int node_error(const struct node *at, enum error_code code, struct error *err, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/* Plain scalar that YAML 1.1 core reads as bool (true/false/yes/no/on/off) or integer. */
bool node_bool(const struct node *node, bool *out);
bool node_u64(const struct node *node, uint64_t *out);

#endif
