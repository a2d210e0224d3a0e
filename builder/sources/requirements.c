#include "builder/sources/requirements.h"

#include "base/fs.h"
#include "base/vec.h"

enum { LEVELS_MAX = 8, FILE_BYTES_MAX = 16 * 1024 * 1024 };

/* One logical line: joined at "\" before the newline, without comments. False at the end. */
static bool next_line(struct slice *rest, size_t *number, size_t *next, struct strbuf *out)
{
	struct slice line;
	bool any = false;

	strbuf_truncate(out, 0);
	*number = *next;
	while (slice_cut(rest, '\n', &line)) {
		any = true;
		(*next)++;
		if (line.len && line.data[line.len - 1] == '\r')
			line.len--;
		if (!line.len || line.data[line.len - 1] != '\\') {
			strbuf_add(out, line.data, line.len);
			break;
		}
		strbuf_add(out, line.data, line.len - 1);
	}
	return any;
}

/* "#" at the start of the line or after a blank begins a comment. */
static struct slice without_comment(struct slice line)
{
	for (size_t i = 0; i < line.len; i++) {
		if (line.data[i] == '#' &&
		    (i == 0 || line.data[i - 1] == ' ' || line.data[i - 1] == '\t'))
			line.len = i;
	}
	return slice_trim(line);
}

/* The value of an option written `-r x`, `-rx`, `--long x` or `--long=x`; false: another one. */
static bool option_value(struct slice line, const char *name, struct slice *out)
{
	size_t n = strlen(name);

	if (!slice_starts(line, name))
		return false;
	if (name[1] == '-' && line.len > n && !byte_in(line.data[n], "= \t"))
		return false;
	*out = slice_trim(slice_of(line.data + n, line.len - n));
	if (out->len && out->data[0] == '=')
		*out = slice_trim(slice_of(out->data + 1, out->len - 1));
	if (out->len >= 2 && (out->data[0] == '"' || out->data[0] == '\'') &&
	    out->data[out->len - 1] == out->data[0])
		*out = slice_of(out->data + 1, out->len - 2);
	return true;
}

/* An address or a path must be that of a wheel. */
static bool is_wheel_or_name(struct slice line)
{
	struct slice rest = line, part, word;
	const uint8_t *at = memmem(line.data, line.len, " @ ", 3);

	if (at)
		rest = slice_of(at + 3, line.len - (size_t)(at + 3 - line.data));
	slice_cut(&rest, ' ', &word);
	if (!memchr(word.data, '/', word.len) && word.data[0] != '.' && word.data[0] != '~' &&
	    !at) {
		rest = word;
		slice_cut(&rest, ';', &part); /* a name, or a file beside: only wheels */
		return !(part.len > 4 && (memmem(part.data, part.len, ".tar.", 5) ||
					  !memcmp(part.data + part.len - 4, ".zip", 4) ||
					  !memcmp(part.data + part.len - 4, ".tgz", 4)));
	}
	for (size_t i = 0; i < word.len; i++) {
		if (byte_in(word.data[i], "#?;"))
			word.len = i;
	}
	return word.len > 4 && !memcmp(word.data + word.len - 4, ".whl", 4);
}

static int take_line(struct slice line, const char *file, size_t number, struct arena *arena,
		     struct requirements *out, struct error *err)
{
	static const char *const files[] = { "--requirement", "--constraint", "-r", "-c" };
	static const char *const refused[] = { "--editable", "--no-binary", "-e" };
	cleanup_strbuf struct strbuf shown = { 0 };
	struct slice value;

	if (memmem(line.data, line.len, "--hash", 6))
		out->hashes = true;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (option_value(line, files[i], &value)) {
			vec_push(&out->nested, arena_slice(arena, value));
			return 0;
		}
	}
	strbuf_add_quoted(&shown, line, 120);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (option_value(line, refused[i], &value))
			return error_set(
				err, ERROR_USAGE,
				"%s:%zu: %s has to be built, and only wheels are installed; "
				"build a wheel of it and name that",
				file, number, strbuf_text(&shown));
	}
	if (line.data[0] == '-' || is_wheel_or_name(line))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "%s:%zu: %s is no wheel (*.whl); what is not would have to be built", file,
			 number, strbuf_text(&shown));
}

int requirements_parse(struct slice text, const char *file, struct arena *arena,
		       struct requirements *out, struct error *err)
{
	cleanup_strbuf struct strbuf joined = { 0 };
	size_t number = 1, next = 1;

	while (next_line(&text, &number, &next, &joined)) {
		struct slice line = without_comment(strbuf_slice(&joined));

		if (line.len && take_line(line, file, number, arena, out, err) < 0)
			return -1;
	}
	return 0;
}

static int check_file(const char *path, unsigned level, struct arena *arena, bool *out_hashes,
		      struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct requirements found = { 0 };
	const char *slash = strrchr(path, '/');
	int rc;

	if (level > LEVELS_MAX)
		return error_set(err, ERROR_USAGE, "%s: requirements files nest more than %d deep",
				 path, LEVELS_MAX);
	if (fs_read(AT_FDCWD, path, FILE_BYTES_MAX, &text, err) < 0)
		return -1;
	rc = requirements_parse(strbuf_slice(&text), path, arena, &found, err);
	*out_hashes |= found.hashes;
	for (size_t i = 0; rc == 0 && i < found.nested.len; i++) {
		const char *name = found.nested.items[i];
		cleanup_free char *full =
			name[0] == '/' || !slash
				? xstrdup(name)
				: xasprintf("%.*s/%s", (int)(slash - path), path, name);

		if (!strstr(name, "://"))
			rc = check_file(full, level + 1, arena, out_hashes, err);
	}
	vec_release(&found.nested);
	return rc;
}

int requirements_check(const char *path, bool *out_hashes, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	*out_hashes = false;
	return check_file(path, 1, &arena, out_hashes, err);
}
