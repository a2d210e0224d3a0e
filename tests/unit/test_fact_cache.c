#include "tests/support/test.h"

#include "formats/json.h"
#include "lint/fact_cache.h"
#include "lint/report.h"
#include "tests/support/image.h"

/* Two layers, the same in every test; the second hides a file and has an odd name. */
static const char base_image[] = "env NVIDIA_VISIBLE_DEVICES=all\n"
				 "layer gzip\n"
				 "dir usr/lib/x86_64-linux-gnu\n"
				 "file usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03\n"
				 "file usr/lib/x86_64-linux-gnu/libfoo.so.1 =not a library\n"
				 "file etc/ld.so.conf =include /etc/ld.so.conf.d/*.conf\\n\n"
				 "file root/.netrc =machine example.org login me password "
				 "A8fJ2mZ91kQpL0xV7c\n"
				 "layer zstd\n"
				 "whiteout root/.netrc\n"
				 "file ../out =x\n";

/* A folder of files by key, and how often it was asked. */
struct folder {
	char *dir;
	int fd;
	size_t found;
	struct fact_cache cache;
};

static int folder_open(void *user, const struct digest *key)
{
	struct folder *f = user;
	char hex[DIGEST_HEX_MAX];
	int fd = openat(f->fd, digest_hex(key, hex), O_RDONLY | O_CLOEXEC);

	__atomic_add_fetch(&f->found, fd >= 0, __ATOMIC_RELAXED);
	return fd;
}

static int folder_begin(void *user, struct fs_pending *out, struct error *err)
{
	return fs_pending_open(((struct folder *)user)->fd, out, err);
}

static int folder_commit(void *user, const struct digest *key, struct fs_pending *file,
			 struct error *err)
{
	char hex[DIGEST_HEX_MAX];

	(void)user;
	return fs_pending_commit(file, digest_hex(key, hex), 0644, err);
}

static void folder_make(struct folder *f)
{
	f->dir = test_dir();
	f->fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->cache = (struct fact_cache){ f, folder_open, folder_begin, folder_commit };
}

static void folder_release(struct folder *f)
{
	close(f->fd);
	test_dir_free(f->dir);
}

/* The JSON report of the image in `dir`; NULL cache: read it all. */
static void report(const char *dir, const struct fact_cache *cache, struct strbuf *out)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *name = xasprintf("oci:%s:t", dir);
	struct platform platform = { .os = "linux", .architecture = "amd64" };
	cleanup_lint_result struct lint_result result = { 0 };
	cleanup_image struct image image = { 0 };
	struct lint_options options = { .cache = cache };
	const struct lint_result *list[] = { &result };
	struct image_name parsed;
	struct error err = { 0 };

	assert_ok(image_name_parse(name, &arena, &parsed, &err), err);
	assert_ok(image_open(&parsed, &platform, &image, &err), err);
	assert_ok(lint_run(&image, &options, &result, &err), err);
	report_json(list, 1, out);
}

static void test_the_second_run_says_the_same_from_what_is_kept(void **state)
{
	cleanup_strbuf struct strbuf plain = { 0 }, first = { 0 }, second = { 0 };
	char *dir = test_dir();
	struct folder f = { 0 };

	(void)state;
	folder_make(&f);
	test_image(dir, "t", base_image);
	report(dir, NULL, &plain);
	report(dir, &f.cache, &first);
	assert_int_equal(f.found, 0);
	report(dir, &f.cache, &second);
	assert_int_equal(f.found, 2);
	assert_string_equal(strbuf_text(&first), strbuf_text(&plain));
	assert_string_equal(strbuf_text(&second), strbuf_text(&plain));
	assert_non_null(strstr(strbuf_text(&plain), "SEC003"));
	assert_non_null(strstr(strbuf_text(&plain), "OCI005"));
	folder_release(&f);
	test_dir_free(dir);
}

static void test_an_image_that_shares_a_layer_reads_only_the_other(void **state)
{
	cleanup_free char *longer = xasprintf("%slayer\nfile more =1\n", base_image);
	cleanup_strbuf struct strbuf ignored = { 0 }, plain = { 0 }, kept = { 0 };
	char *dir = test_dir(), *other = test_dir();
	struct folder f = { 0 };

	(void)state;
	folder_make(&f);
	test_image(dir, "t", base_image);
	test_image(other, "t", longer);
	report(dir, &f.cache, &ignored);
	report(other, &f.cache, &kept);
	assert_int_equal(f.found, 2);
	report(other, NULL, &plain);
	assert_string_equal(strbuf_text(&kept), strbuf_text(&plain));
	folder_release(&f);
	test_dir_free(dir);
	test_dir_free(other);
}

