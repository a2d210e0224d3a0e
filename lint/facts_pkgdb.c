#include "lint/facts_parts.h"

#include "formats/doc_path.h"
#include "formats/pkgdb.h"

enum database_kind {
	DATABASE_NONE,
	DATABASE_STATUS,
	DATABASE_LIST,
	DATABASE_SUMS,
	DATABASE_RPM,
	DATABASE_RPM_MANIFEST,
	DATABASE_APK,
	DATABASE_CONDA
};

static bool is_in(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && path[len] && !strchr(path + len, '/');
}

static bool is_rpm_name(const char *name)
{
	return str_equal(name, "rpmdb.sqlite") || str_equal(name, "Packages.db") ||
	       str_equal(name, "Packages");
}

static enum database_kind kind_of(const char *path)
{
	static const char *const rpm_dirs[] = { "var/lib/rpm/", "usr/lib/sysimage/rpm/",
						"usr/share/rpm/" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (str_equal(path, "var/lib/dpkg/status"))
		return DATABASE_STATUS;
	if (is_in(path, "var/lib/dpkg/status.d/"))
		return str_ends(path, ".md5sums") ? DATABASE_SUMS : DATABASE_STATUS;
	if (is_in(path, "var/lib/dpkg/info/") && str_ends(path, ".list"))
		return DATABASE_LIST;
	for (size_t i = 0; i < ARRAY_LEN(rpm_dirs); i++) {
		if (is_in(path, rpm_dirs[i]) && is_rpm_name(name))
			return DATABASE_RPM;
	}
	if (str_equal(path, "var/lib/rpmmanifest/container-manifest-2"))
		return DATABASE_RPM_MANIFEST;
	if (str_equal(path, "lib/apk/db/installed") || str_equal(path, "usr/lib/apk/db/installed"))
		return DATABASE_APK;
	if (slash && str_ends(name, ".json") && slash - path >= 10 &&
	    strncmp(slash - 10, "conda-meta", 10) == 0 && (slash - path == 10 || slash[-11] == '/'))
		return DATABASE_CONDA;
	return DATABASE_NONE;
}

bool package_database_is(const char *path)
{
	return kind_of(path) != DATABASE_NONE;
}

/* Files whose owner anybody asks for. */
static bool is_wanted(const char *path)
{
	return strstr(path, ".so") || strstr(path, "/bin/") || str_starts(path, "bin/") ||
	       strstr(path, "/sbin/") || strstr(path, "/nvidia");
}

int package_file_order(const void *a, const void *b)
{
	const struct package_file *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : x->package < y->package ? -1 : x->package > y->package;
}

/* Whether a package has nothing but documentation, and the folders that it lies in. */
static bool has_documentation_only(const struct pkgdb_package *p)
{
	for (size_t i = 0; i < p->file_count; i++) {
		const char *path = p->files[i] + (p->files[i][0] == '/');

		if (!*path || (!doc_path_is(path) && !doc_path_is_above(path)))
			return false;
	}
	return true;
}

/* What is kept of a database, whose own texts are in another arena. */
static void keep(const struct pkgdb *db, bool lists_files, struct arena *arena,
		 struct package_facts *out)
{
	struct package *items = arena_array(arena, db->len, sizeof(*items));
	struct package_file *files;
	size_t count = 0;

	for (size_t i = 0; i < db->len; i++) {
		const struct pkgdb_package *p = &db->items[i];

		items[i] = (struct package){
			.kind = p->kind,
			.name = arena_strdup(arena, p->name),
			.version = arena_strdup(arena, p->version),
			.arch = arena_strdup(arena, p->arch),
			.source = arena_strdup(arena, p->source),
			.license = arena_strdup(arena, p->license),
			.bytes = p->bytes,
			.file_count = p->file_count,
			.record_only = lists_files && has_documentation_only(p),
		};
		for (size_t k = 0; k < p->file_count; k++)
			count += is_wanted(p->files[k]);
	}
	files = arena_array(arena, count, sizeof(*files));
	for (size_t i = 0; i < db->len; i++) {
		const struct pkgdb_package *p = &db->items[i];

		for (size_t k = 0; k < p->file_count; k++) {
			if (is_wanted(p->files[k]))
				files[out->file_count++] =
					(struct package_file){ arena_strdup(arena, p->files[k]),
							       i };
		}
	}
	if (count)
		qsort(files, count, sizeof(*files), package_file_order);
	out->items = items;
	out->count = db->len;
	out->files = files;
}

/* A list of one package, whose name is that of the file; told from packages by its empty version.
 */
static int read_list(const char *path, struct slice bytes, bool sums, struct arena *arena,
		     struct pkgdb *db, struct error *err)
{
	const char *name = strrchr(path, '/') + 1;
	size_t len = strcspn(name, ":");
	struct pkgdb_package *p = pkgdb_add(db, "dpkg", err);

	if (!p)
		return -1;
	len = MIN(len, strlen(name) - strlen(sums ? ".md5sums" : ".list"));
	p->name = arena_slice(arena, slice_of(name, len));
	return pkgdb_dpkg_files(bytes, sums, arena, db, p, err);
}

const struct package_facts *package_database_read(const char *path, struct slice bytes,
						  bool complete, struct arena *arena)
{
	enum database_kind kind = kind_of(path);
	cleanup_arena struct arena scratch = { 0 };
	cleanup_pkgdb struct pkgdb db = { 0 };
	struct package_facts *out = arena_alloc(arena, sizeof(*out));
	struct error err = { 0 };
	int rc = 0;

	if (!bytes.data)
		bytes = slice_str("");
	switch (kind) {
	case DATABASE_NONE:
		return NULL;
	case DATABASE_STATUS:
		rc = pkgdb_dpkg(bytes, &scratch, &db, &err);
		break;
	case DATABASE_LIST:
	case DATABASE_SUMS:
		rc = read_list(path, bytes, kind == DATABASE_SUMS, &scratch, &db, &err);
		break;
	case DATABASE_RPM:
		rc = bytes.len ? pkgdb_rpm(bytes, &scratch, &db, &err) : 0;
		break;
	case DATABASE_RPM_MANIFEST:
		rc = pkgdb_rpm_manifest(bytes, &scratch, &db, &err);
		break;
	case DATABASE_APK:
		rc = pkgdb_apk(bytes, &scratch, &db, &err);
		break;
	case DATABASE_CONDA:
		rc = pkgdb_conda(bytes, &scratch, &db, &err);
		break;
	}
	keep(&db, kind == DATABASE_LIST || kind == DATABASE_SUMS || kind == DATABASE_RPM, arena,
	     out);
	if (!complete)
		out->problem = "larger than what is read of a database";
	else if (rc < 0)
		out->problem = arena_strdup(arena, err.text);
	return out;
}
