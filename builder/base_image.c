#include "builder/base_image.h"

#include "builder/layer.h"
#include "formats/os_release.h"
#include "formats/wheel_meta.h"
#include "formats/deb822.h"
#include "manifests/dotted.h"
#include "oci/mediatype.h"

enum { DATABASE_BYTES_MAX = 64 * 1024 * 1024 };

void base_image_release(struct base_image *base)
{
	if (!base)
		return;
	base_index_release(&base->index);
	strbuf_release(&base->packages);
	strbuf_release(&base->rpm_database);
	vec_release(&base->distributions);
	map_release(&base->libraries);
	arena_release(&base->arena);
	*base = (struct base_image){ 0 };
}

const char *base_image_distribution(const struct base_image *base, const char *name)
{
	for (size_t i = 0; base && i < base->distributions.len; i++) {
		if (str_equal(base->distributions.items[i].name, name))
			return base->distributions.items[i].version;
	}
	return NULL;
}

/* ---- what is installed ---- */

/* Entries are sorted bytewise by path. */
static const struct component_entry *entry_at(const struct component *tree, const char *path)
{
	size_t low = 0, high = tree->entries.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(tree->entries.items[middle].tar.path, path);

		if (!order)
			return &tree->entries.items[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static int read_entry(const struct component_entry *e, struct strbuf *out, struct error *err)
{
	cleanup_stream struct stream *s = NULL;

	if (!e || e->tar.type != TAR_FILE || !e->tar.size || e->content.kind == CONTENT_ABSENT)
		return 0;
	s = content_open(&e->content, e->tar.size, err);
	if (!s || stream_read_all(s, DATABASE_BYTES_MAX, out, err) < 0)
		return error_wrap(err, "/%s", e->tar.path);
	return 0;
}

/* Stanzas of images without dpkg say nothing of a status. */
static void add_stanza(struct base_image *base, struct slice text)
{
	static const char field[] = "\nStatus: ";

	text = slice_trim(text);
	if (!text.len)
		return;
	if (!memmem(text.data, text.len, field, strlen(field)))
		strbuf_adds(&base->packages, "Status: install ok installed\n");
	strbuf_add(&base->packages, text.data, text.len);
	strbuf_adds(&base->packages, "\n\n");
}

static int read_status_d(struct base_image *base, const struct component *tree, struct error *err)
{
	static const char folder[] = "var/lib/dpkg/status.d/";

	for (size_t i = 0; i < tree->entries.len; i++) {
		const struct component_entry *e = &tree->entries.items[i];
		cleanup_strbuf struct strbuf text = { 0 };

		if (!str_starts(e->tar.path, folder) || e->tar.type != TAR_FILE ||
		    str_ends(e->tar.path, ".md5sums"))
			continue;
		if (read_entry(e, &text, err) < 0)
			return -1;
		base->dpkg = BASE_DPKG_STATUS_D;
		add_stanza(base, strbuf_slice(&text));
	}
	return 0;
}

static int read_packages(struct base_image *base, const struct component *tree, struct error *err)
{
	if (read_entry(entry_at(tree, "var/lib/dpkg/status"), &base->packages, err) < 0)
		return -1;
	if (slice_trim(strbuf_slice(&base->packages)).len) {
		base->dpkg = BASE_DPKG_STATUS;
		return 0;
	}
	strbuf_truncate(&base->packages, 0);
	return read_status_d(base, tree, err);
}

/* The first of the files that rpm's database has been, newest first. */
static int read_rpm_database(struct base_image *base, const struct component *tree,
			     struct error *err)
{
	static const char *const files[] = {
		"usr/lib/sysimage/rpm/rpmdb.sqlite", "var/lib/rpm/rpmdb.sqlite",
		"usr/lib/sysimage/rpm/Packages.db",  "var/lib/rpm/Packages.db",
		"usr/lib/sysimage/rpm/Packages",     "var/lib/rpm/Packages",
	};

	for (size_t i = 0; i < ARRAY_LEN(files) && !base->rpm_database.len; i++) {
		if (read_entry(entry_at(tree, files[i]), &base->rpm_database, err) < 0)
			return -1;
		base->rpm_path = files[i];
	}
	if (!base->rpm_database.len)
		base->rpm_path = NULL;
	return 0;
}

static int read_system(struct base_image *base, const struct component *tree, struct error *err)
{
	static const char *const files[] = { "usr/lib/os-release", "etc/os-release" };
	cleanup_strbuf struct strbuf text = { 0 };
	const char *id, *version;

	for (size_t i = 0; i < ARRAY_LEN(files) && !text.len; i++) {
		if (read_entry(entry_at(tree, files[i]), &text, err) < 0)
			return -1;
	}
	id = os_release_value(&base->arena, strbuf_slice(&text), "ID");
	version = os_release_value(&base->arena, strbuf_slice(&text), "VERSION_ID");
	base->system = arena_printf(&base->arena, "%s%s%s", id, *version ? " " : "", version);
	return 0;
}

/* The minor version of a program "python3.11", or 0. */
static unsigned python_minor(const char *name)
{
	uint64_t minor;

	if (!str_starts(name, "python3.") ||
	    !slice_u64(slice_str(name + strlen("python3.")), &minor) || minor > 99)
		return 0;
	return (unsigned)minor;
}

/* What "python3" in that folder is, else the newest that is there. */
static unsigned python_in(const struct component *tree, const char *folder)
{
	cleanup_free char *link = xasprintf("%s/python3", folder);
	const struct component_entry *e = entry_at(tree, link);
	unsigned best = 0;

	if (e && e->tar.type == TAR_SYMLINK) {
		const char *slash = strrchr(e->tar.link, '/');

		best = python_minor(slash ? slash + 1 : e->tar.link);
	}
	for (unsigned minor = 99; minor && !best; minor--) {
		cleanup_free char *path = xasprintf("%s/python3.%u", folder, minor);

		best = entry_at(tree, path) ? minor : 0;
	}
	return best;
}

static void find_python(struct base_image *base, const struct component *tree)
{
	static const char *const folders[] = { "usr/local/bin", "usr/bin" };

	for (size_t i = 0; i < ARRAY_LEN(folders) && !base->python; i++) {
		unsigned minor = python_in(tree, folders[i]);

		if (!minor)
			continue;
		base->python = arena_printf(&base->arena, "3.%u", minor);
		base->python_program =
			arena_printf(&base->arena, "/%s/python3.%u", folders[i], minor);
		base->debian_python = i == 1 && base->dpkg != BASE_DPKG_NONE;
	}
}

/* "…-packages/torch-2.7.1.dist-info/METADATA" */
static void note_distribution(struct base_image *base, const char *path)
{
	static const char end[] = ".dist-info/METADATA";
	struct base_distribution d;
	size_t len = strlen(path);
	const char *name, *dash;

	if (!str_ends(path, end))
		return;
	len -= strlen(end);
	name = memrchr(path, '/', len);
	dash = memrchr(path, '-', len);
	if (!name || !dash || dash <= ++name || name - path < 10 ||
	    memcmp(name - 10, "-packages/", 10) != 0)
		return;
	d.name = wheel_normalize(slice_of(name, (size_t)(dash - name)), &base->arena);
	d.version = arena_slice(&base->arena, slice_of(dash + 1, (size_t)(path + len - dash - 1)));
	vec_push(&base->distributions, d);
}

/* "usr/local/cuda-12.6/…": the newest toolkit. */
static void note_cuda(struct base_image *base, const char *path)
{
	static const char prefix[] = "usr/local/cuda-";
	const char *version = path + strlen(prefix);
	size_t len;

	if (!str_starts(path, prefix))
		return;
	len = strspn(version, "0123456789.");
	if (!len || version[len] != '/' || !memchr(version, '.', len))
		return;
	if (!base->cuda ||
	    (strncmp(base->cuda, version, len) != 0 &&
	     dotted_order(arena_slice(&base->arena, slice_of(version, len)), base->cuda) > 0))
		base->cuda = arena_slice(&base->arena, slice_of(version, len));
}

static void note_library(struct base_image *base, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *end = strstr(name, ".so.");
	char stem[64];
	size_t n = 0;

	base->nvcc |= str_starts(path, "usr/local/cuda-") && str_equal(name, "nvcc");
	if (!end || !(str_starts(name, "libcu") || str_starts(name, "libn")) ||
	    (size_t)(end - name) >= sizeof(stem))
		return;
	for (; name < end; name++)
		stem[n++] = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
	stem[n] = '\0';
	map_put(&base->libraries, stem, base);
}

bool base_image_has_cuda(const struct base_image *base, const char *component, bool devel)
{
	cleanup_free char *name = NULL;

	if (!base || (devel && !base->nvcc))
		return false;
	name = xasprintf("lib%s", str_equal(component, "npp") ? "nppc" : component);
	return devel || map_has(&base->libraries, name);
}

static int compare_distributions(const void *a, const void *b)
{
	const struct base_distribution *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int look_around(struct base_image *base, const struct component *tree, struct error *err)
{
	if (read_packages(base, tree, err) < 0 || read_rpm_database(base, tree, err) < 0 ||
	    read_system(base, tree, err) < 0)
		return -1;
	find_python(base, tree);
	for (size_t i = 0; i < tree->entries.len; i++) {
		const char *path = tree->entries.items[i].tar.path;

		if (str_starts(path, "lib/ld-musl-") || str_starts(path, "usr/lib/ld-musl-"))
			base->musl = true;
		base->rpm |= str_ends(path, "/rpm/rpmdb.sqlite") ||
			     str_ends(path, "/rpm/Packages.db") || str_ends(path, "/rpm/Packages");
		note_distribution(base, path);
		note_cuda(base, path);
		note_library(base, path);
	}
	vec_sort(&base->distributions, compare_distributions);
	if (*base->index.glibc)
		base->glibc = base->index.glibc;
	return 0;
}

/* ---- the image ---- */

static void take_layers(struct base_image *base, const struct image *image)
{
	const struct manifest *m = &image->manifest;

	base->layer_count = m->layer_count;
	base->layers = arena_array(&base->arena, m->layer_count + 1, sizeof(*base->layers));
	for (size_t i = 0; i < m->layer_count; i++) {
		const struct mediatype *type = mediatype_find(m->layers[i].media_type);

		base->layers[i] = (struct base_layer){
			.media_type = mediatype_layer(type ? type->compression : COMPRESSION_GZIP),
			.digest = m->layers[i].digest,
			.diff_id = image->config.diff_ids[i],
			.size = m->layers[i].size,
			.raw_size = base->index.raw_sizes[i],
		};
	}
}

static struct digest key_of(const struct lock_platform *inputs)
{
	cleanup_digest struct digest_state state = { 0 };
	const struct lock_input *in = base_image_locked(inputs);

	digest_init(&state, DIGEST_SHA256);
	layer_key_text(&state, "gpuimg base");
	layer_key_u64(&state, ASSEMBLY_VERSION);
	digest_update(&state, in->digest.bytes, digest_size(in->digest.algorithm));
	return digest_finish(&state);
}

static int open_locked(struct store *store, const struct lock_platform *inputs, struct image *image,
		       struct error *err)
{
	const struct lock_input *in = base_image_locked(inputs);
	struct image_source *source = base_image_source(store, inputs);

	return image_open_source(source, in->url, NULL, image, err);
}

int base_image_open(struct store *store, const struct lock_platform *inputs, struct base_image *out,
		    struct error *err)
{
	cleanup_image struct image image = { 0 };
	cleanup_component struct component *tree = NULL;

	*out = (struct base_image){ 0 };
	if (open_locked(store, inputs, &image, err) < 0)
		return -1;
	out->key = key_of(inputs);
	out->manifest = base_image_locked(inputs)->digest;
	out->text = arena_strdup(&out->arena, base_image_locked(inputs)->url);
	if (image.config.diff_id_count != image.manifest.layer_count)
		return error_set(err, ERROR_INTEGRITY,
				 "%s: the configuration does not name the content of each layer",
				 out->text);
	if (config_parse(strbuf_slice(&image.config_text), &out->arena, &out->config, err) < 0 ||
	    base_index_get(store, &image, &out->key, &out->index, err) < 0)
		return -1;
	take_layers(out, &image);
	tree = base_index_component(store, &out->index, "base image", err);
	return tree ? look_around(out, tree, err) : -1;
}

struct component *base_image_tree(struct store *store, const struct lock_platform *inputs,
				  const struct base_image *base, bool unpacked, struct error *err)
{
	cleanup_image struct image image = { 0 };
	struct component *tree;

	if (!unpacked) {
		tree = base_index_component(store, &base->index, "base image", err);
	} else {
		if (open_locked(store, inputs, &image, err) < 0)
			return NULL;
		tree = base_index_unpack(store, &image, "base image", err);
	}
	if (tree)
		tree->key = base->key;
	return tree;
}
