/*
 * What scripts do with single files, where it is certain that a first installation gets there and
 * every word is known: folders, links, copies, empty files, owners, modes, capabilities. Nothing is
 * guessed: other commands are left to the report.
 * Source: the manuals of coreutils, dpkg-statoverride(1), setcap(8), ucf(1), capabilities(7).
 */
#include "base/md5.h"
#include "builder/finish/finish.h"
#include "builder/finish/script_words.h"
#include "formats/file_caps.h"

enum { COPY_BYTES_MAX = 16 * 1024 * 1024, WORDS_MAX = 64 };

struct effects {
	struct finish *f;
	struct strbuf ucf_hashes, ucf_registry;
};

/* The words of a command that are no options; values of options that take one by letter. */
struct words {
	const char *plain[WORDS_MAX];
	size_t count;
	const char *value[128]; /* by the option's letter; "" when it stands alone */
};

/* `valued`: letters of options whose value follows. Long ones are read as their short ones. */
static bool read_words(const struct script_command *c, const char *valued, struct words *out)
{
	static const struct {
		const char *text;
		char letter;
	} longs[] = {
		{ "--parents", 'p' },  { "--mode", 'm' },      { "--owner", 'o' },
		{ "--group", 'g' },    { "--directory", 'd' }, { "--symbolic", 's' },
		{ "--force", 'f' },    { "--recursive", 'R' }, { "--no-dereference", 'n' },
		{ "--preserve", 'p' },
	};

	for (size_t i = 1; i < c->count; i++) {
		const char *w = c->words[i], *equals = strchr(w, '=');
		size_t len = equals ? (size_t)(equals - w) : strlen(w);

		if (w[0] != '-' || !w[1]) {
			if (out->count == WORDS_MAX)
				return false;
			out->plain[out->count++] = w;
			continue;
		}
		for (size_t k = 0; k < ARRAY_LEN(longs) && w[1] == '-'; k++) {
			const char letter[2] = { longs[k].letter, 0 };

			if (strlen(longs[k].text) != len || strncmp(longs[k].text, w, len) != 0)
				continue;
			out->value[(size_t)longs[k].letter] =
				equals                                       ? equals + 1
				: strstr(valued, letter) && i + 1 < c->count ? c->words[++i]
									     : "";
		}
		if (w[1] == '-')
			continue;
		for (const char *p = w + 1; *p; p++) {
			size_t letter = (unsigned char)*p & 127;

			out->value[letter] = "";
			if (strchr(valued, *p)) {
				out->value[letter] = p[1]               ? p + 1
						     : i + 1 < c->count ? c->words[++i]
									: "";
				break;
			}
		}
	}
	return true;
}

/* /run and /tmp are empty in an image. */
static bool is_path(const char *path)
{
	return path[0] == '/' && path[1] && !strpbrk(path, "*?[`$") &&
	       !slice_has_part(slice_str(path), "..") && !str_starts(path, "/run/") &&
	       !str_starts(path, "/var/run/") && !str_starts(path, "/tmp/");
}

static struct rootfs_node *find(struct effects *e, const char *path)
{
	return is_path(path) ? rootfs_file(e->f->rootfs, rootfs_resolve(e->f->rootfs, path)) : NULL;
}

/* "user", "user:group", "user:", ":group", and with "." for ":". */
static bool read_owner(struct effects *e, const char *text, uint64_t *uid, uint64_t *gid)
{
	const char *colon = strchr(text, ':');
	cleanup_free char *user = xstrndup(text, colon ? (size_t)(colon - text) : strlen(text));
	uint64_t group = UINT64_MAX;

	*uid = *gid = UINT64_MAX;
	if (*user && !finish_user(e->f, user, uid, &group))
		return false;
	if (colon && !colon[1])
		*gid = group;
	return !colon || !colon[1] || finish_group(e->f, colon + 1, gid);
}

