/*
 * Credentials of GPU services in file contents. Only fixed, unmistakable forms count: a prefix and
 * an exact alphabet and length, or a key under the variable that holds it. What looks like a
 * placeholder does not. The value never leaves this file: findings get a masked form.
 */
#include "lint/facts_parts.h"

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

enum { SECRETS_PER_FILE_MAX = 20 };

struct scan {
	const char *path;
	struct slice bytes;
	bool binary;
	struct arena *arena;
	struct secret_facts **list;
	size_t count;
};

static bool is_alnum(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_token(uint8_t c)
{
	return is_alnum(c) || c == '_' || c == '-';
}

static bool is_base64(uint8_t c)
{
	return is_alnum(c) || c == '+' || c == '/';
}

static bool is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Bytes from `at` that belong to the class, at most 400. */
static size_t run_of(struct slice s, size_t at, bool (*belongs)(uint8_t))
{
	size_t n = 0;

	while (at + n < s.len && n < 400 && belongs(s.data[at + n]))
		n++;
	return n;
}

static bool holds(struct slice s, const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i + len <= s.len; i++) {
		if (strncasecmp((const char *)s.data + i, text, len) == 0)
			return true;
	}
	return false;
}

/* Random text of 34 and more characters has many different ones and no plain words. */
bool secret_is_placeholder(struct slice value)
{
	static const char *const words[] = { "xxxx",        "your",       "example",
					     "0123456789",  "1234567890", "abcdefgh",
					     "placeholder", "redacted",   "dummy" };
	bool seen[256] = { false };
	size_t different = 0;

	for (size_t i = 0; i < value.len; i++) {
		different += !seen[value.data[i]];
		seen[value.data[i]] = true;
	}
	if (different < 10)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (holds(value, words[i]))
			return true;
	}
	return false;
}

static void add_secret(struct scan *scan, const char *kind, size_t at, size_t len)
{
	struct slice whole = slice_of(scan->bytes.data + at, len);
	struct secret_facts *s, **end = scan->list;
	size_t line = 1;

	if (scan->count++ >= SECRETS_PER_FILE_MAX)
		return;
	for (size_t i = 0; i < at; i++)
		line += scan->bytes.data[i] == '\n';
	s = arena_alloc(scan->arena, sizeof(*s));
	s->kind = kind;
	s->line = scan->binary ? 0 : line;
	s->masked = arena_printf(scan->arena, "%.4s...%.2s, %zu characters",
				 (const char *)whole.data, (const char *)whole.data + len - 2, len);
	while (*end)
		end = &(*end)->next;
	*end = s;
}

static bool text_is_at(const struct scan *scan, size_t at, const char *text)
{
	size_t len = strlen(text);

	return at <= scan->bytes.len && scan->bytes.len - at >= len &&
	       memcmp(scan->bytes.data + at, text, len) == 0;
}

static bool word_starts(const struct scan *scan, size_t at)
{
	return at == 0 || !is_token(scan->bytes.data[at - 1]);
}

/* A prefix followed by between `min` and `max` characters of a class. */
static bool prefixed(struct scan *scan, size_t at, const char *prefix, bool (*belongs)(uint8_t),
		     size_t min, size_t max, const char *kind)
{
	size_t start = at + strlen(prefix), len;

	if (!text_is_at(scan, at, prefix) || !word_starts(scan, at))
		return false;
	len = run_of(scan->bytes, start, belongs);
	if (len < min || len > max ||
	    secret_is_placeholder(slice_of(scan->bytes.data + start, len)))
		return false;
	add_secret(scan, kind, at, start + len - at);
	return true;
}

/* Skip blanks, quotes and one "=" or ":" after a key; false without the sign. */
static bool skip_assignment(const struct scan *scan, size_t *at)
{
	bool sign = false;

	while (*at < scan->bytes.len && strchr(" \t\"'=:", scan->bytes.data[*at]) &&
	       scan->bytes.data[*at]) {
		sign |= scan->bytes.data[*at] == '=' || scan->bytes.data[*at] == ':';
		++*at;
	}
	return sign;
}

/* KEY = value, with the value of an exact class and length. */
static void assigned(struct scan *scan, size_t at, const char *key, bool (*belongs)(uint8_t),
		     size_t min, size_t max, const char *kind)
{
	size_t value = at + strlen(key), len;

	if (!text_is_at(scan, at, key) || !word_starts(scan, at) || !skip_assignment(scan, &value))
		return;
	len = run_of(scan->bytes, value, belongs);
	if (len < min || len > max ||
	    secret_is_placeholder(slice_of(scan->bytes.data + value, len)))
		return;
	add_secret(scan, kind, value, len);
}

