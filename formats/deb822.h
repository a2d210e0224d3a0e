/*
 * Debian control data: stanzas of "Field: value" with continuation lines, as in Packages,
 * Release, status and *.sources files. Field names compare without case. Limits: 64 KiB a field
 * name and value of 4 MiB, 200 fields a stanza. Comment lines ("#") are skipped. Only a line with
 * nothing on it ends a stanza; one of blanks continues the value, which is how apt reads it. A
 * field twice in one stanza and NUL bytes are refused. Source: deb822(5), Debian policy 5.1.
 */
#ifndef FORMATS_DEB822_H
#define FORMATS_DEB822_H

#include "base/error.h"
#include "base/slice.h"
#include "base/vec.h"

struct deb822_field {
	struct slice name;
	struct slice value; /* as written, continuation lines included, outer blanks cut; read the
			     * lines of a longer one with deb822_line */
};

/* One stanza; slices point into the parsed text. Zeroed before first use; reused by next. */
struct deb822 {
	struct deb822_field *items;
	size_t len, cap;
};

/*
 * Cut the next stanza off the front of *rest. 1, 0 at the end of the text, -1 on error
 * (`name` and the line number are in the text; *line counts lines over the calls, start at 1).
 */
int deb822_next(struct slice *rest, const char *name, size_t *line, struct deb822 *out,
		struct error *err) MUST_USE;
/* The value of a field; an empty slice with data NULL when it is not there. */
struct slice deb822_get(const struct deb822 *stanza, const char *field);
/*
 * Cut the next line that is neither blank nor a comment off the front of a value, without its outer
 * blanks. False at the end.
 */
bool deb822_line(struct slice *value, struct slice *out);
void deb822_release(struct deb822 *stanza);
#define cleanup_deb822 cleanup(deb822_release)

#endif
