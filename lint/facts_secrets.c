/*
 * Credentials of GPU services and others in file contents. Only fixed, unmistakable forms count: a
 * prefix and an exact alphabet and length, or a key under the variable that holds it. What looks
 * like a placeholder does not. The value never leaves this file: findings get a masked form.
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
	bool other; /* what is found now is no GPU service's */
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

static bool starts_key(const char *value)
{
	return memcmp(value, "-----BEGIN", 10) == 0;
}

void secret_add(const char *kind, bool service, bool likely, struct slice text, size_t at,
		size_t len, size_t line, struct arena *arena, struct secret_facts **list)
{
	const char *value = (const char *)text.data + at;
	struct secret_facts *s = arena_alloc(arena, sizeof(*s)), **end = list;

	*s = (struct secret_facts){ .kind = kind,
				    .service = service,
				    .likely = likely,
				    .at = at,
				    .len = len,
				    .line = line };
	/* Too much of a short one would be told; the first line of a key tells nothing. */
	s->masked = len < 20 || starts_key(value)
			    ? arena_printf(arena, "%zu characters", len)
			    : arena_printf(arena, "%.4s...%.2s, %zu characters", value,
					   value + len - 2, len);
	while (*end)
		end = &(*end)->next;
	*end = s;
}

static void add_secret(struct scan *scan, const char *kind, size_t at, size_t len)
{
	size_t line = 1;

	if (scan->count++ >= SECRETS_PER_FILE_MAX)
		return;
	for (size_t i = 0; i < at; i++)
		line += scan->bytes.data[i] == '\n';
	secret_add(kind, !scan->other, false, scan->bytes, at, len, scan->binary ? 0 : line,
		   scan->arena, scan->list);
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

static bool is_upper(uint8_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_base64_line(uint8_t c)
{
	return is_base64(c) || c == '=' || c == '\n' || c == '\r' || c == '\\' || c == ' ';
}

/*
 * "-----BEGIN … PRIVATE KEY-----" and a body; a program that only names the line has none. One that
 * is protected by a passphrase says so in its label or its first lines.
 */
static void private_key(struct scan *scan, size_t at)
{
	static const char mark[] = "PRIVATE KEY";
	struct slice head;
	const uint8_t *found, *end;
	size_t body, letters = 0, len;

	if (at < 5 || !text_is_at(scan, at - 5, "-----BEGIN "))
		return;
	head = slice_of(scan->bytes.data + at, MIN(scan->bytes.len - at, (size_t)60));
	found = memmem(head.data, head.len, mark, strlen(mark));
	end = found ? memmem(found, (size_t)(head.data + head.len - found), "-----", 5) : NULL;
	if (!end || memmem(head.data, (size_t)(found - head.data), "-----", 5) ||
	    memmem(head.data, head.len, "ENCRYPTED", 9))
		return;
	body = (size_t)(end - scan->bytes.data) + 5;
	len = run_of(scan->bytes, body, is_base64_line);
	for (size_t i = 0; i < len; i++)
		letters += is_base64(scan->bytes.data[body + i]);
	if (letters < 60 || secret_is_placeholder(slice_of(scan->bytes.data + body, len)))
		return;
	end = memmem(scan->bytes.data + body, MIN(scan->bytes.len - body, (size_t)16384),
		     "-----END", 8);
	len = (end ? (size_t)(end - scan->bytes.data) : body + len) - (at - 5);
	while (scan->bytes.data[at - 5 + len - 1] <= ' ')
		len--;
	add_secret(scan, "private key", at - 5, len);
}

/* An AWS key id counts with its secret, which stands near. */
static void aws_key(struct scan *scan, size_t at)
{
	static const char name[] = "secret_access_key";
	size_t from = at > 300 ? at - 300 : 0, end = MIN(scan->bytes.len, at + 400);

	if (!text_is_at(scan, at, "AKIA") || !word_starts(scan, at) ||
	    run_of(scan->bytes, at, is_upper) != 20 ||
	    secret_is_placeholder(slice_of(scan->bytes.data + at, 20)))
		return;
	for (size_t i = from; i + strlen(name) < end; i++) {
		size_t value = i + strlen(name), len;

		if (strncasecmp((const char *)scan->bytes.data + i, name, strlen(name)) != 0 ||
		    !skip_assignment(scan, &value))
			continue;
		len = run_of(scan->bytes, value, is_base64);
		if (len == 40 && !secret_is_placeholder(slice_of(scan->bytes.data + value, len)))
			add_secret(scan, "AWS secret access key", value, len);
		return;
	}
}

static void git_token(struct scan *scan, size_t at)
{
	static const char *const prefixes[] = { "ghp_", "gho_", "ghu_", "ghs_", "ghr_" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		if (is_drawn(scan->bytes, at + 4))
			prefixed(scan, at, prefixes[i], is_alnum, 36, 36, "GitHub token");
	}
}

/* Credentials that are no GPU service's: SEC002. */
static void look_at_other(struct scan *scan, size_t at)
{
	scan->other = true;
	switch (scan->bytes.data[at]) {
	case 'B':
		private_key(scan, at);
		break;
	case 'K': /* AKIA */
		if (at)
			aws_key(scan, at - 1);
		break;
	case 'g':
		git_token(scan, at);
		break;
	case 'b': /* github_pat_ */
		if (at >= 5)
			prefixed(scan, at - 5, "github_pat_", is_token, 82, 82, "GitHub token");
		break;
	case 'l': /* glpat- */
		if (at)
			prefixed(scan, at - 1, "glpat-", is_token, 20, 50, "GitLab token");
		break;
	default:
		break;
	}
	scan->other = false;
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

static bool is_other_candidate(const uint8_t *p)
{
	return (p[0] == 'B' && p[1] == 'E' && p[2] == 'G') ||
	       (p[0] == 'K' && p[1] == 'I' && p[2] == 'A') || (p[0] == 'g' && p[1] == 'h') ||
	       (p[0] == 'b' && p[1] == '_' && p[2] == 'p') ||
	       (p[0] == 'l' && p[1] == 'p' && p[2] == 'a');
}

static void look_at_candidate(struct scan *scan, size_t at)
{
	if (is_candidate(scan->bytes.data + at))
		look_at(scan, at);
	if (is_other_candidate(scan->bytes.data + at))
		look_at_other(scan, at);
}

static bytes16 load16(const uint8_t *p)
{
	bytes16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

#define TRIPLE(x, y, z) \
	((bytes16)(a == (uint8_t)(x)) & (bytes16)(b == (uint8_t)(y)) & (bytes16)(c == (uint8_t)(z)))

/* A candidate begins in one of the 16 bytes at `p`; 19 are read. */
static bool block_has_candidate(const uint8_t *p)
{
	bytes16 a = load16(p), b = load16(p + 1), c = load16(p + 2);
	words2 any =
		(words2)(TRIPLE('n', 'v', 'a') | TRIPLE('h', 'f', '_') | TRIPLE('J', 'G', '9') |
			 TRIPLE('p', 'i', 'k') | TRIPLE('I', '_', 'K') | TRIPLE('.', 'w', 'a') |
			 TRIPLE('B', 'E', 'G') | TRIPLE('K', 'I', 'A') | TRIPLE('b', '_', 'p') |
			 TRIPLE('l', 'p', 'a') |
			 ((bytes16)(a == (uint8_t)'g') & (bytes16)(b == (uint8_t)'h') &
			  (bytes16)(load16(p + 3) == (uint8_t)'_')));

	return any[0] | any[1];
}

void secrets_find(const char *path, struct slice bytes, bool binary, struct arena *arena,
		  struct secret_facts **list)
{
	struct scan scan = {
		.path = path, .bytes = bytes, .binary = binary, .arena = arena, .list = list
	};
	size_t at = 0;

	while (at + 19 <= bytes.len) {
		if (block_has_candidate(bytes.data + at)) {
			for (size_t i = 0; i < 16; i++)
				look_at_candidate(&scan, at + i);
		}
		at += 16;
	}
	for (; at + 3 <= bytes.len; at++)
		look_at_candidate(&scan, at);
}
