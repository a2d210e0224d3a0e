#include "tests/support/test.h"

#include "builder/assemble.h"
#include "builder/build.h"
#include "builder/lock.h"
#include "formats/tar_read.h"
#include "oci/image.h"

/* A folder with a manifest, a source folder, an application and a store; network is not needed. */
struct site {
	char *dir, *manifest, *layout, *destination;
	struct store *store;
	struct stack stack;
	struct lockfile lock;
};

static void site_release(struct site *s)
{
	stack_release(&s->stack);
	lockfile_release(&s->lock);
	store_close(s->store);
	free(s->manifest);
	free(s->layout);
	free(s->destination);
	test_dir_free(s->dir);
}

static void put(struct site *s, const char *name, const char *text)
{
	cleanup_free char *path = fs_join(s->dir, name), *parent = xstrdup(path);
	struct error err = { 0 };

	*strrchr(parent, '/') = '\0';
	assert_ok(fs_mkdirs(AT_FDCWD, parent, &err), err);
	assert_ok(fs_write(AT_FDCWD, path, slice_str(text), str_ends(name, ".sh") ? 0755 : 0644,
			   &err),
		  err);
}

#define HEAD                                                                           \
	"gpuimg: 1\nname: acme/app\ntag: \"1\"\nplatforms: [linux/amd64]\nstack: {}\n" \
	"sources:\n  - { id: kit, type: dir, path: kit }\nstages:\n"

static const char plain[] = HEAD
	"  runtime:\n    profile: base\n    packages: { kit: [\".\"] }\n"
	"    files: [ { from: app/, to: /opt/app } ]\n"
	"image: { user: { name: app, uid: 1000, gid: 1000 }, entrypoint: [/opt/app/run.sh] }\n";

static void open_site(struct site *s, const char *manifest)
{
	cleanup_free char *store = NULL;
	struct error err = { 0 };

	s->dir = test_dir();
	put(s, "kit/lib/libone.txt", "one\n");
	put(s, "kit/share/two.txt", "two\n");
	put(s, "app/run.sh", "#!/bin/sh\necho hello\n");
	put(s, "stack.yaml", manifest);
	s->manifest = fs_join(s->dir, "stack.yaml");
	s->layout = fs_join(s->dir, "out");
	s->destination = xasprintf("oci:%s:1", s->layout);
	store = fs_join(s->dir, "store");
	s->store = store_open(store, &err);
	if (!s->store)
		fail_msg("%s", err.text);
	assert_ok(stack_read(s->manifest, &s->stack, &err), err);
}

static void lock(struct site *s)
{
	struct lock_request request = { .stack = &s->stack, .store = s->store };
	struct error err = { 0 };

	lockfile_release(&s->lock);
	s->lock = (struct lockfile){ 0 };
	assert_ok(lock_stack(&request, &s->lock, &err), err);
}

static int build(struct site *s, struct build_result *result, struct error *err)
{
	const char *destinations[] = { s->destination };
	struct build_request request = { .stack = &s->stack,
					 .lock = &s->lock,
					 .store = s->store,
					 .destinations = destinations,
					 .destination_count = 1,
					 .threads = 2 };

	return build_run(&request, result, err);
}

static void open_image(struct site *s, struct image *image)
{
	struct platform amd64 = { .os = "linux", .architecture = "amd64" };
	cleanup_arena struct arena arena = { 0 };
	struct image_name name;
	struct error err = { 0 };

	assert_ok(image_name_parse(s->destination, &arena, &name, &err), err);
	assert_ok(image_open(&name, &amd64, image, &err), err);
}

static void test_a_folder_and_files_become_a_valid_image(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	cleanup_image struct image image = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s, plain);
	lock(&s);
	assert_ok(build(&s, &result, &err), err);
	open_image(&s, &image);
	assert_string_equal(image.config.user, "1000:1000");
	assert_string_equal(image.config.created, "1980-01-01T00:00:00Z");
	assert_null(config_env(&image.config, "NVIDIA_VISIBLE_DEVICES"));
	assert_string_equal(config_env(&image.config, "LANG"), "C.UTF-8");
	assert_int_equal(image.manifest.layer_count, result.images.items[0].layers.len);
	for (size_t i = 0; i < image.manifest.layer_count; i++) {
		cleanup_stream struct stream *layer = image_layer(&image, i, &err);

		assert_non_null(layer);
		assert_ok(stream_drain(layer, NULL, &err), err);
	}
}

