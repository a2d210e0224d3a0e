#include "probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAY_TAIL = 4 }; /* always kept free for the end of the line */

void put_text(char *out, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out, size, fmt, ap);
	va_end(ap);
	out[size - 1] = '\0';
}

static void add(struct say *s, const char *text)
{
	size_t n = strlen(text);

	memcpy(s->text + s->len, text, n);
	s->len += n;
}

void say_begin(struct say *s)
{
	s->len = 0;
	s->any = false;
	add(s, "{");
}

static bool key_begin(struct say *s, const char *key, size_t room)
{
	if (s->len + strlen(key) + room + 8 + SAY_TAIL > SAY_MAX)
		return false;
	add(s, s->any ? ",\"" : "\"");
	add(s, key);
	add(s, "\":");
	s->any = true;
	return true;
}

/* Bytes of the UTF-8 sequence at `p`, or 0 when it is none. */
static size_t utf8_length(const unsigned char *p)
{
	size_t n = p[0] < 0x80                   ? 1
		   : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
		   : (p[0] & 0xf0) == 0xe0       ? 3
						 : 0;

	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	if (n == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)))
		return 0;
	return n;
}

void say_str(struct say *s, const char *key, const char *value)
{
	const unsigned char *p = (const unsigned char *)(value ? value : "");

	if (!key_begin(s, key, 16))
		return;
	add(s, "\"");
	while (*p && s->len + 10 + SAY_TAIL < SAY_MAX) {
		size_t n = utf8_length(p);
		char out[8] = { 0 };

		if (n == 1 && (*p == '"' || *p == '\\'))
			put_text(out, sizeof(out), "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			put_text(out, sizeof(out), "\\u%04x", *p);
		else if (n)
			memcpy(out, p, n);
		else
			put_text(out, sizeof(out), "\\ufffd");
		add(s, out);
		p += n ? n : 1;
	}
	add(s, "\"");
}

void say_int(struct say *s, const char *key, long value)
{
	char out[32];

	if (!key_begin(s, key, sizeof(out)))
		return;
	put_text(out, sizeof(out), "%ld", value);
	add(s, out);
}

static void write_all(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = write(SAY_FD, text + at, len - at);

		if (n <= 0)
			return;
		at += (size_t)n;
	}
}

void say_line(const char *text, size_t len, const char *frame)
{
	char line[SAY_MAX + 64];
	size_t before = strlen(frame);

	if (before > 60)
		before = 0;
	if (len > SAY_MAX)
		return;
	memcpy(line, frame, before);
	memcpy(line + before, text, len);
	line[before + len] = '\n';
	write_all(line, before + len + 1);
}

void say_end_framed(struct say *s, const char *frame)
{
	add(s, "}");
	say_line(s->text, s->len, frame);
}

void say_end(struct say *s)
{
	say_end_framed(s, "");
}

void result_begin(struct say *s, const struct check *check, const char *status)
{
	say_begin(s);
	say_str(s, "test", check->id);
	say_str(s, "event", "result");
	say_str(s, "status", status);
}

void result_fail_call(const struct check *check, const char *domain, const char *call, long code,
		      const char *text)
{
	struct say s;

	result_begin(&s, check, "fail");
	say_str(&s, "kind", "call");
	say_str(&s, "domain", domain);
	say_str(&s, "call", call);
	say_int(&s, "code", code);
	say_str(&s, "message", text);
	say_end(&s);
}

static void result_text(const struct check *check, const char *status, const char *key,
			const char *word, const char *text)
{
	struct say s;

	result_begin(&s, check, status);
	say_str(&s, key, word);
	say_str(&s, "message", text);
	say_end(&s);
}

void result_fail(const struct check *check, const char *kind, const char *text)
{
	result_text(check, "fail", "kind", kind, text);
}

bool result_skip(const struct check *check, const char *reason, const char *text)
{
	result_text(check, "skip", "reason", reason, text);
	return false;
}
