/*
 * The package database in its full form, so that apt and scanners go on from it:
 * /var/lib/dpkg/status, info/NAME.{list,md5sums,conffiles,…}, arch. The lists name the paths as
 * they are in the image. Over a base image its own records go on: a file for each package
 * (status.d) where it has those, and never both forms.
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
static int write_list(struct finish *f, const struct rootfs_part *part, const char *info,
		      struct error *err)
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
	return finish_update(f, path, 0644, strbuf_slice(&text), err);
}

/* The lines of md5sums with the paths as they are in the image. */
static int write_md5sums(struct finish *f, const struct component *c, const char *path,
			 struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct slice rest = c->md5sums, line;

	if (!c->md5sums.len)
		return 0;
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
	return finish_update(f, path, 0644, strbuf_slice(&text), err);
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

static int write_member(struct finish *f, const char *info, const char *member, uint32_t mode,
			struct slice text, struct error *err)
{
	cleanup_free char *path = xasprintf("var/lib/dpkg/info/%s.%s", info, member);

	return finish_update(f, path, mode, text, err);
}

static int write_info(struct finish *f, const struct rootfs_part *part, const char *info,
		      struct error *err)
{
	const struct component *c = part->component;
	cleanup_free char *md5sums = xasprintf("var/lib/dpkg/info/%s.md5sums", info);

	if (write_list(f, part, info, err) < 0 || write_md5sums(f, c, md5sums, err) < 0 ||
	    (c->conffiles.len && write_member(f, info, "conffiles", 0644, c->conffiles, err) < 0) ||
	    (c->triggers.len && write_member(f, info, "triggers", 0644, c->triggers, err) < 0))
		return -1;
	for (size_t i = 0; i < c->scripts.len; i++) {
		const struct component_script *s = &c->scripts.items[i];

		if (write_member(f, info, s->name, 0755, slice_of(s->text, s->len), err) < 0)
			return -1;
	}
	return 0;
}

static int compare_parts(const void *a, const void *b)
{
	const struct rootfs_part *const *x = a, *const *y = b;
	int order = strcmp((*x)->component->name, (*y)->component->name);

	return order ? order : strcmp((*x)->component->arch, (*y)->component->arch);
}

/* ---- over a base image ---- */

/* A stanza's raw text off the front of *rest. */
static bool next_stanza(struct slice *rest, struct slice *out)
{
	const uint8_t *end;

	while (rest->len && rest->data[0] == '\n')
		*rest = slice_of(rest->data + 1, rest->len - 1);
	if (!rest->len)
		return false;
	end = memmem(rest->data, rest->len, "\n\n", 2);
	*out = end ? slice_of(rest->data, (size_t)(end - rest->data) + 1) : *rest;
	*rest = slice_of(rest->data + out->len, rest->len - out->len);
	return true;
}

static bool same_package(const struct component *c, const struct deb822 *stanza)
{
	struct slice arch = deb822_get(stanza, "Architecture");

	if (!slice_is(deb822_get(stanza, "Package"), c->name))
		return false;
	return slice_is(arch, c->arch) || slice_is(arch, "all") || str_equal(c->arch, "all");
}

/* The package of ours that takes the place of a stanza of the base image, or NULL. */
static const struct rootfs_part *successor(struct finish *f, struct slice text,
					   struct deb822 *stanza)
{
	struct error ignored = { 0 };
	size_t line = 1;

	if (deb822_next(&text, "status", &line, stanza, &ignored) != 1)
		return NULL;
	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		const struct rootfs_part *part = &f->rootfs->parts.items[i];

		if (part->component->kind == COMPONENT_DEB && same_package(part->component, stanza))
			return part;
	}
	return NULL;
}

/* What stays of the base image's own text. */
static void keep_stanzas(struct finish *f, struct strbuf *out)
{
	struct slice rest = f->base ? strbuf_slice(&f->base->packages) : (struct slice){ 0 }, text;

	while (next_stanza(&rest, &text)) {
		cleanup_deb822 struct deb822 stanza = { 0 };

		if (successor(f, text, &stanza))
			continue;
		strbuf_add(out, text.data, text.len);
		if (text.data[text.len - 1] != '\n')
			strbuf_addc(out, '\n');
		strbuf_addc(out, '\n');
	}
}

static void note_paths(const struct rootfs_part *part, struct map *out)
{
	for (size_t i = 0; i < part->nodes.len; i++) {
		if (part->nodes.items[i])
			map_put(out, part->nodes.items[i]->tar.path, out);
	}
}

/* Remove what a list names and the new version does not bring. Configuration stays, as with dpkg.
 */
static void remove_listed(struct finish *f, const struct rootfs_part *part, struct slice list)
{
	cleanup_map struct map brought = { 0 };
	struct slice line;

	note_paths(part, &brought);
	while (slice_cut(&list, '\n', &line)) {
		cleanup_free char *path = NULL;
		struct error ignored = { 0 };
		struct rootfs_node *n;
		const char *placed;

		if (line.len < 2 || line.data[0] != '/')
			continue;
		path = xstrndup((const char *)line.data + 1, line.len - 1);
		placed = rootfs_place(f->rootfs, path, &ignored);
		n = placed ? rootfs_lookup(f->rootfs, placed) : NULL;
		if (n && n->tar.type != TAR_DIR && n->owner && n->owner->kind == COMPONENT_BASE &&
		    !map_has(&brought, placed) && !str_starts(placed, "etc/"))
			rootfs_remove(f->rootfs, n);
	}
}

