/*
 * A wheel becomes a component: each file proven against RECORD while it is read, placed by the
 * scheme of the image's interpreter, or, when the stack section brought it, by the layout of a
 * CUDA toolkit.
 * Source: packaging.python.org, "Binary distribution format", "Recording installed projects".
 */
#include "builder/sources/package_source.h"

#include "formats/license.h"
#include "formats/wheel_meta.h"

enum { META_BYTES_MAX = 64 * 1024 * 1024, SCRIPT_BYTES_MAX = 4 * 1024 * 1024 };

/* One wheel while it is opened. */
struct opening {
	const struct lock_input *input;
	const struct wheel_placing *placing;
	struct component *c;
	struct zip zip;
	struct wheel_record record;
	const char *dist_info; /* "name-1.0.dist-info" */
	const char *data;      /* "name-1.0.data" */
	const char *dist_name; /* normalized */
	struct wheel_entry_points points;
	struct wheel_record installed; /* rows of the new RECORD, paths in the image */
};

static int read_entry(const struct opening *o, const struct zip_entry *e, uint64_t limit,
		      struct strbuf *out, struct error *err)
{
	cleanup_stream struct stream *s = zip_open(o->c->fd, e);

	if (stream_read_all(s, limit, out, err) < 0)
		return error_wrap(err, "%s", e->path);
	return 0;
}

static int read_meta(const struct opening *o, const char *name, bool required, struct strbuf *out,
		     struct error *err)
{
	cleanup_free char *path = fs_join(o->dist_info, name);
	const struct zip_entry *e = zip_find(&o->zip, path);

	if (e)
		return read_entry(o, e, META_BYTES_MAX, out, err);
	return required ? error_set(err, ERROR_FORMAT, "%s is missing", path) : 0;
}

/* The only top folder that ends in .dist-info. */
static int find_dist_info(struct opening *o, struct error *err)
{
	for (size_t i = 0; i < o->zip.count; i++) {
		struct slice rest = slice_str(o->zip.entries[i].path), top;
		const char *name;

		slice_cut(&rest, '/', &top);
		if (!rest.data || top.len <= 10 ||
		    memcmp(top.data + top.len - 10, ".dist-info", 10) != 0)
			continue;
		name = arena_slice(&o->c->arena, top);
		if (o->dist_info && !str_equal(o->dist_info, name))
			return error_set(err, ERROR_FORMAT, "has two .dist-info folders, %s and %s",
					 o->dist_info, name);
		o->dist_info = name;
	}
	if (!o->dist_info)
		return error_set(err, ERROR_FORMAT, "has no .dist-info folder, so it is no wheel");
	o->data = arena_printf(&o->c->arena, "%.*s.data", (int)(strlen(o->dist_info) - 10),
			       o->dist_info);
	return 0;
}

static int check_name(struct opening *o, struct error *err)
{
	struct slice rest = slice_str(o->dist_info), name;
	const char *wanted;

	slice_cut(&rest, '-', &name);
	o->dist_name = wheel_normalize(name, &o->c->arena);
	wanted = wheel_normalize(slice_str(o->input->name), &o->c->arena);
	if (!str_equal(o->dist_name, wanted))
		return error_set(err, ERROR_FORMAT, "is the distribution %s, not %s", o->dist_name,
				 wanted);
	return 0;
}

/* Wheel-Version must be 1.x. The file has e-mail headers, of which some (Tag) stand many times. */
static int check_version(const struct opening *o, struct error *err)
{
	static const char field[] = "Wheel-Version:";
	cleanup_strbuf struct strbuf text = { 0 };
	struct slice rest, line, version = { 0 };

	if (read_meta(o, "WHEEL", true, &text, err) < 0)
		return -1;
	rest = strbuf_slice(&text);
	while (!version.data && slice_cut(&rest, '\n', &line)) {
		if (line.len >= sizeof(field) - 1 &&
		    strncasecmp((const char *)line.data, field, sizeof(field) - 1) == 0)
			version = slice_trim(slice_of(line.data + sizeof(field) - 1,
						      line.len - (sizeof(field) - 1)));
	}
	if (!slice_starts(version, "1."))
		return error_set(err, ERROR_FORMAT,
				 "has Wheel-Version '%.*s'; only 1.x is understood",
				 (int)version.len, version.len ? (const char *)version.data : "");
	return 0;
}

