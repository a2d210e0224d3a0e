#include "tests/support/test.h"

#include <pthread.h>
#include <sys/wait.h>

#include "oci/layout.h"
#include "oci/mediatype.h"
#include "tests/support/image.h"

static char *read_text(const char *dir, const char *name)
{
	cleanup_free char *path = fs_join(dir, name);
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	assert_ok(fs_read(AT_FDCWD, path, MIB, &out, &err), err);
	return strbuf_steal(&out);
}

static struct layout *create(const char *dir)
{
	struct error err = { 0 };
	struct layout *l = layout_create(dir, &err);

	assert_ok(l ? 0 : -1, err);
	return l;
}

static struct descriptor put(struct layout *l, const char *text)
{
	struct descriptor d = { .media_type = MEDIATYPE_OCI_MANIFEST };
	struct error err = { 0 };

	assert_ok(layout_put_bytes(l, slice_str(text), &d, &err), err);
	return d;
}

static void test_a_new_layout_is_complete_and_empty(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *sub = fs_join(dir, "a/b");
	cleanup_layout struct layout *l = create(sub);
	cleanup_free char *mark = read_text(sub, "oci-layout"),
			  *index = read_text(sub, "index.json");
	struct error err = { 0 };
	cleanup_layout struct layout *again = layout_open(sub, &err);

	(void)state;
	(void)l;
	assert_string_equal(mark, "{\"imageLayoutVersion\":\"1.0.0\"}");
	assert_contains(index, "\"manifests\":[]");
	assert_non_null(again);
}

static void test_a_foreign_directory_is_left_alone(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "precious");
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_write(AT_FDCWD, file, slice_str("x"), 0644, &err), err);
	assert_null(layout_create(dir, &err));
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "precious");
}

static void test_what_is_no_layout_is_told(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *missing = fs_join(dir, "missing"), *mark = fs_join(dir, "oci-layout");
	struct error err = { 0 };

	(void)state;
	assert_null(layout_open(missing, &err));
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_null(layout_open(dir, &err));
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "oci-layout is missing");
	assert_ok(fs_write(AT_FDCWD, mark, slice_str("{\"imageLayoutVersion\":\"2.0\"}"), 0644,
			   &err),
		  err);
	assert_null(layout_open(dir, &err));
	assert_int_equal(err.code, ERROR_FORMAT);
}

static void test_a_blob_comes_back(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_layout struct layout *l = create(dir);
	struct descriptor d = put(l, "hello");
	struct error err = { 0 };
	cleanup_stream struct stream *blob = layout_blob(l, &d.digest, &err);
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	assert_int_equal(d.size, 5);
	assert_true(layout_has(l, &d.digest, 5));
	assert_false(layout_has(l, &d.digest, 6));
	assert_non_null(blob);
	assert_ok(stream_read_all(blob, 100, &out, &err), err);
	assert_string_equal(out.data, "hello");
}

