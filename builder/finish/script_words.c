#include "builder/finish/script_words.h"

#include <ctype.h>
#include <fnmatch.h>

#include "base/map.h"
#include "base/strbuf.h"

enum token_kind { TOKEN_WORD, TOKEN_SEPARATOR, TOKEN_CASE_END, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_END };

struct token {
	enum token_kind kind;
	const char *text; /* of a word; SPLIT where an unquoted variable had blanks */
	bool dynamic, quoted;
	bool expanded; /* an unquoted variable is part of it */
	char joint;    /* of a separator: '&' for "&&", '|' for "||" */
	size_t line;
};

enum {
	SPLIT = 0x1f,
	ALL_ARGUMENTS = 0x1e,
	CALLS_MAX = 8,
	REPLAYS_MAX = 200,
	COMMANDS_MAX = 20000,
	WORDS_MAX = 512
};

/* What a test says at a first installation. */
enum result { NO, MAYBE, YES };

enum block_kind { BLOCK_IF, BLOCK_CASE, BLOCK_LOOP, BLOCK_GROUP };

struct block {
	enum block_kind kind;
	bool outer, outer_certain; /* what is around it is active, and surely so */
	bool active, certain;      /* what is in it is */
	enum result result;        /* the condition so far */
	enum result taken;         /* whether an earlier branch was */
	bool arguments;            /* case "$1" */
	const char *subject;       /* of case, when it is known */
	bool pattern;              /* between ";;" and ")" */
	bool function;             /* a body where it is defined: nothing in it happens there */
	/* for: what is left to walk, each ended by SPLIT, and where the body begins */
	const char *variable, *words;
	size_t body, body_line;
};

struct function {
	size_t at, line; /* of its body; 0: not read yet */
};

struct lexer {
	struct slice s;
	size_t at, line;
	struct arena *arena;
	struct map variables; /* name → literal value */
	struct map functions;
	VEC(struct block) blocks;
	const char *heredoc; /* its end, until the line is over */
	bool heredoc_quoted, heredoc_tabs;
	const char *input, *output; /* of the command that is read */
	bool other_output;          /* the number before a redirection is not 1 */
	const struct script_place *place;
	unsigned replays;
	struct function *function;     /* the next group is its body */
	const struct token *arguments; /* of the function that is called; NULL: the script's own */
	size_t argument_count;
	unsigned calls; /* that are going on */
	struct script_commands *out;
};

static int peek(const struct lexer *l, int ahead)
{
	size_t at = l->at + (size_t)ahead;

	return at < l->s.len ? l->s.data[at] : -1;
}

static void take_heredoc(struct lexer *l)
{
	struct slice rest = slice_of(l->s.data + l->at, l->s.len - l->at), line;
	cleanup_strbuf struct strbuf text = { 0 };

	while (slice_cut(&rest, '\n', &line)) {
		l->at = rest.data ? (size_t)(rest.data - l->s.data) : l->s.len;
		l->line++;
		while (l->heredoc_tabs && line.len && line.data[0] == '\t')
			line = slice_of(line.data + 1, line.len - 1);
		if (slice_is(slice_trim(line), l->heredoc))
			break;
		strbuf_addf(&text, "%.*s\n", (int)line.len, (const char *)line.data);
	}
	l->heredoc = NULL;
	if (l->heredoc_quoted || !strpbrk(strbuf_text(&text), "$`\\"))
		l->input = arena_strdup(l->arena, strbuf_text(&text));
}

/* Past a "$(…)", "`…`" or "${…}" whose opening was read, copying it. */
static void take_nested(struct lexer *l, struct strbuf *word, int open, int close)
{
	unsigned depth = 1;

	while (depth && peek(l, 0) >= 0) {
		int c = peek(l, 0);

		if (c == '\\' && peek(l, 1) >= 0) {
			strbuf_addc(word, (char)c);
			l->at++;
			c = peek(l, 0);
		} else if (c == close) {
			depth--;
		} else if (c == open) {
			depth++;
		}
		l->line += c == '\n';
		strbuf_addc(word, (char)c);
		l->at++;
	}
}

/* Appends a variable's value; unquoted, its blanks part words. */
static void add_value(struct strbuf *word, const char *value, bool quoted)
{
	for (; *value; value++)
		strbuf_addc(word, !quoted && isspace((unsigned char)*value) ? (char)SPLIT : *value);
}

/* "$1" …: of the function, else of the script, which is called with one word. */
static const char *argument(const struct lexer *l, size_t number, bool *dynamic)
{
	if (l->arguments && number) {
		if (number > l->argument_count)
			return "";
		*dynamic |= l->arguments[number - 1].dynamic;
		return l->arguments[number - 1].text;
	}
	if (l->place && number)
		return number == 1 ? l->place->argument : "";
	return NULL;
}

