#include "tests/support/test.h"

#include "base/process.h"
#include "builder/sources/apt.h"
#include "builder/sources/deb_universe.h"
#include "builder/sources/source_url.h"
#include "tests/support/http_server.h"
#include "tests/support/scene.h"

#define FIXTURES "tests/fixtures/apt/"
enum { NOW = 1767268800 /* 2026-01-01 12:00 */ };

static struct scene *new_scene(void)
{
	struct scene *s = scene_new(FIXTURES);

	s->now = NOW;
	return s;
}

static void add_source(struct scene *s, const char *id, const char *path, const char *suite,
		       const char **components, size_t count)
{
	struct stack_source source = { .id = id,
				       .type = SOURCE_APT,
				       .suite = suite,
				       .signed_by = "keys/good.asc",
				       .components = { components, count } };

	scene_add(s, source, path);
}

static int run_os(struct scene *s, bool whole_os)
{
	struct apt_machine machine = { .root = s->dir, .now = s->now };

	return apt_resolve_on(&machine, &s->context, &s->request, 1, whole_os, &s->err);
}

static int run(struct scene *s)
{
	return run_os(s, false);
}

static void expect_failure(struct scene *s, enum error_code code, const char *part)
{
	scene_expect_failure(s, run(s), code, part);
}

static const char *main_only[] = { "main" };
static const char *both[] = { "main", "extra" };

static void test_a_closure_is_locked_with_address_digest_and_size(void **state)
{
	struct scene *s = new_scene();
	const struct lock_input *lib;
	char hex[DIGEST_HEX_MAX];
	cleanup_free char *url = NULL;

	(void)state;
	add_source(s, "os", "repo", "stable", main_only, 1);
	scene_want(s, "app");
	assert_ok(run(s), s->err);
	scene_expect(s, false, "libapp 1.0-1, data 3, app 1.0-1*");
	lib = &s->context.inputs->inputs.items[0];
	url = xasprintf("file://%s/repo/pool/libapp_1.0%%2Bx-1_amd64.deb", s->fixtures);
	assert_string_equal(lib->url, url);
	assert_int_equal(lib->size, 10);
	assert_string_equal(digest_hex(&lib->digest, hex),
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_string_equal(lib->arch, "amd64");
	assert_string_equal(lib->source, "os");
	assert_string_equal(lib->stage, "runtime");
	assert_int_equal(lib->kind, LOCK_DEB);
	scene_free(s);
}

static void test_the_release_is_recorded_once(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "repo", "stable", both, 2);
	scene_want(s, "data");
	assert_ok(run(s), s->err);
	assert_ok(run(s), s->err);
	assert_int_equal(s->lock.sources.len, 2);
	assert_string_equal(s->lock.sources.items[0].suite, "stable/main amd64");
	assert_string_equal(s->lock.sources.items[1].suite, "stable/extra amd64");
	assert_string_equal(s->lock.sources.items[0].date, "2026-01-01T00:00:00Z");
	scene_free(s);
}

static void test_the_highest_version_of_all_components_is_taken(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "repo", "stable", both, 2);
	scene_want(s, "app");
	assert_ok(run(s), s->err);
	scene_expect(s, false, "app 2.0-1*");
	scene_free(s);
}

static void test_a_version_that_is_asked_for_is_taken(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "repo", "stable", both, 2);
	scene_want(s, "app=1.*");
	assert_ok(run(s), s->err);
	scene_expect(s, false, "libapp 1.0-1, data 3, app 1.0-1*");
	scene_free(s);
}

static void test_a_whole_system_has_the_essential_packages(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "repo", "stable", main_only, 1);
	scene_want(s, "data");
	assert_ok(run_os(s, true), s->err);
	scene_expect(s, false, "base 2, data 3*");
	scene_free(s);
}

static void test_a_flat_repository_is_read(void **state)
{
	struct scene *s = new_scene();
	cleanup_free char *url = NULL;

	(void)state;
	add_source(s, "cuda", "flat", "./", NULL, 0);
	scene_want(s, "tool");
	assert_ok(run(s), s->err);
	scene_expect(s, false, "tool 1*");
	url = xasprintf("file://%s/flat/tool_1_amd64.deb", s->fixtures);
	assert_string_equal(s->context.inputs->inputs.items[0].url, url);
	assert_string_equal(s->lock.sources.items[0].suite, "./ amd64");
	scene_free(s);
}

