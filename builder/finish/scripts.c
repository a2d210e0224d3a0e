/*
 * The report: what each maintainer script would have done at a first installation, and what
 * became of it. A command is done when an action of this folder has applied it (which the actions
 * tell), or the image is as it would have left it; nothing is guessed: an unknown command, or one
 * whose words are only known at run time, was not done.
 */
#include <fnmatch.h>

#include "builder/finish/finish.h"
#include "builder/finish/script_words.h"

/* Scripts that the actions reproduce as a whole; package names may have wild cards. */
static const struct {
	const char *package, *script, *what;
} reproduced[] = {
	{ "adduser", "postinst", "nothing at a first installation" },
	{ "apt", "postinst", "account _apt" },
	{ "base-files", "postinst", "profile, motd, folders, links" },
	{ "base-passwd", "postinst", "passwd and group from the masters" },
	{ "base-passwd", "preinst", "passwd and group from the masters" },
	{ "bash", "postinst", "/bin/sh is there; alternatives" },
	{ "bash", "preinst", "/bin/sh is there" },
	{ "ca-certificates", "postinst", "bundle and links of the certificates" },
	{ "ca-certificates-java", "postinst", "the key store, where there is a Java" },
	{ "dash", "postinst", "/bin/sh" },
	{ "debianutils", "postinst", "shells; alternative which" },
	{ "dpkg", "postinst", "the database is written" },
	{ "libc-bin", "postinst", "nsswitch.conf, ld.so.cache" },
	{ "libc6", "postinst", "nothing at a first installation" },
	{ "libc6", "preinst", "checks of the running kernel" },
	{ "libpam-runtime", "postinst", "common-* of pam.d" },
	{ "login", "postinst", "nothing at a first installation" },
	{ "mount", "postinst", "nothing at a first installation" },
	{ "netbase", "postinst", "nothing at a first installation" },
	{ "libpam-modules", "postinst", "nothing at a first installation" },
	{ "libpam-modules", "preinst", "nothing at a first installation" },
	{ "libpam0g", "postinst", "nothing at a first installation" },
	{ "libgcrypt20", "postinst", "nothing at a first installation" },
	{ "adduser", "preinst", "nothing at a first installation" },
	{ "passwd", "postinst", "shadow and gshadow" },
	{ "tzdata", "postinst", "localtime and timezone" },
	{ "python3", "postinst", "debian_config; byte-code is not made" },
	{ "python3", "preinst", "nothing at a first installation" },
	{ "python3.*", "postinst", "folders; byte-code is not made" },
	{ "python3.*-minimal", "preinst", "folders" },
	{ "readline-common", "postinst", "inputrc" },
	{ "ucf", "postinst", "nothing at a first installation" },
	{ "ucf", "preinst", "nothing at a first installation" },
	{ "usrmerge", "postinst", "the root is merged" },
	{ "usr-is-merged", "preinst", "the root is merged" },
	/* of .rpms */
	{ "bash", "post", "/etc/shells is that of setup" },
	{ "ca-certificates", "post", "bundles of the certificates" },
	{ "ca-certificates", "posttrans", "bundles of the certificates" },
	{ "crypto-policies", "post", "links of the policy" },
	{ "crypto-policies", "posttrans", "links of the policy" },
	{ "filesystem", "post", "links of /var" },
	{ "filesystem", "posttrans", "nothing at a first installation" },
	{ "filesystem", "pretrans", "links of the merged root come with the package" },
	{ "glibc", "post", "ld.so.cache" },
	{ "glibc", "pre", "checks of the running kernel" },
	{ "glibc", "pretrans", "checks of the running kernel" },
	{ "glibc", "transfiletrigger", "ld.so.cache" },
	{ "glibc-common", "post", "ld.so.cache" },
	{ "glibc-common", "transfiletrigger", "ld.so.cache" },
	{ "libgcc", "post", "ld.so.cache" },
	{ "setup", "post", "nothing at a first installation" },
	{ "setup", "pre", "nothing at a first installation" },
};

