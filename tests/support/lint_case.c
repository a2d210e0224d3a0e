#include "tests/support/lint_case.h"

#include "base/alloc.h"
#include "lint/fact_record.h"
#include "lint/facts_parts.h"
#include "lint/lint.h"
#include "lint/site_policy.h"

#include <ctype.h>

enum { WORDS_MAX = 40 };

struct words {
	const char *items[WORDS_MAX];
	size_t count;
};

/* The image being made. */
struct maker {
	struct arena arena;
	struct facts facts;
	struct image_config config;
	struct lint_options options;
	size_t layer;
	const char *env[WORDS_MAX], *label_keys[WORDS_MAX], *label_values[WORDS_MAX];
	size_t env_count, label_count;
	struct config_history history[WORDS_MAX];
	struct strbuf scratch;
	struct strbuf policy; /* the lines of the site's */
	struct site_policy site;
	bool no_capabilities, no_path; /* not added of themselves */
	struct strbuf *why;
	bool ok;
	bool recorded; /* facts are written and read again */
};

static void complain(struct maker *m, const char *what, const char *about)
{
	strbuf_addf(m->why, "%s: %s\n", what, about);
	m->ok = false;
}

static struct words split(struct maker *m, struct slice line)
{
	struct words w = { 0 };
	struct slice one;

	while (w.count < WORDS_MAX && slice_cut(&line, ' ', &one)) {
		if (one.len)
			w.items[w.count++] = arena_slice(&m->arena, one);
	}
	return w;
}

/* The value of key=value among the words, or NULL. */
static const char *value_of(const struct words *w, const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < w->count; i++) {
		if (strncmp(w->items[i], key, len) == 0 && w->items[i][len] == '=')
			return w->items[i] + len + 1;
	}
	return NULL;
}

static uint64_t number_of(const struct words *w, const char *key, int base, uint64_t fallback)
{
	const char *text = value_of(w, key);

	return text ? strtoull(text, NULL, base) : fallback;
}

static const char *relative(const char *path)
{
	return *path == '/' ? path + 1 : path;
}

/* What is read of a record of the entry and its facts; those that may not be kept stay. */
static struct file_facts *recorded(struct maker *m, struct tar_entry *entry,
				   struct file_facts *content)
{
	cleanup_strbuf struct strbuf record = { 0 };
	struct fact_record_reader r = { .names = &m->arena, .content = &m->arena };
	struct odd_entry odd;

	if (!fact_record_entry(&record, entry, content))
		return content;
	r.in = stream_memory(strbuf_slice(&record));
	if (fact_record_next(&r, entry, &content, &odd) != FACT_RECORD_ENTRY || r.at != r.len)
		complain(m, "the record cannot be read", entry->path);
	stream_close(r.in);
	return content;
}

static void add(struct maker *m, enum tar_type type, const char *path, const char *link,
		uint64_t size, const struct words *w, struct file_facts *content)
{
	struct tar_entry entry = {
		.type = type, .path = relative(path), .link = link, .size = size, .mode = 0755
	};

	if (w) {
		entry.mode = (uint32_t)number_of(w, "mode", 8, 0755);
		entry.uid = number_of(w, "uid", 10, 0);
		entry.gid = number_of(w, "gid", 10, 0);
	}
	if (m->recorded)
		content = recorded(m, &entry, content);
	facts_add(&m->facts, m->layer, &entry, content);
}

static uint16_t machine_named(const char *name)
{
	if (!name || str_equal(name, "x86_64"))
		return ELF_MACHINE_X86_64;
	if (str_equal(name, "aarch64"))
		return ELF_MACHINE_AARCH64;
	return str_equal(name, "386") ? ELF_MACHINE_386 : 0;
}

static bool has_word(const struct words *w, const char *word)
{
	for (size_t i = 0; i < w->count; i++) {
		if (str_equal(w->items[i], word))
			return true;
	}
	return false;
}

/* Letters and digits without a pattern, the same for the same length. */
static void add_random(struct strbuf *out, size_t count, const char *alphabet)
{
	uint32_t state = 12345 + (uint32_t)count;
	size_t letters = strlen(alphabet);

	for (size_t i = 0; i < count; i++) {
		state = state * 1103515245u + 12345u;
		strbuf_addc(out, alphabet[(state >> 16) % letters]);
	}
}

