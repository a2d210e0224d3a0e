#include "lint/facts_parts.h"

#include <sys/mman.h>

enum {
	HEAD_BYTES = 64 * 1024,
	CHUNK_BYTES = 256 * 1024,
	OVERLAP_BYTES = 512, /* longer than any secret */
	METADATA_MAX = 64 * 1024,
	SHEBANG_MAX = 256,
	SCRIPT_MAX = 64 * 1024,
	TEXT_PROBE = 1024,
	NAMES_SPAN = 64 * 1024, /* bytes around a name of a section that are kept for the others */
	NAMES_HITS = 8,
	VERSION_SPAN = 64,  /* bytes that a version with what stands before it may take */
	LIBRARY_HEAD = 512, /* kept of a file that is named like a library and is none */
};

static const char AR_MAGIC[] = "!<arch>\n";

/* Append up to `want` bytes; short only at the end. */
static int fill(struct stream *s, struct strbuf *out, size_t want, struct error *err)
{
	size_t goal = out->len + want;

	if (out->cap < goal + 1) {
		out->data = xreallocarray(out->data, goal + 1, 1);
		out->cap = goal + 1;
	}
	while (out->len < goal) {
		ssize_t n = stream_read(s, out->data + out->len, goal - out->len, err);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		out->len += (size_t)n;
	}
	out->data[out->len] = '\0';
	return 0;
}

/* Let the buffer hold the first `goal` bytes of the file, or all of a smaller one. */
static int fill_to(const struct tar_entry *entry, struct stream *content, struct strbuf *buffer,
		   size_t goal, struct error *err)
{
	goal = (size_t)MIN(entry->size, (uint64_t)goal);
	return buffer->len < goal ? fill(content, buffer, goal - buffer->len, err) : 0;
}

/* Bytes of this file's content to keep: 0 for most. */
static size_t keep_limit(const char *path)
{
	if (str_equal(path, "etc/ld.so.conf") || str_starts(path, "etc/ld.so.conf.d/") ||
	    (str_starts(path, "etc/ld-musl-") && str_ends(path, ".path")) ||
	    str_equal(path, "etc/passwd") || str_equal(path, "etc/ld.so.preload") ||
	    str_equal(path, "etc/os-release") || str_equal(path, "usr/lib/os-release"))
		return MIB;
	if (str_starts(path, "etc/OpenCL/vendors/") ||
	    (str_starts(path, "usr/local/cuda") && str_ends(path, "/version.json")))
		return METADATA_MAX;
	if (str_equal(path, "etc/ld.so.cache"))
		return CONTENT_WHOLE_MAX;
	if (str_ends(path, ".dist-info/METADATA"))
		return METADATA_MAX;
	return 0;
}

static bool is_text(struct slice head)
{
	return head.len && !memchr(head.data, 0, MIN(head.len, (size_t)TEXT_PROBE));
}

static struct file_facts *facts_of(struct arena *arena, struct file_facts **out)
{
	if (!*out)
		*out = arena_alloc(arena, sizeof(**out));
	return *out;
}

static void keep_text(struct slice bytes, size_t limit, struct arena *arena,
		      struct file_facts **out)
{
	struct file_facts *f = facts_of(arena, out);

	f->text_len = MIN(bytes.len, limit);
	f->text = arena_slice(arena, slice_of(bytes.data, f->text_len));
}

static void note_shebang(struct slice head, struct arena *arena, struct file_facts **out)
{
	struct slice line = slice_of(head.data + 2, MIN(head.len - 2, (size_t)SHEBANG_MAX));
	const uint8_t *end = memchr(line.data, '\n', line.len);

	if (end)
		line.len = (size_t)(end - line.data);
	facts_of(arena, out)->shebang = arena_slice(arena, line);
}

/*
 * An engine of TensorRT begins with a tag, the version of its format and, of format 0, the version
 * of the TensorRT that made it in bytes 24 to 27 (TensorRT's trtexec reads it so).
 */
