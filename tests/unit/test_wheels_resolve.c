#include "tests/support/test.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "builder/sources/wheel_check.h"
#include "formats/json.h"
#include "tests/support/http_server.h"

#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/*
 * A python3 that is found first: it keeps its arguments, one a line, and its PIP_ environment; then
 * gives the report, the outputs and the status that lie beside it. With -vv it gives "long".
 */
static const char fake[] = "#!/bin/sh\n"
			   "here=$(dirname \"$0\")\n"
			   "prev=; report=; long=\n"
			   "for a; do [ \"$prev\" = --report ] && report=$a; [ \"$a\" = -vv ] && "
			   "long=yes; prev=$a; done\n"
			   "if [ -n \"$long\" ]; then printf '%s\\n' \"$@\" >\"$here/argv.long\"; "
			   "cat \"$here/long\"; exit 1; fi\n"
			   "printf '%s\\n' \"$@\" >>\"$here/argv\"\n"
			   "env | grep ^PIP_ >\"$here/env\"\n"
			   "cat \"$here/stdout\" 2>/dev/null\n"
			   "cat \"$here/stderr\" >&2 2>/dev/null\n"
			   "[ -f \"$here/report\" ] && cp \"$here/report\" \"$report\"\n"
			   "exit $(cat \"$here/status\" 2>/dev/null || echo 0)\n";

struct fixture {
	char *dir, *path;
	struct stack stack;
	struct lockfile lock;
	struct store *store;
	struct http_client *http;
	struct out out;
	char *noted;
	size_t noted_len;
	struct source_context context;
};

static void put(const struct fixture *f, const char *name, const char *text)
{
	cleanup_free char *path = fs_join(f->dir, name);
	struct error err = { 0 };

	assert_ok(fs_write(AT_FDCWD, path, slice_str(text), 0755, &err), err);
}

static char *got(const struct fixture *f, const char *name)
{
	cleanup_free char *path = fs_join(f->dir, name);
	struct strbuf text = { 0 };
	struct error err = { 0 };

	assert_ok(fs_read(AT_FDCWD, path, MIB, &text, &err), err);
	strbuf_adds(&text, "");
	return strbuf_steal(&text);
}

static void add_deb(struct fixture *f, const char *name, const char *version)
{
	struct lock_input in = { .kind = LOCK_DEB,
				 .stage = "runtime",
				 .source = "os",
				 .name = name,
				 .version = version,
				 .arch = "amd64",
				 .url = "" };

	vec_push(&f->context.inputs->inputs, in);
}

#define MANIFEST(platform, stack, source, packages)                                         \
	"gpuimg: 1\nname: t\nplatforms: [" platform "]\n" stack "sources:\n  - { id: pip, " \
	"type: wheels, " source " }\nstages:\n  runtime:\n    packages: { pip: [" packages "] }\n"

static struct fixture *fixture_new(const char *manifest)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct error err = { 0 };
	cleanup_free char *file = NULL, *path = NULL, *store = NULL;

	f->dir = test_dir();
	f->path = xstrdup(getenv("PATH"));
	put(f, "python3", fake);
	path = xasprintf("%s:%s", f->dir, f->path);
	setenv("PATH", path, 1);
	unsetenv("PIP_CERT");
	unsetenv("SSL_CERT_FILE");
	file = fs_join(f->dir, "stack.yaml");
	assert_ok(stack_parse(slice_str(manifest), file, &f->stack, &err), err);
	store = fs_join(f->dir, "store");
	f->store = store_open(store, &err);
	assert_non_null(f->store);
	f->http = http_client_new(&(struct http_options){ 0 });
	f->out = (struct out){ .out = stdout, .err = open_memstream(&f->noted, &f->noted_len) };
	f->context = (struct source_context){ .stack = &f->stack,
					      .store = f->store,
					      .http = f->http,
					      .out = &f->out,
					      .python = f->stack.stack.python,
					      .lock = &f->lock };
	f->context.inputs = lockfile_platform(&f->lock, f->stack.platforms.items[0]);
	assert_ok(platform_parse(f->stack.platforms.items[0], &f->lock.arena, &f->context.platform,
				 &err),
		  err);
	return f;
}

static void fixture_free(struct fixture **p)
{
	struct fixture *f = *p;

	setenv("PATH", f->path, 1);
	stack_release(&f->stack);
	lockfile_release(&f->lock);
	store_close(f->store);
	http_client_free(f->http);
	fclose(f->out.err);
	free(f->noted);
	test_dir_free(f->dir);
	free(f->path);
	free(f);
}
#define cleanup_fixture cleanup(fixture_free)

static int resolve(struct fixture *f, struct error *err)
{
	const struct stack_stage *stage = &f->stack.stages[0];
	struct source_request requests[4];
	size_t count = 0;

	for (size_t i = 0; i < stage->package_count; i++) {
		const struct stack_packages *p = &stage->packages[i];

		requests[count++] = (struct source_request){
			.source = stack_source(&f->stack, p->source),
			.stage = stage,
			.packages = p->items,
			.package_count = p->count,
		};
	}
	return wheels_resolve(&f->context, requests, count, err);
}

/* One wheel of a report; `more` are further members. */
static char *item(const char *name, const char *version, const char *url, const char *hash,
		  const char *more)
{
	return xasprintf(
		"{\"download_info\":{\"url\":\"%s\",\"archive_info\":{\"hashes\":{\"sha256\":"
		"\"%s\"}}},\"metadata\":{\"name\":\"%s\",\"version\":\"%s\"}%s}",
		url, hash, name, version, more);
}

static void put_report(const struct fixture *f, const char *a, const char *b)
{
	cleanup_free char *text =
		xasprintf("{\"version\":\"1\",\"install\":[%s%s%s]}", a, *b ? "," : "", b);

	put(f, "report", text);
}

static struct fixture *empty_run(const char *manifest)
{
	struct fixture *f = fixture_new(manifest);

	put_report(f, "", "");
	return f;
}

