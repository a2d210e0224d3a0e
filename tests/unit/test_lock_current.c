#include "tests/support/test.h"

#include "builder/lock.h"

#define HEAD "gpuimg: 1\nname: acme/app\nstages: { run: {} }\n"

static void parse(const char *text, struct stack *out)
{
	struct error err = { 0 };

	assert_ok(stack_parse(slice_str(text), "stack.yaml", out, &err), err);
}

/* The lock of `was` against the manifest `is`. */
static int check(const char *was, const char *is, struct error *err)
{
	cleanup_stack struct stack before = { 0 }, now = { 0 };
	cleanup_lockfile struct lockfile lock = { 0 };

	parse(was, &before);
	parse(is, &now);
	lock.manifest = before.digest;
	for (size_t i = 0; i < before.key_count; i++)
		vec_push(&lock.keys,
			 ((struct lock_key){ before.keys[i].path, before.keys[i].digest }));
	return lock_check_current(&lock, &now, err);
}

static void test_a_lock_of_the_same_content_is_current(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_ok(check(HEAD, "# comment\n" HEAD "tag: latest\n", &err), err);
}

static void test_a_stale_lock_names_what_moved(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(check(HEAD "stack: { cuda: 12.6 }\nimage: { workdir: /w }\n",
			       HEAD "stack: { cuda: 13.0, nccl: 2 }\n", &err),
			 -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_string_equal(
		err.text,
		"stack.yaml has changed since it was locked: image.workdir (gone), stack.cuda, "
		"stack.nccl (new); run `gpuimg lock stack.yaml` again, with the same --set when "
		"there is one");
}

static void test_many_keys_are_counted(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(check(HEAD,
			       HEAD
			       "tag: a\nplatforms: [linux/arm64]\npublish: [a]\nstack: { cuda: 1, "
			       "cudnn: 1, nccl: 1, python: 3 }\n",
			       &err),
			 -1);
	assert_contains(err.text,
			": platforms, tag, publish (new), stack.cuda (new), stack.cudnn (new), "
			"stack.nccl (new) and 1 more; run");
}

static void test_a_lock_without_keys_is_stale_all_the_same(void **state)
{
	cleanup_stack struct stack stack = { 0 };
	struct lockfile lock = { 0 };
	struct error err = { 0 };

	(void)state;
	parse(HEAD, &stack);
	assert_int_equal(lock_check_current(&lock, &stack, &err), -1);
	assert_contains(err.text, "stack.yaml has changed since it was locked; run");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lock_of_the_same_content_is_current),
		cmocka_unit_test(test_a_stale_lock_names_what_moved),
		cmocka_unit_test(test_many_keys_are_counted),
		cmocka_unit_test(test_a_lock_without_keys_is_stale_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