static void test_the_same_inputs_give_the_same_digest_elsewhere(void **state)
{
	cleanup(site_release) struct site a = { 0 }, b = { 0 };
	cleanup_build_result struct build_result first = { 0 }, second = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&a, plain);
	lock(&a);
	assert_ok(build(&a, &first, &err), err);
	umask(077);
	open_site(&b, plain);
	umask(022);
	lock(&b);
	assert_ok(build(&b, &second, &err), err);
	assert_true(digest_equal(&first.index.digest, &second.index.digest));
}

static void test_nothing_is_assembled_twice(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result first = { 0 }, second = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s, plain);
	lock(&s);
	assert_ok(build(&s, &first, &err), err);
	assert_ok(build(&s, &second, &err), err);
	assert_false(first.unchanged);
	assert_true(second.unchanged);
	assert_true(digest_equal(&first.index.digest, &second.index.digest));
}

static void test_a_changed_file_of_the_manifest_changes_only_its_layer(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result first = { 0 }, second = { 0 };
	struct error err = { 0 };
	size_t cached = 0, made = 0;

	(void)state;
	open_site(&s, HEAD "  runtime:\n    profile: base\n"
			   "    files: [ { from: app/, to: /opt/app } ]\n");
	lock(&s);
	assert_ok(build(&s, &first, &err), err);
	put(&s, "app/run.sh", "#!/bin/sh\necho changed\n");
	assert_ok(build(&s, &second, &err), err);
	for (size_t i = 0; i < second.images.items[0].layers.len; i++) {
		if (second.images.items[0].layers.items[i].cached)
			cached++;
		else
			made++;
	}
	assert_int_equal(made, 1);
	assert_true(cached > 0);
}

static void test_the_one_time_changes_no_layer(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result first = { 0 }, second = { 0 };
	struct build_request request;
	struct error err = { 0 };

	(void)state;
	open_site(&s, plain);
	lock(&s);
	assert_ok(build(&s, &first, &err), err);
	request = (struct build_request){ .stack = &s.stack,
					  .lock = &s.lock,
					  .store = s.store,
					  .has_created = true,
					  .created = 1700000000 };
	assert_ok(build_run(&request, &second, &err), err);
	assert_false(digest_equal(&first.index.digest, &second.index.digest));
	for (size_t i = 0; i < first.images.items[0].layers.len; i++)
		assert_true(digest_equal(&first.images.items[0].layers.items[i].digest,
					 &second.images.items[0].layers.items[i].digest));
}

static void test_a_manifest_that_changed_since_is_refused(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s, plain);
	lock(&s);
	s.lock.manifest = digest_of(slice_str("another"));
	assert_int_equal(build(&s, &result, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "gpuimg lock");
	assert_false(fs_exists(AT_FDCWD, s.layout));
}

