#include <sys/mman.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "testkernels/image_loader.h"
#include "testkernels/rootdir.h"

enum { COPIES_MAX = 512, DEPTH_MAX = 128 };

const struct library_family library_families[] = {
	{ "libcudart", "CUDA runtime", true, false },
	{ "libcublas", "cuBLAS", true, false },
	{ "libcublasLt", "cuBLASLt", true, false },
	{ "libcudnn", "cuDNN", true, false },
	{ "libnccl", "NCCL", true, false },
	{ "libnvrtc", "run-time compiler", true, false },
	{ "libnvJitLink", "run-time linker", true, false },
	{ "libcufft", "cuFFT", true, false },
	{ "libcurand", "cuRAND", true, false },
	{ "libcusolver", "cuSOLVER", true, false },
	{ "libcusparse", "cuSPARSE", true, false },
	{ "libnvvm", "NVVM", true, false },
	{ "libcupti", "CUPTI", true, true },
};
const size_t library_families_count = ARRAY_LEN(library_families);

/*
 * "libcudart.so", "libcudart.so.13", "libcudart-d0da41ae.so.11.0" (as wheels are
 * repaired) are of libcudart.
 */
static const struct library_family *family_of(const char *name)
{
	const char *so = strstr(name, ".so");

	if (!so || (so[3] && so[3] != '.'))
		return NULL;
	for (size_t i = 0; i < library_families_count; i++) {
		size_t n = strlen(library_families[i].stem);

		if (strncmp(name, library_families[i].stem, n) == 0 &&
		    (name + n == so ||
		     (name[n] == '-' && strspn(name + n + 1, "0123456789abcdef") == 8 &&
		      name + n + 9 == so)))
			return &library_families[i];
	}
	return NULL;
}

struct search {
	int rootfd;
	const struct image_loader *loader;
	struct arena *arena;
	struct library_copies *out;
};

static const char *version_in_name(struct arena *arena, const char *file)
{
	const char *name = strrchr(file, '/'), *so = strstr(name ? name : file, ".so.");

	return so && strchr(so + 4, '.') ? arena_strdup(arena, so + 4) : NULL;
}

