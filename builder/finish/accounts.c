/*
 * passwd, group, shadow and gshadow: from base-passwd's masters, the sysusers.d files of the
 * image, a table of the system users that packages' scripts add (with one number per name, the
 * same in every image), and the manifest's user.
 * Source: passwd(5), shadow(5), sysusers.d(5), base-passwd.
 */
#include "builder/finish/accounts.h"
#include "builder/finish/script_words.h"
#include "builder/sources/deb_version.h"

struct known {
	const char *name;
	int64_t uid, gid; /* -1: none */
};

#define NOLOGIN "/usr/sbin/nologin"

/*
 * Numbers that Debian fixes, and ours (100 to 140) for those that a script would draw, so that a
 * name has one number in every image.
 */
static const struct known table[] = {
	{ "_apt", 42, -1 },
	{ "Debian-exim", 112, 112 },
	{ "_chrony", 109, 109 },
	{ "_rpc", 104, -1 },
	{ "_ssh", -1, 101 },
	{ "avahi", 113, 113 },
	{ "crontab", -1, 123 },
	{ "input", -1, 119 },
	{ "kvm", -1, 121 },
	{ "messagebus", 117, 117 },
	{ "munge", 103, 103 },
	{ "polkitd", 125, 125 },
	{ "postdrop", -1, 111 },
	{ "postfix", 110, 110 },
	{ "rdma", -1, 124 },
	{ "render", -1, 122 },
	{ "sgx", -1, 120 },
	{ "slurm", 64030, 64030 },
	{ "ssh", -1, 118 },
	{ "sshd", 102, -1 },
	{ "ssl-cert", -1, 116 },
	{ "statd", 105, -1 },
	{ "systemd-journal", -1, 126 },
	{ "systemd-network", 998, 998 },
	{ "systemd-resolve", 127, 127 },
	{ "systemd-timesync", 997, 997 },
	{ "tcpdump", 107, 107 },
	{ "uuidd", 106, 106 },
};

enum { LAST_CHANGE_DAYS = 3652 /* 1980-01-01 */, ALLOCATED_FROM = 999, ALLOCATED_TO = 200 };

struct user *accounts_user(struct accounts *a, const char *name)
{
	for (size_t i = 0; i < a->users.len; i++) {
		if (str_equal(a->users.items[i].name, name))
			return &a->users.items[i];
	}
	return NULL;
}

struct group *accounts_group(struct accounts *a, const char *name)
{
	for (size_t i = 0; i < a->groups.len; i++) {
		if (str_equal(a->groups.items[i].name, name))
			return &a->groups.items[i];
	}
	return NULL;
}

static struct group *group_numbered(struct accounts *a, uint64_t gid)
{
	for (size_t i = 0; i < a->groups.len; i++) {
		if (a->groups.items[i].gid == gid)
			return &a->groups.items[i];
	}
	return NULL;
}

static bool id_is_free(const struct accounts *a, uint64_t id)
{
	for (size_t i = 0; i < a->users.len; i++) {
		if (a->users.items[i].uid == id)
			return false;
	}
	for (size_t i = 0; i < a->groups.len; i++) {
		if (a->groups.items[i].gid == id)
			return false;
	}
	return true;
}

bool accounts_has_uid(const struct accounts *a, uint64_t uid)
{
	for (size_t i = 0; i < a->users.len; i++) {
		if (a->users.items[i].uid == uid)
			return true;
	}
	return false;
}

uint64_t accounts_allocate(const struct accounts *a)
{
	uint64_t id = ALLOCATED_FROM;

	while (id > ALLOCATED_TO && !id_is_free(a, id))
		id--;
	return id;
}

void accounts_add_group(struct accounts *a, const char *name, uint64_t gid, enum maker maker)
{
	struct group g = { .name = name, .members = "", .gid = gid, .maker = maker };

	if (!accounts_group(a, name)) {
		vec_push(&a->groups, g);
		a->added = true;
	}
}

void accounts_add_user(struct accounts *a, struct user user)
{
	if (!accounts_user(a, user.name)) {
		vec_push(&a->users, user);
		a->added = true;
	}
}

static const char *field(struct accounts *a, struct slice *rest)
{
	struct slice piece;

	return slice_cut(rest, ':', &piece) ? arena_slice(&a->arena, piece) : "";
}