static void test_a_blob_over_its_limit_leaves_nothing(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *blobs = fs_join(dir, "blobs/sha256");
	cleanup_layout struct layout *l = create(dir);
	cleanup_stream struct stream *src = stream_memory(slice_str("hello"));
	struct descriptor d;
	struct fs_names names = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(layout_put(l, src, 4, &d, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_ok(fs_list(AT_FDCWD, blobs, &names, &err), err);
	assert_int_equal(names.len, 0);
	fs_names_release(&names);
}

static void test_missing_blobs_and_odd_files_are_told(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_layout struct layout *l = create(dir);
	struct digest d = digest_of(slice_str("x"));
	char hex[DIGEST_HEX_MAX];
	cleanup_free char *path = xasprintf("%s/blobs/sha256/%s", dir, digest_hex(&d, hex));
	struct error err = { 0 };

	(void)state;
	assert_null(layout_blob(l, &d, &err));
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_null(layout_blob(l, &d, &err));
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_null(layout_blob(l, &d, &err));
}

static void test_a_linked_blob_has_the_bytes(void **state)
{
	static const mode_t modes[] = { 0444, 0644 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		cleanup_test_dir char *dir = test_dir();
		cleanup_free char *file = fs_join(dir, "object"), *sub = fs_join(dir, "layout");
		cleanup_layout struct layout *l = create(sub);
		struct digest d = digest_of(slice_str("content"));
		char hex[DIGEST_HEX_MAX];
		cleanup_free char *path = xasprintf("%s/blobs/sha256/%s", sub, digest_hex(&d, hex));
		struct error err = { 0 };
		struct stat a, b;

		assert_ok(fs_write(AT_FDCWD, file, slice_str("content"), modes[i], &err), err);
		assert_ok(layout_link(l, AT_FDCWD, file, &d, 7, &err), err);
		assert_ok(layout_link(l, AT_FDCWD, file, &d, 7, &err), err);
		assert_int_equal(stat(file, &a), 0);
		assert_int_equal(stat(path, &b), 0);
		assert_int_equal(a.st_mode & 07777, modes[i]);
		/* Never the same file where one of the names may be written to. */
		assert_true(a.st_ino != b.st_ino || !(b.st_mode & 0222));
		assert_true(layout_has(l, &d, 7));
	}
}

static void test_a_file_that_is_not_the_blob_is_not_linked(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "object"), *sub = fs_join(dir, "layout");
	cleanup_layout struct layout *l = create(sub);
	struct digest d = digest_of(slice_str("content"));
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_write(AT_FDCWD, file, slice_str("conten"), 0444, &err), err);
	assert_int_equal(layout_link(l, AT_FDCWD, file, &d, 7, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_false(layout_has(l, &d, 6));
}

static void test_tags_are_replaced_and_sorted_and_others_kept_as_they_are(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_layout struct layout *l = create(dir);
	struct descriptor a = put(l, "a"), b = put(l, "b");
	char hex[DIGEST_HEX_MAX];
	cleanup_free char *index = NULL, *path = fs_join(dir, "index.json");
	cleanup_free char *with = NULL;
	struct error err = { 0 };

	(void)state;
	with = xasprintf(
		"{\"schemaVersion\":2,\"x\":1,\"manifests\":[{\"mediaType\":\"m\",\"size\":1,"
		"\"digest\":\"sha256:%s\",\"urls\":[\"u\"]}]}",
		digest_hex(&a.digest, hex));
	assert_ok(fs_write(AT_FDCWD, path, slice_str(with), 0644, &err), err);
	assert_ok(layout_tag(l, "z", &a, &err), err);
	assert_ok(layout_tag(l, "c", &a, &err), err);
	assert_ok(layout_tag(l, "z", &b, &err), err);
	index = read_text(dir, "index.json");
	assert_contains(index, "\"urls\":[\"u\"]");
	assert_contains(index, "\"x\":1");
	assert_true(strstr(index, "name\":\"c\"") < strstr(index, "name\":\"z\""));
	assert_null(strstr(strstr(index, "name\":\"z\"") + 1, "name\":\"z\""));
}

static void test_a_tag_resolves_and_a_wrong_one_lists_the_right_ones(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_layout struct layout *l = create(dir);
	cleanup_arena struct arena arena = { 0 };
	struct descriptor a = put(l, "a"), b = put(l, "b"), d;
	char text[DIGEST_TEXT_MAX];
	struct error err = { 0 };

	(void)state;
	assert_int_equal(layout_resolve(l, NULL, &arena, &d, &err), -1);
	assert_contains(err.text, "holds no image");
	assert_ok(layout_tag(l, "v1", &a, &err), err);
	assert_ok(layout_resolve(l, NULL, &arena, &d, &err), err);
	assert_true(digest_equal(&d.digest, &a.digest));
	assert_ok(layout_tag(l, "example.org/app:v2", &b, &err), err);
	assert_ok(layout_resolve(l, "v2", &arena, &d, &err), err);
	assert_true(digest_equal(&d.digest, &b.digest));
	assert_ok(layout_resolve(l, digest_text(&b.digest, text), &arena, &d, &err), err);
	assert_int_equal(layout_resolve(l, NULL, &arena, &d, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "v1");
	assert_int_equal(layout_resolve(l, "v3", &arena, &d, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "example.org/app:v2");
}

static void test_a_name_that_stands_for_two_images_is_refused(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_layout struct layout *l = create(dir);
	cleanup_arena struct arena arena = { 0 };
	struct descriptor a = put(l, "a"), b = put(l, "b"), d;
	struct error err = { 0 };

	(void)state;
	assert_ok(layout_tag(l, "one:v1", &a, &err), err);
	assert_ok(layout_tag(l, "two:v1", &b, &err), err);
	assert_int_equal(layout_resolve(l, "v1", &arena, &d, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
}

static void test_many_processes_tag_one_layout_and_lose_nothing(void **state)
{
	enum { PROCESSES = 12 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_layout struct layout *l = create(dir);
	cleanup_arena struct arena arena = { 0 };
	pid_t pids[PROCESSES];
	struct error err = { 0 };

	(void)state;
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct layout *own = layout_create(dir, &err);
			struct descriptor d = { .media_type = MEDIATYPE_OCI_MANIFEST };
			char tag[16];

			snprintf(tag, sizeof(tag), "t%d", i);
			_exit(!own || layout_put_bytes(own, slice_str(tag), &d, &err) < 0 ||
			      layout_tag(own, tag, &d, &err) < 0);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		struct descriptor d;
		char tag[16];

		snprintf(tag, sizeof(tag), "t%d", i);
		assert_ok(layout_resolve(l, tag, &arena, &d, &err), err);
	}
}

static void test_what_a_killed_run_left_is_no_foreign_directory(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *mark = fs_join(dir, "oci-layout"), *index = fs_join(dir, "index.json");
	cleanup_layout struct layout *l = NULL;
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_write(AT_FDCWD, mark, slice_str("{\"imageLayoutVersion\":\"1.0.0\"}"), 0644,
			   &err),
		  err);
	l = create(dir);
	assert_non_null(l);
	assert_true(fs_exists(AT_FDCWD, index));
}

static void test_a_damaged_index_is_told_and_not_overwritten(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_layout struct layout *l = create(dir);
	cleanup_free char *path = fs_join(dir, "index.json"), *after = NULL;
	struct descriptor a = put(l, "a");
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_write(AT_FDCWD, path, slice_str("{\"schemaVersion\":2,"), 0644, &err), err);
	assert_int_equal(layout_tag(l, "v1", &a, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_contains(err.text, "index.json");
	after = read_text(dir, "index.json");
	assert_string_equal(after, "{\"schemaVersion\":2,");
}

static void test_what_was_put_may_be_taken_back_only_while_nobody_else_counts_on_it(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct layout *first = create(dir), *second = create(dir), *third;
	struct descriptor d = put(first, "{}");
	struct error err = { 0 };

	(void)state;
	assert_false(layout_unshared(first)); /* the second may have seen the blob */
	layout_close(second);
	assert_true(layout_unshared(first));
	layout_close(first);

	first = create(dir);
	third = create(dir);
	assert_ok(layout_tag(third, "t", &d, &err), err);
	layout_close(third);
	assert_false(layout_unshared(first)); /* it has a tag on it */
	layout_close(first);
}

/* Blobs of SHA-512 have a folder of their own, which the first of them makes. */

struct linking {
	struct layout *layout;
	int dirfd;
	pthread_barrier_t *barrier;
	struct digest digest;
	bool ok;
};

static void *link_blob(void *user)
{
	struct linking *w = user;
	struct error err = { 0 };

	pthread_barrier_wait(w->barrier);
	w->ok = layout_link(w->layout, w->dirfd, "b", &w->digest, 4, &err) == 0;
	return NULL;
}

static size_t open_files(void)
{
	struct fs_names names = { 0 };
	struct error err = { 0 };
	size_t count;

	assert_ok(fs_list(AT_FDCWD, "/proc/self/fd", &names, &err), err);
	count = names.len;
	fs_names_release(&names);
	return count;
}

static void test_threads_that_bring_the_first_blobs_of_a_kind_make_one_folder(void **state)
{
	enum { THREADS = 8, ROUNDS = 40 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct digest_state sha512 = { 0 };
	struct digest digest;
	struct error err = { 0 };
	size_t before;

	(void)state;
	digest_init(&sha512, DIGEST_SHA512);
	digest_update(&sha512, "blob", 4);
	digest = digest_finish(&sha512);
	digest_release(&sha512);
	assert_ok(fs_write(dirfd, "b", slice_str("blob"), 0644, &err), err);
	before = open_files();
	for (size_t round = 0; round < ROUNDS; round++) {
		cleanup_free char *place = xasprintf("%s/%zu", dir, round);
		struct layout *l = layout_create(place, &err);
		struct linking work[THREADS];
		pthread_barrier_t barrier;
		pthread_t threads[THREADS];

		assert_non_null(l);
		pthread_barrier_init(&barrier, NULL, THREADS);
		for (size_t i = 0; i < THREADS; i++) {
			work[i] = (struct linking){ l, dirfd, &barrier, digest, false };
			assert_int_equal(pthread_create(&threads[i], NULL, link_blob, &work[i]), 0);
		}
		for (size_t i = 0; i < THREADS; i++) {
			pthread_join(threads[i], NULL);
			assert_true(work[i].ok);
		}
		pthread_barrier_destroy(&barrier);
		assert_true(layout_has(l, &digest, 4));
		layout_close(l);
	}
	assert_int_equal(open_files(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_new_layout_is_complete_and_empty),
		cmocka_unit_test(test_a_foreign_directory_is_left_alone),
		cmocka_unit_test(test_what_is_no_layout_is_told),
		cmocka_unit_test(test_a_blob_comes_back),
		cmocka_unit_test(test_a_blob_over_its_limit_leaves_nothing),
		cmocka_unit_test(test_missing_blobs_and_odd_files_are_told),
		cmocka_unit_test(test_a_linked_blob_has_the_bytes),
		cmocka_unit_test(test_a_file_that_is_not_the_blob_is_not_linked),
		cmocka_unit_test(test_tags_are_replaced_and_sorted_and_others_kept_as_they_are),
		cmocka_unit_test(test_a_tag_resolves_and_a_wrong_one_lists_the_right_ones),
		cmocka_unit_test(test_a_name_that_stands_for_two_images_is_refused),
		cmocka_unit_test(test_many_processes_tag_one_layout_and_lose_nothing),
		cmocka_unit_test(test_what_a_killed_run_left_is_no_foreign_directory),
		cmocka_unit_test(test_a_damaged_index_is_told_and_not_overwritten),
		cmocka_unit_test(
			test_what_was_put_may_be_taken_back_only_while_nobody_else_counts_on_it),
		cmocka_unit_test(test_threads_that_bring_the_first_blobs_of_a_kind_make_one_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
