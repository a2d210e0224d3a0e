/*
 * Relations between packages as control data writes them: groups separated by commas, of
 * alternatives separated by bars, each a name, maybe ":arch", maybe "(op version)".
 * Source: deb-control(5), Debian policy 7.1. Lists of architectures and build profiles belong to
 * source packages; they are refused here.
 */
#ifndef BUILDER_SOURCES_DEB_RELATION_H
#define BUILDER_SOURCES_DEB_RELATION_H

#include "builder/sources/deb_version.h"

struct deb_relation {
	struct slice name;
	struct slice arch; /* after ":", "any" for instance; empty when there is none */
	enum deb_operator op;
	struct slice version; /* empty for DEB_ANY */
};

/* Cut the next group that is not empty off the front of a field's value. False at the end. */
bool deb_relation_group(struct slice *rest, struct slice *out);
/*
 * Cut the next alternative off the front of a group. 1, 0 at the end, -1 when it cannot be read;
 * then *out holds nothing.
 */
int deb_relation_next(struct slice *group, struct deb_relation *out);
/* True for a package name: letters, digits and "+-._", beginning with a letter or digit, ≤ 200. */
bool deb_name_valid(struct slice name);

#endif
