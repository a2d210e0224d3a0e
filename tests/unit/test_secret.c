#include "tests/support/test.h"

#include "builder/secret.h"

static const char manifest[] = "gpuimg: 1\nname: a/b\nstages:\n"
			       "  s: { run: [x], secrets: [token] }\n"
			       "  r: { profile: base }\n";

struct fixture {
	struct stack stack;
	struct secrets secrets;
};

static int read_given(struct fixture *f, const char *given, struct error *err)
{
	struct error bad = { 0 };

	assert_ok(stack_parse(slice_str(manifest), "stack.yaml", &f->stack, &bad), bad);
	return secrets_read(&f->stack, &f->stack.stages[0], &given, 1, &f->secrets, err);
}

static void release(struct fixture *f)
{
	secrets_release(&f->secrets);
	stack_release(&f->stack);
}
#define cleanup_fixture cleanup(release)

static void prepare(struct fixture *f)
{
	struct error err = { 0 };

	assert_int_equal(setenv("GPUIMG_TEST_SECRET", "  open sesame\n", 1), 0);
	assert_ok(read_given(f, "id=token,env=GPUIMG_TEST_SECRET", &err), err);
}

static void test_a_secret_is_kept_as_it_is_and_looked_for_without_blanks(void **state)
{
	cleanup_fixture struct fixture f = { 0 };

	(void)state;
	prepare(&f);
	assert_string_equal(strbuf_text(&f.secrets.items[0].bytes), "  open sesame\n");
	assert_string_equal(f.secrets.items[0].to, "/run/secrets/token");
	assert_non_null(secrets_in(&f.secrets, slice_str("xxopen sesamexx")));
	assert_null(secrets_in(&f.secrets, slice_str("open sesam")));
}

static void test_a_short_secret_is_refused(void **state)
{
	cleanup_fixture struct fixture f = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(setenv("GPUIMG_TEST_SECRET", " 12345 ", 1), 0);
	assert_int_equal(read_given(&f, "id=token,env=GPUIMG_TEST_SECRET", &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "stack.yaml:4:");
	assert_null(strstr(err.text, "12345"));
}

static void test_texts_are_masked(void **state)
{
	cleanup_fixture struct fixture f = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	prepare(&f);
	secrets_mask(&f.secrets, slice_str("a open sesame b open sesam"), &out);
	assert_string_equal(strbuf_text(&out), "a *** b open sesam");
}

/* A stream that gives a byte at a time. */
struct dripping {
	struct stream base;
	struct stream *inner;
};

static ssize_t drip(struct stream *base, void *buf, size_t len, struct error *err)
{
	(void)len;
	return stream_read(((struct dripping *)base)->inner, buf, 1, err);
}

static void test_a_secret_across_reads_is_found(void **state)
{
	static const struct stream_ops ops = { .read = drip };
	cleanup_fixture struct fixture f = { 0 };
	cleanup_stream struct stream *text = stream_memory(slice_str("x open sesame y"));
	struct dripping slow = { { .ops = &ops }, text };
	struct stream *watched;
	struct error err = { 0 };

	(void)state;
	prepare(&f);
	watched = secrets_watch(&f.secrets, &slow.base);
	assert_int_equal(stream_drain(watched, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "holds the secret 'token'");
	stream_close(watched);
}

static void test_other_bytes_pass(void **state)
{
	cleanup_fixture struct fixture f = { 0 };
	cleanup_stream struct stream *text = stream_memory(slice_str("open sesam open sesam"));
	struct error err = { 0 };

	(void)state;
	prepare(&f);
	{
		cleanup_stream struct stream *watched = secrets_watch(&f.secrets, text);

		assert_ok(stream_drain(watched, NULL, &err), err);
	}
}

static void test_what_the_command_line_gives_must_be_wanted(void **state)
{
	static const char *const wrong[] = { "token",          "id=token", "id=token,src=",
					     "id=token,x=y",   "src=a",    "id=token,src=a,env=B",
					     "id=other,src=a", "" };
	cleanup_fixture struct fixture f = { 0 };
	struct error err = { 0 };

	(void)state;
	prepare(&f);
	assert_ok(secrets_check_given(&f.stack, "id=token,src=a", &err), err);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct error e = { 0 };

		assert_int_equal(secrets_check_given(&f.stack, wrong[i], &e), -1);
		assert_int_equal(e.code, ERROR_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_secret_is_kept_as_it_is_and_looked_for_without_blanks),
		cmocka_unit_test(test_a_short_secret_is_refused),
		cmocka_unit_test(test_texts_are_masked),
		cmocka_unit_test(test_a_secret_across_reads_is_found),
		cmocka_unit_test(test_other_bytes_pass),
		cmocka_unit_test(test_what_the_command_line_gives_must_be_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