static void test_the_named_source_must_have_the_package(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "repo", "stable", main_only, 1);
	add_source(s, "cuda", "flat", "./", NULL, 0);
	scene_want(s, "tool");
	expect_failure(
		s, ERROR_USAGE,
		"stack.yaml:7:3: source 'os' has no package 'tool' for amd64; there is: 1 (cuda)");
	scene_free(s);
}

static void test_an_unknown_package_is_reported_at_its_place_with_a_near_name(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "repo", "stable", main_only, 1);
	scene_want(s, "data");
	scene_want(s, "libap");
	expect_failure(s, ERROR_USAGE,
		       "stack.yaml:8:3: source 'os' has no package 'libap'; did you "
		       "mean 'libapp'?");
	scene_free(s);
}

static void test_driver_packages_are_refused_at_their_place(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "repo", "stable", main_only, 1);
	scene_want(s, "cuda-drivers");
	expect_failure(s, ERROR_USAGE, "stack.yaml:7:3: 'cuda-drivers' brings the driver");
	scene_free(s);
}

static void test_an_expired_release_is_refused(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	s->now = NOW + 10 * 86400;
	add_source(s, "os", "repo", "expired", main_only, 1);
	scene_want(s, "app");
	expect_failure(s, ERROR_INTEGRITY, "expired on 2026-01-02T00:00:00Z");
	scene_free(s);
}

static void test_a_release_signed_by_another_key_is_refused(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "repo", "other", main_only, 1);
	scene_want(s, "app");
	expect_failure(s, ERROR_INTEGRITY, "keys/good.asc");
	scene_free(s);
}

static void test_a_release_with_md5_alone_is_refused(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "repo", "md5", main_only, 1);
	scene_want(s, "app");
	expect_failure(s, ERROR_INTEGRITY, "no SHA256");
	scene_free(s);
}

static void test_a_missing_keyring_is_an_error(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "repo", "stable", main_only, 1);
	s->sources[0].signed_by = "keys/none.gpg";
	scene_want(s, "app");
	expect_failure(s, ERROR_INTEGRITY, "keys/none.gpg is missing");
	scene_free(s);
}

static void test_signed_by_is_required(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "repo", "stable", main_only, 1);
	s->sources[0].signed_by = NULL;
	scene_want(s, "app");
	expect_failure(s, ERROR_USAGE, "signed-by");
	scene_free(s);
}

static void test_a_source_that_is_not_there_is_an_error(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "nowhere", "stable", main_only, 1);
	scene_want(s, "app");
	expect_failure(s, ERROR_NOT_FOUND, "source 'os'");
	scene_free(s);
}

static void test_a_component_that_is_not_offered_is_an_error(void **state)
{
	static const char *wrong[] = { "mian" };
	struct scene *s = new_scene();

	(void)state;
	add_source(s, "os", "repo", "stable", wrong, 1);
	scene_want(s, "app");
	expect_failure(s, ERROR_USAGE, "component mian");
	scene_free(s);
}

/* Copies the fixtures' repository so that a test may damage it. */
static char *copy_repository(struct scene *s)
{
	cleanup_free char *from = fs_join(s->fixtures, "repo");
	char *to = fs_join(s->dir, "repo");
	const char *argv[] = { "cp", "-r", from, to, NULL };
	struct process p = { .argv = argv };
	cleanup_process struct process_result result = { 0 };

	assert_ok(process_run(&p, &result, &s->err), s->err);
	assert_int_equal(result.exit_status, 0);
	return to;
}

static void test_an_index_that_differs_from_the_release_is_refused(void **state)
{
	struct scene *s = new_scene();
	cleanup_free char *repo = copy_repository(s);
	cleanup_free char *index = fs_join(repo, "dists/stable/extra/binary-amd64/Packages");

	(void)state;
	assert_ok(fs_write(AT_FDCWD, index,
			   slice_str("Package: evil\nVersion: 1\nArchitecture: all\n"), 0644,
			   &s->err),
		  s->err);
	add_source(s, "os", "repo", "stable", both, 2);
	free((char *)s->sources[0].url);
	s->sources[0].url = xasprintf("file://%s", repo);
	scene_want(s, "app");
	expect_failure(s, ERROR_INTEGRITY, "extra/binary-amd64/Packages");
	scene_free(s);
}

