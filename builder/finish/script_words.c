#include "builder/finish/script_words.h"

#include <ctype.h>

#include "base/map.h"
#include "base/strbuf.h"

enum token_kind { TOKEN_WORD, TOKEN_SEPARATOR, TOKEN_CASE_END, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_END };

struct token {
	enum token_kind kind;
	const char *text; /* of a word */
	bool dynamic, quoted;
	char joint; /* of a separator: '&' for "&&", '|' for "||" */
	size_t line;
};

enum block_kind { BLOCK_IF, BLOCK_CASE, BLOCK_LOOP, BLOCK_GROUP };

struct block {
	enum block_kind kind;
	bool outer;     /* what is around it is active */
	bool active;    /* what is in it is */
	bool upgrade;   /* the condition so far holds on an upgrade only */
	bool arguments; /* case "$1" */
	bool pattern;   /* between ";;" and ")" */
};

struct lexer {
	struct slice s;
	size_t at, line;
	struct arena *arena;
	struct map variables; /* name → literal value */
	struct map functions;
	VEC(struct block) blocks;
	const char *heredoc; /* its end, until the line is over */
	struct script_commands *out;
};

static int peek(const struct lexer *l, size_t ahead)
{
	return l->at + ahead < l->s.len ? l->s.data[l->at + ahead] : -1;
}

