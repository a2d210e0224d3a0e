#include "tests/support/test.h"

#include "builder/sources/pylock.h"

#define HEAD "lock-version = \"1.0\"\ncreated-by = \"test\"\n"
#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASHES "hashes = { sha256 = \"" HASH_A "\" }"
#define WHEEL(file) "{ url = \"https://example.org/x/" file "\", " HASHES " }"
#define PACKAGE(name, version, more, wheels)                                                       \
	"[[packages]]\nname = \"" name "\"\nversion = \"" version "\"\n" more "wheels = [ " wheels \
	" ]\n"

static const struct wheel_target target = {
	.python_minor = 11, .python_full = "3.11.2", .glibc_minor = 28, .machine = "x86_64"
};

static int parse(struct arena *arena, const char *text, struct pylock *found, struct error *err)
{
	return pylock_parse(slice_str(text), "pylock.toml", &target, NULL, arena, found, err);
}

/* "name version file, …" of what is taken; or the error's text. Heap. */
static char *taken(const char *text)
{
	cleanup_arena struct arena arena = { 0 };
	struct pylock found = { 0 };
	struct error err = { 0 };
	struct strbuf out = { 0 };

	if (parse(&arena, text, &found, &err) < 0) {
		strbuf_addf(&out, "%d %s", (int)err.code, err.text);
	} else {
		for (size_t i = 0; i < found.len; i++)
			strbuf_addf(&out, "%s%s %s %s", i ? ", " : "", found.items[i].name,
				    found.items[i].version, found.items[i].file);
	}
	vec_release(&found);
	return strbuf_steal(&out);
}

static void check_taken(const char *text, const char *want)
{
	cleanup_free char *got = taken(text);

	assert_string_equal(got, want);
}

static void check_refused(const char *text, enum error_code code, const char *want)
{
	cleanup_free char *got = taken(text);
	cleanup_free char *number = xasprintf("%d ", (int)code);

	if (!str_starts(got, number))
		print_message("got: %s\n", got);
	assert_true(str_starts(got, number));
	assert_contains(got, want);
}