static int read_number(const char *text, const char *file, uint64_t *out, struct error *err)
{
	if (slice_u64(slice_str(text), out) && *out <= UINT32_MAX)
		return 0;
	return error_set(err, ERROR_FORMAT, "/%s: '%s' is not a user or group number", file, text);
}

/* Of a passwd file, or of a group file; ERROR_FORMAT for numbers that are none. */
static int read_accounts(struct accounts *a, const char *path, bool groups, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct slice rest, line;

	if (!rootfs_resolve(a->f->rootfs, path))
		return 0;
	if (rootfs_read(a->f->rootfs, path, MIB, &text, err) < 0)
		return -1;
	rest = strbuf_slice(&text);
	while (slice_cut(&rest, '\n', &line)) {
		struct user u = { 0 };
		struct group g = { .members = "" };

		if (!slice_trim(line).len || line.data[0] == '#')
			continue;
		u.line = a->over_base ? arena_slice(&a->arena, line) : NULL;
		u.name = g.name = field(a, &line);
		g.password = field(a, &line);
		if (read_number(field(a, &line), path, groups ? &g.gid : &u.uid, err) < 0)
			return -1;
		if (groups) {
			g.members = field(a, &line);
			g.base_members = g.members;
			vec_push(&a->groups, g);
			continue;
		}
		if (read_number(field(a, &line), path, &u.gid, err) < 0)
			return -1;
		u.gecos = field(a, &line);
		u.home = field(a, &line);
		u.shell = field(a, &line);
		vec_push(&a->users, u);
	}
	return 0;
}

/* The two accounts that everything assumes. */
static void add_minimum(struct accounts *a)
{
	accounts_add_group(a, "root", 0, BY_MASTER);
	accounts_add_group(a, "nogroup", 65534, BY_MASTER);
	accounts_add_user(
		a, (struct user){
			   .name = "root", .gecos = "root", .home = "/root", .shell = "/bin/sh" });
	accounts_add_user(a, (struct user){ .name = "nobody",
					    .gecos = "nobody",
					    .home = "/nonexistent",
					    .shell = NOLOGIN,
					    .uid = 65534,
					    .gid = 65534 });
}

static const struct known *known_account(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (str_equal(table[i].name, name))
			return &table[i];
	}
	return NULL;
}

/* The number of the table, where nobody has it yet, else one that is free. */
static uint64_t number_of(struct accounts *a, const char *name, bool group)
{
	const struct known *k = known_account(name);
	int64_t id = k ? group ? k->gid : k->uid : -1;

	if (id >= 0 && id != 65534 &&
	    (group ? !group_numbered(a, (uint64_t)id) : !accounts_has_uid(a, (uint64_t)id)))
		return (uint64_t)id;
	return accounts_allocate(a);
}

/* What a script asks of adduser, addgroup, useradd or groupadd. */
struct asked {
	const char *names[2]; /* the account, or a user and the group it joins */
	size_t count;
	const char *home, *shell, *gecos, *group, *uid, *gid;
	bool system, own_group, no_home;
};

static void read_asked(const struct script_command *c, struct asked *out)
{
	static const struct {
		const char *option;
		size_t offset;
	} valued[] = {
		{ "--home", offsetof(struct asked, home) },
		{ "--home-dir", offsetof(struct asked, home) },
		{ "-d", offsetof(struct asked, home) },
		{ "--shell", offsetof(struct asked, shell) },
		{ "-s", offsetof(struct asked, shell) },
		{ "--gecos", offsetof(struct asked, gecos) },
		{ "--comment", offsetof(struct asked, gecos) },
		{ "-c", offsetof(struct asked, gecos) },
		{ "--ingroup", offsetof(struct asked, group) },
		{ "--gid", offsetof(struct asked, gid) },
		{ "-g", offsetof(struct asked, gid) },
		{ "--uid", offsetof(struct asked, uid) },
		{ "-u", offsetof(struct asked, uid) },
	};

	for (size_t i = 1; i < c->count; i++) {
		const char *w = c->words[i], *equals = strchr(w, '=');
		size_t len = equals ? (size_t)(equals - w) : strlen(w), k = 0;

		while (k < ARRAY_LEN(valued) &&
		       (strlen(valued[k].option) != len || strncmp(valued[k].option, w, len) != 0))
			k++;
		if (k < ARRAY_LEN(valued)) {
			*(const char **)((uint8_t *)out + valued[k].offset) =
				equals             ? equals + 1
				: i + 1 < c->count ? c->words[++i]
						   : "";
		} else if (str_equal(w, "--system") || str_equal(w, "-r")) {
			out->system = true;
		} else if (str_equal(w, "--group")) {
			out->own_group = true;
		} else if (str_equal(w, "--no-create-home") || str_equal(w, "-M")) {
			out->no_home = true;
		} else if (w[0] != '-' && out->count < ARRAY_LEN(out->names)) {
			out->names[out->count++] = w;
		}
	}
}