static void test_an_input_that_is_not_there_is_named(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	struct lock_input wheel = { .kind = LOCK_WHEEL,
				    .stage = "runtime",
				    .source = "pip",
				    .name = "nvidia-x",
				    .version = "1.2",
				    .arch = "",
				    .url = "https://example.org/x.whl",
				    .size = 5 };
	struct error err = { 0 };

	(void)state;
	open_site(&s, plain);
	lock(&s);
	wheel.digest = digest_of(slice_str("wheel"));
	vec_push(&s.lock.platforms.items[0].inputs, wheel);
	assert_int_equal(build(&s, &result, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "nvidia-x 1.2");
	assert_contains(err.text, "gpuimg fetch");
}

static void test_a_folder_that_changed_since_it_was_locked_is_refused(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s, plain);
	lock(&s);
	put(&s, "kit/lib/libone.txt", "ONE\n");
	assert_int_equal(build(&s, &result, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "libone.txt");
	assert_false(fs_exists(AT_FDCWD, s.layout));
}

static void test_what_a_stage_without_commands_holds_can_be_copied(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	struct error err = { 0 };
	bool found = false;

	(void)state;
	open_site(&s, HEAD "  build:\n    profile: devel\n    packages: { kit: [\".\"] }\n"
			   "  runtime:\n    profile: base\n"
			   "    copy: [ { from: build, path: /share/two.txt, to: /opt/2 } ]\n");
	lock(&s);
	assert_ok(build(&s, &result, &err), err);
	for (size_t i = 0; i < result.images.items[0].layers.len; i++)
		found |= str_equal(result.images.items[0].layers.items[i].title, "application");
	assert_true(found);
}

static void test_a_copy_of_nothing_names_its_line(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s, HEAD "  build:\n    profile: devel\n    packages: { kit: [\".\"] }\n"
			   "  runtime:\n    profile: base\n"
			   "    copy: [ { from: build, path: /no/such, to: /opt/2 } ]\n");
	lock(&s);
	assert_int_equal(build(&s, &result, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "stack.yaml:14:13: copy");
	assert_contains(err.text, "/no/such");
}

static void test_another_transport_is_refused(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s, plain);
	lock(&s);
	free(s.destination);
	s.destination = xstrdup("docker://registry.example.org/app");
	assert_int_equal(build(&s, &result, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "gpuimg push");
}

/* What a check is given is the image, whole, and nothing has been written anywhere. */
static int refuse(void *user, struct image_source *source, struct error *err)
{
	struct platform amd64 = { .os = "linux", .architecture = "amd64" };
	cleanup_image struct image image = { 0 };

	assert_ok(image_open_source(source_borrow(source), "built", &amd64, &image, err), *err);
	assert_string_equal(image.config.user, "1000:1000");
	assert_int_not_equal(image.manifest.layer_count, 0);
	for (size_t i = 0; i < image.manifest.layer_count; i++) {
		cleanup_stream struct stream *layer = image_layer(&image, i, err);

		assert_non_null(layer);
		assert_ok(stream_drain(layer, NULL, err), *err);
	}
	*(bool *)user = true;
	return error_set(err, ERROR_VERDICT, "findings");
}

static void test_a_check_that_refuses_leaves_every_destination_alone(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	struct error err = { 0 };
	bool called = false;
	const char *destinations[1];
	struct build_request request;

	(void)state;
	open_site(&s, plain);
	lock(&s);
	destinations[0] = s.destination;
	request = (struct build_request){ .stack = &s.stack,
					  .lock = &s.lock,
					  .store = s.store,
					  .destinations = destinations,
					  .destination_count = 1,
					  .check = refuse,
					  .check_user = &called };
	assert_int_equal(build_run(&request, &result, &err), -1);
	assert_int_equal(err.code, ERROR_VERDICT);
	assert_true(called);
	assert_false(fs_exists(AT_FDCWD, s.layout));
}

static void test_an_archive_is_written_whole(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	cleanup_image struct image image = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s, plain);
	lock(&s);
	free(s.destination);
	s.destination = xasprintf("oci-archive:%s/app.tar:1", s.dir);
	assert_ok(build(&s, &result, &err), err);
	open_image(&s, &image);
	assert_true(
		digest_equal(&image.descriptor.digest, &result.images.items[0].manifest.digest));
}

static void test_an_archive_that_cannot_take_its_name_leaves_nothing(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	cleanup_free char *taken = NULL;
	struct fs_names names = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s, plain);
	lock(&s);
	taken = fs_join(s.dir, "taken/app.tar");
	assert_ok(fs_mkdirs(AT_FDCWD, taken, &err), err);
	free(s.destination);
	s.destination = xasprintf("oci-archive:%s:1", taken);
	assert_int_equal(build(&s, &result, &err), -1);
	*strrchr(taken, '/') = '\0';
	assert_ok(fs_list(AT_FDCWD, taken, &names, &err), err);
	assert_int_equal(names.len, 1);
	fs_names_release(&names);
}

static void test_a_file_named_onto_a_folder_is_refused(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s, HEAD "  runtime:\n    profile: base\n    files:\n"
			   "      - { from: app/, to: /opt/app }\n"
			   "      - { from: app/run.sh, to: /opt/app }\n");
	lock(&s);
	assert_int_equal(build(&s, &result, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "opt/app");
}

