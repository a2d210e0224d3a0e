#include "lint/facts_parts.h"

#include "base/reader.h"

enum {
	NEEDED_KEPT = 1024, /* no real object comes near it */
	NOTE_MAX = 64 * 1024,
};

static const char *text_or_null(struct arena *arena, struct slice s)
{
	return s.data ? arena_slice(arena, s) : NULL;
}

/* Stems of libraries that mean "uses CUDA" when a program names them, and what they tell. */
static const struct {
	const char *stem;
	unsigned opens;
} gpu_stems[] = {
	{ "libcuda", OPENS_COMPUTE },
	{ "libcudart", 0 },
	{ "libcublas", 0 },
	{ "libcublasLt", 0 },
	{ "libcudnn", 0 },
	{ "libcufft", 0 },
	{ "libcurand", 0 },
	{ "libcusolver", 0 },
	{ "libcusparse", 0 },
	{ "libcupti", 0 },
	{ "libnccl", 0 },
	{ "libnvrtc", OPENS_NVRTC },
	{ "libnvJitLink", 0 },
	{ "libnvinfer", 0 },
	{ "libnvidia-ml", OPENS_UTILITY },
	{ "libnvcuvid", OPENS_VIDEO },
	{ "libnvidia-encode", OPENS_VIDEO },
	{ "libnvoptix", OPENS_GRAPHICS },
	{ "libcudadebugger", OPENS_COMPUTE },
	{ "libcutensor", 0 },
};

/* The text at `at` is one of the stems followed by ".so". */
static bool is_gpu_name(struct slice s, size_t at, unsigned *opens)
{
	for (size_t i = 0; i < ARRAY_LEN(gpu_stems); i++) {
		size_t len = strlen(gpu_stems[i].stem);

		if (s.len - at >= len + 3 && memcmp(s.data + at, gpu_stems[i].stem, len) == 0 &&
		    memcmp(s.data + at + len, ".so", 3) == 0) {
			*opens |= gpu_stems[i].opens;
			return true;
		}
	}
	return false;
}

static bool names_gpu_library(struct slice s, unsigned *opens)
{
	static const char *const starts[] = { "libcu", "libnv", "libnccl" };
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		const uint8_t *at = s.data;

		while (at && (at = memmem(at, s.len - (size_t)(at - s.data), starts[i],
					  strlen(starts[i])))) {
			found |= is_gpu_name(s, (size_t)(at - s.data), opens);
			at++;
		}
	}
	return found;
}

static bool is_data(const struct elf_section *s)
{
	return s->type == 1 && (s->flags & 2) && !(s->flags & 4); /* contents, loaded, no code */
}

/*
 * Names of the driver's libraries of every kind in one file are a list, such as tools for
 * containers have one: nothing that a program opens all of is known.
 */
static bool lists_driver(unsigned opens)
{
	const unsigned all = OPENS_COMPUTE | OPENS_UTILITY | OPENS_VIDEO | OPENS_GRAPHICS;

	return (opens & all) == all;
}

/* Symbols that are not needed to load it, their names, and what compilers write with -g. */
static bool is_for_debuggers(const struct elf_section *s)
{
	enum { SYMTAB = 2 };

	return !(s->flags & 2) &&
	       (s->type == SYMTAB || slice_is(s->name, ".strtab") ||
		slice_starts(s->name, ".debug_") || slice_starts(s->name, ".zdebug_"));
}

static void look_at_sections(const struct elf *elf, struct elf_facts *facts)
{
	for (size_t i = 0; i < elf->sections.len; i++) {
		const struct elf_section *s = &elf->sections.items[i];
		struct slice part;

		if (is_for_debuggers(s))
			facts->debug_bytes += s->size;
		if (is_data(s) && slice_starts(s->name, ".rodata") &&
		    slice_sub(elf->file, s->offset, s->size, &part))
			facts->names_gpu |= names_gpu_library(part, &facts->opens);
	}
	if (lists_driver(facts->opens)) {
		facts->names_gpu = false;
		facts->opens = 0;
	}
}

/*
 * The JSON text in the note of a compat libcuda, or NULL. Name and descriptor follow the header as
 * the container runtime reads them: the name padded by itself, a length too long cut.
 */
static const char *compat_note_of(const struct elf *elf, struct arena *arena)
{
	const struct elf_section *s = elf_section(elf, ".note.cuda.fwd_compatibility");
	struct slice note;
	struct reader r;
	uint64_t name, size, align;

	if (!s || !slice_sub(elf->file, s->offset, s->size, &note) || note.len > NOTE_MAX)
		return NULL;
	r = reader_of(note);
	r.big_endian = elf->big_endian;
	name = reader_u32(&r);
	size = reader_u32(&r);
	reader_u32(&r);
	align = s->addralign > 1 && s->addralign <= 16 ? s->addralign : 4;
	name = (name + align - 1) / align * align;
	reader_bytes(&r, name);
	if (r.bad)
		return NULL;
	note = reader_bytes(&r, MIN(size, (uint64_t)reader_left(&r)));
	while (note.len && !note.data[note.len - 1])
		note.len--;
	return note.len ? arena_slice(arena, note) : NULL;
}

struct elf_facts *elf_facts_of(struct slice file, const struct fatbin *code, struct arena *arena)
{
	cleanup_elf struct elf elf = { 0 };
	struct elf_facts *facts;
	struct error ignored = { 0 };
	const char **needed;

	if (elf_read(file, &elf, &ignored) < 0)
		return NULL;
	facts = arena_alloc(arena, sizeof(*facts));
	*facts = (struct elf_facts){
		.is64 = elf.is64,
		.big_endian = elf.big_endian,
		.is_dynamic = elf.has_dynamic,
		.incomplete = elf.truncated,
		.type = elf.type,
		.machine = elf.machine,
		.interp = text_or_null(arena, elf.interp),
		.soname = text_or_null(arena, elf.soname),
		.rpath = text_or_null(arena, elf.rpath),
		.runpath = text_or_null(arena, elf.runpath),
	};
	needed = arena_array(arena, elf.needed.len + 1, sizeof(*needed));
	for (size_t i = 0; i < MIN(elf.needed.len, (size_t)NEEDED_KEPT); i++) {
		if (elf.needed.items[i].len)
			needed[facts->needed_count++] = arena_slice(arena, elf.needed.items[i]);
		else
			facts->incomplete = true;
	}
	facts->needed = needed;
	facts->cut_short = elf.cut_short;
	facts->gpu = gpu_code_of(code, &elf, arena);
	facts->gpu_code = facts->gpu || elf.machine == ELF_MACHINE_CUDA;
	look_at_sections(&elf, facts);
	symbol_facts_of(&elf, facts, arena);
	facts->compat_note = compat_note_of(&elf, arena);
	return facts;
}
