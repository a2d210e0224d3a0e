/*
 * The walker: which commands of a script a first installation reaches. The lexer gives the tokens.
 */
#include "builder/finish/script_words.h"

#include <fnmatch.h>

#include "base/strbuf.h"
#include "builder/finish/script_lexer.h"

enum { CALLS_MAX = 8, REPLAYS_MAX = 200, COMMANDS_MAX = 20000, WORDS_MAX = 512 };

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
	/* for: what is left to walk, each ended by SCRIPT_SPLIT, and where the body begins */
	const char *variable, *words;
	size_t body, body_line;
};

struct function {
	size_t at, line; /* of its body; 0: not read yet */
};

struct walker {
	struct script_lexer lexer;
	struct map functions;
	VEC(struct block) blocks;
	unsigned replays;
	struct function *function; /* the next group is its body */
	unsigned calls;            /* that are going on */
	struct script_commands *out;
};

static struct block *top(struct walker *w)
{
	return w->blocks.len ? &w->blocks.items[w->blocks.len - 1] : NULL;
}

static bool active(struct walker *w)
{
	return !w->blocks.len || top(w)->active;
}

static bool certain(struct walker *w)
{
	return !w->blocks.len || top(w)->certain;
}

static bool in_function(struct walker *w)
{
	return w->lexer.arguments || (w->blocks.len && top(w)->function);
}

static struct block *push_block(struct walker *w, enum block_kind kind)
{
	struct block b = { .kind = kind,
			   .outer = active(w),
			   .active = active(w),
			   .outer_certain = certain(w),
			   .certain = certain(w),
			   .function = in_function(w) };

	vec_push(&w->blocks, b);
	return top(w);
}

