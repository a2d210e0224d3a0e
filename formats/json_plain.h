/*
 * JSON of the plain kind, read without Jansson's lexer: several times as fast, for the tables that
 * every command begins with. Plain is ASCII without other escapes than \" \\ \/, whole numbers of
 * at most 18 digits, keys below 128 bytes, no key twice, at most 64 levels. What is plain gives the
 * very value that Jansson gives; anything else is Jansson's, which knows what is wrong with it and
 * where. json_parse() begins here; nobody else has to.
 */
#ifndef FORMATS_JSON_PLAIN_H
#define FORMATS_JSON_PLAIN_H

#include "formats/json.h"

/* The caller's; NULL when the text is not plain, be it JSON or not. */
json_t *json_plain(struct slice text);

#endif
