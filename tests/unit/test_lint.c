#include "tests/support/test.h"

#include "formats/json.h"
#include "lint/report.h"
#include "tests/support/image.h"

/* Made up, and in two parts, so that no scanner of source code takes it for a real one. */
#define TOKEN \
	"hf_" \
	"u8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL"

struct lint_test {
	char *dir;
	struct image image;
	struct lint_options options;
	struct lint_result result;
	struct error err;
};

/* An image from text, opened and judged. */
/* 3 what could not be read, else 1 against it, else 0. */
static int verdict(const struct lint_result *result)
{
	return result->unreadable ? 3 : result->failed ? 1 : 0;
}

static void judge_with(struct lint_test *t, const char *text, const struct test_blob *blobs,
		       size_t blob_count)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *name = NULL;
	struct platform platform = { .os = "linux", .architecture = "amd64" };
	struct image_name parsed;

	t->dir = test_dir();
	test_image_with(t->dir, "t", text, blobs, blob_count);
	name = xasprintf("oci:%s:t", t->dir);
	assert_ok(image_name_parse(name, &arena, &parsed, &t->err), t->err);
	assert_ok(image_open(&parsed, &platform, &t->image, &t->err), t->err);
	assert_ok(lint_run(&t->image, &t->options, &t->result, &t->err), t->err);
}

static void judge(struct lint_test *t, const char *text)
{
	judge_with(t, text, NULL, 0);
}

static void release(struct lint_test *t)
{
	lint_result_release(&t->result);
	image_release(&t->image);
	policy_release(&t->options.policy);
	target_release(&t->options.target);
	test_dir_free(t->dir);
}

static const struct finding *finding(const struct lint_test *t, const char *rule)
{
	for (size_t i = 0; i < t->result.findings.len; i++) {
		if (str_equal(t->result.findings.items[i]->rule->id, rule))
			return t->result.findings.items[i];
	}
	return NULL;
}

static void test_a_plain_image_has_no_findings(void **state)
{
	struct lint_test t = { 0 };

	(void)state;
	judge(&t, "cmd /bin/x\nlayer gzip\nfile bin/x 0755 =x\nlayer zstd\nfile etc/y =y\nlayer "
		  "none\n");
	assert_int_equal(t.result.findings.len, 0);
	assert_int_equal(verdict(&t.result), 0);
	assert_int_equal(t.result.layers, 3);
	assert_int_equal(t.result.bytes, 2);
	assert_false(t.result.is_gpu_image);
	release(&t);
}

static void test_a_blob_with_another_digest_is_a_finding(void **state)
{
	struct lint_test t = { 0 };

	(void)state;
	judge(&t, "layer\nfile a =x\nlayer none\nfile b =y\nfault digest\n");
	assert_non_null(finding(&t, "OCI001"));
	assert_int_equal(finding(&t, "OCI001")->layer, 1);
	assert_null(finding(&t, "OCI002"));
	assert_int_equal(verdict(&t.result), 1);
	release(&t);
}

static void test_a_missing_blob_is_a_finding_and_not_all_was_read(void **state)
{
	struct lint_test t = { 0 };

	(void)state;
	judge(&t, "layer\nfile root/token =" TOKEN "\n"
		  "layer\nfile b =y\nfault missing\n");
	assert_non_null(finding(&t, "OCI001"));
	assert_non_null(finding(&t, "SEC001")); /* what was found is still there */
	assert_int_equal(verdict(&t.result), 3);
	release(&t);
}

static void test_a_cut_blob_was_not_read_completely(void **state)
{
	struct lint_test t = { 0 };

	(void)state;
	judge(&t, "layer\nfile a =x\nfault short\n");
	assert_non_null(finding(&t, "OCI001"));
	assert_int_equal(verdict(&t.result), 3);
	release(&t);
}

static void test_a_wrong_diff_id_is_another_finding(void **state)
{
	struct lint_test t = { 0 };

	(void)state;
	judge(&t, "layer\nfile a =x\nfault diff_id\n");
	assert_null(finding(&t, "OCI001"));
	assert_non_null(finding(&t, "OCI002"));
	assert_int_equal(finding(&t, "OCI002")->layer, 0);
	assert_int_equal(verdict(&t.result), 1);
	release(&t);
}