static const char *value_of(const struct lexer *l, const char *name, bool *dynamic)
{
	if (isdigit((unsigned char)name[0]) && !name[1])
		return argument(l, (size_t)(name[0] - '0'), dynamic);
	if (l->place && str_equal(name, "DPKG_MAINTSCRIPT_ARCH") && *l->place->arch)
		return l->place->arch;
	if (l->place && str_equal(name, "DPKG_MAINTSCRIPT_PACKAGE") && *l->place->package)
		return l->place->package;
	return map_get(&l->variables, name);
}

/* Where a program lies, or NULL; *known says whether that is known at all. */
static const char *program(const struct lexer *l, const char *name, bool *known)
{
	static const char *const dirs[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
					    "/usr/bin",        "/sbin",          "/bin" };

	*known = l->place && l->place->test && *name && !strpbrk(name, "/$`*?[");
	for (size_t i = 0; *known && i < ARRAY_LEN(dirs); i++) {
		const char *path = arena_printf(l->arena, "%s/%s", dirs[i], name);

		if (l->place->test(l->place->user, 'x', path) != 0)
			return path;
	}
	return NULL;
}

static const char *value_of(const struct lexer *l, const char *name, bool *dynamic);

/* `text` with its variables' values and without quotes; NULL when one is not known. */
static char *expand(const struct lexer *l, const char *text)
{
	cleanup_strbuf struct strbuf b = { 0 };

	for (const char *p = text; *p; p++) {
		bool braces = p[0] == '$' && p[1] == '{', dynamic = false;
		const char *name = p + 1 + braces, *value;
		cleanup_free char *copy = NULL;
		size_t len;

		if (*p == '"')
			continue;
		if (*p != '$') {
			strbuf_addc(&b, *p);
			continue;
		}
		for (len = 0; isalnum((unsigned char)name[len]) || name[len] == '_'; len++)
			continue;
		copy = xstrndup(name, len);
		value = len && (!braces || name[len] == '}') ? value_of(l, copy, &dynamic) : NULL;
		if (str_equal(copy, "DPKG_ROOT"))
			value = "";
		if (!value || dynamic)
			return NULL;
		strbuf_adds(&b, value);
		p = name + len - !braces;
	}
	strbuf_adds(&b, "");
	return xstrdup(strbuf_text(&b));
}

/*
 * "$(…)" and "`…`" of commands that are known to print: the architecture, where a program is, the
 * name behind a diversion. `from` is where the word has it, `inner` where its command begins.
 */
static void take_output(struct lexer *l, struct strbuf *word, size_t from, size_t inner,
			bool *dynamic)
{
	cleanup_free char *raw = xstrdup(strbuf_text(word) + inner), *text = NULL;
	struct slice rest, w[3] = { 0 };
	const char *name, *path;
	bool known = false;

	raw[strlen(raw) ? strlen(raw) - 1 : 0] = '\0';
	text = expand(l, raw);
	if (!text) {
		*dynamic = true;
		return;
	}
	rest = slice_trim(slice_str(text));
	for (size_t i = 0; i < ARRAY_LEN(w) && slice_cut(&rest, ' ', &w[i]); i++)
		continue;
	while (rest.data && rest.len && slice_cut(&rest, ' ', &w[0])) {
		if (!slice_is(w[0], "2>/dev/null") && !slice_is(w[0], "||") &&
		    !slice_is(w[0], "true")) {
			*dynamic = true;
			return;
		}
	}
	if (str_starts(text, "dpkg --print-architecture") && l->place && *l->place->arch) {
		strbuf_truncate(word, from);
		strbuf_adds(word, l->place->arch);
		return;
	}
	if (str_starts(text, "dirname /") && !w[2].len && !strpbrk(text, "`*?")) {
		const uint8_t *slash = memrchr(w[1].data, '/', w[1].len);

		name = arena_slice(l->arena, slice_of(w[1].data,
						      MAX((size_t)(slash - w[1].data), (size_t)1)));
		strbuf_truncate(word, from);
		strbuf_adds(word, name);
		return;
	}
	if (str_starts(text, "dpkg-divert --listpackage ")) {
		strbuf_truncate(word, from);
		return;
	}
	if (str_starts(text, "dpkg-divert --truename ") && w[2].len && !strpbrk(text, "$`")) {
		name = arena_slice(l->arena, w[2]);
		strbuf_truncate(word, from);
		strbuf_adds(word, name);
		return;
	}
	name = str_starts(text, "command -v ") ? arena_slice(l->arena, w[2])
	       : str_starts(text, "which ")    ? arena_slice(l->arena, w[1])
					       : "";
	path = program(l, name, &known);
	if (!known) {
		*dynamic = true;
		return;
	}
	strbuf_truncate(word, from);
	strbuf_adds(word, path ? path : "");
}

