/*
 * What systemd-tmpfiles --create would make of the files that packages bring in tmpfiles.d: folders
 * (d, D, v, q, Q), links (L), empty or short files (f, F), copies (C) and modes (z). Only where
 * systemd's program is in the image, since scripts call nothing else; nothing below /run, /tmp and
 * /proc, which are empty in an image.
 * Source: tmpfiles.d(5).
 */
#include "builder/finish/finish.h"

struct line {
	const char *type, *path, *mode, *user, *group, *argument;
};

static const char *word(struct finish *f, struct slice *rest)
{
	struct slice s = slice_trim(*rest);
	size_t n = 0;

	while (n < s.len && s.data[n] != ' ' && s.data[n] != '\t')
		n++;
	*rest = slice_of(s.data + n, s.len - n);
	return arena_slice(f->arena, slice_of(s.data, n));
}

static bool has_value(const char *text)
{
	return *text && !str_equal(text, "-");
}

/* Lines with specifiers or patterns, for a boot (!) or of credentials (^) are not for an image; nor
 * is the machine's number under its second name. */
static bool read_line(struct finish *f, struct slice text, struct line *out)
{
	out->type = word(f, &text);
	out->path = word(f, &text);
	out->mode = word(f, &text);
	out->user = word(f, &text);
	out->group = word(f, &text);
	word(f, &text); /* the age: nothing is cleaned */
	out->argument = arena_slice(f->arena, slice_trim(text));
	return out->path[0] == '/' && out->path[1] && !strpbrk(out->path, "%*?[\"'") &&
	       !strpbrk(out->type, "!^") && !str_equal(out->path, "/var/lib/dbus/machine-id") &&
	       !strchr(out->argument, '%') && !slice_has_part(slice_str(out->path), "..");
}

static bool is_volatile(const char *path)
{
	static const char *const roots[] = { "/run",  "/var/run", "/tmp", "/var/tmp",
					     "/proc", "/sys",     "/dev" };

	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		size_t len = strlen(roots[i]);

		if (str_starts(path, roots[i]) && (path[len] == '/' || !path[len]))
			return true;
	}
	return false;
}

/* "0755", with "~" and ":" before it that say when it counts. */
static bool read_mode(const char *text, uint32_t *out)
{
	while (*text == '~' || *text == ':')
		text++;
	if (!*text || strspn(text, "01234567") != strlen(text))
		return false;
	*out = (uint32_t)strtoul(text, NULL, 8) & 07777;
	return true;
}

static void set_attributes(struct finish *f, const struct line *l)
{
	struct rootfs_node *n = rootfs_file(f->rootfs, rootfs_resolve(f->rootfs, l->path));
	uint64_t uid = UINT64_MAX, gid = UINT64_MAX, ignored;
	uint32_t mode;

	if (!n)
		return;
	if ((has_value(l->user) &&
	     !finish_user(f, l->user + (l->user[0] == ':'), &uid, &ignored)) ||
	    (has_value(l->group) && !finish_group(f, l->group + (l->group[0] == ':'), &gid)))
		return;
	if (uid != UINT64_MAX || gid != UINT64_MAX)
		finish_owner(f, n, uid, gid);
	if (read_mode(l->mode, &mode))
		finish_mode(f, n, mode);
}

static int copy(struct finish *f, const struct line *l, struct error *err)
{
	const char *from = has_value(l->argument)
				   ? l->argument
				   : arena_printf(f->arena, "/usr/share/factory%s", l->path);
	const struct rootfs_node *n = rootfs_file(f->rootfs, rootfs_resolve(f->rootfs, from));
	cleanup_strbuf struct strbuf text = { 0 };

	if (!n || n->tar->type != TAR_FILE || !n->owner)
		return 0;
	if (rootfs_read(f->rootfs, from, MIB, &text, err) < 0)
		return -1;
	finish_text(f, l->path + 1, n->tar->mode, strbuf_slice(&text));
	return 0;
}

static int apply(struct finish *f, const struct line *l, struct error *err)
{
	if (is_volatile(l->path))
		return 0;
	switch (l->type[0]) {
	case 'd':
	case 'D':
	case 'v':
	case 'q':
	case 'Q':
		finish_dir(f, l->path + 1, 0755, 0, 0);
		break;
	case 'L':
		finish_link(f, l->path + 1,
			    has_value(l->argument)
				    ? l->argument
				    : arena_printf(f->arena, "/usr/share/factory%s", l->path));
		return finish_flush(f, err);
	case 'f':
	case 'F':
		if (strchr(l->argument, '\\'))
			return 0;
		finish_text(f, l->path + 1, 0644,
			    slice_str(has_value(l->argument) ? l->argument : ""));
		break;
	case 'C':
		if (copy(f, l, err) < 0)
			return -1;
		break;
	case 'z':
		break;
	default:
		return 0;
	}
	if (finish_flush(f, err) < 0)
		return -1;
	set_attributes(f, l);
	return 0;
}

/* `only`: lines about paths below one of these count; NULL: all do. */
static int take_file(struct finish *f, const char *path, struct map *only, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct slice rest, line;

	if (rootfs_read(f->rootfs, path, MIB, &text, err) < 0)
		return -1;
	rest = strbuf_slice(&text);
	while (slice_cut(&rest, '\n', &line)) {
		struct line l;

		line = slice_trim(line);
		if (line.len && line.data[0] != '#' && read_line(f, line, &l) &&
		    (!only || finish_is_below_named(l.path, only)) && apply(f, &l, err) < 0)
			return error_wrap(err, "/%s", path);
	}
	return 0;
}

int finish_tmpfiles(struct finish *f, struct error *err)
{
	cleanup_map struct map named = { 0 };
	struct rootfs_nodes files = { 0 };
	int rc = finish_named_files(f, "systemd-tmpfiles", &named, err);

	if (!rootfs_resolve(f->rootfs, "usr/bin/systemd-tmpfiles"))
		return 0;
	rootfs_list(f->rootfs, "usr/lib/tmpfiles.d", &files);
	for (size_t i = 0; i < files.len && rc == 0; i++) {
		const struct rootfs_node *n = files.items[i];

		if (str_ends(n->tar->path, ".conf") && n->tar->type == TAR_FILE)
			rc = take_file(f, n->tar->path, finish_is_named(n, &named) ? NULL : &named,
				       err);
	}
	vec_release(&files);
	return rc;
}
