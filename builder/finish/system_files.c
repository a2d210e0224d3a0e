/*
 * Files that the scripts of base-files, libc-bin, netbase, tzdata, libpam-runtime and others copy
 * from templates or write: profile, motd, nsswitch.conf, time zone …
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
	{ "usr/share/openssh/sshd_config", "etc/ssh/sshd_config" },
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

		if (!n || n->tar->type != TAR_FILE)
			continue;
		if (rootfs_read(f->rootfs, templates[i].from, MIB, &text, err) < 0)
			return -1;
		finish_text(f, templates[i].to, 0644, strbuf_slice(&text));
		if (finish_flush(f, err) < 0)
			return -1;
	}
	return 0;
}

/* Whether the package's postinst has that text in it. */
static bool script_says(struct finish *f, const char *package, const char *text)
{
	const struct component *c = rootfs_component(f->rootfs, COMPONENT_DEB, package);

	for (size_t i = 0; c && i < c->scripts.len; i++) {
		const struct component_script *s = &c->scripts.items[i];

		if (str_equal(s->name, "postinst") && memmem(s->text, s->len, text, strlen(text)))
			return true;
	}
	return false;
}

static void base_files(struct finish *f)
{
	static const char *const logs[] = { "var/log/wtmp", "var/log/btmp", "var/log/lastlog" };

	for (size_t i = 0; i < ARRAY_LEN(base_dirs); i++)
		finish_dir(f, base_dirs[i].path, base_dirs[i].mode, 0, base_dirs[i].gid);
	if (script_says(f, "base-files", "/usr/local/libexec"))
		finish_dir(f, "usr/local/libexec", 0755, 0, 0);
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
		cleanup_free char *lib = NULL, *packages = NULL, *installed = NULL;

		if (c->kind != COMPONENT_DEB || !str_starts(c->name, "python3.") ||
		    !str_ends(c->name, "-minimal"))
			continue;
		lib = xasprintf("usr/local/lib/%.*s", (int)(len - strlen("-minimal")), c->name);
		packages = xasprintf("%s/dist-packages", lib);
		finish_dir(f, lib, 0755, 0, 0);
		finish_dir(f, packages, 0755, 0, 0);
		finish_dir(f, "var/lib/python", 0755, 0, 0);
		installed = xasprintf("var/lib/python/%.*s_installed",
				      (int)(len - strlen("-minimal")), c->name);
		finish_text(f, installed, 0644, slice_str(""));
	}
}

/* fontconfig-config: its answers when nobody is asked. */
static void fonts(struct finish *f)
{
	static const char *const names[] = { "10-hinting-slight.conf", "70-no-bitmaps.conf",
					     "70-no-bitmaps-except-emoji.conf" };

	if (!rootfs_component(f->rootfs, COMPONENT_DEB, "fontconfig-config"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		cleanup_free char *from = xasprintf("/usr/share/fontconfig/conf.avail/%s",
						    names[i]),
				  *link = xasprintf("etc/fonts/conf.d/%s", names[i]);

		if (rootfs_resolve(f->rootfs, from) &&
		    (i != 1 || !script_says(f, "fontconfig-config", names[2])))
			finish_link(f, link, from);
	}
}

static void time_zone(struct finish *f)
{
	if (!rootfs_resolve(f->rootfs, "usr/share/zoneinfo/Etc/UTC"))
		return;
	finish_link(f, "etc/localtime", "/usr/share/zoneinfo/Etc/UTC");
	/* since Debian 13 only where one was before */
	if (script_says(f, "tzdata", "/etc/timezone") &&
	    !script_says(f, "tzdata", "if test -f \"$DPKG_ROOT/etc/timezone\""))
		finish_text(f, "etc/timezone", 0644, slice_str("Etc/UTC\n"));
}

static void pam(struct finish *f)
{
	if (!rootfs_component(f->rootfs, COMPONENT_DEB, "libpam-runtime"))
		return;
	finish_text(f, "etc/environment", 0644, slice_str(""));
	finish_text(f, "etc/security/opasswd", 0600, slice_str(""));
}

int finish_system_files(struct finish *f, struct error *err)
{
	bool os = rootfs_component(f->rootfs, COMPONENT_DEB, "base-files") != NULL;

	if (copy_templates(f, err) < 0)
		return -1;
	if (os)
		base_files(f);
	pam(f);
	python(f);
	time_zone(f);
	fonts(f);
	if (script_says(f, "login", "/var/log/faillog"))
		finish_text(f, "var/log/faillog", 0644, slice_str(""));
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