/* "755", "u+s", "g-w,o=". */
static bool change_mode(const char *text, uint32_t *mode)
{
	struct slice rest = slice_str(text), piece;
	uint32_t was = *mode;

	if (*text >= '0' && *text <= '7' && strspn(text, "01234567") == strlen(text)) {
		*mode = (uint32_t)strtoul(text, NULL, 8) & 07777;
		return true;
	}
	while (slice_cut(&rest, ',', &piece)) {
		uint32_t who = 0, bits = 0;
		size_t i = 0;
		char op;

		for (; i < piece.len && memchr("ugoa", piece.data[i], 4); i++)
			who |= piece.data[i] == 'u'   ? 04700U
			       : piece.data[i] == 'g' ? 02070U
			       : piece.data[i] == 'o' ? 01007U
						      : 07777U;
		if (i == piece.len || !memchr("+-=", piece.data[i], 3))
			return false;
		op = (char)piece.data[i++];
		for (; i < piece.len; i++) {
			const char *at = memchr("rwxst", piece.data[i], 5);
			static const uint32_t of[] = { 0444, 0222, 0111, 06000, 01000 };

			if (!at)
				return false;
			bits |= of[strcspn("rwxst", (const char[]){ *at, 0 })];
		}
		bits &= who ? who : 07777;
		was = op == '+' ? was | bits : op == '-' ? was & ~bits : (was & ~who) | bits;
	}
	*mode = was;
	return true;
}

/* What follows returns 1 where all that the command says is so afterwards, else 0; -1 on error. */
static int make_dir(struct effects *e, const char *path, const struct words *w, struct error *err)
{
	uint32_t mode = 0755;
	uint64_t uid = 0, gid = 0, ignored;
	struct rootfs_node *n;
	if (!is_path(path) || (w->value['m'] && !change_mode(w->value['m'], &mode)) ||
	    (w->value['o'] && !finish_user(e->f, w->value['o'], &uid, &ignored)) ||
	    (w->value['g'] && !finish_group(e->f, w->value['g'], &gid)))
		return 0;
	n = find(e, path);
	if (!n) {
		finish_dir(e->f, path + 1, mode, uid, gid);
		return finish_flush(e->f, err) < 0 ? -1 : find(e, path) != NULL;
	}
	if (n->tar->type == TAR_DIR && w->value['d']) { /* install sets them in any case */
		finish_owner(e->f, n, uid, gid);
		finish_mode(e->f, n, mode);
	}
	return n->tar->type == TAR_DIR;
}

static int make_dirs(struct effects *e, const struct words *w, struct error *err)
{
	int all = w->count > 0;

	for (size_t i = 0; i < w->count; i++) {
		int one = make_dir(e, w->plain[i], w, err);

		if (one < 0)
			return -1;
		all &= one;
	}
	return all;
}

/* A place in `to`, or at it when it is no folder. */
static char *destination(struct effects *e, const char *from, const char *to)
{
	const struct rootfs_node *n = find(e, to);
	const char *base = strrchr(from, '/') ? strrchr(from, '/') + 1 : from;

	return n && n->tar->type == TAR_DIR ? xasprintf("%s/%s", to, base) : xstrdup(to);
}

static int make_link(struct effects *e, const struct words *w, struct error *err)
{
	cleanup_free char *to = NULL;
	const struct rootfs_node *n;
	struct error ignored = { 0 };
	const char *placed;

	if (!w->value['s'] || w->count != 2 || !is_path(w->plain[1]))
		return 0;
	to = destination(e, w->plain[0], w->plain[1]);
	finish_link(e->f, to + 1, w->plain[0]);
	if (finish_flush(e->f, err) < 0)
		return -1;
	placed = rootfs_place(e->f->rootfs, to + 1, &ignored);
	n = placed ? rootfs_lookup(e->f->rootfs, placed) : NULL;
	return n && n->tar->type == TAR_SYMLINK && str_equal(n->tar->link, w->plain[0]);
}

