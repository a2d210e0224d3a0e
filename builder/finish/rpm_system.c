/*
 * What the scriptlets of filesystem, crypto-policies and systemd leave behind in images made of
 * .rpms: two links of /var, the folders that every program assumes, the back ends of the
 * cryptographic policy, and an empty machine-id.
 * Source: filesystem.spec and crypto-policies.spec of Fedora and CentOS Stream;
 * update-crypto-policies(8).
 */
#include "builder/finish/finish.h"

#define POLICIES "usr/share/crypto-policies"
#define CONFIGURED "etc/crypto-policies"

static void folders(struct finish *f)
{
	static const char *const dirs[] = { "dev", "home", "proc", "root",   "run",
					    "sys", "tmp",  "var",  "var/tmp" };

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		struct tar_entry tar;

		rootfs_default_dir(dirs[i], &tar);
		finish_dir(f, dirs[i], tar.mode, 0, 0);
	}
	finish_dir(f, "run/lock", 0755, 0, 0);
	finish_link(f, "var/run", "../run");
	finish_link(f, "var/lock", "../run/lock");
}

/* The first line that says something; a policy and its modules are joined with ":". */
static int read_policy(struct finish *f, struct strbuf *out, struct error *err)
{
	static const char *const files[] = { CONFIGURED "/config", POLICIES "/default-config" };

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		cleanup_strbuf struct strbuf text = { 0 };
		struct slice rest, line;

		if (!rootfs_resolve(f->rootfs, files[i]))
			continue;
		if (rootfs_read(f->rootfs, files[i], MIB, &text, err) < 0)
			return -1;
		rest = strbuf_slice(&text);
		while (slice_cut(&rest, '\n', &line)) {
			line = slice_trim(line);
			if (!line.len || line.data[0] == '#')
				continue;
			strbuf_add(out, line.data, line.len);
			return 0;
		}
	}
	strbuf_adds(out, "DEFAULT");
	return 0;
}

/* Each "gnutls.txt" of the policy as back-ends/gnutls.config. */
static int crypto_policy(struct finish *f, struct error *err)
{
	cleanup_strbuf struct strbuf policy = { 0 };
	cleanup_free char *dir = NULL, *line = NULL;
	struct rootfs_nodes files = { 0 };

	if (!rootfs_component(f->rootfs, COMPONENT_RPM, "crypto-policies"))
		return 0;
	if (read_policy(f, &policy, err) < 0)
		return -1;
	dir = xasprintf(POLICIES "/%s", strbuf_text(&policy));
	line = xasprintf("%s\n", strbuf_text(&policy));
	if (strchr(strbuf_text(&policy), '/') || !rootfs_resolve(f->rootfs, dir))
		return 0; /* the report on scripts says that it was not done */
	rootfs_list(f->rootfs, dir, &files);
	for (size_t i = 0; i < files.len; i++) {
		const char *path = files.items[i]->tar->path, *name = strrchr(path, '/') + 1;
		size_t len = strcspn(name, ".");
		cleanup_free char *link = NULL, *target = NULL;

		if (!str_ends(name, ".txt"))
			continue;
		link = xasprintf(CONFIGURED "/back-ends/%.*s.config", (int)len, name);
		target = xasprintf("/%s", path);
		finish_link(f, link, target);
	}
	vec_release(&files);
	finish_text(f, CONFIGURED "/config", 0644, slice_str(line));
	finish_text(f, CONFIGURED "/state/current", 0644, slice_str(line));
	return 0;
}

int finish_rpm_system(struct finish *f, struct error *err)
{
	if (!finish_has_rpms(f))
		return 0;
	if (rootfs_component(f->rootfs, COMPONENT_RPM, "filesystem"))
		folders(f);
	if (rootfs_component(f->rootfs, COMPONENT_RPM, "setup"))
		finish_text(f, "etc/machine-id", 0444, slice_str(""));
	return crypto_policy(f, err);
}
