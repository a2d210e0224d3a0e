/*
 * Versions of Debian packages: "[epoch:]upstream[-revision]", compared as dpkg does.
 *
 * Epochs compare as numbers (none is 0), then upstream, then revision (after the last hyphen; none
 * equals "0"). Each part is read in alternation: the longest run of non-digits, character by
 * character in the order "~", end of text, letters, everything else; then the longest run of
 * digits as a number of any length.
 * Source: deb-version(7); the oracle is `dpkg --compare-versions`.
 */
#ifndef BUILDER_SOURCES_DEB_VERSION_H
#define BUILDER_SOURCES_DEB_VERSION_H

#include "base/slice.h"

enum deb_operator {
	DEB_ANY,           /* no version was asked for */
	DEB_EARLIER,       /* << */
	DEB_EARLIER_EQUAL, /* <=, and the obsolete < */
	DEB_EQUAL,         /* = */
	DEB_LATER_EQUAL,   /* >=, and the obsolete > */
	DEB_LATER,         /* >> */
};

/* Below, equal to or above 0, as `a` is earlier than, equal to or later than `b`. Any bytes do. */
int deb_version_compare(struct slice a, struct slice b);
/*
 * True for a version of the grammar: an epoch of at most 9 digits; an upstream part that is not
 * empty; letters, digits and ".+~" (":" after an epoch, "-" before the revision); 256 bytes at
 * most. As dpkg does when it reads a database, a first character that is no digit is let through.
 */
bool deb_version_valid(struct slice version);
/* True when `version` stands in that relation to `wanted`; always for DEB_ANY. */
bool deb_version_satisfies(struct slice version, enum deb_operator op, struct slice wanted);
/* The operator a text says ("<<", "=", …); false when it is none. */
bool deb_operator_parse(struct slice text, enum deb_operator *out);
/* ">=", "" for DEB_ANY. */
const char *deb_operator_text(enum deb_operator op);
/* True when `version` matches a pattern of "*" and "?" as a whole. */
bool deb_version_matches(struct slice version, struct slice pattern);

#endif