static int copy(struct effects *e, const char *from, const char *to, const uint32_t *mode,
		bool keep_owner, struct error *err)
{
	const struct rootfs_node *n = find(e, from);
	cleanup_free char *path = NULL;
	cleanup_strbuf struct strbuf text = { 0 };
	struct component_entry *made;
	bool empty = str_equal(from, "/dev/null");

	if (!is_path(to) || (!empty && (!n || n->tar->type != TAR_FILE || !n->owner ||
					n->tar->size > COPY_BYTES_MAX)))
		return 0;
	if (!empty && rootfs_read(e->f->rootfs, from, COPY_BYTES_MAX, &text, err) < 0)
		return -1;
	path = destination(e, from, to);
	made = finish_file(e->f, path + 1,
			   mode ? *mode
			   : n  ? n->tar->mode & 0755
				: 0644,
			   strbuf_slice(&text));
	if (made && keep_owner && n) {
		made->tar.uid = n->tar->uid;
		made->tar.gid = n->tar->gid;
		made->tar.mode = n->tar->mode;
	}
	return finish_flush(e->f, err) < 0 ? -1 : made != NULL;
}

/* install: -d folders, else one file. */
static int install(struct effects *e, const struct words *w, struct error *err)
{
	uint32_t mode = 0755;
	uint64_t uid = 0, gid = 0, ignored;
	struct rootfs_node *n;
	cleanup_free char *path = NULL;
	int rc;

	if (w->value['d'])
		return make_dirs(e, w, err);
	if (w->count != 2 || (w->value['m'] && !change_mode(w->value['m'], &mode)) ||
	    (w->value['o'] && !finish_user(e->f, w->value['o'], &uid, &ignored)) ||
	    (w->value['g'] && !finish_group(e->f, w->value['g'], &gid)))
		return 0;
	rc = copy(e, w->plain[0], w->plain[1], &mode, false, err);
	if (rc <= 0)
		return rc;
	path = destination(e, w->plain[0], w->plain[1]);
	n = find(e, path);
	if (n && n->owner == e->f->metadata)
		finish_owner(e->f, n, uid, gid);
	return 1;
}

static void own_one(struct effects *e, struct rootfs_node *n, bool all, uint64_t uid, uint64_t gid)
{
	struct rootfs_nodes nodes = { 0 };
	cleanup_free char *below = xasprintf("%s/", n->tar->path);

	finish_owner(e->f, n, uid, gid);
	if (!all || n->tar->type != TAR_DIR)
		return;
	rootfs_sorted(e->f->rootfs, &nodes);
	for (size_t i = 0; i < nodes.len; i++) {
		if (str_starts(nodes.items[i]->tar->path, below))
			finish_owner(e->f, nodes.items[i], uid, gid);
	}
	vec_release(&nodes);
}

static int change_owners(struct effects *e, const struct words *w, bool group_only)
{
	uint64_t uid = UINT64_MAX, gid = UINT64_MAX;
	int all = 1;

	if (w->count < 2)
		return 0;
	if (group_only ? !finish_group(e->f, w->plain[0], &gid)
		       : !read_owner(e, w->plain[0], &uid, &gid))
		return 0;
	for (size_t i = 1; i < w->count; i++) {
		struct rootfs_node *n = find(e, w->plain[i]);

		if (n)
			own_one(e, n, w->value['R'] != NULL, uid, gid);
		else
			all = 0;
	}
	return all;
}

static int change_modes(struct effects *e, const struct script_command *c)
{
	int all = c->count > 2;

	/* "u-s" may look like an option, so words are taken as they are */
	for (size_t i = 2; i < c->count; i++) {
		struct rootfs_node *n = find(e, c->words[i]);
		uint32_t mode;

		mode = n ? n->tar->mode : 0;
		if (n && c->words[1][0] != '-' && change_mode(c->words[1], &mode))
			finish_mode(e->f, n, mode);
		else
			all = 0;
	}
	return all;
}

/* --update --add USER GROUP MODE PATH */
static int override(struct effects *e, const struct script_command *c)
{
	struct words w = { 0 };
	uint64_t uid, gid, ignored;
	struct rootfs_node *n;
	uint32_t mode = 0;
	bool add = false;

	for (size_t i = 1; i < c->count; i++)
		add |= str_equal(c->words[i], "--add");
	if (!add || !read_words(c, "", &w) || w.count != 4 || !is_path(w.plain[3]) ||
	    !finish_user(e->f, w.plain[0], &uid, &ignored) ||
	    !finish_group(e->f, w.plain[1], &gid) || !change_mode(w.plain[2], &mode))
		return 0;
	n = find(e, w.plain[3]);
	if (n) {
		finish_owner(e->f, n, uid, gid);
		finish_mode(e->f, n, mode);
	}
	vec_push(&e->f->overrides, arena_printf(e->f->arena, "%s %s %s %s", w.plain[0], w.plain[1],
						w.plain[2], w.plain[3]));
	return 1;
}

