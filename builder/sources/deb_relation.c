#include "builder/sources/deb_relation.h"

enum { NAME_LIMIT = 200, ARCH_LIMIT = 32 };

static inline bool is_name_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       c == '+' || c == '-' || c == '.' || c == '_';
}

static bool is_word(struct slice s, size_t limit)
{
	if (!s.len || s.len > limit || s.data[0] == '+' || s.data[0] == '-' || s.data[0] == '.' ||
	    s.data[0] == '_')
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!is_name_byte(s.data[i]))
			return false;
	}
	return true;
}

bool deb_name_valid(struct slice name)
{
	return is_word(name, NAME_LIMIT);
}

bool deb_relation_group(struct slice *rest, struct slice *out)
{
	while (slice_cut(rest, ',', out)) {
		*out = slice_trim(*out);
		if (out->len)
			return true;
	}
	return false;
}

/* What stands in the parentheses. */
static bool parse_version(struct slice inner, struct deb_relation *out)
{
	size_t n = 0;

	inner = slice_trim(inner);
	while (n < inner.len && inner.data[n] && strchr("<>=", inner.data[n]))
		n++;
	if (!deb_operator_parse(slice_of(inner.data, n), &out->op))
		return false;
	out->version = slice_trim(slice_of(inner.data + n, inner.len - n));
	return deb_version_valid(out->version);
}

static bool parse(struct slice text, struct deb_relation *out)
{
	size_t n = 0;
	struct slice rest;

	*out = (struct deb_relation){ 0 };
	while (n < text.len && is_name_byte(text.data[n]))
		n++;
	out->name = slice_of(text.data, n);
	if (!deb_name_valid(out->name))
		return false;
	rest = slice_of(text.data + n, text.len - n);
	if (rest.len && rest.data[0] == ':') {
		for (n = 1; n < rest.len && is_name_byte(rest.data[n]); n++)
			;
		out->arch = slice_of(rest.data + 1, n - 1);
		if (!is_word(out->arch, ARCH_LIMIT))
			return false;
		rest = slice_of(rest.data + n, rest.len - n);
	}
	rest = slice_trim(rest);
	if (!rest.len)
		return true;
	if (rest.len < 2 || rest.data[0] != '(' || rest.data[rest.len - 1] != ')')
		return false;
	return parse_version(slice_of(rest.data + 1, rest.len - 2), out);
}

int deb_relation_next(struct slice *group, struct deb_relation *out)
{
	struct slice text;

	if (!slice_cut(group, '|', &text)) {
		*out = (struct deb_relation){ 0 };
		return 0;
	}
	if (parse(slice_trim(text), out))
		return 1;
	*out = (struct deb_relation){ 0 };
	return -1;
}
