/*
 * What the scripts and settings of a hostile package make of the tree. The input is cut at zero
 * bytes: postinst, preinst, files of tmpfiles.d and sysusers.d, a profile of PAM. Properties: any
 * text ends, and every path of the tree is a clean one.
 */
#include "builder/finish/finish.h"
#include "builder/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_package(struct rootfs *r, struct component *c)
{
	struct error err = { 0 };

	c->arch = "amd64";
	c->control = slice_str("Package: p\nVersion: 1\nArchitecture: amd64\nDescription: x\n");
	finish_diversions(c, r);
	if (rootfs_add(r, c, &err) < 0)
		abort();
}

static struct component *helpers(void)
{
	static const char *const programs[] = { "usr/bin/systemd-tmpfiles", "usr/bin/tool",
						"usr/bin/systemd-sysusers", "usr/sbin/setcap",
						"usr/lib/x86_64-linux-gnu/libx.so.1" };
	struct component *c = component_new(COMPONENT_DEB, "helpers", "1");

	for (size_t i = 0; i < ARRAY_LEN(programs); i++)
		component_add_text(c, programs[i], 0755, slice_str("x"));
	component_add_text(c, "usr/share/base-passwd/group.master", 0644,
			   slice_str("root:*:0:\nadm:*:4:\nstaff:*:50:\n"));
	component_add_symlink(c, "usr/up", "../..");
	component_add_symlink(c, "usr/lib/link", "/usr/bin");
	return c;
}

static struct component *hostile(struct slice rest)
{
	static const char *const names[] = { "postinst", "preinst" };
	static const char *const files[] = { "usr/lib/tmpfiles.d/p.conf",
					     "usr/lib/sysusers.d/p.conf",
					     "usr/share/pam-configs/p" };
	struct component *c = component_new(COMPONENT_DEB, "p", "1");
	struct slice part;

	for (size_t i = 0; i < ARRAY_LEN(names) && slice_cut(&rest, 0, &part); i++) {
		struct component_script s = { .name = names[i], .len = part.len };

		s.text = arena_slice(&c->arena, part);
		vec_push(&c->scripts, s);
	}
	for (size_t i = 0; i < ARRAY_LEN(files) && slice_cut(&rest, 0, &part); i++)
		component_add_text(c, files[i], 0644, part);
	component_add_text(c, "usr/bin/p", 0755, slice_str("p"));
	return c;
}

static void check(const struct rootfs *r)
{
	struct rootfs_nodes nodes = { 0 };

	rootfs_sorted(r, &nodes);
	for (size_t i = 0; i < nodes.len; i++) {
		struct slice path = slice_str(nodes.items[i]->tar->path);

		assert(!slice_has_part(path, ".") && !slice_has_part(path, ".."));
		assert(!path.len || !slice_has_part(path, ""));
	}
	vec_release(&nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char manifest[] =
		"gpuimg: 1\nname: a/b\ntag: \"1\"\nplatforms: [linux/amd64]\n"
		"stack: {}\nsources: []\nstages: { a: { profile: base } }\n"
		"image: {}\n";
	const struct lock_stack solved = { .driver = "",
					   .cuda = "",
					   .cudnn = "",
					   .nccl = "",
					   .python = "",
					   .cuda_release = "",
					   .require_cuda = "" };
	struct rootfs rootfs = { 0 };
	struct stack stack = { 0 };
	struct arena arena = { 0 };
	struct error err = { 0 };
	struct finish f = { .rootfs = &rootfs,
			    .stack = &stack,
			    .solved = &solved,
			    .platform = { "linux", "amd64", NULL },
			    .final = true,
			    .arena = &arena };

	if (stack_parse(slice_str(manifest), "stack.yaml", &stack, &err) < 0 ||
	    rootfs_add(&rootfs, finish_filesystem(&f.platform, true), &err) < 0)
		abort();
	f.stage = &stack.stages[0];
	add_package(&rootfs, helpers());
	add_package(&rootfs, hostile(slice_of(data, size)));
	f.cuda = component_new(COMPONENT_FINISH, PLAN_CUDA, "");
	f.metadata = component_new(COMPONENT_FINISH, PLAN_METADATA, "");
	rootfs_attach(&rootfs, f.cuda);
	rootfs_attach(&rootfs, f.metadata);
	if (finish_run(&f, &err) < 0)
		assert(*err.text);
	check(&rootfs);
	vec_release(&f.actions);
	vec_release(&f.overrides);
	rootfs_release(&rootfs);
	stack_release(&stack);
	arena_release(&arena);
	return 0;
}
