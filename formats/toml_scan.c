#include "formats/toml_scan.h"

#include <ctype.h>

#include "base/alloc.h"

enum { SHOWN = 40 };

struct toml_place toml_here(struct toml_scan *s)
{
	for (; s->counted < s->at; s->counted++) {
		if (s->text.data[s->counted] == '\n') {
			s->place.line++;
			s->place.column = 1;
		} else if ((s->text.data[s->counted] & 0xc0) != 0x80) {
			s->place.column++;
		}
	}
	return s->place;
}

int toml_bad(const struct toml_scan *s, struct toml_place place, struct error *err, const char *fmt,
	     ...)
{
	cleanup_free char *what = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	return error_set(err, ERROR_FORMAT, "%s:%zu:%zu: not valid TOML: %s", s->name, place.line,
			 place.column, what);
}

size_t toml_newline(const struct toml_scan *s)
{
	return toml_sees(s, "\n") ? 1 : toml_sees(s, "\r\n") ? 2 : 0;
}

static void add_utf8(struct strbuf *out, uint32_t c)
{
	if (c < 0x80) {
		strbuf_addc(out, (char)c);
	} else if (c < 0x800) {
		strbuf_addc(out, (char)(0xc0 | c >> 6));
		strbuf_addc(out, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		strbuf_addc(out, (char)(0xe0 | c >> 12));
		strbuf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
		strbuf_addc(out, (char)(0x80 | (c & 0x3f)));
	} else {
		strbuf_addc(out, (char)(0xf0 | c >> 18));
		strbuf_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
		strbuf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
		strbuf_addc(out, (char)(0x80 | (c & 0x3f)));
	}
}

/* "\u00e9", the cursor on the "u". */
static int unicode_escape(struct toml_scan *s, struct strbuf *out, struct error *err)
{
	size_t digits = toml_peek(s, 0) == 'u' ? 4 : 8;
	struct toml_place place = toml_here(s);
	uint32_t c = 0;

	for (size_t i = 1; i <= digits; i++) {
		int d = toml_peek(s, i);

		if (d < 0 || !isxdigit(d))
			return toml_bad(s, place, err, "this escape needs %zu hexadecimal digits",
					digits);
		c = c << 4 | (uint32_t)(isdigit(d) ? d - '0' : (d | 0x20) - 'a' + 10);
	}
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return toml_bad(s, place, err, "U+%04X is no character", c);
	if (!c)
		return toml_bad(s, place, err, "a NUL character cannot be in a text here");
	add_utf8(out, c);
	s->at += 1 + digits;
	return 0;
}

/* A backslash at the end of a line takes the break and all blanks after it away. */
static bool skip_line_end(struct toml_scan *s)
{
	size_t was = s->at, n;

	while (toml_peek(s, 0) == ' ' || toml_peek(s, 0) == '\t')
		s->at++;
	if (!toml_newline(s)) {
		s->at = was;
		return false;
	}
	for (;;) {
		n = toml_newline(s);
		if (!n && (toml_peek(s, 0) == ' ' || toml_peek(s, 0) == '\t'))
			n = 1;
		if (!n)
			return true;
		s->at += n;
	}
}

/* The cursor is behind the backslash. */
static int escape(struct toml_scan *s, bool multiline, struct strbuf *out, struct error *err)
{
	static const char names[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
	int c = toml_peek(s, 0);
	const char *at = c > 0 ? strchr(names, c) : NULL;

	if (at) {
		strbuf_addc(out, values[at - names]);
		s->at++;
		return 0;
	}
	if (c == 'u' || c == 'U')
		return unicode_escape(s, out, err);
	if (multiline && skip_line_end(s))
		return 0;
	return toml_bad(s, toml_here(s), err, "there is no such escape after \"\\\"");
}

/* Ends a text of three quotes; up to two more quotes before them belong to it. */
static bool closes(struct toml_scan *s, char quote, struct strbuf *out)
{
	size_t n = 0;

	while (n < 5 && toml_peek(s, n) == quote)
		n++;
	if (n < 3)
		return false;
	for (size_t i = 3; i < n; i++)
		strbuf_addc(out, quote);
	s->at += n;
	return true;
}

static int string_body(struct toml_scan *s, char quote, bool many, struct toml_place begin,
		       struct strbuf *out, struct error *err)
{
	for (;;) {
		int c = toml_peek(s, 0);

		if (c < 0 || (!many && toml_newline(s)))
			return toml_bad(s, begin, err, "the text that begins here has no end");
		if (many ? closes(s, quote, out) : c == quote) {
			s->at += many ? 0 : 1;
			return 0;
		}
		if (c == '\\' && quote == '"') {
			s->at++;
			if (escape(s, many, out, err) < 0)
				return -1;
			continue;
		}
		if (many && toml_newline(s)) {
			strbuf_addc(out, '\n');
			s->at += toml_newline(s);
			continue;
		}
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return toml_bad(s, toml_here(s), err,
					"a control character (0x%02x) must be written as an escape",
					c);
		strbuf_addc(out, (char)c);
		s->at++;
	}
}

int toml_string(struct toml_scan *s, bool multiline, const char **out, struct error *err)
{
	char quote = (char)toml_peek(s, 0);
	bool many = toml_peek(s, 1) == quote && toml_peek(s, 2) == quote;
	struct toml_place begin = toml_here(s);
	cleanup_strbuf struct strbuf text = { 0 };

	if (many && !multiline)
		return toml_bad(s, begin, err, "a key cannot be a text of several lines");
	s->at += many ? 3 : 1;
	if (many)
		s->at += toml_newline(s);
	if (string_body(s, quote, many, begin, &text, err) < 0)
		return -1;
	*out = arena_strdup(s->arena, strbuf_text(&text));
	return 0;
}

/* Digits of a base, single underscores between them; the digits go to `out`. */
static bool take_digits(struct slice *rest, unsigned base, struct strbuf *out)
{
	size_t before = out->len;
	bool last_digit = false;

	while (rest->len) {
		int c = rest->data[0];
		unsigned value = isdigit(c)    ? (unsigned)(c - '0')
				 : isxdigit(c) ? (unsigned)((c | 0x20) - 'a' + 10)
					       : 99;

		if (c == '_' && last_digit) {
			last_digit = false;
		} else if (value < base) {
			strbuf_addc(out, (char)c);
			last_digit = true;
		} else {
			break;
		}
		*rest = slice_of(rest->data + 1, rest->len - 1);
	}
	return last_digit && out->len > before;
}

/* 0x…, 0o…, 0b… */
static bool based_integer(struct slice t, struct strbuf *out)
{
	cleanup_strbuf struct strbuf digits = { 0 };
	unsigned base = slice_starts(t, "0x") ? 16 : slice_starts(t, "0o") ? 8 : 2;
	uint64_t value = 0;

	if (base == 2 && !slice_starts(t, "0b"))
		return false;
	t = slice_of(t.data + 2, t.len - 2);
	if (!take_digits(&t, base, &digits) || t.len)
		return false;
	for (size_t i = 0; i < digits.len; i++) {
		int c = digits.data[i];

		if (mul_overflows(value, (uint64_t)base, &value) ||
		    add_overflows(value, (uint64_t)(isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10),
				  &value))
			return false;
	}
	strbuf_addf(out, "%llu", (unsigned long long)value);
	return value <= INT64_MAX;
}

/* True when a whole number with its sign is one of 64 bits. */
static bool in_64_bits(const char *text)
{
	bool negative = text[0] == '-';
	uint64_t value;

	return slice_u64(slice_str(text + (text[0] == '-' || text[0] == '+')), &value) &&
	       value <= (uint64_t)INT64_MAX + negative;
}

static bool decimal_number(struct slice t, struct strbuf *out)
{
	size_t start;
	bool whole = true;

	if (t.len && (t.data[0] == '-' || t.data[0] == '+')) {
		if (t.data[0] == '-')
			strbuf_addc(out, '-');
		t = slice_of(t.data + 1, t.len - 1);
	}
	if (slice_is(t, "inf") || slice_is(t, "nan")) {
		strbuf_add(out, t.data, t.len);
		return true;
	}
	start = out->len;
	if (!take_digits(&t, 10, out) || (out->data[start] == '0' && out->len > start + 1))
		return false;
	if (t.len && t.data[0] == '.') {
		whole = false;
		strbuf_addc(out, '.');
		t = slice_of(t.data + 1, t.len - 1);
		if (!take_digits(&t, 10, out))
			return false;
	}
	if (t.len && (t.data[0] == 'e' || t.data[0] == 'E')) {
		whole = false;
		strbuf_addc(out, 'e');
		t = slice_of(t.data + 1, t.len - 1);
		if (t.len && (t.data[0] == '-' || t.data[0] == '+')) {
			strbuf_addc(out, (char)t.data[0]);
			t = slice_of(t.data + 1, t.len - 1);
		}
		if (!take_digits(&t, 10, out))
			return false;
	}
	return !t.len && (!whole || in_64_bits(strbuf_text(out)));
}

/* Two (or four) digits and no more than `max`. */
static bool take_part(struct slice *t, size_t digits, unsigned max, unsigned *out)
{
	*out = 0;
	if (t->len < digits)
		return false;
	for (size_t i = 0; i < digits; i++) {
		if (!isdigit(t->data[i]))
			return false;
		*out = *out * 10 + (unsigned)(t->data[i] - '0');
	}
	*t = slice_of(t->data + digits, t->len - digits);
	return *out <= max;
}

static bool take_sign(struct slice *t, char sign)
{
	if (!t->len || t->data[0] != sign)
		return false;
	*t = slice_of(t->data + 1, t->len - 1);
	return true;
}

static bool take_date(struct slice *t)
{
	static const unsigned char days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	unsigned year, month, day;
	bool leap;

	if (!take_part(t, 4, 9999, &year) || !take_sign(t, '-') || !take_part(t, 2, 12, &month) ||
	    !month || !take_sign(t, '-') || !take_part(t, 2, days[month - 1], &day) || !day)
		return false;
	leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return month != 2 || day != 29 || leap;
}

static bool take_time(struct slice *t)
{
	unsigned part;

	if (!take_part(t, 2, 23, &part) || !take_sign(t, ':') || !take_part(t, 2, 59, &part) ||
	    !take_sign(t, ':') || !take_part(t, 2, 60, &part))
		return false;
	if (!take_sign(t, '.'))
		return true;
	if (!t->len || !isdigit(t->data[0]))
		return false;
	while (t->len && isdigit(t->data[0]))
		*t = slice_of(t->data + 1, t->len - 1);
	return true;
}

static bool date_or_time(struct slice t)
{
	struct slice rest = t;
	unsigned part;

	if (t.len > 2 && t.data[2] == ':')
		return take_time(&rest) && !rest.len;
	if (!take_date(&rest))
		return false;
	if (!rest.len)
		return true;
	if (!(take_sign(&rest, 'T') || take_sign(&rest, 't') || take_sign(&rest, ' ')) ||
	    !take_time(&rest))
		return false;
	if (!rest.len || slice_is(rest, "Z") || slice_is(rest, "z"))
		return true;
	return (take_sign(&rest, '+') || take_sign(&rest, '-')) && take_part(&rest, 2, 23, &part) &&
	       take_sign(&rest, ':') && take_part(&rest, 2, 59, &part) && !rest.len;
}

/* Up to what cannot be part of a plain value; a date may be followed by " 07:32". */
static struct slice plain_token(const struct toml_scan *s)
{
	struct slice rest = slice_of(s->text.data + s->at, s->text.len - s->at), date = rest;
	size_t n = 0;

	if (take_date(&date) && date.len > 1 && date.data[0] == ' ' && isdigit(date.data[1]))
		n = rest.len - date.len + 1;
	while (n < rest.len && (isalnum(rest.data[n]) || memchr("+-_.:", rest.data[n], 5)))
		n++;
	return slice_of(rest.data, n);
}

int toml_plain(struct toml_scan *s, const char **out, struct error *err)
{
	struct slice token = plain_token(s);
	cleanup_strbuf struct strbuf text = { 0 }, shown = { 0 };

	if (!token.len)
		return toml_bad(s, toml_here(s), err, "a value is missing");
	if (slice_is(token, "true") || slice_is(token, "false") || date_or_time(token)) {
		*out = arena_slice(s->arena, token);
	} else if (based_integer(token, &text)) {
		*out = arena_strdup(s->arena, strbuf_text(&text));
	} else {
		strbuf_truncate(&text, 0);
		if (!decimal_number(token, &text)) {
			strbuf_add_quoted(&shown, token, SHOWN);
			return toml_bad(s, toml_here(s), err,
					"%s is no number, date, true or false; texts stand in "
					"quotes",
					strbuf_text(&shown));
		}
		*out = arena_strdup(s->arena, strbuf_text(&text));
	}
	s->at += token.len;
	return 0;
}