static void test_the_names_of_lock_files(void **state)
{
	static const struct {
		const char *path;
		bool is;
	} cases[] = {
		{ "pylock.toml", true },       { "a/pylock.toml", true },
		{ "pylock.dev.toml", true },   { "pylock..toml", false },
		{ "pylock.a.b.toml", false },  { "xpylock.toml", false },
		{ "pylock.toml.txt", false },  { "requirements.txt", false },
		{ "pylock.toml/reqs", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(pylock_is_name(cases[i].path), cases[i].is);
}

static void test_a_wheel_has_its_address_digest_and_size(void **state)
{
	static const char text[] =
		HEAD "[[packages]]\nname = \"Six\"\nversion = \"1.16.0\"\n"
		     "[[packages.wheels]]\nname = \"six-1.16.0-py2.py3-none-any.whl\"\n"
		     "url = \"https://example.org/six-1.16.0-py2.py3-none-any.whl\"\n"
		     "path = \"wheels/six-1.16.0-py2.py3-none-any.whl\"\nsize = 11053\n"
		     "upload-time = 2021-05-05T14:18:17Z\n[packages.wheels.hashes]\n"
		     "md5 = \"x\"\nsha256 = \"" HASH_A "\"\n";
	cleanup_arena struct arena arena = { 0 };
	struct pylock found = { 0 };
	struct error err = { 0 };
	char hex[DIGEST_HEX_MAX];

	(void)state;
	assert_ok(parse(&arena, text, &found, &err), err);
	assert_int_equal(found.len, 1);
	assert_string_equal(found.items[0].name, "six");
	assert_string_equal(found.items[0].url,
			    "https://example.org/six-1.16.0-py2.py3-none-any.whl");
	assert_string_equal(found.items[0].path, "wheels/six-1.16.0-py2.py3-none-any.whl");
	assert_int_equal(found.items[0].size, 11053);
	assert_string_equal(digest_hex(&found.items[0].digest, hex), HASH_A);
	assert_int_equal(found.items[0].line, 6);
	vec_release(&found);
}

static void test_the_best_tags_are_taken(void **state)
{
	/* each is better than those before it */
	static const char *const files[] = {
		"a-1-py3-none-any.whl",
		"a-1-py311-none-any.whl",
		"a-1-cp311-none-any.whl",
		"a-1-py3-none-linux_x86_64.whl",
		"a-1-py3-none-manylinux1_x86_64.whl",
		"a-1-py311-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
		"a-1-cp39-abi3-manylinux_2_28_x86_64.whl",
		"a-1-cp310-abi3-manylinux_2_17_x86_64.whl",
		"a-1-cp311-none-manylinux_2_17_x86_64.whl",
		"a-1-cp311-abi3-manylinux_2_17_x86_64.whl",
		"a-1-cp311-cp311-linux_x86_64.whl",
		"a-1-cp311-cp311-manylinux_2_17_x86_64.whl",
		"a-1-cp311-cp311-manylinux_2_28_x86_64.whl",
	};
	static const char *const others[] = {
		"a-1-cp311-cp311-manylinux_2_29_x86_64.whl",
		"a-1-cp312-cp312-manylinux_2_17_x86_64.whl",
		"a-1-cp311-cp311-manylinux_2_17_aarch64.whl",
		"a-1-cp311-cp311-musllinux_1_2_x86_64.whl",
		"a-1-py2-none-any.whl",
		"a-1-cp312-abi3-manylinux_2_17_x86_64.whl",
		"a-1-cp311-cp311-win_amd64.whl",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		cleanup_strbuf struct strbuf text = { 0 };
		cleanup_free char *want = xasprintf("a 1 %s", files[i]);

		strbuf_adds(&text,
			    HEAD "[[packages]]\nname = \"a\"\nversion = \"1\"\nwheels = [\n");
		for (size_t k = 0; k < ARRAY_LEN(others); k++)
			strbuf_addf(&text, "{ url = \"https://example.org/%s\", " HASHES " },\n",
				    others[k]);
		for (size_t k = 0; k <= i; k++)
			strbuf_addf(&text, "{ url = \"https://example.org/%s\", " HASHES " },\n",
				    files[i % 2 ? k : i - k]);
		strbuf_adds(&text, "]\n");
		check_taken(strbuf_text(&text), want);
	}
}

static void test_markers_are_judged_for_the_image(void **state)
{
	(void)state;
	check_taken(
		HEAD PACKAGE("a", "1", "marker = \"python_version < '3.11'\"\n",
			     WHEEL("a-1-py3-none-any.whl"))
			PACKAGE("a", "2", "marker = \"python_version >= '3.11'\"\n",
				WHEEL("a-2-py3-none-any.whl"))
				PACKAGE("b", "1", "marker = \"platform_machine == 'aarch64'\"\n",
					WHEEL("b-1-py3-none-any.whl"))
					PACKAGE("c", "1", "marker = \"sys_platform == 'linux'\"\n",
						WHEEL("c-1-py3-none-any.whl")),
		"a 2 a-2-py3-none-any.whl, c 1 c-1-py3-none-any.whl");
}

static void test_default_groups_are_in_and_others_and_extras_are_not(void **state)
{
	(void)state;
	check_taken(HEAD "extras = [\"gpu\"]\ndependency-groups = [\"dev\", \"main\"]\n"
			 "default-groups = [\"Main\"]\n" PACKAGE(
				 "a", "1", "marker = \"'main' in dependency_groups\"\n",
				 WHEEL("a-1-py3-none-any.whl"))
				 PACKAGE("b", "1", "marker = \"'dev' in dependency_groups\"\n",
					 WHEEL("b-1-py3-none-any.whl"))
					 PACKAGE("c", "1", "marker = \"'gpu' in extras\"\n",
						 WHEEL("c-1-py3-none-any.whl"))
						 PACKAGE("d", "1",
							 "marker = \"'gpu' not in extras and "
							 "os_name == 'posix'\"\n",
							 WHEEL("d-1-py3-none-any.whl")),
		    "a 1 a-1-py3-none-any.whl, d 1 d-1-py3-none-any.whl");
}

static void test_what_cannot_be_taken_is_refused_with_its_place(void **state)
{
	static const struct {
		enum error_code code;
		const char *text, *want;
	} cases[] = {
		{ ERROR_FORMAT, "a = ", "pylock.toml:1:5: not valid TOML" },
		{ ERROR_FORMAT, "created-by = \"x\"\npackages = []\n",
		  "pylock.toml:1:1: 'lock-version' is missing" },
		{ ERROR_FORMAT, "lock-version = \"2.0\"\ncreated-by = \"x\"\npackages = []\n",
		  "pylock.toml:1:16: lock-version '2.0' is not known" },
		{ ERROR_FORMAT, "lock-version = 1.0\ncreated-by = \"x\"\npackages = []\n",
		  "'lock-version' must be a text in quotes" },
		{ ERROR_FORMAT, HEAD, "'packages' is missing" },
		{ ERROR_FORMAT, HEAD "packages = [ 1 ]\n", "array of tables" },
		{ ERROR_FORMAT, HEAD "[[packages]]\nversion = \"1\"\n", "'name' is missing" },
		{ ERROR_FORMAT, HEAD "[[packages]]\nname = \"a\"\n", "a has no wheels" },
		{ ERROR_USAGE,
		  HEAD "[[packages]]\nname = \"a\"\nsdist = { url = "
		       "\"https://example.org/a.tar.gz\" }\n",
		  "pylock.toml:5:9: a would have to be built from its source (sdist)" },
		{ ERROR_USAGE, HEAD "[[packages]]\nname = \"a\"\nvcs = { type = \"git\" }\n",
		  "from version control" },
		{ ERROR_USAGE, HEAD "[[packages]]\nname = \"a\"\ndirectory = { path = \".\" }\n",
		  "from a folder" },
		{ ERROR_USAGE,
		  HEAD "[[packages]]\nname = \"a\"\n[packages.archive]\nurl = "
		       "\"https://example.org/a.zip\"\n",
		  "from an archive of its source" },
		{ ERROR_FORMAT,
		  HEAD "[[packages]]\nname = \"a\"\nwheels = [ { url = "
		       "\"https://example.org/a-1-py3-none-any.whl\" } ]\n",
		  "pylock.toml:5:12: 'hashes' is missing" },
		{ ERROR_USAGE,
		  HEAD
		  "[[packages]]\nname = \"a\"\nwheels = [ { url = "
		  "\"https://example.org/a-1-py3-none-any.whl\", hashes = { md5 = \"x\" } } ]\n",
		  "there is no sha256 among the hashes" },
		{ ERROR_FORMAT,
		  HEAD
		  "[[packages]]\nname = \"a\"\nwheels = [ { url = "
		  "\"https://example.org/a-1-py3-none-any.whl\", hashes = { sha256 = \"x\" } } ]\n",
		  "pylock.toml:5:" },
		{ ERROR_FORMAT, HEAD "[[packages]]\nname = \"a\"\nwheels = [ { " HASHES " } ]\n",
		  "neither 'url' nor 'path'" },
		{ ERROR_USAGE,
		  HEAD "[[packages]]\nname = \"a\"\nwheels = [ { url = "
		       "\"ftp://example.org/a-1-py3-none-any.whl\", " HASHES " } ]\n",
		  "this is no address" },
		{ ERROR_USAGE,
		  HEAD "[[packages]]\nname = \"a\"\nwheels = [ { url = "
		       "\"https://example.org/a\\n-1-py3-none-any.whl\", " HASHES " } ]\n",
		  "this is no address" },
		{ ERROR_FORMAT, HEAD PACKAGE("a", "1", "", WHEEL("b-1-py3-none-any.whl")),
		  "b-1-py3-none-any.whl is no wheel of a" },
		{ ERROR_FORMAT, HEAD PACKAGE("a", "1", "", WHEEL("a-2-py3-none-any.whl")),
		  "a-2-py3-none-any.whl is no wheel of a 1" },
		{ ERROR_FORMAT, HEAD PACKAGE("a", "1", "", WHEEL("a.tar.gz")),
		  "pylock.toml:6:12: " },
		{ ERROR_VERDICT,
		  HEAD PACKAGE("a", "1", "",
			       WHEEL("a-1-cp312-cp312-manylinux_2_17_x86_64.whl") ", " WHEEL(
				       "a-1-cp311-cp311-win_amd64.whl")),
		  "no wheel of a 1 is for Python 3.11 on x86_64 with glibc 2.28: offered are "
		  "cp312-cp312-manylinux_2_17_x86_64, cp311-cp311-win_amd64; taken are "
		  "cp311-cp311, "
		  "abi3 of cp311 and older, py3-none; manylinux_2_28_x86_64 and older, "
		  "linux_x86_64, any" },
		{ ERROR_VERDICT, HEAD "requires-python = \">=3.12\"\npackages = []\n",
		  "it is for Python >=3.12, and the image has 3.11.2" },
		{ ERROR_VERDICT,
		  HEAD PACKAGE("a", "1", "requires-python = \"<3.11,>=3.9\"\n",
			       WHEEL("a-1-py3-none-any.whl")),
		  "a is for Python <3.11,>=3.9, and the image has 3.11.2" },
		{ ERROR_FORMAT, HEAD "requires-python = \"new\"\npackages = []\n",
		  "'new' is no range of versions" },
		{ ERROR_VERDICT,
		  HEAD "environments = [\"sys_platform == 'win32'\"]\npackages = []\n",
		  "it was made for other environments" },
		{ ERROR_FORMAT,
		  HEAD PACKAGE("a", "1", "marker = \"flavour == 'x'\"\n",
			       WHEEL("a-1-py3-none-any.whl")),
		  "pylock.toml:6:10: marker" },
		{ ERROR_USAGE,
		  HEAD PACKAGE("a", "1", "", WHEEL("a-1-py3-none-any.whl"))
			  PACKAGE("A", "2", "", WHEEL("a-2-py3-none-any.whl")),
		  "a is in it twice for this Python and platform, as 1 and 2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_refused(cases[i].text, cases[i].code, cases[i].want);
}

static void test_an_archive_may_be_a_wheel(void **state)
{
	(void)state;
	check_taken(HEAD "[[packages]]\nname = \"a\"\n[packages.archive]\n"
			 "url = \"https://example.org/a-1-py3-none-any.whl#x\"\n" HASHES "\n",
		    "a 1 a-1-py3-none-any.whl");
}

static void test_what_is_in_it_is_listed_for_any_target(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct pylock_names names = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(
		pylock_list(slice_str(HEAD
				      "[[packages]]\nname = \"Torch\"\nversion = \"2.7.1\"\n"
				      "marker = \"os_name == 'nt'\"\n[[packages]]\nname = \"b\"\n"),
			    "pylock.toml", &arena, &names, &err),
		err);
	assert_int_equal(names.len, 2);
	assert_string_equal(names.items[0].name, "torch");
	assert_string_equal(names.items[0].marker, "os_name == 'nt'");
	assert_string_equal(names.items[1].version, "");
	vec_release(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_names_of_lock_files),
		cmocka_unit_test(test_a_wheel_has_its_address_digest_and_size),
		cmocka_unit_test(test_the_best_tags_are_taken),
		cmocka_unit_test(test_markers_are_judged_for_the_image),
		cmocka_unit_test(test_default_groups_are_in_and_others_and_extras_are_not),
		cmocka_unit_test(test_what_cannot_be_taken_is_refused_with_its_place),
		cmocka_unit_test(test_an_archive_may_be_a_wheel),
		cmocka_unit_test(test_what_is_in_it_is_listed_for_any_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