/* Commands of the shell, and such that only look, print or compute. */
static const char *const silent[] = {
	":",
	".",
	"[",
	"[[",
	"basename",
	"break",
	"cat",
	"cd",
	"cmp",
	"command",
	"continue",
	"cut",
	"dirname",
	"echo",
	"exit",
	"export",
	"false",
	"getent",
	"grep",
	"egrep",
	"fgrep",
	"head",
	"id",
	"ls",
	"local",
	"printf",
	"read",
	"return",
	"readlink",
	"realpath",
	"sed",
	"set",
	"shift",
	"sort",
	"source",
	"stat",
	"tail",
	"test",
	"tr",
	"trap",
	"true",
	"type",
	"umask",
	"uname",
	"unset",
	"wc",
	"which",
	"dpkg",
	"dpkg-query",
	"dpkg-architecture",
	"expr",
	"md5sum",
	"sha256sum",
	"find",
	"mktemp",
	"sleep",
	"wait",
	"fi",
	"esac",
	"let",
	"rpm",
	"selinuxenabled",
	"matchpathcon",
};

/* Effects that a container image does without. */
static const char *const harmless[] = {
	"ldconfig", /* where no cache was made: nothing in the image reads one */
	"deb-systemd-helper",
	"deb-systemd-invoke",
	"invoke-rc.d",
	"update-rc.d",
	"systemctl",
	"systemd-tmpfiles",
	"service",
	"db_get",
	"db_input",
	"db_go",
	"db_set",
	"db_stop",
	"db_version",
	"db_fset",
	"db_metaget",
	"db_purge",
	"db_reset",
	"db_capb",
	"db_subst",
	"db_register",
	"db_unregister",
	"db_title",
	"db_settitle",
	"dpkg-maintscript-helper",
	"dpkg-trigger",
	"py3compile",
	"py3clean",
	"pycompile",
	"update-menus",
	"update-desktop-database",
	"update-mime-database",
	"update-mime",
	"fc-cache",
	"gtk-update-icon-cache",
	"mandb",
	"glib-compile-schemas",
	"gio-querymodules",
	"update-initramfs",
	"udevadm",
	"ucfr",
	"ucfq",
	"install-info",
	"update-info-dir",
	"update-icon-caches",
	"appstreamcli",
	"touch",
	"sync",
	"kill",
	"pkill",
	"start-stop-daemon",
	"update-binfmts",
	"logger",
	"depmod",
	"update-catalog",
	"update-xmlcatalog",
	"restorecon",
	"chcon",
	"apparmor_parser",
	"runit-helper",
	"systemd-sysusers",
	"systemd-update-helper",
	"systemd-hwdb",
	"journalctl",
	"iconvconfig",
	"iconvconfig.x86_64",
	"build-locale-archive",
	"semodule",
	"chkconfig",
	"update-mime-types",
	"xmlcatalog",
	"mkfontdir",
	"mkfontscale",
	"xorg-x11-fonts-update-dirs",
	"gio-querymodules-32",
	"gio-querymodules-64",
	"gdk-pixbuf-query-loaders-32",
	"gdk-pixbuf-query-loaders-64",
	"gtk-query-immodules-2.0-64",
	"gtk-query-immodules-3.0-64",
	"systemd-machine-id-setup",
	"systemd-random-seed",
	"systemd-sysctl",
	"telinit",
	"load_policy",
	"fixfiles",
	"setsebool",
	"rmmod",
	"modprobe",
	"dracut",
	"kernel-install",
	"hardlink",
};

/* Programs whose whole effect an action of ours has, and what shows that it had it. */
static const struct {
	const char *word, *path;
} done[] = {
	{ "ldconfig", "etc/ld.so.cache" },
	{ "glibc_post_upgrade.x86_64", "etc/ld.so.cache" },
	{ "update-ca-certificates", "etc/ssl/certs/ca-certificates.crt" },
	{ "update-ca-trust", "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem" },
	{ "ca-legacy", "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem" },
	{ "update-shells", "etc/shells" },
	{ "update-passwd", "etc/passwd" },
	{ "shadowconfig", "etc/shadow" },
	{ "pam-auth-update", "etc/pam.d/common-auth" },
	{ "update-crypto-policies", "etc/crypto-policies/back-ends" },
};

