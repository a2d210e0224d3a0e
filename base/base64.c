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
	size_t from = out->len, padding = 0;
	cleanup_strbuf struct strbuf again = { 0 };
	bool same;

	while (padding < 2 && text.len > padding && text.data[text.len - 1 - padding] == '=')
		padding++;
	if (text.len % 4 || !base64_decode(slice_of(text.data, text.len - padding), out))
		return false;
	if (!text.len)
		return true;
	strbuf_reserve(&again, text.len);
	base64_encode(slice_of(out->data + from, out->len - from), &again);
	same = slice_equal(strbuf_slice(&again), text);
	strbuf_wipe(&again);
	return same;
}

void base64_encode(struct slice data, struct strbuf *out)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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
