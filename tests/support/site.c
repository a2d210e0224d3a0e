#include "tests/support/site.h"

#include "builder/plan.h"
#include "tests/support/test.h"

void site_release(struct site *s)
{
	vec_release(&s->finish.actions);
	vec_release(&s->finish.overrides);
	rootfs_release(&s->rootfs);
	stack_release(&s->stack);
	arena_release(&s->arena);
}

void site_open(struct site *s, const char *image)
{
	cleanup_free char *text = xasprintf("gpuimg: 1\nname: a/b\ntag: \"1\"\n"
					    "platforms: [linux/amd64]\nstack: {}\nsources: []\n"
					    "stages: { runtime: { profile: base } }\nimage: %s\n",
					    image);
	struct error err = { 0 };

	assert_ok(stack_parse(slice_str(text), "stack.yaml", &s->stack, &err), err);
	s->solved = (struct lock_stack){ .driver = "",
					 .cuda = "",
					 .cudnn = "",
					 .nccl = "",
					 .python = "",
					 .cuda_release = "",
					 .require_cuda = "" };
	s->finish = (struct finish){ .rootfs = &s->rootfs,
				     .stack = &s->stack,
				     .stage = &s->stack.stages[0],
				     .solved = &s->solved,
				     .platform = { "linux", "amd64", NULL },
				     .final = true,
				     .arena = &s->arena };
}

void site_add(struct site *s, struct component *c)
{
	struct error err = { 0 };

	assert_ok(rootfs_add(&s->rootfs, c, &err), err);
}

int site_finish(struct site *s, struct error *err)
{
	s->finish.cuda = component_new(COMPONENT_FINISH, PLAN_CUDA, "");
	s->finish.metadata = component_new(COMPONENT_FINISH, PLAN_METADATA, "");
	rootfs_attach(&s->rootfs, s->finish.cuda);
	rootfs_attach(&s->rootfs, s->finish.metadata);
	return finish_run(&s->finish, err);
}

void site_finish_well(struct site *s)
{
	struct error err = { 0 };

	assert_ok(site_finish(s, &err), err);
}

char *site_text(struct site *s, const char *path)
{
	cleanup_strbuf struct strbuf b = { 0 };
	struct error err = { 0 };

	assert_ok(rootfs_read(&s->rootfs, path, 4 * MIB, &b, &err), err);
	strbuf_adds(&b, "");
	return strbuf_steal(&b);
}

const char *site_link(struct site *s, const char *path)
{
	const struct rootfs_node *n = rootfs_lookup(&s->rootfs, path);

	if (!n || n->tar->type != TAR_SYMLINK)
		fail_msg("%s is no link", path);
	return n->tar->link;
}

const struct build_action *site_action(struct site *s, const char *package, const char *part)
{
	for (size_t i = 0; i < s->finish.actions.len; i++) {
		const struct build_action *a = &s->finish.actions.items[i];

		if (str_equal(a->package, package) && strstr(a->text, part))
			return a;
	}
	return NULL;
}
