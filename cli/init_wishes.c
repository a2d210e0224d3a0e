#include "cli/init_wishes.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/fs.h"
#include "builder/sources/pylock.h"
#include "builder/sources/requirements.h"
#include "cli/image_arg.h"
#include "formats/marker.h"
#include "lint/stack_versions.h"
#include "manifests/dotted.h"
#include "manifests/stack_check.h"

enum { REQUIREMENTS_BYTES_MAX = 16 * 1024 * 1024 };

void wishes_release(struct wishes *w)
{
	vec_release(&w->gpus);
	vec_release(&w->frameworks);
	vec_release(&w->libraries);
	arena_release(&w->arena);
}

static bool has_framework(const struct wishes *w, const char *name)
{
	for (size_t i = 0; i < w->frameworks.len; i++) {
		if (str_equal(w->frameworks.items[i].key, name))
			return true;
	}
	return false;
}

static void add_framework(struct wishes *w, const char *name, const char *range)
{
	struct stack_pair p = { .key = arena_strdup(&w->arena, name),
				.value = arena_strdup(&w->arena, range) };

	if (!has_framework(w, name))
		vec_push(&w->frameworks, p);
}

/* "torch", "torch=2.7.*", "torch==2.7.1", "torch>=2.6,<2.8". */
static int framework_option(struct wishes *w, const char *text, struct error *err)
{
	size_t n = strcspn(text, "=<>!~");
	const char *name = arena_slice(&w->arena, slice_of(text, n)), *range = text + n;

	if (range[0] == '=' && range[1] != '=')
		range++;
	if (!*name || (text[n] && !*range) || (*range && dotted_range_check(range, err) < 0))
		return error_set(
			err, ERROR_USAGE,
			"--framework '%.80s': write a name, or a name and a version, such as "
			"torch or torch=2.7.*",
			text);
	if (has_framework(w, name))
		return error_set(err, ERROR_USAGE, "--framework: %.80s is named twice", name);
	add_framework(w, name, range);
	return 0;
}

int wishes_of_options(const struct invocation *in, struct wishes *w, struct error *err)
{
	const char *text, *objection;

	w->name = option_text(in, "name", NULL);
	objection = w->name ? stack_check_name(w->name, &w->arena) : NULL;
	if (objection)
		return error_set(err, ERROR_USAGE, "--name '%.80s' %s", w->name, objection);
	w->stack.driver = option_text(in, "driver", NULL);
	w->stack.cuda = option_text(in, "cuda", NULL);
	w->stack.python = option_text(in, "python", NULL);
	for (size_t n = 0; (text = option_nth(in, "gpu", n)); n++) {
		struct slice rest = slice_str(text), gpu;

		while (slice_cut(&rest, ',', &gpu)) {
			if (slice_trim(gpu).len)
				vec_push(&w->gpus, arena_slice(&w->arena, slice_trim(gpu)));
		}
	}
	for (size_t n = 0; (text = option_nth(in, "framework", n)); n++) {
		if (framework_option(w, text, err) < 0)
			return -1;
	}
	return 0;
}

/* The CUDA of a build that a version names: "2.7.1+cu126" is built for 12.6. */
static void take_cuda(struct wishes *w, struct slice version)
{
	const uint8_t *at = version.len ? memmem(version.data, version.len, "+cu", 3) : NULL;
	size_t left = at ? version.len - (size_t)(at + 3 - version.data) : 0;

	if (w->stack.cuda || left < 3 || !isdigit(at[3]) || !isdigit(at[4]) || !isdigit(at[5]))
		return;
	w->stack.cuda = arena_printf(&w->arena, "%c%c.%c", at[3], at[4], at[5]);
	w->cuda_seen = true;
}

/* " == 2.7.1+cu126 ; python_version > '3'" → "==2.7.1"; "" when it is no range we know. */
static const char *range_of(struct wishes *w, struct slice text)
{
	cleanup_strbuf struct strbuf b = { 0 };
	struct error ignored = { 0 };
	bool local = false;

	for (size_t i = 0; i < text.len && text.data[i] != ';'; i++) {
		char c = (char)text.data[i];

		if (c == '-' && i + 1 < text.len && text.data[i + 1] == '-')
			break; /* --hash */
		local = c == '+' || (local && c != ',' && c != ' ');
		if (!local && !strchr(" \t()\\\r\n", c))
			strbuf_addc(&b, c);
	}
	if (!b.len || dotted_range_check(strbuf_text(&b), &ignored) < 0)
		return "";
	return arena_strdup(&w->arena, strbuf_text(&b));
}