static void note_engine(struct slice head, struct arena *arena, struct file_facts **out)
{
	static const char begin[8] = "ftrt";

	if (head.len < 28 || memcmp(head.data, begin, sizeof(begin)) != 0)
		return;
	facts_of(arena, out)->engine = arena_printf(arena, "%u.%u.%u.%u", head.data[24],
						    head.data[25], head.data[26], head.data[27]);
}

static void note_license(const char *path, struct slice bytes, struct arena *arena,
			 struct file_facts **out)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct secret_facts *s;

	if (!str_starts(name, "client_configuration_token") || !str_ends(name, ".tok") ||
	    bytes.len < 100 || !slice_starts(bytes, "eyJ"))
		return;
	s = arena_alloc(arena, sizeof(*s));
	s->kind = "NVIDIA license token";
	s->service = true;
	s->masked = arena_printf(arena, "eyJ..., %zu characters", bytes.len);
	s->line = 1;
	s->next = facts_of(arena, out)->secrets;
	(*out)->secrets = s;
}

/* Text and byte code in pieces, so that the size of the file does not matter. */
static int scan_rest(const struct tar_entry *entry, struct stream *content, struct strbuf *buffer,
		     bool binary, struct arena *arena, struct file_facts **out, struct error *err)
{
	struct secret_facts *list = NULL;

	for (;;) {
		struct slice piece = strbuf_slice(buffer);

		secrets_find(entry->path, piece, binary, arena, &list);
		if (!binary)
			credentials_find(entry->path, piece, arena, &list);
		if (piece.len < CHUNK_BYTES || list)
			break;
		binary = true; /* lines were counted in the first piece only */
		memmove(buffer->data, buffer->data + piece.len - OVERLAP_BYTES, OVERLAP_BYTES);
		strbuf_truncate(buffer, OVERLAP_BYTES);
		if (fill(content, buffer, CHUNK_BYTES, err) < 0)
			return -1;
	}
	if (list)
		facts_of(arena, out)->secrets = list;
	return 0;
}

/* What stands before the version that a file states of itself; NULL: not looked for in it. */
static const char *version_mark(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (str_starts(name, "libnccl.so"))
		return "NCCL version "; /* "NCCL version 2.27.5+cuda12.9" */
	if (str_equal(name, "ptxas") || str_equal(name, "ptxas-blackwell"))
		return "tools, release "; /* "Cuda compilation tools, release 13.0, V13.0.88" */
	return NULL;
}

/* The version that follows `mark`, which may stand anywhere in the file. */
static void note_version(struct slice bytes, const char *mark, struct arena *arena,
			 const char **out)
{
	const char *at = *out || !mark ? NULL : memmem(bytes.data, bytes.len, mark, strlen(mark));
	size_t left, len = 0;

	if (!at)
		return;
	at += strlen(mark);
	left = bytes.len - (size_t)(at - (const char *)bytes.data);
	while (len < left && ((at[len] >= '0' && at[len] <= '9') || at[len] == '.'))
		len++;
	if (len >= 3 && len < left)
		*out = arena_slice(arena, slice_of(at, len));
}

/* A file that is too large to be held: what is known of it while it streams by. */
struct large_elf {
	struct elf_window windows[40];
	size_t window_count;
	uint8_t *whole;
	struct fatbin_scan *scan;
	struct arena *arena;
	const char *mark; /* before the version it states; NULL: none is looked for */
	const char *version;
	size_t carried;
	uint8_t carry[2 * VERSION_SPAN]; /* a version may stand across two pieces */
	uint64_t size, loaded_end;
	struct strbuf recent; /* what was last read beyond the loaded segments */
	uint64_t names_until; /* the names of sections may reach to there */
	size_t names_hits;
};

static void look_for_version(struct large_elf *large, struct slice piece)
{
	size_t n = MIN(piece.len, (size_t)VERSION_SPAN);

	if (!large->mark || large->version)
		return;
	memcpy(large->carry + large->carried, piece.data, n);
	note_version(slice_of(large->carry, large->carried + n), large->mark, large->arena,
		     &large->version);
	note_version(piece, large->mark, large->arena, &large->version);
	large->carried = n;
	memcpy(large->carry, piece.data + piece.len - n, n);
}