/* \n \r \t \0 \xNN and {random N}, {hex N}. */
static void unescape(struct slice text, struct strbuf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = (char)text.data[i];
		cleanup_free char *rest =
			xstrndup((const char *)text.data + i, MIN(text.len - i, (size_t)24));

		if (c == '\\' && rest[1] == 'x' && isxdigit((unsigned char)rest[2]) &&
		    isxdigit((unsigned char)rest[3])) {
			rest[4] = '\0';
			strbuf_addc(out, (char)strtoul(rest + 2, NULL, 16));
			i += 3;
		} else if (c == '\\' && i + 1 < text.len) {
			static const char from[] = "nrt0\\", to[] = "\n\r\t\0\\";
			const char *at = strchr(from, text.data[++i]);

			strbuf_addc(out, at ? to[at - from] : '\\');
		} else if (str_starts(rest, "{random ") || str_starts(rest, "{hex ")) {
			bool hex = rest[1] == 'h';

			add_random(out, strtoul(strchr(rest, ' '), NULL, 10),
				   hex ? "0123456789abcdef"
				       : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01234"
					 "56789");
			i += strcspn(rest, "}");
		} else {
			strbuf_addc(out, c);
		}
	}
}

/* "cubin:90a", "ptx:80/8.5", "lto:75", "cubin:80*3000000" (bytes unpacked). */
static void add_code(struct maker *m, const char *text, struct gpu_row *row)
{
	const char *colon = strchr(text, ':');
	char *end;

	*row = (struct gpu_row){ .section = ".nv_fatbin", .count = 1 };
	row->kind = str_starts(text, "ptx")   ? FATBIN_PTX
		    : str_starts(text, "lto") ? FATBIN_LTO
					      : FATBIN_CUBIN;
	if (!colon) {
		complain(m, "no : in", text);
		return;
	}
	row->sm = (unsigned)strtoul(colon + 1, &end, 10);
	if (*end == 'a' || *end == 'f')
		row->suffix = *end++;
	if (*end == '/') {
		row->ptx_major = (unsigned)strtoul(end + 1, &end, 10);
		row->ptx_minor = *end == '.' ? (unsigned)strtoul(end + 1, &end, 10) : 0;
	}
	row->unpacked = row->stored = *end == '*' ? strtoull(end + 1, &end, 10) : 1000000;
}

static const struct gpu_code *code_of(struct maker *m, const char *text)
{
	struct gpu_code *code = arena_alloc(&m->arena, sizeof(*code));
	struct gpu_row *rows = arena_array(&m->arena, WORDS_MAX, sizeof(*rows));
	struct slice rest = slice_str(text), one;

	while (code->count < WORDS_MAX && slice_cut(&rest, ',', &one))
		add_code(m, arena_slice(&m->arena, one), &rows[code->count++]);
	code->rows = rows;
	return code;
}

/* Text with commas between, as a list in the arena. */
static const char **list_of(struct maker *m, const char *text, size_t *out_count)
{
	const char **list = arena_array(&m->arena, WORDS_MAX, sizeof(*list));
	struct slice rest = slice_str(text ? text : ""), one;

	*out_count = 0;
	while (*out_count < WORDS_MAX && slice_cut(&rest, ',', &one)) {
		if (one.len)
			list[(*out_count)++] = arena_slice(&m->arena, one);
	}
	return list;
}

