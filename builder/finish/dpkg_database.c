/*
 * The package database in its full form, so that apt and scanners go on from it:
 * /var/lib/dpkg/status, info/NAME.{list,md5sums,conffiles,…}, arch, triggers, diversions: the bytes
 * that dpkg writes. Over a base image its own records go on: a file for each package
 * (status.d) where it has those, and never both forms.
 * Source: dpkg(1), deb-control(5); Debian policy 5 and appendix.
 */
#include "base/md5.h"
#include "builder/finish/finish.h"
#include "formats/deb822.h"

enum { CONFFILE_BYTES_MAX = 64 * 1024 * 1024, PROGRAM_BYTES_MAX = 16 * 1024 * 1024 };

#define TRIGGER_NAME_CHARACTERS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.:_"

/* "libc6:amd64" for Multi-Arch: same, as dpkg names the files of info/. */
static char *info_name(const struct component *c, const struct deb822 *stanza)
{
	if (slice_is(deb822_get(stanza, "Multi-Arch"), "same"))
		return xasprintf("%s:%s", c->name, c->arch);
	return xstrdup(c->name);
}

/* "/." first, then the package's own paths as it names them, in its order; dpkg knows of merged
 * folders and looks through them. */
static int write_list(struct finish *f, const struct component *c, const char *info,
		      struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_free char *path = xasprintf("var/lib/dpkg/info/%s.list", info);

	strbuf_adds(&text, "/.\n");
	for (size_t i = 0; i < c->entries.len; i++) {
		if (*c->entries.items[i].tar.path)
			strbuf_addf(&text, "/%s\n", c->entries.items[i].tar.path);
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

/* "/path", or "remove-on-upgrade /path". */
static int add_conffile(struct strbuf *status, const struct component *c, struct slice line,
			struct error *err)
{
	static const char flag[] = "remove-on-upgrade";
	size_t skip = slice_starts(line, flag) ? strlen(flag) : 0;
	struct slice name = slice_trim(slice_of(line.data + skip, line.len - skip));
	cleanup_free char *path =
		xstrndup((const char *)name.data + 1, name.len ? name.len - 1 : 0);
	const struct component_entry *e = own_entry(c, path);
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_stream struct stream *s = NULL;
	char md5[MD5_HEX_SIZE];

	if (!e) { /* dpkg's word for one that is listed and not shipped */
		strbuf_addf(status, " /%s newconffile%s%s\n", path, skip ? " " : "",
			    skip ? flag : "");
		return 0;
	}
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
		if (line.len < 2 || !memchr(line.data, '/', line.len))
			continue;
		if (first)
			strbuf_adds(status, "Conffiles:\n");
		first = false;
		if (add_conffile(status, c, line, err) < 0)
			return -1;
	}
	return 0;
}

/* The order in which dpkg writes the fields; those it does not know follow, as the package has
 * them. Source: dpkg lib/dpkg/parse.c, fieldinfos. */
static const char *const field_order[] = {
	"Package",        "Essential",   "Protected",      "Status",   "Priority",     "Section",
	"Installed-Size", "Origin",      "Maintainer",     "Bugs",     "Architecture", "Multi-Arch",
	"Source",         "Version",     "Config-Version", "Replaces", "Provides",     "Depends",
	"Pre-Depends",    "Recommends",  "Suggests",       "Breaks",   "Conflicts",    "Enhances",
	"Conffiles",      "Description",
};

static bool field_is(struct slice name, const char *field)
{
	return name.len == strlen(field) &&
	       strncasecmp((const char *)name.data, field, name.len) == 0;
}

static bool is_ordered(struct slice name)
{
	for (size_t i = 0; i < ARRAY_LEN(field_order); i++) {
		if (field_is(name, field_order[i]))
			return true;
	}
	return false;
}

static void add_field(struct strbuf *status, const struct deb822_field *field)
{
	strbuf_addf(status, "%.*s:%s%.*s\n", (int)field->name.len, (const char *)field->name.data,
		    field->value.len && field->value.data[0] == '\n' ? "" : " ",
		    (int)field->value.len, (const char *)field->value.data);
}

static int add_status(struct strbuf *status, const struct component *c, const struct deb822 *stanza,
		      struct error *err)
{
	for (size_t k = 0; k < ARRAY_LEN(field_order); k++) {
		if (str_equal(field_order[k], "Status"))
			/* what is the host's is not to come with an upgrade */
			strbuf_addf(status, "Status: %s ok installed\n",
				    c->host ? "hold" : "install");
		else if (str_equal(field_order[k], "Conffiles")) {
			if (add_conffiles(status, c, err) < 0)
				return -1;
		} else {
			for (size_t i = 0; i < stanza->len; i++) {
				if (field_is(stanza->items[i].name, field_order[k]))
					add_field(status, &stanza->items[i]);
			}
		}
	}
	for (size_t i = 0; i < stanza->len; i++) {
		if (!is_ordered(stanza->items[i].name))
			add_field(status, &stanza->items[i]);
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

static int write_info(struct finish *f, const struct component *c, const char *info,
		      struct error *err)
{
	const struct component_control texts[] = { { "conffiles", c->conffiles, 0644 },
						   { "md5sums", c->md5sums, 0644 },
						   { "triggers", c->triggers, 0644 } };

	if (write_list(f, c, info, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (texts[i].text.len &&
		    write_member(f, info, texts[i].name, 0644, texts[i].text, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < c->controls.len; i++) {
		const struct component_control *control = &c->controls.items[i];

		if (write_member(f, info, control->name, control->mode, control->text, err) < 0)
			return -1;
	}
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
			map_put(out, part->nodes.items[i]->tar->path, out);
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
		if (n && n->tar->type != TAR_DIR && n->owner && n->owner->kind == COMPONENT_BASE &&
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

		if (str_starts(n->tar->path, prefix) && n->tar->type != TAR_DIR && n->owner &&
		    n->owner->kind == COMPONENT_BASE && !strchr(n->tar->path + strlen(prefix), '.'))
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
	return c->md5sums.len ? finish_update(f, md5sums, 0644, c->md5sums, err) : 0;
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
	if (write_info(f, part->component, info, err) < 0)
		return -1;
	return add_status(status, part->component, &stanza, err);
}

/*
 * Who is interested in which trigger: those named by a path in the file File, each other one in a
 * file of its name. Source: dpkg doc/triggers.txt, deb-triggers(5).
 */
static void add_interest(struct map *files, struct slice line, const char *package)
{
	static const struct {
		const char *word, *suffix;
	} words[] = {
		{ "interest", "" },
		{ "interest-await", "" },
		{ "interest-noawait", "/noawait" },
	};
	struct slice word, name = slice_trim(line);

	if (!slice_cut(&name, ' ', &word))
		return;
	name = slice_trim(name);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		cleanup_free char *key = NULL;
		struct strbuf *b;

		if (!slice_is(word, words[i].word) || !name.len)
			continue;
		key = xasprintf("%.*s", (int)name.len, (const char *)name.data);
		if (*key != '/' && strspn(key, TRIGGER_NAME_CHARACTERS) != strlen(key))
			return;
		b = map_get(files, *key == '/' ? "File" : key);
		if (!b) {
			b = xcalloc(1, sizeof(*b));
			map_put(files, *key == '/' ? "File" : key, b);
		}
		if (*key == '/')
			strbuf_addf(b, "%s ", key);
		strbuf_addf(b, "%s%s\n", package, words[i].suffix);
	}
}

static void add_interests(struct map *files, const struct component *c)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	struct slice control = c->control, rest = c->triggers, line;
	struct error ignored = { 0 };
	cleanup_free char *info = NULL;
	size_t number = 1;

	if (!rest.len || deb822_next(&control, c->name, &number, &stanza, &ignored) != 1)
		return;
	info = info_name(c, &stanza);
	while (slice_cut(&rest, '\n', &line)) {
		struct slice text = line;

		if (slice_cut(&text, '#', &line))
			add_interest(files, line, info);
	}
}

/* The base image's lines stay, ours follow. */
static int write_lines(struct finish *f, const char *path, struct slice lines, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct slice line;

	if (finish_base_read(f, path, &text, err) < 0)
		return -1;
	if (text.len && text.data[text.len - 1] != '\n')
		strbuf_addc(&text, '\n');
	while (lines.len && slice_cut(&lines, '\n', &line) && (lines.data || line.len)) {
		cleanup_free char *whole =
			xasprintf("%.*s\n", (int)line.len, (const char *)line.data);

		if (!f->base || !strstr(strbuf_text(&text), whole))
			strbuf_adds(&text, whole);
	}
	return finish_update(f, path, 0644, strbuf_slice(&text), err);
}

static int write_triggers(struct finish *f, struct error *err)
{
	int rc = 0;
	cleanup_map struct map files = { 0 };
	const struct map_entry *sorted;

	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		const struct component *c = f->rootfs->parts.items[i].component;

		if (c->kind == COMPONENT_DEB)
			add_interests(&files, c);
	}
	sorted = map_sorted(&files);
	for (size_t i = 0; i < files.len; i++) {
		struct strbuf *b = sorted[i].value;
		cleanup_free char *path = xasprintf("var/lib/dpkg/triggers/%s", sorted[i].key);

		if (rc == 0)
			rc = write_lines(f, path, strbuf_slice(b), err);
		strbuf_release(b);
		free(b);
	}
	finish_text(f, "var/lib/dpkg/triggers/Unincorp", 0644, slice_str(""));
	return rc;
}

/* One line per override, as dpkg-statoverride writes it. */
static int write_overrides(struct finish *f, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	for (size_t i = 0; i < f->overrides.len; i++)
		strbuf_addf(&text, "%s\n", f->overrides.items[i]);
	return write_lines(f, "var/lib/dpkg/statoverride", strbuf_slice(&text), err);
}

/* Three lines each; the newest first, as dpkg writes them. */
static int write_diversions(struct finish *f, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	for (size_t i = f->rootfs->diversions.len; i-- > 0;) {
		const struct rootfs_diversion *d = &f->rootfs->diversions.items[i];

		strbuf_addf(&text, "/%s\n/%s\n%s\n", d->path, d->to, d->package);
	}
	if (f->base) { /* its own are not known here; what it has stays */
		finish_text(f, "var/lib/dpkg/diversions", 0644, strbuf_slice(&text));
		return 0;
	}
	return finish_update(f, "var/lib/dpkg/diversions", 0644, strbuf_slice(&text), err);
}

/* Whether a program has that text in it: what tells its age without a list of versions. */
static bool says(struct finish *f, const char *program, const char *text)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct error ignored = { 0 };

	return rootfs_read(f->rootfs, program, PROGRAM_BYTES_MAX, &bytes, &ignored) == 0 &&
	       memmem(bytes.data, bytes.len, text, strlen(text)) != NULL;
}

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
	cleanup_free char *native = xasprintf("%s\n", f->platform.architecture);
	cleanup_strbuf struct strbuf archs = { 0 };

	add_archs(f, &archs);
	if (finish_update(f, "var/lib/dpkg/status", 0644, strbuf_slice(status), err) < 0)
		return -1;
	finish_text(f, "var/lib/dpkg/arch", 0644, strbuf_slice(&archs));
	if (says(f, "usr/bin/dpkg", "arch-native"))
		finish_text(f, "var/lib/dpkg/arch-native", 0644, slice_str(native));
	if (write_diversions(f, err) < 0 || write_overrides(f, err) < 0 ||
	    write_triggers(f, err) < 0)
		return -1;
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
