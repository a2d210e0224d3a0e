#include "builder/finish/finish.h"

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

/* A path counts as taken when it is there under its own name or under what its links lead to. */
static bool is_taken(struct finish *f, const char *path)
{
	struct error ignored = { 0 };
	const char *placed = rootfs_place(f->rootfs, path, &ignored);

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

	if (n && n->tar.type == TAR_DIR)
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

	if (!n || n->tar.type == TAR_DIR)
		return 0;
	n = rootfs_resolve(f->rootfs, path);
	if (!n || n->tar.type != TAR_FILE)
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
	if (n->tar.type == TAR_FILE) {
		new = digest_of(text);
		if (rootfs_digest(rootfs_entry(n), &old, err) < 0)
			return -1;
		if (digest_equal(&old, &new))
			return 0;
	}
	e = component_add_text(f->metadata, path, n->tar.type == TAR_FILE ? n->tar.mode : mode,
			       text);
	e->tar.uid = n->tar.type == TAR_FILE ? n->tar.uid : 0;
	e->tar.gid = n->tar.type == TAR_FILE ? n->tar.gid : 0;
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

	if (n && n->tar.type == TAR_SYMLINK && !str_equal(n->tar.link, target))
		component_add_symlink(f->metadata, path, target);
	else
		finish_link(f, path, target);
}

void finish_dir(struct finish *f, const char *path, uint32_t mode, uint64_t uid, uint64_t gid)
{
	struct component_entry *e;

	if (is_taken(f, path))
		return;
	e = component_add_dir(f->metadata, path, mode);
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

int finish_run(struct finish *f, struct error *err)
{
	static const struct {
		const char *what;
		int (*run)(struct finish *f, struct error *err);
	} actions[] = {
		{ "system files", finish_system_files },
		{ "system files", finish_rpm_system },
		{ "accounts", finish_accounts },
		{ "certificates", finish_certificates },
		{ "certificates", finish_rpm_certificates },
		{ "alternatives", finish_alternatives },
		{ "CUDA links", finish_cuda },
		{ "loader cache", finish_loader },
		{ "package database", finish_dpkg },
		{ "package database", finish_rpm_database },
		{ "report on scripts", finish_scripts },
	};

	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		if (actions[i].run(f, err) < 0 || finish_flush(f, err) < 0)
			return error_wrap(err, "%s", actions[i].what);
	}
	return 0;
}
