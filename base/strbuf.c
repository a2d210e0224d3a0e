#include "base/strbuf.h"

#include "base/alloc.h"

void strbuf_release(struct strbuf *b)
{
	if (!b)
		return;
	free(b->data);
	*b = (struct strbuf){ 0 };
}

void strbuf_reserve(struct strbuf *b, size_t more)
{
	size_t need;

	if (add_overflows(b->len, more, &need) || add_overflows(need, (size_t)1, &need))
		abort();
	if (need <= b->cap)
		return;
	b->cap = MAX(need, MAX(b->cap + b->cap / 2, (size_t)32));
	b->data = xreallocarray(b->data, b->cap, 1);
}

void strbuf_wipe(struct strbuf *b)
{
	if (b && b->data)
		explicit_bzero(b->data, b->cap);
	strbuf_release(b);
}

void strbuf_add(struct strbuf *b, const void *data, size_t len)
{
	strbuf_reserve(b, len);
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void strbuf_adds(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

void strbuf_addc(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	strbuf_adds(b, text);
}

void strbuf_add_quoted(struct strbuf *b, struct slice s, size_t limit)
{
	size_t n = MIN(s.len, limit);

	/* Not through the middle of a UTF-8 sequence. */
	while (n < s.len && n > 0 && (s.data[n] & 0xc0) == 0x80)
		n--;
	strbuf_addc(b, '\'');
	for (size_t i = 0; i < n; i++) {
		if (s.data[i] < 0x20 || s.data[i] == 0x7f)
			strbuf_addf(b, "\\x%02x", s.data[i]);
		else
			strbuf_addc(b, (char)s.data[i]);
	}
	strbuf_adds(b, n < s.len ? "...'" : "'");
}

void strbuf_add_zeros(struct strbuf *b, size_t count)
{
	strbuf_reserve(b, count);
	memset(b->data + b->len, 0, count + 1);
	b->len += count;
}

void strbuf_truncate(struct strbuf *b, size_t len)
{
	assert(len <= b->len);
	b->len = len;
	if (b->data)
		b->data[len] = '\0';
}

const char *strbuf_text(const struct strbuf *b)
{
	return b->data ? b->data : "";
}

char *strbuf_steal(struct strbuf *b)
{
	char *text = b->data ? b->data : xstrdup("");

	*b = (struct strbuf){ 0 };
	return text;
}