static void test_indexes_that_lie_in_the_store_are_not_fetched_again(void **state)
{
	struct scene *s = new_scene();
	cleanup_free char *repo = copy_repository(s);
	cleanup_free char *main_dir = fs_join(repo, "dists/stable/main");

	(void)state;
	add_source(s, "os", "repo", "stable", main_only, 1);
	free((char *)s->sources[0].url);
	s->sources[0].url = xasprintf("file://%s", repo);
	scene_want(s, "data");
	assert_ok(run(s), s->err);
	assert_ok(fs_remove_tree(AT_FDCWD, main_dir, &s->err), s->err);
	assert_ok(run(s), s->err);
	scene_free(s);
}

static void put(const char *root, const char *path, const char *text)
{
	cleanup_free char *full = fs_join(root, path);
	cleanup_free char *dir = xstrdup(full);
	struct error err = { 0 };

	*strrchr(dir, '/') = 0;
	assert_ok(fs_mkdirs(AT_FDCWD, dir, &err), err);
	assert_ok(fs_write(AT_FDCWD, full, slice_str(text), 0644, &err), err);
}

/* A host whose sources.list has the given line for the fixtures' address. */
static struct scene *host_scene(const char *options, const char *rest, const char *more)
{
	struct scene *s = new_scene();
	cleanup_free char *list =
		xasprintf("deb %s file://%s/repo %s\n%s", options, s->fixtures, rest, more);
	cleanup_strbuf struct strbuf key = { 0 };

	assert_ok(fs_read(AT_FDCWD, FIXTURES "keys/good.asc", MIB, &key, &s->err), s->err);
	put(s->dir, "etc/apt/sources.list", list);
	put(s->dir, "usr/share/keyrings/good.asc", strbuf_text(&key));
	s->sources[0] = (struct stack_source){ .id = "os", .type = SOURCE_APT, .from_host = true };
	s->stack.source_count = 1;
	return s;
}

static void test_the_hosts_sources_are_used_with_their_keys(void **state)
{
	struct scene *s = host_scene("[signed-by=/usr/share/keyrings/good.asc]", "stable main", "");

	(void)state;
	scene_want(s, "app");
	assert_ok(run(s), s->err);
	scene_expect(s, false, "libapp 1.0-1, data 3, app 1.0-1*");
	scene_free(s);
}

static void test_without_signed_by_the_trusted_keys_of_the_machine_count(void **state)
{
	struct scene *s = host_scene("", "stable main", "");
	cleanup_strbuf struct strbuf key = { 0 };

	(void)state;
	scene_want(s, "data");
	expect_failure(s, ERROR_INTEGRITY, "no key to check it against");
	assert_ok(fs_read(AT_FDCWD, FIXTURES "keys/good.asc", MIB, &key, &s->err), s->err);
	put(s->dir, "etc/apt/trusted.gpg.d/good.asc", strbuf_text(&key));
	assert_ok(run(s), s->err);
	scene_free(s);
}

static void test_a_named_key_alone_counts_even_when_trusted_ones_would_do(void **state)
{
	struct scene *s = host_scene("[signed-by=/usr/share/keyrings/none.gpg]", "stable main", "");
	cleanup_strbuf struct strbuf key = { 0 };

	(void)state;
	scene_want(s, "data");
	assert_ok(fs_read(AT_FDCWD, FIXTURES "keys/good.asc", MIB, &key, &s->err), s->err);
	put(s->dir, "etc/apt/trusted.gpg.d/good.asc", strbuf_text(&key));
	expect_failure(s, ERROR_INTEGRITY, "usr/share/keyrings/none.gpg is missing");
	scene_free(s);
}

static void test_an_unreachable_source_of_the_host_is_left_out_with_a_warning(void **state)
{
	struct scene *s = host_scene("[signed-by=/usr/share/keyrings/good.asc]", "stable main",
				     "deb http://127.0.0.1:1/x y main\ndeb cdrom:[x]/ y main\n");

	(void)state;
	scene_want(s, "data");
	assert_ok(run(s), s->err);
	fflush(s->out.err);
	assert_contains(s->notes, "warning: /etc/apt/sources.list:2: left out");
	assert_contains(s->notes, "/etc/apt/sources.list:3: left out");
	scene_free(s);
}

static void test_nothing_but_unreachable_sources_is_an_error(void **state)
{
	struct scene *s = new_scene();

	(void)state;
	put(s->dir, "etc/apt/sources.list", "deb cdrom:[x]/ y main\n");
	s->sources[0] = (struct stack_source){ .id = "os", .type = SOURCE_APT, .from_host = true };
	s->stack.source_count = 1;
	scene_want(s, "data");
	expect_failure(s, ERROR_NETWORK, "no apt source could be read");
	scene_free(s);
}

