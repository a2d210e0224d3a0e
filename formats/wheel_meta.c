#include "formats/wheel_meta.h"

#include <ctype.h>

const char *wheel_normalize(struct slice name, struct arena *arena)
{
	char *out = arena_alloc(arena, name.len + 1);
	size_t n = 0;

	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.data[i];

		if (c == '-' || c == '_' || c == '.') {
			if (n && out[n - 1] != '-')
				out[n++] = '-';
		} else {
			out[n++] = (char)tolower(c);
		}
	}
	out[n] = '\0';
	return out;
}

int wheel_name_parse(const char *file, struct arena *arena, struct wheel_name *out,
		     struct error *err)
{
	const char *parts[6];
	struct slice rest = slice_str(file), part;
	size_t count = 0;

	if (!str_ends(file, ".whl"))
		return error_set(err, ERROR_FORMAT, "'%s' is not the name of a wheel (*.whl)",
				 file);
	rest.len -= strlen(".whl");
	while (slice_cut(&rest, '-', &part)) {
		if (!part.len || count == ARRAY_LEN(parts))
			return error_set(err, ERROR_FORMAT,
					 "'%s': a wheel's name has five or six parts between '-'",
					 file);
		parts[count++] = arena_slice(arena, part);
	}
	if (count < 5)
		return error_set(err, ERROR_FORMAT,
				 "'%s': a wheel's name has five or six parts between '-'", file);
	*out = (struct wheel_name){ parts[0], parts[1], parts[count - 3], parts[count - 2],
				    parts[count - 1] };
	return 0;
}

/* The next CSV field of *line into *out; false at the end of the line. Quotes are doubled inside.
 */
static bool csv_field(struct slice *line, struct strbuf *out, bool *bad)
{
	strbuf_truncate(out, 0);
	if (!line->data)
		return false;
	if (line->len && line->data[0] == '"') {
		size_t i = 1;

		for (;; i++) {
			if (i >= line->len) {
				*bad = true;
				return false;
			}
			if (line->data[i] != '"')
				strbuf_addc(out, (char)line->data[i]);
			else if (i + 1 < line->len && line->data[i + 1] == '"')
				strbuf_addc(out, (char)line->data[i++]);
			else
				break;
		}
		i++;
		if (i < line->len && line->data[i] != ',') {
			*bad = true;
			return false;
		}
		*line = i < line->len ? slice_of(line->data + i + 1, line->len - i - 1)
				      : (struct slice){ 0 };
		return true;
	}
	{
		struct slice field;

		slice_cut(line, ',', &field);
		strbuf_add(out, field.data, field.len);
	}
	return true;
}

static bool base64url_value(char c, uint8_t *out)
{
	if (c >= 'A' && c <= 'Z')
		*out = (uint8_t)(c - 'A');
	else if (c >= 'a' && c <= 'z')
		*out = (uint8_t)(c - 'a' + 26);
	else if (c >= '0' && c <= '9')
		*out = (uint8_t)(c - '0' + 52);
	else if (c == '-')
		*out = 62;
	else if (c == '_')
		*out = 63;
	else
		return false;
	return true;
}

/* "sha256=" and 43 characters of base64url. */
static bool parse_hash(const char *text, struct digest *out)
{
	uint32_t bits = 0;
	unsigned held = 0;
	size_t n = 0;

	if (!str_starts(text, "sha256=") || strlen(text) != 7 + 43)
		return false;
	for (text += 7; *text; text++) {
		uint8_t v;

		if (!base64url_value(*text, &v))
			return false;
		bits = bits << 6 | v;
		held += 6;
		if (held >= 8) {
			held -= 8;
			if (n == 32)
				return false;
			out->bytes[n++] = (uint8_t)(bits >> held);
		}
	}
	return n == 32 && (bits & ((1U << held) - 1)) == 0;
}

static bool path_clean(const char *path)
{
	struct slice rest = slice_str(path), part;

	if (!*path || *path == '/' || strchr(path, '\\'))
		return false;
	while (slice_cut(&rest, '/', &part)) {
		if (!part.len || slice_is(part, ".") || slice_is(part, ".."))
			return false;
	}
	return true;
}

static int record_row(struct slice line, size_t number, struct arena *arena,
		      struct wheel_record_row *out, struct error *err)
{
	cleanup_strbuf struct strbuf path = { 0 }, hash = { 0 }, size = { 0 }, extra = { 0 };
	bool bad = false;

	if (!csv_field(&line, &path, &bad) || !csv_field(&line, &hash, &bad) ||
	    !csv_field(&line, &size, &bad) || csv_field(&line, &extra, &bad) || bad)
		return error_set(err, ERROR_FORMAT, "RECORD line %zu has not three fields", number);
	if (!path_clean(strbuf_text(&path)) || strlen(strbuf_text(&path)) != path.len)
		return error_set(err, ERROR_FORMAT, "RECORD line %zu: unsafe path '%s'", number,
				 strbuf_text(&path));
	*out = (struct wheel_record_row){ .path = arena_strdup(arena, strbuf_text(&path)),
					  .size = UINT64_MAX };
	if (size.len && !slice_u64(strbuf_slice(&size), &out->size))
		return error_set(err, ERROR_FORMAT, "RECORD line %zu: '%s' is not a size", number,
				 strbuf_text(&size));
	out->has_digest = hash.len > 0;
	if (out->has_digest && (strlen(strbuf_text(&hash)) != hash.len ||
				!parse_hash(strbuf_text(&hash), &out->digest)))
		return error_set(err, ERROR_FORMAT,
				 "RECORD line %zu: '%s' is not sha256=<base64url> (weaker hashes "
				 "are not accepted)",
				 number, strbuf_text(&hash));
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct wheel_record_row *)a)->path,
		      ((const struct wheel_record_row *)b)->path);
}

