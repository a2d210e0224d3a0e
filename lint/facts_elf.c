#include "lint/facts_parts.h"

enum { NEEDED_KEPT = 1024 }; /* no real object comes near it */

static const char *text_or_null(struct arena *arena, struct slice s)
{
	return s.data ? arena_slice(arena, s) : NULL;
}

/* Stems of libraries that mean "uses CUDA" when a program names them. */
static const char *const gpu_stems[] = {
	"libcuda",    "libcudart",        "libcublas",    "libcublasLt",     "libcudnn",
	"libcufft",   "libcurand",        "libcusolver",  "libcusparse",     "libcupti",
	"libnccl",    "libnvrtc",         "libnvJitLink", "libnvinfer",      "libnvidia-ml",
	"libnvcuvid", "libnvidia-encode", "libnvoptix",   "libcudadebugger", "libcutensor",
};

/* The text at `at` is one of the stems followed by ".so". */
static bool is_gpu_name(struct slice s, size_t at)
{
	for (size_t i = 0; i < ARRAY_LEN(gpu_stems); i++) {
		size_t len = strlen(gpu_stems[i]);

		if (s.len - at >= len + 3 && memcmp(s.data + at, gpu_stems[i], len) == 0 &&
		    memcmp(s.data + at + len, ".so", 3) == 0)
			return true;
	}
	return false;
}

static bool names_gpu_library(struct slice s)
{
	static const char *const starts[] = { "libcu", "libnv", "libnccl" };

	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		const uint8_t *at = s.data;

		while (at && (at = memmem(at, s.len - (size_t)(at - s.data), starts[i],
					  strlen(starts[i])))) {
			if (is_gpu_name(s, (size_t)(at - s.data)))
				return true;
			at++;
		}
	}
	return false;
}

static bool is_data(const struct elf_section *s)
{
	return s->type == 1 && (s->flags & 2) && !(s->flags & 4); /* contents, loaded, no code */
}

static void look_at_sections(const struct elf *elf, struct elf_facts *facts)
{
	for (size_t i = 0; i < elf->sections.len; i++) {
		const struct elf_section *s = &elf->sections.items[i];
		struct slice part;

		if ((slice_is(s->name, ".nv_fatbin") || slice_is(s->name, "__nv_relfatbin")) &&
		    s->size)
			facts->gpu_code = true;
		else if (!facts->names_gpu && is_data(s) && slice_starts(s->name, ".rodata") &&
			 slice_sub(elf->file, s->offset, s->size, &part))
			facts->names_gpu = names_gpu_library(part);
	}
}

const struct elf_facts *elf_facts_of(struct slice file, struct arena *arena)
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
	facts->gpu_code = elf.machine == ELF_MACHINE_CUDA;
	look_at_sections(&elf, facts);
	return facts;
}