static void take_variable(struct lexer *l, struct strbuf *word, bool *dynamic, bool quoted)
{
	cleanup_strbuf struct strbuf name = { 0 };
	size_t start = l->at;
	bool braces = peek(l, 1) == '{';
	const char *value;

	if (peek(l, 1) == '(') {
		size_t from = word->len;

		strbuf_adds(word, "$(");
		l->at += 2;
		take_nested(l, word, '(', ')');
		take_output(l, word, from, from + 2, dynamic);
		return;
	}
	l->at += braces ? 2 : 1;
	while ((isalnum(peek(l, 0)) || peek(l, 0) == '_') &&
	       !(name.len == 1 && !braces && isdigit((unsigned char)name.data[0])))
		strbuf_addc(&name, (char)l->s.data[l->at++]);
	if (braces && str_equal(strbuf_text(&name), "DPKG_ROOT") && peek(l, 0) != '}') {
		cleanup_strbuf struct strbuf ignored = { 0 };

		take_nested(l, &ignored, '{', '}'); /* it is empty, so there is no use of it */
		return;
	}
	if (braces && peek(l, 0) != '}') {
		strbuf_add(word, l->s.data + start, l->at - start);
		take_nested(l, word, '{', '}');
		*dynamic = true;
		return;
	}
	if (braces)
		l->at++;
	if (!name.len && !braces && peek(l, 0) >= 0 && strchr("@*#?-$!", peek(l, 0))) {
		l->at++;
		if (peek(l, -1) == '@' && l->arguments) {
			strbuf_addc(word, (char)ALL_ARGUMENTS);
			return;
		}
	}
	if (name.len && str_equal(strbuf_text(&name), "DPKG_ROOT"))
		return;
	value = name.len ? value_of(l, strbuf_text(&name), dynamic) : NULL;
	if (value) {
		add_value(word, value, quoted);
		return;
	}
	strbuf_add(word, l->s.data + start, l->at - start);
	*dynamic = true;
}

static void take_double_quoted(struct lexer *l, struct strbuf *word, bool *dynamic)
{
	l->at++;
	while (peek(l, 0) >= 0 && peek(l, 0) != '"') {
		int c = peek(l, 0);

		if (c == '$') {
			take_variable(l, word, dynamic, true);
			continue;
		}
		if (c == '`') {
			size_t from = word->len;

			strbuf_addc(word, '`');
			l->at++;
			take_nested(l, word, -2, '`');
			take_output(l, word, from, from + 1, dynamic);
			continue;
		}
		if (c == '\\' && peek(l, 1) >= 0) {
			l->at++;
			c = peek(l, 0);
			l->line += c == '\n';
			if (c != '\n')
				strbuf_addc(word, (char)c);
			l->at++;
			continue;
		}
		l->line += c == '\n';
		strbuf_addc(word, (char)c);
		l->at++;
	}
	l->at++;
}

static void take_word(struct lexer *l, struct token *t)
{
	cleanup_strbuf struct strbuf word = { 0 };

	while (peek(l, 0) >= 0 && !strchr(" \t\r\n;&|()<>", peek(l, 0))) {
		int c = peek(l, 0);

		if (c == '\'') {
			t->quoted = true;
			for (l->at++; peek(l, 0) >= 0 && peek(l, 0) != '\''; l->at++) {
				l->line += peek(l, 0) == '\n';
				strbuf_addc(&word, (char)peek(l, 0));
			}
			l->at++;
		} else if (c == '"') {
			t->quoted = true;
			take_double_quoted(l, &word, &t->dynamic);
		} else if (c == '$') {
			t->expanded = true;
			take_variable(l, &word, &t->dynamic, false);
		} else if (c == '`') {
			size_t from = word.len;

			strbuf_addc(&word, '`');
			l->at++;
			take_nested(l, &word, -2, '`');
			take_output(l, &word, from, from + 1, &t->dynamic);
			t->expanded = true;
		} else if (c == '\\' && peek(l, 1) >= 0) {
			if (peek(l, 1) == '\n')
				l->line++;
			else
				strbuf_addc(&word, (char)peek(l, 1));
			l->at += 2;
		} else {
			strbuf_addc(&word, (char)c);
			l->at++;
		}
	}
	t->text = arena_slice(l->arena, strbuf_slice(&word));
}

static void skip_blanks(struct lexer *l)
{
	for (;;) {
		int c = peek(l, 0);

		if (c == '\\' && peek(l, 1) == '\n') {
			l->at += 2;
			l->line++;
		} else if (c == ' ' || c == '\t' || c == '\r' || c == 0) {
			l->at++;
		} else if (c == '#') {
			while (peek(l, 0) >= 0 && peek(l, 0) != '\n')
				l->at++;
		} else {
			return;
		}
	}
}

/* "2>&1", ">file", "<<EOF": no words; files that are replaced and texts are kept. */
static void take_redirection(struct lexer *l)
{
	struct token target = { 0 };
	bool here = peek(l, 0) == '<' && peek(l, 1) == '<', out = peek(l, 0) == '>', other = false;
	size_t from = l->at;

	while (peek(l, 0) == '<' || peek(l, 0) == '>')
		l->at++;
	other = l->at - from > 1 || l->other_output;
	l->other_output = false;
	l->heredoc_tabs = here && peek(l, 0) == '-';
	if (peek(l, 0) == '&' || peek(l, 0) == '|' || l->heredoc_tabs) {
		other |= peek(l, 0) == '&';
		l->at++;
	}
	skip_blanks(l);
	from = l->at;
	take_word(l, &target);
	if (here) {
		l->heredoc = target.text;
		l->heredoc_quoted = target.quoted || memchr(l->s.data + from, '\\', l->at - from);
	} else if (out && !other && !target.dynamic) {
		l->output = target.text;
	}
}

