#include "manifests/dotted.h"

/*
 * The number up to the next dot (what follows its digits is passed over), UINT64_MAX when it is too
 * large; *rest has no data after the last. By hand, since the solver compares versions by the
 * hundred thousand.
 */
static uint64_t next_number(struct slice *rest)
{
	const uint8_t *at = rest->data, *end = at ? at + rest->len : NULL;
	uint64_t v = 0;

	for (; at < end && *at >= '0' && *at <= '9'; at++)
		v = v > (UINT64_MAX - 9) / 10 ? UINT64_MAX : v * 10 + (uint64_t)(*at - '0');
	while (at < end && *at != '.')
		at++;
	*rest = at < end ? slice_of(at + 1, (size_t)(end - at - 1)) : (struct slice){ 0 };
	return v;
}

int dotted_compare(struct slice a, struct slice b)
{
	while (a.data || b.data) {
		uint64_t i = next_number(&a), k = next_number(&b);

		if (i != k)
			return i < k ? -1 : 1;
	}
	return 0;
}

int dotted_order(const char *a, const char *b)
{
	return dotted_compare(slice_str(a), slice_str(b));
}

int dotted_order_minor(const char *a, const char *b)
{
	for (size_t i = 0; i < 2; i++) {
		uint64_t x = dotted_number(a, i), y = dotted_number(b, i);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

bool dotted_is(struct slice s)
{
	struct slice piece;
	uint64_t ignored;

	if (!s.len)
		return false;
	while (slice_cut(&s, '.', &piece)) {
		if (!slice_u64(piece, &ignored))
			return false;
	}
	return true;
}

uint64_t dotted_number(const char *version, size_t n)
{
	struct slice rest = slice_str(version);
	uint64_t v = 0;

	for (size_t i = 0; i <= n; i++)
		v = next_number(&rest);
	return v;
}

bool dotted_prefix(struct slice a, struct slice b)
{
	while (a.data && b.data) {
		if (next_number(&a) != next_number(&b))
			return false;
	}
	return true;
}

/* `op` becomes one of ">=" "<=" "==" "!=" "~=" ">" "<", or "=*" and "!*" for all that begin so. */
static struct slice cut_operator(struct slice text, const char **op)
{
	static const char *const ops[] = { ">=", "<=", "==", "!=", "~=", ">", "<", "=" };
	bool plain;

	text = slice_trim(text);
	plain = text.len && text.data[0] >= '0' && text.data[0] <= '9';
	*op = "=*";
	for (size_t i = 0; !plain && i < ARRAY_LEN(ops); i++) {
		size_t n = strlen(ops[i]);

		if (slice_starts(text, ops[i])) {
			*op = str_equal(ops[i], "=") ? "=*" : ops[i];
			text = slice_trim(slice_of(text.data + n, text.len - n));
			break;
		}
	}
	if (text.len > 2 && text.data[text.len - 1] == '*' && text.data[text.len - 2] == '.') {
		text.len -= 2;
		if (str_equal(*op, "=="))
			*op = "=*";
		else if (str_equal(*op, "!="))
			*op = "!*";
	}
	return text;
}

int dotted_range_check(const char *range, struct error *err)
{
	struct slice rest = slice_str(range), piece;

	while (slice_cut(&rest, ',', &piece)) {
		const char *op;

		if (!dotted_is(cut_operator(piece, &op)))
			return error_set(err, ERROR_USAGE,
					 "'%.60s' is not a version or a range such as 12.6, 2.7.* "
					 "or >=12.4,<13",
					 range);
	}
	return 0;
}

/* "~=2.7.1" is ">=2.7.1" with the numbers before the last fixed. */
static bool compatible(struct slice version, struct slice bound)
{
	struct slice head = bound;

	while (head.len && head.data[head.len - 1] != '.')
		head.len--;
	if (head.len)
		head.len--;
	return dotted_compare(version, bound) >= 0 && (!head.len || dotted_prefix(version, head));
}

static bool holds(struct slice version, const char *op, struct slice bound)
{
	if (op[0] == '=')
		return op[1] == '*' ? dotted_prefix(version, bound)
				    : dotted_compare(version, bound) == 0;
	if (op[0] == '!')
		return op[1] == '*' ? !dotted_prefix(version, bound)
				    : dotted_compare(version, bound) != 0;
	if (op[0] == '~')
		return compatible(version, bound);
	if (op[0] == '>')
		return op[1] ? dotted_compare(version, bound) >= 0
			     : dotted_compare(version, bound) > 0;
	return op[1] ? dotted_compare(version, bound) <= 0 : dotted_compare(version, bound) < 0;
}

bool dotted_in(const char *version, const char *range)
{
	struct slice rest = slice_str(range ? range : ""), piece;

	if (!rest.len)
		return true;
	while (slice_cut(&rest, ',', &piece)) {
		const char *op;
		struct slice bound = cut_operator(piece, &op);

		if (!holds(slice_str(version), op, bound))
			return false;
	}
	return true;
}

const char *dotted_plain(const char *range)
{
	while (*range == '=')
		range++;
	return range;
}