/* `word` may be a command with options, where a variable held both. */
static bool listed(const char *const *list, size_t count, const char *word)
{
	struct slice base = slice_of(word, strcspn(word, " "));
	const uint8_t *slash = base.len ? memrchr(base.data, '/', base.len) : NULL;

	if (slash)
		base = slice_of(slash + 1, base.len - (size_t)(slash + 1 - base.data));
	for (size_t i = 0; i < count; i++) {
		if (slice_is(base, list[i]))
			return true;
	}
	return false;
}

/* Its base name is one of those whose effect is there. */
static bool is_done_as_a_whole(struct finish *f, const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(done); i++) {
		if (listed(&done[i].word, 1, word))
			return rootfs_resolve(f->rootfs, done[i].path) != NULL;
	}
	return false;
}

static bool is_acknowledged(const struct finish *f, const struct digest *digest)
{
	char text[DIGEST_TEXT_MAX];

	digest_text(digest, text);
	for (size_t i = 0; i < f->stack->acknowledged_scripts.count; i++) {
		if (str_equal(f->stack->acknowledged_scripts.items[i], text))
			return true;
	}
	return false;
}

struct report {
	struct finish *f;
	const struct component *c;
	const struct component_script *script;
	struct digest digest;
	bool accepted;
};

static void add(struct report *r, enum script_fate fate, size_t line, const char *text)
{
	struct build_action a = {
		.fate = fate == SCRIPT_NOT_DONE && r->accepted ? SCRIPT_ACCEPTED : fate,
		.package = arena_strdup(r->f->arena, r->c->name),
		.script = arena_strdup(r->f->arena, r->script->name),
		.text = arena_strdup(r->f->arena, text),
		.line = line,
		.digest = r->digest,
	};

	vec_push(&r->f->actions, a);
}

static char *command_text(const struct script_command *c)
{
	cleanup_strbuf struct strbuf b = { 0 };

	for (size_t i = 0; i < c->count && b.len < 200; i++) {
		strbuf_adds(&b, i ? " " : "");
		for (const char *p = c->words[i]; *p && b.len < 200; p++)
			strbuf_addc(&b, (unsigned char)*p < ' ' ? ' ' : *p);
	}
	if (c->file)
		strbuf_addf(&b, " >%.*s", (int)strcspn(c->file, "\n"), c->file);
	return strbuf_steal(&b);
}

static const char *after(const struct script_command *c, const char *option)
{
	for (size_t i = 1; i + 1 < c->count; i++) {
		if (str_equal(c->words[i], option))
			return c->words[i + 1];
	}
	return NULL;
}

static struct rootfs_node *node_at(struct report *r, const char *path)
{
	struct error ignored = { 0 };
	const char *placed = *path == '/' ? rootfs_place(r->f->rootfs, path + 1, &ignored) : NULL;

	return placed ? rootfs_lookup(r->f->rootfs, placed) : NULL;
}

static bool leads_to(struct report *r, const char *link, const char *target)
{
	const struct rootfs_node *n = node_at(r, link);

	return n && n->tar->type == TAR_SYMLINK && str_equal(n->tar->link, target);
}

/* update-alternatives: done when its link leads to the choice, whichever that is. */
static void judge_alternative(struct report *r, const struct script_command *c, const char *text)
{
	const char *link = after(c, "--install"), *name = link ? after(c, link) : NULL;
	cleanup_free char *target = xasprintf("/etc/alternatives/%s", name ? name : "");

	if (after(c, "--remove") || after(c, "--remove-all") || after(c, "--auto"))
		return;
	if (!name || c->dynamic)
		add(r, SCRIPT_NOT_DONE, c->line, text);
	else if (leads_to(r, link, target))
		add(r, SCRIPT_DONE, c->line, text);
	else /* its choice was left out, or a package has a file there, which it would leave */
		add(r, SCRIPT_HARMLESS, c->line, text);
}