static int by_hash(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* version-needs=libc.so.6:GLIBC_2.38,…  version-defs=A,B  undefined=s,s?  exports=s,s */
static void add_symbols(struct maker *m, const struct words *w, struct elf_facts *elf)
{
	size_t needs, undefined, exports;
	const char **n = list_of(m, value_of(w, "version-needs"), &needs);
	const char **u = list_of(m, value_of(w, "undefined"), &undefined);
	const char **e = list_of(m, value_of(w, "exports"), &exports);
	struct version_need *version_needs =
		arena_array(&m->arena, needs + 1, sizeof(*version_needs));
	struct undefined_symbol *symbols = arena_array(&m->arena, undefined + 1, sizeof(*symbols));
	uint64_t *hashes = arena_array(&m->arena, exports + 1, sizeof(*hashes));

	for (size_t i = 0; i < needs; i++) {
		size_t len = strcspn(n[i], ":");

		version_needs[i].file = arena_printf(&m->arena, "%.*s", (int)len, n[i]);
		version_needs[i].version = n[i] + len + (n[i][len] == ':');
	}
	for (size_t i = 0; i < undefined; i++) {
		size_t len = strlen(u[i]);

		symbols[i].weak = str_ends(u[i], "?");
		symbols[i].name =
			arena_printf(&m->arena, "%.*s", (int)(len - symbols[i].weak), u[i]);
	}
	for (size_t i = 0; i < exports; i++)
		elf->python_module |= str_starts(e[i], "PyInit_");
	for (size_t i = 0; i < exports; i++)
		hashes[i] = symbol_hash(slice_str(e[i]));
	qsort(hashes, exports, sizeof(*hashes), by_hash);
	elf->version_needs = version_needs;
	elf->version_need_count = needs;
	elf->version_defs = list_of(m, value_of(w, "version-defs"), &elf->version_def_count);
	elf->undefined = symbols;
	elf->undefined_count = undefined;
	elf->exports = hashes;
	elf->export_count = exports;
	elf->symbols_known = true;
}

static unsigned opens_of(const char *text)
{
	unsigned opens = 0;

	if (!text)
		return 0;
	opens |= strstr(text, "compute") ? OPENS_COMPUTE : 0;
	opens |= strstr(text, "utility") ? OPENS_UTILITY : 0;
	opens |= strstr(text, "video") ? OPENS_VIDEO : 0;
	opens |= strstr(text, "graphics") ? OPENS_GRAPHICS : 0;
	opens |= strstr(text, "nvrtc") ? OPENS_NVRTC : 0;
	return opens;
}

static void add_elf(struct maker *m, const struct words *w)
{
	struct elf_facts *elf = arena_alloc(&m->arena, sizeof(*elf));
	struct file_facts *content = arena_alloc(&m->arena, sizeof(*content));
	struct slice rest = slice_str(value_of(w, "needed") ? value_of(w, "needed") : ""), one;
	const char **needed = arena_array(&m->arena, 32, sizeof(*needed));

	elf->machine = machine_named(value_of(w, "machine"));
	elf->is64 = elf->machine != ELF_MACHINE_386;
	elf->is_dynamic = !has_word(w, "static");
	elf->type = ELF_TYPE_DYN;
	elf->interp = value_of(w, "interp");
	elf->soname = value_of(w, "soname");
	elf->rpath = value_of(w, "rpath");
	elf->runpath = value_of(w, "runpath");
	elf->gpu = value_of(w, "gpu-code") ? code_of(m, value_of(w, "gpu-code")) : NULL;
	elf->gpu_code = has_word(w, "gpu-code") || elf->gpu;
	elf->opens = opens_of(value_of(w, "opens"));
	elf->embedded_version = value_of(w, "states");
	elf->cut_short = has_word(w, "cut-short");
	elf->debug_bytes = number_of(w, "debug", 10, 0);
	add_symbols(m, w, elf);
	if (value_of(w, "compat-note")) {
		cleanup_strbuf struct strbuf note = { 0 };

		unescape(slice_str(value_of(w, "compat-note")), &note);
		elf->compat_note = arena_strdup(&m->arena, strbuf_text(&note));
	}
	elf->names_gpu = has_word(w, "names-gpu");
	while (elf->needed_count < 32 && slice_cut(&rest, ',', &one)) {
		if (one.len)
			needed[elf->needed_count++] = arena_slice(&m->arena, one);
	}
	elf->needed = needed;
	content->elf = elf;
	content->head_hash = number_of(w, "head", 10, 0);
	add(m, TAR_FILE, w->items[0], "", number_of(w, "size", 10, 4096), w, content);
}

static void add_content(struct maker *m, const char *path, const struct words *w,
			struct slice bytes)
{
	cleanup_stream struct stream *stream = stream_memory(bytes);
	struct tar_entry entry = {
		.type = TAR_FILE, .path = relative(path), .link = "", .size = bytes.len
	};
	struct file_facts *content = NULL;
	struct error err = { 0 };

	if (content_facts_read(&entry, stream, &m->scratch, &m->arena, &content, &err) < 0)
		complain(m, path, err.text);
	add(m, TAR_FILE, path, "", bytes.len, w, content);
}

static void add_file(struct maker *m, struct slice line)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	const uint8_t *mark = memmem(line.data, line.len, "<<", 2);
	struct words w;

	if (!mark) {
		complain(m, "no << in", arena_slice(&m->arena, line));
		return;
	}
	w = split(m, slice_of(line.data, (size_t)(mark - line.data)));
	unescape(slice_of(mark + 2, line.len - (size_t)(mark + 2 - line.data)), &bytes);
	strbuf_addc(&bytes, 0);
	add_content(m, w.items[0], &w, slice_of(bytes.data, bytes.len - 1));
}