/* The three say whether the image then has it. */
static bool join_group(struct accounts *a, const char *user, const char *group)
{
	struct group *g = accounts_group(a, group);
	cleanup_free char *padded = NULL, *wanted = xasprintf(",%s,", user);

	if (!g || !accounts_user(a, user))
		return false;
	padded = xasprintf(",%s,", g->members);
	if (!strstr(padded, wanted))
		g->members = *g->members ? arena_printf(&a->arena, "%s,%s", g->members, user)
					 : arena_strdup(&a->arena, user);
	return true;
}

static bool add_asked_group(struct accounts *a, const char *name, const char *number)
{
	uint64_t gid;

	if (accounts_group(a, name))
		return true;
	if (!number || !slice_u64(slice_str(number), &gid) || gid > UINT32_MAX)
		gid = number_of(a, name, true);
	accounts_add_group(a, name, gid, BY_SCRIPT);
	return true;
}

static bool add_asked_user(struct accounts *a, const struct asked *q, bool useradd)
{
	const char *name = q->names[0], *group = q->group ? q->group : q->gid;
	struct user u = { .name = name, .maker = BY_SCRIPT, .gid = 65534 };
	const struct group *g;

	if (accounts_user(a, name))
		return true;
	if (q->own_group || (useradd && !group)) {
		add_asked_group(a, name, q->uid);
		group = name;
	}
	g = group ? accounts_group(a, group) : NULL;
	if (g)
		u.gid = g->gid;
	else if (group && !slice_u64(slice_str(group), &u.gid))
		return false;
	if (!q->uid || !slice_u64(slice_str(q->uid), &u.uid) || u.uid > UINT32_MAX)
		u.uid = number_of(a, name, false);
	u.home = q->home ? q->home : "/nonexistent";
	u.shell = q->shell ? q->shell : NOLOGIN;
	u.gecos = q->gecos ? q->gecos : "";
	if (a->old_adduser && !useradd) {
		u.maker = BY_MASTER;
		u.gecos = q->gecos ? arena_printf(&a->arena, "%s,,,", q->gecos) : "";
	}
	accounts_add_user(a, u);
	if (!useradd && !q->no_home && u.home[0] == '/' && u.home[1] &&
	    !str_equal(u.home, "/nonexistent") && !str_starts(u.home, "/run/"))
		finish_dir(a->f, u.home + 1, 0755, u.uid, u.gid);
	return true;
}

/* Cuts one word, quoted or not, off a line of sysusers.d. */
static const char *word(struct accounts *a, struct slice *line)
{
	struct slice s = slice_trim(*line), out;
	size_t n = 0;

	if (s.len && s.data[0] == '"') {
		for (n = 1; n < s.len && s.data[n] != '"'; n++)
			continue;
		out = slice_of(s.data + 1, n - 1);
		n = MIN(n + 1, s.len);
	} else {
		while (n < s.len && s.data[n] != ' ' && s.data[n] != '\t')
			n++;
		out = slice_of(s.data, n);
	}
	*line = slice_of(s.data + n, s.len - n);
	return arena_slice(&a->arena, out);
}

static bool has_value(const char *text)
{
	return *text && !str_equal(text, "-");
}