static void take_line(struct slice line, const struct tables *tables, struct wishes *w)
{
	cleanup_arena struct arena arena = { 0 };
	struct requirement r = { 0 };
	struct error ignored = { 0 };
	struct slice rest = line;

	while (rest.len && (isalnum(rest.data[0]) || strchr("._-", rest.data[0])))
		rest = slice_of(rest.data + 1, rest.len - 1);
	if (requirement_parse(slice_of(line.data, line.len - rest.len), &arena, &r, &ignored) < 0 ||
	    !framework_known(&tables->frameworks, r.name))
		return;
	rest = slice_trim(rest);
	if (rest.len && rest.data[0] == '[') {
		const uint8_t *end = memchr(rest.data, ']', rest.len);

		rest = end ? slice_of(end + 1, rest.len - (size_t)(end + 1 - rest.data))
			   : slice_of(rest.data, 0);
	}
	take_cuda(w, rest);
	add_framework(w, r.name, rest.len && rest.data[0] == '@' ? "" : range_of(w, rest));
}

/* The frameworks that lines of a requirements file name, with what they ask of the version. */
static void take_lines(struct slice text, const struct tables *tables, struct wishes *w)
{
	struct slice line;

	while (slice_cut(&text, '\n', &line)) {
		const uint8_t *hash = line.len ? memchr(line.data, '#', line.len) : NULL;

		line = slice_trim(hash ? slice_of(line.data, (size_t)(hash - line.data)) : line);
		if (line.len && isalnum(line.data[0]))
			take_line(line, tables, w);
	}
}

/* The frameworks that a lock file names, in the versions it has. */
static int take_pylock(struct slice text, const char *file, const struct tables *tables,
		       struct wishes *w, struct error *err)
{
	struct pylock_names names = { 0 };
	int rc = pylock_list(text, file, &w->arena, &names, err);

	for (size_t i = 0; rc == 0 && i < names.len; i++) {
		struct slice version = slice_str(names.items[i].version);
		struct slice plain = slice_of(version.data, strcspn(names.items[i].version, "+"));

		if (!framework_known(&tables->frameworks, names.items[i].name))
			continue;
		take_cuda(w, version);
		add_framework(w, names.items[i].name,
			      dotted_is(plain) ? arena_printf(&w->arena, "==%.*s", (int)plain.len,
							      (const char *)plain.data)
					       : "");
	}
	vec_release(&names);
	return rc;
}

/* The path of `file` from `dir`, when it lies below. */
static int relative_path(struct wishes *w, const char *dir, const char *file, struct error *err)
{
	cleanup_free char *base = realpath(dir, NULL), *full = realpath(file, NULL);
	size_t n = base ? strlen(base) : 0;

	if (!full)
		return error_set(err, ERROR_NOT_FOUND, "--requirements: %s: there is no such file",
				 file);
	if (n == 1)
		n = 0; /* the root */
	if (!base || strncmp(base, full, n) != 0 || full[n] != '/')
		return error_set(
			err, ERROR_USAGE,
			"--requirements: %s lies outside of %s, where the manifest goes; copy "
			"it there",
			file, dir);
	w->requirements = arena_strdup(&w->arena, full + n + 1);
	return 0;
}

int wishes_of_requirements(const char *file, const char *dir, const struct tables *tables,
			   struct wishes *w, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	bool locked = file && pylock_is_name(file);

	if (!file)
		return 0;
	if (relative_path(w, dir, file, err) < 0 ||
	    (!locked && requirements_check(file, &w->hashed, err) < 0) ||
	    fs_read(AT_FDCWD, file, REQUIREMENTS_BYTES_MAX, &text, err) < 0)
		return -1;
	if (locked)
		return take_pylock(strbuf_slice(&text), file, tables, w, err);
	take_lines(strbuf_slice(&text), tables, w);
	return 0;
}

/* "2.7.1+cu126" → "2.7.1"; NULL for what is not digits and dots after that. */
static const char *plain_version(struct wishes *w, const char *version)
{
	struct slice s = slice_of(version, strcspn(version, "+"));

	return dotted_is(s) ? arena_slice(&w->arena, s) : NULL;
}

/* The "3.11" of "/usr/lib/python3.11/…"; NULL: none. */
static const char *python_of_path(struct wishes *w, const char *path)
{
	const char *at = path ? strstr(path, "/python3.") : NULL;
	size_t n;

	if (!at)
		return NULL;
	at += strlen("/python");
	n = 2 + strspn(at + 2, "0123456789");
	return n > 2 ? arena_slice(&w->arena, slice_of(at, n)) : NULL;
}

static void take_packages(const struct facts *facts, const struct tables *tables, struct wishes *w)
{
	for (size_t i = 0; i < facts->packages.len; i++) {
		const struct package *p = &facts->packages.items[i];
		const char *version;

		if (!p->name || !p->version || !str_equal(p->kind, "wheel"))
			continue;
		if (!w->stack.python)
			w->stack.python = python_of_path(w, p->path);
		version = plain_version(w, p->version);
		if (version && framework_known(&tables->frameworks, p->name))
			add_framework(w, p->name, version);
	}
}