static int compression_named(const char *name)
{
	for (int c = COMPRESSION_NONE; c <= COMPRESSION_XZ; c++) {
		if (str_equal(name, compression_name((enum compression)c)))
			return c;
	}
	return -1;
}

/* wheel HOME NAME VERSION [Requires-Dist…] [<<RECORD] */
static void add_wheel(struct maker *m, struct slice line)
{
	cleanup_strbuf struct strbuf metadata = { 0 }, record = { 0 };
	const uint8_t *mark = line.len ? memmem(line.data, line.len, "<<", 2) : NULL;
	struct words w =
		split(m, slice_of(line.data, mark ? (size_t)(mark - line.data) : line.len));
	const char *dir;

	if (w.count < 3) {
		complain(m, "not understood", "wheel");
		return;
	}
	dir = arena_printf(&m->arena, "%s/%s-%s.dist-info", w.items[0], w.items[1], w.items[2]);
	strbuf_addf(&metadata, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n", w.items[1],
		    w.items[2]);
	for (size_t i = 3; i < w.count; i++) {
		cleanup_free char *text = xstrdup(w.items[i]);

		for (char *c = text; *c; c++)
			*c = *c == '~' ? ' ' : *c;
		strbuf_addf(&metadata, "Requires-Dist: %s\n", text);
	}
	add_content(m, arena_printf(&m->arena, "%s/METADATA", dir), NULL, strbuf_slice(&metadata));
	if (mark) {
		unescape(slice_of(mark + 2, line.len - (size_t)(mark + 2 - line.data)), &record);
		add_content(m, arena_printf(&m->arena, "%s/RECORD", dir), NULL,
			    strbuf_slice(&record));
	}
}

static void add_whiteout(struct maker *m, const char *path)
{
	const char *slash = strrchr(path, '/');

	add(m, TAR_FILE,
	    arena_printf(&m->arena, "%.*s/.wh.%s", (int)(slash - path), path, slash + 1), "", 0,
	    NULL, NULL);
}

static void add_problem(struct maker *m, struct slice line)
{
	struct words w = split(m, line);
	struct slice rest = line, one;
	struct layer_problem p = { 0 };

	slice_cut(&rest, ' ', &one);
	slice_cut(&rest, ' ', &one);
	p.layer = strtoul(w.items[0], NULL, 10);
	p.compressed = str_equal(w.items[1], "compressed");
	p.diff_id = p.compressed || str_equal(w.items[1], "diff_id");
	p.unreadable = str_equal(w.items[1], "unreadable");
	m->facts.lacks_entries |= p.unreadable;
	p.text = arena_slice(&m->arena, rest);
	vec_push(&m->facts.problems, p);
}

static void set_list(struct maker *m, struct string_list *list, const struct words *w)
{
	list->items = arena_array(&m->arena, w->count + 1, sizeof(*list->items));
	list->count = w->count;
	for (size_t i = 0; i < w->count; i++)
		list->items[i] = w->items[i];
}

static void add_label(struct maker *m, const char *text)
{
	size_t key = strcspn(text, "=");

	m->label_keys[m->label_count] = arena_printf(&m->arena, "%.*s", (int)key, text);
	m->label_values[m->label_count++] = text[key] ? text + key + 1 : "";
}

