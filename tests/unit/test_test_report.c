#include "tests/support/test.h"

#include "testkernels/test_report.h"

static struct test_result *add(struct test_report *r, const char *id, enum test_tier tier,
			       enum test_status status, enum test_blame blame)
{
	struct test_result *t = test_report_add(r, id, tier);

	t->status = status;
	t->blame = blame;
	t->reason = status == TEST_SKIP ? SKIP_NO_GPU : NULL;
	return t;
}

static void test_exit_status_follows_the_blame(void **state)
{
	static const struct {
		enum test_status status;
		enum test_blame blame;
		int want;
	} cases[] = {
		{ TEST_PASS, BLAME_NONE, 0 },  { TEST_SKIP, BLAME_NONE, 0 },
		{ TEST_FAIL, BLAME_IMAGE, 1 }, { TEST_FAIL, BLAME_INJECTION, 3 },
		{ TEST_FAIL, BLAME_HOST, 3 },  { TEST_FAIL, BLAME_HARDWARE, 3 },
		{ TEST_ERROR, BLAME_NONE, 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_test_report struct test_report r = { 0 };

		add(&r, "load.a", TIER_LOAD, cases[i].status, cases[i].blame);
		assert_int_equal(test_report_exit_status(&r), cases[i].want);
	}
}

static void test_the_images_fault_wins_over_the_hosts(void **state)
{
	cleanup_test_report struct test_report r = { 0 };

	(void)state;
	add(&r, "run.a", TIER_RUN, TEST_FAIL, BLAME_HOST);
	add(&r, "load.a", TIER_LOAD, TEST_FAIL, BLAME_IMAGE);
	assert_int_equal(test_report_exit_status(&r), 1);
}

static int status_when_required(struct test_report *r, const char *what)
{
	test_report_require(r, &what, 1);
	return test_report_exit_status(r);
}

static void test_a_required_tier_that_was_skipped_cannot_be_judged(void **state)
{
	cleanup_test_report struct test_report r = { 0 };

	(void)state;
	add(&r, "load.a", TIER_LOAD, TEST_PASS, BLAME_NONE);
	add(&r, "run.a", TIER_RUN, TEST_SKIP, BLAME_NONE);
	assert_int_equal(status_when_required(&r, "load"), 0);
	assert_int_equal(status_when_required(&r, "run"), 3);
}

static void test_what_the_image_does_not_hold_is_not_missed(void **state)
{
	cleanup_test_report struct test_report r = { 0 };

	(void)state;
	add(&r, "load.a", TIER_LOAD, TEST_PASS, BLAME_NONE);
	test_report_skip(&r, "load.libnccl", TIER_LOAD, SKIP_NOT_IN_IMAGE, "no NCCL");
	assert_int_equal(status_when_required(&r, "load"), 0);
	assert_int_equal(status_when_required(&r, "load.libnccl"), 3);
}

static void test_a_tier_without_tests_did_not_run(void **state)
{
	cleanup_test_report struct test_report r = { 0 };

	(void)state;
	assert_int_equal(status_when_required(&r, "load"), 3);
}

static void test_the_json_says_everything_once(void **state)
{
	cleanup_test_report struct test_report r = { .image = "oci:x", .mode = "loader" };
	cleanup_strbuf struct strbuf text = { 0 };
	struct test_result *t = add(&r, "load.libcudnn.so.9", TIER_LOAD, TEST_FAIL, BLAME_IMAGE);

	(void)state;
	t->has_code = true;
	t->code = 3009;
	t->message = "why";
	t->evidence = json_pack("{s:s}", "library", "/l");
	test_report_json(&r, &text);
	assert_contains(strbuf_text(&text), "\"schema\": \"gpuimg-test/1\"");
	assert_contains(strbuf_text(&text), "\"code\": 3009");
	assert_contains(strbuf_text(&text), "\"blame\": \"image\"");
	assert_contains(strbuf_text(&text), "\"library\": \"/l\"");
	assert_contains(strbuf_text(&text), "\"exit_status\": 1");
	assert_contains(strbuf_text(&text), "\"method\": \"none\"");
}

static void test_invalid_text_becomes_valid_json(void **state)
{
	cleanup_test_report struct test_report r = { .image = "bad\xff", .mode = "loader" };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *parsed = NULL;
	struct error err = { 0 };

	(void)state;
	test_report_json(&r, &text);
	assert_ok(json_parse(strbuf_slice(&text), &parsed, &err), err);
}

static void test_the_text_ends_with_why_tests_were_skipped(void **state)
{
	cleanup_test_report struct test_report r = { .image = "oci:x", .mode = "loader" };
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	add(&r, "load.a", TIER_LOAD, TEST_PASS, BLAME_NONE);
	test_report_skip(&r, "run.a", TIER_RUN, SKIP_NO_GPU, "no device");
	test_report_skip(&r, "run.b", TIER_RUN, SKIP_NO_GPU, "no device");
	test_report_text(&r, false, false, &text);
	assert_contains(strbuf_text(&text), "ran 1 of 3; 2 skipped: no-gpu (no device)\n");
}

static void test_control_characters_do_not_reach_the_terminal(void **state)
{
	cleanup_test_report struct test_report r = { .image = "x\033[2J", .mode = "loader" };
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	add(&r, "load.a", TIER_LOAD, TEST_FAIL, BLAME_IMAGE)->message = "a\033]0;b\a";
	test_report_text(&r, false, false, &text);
	assert_null(strchr(strbuf_text(&text), '\033'));
	assert_null(strchr(strbuf_text(&text), '\a'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_status_follows_the_blame),
		cmocka_unit_test(test_the_images_fault_wins_over_the_hosts),
		cmocka_unit_test(test_a_required_tier_that_was_skipped_cannot_be_judged),
		cmocka_unit_test(test_what_the_image_does_not_hold_is_not_missed),
		cmocka_unit_test(test_a_tier_without_tests_did_not_run),
		cmocka_unit_test(test_the_json_says_everything_once),
		cmocka_unit_test(test_invalid_text_becomes_valid_json),
		cmocka_unit_test(test_the_text_ends_with_why_tests_were_skipped),
		cmocka_unit_test(test_control_characters_do_not_reach_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
