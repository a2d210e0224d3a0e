/*
 * passwd, group, shadow and gshadow: from base-passwd's masters, the sysusers.d files of the
 * image, a table of the system users that packages' scripts add (with one number per name, the
 * same in every image), and the manifest's user.
 * Source: passwd(5), shadow(5), sysusers.d(5), base-passwd.
 */
#include "builder/finish/accounts.h"

struct known {
	const char *package, *name;
	int64_t uid, gid; /* uid -1: a group only */
	const char *home, *shell;
};

#define NOLOGIN "/usr/sbin/nologin"

/* Numbers that Debian fixes, and ours (100 to 140) for those that a script would draw. */
static const struct known table[] = {
	{ "apt", "_apt", 42, 65534, "/nonexistent", NOLOGIN },
	{ "avahi-daemon", "avahi", 113, 113, "/run/avahi-daemon", NOLOGIN },
	{ "chrony", "_chrony", 109, 109, "/var/lib/chrony", NOLOGIN },
	{ "cron", "crontab", -1, 123, NULL, NULL },
	{ "dbus-system-bus-common", "messagebus", 100, 100, "/nonexistent", NOLOGIN },
	{ "exim4-base", "Debian-exim", 112, 112, "/var/spool/exim4", NOLOGIN },
	{ "munge", "munge", 103, 103, "/nonexistent", NOLOGIN },
	{ "nfs-common", "statd", 105, 65534, "/var/lib/nfs", NOLOGIN },
	{ "openssh-client", "_ssh", -1, 101, NULL, NULL },
	{ "openssh-server", "sshd", 102, 65534, "/run/sshd", NOLOGIN },
	{ "polkitd", "polkitd", 125, 125, "/", NOLOGIN },
	{ "postfix", "postdrop", -1, 111, NULL, NULL },
	{ "postfix", "postfix", 110, 110, "/var/spool/postfix", NOLOGIN },
	{ "rpcbind", "_rpc", 104, 65534, "/run/rpcbind", NOLOGIN },
	{ "slurm-wlm-basic-plugins", "slurm", 64030, 64030, "/nonexistent", NOLOGIN },
	{ "slurmd", "slurm", 64030, 64030, "/nonexistent", NOLOGIN },
	{ "ssl-cert", "ssl-cert", -1, 116, NULL, NULL },
	{ "systemd", "systemd-journal", -1, 126, NULL, NULL },
	{ "systemd", "systemd-network", 998, 998, "/", NOLOGIN },
	{ "systemd", "systemd-timesync", 997, 997, "/", NOLOGIN },
	{ "tcpdump", "tcpdump", 107, 107, "/nonexistent", NOLOGIN },
	{ "udev", "input", -1, 119, NULL, NULL },
	{ "udev", "kvm", -1, 121, NULL, NULL },
	{ "udev", "render", -1, 122, NULL, NULL },
	{ "udev", "sgx", -1, 120, NULL, NULL },
	{ "uuid-runtime", "uuidd", 106, 106, "/run/uuidd", NOLOGIN },
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

uint64_t accounts_allocate(const struct accounts *a)
{
	uint64_t id = ALLOCATED_FROM;

	while (id > ALLOCATED_TO && !id_is_free(a, id))
		id--;
	return id;
}

void accounts_add_group(struct accounts *a, const char *name, uint64_t gid)
{
	struct group g = { .name = name, .members = "", .gid = gid };

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

int accounts_read(struct accounts *a, const char *path, bool groups, struct error *err)
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
	accounts_add_group(a, "root", 0);
	accounts_add_group(a, "nogroup", 65534);
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

/* Files of a package that belong to a group of the table, where the group has another number. */
static void move_group(struct accounts *a, const struct known *k, uint64_t gid)
{
	for (size_t i = 0; i < a->f->rootfs->parts.len; i++) {
		struct rootfs_part *part = &a->f->rootfs->parts.items[i];

		if (part->component->kind != COMPONENT_DEB ||
		    !str_equal(part->component->name, k->package))
			continue;
		for (size_t n = 0; n < part->nodes.len; n++) {
			struct rootfs_node *node = part->nodes.items[n];

			if (node && node->owner == part->component &&
			    node->tar.gid == (uint64_t)k->gid)
				node->tar.gid = gid;
		}
	}
}

/* The number of a known group: the base image's where it has the group, a free one otherwise. */
static uint64_t known_group(struct accounts *a, const struct known *k)
{
	const struct group *there = accounts_group(a, k->name),
			   *taken = group_numbered(a, (uint64_t)k->gid);
	uint64_t gid = there ? there->gid : taken ? accounts_allocate(a) : (uint64_t)k->gid;

	accounts_add_group(a, k->name, gid);
	if (gid != (uint64_t)k->gid)
		move_group(a, k, gid);
	return gid;
}

static bool uid_is_free(const struct accounts *a, uint64_t uid)
{
	for (size_t i = 0; i < a->users.len; i++) {
		if (a->users.items[i].uid == uid)
			return false;
	}
	return true;
}

static void add_known_row(struct accounts *a, const struct known *k)
{
	uint64_t gid = k->gid == 65534 ? 65534 : known_group(a, k);

	if (k->uid >= 0 && !accounts_user(a, k->name))
		accounts_add_user(a, (struct user){ .name = k->name,
						    .gecos = "",
						    .home = k->home,
						    .shell = k->shell,
						    .uid = uid_is_free(a, (uint64_t)k->uid)
								   ? (uint64_t)k->uid
								   : accounts_allocate(a),
						    .gid = gid });
}

static void add_known(struct accounts *a)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const struct known *k = &table[i];

		if (rootfs_component(a->f->rootfs, COMPONENT_DEB, k->package))
			add_known_row(a, k);
	}
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
		uid = accounts_allocate(a);
	if (*type == 'g') {
		accounts_add_group(a, name, uid);
	} else if (*type == 'u' && !accounts_user(a, name)) {
		struct group *g = colon ? accounts_group(a, colon + 1) : accounts_group(a, name);

		if (!g && !(colon && slice_u64(slice_str(colon + 1), &gid))) {
			accounts_add_group(a, name,
					   group_numbered(a, uid) ? accounts_allocate(a) : uid);
			g = accounts_group(a, name);
		}
		accounts_add_user(a, (struct user){ .name = name,
						    .gecos = has_value(gecos) ? gecos : "",
						    .home = has_value(home) ? home : "/",
						    .shell = has_value(shell) ? shell : NOLOGIN,
						    .uid = uid,
						    .gid = g ? g->gid : gid });
	} else if (*type == 'm') {
		struct group *g = accounts_group(a, id);

		if (g)
			g->members = *g->members
					     ? arena_printf(&a->arena, "%s,%s", g->members, name)
					     : name;
		a->changed = a->changed || g;
	}
}