static void pop_block(struct walker *w, enum block_kind kind)
{
	while (w->blocks.len) {
		enum block_kind was = w->blocks.items[--w->blocks.len].kind;

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
static enum result file_test(const struct walker *w, const struct script_command *c, size_t at)
{
	int there;

	if (c->dynamic || !w->lexer.place || !w->lexer.place->test ||
	    strpbrk(c->words[at + 1], "*?["))
		return MAYBE;
	if (!*c->words[at + 1])
		return NO;
	if (c->words[at + 1][0] != '/')
		return MAYBE;
	there = w->lexer.place->test(w->lexer.place->user, c->words[at][1], c->words[at + 1]);
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

/* "$2": the version that was there before; in a function something else. */
static bool is_old_version(const char *word)
{
	return str_equal(word, "$2") || str_equal(word, "${2}") || str_starts(word, "${2:");
}

/* A comparison, the words after "[" and an eventual "!". */
static enum result comparison(struct walker *w, const struct script_command *c, size_t at,
			      size_t count)
{
	const char *word = c->words[at], *op = count > 1 ? c->words[at + 1] : "";
	bool first = str_equal(word, "$1") || str_equal(word, "${1}"), arguments = !in_function(w);
	bool equal = str_equal(op, "=") || str_equal(op, "=="), unequal = str_equal(op, "!=");

	if (count == 1) /* "[ -z $empty ]" has no more words either */
		return c->dynamic ? MAYBE : yes_or_no(*word);
	/* a scriptlet of an .rpm is told how many versions there will be: one */
	if (count == 3 && (!c->dynamic || (first && arguments && !w->lexer.place))) {
		enum result r = compare_numbers(first && !w->lexer.place ? "1" : word, op,
						c->words[at + 2]);

		if (r != MAYBE)
			return r;
	}
	if (count == 3 && (equal || unequal)) {
		const char *value = c->words[at + 2];

		if (first && arguments)
			return str_equal(value, "configure") || str_equal(value, "install")
				       ? MAYBE
				       : yes_or_no(unequal);
		if (arguments && is_old_version(word))
			return yes_or_no(!*value == equal);
		return c->dynamic ? MAYBE : yes_or_no(str_equal(word, value) == equal);
	}
	if (count == 2 && (str_equal(word, "-n") || str_equal(word, "-z"))) {
		bool empty = str_equal(word, "-z");

		if (arguments && is_old_version(op))
			return yes_or_no(empty);
		return c->dynamic ? MAYBE : yes_or_no(!*op == empty);
	}
	if (count == 2 && word[0] == '-' && word[1] && !word[2] && strchr("edfLhrsx", word[1]))
		return file_test(w, c, at);
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

/* The words of a test from `from` to `end`: "! A", "A -a B". */
static enum result test_holds(struct walker *w, const struct script_command *c, size_t from,
			      size_t end)
{
	bool not = from < end && str_equal(c->words[from], "!");
	enum result r = YES;

	from += not ;
	if (from >= end)
		return MAYBE;
	/* of "A -a B" one that fails decides, of "A -o B" nothing is looked at */
	for (size_t i = from; i <= end; i++) {
		enum result one;

		if (i < end && str_equal(c->words[i], "-o"))
			return MAYBE;
		if (i < end && !str_equal(c->words[i], "-a"))
			continue;
		one = i > from ? comparison(w, c, from, i - from) : MAYBE;
		r = MIN(r, one);
		from = i + 1;
	}
	return not ? opposite(r) : r;
}

/* What a command's status is at a first installation. */
static enum result holds(struct walker *w, const struct script_command *c)
{
	const char *name = c->words[0];
	size_t count = c->count;

	if (str_equal(name, "true") || str_equal(name, ":"))
		return YES;
	if (str_equal(name, "false"))
		return NO;
	if (str_equal(name, "dpkg") && count > 3 && str_equal(c->words[1], "--compare-versions") &&
	    (!*c->words[2] || (!in_function(w) && is_old_version(c->words[2]))))
		return yes_or_no(no_version(c->words[3]));
	if (str_equal(name, "dpkg-statoverride") && count > 1 && str_equal(c->words[1], "--list"))
		return NO;
	if ((str_equal(name, "setcap") || str_equal(name, "mkdir")) && !c->dynamic)
		return YES; /* it will be done */
	if ((str_equal(name, "command") || str_equal(name, "which")) && count > 1 && !c->dynamic) {
		bool known;
		const char *path = script_program(&w->lexer, c->words[count - 1], &known);

		return known ? yes_or_no(path != NULL) : MAYBE;
	}
	if (str_equal(name, "test"))
		return test_holds(w, c, 1, count);
	if (str_equal(name, "[") || str_equal(name, "[["))
		return test_holds(w, c, 1, count - str_starts(c->words[count - 1], "]"));
	return MAYBE;
}

struct pending {
	struct script_token tokens[WORDS_MAX];
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

static void set_variable(struct walker *w, const char *name, const char *value, bool surely)
{
	const char *was = map_get(&w->lexer.variables, name);

	if (!active(w))
		return;
	/* set in a branch that may not be taken: either value */
	if (!surely && map_has(&w->lexer.variables, name) &&
	    (!was || !value || !str_equal(was, value)))
		value = NULL;
	map_put(&w->lexer.variables, arena_strdup(w->lexer.arena, name),
		value ? arena_strdup(w->lexer.arena, value) : NULL);
}

static void note_variable(struct walker *w, const struct pending *p, const struct script_token *t)
{
	const char *equals = strchr(t->text, '=');
	bool more = equals > t->text && equals[-1] == '+'; /* "x+=y": not followed */
	const char *name =
		arena_slice(w->lexer.arena, slice_of(t->text, (size_t)(equals - t->text) - more));

	set_variable(w, name, t->dynamic || more ? NULL : script_whole_word(&w->lexer, equals + 1),
		     certain(w) && reached(p) == YES);
}

static void take_token(struct walker *w, struct pending *p, const struct script_token *t);

/* Walks the body of a function with these arguments, as if it stood where it is called. */
static void call(struct walker *w, const struct function *f, const struct pending *caller,
		 size_t first)
{
	size_t depth = w->blocks.len, at = w->lexer.at, line = w->lexer.line,
	       count = w->lexer.argument_count;
	const struct script_token *arguments = w->lexer.arguments;
	enum result r = reached(caller);
	struct pending *p;
	struct block *b;
	struct script_token t;

	if (!f->at || !active(w) || r == NO || w->calls == CALLS_MAX || ++w->replays > REPLAYS_MAX)
		return;
	p = arena_alloc(w->lexer.arena, sizeof(*p));
	p->chain = MAYBE;
	b = push_block(w, BLOCK_GROUP);
	b->certain = b->certain && r == YES;
	w->lexer.argument_count = caller->count - first - 1;
	w->lexer.arguments = arena_array(w->lexer.arena, w->lexer.argument_count + 1, sizeof(t));
	memcpy((void *)(uintptr_t)w->lexer.arguments, caller->tokens + first + 1,
	       w->lexer.argument_count * sizeof(t));
	w->calls++;
	w->lexer.at = f->at;
	w->lexer.line = f->line;
	do {
		t = script_next_token(&w->lexer);
		take_token(w, p, &t);
	} while (t.kind != TOKEN_END && w->blocks.len > depth);
	w->blocks.len = MIN(w->blocks.len, depth);
	w->calls--;
	w->lexer.arguments = arguments;
	w->lexer.argument_count = count;
	w->lexer.at = at;
	w->lexer.line = line;
}

/* local NAME=VALUE… and the like. */
static void note_local(struct walker *w, const struct pending *p, size_t first)
{
	const char *word = p->tokens[first].text;

	if (!str_equal(word, "local") && !str_equal(word, "export") && !str_equal(word, "readonly"))
		return;
	for (size_t i = first + 1; i < p->count; i++) {
		if (script_is_assignment(&p->tokens[i]))
			note_variable(w, p, &p->tokens[i]);
	}
}

/* The words so far are a command. */
static void finish_command(struct walker *w, struct pending *p)
{
	struct script_command c = { .active = active(w) && reached(p) != NO,
				    .certain = active(w) && certain(w) && reached(p) == YES,
				    .condition = p->condition,
				    .input = w->lexer.input,
				    .output = w->lexer.output,
				    .file = w->lexer.file };
	size_t first = 0;

	w->lexer.input = w->lexer.output = w->lexer.file = NULL;
	while (first < p->count && script_is_assignment(&p->tokens[first]))
		note_variable(w, p, &p->tokens[first++]);
	if (first < p->count && map_has(&w->functions, p->tokens[first].text)) {
		call(w, map_get(&w->functions, p->tokens[first].text), p, first);
		take_result(p, MAYBE);
	} else if (first < p->count) {
		enum result r;

		c.count = p->count - first;
		c.words = arena_array(w->lexer.arena, c.count, sizeof(*c.words));
		c.line = p->tokens[first].line;
		for (size_t i = 0; i < c.count; i++) {
			c.words[i] = p->tokens[first + i].text;
			c.dynamic |= p->tokens[first + i].dynamic;
		}
		r = holds(w, &c);
		note_local(w, p, first);
		take_result(p, p->negated ? opposite(r) : r);
		for (size_t i = 1; i < c.count && str_equal(c.words[0], "unset"); i++)
			set_variable(w, c.words[i], "", certain(w));
		for (size_t i = 1; i < c.count && str_equal(c.words[0], "read"); i++)
			set_variable(w, c.words[i], NULL, true);
		if (w->out->len < COMMANDS_MAX)
			vec_push(w->out, c);
	} else if (p->count) {
		take_result(p, YES);                       /* an assignment */
	} else if (c.file && w->out->len < COMMANDS_MAX) { /* of a whole block; "}" stands for it */
		c.words = arena_array(w->lexer.arena, 1, sizeof(*c.words));
		c.words[0] = "}";
		c.count = 1;
		c.line = w->lexer.line;
		vec_push(w->out, c);
	}
	if (p->count && p->condition && top(w) && top(w)->kind == BLOCK_IF)
		top(w)->result = p->chain;
	p->count = 0;
	p->negated = false;
}

/* case WORD in: the subject decides whether its patterns are the script's arguments. */
static void open_case(struct walker *w, struct pending *p)
{
	struct script_token subject = script_next_token(&w->lexer),
			    in = script_next_token(&w->lexer);
	struct block *b = push_block(w, BLOCK_CASE);

	(void)p;
	(void)in;
	b->pattern = true;
	if (subject.text && !subject.dynamic && w->lexer.place)
		b->subject = script_whole_word(&w->lexer, subject.text);
	else
		b->arguments = subject.text && !in_function(w) &&
			       (str_equal(subject.text, "$1") || str_equal(subject.text, "${1}"));
	b->active = b->arguments || b->subject ? false : b->outer;
	b->certain = false;
}

/* for NAME in WORD…: known when all words are. */
static void open_for(struct walker *w, struct pending *p)
{
	struct block *b = push_block(w, BLOCK_LOOP);
	struct script_token name = script_next_token(&w->lexer), t = script_next_token(&w->lexer);
	cleanup_strbuf struct strbuf words = { 0 };
	bool known = name.kind == TOKEN_WORD && t.kind == TOKEN_WORD && str_equal(t.text, "in");

	(void)p;
	b->certain = false;
	if (name.kind != TOKEN_WORD)
		return;
	while (t.kind == TOKEN_WORD && (t = script_next_token(&w->lexer)).kind == TOKEN_WORD) {
		known &= !t.dynamic && !strpbrk(t.text, "*?[{");
		if (!t.expanded || *t.text)
			strbuf_addf(&words, "%s%c", t.text, SCRIPT_SPLIT);
	}
	if (known && b->active) {
		b->certain = b->outer_certain;
		b->variable = name.text;
		b->words = arena_strdup(w->lexer.arena, strbuf_text(&words));
	}
	if (*name.text)
		set_variable(w, name.text, NULL, true);
}

/* The loop's next word into its variable. False when there is none left. */
static bool next_round(struct walker *w, struct block *b)
{
	size_t len;

	while (b->words && *b->words == SCRIPT_SPLIT)
		b->words++;
	if (!b->words || !*b->words || ++w->replays > REPLAYS_MAX)
		return false;
	len = strcspn(b->words, "\x1f");
	set_variable(w, b->variable, arena_slice(w->lexer.arena, slice_of(b->words, len)), true);
	b->words += len;
	return true;
}

static void begin_body(struct walker *w, struct block *b)
{
	if (b->kind != BLOCK_LOOP || b->body)
		return;
	b->body = w->lexer.at;
	b->body_line = w->lexer.line;
	next_round(w, b);
}

/* done: once more for the next word, or out. */
static void end_body(struct walker *w, struct pending *p)
{
	struct block *b = top(w);

	(void)p;
	if (b && b->kind == BLOCK_LOOP && b->body && next_round(w, b)) {
		w->lexer.at = b->body;
		w->lexer.line = b->body_line;
		return;
	}
	pop_block(w, BLOCK_LOOP);
}

/* { … }, ( … ): reached like a command; a function's body is only remembered. */
static void open_group(struct walker *w, struct pending *p)
{
	struct block *b = push_block(w, BLOCK_GROUP);
	enum result r = reached(p);

	b->active = b->active && r != NO;
	b->certain = b->certain && r == YES;
	if (w->function) {
		w->function->at = w->lexer.at;
		w->function->line = w->lexer.line;
		b->function = true;
		b->active = b->certain = false;
	}
	w->function = NULL;
	p->joint = 0;
}

/* A word of a pattern list. */
static void take_pattern(struct walker *w, const struct script_token *t)
{
	struct slice rest = slice_str(t->text), piece;

	struct block *b = top(w);

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

/* Reserved words. */

static void take_if(struct walker *w, struct pending *p)
{
	struct block *b = push_block(w, BLOCK_IF);

	b->active = b->active && reached(p) != NO;
	b->outer = b->active;
	b->result = MAYBE;
	p->condition = true;
	p->joint = 0;
}

static void take_elif(struct walker *w, struct pending *p)
{
	struct block *b = top(w);

	b->taken = MAX(b->taken, b->result);
	b->active = b->outer && b->taken != YES;
	p->condition = true;
}

static void take_then(struct walker *w, struct pending *p)
{
	struct block *b = top(w);

	b->active = b->outer && b->result != NO && b->taken != YES;
	b->certain = b->outer_certain && b->result == YES && b->taken == NO;
	p->condition = false;
}

static void take_else(struct walker *w, struct pending *p)
{
	struct block *b = top(w);

	(void)p;
	b->taken = MAX(b->taken, b->result);
	b->active = b->outer && b->taken != YES;
	b->certain = b->outer_certain && b->taken == NO;
}

static void take_fi(struct walker *w, struct pending *p)
{
	(void)p;
	pop_block(w, BLOCK_IF);
}

static void take_while(struct walker *w, struct pending *p)
{
	push_block(w, BLOCK_LOOP)->certain = false;
	p->condition = true;
}

static void take_do(struct walker *w, struct pending *p)
{
	p->condition = false;
	begin_body(w, top(w));
}

static void take_esac(struct walker *w, struct pending *p)
{
	(void)p;
	pop_block(w, BLOCK_CASE);
}

static void take_closing_brace(struct walker *w, struct pending *p)
{
	(void)p;
	pop_block(w, BLOCK_GROUP);
}

static void take_not(struct walker *w, struct pending *p)
{
	(void)w;
	p->negated = !p->negated;
}

enum {
	KEYWORD_WITHIN = 1, /* it is one in a block only */
	KEYWORD_ENDS = 2    /* a block, and what that comes to is not known */
};

static const struct keyword {
	const char *word;
	void (*take)(struct walker *w, struct pending *p); /* NULL: it says nothing itself */
	unsigned flags;
} keywords[] = {
	{ "if", take_if, 0 },
	{ "elif", take_elif, KEYWORD_WITHIN },
	{ "then", take_then, KEYWORD_WITHIN },
	{ "else", take_else, KEYWORD_WITHIN },
	{ "fi", take_fi, KEYWORD_ENDS },
	{ "while", take_while, 0 },
	{ "until", take_while, 0 },
	{ "for", open_for, 0 },
	{ "do", take_do, KEYWORD_WITHIN },
	{ "done", end_body, KEYWORD_ENDS },
	{ "case", open_case, 0 },
	{ "esac", take_esac, KEYWORD_ENDS },
	{ "{", open_group, 0 },
	{ "}", take_closing_brace, KEYWORD_ENDS },
	{ "!", take_not, 0 },
	{ "function", NULL, 0 },
};

/* True when `t` was a reserved word and is dealt with. */
static bool take_keyword(struct walker *w, struct pending *p, const struct script_token *t)
{
	const struct keyword *k = keywords, *end = keywords + ARRAY_LEN(keywords);

	if (t->quoted || p->count)
		return false;
	while (k < end && !str_equal(t->text, k->word))
		k++;
	if (k == end || ((k->flags & KEYWORD_WITHIN) && !top(w)))
		return false;
	if (k->flags & KEYWORD_ENDS) {
		p->chain = MAYBE;
		p->joint = 0;
	}
	if (k->take)
		k->take(w, p);
	return true;
}

/* A word of a command: one, or several when an unquoted value has blanks, or none when empty. */
static void take_plain_word(struct walker *w, struct pending *p, const struct script_token *t)
{
	struct slice rest = slice_str(t->text), piece;
	struct script_token one = *t;

	if (t->text[0] == SCRIPT_ALL_ARGUMENTS && !t->text[1]) {
		for (size_t i = 0; i < w->lexer.argument_count && p->count < ARRAY_LEN(p->tokens);
		     i++)
			p->tokens[p->count++] = w->lexer.arguments[i];
		return;
	}
	if (!t->expanded || t->quoted || script_is_assignment(t)) {
		if (p->count < ARRAY_LEN(p->tokens)) {
			one.text = script_whole_word(&w->lexer, t->text);
			p->tokens[p->count++] = one;
		}
		return;
	}
	while (slice_cut(&rest, SCRIPT_SPLIT, &piece) && p->count < ARRAY_LEN(p->tokens)) {
		if (!piece.len)
			continue;
		one.text = arena_slice(w->lexer.arena, piece);
		p->tokens[p->count++] = one;
	}
}

/* ( …, or name(): a function. */
static void take_open(struct walker *w, struct pending *p)
{
	if (p->count != 1) {
		open_group(w, p);
		return;
	}
	w->function = arena_alloc(w->lexer.arena, sizeof(*w->function));
	map_put(&w->functions, p->tokens[0].text, w->function);
	p->count = 0;
	if (script_peek(&w->lexer, 0) == ')')
		w->lexer.at++;
}

/* ;; */
static void end_branch(struct walker *w)
{
	struct block *b;

	while (top(w) && top(w)->kind != BLOCK_CASE)
		w->blocks.len--;
	b = top(w);
	if (!b)
		return;
	b->pattern = true;
	b->active = b->arguments || b->subject ? false : b->outer;
	b->certain = false;
}

static void take_token(struct walker *w, struct pending *p, const struct script_token *t)
{
	bool pattern = top(w) && top(w)->kind == BLOCK_CASE && top(w)->pattern;
	char joint;

	if (pattern && !(t->kind == TOKEN_WORD && str_equal(t->text, "esac"))) {
		if (t->kind == TOKEN_WORD)
			take_pattern(w, t);
		else if (t->kind == TOKEN_CLOSE)
			top(w)->pattern = false;
		return;
	}
	switch (t->kind) {
	case TOKEN_WORD:
		if (!take_keyword(w, p, t))
			take_plain_word(w, p, t);
		break;
	case TOKEN_OPEN:
		take_open(w, p);
		break;
	case TOKEN_CLOSE:
		finish_command(w, p);
		if (top(w) && top(w)->kind == BLOCK_GROUP)
			pop_block(w, BLOCK_GROUP);
		break;
	case TOKEN_CASE_END:
		finish_command(w, p);
		end_branch(w);
		break;
	case TOKEN_SEPARATOR:
	case TOKEN_END:
		/* a new line after "&&" joins too */
		joint = p->count || t->joint ? t->joint : p->joint;
		finish_command(w, p);
		p->joint = joint;
		break;
	}
}

void script_words_in(struct slice text, const struct script_place *place, struct arena *arena,
		     struct script_commands *out)
{
	struct walker w = { .lexer = { .s = text, .line = 1, .arena = arena, .place = place },
			    .out = out };
	struct pending *p = arena_alloc(arena, sizeof(*p));
	struct script_token t;

	p->chain = MAYBE;
	do {
		t = script_next_token(&w.lexer);
		take_token(&w, p, &t);
	} while (t.kind != TOKEN_END);
	vec_release(&w.blocks);
	map_release(&w.lexer.variables);
	map_release(&w.functions);
}

void script_words(struct slice text, struct arena *arena, struct script_commands *out)
{
	script_words_in(text, NULL, arena, out);
}