static void test_an_entry_that_leaves_the_root_is_told_and_belongs_nowhere(void **state)
{
	struct lint_test t = { 0 };

	(void)state;
	judge(&t, "layer\nfile ../../x =x\nfile y =y\n");
	assert_string_equal(finding(&t, "OCI005")->path, "/../../x");
	assert_int_equal(finding(&t, "OCI005")->severity, SEVERITY_ERROR);
	assert_int_equal(verdict(&t.result), 1);
	assert_int_equal(t.result.bytes, 1);
	release(&t);
}

/* This very program, as a file of an image. It has the table of the driver's libraries in it. */
static void test_elf_files_in_layers_are_read(void **state)
{
	cleanup_strbuf struct strbuf exe = { 0 };
	struct lint_test t = { 0 };
	struct test_blob blob = { .name = "exe" };

	(void)state;
	assert_ok(fs_read(AT_FDCWD, "/proc/self/exe", 256 * MIB, &exe, &t.err), t.err);
	blob.bytes = strbuf_slice(&exe);
	judge_with(&t, "layer\nfile usr/bin/app 0755 @exe\n", &blob, 1);
	assert_non_null(finding(&t, "LNK001")); /* there is no C library */
	assert_string_equal(finding(&t, "LNK001")->path, "/usr/bin/app");
	assert_null(finding(&t, "ENV001"));
	assert_null(finding(&t, "ENV003"));
	release(&t);
}

static void test_dead_bytes_are_counted(void **state)
{
	struct lint_test t = { 0 };

	(void)state;
	judge(&t, "layer\nfile a *1000\nfile d/b *500\nlayer\nwhiteout a\nopaque d\n");
	assert_non_null(finding(&t, "SIZ001"));
	assert_int_equal(finding(&t, "SIZ001")->severity, SEVERITY_WARNING);
	assert_contains(finding(&t, "SIZ001")->message, "1.5 KiB");
	release(&t);
}

static const char two_findings[] = "env CUDA_VERSION=12.4\nlayer\n"
				   "file root/token =" TOKEN "\n";

