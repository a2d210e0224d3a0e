/*
 * A small lexer of maintainer scripts: the simple commands of a shell text, each with its words.
 * It executes nothing and expands nothing but $DPKG_ROOT (empty) and variables that were given a
 * literal value before; a word whose value is only known at run time is marked so. A `for` over
 * literal words is walked once per word.
 *
 * Commands that a first installation does not reach are marked inactive: branches of
 * `case "$1" in` other than configure and install, what stands behind a test for an upgrade
 * ("$1" = upgrade, a version in "$2"; of an .rpm a "$1" above 1), behind one of literal strings
 * that does not hold, or behind one for a file that is not in the image.
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
	bool certain;       /* reached for sure, as far as the tests before it are understood */
	bool condition;     /* of if, while or until */
	const char *output; /* the file its output replaces; NULL: none, or one that is added to */
	const char *file;   /* where its output goes, also one that is added to or not known */
	const char *input;  /* the text of its here-document; NULL: none, or one with variables */
	size_t line;        /* from 1 */
};

struct script_commands {
	struct script_command *items;
	size_t len, cap;
};

/* What is known where a script would run. */
struct script_place {
	const char *package, *arch; /* "" when unknown */
	const char *argument;       /* $1: "configure" or "install" */
	/* What `[ -OPTION PATH ]` says of an absolute path: 1 it holds and a package brought it, 0
	 * it does not, -1 it does and an action of ours, or a script, made it so. NULL: never
	 * known. */
	int (*test)(void *user, char option, const char *path);
	void *user;
};

/*
 * Append the commands of `text`; strings live in `arena`. Anything can be lexed: text that is no
 * shell gives commands nobody knows. Functions that the script defines are walked where they are
 * called, with their arguments; how often, and how deep, has a limit.
 */
void script_words(struct slice text, struct arena *arena, struct script_commands *out);
/* The same, with what is known of the place. `place` may be NULL. */
void script_words_in(struct slice text, const struct script_place *place, struct arena *arena,
		     struct script_commands *out);

#endif
