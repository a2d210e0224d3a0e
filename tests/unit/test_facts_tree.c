#include "tests/support/test.h"

#include "base/fs.h"
#include "lint/facts.h"
#include "tests/support/image.h"

/* The facts of the image in `dir`, or of the folder itself, under the limits. */
static void read_facts(struct facts *facts, struct image *image, const char *name,
		       struct facts_limits limits)
{
	static const struct target nowhere;
	cleanup_arena struct arena arena = { 0 };
	struct platform platform = { .os = "linux", .architecture = "amd64" };
	struct image_name parsed;
	struct error err = { 0 };

	facts->limits = limits;
	assert_ok(image_name_parse(name, &arena, &parsed, &err), err);
	assert_ok(image_open(&parsed, &platform, image, &err), err);
	assert_ok(facts_read(facts, image, &nowhere, &err), err);
}

/* `layers` layers of `files` empty files each. */
static char *many_files(size_t layers, size_t files)
{
	struct strbuf text = { 0 };

	for (size_t i = 0; i < layers; i++) {
		strbuf_adds(&text, "layer none\n");
		for (size_t k = 0; k < files; k++)
			strbuf_addf(&text, "file opt/%zu/%zu =\n", i, k);
	}
	return strbuf_steal(&text);
}

static void check_image(const char *text, struct facts_limits limits, const char *complaint)
{
	char *dir = test_dir();
	cleanup_free char *name = xasprintf("oci:%s:t", dir);
	cleanup_image struct image image = { 0 };
	cleanup_facts struct facts facts = { 0 };

	test_image(dir, "t", text);
	read_facts(&facts, &image, name, limits);
	assert_int_equal(facts.unreadable, complaint != NULL);
	assert_int_equal(facts.lacks_entries, complaint != NULL);
	if (complaint)
		assert_non_null(strstr(facts.unreadable_text, complaint));
	test_dir_free(dir);
}

static void test_entries_of_all_layers_together_meet_the_limit(void **state)
{
	cleanup_free char *text = many_files(3, 600);

	(void)state;
	check_image(text, (struct facts_limits){ .entries = 4000 }, NULL);
	check_image(text, (struct facts_limits){ .entries = 1000 }, "more than 1000 entries");
}

static void test_what_is_kept_of_files_meets_the_limit(void **state)
{
	struct strbuf text = { 0 };

	(void)state;
	strbuf_adds(&text, "layer none\n");
	for (int i = 0; i < 1200; i++)
		strbuf_addf(&text, "file etc/ld.so.conf.d/%d.conf *4000\n", i);
	check_image(strbuf_text(&text), (struct facts_limits){ .bytes = 16 << 20 }, NULL);
	check_image(strbuf_text(&text), (struct facts_limits){ .bytes = 1 << 20 },
		    "takes more than 1048576 bytes");
	strbuf_release(&text);
}

/* The first layer takes longer to read than the second, which alone is past the limit. */
static void test_an_image_past_the_limit_keeps_what_lies_before(void **state)
{
	cleanup_free char *slow = many_files(1, 600), *many = many_files(1, 3000);
	cleanup_free char *text =
		xasprintf("layer none\nfile etc/large *20000000\n%sfile etc/last =x\n%s",
			  strchr(slow, '\n') + 1, many);
	char *dir = test_dir();
	cleanup_free char *name = xasprintf("oci:%s:t", dir);
	cleanup_image struct image image = { 0 };
	cleanup_facts struct facts facts = { 0 };

	(void)state;
	test_image(dir, "t", text);
	read_facts(&facts, &image, name, (struct facts_limits){ .entries = 1700 });
	assert_true(facts.unreadable);
	assert_string_equal(facts.unreadable_text,
			    "layer 1: the image has more than 1700 entries so far");
	assert_non_null(facts_resolve(&facts, "/etc/last", NULL));
	assert_non_null(facts_resolve(&facts, "/opt/0/1023", NULL));
	assert_null(facts_resolve(&facts, "/opt/0/1800", NULL));
	test_dir_free(dir);
}

static void test_an_unpacked_root_meets_the_same_limits(void **state)
{
	char *dir = test_dir();
	cleanup_free char *name = xasprintf("rootfs:%s", dir);
	struct error err = { 0 };
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	for (int i = 0; i < 30; i++) {
		cleanup_free char *file = xasprintf("file%d", i);

		assert_ok(fs_write(fd, file, slice_str("x"), 0644, &err), err);
	}
	for (size_t limit = 20; limit <= 40; limit += 20) {
		cleanup_image struct image image = { 0 };
		cleanup_facts struct facts facts = { 0 };

		read_facts(&facts, &image, name, (struct facts_limits){ .entries = limit });
		assert_int_equal(facts.unreadable, limit == 20);
		if (limit == 20)
			assert_non_null(strstr(facts.unreadable_text, "more than 20 entries"));
	}
	close(fd);
	test_dir_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries_of_all_layers_together_meet_the_limit),
		cmocka_unit_test(test_what_is_kept_of_files_meets_the_limit),
		cmocka_unit_test(test_an_image_past_the_limit_keeps_what_lies_before),
		cmocka_unit_test(test_an_unpacked_root_meets_the_same_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
