#include "tests/support/test.h"

#include "manifests/lockfile.h"

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define DIGEST "sha256:" ZEROS

static const char sample[] =
	"{\n"
	"  \"assembly\": 3,\n"
	"  \"keys\": {\n"
	"    \"./r.txt\": \"" DIGEST "\",\n"
	"    \"stack.cuda\": \"" DIGEST "\"\n"
	"  },\n"
	"  \"manifest\": \"" DIGEST "\",\n"
	"  \"platforms\": {\n"
	"    \"linux/amd64\": {\n"
	"      \"inputs\": [\n"
	"        {\n"
	"          \"arch\": \"amd64\",\n"
	"          \"digest\": \"" DIGEST "\",\n"
	"          \"kind\": \"deb\",\n"
	"          \"name\": \"libc6\",\n"
	"          \"requested\": true,\n"
	"          \"size\": 12,\n"
	"          \"source\": \"os\",\n"
	"          \"stage\": \"run\",\n"
	"          \"url\": \"http://mirror.example/libc6.deb\",\n"
	"          \"version\": \"2.36-9+deb12u10\"\n"
	"        },\n"
	"        {\n"
	"          \"digest\": \"" DIGEST "\",\n"
	"          \"kind\": \"tree\",\n"
	"          \"name\": \"/usr/local/cuda-13.0\",\n"
	"          \"size\": 0,\n"
	"          \"source\": \"kit\",\n"
	"          \"stage\": \"run\",\n"
	"          \"toolkit\": true\n"
	"        }\n"
	"      ]\n"
	"    },\n"
	"    \"linux/arm64\": {\n"
	"      \"inputs\": []\n"
	"    }\n"
	"  },\n"
	"  \"schema\": \"gpuimg-lock/1\",\n"
	"  \"sources\": [\n"
	"    {\n"
	"      \"date\": \"2026-01-01T00:00:00Z\",\n"
	"      \"digest\": "
	"\"sha256:1111111111111111111111111111111111111111111111111111111111111111\",\n"
	"      \"id\": \"os\",\n"
	"      \"suite\": \"bookworm/main amd64\",\n"
	"      \"type\": \"apt\"\n"
	"    }\n"
	"  ],\n"
	"  \"stack\": {\n"
	"    \"cuda\": \"13.0\",\n"
	"    \"cuda_release\": \"13.0.2\",\n"
	"    \"frameworks\": {\n"
	"      \"jax\": \"0.8.3\",\n"
	"      \"torch\": \"2.9.1+cu130\"\n"
	"    }\n"
	"  }\n"
	"}\n";

static void test_what_was_written_reads_and_writes_the_same(void **state)
{
	cleanup_lockfile struct lockfile lock = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(lockfile_parse(slice_str(sample), "x.lock.json", &lock, &err), err);
	lockfile_write(&lock, &out);
	assert_string_equal(out.data, sample);
}

static void test_members_are_read(void **state)
{
	cleanup_lockfile struct lockfile lock = { 0 };
	const struct lock_input *in;
	struct error err = { 0 };

	(void)state;
	assert_ok(lockfile_parse(slice_str(sample), "x.lock.json", &lock, &err), err);
	assert_int_equal(lock.assembly, 3);
	assert_string_equal(lock.stack.cuda, "13.0");
	assert_string_equal(lock.stack.driver, "");
	assert_string_equal(lock.stack.cuda_release, "13.0.2");
	assert_int_equal(lock.stack.framework_count, 2);
	assert_string_equal(lock.stack.frameworks[1].key, "torch");
	assert_string_equal(lock.stack.frameworks[1].version, "2.9.1+cu130");
	assert_int_equal(lock.platforms.len, 2);
	in = lock.platforms.items[0].inputs.items;
	assert_int_equal(in[0].kind, LOCK_DEB);
	assert_string_equal(in[0].name, "libc6");
	assert_int_equal(in[0].size, 12);
	assert_true(in[0].requested);
	assert_false(in[0].toolkit);
	assert_int_equal(in[1].kind, LOCK_TREE);
	assert_string_equal(in[1].version, "");
	assert_string_equal(in[1].url, "");
	assert_true(in[1].toolkit);
	assert_string_equal(lock.sources.items[0].suite, "bookworm/main amd64");
}

