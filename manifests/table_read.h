/*
 * Reading the compatibility tables (the files of manifests/tables, or of a folder like it): rows
 * with names, members with checked types, and where each row comes from. What is not as it should
 * be is ERROR_FORMAT, here and of the table_*_read functions of the tables, with the file and the
 * row: "torch.json: releases: 2.7.1: python: is not an object".
 *
 * The texts of a row belong to its table; they live as long as it is open.
 */
#ifndef MANIFESTS_TABLE_READ_H
#define MANIFESTS_TABLE_READ_H

#include "base/arena.h"
#include "base/error.h"
#include "formats/json.h"

struct table {
	const char *file; /* "torch.json" */
	json_t *root;
};

/* Where a statement comes from. */
struct table_origin {
	const char *file;   /* "torch.json" */
	const char *row;    /* "releases 2.7.1 cu126" */
	const char *source; /* addresses and names, "; " between */
};

struct table_row {
	const struct table *table;
	const char *section; /* "releases" */
	const char *name;    /* its version, number or position */
	const json_t *json;
};

/*
 * Open one table: `dir`/FILE, or the one that is part of the program when `dir` is NULL.
 * ERROR_NOT_FOUND, ERROR_LIMIT (4 MiB), ERROR_FORMAT with file, line and column.
 */
int table_open(const char *dir, const char *file, struct table *out, struct error *err) MUST_USE;
void table_close(struct table *table);

/* The list or object of that key at the top of the table. */
int table_list(const struct table *table, const char *key, json_t **out,
	       struct error *err) MUST_USE;
int table_object(const struct table *table, const char *key, json_t **out,
		 struct error *err) MUST_USE;
/* Row `i` of a list, named by its member `name_key`; ERROR_FORMAT when it is not an object. */
int table_row_at(const struct table *table, const char *section, const json_t *list, size_t i,
		 const char *name_key, struct arena *arena, struct table_row *out,
		 struct error *err) MUST_USE;

/* Members. The _opt forms give NULL or 0 when it is missing or null. */
int row_text(const struct table_row *row, const char *key, const char **out,
	     struct error *err) MUST_USE;
int row_text_opt(const struct table_row *row, const char *key, const char **out,
		 struct error *err) MUST_USE;
/* A version: digits and dots, which may end in other characters when `loose`. */
int row_version(const struct table_row *row, const char *key, const char **out,
		struct error *err) MUST_USE;
int row_version_opt(const struct table_row *row, const char *key, const char **out,
		    struct error *err) MUST_USE;
int row_number(const struct table_row *row, const char *key, unsigned *out,
	       struct error *err) MUST_USE;
int row_number_opt(const struct table_row *row, const char *key, unsigned *out,
		   struct error *err) MUST_USE;
int row_bool_opt(const struct table_row *row, const char *key, bool *out,
		 struct error *err) MUST_USE;

struct table_texts {
	const char **items;
	size_t count;
};

/* A list of texts; missing or null: none. */
int row_texts(const struct table_row *row, const char *key, struct arena *arena,
	      struct table_texts *out, struct error *err) MUST_USE;
struct table_numbers {
	unsigned *items;
	size_t count;
};
int row_numbers(const struct table_row *row, const char *key, struct arena *arena,
		struct table_numbers *out, struct error *err) MUST_USE;
bool table_numbers_have(const struct table_numbers *list, unsigned n);

/* ERROR_FORMAT about a member of a row. */
int row_error(const struct table_row *row, const char *key, struct error *err, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/*
 * Where a row comes from: its "src" keys resolved in the table's "sources", else its "source" or
 * "pins_source", else the table's source of key `fallback` (may be NULL).
 */
struct table_origin row_origin(const struct table_row *row, const char *fallback,
			       struct arena *arena);

#endif
