#include "tests/support/test.h"

#include "builder/sources/package_source.h"
#include "builder/sources/rpmmd.h"
#include "tests/support/scene.h"

#define FIXTURES "tests/fixtures/rpm/"

static void add_source(struct scene *s, const char *id, const char *path)
{
	struct stack_source source = {
		.id = id, .type = SOURCE_RPM_MD, .gpgkey = "keys/good.asc", .place = { 4, 5, NULL }
	};

	scene_add(s, source, path);
}

static int run(struct scene *s)
{
	return rpmmd_resolve(&s->context, &s->request, 1, &s->err);
}

static void expect_failure(struct scene *s, enum error_code code, const char *part)
{
	scene_expect_failure(s, run(s), code, part);
}

/* One specification of the os repository gives those inputs. */
static void check(const char *spec, const char *inputs)
{
	struct scene *s = scene_new(FIXTURES);

	add_source(s, "os", "os/{arch}/");
	scene_want(s, spec);
	assert_ok(run(s), s->err);
	scene_expect(s, true, inputs);
	scene_free(s);
}

static void check_failure(const char *spec, enum error_code code, const char *part)
{
	struct scene *s = scene_new(FIXTURES);

	add_source(s, "os", "os/{arch}");
	scene_want(s, spec);
	expect_failure(s, code, part);
	scene_free(s);
}

/* A repository that is refused. */
static void check_refused(const char *path, enum error_code code, const char *part)
{
	struct scene *s = scene_new(FIXTURES);

	add_source(s, "os", path);
	scene_want(s, "app");
	expect_failure(s, code, part);
	scene_free(s);
}

static const char app_one[] = "data 3-1.noarch, libapp 1:1.5-1.x86_64, app 1.0-1.x86_64*";
static const char app_two[] = "libapp 1:1.5-1.x86_64, app 2.0-1.x86_64*";

static void test_a_closure_is_locked_with_address_digest_and_size(void **state)
{
	struct scene *s = scene_new(FIXTURES);
	const struct lock_input *in;
	char text[DIGEST_HEX_MAX];
	cleanup_free char *url = NULL;

	(void)state;
	add_source(s, "os", "os/{arch}/");
	scene_want(s, "plus++x");
	assert_ok(run(s), s->err);
	scene_expect(s, true, "plus++x 1-1.noarch*");
	in = &s->context.inputs->inputs.items[0];
	url = xasprintf("file://%s/os/x86_64/plus%%2B%%2Bx-1-1.noarch.rpm", s->fixtures);
	assert_string_equal(in->url, url);
	assert_true(in->size > 1000);
	assert_int_equal(strlen(digest_hex(&in->digest, text)), 64);
	assert_string_equal(in->source, "os");
	assert_string_equal(in->stage, "runtime");
	assert_int_equal(in->kind, LOCK_RPM);
	scene_free(s);
}

static void test_dependencies_come_before_what_needs_them_and_recommended_ones_do_not_come(
	void **state)
{
	(void)state;
	check("app", app_two);
}

static void test_versions_are_named_in_every_usual_way(void **state)
{
	(void)state;
	check("app = 1.0", app_one);
	check("app=1.0-1", app_one);
	check("app < 2", app_one);
	check("app-1.0", app_one);
	check("app-1.0-1", app_one);
	check("app-1.0-1.x86_64", app_one);
	check("libapp = 1:1.0", "libapp 1:1.0-1.x86_64*");
}

static void test_an_architecture_may_be_named(void **state)
{
	(void)state;
	check("libapp", "libapp 1:1.5-1.x86_64*");
	check("libapp.i686", "libapp 1:1.5-1.i686*");
}

static void test_what_a_package_provides_stands_for_it(void **state)
{
	(void)state;
	check("mail-b-only", "mail-b 1-1.noarch*");
	check("perl(Mail::B)", "mail-b 1-1.noarch*");
	check("perl(Mail::B) >= 3", "mail-b 1-1.noarch*");
	check("mail-server < 8", "mail-a 1-1.noarch*");
}

static void test_files_of_the_primary_metadata_are_found(void **state)
{
	(void)state;
	check("reader", "base 1-1.x86_64, reader 1-1.noarch*");
}

static void test_file_lists_are_read_when_a_file_is_not_in_the_primary_metadata(void **state)
{
	(void)state;
	check("lister", "base 1-1.x86_64, lister 1-1.noarch*");
}

static void test_rich_dependencies_count(void **state)
{
	(void)state;
	check("rich", "data 3-1.noarch, left 1-1.noarch, rich 1-1.noarch*");
}

