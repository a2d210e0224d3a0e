#include "formats/elf.h"

#include "base/reader.h"

enum {
	PT_LOAD_TYPE = 1,
	PT_DYNAMIC_TYPE = 2,
	PT_INTERP_TYPE = 3,
	SHT_STRTAB_TYPE = 3,
	SHT_NOBITS_TYPE = 8,
	SHT_DYNSYM_TYPE = 11,
	PF_EXECUTE = 1,
	DT_TEXTREL_TAG = 22,
	DT_FLAGS_TAG = 30,
	DF_TEXTREL_FLAG = 4,
	VERSIONS_MAX = 65536,
	DT_NULL_TAG = 0,
	DT_NEEDED_TAG = 1,
	DT_STRTAB_TAG = 5,
	DT_STRSZ_TAG = 10,
	DT_SONAME_TAG = 14,
	DT_RPATH_TAG = 15,
	DT_RUNPATH_TAG = 29,
	PN_XNUM_VALUE = 0xffff,
	SHN_XINDEX_VALUE = 0xffff,
	STB_WEAK_BIND = 2,
	INTERP_MAX = 4096,
	NEEDED_MAX = 65536,
	WINDOW_HEAD = 4 << 20,
	WINDOW_FIRST_MAX = 48 << 20, /* symbols and strings of the largest libraries */
	WINDOW_SEGMENT_MAX = 4 << 20,
	WINDOW_LOAD_MAX = 24 << 20, /* patchelf moves the strings into a segment at the end */
	SEGMENT_GAP_MAX = 64 << 10, /* a page of any machine */
	WINDOW_NAMES = 64 << 10,    /* the section names stand right before the headers */
};

static const uint64_t DT_FLAGS_1_TAG = 0x6ffffffb;
static const uint32_t PT_GNU_STACK_TYPE = 0x6474e551;
static const uint32_t SHT_VERDEF_TYPE = 0x6ffffffd, SHT_VERNEED_TYPE = 0x6ffffffe;

/* The file header, widened to 64 bits. */
struct header {
	uint64_t phoff, shoff;
	uint32_t phnum, shnum, shstrndx;
	uint16_t phentsize, shentsize;
};

struct segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, filesz;
};

struct section_header {
	uint32_t name, type, link, info;
	uint64_t flags, offset, size, addralign;
};

/* Where the dynamic section says its strings are; offsets in the file. */
struct strings {
	uint64_t offset, size;
	bool known;
};

bool elf_is(struct slice head)
{
	return head.len >= 4 && memcmp(head.data,
				       "\x7f"
				       "ELF",
				       4) == 0;
}

static struct reader elf_reader(const struct elf *elf, struct slice part)
{
	struct reader r = reader_of(part);

	r.big_endian = elf->big_endian;
	return r;
}

static uint64_t word(const struct elf *elf, struct reader *r)
{
	return elf->is64 ? reader_u64(r) : reader_u32(r);
}

/* A part of the file: false when it is not held, after noting that. */
static bool part_of(struct elf *elf, uint64_t offset, uint64_t size, struct slice *out)
{
	if (slice_sub(elf->file, offset, size, out))
		return true;
	elf->truncated = true;
	return false;
}

static int read_ident(struct elf *elf, struct error *err)
{
	struct slice f = elf->file;

	if (!elf_is(f))
		return error_set(err, ERROR_FORMAT, "not an ELF file");
	if (f.len < 16)
		return error_set(err, ERROR_FORMAT, "ELF header ends after %zu bytes", f.len);
	if (f.data[4] != 1 && f.data[4] != 2)
		return error_set(err, ERROR_FORMAT, "ELF class is %u, not 1 or 2", f.data[4]);
	if (f.data[5] != 1 && f.data[5] != 2)
		return error_set(err, ERROR_FORMAT, "ELF byte order is %u, not 1 or 2", f.data[5]);
	elf->is64 = f.data[4] == 2;
	elf->big_endian = f.data[5] == 2;
	return 0;
}

/* A table of `count` entries at `offset` must at least be expressible. */
static int check_table(const char *what, uint64_t offset, uint64_t count, uint64_t entry_size,
		       struct error *err)
{
	uint64_t bytes, end;

