#include "builder/finish/finish.h"

#include "builder/finish/script_words.h"
#include "builder/plan.h"

const char *finish_triplet(const struct platform *platform)
{
	return str_equal(platform->architecture, "arm64") ? "aarch64-linux-gnu"
							  : "x86_64-linux-gnu";
}

const char *finish_cuda_target(const struct platform *platform)
{
	return str_equal(platform->architecture, "arm64") ? "sbsa-linux" : "x86_64-linux";
}

bool finish_is_clean(const char *path)
{
	struct slice parts = slice_str(*path == '/' ? path + 1 : "");

	return !slice_has_part(parts, "") && !slice_has_part(parts, ".") &&
	       !slice_has_part(parts, "..");
}

/* A path counts as taken when it is there under its own name or under what its links lead to. */
static bool is_taken(struct finish *f, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct error ignored = { 0 };
	const char *placed = rootfs_place(f->rootfs, path, &ignored);

	if (!*name || str_equal(name, ".") || str_equal(name, "..")) /* nothing can be put there */
		return true;
	return placed && rootfs_lookup(f->rootfs, placed) != NULL;
}

struct component_entry *finish_file(struct finish *f, const char *path, uint32_t mode,
				    struct slice text)
{
	return is_taken(f, path) ? NULL : component_add_text(f->metadata, path, mode, text);
}

void finish_text(struct finish *f, const char *path, uint32_t mode, struct slice text)
{
	finish_file(f, path, mode, text);
}

void finish_replace(struct finish *f, const char *path, uint32_t mode, struct slice text)
{
	struct error ignored = { 0 };
	const char *placed = rootfs_place(f->rootfs, path, &ignored);
	struct rootfs_node *n = placed ? rootfs_lookup(f->rootfs, placed) : NULL;

	if (n && n->tar->type == TAR_DIR)
		return;
	if (n)
		n->owner = f->metadata; /* which then replaces what is its own */
	component_add_text(f->metadata, path, mode, text);
}

bool finish_has_rpms(const struct finish *f)
{
	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		if (f->rootfs->parts.items[i].component->kind == COMPONENT_RPM)
			return true;
	}
	return false;
}

/* The node of the base image at a path, or NULL when there is none or something replaced it. */
static struct rootfs_node *base_node(struct finish *f, const char *path)
{
	struct error ignored = { 0 };
	const char *placed = f->base ? rootfs_place(f->rootfs, path, &ignored) : NULL;
	struct rootfs_node *n = placed ? rootfs_lookup(f->rootfs, placed) : NULL;

	return n && n->owner && n->owner->kind == COMPONENT_BASE ? n : NULL;
}

int finish_base_read(struct finish *f, const char *path, struct strbuf *out, struct error *err)
{
	struct rootfs_node *n = base_node(f, path);

	if (!n || n->tar->type == TAR_DIR)
		return 0;
	n = rootfs_resolve(f->rootfs, path);
	if (!n || n->tar->type != TAR_FILE)
		return 0;
	return rootfs_read(f->rootfs, path, 64 * MIB, out, err) < 0 ? -1 : 1;
}

int finish_update(struct finish *f, const char *path, uint32_t mode, struct slice text,
		  struct error *err)
{
	struct rootfs_node *n = base_node(f, path);
	struct component_entry *e;
	struct digest old, new;

	if (!n) {
		finish_text(f, path, mode, text);
		return 0;
	}
	if (n->tar->type == TAR_FILE) {
		new = digest_of(text);
		if (rootfs_digest(rootfs_entry(n), &old, err) < 0)
			return -1;
		if (digest_equal(&old, &new))
			return 0;
	}
	e = component_add_text(f->metadata, path, n->tar->type == TAR_FILE ? n->tar->mode : mode,
			       text);
	e->tar.uid = n->tar->type == TAR_FILE ? n->tar->uid : 0;
	e->tar.gid = n->tar->type == TAR_FILE ? n->tar->gid : 0;
	return 0;
}

void finish_link(struct finish *f, const char *path, const char *target)
{
	if (!is_taken(f, path))
		component_add_symlink(f->metadata, path, target);
}