/* What METADATA says of the licence; a file that is not there says nothing. */
static int take_license(struct opening *o, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	const char *license;

	if (read_meta(o, "METADATA", false, &text, err) < 0)
		return -1;
	license = license_of_metadata(strbuf_slice(&text), &o->c->arena);
	o->c->license = license ? license : "";
	return 0;
}

/* Is it one of these files of the .dist-info? */
static bool is_meta(const struct opening *o, const char *path, const char *const *names)
{
	size_t n = strlen(o->dist_info);

	if (strncmp(path, o->dist_info, n) != 0 || path[n] != '/')
		return false;
	for (; *names; names++) {
		if (str_equal(path + n + 1, *names))
			return true;
	}
	return false;
}

static bool is_signature(const struct opening *o, const char *path)
{
	static const char *const names[] = { "RECORD", "RECORD.jws", "RECORD.p7s", NULL };

	return is_meta(o, path, names);
}

/* Archive and RECORD name the same files, with the same sizes. */
static int check_record(struct opening *o, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (read_meta(o, "RECORD", true, &text, err) < 0 ||
	    wheel_record_parse(strbuf_slice(&text), &o->c->arena, &o->record, err) < 0)
		return -1;
	for (size_t i = 0; i < o->zip.count; i++) {
		const struct zip_entry *e = &o->zip.entries[i];
		const struct wheel_record_row *row = wheel_record_find(&o->record, e->path);

		if (e->is_dir || is_signature(o, e->path))
			continue;
		if (!row || !row->has_digest)
			return error_set(err, ERROR_FORMAT, "%s is not in RECORD with a hash",
					 e->path);
		if (row->size != UINT64_MAX && row->size != e->size)
			return error_set(err, ERROR_INTEGRITY,
					 "%s holds %" PRIu64 " bytes, RECORD says %" PRIu64,
					 e->path, e->size, row->size);
	}
	for (size_t i = 0; i < o->record.len; i++) {
		const char *path = o->record.items[i].path;

		const struct zip_entry *e = zip_find(&o->zip, path);

		if (!is_signature(o, path) && (!e || e->is_dir))
			return error_set(err, ERROR_FORMAT, "RECORD names %s, which is missing",
					 path);
	}
	return 0;
}

static void note_installed(struct opening *o, const char *path, const struct digest *digest,
			   uint64_t size)
{
	vec_push(&o->installed,
		 ((struct wheel_record_row){ .path = path,
					     .has_digest = digest != NULL,
					     .digest = digest ? *digest : (struct digest){ 0 },
					     .size = size }));
}

/* A file we made or changed. */
static void add_text(struct opening *o, const char *path, uint32_t mode, struct slice text)
{
	struct component_entry *e = component_add_text(o->c, path, mode, text);
	struct digest digest = digest_of(text);

	note_installed(o, e->tar.path, &digest, text.len);
}

static struct component_entry *add_file(struct opening *o, const struct zip_entry *e,
					const char *path, uint32_t mode)
{
	const struct wheel_record_row *row = wheel_record_find(&o->record, e->path);
	const struct tar_entry tar = { .type = TAR_FILE,
				       .path = path,
				       .link = "",
				       .size = e->size,
				       .mode = mode,
				       .mtime = MAX(e->mtime, FIXED_MTIME) };
	struct component_entry *entry = component_add(o->c, &tar);

	entry->content = (struct content){
		.kind = CONTENT_ZIP, .fd = o->c->fd, .zip = e, .archive = &o->c->key
	};
	if (row && row->has_digest) {
		content_set_digest(&entry->content, &row->digest);
	}
	return entry;
}

static uint32_t mode_of(const struct zip_entry *e)
{
	return e->unix_mode & 0111 ? 0755 : 0644;
}

/* An entry point of the same name: the script is then made, and the one in the wheel left out. */
static bool is_entry_point(const struct opening *o, const char *name)
{
	for (size_t i = 0; i < o->points.len; i++) {
		if (str_equal(o->points.items[i].name, name))
			return true;
	}
	return false;
}

/* A file of .data/scripts: "#!python" becomes the image's interpreter. */
static int place_script(struct opening *o, const struct zip_entry *e, const char *name,
			struct error *err)
{
	const char *path = arena_printf(&o->c->arena, "%s/%s", o->placing->scripts, name);
	const struct wheel_record_row *row = wheel_record_find(&o->record, e->path);
	cleanup_strbuf struct strbuf text = { 0 }, made = { 0 };
	struct slice rest, first;
	struct digest got;

