/*
 * What a toolkit installation has besides its packages: /usr/local/cuda, lib64 and include, and
 * the link-time stub, which stands in lib64/stubs of every profile and on no run-time path.
 */
#include "builder/finish/finish.h"
#include "builder/stub.h"

static bool has_cuda(const struct finish *f)
{
	return f->solved->cuda && *f->solved->cuda;
}

static void link_cuda(struct finish *f, const char *path, const char *target)
{
	struct error ignored = { 0 };
	const char *placed = rootfs_place(f->rootfs, path, &ignored);

	if (placed && !rootfs_lookup(f->rootfs, placed))
		component_add_symlink(f->cuda, path, target);
}

static int add_stub(struct finish *f, const char *root, struct error *err)
{
	cleanup_strbuf struct strbuf stub = { 0 };
	cleanup_free char *path = xasprintf("%s/targets/%s/lib/stubs/libcuda.so", root,
					    finish_cuda_target(&f->platform));
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
	const char *target = finish_cuda_target(&f->platform);
	cleanup_free char *root = NULL, *lib64 = NULL, *include = NULL, *lib_target = NULL,
			  *include_target = NULL, *link = NULL, *headers = NULL;

	if (!has_cuda(f))
		return 0;
	root = xasprintf("usr/local/cuda-%s", f->solved->cuda);
	lib64 = xasprintf("%s/lib64", root);
	include = xasprintf("%s/include", root);
	lib_target = xasprintf("targets/%s/lib", target);
	include_target = xasprintf("targets/%s/include", target);
	headers = xasprintf("%s/%s", root, include_target);
	link = xasprintf("cuda-%s", f->solved->cuda);
	if (add_stub(f, root, err) < 0)
		return -1;
	link_cuda(f, "usr/local/cuda", link);
	link_cuda(f, lib64, lib_target);
	if (rootfs_lookup(f->rootfs, headers))
		link_cuda(f, include, include_target);
	return finish_flush(f, err);
}
