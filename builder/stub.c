#include "builder/stub.h"

#include <elf.h>

#include "base/vec.h"
#include "manifests/embedded.h"

/*
 * File offsets are the addresses.
 *
 *   0        ELF header, program headers, .hash, .dynsym, .dynstr     read only
 *   page     .text: one function of 16 bytes for each name            executable
 *   page     .dynamic                                                 writable, as loaders want it
 *            .shstrtab, section headers                               not loaded
 */
enum { FUNCTION_BYTES = 16, PROGRAM_HEADERS = 5, SECTIONS = 7 };

struct machine {
	const char *architecture;
	uint16_t number;
	uint64_t page; /* largest that a kernel for it uses */
	uint8_t code[FUNCTION_BYTES];
};

/* endbr64; mov eax, 34; ret; nops */
#define CODE_X86_64                                                                            \
	{                                                                                      \
		0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 34, 0, 0, 0, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, \
			0x90                                                                   \
	}
/* bti c; mov w0, #34; ret; nop */
#define CODE_AARCH64                                                                          \
	{                                                                                     \
		0x5f, 0x24, 0x03, 0xd5, 0x40, 0x04, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6, 0x1f, \
			0x20, 0x03, 0xd5                                                      \
	}

static const struct machine machines[] = {
	{ "amd64", EM_X86_64, 0x1000, CODE_X86_64 },
	{ "arm64", EM_AARCH64, 0x10000, CODE_AARCH64 },
};

struct names {
	struct slice *items;
	size_t len, cap;
};

static void names_read(struct names *out)
{
	struct slice rest = embedded_file("driver-api.txt"), line;

	while (slice_cut(&rest, '\n', &line)) {
		if (line.len && line.data[0] != '#')
			vec_push(out, line);
	}
}

static void put(struct strbuf *b, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		strbuf_addc(b, (char)(value >> (8 * i) & 0xff));
}