static void test_a_tree_whose_files_are_not_those_of_its_key_is_refused(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_assembled struct assembled tree = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct digest other = digest_of(slice_str("what the files were when the build began"));
	struct assembly a = {
		.stack = &s.stack, .lock = &s.lock, .store = NULL, .arena = &arena, .files = &other
	};
	struct error err = { 0 };

	(void)state;
	open_site(&s, plain);
	lock(&s);
	a.inputs = &s.lock.platforms.items[0];
	a.platform = (struct platform){ .os = "linux", .architecture = "amd64" };
	a.store = s.store;
	a.pool = pool_new(1);
	assert_int_equal(assemble_stage(&a, &s.stack.stages[0], NULL, &tree, &err), -1);
	pool_join(a.pool);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "changed during the build");
}

/* One more than the type of the image's entry at `path`; 0 when there is none. */
static int type_in_image(struct site *s, const char *path)
{
	cleanup_image struct image image = { 0 };
	int type = 0;

	open_image(s, &image);
	for (size_t i = 0; i < image.manifest.layer_count; i++) {
		struct error err = { 0 };
		cleanup_stream struct stream *layer = image_layer(&image, i, &err);
		cleanup_tar_reader struct tar_reader *tar = tar_read_open(layer);
		struct tar_entry e;

		while (tar_read_next(tar, &e, &err) == 1)
			if (str_equal(e.path, path))
				type = (int)e.type + 1;
	}
	return type;
}

static void test_a_folder_source_may_be_a_symlink_and_so_may_what_ends_in_a_slash(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	cleanup_free char *kit = NULL, *app = NULL;
	struct error err = { 0 };

	(void)state;
	open_site(&s, "gpuimg: 1\nname: acme/app\ntag: \"1\"\nplatforms: [linux/amd64]\nstack: {}\n"
		      "sources:\n  - { id: kit, type: dir, path: kit-link }\nstages:\n"
		      "  runtime:\n    profile: base\n    packages: { kit: [\".\"] }\n"
		      "    files:\n      - { from: app-link/, to: /opt/followed }\n"
		      "      - { from: app-link, to: /opt/kept }\n");
	kit = fs_join(s.dir, "kit-link");
	app = fs_join(s.dir, "app-link");
	assert_int_equal(symlink("kit", kit), 0);
	assert_int_equal(symlink("app", app), 0);
	lock(&s);
	assert_ok(build(&s, &result, &err), err);
	assert_int_equal(type_in_image(&s, "lib/libone.txt"), TAR_FILE + 1);
	assert_int_equal(type_in_image(&s, "opt/followed/run.sh"), TAR_FILE + 1);
	assert_int_equal(type_in_image(&s, "opt/kept"), TAR_SYMLINK + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_folder_and_files_become_a_valid_image),
		cmocka_unit_test(test_the_same_inputs_give_the_same_digest_elsewhere),
		cmocka_unit_test(test_nothing_is_assembled_twice),
		cmocka_unit_test(test_a_changed_file_of_the_manifest_changes_only_its_layer),
		cmocka_unit_test(test_the_one_time_changes_no_layer),
		cmocka_unit_test(test_a_manifest_that_changed_since_is_refused),
		cmocka_unit_test(test_an_input_that_is_not_there_is_named),
		cmocka_unit_test(test_a_folder_that_changed_since_it_was_locked_is_refused),
		cmocka_unit_test(test_what_a_stage_without_commands_holds_can_be_copied),
		cmocka_unit_test(test_a_copy_of_nothing_names_its_line),
		cmocka_unit_test(test_another_transport_is_refused),
		cmocka_unit_test(test_a_check_that_refuses_leaves_every_destination_alone),
		cmocka_unit_test(test_an_archive_is_written_whole),
		cmocka_unit_test(test_an_archive_that_cannot_take_its_name_leaves_nothing),
		cmocka_unit_test(test_a_file_named_onto_a_folder_is_refused),
		cmocka_unit_test(test_a_tree_whose_files_are_not_those_of_its_key_is_refused),
		cmocka_unit_test(
			test_a_folder_source_may_be_a_symlink_and_so_may_what_ends_in_a_slash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