static void add_source(struct lockfile *lock, const char *id, const char *suite)
{
	struct lock_source source = { .id = id, .type = "apt", .suite = suite, .date = "" };

	vec_push(&lock->sources, source);
}

static void test_the_order_of_sources_and_platforms_does_not_show(void **state)
{
	cleanup_lockfile struct lockfile one = { 0 };
	cleanup_lockfile struct lockfile two = { 0 };
	cleanup_strbuf struct strbuf a = { 0 };
	cleanup_strbuf struct strbuf b = { 0 };

	(void)state;
	add_source(&one, "os", "a");
	add_source(&one, "os", "b");
	add_source(&one, "cuda", "");
	lockfile_platform(&one, "linux/amd64");
	lockfile_platform(&one, "linux/arm64");
	lockfile_platform(&two, "linux/arm64");
	lockfile_platform(&two, "linux/amd64");
	add_source(&two, "cuda", "");
	add_source(&two, "os", "b");
	add_source(&two, "os", "a");
	lockfile_write(&one, &a);
	lockfile_write(&two, &b);
	assert_string_equal(a.data, b.data);
}

static void test_the_order_of_inputs_is_kept(void **state)
{
	cleanup_lockfile struct lockfile lock = { 0 };
	cleanup_lockfile struct lockfile again = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };
	static const char *const names[] = { "z", "a", "m" };
	struct lock_platform *platform = lockfile_platform(&lock, "linux/amd64");
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct lock_input in = { .kind = LOCK_WHEEL,
					 .stage = "s",
					 .source = "pip",
					 .name = names[i],
					 .version = "1",
					 .arch = "",
					 .url = "https://files.example/x.whl" };

		vec_push(&platform->inputs, in);
	}
	lockfile_write(&lock, &out);
	assert_ok(lockfile_parse(strbuf_slice(&out), "x", &again, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_string_equal(again.platforms.items[0].inputs.items[i].name, names[i]);
}

static void test_a_platform_is_made_once(void **state)
{
	cleanup_lockfile struct lockfile lock = { 0 };

	(void)state;
	lockfile_platform(&lock, "linux/amd64");
	lockfile_platform(&lock, "linux/amd64");
	assert_int_equal(lock.platforms.len, 1);
}

static void check_refused(const char *text, enum error_code code, const char *want)
{
	struct lockfile lock = { 0 };
	struct error err = { 0 };

	if (lockfile_parse(slice_str(text), "x.lock.json", &lock, &err) == 0)
		fail_msg("taken, not refused with \"%s\"", want);
	assert_string_equal(err.text, want);
	assert_int_equal(err.code, code);
	assert_null(lock.arena.blocks);
}

/* `from` in the sample becomes `to`. */
static void check_change(const char *from, const char *to, enum error_code code, const char *want)
{
	const char *at = strstr(sample, from);
	cleanup_free char *text = NULL;

	assert_non_null(at);
	text = xasprintf("%.*s%s%s", (int)(at - sample), sample, to, at + strlen(from));
	check_refused(text, code, want);
}

static void test_another_schema_asks_for_a_new_lock(void **state)
{
	(void)state;
	check_change("gpuimg-lock/1", "gpuimg-lock/2", ERROR_USAGE,
		     "x.lock.json: its schema is 'gpuimg-lock/2' and this program reads "
		     "'gpuimg-lock/1'; make the lock anew with gpuimg lock");
	check_refused("{}", ERROR_USAGE,
		      "x.lock.json: not a lock: it has no schema \"gpuimg-lock/1\"");
	check_refused("[]", ERROR_USAGE,
		      "x.lock.json: not a lock: it has no schema \"gpuimg-lock/1\"");
}

static void test_unknown_members_ask_for_a_new_lock(void **state)
{
	static const struct {
		const char *from, *to, *want;
	} cases[] = {
		{ "\"assembly\"", "\"assembli\": 1, \"assembly\"", "unknown member 'assembli'" },
		{ "\"cuda\"", "\"cuda2\": \"\", \"cuda\"", "stack: unknown member 'cuda2'" },
		{ "\"suite\"", "\"x\\n\": \"\", \"suite\"", "sources[0]: unknown member 'x\\x0a'" },
		{ "\"arch\"", "\"a\": 1, \"arch\"",
		  "platforms.linux/amd64.inputs[0]: unknown member 'a'" },
		{ "\"inputs\"", "\"outputs\": [], \"inputs\"",
		  "platforms.linux/amd64: unknown member 'outputs'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *want = xasprintf(
			"x.lock.json: %s, perhaps of a later version; make the lock anew with "
			"gpuimg lock",
			cases[i].want);

		check_change(cases[i].from, cases[i].to, ERROR_USAGE, want);
	}
}

static void test_bad_members_are_named_by_their_path(void **state)
{
#define INPUT "x.lock.json: platforms.linux/amd64.inputs[0]"
	static const struct {
		const char *from, *to, *want;
	} cases[] = {
		{ "\"assembly\": 3,", "", "x.lock.json: assembly: is missing" },
		{ "\"assembly\": 3", "\"assembly\": -3",
		  "x.lock.json: assembly: is -3, which must not be below 0" },
		{ "\"assembly\": 3", "\"assembly\": 4294967296",
		  "x.lock.json: assembly: 4294967296 is no version" },
		{ "\"date\": \"2026-01-01T00:00:00Z\"", "\"date\": []",
		  "x.lock.json: sources[0].date: is a list, not text" },
		{ "\"size\": 12", "\"size\": \"12\"", INPUT ".size: is text, not a whole number" },
		{ "\"size\": 12", "\"size\": 1.5", INPUT ".size: is a number, not a whole number" },
		{ "\"requested\": true", "\"requested\": 1",
		  INPUT ".requested: is not true or false" },
		{ "\"stage\": \"run\",", "", INPUT ".stage: is missing" },
		{ "\"stage\": \"run\"", "\"stage\": \"\"", INPUT ".stage: is empty" },
		{ "\"stage\": \"run\"", "\"stage\": \"a\\nb\"",
		  INPUT ".stage: holds a control character" },
		{ "\"stage\": \"run\"", "\"stage\": 5",
		  INPUT ".stage: is a whole number, not text" },
		{ "http://mirror.example/libc6.deb", "libc6.deb",
		  INPUT ".url: is not an address with a scheme" },
		{ "http://mirror.example/libc6.deb", "http://mirror.example/a b",
		  INPUT ".url: holds blanks or characters beyond ASCII" },
		{ "http://mirror.example/libc6.deb", "http://u:p@mirror.example/x",
		  INPUT
		  ".url: holds credentials, which do not belong in a lock; make the lock anew "
		  "with gpuimg lock" },
		{ "\"toolkit\": true", "\"host_for\": \"app\"",
		  "x.lock.json: platforms.linux/amd64.inputs[1].host_for: only a package of "
		  "Debian's or Red Hat's kind is left to the host" },
		{ "\"toolkit\": true", "\"version\": \"1\"",
		  "x.lock.json: platforms.linux/amd64.inputs[1]: a tree has neither version nor "
		  "url" },
		{ "\"inputs\": []", "\"inputs\": {}",
		  "x.lock.json: platforms.linux/arm64.inputs: is an object, not a list" },
		{ "\"inputs\": []", "\"inputs\": [1]",
		  "x.lock.json: platforms.linux/arm64.inputs[0]: is not an object" },
		{ "\"id\": \"os\",", "", "x.lock.json: sources[0].id: is missing" },
		{ "\"cuda\": \"13.0\"", "\"cuda\": 13.0",
		  "x.lock.json: stack.cuda: is a number, not text" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_change(cases[i].from, cases[i].to, ERROR_FORMAT, cases[i].want);
}

static void test_a_kind_of_later_versions_asks_for_a_new_lock(void **state)
{
	(void)state;
	check_change("\"deb\"", "\"apk\"", ERROR_USAGE,
		     INPUT
		     ".kind: 'apk' is not deb, wheel, rpm, tree, redist or image; make the lock "
		     "anew with gpuimg lock");
}

static void test_digests_are_checked(void **state)
{
	struct lockfile lock = { 0 };
	struct error err = { 0 };
	cleanup_free char *longer =
		xasprintf("{\"schema\":\"gpuimg-lock/1\",\"assembly\":1,\"manifest\":"
			  "\"sha512:%s%s\"}",
			  ZEROS, ZEROS);

	(void)state;
	check_refused(longer, ERROR_FORMAT, "x.lock.json: manifest: is not a SHA-256 digest");
	assert_int_equal(lockfile_parse(slice_str("{\"schema\":\"gpuimg-lock/1\",\"assembly\":1,"
						  "\"manifest\":\"sha256:0\"}"),
					"x", &lock, &err),
			 -1);
	assert_true(str_starts(err.text, "x: manifest: "));
}

static void test_every_truncation_is_refused(void **state)
{
	(void)state;
	for (size_t len = 0; len < sizeof(sample) - 2; len++) { /* the last newline may go */
		cleanup_free uint8_t *copy = xmemdup(sample, len);
		struct lockfile lock = { 0 };
		struct error err = { 0 };

		assert_int_equal(lockfile_parse(slice_of(copy, len), "x", &lock, &err), -1);
	}
}

static void test_a_file_is_read(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "stack.lock.json");
	cleanup_lockfile struct lockfile lock = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(lockfile_read(file, &lock, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_ok(fs_write(AT_FDCWD, file, slice_str(sample), 0644, &err), err);
	assert_ok(lockfile_read(file, &lock, &err), err);
	assert_int_equal(lock.platforms.len, 2);
}

static void test_the_lock_lies_beside_its_manifest(void **state)
{
	static const struct {
		const char *manifest, *lock;
	} cases[] = {
		{ "stack.yaml", "stack.lock.json" },
		{ "dir/stack.yaml", "dir/stack.lock.json" },
		{ "a.yml", "a.lock.json" },
		{ "a.json", "a.lock.json" },
		{ "dir.yaml/a", "dir.yaml/a.lock.json" },
		{ "d/.yaml", "d/.yaml.lock.json" },
		{ "a.b.yaml", "a.b.lock.json" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *path = lockfile_path(cases[i].manifest, "");

		assert_string_equal(path, cases[i].lock);
	}
}

static void test_a_variant_has_a_lock_of_its_own(void **state)
{
	cleanup_free char *path = lockfile_path("d/stack.yaml", "cuda13.0-python3.12");

	(void)state;
	assert_string_equal(path, "d/stack.cuda13.0-python3.12.lock.json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_variant_has_a_lock_of_its_own),
		cmocka_unit_test(test_what_was_written_reads_and_writes_the_same),
		cmocka_unit_test(test_members_are_read),
		cmocka_unit_test(test_the_order_of_sources_and_platforms_does_not_show),
		cmocka_unit_test(test_the_order_of_inputs_is_kept),
		cmocka_unit_test(test_a_platform_is_made_once),
		cmocka_unit_test(test_another_schema_asks_for_a_new_lock),
		cmocka_unit_test(test_unknown_members_ask_for_a_new_lock),
		cmocka_unit_test(test_bad_members_are_named_by_their_path),
		cmocka_unit_test(test_a_kind_of_later_versions_asks_for_a_new_lock),
		cmocka_unit_test(test_digests_are_checked),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_a_file_is_read),
		cmocka_unit_test(test_the_lock_lies_beside_its_manifest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