static void test_each_platform_has_its_own_repository(void **state)
{
	struct scene *s = scene_new(FIXTURES);

	(void)state;
	s->context.platform.architecture = "arm64";
	add_source(s, "os", "os/{arch}/");
	scene_want(s, "app");
	assert_ok(run(s), s->err);
	scene_expect(s, true, "app 1.0-1.aarch64*");
	assert_string_equal(s->lock.sources.items[0].suite, "aarch64");
	scene_free(s);
}

static void test_the_repository_is_recorded_once(void **state)
{
	struct scene *s = scene_new(FIXTURES);
	const struct lock_source *source;
	cleanup_free char *file = NULL;
	cleanup_strbuf struct strbuf text = { 0 };
	struct digest digest;

	(void)state;
	add_source(s, "os", "os/x86_64");
	scene_want(s, "data");
	assert_ok(run(s), s->err);
	assert_ok(run(s), s->err);
	assert_int_equal(s->lock.sources.len, 1);
	source = &s->lock.sources.items[0];
	assert_string_equal(source->id, "os");
	assert_string_equal(source->type, "rpm-md");
	assert_string_equal(source->suite, "x86_64");
	assert_string_equal(source->date, "2026-01-01T00:00:00Z");
	file = xasprintf("%s/os/x86_64/repodata/repomd.xml", s->fixtures);
	assert_ok(fs_read(AT_FDCWD, file, 1 << 20, &text, &s->err), s->err);
	digest = digest_of(strbuf_slice(&text));
	assert_true(digest_equal(&digest, &source->digest));
	scene_free(s);
}

static void test_dependencies_come_from_the_other_sources_too(void **state)
{
	struct scene *s = scene_new(FIXTURES);

	(void)state;
	add_source(s, "os", "os/x86_64");
	add_source(s, "extra", "extra");
	s->request.source = &s->sources[1];
	scene_want(s, "tool");
	assert_ok(run(s), s->err);
	scene_expect(s, true, "data 3-1.noarch, tool 1-1.x86_64*");
	assert_string_equal(s->context.inputs->inputs.items[0].source, "os");
	assert_string_equal(s->context.inputs->inputs.items[1].source, "extra");
	scene_free(s);
}

static void check_order(const char *first, const char *second, size_t named, const char *inputs)
{
	struct scene *s = scene_new(FIXTURES);

	add_source(s, "one", first);
	add_source(s, "two", second);
	s->request.source = &s->sources[named];
	scene_want(s, "user");
	assert_ok(run(s), s->err);
	scene_expect(s, true, inputs);
	scene_free(s);
}

static void test_the_first_source_that_has_a_dependency_wins_whatever_its_version(void **state)
{
	(void)state;
	check_order("os/x86_64", "extra", 1,
		    "libapp 1:1.5-1.x86_64, app 2.0-1.x86_64, user 1-1.noarch*");
	check_order("extra", "os/x86_64", 0,
		    "data 3-1.noarch, tool 1-1.x86_64, app 9-1.x86_64, user 1-1.noarch*");
}

static void test_a_package_comes_from_the_source_it_is_named_under(void **state)
{
	struct scene *s = scene_new(FIXTURES);

	(void)state;
	add_source(s, "os", "os/x86_64");
	add_source(s, "extra", "extra");
	s->request.source = &s->sources[1];
	scene_want(s, "app");
	assert_ok(run(s), s->err);
	scene_expect(s, true, "data 3-1.noarch, tool 1-1.x86_64, app 9-1.x86_64*");
	scene_free(s);
}

static void test_zstd_metadata_and_sha512_checksums_are_read(void **state)
{
	struct scene *s = scene_new(FIXTURES);

	(void)state;
	add_source(s, "os", "sha512");
	add_source(s, "extra", "zstd");
	s->request.source = &s->sources[1];
	scene_want(s, "tool");
	assert_ok(run(s), s->err);
	scene_expect(s, true, "data 3-1.noarch, tool 1-1.x86_64*");
	scene_free(s);
}