	if (mul_overflows(count, entry_size, &bytes) || add_overflows(offset, bytes, &end))
		return error_set(err, ERROR_FORMAT,
				 "%s: %" PRIu64 " entries at offset %" PRIu64
				 " end beyond any file",
				 what, count, offset);
	return 0;
}

static int read_header(struct elf *elf, struct header *h, struct error *err)
{
	struct reader r = elf_reader(elf, elf->file);

	reader_seek(&r, 16);
	elf->type = reader_u16(&r);
	elf->machine = reader_u16(&r);
	reader_u32(&r);
	word(elf, &r);
	h->phoff = word(elf, &r);
	h->shoff = word(elf, &r);
	reader_u32(&r);
	reader_u16(&r);
	h->phentsize = reader_u16(&r);
	h->phnum = reader_u16(&r);
	h->shentsize = reader_u16(&r);
	h->shnum = reader_u16(&r);
	h->shstrndx = reader_u16(&r);
	if (r.bad)
		return error_set(err, ERROR_FORMAT, "ELF header ends after %zu bytes",
				 elf->file.len);
	if (h->phnum && h->phentsize != (elf->is64 ? 56 : 32))
		return error_set(err, ERROR_FORMAT, "program header entries of %u bytes",
				 h->phentsize);
	if (h->shoff && h->shentsize != (elf->is64 ? 64 : 40))
		return error_set(err, ERROR_FORMAT, "section header entries of %u bytes",
				 h->shentsize);
	return 0;
}

static void read_section_header(const struct elf *elf, struct slice entry,
				struct section_header *out)
{
	struct reader r = elf_reader(elf, entry);

	out->name = reader_u32(&r);
	out->type = reader_u32(&r);
	out->flags = word(elf, &r);
	word(elf, &r); /* address */
	out->offset = word(elf, &r);
	out->size = word(elf, &r);
	out->link = reader_u32(&r);
	out->info = reader_u32(&r);
	out->addralign = word(elf, &r);
}

/* Counts that do not fit into the header stand in section 0. */
static void widen_counts(struct elf *elf, struct header *h)
{
	struct section_header zero;
	struct slice entry;

	if (!h->shoff || (h->shnum && h->phnum != PN_XNUM_VALUE && h->shstrndx != SHN_XINDEX_VALUE))
		return;
	if (!part_of(elf, h->shoff, h->shentsize, &entry)) {
		if (h->phnum == PN_XNUM_VALUE)
			h->phnum = 0;
		return;
	}
	read_section_header(elf, entry, &zero);
	if (!h->shnum)
		h->shnum = zero.size > UINT32_MAX ? UINT32_MAX : (uint32_t)zero.size;
	if (h->phnum == PN_XNUM_VALUE)
		h->phnum = zero.info;
	if (h->shstrndx == SHN_XINDEX_VALUE)
		h->shstrndx = zero.link;
}

static struct segment segment_at(const struct elf *elf, struct slice table, const struct header *h,
				 size_t i)
{
	struct slice entry = slice_of(table.data + i * h->phentsize, h->phentsize);
	struct reader r = elf_reader(elf, entry);
	struct segment s = { .type = reader_u32(&r) };

	if (elf->is64)
		s.flags = reader_u32(&r);
	s.offset = word(elf, &r);
	s.vaddr = word(elf, &r);
	word(elf, &r); /* physical address */
	s.filesz = word(elf, &r);
	if (!elf->is64) {
		word(elf, &r); /* size in memory */
		s.flags = reader_u32(&r);
	}
	return s;
}

/* File offset of a virtual address, by the loadable segments. */
static bool offset_of(const struct elf *elf, struct slice table, const struct header *h,
		      uint64_t address, uint64_t *out)
{
	for (size_t i = 0; i < h->phnum; i++) {
		struct segment s = segment_at(elf, table, h, i);

		if (s.type == PT_LOAD_TYPE && address >= s.vaddr && address - s.vaddr < s.filesz &&
		    !add_overflows(s.offset, address - s.vaddr, out))
			return true;
	}
	return false;
}

struct dynamic {
	uint64_t tag, value;
};