static void pad_to(struct strbuf *b, uint64_t offset)
{
	assert(offset >= b->len);
	strbuf_add_zeros(b, (size_t)offset - b->len);
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

/* The hash of the System V ABI. */
static uint32_t hash_name(struct slice name)
{
	uint32_t h = 0;

	for (size_t i = 0; i < name.len; i++) {
		uint32_t top;

		h = (h << 4) + name.data[i];
		top = h & 0xf0000000;
		h = (h ^ top >> 24) & ~top;
	}
	return h;
}

/* Buckets and chains: symbol i + 1 is names[i]. */
static void write_hash(struct strbuf *b, const struct names *names)
{
	size_t buckets = names->len / 2 + 1, symbols = names->len + 1;
	VEC(uint32_t) heads = { 0 }, chain = { 0 };

	for (size_t i = 0; i < buckets; i++)
		vec_push(&heads, 0);
	for (size_t i = 0; i < symbols; i++)
		vec_push(&chain, 0);
	for (size_t i = 0; i < names->len; i++) {
		uint32_t *head = &heads.items[hash_name(names->items[i]) % buckets];

		chain.items[i + 1] = *head;
		*head = (uint32_t)(i + 1);
	}
	put(b, buckets, 4);
	put(b, symbols, 4);
	for (size_t i = 0; i < buckets; i++)
		put(b, heads.items[i], 4);
	for (size_t i = 0; i < symbols; i++)
		put(b, chain.items[i], 4);
	vec_release(&heads);
	vec_release(&chain);
}

struct layout_of_stub {
	uint64_t hash, dynsym, dynstr, strings_end, text, text_end, dynamic, dynamic_end, file_end;
	uint64_t soname; /* offset in .dynstr */
};

static const char section_names[] = "\0.hash\0.dynsym\0.dynstr\0.text\0.dynamic\0.shstrtab";

static void write_segment(struct strbuf *b, uint32_t type, uint32_t flags, uint64_t at,
			  uint64_t end, uint64_t align)
{
	put(b, type, 4);
	put(b, flags, 4);
	put(b, at, 8); /* offset, virtual and physical address */
	put(b, at, 8);
	put(b, at, 8);
	put(b, end - at, 8);
	put(b, end - at, 8);
	put(b, align, 8);
}

static void write_headers(struct strbuf *b, const struct machine *m,
			  const struct layout_of_stub *at)
{
	static const uint8_t ident[EI_NIDENT] = { 0x7f,       'E',         'L',       'F',
						  ELFCLASS64, ELFDATA2LSB, EV_CURRENT };

	strbuf_add(b, ident, sizeof(ident));
	put(b, ET_DYN, 2);
	put(b, m->number, 2);
	put(b, EV_CURRENT, 4);
	put(b, 0, 8);                  /* no entry point */
	put(b, sizeof(Elf64_Ehdr), 8); /* program headers follow */
	put(b, at->file_end, 8);       /* section headers */
	put(b, 0, 4);                  /* flags */
	put(b, sizeof(Elf64_Ehdr), 2);
	put(b, sizeof(Elf64_Phdr), 2);
	put(b, PROGRAM_HEADERS, 2);
	put(b, sizeof(Elf64_Shdr), 2);
	put(b, SECTIONS, 2);
	put(b, SECTIONS - 1, 2); /* .shstrtab is the last */
	write_segment(b, PT_LOAD, PF_R, 0, at->strings_end, m->page);
	write_segment(b, PT_LOAD, PF_R | PF_X, at->text, at->text_end, m->page);
	write_segment(b, PT_LOAD, PF_R | PF_W, at->dynamic, at->dynamic_end, m->page);
	write_segment(b, PT_DYNAMIC, PF_R | PF_W, at->dynamic, at->dynamic_end, 8);
	write_segment(b, PT_GNU_STACK, PF_R | PF_W, 0, 0, 16);
}

static void write_symbols(struct strbuf *b, const struct names *names,
			  const struct layout_of_stub *at)
{
	uint64_t name = 1;

	strbuf_add_zeros(b, sizeof(Elf64_Sym));
	for (size_t i = 0; i < names->len; i++) {
		put(b, name, 4);
		put(b, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1);
		put(b, STV_DEFAULT, 1);
		put(b, 4, 2); /* .text */
		put(b, at->text + i * FUNCTION_BYTES, 8);
		put(b, FUNCTION_BYTES, 8);
		name += names->items[i].len + 1;
	}
}

static void write_dynamic(struct strbuf *b, const struct layout_of_stub *at)
{
	const uint64_t entries[][2] = {
		{ DT_SONAME, at->soname },
		{ DT_HASH, at->hash },
		{ DT_STRTAB, at->dynstr },
		{ DT_SYMTAB, at->dynsym },
		{ DT_STRSZ, at->strings_end - at->dynstr },
		{ DT_SYMENT, sizeof(Elf64_Sym) },
		{ DT_NULL, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
		put(b, entries[i][0], 8);
		put(b, entries[i][1], 8);
	}
}

struct section {
	const char *name; /* NULL: the section without one */
	uint32_t type;
	uint64_t flags, at, end;
	uint32_t link, info;
	uint64_t align, entry;
};

static uint64_t section_name_offset(const char *name)
{
	size_t at = 1;

	while (!str_equal(section_names + at, name))
		at += strlen(section_names + at) + 1;
	return at;
}

static void write_sections(struct strbuf *b, const struct layout_of_stub *at, uint64_t shstrtab_end)
{
	const struct section sections[SECTIONS] = {
		{ 0 },
		{ ".hash", SHT_HASH, SHF_ALLOC, at->hash, at->dynsym, 2, 0, 8, 4 },
		{ ".dynsym", SHT_DYNSYM, SHF_ALLOC, at->dynsym, at->dynstr, 3, 1, 8,
		  sizeof(Elf64_Sym) },
		{ ".dynstr", SHT_STRTAB, SHF_ALLOC, at->dynstr, at->strings_end, 0, 0, 1, 0 },
		{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, at->text, at->text_end, 0, 0,
		  FUNCTION_BYTES, 0 },
		{ ".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, at->dynamic, at->dynamic_end, 3,
		  0, 8, sizeof(Elf64_Dyn) },
		{ ".shstrtab", SHT_STRTAB, 0, at->dynamic_end, shstrtab_end, 0, 0, 1, 0 },
	};

	for (size_t i = 0; i < SECTIONS; i++) {
		const struct section *s = &sections[i];

		put(b, s->name ? section_name_offset(s->name) : 0, 4);
		put(b, s->type, 4);
		put(b, s->flags, 8);
		put(b, s->flags & SHF_ALLOC ? s->at : 0, 8);
		put(b, s->at, 8);
		put(b, s->end - s->at, 8);
		put(b, s->link, 4);
		put(b, s->info, 4);
		put(b, s->align, 8);
		put(b, s->entry, 8);
	}
}

static struct layout_of_stub lay_out(const struct machine *m, const struct names *names)
{
	static const uint64_t dynamic_bytes = 7 * sizeof(Elf64_Dyn);
	struct layout_of_stub at = { 0 };
	uint64_t strings = 1;

	for (size_t i = 0; i < names->len; i++)
		strings += names->items[i].len + 1;
	at.soname = strings;
	strings += sizeof("libcuda.so.1");
	at.hash = sizeof(Elf64_Ehdr) + PROGRAM_HEADERS * sizeof(Elf64_Phdr);
	at.dynsym = round_up(at.hash + 4 * (2 + names->len / 2 + 1 + names->len + 1), 8);
	at.dynstr = at.dynsym + (names->len + 1) * sizeof(Elf64_Sym);
	at.strings_end = at.dynstr + strings;
	at.text = round_up(at.strings_end, m->page);
	at.text_end = at.text + names->len * FUNCTION_BYTES;
	at.dynamic = round_up(at.text_end, m->page);
	at.dynamic_end = at.dynamic + dynamic_bytes;
	at.file_end = round_up(at.dynamic_end + sizeof(section_names), 8);
	return at;
}

static void write_library(struct strbuf *b, const struct machine *m, const struct names *names)
{
	struct layout_of_stub at = lay_out(m, names);

	write_headers(b, m, &at);
	pad_to(b, at.hash);
	write_hash(b, names);
	pad_to(b, at.dynsym);
	write_symbols(b, names, &at);
	strbuf_addc(b, '\0');
	for (size_t i = 0; i < names->len; i++) {
		strbuf_add(b, names->items[i].data, names->items[i].len);
		strbuf_addc(b, '\0');
	}
	strbuf_add(b, "libcuda.so.1", sizeof("libcuda.so.1"));
	pad_to(b, at.text);
	for (size_t i = 0; i < names->len; i++)
		strbuf_add(b, m->code, sizeof(m->code));
	pad_to(b, at.dynamic);
	write_dynamic(b, &at);
	strbuf_add(b, section_names, sizeof(section_names));
	pad_to(b, at.file_end);
	write_sections(b, &at, at.dynamic_end + sizeof(section_names));
}

int stub_write(const char *architecture, struct strbuf *out, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
		struct names names = { 0 };
		struct strbuf b = { 0 };

		if (!str_equal(machines[i].architecture, architecture))
			continue;
		names_read(&names);
		write_library(&b, &machines[i], &names);
		strbuf_add(out, b.data, b.len);
		strbuf_release(&b);
		vec_release(&names);
		return 0;
	}
	return error_set(err, ERROR_USAGE,
			 "there is no CUDA driver library for architecture \"%s\" (amd64 and "
			 "arm64 have one)",
			 architecture);
}