/* One token; false when what stood there is none (a redirection). */
static bool read_token(struct lexer *l, struct token *t)
{
	int c;

	*t = (struct token){ .kind = TOKEN_END };
	skip_blanks(l);
	t->line = l->line;
	c = peek(l, 0);
	if (c < 0)
		return true;
	if (c == '<' || c == '>') {
		take_redirection(l);
		return false;
	}
	if (c == '\n') {
		l->at++;
		l->line++;
		if (l->heredoc)
			take_heredoc(l);
		t->kind = TOKEN_SEPARATOR;
	} else if (c == ';' && peek(l, 1) == ';') {
		l->at += 2;
		t->kind = TOKEN_CASE_END;
	} else if (c == ';' || c == '&' || c == '|') {
		t->joint = peek(l, 1) == c ? (char)c : 0;
		l->at += t->joint ? 2 : 1;
		t->kind = TOKEN_SEPARATOR;
	} else if (c == '(' || c == ')') {
		l->at++;
		t->kind = c == '(' ? TOKEN_OPEN : TOKEN_CLOSE;
	} else {
		t->kind = TOKEN_WORD;
		take_word(l, t);
		/* the number of a redirection is no word */
		if (t->quoted || !t->text[0] || t->text[1] || !isdigit((unsigned char)t->text[0]) ||
		    (peek(l, 0) != '>' && peek(l, 0) != '<'))
			return true;
		l->other_output = t->text[0] != '1';
		return false;
	}
	return true;
}

static struct token next_token(struct lexer *l)
{
	struct token t;

	while (!read_token(l, &t))
		continue;
	return t;
}

static struct block *top(struct lexer *l)
{
	return l->blocks.len ? &l->blocks.items[l->blocks.len - 1] : NULL;
}

static bool active(struct lexer *l)
{
	return !l->blocks.len || top(l)->active;
}

static bool certain(struct lexer *l)
{
	return !l->blocks.len || top(l)->certain;
}

static bool in_function(struct lexer *l)
{
	return l->arguments || (l->blocks.len && top(l)->function);
}

static struct block *push_block(struct lexer *l, enum block_kind kind)
{
	struct block b = { .kind = kind,
			   .outer = active(l),
			   .active = active(l),
			   .outer_certain = certain(l),
			   .certain = certain(l),
			   .function = in_function(l) };

	vec_push(&l->blocks, b);
	return top(l);
}

static void pop_block(struct lexer *l, enum block_kind kind)
{
	while (l->blocks.len) {
		enum block_kind was = l->blocks.items[--l->blocks.len].kind;

		if (was == kind)
			return;
	}
}

static enum result yes_or_no(bool yes)
{
	return yes ? YES : NO;
}

static enum result opposite(enum result r)
{
	return r == MAYBE ? MAYBE : r == YES ? NO : YES;
}

/* -e PATH and the like. */
static enum result file_test(const struct lexer *l, const struct script_command *c, size_t at)
{
	int there;

	if (c->dynamic || !l->place || !l->place->test || strpbrk(c->words[at + 1], "*?["))
		return MAYBE;
	if (!*c->words[at + 1])
		return NO;
	if (c->words[at + 1][0] != '/')
		return MAYBE;
	there = l->place->test(l->place->user, c->words[at][1], c->words[at + 1]);
	return there < 0 ? MAYBE : yes_or_no(there > 0);
}

/* A OP B of numbers; MAYBE for what is none. */
static enum result compare_numbers(const char *a, const char *op, const char *b)
{
	static const char *const ops[] = {
		"-eq", "=", "==", "-ne", "!=", "-gt", "-ge", "-lt", "-le"
	};
	uint64_t x, y;
	size_t i = 0;

	if (!slice_u64(slice_str(a), &x) || !slice_u64(slice_str(b), &y))
		return MAYBE;
	while (i < ARRAY_LEN(ops) && !str_equal(ops[i], op))
		i++;
	if (i == ARRAY_LEN(ops))
		return MAYBE;
	return yes_or_no(i < 3    ? x == y
			 : i < 5  ? x != y
			 : i == 5 ? x > y
			 : i == 6 ? x >= y
			 : i == 7 ? x < y
				  : x <= y);
}

