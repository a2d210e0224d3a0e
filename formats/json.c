#include "formats/json.h"

#include "base/alloc.h"
#include "formats/json_plain.h"

void json_use_alloc(void)
{
	json_set_alloc_funcs(xmalloc, free);
}

static const char *type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "text";
	case JSON_INTEGER:
		return "a whole number";
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
		return "null";
	}
	return "nothing";
}

/* No JSON has a NUL byte; Jansson passes over one that follows a number or a word. */
static bool find_nul(struct slice text, json_error_t *cause)
{
	const uint8_t *nul = text.len ? memchr(text.data, 0, text.len) : NULL;
	const uint8_t *line = text.data;

	if (!nul)
		return false;
	*cause = (json_error_t){ .line = 1, .text = "a NUL byte" };
	for (const uint8_t *c = text.data; c < nul; c++) {
		if (*c != '\n')
			continue;
		cause->line++;
		line = c + 1;
	}
	cause->column = (int)MIN(nul - line, (ptrdiff_t)INT_MAX - 1) + 1;
	return true;
}

static int load(struct slice text, json_t **out, json_error_t *cause)
{
	const char *data = text.data ? (const char *)text.data : "";

	*out = json_plain(text);
	if (*out)
		return 0;
	if (find_nul(text, cause))
		return -1;
	*out = json_loadb(data, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, cause);
	if (*out)
		return 0;
	/* Jansson quotes the input, which may hold anything. */
	for (char *c = cause->text; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	}
	cause->line = MAX(cause->line, 1);
	cause->column = MAX(cause->column, 1);
	return -1;
}

int json_parse(struct slice text, json_t **out, struct error *err)
{
	json_error_t cause;
	json_t *value;

	if (load(text, &value, &cause) < 0)
		return error_set(err, ERROR_FORMAT, "line %d, column %d: not valid JSON: %s",
				 cause.line, cause.column, cause.text);
	*out = value;
	return 0;
}

int json_parse_named(struct slice text, const char *name, json_t **out, struct error *err)
{
	json_error_t cause;
	json_t *value;

	if (load(text, &value, &cause) < 0)
		return error_set(err, ERROR_FORMAT, "%s:%d:%d: not valid JSON: %s", name,
				 cause.line, cause.column, cause.text);
	*out = value;
	return 0;
}

/* `shown`: to people, so that terminals are not spoken to by control characters above ASCII. */
static void write_string(const char *s, size_t len, bool shown, struct strbuf *out)
{
	static const char letters[] = "btn\0fr"; /* for 0x08 … 0x0d */
	size_t plain = 0;

	strbuf_addc(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (shown && (c == 0x7f || (c == 0xc2 && (unsigned char)s[i + 1] >= 0x80 &&
					    (unsigned char)s[i + 1] < 0xa0))) {
			strbuf_add(out, s + plain, i - plain);
			strbuf_addf(out, "\\u%04x", c == 0x7f ? c : (unsigned char)s[++i]);
			plain = i + 1;
			continue;
		}
		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		strbuf_add(out, s + plain, i - plain);
		plain = i + 1;
		strbuf_addc(out, '\\');
		if (c >= 0x20)
			strbuf_addc(out, (char)c);
		else if (c >= 0x08 && c <= 0x0d && letters[c - 0x08])
			strbuf_addc(out, letters[c - 0x08]);
		else
			strbuf_addf(out, "u%04x", c);
	}
	strbuf_add(out, s + plain, len - plain);
	strbuf_addc(out, '"');
}

/* How a value is laid out; `depth` counts the containers it lies in. */
struct layout_of {
	bool pretty;
	size_t depth;
};

static void write_value(const json_t *value, struct layout_of at, struct strbuf *out);

static void write_break(struct layout_of at, struct strbuf *out)
{
	if (!at.pretty)
		return;
	strbuf_addc(out, '\n');
	for (size_t i = 0; i < at.depth; i++)
		strbuf_add(out, "  ", 2);
}