static void test_a_wrong_signature_on_the_host_is_never_skipped(void **state)
{
	struct scene *s = host_scene("[signed-by=/usr/share/keyrings/good.asc]", "other main", "");

	(void)state;
	scene_want(s, "app");
	expect_failure(s, ERROR_INTEGRITY, "/etc/apt/sources.list:1");
	scene_free(s);
}

static void test_sources_of_other_architectures_are_passed_over(void **state)
{
	struct scene *s =
		host_scene("[arch=i386 signed-by=/usr/share/keyrings/good.asc]", "stable main", "");

	(void)state;
	scene_want(s, "app");
	expect_failure(s, ERROR_USAGE, "has no source for amd64");
	scene_free(s);
}

static void test_the_machines_answer_to_valid_until_is_respected(void **state)
{
	struct scene *s =
		host_scene("[signed-by=/usr/share/keyrings/good.asc]", "expired main", "");

	(void)state;
	s->now = NOW + 10 * 86400;
	scene_want(s, "app");
	expect_failure(s, ERROR_INTEGRITY, "expired");
	put(s->dir, "etc/apt/apt.conf", "Acquire::Check-Valid-Until \"false\";");
	assert_ok(run(s), s->err);
	scene_free(s);
}

/* Packages of the machine's own repository in `dir`, whose Release nobody signed. */
static void put_index(struct scene *s, struct strbuf *release, const char *folder, const char *path,
		      const char *text)
{
	cleanup_free char *full = xasprintf("%s%s", folder, path);
	struct digest digest = digest_of(slice_str(text));
	char hex[DIGEST_HEX_MAX];

	put(s->dir, full, text);
	strbuf_addf(release, " %s %zu %s\n", digest_hex(&digest, hex), strlen(text), path);
}

#define FILES                                 \
	"Filename: p.deb\nSize: 10\nSHA256: " \
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n\n"
#define STANZA(name, arch, more) \
	"Package: " name "\nVersion: 1\nArchitecture: " arch "\n" more FILES
#define NATIVE_INDEX                                     \
	STANZA("app", "amd64", "Depends: lib\n")         \
	STANZA("lib", "amd64", "Multi-Arch: same\n")     \
	STANZA("tool", "amd64", "Multi-Arch: foreign\n") \
	STANZA("data", "all", "Multi-Arch: foreign\n")
#define FOREIGN_INDEX                                                  \
	STANZA("app", "i386", "Depends: lib, tool, data:any | data\n") \
	STANZA("lib", "i386", "Multi-Arch: same\n")                    \
	STANZA("tool", "i386", "Multi-Arch: foreign\n")                \
	STANZA("only", "i386", "") STANZA("data", "all", "Multi-Arch: foreign\n")

static const char release_head[] = "Suite: stable\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n"
				   "Architectures: amd64 i386\nComponents: main\nSHA256:\n";

/* A host with a repository for two architectures; `line`: what stands in its sources.list. */
static struct scene *foreign_scene(const char *options, bool flat)
{
	struct scene *s = new_scene();
	cleanup_free char *list = xasprintf("deb [trusted=yes %s] file://%s/repo %s\n", options,
					    s->dir, flat ? "./" : "stable main");
	cleanup_strbuf struct strbuf release = { 0 };

	strbuf_adds(&release, release_head);
	if (flat) {
		put_index(s, &release, "repo/", "Packages", NATIVE_INDEX FOREIGN_INDEX);
		put(s->dir, "repo/Release", strbuf_text(&release));
	} else {
		put_index(s, &release, "repo/dists/stable/", "main/binary-amd64/Packages",
			  NATIVE_INDEX);
		put_index(s, &release, "repo/dists/stable/", "main/binary-i386/Packages",
			  FOREIGN_INDEX);
		put(s->dir, "repo/dists/stable/Release", strbuf_text(&release));
	}
	put(s->dir, "etc/apt/sources.list", list);
	s->sources[0] = (struct stack_source){ .id = "os", .type = SOURCE_APT, .from_host = true };
	s->stack.source_count = 1;
	return s;
}

/* The inputs as "name:arch name:arch". */
static void check_archs(struct scene *s, const char *want_text)
{
	cleanup_strbuf struct strbuf got = { 0 };

	assert_ok(run(s), s->err);
	for (size_t i = 0; i < s->context.inputs->inputs.len; i++)
		strbuf_addf(&got, "%s%s:%s", i ? " " : "", s->context.inputs->inputs.items[i].name,
			    s->context.inputs->inputs.items[i].arch);
	assert_string_equal(strbuf_text(&got), want_text);
	scene_free(s);
}