/* "u NAME ID GECOS HOME SHELL", "g NAME ID", "m USER GROUP"; an ID of "-" is drawn. */
static void take_sysusers_line(struct accounts *a, struct slice line)
{
	const char *type = word(a, &line), *name = word(a, &line), *id = word(a, &line),
		   *gecos = word(a, &line), *home = word(a, &line), *shell = word(a, &line);
	const char *colon = strchr(id, ':');
	cleanup_free char *first = xstrndup(id, colon ? (size_t)(colon - id) : strlen(id));
	uint64_t uid = 0, gid = 0;

	if (!*name || strpbrk(name, ":\n/%") || strpbrk(gecos, ":\n") || strpbrk(home, ":\n") ||
	    strpbrk(shell, ":\n"))
		return;
	if (!has_value(first) || !slice_u64(slice_str(first), &uid) || uid > UINT32_MAX)
		uid = number_of(a, name, *type == 'g');
	if (*type == 'g') {
		accounts_add_group(a, name, uid, BY_SYSUSERS);
	} else if (*type == 'u' && !accounts_user(a, name)) {
		struct group *g = colon ? accounts_group(a, colon + 1) : accounts_group(a, name);

		if (!g && !(colon && slice_u64(slice_str(colon + 1), &gid))) {
			accounts_add_group(a, name,
					   group_numbered(a, uid) ? accounts_allocate(a) : uid,
					   BY_SYSUSERS);
			g = accounts_group(a, name);
		}
		accounts_add_user(a, (struct user){ .name = name,
						    .gecos = has_value(gecos) ? gecos : "",
						    .home = has_value(home) ? home : "/",
						    .shell = has_value(shell) ? shell : NOLOGIN,
						    .uid = uid,
						    .gid = g ? g->gid : gid,
						    .maker = strchr(type, '!') ? BY_SYSUSERS_LOCKED
									       : BY_SYSUSERS });
	} else if (*type == 'm') {
		join_group(a, name, id);
	}
}

static int read_sysusers_file(struct accounts *a, const char *path, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct slice rest, line;

	if (rootfs_read(a->f->rootfs, path, MIB, &text, err) < 0)
		return -1;
	rest = strbuf_slice(&text);
	while (slice_cut(&rest, '\n', &line)) {
		line = slice_trim(line);
		if (line.len && line.data[0] != '#')
			take_sysusers_line(a, line);
	}
	return 0;
}

/* All files, or those that no Debian package brought: their scripts name theirs. */
static int read_sysusers(struct accounts *a, bool all, struct error *err)
{
	struct rootfs_nodes files = { 0 };
	int rc = 0;

	rootfs_list(a->f->rootfs, "usr/lib/sysusers.d", &files);
	for (size_t i = 0; i < files.len && rc == 0; i++) {
		const struct rootfs_node *n = files.items[i];

		if (str_ends(n->tar->path, ".conf") && n->tar->type == TAR_FILE &&
		    (all || !n->owner || n->owner->kind != COMPONENT_DEB))
			rc = read_sysusers_file(a, n->tar->path, err);
	}
	vec_release(&files);
	return rc;
}

/* systemd-sysusers [--root=…] [NAME.conf…] of a script. */
static int run_sysusers(struct accounts *a, const struct script_command *c, struct error *err)
{
	bool any = false;

	for (size_t i = 1; i < c->count; i++) {
		const char *slash = strrchr(c->words[i], '/');
		cleanup_free char *path =
			xasprintf("usr/lib/sysusers.d/%s", slash ? slash + 1 : c->words[i]);
		const struct rootfs_node *n;

		if (!str_ends(c->words[i], ".conf"))
			continue;
		any = true;
		n = rootfs_lookup(a->f->rootfs, path);
		if (n && n->tar->type == TAR_FILE && read_sysusers_file(a, path, err) < 0)
			return -1;
	}
	return any ? 0 : read_sysusers(a, true, err);
}

/* Accounts are wanted whatever the test before that asks for them, so reaching is not looked at. */
static int take_command(void *user, const struct component *c, const struct script_command *command,
			struct error *err)
{
	struct accounts *a = user;
	const char *word = command->words[0];
	const char *name = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
	bool useradd = str_equal(name, "useradd");
	struct asked q = { 0 };