static bool dynamic_next(const struct elf *elf, struct reader *r, struct dynamic *out)
{
	if (reader_left(r) < (elf->is64 ? 16u : 8u))
		return false;
	out->tag = word(elf, r);
	out->value = word(elf, r);
	return out->tag != DT_NULL_TAG;
}

static struct strings find_strings(const struct elf *elf, struct slice dynamic, struct slice table,
				   const struct header *h)
{
	struct reader r = elf_reader(elf, dynamic);
	struct strings s = { 0 };
	struct dynamic d;
	bool has_table = false;

	while (dynamic_next(elf, &r, &d)) {
		if (d.tag == DT_STRTAB_TAG)
			has_table = offset_of(elf, table, h, d.value, &s.offset);
		else if (d.tag == DT_STRSZ_TAG)
			s.size = d.value;
	}
	s.known = has_table && s.size;
	return s;
}

/* The string at `at`, or an empty slice with data NULL when it is not held or not ended. */
static struct slice string_at(struct elf *elf, const struct strings *s, uint64_t at)
{
	struct slice rest = { 0 }, none = { 0 };
	struct reader r;
	uint64_t offset, end;

	if (!s->known || at >= s->size || add_overflows(s->offset, at, &offset))
		return none;
	if (add_overflows(s->offset, s->size, &end) || end > elf->file.len)
		end = elf->file.len;
	if (offset >= end) {
		elf->truncated = true;
		return none;
	}
	if (!slice_sub(elf->file, offset, end - offset, &rest))
		return none;
	r = reader_of(rest);
	rest = reader_cstr(&r);
	if (r.bad) {
		elf->truncated = true;
		return none;
	}
	return rest;
}

static int read_dynamic(struct elf *elf, struct slice dynamic, const struct strings *strings,
			struct error *err)
{
	struct reader r = elf_reader(elf, dynamic);
	struct dynamic d;

	while (dynamic_next(elf, &r, &d)) {
		struct slice text;

		if (d.tag == DT_FLAGS_1_TAG)
			elf->flags_1 = d.value;
		elf->textrel |= d.tag == DT_TEXTREL_TAG ||
				(d.tag == DT_FLAGS_TAG && d.value & DF_TEXTREL_FLAG);
		if (d.tag != DT_NEEDED_TAG && d.tag != DT_SONAME_TAG && d.tag != DT_RPATH_TAG &&
		    d.tag != DT_RUNPATH_TAG)
			continue;
		text = string_at(elf, strings, d.value);
		if (!text.data)
			continue;
		if (d.tag == DT_SONAME_TAG)
			elf->soname = text;
		else if (d.tag == DT_RPATH_TAG)
			elf->rpath = text;
		else if (d.tag == DT_RUNPATH_TAG)
			elf->runpath = text;
		else if (elf->needed.len >= NEEDED_MAX)
			return error_set(err, ERROR_LIMIT, "more than %d needed libraries",
					 NEEDED_MAX);
		else
			vec_push(&elf->needed, text);
	}
	return 0;
}

static int read_segments(struct elf *elf, const struct header *h, struct error *err)
{
	struct slice table, part;

	if (!h->phnum || check_table("program headers", h->phoff, h->phnum, h->phentsize, err) < 0)
		return h->phnum ? -1 : 0;
	if (!part_of(elf, h->phoff, (uint64_t)h->phnum * h->phentsize, &table))
		return 0;
	for (size_t i = 0; i < h->phnum; i++) {
		struct segment s = segment_at(elf, table, h, i);
		uint64_t end;

		elf->exec_stack |= s.type == PT_GNU_STACK_TYPE && s.flags & PF_EXECUTE;
		elf->cut_short |=
			s.type == PT_LOAD_TYPE && !slice_sub(elf->file, s.offset, s.filesz, &part);
		if (s.type != PT_INTERP_TYPE && s.type != PT_DYNAMIC_TYPE)
			continue;
		if (add_overflows(s.offset, s.filesz, &end))
			return error_set(err, ERROR_FORMAT, "segment %zu ends beyond any file", i);
		if (s.type == PT_INTERP_TYPE && s.filesz <= INTERP_MAX &&
		    part_of(elf, s.offset, s.filesz, &part)) {
			elf->interp = part;
			while (elf->interp.len && !elf->interp.data[elf->interp.len - 1])
				elf->interp.len--;
		}
		if (s.type == PT_DYNAMIC_TYPE && !elf->has_dynamic) {
			struct strings strings;

			elf->has_dynamic = true;
			if (!part_of(elf, s.offset, s.filesz, &part))
				continue;
			strings = find_strings(elf, part, table, h);
			if (read_dynamic(elf, part, &strings, err) < 0)
				return -1;
		}
	}
	return 0;
}

