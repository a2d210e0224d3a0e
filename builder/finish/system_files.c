/*
 * Files that the scripts of base-files, libc-bin, debianutils, bash, dash, netbase, tzdata and
 * libpam-runtime copy from templates or write: shells, profile, motd, nsswitch.conf, time zone …
 */
#include "builder/finish/finish.h"

struct template
{
	const char *from, *to;
};

static const struct template templates[] = {
	{ "usr/share/base-files/dot.profile", "root/.profile" },
	{ "usr/share/base-files/dot.bashrc", "root/.bashrc" },
	{ "usr/share/base-files/profile", "etc/profile" },
	{ "usr/share/base-files/motd", "etc/motd" },
	{ "usr/share/base-files/info.dir", "usr/share/info/dir" },
	{ "usr/share/libc-bin/nsswitch.conf", "etc/nsswitch.conf" },
	{ "usr/share/base-files/nsswitch.conf", "etc/nsswitch.conf" },
	{ "usr/share/readline/inputrc", "etc/inputrc" },
};

/* base-files: directories that only its script makes. */
static const struct {
	const char *path;
	uint32_t mode;
	uint64_t gid;
} base_dirs[] = {
	{ "mnt", 0755, 0 },
	{ "srv", 0755, 0 },
	{ "opt", 0755, 0 },
	{ "etc/opt", 0755, 0 },
	{ "var/opt", 0755, 0 },
	{ "media", 0755, 0 },
	{ "var/mail", 02775, 8 },
	{ "run/lock", 01777, 0 },
	{ "usr/local", 0755, 0 },
	{ "usr/local/share", 0755, 0 },
	{ "usr/local/share/man", 0755, 0 },
	{ "usr/local/bin", 0755, 0 },
	{ "usr/local/games", 0755, 0 },
	{ "usr/local/lib", 0755, 0 },
	{ "usr/local/include", 0755, 0 },
	{ "usr/local/sbin", 0755, 0 },
	{ "usr/local/src", 0755, 0 },
	{ "usr/local/etc", 0755, 0 },
};

static int copy_templates(struct finish *f, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(templates); i++) {
		cleanup_strbuf struct strbuf text = { 0 };
		const struct rootfs_node *n = rootfs_resolve(f->rootfs, templates[i].from);

		if (!n || n->tar.type != TAR_FILE)
			continue;
		if (rootfs_read(f->rootfs, templates[i].from, MIB, &text, err) < 0)
			return -1;
		finish_text(f, templates[i].to, 0644, strbuf_slice(&text));
		if (finish_flush(f, err) < 0)
			return -1;
	}
	return 0;
}

static void base_files(struct finish *f)
{
	static const char *const logs[] = { "var/log/wtmp", "var/log/btmp", "var/log/lastlog" };

	for (size_t i = 0; i < ARRAY_LEN(base_dirs); i++)
		finish_dir(f, base_dirs[i].path, base_dirs[i].mode, 0, base_dirs[i].gid);
	finish_link(f, "var/spool/mail", "../mail");
	finish_link(f, "usr/local/man", "share/man");
	for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
		struct component_entry *e =
			finish_file(f, logs[i], str_equal(logs[i], "var/log/btmp") ? 0660 : 0664,
				    slice_str(""));

		if (e)
			e->tar.gid = 43; /* utmp */
	}
	if (rootfs_lookup(f->rootfs, "etc/dpkg/origins/debian"))
		finish_link(f, "etc/dpkg/origins/default", "debian");
	else if (rootfs_lookup(f->rootfs, "etc/dpkg/origins/ubuntu"))
		finish_link(f, "etc/dpkg/origins/default", "ubuntu");
}

/* A line of a list of shells: under /bin, and under /usr/bin as a merged root has it too. */
static void add_shells(struct strbuf *out, struct slice list)
{
	struct slice line;

	while (slice_cut(&list, '\n', &line)) {
		line = slice_trim(line);
		if (!line.len)
			continue;
		strbuf_addf(out, "%.*s\n", (int)line.len, (const char *)line.data);
		if (slice_starts(line, "/bin/"))
			strbuf_addf(out, "/usr%.*s\n", (int)line.len, (const char *)line.data);
	}
}

/* debianutils: its template, then what the packages list in shells.d, as update-shells does. */
static int shells(struct finish *f, struct error *err)
{
	static const char template[] = "usr/share/debianutils/shells";
	cleanup_strbuf struct strbuf text = { 0 }, own = { 0 };
	struct rootfs_nodes lists = { 0 };
	int rc = 0;

	if (!rootfs_lookup(f->rootfs, template))
		return 0;
	if (rootfs_read(f->rootfs, template, MIB, &own, err) < 0)
		return -1;
	add_shells(&text, strbuf_slice(&own));
	rootfs_list(f->rootfs, "usr/share/debianutils/shells.d", &lists);
	for (size_t i = 0; i < lists.len && rc == 0; i++) {
		cleanup_strbuf struct strbuf list = { 0 };

		rc = rootfs_read(f->rootfs, lists.items[i]->tar.path, MIB, &list, err);
		add_shells(&text, strbuf_slice(&list));
	}
	vec_release(&lists);
	if (rc == 0)
		finish_text(f, "etc/shells", 0644, strbuf_slice(&text));
	return rc;
}