/* The file's soname, or why it is no library. False: of another machine, not to be tested. */
static bool read_soname(const struct search *s, const struct fs_entry *entry,
			struct library_copy *copy)
{
	cleanup_fd int fd = openat(entry->dirfd, entry->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	size_t size = (size_t)entry->st.st_size;
	cleanup_elf struct elf elf = { 0 };
	struct error err = { 0 };
	bool wanted = true;
	void *map;

	copy->soname = arena_strdup(s->arena, entry->name);
	if (fd < 0 || !size) {
		copy->damage = fd < 0 ? "it cannot be opened" : "it is empty";
		return true;
	}
	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return true;
	if (elf_is(slice_of(map, MIN(size, (size_t)4))) == false)
		wanted = false; /* a linker script or a placeholder */
	else if (elf_read(slice_of(map, size), &elf, &err) < 0)
		copy->damage = arena_strdup(s->arena, err.text);
	else if (s->loader->machine && elf.machine != s->loader->machine)
		wanted = false;
	else if (elf.truncated)
		copy->damage = "it ends before what its headers promise";
	if (wanted && elf.soname.data && elf.soname.len)
		copy->soname = arena_slice(s->arena, elf.soname);
	munmap(map, size);
	return wanted;
}

static void take_library(void *user, const struct fs_entry *entry)
{
	struct search *s = user;
	struct library_copy copy = { .family = family_of(entry->name) };
	const char *slash = strrchr(entry->path, '/');
	cleanup_free char *by_name = NULL;
	cleanup_strbuf struct strbuf found = { 0 };

	if (!copy.family || !S_ISREG(entry->st.st_mode) || strstr(entry->path, "/stubs/") ||
	    s->out->len >= COPIES_MAX || !read_soname(s, entry, &copy))
		return;
	copy.file = arena_printf(s->arena, "/%s", entry->path);
	copy.file_version = version_in_name(s->arena, copy.file);
	by_name = xasprintf("/%.*s/%s", slash ? (int)(slash - entry->path) : 0, entry->path,
			    copy.soname);
	copy.path = rootdir_resolve(s->rootfd, by_name, &found) &&
				    str_equal(strbuf_text(&found), entry->path)
			    ? arena_strdup(s->arena, by_name)
			    : copy.file;
	vec_push(s->out, copy);
}

/* Directories of a running system, which hold no image's libraries. */
static bool is_system_dir(const char *path)
{
	return str_equal(path, "proc") || str_equal(path, "sys") || str_equal(path, "dev");
}

/* A process of ours would load nothing from where it may not look, nor what has just gone. */
static bool holds_nothing(int sys_errno)
{
	return sys_errno == EACCES || sys_errno == EPERM || sys_errno == ENOENT ||
	       sys_errno == ENOTDIR || sys_errno == ELOOP;
}

static int search_below(image_file_fn *visit, void *user, int dirfd, const char *dir,
			unsigned depth, struct error *err)
{
	struct fs_names names = { 0 };
	struct error cause = { 0 };
	int rc = 0;

	if (depth > DEPTH_MAX)
		return 0;
	if (fs_list(dirfd, ".", &names, &cause) < 0) {
		if (holds_nothing(cause.sys_errno))
			return 0;
		*err = cause;
		return error_wrap(err, "/%s", dir);
	}
	for (size_t i = 0; i < names.len && rc == 0; i++) {
		cleanup_free char *path =
			xasprintf("%s%s%s", dir, dir[0] ? "/" : "", names.items[i]);
		struct fs_entry entry = { .path = path, .name = names.items[i], .dirfd = dirfd };
		cleanup_fd int sub = -1;

		if (fstatat(dirfd, entry.name, &entry.st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (!holds_nothing(errno))
				rc = error_set_errno(err, errno, "/%s", path);
			continue;
		}
		if (!S_ISDIR(entry.st.st_mode)) {
			visit(user, &entry);
			continue;
		}
		if (is_system_dir(path))
			continue;
		sub = openat(dirfd, entry.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0)
			rc = search_below(visit, user, sub, path, depth + 1, err);
		else if (!holds_nothing(errno))
			rc = error_set_errno(err, errno, "/%s", path);
	}
	fs_names_release(&names);
	return rc;
}

int image_files(int rootfd, image_file_fn *visit, void *user, struct error *err)
{
	cleanup_fd int fd = openat(rootfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, errno, "open the image's root");
	return search_below(visit, user, fd, "", 0, err);
}

/* What the loader opens when asked for the soname: the first directory that has the name. */
static void mark_found(const struct search *s, struct library_copy *copy)
{
	for (size_t i = 0; i < s->loader->dirs.len; i++) {
		cleanup_free char *path = fs_join(s->loader->dirs.items[i], copy->soname);
		cleanup_strbuf struct strbuf found = { 0 };

		if (!rootdir_resolve(s->rootfd, path, &found))
			continue;
		copy->found_by_name = str_equal(strbuf_text(&found), copy->file + 1);
		if (copy->found_by_name)
			copy->path = arena_strdup(s->arena, path);
		return;
	}
}

static int compare(const void *pa, const void *pb)
{
	const struct library_copy *a = pa, *b = pb;
	ptrdiff_t family = a->family - b->family;
	int name = strcmp(a->soname, b->soname);

	if (family)
		return family < 0 ? -1 : 1;
	if (name)
		return name;
	if (a->found_by_name != b->found_by_name)
		return a->found_by_name ? -1 : 1;
	return strcmp(a->path, b->path);
}

int image_libraries_find(int rootfd, const struct image_loader *loader, struct arena *arena,
			 struct library_copies *out, struct error *err)
{
	struct search s = { .rootfd = rootfd, .loader = loader, .arena = arena, .out = out };

	*out = (struct library_copies){ 0 };
	if (image_files(rootfd, take_library, &s, err) < 0)
		return -1;
	for (size_t i = 0; i < out->len; i++)
		mark_found(&s, &out->items[i]);
	vec_sort(out, compare);
	return 0;
}