static struct slice name_in(struct slice names, uint32_t at)
{
	struct reader r;
	struct slice rest, out;

	if (!slice_sub(names, at, names.len >= at ? names.len - at : 0, &rest))
		return (struct slice){ 0 };
	r = reader_of(rest);
	out = reader_cstr(&r);
	return r.bad ? (struct slice){ 0 } : out;
}

static int read_sections(struct elf *elf, const struct header *h, struct error *err)
{
	struct slice table, names = { 0 };

	if (!h->shoff || !h->shnum)
		return 0;
	if (check_table("section headers", h->shoff, h->shnum, h->shentsize, err) < 0)
		return -1;
	if (!part_of(elf, h->shoff, (uint64_t)h->shnum * h->shentsize, &table))
		return 0;
	vec_reserve(&elf->sections, h->shnum);
	for (size_t i = 0; i < h->shnum; i++) {
		struct section_header s;

		read_section_header(elf, slice_of(table.data + i * h->shentsize, h->shentsize), &s);
		if (i == h->shstrndx && s.type == SHT_STRTAB_TYPE)
			part_of(elf, s.offset, s.size, &names);
	}
	for (size_t i = 0; i < h->shnum; i++) {
		struct section_header s;
		struct elf_section out;
		uint64_t end = 0;

		read_section_header(elf, slice_of(table.data + i * h->shentsize, h->shentsize), &s);
		if (s.type != SHT_NOBITS_TYPE && add_overflows(s.offset, s.size, &end))
			return error_set(err, ERROR_FORMAT, "section %zu ends beyond any file", i);
		elf->cut_short |= s.type && s.type != SHT_NOBITS_TYPE && end > elf->file.len;
		out = (struct elf_section){ .name = name_in(names, s.name),
					    .type = s.type,
					    .flags = s.flags,
					    .offset = s.offset,
					    .size = s.size,
					    .addralign = s.addralign };
		vec_push(&elf->sections, out);
	}
	return 0;
}

int elf_read(struct slice file, struct elf *out, struct error *err)
{
	struct elf elf = { .file = file };
	struct header h = { 0 };

	if (read_ident(&elf, err) < 0 || read_header(&elf, &h, err) < 0)
		return -1;
	widen_counts(&elf, &h);
	if (read_segments(&elf, &h, err) < 0 || read_sections(&elf, &h, err) < 0) {
		elf_release(&elf);
		return -1;
	}
	*out = elf;
	return 0;
}

void elf_release(struct elf *elf)
{
	vec_release(&elf->needed);
	vec_release(&elf->sections);
}

uint64_t elf_dynamic_end(struct slice head)
{
	struct elf elf = { .file = head };
	struct header h = { 0 };
	struct error ignored = { 0 };
	struct slice table, part;
	uint64_t end = 0;

	if (read_ident(&elf, &ignored) < 0 || read_header(&elf, &h, &ignored) < 0)
		return 0;
	if (h.phnum == PN_XNUM_VALUE)
		return 0; /* the count stands at the end of the file */
	if (!slice_sub(head, h.phoff, (uint64_t)h.phnum * h.phentsize, &table))
		return 0;
	end = h.phoff + table.len;
	for (size_t i = 0; i < h.phnum; i++) {
		struct segment s = segment_at(&elf, table, &h, i);
		struct strings strings;
		uint64_t last;

		if (s.type != PT_INTERP_TYPE && s.type != PT_DYNAMIC_TYPE)
			continue;
		if (add_overflows(s.offset, s.filesz, &last))
			return 0;
		end = MAX(end, last);
		if (s.type != PT_DYNAMIC_TYPE || !slice_sub(head, s.offset, s.filesz, &part))
			continue;
		strings = find_strings(&elf, part, table, &h);
		if (strings.known && !add_overflows(strings.offset, strings.size, &last))
			end = MAX(end, last);
	}
	return end;
}

