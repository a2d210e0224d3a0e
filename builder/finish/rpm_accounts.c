/*
 * Accounts of images made of .rpms. The package setup brings passwd, group and their shadows as
 * they are; sysusers.d and the scriptlets of other packages add to them. Packages name the owners
 * of their files, so numbers are only known once all accounts are.
 * Source: useradd(8), groupadd(8), shadow(5).
 */
#include <sys/stat.h>

#include "builder/finish/accounts.h"
#include "builder/finish/script_words.h"

enum { LAST_CHANGE_DAYS = 3652 /* 1980-01-01 */ };

static bool is_name(const char *text)
{
	return *text && *text != '-' && !strpbrk(text, ":\n/ $`");
}

/* What useradd and groupadd were given; texts as written. */
struct wish {
	const char *name, *id, *group, *home, *shell, *gecos, *groups;
};

/* "-u 81", "--uid=81", "-u81", "--uid 81" */
static bool take_option(const struct script_command *c, size_t *i, char letter, const char *name,
			const char **out)
{
	const char *w = c->words[*i];
	size_t len = strlen(name);

	if (w[0] == '-' && w[1] == letter && w[2]) {
		*out = w + 2;
		return true;
	}
	if (str_starts(w, "--") && strncmp(w + 2, name, len) == 0 && w[2 + len] == '=') {
		*out = w + 2 + len + 1;
		return true;
	}
	if (*i + 1 < c->count && ((w[0] == '-' && w[1] == letter && !w[2]) ||
				  (str_starts(w, "--") && str_equal(w + 2, name)))) {
		*out = c->words[++*i];
		return true;
	}
	return false;
}

static void read_wish(const struct script_command *c, bool group, struct wish *w)
{
	const char *ignored;

	*w = (struct wish){ .name = "",
			    .id = "",
			    .group = "",
			    .home = "/",
			    .shell = "/sbin/nologin",
			    .gecos = "",
			    .groups = "" };
	for (size_t i = 1; i < c->count; i++) {
		if (take_option(c, &i, group ? 'g' : 'u', group ? "gid" : "uid", &w->id) ||
		    (!group && (take_option(c, &i, 'g', "gid", &w->group) ||
				take_option(c, &i, 'd', "home-dir", &w->home) ||
				take_option(c, &i, 's', "shell", &w->shell) ||
				take_option(c, &i, 'c', "comment", &w->gecos) ||
				take_option(c, &i, 'G', "groups", &w->groups))) ||
		    take_option(c, &i, 'K', "key", &ignored))
			continue;
		if (c->words[i][0] != '-')
			w->name = c->words[i];
	}
}

static uint64_t wished_id(struct accounts *a, const char *text)
{
	uint64_t id;

	return slice_u64(slice_str(text), &id) && id <= UINT32_MAX ? id : accounts_allocate(a);
}

static void add_group(struct accounts *a, const struct wish *w)
{
	if (is_name(w->name) && !accounts_group(a, w->name))
		accounts_add_group(a, arena_strdup(&a->arena, w->name), wished_id(a, w->id),
				   BY_SYSUSERS);
}

static void join_groups(struct accounts *a, const char *user, const char *list)
{
	struct slice rest = slice_str(list), name;

	while (slice_cut(&rest, ',', &name)) {
		cleanup_free char *text = xstrndup((const char *)name.data, name.len);
		struct group *g = accounts_group(a, text);

		if (!g)
			continue;
		g->members =
			*g->members ? arena_printf(&a->arena, "%s,%s", g->members, user) : user;
		a->changed = true;
	}
}

/* Without a number of its own a user takes that of its group, if no other has it. */
static void add_user(struct accounts *a, const struct wish *w)
{
	const char *name = arena_strdup(&a->arena, w->name);
	struct group *g;
	uint64_t uid, gid = 0;

	if (!is_name(name) || accounts_user(a, name) || strpbrk(w->gecos, ":\n") ||
	    strpbrk(w->home, ":\n") || strpbrk(w->shell, ":\n"))
		return;
	g = accounts_group(a, *w->group ? w->group : name);
	uid = !*w->id && g && !accounts_has_uid(a, g->gid) ? g->gid : wished_id(a, w->id);
	if (!g && !slice_u64(slice_str(w->group), &gid)) {
		accounts_add_group(a, name, uid, BY_SYSUSERS);
		g = accounts_group(a, name);
	}
	accounts_add_user(a, (struct user){ .name = name,
					    .gecos = arena_strdup(&a->arena, w->gecos),
					    .home = arena_strdup(&a->arena, w->home),
					    .shell = arena_strdup(&a->arena, w->shell),
					    .uid = uid,
					    .gid = g ? g->gid : gid });
	join_groups(a, name, w->groups);
}

static void take_command(struct accounts *a, const struct script_command *c)
{
	const char *slash = strrchr(c->words[0], '/'), *word = slash ? slash + 1 : c->words[0];
	bool group = str_equal(word, "groupadd");
	struct wish w;

	if (!c->active || c->dynamic || (!group && !str_equal(word, "useradd")))
		return;
	read_wish(c, group, &w);
	if (group)
		add_group(a, &w);
	else
		add_user(a, &w);
}