static void test_a_package_of_a_foreign_architecture_comes_with_its_own_libraries(void **state)
{
	(void)state;
	for (int flat = 0; flat < 2; flat++) {
		struct scene *s = foreign_scene("", flat);

		scene_want(s, "app:i386");
		check_archs(s, "lib:i386 tool:amd64 data:all app:i386");
	}
}

static void test_what_may_be_beside_itself_comes_for_both_architectures(void **state)
{
	struct scene *s = foreign_scene("", false);

	(void)state;
	scene_want(s, "lib");
	scene_want(s, "lib:i386");
	check_archs(s, "lib:amd64 lib:i386");
}

static void test_what_may_not_be_beside_itself_is_a_verdict(void **state)
{
	struct scene *s = foreign_scene("", false);

	(void)state;
	scene_want(s, "app");
	scene_want(s, "app:i386");
	expect_failure(s, ERROR_VERDICT, "cannot be together with app");
	scene_free(s);
}

static void test_without_a_request_no_foreign_package_counts(void **state)
{
	struct scene *s = foreign_scene("", false);

	(void)state;
	scene_want(s, "only");
	expect_failure(s, ERROR_USAGE, "source 'os' has no package 'only'");
	scene_free(s);
}

static void test_a_source_for_one_architecture_has_no_foreign_packages(void **state)
{
	struct scene *s = foreign_scene("arch=amd64", false);

	(void)state;
	scene_want(s, "app:i386");
	expect_failure(s, ERROR_USAGE,
		       "source 'os' has no package 'app:i386'; there is: 1 (os, amd64)");
	scene_free(s);
}

static void test_several_suites_and_their_pins_choose_the_version(void **state)
{
	struct scene *s = foreign_scene("", false);
	cleanup_strbuf struct strbuf release = { 0 };
	cleanup_free char *list = xasprintf("deb [trusted=yes] file://%s/repo stable main\n"
					    "deb [trusted=yes] file://%s/repo next main\n",
					    s->dir, s->dir);

	(void)state;
	strbuf_adds(&release, "Suite: next\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n"
			      "Architectures: amd64\nComponents: main\nSHA256:\n");
	put_index(s, &release, "repo/dists/next/", "main/binary-amd64/Packages",
		  "Package: data\nVersion: 2\nArchitecture: all\n" FILES
		  "Package: tool\nVersion: 2\nArchitecture: amd64\n" FILES);
	put(s->dir, "repo/dists/next/Release", strbuf_text(&release));
	put(s->dir, "etc/apt/sources.list", list);
	put(s->dir, "etc/apt/preferences",
	    "Package: *\nPin: release a=next\nPin-Priority: 100\n\n"
	    "Package: tool\nPin: release a=next\nPin-Priority: 900\n");
	scene_want(s, "data");
	scene_want(s, "tool");
	assert_ok(run(s), s->err);
	scene_expect(s, false, "data 1*, tool 2*");
	scene_free(s);
}

/* What the machine asks when apt.conf is `before`, the address of the server, and `after`. */
static void check_proxy(const char *uri, const char *before, const char *after, const char *request)
{
	static const struct http_server_step steps[] = { { .answer = "404 Not Found\r\n\r\n" } };
	cleanup_http_server struct http_server *server = http_server_start(steps, ARRAY_LEN(steps));
	struct scene *s = new_scene();
	cleanup_free char *filled = NULL, *list = NULL;
	const char *address = http_server_url(server);

	filled = xasprintf("%s%s%s", before, address, after);
	list = xasprintf("deb [trusted=yes] %s/x ./\n", *uri ? uri : address);
	put(s->dir, "etc/apt/sources.list", list);
	put(s->dir, "etc/apt/apt.conf.d/10proxy", filled);
	s->sources[0] = (struct stack_source){ .id = "os", .type = SOURCE_APT, .from_host = true };
	s->stack.source_count = 1;
	scene_want(s, "data");
	assert_int_equal(run(s), -1);
	if (!str_starts(http_server_request(server, 0), request))
		fail_msg("asked: %.80s", http_server_request(server, 0));
	scene_free(s);
}

