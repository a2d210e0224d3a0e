/*
 * JSON through Jansson: parsing under limits, checked access whose errors name the path of the
 * value ("layers[2].digest: is missing"), and the canonical form that everything we write has.
 *
 * Ownership follows Jansson: json_t is counted; what json_parse gives is the caller's to
 * json_decref (cleanup_json).
 * Source: RFC 8259; RFC 8785 for the canonical form (ASCII keys, integers only).
 */
#ifndef FORMATS_JSON_H
#define FORMATS_JSON_H

#include <jansson.h>

#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"

static inline void json_decref_p(json_t **j)
{
	json_decref(*j);
}
#define cleanup_json cleanup(json_decref_p)

/*
 * Parse one document: duplicate keys, trailing text, NUL characters and more than 2048 levels are
 * ERROR_FORMAT with line and column. The caller has limited the size of `text`.
 */
int json_parse(struct slice text, json_t **out, struct error *err) MUST_USE;
/* The same for a text with a name: errors begin with "NAME:LINE:COLUMN: ". */
int json_parse_named(struct slice text, const char *name, json_t **out, struct error *err) MUST_USE;
/* Append: sorted keys, no blanks, shortest escapes, "/" and UTF-8 as they are, no newline. */
void json_canonical(const json_t *value, struct strbuf *out);
/* Append: sorted keys, indented by two, final newline. For files that people read. */
void json_pretty(const json_t *value, struct strbuf *out);

/*
 * Members of an object. `where` is the path so far ("" at the top) for error texts. The string is
 * the object's. A missing or ill-typed member is ERROR_FORMAT; the _opt forms give NULL or the
 * default when it is missing (or null).
 */
int json_get_str(const json_t *object, const char *where, const char *key, const char **out,
		 struct error *err) MUST_USE;
int json_get_str_opt(const json_t *object, const char *where, const char *key, const char **out,
		     struct error *err) MUST_USE;
int json_get_u64(const json_t *object, const char *where, const char *key, uint64_t *out,
		 struct error *err) MUST_USE;
int json_get_object(const json_t *object, const char *where, const char *key, json_t **out,
		    struct error *err) MUST_USE;
int json_get_object_opt(const json_t *object, const char *where, const char *key, json_t **out,
			struct error *err) MUST_USE;
int json_get_array(const json_t *object, const char *where, const char *key, json_t **out,
		   struct error *err) MUST_USE;
int json_get_array_opt(const json_t *object, const char *where, const char *key, json_t **out,
		       struct error *err) MUST_USE;

/* Once, before anything else: Jansson, too, ends the program when memory is short. */
void json_use_alloc(void);
/* Builders that cannot fail but for lack of memory, which ends the program. */
json_t *json_text(const char *s);             /* invalid UTF-8 bytes become U+FFFD */
json_t *json_texts(const char *const *items); /* of texts; ends with NULL */
void json_put(json_t *object, const char *key, json_t *value); /* takes value */
void json_push(json_t *array, json_t *value);                  /* takes value */

#endif