/* A comparison, the words after "[" and an eventual "!". */
static enum result comparison(struct lexer *l, const struct script_command *c, size_t at,
			      size_t count)
{
	const char *w = c->words[at], *op = count > 1 ? c->words[at + 1] : "";
	bool first = str_equal(w, "$1") || str_equal(w, "${1}"), arguments = !in_function(l);
	bool second = str_equal(w, "$2") || str_equal(w, "${2}") || str_starts(w, "${2:");
	bool equal = str_equal(op, "=") || str_equal(op, "=="), unequal = str_equal(op, "!=");

	if (count == 1) /* "[ -z $empty ]" has no more words either */
		return c->dynamic ? MAYBE : yes_or_no(*w);
	/* a scriptlet of an .rpm is told how many versions there will be: one */
	if (count == 3 && (!c->dynamic || (first && arguments && !l->place))) {
		enum result r = compare_numbers(first && !l->place ? "1" : w, op, c->words[at + 2]);

		if (r != MAYBE)
			return r;
	}
	if (count == 3 && (equal || unequal)) {
		const char *value = c->words[at + 2];

		if (first && arguments)
			return str_equal(value, "configure") || str_equal(value, "install")
				       ? MAYBE
				       : yes_or_no(unequal);
		if (second && arguments)
			return yes_or_no(!*value == equal);
		return c->dynamic ? MAYBE : yes_or_no(str_equal(w, value) == equal);
	}
	if (count == 2 && (str_equal(w, "-n") || str_equal(w, "-z"))) {
		bool empty = str_equal(w, "-z");

		if (arguments &&
		    (str_equal(op, "$2") || str_equal(op, "${2}") || str_starts(op, "${2:")))
			return yes_or_no(empty);
		return c->dynamic ? MAYBE : yes_or_no(!*op == empty);
	}
	if (count == 2 && w[0] == '-' && w[1] && !w[2] && strchr("edfLhrsx", w[1]))
		return file_test(l, c, at);
	return MAYBE;
}

/* What dpkg says of no version OP one: it is earlier than any, or later when OP ends in "-nl". */
static bool no_version(const char *op)
{
	static const char *const true_ones[] = {
		"lt", "le", "ne", "<", "<<", "<=", "ge-nl", "gt-nl"
	};

	for (size_t i = 0; i < ARRAY_LEN(true_ones); i++) {
		if (str_equal(op, true_ones[i]))
			return true;
	}
	return false;
}

/* What a command's status is at a first installation. */
static enum result holds(struct lexer *l, const struct script_command *c)
{
	size_t count = c->count, at = 1;
	bool test = str_equal(c->words[0], "test"),
	     bracket = str_equal(c->words[0], "[") || str_equal(c->words[0], "[["), not = false;
	enum result r;

	if (str_equal(c->words[0], "true") || str_equal(c->words[0], ":"))
		return YES;
	if (str_equal(c->words[0], "false"))
		return NO;
	if (str_equal(c->words[0], "dpkg") && count > 3 &&
	    str_equal(c->words[1], "--compare-versions") &&
	    (!*c->words[2] ||
	     (!in_function(l) && (str_equal(c->words[2], "$2") || str_equal(c->words[2], "${2}") ||
				  str_starts(c->words[2], "${2:")))))
		return yes_or_no(no_version(c->words[3]));
	if (str_equal(c->words[0], "dpkg-statoverride") && count > 1 &&
	    str_equal(c->words[1], "--list"))
		return NO;
	if ((str_equal(c->words[0], "setcap") || str_equal(c->words[0], "mkdir")) && !c->dynamic)
		return YES; /* it will be done */
	if ((str_equal(c->words[0], "command") || str_equal(c->words[0], "which")) && count > 1 &&
	    !c->dynamic) {
		bool known;
		const char *path = program(l, c->words[count - 1], &known);

		return known ? yes_or_no(path != NULL) : MAYBE;
	}
	if (!test && !bracket)
		return MAYBE;
	if (bracket && str_starts(c->words[count - 1], "]"))
		count--;
	if (at < count && str_equal(c->words[at], "!")) {
		not = true;
		at++;
	}
	if (at >= count)
		return MAYBE;
	/* of "A -a B" one that fails decides, of "A -o B" nothing is looked at */
	r = YES;
	for (size_t from = at, i = at; i <= count; i++) {
		enum result one;

		if (i < count && str_equal(c->words[i], "-o"))
			return MAYBE;
		if (i < count && !str_equal(c->words[i], "-a"))
			continue;
		one = i > from ? comparison(l, c, from, i - from) : MAYBE;
		r = MIN(r, one);
		from = i + 1;
	}
	return not ? opposite(r) : r;
}

struct pending {
	struct token tokens[WORDS_MAX];
	size_t count;
	bool condition, negated;
	char joint;        /* what stood before this command: '&' "&&", '|' "||", else 0 */
	enum result chain; /* what the commands joined so far come to */
};

/* Whether what stands after the joint is reached. */
static enum result reached(const struct pending *p)
{
	return p->joint == '&' ? p->chain : p->joint == '|' ? opposite(p->chain) : YES;
}

static void take_result(struct pending *p, enum result r)
{
	if (p->joint == '&')
		p->chain = MIN(p->chain, r);
	else if (p->joint == '|')
		p->chain = MAX(p->chain, r);
	else
		p->chain = r;
}

