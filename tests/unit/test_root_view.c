/* Both ways of making a container's root, with the modes that use them, on a root without anything.
 */
#include "tests/support/test.h"

#include "base/fs.h"
#include "base/process.h"
#include "testkernels/run_mode.h"

struct fixture {
	char *dir, *root, *scratch, *edits;
	struct image_loader loader;
	struct image_config config;
	struct image_user user;
	struct run_context run;
	struct error err;
};

static void copy_file(const char *from, const char *to)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	assert_ok(fs_read(AT_FDCWD, from, 64 * MIB, &text, &err), err);
	assert_ok(fs_write(AT_FDCWD, to, strbuf_slice(&text), 0755, &err), err);
}

static void put_library(const struct fixture *f, const char *name)
{
	static const char *const dirs[] = { "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64",
					    "/usr/lib" };
	cleanup_free char *to = xasprintf("%s/lib/%s", f->root, name);

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		cleanup_free char *from = fs_join(dirs[i], name);

		if (access(from, R_OK) == 0) {
			copy_file(from, to);
			return;
		}
	}
	skip();
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	cleanup_free char *lib = NULL, *lib64 = NULL, *loader = NULL;

	f->dir = test_dir();
	f->root = fs_join(f->dir, "root");
	f->scratch = fs_join(f->dir, "scratch");
	f->edits = fs_join(f->dir, "edits");
	lib = fs_join(f->root, "lib");
	lib64 = fs_join(f->root, "lib64");
	loader = fs_join(lib64, "ld-linux-x86-64.so.2");
	assert_ok(fs_mkdirs(AT_FDCWD, lib, &f->err), f->err);
	assert_ok(fs_mkdirs(AT_FDCWD, lib64, &f->err), f->err);
	assert_ok(fs_mkdirs(AT_FDCWD, f->scratch, &f->err), f->err);
	assert_ok(fs_mkdirs(AT_FDCWD, f->edits, &f->err), f->err);
	f->loader = (struct image_loader){ .path = "lib64/ld-linux-x86-64.so.2",
					   .machine = ELF_MACHINE_X86_64 };
	f->user = (struct image_user){ .home = "/" };
	f->run = (struct run_context){ .scratch = f->scratch,
				       .root = f->root,
				       .loader = &f->loader,
				       .config = &f->config,
				       .user = &f->user,
				       .timeout_ms = 60000 };
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	test_dir_free(f->dir);
	free(f->root);
	free(f->scratch);
	free(f->edits);
	free(f);
	return 0;
}

/* The probe answers in this mode on this kind of root, and the tree is as it was. */
static void answers(struct fixture *f, const struct run_mode *mode, enum root_view_kind kind)
{
	cleanup_launch struct launch_result result = { 0 };
	struct fs_names names = { 0 };

	if (access("/lib64/ld-linux-x86-64.so.2", R_OK) != 0 || !process_available(mode->program))
		skip();
	{
		cleanup_free char *to = xasprintf("%s/lib64/ld-linux-x86-64.so.2", f->root);

		copy_file("/lib64/ld-linux-x86-64.so.2", to);
	}
	put_library(f, "libc.so.6");
	put_library(f, "libdl.so.2");
	f->run.view = kind;
	if (kind == ROOT_VIEW_OVERLAY && root_view_choose(f->scratch) != ROOT_VIEW_OVERLAY)
		skip();
	assert_ok(mode->run(&f->run, slice_str(""), &result, &f->err), f->err);
	if (!strstr(strbuf_text(&result.lines), "{\"ok\":1}")) {
		/* a machine that forbids namespaces is no fault of ours */
		if (strstr(strbuf_text(&result.words), "not permitted"))
			skip();
		fail_msg("%s: %s", mode->name, strbuf_text(&result.words));
	}
	assert_ok(fs_list(AT_FDCWD, f->root, &names, &f->err), f->err);
	assert_int_equal(names.len, 2);
	fs_names_release(&names);
}

static void test_bubblewrap_on_an_overlay(void **state)
{
	answers(*state, &run_mode_bwrap, ROOT_VIEW_OVERLAY);
}

static void test_bubblewrap_on_hard_links(void **state)
{
	answers(*state, &run_mode_bwrap, ROOT_VIEW_LINKS);
}

static void test_runc_on_an_overlay(void **state)
{
	answers(*state, &run_mode_runc, ROOT_VIEW_OVERLAY);
}

static void test_runc_on_hard_links(void **state)
{
	answers(*state, &run_mode_runc, ROOT_VIEW_LINKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bubblewrap_on_an_overlay, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bubblewrap_on_hard_links, setup, teardown),
		cmocka_unit_test_setup_teardown(test_runc_on_an_overlay, setup, teardown),
		cmocka_unit_test_setup_teardown(test_runc_on_hard_links, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
