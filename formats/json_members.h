/*
 * Members of a JSON object as text, without a tree of what is in them: for documents of many
 * megabytes that are carried along rather than looked into (SBOMs in statements). A tree takes
 * some eight times the memory of its text.
 */
#ifndef FORMATS_JSON_MEMBERS_H
#define FORMATS_JSON_MEMBERS_H

#include "base/error.h"
#include "base/slice.h"

struct json_member {
	const char *key;
	struct slice value; /* out: as it stands in the text; data NULL: there is none */
};

/*
 * `text` is one object that json_parse would take; its members of those keys, which lie in it.
 * ERROR_FORMAT with line and column, as json_parse has it.
 */
int json_members(struct slice text, struct json_member *wanted, size_t count,
		 struct error *err) MUST_USE;

#endif