void finish_relink(struct finish *f, const char *path, const char *target)
{
	struct rootfs_node *n = base_node(f, path);

	if (n && n->tar->type == TAR_SYMLINK && !str_equal(n->tar->link, target))
		component_add_symlink(f->metadata, path, target);
	else
		finish_link(f, path, target);
}

void finish_dir(struct finish *f, const char *path, uint32_t mode, uint64_t uid, uint64_t gid)
{
	cleanup_free char *plain = xstrdup(path);
	struct component_entry *e;

	for (size_t len = strlen(plain); len && plain[len - 1] == '/'; len--)
		plain[len - 1] = '\0';
	if (is_taken(f, plain))
		return;
	e = component_add_dir(f->metadata, plain, mode);
	e->tar.uid = uid;
	e->tar.gid = gid;
}

int finish_flush(struct finish *f, struct error *err)
{
	if (rootfs_add_new(f->rootfs, f->cuda, err) < 0)
		return -1;
	return rootfs_add_new(f->rootfs, f->metadata, err);
}

struct component *finish_filesystem(const struct platform *platform, bool merged)
{
	static const char *const links[] = { "bin", "sbin", "lib", "lib64" };
	static const char *const dirs[] = { "dev", "etc", "home", "proc",    "root", "run",
					    "sys", "tmp", "usr",  "usr/bin", "var",  "var/tmp" };
	struct component *c = component_new(COMPONENT_FINISH, PLAN_FILESYSTEM, "");

	for (size_t i = 0; i < ARRAY_LEN(links) && merged; i++) {
		cleanup_free char *target = xasprintf("usr/%s", links[i]);

		if (str_equal(links[i], "lib64") && !str_equal(platform->architecture, "amd64"))
			continue;
		component_add_dir(c, target, 0755);
		component_add_symlink(c, links[i], target);
	}
	if (merged) { /* base-files ships folders here and moves them in its script */
		component_add_symlink(c, "var/run", "/run");
		component_add_symlink(c, "var/lock", "/run/lock");
	}
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		struct tar_entry tar;

		rootfs_default_dir(dirs[i], &tar);
		if (!(merged && str_equal(dirs[i], "usr/bin")))
			component_add(c, &tar);
	}
	return c;
}

/* See script_words.h. A file of a package was there when scripts ran, and stays. */
static int test_path(void *user, char option, const char *path)
{
	struct finish *f = user;
	struct error ignored = { 0 };
	const char *placed = rootfs_place(f->rootfs, path + 1, &ignored);
	const struct rootfs_node *n = placed ? rootfs_lookup(f->rootfs, placed) : NULL;

	if (option == 'L' || option == 'h')
		return n && n->tar->type == TAR_SYMLINK ? (n->owner->kind == COMPONENT_DEB ? 1 : -1)
							: 0;
	n = rootfs_file(f->rootfs, rootfs_resolve(f->rootfs, path));
	if (!n || (option == 'd') != (n->tar->type == TAR_DIR && option != 'e'))
		return n && strchr("erwx", option) ? 1 : 0;
	return n->owner && n->owner->kind == COMPONENT_DEB ? 1 : -1;
}

void finish_script(struct finish *f, const struct component *c,
		   const struct component_script *script, struct arena *arena,
		   struct script_commands *out)
{
	const struct script_place place = {
		.package = c->name,
		.arch = f->platform.architecture,
		.argument = c->kind == COMPONENT_RPM             ? "1"
			    : str_equal(script->name, "preinst") ? "install"
								 : "configure",
		.test = test_path,
		.user = f,
	};

	script_words_in(slice_of(script->text, script->len), &place, arena, out);
}

static char *line_key(const struct component *c, const struct component_script *script, size_t line)
{
	return xasprintf("%s:%s.%s:%zu", c->name, c->arch ? c->arch : "", script->name, line);
}

