/*
 * The package database in its full form, so that apt and scanners go on from it:
 * /var/lib/dpkg/status, info/NAME.{list,md5sums,conffiles,…}, arch. The lists name the paths as
 * they are in the image.
 * Source: dpkg(1), deb-control(5); Debian policy 5 and appendix.
 */
#include "base/md5.h"
#include "builder/finish/finish.h"
#include "formats/deb822.h"

enum { CONFFILE_BYTES_MAX = 64 * 1024 * 1024 };

/* "libc6:amd64" for Multi-Arch: same, as dpkg names the files of info/. */
static char *info_name(const struct component *c, const struct deb822 *stanza)
{
	if (slice_is(deb822_get(stanza, "Multi-Arch"), "same"))
		return xasprintf("%s:%s", c->name, c->arch);
	return xstrdup(c->name);
}

static int compare_paths(const void *a, const void *b)
{
	return rootfs_compare(*(const char *const *)a, *(const char *const *)b);
}

/* "/." first, then every path of the package and of its directories, each once. */
static void write_list(struct finish *f, const struct rootfs_part *part, const char *info)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_free char *path = xasprintf("var/lib/dpkg/info/%s.list", info);
	VEC(const char *) paths = { 0 };
	const char *last = NULL;

	for (size_t i = 0; i < part->nodes.len; i++) {
		if (part->nodes.items[i])
			vec_push(&paths, part->nodes.items[i]->tar.path);
	}
	vec_sort(&paths, compare_paths);
	strbuf_adds(&text, "/.\n");
	for (size_t i = 0; i < paths.len; i++) {
		if (!last || !str_equal(last, paths.items[i]))
			strbuf_addf(&text, "/%s\n", paths.items[i]);
		last = paths.items[i];
	}
	vec_release(&paths);
	finish_text(f, path, 0644, strbuf_slice(&text));
}

/* The lines of md5sums with the paths as they are in the image. */
static void write_md5sums(struct finish *f, const struct component *c, const char *info)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_free char *path = xasprintf("var/lib/dpkg/info/%s.md5sums", info);
	struct slice rest = c->md5sums, line;

	if (!c->md5sums.len)
		return;
	while (slice_cut(&rest, '\n', &line)) {
		struct error ignored = { 0 };
		cleanup_free char *name = NULL;
		const char *placed;

		if (line.len < 35)
			continue;
		name = xstrndup((const char *)line.data + 34, line.len - 34);
		placed = rootfs_place(f->rootfs, name, &ignored);
		strbuf_add(&text, line.data, 34);
		strbuf_addf(&text, "%s\n", placed ? placed : name);
	}
	finish_text(f, path, 0644, strbuf_slice(&text));
}

/* The component's own file of that path, whatever became of it in the tree. */
static const struct component_entry *own_entry(const struct component *c, const char *path)
{
	for (size_t i = 0; i < c->entries.len; i++) {
		if (str_equal(c->entries.items[i].tar.path, path) &&
		    c->entries.items[i].tar.type == TAR_FILE)
			return &c->entries.items[i];
	}
	return NULL;
}

static int add_conffile(struct strbuf *status, const struct component *c, struct slice line,
			struct error *err)
{
	cleanup_free char *path = xstrndup((const char *)line.data + 1, line.len - 1);
	const struct component_entry *e = own_entry(c, path);
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_stream struct stream *s = NULL;
	char md5[MD5_HEX_SIZE];

	if (!e) /* dpkg's word for one that is listed and not shipped */
		return strbuf_addf(status, " /%s newconffile\n", path), 0;
	s = content_open(&e->content, e->tar.size, err);
	if (!s || stream_read_all(s, CONFFILE_BYTES_MAX, &text, err) < 0)
		return error_wrap(err, "%s: /%s", c->name, path);
	strbuf_addf(status, " /%s %s\n", path, md5_hex(strbuf_slice(&text), md5));
	return 0;
}

/* "Conffiles:" with the sums, by which dpkg knows a file that the user changed. */
static int add_conffiles(struct strbuf *status, const struct component *c, struct error *err)
{
	struct slice rest = c->conffiles, line;
	bool first = true;

	while (c->conffiles.len && slice_cut(&rest, '\n', &line)) {
		line = slice_trim(line);
		if (line.len < 2 || line.data[0] != '/')
			continue;
		if (first)
			strbuf_adds(status, "Conffiles:\n");
		first = false;
		if (add_conffile(status, c, line, err) < 0)
			return -1;
	}
	return 0;
}