static void test_metadata_is_kept_in_the_store(void **state)
{
	struct scene *s = scene_new(FIXTURES);
	struct rpmmd_access access = { .store = s->store, .http = s->http };
	struct rpmmd_repository r = { 0 };
	struct rpmmd_index index;
	cleanup_free char *key = NULL;

	(void)state;
	add_source(s, "os", "os/x86_64");
	scene_want(s, "data");
	assert_ok(run(s), s->err);
	key = fs_join(s->fixtures, "keys/good.asc");
	assert_ok(rpmmd_repository_open(&access, s->sources[0].url, key, &r, &s->err), s->err);
	assert_ok(rpmmd_index_parse(strbuf_slice(&r.repomd), "r", &r.arena, &index, &s->err),
		  s->err);
	assert_true(store_has(s->store, &index.primary.digest, index.primary.size));
	/* and what no file dependency asked for is not even fetched */
	assert_false(store_has(s->store, &index.filelists.digest, index.filelists.size));
	rpmmd_repository_release(&r);
	scene_free(s);
}

static void check_cuda(const char *cuda, const char *inputs)
{
	struct scene *s = scene_new(FIXTURES);

	s->context.cuda = cuda;
	add_source(s, "cuda", "extra");
	scene_want(s, "libnccl");
	assert_ok(run(s), s->err);
	scene_expect(s, true, inputs);
	scene_free(s);
}

static void test_builds_for_another_cuda_are_left_aside(void **state)
{
	(void)state;
	check_cuda(NULL, "libnccl 2.27-1+cuda13.0.x86_64*");
	check_cuda("12.6", "libnccl 2.27-1+cuda12.4.x86_64*");
	check_cuda("12.9", "libnccl 2.27-1+cuda12.9.x86_64*");
	check_cuda("13.1", "libnccl 2.27-1+cuda13.0.x86_64*");
	assert_false(rpmmd_fits_cuda("1-1+cuda12.10", "12.9"));
	assert_true(rpmmd_fits_cuda("1-1+cuda12.9", "12.10"));
	assert_true(rpmmd_fits_cuda("1-1+cudax", "12.9"));
}

static void test_a_kept_package_keeps_its_version(void **state)
{
	struct scene *s = scene_new(FIXTURES);
	struct lock_input old[] = {
		{ .kind = LOCK_RPM,
		  .stage = "runtime",
		  .source = "os",
		  .name = "libapp",
		  .version = "1:1.0-1",
		  .arch = "x86_64" },
		{ .kind = LOCK_RPM,
		  .stage = "runtime",
		  .source = "os",
		  .name = "app",
		  .version = "1.0-1",
		  .arch = "x86_64" },
	};
	struct lock_platform before = { .platform = "linux/amd64", .inputs = { old, 2, 2 } };

	(void)state;
	add_source(s, "os", "os/x86_64");
	scene_want(s, "app");
	s->context.keep = (struct source_keep){ .inputs = &before, .moves = "other" };
	assert_ok(run(s), s->err);
	scene_expect(s, true, "data 3-1.noarch, libapp 1:1.0-1.x86_64, app 1.0-1.x86_64*");
	s->context.inputs->inputs.len = 0;
	s->context.keep.moves = "os";
	assert_ok(run(s), s->err);
	scene_expect(s, true, app_two);
	scene_free(s);
}

static void test_an_unknown_package_is_reported_at_its_place_with_a_near_name(void **state)
{
	struct scene *s = scene_new(FIXTURES);

	(void)state;
	add_source(s, "os", "os/x86_64");
	scene_want(s, "data");
	scene_want(s, "libap");
	expect_failure(s, ERROR_USAGE,
		       "stack.yaml:8:3: source 'os' has no package 'libap' for x86_64; "
		       "did you mean 'libapp'?");
	scene_free(s);
}

static void test_a_package_of_another_source_is_named(void **state)
{
	struct scene *s = scene_new(FIXTURES);

	(void)state;
	add_source(s, "os", "os/x86_64");
	add_source(s, "extra", "extra");
	scene_want(s, "tool");
	expect_failure(s, ERROR_USAGE,
		       "stack.yaml:7:3: source 'os' has no package 'tool' for x86_64; "
		       "there is: tool-1-1.x86_64 (extra)");
	scene_free(s);
}

static void test_a_version_that_is_not_there_is_an_error(void **state)
{
	(void)state;
	check_failure("app = 7", ERROR_USAGE, "has no package 'app = 7'");
}

static void test_what_is_no_specification_is_refused(void **state)
{
	(void)state;
	check_failure("@core", ERROR_USAGE,
		      "stack.yaml:7:3: '@core' is no request for an RPM package");
	check_failure("app*", ERROR_USAGE, "is no request for an RPM package");
	check_failure("", ERROR_USAGE, "is no request for an RPM package");
	check_failure(NULL, ERROR_USAGE, "is no request for an RPM package");
}