/* setcap cap_net_raw+ep PATH */
static int set_capability(struct effects *e, const struct script_command *c)
{
	struct rootfs_node *n = c->count == 3 ? find(e, c->words[2]) : NULL;
	struct tar_extras *extras;
	struct tar_xattr *x;
	uint8_t *caps;

	if (!n || n->tar->type != TAR_FILE)
		return 0;
	caps = arena_alloc(&e->f->rootfs->arena, FILE_CAPS_BYTES);
	if (!file_caps_encode(c->words[1], caps))
		return 0;
	x = arena_alloc(&e->f->rootfs->arena, sizeof(*x));
	*x = (struct tar_xattr){ "security.capability", caps, FILE_CAPS_BYTES };
	extras = arena_alloc(&e->f->rootfs->arena, sizeof(*extras));
	*extras = (struct tar_extras){ .xattrs = x, .xattr_count = 1 };
	rootfs_edit(e->f->rootfs, n)->extras = extras;
	return 1;
}

/* ucf [options] SOURCE DESTINATION: a copy, and its sum, by which later versions know it. */
static int ucf(struct effects *e, const struct words *w, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };
	char md5[MD5_HEX_SIZE];
	int rc;

	if (w->count != 2 || w->value['p'] || find(e, w->plain[1]) || !find(e, w->plain[0]))
		return 0;
	rc = copy(e, w->plain[0], w->plain[1], NULL, false, err);
	if (rc <= 0)
		return rc;
	if (rootfs_read(e->f->rootfs, w->plain[1], COPY_BYTES_MAX, &text, &ignored) == 0)
		strbuf_addf(&e->ucf_hashes, "%s  %s\n", md5_hex(strbuf_slice(&text), md5),
			    w->plain[1]);
	return 1;
}

static int touch(struct effects *e, const struct words *w, struct error *err)
{
	int all = w->count > 0;

	for (size_t i = 0; i < w->count; i++) {
		/* this one is a note to a trigger, which removes it */
		if (is_path(w->plain[i]) &&
		    !str_equal(w->plain[i], "/var/lib/ca-certificates-java/fresh"))
			finish_text(e->f, w->plain[i] + 1, 0644, slice_str(""));
		else
			all = 0;
	}
	return finish_flush(e->f, err) < 0 ? -1 : all;
}

/* cat >FILE with a here-document, echo TEXT >FILE. */
static int write_text(struct effects *e, const struct script_command *c, struct error *err)
{
	bool cat = str_equal(c->words[0], "cat");
	const struct component_entry *made;
	cleanup_strbuf struct strbuf text = { 0 };

	if (!is_path(c->output) || (cat && (c->count > 1 || !c->input)) ||
	    (c->count > 1 && c->words[1][0] == '-'))
		return 0;
	if (cat)
		strbuf_adds(&text, c->input);
	for (size_t i = 1; !cat && i < c->count; i++)
		strbuf_addf(&text, "%s%s", c->words[i], i + 1 < c->count ? " " : "");
	if (!cat)
		strbuf_addc(&text, '\n');
	made = finish_file(e->f, c->output + 1, 0644, strbuf_slice(&text));
	return finish_flush(e->f, err) < 0 ? -1 : made != NULL;
}

static int apply(void *user, const struct component *c, const struct script_command *command,
		 struct error *err)
{
	struct effects *e = user;
	const char *name = strrchr(command->words[0], '/') ? strrchr(command->words[0], '/') + 1
							   : command->words[0];
	struct words w = { 0 };