static void test_the_threshold_decides_the_status(void **state)
{
	static const struct {
		const char *fail_on;
		int status;
	} rows[] = { { "error", 0 }, { "warning", 1 }, { "info", 1 }, { "never", 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct lint_test t = { 0 };

		assert_ok(policy_set_fail_on(&t.options.policy, rows[i].fail_on, &t.err), t.err);
		judge(&t, "env CUDA_VERSION=12.4\nlayer\nfile a =x\n");
		assert_int_equal(verdict(&t.result), rows[i].status);
		release(&t);
	}
}

static void test_selectors_choose_rules(void **state)
{
	struct lint_test t = { 0 };

	(void)state;
	assert_ok(policy_select(&t.options.policy, "ENV,SEC001", &t.err), t.err);
	assert_ok(policy_ignore(&t.options.policy, "gpu-service-credential", &t.err), t.err);
	judge(&t, two_findings);
	assert_int_equal(t.result.findings.len, 1);
	assert_non_null(finding(&t, "ENV006"));
	for (size_t i = 0; i < t.result.not_run.len; i++)
		assert_false(str_starts(t.result.not_run.items[i].rule->id, "ENV"));
	release(&t);
}

static void test_an_unknown_selector_names_the_nearest(void **state)
{
	struct policy policy = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(policy_select(&policy, "DRV01", &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "DRV001");
	policy_release(&policy);
}

static void test_an_accepted_finding_is_kept_with_its_reason(void **state)
{
	struct policy_ignore ignore = { "SEC001", "/root/**", "a test key", "2030-01-01", NULL };
	struct lint_test t = { .options.policy.today = "2026-01-01" };

	(void)state;
	vec_push(&t.options.policy.ignores, ignore);
	judge(&t, two_findings);
	assert_string_equal(finding(&t, "SEC001")->suppressed, "a test key");
	assert_int_equal(t.result.suppressed, 1);
	assert_int_equal(verdict(&t.result), 0);
	release(&t);
}

static void test_an_acceptance_ends_on_its_day(void **state)
{
	struct policy_ignore ignore = { "SEC001", NULL, "a test key", "2026-01-01", NULL };
	struct lint_test t = { .options.policy.today = "2026-01-01" };

	(void)state;
	vec_push(&t.options.policy.ignores, ignore);
	judge(&t, two_findings);
	assert_null(finding(&t, "SEC001")->suppressed);
	assert_int_equal(verdict(&t.result), 1);
	release(&t);
}

static void test_no_report_shows_a_secret(void **state)
{
	struct lint_test t = { 0 };
	const struct lint_result *list[1];

	(void)state;
	judge(&t, "env HF_TOKEN=" TOKEN "\n"
		  "label x=" TOKEN "\nlayer\nfile root/token =" TOKEN "\n"
		  "layer\nwhiteout root/token\n");
	list[0] = &t.result;
	assert_true(t.result.errors >= 3);
	for (const struct report_format *f = report_formats; f->name; f++) {
		cleanup_strbuf struct strbuf text = { 0 };

		f->write(list, 1, &text);
		if (strstr(strbuf_text(&text), "hf_u8j"))
			fail_msg("%s shows the token", f->name);
		if (!str_equal(f->name, "markdown")) /* which escapes the "_" */
			assert_contains(strbuf_text(&text), "hf_u");
	}
	release(&t);
}

static void test_the_json_report_follows_its_schema(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *json = NULL;
	struct lint_test t = { 0 };
	const struct lint_result *list[1];
	json_t *findings, *first;

	(void)state;
	judge(&t, two_findings);
	list[0] = &t.result;
	report_json(list, 1, &text);
	assert_ok(json_parse(slice_of(text.data, text.len - 1), &json, &t.err), t.err);
	assert_string_equal(json_string_value(json_object_get(json, "schema")), "gpuimg-lint/1");
	findings = json_object_get(json, "findings");
	assert_int_equal(json_array_size(findings), 2);
	first = json_array_get(findings, 0);
	assert_string_equal(json_string_value(json_object_get(first, "rule")), "SEC001");
	assert_string_equal(json_string_value(json_object_get(first, "severity")), "error");
	assert_int_equal(json_integer_value(json_object_get(first, "layer")), 0);
	assert_int_equal(strlen(json_string_value(json_object_get(first, "fingerprint"))), 32);
	assert_true(json_is_null(json_object_get(json_array_get(findings, 1), "layer")));
	assert_true(json_is_array(json_object_get(json, "not_run")));
	release(&t);
}

#define NCCL_RECORD                                                                      \
	"file usr/lib/python3/site-packages/nvidia_nccl_cu12-2.26.2.dist-info/METADATA " \
	"=Metadata-Version: 2.1\\nName: nvidia-nccl-cu12\\nVersion: 2.26.2\\n\n"

static void test_what_was_judged_for_is_told_and_that_labels_said_so(void **state)
{
	struct lint_test labelled = { 0 }, plain = { 0 };

	(void)state;
	judge(&labelled, "label io.gpuimg.gpus=h100\nlabel io.gpuimg.driver=>=550\nlayer\n");
	assert_int_equal(labelled.result.targets.gpus.len, 1);
	assert_string_equal(labelled.result.targets.gpus.items[0], "h100 (sm_90)");
	assert_true(labelled.result.targets.gpus_from_labels);
	assert_string_equal(labelled.result.targets.drivers.items[0], "driver 550 or newer");
	assert_true(labelled.result.targets.drivers_from_labels);
	judge(&plain, "layer\n");
	assert_int_equal(plain.result.targets.gpus.len, 0);
	assert_false(plain.result.targets.gpus_from_labels);
	release(&plain);
	release(&labelled);
}

static void test_the_stack_is_told_by_labels_and_records(void **state)
{
	struct lint_test labelled = { 0 }, found = { 0 };

	(void)state;
	judge(&labelled, "label io.gpuimg.cuda=13.0\nlayer\n" NCCL_RECORD);
	assert_string_equal(labelled.result.stack.cuda, "13.0");
	assert_string_equal(labelled.result.stack.nccl, "2.26.2");
	judge(&found,
	      "layer\nfile usr/lib/python3/site-packages/nvidia_cuda_runtime-13.0.96.dist-info/"
	      "METADATA =Metadata-Version: 2.1\\nName: nvidia-cuda-runtime\\n"
	      "Version: 13.0.96\\n\n");
	assert_string_equal(found.result.stack.cuda, "13.0");
	assert_null(found.result.stack.cudnn); /* nothing tells, so nothing is said */
	release(&labelled);
	release(&found);
}

static void test_the_same_image_gives_the_same_report(void **state)
{
	cleanup_strbuf struct strbuf first = { 0 }, second = { 0 };
	const struct lint_result *list[1];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct lint_test t = { 0 };

		judge(&t, two_findings);
		t.result.reference = "image";
		list[0] = &t.result;
		report_text(list, 1, i ? &second : &first);
		release(&t);
	}
	assert_string_equal(strbuf_text(&first), strbuf_text(&second));
}

static void test_an_unpacked_root_is_judged_without_layers(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "token"), *name = xasprintf("rootfs:%s", dir);
	cleanup_arena struct arena arena = { 0 };
	cleanup_image struct image image = { 0 };
	cleanup_lint_result struct lint_result result = { 0 };
	struct lint_options options = { 0 };
	struct image_name parsed;
	struct error err = { 0 };
	bool skipped = false;

	(void)state;
	assert_ok(fs_write(AT_FDCWD, file, slice_str(TOKEN), 0600, &err), err);
	assert_ok(image_name_parse(name, &arena, &parsed, &err), err);
	assert_ok(image_open(&parsed, NULL, &image, &err), err);
	assert_ok(lint_run(&image, &options, &result, &err), err);
	assert_int_equal(result.findings.len, 1);
	assert_string_equal(result.findings.items[0]->path, "/token");
	assert_int_equal(result.findings.items[0]->layer, -1);
	for (size_t i = 0; i < result.not_run.len; i++)
		skipped |= str_equal(result.not_run.items[i].rule->id, "OCI001");
	assert_true(skipped);
}

