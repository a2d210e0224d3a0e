/*
 * The database of installed .rpms, so that rpm, dnf and scanners go on from it. It lies where the
 * packages' own rpm looks: /usr/lib/sysimage/rpm when a package brings that folder, else
 * /var/lib/rpm.
 */
#include "builder/finish/finish.h"
#include "formats/rpm_database.h"

struct packages {
	struct rpm_installed *items;
	size_t len, cap;
};

static void collect(struct finish *f, struct packages *out)
{
	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		const struct component *c = f->rootfs->parts.items[i].component;

		if (c->kind == COMPONENT_RPM)
			vec_push(out, ((struct rpm_installed){ .header = c->rpm_header,
							       .signature = c->rpm_signature,
							       .color = 3 }));
	}
}

int finish_rpm_database(struct finish *f, struct error *err)
{
	const struct rootfs_node *image = rootfs_resolve(f->rootfs, "usr/lib/sysimage/rpm");
	cleanup_strbuf struct strbuf text = { 0 };
	struct packages packages = { 0 };
	int rc;

	collect(f, &packages);
	rc = packages.len ? rpm_database_write(packages.items, packages.len, (uint32_t)FIXED_MTIME,
					       &text, err)
			  : 0;
	if (rc == 0 && packages.len) {
		if (image)
			finish_link(f, "var/lib/rpm", "../../usr/lib/sysimage/rpm");
		else
			finish_dir(f, "var/lib/rpm", 0755, 0, 0);
		finish_text(
			f, image ? "usr/lib/sysimage/rpm/rpmdb.sqlite" : "var/lib/rpm/rpmdb.sqlite",
			0644, strbuf_slice(&text));
	}
	vec_release(&packages);
	return rc;
}