/* dpkg-divert: done when the path is diverted; one that is not has nothing to remove. */
static void judge_diversion(struct report *r, const struct script_command *c, const char *text)
{
	bool diverted = false, remove = false;

	for (size_t i = 1; i < c->count; i++) {
		remove |= str_equal(c->words[i], "--remove");
		for (size_t k = 0; k < r->f->rootfs->diversions.len && *c->words[i] == '/'; k++)
			diverted |=
				str_equal(c->words[i] + 1, r->f->rootfs->diversions.items[k].path);
		if (str_equal(c->words[i], "--list") || str_equal(c->words[i], "--truename") ||
		    str_equal(c->words[i], "--listpackage"))
			return;
	}
	if (!remove || diverted)
		add(r, diverted && !remove ? SCRIPT_DONE : SCRIPT_NOT_DONE, c->line, text);
}

static bool is_there(struct report *r, const char *path)
{
	return *path == '/' && rootfs_resolve(r->f->rootfs, path) != NULL;
}

/* Byte-code is never made: it would hold times, and programs run without. */
static bool compiles_python(const struct script_command *c)
{
	bool python =
		str_starts(c->words[0], "/usr/bin/python3") || str_equal(c->words[0], "python3");

	for (size_t i = 1; python && i < c->count; i++) {
		if (str_ends(c->words[i], "/py_compile.py"))
			return true;
	}
	return false;
}

/* "755" and "root:staff" of something that is there and has them. */
static bool has_attributes(struct report *r, const struct script_command *c)
{
	const char *colon = c->count == 3 ? strchr(c->words[1], ':') : NULL;
	const struct rootfs_node *n;
	cleanup_free char *user = NULL;
	uint64_t uid, gid, own;

	if (c->count != 3 || c->dynamic || c->words[2][0] != '/')
		return false;
	n = rootfs_resolve(r->f->rootfs, c->words[2]);
	if (!n)
		return false;
	if (str_equal(c->words[0], "chmod"))
		return c->words[1][0] >= '0' && c->words[1][0] <= '7' &&
		       strtoul(c->words[1], NULL, 8) == n->tar->mode;
	if (!str_equal(c->words[0], "chown") || !colon || !colon[1])
		return false;
	user = xstrndup(c->words[1], (size_t)(colon - c->words[1]));
	return finish_user(r->f, user, &uid, &own) && finish_group(r->f, colon + 1, &gid) &&
	       n->tar->uid == uid && n->tar->gid == gid;
}

/* Whether both lead to one file: in a merged root /bin/x and /usr/bin/x do. */
static bool are_one(struct report *r, const char *a, const char *b)
{
	return *a == '/' && *b == '/' && is_there(r, a) &&
	       rootfs_resolve(r->f->rootfs, a) == rootfs_resolve(r->f->rootfs, b);
}

/* ln -s TARGET LINK, or into a folder */
static bool has_link(struct report *r, const struct script_command *c)
{
	const char *target = c->count > 3 ? c->words[c->count - 2] : "",
		   *link = c->words[c->count - 1], *base = strrchr(target, '/');
	cleanup_free char *below = xasprintf("%s/%s", link, base ? base + 1 : target);

	return *target && *target != '-' &&
	       (leads_to(r, link, target) || leads_to(r, below, target) ||
		are_one(r, target, link));
}

/* cp FROM TO of two files that are the same in the image */
static bool has_copy(struct report *r, const struct script_command *c)
{
	const struct rootfs_node *from, *to;
	struct digest a, b;
	struct error ignored = { 0 };

	if (c->count != 3 || c->words[1][0] != '/' || c->words[2][0] != '/')
		return false;
	from = rootfs_file(r->f->rootfs, rootfs_resolve(r->f->rootfs, c->words[1]));
	to = rootfs_file(r->f->rootfs, rootfs_resolve(r->f->rootfs, c->words[2]));
	return from && to && from->owner && to->owner && from->tar->type == TAR_FILE &&
	       to->tar->type == TAR_FILE && rootfs_digest(rootfs_entry(from), &a, &ignored) == 0 &&
	       rootfs_digest(rootfs_entry(to), &b, &ignored) == 0 && digest_equal(&a, &b);
}

