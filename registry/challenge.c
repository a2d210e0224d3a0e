#include "registry/challenge.h"

#include "base/strbuf.h"

struct parser {
	struct slice s;
	size_t at;
	struct arena *arena;
	struct error *err;
};

static int peek(const struct parser *p)
{
	return p->at < p->s.len ? p->s.data[p->at] : -1;
}

static void skip(struct parser *p, const char *set)
{
	while (peek(p) > 0 && strchr(set, peek(p)))
		p->at++;
}

static bool is_token(int c)
{
	return c > 0x20 && c < 0x7f && !strchr("()<>@,;:\\\"/[]?={}", c);
}

static char *lower(struct arena *arena, struct slice s)
{
	char *out = arena_slice(arena, s);

	for (char *c = out; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return out;
}

static struct slice take_token(struct parser *p)
{
	size_t from = p->at;

	while (is_token(peek(p)))
		p->at++;
	return slice_of(p->s.data + from, p->at - from);
}

static int take_quoted(struct parser *p, const char **out)
{
	cleanup_strbuf struct strbuf b = { 0 };

	for (p->at++; peek(p) >= 0; p->at++) {
		if (peek(p) == '"') {
			p->at++;
			*out = arena_slice(p->arena, strbuf_slice(&b));
			return 0;
		}
		if (peek(p) == '\\' && p->at + 1 < p->s.len)
			p->at++;
		strbuf_addc(&b, (char)peek(p));
	}
	return error_set(p->err, ERROR_FORMAT, "authentication challenge: a quote does not end");
}

/* Whether a comma here goes on with the actions of an unquoted scope: ",push" and no more. */
static bool is_action_list(const struct parser *p)
{
	struct parser look = *p;

	if (peek(&look) != ',')
		return false;
	look.at++;
	if (!take_token(&look).len)
		return false;
	return peek(&look) < 0 || peek(&look) == ',';
}

static const char *take_unquoted(struct parser *p, const char *name)
{
	size_t from = p->at;

	for (; peek(p) > 0 && !strchr(" \t", peek(p)); p->at++)
		if (peek(p) == ',' && !(str_equal(name, "scope") && is_action_list(p)))
			break;
	return arena_slice(p->arena, slice_of(p->s.data + from, p->at - from));
}

/* After "name" and before "=". */
static int take_param(struct parser *p, struct challenge *c, struct slice name)
{
	struct challenge_param param = { .name = lower(p->arena, name), .value = "" };

	if (c->param_count == CHALLENGE_PARAMS_MAX)
		return error_set(p->err, ERROR_LIMIT,
				 "authentication challenge: more than %d parameters",
				 CHALLENGE_PARAMS_MAX);
	p->at++;
	skip(p, " \t");
	if (peek(p) == '"') {
		if (take_quoted(p, &param.value) < 0)
			return -1;
	} else {
		param.value = take_unquoted(p, param.name);
	}
	c->params[c->param_count++] = param;
	return 0;
}

/* Whether what stands after a token makes it the name of a parameter. */
static bool is_param(struct parser *p)
{
	size_t token_end = p->at;

	skip(p, " \t");
	if (peek(p) == '=')
		return true;
	p->at = token_end;
	return false;
}

/* "Negotiate YWJj==": of no use to us. */
static void skip_token68(struct parser *p)
{
	struct parser look = *p;

	skip(&look, " \t");
	while (is_token(peek(&look)) || peek(&look) == '/')
		look.at++;
	if (peek(&look) != '=' && peek(&look) != ',' && peek(&look) >= 0)
		return;
	skip(&look, "=");
	skip(&look, " \t");
	if (peek(&look) == ',' || peek(&look) < 0)
		p->at = look.at;
}

int challenge_parse(struct slice header, struct arena *arena, struct challenges *out,
		    struct error *err)
{
	struct parser p = { .s = slice_trim(header), .arena = arena, .err = err };
	struct challenge *current = NULL;

	if (p.s.len > CHALLENGE_BYTES_MAX || (p.s.len && memchr(p.s.data, 0, p.s.len)))
		return error_set(err, ERROR_LIMIT, "authentication challenge: too long, or binary");
	while (skip(&p, " \t,"), peek(&p) >= 0) {
		struct slice token = take_token(&p);

		if (!token.len)
			return error_set(err, ERROR_FORMAT,
					 "authentication challenge: a scheme or parameter should "
					 "stand at byte %zu",
					 p.at);
		if (current && is_param(&p)) {
			if (take_param(&p, current, token) < 0)
				return -1;
			continue;
		}
		if (out->len == CHALLENGE_COUNT_MAX)
			return error_set(err, ERROR_LIMIT, "more than %d authentication challenges",
					 CHALLENGE_COUNT_MAX);
		current = vec_add(out);
		current->scheme = lower(arena, token);
		skip_token68(&p);
	}
	return 0;
}

void challenges_release(struct challenges *c)
{
	vec_release(c);
}

const struct challenge *challenge_find(const struct challenges *c, const char *scheme)
{
	for (size_t i = 0; i < c->len; i++)
		if (str_equal(c->items[i].scheme, scheme))
			return &c->items[i];
	return NULL;
}

const char *challenge_param(const struct challenge *c, const char *name)
{
	for (size_t i = 0; i < c->param_count; i++)
		if (str_equal(c->params[i].name, name))
			return c->params[i].value;
	return NULL;
}