	if (is_entry_point(o, name))
		return 0;
	if (e->size > SCRIPT_BYTES_MAX) { /* a program, not a script */
		add_file(o, e, path, 0755);
		note_installed(o, path, &row->digest, e->size);
		return 0;
	}
	if (read_entry(o, e, SCRIPT_BYTES_MAX, &text, err) < 0)
		return -1;
	got = digest_of(strbuf_slice(&text));
	if (!digest_equal(&got, &row->digest))
		return error_set(err, ERROR_INTEGRITY, "%s is not what RECORD says", e->path);
	rest = strbuf_slice(&text);
	if (!slice_starts(rest, "#!python")) {
		add_text(o, path, 0755, strbuf_slice(&text));
		return 0;
	}
	slice_cut(&rest, '\n', &first);
	strbuf_addf(&made, "#!%s\n", o->placing->python);
	strbuf_add(&made, rest.data, rest.len);
	add_text(o, path, 0755, strbuf_slice(&made));
	return 0;
}

/* A file under NAME.data/: `rest` is what follows that folder. */
static int place_data(struct opening *o, const struct zip_entry *e, const char *rest,
		      struct error *err)
{
	const char *slash = strchr(rest, '/');
	struct slice scheme = slice_of(rest, slash ? (size_t)(slash - rest) : strlen(rest));
	const struct wheel_record_row *row = wheel_record_find(&o->record, e->path);
	const char *root, *path;

	if (!slash)
		return error_set(err, ERROR_FORMAT, "%s lies in no scheme folder", e->path);
	if (slice_is(scheme, "scripts"))
		return place_script(o, e, slash + 1, err);
	if (slice_is(scheme, "purelib") || slice_is(scheme, "platlib"))
		root = o->placing->site;
	else if (slice_is(scheme, "data"))
		root = o->placing->prefix;
	else if (slice_is(scheme, "headers"))
		root = arena_printf(&o->c->arena, "%s/%s", o->placing->headers, o->dist_name);
	else
		return error_set(err, ERROR_FORMAT, "%s: '%.*s' is no known scheme", e->path,
				 (int)scheme.len, (const char *)scheme.data);
	path = arena_printf(&o->c->arena, "%s/%s", root, slash + 1);
	add_file(o, e, path, mode_of(e));
	note_installed(o, path, &row->digest, e->size);
	return 0;
}

static int place_entry(struct opening *o, const struct zip_entry *e, struct error *err)
{
	const struct wheel_record_row *row = wheel_record_find(&o->record, e->path);
	size_t n = strlen(o->data);
	const char *path;

	if (e->is_dir || is_signature(o, e->path))
		return 0;
	if (strncmp(e->path, o->data, n) == 0 && e->path[n] == '/')
		return place_data(o, e, e->path + n + 1, err);
	path = arena_printf(&o->c->arena, "%s/%s", o->placing->site, e->path);
	add_file(o, e, path, mode_of(e));
	note_installed(o, path, &row->digest, e->size);
	return 0;
}

static int read_entry_points(struct opening *o, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (read_meta(o, "entry_points.txt", false, &text, err) < 0)
		return -1;
	return wheel_entry_points_parse(strbuf_slice(&text), &o->c->arena, &o->points, err);
}

static void place_entry_points(struct opening *o)
{
	for (size_t i = 0; i < o->points.len; i++) {
		cleanup_strbuf struct strbuf script = { 0 };
		cleanup_free char *path = fs_join(o->placing->scripts, o->points.items[i].name);

		wheel_script(&script, o->placing->python, &o->points.items[i]);
		add_text(o, path, 0755, strbuf_slice(&script));
	}
}

/* `path` as RECORD writes it: relative to the folder that holds dist-info. */
static void record_path(const char *site, const char *path, struct strbuf *out)
{
	size_t common = 0;

	for (size_t i = 0; site[i] && site[i] == path[i]; i++) {
		if (site[i] == '/')
			common = i + 1;
		if (!site[i + 1] && path[i + 1] == '/')
			common = i + 2;
	}
	if (common > strlen(site)) {
		strbuf_adds(out, path + common);
		return;
	}
	strbuf_adds(out, "../");
	for (const char *p = site + common; *p; p++) {
		if (*p == '/')
			strbuf_adds(out, "../");
	}
	strbuf_adds(out, path + common);
}

