#include "builder/sources/deb_version.h"

enum { VERSION_LIMIT = 256, EPOCH_DIGITS = 9 };

struct parts {
	struct slice epoch, upstream, revision;
};

static inline bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_letter(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static struct parts split(struct slice v)
{
	struct parts p = { .upstream = v };
	const uint8_t *colon = v.len ? memchr(v.data, ':', v.len) : NULL;
	const uint8_t *hyphen;

	if (colon) {
		p.epoch = slice_of(v.data, (size_t)(colon - v.data));
		p.upstream = slice_of(colon + 1, v.len - p.epoch.len - 1);
	}
	hyphen = p.upstream.len ? memrchr(p.upstream.data, '-', p.upstream.len) : NULL;
	if (hyphen) {
		size_t at = (size_t)(hyphen - p.upstream.data);

		p.revision = slice_of(hyphen + 1, p.upstream.len - at - 1);
		p.upstream.len = at;
	}
	return p;
}

/* Rank of the character at `i` within a run of non-digits; a digit ends the run as the end does. */
static inline int rank(struct slice s, size_t i)
{
	if (i >= s.len || is_digit(s.data[i]))
		return 0;
	if (s.data[i] == '~')
		return -1;
	return is_letter(s.data[i]) ? s.data[i] : s.data[i] + 256;
}

static int compare_digits(struct slice a, size_t *i, struct slice b, size_t *j)
{
	int first = 0;

	while (*i < a.len && a.data[*i] == '0')
		(*i)++;
	while (*j < b.len && b.data[*j] == '0')
		(*j)++;
	for (; *i < a.len && *j < b.len && is_digit(a.data[*i]) && is_digit(b.data[*j]);
	     (*i)++, (*j)++) {
		if (!first)
			first = a.data[*i] - b.data[*j];
	}
	if (*i < a.len && is_digit(a.data[*i]))
		return 1;
	if (*j < b.len && is_digit(b.data[*j]))
		return -1;
	return first;
}

static int compare_part(struct slice a, struct slice b)
{
	size_t i = 0, j = 0;

	while (i < a.len || j < b.len) {
		int order;

		while ((i < a.len && !is_digit(a.data[i])) || (j < b.len && !is_digit(b.data[j]))) {
			int x = rank(a, i), y = rank(b, j);

			if (x != y)
				return x - y;
			i++, j++;
		}
		order = compare_digits(a, &i, b, &j);
		if (order)
			return order;
	}
	return 0;
}

int deb_version_compare(struct slice a, struct slice b)
{
	struct parts x, y;
	int order;

	if (slice_equal(a, b))
		return 0;
	x = split(a);
	y = split(b);
	order = compare_part(x.epoch, y.epoch);
	if (!order)
		order = compare_part(x.upstream, y.upstream);
	return order ? order : compare_part(x.revision, y.revision);
}

bool deb_version_valid(struct slice version)
{
	struct parts p = split(version);
	bool epoch = p.epoch.data != NULL, revision = p.revision.data != NULL;

	if (version.len > VERSION_LIMIT || !p.upstream.len)
		return false;
	if ((epoch && (!p.epoch.len || p.epoch.len > EPOCH_DIGITS)) ||
	    (revision && !p.revision.len))
		return false;
	for (size_t i = 0; i < p.epoch.len; i++) {
		if (!is_digit(p.epoch.data[i]))
			return false;
	}
	for (size_t i = 0; i < p.upstream.len; i++) {
		uint8_t c = p.upstream.data[i];

		if (!is_letter(c) && !is_digit(c) && !(c && strchr(".+~-:", c)))
			return false;
	}
	for (size_t i = 0; i < p.revision.len; i++) {
		uint8_t c = p.revision.data[i];

		if (!is_letter(c) && !is_digit(c) && !(c && strchr(".+~", c)))
			return false;
	}
	return true;
}

bool deb_version_satisfies(struct slice version, enum deb_operator op, struct slice wanted)
{
	int order = op == DEB_ANY ? 0 : deb_version_compare(version, wanted);

	switch (op) {
	case DEB_ANY:
		return true;
	case DEB_EARLIER:
		return order < 0;
	case DEB_EARLIER_EQUAL:
		return order <= 0;
	case DEB_EQUAL:
		return order == 0;
	case DEB_LATER_EQUAL:
		return order >= 0;
	case DEB_LATER:
		return order > 0;
	}
	return false;
}

static const struct {
	const char *text;
	enum deb_operator op;
} operators[] = {
	{ "<<", DEB_EARLIER },     { "<=", DEB_EARLIER_EQUAL }, { "=", DEB_EQUAL },
	{ ">=", DEB_LATER_EQUAL }, { ">>", DEB_LATER },         { "<", DEB_EARLIER_EQUAL },
	{ ">", DEB_LATER_EQUAL },
};

bool deb_operator_parse(struct slice text, enum deb_operator *out)
{
	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		if (slice_is(text, operators[i].text)) {
			*out = operators[i].op;
			return true;
		}
	}
	return false;
}

const char *deb_operator_text(enum deb_operator op)
{
	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		if (operators[i].op == op)
			return operators[i].text;
	}
	return "";
}

bool deb_version_matches(struct slice version, struct slice pattern)
{
	size_t v = 0, p = 0, star = SIZE_MAX, resume = 0;

	/* Only the last star ever needs another try, so this is at worst a product of lengths. */
	while (v < version.len) {
		if (p < pattern.len && pattern.data[p] == '*') {
			star = p++;
			resume = v;
		} else if (p < pattern.len &&
			   (pattern.data[p] == '?' || pattern.data[p] == version.data[v])) {
			p++, v++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			v = ++resume;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.data[p] == '*')
		p++;
	return p == pattern.len;
}