static void write_object(const json_t *object, struct layout_of at, struct strbuf *out)
{
	struct layout_of inner = { .pretty = at.pretty, .depth = at.depth + 1 };
	size_t count = json_object_size(object), n = 0;
	cleanup_free const char **keys = xcalloc(count ? count : 1, sizeof(*keys));

	for (void *i = json_object_iter((json_t *)object); i;
	     i = json_object_iter_next((json_t *)object, i))
		keys[n++] = json_object_iter_key(i);
	qsort(keys, n, sizeof(*keys), str_order);
	strbuf_addc(out, '{');
	for (size_t i = 0; i < n; i++) {
		if (i)
			strbuf_addc(out, ',');
		write_break(inner, out);
		write_string(keys[i], strlen(keys[i]), at.pretty, out);
		strbuf_adds(out, at.pretty ? ": " : ":");
		write_value(json_object_get(object, keys[i]), inner, out);
	}
	if (n)
		write_break(at, out);
	strbuf_addc(out, '}');
}

static void write_array(const json_t *array, struct layout_of at, struct strbuf *out)
{
	struct layout_of inner = { .pretty = at.pretty, .depth = at.depth + 1 };
	size_t count = json_array_size(array);

	strbuf_addc(out, '[');
	for (size_t i = 0; i < count; i++) {
		if (i)
			strbuf_addc(out, ',');
		write_break(inner, out);
		write_value(json_array_get(array, i), inner, out);
	}
	if (count)
		write_break(at, out);
	strbuf_addc(out, ']');
}

static void write_real(const json_t *value, struct strbuf *out)
{
	cleanup_free char *text = json_dumps(value, JSON_ENCODE_ANY);

	strbuf_adds(out, text ? text : "null");
}

static void write_value(const json_t *value, struct layout_of at, struct strbuf *out)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		write_object(value, at, out);
		return;
	case JSON_ARRAY:
		write_array(value, at, out);
		return;
	case JSON_STRING:
		write_string(json_string_value(value), json_string_length(value), at.pretty, out);
		return;
	case JSON_INTEGER:
		strbuf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		return;
	case JSON_REAL:
		write_real(value, out);
		return;
	case JSON_TRUE:
		strbuf_adds(out, "true");
		return;
	case JSON_FALSE:
		strbuf_adds(out, "false");
		return;
	case JSON_NULL:
		strbuf_adds(out, "null");
		return;
	}
}

void json_canonical(const json_t *value, struct strbuf *out)
{
	write_value(value, (struct layout_of){ .pretty = false }, out);
}

void json_pretty(const json_t *value, struct strbuf *out)
{
	write_value(value, (struct layout_of){ .pretty = true }, out);
	strbuf_addc(out, '\n');
}

static bool has_type(const json_t *value, json_type type)
{
	return value && json_typeof(value) == type;
}

static const char *wanted_name(json_type type)
{
	switch (type) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_INTEGER:
		return "a whole number";
	default:
		return "text";
	}
}

/*
 * The member `key` of that type. NULL in *out when `optional` and missing or null.
 */
static int get(const json_t *object, const char *where, const char *key, json_type type,
	       bool optional, json_t **out, struct error *err)
{
	const char *dot = *where ? "." : "";
	json_t *value;

	if (!json_is_object(object))
		return error_set(err, ERROR_FORMAT, "%s: is %s, not an object",
				 *where ? where : "document",
				 object ? type_name(object) : "missing");
	value = json_object_get(object, key);
	if (optional && (!value || json_is_null(value))) {
		*out = NULL;
		return 0;
	}
	if (!value)
		return error_set(err, ERROR_FORMAT, "%s%s%s: is missing", where, dot, key);
	if (!has_type(value, type))
		return error_set(err, ERROR_FORMAT, "%s%s%s: is %s, not %s", where, dot, key,
				 type_name(value), wanted_name(type));
	*out = value;
	return 0;
}

