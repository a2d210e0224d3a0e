/*
 * Alternatives: a script that registers some, over a base image with a record of the name "x" (what
 * stands before the first zero byte). Any text ends, and what is made of it are links below
 * /etc/alternatives, links to them, and records.
 */
#include "builder/finish/finish.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct component_entry *e)
{
	static const char links[] = "etc/alternatives/", records[] = "var/lib/dpkg/alternatives/";

	assert(!slice_has_part(slice_str(e->tar.path), "..") && e->tar.path[0] != '/');
	if (e->tar.type == TAR_FILE)
		assert(str_starts(e->tar.path, records) &&
		       !strchr(e->tar.path + strlen(records), '/'));
	else if (e->tar.type == TAR_SYMLINK && !str_starts(e->tar.link, "/etc/alternatives/"))
		assert(str_starts(e->tar.path, links) &&
		       !strchr(e->tar.path + strlen(links), '/') && e->tar.link[0] == '/');
	else
		assert(e->tar.type == TAR_DIR || e->tar.type == TAR_SYMLINK);
}

static struct component *base_with(struct slice record)
{
	struct component *c = component_new(COMPONENT_BASE, "base", "");

	component_add_text(c, "var/lib/dpkg/alternatives/x", 0644, record);
	component_add_text(c, "usr/bin/a", 0755, slice_str("a"));
	component_add_text(c, "usr/bin/b", 0755, slice_str("b"));
	return c;
}

static struct component *package_with(struct slice script)
{
	struct component *c = component_new(COMPONENT_DEB, "p", "1");
	struct component_script s = { .name = "postinst", .len = script.len };

	c->arch = "amd64";
	s.text = arena_slice(&c->arena, script);
	vec_push(&c->scripts, s);
	return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = slice_of(data, size), record = { 0 };
	struct rootfs rootfs = { 0 };
	struct base_image base = { 0 };
	struct error err = { 0 };
	const struct lock_stack solved = { .cuda = "13.0" };
	struct finish f = { .rootfs = &rootfs,
			    .platform = { "linux", "amd64", NULL },
			    .base = &base,
			    .solved = &solved };

	slice_cut(&rest, 0, &record);
	f.metadata = component_new(COMPONENT_FINISH, "metadata", "");
	f.cuda = component_new(COMPONENT_FINISH, "cuda", "");
	if (rootfs_add(&rootfs, base_with(record), &err) == 0 &&
	    rootfs_add(&rootfs, package_with(rest.data ? rest : slice_str("")), &err) == 0) {
		rootfs_attach(&rootfs, f.cuda);
		rootfs_attach(&rootfs, f.metadata);
		if (finish_alternatives(&f, &err) == 0) {
			for (size_t i = 0; i < f.metadata->entries.len; i++)
				check(&f.metadata->entries.items[i]);
		}
	}
	rootfs_release(&rootfs);
	return 0;
}