/* Whether anything is there that a pattern means. */
static bool matches(struct report *r, const char *pattern)
{
	struct rootfs_nodes nodes = { 0 };
	bool found = false;

	rootfs_sorted(r->f->rootfs, &nodes);
	for (size_t i = 0; i < nodes.len && !found; i++)
		found = fnmatch(pattern + 1, nodes.items[i]->tar->path, FNM_PATHNAME) == 0;
	vec_release(&nodes);
	return found;
}

/* mkdir and rm of paths that are all there, or all not. */
static bool are_there(struct report *r, const struct script_command *c, bool there)
{
	size_t count = 0;

	for (size_t i = 1; i < c->count; i++) {
		if (c->words[i][0] == '-' || (c->words[i][0] != '/' && there))
			continue; /* an option, or its value */
		if (c->words[i][0] != '/' ||
		    (strpbrk(c->words[i], "*?[") ? there || matches(r, c->words[i])
						 : is_there(r, c->words[i]) != there))
			return false;
		count++;
	}
	return count > 0;
}

/* mkdir, ln, cp, rm: where the image already is as they would leave it. */
static bool has_come_true(struct report *r, const struct script_command *c)
{
	if (c->dynamic || c->count < 2)
		return false;
	if (str_equal(c->words[0], "mkdir"))
		return are_there(r, c, true);
	if (str_equal(c->words[0], "rm") || str_equal(c->words[0], "rmdir"))
		return are_there(r, c, false);
	if (str_equal(c->words[0], "ln"))
		return has_link(r, c);
	return str_equal(c->words[0], "cp") && has_copy(r, c);
}

/* sed -i, find -delete: commands that usually only look. */
static bool changes_files(const struct script_command *c)
{
	for (size_t i = 1; i < c->count; i++) {
		if (str_starts(c->words[i], "-i") || str_equal(c->words[i], "-delete") ||
		    str_equal(c->words[i], "-exec") || str_equal(c->words[i], "--in-place"))
			return str_equal(c->words[0], "sed") || str_equal(c->words[0], "find");
	}
	return false;
}

/* useradd, groupadd: done when the account is there. */
static bool has_account(struct report *r, const struct script_command *c)
{
	const char *slash = strrchr(c->words[0], '/'), *word = slash ? slash + 1 : c->words[0];
	bool user = str_equal(word, "useradd");
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_free char *line = xasprintf("\n%s:", c->words[c->count - 1]);
	struct error ignored = { 0 };

	if (c->dynamic || c->count < 2 || (!user && !str_equal(word, "groupadd")))
		return false;
	strbuf_addc(&text, '\n');
	if (rootfs_read(r->f->rootfs, user ? "etc/passwd" : "etc/group", MIB, &text, &ignored) < 0)
		return false;
	return strstr(strbuf_text(&text), line) != NULL;
}

static bool is_scratch_path(const char *path)
{
	static const char *const places[] = { "/run/",     "/var/run/",           "/tmp/",
					      "/var/tmp/", "/var/lib/rpm-state/", "/var/cache/" };

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (str_starts(path, places[i]) && !strstr(path, ".."))
			return true;
	}
	return false;
}

/* What only changes places that are empty when a container starts, or are scratch of packages. */
static bool is_scratch(const struct script_command *c)
{
	static const char *const commands[] = { "mkdir", "chmod", "chown", "mv",
						"cp",    "ln",    "rm",    "install" };

	return c->count > 1 && listed(commands, ARRAY_LEN(commands), c->words[0]) &&
	       is_scratch_path(c->words[c->count - 1]);
}

/* Commands that change nothing: they only look, print or compute. */
static bool is_silent(const struct script_command *c)
{
	const char *word = c->words[0];

	if (c->file && !is_scratch_path(c->file))
		return false;
	if (str_equal(word, "}") || (str_equal(word, "exec") && c->count == 1))
		return true;
	return listed(silent, ARRAY_LEN(silent), word) && !changes_files(c);
}

