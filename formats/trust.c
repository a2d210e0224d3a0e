#include "formats/trust.h"

enum { LABEL_LIMIT = 1024, OBJECTS_LIMIT = 2000 };

void trust_release(struct trust *t)
{
	if (!t)
		return;
	vec_release(&t->certificates);
	vec_release(&t->extensions);
}

/* The object being read. */
struct object {
	bool any, extension, usage, trusted, distrusted;
	const char *label;
	unsigned purposes;
};

static int base64_value(uint8_t c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* PEM lines to bytes; data NULL when they are none. */
static struct slice decode(struct slice text, struct arena *arena)
{
	uint8_t *out = arena_alloc(arena, text.len / 4 * 3 + 4);
	size_t len = 0, digits = 0, padding = 0;
	uint32_t bits = 0;

	for (size_t i = 0; i < text.len; i++) {
		int v = base64_value(text.data[i]);

		if (text.data[i] == '\n' || text.data[i] == '\r' || text.data[i] == ' ')
			continue;
		if (text.data[i] == '=' && ++padding <= 2)
			continue;
		if (v < 0 || padding)
			return (struct slice){ 0 };
		bits = bits << 6 | (uint32_t)v;
		if (++digits % 4 == 0) {
			out[len++] = (uint8_t)(bits >> 16);
			out[len++] = (uint8_t)(bits >> 8);
			out[len++] = (uint8_t)bits;
		}
	}
	if (digits % 4 == 1 || (padding && (digits + padding) % 4))
		return (struct slice){ 0 };
	if (digits % 4 >= 2)
		out[len++] = (uint8_t)(bits >> (digits % 4 == 2 ? 4 : 10));
	if (digits % 4 == 3)
		out[len++] = (uint8_t)(bits >> 2);
	return slice_of(out, len);
}

static int hex_digit(uint8_t c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* "text%0a" between quotes, as bytes. */
static bool unquote(struct slice value, struct strbuf *out)
{
	if (value.len < 2 || value.data[0] != '"' || value.data[value.len - 1] != '"')
		return false;
	for (size_t i = 1; i + 1 < value.len; i++) {
		uint8_t c = value.data[i];

		if (c == '%' && i + 3 < value.len && hex_digit(value.data[i + 1]) >= 0 &&
		    hex_digit(value.data[i + 2]) >= 0) {
			c = (uint8_t)(hex_digit(value.data[i + 1]) << 4 |
				      hex_digit(value.data[i + 2]));
			i += 2;
		}
		strbuf_addc(out, (char)c);
	}
	return true;
}

static bool holds(const struct strbuf *der, const char *oid, size_t len)
{
	return der->len && memmem(der->data, der->len, oid, len);
}

/* The purposes an extension of extended key usage lists. */
static unsigned read_purposes(const struct strbuf *der)
{
	static const char base[] = "\x06\x08\x2b\x06\x01\x05\x05\x07\x03";
	static const struct {
		char last;
		unsigned purpose;
	} known[] = { { 1, TRUST_SERVERS }, { 4, TRUST_EMAIL }, { 3, TRUST_CODE } };
	unsigned out = 0;

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		char oid[sizeof(base)];

		memcpy(oid, base, sizeof(base) - 1);
		oid[sizeof(base) - 1] = known[i].last;
		if (holds(der, oid, sizeof(oid)))
			out |= known[i].purpose;
	}
	if (holds(der, "\x06\x04\x55\x1d\x25\x00", 6)) /* any purpose */
		out = TRUST_ALL;
	return out;
}

static const char *make_label(struct slice value, struct arena *arena)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (!unquote(value, &text))
		strbuf_add(&text, value.data, value.len);
	for (size_t i = 0; i < text.len; i++) {
		if ((unsigned char)text.data[i] < ' ' || text.data[i] == 127)
			text.data[i] = '?';
	}
	if (text.len > LABEL_LIMIT)
		strbuf_truncate(&text, LABEL_LIMIT);
	return arena_strdup(arena, strbuf_text(&text));
}

static void take_attribute(struct object *o, struct slice line, struct arena *arena)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct slice name, value = line;

	if (!slice_cut(&value, ':', &name) || !value.data)
		return;
	name = slice_trim(name);
	value = slice_trim(value);
	o->any = true;
	if (slice_is(name, "label"))
		o->label = make_label(value, arena);
	else if (slice_is(name, "trusted"))
		o->trusted = slice_is(value, "true");
	else if (slice_is(name, "x-distrusted"))
		o->distrusted = slice_is(value, "true");
	else if (slice_is(name, "class"))
		o->extension = slice_is(value, "x-certificate-extension");
	else if (slice_is(name, "object-id"))
		o->usage = slice_is(value, "2.5.29.37");
	else if (slice_is(name, "value") && unquote(value, &bytes))
		o->purposes = read_purposes(&bytes);
}

struct parser {
	struct trust *trust;
	struct arena *arena;
	enum trust_default how;
	struct object object;
	bool p11; /* an object line was seen */
	size_t line;
};

