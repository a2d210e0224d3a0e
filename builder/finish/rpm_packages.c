/*
 * The database of installed .rpms, so that rpm, dnf and scanners go on from it. It lies where the
 * packages' own rpm looks: /usr/lib/sysimage/rpm when a package brings that folder, else
 * /var/lib/rpm. Over a base image its own database goes on, and what a newer package does not have
 * any more goes.
 */
#include "builder/finish/finish.h"
#include "formats/pkgdb.h"
#include "formats/rpm_database.h"

struct packages {
	struct finish *f;
	struct arena arena;
	struct rpm_installed *items;
	size_t len, cap;
};

static void packages_release(struct packages *p)
{
	vec_release(p);
	arena_release(&p->arena);
}

/* The package of ours that takes the place of one of the base image, or NULL. */
static const struct rootfs_part *successor(struct finish *f, const char *name, const char *arch)
{
	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		const struct rootfs_part *part = &f->rootfs->parts.items[i];
		const struct component *c = part->component;

		if (c->kind == COMPONENT_RPM && str_equal(c->name, name) &&
		    (str_equal(c->arch, arch) || str_equal(c->arch, "noarch") ||
		     str_equal(arch, "noarch")))
			return part;
	}
	return NULL;
}

static void remove_file(struct finish *f, const struct map *brought, const char *dir,
			const char *name)
{
	cleanup_free char *path = xasprintf("%s%s", dir + (*dir == '/'), name);
	struct error ignored = { 0 };
	const char *placed = *path ? rootfs_place(f->rootfs, path, &ignored) : NULL;
	struct rootfs_node *n = placed ? rootfs_lookup(f->rootfs, placed) : NULL;

	/* configuration stays, as with rpm */
	if (n && n->tar->type != TAR_DIR && n->owner && n->owner->kind == COMPONENT_BASE &&
	    !map_has(brought, placed) && !str_starts(placed, "etc/"))
		rootfs_remove(f->rootfs, n);
}

/* What the version before had and ours has not. */
static void remove_old(struct finish *f, const struct rootfs_part *part,
		       const struct rpm_header *old)
{
	struct rpm_value names = { 0 }, dirs = { 0 }, dir_of = { 0 };
	cleanup_map struct map brought = { 0 };
	cleanup_free const char **folders = NULL;
	const char *name;
	uint32_t count;

	for (size_t i = 0; i < part->nodes.len; i++) {
		if (part->nodes.items[i])
			map_put(&brought, part->nodes.items[i]->tar->path, f);
	}
	rpm_header_find(old, RPMTAG_BASENAMES, &names);
	rpm_header_find(old, RPMTAG_DIRNAMES, &dirs);
	rpm_header_find(old, RPMTAG_DIRINDEXES, &dir_of);
	count = dirs.count;
	folders = xcalloc((size_t)count + 1, sizeof(*folders));
	for (uint32_t i = 0; i < count; i++)
		folders[i] = rpm_value_next(&dirs);
	for (size_t i = 0; (name = rpm_value_next(&names)); i++) {
		uint64_t dir = UINT64_MAX;

		if (rpm_value_number(&dir_of, i, &dir) && dir < count && folders[dir])
			remove_file(f, &brought, folders[dir], name);
	}
}

/* One package of the base image: it stays, or makes room. */
static int take_base(void *user, struct slice blob, struct error *err)
{
	struct packages *p = user;
	const struct rootfs_part *part;
	cleanup_free char *evr = NULL;
	const char *name, *arch;
	struct rpm_header h;

	if (rpm_header_parse(blob, &h, err) < 0)
		return -1;
	if (!rpm_header_identity(&h, &name, &evr, &arch))
		return error_set(err, ERROR_FORMAT, "header: no proper name, version and release");
	part = successor(p->f, name, arch);
	if (part) {
		remove_old(p->f, part, &h);
		return 0;
	}
	vec_push(p, ((struct rpm_installed){
			    .stored = slice_of(arena_slice(&p->arena, blob), blob.len) }));
	return 0;
}

static bool has_any(const struct packages *p)
{
	for (size_t i = 0; i < p->len; i++) {
		if (!p->items[i].stored.len)
			return true;
	}
	return false;
}

static void take_own(struct packages *p)
{
	for (size_t i = 0; i < p->f->rootfs->parts.len; i++) {
		const struct component *c = p->f->rootfs->parts.items[i].component;

		if (c->kind == COMPONENT_RPM)
			vec_push(p, ((struct rpm_installed){ .header = c->rpm_header,
							     .signature = c->rpm_signature,
							     .color = 3 }));
	}
}

static int write_new(struct finish *f, const struct strbuf *text)
{
	bool image = rootfs_resolve(f->rootfs, "usr/lib/sysimage/rpm") != NULL;

	if (image)
		finish_link(f, "var/lib/rpm", "../../usr/lib/sysimage/rpm");
	else
		finish_dir(f, "var/lib/rpm", 0755, 0, 0);
	finish_text(f, image ? "usr/lib/sysimage/rpm/rpmdb.sqlite" : "var/lib/rpm/rpmdb.sqlite",
		    0644, strbuf_slice(text));
	return 0;
}

/* The base image's own is of a form that is only read. */
static void report_form(struct finish *f)
{
	struct build_action action = {
		.fate = SCRIPT_NOT_DONE,
		.package = "rpm",
		.script = "database",
		.text = arena_printf(f->arena,
				     "the packages added stand in no database: the base "
				     "image's /%s is of an older form",
				     f->base->rpm_path),
	};

	vec_push(&f->actions, action);
}

int finish_rpm_database(struct finish *f, struct error *err)
{
	const char *base = f->base ? f->base->rpm_path : NULL;
	cleanup(packages_release) struct packages packages = { .f = f };
	const struct pkgdb_taker taker = { take_base, &packages };
	cleanup_strbuf struct strbuf text = { 0 };

	if (!finish_has_rpms(f))
		return 0;
	if (base && pkgdb_rpm_each(strbuf_slice(&f->base->rpm_database), &taker, err) < 0)
		return error_wrap(err, "/%s of the base image", base);
	take_own(&packages);
	if (!has_any(&packages))
		return 0;
	if (base && !str_ends(base, ".sqlite")) {
		report_form(f);
		return 0;
	}
	if (rpm_database_write(packages.items, packages.len, (uint32_t)FIXED_MTIME, &text, err) < 0)
		return -1;
	return base ? finish_update(f, base, 0644, strbuf_slice(&text), err) : write_new(f, &text);
}