static int read_sysusers(struct accounts *a, struct error *err)
{
	struct rootfs_nodes files = { 0 };
	int rc = 0;

	rootfs_list(a->f->rootfs, "usr/lib/sysusers.d", &files);
	for (size_t i = 0; i < files.len && rc == 0; i++) {
		cleanup_strbuf struct strbuf text = { 0 };
		struct slice rest, line;

		if (!str_ends(files.items[i]->tar.path, ".conf"))
			continue;
		rc = rootfs_read(a->f->rootfs, files.items[i]->tar.path, MIB, &text, err);
		rest = strbuf_slice(&text);
		while (rc == 0 && slice_cut(&rest, '\n', &line)) {
			line = slice_trim(line);
			if (line.len && line.data[0] != '#')
				take_sysusers_line(a, line);
		}
	}
	vec_release(&files);
	return rc;
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
		accounts_add_group(a, image->user_name, image->gid);
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
		strbuf_addf(&shadow, "%s:*:%d:0:99999:7:::\n", u->name, LAST_CHANGE_DAYS);
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
			strbuf_addf(&gshadow, "%s:*::%s\n", g->name, g->members);
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
	if (accounts_read(a, files ? "etc/group" : "usr/share/base-passwd/group.master", true,
			  err) < 0 ||
	    accounts_read(a, files ? "etc/passwd" : "usr/share/base-passwd/passwd.master", false,
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
		add_known(&a);
		rc = read_sysusers(&a, err);
	}
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