/* Words that describe the configuration or the target. False: not one of them. */
static bool configure(struct maker *m, const char *word, struct slice rest, const struct words *w)
{
	cleanup_strbuf struct strbuf plain = { 0 };
	struct error err = { 0 };
	const char *text;

	unescape(rest, &plain);
	text = arena_strdup(&m->arena, strbuf_text(&plain));
	if (str_equal(word, "env"))
		m->env[m->env_count++] = text;
	else if (str_equal(word, "unset"))
		*(str_equal(text, "PATH") ? &m->no_path : &m->no_capabilities) = true;
	else if (str_equal(word, "label"))
		add_label(m, text);
	else if (str_equal(word, "entrypoint"))
		set_list(m, &m->config.entrypoint, w);
	else if (str_equal(word, "cmd"))
		set_list(m, &m->config.cmd, w);
	else if (str_equal(word, "history"))
		m->history[m->config.history_count++].created_by = text;
	else if (str_equal(word, "user"))
		m->config.user = text;
	else if (str_equal(word, "created"))
		m->config.created = text;
	else if (str_equal(word, "today"))
		m->facts.today = text;
	else if (str_equal(word, "workdir"))
		m->config.workdir = text;
	else if (str_equal(word, "arch"))
		m->config.platform.architecture = text;
	else if (str_equal(word, "runtime"))
		m->ok &= target_add_runtimes(&m->options.target, text, &err) == 0;
	else if (str_equal(word, "gpu"))
		m->ok &= target_add_gpus(&m->options.target, text, &err) == 0;
	else if (str_equal(word, "driver"))
		m->ok &= target_add_drivers(&m->options.target, text, &err) == 0;
	else if (str_equal(word, "driver-cuda"))
		m->ok &= target_set_driver_cuda(&m->options.target, text, &err) == 0;
	else if (str_equal(word, "policy"))
		strbuf_addf(&m->policy, "%.*s\n", (int)rest.len, (const char *)rest.data);
	else
		return false;
	return true;
}

static void build_line(struct maker *m, const char *word, struct slice rest)
{
	struct words w = split(m, rest);

	if (str_equal(word, "cmd") || str_equal(word, "entrypoint")) {
		cleanup_strbuf struct strbuf plain = { 0 };

		unescape(rest, &plain);
		w = split(m, strbuf_slice(&plain));
	}
	if (configure(m, word, rest, &w))
		return;
	if (str_equal(word, "layer"))
		m->layer++;
	else if (str_equal(word, "path") && w.count)
		add(m, TAR_FILE, w.items[0], "", number_of(&w, "size", 10, 1), &w, NULL);
	else if (str_equal(word, "dir") && w.count)
		add(m, TAR_DIR, w.items[0], "", 0, &w, NULL);
	else if (str_equal(word, "device") && w.count)
		add(m, TAR_CHAR, w.items[0], "", 0, NULL, NULL);
	else if (str_equal(word, "elf") && w.count)
		add_elf(m, &w);
	else if (str_equal(word, "file") && w.count)
		add_file(m, rest);
	else if (str_equal(word, "wheel"))
		add_wheel(m, rest);
	else if (str_equal(word, "odd") && w.count > 2)
		vec_push(&m->facts.odd_entries,
			 ((struct odd_entry){ m->layer, w.items[1],
					      arena_printf(&m->arena, "%s", w.items[2]),
					      str_equal(w.items[0], "unsafe") }));
	else if (str_equal(word, "manifest") && w.count == 1)
		m->facts.manifest_type = w.items[0];
	else if (str_equal(word, "media") && w.count == 2)
		vec_push(&m->facts.media,
			 ((struct layer_media){ w.items[0], compression_named(w.items[1]) }));
	else if (str_equal(word, "link") && w.count == 3)
		add(m, TAR_SYMLINK, w.items[0], w.items[2], 0, NULL, NULL);
	else if (str_equal(word, "hard") && w.count == 3)
		add(m, TAR_HARDLINK, w.items[0], relative(w.items[2]), 0, NULL, NULL);
	else if (str_equal(word, "delete") && w.count)
		add_whiteout(m, w.items[0]);
	else if (str_equal(word, "problem") && w.count > 2)
		add_problem(m, rest);
	else if (!str_equal(word, "search") && !str_equal(word, "cache") &&
		 !str_equal(word, "bare") && !str_equal(word, "expect") &&
		 !str_equal(word, "says") && !str_equal(word, "advises"))
		complain(m, "not understood", word);
}