static void set_variable(struct lexer *l, const char *name, const char *value, bool surely)
{
	const char *was = map_get(&l->variables, name);

	if (!active(l))
		return;
	/* set in a branch that may not be taken: either value */
	if (!surely && map_has(&l->variables, name) && (!was || !value || !str_equal(was, value)))
		value = NULL;
	map_put(&l->variables, arena_strdup(l->arena, name),
		value ? arena_strdup(l->arena, value) : NULL);
}

/* Undoes the marks of an unquoted value where the shell does not part words. */
static const char *whole(struct lexer *l, const char *text)
{
	char *copy = arena_strdup(l->arena, text);

	for (char *p = copy; *p; p++)
		*p = *p == SPLIT || *p == ALL_ARGUMENTS ? ' ' : *p;
	return copy;
}

static void note_variable(struct lexer *l, const struct pending *p, const struct token *t)
{
	const char *equals = strchr(t->text, '=');
	bool more = equals > t->text && equals[-1] == '+'; /* "x+=y": not followed */
	const char *name =
		arena_slice(l->arena, slice_of(t->text, (size_t)(equals - t->text) - more));

	set_variable(l, name, t->dynamic || more ? NULL : whole(l, equals + 1),
		     certain(l) && reached(p) == YES);
}

static bool is_assignment(const struct token *t)
{
	const char *p = t->text;

	if (!isalpha((unsigned char)*p) && *p != '_')
		return false;
	while (isalnum((unsigned char)*p) || *p == '_')
		p++;
	return *p == '=' || (*p == '+' && p[1] == '=');
}

static void take_token(struct lexer *l, struct pending *p, const struct token *t);

/* Walks the body of a function with these arguments, as if it stood where it is called. */
static void call(struct lexer *l, const struct function *f, const struct pending *caller,
		 size_t first)
{
	size_t depth = l->blocks.len, at = l->at, line = l->line, count = l->argument_count;
	const struct token *arguments = l->arguments;
	enum result r = reached(caller);
	struct pending *p;
	struct block *b;
	struct token t;

	if (!f->at || !active(l) || r == NO || l->calls == CALLS_MAX || ++l->replays > REPLAYS_MAX)
		return;
	p = arena_alloc(l->arena, sizeof(*p));
	p->chain = MAYBE;
	b = push_block(l, BLOCK_GROUP);
	b->certain = b->certain && r == YES;
	l->argument_count = caller->count - first - 1;
	l->arguments = arena_array(l->arena, l->argument_count + 1, sizeof(t));
	memcpy((void *)(uintptr_t)l->arguments, caller->tokens + first + 1,
	       l->argument_count * sizeof(t));
	l->calls++;
	l->at = f->at;
	l->line = f->line;
	do {
		t = next_token(l);
		take_token(l, p, &t);
	} while (t.kind != TOKEN_END && l->blocks.len > depth);
	l->blocks.len = MIN(l->blocks.len, depth);
	l->calls--;
	l->arguments = arguments;
	l->argument_count = count;
	l->at = at;
	l->line = line;
}

/* local NAME=VALUE… and the like. */
static void note_local(struct lexer *l, const struct pending *p, size_t first)
{
	const char *word = p->tokens[first].text;

	if (!str_equal(word, "local") && !str_equal(word, "export") && !str_equal(word, "readonly"))
		return;
	for (size_t i = first + 1; i < p->count; i++) {
		if (is_assignment(&p->tokens[i]))
			note_variable(l, p, &p->tokens[i]);
	}
}

/* The words so far are a command. */
static void finish_command(struct lexer *l, struct pending *p)
{
	struct script_command c = { .active = active(l) && reached(p) != NO,
				    .certain = active(l) && certain(l) && reached(p) == YES,
				    .condition = p->condition,
				    .input = l->input,
				    .output = l->output };
	size_t first = 0;

	l->input = l->output = NULL;
	while (first < p->count && is_assignment(&p->tokens[first]))
		note_variable(l, p, &p->tokens[first++]);
	if (first < p->count && map_has(&l->functions, p->tokens[first].text)) {
		call(l, map_get(&l->functions, p->tokens[first].text), p, first);
		take_result(p, MAYBE);
	} else if (first < p->count) {
		enum result r;

		c.count = p->count - first;
		c.words = arena_array(l->arena, c.count, sizeof(*c.words));
		c.line = p->tokens[first].line;
		for (size_t i = 0; i < c.count; i++) {
			c.words[i] = p->tokens[first + i].text;
			c.dynamic |= p->tokens[first + i].dynamic;
		}
		r = holds(l, &c);
		note_local(l, p, first);
		take_result(p, p->negated ? opposite(r) : r);
		for (size_t i = 1; i < c.count && str_equal(c.words[0], "unset"); i++)
			set_variable(l, c.words[i], "", certain(l));
		for (size_t i = 1; i < c.count && str_equal(c.words[0], "read"); i++)
			set_variable(l, c.words[i], NULL, true);
		if (l->out->len < COMMANDS_MAX)
			vec_push(l->out, c);
	} else if (p->count) {
		take_result(p, YES); /* an assignment */
	}
	if (p->count && p->condition && top(l) && top(l)->kind == BLOCK_IF)
		top(l)->result = p->chain;
	p->count = 0;
	p->negated = false;
}