/* Copies bytes of the file to their place, as far as the file goes. */
static void keep_window(struct large_elf *large, uint64_t at, const char *bytes, size_t len)
{
	if (at < large->size)
		memcpy(large->whole + at, bytes, (size_t)MIN((uint64_t)len, large->size - at));
}

/*
 * The names of the sections need not stand where the windows are: lld writes the symbols' names,
 * which may be many, between them and the headers. They are told by the name of their own section.
 */
static void look_for_names(struct large_elf *large, uint64_t at, struct slice piece)
{
	static const char mark[] = ".shstrtab";
	struct strbuf *recent = &large->recent;
	uint64_t begin = at - recent->len;
	size_t from = recent->len > sizeof(mark) ? recent->len - sizeof(mark) : 0;
	const char *hit;

	if (at < large->names_until)
		keep_window(large, at, (const char *)piece.data,
			    (size_t)MIN((uint64_t)piece.len, large->names_until - at));
	if (at + piece.len <= large->loaded_end || large->names_hits >= NAMES_HITS)
		return;
	strbuf_add(recent, piece.data, piece.len);
	hit = memmem(recent->data + from, recent->len - from, mark, sizeof(mark));
	if (hit) {
		size_t first = (size_t)(hit - recent->data);

		first -= MIN(first, (size_t)NAMES_SPAN);
		keep_window(large, begin + first, recent->data + first, recent->len - first);
		large->names_until = at + piece.len + NAMES_SPAN;
		large->names_hits++;
	}
	if (recent->len > NAMES_SPAN) {
		memmove(recent->data, recent->data + recent->len - NAMES_SPAN, NAMES_SPAN);
		strbuf_truncate(recent, NAMES_SPAN);
	}
}

/* A large ELF file: an address range as large as the file, of which only the windows are filled. */
static int read_windows(const struct tar_entry *entry, struct stream *content,
			struct strbuf *buffer, struct large_elf *large, struct error *err)
{
	const struct elf_window *windows = large->windows;
	uint64_t at = 0;

	while (buffer->len) {
		fatbin_scan_feed(large->scan, strbuf_slice(buffer));
		look_for_version(large, strbuf_slice(buffer));
		look_for_names(large, at, strbuf_slice(buffer));
		for (size_t i = 0; i < large->window_count; i++) {
			uint64_t from = MAX(at, windows[i].offset);
			uint64_t end = MIN(at + buffer->len, windows[i].offset + windows[i].size);

			end = MIN(end, entry->size);
			if (from < end)
				memcpy(large->whole + from, buffer->data + (from - at),
				       (size_t)(end - from));
		}
		at += buffer->len;
		strbuf_truncate(buffer, 0);
		if (fill(content, buffer, CHUNK_BYTES, err) < 0)
			return -1;
	}
	return 0;
}

static int read_large_elf(const struct tar_entry *entry, struct stream *content,
			  struct strbuf *buffer, struct arena *arena, struct file_facts **out,
			  struct error *err)
{
	struct large_elf large = { .arena = arena,
				   .mark = version_mark(entry->path),
				   .size = entry->size,
				   .loaded_end = elf_loaded_end(strbuf_slice(buffer)) };
	cleanup_fatbin struct fatbin code = { 0 };
	int rc;

