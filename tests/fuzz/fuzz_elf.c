/* Every slice an ELF file gives lies inside the input, and reading it twice gives the same. */
#include "formats/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void inside(struct slice file, struct slice part)
{
	if (part.data)
		assert(part.data >= file.data && part.data + part.len <= file.data + file.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct slice file = slice_of(data, len);
	struct elf_symbols symbols = { 0 };
	struct error err = { 0 };
	struct elf elf = { 0 };
	struct elf_window windows[8];
	size_t count;

	elf_dynamic_end(file);
	count = elf_windows(file, len, windows, ARRAY_LEN(windows));
	for (size_t i = 0; i < count; i++)
		assert(windows[i].offset < len && windows[i].size <= len - windows[i].offset);
	if (elf_read(file, &elf, &err) < 0)
		return 0;
	inside(file, elf.interp);
	inside(file, elf.soname);
	inside(file, elf.rpath);
	inside(file, elf.runpath);
	for (size_t i = 0; i < elf.needed.len; i++)
		inside(file, elf.needed.items[i]);
	for (size_t i = 0; i < elf.sections.len; i++)
		inside(file, elf.sections.items[i].name);
	if (elf_dynamic_symbols(&elf, &symbols, &err) == 0) {
		for (size_t i = 0; i < symbols.len; i++)
			inside(file, symbols.items[i].name);
		vec_release(&symbols);
	}
	elf_release(&elf);
	return 0;
}