	(void)c;
	if (str_equal(name, "systemd-sysusers"))
		return run_sysusers(a, command, err) < 0 ? -1 : !command->dynamic;
	if (command->dynamic || (!str_equal(name, "adduser") && !str_equal(name, "addgroup") &&
				 !useradd && !str_equal(name, "groupadd")))
		return 0;
	read_asked(command, &q);
	for (size_t i = 0; i < q.count; i++) {
		if (!*q.names[i] || strpbrk(q.names[i], ":\n/%,"))
			return 0;
		q.names[i] = arena_strdup(&a->arena, q.names[i]);
	}
	if (!q.count || (q.home && strpbrk(q.home, ":\n")) ||
	    (q.shell && strpbrk(q.shell, ":\n")) || (q.gecos && strpbrk(q.gecos, ":\n")))
		return 0;
	q.home = q.home ? arena_strdup(&a->arena, q.home) : NULL;
	q.shell = q.shell ? arena_strdup(&a->arena, q.shell) : NULL;
	q.gecos = q.gecos ? arena_strdup(&a->arena, q.gecos) : NULL;
	if (q.count == 2)
		return join_group(a, q.names[0], q.names[1]);
	if (str_starts(name, "addgroup") || str_equal(name, "groupadd") ||
	    (q.own_group && !q.system))
		return add_asked_group(a, q.names[0], q.gid);
	return q.system && add_asked_user(a, &q, useradd);
}

/* image.user: the account, its group and its home. */
static int add_image_user(struct accounts *a, struct error *err)
{
	const struct stack_image *image = &a->f->stack->image;
	struct user *there;
	const char *home;

	if (!image->user_name || !a->f->final)
		return 0;
	there = accounts_user(a, image->user_name);
	if (there && there->uid != image->uid)
		return error_set(err, ERROR_USAGE,
				 "image.user: \"%s\" is an account of the system with uid %" PRIu64
				 ", the manifest says %" PRIu64,
				 image->user_name, there->uid, image->uid);
	if (there)
		return 0;
	for (size_t i = 0; i < a->users.len; i++) {
		if (a->users.items[i].uid == image->uid)
			return error_set(err, ERROR_USAGE,
					 "image.user: uid %" PRIu64 " belongs to \"%s\"",
					 image->uid, a->users.items[i].name);
	}
	if (!group_numbered(a, image->gid))
		accounts_add_group(a, image->user_name, image->gid, BY_MASTER);
	home = image->home ? image->home : arena_printf(&a->arena, "/home/%s", image->user_name);
	accounts_add_user(a, (struct user){ .name = image->user_name,
					    .gecos = "",
					    .home = home,
					    .shell = rootfs_resolve(a->f->rootfs, "bin/bash")
							     ? "/bin/bash"
							     : "/bin/sh",
					    .uid = image->uid,
					    .gid = image->gid });
	if (home[0] == '/' && home[1])
		finish_dir(a->f, home + 1, 0755, image->uid, image->gid);
	return 0;
}

static void private_file(struct finish *f, const char *path, const struct strbuf *text)
{
	struct component_entry *e = finish_file(f, path, 0640, strbuf_slice(text));

	if (e)
		e->tar.gid = 42; /* shadow */
}

/* The base image's file with the new lines after it, where it has one. */
static int extend(struct accounts *a, const char *path, struct strbuf *more, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	int there = finish_base_read(a->f, path, &text, err);

	if (there < 0)
		return -1;
	if (!there) { /* an image without shadow passwords goes on without them */
		strbuf_truncate(more, 0);
		return 0;
	}
	if (text.len && text.data[text.len - 1] != '\n')
		strbuf_addc(&text, '\n');
	strbuf_add(&text, more->data, more->len);
	return finish_update(a->f, path, 0640, strbuf_slice(&text), err);
}

/* No password, in the words of each. */
static const char *const locked[] = {
	[BY_MASTER] = "*",
	[BY_SCRIPT] = "!",
	[BY_SYSUSERS] = "!*",
	[BY_SYSUSERS_LOCKED] = "!*",
};

/* The ages of a password and of the account. */
static const char *const ages[] = {
	[BY_MASTER] = "0:99999:7:::",
	[BY_SCRIPT] = ":::::",
	[BY_SYSUSERS] = ":::::",
	[BY_SYSUSERS_LOCKED] = "::::1:",
};

