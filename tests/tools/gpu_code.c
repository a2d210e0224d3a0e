/*
 * Lists the GPU code of files: one line per section, kind, architecture and PTX version. With
 * --names, one line per kind and architecture as cuobjdump names them, stubs of the link step
 * included, for a comparison with it: tests/tools/compare-cuobjdump.
 */
#include <fcntl.h>

#include "formats/elf.h"
#include "lint/facts_parts.h"

static const char *kind_name(unsigned kind)
{
	switch (kind) {
	case FATBIN_PTX:
		return "PTX";
	case FATBIN_CUBIN:
	case FATBIN_OLD_CUBIN:
		return "cubin";
	case FATBIN_LTO:
		return "LTO-IR";
	default:
		return "unknown";
	}
}

static void print_rows(const char *path, const struct gpu_code *code)
{
	for (size_t i = 0; code && i < code->count; i++) {
		const struct gpu_row *r = &code->rows[i];
		char suffix[2] = { r->suffix, 0 };

		printf("%s\t%s\t%s\tsm_%u%s\t%u.%u\t%zu\t%" PRIu64 "\t%" PRIu64 "\n", path,
		       r->section, kind_name(r->kind), r->sm, suffix, r->ptx_major, r->ptx_minor,
		       r->count, r->stored, r->unpacked);
	}
	if (code && (code->unknown || code->uncertain || code->broken))
		printf("%s: %zu unknown, %zu uncertain, %zu broken\n", path, code->unknown,
		       code->uncertain, code->broken);
}

/*
 * cuobjdump looks into one of two sections only, and leaves the "f" of a family's code away.
 */
static void print_names(const struct fatbin *code, const struct elf *elf)
{
	const struct elf_section *s = elf_section(elf, ".nv_fatbin");

	if (!s)
		s = elf_section(elf, "__nv_relfatbin");
	for (size_t i = 0; s && i < code->entries.len; i++) {
		const struct fatbin_entry *e = &code->entries.items[i];

		if (e->container >= s->offset && e->container - s->offset < s->size && !e->bare &&
		    e->kind <= FATBIN_OLD_CUBIN)
			printf("%s sm_%u%s\n", kind_name(e->kind), e->sm,
			       e->suffix == 'a' ? "a" : "");
	}
}

static int list(const char *path, bool names, struct error *err)
{
	cleanup_strbuf struct strbuf file = { 0 };
	cleanup_fatbin struct fatbin code = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_elf struct elf elf = { 0 };
	struct fatbin_scan *scan;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_stream struct stream *stream = NULL;

	if (fd < 0)
		return error_set_errno(err, errno, "%s", path);
	stream = stream_fd(fd, path);
	if (stream_read_all(stream, 8 * GIB, &file, err) < 0)
		return -1;
	scan = fatbin_scan_new(file.len);
	fatbin_scan_feed(scan, strbuf_slice(&file));
	fatbin_scan_end(scan, &code);
	if (elf_is(strbuf_slice(&file)) && elf_read(strbuf_slice(&file), &elf, err) < 0)
		return -1;
	if (names)
		print_names(&code, &elf);
	else
		print_rows(path, gpu_code_of(&code, elf.file.data ? &elf : NULL, &arena));
	return 0;
}

int main(int argc, char **argv)
{
	bool names = argc > 1 && str_equal(argv[1], "--names");

	for (int i = names ? 2 : 1; i < argc; i++) {
		struct error err = { 0 };

		if (list(argv[i], names, &err) < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], err.text);
			return 1;
		}
	}
	return 0;
}