static size_t add_window(struct elf_window *out, size_t count, size_t max, uint64_t file_size,
			 uint64_t offset, uint64_t size)
{
	if (count >= max || offset >= file_size)
		return count;
	out[count] = (struct elf_window){ offset, MIN(size, file_size - offset) };
	return count + 1;
}

size_t elf_windows(struct slice head, uint64_t file_size, struct elf_window *out, size_t max)
{
	struct elf elf = { .file = head };
	struct header h = { 0 };
	struct error ignored = { 0 };
	struct slice table = { 0 };
	uint64_t first = WINDOW_HEAD;
	size_t count = 0;

	if (read_ident(&elf, &ignored) < 0 || read_header(&elf, &h, &ignored) < 0)
		return 0;
	if (h.phnum != PN_XNUM_VALUE &&
	    slice_sub(head, h.phoff, (uint64_t)h.phnum * h.phentsize, &table)) {
		for (size_t i = 0; i < h.phnum; i++) {
			struct segment s = segment_at(&elf, table, &h, i);

			if (s.type == PT_LOAD_TYPE && s.offset == 0 && s.filesz > first &&
			    s.filesz <= WINDOW_FIRST_MAX)
				first = s.filesz;
			if (s.type == PT_DYNAMIC_TYPE || s.type == PT_INTERP_TYPE ||
			    (s.type == PT_LOAD_TYPE && s.filesz <= WINDOW_LOAD_MAX))
				count = add_window(out, count, max, file_size, s.offset,
						   MIN(s.filesz, (uint64_t)WINDOW_LOAD_MAX));
		}
	}
	count = add_window(out, count, max, file_size, 0, first);
	if (h.shoff)
		count = add_window(out, count, max, file_size,
				   h.shoff > WINDOW_NAMES ? h.shoff - WINDOW_NAMES : 0,
				   WINDOW_SEGMENT_MAX);
	return count;
}

uint64_t elf_loaded_end(struct slice head)
{
	struct elf elf = { .file = head };
	struct header h = { 0 };
	struct error ignored = { 0 };
	struct slice table = { 0 };
	uint64_t end = 0, before, last;

	if (read_ident(&elf, &ignored) < 0 || read_header(&elf, &h, &ignored) < 0 ||
	    h.phnum == PN_XNUM_VALUE ||
	    !slice_sub(head, h.phoff, (uint64_t)h.phnum * h.phentsize, &table))
		return UINT64_MAX;
	do {
		before = end;
		for (size_t i = 0; i < h.phnum; i++) {
			struct segment s = segment_at(&elf, table, &h, i);

			if (s.type == PT_LOAD_TYPE && s.offset <= end + SEGMENT_GAP_MAX &&
			    !add_overflows(s.offset, s.filesz, &last) && last <= INT64_MAX)
				end = MAX(end, last);
		}
	} while (end > before);
	return end;
}

const struct elf_section *elf_section(const struct elf *elf, const char *name)
{
	for (size_t i = 0; i < elf->sections.len; i++) {
		if (slice_is(elf->sections.items[i].name, name))
			return &elf->sections.items[i];
	}
	return NULL;
}

static int dynsym_tables(const struct elf *elf, struct slice *out_symbols, struct slice *out_names,
			 struct error *err)
{
	const struct elf_section *symbols = NULL, *names = elf_section(elf, ".dynstr");

	for (size_t i = 0; i < elf->sections.len && !symbols; i++) {
		if (elf->sections.items[i].type == SHT_DYNSYM_TYPE)
			symbols = &elf->sections.items[i];
	}
	if (!symbols || !names)
		return 0;
	if (!slice_sub(elf->file, symbols->offset, symbols->size, out_symbols) ||
	    !slice_sub(elf->file, names->offset, names->size, out_names))
		return error_set(err, ERROR_FORMAT, "the dynamic symbols lie beyond the file");
	return 0;
}

