#include "lint/facts_parts.h"

enum { SECTION_EXECUTABLE = 4, SECTION_NOBITS = 8, ROWS_MAX = 4096 };

/* The section whose bytes hold that offset of the file; NULL: none. */
static const struct elf_section *section_at(const struct elf *elf, uint64_t offset)
{
	for (size_t i = 0; i < elf->sections.len; i++) {
		const struct elf_section *s = &elf->sections.items[i];

		if (s->type && s->type != SECTION_NOBITS && offset >= s->offset &&
		    offset - s->offset < s->size)
			return s;
	}
	return NULL;
}

struct rows {
	struct gpu_row *items;
	size_t len, cap;
};

static unsigned kind_of(const struct fatbin_entry *e)
{
	return e->kind == FATBIN_OLD_CUBIN ? FATBIN_CUBIN : e->kind;
}

static void count(struct rows *rows, const struct fatbin_entry *e, const char *section)
{
	bool ptx = e->kind == FATBIN_PTX;
	unsigned major = ptx ? e->major : 0, minor = ptx ? e->minor : 0;
	struct gpu_row *row = NULL;

	for (size_t i = rows->len; i && !row; i--) {
		struct gpu_row *r = &rows->items[i - 1];

		if (r->section == section && r->kind == kind_of(e) && r->sm == e->sm &&
		    r->suffix == e->suffix && r->ptx_major == major && r->ptx_minor == minor)
			row = r;
	}
	if (!row) {
		if (rows->len >= ROWS_MAX)
			return;
		vec_push(rows, ((struct gpu_row){ .section = section,
						  .kind = kind_of(e),
						  .sm = e->sm,
						  .suffix = e->suffix,
						  .ptx_major = major,
						  .ptx_minor = minor }));
		row = &rows->items[rows->len - 1];
	}
	row->count++;
	row->stored += e->stored;
	row->unpacked += e->unpacked;
}

static int by_row(const void *left, const void *right)
{
	const struct gpu_row *a = left, *b = right;
	int c = strcmp(a->section, b->section);

	if (c)
		return c;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->sm != b->sm)
		return a->sm < b->sm ? -1 : 1;
	if (a->suffix != b->suffix)
		return a->suffix < b->suffix ? -1 : 1;
	if (a->ptx_major != b->ptx_major)
		return a->ptx_major < b->ptx_major ? -1 : 1;
	return a->ptx_minor < b->ptx_minor ? -1 : a->ptx_minor > b->ptx_minor;
}

/* Names of sections, once each: rows compare them by address. */
struct names {
	const char **items;
	size_t len, cap;
};

static const char *name_of(struct names *names, struct slice name, struct arena *arena)
{
	for (size_t i = 0; i < names->len; i++) {
		if (slice_is(name, names->items[i]))
			return names->items[i];
	}
	vec_push(names, arena_slice(arena, name));
	return names->items[names->len - 1];
}

const struct gpu_code *gpu_code_of(const struct fatbin *code, const struct elf *elf,
				   struct arena *arena)
{
	const struct elf_section *section = NULL;
	struct gpu_code out = { .unknown = code->unknown, .broken = code->broken };
	uint64_t container = UINT64_MAX;
	struct names names = { 0 };
	struct rows rows = { 0 };
	struct gpu_code *made = NULL;
	bool skip = false;

	for (size_t i = 0; i < code->entries.len; i++) {
		const struct fatbin_entry *e = &code->entries.items[i];

		if (e->container != container) {
			container = e->container;
			section = elf ? section_at(elf, container) : NULL;
			skip = elf && elf->sections.len &&
			       (!section || section->flags & SECTION_EXECUTABLE);
			out.containers += !skip && !e->bare;
		}
		if (skip)
			continue;
		out.stubs += e->link_stub;
		out.uncertain += e->uncertain;
		if (!e->link_stub && e->kind <= FATBIN_LTO)
			count(&rows, e,
			      section ? name_of(&names, section->name, arena)
				      : name_of(&names, slice_str(""), arena));
	}
	if (rows.len) {
		struct gpu_row *kept = arena_array(arena, rows.len, sizeof(*kept));

		vec_sort(&rows, by_row);
		memcpy(kept, rows.items, rows.len * sizeof(*kept));
		out.rows = kept;
		out.count = rows.len;
		made = arena_alloc(arena, sizeof(*made));
		*made = out;
	}
	vec_release(&rows);
	vec_release(&names);
	return made;
}