static void test_the_driver_is_refused_by_name(void **state)
{
	(void)state;
	check_failure("nvidia-driver-cuda", ERROR_USAGE, "brings the driver");
	check_failure("cuda = 12.6", ERROR_USAGE, "brings the driver");
}

static void test_a_driver_package_that_is_needed_is_left_to_the_host(void **state)
{
	struct scene *s = scene_new(FIXTURES);
	struct rpm_sessions sessions = { 0 };

	(void)state;
	s->context.rpm = &sessions;
	add_source(s, "os", "os/x86_64");
	scene_want(s, "wants-driver");
	assert_ok(run(s), s->err);
	scene_expect(s, true, "nvidia-driver-cuda 580-1.x86_64, wants-driver 1-1.noarch*");
	assert_string_equal(s->context.inputs->inputs.items[0].host_for, "wants-driver");
	assert_false(lock_input_is_hosts(&s->context.inputs->inputs.items[1]));
	/* of the next that is asked for in the same repositories it is no part */
	s->context.inputs->inputs.len = 0;
	s->packages[0].spec = "app";
	assert_ok(run(s), s->err);
	scene_expect(s, true, app_two);
	rpm_sessions_release(&sessions);
	scene_free(s);
}

static void test_a_conflict_is_told_in_full(void **state)
{
	struct scene *s = scene_new(FIXTURES);

	(void)state;
	add_source(s, "os", "os/x86_64");
	scene_want(s, "left");
	scene_want(s, "right");
	expect_failure(s, ERROR_VERDICT,
		       "the packages do not fit: package right-1-1.noarch "
		       "conflicts with left provided by left-1-1.noarch");
	fflush(s->out.err);
	assert_contains(s->notes, "a way out: do not ask to install left");
	scene_free(s);
}

static void test_what_nothing_provides_is_named(void **state)
{
	(void)state;
	check_failure("broken", ERROR_VERDICT,
		      "nothing provides nothing-has-it >= 2 needed by broken-1-1.noarch");
}

static void test_a_repository_without_a_signature_is_refused(void **state)
{
	(void)state;
	check_refused("unsigned", ERROR_INTEGRITY, "source 'os'");
	check_refused("unsigned", ERROR_INTEGRITY, "is not signed");
}

static void test_a_repository_signed_by_another_key_is_refused(void **state)
{
	(void)state;
	check_refused("other", ERROR_INTEGRITY, "name its file as gpgkey");
}

static void test_a_changed_repomd_is_refused(void **state)
{
	(void)state;
	check_refused("changed", ERROR_INTEGRITY, "the signature does not fit the text");
}

static void test_metadata_that_differs_from_its_checksum_is_refused(void **state)
{
	(void)state;
	check_refused("damaged", ERROR_INTEGRITY,
		      "repodata/primary.xml.gz is not what repomd.xml says");
}

static void test_weak_checksums_are_refused(void **state)
{
	(void)state;
	check_refused("sha1", ERROR_INTEGRITY,
		      "'primary' has no checksum of type sha256 or sha512");
}

static void test_packages_with_weak_checksums_are_refused(void **state)
{
	struct scene *s = scene_new(FIXTURES);

	(void)state;
	s->context.platform.architecture = "arm64";
	add_source(s, "os", "weak");
	scene_want(s, "app");
	expect_failure(s, ERROR_INTEGRITY, "'app-1.0-1.aarch64' has no checksum of type sha256");
	scene_free(s);
}

static void test_a_missing_key_is_an_error(void **state)
{
	struct scene *s = scene_new(FIXTURES);

	(void)state;
	add_source(s, "os", "os/x86_64");
	s->sources[0].gpgkey = "keys/none.asc";
	scene_want(s, "app");
	expect_failure(s, ERROR_INTEGRITY, "keys/none.asc is missing");
	s->sources[0].gpgkey = NULL;
	expect_failure(s, ERROR_USAGE,
		       "stack.yaml:4:5: source 'os': an rpm-md source needs gpgkey");
	scene_free(s);
}

static void test_a_source_that_is_not_there_is_an_error(void **state)
{
	(void)state;
	check_refused("nowhere", ERROR_NOT_FOUND, "source 'os'");
	check_refused("{what}", ERROR_USAGE, "only {arch}, {debarch} and {sbsa}");
}

#define REPOMD(data) "<repomd><revision>5</revision>" data "</repomd>"
#define SUM                          \
	"<checksum type=\"sha256\">" \
	"25f4d625c9a86ee3128133a8f8a24f99dd352e91051a6023ac4af47aab68ae48</checksum>"

