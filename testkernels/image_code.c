#include "testkernels/image_code.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "formats/elf.h"
#include "testkernels/image_loader.h"

enum {
	HEADER = 16,
	LOADED_MAX = 64 << 20
}; /* bytes; a larger container is not loaded for a test */

#define MAGIC 0xBA55ED50U

struct finder {
	struct arena *arena;
	struct code_objects *out;
};

/* The container at `offset`, or false at the end of them. */
static bool container_at(struct slice file, uint64_t offset, uint64_t end,
			 struct code_container *out)
{
	uint32_t magic;
	uint64_t size;
	struct slice head;

	if (offset > end || end - offset < HEADER || !slice_sub(file, offset, HEADER, &head))
		return false;
	memcpy(&magic, head.data,
	       sizeof(magic)); /* of this machine's byte order, as CUDA's all are */
	memcpy(&size, head.data + 8, sizeof(size));
	if (magic != MAGIC || size > end - offset - HEADER)
		return false;
	*out = (struct code_container){ .offset = offset, .size = HEADER + size };
	return true;
}

/* Count them; with `step`, keep each that is a multiple of it. */
static size_t walk(struct slice file, const struct elf_section *section, size_t step,
		   struct code_object *out)
{
	uint64_t at = (section->offset + 7) & ~UINT64_C(7), end = section->offset + section->size;
	struct code_container c;
	size_t n = 0;

	for (; container_at(file, at, end, &c); at = (at + c.size + 7) & ~UINT64_C(7)) {
		if (step && n % step == 0 && c.size <= LOADED_MAX &&
		    out->count < CODE_CONTAINERS_MAX)
			out->containers[out->count++] = c;
		n++;
	}
	return n;
}

static void read_object(struct finder *f, const char *path, struct slice file)
{
	struct code_object o = { 0 };
	cleanup_elf struct elf elf = { 0 };
	struct error ignored = { 0 };
	const struct elf_section *section;

	if (elf_read(file, &elf, &ignored) < 0 || elf.machine == ELF_MACHINE_CUDA)
		return;
	section = elf_section(&elf, ".nv_fatbin");
	if (!section || section->offset > file.len || section->size > file.len - section->offset)
		return;
	o.total = walk(file, section, 0, &o);
	walk(file, section, o.total / CODE_CONTAINERS_MAX + 1, &o);
	if (!o.count)
		return;
	if (f->out->len >= CODE_OBJECTS_MAX) {
		f->out->left_out++;
		return;
	}
	o.path = arena_printf(f->arena, "/%s", path);
	vec_push(f->out, o);
}

/* A tab or the end of a line would spoil the plan. */
static bool is_own(const struct fs_entry *entry)
{
	static const char *const foreign[] = { "libcu", "libnv", "libnccl" };

	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		if (str_starts(entry->name, foreign[i]))
			return false;
	}
	for (const char *p = entry->path; *p; p++) {
		if ((unsigned char)*p < 0x20)
			return false;
	}
	return S_ISREG(entry->st.st_mode) && entry->st.st_size > 4096 &&
	       (strstr(entry->name, ".so") || (entry->st.st_mode & 0111));
}

static void visit(void *user, const struct fs_entry *entry)
{
	size_t size = (size_t)entry->st.st_size;
	cleanup_fd int fd = -1;
	void *map;

	if (!is_own(entry))
		return;
	fd = openat(entry->dirfd, entry->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	map = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return;
	if (elf_is(slice_of(map, 4)))
		read_object(user, entry->path, slice_of(map, size));
	munmap(map, size);
}

static int by_path(const void *pa, const void *pb)
{
	return strcmp(((const struct code_object *)pa)->path,
		      ((const struct code_object *)pb)->path);
}

int image_code_find(int rootfd, struct arena *arena, struct code_objects *out, struct error *err)
{
	struct finder f = { .arena = arena, .out = out };

	*out = (struct code_objects){ 0 };
	if (image_files(rootfd, visit, &f, err) < 0)
		return -1;
	vec_sort(out, by_path);
	return 0;
}