/* case WORD in: the subject decides whether its patterns are the script's arguments. */
static void open_case(struct lexer *l)
{
	struct token subject = next_token(l), in = next_token(l);
	struct block *b = push_block(l, BLOCK_CASE);

	(void)in;
	b->pattern = true;
	if (subject.text && !subject.dynamic && l->place)
		b->subject = whole(l, subject.text);
	else
		b->arguments = subject.text && !in_function(l) &&
			       (str_equal(subject.text, "$1") || str_equal(subject.text, "${1}"));
	b->active = b->arguments || b->subject ? false : b->outer;
	b->certain = false;
}

/* for NAME in WORD…: known when all words are. */
static void open_for(struct lexer *l)
{
	struct block *b = push_block(l, BLOCK_LOOP);
	struct token name = next_token(l), t = next_token(l);
	cleanup_strbuf struct strbuf words = { 0 };
	bool known = name.kind == TOKEN_WORD && t.kind == TOKEN_WORD && str_equal(t.text, "in");

	b->certain = false;
	if (name.kind != TOKEN_WORD)
		return;
	while (t.kind == TOKEN_WORD && (t = next_token(l)).kind == TOKEN_WORD) {
		known &= !t.dynamic && !strpbrk(t.text, "*?[{");
		if (!t.expanded || *t.text)
			strbuf_addf(&words, "%s%c", t.text, SPLIT);
	}
	if (known && b->active) {
		b->certain = b->outer_certain;
		b->variable = name.text;
		b->words = arena_strdup(l->arena, strbuf_text(&words));
	}
	if (*name.text)
		set_variable(l, name.text, NULL, true);
}

/* The loop's next word into its variable. False when there is none left. */
static bool next_round(struct lexer *l, struct block *b)
{
	size_t len;

	while (b->words && *b->words == SPLIT)
		b->words++;
	if (!b->words || !*b->words || ++l->replays > REPLAYS_MAX)
		return false;
	len = strcspn(b->words, "\x1f");
	set_variable(l, b->variable, arena_slice(l->arena, slice_of(b->words, len)), true);
	b->words += len;
	return true;
}

static void begin_body(struct lexer *l, struct block *b)
{
	if (b->kind != BLOCK_LOOP || b->body)
		return;
	b->body = l->at;
	b->body_line = l->line;
	next_round(l, b);
}

/* done: once more for the next word, or out. */
static void end_body(struct lexer *l)
{
	struct block *b = top(l);

	if (b && b->kind == BLOCK_LOOP && b->body && next_round(l, b)) {
		l->at = b->body;
		l->line = b->body_line;
		return;
	}
	pop_block(l, BLOCK_LOOP);
}

/* { … }, ( … ): reached like a command; a function's body is only remembered. */
static void open_group(struct lexer *l, struct pending *p)
{
	struct block *b = push_block(l, BLOCK_GROUP);
	enum result r = reached(p);

	b->active = b->active && r != NO;
	b->certain = b->certain && r == YES;
	if (l->function) {
		l->function->at = l->at;
		l->function->line = l->line;
		b->function = true;
		b->active = b->certain = false;
	}
	l->function = NULL;
	p->joint = 0;
}

/* A word of a pattern list. */
static void take_pattern(struct lexer *l, const struct token *t)
{
	struct slice rest = slice_str(t->text), piece;

	struct block *b = top(l);

	if (b->subject && b->taken != YES && !t->dynamic && fnmatch(t->text, b->subject, 0) == 0) {
		b->taken = YES;
		b->active = b->outer;
		b->certain = b->outer_certain;
	}
	while (b->arguments && slice_cut(&rest, '|', &piece)) {
		if (slice_is(piece, "configure") || slice_is(piece, "install")) {
			b->active = b->outer;
			b->certain = b->outer_certain;
		}
	}
}

