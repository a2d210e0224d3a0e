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

/* A lock of `manifest` whose source has an index of that type and date. */
static void locked(const struct stack *stack, const char *type, const char *date,
		   struct lockfile *out)
{
	for (size_t i = 0; i < stack->key_count; i++)
		vec_push(&out->keys,
			 ((struct lock_key){ stack->keys[i].path, stack->keys[i].digest }));
	vec_push(&out->sources,
		 ((struct lock_source){ .id = "os", .type = type, .suite = "a", .date = date }));
}

static int check_dates(const char *was, const char *is, const char *type, const char *before,
		       const char *after, struct error *err)
{
	cleanup_free char *old_text = xasprintf(HEAD "sources: [ { id: os, %s } ]\n", was);
	cleanup_free char *new_text = xasprintf(HEAD "sources: [ { id: os, %s } ]\n", is);
	cleanup_stack struct stack old_stack = { 0 }, new_stack = { 0 };
	cleanup_lockfile struct lockfile old = { 0 }, new = { 0 };

	parse(old_text, &old_stack);
	parse(new_text, &new_stack);
	locked(&old_stack, type, before, &old);
	locked(&new_stack, type, after, &new);
	return lock_check_dates(&old, &new, &new_stack, err);
}

#define APT "type: apt, from: host"
#define RPM "type: rpm-md, url: \"https://mirror.example.org/a/\", gpgkey: a.asc"
#define EARLY "2026-01-01T00:00:00Z"
#define LATE "2026-01-02T00:00:00Z"

static void test_an_index_that_went_back_in_time_is_refused(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(check_dates(APT, APT, "apt", LATE, EARLY, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "source 'os', a: its Release file is of " EARLY
				  ", older than that of " LATE);
	assert_int_equal(check_dates(RPM, RPM, "rpm-md", LATE, EARLY, &err), -1);
	assert_contains(err.text, "its repomd.xml is of " EARLY);
}

static void test_an_index_that_stays_or_goes_on_is_taken(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_ok(check_dates(APT, APT, "apt", EARLY, EARLY, &err), err);
	assert_ok(check_dates(RPM, RPM, "rpm-md", EARLY, LATE, &err), err);
	assert_ok(check_dates(RPM, RPM, "rpm-md", LATE, "", &err), err);
}

static void test_another_address_may_have_an_older_index(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_ok(check_dates(RPM,
			      "type: rpm-md, url: \"https://mirror.example.org/old/\", "
			      "gpgkey: a.asc",
			      "rpm-md", LATE, EARLY, &err),
		  err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lock_of_the_same_content_is_current),
		cmocka_unit_test(test_a_stale_lock_names_what_moved),
		cmocka_unit_test(test_many_keys_are_counted),
		cmocka_unit_test(test_a_lock_without_keys_is_stale_all_the_same),
		cmocka_unit_test(test_an_index_that_went_back_in_time_is_refused),
		cmocka_unit_test(test_an_index_that_stays_or_goes_on_is_taken),
		cmocka_unit_test(test_another_address_may_have_an_older_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
