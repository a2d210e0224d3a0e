#include "formats/jks.h"

#include "base/digest.h"

enum {
	MAGIC = 0xfeedfeed,
	VERSION = 2,
	KIND_CERTIFICATE = 2,
	SEAL_BYTES = 20,
	CERTIFICATE_MAX = 1024 * 1024,
};

static const char certificate_type[] = "X.509";

void jks_entries_release(struct jks_entries *entries)
{
	vec_release(entries);
}

static bool is_taken(const struct jks_entries *entries, const char *alias)
{
	for (size_t i = 0; i < entries->len; i++) {
		if (str_equal(entries->items[i].alias, alias))
			return true;
	}
	return false;
}

const char *jks_alias(const struct jks_entries *entries, struct slice text, struct arena *arena)
{
	const char *base = arena_slice(arena, text), *alias;

	for (char *p = (char *)(uintptr_t)base; *p; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p);
	alias = base;
	for (size_t n = 1; is_taken(entries, alias); n++)
		alias = arena_printf(arena, "%s-%zu", base, n);
	return alias;
}

static void put(struct strbuf *out, uint64_t value, size_t bytes)
{
	while (bytes--)
		strbuf_addc(out, (char)(uint8_t)(value >> 8 * bytes));
}

static void put_text(struct strbuf *out, const char *text)
{
	put(out, strlen(text), 2);
	strbuf_adds(out, text);
}

/* SHA-1 over the password in UTF-16, a phrase, and the store. */
static void seal(const char *password, struct slice store, uint8_t out[SEAL_BYTES])
{
	cleanup_strbuf struct strbuf text = { 0 };

	for (const char *p = password; *p; p++)
		put(&text, (uint8_t)*p, 2);
	strbuf_adds(&text, "Mighty Aphrodite");
	strbuf_add(&text, store.data, store.len);
	digest_sha1(strbuf_slice(&text), out);
}

static int by_alias(const void *a, const void *b)
{
	const struct jks_entry *x = a, *y = b;

	return strcmp(x->alias, y->alias);
}

int jks_write(struct jks_entries *entries, const char *password, uint64_t seconds,
	      struct strbuf *out, struct error *err)
{
	size_t start = out->len;
	uint8_t sealed[SEAL_BYTES];

	if (entries->len)
		qsort(entries->items, entries->len, sizeof(*entries->items), by_alias);
	put(out, MAGIC, 4);
	put(out, VERSION, 4);
	put(out, entries->len, 4);
	for (size_t i = 0; i < entries->len; i++) {
		const struct jks_entry *e = &entries->items[i];

		if (strlen(e->alias) > UINT16_MAX || e->der.len > CERTIFICATE_MAX)
			return error_set(err, ERROR_LIMIT,
					 "%.60s: longer than a key store of Java can hold",
					 e->alias);
		put(out, KIND_CERTIFICATE, 4);
		put_text(out, e->alias);
		put(out, seconds * 1000, 8);
		put_text(out, certificate_type);
		put(out, e->der.len, 4);
		strbuf_add(out, e->der.data, e->der.len);
	}
	seal(password, slice_of(out->data + start, out->len - start), sealed);
	strbuf_add(out, sealed, sizeof(sealed));
	return 0;
}
