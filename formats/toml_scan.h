/*
 * The cursor of the TOML reader and its scalars, for the files of that family only.
 */
#ifndef FORMATS_TOML_SCAN_H
#define FORMATS_TOML_SCAN_H

#include "base/strbuf.h"
#include "formats/node.h"

/* Where something begins; both from 1, columns in characters. */
struct toml_place {
	size_t line, column;
};

struct toml_scan {
	struct slice text; /* valid UTF-8 */
	size_t at;
	const char *name;
	struct arena *arena;
	size_t counted; /* how far `place` has come, always at or before `at` */
	struct toml_place place;
};

/* The byte `ahead` of the cursor; -1 at the end. */
static inline int toml_peek(const struct toml_scan *s, size_t ahead)
{
	return s->text.len - s->at > ahead ? s->text.data[s->at + ahead] : -1;
}

/* True when the text goes on with that. */
static inline bool toml_sees(const struct toml_scan *s, const char *text)
{
	return slice_starts(slice_of(s->text.data + s->at, s->text.len - s->at), text);
}

/* The cursor's place. */
struct toml_place toml_here(struct toml_scan *s);
/* ERROR_FORMAT at a place. */
int toml_bad(const struct toml_scan *s, struct toml_place place, struct error *err, const char *fmt,
	     ...) PRINTF_LIKE(4, 5);
/* The length of a line break at the cursor: LF is 1, CR LF is 2, else 0. */
size_t toml_newline(const struct toml_scan *s);

/* A text in quotes of one kind of four; `multiline` allows the two with three quotes. ERROR_FORMAT.
 */
int toml_string(struct toml_scan *s, bool multiline, const char **out, struct error *err) MUST_USE;
/* A number, a bool, a date or a time, in the form that toml.h says. ERROR_FORMAT. */
int toml_plain(struct toml_scan *s, const char **out, struct error *err) MUST_USE;

#endif
