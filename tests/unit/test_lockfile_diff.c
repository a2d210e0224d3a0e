#include "tests/support/test.h"

#include "manifests/lockfile_diff.h"

#define DIGEST(c) "\"sha256:" c c c c c c c c c c c c c c c c "\""
#define A "aaaa"
#define B "bbbb"
#define DEB(name, version, digest)                                                              \
	"{\"kind\":\"deb\",\"stage\":\"run\",\"source\":\"os\",\"name\":\"" name                \
	"\",\"version\":\"" version "\",\"url\":\"http://mirror.example/" name "\",\"size\":1," \
	"\"digest\":" DIGEST(digest) "}"
#define LOCK(keys, sources, stack, platforms)                                         \
	"{\"schema\":\"gpuimg-lock/1\",\"assembly\":1,\"manifest\":" DIGEST(          \
		A) ",\"keys\":{" keys "},\"sources\":[" sources "],\"stack\":{" stack \
		   "},\"platforms\":{" platforms "}}"
#define AMD64(inputs) "\"linux/amd64\":{\"inputs\":[" inputs "]}"
#define ARM64(inputs) "\"linux/arm64\":{\"inputs\":[" inputs "]}"

static void check(const char *old_text, const char *new_text, size_t count, const char *want)
{
	cleanup_lockfile struct lockfile old = { 0 }, new = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	if (old_text)
		assert_ok(lockfile_parse(slice_str(old_text), "old", &old, &err), err);
	assert_ok(lockfile_parse(slice_str(new_text), "new", &new, &err), err);
	assert_int_equal(lockfile_diff(&old, &new, &out), count);
	assert_string_equal(strbuf_text(&out), want);
}

static void test_a_lock_does_not_differ_from_itself(void **state)
{
	static const char text[] = LOCK("\"tag\":" DIGEST(A), "", "\"cuda\":\"13.0\"",
					AMD64(DEB("a", "1", A) "," DEB("b", "2", B)));

	(void)state;
	check(text, text, 0, "");
}

static void test_packages_are_added_removed_moved_and_changed(void **state)
{
	(void)state;
	check(LOCK("", "", "", AMD64(DEB("a", "1", A) "," DEB("b", "1", A) "," DEB("c", "1", A))),
	      LOCK("", "", "", AMD64(DEB("d", "4", A) "," DEB("b", "2", B) "," DEB("c", "1", B))),
	      4,
	      "linux/amd64\n"
	      "  removed  a 1 (os, stage run)\n"
	      "  moved    b 1 -> 2 (os, stage run)\n"
	      "  changed  c 1: other content (os, stage run)\n"
	      "  added    d 4 (os, stage run)\n");
}

static void test_a_package_is_left_to_the_host(void **state)
{
#define HOSTS(name)                                                                   \
	"{\"kind\":\"deb\",\"stage\":\"run\",\"source\":\"os\",\"name\":\"" name      \
	"\",\"version\":\"1\",\"url\":\"http://mirror.example/" name "\",\"size\":1," \
	"\"host_for\":\"app\",\"digest\":" DIGEST(A) "}"
	(void)state;
	check(LOCK("", "", "", AMD64(DEB("a", "1", A))), LOCK("", "", "", AMD64(HOSTS("a"))), 1,
	      "linux/amd64\n  reason   a 1: wanted otherwise than before (stage run)\n");
}

static void test_order_alone_is_a_difference(void **state)
{
	(void)state;
	check(LOCK("", "", "", AMD64(DEB("a", "1", A) "," DEB("b", "1", A))),
	      LOCK("", "", "", AMD64(DEB("b", "1", A) "," DEB("a", "1", A))), 1,
	      "linux/amd64\n  the order of its inputs\n");
}

static void test_platforms_come_and_go(void **state)
{
	(void)state;
	check(LOCK("", "", "", AMD64(DEB("a", "1", A))), LOCK("", "", "", ARM64("")), 2,
	      "linux/amd64 (gone)\n"
	      "  removed  a 1 (os, stage run)\n"
	      "linux/arm64 (new)\n"
	      "  a platform without inputs\n");
}

static void test_keys_stack_and_sources_are_told(void **state)
{
	(void)state;
	check(LOCK("\"tag\":" DIGEST(A) ",\"name\":" DIGEST(A),
		   "{\"id\":\"os\",\"type\":\"apt\",\"suite\":\"s\",\"date\":\"2026-01-01T00:00:"
		   "00Z\"},"
		   "{\"id\":\"x\",\"type\":\"apt\"}",
		   "\"cuda\":\"12.6\",\"nccl\":\"2\",\"frameworks\":{\"torch\":\"2.7\",\"jax\":"
		   "\"1\"}",
		   ""),
	      LOCK("\"tag\":" DIGEST(B) ",\"stack.cuda\":" DIGEST(A),
		   "{\"id\":\"os\",\"type\":\"apt\",\"suite\":\"s\",\"date\":\"2026-02-01T00:00:"
		   "00Z\"}",
		   "\"cuda\":\"13.0\",\"cuda_release\":\"13.0.2\",\"frameworks\":{\"torch\":\"2."
		   "9\"}",
		   ""),
	      8,
	      "manifest\n"
	      "  tag, name (gone), stack.cuda (new)\n"
	      "stack\n"
	      "  cuda: 12.6 -> 13.0\n"
	      "  cuda release: nothing -> 13.0.2\n"
	      "  nccl: 2 -> nothing\n"
	      "  torch: 2.7 -> 2.9\n"
	      "  jax: 1 -> nothing\n"
	      "sources\n"
	      "  os s: of 2026-01-01T00:00:00Z -> 2026-02-01T00:00:00Z\n"
	      "  x: no longer asked\n");
}

static void test_without_a_lock_everything_is_added(void **state)
{
	(void)state;
	check(NULL, LOCK("", "", "", AMD64(DEB("a", "1", A))), 3,
	      "manifest\n"
	      "  its digest\n"
	      "  assembly version: 0 -> 1\n"
	      "linux/amd64 (new)\n"
	      "  added    a 1 (os, stage run)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lock_does_not_differ_from_itself),
		cmocka_unit_test(test_packages_are_added_removed_moved_and_changed),
		cmocka_unit_test(test_a_package_is_left_to_the_host),
		cmocka_unit_test(test_order_alone_is_a_difference),
		cmocka_unit_test(test_platforms_come_and_go),
		cmocka_unit_test(test_keys_stack_and_sources_are_told),
		cmocka_unit_test(test_without_a_lock_everything_is_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
