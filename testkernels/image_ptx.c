#include "testkernels/image_ptx.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "formats/elf.h"
#include "formats/fatbin.h"
#include "testkernels/image_loader.h"

enum {
	SAMPLE_MAX = 32 << 10,  /* bytes of one text */
	SAMPLE_LITTLE = 400,    /* bytes; without a kernel in it */
	SAMPLES_MAX = 1000,     /* of an image */
	INDEX_MAX = 1 << 20,    /* bytes */
	OBJECT_MIN = 4096,      /* bytes; smaller files hold no GPU code */
	SECTION_EXECUTABLE = 4, /* SHF_EXECINSTR */
	SECTION_NO_CONTENT = 8, /* SHT_NOBITS */
};

#define INDEX "index"
#define NO_FILE "-"

struct finder {
	const char *dir;
	struct arena *arena;
	struct ptx_samples *out;
	struct strbuf index;
	struct error err; /* set when the folder could not be written */
	bool failed;
};

/* Texts of one file that may become samples. */
struct candidates {
	struct fatbin_entry *items;
	size_t len, cap;
};

static bool same_kind(const struct fatbin_entry *a, const struct fatbin_entry *b)
{
	return a->sm == b->sm && a->suffix == b->suffix && a->major == b->major &&
	       a->minor == b->minor;
}

/* Less is better: texts of a good size, then those that say little, then those that are too large.
 */
static unsigned rank(const struct fatbin_entry *e)
{
	return e->unpacked > SAMPLE_MAX ? 2 : e->unpacked < SAMPLE_LITTLE;
}

/* Keep the best of each kind, the smallest of equals. */
static void consider(struct candidates *list, const struct fatbin_entry *e)
{
	for (size_t i = 0; i < list->len; i++) {
		struct fatbin_entry *kept = &list->items[i];

		if (!same_kind(kept, e))
			continue;
		if (rank(e) < rank(kept) || (rank(e) == rank(kept) && e->unpacked < kept->unpacked))
			*kept = *e;
		return;
	}
	vec_push(list, *e);
}

/* Containers stand at multiples of 8 of the file, in any section with data. */
static void scan_section(struct slice file, const struct elf_section *section,
			 struct candidates *list)
{
	uint64_t start = section->offset & ~UINT64_C(7);
	cleanup_fatbin struct fatbin found = { 0 };
	struct fatbin_scan *scan;
	struct slice bytes;

	if (section->type == SECTION_NO_CONTENT || section->flags & SECTION_EXECUTABLE ||
	    !slice_sub(file, start, section->size + (section->offset - start), &bytes))
		return;
	scan = fatbin_scan_new(bytes.len);
	fatbin_scan_feed(scan, bytes);
	fatbin_scan_end(scan, &found);
	for (size_t i = 0; i < found.entries.len; i++) {
		struct fatbin_entry e = found.entries.items[i];

		e.payload += start;
		if (e.kind == FATBIN_PTX)
			consider(list, &e);
	}
}

static int compare_candidates(const void *pa, const void *pb)
{
	const struct fatbin_entry *a = pa, *b = pb;

	if (a->sm != b->sm)
		return a->sm < b->sm ? -1 : 1;
	if (a->suffix != b->suffix)
		return a->suffix < b->suffix ? -1 : 1;
	if (a->major != b->major)
		return a->major < b->major ? -1 : 1;
	return (a->minor > b->minor) - (a->minor < b->minor);
}

static void add_sample(struct finder *f, const char *object, struct slice file,
		       const struct fatbin_entry *e)
{
	struct ptx_sample s = { .sm = e->sm,
				.suffix = e->suffix,
				.major = e->major,
				.minor = e->minor,
				.object = object };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_free char *path = NULL;
	struct error unusable = { 0 };

	if (f->out->len >= SAMPLES_MAX)
		return;
	if (fatbin_unpack(file, e, SAMPLE_MAX, &text, &unusable) == 0) {
		s.file = arena_printf(f->arena, "%zu.ptx", f->out->len);
		path = fs_join(f->dir, s.file);
		f->failed = fs_write(AT_FDCWD, path, strbuf_slice(&text), 0644, &f->err) < 0;
	}
	strbuf_addf(&f->index, "%s\t%u\t%c\t%u\t%u\t%s\n", s.file ? s.file : NO_FILE, s.sm,
		    s.suffix ? s.suffix : '-', s.major, s.minor, object);
	vec_push(f->out, s);
}