static void check_index(const char *text, enum error_code code, const char *part)
{
	cleanup_arena struct arena arena = { 0 };
	struct rpmmd_index index;
	struct error err = { 0 };

	if (rpmmd_index_parse(slice_str(text), "r.xml", &arena, &index, &err) == 0)
		fail_msg("taken, not refused with \"%s\"", part);
	assert_contains(err.text, part);
	assert_int_equal(err.code, code);
}

static void test_a_hostile_repomd_is_refused(void **state)
{
	(void)state;
	check_index("", ERROR_FORMAT, "r.xml: is empty");
	check_index("<repomd>", ERROR_FORMAT, "r.xml: ");
	check_index("<a/>", ERROR_FORMAT, "names no primary");
	check_index(REPOMD(""), ERROR_FORMAT, "names no primary");
	check_index(REPOMD("<data type=\"primary\">" SUM "<size>1</size></data>"), ERROR_FORMAT,
		    "the location of 'primary'");
	check_index(REPOMD("<data type=\"primary\">" SUM "<size>1</size>"
			   "<location href=\"../../etc/passwd\"/></data>"),
		    ERROR_FORMAT, "no path below it: '../../etc/passwd'");
	check_index(REPOMD("<data type=\"primary\">" SUM "<size>1</size>"
			   "<location href=\"http://x.example.org/p\"/></data>"),
		    ERROR_FORMAT, "no path below it");
	check_index(REPOMD("<data type=\"primary\">" SUM "<size>1</size>"
			   "<location href=\"a/..\"/></data>"),
		    ERROR_FORMAT, "no path below it: 'a/..'");
	check_index(REPOMD("<data type=\"primary\">" SUM "<size>1</size>"
			   "<location href=\"\u00e9\"/></data>"),
		    ERROR_FORMAT, "no path below it");
	check_index(REPOMD("<data type=\"primary\"><size>1</size><location href=\"p\"/></data>"),
		    ERROR_INTEGRITY, "no checksum");
	check_index(REPOMD("<data type=\"primary\"><checksum type=\"sha256\">25f4</checksum>"
			   "<size>1</size><location href=\"p\"/></data>"),
		    ERROR_FORMAT, "r.xml: line 1: invalid checksum length");
	check_index(REPOMD("<data type=\"primary\">" SUM "<location href=\"p\"/></data>"),
		    ERROR_FORMAT, "has no size");
}

static void test_entities_do_not_multiply(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	strbuf_adds(&text, "<!DOCTYPE r [<!ENTITY a0 \"aaaaaaaaaaaaaaaaaaaaaaaa\">");
	for (int i = 1; i < 12; i++) {
		strbuf_addf(&text, "<!ENTITY a%d \"", i);
		for (int k = 0; k < 10; k++)
			strbuf_addf(&text, "&a%d;", i - 1);
		strbuf_adds(&text, "\">");
	}
	/* Text that libsolv keeps grows by 256 bytes, which ASan copies each time: minutes. */
	strbuf_adds(&text, SANITIZED ? "]><repomd><other>&a11;</other></repomd>"
				     : "]><repomd><revision>&a11;</revision></repomd>");
	check_index(strbuf_text(&text), ERROR_FORMAT, "r.xml: ");
}

/*
 * A repository below s->dir whose repomd.xml is right in all but what the test changes: the
 * primary metadata is `primary` as it lies there, said to have `size` bytes (0: its own).
 */
struct made {
	struct arena arena;
	struct rpmmd_repository repository;
	struct rpmmd_index index;
};

static void make_primary(struct scene *s, struct slice primary, uint64_t size, struct made *out)
{
	cleanup_free char *path = fs_join(s->dir, "primary.xml.gz");
	struct digest digest = digest_of(primary);

	*out = (struct made){ 0 };
	assert_ok(fs_write(AT_FDCWD, path, primary, 0644, &s->err), s->err);
	out->repository.base = arena_printf(&out->arena, "file://%s/", s->dir);
	out->repository.display = out->repository.base;
	out->index.primary = (struct rpmmd_file){ .location = "primary.xml.gz",
						  .digest = digest,
						  .size = size ? size : primary.len };
}

static int fetch_primary(struct scene *s, struct made *m)
{
	struct rpmmd_access access = { .store = s->store, .http = s->http };
	int fd = rpmmd_repository_file(&access, &m->repository, &m->index.primary, &s->err);

	arena_release(&m->arena);
	if (fd >= 0)
		close(fd);
	return fd;
}

