#include "lint/fact_record.h"

#include "base/alloc.h"

/* Lengths and counts that no honest record has. */
enum { TEXT_BYTES_MAX = 64 * 1024 * 1024, COUNT_MAX = 4 * 1024 * 1024 };

/* When one of these changes, so must the functions below. */
_Static_assert(sizeof(void *) != 8 ||
		       (sizeof(struct file_facts) == 152 && sizeof(struct elf_facts) == 184 &&
			sizeof(struct gpu_code) == 56 && sizeof(struct gpu_row) == 56 &&
			sizeof(struct secret_facts) == 56 && sizeof(struct package_facts) == 40 &&
			sizeof(struct package) == 80),
	       "fields of facts that records do not know of");

/* One walk over the fields for both directions: `out` is written to, or `in` read from. */
struct codec {
	struct strbuf *out;
	struct fact_record_reader *in;
	struct arena *arena; /* what is read lives here */
	bool unfit;          /* too large to be written */
};

/* --- bytes */

static int next_byte(struct fact_record_reader *r)
{
	struct error ignored = { 0 };

	if (r->bad)
		return -1;
	if (r->at == r->len) {
		ssize_t n = stream_read(r->in, r->ahead, sizeof(r->ahead), &ignored);

		r->at = 0;
		r->len = n > 0 ? (size_t)n : 0;
		r->bad |= n <= 0;
	}
	return r->bad ? -1 : r->ahead[r->at++];
}

static uint64_t get_number(struct fact_record_reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		int byte = next_byte(r);

		if (byte < 0)
			return 0;
		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return value;
	}
	r->bad = true;
	return 0;
}

static void put_number(struct strbuf *out, uint64_t value)
{
	for (; value > 127; value >>= 7)
		strbuf_addc(out, (char)(value | 128));
	strbuf_addc(out, (char)value);
}

static void get_bytes(struct fact_record_reader *r, uint8_t *to, size_t len)
{
	while (len && !r->bad) {
		size_t n = MIN(len, r->len - r->at);

		if (!n) {
			int byte = next_byte(r);

			if (byte >= 0) {
				*to++ = (uint8_t)byte;
				len--;
			}
			continue;
		}
		memcpy(to, r->ahead + r->at, n);
		r->at += n;
		to += n;
		len -= n;
	}
}

static void number(struct codec *c, uint64_t *value)
{
	if (c->out)
		put_number(c->out, *value);
	else
		*value = get_number(c->in);
}

/* Any integer, bool or enum. */
#define NUMBER(c, field)                                     \
	do {                                                 \
		uint64_t value_ = (uint64_t)(field);         \
		number(c, &value_);                          \
		if ((c)->in)                                 \
			(field) = (__typeof__(field))value_; \
	} while (0)

/* Bytes that may hold anything; NULL stays NULL. A NUL follows what is read. */
static void blob(struct codec *c, const char **text, size_t *len)
{
	uint64_t stored = *text ? (uint64_t)*len + 1 : 0;
	char *made;

	if (c->out) {
		c->unfit |= *text && *len > TEXT_BYTES_MAX;
		put_number(c->out, stored);
		if (*text && *len)
			strbuf_add(c->out, *text, *len);
		return;
	}
	stored = get_number(c->in);
	*text = NULL;
	*len = 0;
	if (stored > TEXT_BYTES_MAX)
		c->in->bad = true;
	if (!stored || c->in->bad)
		return;
	*len = (size_t)stored - 1;
	made = arena_alloc(c->arena, *len + 1);
	get_bytes(c->in, (uint8_t *)made, *len);
	*text = made;
}

static void text(struct codec *c, const char **value)
{
	size_t len = c->out && *value ? strlen(*value) : 0;

	blob(c, value, &len);
	if (c->in && *value && strlen(*value) != len)
		c->in->bad = true;
}

/* Whether something is there; for reading, room for it. */
static bool optional(struct codec *c, const void **what, size_t bytes)
{
	uint64_t there = *what != NULL;

	number(c, &there);
	if (c->in && there)
		*what = arena_alloc(c->arena, bytes);
	return there != 0;
}

/* The number of elements; for reading, room for them. NULL of none. */
static void *array(struct codec *c, const void **items, size_t *count, size_t bytes)
{
	NUMBER(c, *count);
	if (*count > COUNT_MAX) {
		c->unfit = true;
		if (c->in) {
			c->in->bad = true;
			*count = 0;
		}
	}
	if (c->in)
		*items = *count ? arena_array(c->arena, *count, bytes) : NULL;
	return (void *)(uintptr_t)*items;
}

#define OPTIONAL(c, pointer) optional(c, (const void **)&(pointer), sizeof(*(pointer)))
#define ARRAY(c, items, count) array(c, (const void **)&(items), &(count), sizeof(*(items)))

