/*
 * The tokens of a shell text, words with the values of variables that are known; private to
 * script_words.c, which walks them.
 */
#ifndef BUILDER_FINISH_SCRIPT_LEXER_H
#define BUILDER_FINISH_SCRIPT_LEXER_H

#include "base/arena.h"
#include "base/map.h"
#include "builder/finish/script_words.h"

enum script_token_kind {
	TOKEN_WORD,
	TOKEN_SEPARATOR,
	TOKEN_CASE_END,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_END
};

/* Marks in a word, of bytes that no script has there. */
enum {
	SCRIPT_SPLIT = 0x1f,        /* where an unquoted variable had blanks */
	SCRIPT_ALL_ARGUMENTS = 0x1e /* "$@" */
};

struct script_token {
	enum script_token_kind kind;
	const char *text; /* of a word; with the marks */
	bool dynamic, quoted;
	bool expanded; /* an unquoted variable is part of it */
	char joint;    /* of a separator: '&' for "&&", '|' for "||" */
	size_t line;
};

struct script_lexer {
	struct slice s;
	size_t at, line; /* where it reads; the walker may go back */
	struct arena *arena;
	struct map variables; /* name → literal value; NULL: not known */
	const struct script_place *place;
	/* of the function that is called; NULL: the script's own */
	const struct script_token *arguments;
	size_t argument_count;
	/* of the command that is read; the walker clears them */
	const char *input, *output, *file;

	/* the lexer's own */
	const char *heredoc; /* its end, until the line is over */
	bool heredoc_quoted, heredoc_tabs;
	bool other_output; /* the number before a redirection is not 1 */
};

/* The next one; redirections are noted in the lexer instead. */
struct script_token script_next_token(struct script_lexer *l);
/* The byte at `ahead` from here, -1 at the end. */
int script_peek(const struct script_lexer *l, int ahead);
/* Where a program lies, or NULL; *known says whether that is known at all. */
const char *script_program(const struct script_lexer *l, const char *name, bool *known);
/* A word without its marks: where the shell does not part words. */
const char *script_whole_word(struct script_lexer *l, const char *text);
/* NAME=… */
bool script_is_assignment(const struct script_token *t);

#endif