/* One line can be several commands: in a loop, or a function that is called more than once. */
static char *command_key(const struct component *c, const struct component_script *script,
			 const struct script_command *command)
{
	cleanup_free char *line = line_key(c, script, command->line);
	cleanup_strbuf struct strbuf b = { 0 };

	strbuf_adds(&b, line);
	for (size_t i = 0; i < command->count; i++)
		strbuf_addf(&b, "%c%s", '\n', command->words[i]);
	if (command->output)
		strbuf_addf(&b, "\n>%s", command->output);
	return strbuf_steal(&b);
}

bool finish_was_applied(struct finish *f, const struct component *c,
			const struct component_script *script, const struct script_command *command)
{
	cleanup_free char *line = line_key(c, script, command->line),
			  *key = command_key(c, script, command);

	return f->applied && (map_has(f->applied, line) || map_has(f->applied, key));
}

void finish_note_lines(struct finish *f, const struct component *c,
		       const struct component_script *script, size_t first, size_t last)
{
	for (size_t i = first; i <= last && f->applied; i++) {
		cleanup_free char *key = line_key(c, script, i);

		map_put(f->applied, key, f);
	}
}

static int walk_script(struct finish *f, const struct component *c,
		       const struct component_script *script, finish_command_fn *fn, void *user,
		       struct error *err)
{
	struct script_commands commands = { 0 };
	cleanup_arena struct arena arena = { 0 };
	int rc = 0;

	finish_script(f, c, script, &arena, &commands);
	for (size_t i = 0; i < commands.len && rc >= 0; i++) {
		cleanup_free char *key = NULL;

		if (!commands.items[i].active)
			continue;
		rc = fn(user, c, &commands.items[i], err);
		key = rc > 0 && f->applied ? command_key(c, script, &commands.items[i]) : NULL;
		if (key)
			map_put(f->applied, key, f);
	}
	vec_release(&commands);
	return MIN(rc, 0);
}

int finish_commands(struct finish *f, bool all, finish_command_fn *fn, void *user,
		    struct error *err)
{
	static const char *const names[] = { "preinst", "postinst" };

	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		const struct component *c = f->rootfs->parts.items[i].component;

		for (size_t k = 0; k < ARRAY_LEN(names) && c->kind == COMPONENT_DEB; k++) {
			for (size_t s = 0; s < c->scripts.len; s++) {
				if (!str_equal(c->scripts.items[s].name, names[k]) ||
				    (!all && finish_whole_script(c, names[k])))
					continue;
				if (walk_script(f, c, &c->scripts.items[s], fn, user, err) < 0)
					return -1;
			}
		}
	}
	return 0;
}

struct naming {
	const char *program;
	struct map *named;
	struct finish *f;
};

/* --prefix /a or --prefix=/a: only what lies there, of all files. */
static const char *prefix_at(const struct script_command *command, size_t *i)
{
	const char *w = command->words[*i];

	if (str_starts(w, "--prefix="))
		return w + strlen("--prefix=");
	if (str_equal(w, "--prefix") && *i + 1 < command->count)
		return command->words[++*i];
	return NULL;
}

static int note_named(void *user, const struct component *c, const struct script_command *command,
		      struct error *err)
{
	struct naming *n = user;
	bool any = false;

	(void)c;
	(void)err;
	if (!str_equal(command->words[0], n->program) &&
	    !(str_ends(command->words[0], n->program) && strchr(command->words[0], '/')))
		return 0;
	for (size_t i = 1; i < command->count; i++) {
		const char *prefix = prefix_at(command, &i), *w = command->words[i],
			   *slash = strrchr(w, '/');

		if (!(prefix && *prefix == '/') && !str_ends(w, ".conf"))
			continue;
		any = true;
		map_put(n->named, prefix ? prefix : slash ? slash + 1 : w, n->f);
	}
	if (!any)
		map_put(n->named, "", n->f);
	return 0;
}

int finish_named_files(struct finish *f, const char *program, struct map *out, struct error *err)
{
	struct naming n = { program, out, f };

	return finish_commands(f, true, note_named, &n, err);
}

bool finish_is_named(const struct rootfs_node *file, const struct map *named)
{
	return !file->owner || file->owner->kind != COMPONENT_DEB || map_has(named, "") ||
	       map_has(named, strrchr(file->tar->path, '/') + 1);
}