#define PLAIN MANIFEST("linux/amd64", "", "from: host", "\"six>=1\"")

static void test_pip_is_asked_for_wheels_of_the_image(void **state)
{
	static const char platforms[] =
		"--platform\nmanylinux_2_18_x86_64\n--platform\nmanylinux_2_17_x86_64\n--platform\n"
		"manylinux_2_16_x86_64\n";
	cleanup_fixture struct fixture *f = empty_run(PLAIN);
	struct error err = { 0 };
	cleanup_free char *argv = NULL;

	(void)state;
	add_deb(f, "libc6", "2.18-3");
	add_deb(f, "python3.9-minimal", "3.9.2-1+deb11u2");
	assert_ok(resolve(f, &err), err);
	argv = got(f, "argv");
	assert_int_equal(strncmp(argv, "-m\npip\ninstall\n--dry-run\n", 25), 0);
	assert_contains(argv,
			"\n--only-binary=:all:\n--implementation\ncp\n--python-version\n3.9.2\n"
			"--abi\ncp39\n--abi\nabi3\n--abi\nnone\n");
	assert_contains(argv, platforms);
	assert_null(strstr(argv, "2_19"));
	assert_contains(argv,
			"\nmanylinux_2_5_x86_64\n--platform\nmanylinux2014_x86_64\n--platform\n"
			"linux_x86_64\n--target\n");
	assert_true(str_ends(argv, "\nsix>=1\n"));
	assert_null(strstr(argv, "--isolated"));
	assert_null(strstr(argv, "--require-hashes"));
}

static void test_other_machines_have_other_tags(void **state)
{
	cleanup_fixture struct fixture *f = empty_run(
		MANIFEST("linux/arm64", "stack: { python: \"3.12\" }\n", "from: host", "six"));
	struct error err = { 0 };
	cleanup_free char *argv = NULL;

	(void)state;
	assert_ok(resolve(f, &err), err);
	argv = got(f, "argv");
	assert_contains(argv, "\nmanylinux_2_28_aarch64\n");
	assert_contains(argv,
			"\nmanylinux_2_17_aarch64\n--platform\nmanylinux2014_aarch64\n--platform\n"
			"linux_aarch64\n");
	assert_null(strstr(argv, "x86_64"));
	assert_contains(argv, "--python-version\n3.12\n--abi\ncp312\n");
}