void rpm_accounts_add(struct accounts *a)
{
	for (size_t i = 0; i < a->f->rootfs->parts.len; i++) {
		const struct component *c = a->f->rootfs->parts.items[i].component;

		for (size_t k = 0; c->kind == COMPONENT_RPM && k < c->scripts.len; k++) {
			const struct component_script *s = &c->scripts.items[k];
			struct script_commands commands = { 0 };

			if (!str_starts(s->name, "p") || str_equal(s->name, "preun") ||
			    str_equal(s->name, "postun"))
				continue;
			script_words(slice_of(s->text, s->len), &a->arena, &commands);
			for (size_t n = 0; n < commands.len; n++)
				take_command(a, &commands.items[n]);
			vec_release(&commands);
		}
	}
}

/* The lines of a file of the package, which end in a line feed. */
static int keep_lines(struct accounts *a, const char *path, struct strbuf *out, struct error *err)
{
	if (!rootfs_resolve(a->f->rootfs, path))
		return 0;
	if (rootfs_read(a->f->rootfs, path, MIB, out, err) < 0)
		return -1;
	if (out->len && out->data[out->len - 1] != '\n')
		strbuf_addc(out, '\n');
	return 0;
}

static int write_users(struct accounts *a, struct error *err)
{
	cleanup_strbuf struct strbuf passwd = { 0 }, shadow = { 0 };

	if (a->users.len == a->packaged_users)
		return 0;
	if (keep_lines(a, "etc/passwd", &passwd, err) < 0 ||
	    keep_lines(a, "etc/shadow", &shadow, err) < 0)
		return -1;
	for (size_t i = a->packaged_users; i < a->users.len; i++) {
		const struct user *u = &a->users.items[i];

		strbuf_addf(&passwd, "%s:x:%" PRIu64 ":%" PRIu64 ":%s:%s:%s\n", u->name, u->uid,
			    u->gid, u->gecos, u->home, u->shell);
		strbuf_addf(&shadow, "%s:!!:%d::::::\n", u->name, LAST_CHANGE_DAYS);
	}
	finish_replace(a->f, "etc/passwd", 0644, strbuf_slice(&passwd));
	finish_replace(a->f, "etc/shadow", 0, strbuf_slice(&shadow));
	return 0;
}

static int write_groups(struct accounts *a, struct error *err)
{
	cleanup_strbuf struct strbuf group = { 0 }, gshadow = { 0 };

	if (a->groups.len == a->packaged_groups && !a->changed)
		return 0;
	if (keep_lines(a, "etc/gshadow", &gshadow, err) < 0)
		return -1;
	for (size_t i = 0; i < a->groups.len; i++) {
		const struct group *g = &a->groups.items[i];

		strbuf_addf(&group, "%s:x:%" PRIu64 ":%s\n", g->name, g->gid, g->members);
		if (i >= a->packaged_groups)
			strbuf_addf(&gshadow, "%s:!::%s\n", g->name, g->members);
	}
	finish_replace(a->f, "etc/group", 0644, strbuf_slice(&group));
	finish_replace(a->f, "etc/gshadow", 0, strbuf_slice(&gshadow));
	return 0;
}

int rpm_accounts_write(struct accounts *a, struct error *err)
{
	if (write_users(a, err) < 0 || write_groups(a, err) < 0)
		return -1;
	finish_text(a->f, "etc/subuid", 0644, slice_str(""));
	finish_text(a->f, "etc/subgid", 0644, slice_str(""));
	return 0;
}

static void report(struct accounts *a, const struct component *c, const char *what,
		   const char *name, const char *path)
{
	struct build_action action = {
		.fate = SCRIPT_NOT_DONE,
		.package = arena_strdup(a->f->arena, c->name),
		.script = "files",
		.text = arena_printf(a->f->arena, "there is no %s %.60s: /%s belongs to root", what,
				     name, path),
		.digest = c->key,
	};

	vec_push(&a->f->actions, action);
}

static void own(struct accounts *a, struct rootfs_part *part, const struct component_owner *o)
{
	struct tar_entry *placed;
	struct component *c = part->component;
	struct rootfs_node *n = part->nodes.items[o->entry];
	struct tar_entry *tar = &c->entries.items[o->entry].tar;
	const struct user *u = accounts_user(a, o->user);
	const struct group *g = accounts_group(a, o->group);
	bool root_user = str_equal(o->user, "root"), root_group = str_equal(o->group, "root");

	if (!u && !root_user) {
		tar->mode &= ~(uint32_t)S_ISUID;
		report(a, c, "user", o->user, tar->path);
	}
	if (!g && !root_group) {
		tar->mode &= ~(uint32_t)S_ISGID;
		report(a, c, "group", o->group, tar->path);
	}
	tar->uid = u ? u->uid : 0;
	tar->gid = g ? g->gid : 0;
	if (!n || n->owner != c || n->index != o->entry)
		return;
	placed = n->tar == tar ? tar : rootfs_edit(a->f->rootfs, n);
	placed->uid = tar->uid;
	placed->gid = tar->gid;
	placed->mode = tar->mode;
}

void rpm_accounts_own(struct accounts *a)
{
	for (size_t i = 0; i < a->f->rootfs->parts.len; i++) {
		struct rootfs_part *part = &a->f->rootfs->parts.items[i];

		for (size_t k = 0; k < part->component->owners.len; k++)
			own(a, part, &part->component->owners.items[k]);
	}
}
