/*
 * ELF files: header, sections, dynamic entries, notes; defined dynamic symbols on demand.
 *
 * elf_read() takes the whole file or a prefix: parts of the file that the slice does not hold
 * are not an error when only their *content* is missing (`truncated` tells); offsets and counts
 * that no file could have are ERROR_FORMAT. Nothing is copied: slices point into the input.
 * Both classes and both byte orders are read. Source: System V gABI 4.1, elf(5).
 */
#ifndef FORMATS_ELF_H
#define FORMATS_ELF_H

#include "base/error.h"
#include "base/slice.h"
#include "base/vec.h"

enum {
	ELF_MACHINE_386 = 3,
	ELF_MACHINE_ARM = 40,
	ELF_MACHINE_X86_64 = 62,
	ELF_MACHINE_AARCH64 = 183,
	ELF_MACHINE_CUDA = 190,
};

enum { ELF_TYPE_REL = 1, ELF_TYPE_DYN = 3 };

struct elf_section {
	struct slice name;
	uint32_t type;
	uint64_t flags;
	uint64_t offset, size; /* bytes, in the file */
	uint64_t addralign;
};

struct elf {
	struct slice file;
	bool is64, big_endian;
	uint16_t type, machine;
	bool truncated;  /* a part that was looked for lies beyond the slice */
	bool cut_short;  /* a section's or loaded segment's bytes end beyond the slice */
	bool exec_stack; /* PT_GNU_STACK asks for an executable stack */
	bool textrel;    /* relocations change its code */
	bool has_dynamic;
	struct slice interp;         /* PT_INTERP, without NUL */
	struct slice soname;         /* data NULL: none */
	struct slice rpath, runpath; /* as written; data NULL: none */
	uint64_t flags_1;            /* DT_FLAGS_1 */
	struct {
		struct slice *items;
		size_t len, cap;
	} needed; /* in order */
	struct {
		struct elf_section *items;
		size_t len, cap;
	} sections;
};

/* True when `head` starts with the ELF magic. */
bool elf_is(struct slice head);
/* Release with elf_release. ERROR_FORMAT. */
int elf_read(struct slice file, struct elf *out, struct error *err) MUST_USE;
void elf_release(struct elf *elf);
#define cleanup_elf cleanup(elf_release)
/*
 * Bytes from the start of the file that elf_read needs to find interp, soname, needed, rpath and
 * runpath (section headers aside); 0 when `head` is too short to tell.
 */
uint64_t elf_dynamic_end(struct slice head);
struct elf_window {
	uint64_t offset, size; /* bytes, inside the file */
};

/*
 * The parts of a file of `file_size` bytes that elf_read looks at, for a reader that does not
 * want to hold all of a large one: the head, small segments, the dynamic section, the section
 * headers and what stands just before them. `head` holds the first bytes (64 KiB is plenty).
 * Gives at most `max` windows in any order, which may overlap; 0 when `head` tells nothing.
 */
size_t elf_windows(struct slice head, uint64_t file_size, struct elf_window *out, size_t max);
/*
 * Where the loaded segments end that follow each other from the begin of the file on, in bytes of
 * it. Beyond stand symbols, what is for debuggers and, anywhere among them, the names of the
 * sections; patchelf writes another segment behind all that. UINT64_MAX when `head` tells nothing.
 */
uint64_t elf_loaded_end(struct slice head);
const struct elf_section *elf_section(const struct elf *elf, const char *name);

struct elf_symbol {
	struct slice name;
	bool defined, weak;
	uint8_t type;  /* STT_* */
	uint64_t size; /* bytes */
};
/* The dynamic symbols; caller frees with vec_release. ERROR_FORMAT. */
struct elf_symbols {
	struct elf_symbol *items;
	size_t len, cap;
};
int elf_dynamic_symbols(const struct elf *elf, struct elf_symbols *out, struct error *err) MUST_USE;

/* A symbol version: one that is needed of a library, or (file empty) one that is defined. */
struct elf_version {
	struct slice file; /* "libc.so.6" */
	struct slice name; /* "GLIBC_2.38" */
	bool weak;
};
struct elf_versions {
	struct elf_version *items;
	size_t len, cap;
};
/*
 * The symbol versions the object needs of other libraries, and those it defines (its own name
 * first, as the linker writes it). Caller frees with vec_release. What is damaged ends the list.
 * Source: Linux Standard Base core, "Symbol Versioning".
 */
void elf_version_needs(const struct elf *elf, struct elf_versions *out);
void elf_version_definitions(const struct elf *elf, struct elf_versions *out);

#endif