	large.window_count = elf_windows(strbuf_slice(buffer), entry->size, large.windows,
					 ARRAY_LEN(large.windows));
	if (!large.window_count || entry->size > 64 * GIB)
		return 0;
	large.whole = mmap(NULL, (size_t)entry->size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (large.whole == MAP_FAILED)
		return error_set_errno(err, errno, "address space for %" PRIu64 " bytes of %s",
				       entry->size, entry->path);
	large.scan = fatbin_scan_new(entry->size);
	rc = read_windows(entry, content, buffer, &large, err);
	fatbin_scan_end(large.scan, &code);
	if (rc == 0) {
		struct elf_facts *elf =
			elf_facts_of(slice_of(large.whole, (size_t)entry->size), &code, arena);

		if (elf) {
			elf->embedded_version = large.version;
			facts_of(arena, out)->elf = elf;
		}
	}
	strbuf_release(&large.recent);
	munmap(large.whole, (size_t)entry->size);
	return rc;
}

/* GPU code in bytes that are all there. */
static void scan_code(struct slice bytes, struct fatbin *out)
{
	struct fatbin_scan *scan = fatbin_scan_new(bytes.len);

	fatbin_scan_feed(scan, bytes);
	fatbin_scan_end(scan, out);
}

static int read_elf(const struct tar_entry *entry, struct stream *content, struct strbuf *buffer,
		    struct arena *arena, struct file_facts **out, struct error *err)
{
	cleanup_fatbin struct fatbin code = { 0 };
	struct elf_facts *elf;

	if (entry->size > CONTENT_WHOLE_MAX)
		return read_large_elf(entry, content, buffer, arena, out, err);
	if (fill_to(entry, content, buffer, CONTENT_WHOLE_MAX, err) < 0)
		return -1;
	scan_code(strbuf_slice(buffer), &code);
	elf = elf_facts_of(strbuf_slice(buffer), &code, arena);
	if (elf)
		facts_of(arena, out)->elf = elf;
	if (elf)
		note_version(strbuf_slice(buffer), version_mark(entry->path), arena,
			     &elf->embedded_version);
	return 0;
}

/* A container on its own: what nvcc calls a .fatbin file. */
static int read_fatbin(struct stream *content, struct strbuf *buffer, uint64_t size,
		       struct arena *arena, struct file_facts **out, struct error *err)
{
	struct fatbin_scan *scan = fatbin_scan_new(size);
	cleanup_fatbin struct fatbin code = { 0 };
	int rc = 0;

	while (rc == 0 && buffer->len) {
		fatbin_scan_feed(scan, strbuf_slice(buffer));
		strbuf_truncate(buffer, 0);
		rc = fill(content, buffer, CHUNK_BYTES, err);
	}
	fatbin_scan_end(scan, &code);
	if (rc == 0)
		facts_of(arena, out)->gpu = gpu_code_of(&code, NULL, arena);
	return rc;
}

/*
 * The members of a static library, one scan each: what is aligned in a member need not be in the
 * archive. What is found stands in `all`, at offsets of the archive.
 */
struct members {
	struct fatbin all;
	struct fatbin_scan *scan; /* of the member at hand; NULL: of its header */
	uint64_t at, left;    /* offset in the archive; bytes left of the member, with padding */
	uint64_t begin, size; /* of the member */
	struct strbuf header;
	bool bad;
};

enum { AR_HEADER_BYTES = 60, AR_SIZE_AT = 48, AR_SIZE_BYTES = 10 };

static void end_member(struct members *m)
{
	cleanup_fatbin struct fatbin one = { 0 };

	fatbin_scan_end(m->scan, &one);
	m->scan = NULL;
	for (size_t i = 0; i < one.entries.len; i++) {
		one.entries.items[i].container += m->begin;
		vec_push(&m->all.entries, one.entries.items[i]);
	}
	m->all.containers += one.containers;
	m->all.broken += one.broken;
	m->all.unknown += one.unknown;
}

/* "name/           0           0     0     100644  1234      `\n" */
static void begin_member(struct members *m)
{
	struct slice header = strbuf_slice(&m->header);
	struct slice digits = slice_trim(slice_of(header.data + AR_SIZE_AT, AR_SIZE_BYTES));

	m->bad = !slice_u64(digits, &m->size) || header.data[58] != '`' || m->size > INT64_MAX;
	strbuf_truncate(&m->header, 0);
	if (m->bad)
		return;
	m->begin = m->at;
	m->left = m->size + (m->size & 1);
	m->scan = fatbin_scan_new(m->size);
}

static void feed_members(struct members *m, struct slice bytes)
{
	while (bytes.len && !m->bad) {
		size_t n;

		if (!m->scan) {
			n = MIN(bytes.len, AR_HEADER_BYTES - m->header.len);
			strbuf_add(&m->header, bytes.data, n);
			m->at += n;
			if (m->header.len == AR_HEADER_BYTES)
				begin_member(m);
		} else {
			uint64_t done = m->at - m->begin;

			n = (size_t)MIN((uint64_t)bytes.len, m->left);
			if (done < m->size)
				fatbin_scan_feed(m->scan,
						 slice_of(bytes.data, (size_t)MIN((uint64_t)n,
										  m->size - done)));
			m->at += n;
			m->left -= n;
		}
		if (m->scan && !m->left)
			end_member(m);
		bytes = slice_of(bytes.data + n, bytes.len - n);
	}
}

static int read_static_library(struct stream *content, struct strbuf *buffer, struct arena *arena,
			       struct file_facts **out, struct error *err)
{
	struct members m = { .at = strlen(AR_MAGIC) };
	const struct gpu_code *code;
	int rc = 0;

