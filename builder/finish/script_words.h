/*
 * A small lexer of maintainer scripts: the simple commands of a shell text, each with its words.
 * It executes nothing and expands nothing but $DPKG_ROOT (empty) and variables that were given a
 * literal value before; a word whose value is only known at run time is marked so.
 *
 * Commands that a first installation does not reach are marked inactive: branches of
 * `case "$1" in` other than configure and install, and what stands behind a test for an upgrade
 * ("$1" = upgrade, a version in "$2"; of an .rpm a "$1" above 1).
 */
#ifndef BUILDER_FINISH_SCRIPT_WORDS_H
#define BUILDER_FINISH_SCRIPT_WORDS_H

#include "base/arena.h"
#include "base/vec.h"

struct script_command {
	const char **words; /* without redirections; words[0] is the command */
	size_t count;       /* at least 1 */
	bool dynamic;       /* a word is only known at run time: it is shown as written */
	bool active;
	bool condition; /* of if, while or until */
	size_t line;    /* from 1 */
};

struct script_commands {
	struct script_command *items;
	size_t len, cap;
};

/*
 * Append the commands of `text`; strings live in `arena`. Anything can be lexed: text that is no
 * shell gives commands nobody knows. Functions that the script defines are left out as commands;
 * their bodies count as if they ran.
 */
void script_words(struct slice text, struct arena *arena, struct script_commands *out);

#endif