/* Reserved words. True when `t` was one and is dealt with. */
static bool take_keyword(struct lexer *l, struct pending *p, const struct token *t)
{
	static const char *const ends[] = { "fi", "done", "esac", "}" };

	for (size_t i = 0; i < ARRAY_LEN(ends) && !t->quoted && !p->count; i++) {
		if (str_equal(t->text, ends[i])) { /* what a block comes to is not known */
			p->chain = MAYBE;
			p->joint = 0;
		}
	}
	if (t->quoted || p->count)
		return false;
	if (str_equal(t->text, "if")) {
		struct block *b = push_block(l, BLOCK_IF);

		b->active = b->active && reached(p) != NO;
		b->outer = b->active;
		b->result = MAYBE;
		p->condition = true;
		p->joint = 0;
	} else if (str_equal(t->text, "elif") && top(l)) {
		struct block *b = top(l);

		b->taken = MAX(b->taken, b->result);
		b->active = b->outer && b->taken != YES;
		p->condition = true;
	} else if (str_equal(t->text, "then") && top(l)) {
		struct block *b = top(l);

		b->active = b->outer && b->result != NO && b->taken != YES;
		b->certain = b->outer_certain && b->result == YES && b->taken == NO;
		p->condition = false;
	} else if (str_equal(t->text, "else") && top(l)) {
		struct block *b = top(l);

		b->taken = MAX(b->taken, b->result);
		b->active = b->outer && b->taken != YES;
		b->certain = b->outer_certain && b->taken == NO;
	} else if (str_equal(t->text, "fi")) {
		pop_block(l, BLOCK_IF);
	} else if (str_equal(t->text, "while") || str_equal(t->text, "until")) {
		push_block(l, BLOCK_LOOP)->certain = false;
		p->condition = true;
	} else if (str_equal(t->text, "for")) {
		open_for(l);
	} else if (str_equal(t->text, "do") && top(l)) {
		p->condition = false;
		begin_body(l, top(l));
	} else if (str_equal(t->text, "done")) {
		end_body(l);
	} else if (str_equal(t->text, "case")) {
		open_case(l);
	} else if (str_equal(t->text, "esac")) {
		pop_block(l, BLOCK_CASE);
	} else if (str_equal(t->text, "{")) {
		open_group(l, p);
	} else if (str_equal(t->text, "}")) {
		pop_block(l, BLOCK_GROUP);
	} else if (str_equal(t->text, "!")) {
		p->negated = !p->negated;
	} else {
		return str_equal(t->text, "function");
	}
	return true;
}

/* A word of a command: one, or several when an unquoted value has blanks, or none when empty. */
static void take_plain_word(struct lexer *l, struct pending *p, const struct token *t)
{
	struct slice rest = slice_str(t->text), piece;
	struct token one = *t;

	if (t->text[0] == ALL_ARGUMENTS && !t->text[1]) {
		for (size_t i = 0; i < l->argument_count && p->count < ARRAY_LEN(p->tokens); i++)
			p->tokens[p->count++] = l->arguments[i];
		return;
	}
	if (!t->expanded || t->quoted || is_assignment(t)) {
		if (p->count < ARRAY_LEN(p->tokens)) {
			one.text = whole(l, t->text);
			p->tokens[p->count++] = one;
		}
		return;
	}
	while (slice_cut(&rest, SPLIT, &piece) && p->count < ARRAY_LEN(p->tokens)) {
		if (!piece.len)
			continue;
		one.text = arena_slice(l->arena, piece);
		p->tokens[p->count++] = one;
	}
}

static void take_token(struct lexer *l, struct pending *p, const struct token *t)
{
	bool pattern = top(l) && top(l)->kind == BLOCK_CASE && top(l)->pattern;
	char joint;

	if (pattern && !(t->kind == TOKEN_WORD && str_equal(t->text, "esac"))) {
		if (t->kind == TOKEN_WORD)
			take_pattern(l, t);
		else if (t->kind == TOKEN_CLOSE)
			top(l)->pattern = false;
		return;
	}
	switch (t->kind) {
	case TOKEN_WORD:
		if (!take_keyword(l, p, t))
			take_plain_word(l, p, t);
		break;
	case TOKEN_OPEN:
		if (p->count == 1) { /* name(): a function */
			l->function = arena_alloc(l->arena, sizeof(*l->function));
			map_put(&l->functions, p->tokens[0].text, l->function);
			p->count = 0;
			if (peek(l, 0) == ')')
				l->at++;
			break;
		}
		open_group(l, p);
		break;
	case TOKEN_CLOSE:
		finish_command(l, p);
		if (top(l) && top(l)->kind == BLOCK_GROUP)
			pop_block(l, BLOCK_GROUP);
		break;
	case TOKEN_CASE_END:
		finish_command(l, p);
		while (top(l) && top(l)->kind != BLOCK_CASE)
			l->blocks.len--;
		if (top(l)) {
			top(l)->pattern = true;
			top(l)->active =
				top(l)->arguments || top(l)->subject ? false : top(l)->outer;
			top(l)->certain = false;
		}
		break;
	case TOKEN_SEPARATOR:
	case TOKEN_END:
		/* a new line after "&&" joins too */
		joint = p->count || t->joint ? t->joint : p->joint;
		finish_command(l, p);
		p->joint = joint;
		break;
	}
}

void script_words_in(struct slice text, const struct script_place *place, struct arena *arena,
		     struct script_commands *out)
{
	struct lexer l = { .s = text, .line = 1, .arena = arena, .place = place, .out = out };
	struct pending *p = arena_alloc(arena, sizeof(*p));
	struct token t;

	p->chain = MAYBE;
	do {
		t = next_token(&l);
		take_token(&l, p, &t);
	} while (t.kind != TOKEN_END);
	vec_release(&l.blocks);
	map_release(&l.variables);
	map_release(&l.functions);
}

void script_words(struct slice text, struct arena *arena, struct script_commands *out)
{
	script_words_in(text, NULL, arena, out);
}