static void read_object(struct finder *f, const char *path, struct slice file)
{
	struct candidates list = { 0 };
	cleanup_elf struct elf elf = { 0 };
	struct error ignored = { 0 };
	const char *object = NULL;

	if (elf_read(file, &elf, &ignored) < 0)
		return;
	for (size_t i = 0; i < elf.sections.len; i++)
		scan_section(file, &elf.sections.items[i], &list);
	vec_sort(&list, compare_candidates);
	if (list.len)
		object = arena_printf(f->arena, "/%s", path);
	for (size_t i = 0; i < list.len && !f->failed; i++)
		add_sample(f, object, file, &list.items[i]);
	vec_release(&list);
}

/* Libraries and programs; a name with a control character would spoil the index. */
static bool may_hold_code(const struct fs_entry *entry)
{
	if (!S_ISREG(entry->st.st_mode) || entry->st.st_size < OBJECT_MIN)
		return false;
	for (const char *p = entry->path; *p; p++) {
		if ((unsigned char)*p < 0x20)
			return false;
	}
	return strstr(entry->name, ".so") || (entry->st.st_mode & 0111);
}

static void visit(void *user, const struct fs_entry *entry)
{
	size_t size = (size_t)entry->st.st_size;
	cleanup_fd int fd = -1;
	void *map;

	if (((struct finder *)user)->failed || !may_hold_code(entry))
		return;
	fd = openat(entry->dirfd, entry->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return;
	if (elf_is(slice_of(map, 4)))
		read_object(user, entry->path, slice_of(map, size));
	munmap(map, size);
}

/* "12.ptx\t90\ta\t8\t5\t/usr/lib/libx.so" */
static bool read_row(struct slice line, struct arena *arena, struct ptx_sample *out)
{
	struct slice field[6] = { 0 };
	uint64_t number[3];
	bool is_file;

	for (size_t i = 0; i < ARRAY_LEN(field); i++) {
		if (!slice_cut(&line, '\t', &field[i]) || !field[i].len)
			return false;
	}
	is_file =
		strspn((const char *)field[0].data, "0123456789") + strlen(".ptx") == field[0].len;
	if (!(is_file || slice_equal(field[0], slice_str(NO_FILE))) ||
	    !slice_u64(field[1], &number[0]) || !slice_u64(field[3], &number[1]) ||
	    !slice_u64(field[4], &number[2]) || number[0] > 9999 || number[1] > 999 ||
	    number[2] > 999)
		return false;
	*out = (struct ptx_sample){ .file = is_file ? arena_slice(arena, field[0]) : NULL,
				    .object = arena_slice(arena, field[5]),
				    .sm = (unsigned)number[0],
				    .suffix = *(const char *)field[2].data == '-'
						      ? '\0'
						      : *(const char *)field[2].data,
				    .major = (unsigned)number[1],
				    .minor = (unsigned)number[2] };
	return true;
}

/* The index is written last: with it, the folder is whole. */
static bool read_folder(const char *dir, struct arena *arena, struct ptx_samples *out)
{
	cleanup_free char *path = fs_join(dir, INDEX);
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };
	struct slice rest, line;

	if (fs_read(AT_FDCWD, path, INDEX_MAX, &text, &ignored) < 0)
		return false;
	rest = strbuf_slice(&text);
	while (slice_cut(&rest, '\n', &line)) {
		struct ptx_sample s;

		if (line.len && read_row(line, arena, &s))
			vec_push(out, s);
	}
	return true;
}

int image_ptx_find(int rootfd, const char *dir, struct arena *arena, struct ptx_samples *out,
		   struct error *err)
{
	struct finder f = { .dir = dir, .arena = arena, .out = out };
	cleanup_free char *index = fs_join(dir, INDEX);
	int rc;

	*out = (struct ptx_samples){ 0 };
	if (read_folder(dir, arena, out))
		return 0;
	if (fs_mkdirs(AT_FDCWD, dir, err) < 0 || image_files(rootfd, visit, &f, err) < 0) {
		strbuf_release(&f.index);
		return -1;
	}
	rc = f.failed ? error_set(err, f.err.code, "%s", f.err.text)
		      : fs_write(AT_FDCWD, index, strbuf_slice(&f.index), 0644, err);
	strbuf_release(&f.index);
	return rc;
}

bool ptx_serves(const struct ptx_sample *sample, const char *target)
{
	const char *digits = strchr(target, '_');
	unsigned sm = 0;

	for (digits = digits ? digits + 1 : ""; *digits >= '0' && *digits <= '9' && sm < 10000;)
		sm = sm * 10 + (unsigned)(*digits++ - '0');
	if (sample->suffix == 'a')
		return sample->sm == sm;
	if (sample->suffix == 'f')
		return sample->sm <= sm && sample->sm / 10 == sm / 10;
	return sample->sm <= sm;
}