/* Files in info/ of the version before, before those of the new one are written. */
static void remove_members(struct finish *f, const char *info)
{
	cleanup_free char *prefix = xasprintf("var/lib/dpkg/info/%s.", info);
	struct rootfs_nodes members = { 0 };

	rootfs_list(f->rootfs, "var/lib/dpkg/info", &members);
	for (size_t i = 0; i < members.len; i++) {
		struct rootfs_node *n = members.items[i];

		if (str_starts(n->tar.path, prefix) && n->tar.type != TAR_DIR && n->owner &&
		    n->owner->kind == COMPONENT_BASE && !strchr(n->tar.path + strlen(prefix), '.'))
			rootfs_remove(f->rootfs, n);
	}
	vec_release(&members);
}

/* A package of the base image that ours takes the place of: what only it had goes. */
static int replace_package(struct finish *f, const struct rootfs_part *part,
			   const struct deb822 *old, struct error *err)
{
	struct slice name = deb822_get(old, "Package"), arch = deb822_get(old, "Architecture");
	bool same = slice_is(deb822_get(old, "Multi-Arch"), "same");
	cleanup_free char *info =
		xasprintf("%.*s%s%.*s", (int)name.len, (const char *)name.data, same ? ":" : "",
			  same ? (int)arch.len : 0, (const char *)arch.data);
	cleanup_free char *list = xasprintf("var/lib/dpkg/info/%s.list", info);
	cleanup_strbuf struct strbuf text = { 0 };

	if (finish_base_read(f, list, &text, err) < 0)
		return -1;
	remove_listed(f, part, strbuf_slice(&text));
	remove_members(f, info);
	return 0;
}

static int replace_packages(struct finish *f, struct error *err)
{
	struct slice rest = strbuf_slice(&f->base->packages), text;

	while (next_stanza(&rest, &text)) {
		cleanup_deb822 struct deb822 stanza = { 0 };
		const struct rootfs_part *part = successor(f, text, &stanza);

		if (part && replace_package(f, part, &stanza, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- all packages ---- */

/* A file for each package, as the base image has them. */
static int write_status_d(struct finish *f, const struct component *c, const struct deb822 *stanza,
			  struct error *err)
{
	cleanup_free char *path = xasprintf("var/lib/dpkg/status.d/%s", c->name),
			  *md5sums = xasprintf("var/lib/dpkg/status.d/%s.md5sums", c->name);
	cleanup_strbuf struct strbuf text = { 0 };

	if (add_status(&text, c, stanza, err) < 0)
		return -1;
	strbuf_truncate(&text, text.len - 1); /* the empty line after it */
	if (finish_update(f, path, 0644, strbuf_slice(&text), err) < 0)
		return -1;
	return write_md5sums(f, c, md5sums, err);
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
	if (f->base && f->base->dpkg == BASE_DPKG_STATUS_D)
		return write_status_d(f, part->component, &stanza, err);
	info = info_name(part->component, &stanza);
	if (write_info(f, part, info, err) < 0)
		return -1;
	return add_status(status, part->component, &stanza, err);
}

/* What dash's script registers, so that another shell's package does not take /bin/sh. */
static const char dash_diversions[] = "/usr/share/man/man1/sh.1.gz\n"
				      "/usr/share/man/man1/sh.distrib.1.gz\n"
				      "dash\n"
				      "/bin/sh\n"
				      "/bin/sh.distrib\n"
				      "dash\n";

/* The native architecture first, then those of foreign packages, as --add-architecture does. */
static void add_archs(const struct finish *f, struct strbuf *out)
{
	strbuf_addf(out, "%s\n", f->platform.architecture);
	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		const struct component *c = f->rootfs->parts.items[i].component;
		cleanup_free char *line = NULL;

		if (c->kind != COMPONENT_DEB || !c->arch || str_equal(c->arch, "all"))
			continue;
		line = xasprintf("%s\n", c->arch);
		if (!strstr(strbuf_text(out), line))
			strbuf_adds(out, line);
	}
}

/* The full form's own files. */
static int write_database(struct finish *f, const struct strbuf *status, struct error *err)
{
	cleanup_strbuf struct strbuf archs = { 0 };

	add_archs(f, &archs);
	if (finish_update(f, "var/lib/dpkg/status", 0644, strbuf_slice(status), err) < 0)
		return -1;
	finish_text(f, "var/lib/dpkg/arch", 0644, strbuf_slice(&archs));
	finish_text(f, "var/lib/dpkg/available", 0644, slice_str(""));
	finish_text(f, "var/lib/dpkg/diversions", 0644,
		    slice_str(rootfs_component(f->rootfs, COMPONENT_DEB, "dash") ? dash_diversions
										 : ""));
	finish_text(f, "var/lib/dpkg/statoverride", 0644, slice_str(""));
	finish_text(f, "var/lib/dpkg/info/format", 0644, slice_str("1\n"));
	finish_dir(f, "var/lib/dpkg/updates", 0755, 0, 0);
	finish_dir(f, "var/lib/dpkg/triggers", 0755, 0, 0);
	return 0;
}

int finish_dpkg(struct finish *f, struct error *err)
{
	VEC(const struct rootfs_part *) parts = { 0 };
	cleanup_strbuf struct strbuf status = { 0 };
	bool per_package = f->base && f->base->dpkg == BASE_DPKG_STATUS_D;
	int rc = 0;

	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		if (f->rootfs->parts.items[i].component->kind == COMPONENT_DEB)
			vec_push(&parts, &f->rootfs->parts.items[i]);
	}
	vec_sort(&parts, compare_parts);
	if (parts.len && f->base) {
		rc = replace_packages(f, err);
		keep_stanzas(f, &status);
	}
	for (size_t i = 0; i < parts.len && rc == 0; i++)
		rc = take_package(f, parts.items[i], &status, err);
	if (rc == 0 && parts.len && !per_package)
		rc = write_database(f, &status, err);
	vec_release(&parts);
	return rc;
}