static void skip_heredoc(struct lexer *l)
{
	struct slice rest = slice_of(l->s.data + l->at, l->s.len - l->at), line;

	while (slice_cut(&rest, '\n', &line)) {
		struct slice trimmed = slice_trim(line);

		l->at = rest.data ? (size_t)(rest.data - l->s.data) : l->s.len;
		l->line++;
		if (slice_is(trimmed, l->heredoc))
			break;
	}
	l->heredoc = NULL;
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

static void take_variable(struct lexer *l, struct strbuf *word, bool *dynamic)
{
	cleanup_strbuf struct strbuf name = { 0 };
	size_t start = l->at;
	bool braces = peek(l, 1) == '{';
	const char *value;

	if (peek(l, 1) == '(') {
		strbuf_adds(word, "$(");
		l->at += 2;
		take_nested(l, word, '(', ')');
		*dynamic = true;
		return;
	}
	l->at += braces ? 2 : 1;
	while (isalnum(peek(l, 0)) || peek(l, 0) == '_')
		strbuf_addc(&name, (char)l->s.data[l->at++]);
	if (braces && peek(l, 0) != '}') {
		strbuf_add(word, l->s.data + start, l->at - start);
		take_nested(l, word, '{', '}');
		*dynamic = true;
		return;
	}
	if (braces)
		l->at++;
	if (!name.len && !braces && peek(l, 0) >= 0 && strchr("@*#?-$!", peek(l, 0)))
		l->at++;
	if (name.len && str_equal(strbuf_text(&name), "DPKG_ROOT"))
		return;
	value = name.len ? map_get(&l->variables, strbuf_text(&name)) : NULL;
	if (value) {
		strbuf_adds(word, value);
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
			take_variable(l, word, dynamic);
			continue;
		}
		if (c == '`') {
			strbuf_addc(word, '`');
			l->at++;
			take_nested(l, word, -2, '`');
			*dynamic = true;
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
			take_variable(l, &word, &t->dynamic);
		} else if (c == '`') {
			strbuf_addc(&word, '`');
			l->at++;
			take_nested(l, &word, -2, '`');
			t->dynamic = true;
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

/* "2>&1", ">file", "<<EOF": dropped with what they name. */
static void skip_redirection(struct lexer *l)
{
	struct token target = { 0 };
	bool here = peek(l, 0) == '<' && peek(l, 1) == '<';

	while (peek(l, 0) == '<' || peek(l, 0) == '>')
		l->at++;
	if (peek(l, 0) == '&' || peek(l, 0) == '|' || (here && peek(l, 0) == '-'))
		l->at++;
	skip_blanks(l);
	take_word(l, &target);
	if (here)
		l->heredoc = target.text;
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
		skip_redirection(l);
		return false;
	}
	if (c == '\n') {
		l->at++;
		l->line++;
		if (l->heredoc)
			skip_heredoc(l);
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
		return t->quoted || !t->text[0] || t->text[1] ||
		       !isdigit((unsigned char)t->text[0]) ||
		       (peek(l, 0) != '>' && peek(l, 0) != '<');
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

static void push_block(struct lexer *l, enum block_kind kind)
{
	struct block b = { .kind = kind, .outer = active(l), .active = active(l) };

	vec_push(&l->blocks, b);
}

static void pop_block(struct lexer *l, enum block_kind kind)
{
	while (l->blocks.len) {
		enum block_kind was = l->blocks.items[--l->blocks.len].kind;

		if (was == kind)
			return;
	}
}

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

/* What "$1" OP VALUE says in a scriptlet of an .rpm, where 1 is a first installation. */
static bool holds_for_one(const char *op, const char *value)
{
	uint64_t n = 0;

	if (!slice_u64(slice_str(value), &n))
		return true;
	if (str_equal(op, "-gt"))
		return 1 > n;
	if (str_equal(op, "-ge"))
		return 1 >= n;
	if (str_equal(op, "-lt"))
		return 1 < n;
	if (str_equal(op, "-le"))
		return 1 <= n;
	if (str_equal(op, "-ne") || str_equal(op, "!="))
		return n != 1;
	return n == 1;
}

/* "$1" OP VALUE, "$2" OP VALUE, -n "$2" …: what a test says at a first installation. */
static bool holds_at_installation(const struct script_command *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const char *w = c->words[i];
		bool first = str_equal(w, "$1") || str_equal(w, "${1}");
		bool second = str_equal(w, "$2") || str_equal(w, "${2}") || str_starts(w, "${2:");
		const char *op = i + 2 < c->count ? c->words[i + 1] : "";
		const char *value = i + 2 < c->count ? c->words[i + 2] : "";
		bool equal = str_equal(op, "=") || str_equal(op, "=="),
		     unequal = str_equal(op, "!=");

		if (first && is_number(value))
			return holds_for_one(op, value);
		if (first && (equal || unequal))
			return (str_equal(value, "configure") || str_equal(value, "install")) ==
			       equal;
		if (second && (equal || unequal))
			return !*value == equal;
		if (second && i > 0 && str_equal(c->words[i - 1], "-n"))
			return false;
		if (second && i > 0 && str_equal(c->words[i - 1], "--compare-versions"))
			return false;
	}
	return true;
}

struct pending {
	struct token tokens[512];
	size_t count;
	bool condition, first; /* the first command of a condition */
	char joint;            /* what stood before this command: '&' "&&", '|' "||", else 0 */
};

/* Takes another command of an if's condition into account. */
static void take_condition(struct block *b, const struct pending *p, const struct script_command *c)
{
	bool holds = holds_at_installation(c);

	if (p->first)
		b->upgrade = !holds;
	else if (p->joint == '|')
		b->upgrade = b->upgrade && !holds;
	else
		b->upgrade = b->upgrade || !holds;
}

static void note_variable(struct lexer *l, const struct token *t)
{
	const char *equals = strchr(t->text, '=');
	bool more = equals > t->text && equals[-1] == '+'; /* "x+=y": not followed */
	char *name = arena_slice(l->arena, slice_of(t->text, (size_t)(equals - t->text) - more));

	map_put(&l->variables, name,
		t->dynamic || more ? NULL : arena_strdup(l->arena, equals + 1));
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

/* The words so far are a command. */
static void finish_command(struct lexer *l, struct pending *p)
{
	struct script_command c = { .active = active(l), .condition = p->condition };
	size_t first = 0;

	while (first < p->count && is_assignment(&p->tokens[first]))
		note_variable(l, &p->tokens[first++]);
	if (first < p->count && !map_has(&l->functions, p->tokens[first].text)) {
		c.count = p->count - first;
		c.words = arena_array(l->arena, c.count, sizeof(*c.words));
		c.line = p->tokens[first].line;
		for (size_t i = 0; i < c.count; i++) {
			c.words[i] = p->tokens[first + i].text;
			c.dynamic |= p->tokens[first + i].dynamic;
		}
		if (c.condition && top(l) && top(l)->kind == BLOCK_IF)
			take_condition(top(l), p, &c);
		p->first = false;
		vec_push(l->out, c);
	}
	p->count = 0;
}

/* case WORD in: the subject decides whether its patterns are the script's arguments. */
static void open_case(struct lexer *l)
{
	struct token subject = next_token(l), in = next_token(l);
	struct block *b;

	(void)in;
	push_block(l, BLOCK_CASE);
	b = top(l);
	b->pattern = true;
	b->arguments =
		subject.text && (str_equal(subject.text, "$1") || str_equal(subject.text, "${1}"));
	b->active = b->arguments ? false : b->outer;
}

/* A word of a pattern list. */
static void take_pattern(struct lexer *l, const struct token *t)
{
	struct slice rest = slice_str(t->text), piece;

	while (top(l)->arguments && slice_cut(&rest, '|', &piece)) {
		if (slice_is(piece, "configure") || slice_is(piece, "install"))
			top(l)->active = top(l)->outer;
	}
}

/* Reserved words. True when `t` was one and is dealt with. */
static bool take_keyword(struct lexer *l, struct pending *p, const struct token *t)
{
	if (t->quoted || p->count)
		return false;
	if (str_equal(t->text, "if")) {
		push_block(l, BLOCK_IF);
		p->condition = p->first = true;
	} else if (str_equal(t->text, "elif") && top(l)) {
		top(l)->active = top(l)->outer;
		top(l)->upgrade = false;
		p->condition = p->first = true;
	} else if (str_equal(t->text, "then") && top(l)) {
		top(l)->active = top(l)->outer && !top(l)->upgrade;
		p->condition = false;
	} else if (str_equal(t->text, "else") && top(l)) {
		top(l)->active = top(l)->outer;
	} else if (str_equal(t->text, "fi")) {
		pop_block(l, BLOCK_IF);
	} else if (str_equal(t->text, "while") || str_equal(t->text, "until")) {
		push_block(l, BLOCK_LOOP);
		p->condition = true;
	} else if (str_equal(t->text, "for")) {
		push_block(l, BLOCK_LOOP);
		for (struct token w = *t; w.kind == TOKEN_WORD; w = next_token(l))
			continue;
	} else if (str_equal(t->text, "do")) {
		p->condition = false;
	} else if (str_equal(t->text, "done")) {
		pop_block(l, BLOCK_LOOP);
	} else if (str_equal(t->text, "case")) {
		open_case(l);
	} else if (str_equal(t->text, "esac")) {
		pop_block(l, BLOCK_CASE);
	} else if (str_equal(t->text, "{")) {
		push_block(l, BLOCK_GROUP);
	} else if (str_equal(t->text, "}")) {
		pop_block(l, BLOCK_GROUP);
	} else {
		return str_equal(t->text, "!") || str_equal(t->text, "function");
	}
	return true;
}

static void take_token(struct lexer *l, struct pending *p, const struct token *t)
{
	bool pattern = top(l) && top(l)->kind == BLOCK_CASE && top(l)->pattern;

	if (pattern && !(t->kind == TOKEN_WORD && str_equal(t->text, "esac"))) {
		if (t->kind == TOKEN_WORD)
			take_pattern(l, t);
		else if (t->kind == TOKEN_CLOSE)
			top(l)->pattern = false;
		return;
	}
	switch (t->kind) {
	case TOKEN_WORD:
		if (!take_keyword(l, p, t) && p->count < ARRAY_LEN(p->tokens))
			p->tokens[p->count++] = *t;
		break;
	case TOKEN_OPEN:
		if (p->count == 1) { /* name(): a function */
			map_put(&l->functions, p->tokens[0].text, l);
			p->count = 0;
			if (peek(l, 0) == ')')
				l->at++;
			break;
		}
		push_block(l, BLOCK_GROUP);
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
			top(l)->active = top(l)->arguments ? false : top(l)->outer;
		}
		break;
	case TOKEN_SEPARATOR:
	case TOKEN_END:
		finish_command(l, p);
		p->joint = t->joint;
		break;
	}
}

void script_words(struct slice text, struct arena *arena, struct script_commands *out)
{
	struct lexer l = { .s = text, .line = 1, .arena = arena, .out = out };
	struct pending *p = arena_alloc(arena, sizeof(*p));
	struct token t;

	do {
		t = next_token(&l);
		take_token(&l, p, &t);
	} while (t.kind != TOKEN_END);
	vec_release(&l.blocks);
	map_release(&l.variables);
	map_release(&l.functions);
}