	feed_members(&m, slice_of(buffer->data + m.at, buffer->len - m.at));
	while (rc == 0 && buffer->len) {
		strbuf_truncate(buffer, 0);
		rc = fill(content, buffer, CHUNK_BYTES, err);
		feed_members(&m, strbuf_slice(buffer));
	}
	if (m.scan)
		end_member(&m);
	code = rc == 0 ? gpu_code_of(&m.all, NULL, arena) : NULL;
	if (code)
		facts_of(arena, out)->gpu = code;
	fatbin_release(&m.all);
	strbuf_release(&m.header);
	return rc;
}

/* The number after a directive of PTX at the begin of a line; NULL: it is not there. */
static const char *directive(const char *text, const char *name)
{
	for (const char *at = text; at && *at; at = strchr(at, '\n')) {
		at += strspn(at, "\n\r\t ");
		if (str_starts(at, name) && (at[strlen(name)] == ' ' || at[strlen(name)] == '\t'))
			return at + strlen(name) + strspn(at + strlen(name), " \t");
	}
	return NULL;
}

/* A file of PTX says what it is for: ".version 8.5", ".target sm_90a". */
static void note_ptx(const struct tar_entry *entry, const char *text, struct arena *arena,
		     struct file_facts **out)
{
	const char *version = directive(text, ".version"), *target = directive(text, ".target");
	struct gpu_row row = { .section = "",
			       .kind = FATBIN_PTX,
			       .count = 1,
			       .stored = entry->size,
			       .unpacked = entry->size };
	struct gpu_code *code;
	struct gpu_row *kept;
	char suffix = 0;

	if (!version || !target ||
	    sscanf(version, "%3u.%3u", &row.ptx_major, &row.ptx_minor) != 2 ||
	    sscanf(target, "sm_%4u%c", &row.sm, &suffix) < 1)
		return;
	row.suffix = suffix == 'a' || suffix == 'f' ? suffix : 0;
	kept = arena_alloc(arena, sizeof(*kept));
	*kept = row;
	code = arena_alloc(arena, sizeof(*code));
	*code = (struct gpu_code){ .rows = kept, .count = 1 };
	facts_of(arena, out)->gpu = code;
}

/* "libfoo.so.1": what such a file holds when it is no library is worth a look. */
static bool is_library_name(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	return str_starts(name, "lib") && strstr(name, ".so");
}

/* Of the list of a distribution's files only the libraries matter. */
static int read_record(const struct tar_entry *entry, struct stream *content, struct strbuf *buffer,
		       struct arena *arena, struct file_facts **out, struct error *err)
{
	cleanup_strbuf struct strbuf kept = { 0 };