int wheel_record_parse(struct slice text, struct arena *arena, struct wheel_record *out,
		       struct error *err)
{
	struct slice line;
	size_t number = 0;

	while (slice_cut(&text, '\n', &line)) {
		struct wheel_record_row row;

		number++;
		line = slice_trim(line);
		if (!line.len)
			continue;
		if (record_row(line, number, arena, &row, err) < 0)
			return -1;
		vec_push(out, row);
	}
	vec_sort(out, by_path);
	for (size_t i = 1; i < out->len; i++) {
		if (str_equal(out->items[i - 1].path, out->items[i].path))
			return error_set(err, ERROR_FORMAT, "RECORD names '%s' twice",
					 out->items[i].path);
	}
	return 0;
}

const struct wheel_record_row *wheel_record_find(const struct wheel_record *record,
						 const char *path)
{
	const struct wheel_record_row key = { .path = path };

	return record->len ? bsearch(&key, record->items, record->len, sizeof(key), by_path) : NULL;
}

void wheel_record_line(struct strbuf *out, const char *path, const struct digest *digest,
		       uint64_t size)
{
	char hash[48];

	if (strpbrk(path, ",\"\r\n")) {
		strbuf_addc(out, '"');
		for (const char *p = path; *p; p++) {
			if (*p == '"')
				strbuf_addc(out, '"');
			strbuf_addc(out, *p);
		}
		strbuf_addc(out, '"');
	} else {
		strbuf_adds(out, path);
	}
	if (digest)
		strbuf_addf(out, ",sha256=%s,%" PRIu64 "\n", digest_base64url(digest, hash), size);
	else
		strbuf_adds(out, ",,\n");
}

static bool dotted_name(struct slice s)
{
	struct slice part;

	while (slice_cut(&s, '.', &part)) {
		if (!part.len || isdigit(part.data[0]))
			return false;
		for (size_t i = 0; i < part.len; i++) {
			if (!isalnum(part.data[i]) && part.data[i] != '_' && part.data[i] < 0x80)
				return false;
		}
	}
	return true;
}

/* "name = module:attr.attr [extra]" */
static bool entry_point(struct slice line, struct arena *arena, struct wheel_entry_point *out)
{
	struct slice name, rest = line, value, module, attr, first;

	if (!slice_cut(&rest, '=', &name) || !rest.data)
		return false;
	value = rest;
	slice_cut(&rest, '[', &value); /* an extra in brackets is ignored */
	rest = slice_trim(value);
	if (!slice_cut(&rest, ':', &module) || !rest.data)
		return false;
	name = slice_trim(name);
	module = slice_trim(module);
	attr = slice_trim(rest);
	if (!name.len || memchr(name.data, '/', name.len) || name.data[0] == '.' ||
	    !dotted_name(module) || !dotted_name(attr))
		return false;
	rest = attr;
	slice_cut(&rest, '.', &first);
	*out = (struct wheel_entry_point){ arena_slice(arena, name), arena_slice(arena, module),
					   arena_slice(arena, first), arena_slice(arena, attr) };
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct wheel_entry_point *)a)->name,
		      ((const struct wheel_entry_point *)b)->name);
}

int wheel_entry_points_parse(struct slice text, struct arena *arena, struct wheel_entry_points *out,
			     struct error *err)
{
	struct slice line;
	bool scripts = false;
	size_t number = 0;

	while (slice_cut(&text, '\n', &line)) {
		struct wheel_entry_point point;

		number++;
		line = slice_trim(line);
		if (!line.len || line.data[0] == '#' || line.data[0] == ';')
			continue;
		if (line.data[0] == '[') {
			scripts = slice_is(line, "[console_scripts]") ||
				  slice_is(line, "[gui_scripts]");
			continue;
		}
		if (!scripts)
			continue;
		if (!entry_point(line, arena, &point))
			return error_set(err, ERROR_FORMAT,
					 "entry_points.txt line %zu: '%.*s' is not "
					 "name = module:function",
					 number, (int)line.len, (const char *)line.data);
		vec_push(out, point);
	}
	vec_sort(out, by_name);
	for (size_t i = 1; i < out->len; i++) {
		if (str_equal(out->items[i - 1].name, out->items[i].name))
			return error_set(err, ERROR_FORMAT,
					 "entry_points.txt names the script '%s' twice",
					 out->items[i].name);
	}
	return 0;
}

void wheel_script(struct strbuf *out, const char *python, const struct wheel_entry_point *point)
{
	strbuf_addf(out,
		    "#!%s\n"
		    "import sys\n"
		    "from %s import %s\n"
		    "if __name__ == \"__main__\":\n"
		    "    sys.exit(%s())\n",
		    python, point->module, point->first, point->call);
}