	(void)c;
	if (!command->certain || command->dynamic)
		return 0;
	if (command->output && (str_equal(name, "cat") || str_equal(name, "echo")))
		return write_text(e, command, err);
	if (str_equal(name, "chmod"))
		return change_modes(e, command);
	if (str_equal(name, "dpkg-statoverride"))
		return override(e, command);
	if (str_equal(name, "setcap"))
		return set_capability(e, command);
	if (!read_words(command,
			str_equal(name, "mkdir")     ? "m"
			: str_equal(name, "install") ? "mog"
						     : "",
			&w))
		return 0;
	if (str_equal(name, "chown") || str_equal(name, "chgrp"))
		return change_owners(e, &w, name[2] == 'g');
	if (str_equal(name, "mkdir"))
		return make_dirs(e, &w, err);
	if (str_equal(name, "install"))
		return install(e, &w, err);
	if (str_equal(name, "ln"))
		return make_link(e, &w, err);
	if (str_equal(name, "touch"))
		return touch(e, &w, err);
	if (str_equal(name, "cp") && w.count == 2)
		return copy(e, w.plain[0], w.plain[1], NULL, w.value['p'] || w.value['a'], err);
	if (str_equal(name, "ucf"))
		return ucf(e, &w, err);
	if (!str_equal(name, "ucfr") || w.count != 2 || w.value['p'])
		return 0;
	strbuf_addf(&e->ucf_registry, "%s \t %s\n", w.plain[0], w.plain[1]);
	return 1;
}

static size_t line_of(const struct component_script *script, const char *at)
{
	size_t line = 1;

	for (const char *p = script->text; p < at; p++)
		line += *p == '\n';
	return line;
}

/*
 * Folders below /usr/local, as debhelper has them made: lines "PATH MODE USER GROUP" (or "default",
 * which is 0755 root root) in a here-document of a loop that it always writes in the same way.
 */
static int local_dirs_of(struct effects *e, const struct component *c,
			 const struct component_script *script, struct error *err)
{
	static const char mark[] = "# Automatically added by dh_usrlocal", begin[] = "<< DATA\n";
	struct slice rest, line;
	const char *at = memmem(script->text, script->len, mark, strlen(mark)), *first = at;
	bool all = true;

	if (!at)
		return 0;
	at = memmem(at, script->len - (size_t)(at - script->text), begin, strlen(begin));
	if (!at)
		return 0;
	at += strlen(begin);
	rest = slice_of(at, script->len - (size_t)(at - script->text));
	while (slice_cut(&rest, '\n', &line) && !slice_is(slice_trim(line), "DATA")) {
		struct slice path;
		cleanup_free char *text = NULL;

		line = slice_trim(line);
		if (!slice_cut(&line, ' ', &path) || !line.data || !slice_starts(line, "default")) {
			all = false;
			continue;
		}
		text = xstrndup((const char *)path.data, path.len);
		if (str_starts(text, "/usr/local/") && is_path(text))
			finish_dir(e->f, text + 1, 0755, 0, 0);
		else
			all = false;
	}
	if (all)
		finish_note_lines(e->f, c, script, line_of(script, first), line_of(script, at));
	return finish_flush(e->f, err);
}

static int local_dirs(struct effects *e, struct error *err)
{
	for (size_t i = 0; i < e->f->rootfs->parts.len; i++) {
		const struct component *c = e->f->rootfs->parts.items[i].component;

		for (size_t k = 0; k < c->scripts.len && c->kind == COMPONENT_DEB; k++) {
			if (str_equal(c->scripts.items[k].name, "postinst") &&
			    local_dirs_of(e, c, &c->scripts.items[k], err) < 0)
				return -1;
		}
	}
	return 0;
}

int finish_effects(struct finish *f, struct error *err)
{
	struct effects e = { .f = f };
	int rc = finish_commands(f, false, apply, &e, err);

	if (rc == 0)
		rc = local_dirs(&e, err);

	if (rc == 0 && rootfs_component(f->rootfs, COMPONENT_DEB, "ucf")) {
		finish_text(f, "var/lib/ucf/hashfile", 0644, strbuf_slice(&e.ucf_hashes));
		finish_text(f, "var/lib/ucf/registry", 0644, strbuf_slice(&e.ucf_registry));
	}
	strbuf_release(&e.ucf_hashes);
	strbuf_release(&e.ucf_registry);
	return rc;
}