	if (fill_to(entry, content, buffer, CONTENT_WHOLE_MAX, err) < 0)
		return -1;
	python_record_filter(strbuf_slice(buffer), &kept);
	if (kept.len)
		keep_text(strbuf_slice(&kept), kept.len, arena, out);
	return 0;
}

/* Is a script that a container is likely to start with? Its text tells what it decides. */
static bool is_start_script(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	return strstr(name, "entrypoint") || strstr(name, "entry") || strstr(name, "start");
}

static int read_database(const struct tar_entry *entry, struct stream *content,
			 struct strbuf *buffer, struct arena *arena, struct file_facts **out,
			 struct error *err)
{
	const struct package_facts *packages;

	if (fill_to(entry, content, buffer, PACKAGE_DATABASE_MAX, err) < 0)
		return -1;
	packages = package_database_read(entry->path, strbuf_slice(buffer),
					 buffer->len == entry->size, arena);
	if (packages)
		facts_of(arena, out)->packages = packages;
	return 0;
}

/* What begins as an ELF file does. */
static int take_elf(const struct tar_entry *entry, struct stream *content, struct strbuf *buffer,
		    struct arena *arena, struct file_facts **out, struct error *err)
{
	uint64_t hash = entry->size >= MIB ? symbol_hash(strbuf_slice(buffer)) : 0;
	size_t len = MIN(buffer->len, (size_t)LIBRARY_HEAD);
	/* a copy: the buffer moves, and of a large file it goes on to other bytes */
	cleanup_free void *head = is_library_name(entry->path) ? xmemdup(buffer->data, len) : NULL;

	if (read_elf(entry, content, buffer, arena, out, err) < 0)
		return -1;
	if (head && (!*out || !(*out)->elf))
		keep_text(slice_of(head, len), LIBRARY_HEAD, arena, out);
	if (*out)
		(*out)->head_hash = hash;
	return 0;
}

int content_facts_read(const struct tar_entry *entry, struct stream *content, struct strbuf *buffer,
		       struct arena *arena, struct file_facts **out, struct error *err)
{
	size_t keep = keep_limit(entry->path);
	bool byte_code = str_ends(entry->path, ".pyc");
	struct slice head;

	*out = NULL;
	strbuf_truncate(buffer, 0);
	if (!entry->size) {
		facts_of(arena, out)->zero = true;
		return 0;
	}
	if (fill(content, buffer, (size_t)MIN(entry->size, (uint64_t)HEAD_BYTES), err) < 0)
		return -1;
	if (package_database_is(entry->path))
		return read_database(entry, content, buffer, arena, out, err);
	head = strbuf_slice(buffer);
	if (elf_is(head))
		return take_elf(entry, content, buffer, arena, out, err);
	if (is_library_name(entry->path))
		keep = MAX(keep, (size_t)LIBRARY_HEAD);
	if (slice_starts(head, "\x50\xed\x55\xba"))
		return read_fatbin(content, buffer, entry->size, arena, out, err);
	if (slice_starts(head, AR_MAGIC) && str_ends(entry->path, ".a"))
		return read_static_library(content, buffer, arena, out, err);
	note_engine(head, arena, out);
	if (!keep && !byte_code && !is_text(head))
		return 0;
	if (str_ends(entry->path, ".ptx"))
		note_ptx(entry, strbuf_text(buffer), arena, out);
	if (str_ends(entry->path, ".dist-info/RECORD"))
		return read_record(entry, content, buffer, arena, out, err);
	if (slice_starts(head, "#!")) {
		note_shebang(head, arena, out);
		if (is_start_script(entry->path))
			keep = MAX(keep, (size_t)SCRIPT_MAX);
	}
	note_license(entry->path, head, arena, out);
	if (keep && fill_to(entry, content, buffer, keep, err) < 0)
		return -1;
	if (keep)
		keep_text(strbuf_slice(buffer), keep, arena, out);
	if (str_equal(entry->path, "etc/ld.so.cache"))
		return 0;
	if (fill_to(entry, content, buffer, CHUNK_BYTES, err) < 0)
		return -1;
	return scan_rest(entry, content, buffer, byte_code, arena, out, err);
}
