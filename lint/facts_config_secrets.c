#include "base/base64.h"
#include "lint/facts_parts.h"

enum { VALUE_MIN = 8, VALUE_MAX = 4096, SHOWN_MIN = 20 };

static void add(struct facts *facts, struct config_secret s)
{
	vec_push(&facts->config_secrets, s);
}

/* Tokens in a value that is base64 of JSON, as logins of registries are handed to builds. */
static void find_encoded(struct facts *facts, const char *text, struct secret_facts **list)
{
	const char *value = strchr(text, '=');
	cleanup_strbuf struct strbuf plain = { 0 };

	value = value && strlen(value) > 24 ? value + 1 : text;
	if (strlen(value) < 24 || !base64_decode(slice_str(value), &plain) ||
	    !str_starts(strbuf_text(&plain), "{"))
		return;
	secrets_find("", strbuf_slice(&plain), true, &facts->arena, list);
	if (!*list)
		credentials_find(".docker/config.json", strbuf_slice(&plain), &facts->arena, list);
}

/* Tokens of a fixed form anywhere in a text. True when there was one. */
static bool find_tokens(struct facts *facts, const char *where, const char *key, const char *text,
			int layer)
{
	struct secret_facts *list = NULL;

	secrets_find("", slice_str(text), true, &facts->arena, &list);
	if (!list)
		find_encoded(facts, text, &list);
	for (const struct secret_facts *s = list; s; s = s->next)
		add(facts, (struct config_secret){ where, key, s->kind, s->masked, layer, false });
	return list != NULL;
}

static bool is_named_like_a_secret(struct slice key)
{
	static const char *const ends[] = { "_TOKEN",      "_PASSWORD",         "_PASSWD",
					    "_SECRET",     "_API_KEY",          "_SECRET_KEY",
					    "_ACCESS_KEY", "_SECRET_ACCESS_KEY" };
	static const char *const whole[] = { "PASSWORD", "TOKEN", "SECRET", "API_KEY" };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t len = strlen(ends[i]);

		if (key.len > len &&
		    strncasecmp((const char *)key.data + key.len - len, ends[i], len) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
		if (key.len == strlen(whole[i]) &&
		    strncasecmp((const char *)key.data, whole[i], key.len) == 0)
			return true;
	}
	return false;
}

/* Not a path, a reference, a word of a language, or what documentation says instead. */
static bool is_real_value(struct slice value)
{
	bool digit = false, letter = false;

	if (value.len < VALUE_MIN || value.len > VALUE_MAX || strchr("/$<{", value.data[0]))
		return false;
	for (size_t i = 0; i < value.len; i++) {
		uint8_t c = value.data[i];

		if (c <= ' ')
			return false;
		digit |= c >= '0' && c <= '9';
		letter |= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
	}
	return digit && letter && !memmem(value.data, value.len, "://", 3) &&
	       !secret_is_placeholder(value);
}

static void look_at_name(struct facts *facts, const char *where, const char *key,
			 struct slice variable, int layer)
{
	struct slice value = variable, name;
	const char *mask;

	if (!slice_cut(&value, '=', &name) || !value.data || !is_named_like_a_secret(name) ||
	    !is_real_value(value))
		return;
	mask = value.len < SHOWN_MIN
		       ? /* too much of a short one would be told */
		       arena_printf(&facts->arena, "%zu characters", value.len)
		       : arena_printf(&facts->arena, "%.4s...%.2s, %zu characters",
				      (const char *)value.data,
				      (const char *)value.data + value.len - 2, value.len);
	add(facts,
	    (struct config_secret){ where, key ? key : arena_slice(&facts->arena, name),
				    "value of a variable named like a secret", mask, layer, true });
}

static void look_at_environment(struct facts *facts)
{
	for (size_t i = 0; i < facts->config->env.count; i++) {
		const char *variable = facts->config->env.items[i];
		const char *key =
			arena_printf(&facts->arena, "%.*s", (int)strcspn(variable, "="), variable);

		if (!find_tokens(facts, "Env", key, variable, -1))
			look_at_name(facts, "Env", key, slice_str(variable), -1);
	}
}

static void look_at_words(struct facts *facts, const char *where, const struct string_list *words)
{
	for (size_t i = 0; i < words->count; i++)
		find_tokens(facts, where, arena_printf(&facts->arena, "word %zu", i),
			    words->items[i], -1);
}

/* Build arguments stand before the command: "|2 TOKEN=x USER=y /bin/sh -c …". */
static void look_at_arguments(struct facts *facts, const char *key, const char *text, int layer)
{
	struct slice rest = slice_str(text), word;

	if (*text != '|')
		return;
	slice_cut(&rest, ' ', &word);
	while (slice_cut(&rest, ' ', &word) && word.len && memchr(word.data, '=', word.len) &&
	       word.data[0] != '/')
		look_at_name(facts, "history", key, word, layer);
}

static void look_at_history(struct facts *facts)
{
	int layer = -1;

	for (size_t i = 0; i < facts->config->history_count; i++) {
		const struct config_history *h = &facts->config->history[i];
		const char *key = arena_printf(&facts->arena, "entry %zu", i);

		if (!h->empty_layer)
			layer++;
		if (!h->created_by)
			continue;
		if (!find_tokens(facts, "history", key, h->created_by, h->empty_layer ? -1 : layer))
			look_at_arguments(facts, key, h->created_by, h->empty_layer ? -1 : layer);
	}
}

void config_secrets_derive(struct facts *facts)
{
	if (!facts->config)
		return;
	look_at_environment(facts);
	for (size_t i = 0; i < facts->config->label_keys.count; i++)
		find_tokens(facts, "Labels", facts->config->label_keys.items[i],
			    facts->config->label_values.items[i], -1);
	look_at_words(facts, "Entrypoint", &facts->config->entrypoint);
	look_at_words(facts, "Cmd", &facts->config->cmd);
	look_at_history(facts);
}

/* Words NAME=VALUE of which only the name says that they are secret. */
static void mask_named(const char *text, struct arena *arena, struct secret_facts **list)
{
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, " ");
		struct slice value = slice_of(p, len), name;

		if (slice_cut(&value, '=', &name) && value.data && is_named_like_a_secret(name) &&
		    is_real_value(value))
			secret_add("", false, true, slice_str(text),
				   (size_t)((const char *)value.data - text), value.len, 0, arena,
				   list);
		p += len + strspn(p + len, " ");
	}
}

static const struct secret_facts *first_from(const struct secret_facts *list, size_t at)
{
	const struct secret_facts *first = NULL;

	for (; list; list = list->next) {
		if (list->at + list->len > at && (!first || list->at < first->at))
			first = list;
	}
	return first;
}

const char *secrets_masked(const char *text, struct arena *arena)
{
	cleanup_strbuf struct strbuf out = { 0 };
	struct secret_facts *list = NULL;
	size_t at = 0;

	secrets_find("", slice_str(text), true, arena, &list);
	mask_named(text, arena, &list);
	for (const struct secret_facts *s; (s = first_from(list, at));) {
		if (s->at > at)
			strbuf_add(&out, text + at, s->at - at);
		strbuf_addf(&out, "(%s)", s->masked);
		at = s->at + s->len;
	}
	strbuf_adds(&out, text + at);
	return arena_strdup(arena, strbuf_text(&out));
}