static int write_users(struct accounts *a, struct error *err)
{
	cleanup_strbuf struct strbuf passwd = { 0 }, shadow = { 0 };

	for (size_t i = 0; i < a->users.len; i++) {
		const struct user *u = &a->users.items[i];

		if (u->line) {
			strbuf_addf(&passwd, "%s\n", u->line);
			continue;
		}
		strbuf_addf(&passwd, "%s:x:%" PRIu64 ":%" PRIu64 ":%s:%s:%s\n", u->name, u->uid,
			    u->gid, u->gecos, u->home, u->shell);
		strbuf_addf(&shadow, "%s:%s:%d:%s\n", u->name, locked[u->maker], LAST_CHANGE_DAYS,
			    ages[u->maker]);
	}
	if (a->over_base && extend(a, "etc/shadow", &shadow, err) < 0)
		return -1;
	if (!a->over_base)
		private_file(a->f, "etc/shadow", &shadow);
	return finish_update(a->f, "etc/passwd", 0644, strbuf_slice(&passwd), err);
}

static int write_groups(struct accounts *a, struct error *err)
{
	cleanup_strbuf struct strbuf group = { 0 }, gshadow = { 0 };

	for (size_t i = 0; i < a->groups.len; i++) {
		const struct group *g = &a->groups.items[i];
		bool old = a->over_base && g->base_members;

		strbuf_addf(&group, "%s:%s:%" PRIu64 ":%s\n", g->name, old ? g->password : "x",
			    g->gid, g->members);
		if (!old)
			strbuf_addf(&gshadow, "%s:%s::%s\n", g->name, locked[g->maker], g->members);
	}
	if (a->over_base && extend(a, "etc/gshadow", &gshadow, err) < 0)
		return -1;
	if (!a->over_base)
		private_file(a->f, "etc/gshadow", &gshadow);
	return finish_update(a->f, "etc/group", 0644, strbuf_slice(&group), err);
}

/*
 * The accounts to start from: those of the base image, what the package setup of the RPM world
 * brings as the files themselves, or base-passwd's masters.
 */
static int read_first(struct accounts *a, struct error *err)
{
	const struct rootfs_node *n = rootfs_lookup(a->f->rootfs, "etc/passwd");
	bool files;

	a->over_base = n && n->owner && n->owner->kind == COMPONENT_BASE;
	a->packaged = n && n->owner && n->owner->kind == COMPONENT_RPM;
	files = a->over_base || a->packaged;
	if (read_accounts(a, files ? "etc/group" : "usr/share/base-passwd/group.master", true,
			  err) < 0 ||
	    read_accounts(a, files ? "etc/passwd" : "usr/share/base-passwd/passwd.master", false,
			  err) < 0)
		return -1;
	a->packaged_users = a->users.len;
	a->packaged_groups = a->groups.len;
	return 0;
}

static bool members_changed(const struct accounts *a)
{
	for (size_t i = 0; i < a->groups.len; i++) {
		const struct group *g = &a->groups.items[i];

		if (!g->base_members || !str_equal(g->members, g->base_members))
			return true;
	}
	return false;
}

static int write_accounts(struct accounts *a, struct error *err)
{
	if (a->packaged)
		return rpm_accounts_write(a, err);
	if (a->over_base && !a->added && !members_changed(a))
		return 0; /* nothing to add to what the base image has */
	if (write_users(a, err) < 0 || write_groups(a, err) < 0)
		return -1;
	if (!a->over_base) {
		finish_text(a->f, "etc/subuid", 0644, slice_str(""));
		finish_text(a->f, "etc/subgid", 0644, slice_str(""));
	}
	return 0;
}

int finish_accounts(struct finish *f, struct error *err)
{
	struct accounts a = { .f = f };
	int rc = read_first(&a, err);

	if (rc == 0 && !a.packaged && !a.over_base)
		add_minimum(&a);
	if (rc == 0) {
		const struct component *c = rootfs_component(f->rootfs, COMPONENT_DEB, "adduser");

		a.old_adduser = c && deb_version_satisfies(slice_str(c->version), DEB_EARLIER,
							   slice_str("3.122"));
		rc = finish_commands(f, true, take_command, &a, err);
	}
	if (rc == 0)
		rc = read_sysusers(&a, false, err);
	if (rc == 0) {
		rpm_accounts_add(&a);
		rc = add_image_user(&a, err);
	}
	if (rc == 0)
		rc = write_accounts(&a, err);
	if (rc == 0)
		rpm_accounts_own(&a);
	vec_release(&a.users);
	vec_release(&a.groups);
	arena_release(&a.arena);
	return rc;
}
