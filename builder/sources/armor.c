#include "builder/sources/armor.h"

static const char begin[] = "-----BEGIN PGP PUBLIC KEY BLOCK-----";
static const char end[] = "-----END PGP PUBLIC KEY BLOCK-----";

uint32_t armor_crc24(struct slice bytes)
{
	uint32_t crc = 0xb704ce;

	for (size_t i = 0; i < bytes.len; i++) {
		crc ^= (uint32_t)bytes.data[i] << 16;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 0x800000 ? crc << 1 ^ 0x1864cfb : crc << 1;
	}
	return crc & 0xffffff;
}

static int value_of(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* Groups of four letters, the last padded; the text may be cut into lines. */
struct base64 {
	uint32_t bits;
	unsigned count;   /* letters of the open group */
	unsigned padding; /* "=" seen */
	bool over;
};

static bool feed(struct base64 *b, struct slice line, struct strbuf *out)
{
	for (size_t i = 0; i < line.len; i++) {
		int v = value_of(line.data[i]);

		if (b->over || (v < 0 && line.data[i] != '=') || (v >= 0 && b->padding))
			return false;
		b->padding += v < 0;
		b->bits = b->bits << 6 | (v < 0 ? 0 : (uint32_t)v);
		if (++b->count < 4)
			continue;
		if (b->padding > 2)
			return false;
		for (unsigned k = 0; k < 3 - b->padding; k++)
			strbuf_addc(out, (char)(b->bits >> (16 - 8 * k) & 0xff));
		b->over = b->padding > 0;
		b->count = 0;
		b->bits = 0;
	}
	return true;
}

static bool starts_line(struct slice line, const char *what)
{
	return slice_is(slice_trim(line), what);
}

/* The armour headers, up to the empty line. */
static bool skip_headers(struct slice *rest)
{
	struct slice line;

	while (slice_cut(rest, '\n', &line)) {
		line = slice_trim(line);
		if (!line.len)
			return true;
		if (!memmem(line.data, line.len, ": ", 2) && line.data[line.len - 1] != ':')
			return false;
	}
	return false;
}

static const char *decode_block(struct slice *rest, struct strbuf *out)
{
	struct base64 body = { 0 }, sum = { 0 };
	cleanup_strbuf struct strbuf crc = { 0 };
	size_t from = out->len;
	bool has_crc = false;
	struct slice line, made;

	if (!skip_headers(rest))
		return "no empty line after the head";
	while (slice_cut(rest, '\n', &line)) {
		line = slice_trim(line);
		if (starts_line(line, end)) {
			if (body.count || out->len == from)
				return "the base64 text is cut off";
			made = slice_of(out->data + from, out->len - from);
			if (has_crc && (crc.len != 3 ||
					armor_crc24(made) != ((uint32_t)(uint8_t)crc.data[0] << 16 |
							      (uint32_t)(uint8_t)crc.data[1] << 8 |
							      (uint8_t)crc.data[2])))
				return "its check sum (CRC-24) does not match";
			return NULL;
		}
		if (line.len && line.data[0] == '=' && !body.count && !has_crc) {
			has_crc = true;
			if (!feed(&sum, slice_of(line.data + 1, line.len - 1), &crc))
				return "the check sum cannot be read";
		} else if (line.len && (has_crc || !feed(&body, line, out))) {
			return "a line is not base64";
		}
	}
	return "no end line";
}

bool armor_is(struct slice text)
{
	return text.len && memmem(text.data, text.len, begin, sizeof(begin) - 1);
}

int armor_decode(struct slice text, const char *name, struct strbuf *out, struct error *err)
{
	struct slice line;
	bool found = false;

	while (slice_cut(&text, '\n', &line)) {
		const char *wrong;

		if (!starts_line(line, begin))
			continue;
		found = true;
		wrong = decode_block(&text, out);
		if (wrong)
			return error_set(err, ERROR_FORMAT, "%s: armoured key: %s", name, wrong);
	}
	if (!found)
		return error_set(err, ERROR_FORMAT, "%s: holds no armoured public key", name);
	return 0;
}