static void test_the_proxy_of_apt_conf_is_used(void **state)
{
	(void)state;
	check_proxy("http://mirror.example.org", "Acquire::http::Proxy \"", "\";",
		    "GET http://mirror.example.org/x/InRelease ");
	check_proxy("http://mirror.example.org",
		    "Acquire::http { Proxy \"http://127.0.0.1:1/\"; Proxy::mirror.example.org \"",
		    "\"; };", "GET http://mirror.example.org/x/InRelease ");
}

static void test_a_host_that_is_to_be_asked_directly_is(void **state)
{
	(void)state;
	check_proxy("", "// ",
		    "\nAcquire::http::Proxy \"http://127.0.0.1:1/\";\n"
		    "Acquire::http::Proxy::127.0.0.1 \"DIRECT\";",
		    "GET /x/InRelease ");
}

static void test_addresses_are_filled_in_per_platform(void **state)
{
	static const struct {
		const char *arch, *url, *want;
	} cases[] = {
		{ "amd64", "http://h/{arch}/{debarch}/{sbsa}/", "http://h/x86_64/amd64/x86_64/" },
		{ "arm64", "http://h/{arch}/{debarch}/{sbsa}/", "http://h/aarch64/arm64/sbsa/" },
		{ "amd64", "http://h/", "http://h/" },
		{ "amd64", "http://h/{os}/", NULL },
		{ "amd64", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct platform p = { .os = "linux", .architecture = cases[i].arch };
		cleanup_free char *got = source_url_fill(cases[i].url, &p);

		if (cases[i].want)
			assert_string_equal(got, cases[i].want);
		else
			assert_null(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_closure_is_locked_with_address_digest_and_size),
		cmocka_unit_test(test_the_release_is_recorded_once),
		cmocka_unit_test(test_the_highest_version_of_all_components_is_taken),
		cmocka_unit_test(test_a_version_that_is_asked_for_is_taken),
		cmocka_unit_test(test_a_whole_system_has_the_essential_packages),
		cmocka_unit_test(test_a_flat_repository_is_read),
		cmocka_unit_test(test_the_named_source_must_have_the_package),
		cmocka_unit_test(test_an_unknown_package_is_reported_at_its_place_with_a_near_name),
		cmocka_unit_test(test_driver_packages_are_refused_at_their_place),
		cmocka_unit_test(test_an_expired_release_is_refused),
		cmocka_unit_test(test_a_release_signed_by_another_key_is_refused),
		cmocka_unit_test(test_a_release_with_md5_alone_is_refused),
		cmocka_unit_test(test_a_missing_keyring_is_an_error),
		cmocka_unit_test(test_signed_by_is_required),
		cmocka_unit_test(test_a_source_that_is_not_there_is_an_error),
		cmocka_unit_test(test_a_component_that_is_not_offered_is_an_error),
		cmocka_unit_test(test_an_index_that_differs_from_the_release_is_refused),
		cmocka_unit_test(test_indexes_that_lie_in_the_store_are_not_fetched_again),
		cmocka_unit_test(test_the_hosts_sources_are_used_with_their_keys),
		cmocka_unit_test(test_without_signed_by_the_trusted_keys_of_the_machine_count),
		cmocka_unit_test(test_a_named_key_alone_counts_even_when_trusted_ones_would_do),
		cmocka_unit_test(test_an_unreachable_source_of_the_host_is_left_out_with_a_warning),
		cmocka_unit_test(test_nothing_but_unreachable_sources_is_an_error),
		cmocka_unit_test(test_a_wrong_signature_on_the_host_is_never_skipped),
		cmocka_unit_test(test_sources_of_other_architectures_are_passed_over),
		cmocka_unit_test(test_the_machines_answer_to_valid_until_is_respected),
		cmocka_unit_test(test_addresses_are_filled_in_per_platform),
		cmocka_unit_test(
			test_a_package_of_a_foreign_architecture_comes_with_its_own_libraries),
		cmocka_unit_test(test_what_may_be_beside_itself_comes_for_both_architectures),
		cmocka_unit_test(test_what_may_not_be_beside_itself_is_a_verdict),
		cmocka_unit_test(test_without_a_request_no_foreign_package_counts),
		cmocka_unit_test(test_a_source_for_one_architecture_has_no_foreign_packages),
		cmocka_unit_test(test_several_suites_and_their_pins_choose_the_version),
		cmocka_unit_test(test_the_proxy_of_apt_conf_is_used),
		cmocka_unit_test(test_a_host_that_is_to_be_asked_directly_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