/* Whether the image is as the command would have left it. */
static bool is_done(struct report *r, const struct script_command *c)
{
	if (finish_was_applied(r->f, r->c, r->script, c))
		return true;
	if (c->file && !is_scratch_path(c->file)) /* what is in it is not known */
		return false;
	return is_done_as_a_whole(r->f, c->words[0]) || has_come_true(r, c) ||
	       has_attributes(r, c) || has_account(r, c);
}

static void judge(struct report *r, const struct script_command *c)
{
	const char *word = c->words[0];
	cleanup_free char *text = command_text(c);

	if (!c->active || (c->condition && c->count < 2) || is_silent(c))
		return;
	if (is_done(r, c))
		add(r, SCRIPT_DONE, c->line, text);
	else if (str_ends(word, "alternatives"))
		judge_alternative(r, c, text);
	else if (str_equal(word, "dpkg-divert"))
		judge_diversion(r, c, text);
	else if (listed(harmless, ARRAY_LEN(harmless), word) || compiles_python(c) || is_scratch(c))
		add(r, SCRIPT_HARMLESS, c->line, text);
	else if (!c->condition)
		add(r, SCRIPT_NOT_DONE, c->line, text);
}

const char *finish_whole_script(const struct component *c, const char *script)
{
	for (size_t i = 0; i < ARRAY_LEN(reproduced); i++) {
		if (fnmatch(reproduced[i].package, c->name, 0) == 0 &&
		    str_equal(reproduced[i].script, script))
			return reproduced[i].what;
	}
	return NULL;
}

static bool report_language(struct report *r, struct slice text)
{
	if (slice_starts(text, "#!") && memmem(text.data, MIN(text.len, (size_t)64), "sh", 2))
		return false;
	add(r, SCRIPT_NOT_DONE, 1, "a script in another language than sh");
	return true;
}

/* A scriptlet of an .rpm names its interpreter apart; without a text that is the command. */
static bool report_interpreter(struct report *r)
{
	static const char *const shells[] = { "sh", "bash", "dash", "ksh" };
	const char *words[] = { r->script->interpreter };
	const struct script_command alone = { .words = words, .count = 1, .active = true };

	if (listed(shells, ARRAY_LEN(shells), words[0]))
		return false; /* without a text nothing is found in it */
	if (!r->script->len) {
		judge(r, &alone);
		return true;
	}
	add(r, SCRIPT_NOT_DONE, 1,
	    str_equal(words[0], "<lua>") ? "a script in Lua"
					 : "a script in another language than sh");
	return true;
}

static void report_script(struct report *r)
{
	struct slice text = slice_of(r->script->text, r->script->len);
	struct script_commands commands = { 0 };
	struct arena arena = { 0 };

	r->digest = digest_of(text);
	r->accepted = is_acknowledged(r->f, &r->digest);
	if (finish_whole_script(r->c, r->script->name)) {
		add(r, SCRIPT_DONE, 0, finish_whole_script(r->c, r->script->name));
		return;
	}
	if (r->script->interpreter ? report_interpreter(r) : report_language(r, text))
		return;
	finish_script(r->f, r->c, r->script, &arena, &commands);
	for (size_t i = 0; i < commands.len; i++)
		judge(r, &commands.items[i]);
	vec_release(&commands);
	arena_release(&arena);
}

/* Scripts of a first installation, of both kinds of packages. */
static const char *const installing[] = {
	"preinst", "postinst",  "pretrans",    "pre",
	"post",    "posttrans", "filetrigger", "transfiletrigger"
};

int finish_scripts(struct finish *f, struct error *err)
{
	(void)err;
	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		const struct component *c = f->rootfs->parts.items[i].component;

		for (size_t k = 0; k < c->scripts.len; k++) {
			struct report r = { .f = f, .c = c, .script = &c->scripts.items[k] };

			if (listed(installing, ARRAY_LEN(installing), r.script->name))
				report_script(&r);
		}
	}
	return 0;
}