/* --- facts */

static void gpu_fields(struct codec *c, struct gpu_code *code)
{
	struct gpu_row *rows = ARRAY(c, code->rows, code->count);

	for (size_t i = 0; i < code->count; i++) {
		struct gpu_row *r = &rows[i];

		text(c, &r->section);
		NUMBER(c, r->kind);
		NUMBER(c, r->sm);
		NUMBER(c, r->suffix);
		NUMBER(c, r->ptx_major);
		NUMBER(c, r->ptx_minor);
		NUMBER(c, r->count);
		NUMBER(c, r->stored);
		NUMBER(c, r->unpacked);
		if (c->in && (c->in->bad || !r->section)) {
			c->in->bad = true;
			return;
		}
	}
	NUMBER(c, code->containers);
	NUMBER(c, code->stubs);
	NUMBER(c, code->unknown);
	NUMBER(c, code->uncertain);
	NUMBER(c, code->broken);
}

/* `what` is a pointer to a struct gpu_code in the facts. */
static void gpu(struct codec *c, const struct gpu_code **what)
{
	if (OPTIONAL(c, *what))
		gpu_fields(c, (struct gpu_code *)(uintptr_t)*what);
}

static bool is_bad(const struct codec *c)
{
	return c->in && c->in->bad;
}

/* Texts of which none is missing. */
static void texts(struct codec *c, const char *const **items, size_t *count)
{
	const char **list = array(c, (const void **)items, count, sizeof(**items));

	for (size_t i = 0; i < *count && !is_bad(c); i++) {
		text(c, &list[i]);
		if (c->in && !list[i])
			c->in->bad = true;
	}
}

static void symbols(struct codec *c, struct elf_facts *e)
{
	struct version_need *needs = ARRAY(c, e->version_needs, e->version_need_count);
	struct undefined_symbol *undefined;
	uint64_t *exports;

	for (size_t i = 0; i < e->version_need_count && !is_bad(c); i++) {
		text(c, &needs[i].file);
		text(c, &needs[i].version);
		NUMBER(c, needs[i].weak);
	}
	texts(c, &e->version_defs, &e->version_def_count);
	NUMBER(c, e->python_module);
	NUMBER(c, e->symbols_known);
	undefined = ARRAY(c, e->undefined, e->undefined_count);
	for (size_t i = 0; i < e->undefined_count && !is_bad(c); i++) {
		text(c, &undefined[i].name);
		NUMBER(c, undefined[i].weak);
	}
	exports = ARRAY(c, e->exports, e->export_count);
	for (size_t i = 0; i < e->export_count && !is_bad(c); i++)
		NUMBER(c, exports[i]);
}

static void elf_fields(struct codec *c, struct elf_facts *e)
{
	NUMBER(c, e->is64);
	NUMBER(c, e->big_endian);
	NUMBER(c, e->is_dynamic);
	NUMBER(c, e->gpu_code);
	NUMBER(c, e->names_gpu);
	NUMBER(c, e->incomplete);
	NUMBER(c, e->type);
	NUMBER(c, e->machine);
	text(c, &e->interp);
	text(c, &e->soname);
	text(c, &e->rpath);
	text(c, &e->runpath);
	texts(c, &e->needed, &e->needed_count);
	NUMBER(c, e->debug_bytes);
	NUMBER(c, e->cut_short);
	gpu(c, &e->gpu);
	symbols(c, e);
	NUMBER(c, e->opens);
	text(c, &e->embedded_version);
	text(c, &e->compat_note);
}

static void packages(struct codec *c, struct package_facts *p)
{
	struct package *items = ARRAY(c, p->items, p->count);
	struct package_file *files;

	for (size_t i = 0; i < p->count && !is_bad(c); i++) {
		text(c, &items[i].name);
		text(c, &items[i].version);
		text(c, &items[i].kind);
		text(c, &items[i].path);
		text(c, &items[i].arch);
		text(c, &items[i].source);
		text(c, &items[i].license);
		NUMBER(c, items[i].bytes);
		NUMBER(c, items[i].file_count);
		NUMBER(c, items[i].record_only);
	}
	files = ARRAY(c, p->files, p->file_count);
	for (size_t i = 0; i < p->file_count && !is_bad(c); i++) {
		text(c, &files[i].path);
		NUMBER(c, files[i].package);
	}
	text(c, &p->problem);
}

static void secrets(struct codec *c, struct secret_facts **list)
{
	while (OPTIONAL(c, *list) && !is_bad(c)) {
		struct secret_facts *s = *list;

		text(c, &s->kind);
		NUMBER(c, s->service);
		NUMBER(c, s->likely);
		NUMBER(c, s->at);
		NUMBER(c, s->len);
		text(c, &s->masked);
		NUMBER(c, s->line);
		list = &s->next;
	}
}

