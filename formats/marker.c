#include "formats/marker.h"

#include <ctype.h>

#include "formats/wheel_meta.h"

enum { DEPTH_MAX = 32, EXTRAS_MAX = 32, RELEASE_MAX = 16 };

/* A version as numbers that compare; see PEP 440, "Summary of permitted suffixes". */
struct version {
	uint64_t epoch, release[RELEASE_MAX];
	size_t count;
	int pre_kind; /* 0 dev alone, 1 a, 2 b, 3 rc, 4 none */
	uint64_t pre;
	uint64_t post; /* 0: none, else the number + 1 */
	uint64_t dev;  /* UINT64_MAX: none */
};

static void lower(struct slice s, struct strbuf *out)
{
	for (size_t i = 0; i < s.len; i++)
		strbuf_addc(out, (char)tolower(s.data[i]));
}

static bool digits(const char **at, uint64_t *out)
{
	size_t n = strspn(*at, "0123456789");

	if (!n || n > 18 || !slice_u64(slice_of(*at, n), out))
		return false;
	*at += n;
	return true;
}

/* One of `names` after an optional separator, and its number (0 when left out). */
static bool suffix(const char **at, const char *const *names, size_t count, size_t *out_which,
		   uint64_t *out_number)
{
	const char *p = *at + (**at && strchr("-_.", **at) ? 1 : 0);

	for (size_t i = 0; i < count; i++) {
		const char *after = p + strlen(names[i]);

		if (!str_starts(p, names[i]))
			continue;
		if (*after && strchr("-_.", *after) && isdigit((unsigned char)after[1]))
			after++;
		*out_number = 0;
		if (isdigit((unsigned char)*after) && !digits(&after, out_number))
			return false;
		*out_which = i;
		*at = after;
		return true;
	}
	return false;
}

static bool read_release(const char **at, struct version *out)
{
	const char *p = *at;

	if (*p == 'v')
		p++;
	if (!digits(&p, &out->release[0]))
		return false;
	if (*p == '!') {
		out->epoch = out->release[0];
		p++;
		if (!digits(&p, &out->release[0]))
			return false;
	}
	out->count = 1;
	while (p[0] == '.' && isdigit((unsigned char)p[1])) {
		p++;
		if (out->count == RELEASE_MAX || !digits(&p, &out->release[out->count++]))
			return false;
	}
	*at = p;
	return true;
}