/* The RECORD of what was installed, itself included. */
static void write_record(struct opening *o)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_free char *own = xasprintf("%s/%s/RECORD", o->placing->site, o->dist_info);
	struct {
		char **items;
		size_t len, cap;
	} lines = { 0 };

	note_installed(o, own, NULL, 0);
	for (size_t i = 0; i < o->installed.len; i++) {
		const struct wheel_record_row *row = &o->installed.items[i];
		cleanup_strbuf struct strbuf path = { 0 };
		struct strbuf line = { 0 };

		record_path(o->placing->site, row->path, &path);
		wheel_record_line(&line, strbuf_text(&path), row->has_digest ? &row->digest : NULL,
				  row->size);
		vec_push(&lines, strbuf_steal(&line));
	}
	vec_sort(&lines, str_order);
	for (size_t i = 0; i < lines.len; i++) {
		strbuf_adds(&text, lines.items[i]);
		free(lines.items[i]);
	}
	vec_release(&lines);
	component_add_text(o->c, own, 0644, strbuf_slice(&text));
}

/* Records that the installer writes, or must not be there; a wheel's own do not count. */
static bool is_installers(const struct opening *o, const char *path)
{
	static const char *const names[] = { "INSTALLER", "REQUESTED", "direct_url.json", NULL };

	return is_meta(o, path, names);
}

static int place_distribution(struct opening *o, struct error *err)
{
	cleanup_free char *info = fs_join(o->placing->site, o->dist_info);
	cleanup_free char *installer = fs_join(info, "INSTALLER");
	cleanup_free char *requested = fs_join(info, "REQUESTED");

	if (read_entry_points(o, err) < 0)
		return -1;
	for (size_t i = 0; i < o->zip.count; i++) {
		const struct zip_entry *e = &o->zip.entries[i];

		if (!is_installers(o, e->path) && place_entry(o, e, err) < 0)
			return -1;
	}
	place_entry_points(o);
	add_text(o, installer, 0644, slice_str("gpuimg\n"));
	if (o->input->requested)
		add_text(o, requested, 0644, slice_str(""));
	write_record(o);
	return 0;
}

/*
 * Which files of a toolkit component a profile keeps. The first pattern that fits the path below
 * the component's folder decides; what fits none is for devel.
 */
static bool toolkit_keeps(enum stack_profile profile, const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (profile == PROFILE_DEVEL)
		return true;
	return str_starts(path, "lib/") && str_starts(name, "lib") && strstr(name, ".so.") != NULL;
}

static bool is_placed(const struct opening *o, const char *path)
{
	for (size_t i = 0; i < o->c->entries.len; i++) {
		if (str_equal(o->c->entries.items[i].tar.path, path))
			return true;
	}
	return false;
}

/* "libx.so" for the linker, beside "libx.so.1", unless the wheel brings one (it sorts first). */
static void toolkit_link(struct opening *o, const char *path)
{
	const char *name = strrchr(path, '/') + 1, *so = strstr(name, ".so.");
	const char *link =
		so ? arena_printf(&o->c->arena, "%.*s.so", (int)(so - path), path) : NULL;

	if (link && !is_placed(o, link))
		component_add_symlink(o->c, link, name);
}

/* Licences go to share/doc by their names; a second of that name keeps its folders. */
static void place_licence(struct opening *o, const struct zip_entry *e)
{
	const char *name = strrchr(e->path, '/') + 1;
	const char *path = arena_printf(&o->c->arena, "usr/share/doc/%s/%s", o->dist_name, name);

	if (is_placed(o, path))
		path = arena_printf(&o->c->arena, "usr/share/doc/%s/%s", o->dist_name,
				    e->path + strlen(o->dist_info) + 1);
	add_file(o, e, path, 0644);
}