static void digest(struct codec *c, struct file_facts *f)
{
	char hex[DIGEST_TEXT_MAX];
	const char *shown = NULL;
	struct error ignored = { 0 };

	NUMBER(c, f->hashed);
	if (!f->hashed)
		return;
	if (c->out)
		shown = digest_text(&f->digest, hex);
	text(c, &shown);
	if (c->in && (!shown || digest_parse(slice_str(shown), &f->digest, &ignored) < 0))
		c->in->bad = true;
}

static void file_fields(struct codec *c, struct file_facts *f)
{
	if (OPTIONAL(c, f->elf))
		elf_fields(c, (struct elf_facts *)(uintptr_t)f->elf);
	blob(c, &f->text, &f->text_len);
	gpu(c, &f->gpu);
	text(c, &f->shebang);
	text(c, &f->engine);
	secrets(c, &f->secrets);
	if (OPTIONAL(c, f->packages))
		packages(c, (struct package_facts *)(uintptr_t)f->packages);
	NUMBER(c, f->head_hash);
	digest(c, f);
}

/* What the tree keeps of an entry. */
static void entry_fields(struct codec *c, struct tar_entry *e)
{
	NUMBER(c, e->type);
	NUMBER(c, e->mode);
	text(c, &e->path);
	text(c, &e->link);
	NUMBER(c, e->size);
	NUMBER(c, e->uid);
	NUMBER(c, e->gid);
	NUMBER(c, e->mtime);
	if (c->in && (!e->path || !e->link || e->type > TAR_FIFO))
		c->in->bad = true;
}

static void odd_fields(struct codec *c, struct odd_entry *o)
{
	NUMBER(c, o->layer);
	text(c, &o->path);
	text(c, &o->what);
	NUMBER(c, o->unsafe);
	if (c->in && (!o->path || !o->what))
		c->in->bad = true;
}

/* --- records */

enum { NO_FACTS, EMPTY_FILE, FACTS };

bool fact_record_entry(struct strbuf *out, const struct tar_entry *entry,
		       const struct file_facts *facts)
{
	struct codec c = { .out = out };
	uint64_t kind = !facts ? NO_FACTS : facts->zero ? EMPTY_FILE : FACTS;

	if (facts && facts->text && facts->secrets)
		return false;
	put_number(out, FACT_RECORD_ENTRY);
	entry_fields(&c, (struct tar_entry *)(uintptr_t)entry);
	put_number(out, kind);
	if (kind == EMPTY_FILE)
		digest(&c, (struct file_facts *)(uintptr_t)facts);
	else if (kind == FACTS)
		file_fields(&c, (struct file_facts *)(uintptr_t)facts);
	return !c.unfit;
}

void fact_record_odd(struct strbuf *out, const struct odd_entry *odd)
{
	struct codec c = { .out = out };

	put_number(out, FACT_RECORD_ODD);
	odd_fields(&c, (struct odd_entry *)(uintptr_t)odd);
}

void fact_record_end(struct strbuf *out)
{
	put_number(out, FACT_RECORD_END);
}

static struct file_facts *read_facts(struct fact_record_reader *r)
{
	struct codec c = { .in = r, .arena = r->content };
	uint64_t kind = get_number(r);
	struct file_facts made = { 0 }, *kept;

	if (kind == NO_FACTS)
		return NULL;
	if (kind > FACTS)
		r->bad = true;
	if (kind == EMPTY_FILE) {
		made.zero = true;
		digest(&c, &made);
		if (r->empty)
			return r->empty;
	} else {
		file_fields(&c, &made);
	}
	kept = arena_alloc(r->content, sizeof(*kept));
	*kept = made;
	if (kind == EMPTY_FILE)
		r->empty = kept;
	return kept;
}

int fact_record_next(struct fact_record_reader *r, struct tar_entry *entry,
		     struct file_facts **facts, struct odd_entry *odd)
{
	struct codec names = { .in = r, .arena = r->names },
		     content = { .in = r, .arena = r->content };
	uint64_t kind = get_number(r);

	if (r->bad || kind > FACT_RECORD_ODD)
		return -1;
	if (kind == FACT_RECORD_ENTRY) {
		*entry = (struct tar_entry){ 0 };
		entry_fields(&names, entry);
		*facts = r->bad ? NULL : read_facts(r);
	} else if (kind == FACT_RECORD_ODD) {
		*odd = (struct odd_entry){ 0 };
		odd_fields(&content, odd);
	}
	return r->bad ? -1 : (int)kind;
}
