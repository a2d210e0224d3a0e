#include "testkernels/library_owner.h"

#include "base/alloc.h"
#include "formats/pkgdb.h"
#include "testkernels/rootdir.h"

enum { STATUS_MAX = 64 << 20, LIST_MAX = 16 << 20 };

bool library_versions_agree(const char *a, const char *b)
{
	struct slice rest_a = slice_str(a), rest_b = slice_str(b), part_a, part_b;

	while (slice_cut(&rest_a, '.', &part_a) && slice_cut(&rest_b, '.', &part_b)) {
		size_t end = 0;
		uint64_t na, nb;

		while (end < part_b.len && part_b.data[end] >= '0' && part_b.data[end] <= '9')
			end++;
		if (slice_u64(part_a, &na) && slice_u64(slice_of(part_b.data, end), &nb) &&
		    na != nb)
			return false;
		if (end < part_b.len)
			break; /* "9-1+cuda13.0": the rest is not the library's version */
	}
	return true;
}

/* NVIDIA's own: of others, the version says nothing of the libraries inside. */
static bool is_nvidias(const char *package)
{
	static const char *const starts[] = { "cuda-", "libcu",   "libnccl",
					      "libnv", "nvidia-", "nvidia_" };

	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		if (str_starts(package, starts[i]))
			return true;
	}
	return false;
}

static int read_below(int rootfd, const char *path, uint64_t limit, struct strbuf *out)
{
	struct error ignored = { 0 };
	cleanup_fd int fd = rootdir_open(rootfd, path, NULL, &ignored);
	cleanup_free char *self = NULL;

	if (fd < 0)
		return -1;
	self = xasprintf("/proc/self/fd/%d", fd);
	return fs_read(AT_FDCWD, self, limit, out, &ignored);
}

/* `path` stands in the text as a whole entry: at a line's beginning, and before `end`. */
static bool has_entry(const struct strbuf *text, const char *path, char end)
{
	size_t n = strlen(path);

	for (const char *at = strbuf_text(text); (at = strstr(at, path)); at++) {
		if ((at == text->data || at[-1] == '\n') && at[n] == end)
			return true;
	}
	return false;
}

static void set_owner(struct library_copy *copy, struct arena *arena, const char *package,
		      const char *version)
{
	if (copy->package)
		return;
	copy->package = arena_strdup(arena, package);
	copy->package_version = arena_strdup(arena, version);
}

static void dpkg_package(int rootfd, struct arena *arena, const struct pkgdb_package *p,
			 struct library_copies *copies)
{
	cleanup_free char *plain = xasprintf("/var/lib/dpkg/info/%s.list", p->name);
	cleanup_free char *multi = xasprintf("/var/lib/dpkg/info/%s:%s.list", p->name, p->arch);
	cleanup_strbuf struct strbuf list = { 0 };
	const char *colon = strchr(p->version, ':'); /* behind the epoch */

	if (read_below(rootfd, plain, LIST_MAX, &list) < 0 &&
	    read_below(rootfd, multi, LIST_MAX, &list) < 0)
		return;
	for (size_t i = 0; i < copies->len; i++) {
		if (has_entry(&list, copies->items[i].file, '\n'))
			set_owner(&copies->items[i], arena, p->name,
				  colon ? colon + 1 : p->version);
	}
}

static void find_dpkg(int rootfd, struct arena *arena, struct library_copies *copies)
{
	cleanup_strbuf struct strbuf status = { 0 };
	cleanup_arena struct arena scratch = { 0 };
	cleanup_pkgdb struct pkgdb db = { 0 };
	struct error ignored = { 0 };

	if (read_below(rootfd, "/var/lib/dpkg/status", STATUS_MAX, &status) < 0)
		return;
	/* what was read until an error counts */
	ignore_result(pkgdb_dpkg(strbuf_slice(&status), &scratch, &db, &ignored) < 0);
	for (size_t i = 0; i < db.len; i++) {
		if (is_nvidias(db.items[i].name))
			dpkg_package(rootfd, arena, &db.items[i], copies);
	}
}

/* "nvidia_cublas-13.1.0.3.dist-info", and its RECORD of "nvidia/cu13/lib/libcublas.so.13,…". */
static void wheel(int rootfd, struct arena *arena, const char *site, const char *name,
		  struct library_copies *copies)
{
	cleanup_free char *path = xasprintf("%s/%s/RECORD", site, name);
	cleanup_free char *package = xstrdup(name);
	cleanup_strbuf struct strbuf record = { 0 };
	char *dash = strchr(package, '-'), *end = strstr(package, ".dist-info");

	if (!dash || !end || dash > end || read_below(rootfd, path, LIST_MAX, &record) < 0)
		return;
	*dash = *end = '\0';
	for (size_t i = 0; i < copies->len; i++) {
		const char *file = copies->items[i].file;

		if (str_starts(file, site) && has_entry(&record, file + strlen(site) + 1, ','))
			set_owner(&copies->items[i], arena, package, dash + 1);
	}
}

static void find_wheels(int rootfd, struct arena *arena, const char *site,
			struct library_copies *copies)
{
	struct fs_names names = { 0 };
	struct error ignored = { 0 };

	if (fs_list(rootfd, site + 1, &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		if (is_nvidias(names.items[i]) && strstr(names.items[i], ".dist-info"))
			wheel(rootfd, arena, site, names.items[i], copies);
	}
	fs_names_release(&names);
}

void library_owners_find(int rootfd, struct arena *arena, struct library_copies *copies)
{
	static const char *const sites[] = { "/site-packages/", "/dist-packages/" };
	const char *last = "";

	if (copies->len)
		find_dpkg(rootfd, arena, copies);
	for (size_t i = 0; i < copies->len; i++) {
		const char *file = copies->items[i].file;

		for (size_t k = 0; !copies->items[i].package && k < ARRAY_LEN(sites); k++) {
			const char *at = strstr(file, sites[k]);
			const char *site;

			if (!at)
				continue;
			site = arena_printf(arena, "%.*s", (int)(at - file + strlen(sites[k]) - 1),
					    file);
			if (!str_equal(site, last))
				find_wheels(rootfd, arena, site, copies);
			last = site;
		}
	}
}