static int spoil(void *user, const struct fs_entry *e, struct error *err)
{
	cleanup_fd int fd = openat(e->dirfd, e->name, O_WRONLY);

	(void)err;
	(void)user;
	if (S_ISREG(e->st.st_mode))
		assert_int_equal(pwrite(fd, "?", 1, e->st.st_size / 2), 1);
	return 0;
}

static void test_a_damaged_record_is_not_believed_and_made_anew(void **state)
{
	cleanup_strbuf struct strbuf first = { 0 }, spoilt = { 0 }, last = { 0 };
	char *dir = test_dir();
	struct folder f = { 0 };
	struct error err = { 0 };

	(void)state;
	folder_make(&f);
	test_image(dir, "t", base_image);
	report(dir, &f.cache, &first);
	assert_ok(fs_walk(AT_FDCWD, f.dir, spoil, NULL, &err), err);
	report(dir, &f.cache, &spoilt);
	report(dir, &f.cache, &last);
	assert_string_equal(strbuf_text(&spoilt), strbuf_text(&first));
	assert_string_equal(strbuf_text(&last), strbuf_text(&first));
	folder_release(&f);
	test_dir_free(dir);
}

/* The last byte of every blob that is a layer. */
static int spoil_layers(void *user, const struct fs_entry *e, struct error *err)
{
	cleanup_fd int fd = openat(e->dirfd, e->name, O_RDWR);
	uint8_t head[4] = { 0 };

	(void)err;
	(void)user;
	if (!S_ISREG(e->st.st_mode) || pread(fd, head, sizeof(head), 0) != sizeof(head) ||
	    (head[0] != 0x1f && head[0] != 0x28))
		return 0;
	assert_int_equal(pwrite(fd, "?", 1, e->st.st_size - 1), 1);
	return 0;
}

static void test_facts_do_not_hide_that_a_blob_is_damaged_now(void **state)
{
	cleanup_strbuf struct strbuf first = { 0 }, plain = { 0 }, kept = { 0 };
	char *dir = test_dir();
	struct folder f = { 0 };
	struct error err = { 0 };

	(void)state;
	folder_make(&f);
	test_image(dir, "t", base_image);
	report(dir, &f.cache, &first);
	assert_ok(fs_walk(AT_FDCWD, dir, spoil_layers, NULL, &err), err);
	report(dir, &f.cache, &kept);
	report(dir, NULL, &plain);
	assert_string_equal(strbuf_text(&kept), strbuf_text(&plain));
	assert_non_null(strstr(strbuf_text(&kept), "OCI001"));
	folder_release(&f);
	test_dir_free(dir);
}

/* A credential in a file whose text is kept must not be written beside the image. */
static void test_a_layer_with_a_secret_in_a_kept_text_is_not_recorded(void **state)
{
	static const char token[] = "hf_"
				    "u8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL";
	cleanup_free char *text = xasprintf(
		"layer\nfile entrypoint.sh 0755 =#!/bin/sh\\nexport HF_TOKEN=%s\\n\n", token);
	cleanup_strbuf struct strbuf first = { 0 }, second = { 0 };
	char *dir = test_dir();
	struct folder f = { 0 };

	(void)state;
	folder_make(&f);
	test_image(dir, "t", text);
	report(dir, &f.cache, &first);
	report(dir, &f.cache, &second);
	assert_non_null(strstr(strbuf_text(&first), "SEC001"));
	assert_string_equal(strbuf_text(&second), strbuf_text(&first));
	assert_int_equal(f.found, 0);
	folder_release(&f);
	test_dir_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_second_run_says_the_same_from_what_is_kept),
		cmocka_unit_test(test_an_image_that_shares_a_layer_reads_only_the_other),
		cmocka_unit_test(test_a_damaged_record_is_not_believed_and_made_anew),
		cmocka_unit_test(test_facts_do_not_hide_that_a_blob_is_damaged_now),
		cmocka_unit_test(test_a_layer_with_a_secret_in_a_kept_text_is_not_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
