#include "base/base64.h"

static int digit(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

bool base64_decode(struct slice text, struct strbuf *out)
{
	uint32_t bits = 0;
	unsigned count = 0;

	while (text.len && text.data[text.len - 1] == '=')
		text.len--;
	for (size_t i = 0; i < text.len; i++) {
		int d = digit(text.data[i]);

		if (d < 0)
			return false;
		bits = bits << 6 | (uint32_t)d;
		count += 6;
		if (count >= 8) {
			count -= 8;
			strbuf_addc(out, (char)(bits >> count & 0xff));
		}
	}
	return count < 6;
}

bool base64_decode_strict(struct slice text, struct strbuf *out)
{
	/* bits of the last digit that stand for nothing, by the padding */
	static const int unused[] = { 0, 3, 15 };
	size_t padding = 0;
	struct slice digits;

	while (padding < 2 && text.len > padding && text.data[text.len - 1 - padding] == '=')
		padding++;
	digits = slice_of(text.data, text.len - padding);
	if (text.len % 4)
		return false;
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.data[i] && strchr("-_=", digits.data[i]))
			return false;
	}
	if (!digits.len)
		return !text.len;
	strbuf_reserve(out, text.len / 4 * 3);
	return base64_decode(digits, out) &&
	       !(digit(digits.data[digits.len - 1]) & unused[padding]);
}

void base64_encode(struct slice data, struct strbuf *out)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	strbuf_reserve(out, (data.len + 2) / 3 * 4);
	for (size_t i = 0; i < data.len; i += 3) {
		size_t n = MIN(data.len - i, (size_t)3);
		uint32_t bits = (uint32_t)data.data[i] << 16;

		bits |= n > 1 ? (uint32_t)data.data[i + 1] << 8 : 0;
		bits |= n > 2 ? data.data[i + 2] : 0;
		strbuf_addc(out, alphabet[bits >> 18]);
		strbuf_addc(out, alphabet[bits >> 12 & 63]);
		strbuf_addc(out, n > 1 ? alphabet[bits >> 6 & 63] : '=');
		strbuf_addc(out, n > 2 ? alphabet[bits & 63] : '=');
	}
}
