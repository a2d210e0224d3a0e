#include "tests/support/test.h"

#include "base/fs.h"
#include "testkernels/image_user.h"

struct fixture {
	char *dir;
	int fd;
	struct arena arena;
	struct image_user user;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct error err = { 0 };

	f->dir = test_dir();
	f->fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_ok(fs_mkdirs(f->fd, "etc", &err), err);
	assert_ok(
		fs_write(
			f->fd, "etc/passwd",
			slice_str("root:x:0:0::/root:/bin/sh\napp:x:1000:100::/home/app:/bin/sh\n"),
			0644, &err),
		err);
	assert_ok(fs_write(f->fd, "etc/group",
			   slice_str("root:x:0:\nusers:x:100:\nvideo:x:44:app,other\n"), 0644,
			   &err),
		  err);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->fd);
	arena_release(&f->arena);
	test_dir_free(f->dir);
	free(f);
	return 0;
}

static void test_a_name_gives_its_numbers_home_and_groups(void **state)
{
	struct fixture *f = *state;

	image_user_find(f->fd, "app", &f->arena, &f->user);
	assert_int_equal(f->user.uid, 1000);
	assert_int_equal(f->user.gid, 100);
	assert_string_equal(f->user.home, "/home/app");
	assert_int_equal(f->user.group_count, 1);
	assert_int_equal(f->user.groups[0], 44);
	assert_null(f->user.note);
}

static void test_numbers_need_no_account(void **state)
{
	struct fixture *f = *state;

	image_user_find(f->fd, "1234:video", &f->arena, &f->user);
	assert_int_equal(f->user.uid, 1234);
	assert_int_equal(f->user.gid, 44);
	assert_string_equal(f->user.home, "/");
	image_user_find(f->fd, NULL, &f->arena, &f->user);
	assert_int_equal(f->user.uid, 0);
	assert_string_equal(f->user.home, "/root");
}

static void test_an_unknown_name_is_noted_and_root_stands_in(void **state)
{
	struct fixture *f = *state;

	image_user_find(f->fd, "nobody-knows", &f->arena, &f->user);
	assert_int_equal(f->user.uid, 0);
	assert_non_null(strstr(f->user.note, "'nobody-knows' is not in its /etc/passwd"));
	image_user_find(f->fd, "app:nogroup", &f->arena, &f->user);
	assert_non_null(strstr(f->user.note, "/etc/group"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_name_gives_its_numbers_home_and_groups,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers_need_no_account, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_unknown_name_is_noted_and_root_stands_in,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