static void test_metadata_of_another_size_is_refused(void **state)
{
	static const uint64_t sizes[] = { 3, 7 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct scene *s = scene_new(FIXTURES);
		struct made made;

		make_primary(s, slice_str("12345"), sizes[i], &made);
		assert_int_equal(fetch_primary(s, &made), -1);
		assert_contains(s->err.text, "primary.xml.gz");
		assert_true(s->err.code == ERROR_INTEGRITY || s->err.code == ERROR_LIMIT);
		scene_free(s);
	}
}

static void test_metadata_that_says_to_be_huge_is_not_fetched(void **state)
{
	struct scene *s = scene_new(FIXTURES);
	struct made made;

	(void)state;
	make_primary(s, slice_str("12345"), UINT64_C(1) << 40, &made);
	assert_int_equal(fetch_primary(s, &made), -1);
	assert_int_equal(s->err.code, ERROR_LIMIT);
	assert_contains(s->err.text, "are more than 1 GiB");
	scene_free(s);
}

static void test_the_revision_dates_a_repository_without_times(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct rpmmd_index index;
	struct error err = { 0 };

	(void)state;
	assert_ok(rpmmd_index_parse(slice_str(REPOMD("<data type=\"primary\">" SUM "<size>1</size>"
						     "<location href=\"p../q\"/></data>")),
				    "r", &arena, &index, &err),
		  err);
	assert_int_equal(index.date, 5);
	assert_string_equal(index.primary.location, "p../q");
	assert_null(index.filelists.location);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_closure_is_locked_with_address_digest_and_size),
		cmocka_unit_test(
			test_dependencies_come_before_what_needs_them_and_recommended_ones_do_not_come),
		cmocka_unit_test(test_versions_are_named_in_every_usual_way),
		cmocka_unit_test(test_an_architecture_may_be_named),
		cmocka_unit_test(test_what_a_package_provides_stands_for_it),
		cmocka_unit_test(test_files_of_the_primary_metadata_are_found),
		cmocka_unit_test(
			test_file_lists_are_read_when_a_file_is_not_in_the_primary_metadata),
		cmocka_unit_test(test_rich_dependencies_count),
		cmocka_unit_test(test_each_platform_has_its_own_repository),
		cmocka_unit_test(test_the_repository_is_recorded_once),
		cmocka_unit_test(test_dependencies_come_from_the_other_sources_too),
		cmocka_unit_test(
			test_the_first_source_that_has_a_dependency_wins_whatever_its_version),
		cmocka_unit_test(test_a_package_comes_from_the_source_it_is_named_under),
		cmocka_unit_test(test_zstd_metadata_and_sha512_checksums_are_read),
		cmocka_unit_test(test_metadata_is_kept_in_the_store),
		cmocka_unit_test(test_builds_for_another_cuda_are_left_aside),
		cmocka_unit_test(test_a_kept_package_keeps_its_version),
		cmocka_unit_test(test_an_unknown_package_is_reported_at_its_place_with_a_near_name),
		cmocka_unit_test(test_a_package_of_another_source_is_named),
		cmocka_unit_test(test_a_version_that_is_not_there_is_an_error),
		cmocka_unit_test(test_what_is_no_specification_is_refused),
		cmocka_unit_test(test_the_driver_is_refused_by_name),
		cmocka_unit_test(test_a_driver_package_that_is_needed_is_left_to_the_host),
		cmocka_unit_test(test_a_conflict_is_told_in_full),
		cmocka_unit_test(test_what_nothing_provides_is_named),
		cmocka_unit_test(test_a_repository_without_a_signature_is_refused),
		cmocka_unit_test(test_a_repository_signed_by_another_key_is_refused),
		cmocka_unit_test(test_a_changed_repomd_is_refused),
		cmocka_unit_test(test_metadata_that_differs_from_its_checksum_is_refused),
		cmocka_unit_test(test_weak_checksums_are_refused),
		cmocka_unit_test(test_packages_with_weak_checksums_are_refused),
		cmocka_unit_test(test_a_missing_key_is_an_error),
		cmocka_unit_test(test_a_source_that_is_not_there_is_an_error),
		cmocka_unit_test(test_a_hostile_repomd_is_refused),
		cmocka_unit_test(test_entities_do_not_multiply),
		cmocka_unit_test(test_the_revision_dates_a_repository_without_times),
		cmocka_unit_test(test_metadata_of_another_size_is_refused),
		cmocka_unit_test(test_metadata_that_says_to_be_huge_is_not_fetched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