/* What comes before the entries: a C library, and the loader's configuration and cache. */
static void build_base(struct maker *m, struct slice body)
{
	cleanup_strbuf struct strbuf conf = { 0 }, cache = { 0 };
	VEC(struct ldcache_entry) entries = { 0 };
	bool bare = false;
	const struct slice all = body;
	struct slice line;

	while (slice_cut(&body, '\n', &line)) {
		struct words w = split(m, line);

		if (w.count == 2 && str_equal(w.items[0], "search"))
			strbuf_addf(&conf, "%s\n", w.items[1]);
		if (w.count == 4 && str_equal(w.items[0], "cache"))
			vec_push(&entries, ((struct ldcache_entry){ w.items[1], w.items[3],
								    LDCACHE_X86_64_LIB64, "" }));
		bare |= w.count == 1 && str_equal(w.items[0], "bare");
	}
	if (!bare) {
		struct words libc = { { "/lib/x86_64-linux-gnu/libc.so.6", "soname=libc.so.6" },
				      2 };

		add_elf(m, &libc);
		/* Unless the case is about it. */
		if (!memmem(all.data, all.len, "/etc/debian_version", 19))
			add_content(m, "etc/debian_version", NULL, slice_str("12.7\n"));
	}
	if (conf.len) {
		add_content(m, "etc/ld.so.conf", NULL,
			    slice_str("include /etc/ld.so.conf.d/*.conf\n"));
		add_content(m, "etc/ld.so.conf.d/search.conf", NULL, strbuf_slice(&conf));
	}
	if (entries.len) {
		ldcache_write(entries.items, entries.len, &cache);
		add_content(m, "etc/ld.so.cache", NULL, strbuf_slice(&cache));
	}
	vec_release(&entries);
}

/* As those have that image builders make, unless the case is about that. */
static void add_path(struct maker *m)
{
	for (size_t i = 0; i < m->env_count; i++) {
		if (str_starts(m->env[i], "PATH="))
			return;
	}
	if (!m->no_path && m->env_count < WORDS_MAX)
		m->env[m->env_count++] =
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

/* An image that asks for GPUs says for what, unless the case is about that. */
static void add_capabilities(struct maker *m)
{
	bool asks = false;

	for (size_t i = 0; i < m->env_count; i++) {
		asks |= str_starts(m->env[i], "NVIDIA_VISIBLE_DEVICES=");
		if (str_starts(m->env[i], "NVIDIA_DRIVER_CAPABILITIES="))
			return;
	}
	if (asks && !m->no_capabilities && m->env_count < WORDS_MAX)
		m->env[m->env_count++] = "NVIDIA_DRIVER_CAPABILITIES=compute,utility";
}

static void build(struct maker *m, struct slice body)
{
	struct slice rest = body, line, word;

	m->config.platform = (struct platform){ .os = "linux", .architecture = "amd64" };
	m->facts.config = &m->config;
	m->facts.target = &m->options.target;
	build_base(m, body);
	while (slice_cut(&rest, '\n', &line)) {
		struct slice left = line;

		if (!slice_trim(line).len || slice_starts(line, "#"))
			continue;
		slice_cut(&left, ' ', &word);
		build_line(m, arena_slice(&m->arena, word), left);
	}
	add_capabilities(m);
	add_path(m);
	m->config.history = m->history;
	m->config.env = (struct string_list){ m->env, m->env_count };
	m->config.label_keys = (struct string_list){ m->label_keys, m->label_count };
	m->config.label_values = (struct string_list){ m->label_values, m->label_count };
	m->facts.layer_count = m->layer + 1;
}

/* What the site asks for, when the case says so. */
static void add_policy(struct maker *m)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	if (!m->policy.len)
		return;
	strbuf_addf(&text, "gpuimg-policy: 1\n%s", strbuf_text(&m->policy));
	if (site_policy_parse(strbuf_slice(&text), "policy.yaml", &m->site, &err) < 0 ||
	    site_policy_apply(&m->site, &m->options.policy, &err) < 0)
		complain(m, "policy", err.text);
	m->facts.site = &m->site;
}

static const struct finding *find(const struct lint_result *result, const char *rule,
				  const char *path, const bool *used)
{
	for (size_t i = 0; i < result->findings.len; i++) {
		const struct finding *f = result->findings.items[i];

		if (!(used && used[i]) && str_equal(f->rule->id, rule) &&
		    (!path || str_equal(f->path, path)))
			return f;
	}
	return NULL;
}

