#include <sqlite3.h>

#include "formats/rpm_database.h"

#include "base/map.h"
#include "base/vec.h"
#include "formats/rpm_header_write.h"

/* ---- the header of an installed package ---- */

struct additions {
	struct rpm_value *items;
	size_t len, cap;
};

static int compare_additions(const void *a, const void *b)
{
	const struct rpm_value *x = a, *y = b;

	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

/* What goes from the signature header to the header, and under which tag. */
static uint32_t merged_tag(uint32_t tag)
{
	static const struct {
		uint32_t from, to;
	} legacy[] = {
		{ 1000, RPMTAG_SIGSIZE }, { 1002, RPMTAG_SIGPGP },      { 1004, RPMTAG_SIGMD5 },
		{ 1005, RPMTAG_SIGGPG },  { 1007, RPMTAG_ARCHIVESIZE },
	};

	for (size_t i = 0; i < ARRAY_LEN(legacy); i++) {
		if (tag == legacy[i].from)
			return legacy[i].to;
	}
	/* signatures and digests that rpm numbered anew; not the padding (1008) */
	return tag >= 256 && tag < 1000 ? tag : 0;
}

static void add(struct additions *list, uint32_t tag, uint32_t type, uint32_t count,
		const void *data, size_t len)
{
	const struct rpm_value v = {
		.tag = tag, .type = type, .count = count, .data = slice_of(data, len)
	};

	for (size_t i = 0; i < list->len; i++) {
		if (list->items[i].tag == tag)
			return;
	}
	vec_push(list, v);
}

static void merge_signature(struct additions *list, const struct rpm_header *h,
			    const struct rpm_header *signature)
{
	struct rpm_value there;

	for (uint32_t i = 0; i < signature->count; i++) {
		struct rpm_value v = rpm_header_entry(signature, i);
		uint32_t tag = merged_tag(v.tag);

		if (tag && v.data.len && !rpm_header_find(h, tag, &there))
			add(list, tag, v.type, v.count, v.data.data, v.data.len);
	}
}

static void write_header(const struct rpm_header *h, const struct additions *list,
			 struct strbuf *out)
{
	cleanup_rpm_header_writer struct rpm_header_writer w = { .count = h->count };

	strbuf_add(&w.index, h->index.data, h->index.len);
	strbuf_add(&w.store, h->store.data, h->store.len);
	for (size_t i = 0; i < list->len; i++)
		rpm_header_put(&w, &list->items[i]);
	rpm_header_write(&w, out);
}

int rpm_installed_header(const struct rpm_installed *item, uint32_t time, struct strbuf *out,
			 struct error *err)
{
	const uint8_t when[] = { (uint8_t)(time >> 24), (uint8_t)(time >> 16), (uint8_t)(time >> 8),
				 (uint8_t)time };
	const uint8_t color[] = { 0, 0, 0, (uint8_t)item->color };
	cleanup_free uint8_t *states = NULL;
	struct additions list = { 0 };
	struct rpm_header h, signature;
	struct rpm_value files = { 0 };

	if (item->stored.len) {
		strbuf_add(out, item->stored.data, item->stored.len);
		return 0;
	}
	if (rpm_header_parse(item->header, &h, err) < 0 ||
	    rpm_header_parse(item->signature, &signature, err) < 0)
		return -1;
	if (h.count > RPM_ENTRIES_LIMIT - 64 || h.store.len > RPM_HEADER_LIMIT / 2)
		return error_set(err, ERROR_LIMIT, "header: too large for a database");
	add(&list, RPMTAG_INSTALLTIME, RPM_TYPE_INT32, 1, when, sizeof(when));
	add(&list, RPMTAG_INSTALLTID, RPM_TYPE_INT32, 1, when, sizeof(when));
	add(&list, RPMTAG_INSTALLCOLOR, RPM_TYPE_INT32, 1, color, sizeof(color));
	if (rpm_header_find(&h, RPMTAG_BASENAMES, &files)) {
		states = xcalloc(files.count, 1);
		for (uint32_t i = 0; i < files.count && item->absent; i++)
			states[i] = item->absent[i] ? 2 : 0; /* RPMFILE_STATE_NOTINSTALLED */
		add(&list, RPMTAG_FILESTATES, RPM_TYPE_CHAR, files.count, states, files.count);
	}
	merge_signature(&list, &h, &signature);
	vec_sort(&list, compare_additions);
	write_header(&h, &list, out);
	vec_release(&list);
	return 0;
}

/* ---- the tables ---- */

enum key_kind { KEY_TEXT, KEY_NUMBER, KEY_BYTES };

static const struct table {
	const char *name;
	uint32_t tag;
	enum key_kind kind;
	bool by_package; /* also indexed by package */
	bool once;       /* a key that stands there again is left out */
	bool first_only;
	uint32_t numbers; /* the tag that numbers its keys, else they are numbered as they stand */
} tables[] = {
	{ "Name", RPMTAG_NAME, .first_only = true },
	{ "Basenames", RPMTAG_BASENAMES, .by_package = true },
	{ "Group", RPMTAG_GROUP, .first_only = true },
	{ "Requirename", RPMTAG_REQUIRENAME, .by_package = true },
	{ "Providename", RPMTAG_PROVIDENAME, .by_package = true },
	{ "Conflictname", RPMTAG_CONFLICTNAME, .by_package = true },
	{ "Obsoletename", RPMTAG_OBSOLETENAME, .by_package = true },
	{ "Triggername", RPMTAG_TRIGGERNAME, .by_package = true, .once = true },
	{ "Dirnames", RPMTAG_DIRNAMES, .by_package = true },
	{ "Installtid", RPMTAG_INSTALLTID, .kind = KEY_NUMBER },
	{ "Sigmd5", RPMTAG_SIGMD5, .kind = KEY_BYTES },
	{ "Sha1header", RPMTAG_SHA1HEADER, .first_only = true },
	{ "Filetriggername", RPMTAG_FILETRIGGERNAME, .by_package = true,
	  .numbers = RPMTAG_FILETRIGGERINDEX },
	{ "Transfiletriggername", RPMTAG_TRANSFILETRIGGERNAME, .by_package = true,
	  .numbers = RPMTAG_TRANSFILETRIGGERINDEX },
	{ "Recommendname", RPMTAG_RECOMMENDNAME, .by_package = true },
	{ "Suggestname", RPMTAG_SUGGESTNAME, .by_package = true },
	{ "Supplementname", RPMTAG_SUPPLEMENTNAME, .by_package = true },
	{ "Enhancename", RPMTAG_ENHANCENAME, .by_package = true },
};

struct writer {
	sqlite3 *db;
	sqlite3_stmt *package, *keys[ARRAY_LEN(tables)];
};

static void writer_release(struct writer *w)
{
	sqlite3_finalize(w->package);
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		sqlite3_finalize(w->keys[i]);
	sqlite3_close(w->db);
}

static int sqlite_error(struct writer *w, struct error *err)
{
	return error_set(err, ERROR_SYSTEM, "database of packages: %s",
			 w->db ? sqlite3_errmsg(w->db) : "SQLite has no memory");
}

static int execute(struct writer *w, const char *sql, struct error *err)
{
	return sqlite3_exec(w->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : sqlite_error(w, err);
}

static int prepare(struct writer *w, const char *sql, sqlite3_stmt **out, struct error *err)
{
	return sqlite3_prepare_v2(w->db, sql, -1, out, NULL) == SQLITE_OK ? 0
									  : sqlite_error(w, err);
}

/* In the words, order and quotes of rpm, which show in the file. */
static int create_table(struct writer *w, size_t i, struct error *err)
{
	const struct table *t = &tables[i];
	cleanup_strbuf struct strbuf sql = { 0 };

	strbuf_addf(&sql,
		    "CREATE TABLE IF NOT EXISTS '%s' (key '%s' NOT NULL, hnum INTEGER NOT NULL, "
		    "idx INTEGER NOT NULL, FOREIGN KEY (hnum) REFERENCES 'Packages'(hnum));",
		    t->name, t->kind == KEY_TEXT ? "TEXT" : "BLOB");
	if (t->kind == KEY_TEXT)
		strbuf_addf(&sql, "CREATE INDEX IF NOT EXISTS '%s_key_idx' ON '%s'(key ASC);",
			    t->name, t->name);
	if (t->by_package)
		strbuf_addf(&sql, "CREATE INDEX IF NOT EXISTS '%s_hnum_idx' ON '%s'(hnum ASC);",
			    t->name, t->name);
	if (execute(w, strbuf_text(&sql), err) < 0)
		return -1;
	strbuf_truncate(&sql, 0);
	strbuf_addf(&sql, "INSERT INTO '%s' VALUES(?, ?, ?)", t->name);
	return prepare(w, strbuf_text(&sql), &w->keys[i], err);
}

static int create(struct writer *w, struct error *err)
{
	if (sqlite3_open_v2(":memory:", &w->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
	    SQLITE_OK)
		return sqlite_error(w, err);
	if (execute(w, "PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; BEGIN;", err) < 0 ||
	    execute(w,
		    "CREATE TABLE IF NOT EXISTS 'Packages' (hnum INTEGER PRIMARY KEY "
		    "AUTOINCREMENT,blob BLOB NOT NULL)",
		    err) < 0 ||
	    prepare(w, "INSERT INTO 'Packages' VALUES(?, ?)", &w->package, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		if (create_table(w, i, err) < 0)
			return -1;
	}
	return 0;
}

static int step(struct writer *w, sqlite3_stmt *s, struct error *err)
{
	if (sqlite3_step(s) != SQLITE_DONE || sqlite3_reset(s) != SQLITE_OK)
		return sqlite_error(w, err);
	return 0;
}

static int put_key(struct writer *w, size_t table, struct slice key, size_t package, uint64_t idx,
		   struct error *err)
{
	sqlite3_stmt *s = w->keys[table];
	int len = (int)key.len;

	if (tables[table].kind == KEY_TEXT)
		sqlite3_bind_text(s, 1, (const char *)key.data, len, SQLITE_STATIC);
	else
		sqlite3_bind_blob(s, 1, key.data, len, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)package);
	sqlite3_bind_int64(s, 3, (sqlite3_int64)idx);
	return step(w, s, err);
}

/* Requirements that only an installation has are not looked up later. */
static bool is_passing(const struct rpm_header *h, const struct table *t, size_t idx)
{
	enum {
		INSTALLATION = 1 << 5 | 1 << 7 | 1 << 9 | 1 << 10 | 1 << 24 | 1 << 26,
		REMOVAL = 1 << 11 | 1 << 12,
	};
	uint64_t flags = 0;

	if (t->tag != RPMTAG_REQUIRENAME)
		return false;
	rpm_header_number(h, RPMTAG_REQUIREFLAGS, idx, &flags);
	return flags & INSTALLATION && !(flags & REMOVAL);
}

enum { RICH_DEPTH_MAX = 32 };

static bool is_operator(struct slice word, bool *flips)
{
	static const char *const joining[] = { "and", "or", "with", "without" },
				 *const turning[] = { "if", "unless", "else" };

	*flips = false;
	for (size_t i = 0; i < ARRAY_LEN(joining); i++) {
		if (slice_is(word, joining[i]))
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(turning); i++)
		*flips |= slice_is(word, turning[i]);
	return *flips;
}

/* "(a if b)" is also looked up by "a" and by "!b": what stands in it, each once. */
static int put_rich(struct writer *w, size_t table, const char *text, size_t package, uint64_t idx,
		    struct error *err)
{
	bool negative[RICH_DEPTH_MAX + 1] = { false }, name_next = true, flips;
	cleanup_map struct map seen = { 0 };
	size_t depth = 0;

	while (*text && depth <= RICH_DEPTH_MAX) {
		size_t len = strcspn(text, " ()"), open = 1;
		struct slice word;

		if (*text == '(' && depth < RICH_DEPTH_MAX) {
			negative[depth + 1] = negative[depth];
			depth++;
			name_next = true;
		} else if (*text == ')' && depth) {
			depth--;
		}
		if (!len) {
			text++;
			continue;
		}
		/* brackets belong to a name when something stands before them: "lib(x)(64bit)" */
		for (open = 0; text[len] == '(' || (text[len] == ')' && open);) {
			open = text[len] == '(' ? open + 1 : open - 1;
			len += 1 + strcspn(text + len + 1, " ()");
		}
		word = slice_of(text, len);
		text += len;
		if (is_operator(word, &flips)) {
			negative[depth] ^= flips;
			name_next = true;
		} else if (name_next) {
			cleanup_free char *key = xasprintf("%s%.*s", negative[depth] ? "!" : "",
							   (int)len, (const char *)word.data);

			name_next = false;
			if (!map_put(&seen, key, w) &&
			    put_key(w, table, slice_str(key), package, idx, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int put_texts(struct writer *w, size_t table, const struct rpm_header *h, struct rpm_value v,
		     size_t package, struct error *err)
{
	const struct table *t = &tables[table];
	cleanup_map struct map seen = { 0 };
	const char *text;
	uint64_t idx;

	for (size_t i = 0; (text = rpm_value_next(&v)) && (!i || !t->first_only); i++) {
		if (is_passing(h, t, i) || (t->once && map_put(&seen, text, w)))
			continue;
		idx = i;
		if (t->numbers)
			rpm_header_number(h, t->numbers, i, &idx);
		if (put_key(w, table, slice_str(text), package, idx, err) < 0)
			return -1;
		if (*text == '(' && t->by_package && t->tag != RPMTAG_BASENAMES &&
		    put_rich(w, table, text, package, idx, err) < 0)
			return -1;
	}
	return 0;
}

static int put_keys(struct writer *w, const struct rpm_header *h, size_t package, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		struct rpm_value v;
		uint64_t number = 0;
		int rc = 0;

		if (!rpm_header_find(h, tables[i].tag, &v))
			continue;
		if (tables[i].kind == KEY_TEXT) {
			rc = put_texts(w, i, h, v, package, err);
		} else if (tables[i].kind == KEY_BYTES) {
			rc = put_key(w, i, v.data, package, 0, err);
		} else if (rpm_value_number(&v, 0, &number)) {
			/* in the order of bytes of the processors that images are for */
			const uint8_t key[] = { (uint8_t)number, (uint8_t)(number >> 8),
						(uint8_t)(number >> 16), (uint8_t)(number >> 24) };

			rc = put_key(w, i, slice_of(key, sizeof(key)), package, 0, err);
		}
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int put_package(struct writer *w, const struct rpm_installed *item, uint32_t time,
		       size_t package, struct error *err)
{
	cleanup_strbuf struct strbuf blob = { 0 };
	struct rpm_header h;

	if (rpm_installed_header(item, time, &blob, err) < 0 ||
	    rpm_header_parse(strbuf_slice(&blob), &h, err) < 0)
		return -1;
	sqlite3_bind_int64(w->package, 1, (sqlite3_int64)package);
	sqlite3_bind_blob64(w->package, 2, blob.data, blob.len, SQLITE_STATIC);
	if (step(w, w->package, err) < 0)
		return -1;
	return put_keys(w, &h, package, err);
}

/* The file, without what names the version of the library that wrote it. */
static int take_file(struct writer *w, struct strbuf *out, struct error *err)
{
	sqlite3_int64 len = 0;
	unsigned char *bytes;
	size_t at = out->len;

	if (execute(w, "COMMIT", err) < 0)
		return -1;
	bytes = sqlite3_serialize(w->db, "main", &len, 0);
	if (!bytes || len < 100) {
		sqlite3_free(bytes);
		return sqlite_error(w, err);
	}
	strbuf_add(out, bytes, (size_t)len);
	sqlite3_free(bytes);
	memset(out->data + at + 96, 0, 4);
	return 0;
}

int rpm_database_write(const struct rpm_installed *items, size_t count, uint32_t time,
		       struct strbuf *out, struct error *err)
{
	struct writer w = { 0 };
	int rc = create(&w, err);

	for (size_t i = 0; i < count && rc == 0; i++) {
		rc = put_package(&w, &items[i], time, i + 1, err);
		if (rc < 0)
			error_wrap(err, "database of packages: number %zu", i + 1);
	}
	if (rc == 0)
		rc = take_file(&w, out, err);
	writer_release(&w);
	return rc;
}