int elf_dynamic_symbols(const struct elf *elf, struct elf_symbols *out, struct error *err)
{
	struct slice symbols = { 0 }, names = { 0 };
	size_t entry = elf->is64 ? 24 : 16;
	struct elf_symbols made = { 0 };

	if (dynsym_tables(elf, &symbols, &names, err) < 0)
		return -1;
	for (size_t at = 0; at + entry <= symbols.len; at += entry) {
		struct reader r = elf_reader(elf, slice_of(symbols.data + at, entry));
		uint32_t name = reader_u32(&r);
		uint64_t size = 0;
		uint8_t info;
		uint16_t section;

		if (!elf->is64) {
			reader_u32(&r);
			size = reader_u32(&r);
		}
		info = reader_u8(&r);
		reader_u8(&r);
		section = reader_u16(&r);
		if (elf->is64) {
			reader_u64(&r);
			size = reader_u64(&r);
		}
		if (!name)
			continue;
		vec_push(&made, ((struct elf_symbol){ .name = name_in(names, name),
						      .defined = section != 0,
						      .weak = info >> 4 == STB_WEAK_BIND,
						      .type = info & 15,
						      .size = size }));
	}
	*out = made;
	return 0;
}

/* --- symbol versions */

static bool version_tables(const struct elf *elf, uint32_t type, struct slice *out_records,
			   struct slice *out_names)
{
	const struct elf_section *names = elf_section(elf, ".dynstr");

	for (size_t i = 0; names && i < elf->sections.len; i++) {
		const struct elf_section *s = &elf->sections.items[i];

		if (s->type == type)
			return slice_sub(elf->file, s->offset, s->size, out_records) &&
			       slice_sub(elf->file, names->offset, names->size, out_names);
	}
	return false;
}

static bool add_version(struct elf_versions *out, struct slice file, struct slice name, bool weak)
{
	if (!name.len || out->len >= VERSIONS_MAX)
		return false;
	vec_push(out, ((struct elf_version){ file, name, weak }));
	return true;
}

/* One library's needs: `count` records that lead to each other from `at` on. */
static bool needs_of(const struct elf *elf, struct slice records, struct slice names,
		     struct slice file, uint64_t at, unsigned count, struct elf_versions *out)
{
	for (unsigned i = 0; i < count; i++) {
		struct reader r = elf_reader(elf, records);
		uint32_t name, next;
		uint16_t flags;

		reader_seek(&r, at);
		reader_u32(&r); /* hash */
		flags = reader_u16(&r);
		reader_u16(&r); /* index */
		name = reader_u32(&r);
		next = reader_u32(&r);
		if (r.bad || !add_version(out, file, name_in(names, name), flags & 2))
			return false;
		if (!next)
			return true;
		at += next;
	}
	return true;
}

void elf_version_needs(const struct elf *elf, struct elf_versions *out)
{
	struct slice records, names;
	uint64_t at = 0;

	if (!version_tables(elf, SHT_VERNEED_TYPE, &records, &names))
		return;
	for (;;) {
		struct reader r = elf_reader(elf, records);
		uint16_t version, count;
		uint32_t file, first, next;

		reader_seek(&r, at);
		version = reader_u16(&r);
		count = reader_u16(&r);
		file = reader_u32(&r);
		first = reader_u32(&r);
		next = reader_u32(&r);
		if (r.bad || version != 1 ||
		    !needs_of(elf, records, names, name_in(names, file), at + first, count, out) ||
		    !next)
			return;
		at += next;
	}
}

void elf_version_definitions(const struct elf *elf, struct elf_versions *out)
{
	struct slice records, names;
	uint64_t at = 0;

	if (!version_tables(elf, SHT_VERDEF_TYPE, &records, &names))
		return;
	for (;;) {
		struct reader r = elf_reader(elf, records);
		uint16_t version, count;
		uint32_t first, next, name;

		reader_seek(&r, at);
		version = reader_u16(&r);
		reader_u16(&r); /* flags */
		reader_u16(&r); /* index */
		count = reader_u16(&r);
		reader_u32(&r); /* hash */
		first = reader_u32(&r);
		next = reader_u32(&r);
		reader_seek(&r, at + first);
		name = reader_u32(&r);
		if (r.bad || version != 1 || !count ||
		    !add_version(out, (struct slice){ 0 }, name_in(names, name), false) || !next)
			return;
		at += next;
	}
}
