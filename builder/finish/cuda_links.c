/*
 * What a toolkit installation has besides its packages: /usr/local/cuda, lib64 and include, and
 * the link-time stub, which stands in lib64/stubs of every profile and on no run-time path.
 */
#include "builder/finish/finish.h"
#include "builder/stub.h"

char *finish_toolkit(const struct finish *f)
{
	if (!f->solved->cuda || !*f->solved->cuda)
		return NULL;
	return xasprintf("usr/local/cuda-%s", f->solved->cuda);
}

static void link_cuda(struct finish *f, const char *path, const char *target)
{
	struct error ignored = { 0 };
	const char *placed = rootfs_place(f->rootfs, path, &ignored);

	if (placed && !rootfs_lookup(f->rootfs, placed))
		component_add_symlink(f->cuda, path, target);
}

static bool is_dir(struct finish *f, const char *path)
{
	const struct rootfs_node *n = rootfs_resolve(f->rootfs, path);

	return n && n->tar->type == TAR_DIR;
}

/*
 * lib64 and include lead to where the toolkit has its files: targets/TARGET as packages and our
 * own placing have them, or lib beside it as in a folder that was unpacked from wheels.
 */
static int link_folders(struct finish *f, const char *root, struct error *err)
{
	const char *target = finish_cuda_target(&f->platform);
	cleanup_free char *lib = xasprintf("%s/lib", root), *lib64 = xasprintf("%s/lib64", root),
			  *include = xasprintf("%s/include", root),
			  *targets = xasprintf("%s/targets/%s", root, target),
			  *headers = xasprintf("%s/include", targets),
			  *lib_target = xasprintf("targets/%s/lib", target),
			  *include_target = xasprintf("targets/%s/include", target);

	link_cuda(f, lib64, is_dir(f, lib) && !is_dir(f, targets) ? "lib" : lib_target);
	if (is_dir(f, headers))
		link_cuda(f, include, include_target);
	return finish_flush(f, err);
}

static int add_stub(struct finish *f, const char *root, struct error *err)
{
	cleanup_strbuf struct strbuf stub = { 0 };
	cleanup_free char *path = xasprintf("%s/lib64/stubs/libcuda.so", root);
	struct rootfs_node *there = rootfs_resolve(f->rootfs, path);

	if (there && there->owner)
		return 0; /* a package brought one */
	if (stub_write(f->platform.architecture, &stub, err) < 0)
		return -1;
	component_add_text(f->cuda, path, 0644, strbuf_slice(&stub));
	return 0;
}

int finish_cuda(struct finish *f, struct error *err)
{
	cleanup_free char *root = finish_toolkit(f);

	if (!root)
		return 0;
	link_cuda(f, "usr/local/cuda", strrchr(root, '/') + 1);
	if (link_folders(f, root, err) < 0 || add_stub(f, root, err) < 0)
		return -1;
	return finish_flush(f, err);
}