static void wandb_netrc(struct scan *scan, size_t at)
{
	size_t end = MIN(scan->bytes.len, at + 300);

	if (!text_is_at(scan, at, "api.wandb.ai"))
		return;
	for (size_t i = at; i + 9 < end; i++) {
		if (text_is_at(scan, i, "password")) {
			size_t value = i + 8 + 1, len = run_of(scan->bytes, value, is_hex);

			if (len == 40 &&
			    !secret_is_placeholder(slice_of(scan->bytes.data + value, len)))
				add_secret(scan, "Weights & Biases key", value, len);
			return;
		}
	}
}

/*
 * 34 letters and digits drawn at random, as opposed to a name in code ("hf_TextGeneration…"), which
 * has few capitals and few digits. Once in ten thousand a token looks like a name.
 */
static bool is_drawn(struct slice s, size_t at)
{
	size_t upper = 0, lower = 0, digits = 0;

	for (size_t i = at; i < s.len && i < at + 34; i++) {
		upper += s.data[i] >= 'A' && s.data[i] <= 'Z';
		lower += s.data[i] >= 'a' && s.data[i] <= 'z';
		digits += s.data[i] >= '0' && s.data[i] <= '9';
	}
	return digits >= 3 || (upper >= 7 && lower >= 7);
}

/* What may begin at or just before a candidate. */
static void look_at(struct scan *scan, size_t at)
{
	switch (scan->bytes.data[at]) {
	case 'n':
		prefixed(scan, at, "nvapi-", is_token, 40, 200, "NVIDIA API key");
		break;
	case 'h':
		if (is_drawn(scan->bytes, at + 3))
			prefixed(scan, at, "hf_", is_alnum, 34, 34, "Hugging Face token");
		break;
	case 'J':
		prefixed(scan, at, "JG9hdXRodG9rZW46", is_base64, 24, 400,
			 "registry login with an NGC key");
		break;
	case 'p': /* apikey */
		if (at)
			assigned(scan, at - 1, "apikey", is_base64, 80, 120, "legacy NGC key");
		break;
	case 'I': /* NGC_API_KEY, NGC_CLI_API_KEY, WANDB_API_KEY */
		if (at >= 6)
			assigned(scan, at - 6, "NGC_API_KEY", is_base64, 80, 120, "legacy NGC key");
		if (at >= 10)
			assigned(scan, at - 10, "NGC_CLI_API_KEY", is_base64, 80, 120,
				 "legacy NGC key");
		if (at >= 8)
			assigned(scan, at - 8, "WANDB_API_KEY", is_hex, 40, 40,
				 "Weights & Biases key");
		break;
	case '.': /* api.wandb.ai */
		if (at >= 3)
			wandb_netrc(scan, at - 3);
		break;
	default:
		break;
	}
}

/* The three bytes by which a candidate is recognised; look_at() does the rest. */
static bool is_candidate(const uint8_t *p)
{
	return (p[0] == 'n' && p[1] == 'v' && p[2] == 'a') ||
	       (p[0] == 'h' && p[1] == 'f' && p[2] == '_') ||
	       (p[0] == 'J' && p[1] == 'G' && p[2] == '9') ||
	       (p[0] == 'p' && p[1] == 'i' && p[2] == 'k') ||
	       (p[0] == 'I' && p[1] == '_' && p[2] == 'K') ||
	       (p[0] == '.' && p[1] == 'w' && p[2] == 'a');
}

static bytes16 load16(const uint8_t *p)
{
	bytes16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

#define TRIPLE(x, y, z) \
	((bytes16)(a == (uint8_t)(x)) & (bytes16)(b == (uint8_t)(y)) & (bytes16)(c == (uint8_t)(z)))

/* A candidate begins in one of the 16 bytes at `p`; 18 are read. */
static bool block_has_candidate(const uint8_t *p)
{
	bytes16 a = load16(p), b = load16(p + 1), c = load16(p + 2);
	words2 any =
		(words2)(TRIPLE('n', 'v', 'a') | TRIPLE('h', 'f', '_') | TRIPLE('J', 'G', '9') |
			 TRIPLE('p', 'i', 'k') | TRIPLE('I', '_', 'K') | TRIPLE('.', 'w', 'a'));

	return any[0] | any[1];
}

void secrets_find(const char *path, struct slice bytes, bool binary, struct arena *arena,
		  struct secret_facts **list)
{
	struct scan scan = {
		.path = path, .bytes = bytes, .binary = binary, .arena = arena, .list = list
	};
	size_t at = 0;

	while (at + 18 <= bytes.len) {
		if (block_has_candidate(bytes.data + at)) {
			for (size_t i = 0; i < 16; i++) {
				if (is_candidate(bytes.data + at + i))
					look_at(&scan, at + i);
			}
		}
		at += 16;
	}
	for (; at + 3 <= bytes.len; at++) {
		if (is_candidate(bytes.data + at))
			look_at(&scan, at);
	}
}