/* nvidia/<component>/{lib,include,bin,nvvm}/… to the toolkit's folders; licences to share/doc. */
static void place_toolkit_entry(struct opening *o, const struct zip_entry *e)
{
	const struct wheel_placing *p = o->placing;
	size_t n = strlen(o->dist_info);
	struct slice rest = slice_str(e->path), top, component;
	const char *below, *path;

	if (strncmp(e->path, o->dist_info, n) == 0 && e->path[n] == '/') {
		const char *name = strrchr(e->path, '/') + 1;

		if (strcasestr(name, "licen") || strcasestr(name, "notice") ||
		    str_starts(e->path + n, "/licenses/"))
			place_licence(o, e);
		return;
	}
	if (!slice_cut(&rest, '/', &top) || !slice_is(top, "nvidia") ||
	    !slice_cut(&rest, '/', &component) || !rest.data)
		return; /* __init__.py and the like: nothing a toolkit has */
	below = arena_slice(&o->c->arena, rest);
	if (!strchr(below, '/') || !toolkit_keeps(p->profile, below))
		return;
	if (str_starts(below, "lib/") || str_starts(below, "include/"))
		path = arena_printf(&o->c->arena, "%s/targets/%s/%s", p->toolkit, p->target, below);
	else
		path = arena_printf(&o->c->arena, "%s/%s", p->toolkit, below);
	add_file(o, e, path, mode_of(e));
	if (p->profile == PROFILE_DEVEL && str_starts(below, "lib/lib"))
		toolkit_link(o, path);
}

static void make_key(struct opening *o)
{
	const struct wheel_placing *p = o->placing;
	char digest[DIGEST_TEXT_MAX];
	cleanup_free char *text =
		xasprintf("wheel 2\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%d\n%d\n",
			  digest_text(&o->input->digest, digest), p->site ? p->site : "",
			  p->scripts ? p->scripts : "", p->prefix ? p->prefix : "",
			  p->headers ? p->headers : "", p->python ? p->python : "",
			  p->toolkit ? p->toolkit : "", p->target ? p->target : "", (int)p->profile,
			  (int)o->input->requested);

	o->c->key = digest_of(slice_str(text));
}

static int by_entry_path(const void *a, const void *b)
{
	return strcmp((*(const struct component_entry *const *)a)->tar.path,
		      (*(const struct component_entry *const *)b)->tar.path);
}

/* No two files at one place: the schemes and made files may meet. */
static int check_places(const struct opening *o, struct error *err)
{
	size_t count = o->c->entries.len;
	cleanup_free const struct component_entry **sorted = xcalloc(count + 1, sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		sorted[i] = &o->c->entries.items[i];
	qsort(sorted, count, sizeof(*sorted), by_entry_path);
	for (size_t i = 1; i < count; i++) {
		if (str_equal(sorted[i - 1]->tar.path, sorted[i]->tar.path))
			return error_set(err, ERROR_FORMAT, "brings two files for /%s",
					 sorted[i]->tar.path);
	}
	return 0;
}

static int place_toolkit(struct opening *o)
{
	for (size_t i = 0; i < o->zip.count; i++) {
		if (!o->zip.entries[i].is_dir)
			place_toolkit_entry(o, &o->zip.entries[i]);
	}
	return 0;
}

static int open_wheel(struct opening *o, struct store *store, struct error *err)
{
	o->c->fd = store_open_verified(store, &o->input->digest, o->input->size, err);
	if (o->c->fd < 0 || zip_read(o->c->fd, o->input->name, &o->c->arena, &o->zip, err) < 0 ||
	    find_dist_info(o, err) < 0 || check_name(o, err) < 0 || check_version(o, err) < 0 ||
	    check_record(o, err) < 0 || take_license(o, err) < 0)
		return -1;
	make_key(o);
	if ((o->placing->toolkit ? place_toolkit(o) : place_distribution(o, err)) < 0)
		return -1;
	return check_places(o, err);
}

struct component *wheel_open(struct store *store, const struct lock_input *input,
			     const struct wheel_placing *placing, struct error *err)
{
	cleanup_component struct component *c =
		component_new(COMPONENT_WHEEL, input->name, input->version);
	struct opening o = { .input = input, .placing = placing, .c = c };
	int rc;

	c->requested = input->requested;
	c->toolkit = placing->toolkit != NULL;
	c->stage = arena_strdup(&c->arena, input->stage);
	c->arch = "";
	c->source_name = c->name;
	rc = open_wheel(&o, store, err);
	vec_release(&o.record);
	vec_release(&o.points);
	vec_release(&o.installed);
	if (rc < 0) {
		error_wrap(err, "wheel %s %s", input->name, input->version);
		return NULL;
	}
	return steal_ptr(&c);
}