/* "-----BEGIN X-----" → X */
static bool is_boundary(struct slice line, const char *word, struct slice *out)
{
	size_t n = strlen(word);

	if (!slice_starts(line, word) || line.len < n + 5 ||
	    memcmp(line.data + line.len - 5, "-----", 5) != 0)
		return false;
	*out = slice_of(line.data + n, line.len - n - 5);
	return true;
}

/* Lines up to the END of a block. */
static int take_body(struct parser *p, struct slice *rest, struct slice kind, struct slice *out,
		     struct error *err)
{
	const uint8_t *start = rest->data;
	size_t first = p->line;
	struct slice line, end;

	while (slice_cut(rest, '\n', &line)) {
		struct slice trimmed = slice_trim(line);

		p->line++;
		if (!is_boundary(trimmed, "-----END ", &end))
			continue;
		if (!slice_equal(end, kind))
			break;
		*out = slice_of(start, (size_t)(line.data - start));
		return 0;
	}
	return error_set(err, ERROR_FORMAT, "line %zu: a PEM block without its end", first);
}

static int take_block(struct parser *p, struct slice *rest, struct slice kind, struct error *err)
{
	struct object *o = &p->object;
	struct slice body, der;
	size_t first = p->line;

	if (take_body(p, rest, kind, &body, err) < 0)
		return -1;
	if (!slice_is(kind, "CERTIFICATE") && !slice_is(kind, "TRUSTED CERTIFICATE") &&
	    !slice_is(kind, "PUBLIC KEY"))
		return 0;
	if (p->trust->certificates.len + p->trust->extensions.len >= 2 * OBJECTS_LIMIT)
		return error_set(err, ERROR_LIMIT, "line %zu: more than %d certificates", first,
				 OBJECTS_LIMIT);
	der = decode(body, p->arena);
	if (!der.data || !der.len)
		return error_set(err, ERROR_FORMAT,
				 "line %zu: not base64 where a PEM block must be", first);
	if (slice_is(kind, "PUBLIC KEY")) {
		struct trust_extension e = { .key = der, .purposes = o->purposes };

		if (o->extension && o->usage)
			vec_push(&p->trust->extensions, e);
		return 0;
	}
	if (!o->extension && slice_is(kind, "CERTIFICATE")) {
		struct trust_certificate c = {
			.der = der,
			.base64 = slice_of(arena_slice(p->arena, body), body.len),
			.label = o->label ? o->label : "",
			.trusted = p->p11 ? o->trusted : p->how == TRUST_ANCHORS,
			.distrusted = (p->p11 && o->distrusted) || p->how == TRUST_BLOCKED,
		};

		vec_push(&p->trust->certificates, c);
	}
	return 0;
}

int trust_read(struct trust *t, struct slice text, enum trust_default how, struct arena *arena,
	       struct error *err)
{
	struct parser p = { .trust = t, .arena = arena, .how = how };
	struct slice line, kind;

	while (slice_cut(&text, '\n', &line)) {
		line = slice_trim(line);
		p.line++;
		if (slice_is(line, "[p11-kit-object-v1]")) {
			p.object = (struct object){ 0 };
			p.p11 = true;
		} else if (is_boundary(line, "-----BEGIN ", &kind)) {
			if (take_block(&p, &text, kind, err) < 0)
				return -1;
		} else if (p.p11 && line.len && line.data[0] != '#') {
			take_attribute(&p.object, line, arena);
		}
	}
	return 0;
}

static bool is_blocked(const struct trust *t, const struct trust_certificate *c)
{
	for (size_t i = 0; i < t->certificates.len; i++) {
		const struct trust_certificate *other = &t->certificates.items[i];

		if (other->distrusted && slice_equal(other->der, c->der))
			return true;
	}
	return false;
}

bool trust_serves(const struct trust *t, const struct trust_certificate *c, unsigned purpose)
{
	if (!c->trusted || c->distrusted || is_blocked(t, c))
		return false;
	/* the key of a certificate stands in it as the extension has it */
	for (size_t i = 0; i < t->extensions.len; i++) {
		const struct trust_extension *e = &t->extensions.items[i];

		if (memmem(c->der.data, c->der.len, e->key.data, e->key.len) &&
		    !(e->purposes & purpose))
			return false;
	}
	return true;
}

void trust_bundle(const struct trust *t, unsigned purpose, struct strbuf *out)
{
	for (size_t i = 0; i < t->certificates.len; i++) {
		const struct trust_certificate *c = &t->certificates.items[i];
		bool again = false;

		for (size_t k = 0; k < i && !again; k++)
			again = t->certificates.items[k].trusted &&
				slice_equal(t->certificates.items[k].der, c->der);
		if (again || !trust_serves(t, c, purpose))
			continue;
		if (out->len)
			strbuf_addc(out, '\n');
		if (*c->label)
			strbuf_addf(out, "# %s\n", c->label);
		strbuf_adds(out, "-----BEGIN CERTIFICATE-----\n");
		strbuf_add(out, c->base64.data, c->base64.len);
		strbuf_adds(out, "-----END CERTIFICATE-----\n");
	}
}