static void test_the_manifest_may_not_contradict_the_packages(void **state)
{
	cleanup_fixture struct fixture *f = empty_run(
		MANIFEST("linux/amd64", "stack: { python: \"3.12\" }\n", "from: host", "six"));
	struct error err = { 0 };

	(void)state;
	add_deb(f, "python3.11-minimal", "3.11.2-6");
	assert_int_equal(resolve(f, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "stack.python is 3.12, and the packages of stage runtime bring "
				  "Python 3.11");
	assert_contains(err.text, "stack.yaml:4:");
}

static void test_an_address_shuts_out_pips_own_configuration(void **state)
{
	cleanup_fixture struct fixture *f = empty_run(
		MANIFEST("linux/amd64", "", "url: \"https://pip.example.org/simple\"", "six"));
	struct error err = { 0 };
	cleanup_free char *argv = NULL, *env = NULL;

	(void)state;
	setenv("PIP_CERT", "/etc/ca.pem", 1);
	setenv("PIP_CONFIG_FILE", "/home/x/pip.conf", 1);
	assert_ok(resolve(f, &err), err);
	unsetenv("PIP_CERT");
	unsetenv("PIP_CONFIG_FILE");
	argv = got(f, "argv");
	env = got(f, "env");
	assert_contains(argv, "\n--isolated\n--index-url\nhttps://pip.example.org/simple\n--cert\n"
			      "/etc/ca.pem\nsix\n");
	assert_contains(env, "PIP_CONFIG_FILE=/dev/null\n");
	assert_null(strstr(env, "/home/x"));
}

static void test_a_folder_of_wheels_is_a_source(void **state)
{
	cleanup_fixture struct fixture *f =
		empty_run(MANIFEST("linux/amd64", "", "path: wheels", "six"));
	cleanup_free char *argv = NULL, *folder = fs_join(f->dir, "wheels"), *want = NULL;
	struct error err = { 0 };

	(void)state;
	want = xasprintf("\n--isolated\n--no-index\n--find-links\n%s\nsix\n", folder);
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_ok(resolve(f, &err), err);
	argv = got(f, "argv");
	assert_contains(argv, want);
}

static void test_a_missing_folder_of_wheels_is_named(void **state)
{
	cleanup_fixture struct fixture *f =
		empty_run(MANIFEST("linux/amd64", "", "path: wheels", "six"));
	struct error err = { 0 };

	(void)state;
	assert_int_equal(resolve(f, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "stack.yaml:5:");
	assert_contains(err.text, "source pip: there is no folder");
}

static void test_a_wheel_of_a_folder_has_its_own_size(void **state)
{
	cleanup_fixture struct fixture *f =
		fixture_new(MANIFEST("linux/amd64", "", "from: host", "six"));
	char hex[DIGEST_HEX_MAX];
	struct digest digest = digest_of(slice_str("a wheel"));
	cleanup_free char *url = xasprintf("file://%s/six-1.0-py3-none-any.whl", f->dir), *a = NULL;
	struct error err = { 0 };

	(void)state;
	put(f, "six-1.0-py3-none-any.whl", "a wheel");
	a = item("six", "1.0", url, digest_hex(&digest, hex), "");
	put_report(f, a, "");
	assert_ok(resolve(f, &err), err);
	assert_int_equal(f->context.inputs->inputs.items[0].size, 7);
	assert_true(store_has(f->store, &digest, 7));
}

static void test_hashes_of_a_requirements_file_are_demanded(void **state)
{
	cleanup_fixture struct fixture *f =
		empty_run(MANIFEST("linux/amd64", "", "from: host", "{ requirements: req.txt }"));
	cleanup_free char *argv = NULL, *want = NULL;
	struct error err = { 0 };

	(void)state;
	put(f, "req.txt", "six==1.0 \\\n  --hash=sha256:" HASH_A "\n");
	assert_ok(resolve(f, &err), err);
	argv = got(f, "argv");
	want = xasprintf("\n--require-hashes\n-r\n%s/req.txt\n", f->dir);
	assert_contains(argv, want);
}

static void test_requirements_files_that_cannot_be_taken_are_placed(void **state)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
		{ NULL, "req.txt" },
		{ "six\n\n-e ./here\n", "req.txt:3: '-e ./here' has to be built" },
		{ "./sub/x.tar.gz\n", "req.txt:1: './sub/x.tar.gz' is no wheel" },
		{ "x @ git+https://git.example.org/x\n", "is no wheel" },
		{ "--no-binary=six\n", "has to be built" },
		{ "-r missing.txt\n", "missing.txt" },
		{ "-r req.txt\n", "nest more than 8 deep" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_fixture struct fixture *f = empty_run(
			MANIFEST("linux/amd64", "", "from: host", "{ requirements: req.txt }"));
		struct error err = { 0 };

		if (cases[i].text)
			put(f, "req.txt", cases[i].text);
		assert_int_equal(resolve(f, &err), -1);
		assert_int_equal(err.code, ERROR_USAGE);
		assert_contains(err.text, cases[i].part);
		if (i > 0 && i < 6)
			assert_contains(err.text, "stack.yaml:8:");
	}
}

static void test_what_is_no_requirement_never_reaches_pip(void **state)
{
	static const char *const bad[] = { "--index-url=http://x.example.org",
					   "./six",
					   "a/b",
					   "http://x.example.org/a.whl",
					   "six @ file:x",
					   "six.whl",
					   "x.tar.gz",
					   "-r",
					   "a\\b" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_fixture struct fixture *f = empty_run(PLAIN);
		cleanup_free char *argv = fs_join(f->dir, "argv");
		struct error err = { 0 };

		f->stack.stages[0].packages[0].items[0].spec = bad[i];
		if (resolve(f, &err) == 0)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(err.code, ERROR_USAGE);
		assert_contains(err.text, "stack.yaml:8:");
		assert_false(fs_exists(AT_FDCWD, argv));
	}
}

static void test_a_report_becomes_inputs_sorted_by_name(void **state)
{
	static const struct http_server_step steps[] = { { .answer = "200 OK\r\n\r\n123456789" },
							 { .answer = "200 OK\r\n\r\n1234" } };
	cleanup_http_server struct http_server *server = http_server_start(steps, 2);
	cleanup_fixture struct fixture *f = fixture_new(PLAIN);
	cleanup_free char *first =
		xasprintf("%s/Six-1.16-py2.py3-none-any.whl#sha256=x", http_server_url(server));
	cleanup_free char *second =
		xasprintf("%s/a_b-2%%2Bcu1-cp311-cp311-linux_x86_64.whl", http_server_url(server));
	cleanup_free char *a = item("Six", "1.16", first, HASH_A, ",\"requested\":true");
	cleanup_free char *b = item("a.b", "2+cu1", second, HASH_B, ",\"requested\":false");
	const struct lock_input *in;
	struct error err = { 0 };

	(void)state;
	put_report(f, a, b);
	assert_ok(resolve(f, &err), err);
	assert_int_equal(f->context.inputs->inputs.len, 2);
	in = f->context.inputs->inputs.items;
	assert_string_equal(in[0].name, "a-b");
	assert_string_equal(in[0].version, "2+cu1");
	assert_string_equal(in[0].url, second);
	assert_int_equal(in[0].size, 4);
	assert_false(in[0].requested);
	assert_string_equal(in[1].name, "six");
	assert_true(str_ends(in[1].url, "/Six-1.16-py2.py3-none-any.whl"));
	assert_int_equal(in[1].size, 9);
	assert_true(in[1].requested);
	assert_string_equal(in[1].stage, "runtime");
	assert_string_equal(in[1].source, "pip");
	assert_contains(http_server_request(server, 0), "HEAD /Six-1.16-py2.py3-none-any.whl ");
}

static void test_a_server_without_head_gives_the_size_by_the_wheel(void **state)
{
	static const struct http_server_step steps[] = { { .answer = "405 No\r\n\r\n" },
							 { .answer = "200 OK\r\n\r\na wheel" } };
	cleanup_http_server struct http_server *server = http_server_start(steps, 2);
	cleanup_fixture struct fixture *f = fixture_new(PLAIN);
	cleanup_free char *url = xasprintf("%s/six-1-py3-none-any.whl", http_server_url(server));
	struct digest digest = digest_of(slice_str("a wheel"));
	char hex[DIGEST_HEX_MAX];
	cleanup_free char *a = item("six", "1", url, digest_hex(&digest, hex), "");
	struct error err = { 0 };

	(void)state;
	put_report(f, a, "");
	assert_ok(resolve(f, &err), err);
	assert_int_equal(f->context.inputs->inputs.items[0].size, 7);
	assert_true(f->context.inputs->inputs.items[0].requested); /* by its name in the manifest */
}

static void test_a_wheel_that_is_not_what_the_index_says_is_not_locked(void **state)
{
	static const struct http_server_step steps[] = { { .answer = "405 No\r\n\r\n" },
							 { .answer = "200 OK\r\n\r\na wheel" } };
	cleanup_http_server struct http_server *server = http_server_start(steps, 2);
	cleanup_fixture struct fixture *f = fixture_new(PLAIN);
	cleanup_free char *url = xasprintf("%s/six-1-py3-none-any.whl", http_server_url(server));
	cleanup_free char *a = item("six", "1", url, HASH_A, "");
	struct error err = { 0 };

	(void)state;
	put_report(f, a, "");
	assert_int_equal(resolve(f, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "six 1: ");
}

static void test_credentials_stay_out_of_the_lock(void **state)
{
	static const struct http_server_step steps[] = { { .answer = "200 OK\r\n\r\n1" } };
	cleanup_http_server struct http_server *server = http_server_start(steps, 1);
	cleanup_fixture struct fixture *f = fixture_new(PLAIN);
	cleanup_free char *url = xasprintf("http://me:p%%40ss@%s/six-1-py3-none-any.whl",
					   http_server_url(server) + 7);
	cleanup_free char *a = item("six", "1", url, HASH_A, "");
	cleanup_free char *want = xasprintf("%s/six-1-py3-none-any.whl", http_server_url(server));
	struct error err = { 0 };

	(void)state;
	put_report(f, a, "");
	assert_ok(resolve(f, &err), err);
	assert_string_equal(f->context.inputs->inputs.items[0].url, want);
}

static void test_withdrawn_wheels_are_warned_of(void **state)
{
	static const struct http_server_step steps[] = { { .answer = "200 OK\r\n\r\n1" } };
	cleanup_http_server struct http_server *server = http_server_start(steps, 1);
	cleanup_fixture struct fixture *f = fixture_new(PLAIN);
	cleanup_free char *url = xasprintf("%s/six-1-py3-none-any.whl", http_server_url(server));
	cleanup_free char *a = item("six", "1", url, HASH_A, ",\"is_yanked\":true");
	struct error err = { 0 };

	(void)state;
	put_report(f, a, "");
	assert_ok(resolve(f, &err), err);
	fflush(f->out.err);
	assert_contains(f->noted, "six 1 was withdrawn (yanked) by its publisher");
}

static void test_withdrawn_wheels_are_warned_of_once_when_pip_says_so(void **state)
{
	static const struct http_server_step steps[] = { { .answer = "200 OK\r\n\r\n1" } };
	cleanup_http_server struct http_server *server = http_server_start(steps, 1);
	cleanup_fixture struct fixture *f = fixture_new(PLAIN);
	cleanup_free char *url = xasprintf("%s/six-1-py3-none-any.whl", http_server_url(server));
	cleanup_free char *a = item("six", "1", url, HASH_A, ",\"is_yanked\":true");
	struct error err = { 0 };

	(void)state;
	put_report(f, a, "");
	put(f, "stderr",
	    "WARNING: The candidate selected for download or install is a yanked version: 'six' "
	    "candidate (version 1 at https://u:p@x.example.org/six.whl)\n");
	assert_ok(resolve(f, &err), err);
	fflush(f->out.err);
	assert_contains(f->noted, "'six' candidate (version 1 at https://x.example.org/six.whl)");
	assert_null(strstr(f->noted, "six 1 was withdrawn"));
}

/* pip ends with 1 and says this on its outputs. */
static void fails(const char *out, const char *errors, const char *more, enum error_code code,
		  const char *part)
{
	cleanup_fixture struct fixture *f = fixture_new(PLAIN);
	struct error err = { 0 };

	put(f, "status", "1");
	put(f, "stdout", out);
	put(f, "stderr", errors);
	put(f, "long", more);
	assert_int_equal(resolve(f, &err), -1);
	assert_contains(err.text, part);
	assert_int_equal(err.code, code);
}

static void test_what_pip_says_decides_the_error(void **state)
{
	(void)state;
	fails("", "/usr/bin/python3: No module named pip\n", "", ERROR_NOT_FOUND, "python3-pip");
	fails("", "\nUsage:\n\nno such option: --report\n", "", ERROR_NOT_FOUND, "22.2 or newer");
	fails("",
	      "WARNING: Retrying after connection broken by 'NewConnectionError'\n"
	      "ERROR: No matching distribution found for six\n",
	      "", ERROR_NETWORK, "could not reach its index");
	fails("", "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n", "",
	      ERROR_INTEGRITY, "DO NOT MATCH THE HASHES");
	fails("", "", "", ERROR_SYSTEM, "pip ended with status 1 and said nothing");
	fails("",
	      "Traceback (most recent call last):\n  File \"x\"\n\n"
	      "ImportError: at https://me:secret@pip.example.org/\n",
	      "", ERROR_SYSTEM,
	      "status 1; its last words: Traceback (most recent call last):; File \"x\"; "
	      "ImportError: at https://pip.example.org/");
}

static void test_a_conflict_is_told_with_who_wants_what(void **state)
{
	(void)state;
	fails("Collecting a\n\nThe conflict is caused by:\n    The user requested u<1\n"
	      "    r 2 depends on u<3 and >=1\n\nTo fix this you could try to:\n",
	      "ERROR: Cannot install a\nERROR: ResolutionImpossible: for help visit x\n", "",
	      ERROR_VERDICT, "The user requested u<1; r 2 depends on u<3 and >=1");
}

#define NONE                                                                           \
	"ERROR: Could not find a version that satisfies the requirement six>=1 (from " \
	"versions: none)\nERROR: No matching distribution found for six>=1\n"

static void test_the_tags_that_there_are_are_named_when_none_fits(void **state)
{
	(void)state;
	fails("", NONE,
	      "Skipping link: none of the wheel's tags (cp39-cp39-win32) are compatible (run x): "
	      "u\n"
	      "Skipping link: none of the wheel's tags (cp39-cp39-win32) are compatible (run x): "
	      "v\n"
	      "  Skipping link: none of the wheel's tags (cp38-cp38-macosx) are compatible: w\n",
	      ERROR_VERDICT, "offered are only cp39-cp39-win32, cp38-cp38-macosx");
}

static void test_an_index_that_refuses_is_a_matter_of_the_network(void **state)
{
	(void)state;
	fails("", NONE,
	      "Could not fetch URL http://u:p@x.example.org/six/: 403 Client Error - skipping\n",
	      ERROR_NETWORK, "http://x.example.org/six/: 403");
	fails("", NONE,
	      "Could not fetch URL http://x.example.org/six/: 404 Client Error - skipping\n",
	      ERROR_VERDICT, "No matching distribution found for six>=1");
}

static void test_credentials_stay_out_of_errors(void **state)
{
	cleanup_fixture struct fixture *f = fixture_new(PLAIN);
	struct error err = { 0 };

	(void)state;
	put(f, "status", "1");
	put(f, "long", "");
	put(f, "stderr",
	    "ERROR: 401 Client Error for url: https://me:secret@x.example.org/simple\n");
	assert_int_equal(resolve(f, &err), -1);
	assert_null(strstr(err.text, "secret"));
	assert_contains(err.text, "https://x.example.org/simple");
}

static void test_without_python_the_reason_is_said(void **state)
{
	cleanup_fixture struct fixture *f = fixture_new(PLAIN);
	cleanup_free char *python = fs_join(f->dir, "python3");
	struct error err = { 0 };

	(void)state;
	assert_int_equal(unlink(python), 0);
	setenv("PATH", f->dir, 1);
	assert_int_equal(resolve(f, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "Python requirements are resolved by pip");
}

#define URL "http://127.0.0.1:9/six-1-py3-none-any.whl"
#define HOSTILE(name, version, url, hash)                                                       \
	"{\"install\":[{\"download_info\":{\"url\":\"" url "\",\"archive_info\":{\"hashes\":{"  \
	"\"sha256\":\"" hash "\"}}},\"metadata\":{\"name\":\"" name "\",\"version\":\"" version \
	"\"}}]}"

/* As pip before 23.1 reports a local file. */
#define OLD_REPORT(hash)                                                           \
	"{\"install\":[{\"download_info\":{\"url\":\"" URL "\",\"archive_info\":{" \
	"\"hash\":\"" hash "\"}},\"metadata\":{\"name\":\"six\",\"version\":\"1\"}}]}"

static void test_hostile_reports_are_refused(void **state)
{
	static const struct {
		const char *report, *part;
	} cases[] = {
		{ "", "pip's report" },
		{ "[]", "pip's report" },
		{ "{\"install\":{}}", "install" },
		{ "{\"install\":[1]}", "install[0]" },
		{ "{\"install\":[{}]}", "download_info" },
		{ "{\"install\":[{\"download_info\":{\"url\":\"x\",\"vcs_info\":{}},\"metadata\":"
		  "{\"name\":\"x\",\"version\":\"1\"}}]}",
		  "x: the index gives no SHA-256" },
		{ HOSTILE("../x", "1", URL, HASH_A), "is no name and version" },
		{ HOSTILE("", "1", URL, HASH_A), "is no name and version" },
		{ HOSTILE("six", "1/2", URL, HASH_A), "is no name and version" },
		{ HOSTILE("seven", "1", URL, HASH_A), "another distribution" },
		{ HOSTILE("six", "1", "http://127.0.0.1:9/six-1.tar.gz", HASH_A),
		  "not the name of a wheel" },
		{ HOSTILE("six", "1", URL, "xyz"), "six 1" },
		{ OLD_REPORT("sha256=xyz"), "'xyz' is not a digest" }, /* read, and no digest */
		{ OLD_REPORT("md5=" HASH_A), "six: the index gives no SHA-256" },
		{ HOSTILE("six", "1", "http://127.0.0.1:9/six-1-cp39-cp39-linux_x86_64.whl",
			  HASH_A),
		  "its wheel is for cp39-cp39-linux_x86_64" },
		{ HOSTILE("six", "1", "ftp://127.0.0.1/six-1-py3-none-any.whl", HASH_A), "six 1" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_fixture struct fixture *f = fixture_new(PLAIN);
		struct error err = { 0 };

		put(f, "report", cases[i].report);
		if (resolve(f, &err) == 0)
			fail_msg("accepted: %s", cases[i].report);
		assert_contains(err.text, cases[i].part);
		assert_int_equal(f->context.inputs->inputs.len, 0);
	}
}

static void test_two_files_of_one_distribution_are_refused(void **state)
{
	static const struct http_server_step steps[] = { { .answer = "200 OK\r\n\r\n1" },
							 { .answer = "200 OK\r\n\r\n1" } };
	cleanup_http_server struct http_server *server = http_server_start(steps, 2);
	cleanup_fixture struct fixture *f = fixture_new(PLAIN);
	cleanup_free char *url = xasprintf("%s/a_b-1-py3-none-any.whl", http_server_url(server));
	cleanup_free char *a = item("a.b", "1", url, HASH_A, ""),
			  *b = item("A_b", "1", url, HASH_B, "");
	struct error err = { 0 };

	(void)state;
	put_report(f, a, b);
	assert_int_equal(resolve(f, &err), -1);
	assert_int_equal(err.code, ERROR_VERDICT);
	assert_contains(err.text, "a-b is asked for twice");
}

static void test_one_file_from_two_sources_is_one_input(void **state)
{
	static const struct http_server_step steps[] = { { .answer = "200 OK\r\n\r\n1" },
							 { .answer = "200 OK\r\n\r\n1" } };
	static const char manifest[] =
		"gpuimg: 1\nname: t\nplatforms: [linux/amd64]\nsources:\n"
		"  - { id: one, type: wheels, from: host }\n  - { id: two, type: wheels, from: "
		"host }\n"
		"stages:\n  runtime:\n    packages: { one: [x], two: [six] }\n";
	cleanup_http_server struct http_server *server = http_server_start(steps, 2);
	cleanup_fixture struct fixture *f = fixture_new(manifest);
	cleanup_free char *url = xasprintf("%s/six-1-py3-none-any.whl", http_server_url(server));
	cleanup_free char *a = item("six", "1", url, HASH_A, "");
	struct error err = { 0 };

	(void)state;
	put_report(f, a, "");
	assert_ok(resolve(f, &err), err);
	assert_int_equal(f->context.inputs->inputs.len, 1);
	assert_string_equal(f->context.inputs->inputs.items[0].source, "one");
	assert_true(f->context.inputs->inputs.items[0].requested);
}

static void test_tags_fit_a_python_a_machine_and_a_c_library(void **state)
{
	static const struct wheel_target target = {
		.python_minor = 11, .python_full = "3.11.2", .glibc_minor = 28, .machine = "x86_64"
	};
	static const struct {
		const char *file;
		bool fits;
	} cases[] = {
		{ "a-1-py3-none-any.whl", true },
		{ "a-1-py2.py3-none-any.whl", true },
		{ "a-1-py2-none-any.whl", false },
		{ "a-1-py311-none-any.whl", true },
		{ "a-1-py312-none-any.whl", false },
		{ "a-1-cp311-cp311-linux_x86_64.whl", true },
		{ "a-1-cp310-cp310-linux_x86_64.whl", false },
		{ "a-1-cp37-abi3-manylinux_2_28_x86_64.whl", true },
		{ "a-1-cp312-abi3-manylinux_2_28_x86_64.whl", false },
		{ "a-1-cp311-cp311-manylinux_2_29_x86_64.whl", false },
		{ "a-1-cp311-cp311-manylinux_2_29_x86_64.manylinux2014_x86_64.whl", true },
		{ "a-1-cp311-cp311-manylinux1_x86_64.whl", true },
		{ "a-1-cp311-cp311-manylinux2014_aarch64.whl", false },
		{ "a-1-cp311-cp311-musllinux_1_2_x86_64.whl", false },
		{ "a-1-cp311-cp311-win_amd64.whl", false },
		{ "a-1-cp311-cp311t-linux_x86_64.whl", false },
		{ "a-1-pp311-none-any.whl", false },
		{ "a-1-py3-none-_x86_64.whl", false },
		{ "a-1-py3-none-x.whl", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct wheel_name name;
		struct error err = { 0 };

		assert_ok(wheel_name_parse(cases[i].file, &arena, &name, &err), err);
		if (wheel_fits(&name, &target) != cases[i].fits)
			fail_msg("%s", cases[i].file);
	}
}

/* The closure of a report's "install", for Python 3.11.2; warnings go to *noted. */
static int closure(const char *install, char **noted, struct error *err)
{
	static const struct wheel_target target = {
		.python_minor = 11, .python_full = "3.11.2", .glibc_minor = 28, .machine = "x86_64"
	};
	cleanup_free char *text = xasprintf(
		"{\"install\":[%s],\"environment\":{\"python_full_version\":\"3.12.1\"}}", install);
	cleanup_json json_t *report = NULL;
	size_t len;
	struct out out = { .err = open_memstream(noted, &len) };
	int rc;

	assert_ok(json_parse(slice_str(text), &report, err), *err);
	rc = wheel_check_closure(report, &target, &out, err);
	fclose(out.err);
	return rc;
}

#define DIST(name, requires, more)        \
	"{\"metadata\":{\"name\":\"" name \
	"\",\"version\":\"1\",\"requires_dist\":[" requires "]}" more "}"
#define ASKED ",\"requested\":true"

static void test_a_closed_set_passes_in_silence(void **state)
{
	cleanup_free char *noted = NULL;
	struct error err = { 0 };

	(void)state;
	assert_ok(closure(DIST("a", "\"B.b>=2\",\"n; os_name == 'nt'\"", ASKED) "," DIST("b_b", "",
											 ""),
			  &noted, &err),
		  err);
	assert_string_equal(noted, "");
}

static void test_what_the_target_needs_and_pip_left_out_is_named(void **state)
{
	cleanup_free char *noted = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		closure(DIST("a", "\"tomli; python_version < '3.12'\"", ASKED), &noted, &err), -1);
	assert_int_equal(err.code, ERROR_VERDICT);
	assert_contains(err.text, "a 1 requires 'tomli; python_version < '3.12''");
	assert_contains(err.text, "on Python 3.11.2, x86_64");
	assert_contains(err.text, "its own Python 3.12.1");
}

static void test_what_only_pips_python_needs_is_warned_of(void **state)
{
	cleanup_free char *noted = NULL;
	struct error err = { 0 };

	(void)state;
	assert_ok(closure(DIST("a", "\"b; python_version >= '3.12'\"", ASKED) "," DIST("b", "\"c\"",
										       ""),
			  &noted, &err),
		  err);
	assert_contains(noted, "b 1 is locked though nothing requires it on Python 3.11.2");
}

static void test_extras_bring_their_requirements(void **state)
{
	static const char with[] =
		DIST("a", "\"a[y]; extra == 'x'\",\"b[Z_z]; extra == 'y'\"",
		     ASKED
		     ",\"requested_extras\":[\"X\"]") "," DIST("b", "\"c; extra == 'z-z'\"", "");
	cleanup_free char *noted = NULL, *noted2 = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(closure(with, &noted, &err), -1);
	assert_contains(err.text, "b 1 requires 'c; extra == 'z-z''");
	err = (struct error){ 0 };
	assert_ok(closure(DIST("a", "\"b; extra == 'y'\"", ASKED), &noted2, &err), err);
}

static void test_without_word_of_requests_all_count(void **state)
{
	cleanup_free char *noted = NULL;
	struct error err = { 0 };

	(void)state;
	assert_ok(closure(DIST("a", "", "") "," DIST("b", "", ""), &noted, &err), err);
	assert_string_equal(noted, "");
}

static void test_unreadable_requirements_are_warned_of_once(void **state)
{
	cleanup_free char *noted = NULL;
	struct error err = { 0 };

	(void)state;
	assert_ok(closure(DIST("a", "\"b; wind > 'x'\",\"\",1", ASKED), &noted, &err), err);
	assert_contains(noted, "a 1: Requires-Dist: marker");
	assert_null(strstr(strstr(noted, "wind") + 1, "wind"));
}

static void test_reports_of_wrong_types_are_refused(void **state)
{
	static const char *const bad[] = {
		"1",
		"{}",
		"{\"metadata\":{\"name\":\"a\"}}",
		"{\"metadata\":{\"name\":\"a\",\"version\":\"1\",\"requires_dist\":{}}}",
		DIST("a", "", ASKED ",\"requested_extras\":\"x\""),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_free char *noted = NULL;
		struct error err = { 0 };

		assert_int_equal(closure(bad[i], &noted, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

#define PYLOCK_HEAD "lock-version = \"1.0\"\ncreated-by = \"test\"\n"
#define PYLOCK_SIX                                                                       \
	PYLOCK_HEAD                                                                      \
	"[[packages]]\nname = \"six\"\nversion = \"1.16.0\"\nwheels = [ { url = "        \
	"\"https://example.org/six-1.16.0-py2.py3-none-any.whl\", size = 7, hashes = { " \
	"sha256 = \"" HASH_A "\" } } ]\n"
#define PYLOCK(packages) MANIFEST("linux/amd64", "", "from: host", packages)

static bool pip_ran(const struct fixture *f)
{
	cleanup_free char *path = fs_join(f->dir, "argv");

	return fs_exists(AT_FDCWD, path);
}

static void test_a_lock_file_is_taken_as_it_stands_and_pip_is_not_asked(void **state)
{
	cleanup_fixture struct fixture *f = fixture_new(PYLOCK("{ requirements: pylock.toml }"));
	const struct lock_input *in;
	struct error err = { 0 };

	(void)state;
	put(f, "pylock.toml", PYLOCK_SIX);
	assert_ok(resolve(f, &err), err);
	assert_false(pip_ran(f));
	assert_int_equal(f->context.inputs->inputs.len, 1);
	in = &f->context.inputs->inputs.items[0];
	assert_string_equal(in->name, "six");
	assert_string_equal(in->version, "1.16.0");
	assert_string_equal(in->url, "https://example.org/six-1.16.0-py2.py3-none-any.whl");
	assert_int_equal(in->size, 7);
	assert_true(in->requested);
}

static void test_pip_resolves_what_a_lock_file_lacks_beside_it(void **state)
{
	cleanup_fixture struct fixture *f =
		empty_run(PYLOCK("\"six>=1.10\", { requirements: pylock.toml }, einops"));
	cleanup_free char *argv = NULL;
	struct error err = { 0 };

	(void)state;
	put(f, "pylock.toml", PYLOCK_SIX);
	assert_ok(resolve(f, &err), err);
	argv = got(f, "argv");
	assert_contains(argv, "\n--constraint\n");
	assert_true(str_ends(argv, "/constraints.txt\neinops\n"));
	assert_int_equal(f->context.inputs->inputs.len, 1);
}

static void test_a_lock_file_with_another_version_than_is_asked_for_is_refused(void **state)
{
	cleanup_fixture struct fixture *f =
		fixture_new(PYLOCK("\"six>=1.17\", { requirements: pylock.toml }"));
	struct error err = { 0 };

	(void)state;
	put(f, "pylock.toml", PYLOCK_SIX);
	assert_int_equal(resolve(f, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "stack.yaml:8:23: 'six>=1.17' is asked for, and the lock file "
				  "that is asked for as well has six 1.16.0");
}

static void test_a_wheel_beside_a_lock_file_is_found_by_its_path(void **state)
{
	cleanup_fixture struct fixture *f = fixture_new(PYLOCK("{ requirements: pylock.x.toml }"));
	struct digest digest = digest_of(slice_str("a wheel"));
	char hex[DIGEST_HEX_MAX];
	cleanup_free char *text =
		xasprintf(PYLOCK_HEAD
			  "[[packages]]\nname = \"six\"\nwheels = [ { path = "
			  "\"six-1.0-py3-none-any.whl\", hashes = { sha256 = \"%s\" } } ]\n",
			  digest_hex(&digest, hex));
	cleanup_free char *real = realpath(f->dir, NULL);
	cleanup_free char *url = xasprintf("file://%s/six-1.0-py3-none-any.whl", real);
	struct error err = { 0 };

	(void)state;
	put(f, "six-1.0-py3-none-any.whl", "a wheel");
	put(f, "pylock.x.toml", text);
	assert_ok(resolve(f, &err), err);
	assert_string_equal(f->context.inputs->inputs.items[0].url, url);
	assert_int_equal(f->context.inputs->inputs.items[0].size, 7);
	assert_string_equal(f->context.inputs->inputs.items[0].version, "1.0");
}

static void test_lock_files_that_cannot_be_taken_are_named(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ NULL, "stack.yaml:8:23: requirements: " },
		{ "x", "pylock.toml:1:2: not valid TOML" },
		{ PYLOCK_HEAD "[[packages]]\nname = \"a\"\n[packages.vcs]\ntype = \"git\"\n",
		  "pylock.toml:5:11: a would have to be built" },
		{ PYLOCK_HEAD "[[packages]]\nname = \"a\"\nwheels = [ { path = "
			      "\"a-1-py3-none-any.whl\", hashes = { sha256 = \"" HASH_A
			      "\" } } ]\n",
		  "pylock.toml:5:12: there is no file " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_fixture struct fixture *f =
			fixture_new(PYLOCK("{ requirements: pylock.toml }"));
		struct error err = { 0 };

		if (cases[i].text)
			put(f, "pylock.toml", cases[i].text);
		assert_int_equal(resolve(f, &err), -1);
		assert_contains(err.text, cases[i].want);
	}
}

/* The header that a HEAD for a wheel of that server brought; the lock and texts hold no secret. */
static void check_credentials(struct fixture *f, struct http_server *server, const char *basic)
{
	cleanup_free char *header = xasprintf("Authorization: Basic %s\r\n", basic);
	cleanup_free char *a = NULL, *url = NULL;
	struct error err = { 0 };

	url = xasprintf("%s/six-1.0-py3-none-any.whl", http_server_url(server));
	a = item("six", "1.0", url, HASH_A, "");
	put_report(f, a, "");
	assert_ok(resolve(f, &err), err);
	assert_int_equal(http_server_count(server), 1);
	assert_contains(http_server_request(server, 0), "HEAD /six-1.0-py3-none-any.whl");
	assert_contains(http_server_request(server, 0), header);
	assert_string_equal(f->context.inputs->inputs.items[0].url, url);
}

static const struct http_server_step seven_bytes[] = {
	{ .answer = "200 OK\r\nContent-Length: 7\r\n\r\n", .no_length = true },
};

static void test_an_indexs_credentials_are_used_for_its_wheels(void **state)
{
	static const char *const variables[] = { "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		cleanup_fixture struct fixture *f = fixture_new(PLAIN);
		cleanup_http_server struct http_server *server =
			http_server_start(seven_bytes, ARRAY_LEN(seven_bytes));
		cleanup_free char *url =
			xasprintf("https://x.example.org/simple http://u:s%%40t@%s/simple",
				  http_server_url(server) + 7);

		setenv(variables[i], url, 1);
		check_credentials(f, server, "dTpzQHQ="); /* u:s@t */
		unsetenv(variables[i]);
	}
}

static void test_pips_configuration_and_netrc_have_credentials(void **state)
{
	(void)state;
	for (int netrc = 0; netrc < 2; netrc++) {
		cleanup_fixture struct fixture *f = fixture_new(PLAIN);
		cleanup_http_server struct http_server *server =
			http_server_start(seven_bytes, ARRAY_LEN(seven_bytes));
		cleanup_free char *path = fs_join(f->dir, netrc ? "netrc" : "pip.conf");
		cleanup_free char *config =
			xasprintf("[global]\nindex-url=http://u:s%%40t@%s/simple\n",
				  http_server_url(server) + 7);

		put(f, netrc ? "netrc" : "pip.conf",
		    netrc ? "machine other login x password y\nmachine 127.0.0.1\n  login u\n  "
			    "password s@t\n"
			  : config);
		setenv(netrc ? "NETRC" : "PIP_CONFIG_FILE", path, 1);
		check_credentials(f, server, "dTpzQHQ=");
		unsetenv(netrc ? "NETRC" : "PIP_CONFIG_FILE");
	}
}

static void test_credentials_of_one_server_go_to_no_other(void **state)
{
	cleanup_fixture struct fixture *f = fixture_new(PLAIN);
	cleanup_http_server struct http_server *server =
		http_server_start(seven_bytes, ARRAY_LEN(seven_bytes));
	cleanup_free char *url = NULL, *a = NULL;
	struct error err = { 0 };

	(void)state;
	setenv("PIP_INDEX_URL", "http://u:s@127.0.0.1:1/simple", 1);
	url = xasprintf("%s/six-1.0-py3-none-any.whl", http_server_url(server));
	a = item("six", "1.0", url, HASH_A, "");
	put_report(f, a, "");
	assert_ok(resolve(f, &err), err);
	unsetenv("PIP_INDEX_URL");
	assert_null(strstr(http_server_request(server, 0), "Authorization"));
}

int main(void)
{
	setenv("NETRC", "/dev/null", 1); /* nothing of the machine's own */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pip_is_asked_for_wheels_of_the_image),
		cmocka_unit_test(test_other_machines_have_other_tags),
		cmocka_unit_test(test_the_manifest_may_not_contradict_the_packages),
		cmocka_unit_test(test_an_address_shuts_out_pips_own_configuration),
		cmocka_unit_test(test_a_folder_of_wheels_is_a_source),
		cmocka_unit_test(test_a_missing_folder_of_wheels_is_named),
		cmocka_unit_test(test_a_wheel_of_a_folder_has_its_own_size),
		cmocka_unit_test(test_hashes_of_a_requirements_file_are_demanded),
		cmocka_unit_test(test_requirements_files_that_cannot_be_taken_are_placed),
		cmocka_unit_test(test_what_is_no_requirement_never_reaches_pip),
		cmocka_unit_test(test_a_report_becomes_inputs_sorted_by_name),
		cmocka_unit_test(test_a_server_without_head_gives_the_size_by_the_wheel),
		cmocka_unit_test(test_a_wheel_that_is_not_what_the_index_says_is_not_locked),
		cmocka_unit_test(test_credentials_stay_out_of_the_lock),
		cmocka_unit_test(test_withdrawn_wheels_are_warned_of),
		cmocka_unit_test(test_withdrawn_wheels_are_warned_of_once_when_pip_says_so),
		cmocka_unit_test(test_what_pip_says_decides_the_error),
		cmocka_unit_test(test_a_conflict_is_told_with_who_wants_what),
		cmocka_unit_test(test_the_tags_that_there_are_are_named_when_none_fits),
		cmocka_unit_test(test_an_index_that_refuses_is_a_matter_of_the_network),
		cmocka_unit_test(test_credentials_stay_out_of_errors),
		cmocka_unit_test(test_without_python_the_reason_is_said),
		cmocka_unit_test(test_hostile_reports_are_refused),
		cmocka_unit_test(test_two_files_of_one_distribution_are_refused),
		cmocka_unit_test(test_one_file_from_two_sources_is_one_input),
		cmocka_unit_test(test_tags_fit_a_python_a_machine_and_a_c_library),
		cmocka_unit_test(test_a_closed_set_passes_in_silence),
		cmocka_unit_test(test_what_the_target_needs_and_pip_left_out_is_named),
		cmocka_unit_test(test_what_only_pips_python_needs_is_warned_of),
		cmocka_unit_test(test_extras_bring_their_requirements),
		cmocka_unit_test(test_without_word_of_requests_all_count),
		cmocka_unit_test(test_unreadable_requirements_are_warned_of_once),
		cmocka_unit_test(test_reports_of_wrong_types_are_refused),
		cmocka_unit_test(test_a_lock_file_is_taken_as_it_stands_and_pip_is_not_asked),
		cmocka_unit_test(test_pip_resolves_what_a_lock_file_lacks_beside_it),
		cmocka_unit_test(
			test_a_lock_file_with_another_version_than_is_asked_for_is_refused),
		cmocka_unit_test(test_a_wheel_beside_a_lock_file_is_found_by_its_path),
		cmocka_unit_test(test_lock_files_that_cannot_be_taken_are_named),
		cmocka_unit_test(test_an_indexs_credentials_are_used_for_its_wheels),
		cmocka_unit_test(test_pips_configuration_and_netrc_have_credentials),
		cmocka_unit_test(test_credentials_of_one_server_go_to_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