static void see(struct wishes *w, const char *key, const char *version)
{
	struct stack_pair p = { .key = key, .value = version ? plain_version(w, version) : NULL };

	if (p.value)
		vec_push(&w->libraries, p);
}

/* What the labels of an image that gpuimg built say. */
static void take_labels(const struct facts *facts, struct wishes *w)
{
	const char *driver = facts_label(facts, "io.gpuimg.driver");
	const char *python = facts_label(facts, "io.gpuimg.python");
	const char *gpus = facts_label(facts, "io.gpuimg.gpus");
	struct slice rest = slice_str(gpus ? gpus : ""), gpu;

	if (driver && !w->stack.driver)
		w->stack.driver = arena_strdup(&w->arena, driver);
	if (python && !w->stack.python)
		w->stack.python = plain_version(w, python);
	for (bool take = !w->gpus.len; take && slice_cut(&rest, ',', &gpu);) {
		if (gpu.len)
			vec_push(&w->gpus, arena_slice(&w->arena, gpu));
	}
}

static struct stack_texts texts_of(const struct string_list *list, struct arena *arena)
{
	struct stack_texts out = { .count = list->count };

	out.items = arena_array(arena, list->count + 1, sizeof(*out.items));
	for (size_t i = 0; i < list->count; i++)
		out.items[i] = arena_strdup(arena, list->items[i]);
	return out;
}

static int check_platform(const struct image *image, struct wishes *w, struct error *err)
{
	const char *objection;

	if (image->rootfs || !image->config.platform.os || !image->config.platform.architecture)
		return 0;
	w->platform = arena_printf(&w->arena, "%s/%s", image->config.platform.os,
				   image->config.platform.architecture);
	objection = stack_check_platform(w->platform, &w->arena);
	if (objection)
		return error_set(err, ERROR_USAGE, "%s: its platform '%.40s' %s", image->name,
				 w->platform, objection);
	return 0;
}

int wishes_of_image(const struct invocation *in, const struct tables *tables, struct wishes *w,
		    struct error *err)
{
	const char *name = option_text(in, "from", NULL);
	cleanup_image struct image image = { 0 };
	cleanup_facts struct facts facts = { 0 };
	struct target target = { 0 };
	struct stack_versions v;

	if (!name)
		return 0;
	if (image_arg_open(in, name, &image, err) < 0 || check_platform(&image, w, err) < 0 ||
	    facts_read(&facts, &image, &target, err) < 0)
		return -1;
	if (facts.unreadable)
		return error_set(err, ERROR_INTEGRITY, "%s: %s", name, facts.unreadable_text);
	stack_versions_find(&facts, &w->arena, &v);
	take_labels(&facts, w);
	take_packages(&facts, tables, w);
	if (v.cuda && !w->stack.cuda) {
		w->stack.cuda = plain_version(w, v.cuda);
		w->cuda_seen = true;
	}
	see(w, "cudnn", v.cudnn);
	see(w, "nccl", v.nccl);
	if (!image.rootfs) {
		w->entrypoint = texts_of(&image.config.entrypoint, &w->arena);
		w->cmd = texts_of(&image.config.cmd, &w->arena);
	}
	return 0;
}

/* The last part of the folder's path as a name may be written, or "app". */
static const char *name_of_folder(struct wishes *w, const char *dir)
{
	cleanup_free char *full = realpath(dir, NULL);
	const char *path = full ? full : dir, *slash;
	cleanup_strbuf struct strbuf b = { 0 };

	slash = strrchr(path, '/');
	for (const char *c = slash ? slash + 1 : path; *c; c++) {
		if (isalnum((unsigned char)*c))
			strbuf_addc(&b, (char)tolower((unsigned char)*c));
		else if (b.len && strbuf_text(&b)[b.len - 1] != '-')
			strbuf_addc(&b, '-');
	}
	while (b.len && strbuf_text(&b)[b.len - 1] == '-')
		strbuf_truncate(&b, b.len - 1);
	return b.len && !stack_check_name(strbuf_text(&b), &w->arena)
		       ? arena_strdup(&w->arena, strbuf_text(&b))
		       : "app";
}

void wishes_complete(struct wishes *w, const char *dir)
{
	w->stack.gpus = (struct stack_texts){ .items = w->gpus.items, .count = w->gpus.len };
	w->stack.framework =
		(struct stack_pairs){ .items = w->frameworks.items, .count = w->frameworks.len };
	w->seen = (struct stack_pairs){ .items = w->libraries.items, .count = w->libraries.len };
	if (!w->stack.cuda && !w->frameworks.len)
		w->stack.cuda = ">=1"; /* the newest */
	if (!w->platform)
		w->platform = "linux/amd64";
	if (!w->name)
		w->name = name_of_folder(w, dir);
}