bool finish_is_below_named(const char *path, struct map *named)
{
	map_sorted(named);
	for (size_t i = 0; i < named->len; i++) {
		const char *prefix = named->entries[i].key;
		size_t len = strlen(prefix);

		while (len > 1 && prefix[len - 1] == '/')
			len--;
		if (*prefix == '/' && strncmp(path, prefix, len) == 0 &&
		    (len == 1 || !path[len] || path[len] == '/'))
			return true;
	}
	return false;
}

/* The line of a name or number in /etc/passwd or /etc/group; fields 0, 2 and 3 of it. */
static bool find_account(struct finish *f, const char *file, const char *name, uint64_t *id,
			 uint64_t *group)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };
	struct slice rest, line;

	if (rootfs_read(f->rootfs, file, MIB, &text, &ignored) < 0)
		return slice_u64(slice_str(name), id);
	rest = strbuf_slice(&text);
	while (slice_cut(&rest, '\n', &line)) {
		struct slice field[4] = { 0 };

		for (size_t i = 0; i < ARRAY_LEN(field) && slice_cut(&line, ':', &field[i]); i++)
			continue;
		if (!slice_is(field[0], name) && !slice_is(field[2], name))
			continue;
		if (group)
			slice_u64(field[3], group);
		return slice_u64(field[2], id);
	}
	return slice_u64(slice_str(name), id);
}

bool finish_user(struct finish *f, const char *name, uint64_t *uid, uint64_t *gid)
{
	*gid = 0;
	return find_account(f, "etc/passwd", name, uid, gid);
}

bool finish_group(struct finish *f, const char *name, uint64_t *gid)
{
	return find_account(f, "etc/group", name, gid, NULL);
}

/* A folder that is only implied becomes one of ours, so that what is set counts. */
static void adopt(struct finish *f, struct rootfs_node *n)
{
	if (n->owner)
		return;
	n->owner = f->metadata;
	n->index = (uint32_t)f->metadata->entries.len;
	component_add(f->metadata, n->tar);
	/* placed already: the next flush finds it there and leaves it */
}

void finish_owner(struct finish *f, struct rootfs_node *n, uint64_t uid, uint64_t gid)
{
	adopt(f, n);
	rootfs_edit(f->rootfs, n)->uid = uid == UINT64_MAX ? n->tar->uid : uid;
	rootfs_edit(f->rootfs, n)->gid = gid == UINT64_MAX ? n->tar->gid : gid;
}

void finish_mode(struct finish *f, struct rootfs_node *n, uint32_t mode)
{
	adopt(f, n);
	rootfs_edit(f->rootfs, n)->mode = mode & 07777;
}

int finish_run(struct finish *f, struct error *err)
{
	static const struct {
		const char *what;
		int (*run)(struct finish *f, struct error *err);
	} actions[] = {
		{ "system files", finish_system_files },
		{ "system files", finish_rpm_system },
		{ "accounts", finish_accounts },
		{ "shells", finish_shells },
		{ "certificates", finish_certificates },
		{ "certificates", finish_rpm_certificates },
		{ "alternatives", finish_alternatives },
		{ "certificates of Java", finish_java_certificates },
		{ "effects of scripts", finish_effects },
		{ "PAM", finish_pam },
		{ "tmpfiles.d", finish_tmpfiles },
		{ "CUDA links", finish_cuda },
		{ "loader cache", finish_loader },
		{ "package database", finish_dpkg },
		{ "package database", finish_rpm_database },
		{ "report on scripts", finish_scripts },
		{ "report on wheels", finish_wheels },
	};

	cleanup_map struct map applied = { 0 };
	int rc = 0;

	f->applied = &applied;
	for (size_t i = 0; i < ARRAY_LEN(actions) && rc == 0; i++) {
		if (actions[i].run(f, err) < 0 || finish_flush(f, err) < 0)
			rc = error_wrap(err, "%s", actions[i].what);
	}
	f->applied = NULL;
	return rc;
}