static void check_expect(struct maker *m, const struct lint_result *result, const struct words *w,
			 bool *used)
{
	const char *path = w->count > 2 && !str_equal(w->items[2], "-") ? w->items[2] : "";
	const struct finding *f;

	if (str_equal(w->items[1], "none"))
		return;
	f = find(result, w->items[1], path, used);
	if (!f) {
		strbuf_addf(m->why, "expected %s %s, which is not reported\n", w->items[1], path);
		m->ok = false;
		return;
	}
	for (size_t i = 0; i < result->findings.len; i++)
		used[i] |= result->findings.items[i] == f;
	if (w->count > 3 && !str_equal(severity_name(f->severity), w->items[3])) {
		strbuf_addf(m->why, "%s %s is %s, not %s\n", w->items[1], path,
			    severity_name(f->severity), w->items[3]);
		m->ok = false;
	}
}

/* "says RULE TEXT" of the message, "advises RULE TEXT" of the fix. */
static void check_text(struct maker *m, const struct lint_result *result, const struct words *w,
		       struct slice line)
{
	const struct finding *f = find(result, w->items[1], NULL, NULL);
	const char *text =
		arena_slice(&m->arena, line) + strlen(w->items[0]) + 1 + strlen(w->items[1]) + 1;
	const char *said = !f                               ? "(not reported)"
			   : str_equal(w->items[0], "says") ? f->message
							    : f->fix;

	if (f && strstr(said, text))
		return;
	strbuf_addf(m->why, "%s does not say \"%s\": %s\n", w->items[1], text, said);
	m->ok = false;
}

static void check(struct maker *m, const struct lint_result *result, struct slice body)
{
	cleanup_free bool *used = xcalloc(result->findings.len + 1, sizeof(*used));
	struct slice line;

	while (slice_cut(&body, '\n', &line)) {
		struct words w = split(m, line);

		if (w.count > 1 && str_equal(w.items[0], "expect"))
			check_expect(m, result, &w, used);
		else if (w.count > 2 &&
			 (str_equal(w.items[0], "says") || str_equal(w.items[0], "advises")))
			check_text(m, result, &w, line);
	}
	for (size_t i = 0; i < result->findings.len; i++) {
		const struct finding *f = result->findings.items[i];

		if (used[i])
			continue;
		strbuf_addf(m->why, "not expected: %s %s (%s): %s\n", f->rule->id, f->path,
			    severity_name(f->severity), f->message);
		m->ok = false;
	}
}

bool lint_case_next(struct slice *rest, struct slice *name, struct slice *body)
{
	struct slice line, start;

	while (slice_cut(rest, '\n', &line)) {
		if (!slice_starts(line, "case "))
			continue;
		*name = slice_of(line.data + 5, line.len - 5);
		start = *rest;
		while (rest->data && !slice_starts(*rest, "case ")) {
			if (!slice_cut(rest, '\n', &line))
				break;
		}
		*body = rest->data ? slice_of(start.data, (size_t)(rest->data - start.data))
				   : start;
		return true;
	}
	return false;
}

bool lint_case_expects(struct slice body, const char *rule)
{
	struct slice line;

	while (slice_cut(&body, '\n', &line)) {
		if (!slice_starts(line, "expect ") || slice_starts(line, "expect none"))
			continue;
		if (!rule || (line.len >= 7 + strlen(rule) &&
			      memcmp(line.data + 7, rule, strlen(rule)) == 0))
			return true;
	}
	return false;
}

static bool run(struct slice body, bool recorded, struct strbuf *why)
{
	struct maker m = { .why = why, .ok = true, .recorded = recorded };
	cleanup_lint_result struct lint_result result = { 0 };
	struct error err = { 0 };

	build(&m, body);
	add_policy(&m);
	if (m.ok && (facts_derive(&m.facts, &err) < 0 ||
		     lint_judge(&m.facts, &m.options, &result, &err) < 0))
		complain(&m, "could not be judged", err.text);
	if (m.ok)
		check(&m, &result, body);
	facts_release(&m.facts);
	target_release(&m.options.target);
	policy_release(&m.options.policy);
	site_policy_release(&m.site);
	strbuf_release(&m.policy);
	strbuf_release(&m.scratch);
	arena_release(&m.arena);
	return m.ok;
}

bool lint_case_run(struct slice body, struct strbuf *why)
{
	return run(body, false, why);
}

bool lint_case_run_recorded(struct slice body, struct strbuf *why)
{
	return run(body, true, why);
}