static void test_what_a_live_root_has_in_proc_is_not_read(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *proc = fs_join(dir, "proc"), *name = xasprintf("rootfs:%s", dir);
	cleanup_free char *file = fs_join(proc, "token");
	cleanup_arena struct arena arena = { 0 };
	cleanup_image struct image image = { 0 };
	cleanup_lint_result struct lint_result result = { 0 };
	struct lint_options options = { 0 };
	struct image_name parsed;
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_mkdirs(AT_FDCWD, proc, &err), err);
	assert_ok(fs_write(AT_FDCWD, file, slice_str(TOKEN), 0600, &err), err);
	assert_ok(image_name_parse(name, &arena, &parsed, &err), err);
	assert_ok(image_open(&parsed, NULL, &image, &err), err);
	assert_ok(lint_run(&image, &options, &result, &err), err);
	assert_int_equal(result.findings.len, 0);
	assert_null(result.unreadable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_plain_image_has_no_findings),
		cmocka_unit_test(test_a_blob_with_another_digest_is_a_finding),
		cmocka_unit_test(test_a_missing_blob_is_a_finding_and_not_all_was_read),
		cmocka_unit_test(test_a_cut_blob_was_not_read_completely),
		cmocka_unit_test(test_a_wrong_diff_id_is_another_finding),
		cmocka_unit_test(test_an_entry_that_leaves_the_root_is_told_and_belongs_nowhere),
		cmocka_unit_test(test_elf_files_in_layers_are_read),
		cmocka_unit_test(test_dead_bytes_are_counted),
		cmocka_unit_test(test_the_threshold_decides_the_status),
		cmocka_unit_test(test_selectors_choose_rules),
		cmocka_unit_test(test_an_unknown_selector_names_the_nearest),
		cmocka_unit_test(test_an_accepted_finding_is_kept_with_its_reason),
		cmocka_unit_test(test_an_acceptance_ends_on_its_day),
		cmocka_unit_test(test_no_report_shows_a_secret),
		cmocka_unit_test(test_the_json_report_follows_its_schema),
		cmocka_unit_test(test_what_was_judged_for_is_told_and_that_labels_said_so),
		cmocka_unit_test(test_the_stack_is_told_by_labels_and_records),
		cmocka_unit_test(test_the_same_image_gives_the_same_report),
		cmocka_unit_test(test_an_unpacked_root_is_judged_without_layers),
		cmocka_unit_test(test_what_a_live_root_has_in_proc_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