int json_get_str(const json_t *object, const char *where, const char *key, const char **out,
		 struct error *err)
{
	json_t *value;

	if (get(object, where, key, JSON_STRING, false, &value, err) < 0)
		return -1;
	*out = json_string_value(value);
	return 0;
}

int json_get_str_opt(const json_t *object, const char *where, const char *key, const char **out,
		     struct error *err)
{
	json_t *value;

	if (get(object, where, key, JSON_STRING, true, &value, err) < 0)
		return -1;
	*out = json_string_value(value);
	return 0;
}

int json_get_u64(const json_t *object, const char *where, const char *key, uint64_t *out,
		 struct error *err)
{
	json_t *value;

	if (get(object, where, key, JSON_INTEGER, false, &value, err) < 0)
		return -1;
	if (json_integer_value(value) < 0)
		return error_set(err, ERROR_FORMAT,
				 "%s%s%s: is %" JSON_INTEGER_FORMAT ", which must not be below 0",
				 where, *where ? "." : "", key, json_integer_value(value));
	*out = (uint64_t)json_integer_value(value);
	return 0;
}

int json_get_object(const json_t *object, const char *where, const char *key, json_t **out,
		    struct error *err)
{
	return get(object, where, key, JSON_OBJECT, false, out, err);
}

int json_get_object_opt(const json_t *object, const char *where, const char *key, json_t **out,
			struct error *err)
{
	return get(object, where, key, JSON_OBJECT, true, out, err);
}

int json_get_array(const json_t *object, const char *where, const char *key, json_t **out,
		   struct error *err)
{
	return get(object, where, key, JSON_ARRAY, false, out, err);
}

int json_get_array_opt(const json_t *object, const char *where, const char *key, json_t **out,
		       struct error *err)
{
	return get(object, where, key, JSON_ARRAY, true, out, err);
}

/* Bytes of the valid UTF-8 sequence at `s` (which ends in a NUL), or 0. RFC 3629, section 4. */
static size_t utf8_length(const unsigned char *s)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0; /* no longer form than needed */
	if (s[0] == 0xed)
		high = 0x9f; /* no surrogates */
	if (s[0] == 0xf0)
		low = 0x90;
	if (s[0] == 0xf4)
		high = 0x8f; /* at most U+10FFFF */
	for (size_t i = 1; i < len; i++, low = 0x80, high = 0xbf) {
		if (s[i] < low || s[i] > high)
			return 0;
	}
	return len;
}

/* Jansson gives NULL for lack of memory only, once the text is valid UTF-8. */
static json_t *or_die(json_t *value)
{
	if (!value) {
		fputs("gpuimg: out of memory\n", stderr);
		_exit(3);
	}
	return value;
}

json_t *json_text(const char *s)
{
	cleanup_strbuf struct strbuf clean = { 0 };
	const unsigned char *at = (const unsigned char *)s;
	json_t *value = json_string(s);

	if (value)
		return value;
	while (*at) {
		size_t len = utf8_length(at);

		if (len)
			strbuf_add(&clean, at, len);
		else
			strbuf_adds(&clean, "\xef\xbf\xbd");
		at += len ? len : 1;
	}
	return or_die(json_string(strbuf_text(&clean)));
}

json_t *json_texts(const char *const *items)
{
	json_t *list = json_array();

	for (; *items; items++)
		json_push(list, json_text(*items));
	return list;
}

void json_put(json_t *object, const char *key, json_t *value)
{
	cleanup_json json_t *clean = json_text(key);

	assert(json_is_object(object) && object != value);
	if (json_object_set_new(object, json_string_value(clean), or_die(value)) < 0)
		or_die(NULL);
}

void json_push(json_t *array, json_t *value)
{
	assert(json_is_array(array) && array != value);
	if (json_array_append_new(array, or_die(value)) < 0)
		or_die(NULL);
}