static bool version_parse(struct slice text, struct version *out)
{
	static const char *const pre[] = { "alpha", "beta", "preview", "pre", "rc", "a", "b", "c" };
	static const int kinds[] = { 1, 2, 3, 3, 3, 1, 2, 3 };
	static const char *const post[] = { "post", "rev", "r" }, *const dev[] = { "dev" };
	cleanup_strbuf struct strbuf low = { 0 };
	const char *at;
	uint64_t number;
	size_t which;

	lower(slice_trim(text), &low);
	at = strbuf_text(&low);
	*out = (struct version){ .pre_kind = 4, .dev = UINT64_MAX };
	if (strlen(at) != low.len || !read_release(&at, out))
		return false;
	if (suffix(&at, pre, ARRAY_LEN(pre), &which, &out->pre))
		out->pre_kind = kinds[which];
	if (suffix(&at, post, ARRAY_LEN(post), &which, &number) ||
	    (at[0] == '-' && isdigit((unsigned char)at[1]) && at++ && digits(&at, &number)))
		out->post = number + 1;
	if (suffix(&at, dev, ARRAY_LEN(dev), &which, &number)) {
		out->dev = number;
		if (out->pre_kind == 4 && !out->post)
			out->pre_kind = 0;
	}
	if (*at == '+' && at[1])
		at += 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789.-_");
	return !*at;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_release(const struct version *a, const struct version *b, size_t count)
{
	int c = order(a->epoch, b->epoch);

	for (size_t i = 0; i < count && c == 0; i++)
		c = order(i < a->count ? a->release[i] : 0, i < b->count ? b->release[i] : 0);
	return c;
}

static int compare(const struct version *a, const struct version *b)
{
	int c = compare_release(a, b, RELEASE_MAX);

	if (c == 0)
		c = (a->pre_kind > b->pre_kind) - (a->pre_kind < b->pre_kind);
	if (c == 0)
		c = order(a->pre, b->pre);
	if (c == 0)
		c = order(a->post, b->post);
	return c ? c : order(a->dev, b->dev);
}

bool marker_version_meets(struct slice version, struct slice op, struct slice specified,
			  bool *out_valid)
{
	struct version a, b;
	bool prefix = specified.len > 2 && specified.data[specified.len - 1] == '*' &&
		      specified.data[specified.len - 2] == '.';
	bool equal = slice_is(op, "=="), unequal = slice_is(op, "!=");
	int c;

	if (prefix)
		specified.len -= 2;
	*out_valid = version_parse(version, &a) && version_parse(specified, &b) &&
		     (!prefix || equal || unequal);
	if (!*out_valid)
		return false;
	c = prefix ? compare_release(&a, &b, b.count) : compare(&a, &b);
	if (equal || slice_is(op, "==="))
		return c == 0;
	if (unequal)
		return c != 0;
	if (slice_is(op, "<="))
		return c <= 0;
	if (slice_is(op, ">="))
		return c >= 0;
	if (slice_is(op, "<"))
		return c < 0;
	if (slice_is(op, ">"))
		return c > 0;
	*out_valid = slice_is(op, "~=") && b.count >= 2;
	return *out_valid && c >= 0 && compare_release(&a, &b, b.count - 1) == 0;
}

struct parser {
	struct slice text, rest;
	const struct marker_environment *environment;
	const char *extra;
	unsigned depth;
	struct error *err;
};

static int bad(const struct parser *p, const char *what)
{
	cleanup_strbuf struct strbuf shown = { 0 };

	strbuf_add_quoted(&shown, p->text, 120);
	return error_set(p->err, ERROR_FORMAT, "marker %s: %s", strbuf_text(&shown), what);
}

static void skip(struct parser *p)
{
	p->rest = slice_trim(p->rest);
}

/* The word at the front: letters, digits, "_" and ".". */
static struct slice word(const struct parser *p)
{
	size_t n = 0;

	while (n < p->rest.len &&
	       (isalnum(p->rest.data[n]) || p->rest.data[n] == '_' || p->rest.data[n] == '.'))
		n++;
	return slice_of(p->rest.data, n);
}

static void drop(struct parser *p, size_t n)
{
	p->rest = slice_of(p->rest.data + n, p->rest.len - n);
	skip(p);
}

static bool take_word(struct parser *p, const char *text)
{
	if (!slice_is(word(p), text))
		return false;
	drop(p, strlen(text));
	return true;
}

/* The value of a variable; PEP 345's names with dots too. NULL: there is none of that name. */
static const char *variable(const struct parser *p, struct slice name)
{
	const struct {
		const char *name, *old, *value;
	} all[] = {
		{ "python_version", "", p->environment->python_version },
		{ "python_full_version", "", p->environment->python_full_version },
		{ "implementation_version", "", p->environment->python_full_version },
		{ "platform_machine", "platform.machine", p->environment->platform_machine },
		{ "platform_system", "", "Linux" },
		{ "sys_platform", "sys.platform", "linux" },
		{ "os_name", "os.name", "posix" },
		{ "implementation_name", "", "cpython" },
		{ "platform_python_implementation", "platform.python_implementation", "CPython" },
		{ "python_implementation", "", "CPython" },
		{ "platform_release", "", "" }, /* of the host's kernel: nothing to know */
		{ "platform_version", "platform.version", "" },
		{ "extra", "", p->extra },
		{ "dependency_groups", "", p->environment->groups },
		{ "extras", "", p->environment->groups ? " " : NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (slice_is(name, all[i].name) || (*all[i].old && slice_is(name, all[i].old)))
			return all[i].value;
	}
	return NULL;
}

struct operand {
	struct slice value;
	bool is_extra, is_set;
};

static int operand(struct parser *p, struct operand *out)
{
	struct slice name = word(p);
	const char *value;

	out->is_extra = out->is_set = false;
	if (p->rest.len && (p->rest.data[0] == '\'' || p->rest.data[0] == '"')) {
		const uint8_t *end =
			p->rest.len > 1 ? memchr(p->rest.data + 1, p->rest.data[0], p->rest.len - 1)
					: NULL;

		if (!end)
			return bad(p, "a text has no closing quote");
		out->value = slice_of(p->rest.data + 1, (size_t)(end - p->rest.data) - 1);
		drop(p, out->value.len + 2);
		return 0;
	}
	value = name.len ? variable(p, name) : NULL;
	if (!value)
		return bad(p, "neither a text nor a known variable");
	out->is_extra = slice_is(name, "extra");
	out->is_set = slice_is(name, "extras") || slice_is(name, "dependency_groups");
	out->value = slice_str(value);
	drop(p, name.len);
	return 0;
}

static int operator_of(struct parser *p, struct slice *out)
{
	static const char *const signs[] = { "===", "==", "~=", "!=", "<=", ">=", "<", ">" };

	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		if (slice_starts(p->rest, signs[i])) {
			*out = slice_str(signs[i]);
			drop(p, out->len);
			return 0;
		}
	}
	*out = slice_str("in");
	if (take_word(p, "in"))
		return 0;
	*out = slice_str("not in");
	if (take_word(p, "not") && take_word(p, "in"))
		return 0;
	return bad(p, "there is no comparison");
}

static bool equal_extras(struct slice a, struct slice b)
{
	cleanup_arena struct arena arena = { 0 };

	return str_equal(wheel_normalize(a, &arena), wheel_normalize(b, &arena));
}

/* Whether a name is one of " a b ". */
static bool in_set(struct slice name, struct slice set)
{
	cleanup_arena struct arena arena = { 0 };
	const char *padded = arena_printf(&arena, " %s ", wheel_normalize(name, &arena));

	return memmem(set.data, set.len, padded, strlen(padded)) != NULL;
}

static int text_order(struct slice a, struct slice b)
{
	size_t n = MIN(a.len, b.len);
	int c = n ? memcmp(a.data, b.data, n) : 0;

	return c ? c : order(a.len, b.len);
}

static int judge(const struct parser *p, const struct operand *a, struct slice op,
		 const struct operand *b, bool *out)
{
	bool valid, inside;
	int c;

	if (b->is_set && (slice_is(op, "in") || slice_is(op, "not in"))) {
		*out = in_set(a->value, b->value) == slice_is(op, "in");
		return 0;
	}
	if (a->is_set || b->is_set)
		return bad(p, "extras and dependency_groups are asked with 'in' and 'not in'");
	if (slice_is(op, "in") || slice_is(op, "not in")) {
		inside = !a->value.len || (b->value.len && memmem(b->value.data, b->value.len,
								  a->value.data, a->value.len));
		*out = inside == slice_is(op, "in");
		return 0;
	}
	if (a->is_extra || b->is_extra) {
		inside = equal_extras(a->value, b->value);
		*out = slice_is(op, "!=") ? !inside : slice_is(op, "==") && inside;
		return 0;
	}
	*out = marker_version_meets(a->value, op, b->value, &valid);
	if (valid)
		return 0;
	if (slice_is(op, "~="))
		return bad(p, "~= compares versions");
	c = text_order(a->value, b->value);
	*out = slice_is(op, "!=")   ? c != 0
	       : slice_is(op, "<=") ? c <= 0
	       : slice_is(op, ">=") ? c >= 0
	       : slice_is(op, "<")  ? c < 0
	       : slice_is(op, ">")  ? c > 0
				    : c == 0;
	return 0;
}

static int parse_or(struct parser *p, bool *out);

static int parse_one(struct parser *p, bool *out)
{
	struct operand a, b;
	struct slice op;

	skip(p);
	if (p->rest.len && p->rest.data[0] == '(') {
		if (++p->depth > DEPTH_MAX)
			return error_set(p->err, ERROR_LIMIT,
					 "a marker's brackets are more than %d deep", DEPTH_MAX);
		drop(p, 1);
		if (parse_or(p, out) < 0)
			return -1;
		if (!p->rest.len || p->rest.data[0] != ')')
			return bad(p, "a bracket is not closed");
		drop(p, 1);
		p->depth--;
		return 0;
	}
	if (operand(p, &a) < 0 || operator_of(p, &op) < 0 || operand(p, &b) < 0)
		return -1;
	return judge(p, &a, op, &b, out);
}

static int parse_and(struct parser *p, bool *out)
{
	bool next;

	if (parse_one(p, out) < 0)
		return -1;
	while (take_word(p, "and")) {
		if (parse_one(p, &next) < 0)
			return -1;
		*out &= next;
	}
	return 0;
}

static int parse_or(struct parser *p, bool *out)
{
	bool next;

	if (parse_and(p, out) < 0)
		return -1;
	while (take_word(p, "or")) {
		if (parse_and(p, &next) < 0)
			return -1;
		*out |= next;
	}
	return 0;
}

int marker_evaluate(struct slice marker, const struct marker_environment *environment,
		    const char *extra, bool *out, struct error *err)
{
	struct parser p = { .text = marker,
			    .rest = slice_trim(marker),
			    .environment = environment,
			    .extra = extra,
			    .err = err };

	*out = true;
	if (!p.rest.len)
		return 0;
	if (parse_or(&p, out) < 0)
		return -1;
	return p.rest.len ? bad(&p, "something follows its end") : 0;
}

bool marker_version_in(struct slice version, struct slice specifiers, bool *out_valid)
{
	struct slice part;
	bool all = true;

	*out_valid = true;
	while (slice_cut(&specifiers, ',', &part)) {
		struct slice op = slice_trim(part), rest;
		size_t n = 0;
		bool valid;

		if (!op.len)
			continue;
		while (n < op.len && byte_in(op.data[n], "=!<>~"))
			n++;
		rest = slice_trim(slice_of(op.data + n, op.len - n));
		op.len = n;
		all &= marker_version_meets(version, op, rest, &valid);
		*out_valid &= valid && n;
	}
	return all && *out_valid;
}

static bool name_char(uint8_t c)
{
	return isalnum(c) || c == '-' || c == '_' || c == '.';
}

static int parse_extras(struct parser *p, struct arena *arena, struct requirement *out)
{
	struct slice inside, rest, part;
	const uint8_t *end = memchr(p->rest.data, ']', p->rest.len);

	if (!end)
		return bad(p, "a bracket is not closed");
	inside = slice_of(p->rest.data + 1, (size_t)(end - p->rest.data) - 1);
	out->extras = arena_array(arena, EXTRAS_MAX, sizeof(*out->extras));
	rest = inside;
	while (slice_cut(&rest, ',', &part)) {
		part = slice_trim(part);
		if (!part.len)
			continue;
		if (out->extra_count == EXTRAS_MAX)
			return error_set(p->err, ERROR_LIMIT,
					 "a requirement has more than %d extras", EXTRAS_MAX);
		out->extras[out->extra_count++] = wheel_normalize(part, arena);
	}
	drop(p, inside.len + 2);
	return 0;
}

int requirement_parse(struct slice text, struct arena *arena, struct requirement *out,
		      struct error *err)
{
	struct parser p = { .text = text, .rest = slice_trim(text), .err = err };
	const uint8_t *semicolon;
	size_t n = 0;

	*out = (struct requirement){ 0 };
	while (n < p.rest.len && name_char(p.rest.data[n]))
		n++;
	if (!n || !isalnum(p.rest.data[0]))
		return bad(&p, "it does not begin with a name");
	out->name = wheel_normalize(slice_of(p.rest.data, n), arena);
	drop(&p, n);
	if (p.rest.len && p.rest.data[0] == '[' && parse_extras(&p, arena, out) < 0)
		return -1;
	if (p.rest.len && !byte_in(p.rest.data[0], "<>=!~(@;"))
		return bad(&p, "a version, an address or a marker must follow the name");
	/* in an address a ";" without a blank before it belongs to the address */
	semicolon = p.rest.len && p.rest.data[0] == '@' ? memmem(p.rest.data, p.rest.len, " ;", 2)
		    : p.rest.len                        ? memchr(p.rest.data, ';', p.rest.len)
							: NULL;
	if (semicolon) {
		semicolon += *semicolon == ' ';
		out->marker = slice_trim(slice_of(
			semicolon + 1, p.rest.len - (size_t)(semicolon + 1 - p.rest.data)));
	}
	return 0;
}
