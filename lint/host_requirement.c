#include "lint/host_requirement.h"

#include "base/strbuf.h"
#include "manifests/dotted.h"

static bool is_operator(char c)
{
	return c && strchr("<>=!", c);
}

static bool same_word(const char *a, const char *b)
{
	return strcasecmp(a, b) == 0;
}

static const char *problem_of(const struct host_requirement_term *t)
{
	static const char *const operators[] = { "=", "!=", "<", "<=", ">", ">=" };
	bool known = false;

	if (!*t->op)
		return "it has no operator";
	if (!*t->property)
		return "it has no property before the operator";
	for (size_t i = 0; i < ARRAY_LEN(operators); i++)
		known |= str_equal(t->op, operators[i]);
	if (!known)
		return "its operator is none of = != < <= > >=";
	if (!*t->value)
		return "it has no value";
	if (same_word(t->property, "brand"))
		return str_equal(t->op, "=") || str_equal(t->op, "!=")
			       ? NULL
			       : "brand takes = and != only";
	if (!same_word(t->property, "cuda") && !same_word(t->property, "driver") &&
	    !same_word(t->property, "arch"))
		return "its property is none of cuda, driver, arch, brand";
	return dotted_is(slice_str(t->value)) ? NULL : "its value is not a version";
}

static void add_term(struct host_requirement *out, struct slice text, struct arena *arena)
{
	struct host_requirement_term t = { .alternative = out->alternatives,
					   .text = arena_slice(arena, text) };
	size_t at = 0, end;

	while (t.text[at] && !is_operator(t.text[at]))
		at++;
	for (end = at; is_operator(t.text[end]);)
		end++;
	t.property = arena_printf(arena, "%.*s", (int)at, t.text);
	t.op = arena_printf(arena, "%.*s", (int)(end - at), t.text + at);
	t.value = t.text + end;
	t.problem = problem_of(&t);
	vec_push(&out->terms, t);
}

void host_requirement_parse(const char *expression, struct arena *arena,
			    struct host_requirement *out)
{
	struct slice rest = slice_str(expression), alternative, term;

	*out = (struct host_requirement){ 0 };
	while (slice_cut(&rest, ' ', &alternative)) {
		if (!alternative.len)
			continue;
		out->comma_then_blank |=
			alternative.data[alternative.len - 1] == ',' && rest.data && rest.len;
		while (slice_cut(&alternative, ',', &term)) {
			if (term.len)
				add_term(out, term, arena);
			else
				out->has_empty_factor = true;
		}
		out->alternatives++;
	}
}

void host_requirement_release(struct host_requirement *requirement)
{
	vec_release(&requirement->terms);
}

const char *host_requirement_text(const struct host_requirement *requirement, struct arena *arena)
{
	cleanup_strbuf struct strbuf text = { 0 };
	size_t open = SIZE_MAX;

	for (size_t i = 0; i < requirement->terms.len; i++) {
		const struct host_requirement_term *t = &requirement->terms.items[i];

		if (t->alternative != open)
			strbuf_addf(&text, "%s(", open == SIZE_MAX ? "" : ") OR ");
		else
			strbuf_adds(&text, " AND ");
		open = t->alternative;
		strbuf_adds(&text, t->text);
	}
	if (requirement->terms.len)
		strbuf_addc(&text, ')');
	return arena_strdup(arena, strbuf_text(&text));
}

/* What the terms on one property leave: versions from `low` to `high`. */
struct range {
	const char *low, *high; /* NULL: open */
	bool low_open, high_open;
};

static void narrow_low(struct range *r, const char *value, bool open)
{
	int order = r->low ? dotted_order(value, r->low) : 1;

	if (order > 0)
		*r = (struct range){ value, r->high, open, r->high_open };
	else if (order == 0)
		r->low_open |= open;
}

static void narrow_high(struct range *r, const char *value, bool open)
{
	int order = r->high ? dotted_order(value, r->high) : -1;

	if (order < 0)
		*r = (struct range){ r->low, value, r->low_open, open };
	else if (order == 0)
		r->high_open |= open;
}

static bool range_is_void(const struct host_requirement *q, size_t alternative,
			  const char *property)
{
	struct range r = { 0 };
	int order;

	for (size_t i = 0; i < q->terms.len; i++) {
		const struct host_requirement_term *t = &q->terms.items[i];

		if (t->alternative != alternative || t->problem ||
		    !same_word(t->property, property) || str_equal(t->op, "!="))
			continue;
		if (*t->op == '>' || *t->op == '=')
			narrow_low(&r, t->value, str_equal(t->op, ">"));
		if (*t->op == '<' || *t->op == '=')
			narrow_high(&r, t->value, str_equal(t->op, "<"));
	}
	if (!r.low || !r.high)
		return false;
	order = dotted_order(r.low, r.high);
	return order > 0 || (order == 0 && (r.low_open || r.high_open));
}

bool host_requirement_is_void(const struct host_requirement *q, size_t alternative)
{
	const char *brand = NULL;

	for (size_t i = 0; i < q->terms.len; i++) {
		const struct host_requirement_term *t = &q->terms.items[i];

		if (t->alternative != alternative || t->problem ||
		    !same_word(t->property, "brand") || !str_equal(t->op, "="))
			continue;
		if (brand && !same_word(brand, t->value))
			return true;
		brand = t->value;
	}
	return range_is_void(q, alternative, "cuda") || range_is_void(q, alternative, "driver") ||
	       range_is_void(q, alternative, "arch");
}
