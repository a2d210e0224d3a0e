#include "builder/finish/script_lexer.h"

#include <ctype.h>

#include "base/strbuf.h"

int script_peek(const struct script_lexer *l, int ahead)
{
	size_t at = l->at + (size_t)ahead;

	return at < l->s.len ? l->s.data[at] : -1;
}

static void take_heredoc(struct script_lexer *l)
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
static void take_nested(struct script_lexer *l, struct strbuf *word, int open, int close)
{
	unsigned depth = 1;

	while (depth && script_peek(l, 0) >= 0) {
		int c = script_peek(l, 0);

		if (c == '\\' && script_peek(l, 1) >= 0) {
			strbuf_addc(word, (char)c);
			l->at++;
			c = script_peek(l, 0);
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
		strbuf_addc(word, !quoted && isspace((unsigned char)*value) ? (char)SCRIPT_SPLIT
									    : *value);
}

/* "$1" …: of the function, else of the script, which is called with one word. */
static const char *argument(const struct script_lexer *l, size_t number, bool *dynamic)
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

static const char *value_of(const struct script_lexer *l, const char *name, bool *dynamic)
{
	if (isdigit((unsigned char)name[0]) && !name[1])
		return argument(l, (size_t)(name[0] - '0'), dynamic);
	if (l->place && str_equal(name, "DPKG_MAINTSCRIPT_ARCH") && *l->place->arch)
		return l->place->arch;
	if (l->place && str_equal(name, "DPKG_MAINTSCRIPT_PACKAGE") && *l->place->package)
		return l->place->package;
	return map_get(&l->variables, name);
}

const char *script_program(const struct script_lexer *l, const char *name, bool *known)
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

/* `text` with its variables' values and without quotes; NULL when one is not known. */
static char *expand(const struct script_lexer *l, const char *text)
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
 * What a command prints of which that is known: the architecture, where a program is, the name
 * behind a diversion. NULL: it is not known.
 */
static const char *output_of(struct script_lexer *l, const char *command)
{
	struct slice rest = slice_trim(slice_str(command)), w[3] = { 0 }, more;
	const char *name, *path;
	bool known;

	for (size_t i = 0; i < ARRAY_LEN(w) && slice_cut(&rest, ' ', &w[i]); i++)
		continue;
	while (rest.data && rest.len && slice_cut(&rest, ' ', &more)) {
		if (!slice_is(more, "2>/dev/null") && !slice_is(more, "||") &&
		    !slice_is(more, "true"))
			return NULL;
	}
	if (str_starts(command, "dpkg --print-architecture") && l->place && *l->place->arch)
		return l->place->arch;
	if (str_starts(command, "dirname /") && !w[2].len && !strpbrk(command, "`*?")) {
		const uint8_t *slash = memrchr(w[1].data, '/', w[1].len);

		return arena_slice(l->arena, slice_of(w[1].data,
						      MAX((size_t)(slash - w[1].data), (size_t)1)));
	}
	if (str_starts(command, "dpkg-divert --listpackage "))
		return "";
	if (str_starts(command, "dpkg-divert --truename ") && w[2].len && !strpbrk(command, "$`"))
		return arena_slice(l->arena, w[2]);
	name = str_starts(command, "command -v ") ? arena_slice(l->arena, w[2])
	       : str_starts(command, "which ")    ? arena_slice(l->arena, w[1])
						  : "";
	path = script_program(l, name, &known);
	return !known ? NULL : path ? path : "";
}

/* "$(…)" or "`…`", from its opening on: what it prints, or as it is written. */
static void take_substitution(struct script_lexer *l, struct strbuf *word, bool *dynamic)
{
	bool ticks = script_peek(l, 0) == '`';
	size_t from = word->len, opening = ticks ? 1 : 2;
	cleanup_free char *raw = NULL, *command = NULL;
	const char *output = NULL;

	strbuf_add(word, l->s.data + l->at, opening);
	l->at += opening;
	take_nested(l, word, ticks ? -2 : '(', ticks ? '`' : ')');
	raw = xstrdup(strbuf_text(word) + from + opening);
	raw[strlen(raw) ? strlen(raw) - 1 : 0] = '\0';
	command = expand(l, raw);
	if (command)
		output = output_of(l, command);
	if (!output) {
		*dynamic = true;
		return;
	}
	strbuf_truncate(word, from);
	strbuf_adds(word, output);
}

static void take_variable(struct script_lexer *l, struct strbuf *word, bool *dynamic, bool quoted)
{
	cleanup_strbuf struct strbuf name = { 0 };
	size_t start = l->at;
	bool braces = script_peek(l, 1) == '{';
	const char *value;

	l->at += braces ? 2 : 1;
	while ((isalnum(script_peek(l, 0)) || script_peek(l, 0) == '_') &&
	       !(name.len == 1 && !braces && isdigit((unsigned char)name.data[0])))
		strbuf_addc(&name, (char)l->s.data[l->at++]);
	if (braces && str_equal(strbuf_text(&name), "DPKG_ROOT") && script_peek(l, 0) != '}') {
		cleanup_strbuf struct strbuf ignored = { 0 };

		take_nested(l, &ignored, '{', '}'); /* it is empty, so there is no use of it */
		return;
	}
	if (braces && script_peek(l, 0) != '}') {
		strbuf_add(word, l->s.data + start, l->at - start);
		take_nested(l, word, '{', '}');
		*dynamic = true;
		return;
	}
	if (braces)
		l->at++;
	if (!name.len && !braces && script_peek(l, 0) >= 0 &&
	    strchr("@*#?-$!", script_peek(l, 0))) {
		l->at++;
		if (script_peek(l, -1) == '@' && l->arguments) {
			strbuf_addc(word, (char)SCRIPT_ALL_ARGUMENTS);
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

/* What a "$" or "`" begins. False when neither stands here. */
static bool take_expansion(struct script_lexer *l, struct strbuf *word, bool *dynamic, bool quoted)
{
	int c = script_peek(l, 0);

	if (c == '`' || (c == '$' && script_peek(l, 1) == '('))
		take_substitution(l, word, dynamic);
	else if (c == '$')
		take_variable(l, word, dynamic, quoted);
	else
		return false;
	return true;
}

static void take_double_quoted(struct script_lexer *l, struct strbuf *word, bool *dynamic)
{
	l->at++;
	while (script_peek(l, 0) >= 0 && script_peek(l, 0) != '"') {
		int c = script_peek(l, 0);

		if (take_expansion(l, word, dynamic, true))
			continue;
		if (c == '\\' && script_peek(l, 1) >= 0) {
			l->at++;
			c = script_peek(l, 0);
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

static void take_word(struct script_lexer *l, struct script_token *t)
{
	cleanup_strbuf struct strbuf word = { 0 };

	while (script_peek(l, 0) >= 0 && !strchr(" \t\r\n;&|()<>", script_peek(l, 0))) {
		int c = script_peek(l, 0);

		if (c == '\'') {
			t->quoted = true;
			for (l->at++; script_peek(l, 0) >= 0 && script_peek(l, 0) != '\'';
			     l->at++) {
				l->line += script_peek(l, 0) == '\n';
				strbuf_addc(&word, (char)script_peek(l, 0));
			}
			l->at++;
		} else if (c == '"') {
			t->quoted = true;
			take_double_quoted(l, &word, &t->dynamic);
		} else if (take_expansion(l, &word, &t->dynamic, false)) {
			t->expanded = true;
		} else if (c == '\\' && script_peek(l, 1) >= 0) {
			if (script_peek(l, 1) == '\n')
				l->line++;
			else
				strbuf_addc(&word, (char)script_peek(l, 1));
			l->at += 2;
		} else {
			strbuf_addc(&word, (char)c);
			l->at++;
		}
	}
	t->text = arena_slice(l->arena, strbuf_slice(&word));
}

static void skip_blanks(struct script_lexer *l)
{
	for (;;) {
		int c = script_peek(l, 0);

		if (c == '\\' && script_peek(l, 1) == '\n') {
			l->at += 2;
			l->line++;
		} else if (c == ' ' || c == '\t' || c == '\r' || c == 0) {
			l->at++;
		} else if (c == '#') {
			while (script_peek(l, 0) >= 0 && script_peek(l, 0) != '\n')
				l->at++;
		} else {
			return;
		}
	}
}

/* "2>&1", ">file", "<<EOF": no words; files that are replaced and texts are kept. */
static void take_redirection(struct script_lexer *l)
{
	struct script_token target = { 0 };
	bool here = script_peek(l, 0) == '<' && script_peek(l, 1) == '<',
	     out = script_peek(l, 0) == '>', other = false, file;
	size_t from = l->at;

	while (script_peek(l, 0) == '<' || script_peek(l, 0) == '>')
		l->at++;
	other = l->at - from > 1 || l->other_output;
	file = out && !l->other_output;
	l->other_output = false;
	l->heredoc_tabs = here && script_peek(l, 0) == '-';
	if (script_peek(l, 0) == '&' || script_peek(l, 0) == '|' || l->heredoc_tabs) {
		other |= script_peek(l, 0) == '&';
		file &= script_peek(l, 0) != '&';
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
	if (file && *target.text && !str_starts(target.text, "/dev/"))
		l->file = target.text;
}

/* One token; false when what stood there is none (a redirection). */
static bool read_token(struct script_lexer *l, struct script_token *t)
{
	int c;

	*t = (struct script_token){ .kind = TOKEN_END };
	skip_blanks(l);
	t->line = l->line;
	c = script_peek(l, 0);
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
	} else if (c == ';' && script_peek(l, 1) == ';') {
		l->at += 2;
		t->kind = TOKEN_CASE_END;
	} else if (c == ';' || c == '&' || c == '|') {
		t->joint = script_peek(l, 1) == c ? (char)c : 0;
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
		    (script_peek(l, 0) != '>' && script_peek(l, 0) != '<'))
			return true;
		l->other_output = t->text[0] != '1';
		return false;
	}
	return true;
}

struct script_token script_next_token(struct script_lexer *l)
{
	struct script_token t;

	while (!read_token(l, &t))
		continue;
	return t;
}
const char *script_whole_word(struct script_lexer *l, const char *text)
{
	char *copy = arena_strdup(l->arena, text);

	for (char *p = copy; *p; p++)
		*p = *p == SCRIPT_SPLIT || *p == SCRIPT_ALL_ARGUMENTS ? ' ' : *p;
	return copy;
}

bool script_is_assignment(const struct script_token *t)
{
	const char *p = t->text;

	if (!isalpha((unsigned char)*p) && *p != '_')
		return false;
	while (isalnum((unsigned char)*p) || *p == '_')
		p++;
	return *p == '=' || (*p == '+' && p[1] == '=');
}