/* Modes and groups that scripts set on programs of their packages. */
static void modes(struct finish *f)
{
	static const struct {
		const char *path;
		uint32_t mode;
		uint64_t gid;
	} table[] = {
		{ "usr/bin/ssh-agent", 02755, 101 }, /* _ssh */
		{ "usr/bin/crontab", 02755, 123 },   /* crontab */
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct rootfs_node *n = rootfs_lookup(f->rootfs, table[i].path);

		if (n && n->owner && n->owner->kind == COMPONENT_DEB && n->tar.type == TAR_FILE) {
			n->tar.mode = table[i].mode;
			n->tar.gid = table[i].gid;
		}
	}
}

/* python3: its configuration; pythonX.Y-minimal: the folder for what is installed beside the
 * distribution. */
static void python(struct finish *f)
{
	if (rootfs_component(f->rootfs, COMPONENT_DEB, "python3"))
		finish_text(f, "etc/python3/debian_config", 0644,
			    slice_str(
				    "[DEFAULT]\n"
				    "# how to byte-compile (comma separated: standard, optimize)\n"
				    "byte-compile = standard\n"));
	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		const struct component *c = f->rootfs->parts.items[i].component;
		size_t len = strlen(c->name);
		cleanup_free char *lib = NULL, *packages = NULL;

		if (c->kind != COMPONENT_DEB || !str_starts(c->name, "python3.") ||
		    !str_ends(c->name, "-minimal"))
			continue;
		lib = xasprintf("usr/local/lib/%.*s", (int)(len - strlen("-minimal")), c->name);
		packages = xasprintf("%s/dist-packages", lib);
		finish_dir(f, lib, 0755, 0, 0);
		finish_dir(f, packages, 0755, 0, 0);
		finish_dir(f, "var/lib/python", 0755, 0, 0);
	}
}

static void time_zone(struct finish *f)
{
	if (!rootfs_resolve(f->rootfs, "usr/share/zoneinfo/Etc/UTC"))
		return;
	finish_link(f, "etc/localtime", "/usr/share/zoneinfo/Etc/UTC");
	finish_text(f, "etc/timezone", 0644, slice_str("Etc/UTC\n"));
}

/* libpam-runtime: its templates with the modules of a plain installation. */
static void pam(struct finish *f)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{ "etc/pam.d/common-auth", "auth\t[success=1 default=ignore]\tpam_unix.so nullok\n"
					   "auth\trequisite\tpam_deny.so\n"
					   "auth\trequired\tpam_permit.so\n" },
		{ "etc/pam.d/common-account",
		  "account\t[success=1 new_authtok_reqd=done default=ignore]\tpam_unix.so\n"
		  "account\trequisite\tpam_deny.so\n"
		  "account\trequired\tpam_permit.so\n" },
		{ "etc/pam.d/common-password",
		  "password\t[success=1 default=ignore]\tpam_unix.so obscure yescrypt\n"
		  "password\trequisite\tpam_deny.so\n"
		  "password\trequired\tpam_permit.so\n" },
		{ "etc/pam.d/common-session", "session\t[default=1]\tpam_permit.so\n"
					      "session\trequisite\tpam_deny.so\n"
					      "session\trequired\tpam_permit.so\n"
					      "session\trequired\tpam_unix.so\n" },
		{ "etc/pam.d/common-session-noninteractive", "session\t[default=1]\tpam_permit.so\n"
							     "session\trequisite\tpam_deny.so\n"
							     "session\trequired\tpam_permit.so\n"
							     "session\trequired\tpam_unix.so\n" },
	};

	if (!rootfs_component(f->rootfs, COMPONENT_DEB, "libpam-runtime"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		finish_text(f, files[i].path, 0644, slice_str(files[i].text));
	finish_text(f, "etc/environment", 0644, slice_str(""));
	finish_text(f, "etc/security/opasswd", 0600, slice_str(""));
}

int finish_system_files(struct finish *f, struct error *err)
{
	bool os = rootfs_component(f->rootfs, COMPONENT_DEB, "base-files") != NULL;

	if (copy_templates(f, err) < 0 || shells(f, err) < 0)
		return -1;
	if (os)
		base_files(f);
	pam(f);
	modes(f);
	python(f);
	time_zone(f);
	if (os)
		finish_text(f, "etc/machine-id", 0444, slice_str(""));
	if (rootfs_component(f->rootfs, COMPONENT_DEB, "netbase"))
		finish_text(f, "etc/networks", 0644,
			    slice_str("default\t\t0.0.0.0\nloopback\t127.0.0.0\n"
				      "link-local\t169.254.0.0\n\n"));
	/* glibc asks DNS before files when nothing says otherwise */
	if (rootfs_component(f->rootfs, COMPONENT_DEB, "libc6"))
		finish_text(f, "etc/nsswitch.conf", 0644,
			    slice_str("passwd: files\ngroup: files\nshadow: files\n"
				      "hosts: files dns\nnetworks: files\n"
				      "protocols: db files\nservices: db files\n"));
	if (rootfs_resolve(f->rootfs, "usr/bin/dash"))
		finish_link(f, "usr/bin/sh", "dash");
	else if (rootfs_resolve(f->rootfs, "usr/bin/bash"))
		finish_link(f, "usr/bin/sh", "bash");
	return 0;
}