/* Package and Status first, as dpkg has them, then the control fields, Conffiles before
 * Description. */
static int add_status(struct strbuf *status, const struct component *c, const struct deb822 *stanza,
		      struct error *err)
{
	strbuf_addf(status, "Package: %s\nStatus: install ok installed\n", c->name);
	for (size_t i = 0; i < stanza->len; i++) {
		const struct deb822_field *field = &stanza->items[i];

		if (slice_is(field->name, "Package") || slice_is(field->name, "Status"))
			continue;
		if (slice_is(field->name, "Description") && add_conffiles(status, c, err) < 0)
			return -1;
		strbuf_addf(status, "%.*s: %.*s\n", (int)field->name.len,
			    (const char *)field->name.data, (int)field->value.len,
			    (const char *)field->value.data);
	}
	strbuf_addc(status, '\n');
	return 0;
}

static void write_info(struct finish *f, const struct rootfs_part *part, const char *info)
{
	const struct component *c = part->component;
	cleanup_free char *conffiles = xasprintf("var/lib/dpkg/info/%s.conffiles", info),
			  *triggers = xasprintf("var/lib/dpkg/info/%s.triggers", info);

	write_list(f, part, info);
	write_md5sums(f, c, info);
	if (c->conffiles.len)
		finish_text(f, conffiles, 0644, c->conffiles);
	if (c->triggers.len)
		finish_text(f, triggers, 0644, c->triggers);
	for (size_t i = 0; i < c->scripts.len; i++) {
		const struct component_script *s = &c->scripts.items[i];
		cleanup_free char *path = xasprintf("var/lib/dpkg/info/%s.%s", info, s->name);

		finish_text(f, path, 0755, slice_of(s->text, s->len));
	}
}

static int compare_parts(const void *a, const void *b)
{
	const struct rootfs_part *const *x = a, *const *y = b;
	int order = strcmp((*x)->component->name, (*y)->component->name);

	return order ? order : strcmp((*x)->component->arch, (*y)->component->arch);
}

static int take_package(struct finish *f, const struct rootfs_part *part, struct strbuf *status,
			struct error *err)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	struct slice control = part->component->control;
	cleanup_free char *info = NULL;
	size_t line = 1;
	int rc = deb822_next(&control, part->component->name, &line, &stanza, err);

	if (rc < 0)
		return -1;
	if (rc == 0)
		return error_set(err, ERROR_FORMAT, "%s: the package has no control data",
				 part->component->name);
	info = info_name(part->component, &stanza);
	write_info(f, part, info);
	return add_status(status, part->component, &stanza, err);
}

/* What dash's script registers, so that another shell's package does not take /bin/sh. */
static const char dash_diversions[] = "/usr/share/man/man1/sh.1.gz\n"
				      "/usr/share/man/man1/sh.distrib.1.gz\n"
				      "dash\n"
				      "/bin/sh\n"
				      "/bin/sh.distrib\n"
				      "dash\n";

int finish_dpkg(struct finish *f, struct error *err)
{
	VEC(const struct rootfs_part *) parts = { 0 };
	cleanup_strbuf struct strbuf status = { 0 };
	int rc = 0;

	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		if (f->rootfs->parts.items[i].component->kind == COMPONENT_DEB)
			vec_push(&parts, &f->rootfs->parts.items[i]);
	}
	vec_sort(&parts, compare_parts);
	for (size_t i = 0; i < parts.len && rc == 0; i++)
		rc = take_package(f, parts.items[i], &status, err);
	if (rc == 0 && parts.len) {
		cleanup_free char *arch = xasprintf("%s\n", f->platform.architecture);

		finish_text(f, "var/lib/dpkg/status", 0644, strbuf_slice(&status));
		finish_text(f, "var/lib/dpkg/arch", 0644, slice_str(arch));
		finish_text(f, "var/lib/dpkg/available", 0644, slice_str(""));
		finish_text(f, "var/lib/dpkg/diversions", 0644,
			    slice_str(rootfs_component(f->rootfs, COMPONENT_DEB, "dash")
					      ? dash_diversions
					      : ""));
		finish_text(f, "var/lib/dpkg/statoverride", 0644, slice_str(""));
		finish_text(f, "var/lib/dpkg/info/format", 0644, slice_str("1\n"));
		finish_dir(f, "var/lib/dpkg/updates", 0755, 0, 0);
		finish_dir(f, "var/lib/dpkg/triggers", 0755, 0, 0);
	}
	vec_release(&parts);
	return rc;
}
