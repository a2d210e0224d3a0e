#include "testkernels/test_report.h"

#include "base/alloc.h"

static const char *const status_names[] = { "pass", "fail", "skip", "error" };
static const char *const blame_names[] = { "", "image", "injection", "host", "hardware" };
static const char *const tier_names[] = { "load", "run" };

const char *test_status_name(enum test_status status)
{
	return status_names[status];
}

const char *test_blame_name(enum test_blame blame)
{
	return blame_names[blame];
}

void test_report_release(struct test_report *r)
{
	for (size_t i = 0; i < r->tests.len; i++)
		json_decref(r->tests.items[i].evidence);
	json_decref(r->env_seen);
	vec_release(&r->tests);
	vec_release(&r->passed_over);
	vec_release(&r->missing_required);
	arena_release(&r->arena);
	*r = (struct test_report){ 0 };
}

struct test_result *test_report_add(struct test_report *r, const char *id, enum test_tier tier)
{
	struct test_result *t = vec_add(&r->tests);

	t->id = arena_strdup(&r->arena, id);
	t->tier = tier;
	return t;
}

void test_report_skip(struct test_report *r, const char *id, enum test_tier tier,
		      const char *reason, const char *message)
{
	struct test_result *t = test_report_add(r, id, tier);

	t->status = TEST_SKIP;
	t->reason = reason;
	t->message = arena_strdup(&r->arena, message);
}

void test_report_pass_over(struct test_report *r, const char *mode, const char *reason)
{
	struct test_passed_over p = { arena_strdup(&r->arena, mode),
				      arena_strdup(&r->arena, reason) };

	vec_push(&r->passed_over, p);
}

struct test_summary test_report_summary(const struct test_report *r)
{
	struct test_summary s = { 0 };

	for (size_t i = 0; i < r->tests.len; i++) {
		const struct test_result *t = &r->tests.items[i];

		s.pass += t->status == TEST_PASS;
		s.fail += t->status == TEST_FAIL;
		s.skip += t->status == TEST_SKIP;
		s.error += t->status == TEST_ERROR;
		s.image_fault += t->status == TEST_FAIL && t->blame == BLAME_IMAGE;
		s.other_fault += t->status == TEST_FAIL && t->blame != BLAME_IMAGE;
	}
	return s;
}

static bool ran(const struct test_result *t)
{
	return t->status != TEST_SKIP;
}

/* Skips that leave nothing open: there was nothing to test. */
static bool harmless_skip(const struct test_result *t)
{
	static const char *const harmless[] = { SKIP_NOT_IN_IMAGE, SKIP_FEATURE, SKIP_SINGLE_GPU,
						SKIP_NOT_REQUESTED };

	for (size_t i = 0; i < ARRAY_LEN(harmless); i++) {
		if (t->reason && str_equal(t->reason, harmless[i]))
			return true;
	}
	return false;
}

static bool tier_ran(const struct test_report *r, enum test_tier tier)
{
	bool any = false;

	for (size_t i = 0; i < r->tests.len; i++) {
		const struct test_result *t = &r->tests.items[i];

		if (t->tier != tier)
			continue;
		any |= ran(t);
		if (!ran(t) && !harmless_skip(t))
			return false;
	}
	return any;
}

static bool required_ran(const struct test_report *r, const char *what)
{
	for (size_t i = 0; i < ARRAY_LEN(tier_names); i++) {
		if (str_equal(what, tier_names[i]))
			return tier_ran(r, (enum test_tier)i);
	}
	for (size_t i = 0; i < r->tests.len; i++) {
		if (str_equal(r->tests.items[i].id, what))
			return ran(&r->tests.items[i]);
	}
	return false;
}

void test_report_require(struct test_report *r, const char *const *require, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!required_ran(r, require[i]))
			vec_push(&r->missing_required, arena_strdup(&r->arena, require[i]));
	}
}

int test_report_exit_status(const struct test_report *r)
{
	struct test_summary s = test_report_summary(r);

	if (s.image_fault)
		return 1;
	return s.other_fault || s.error || r->missing_required.len ? 3 : 0;
}

static void put_text(json_t *object, const char *key, const char *text)
{
	json_put(object, key, text ? json_text(text) : json_null());
}

static json_t *result_json(const struct test_result *t)
{
	json_t *o = json_object();

	put_text(o, "id", t->id);
	put_text(o, "tier", tier_names[t->tier]);
	put_text(o, "status", status_names[t->status]);
	put_text(o, "blame", t->blame ? blame_names[t->blame] : NULL);
	put_text(o, "reason", t->reason);
	json_put(o, "code", t->has_code ? json_integer(t->code) : json_null());
	put_text(o, "code_name", t->code_name);
	put_text(o, "message", t->message);
	put_text(o, "hint", t->hint);
	json_put(o, "evidence", t->evidence ? json_incref(t->evidence) : json_object());
	json_put(o, "duration_ms", json_integer((json_int_t)t->duration_ms));
	json_put(o, "attempts", json_integer(t->attempts));
	return o;
}

static json_t *image_json(const struct test_report *r)
{
	json_t *o = json_object();

	put_text(o, "reference", r->image);
	put_text(o, "digest", r->digest);
	put_text(o, "platform", r->platform);
	return o;
}

static json_t *inject_json(const struct test_report *r)
{
	struct slice rest = slice_str(r->inject_devices ? r->inject_devices : ""), node;
	json_t *o = json_object(), *devices = json_array();

	while (slice_cut(&rest, ' ', &node)) {
		if (node.len)
			json_push(devices, json_stringn((const char *)node.data, node.len));
	}
	put_text(o, "method", r->inject_method ? r->inject_method : "none");
	put_text(o, "spec", r->inject_spec);
	put_text(o, "driver", r->inject_driver);
	put_text(o, "kernel_module", r->inject_module);
	json_put(o, "devices", devices);
	return o;
}

static json_t *summary_json(const struct test_report *r)
{
	struct test_summary s = test_report_summary(r);
	json_t *o = json_object(), *missing = json_array();

	json_put(o, "pass", json_integer((json_int_t)s.pass));
	json_put(o, "fail", json_integer((json_int_t)s.fail));
	json_put(o, "skip", json_integer((json_int_t)s.skip));
	json_put(o, "error", json_integer((json_int_t)s.error));
	json_put(o, "exit_status", json_integer(test_report_exit_status(r)));
	for (size_t i = 0; i < r->missing_required.len; i++)
		json_push(missing, json_text(r->missing_required.items[i]));
	json_put(o, "missing_required", missing);
	return o;
}

void test_report_json(const struct test_report *r, struct strbuf *out)
{
	cleanup_json json_t *doc = json_object();
	json_t *tests = json_array(), *passed_over = json_array();

	for (size_t i = 0; i < r->tests.len; i++)
		json_push(tests, result_json(&r->tests.items[i]));
	for (size_t i = 0; i < r->passed_over.len; i++) {
		json_t *o = json_object();

		put_text(o, "mode", r->passed_over.items[i].mode);
		put_text(o, "reason", r->passed_over.items[i].reason);
		json_push(passed_over, o);
	}
	put_text(doc, "schema", "gpuimg-test/1");
	json_put(doc, "image", image_json(r));
	put_text(doc, "mode", r->mode);
	json_put(doc, "writable_root", json_boolean(r->writable_root));
	json_put(doc, "passed_over", passed_over);
	json_put(doc, "inject", inject_json(r));
	json_put(doc, "env_seen", r->env_seen ? json_incref(r->env_seen) : json_object());
	json_put(doc, "tests", tests);
	json_put(doc, "summary", summary_json(r));
	json_pretty(doc, out);
}

static void add_clean(struct strbuf *out, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		strbuf_addc(out, *p < 0x20 || *p == 0x7f ? ' ' : (char)*p);
}

/* "13.0 /usr/local/cuda/lib64/libcudart.so.13", what there is of it. */
static void add_evidence(const struct test_result *t, struct strbuf *out)
{
	static const char *const shown[] = { "command", "version", "compiled_for", "device",
					     "library" };

	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		const char *text = json_string_value(json_object_get(t->evidence, shown[i]));

		if (!text)
			continue;
		strbuf_adds(out, "  ");
		add_clean(out, text);
	}
}

static void add_sentence(const char *before, const char *text, struct strbuf *out)
{
	strbuf_adds(out, before);
	add_clean(out, text);
	strbuf_addc(out, '\n');
}

/* `before` is the result printed before it, or NULL: the same words are not said twice. */
static void add_result(const struct test_result *t, const struct test_result *before, bool colour,
		       struct strbuf *out)
{
	static const char *const colours[] = { "\033[32m", "\033[31m", "\033[33m", "\033[31m" };

	strbuf_addf(out, "%s%-5s%s %s", colour ? colours[t->status] : "", status_names[t->status],
		    colour ? "\033[0m" : "", t->id);
	if (t->status == TEST_PASS)
		add_evidence(t, out);
	if (t->status == TEST_SKIP)
		strbuf_addf(out, "  %s", t->reason ? t->reason : "");
	if (t->blame)
		strbuf_addf(out, "  blame: %s", blame_names[t->blame]);
	strbuf_addc(out, '\n');
	if (!t->message || t->status == TEST_SKIP)
		return;
	if (before && before->message && str_equal(before->message, t->message)) {
		strbuf_adds(out, "      (as above)\n");
		return;
	}
	add_sentence("      ", t->message, out);
	if (t->hint)
		add_sentence("      -> ", t->hint, out);
}

/* Each reason for skipping once, with how many and its first sentence. */
static void add_skips(const struct test_report *r, struct strbuf *out)
{
	for (size_t i = 0; i < r->tests.len; i++) {
		const struct test_result *t = &r->tests.items[i];
		size_t same = 0;
		bool first = true;

		if (t->status != TEST_SKIP)
			continue;
		for (size_t k = 0; k < r->tests.len; k++) {
			const struct test_result *other = &r->tests.items[k];

			if (other->status != TEST_SKIP || !str_equal(other->reason, t->reason))
				continue;
			first &= k >= i;
			same++;
		}
		if (!first)
			continue;
		strbuf_addf(out, "; %zu skipped: %s (", same, t->reason);
		add_clean(out, t->message ? t->message : "");
		strbuf_addc(out, ')');
	}
}

void test_report_text(const struct test_report *r, bool colour, bool verbose, struct strbuf *out)
{
	struct test_summary s = test_report_summary(r);
	size_t all = r->tests.len;

	strbuf_adds(out, "testing ");
	add_clean(out, r->image ? r->image : "");
	strbuf_addf(out, " in mode %s", r->mode ? r->mode : "none");
	if (r->mode && str_equal(r->mode, "loader"))
		strbuf_adds(out, " (no isolation)");
	else if (r->mode && !r->writable_root)
		strbuf_adds(out, " (read-only root)");
	strbuf_addc(out, '\n');
	for (size_t i = 0; verbose && i < r->passed_over.len; i++) {
		strbuf_addf(out, "not in mode %s: ", r->passed_over.items[i].mode);
		add_clean(out, r->passed_over.items[i].reason);
		strbuf_addc(out, '\n');
	}
	for (size_t i = 0; i < all; i++) {
		const struct test_result *t = &r->tests.items[i];

		if (verbose || t->status != TEST_SKIP)
			add_result(t, i ? t - 1 : NULL, colour, out);
	}
	strbuf_addf(out, "ran %zu of %zu", all - s.skip, all);
	add_skips(r, out);
	strbuf_addc(out, '\n');
	for (size_t i = 0; i < r->missing_required.len; i++)
		strbuf_addf(out, "required, but did not run: %s\n", r->missing_required.items[i]);
	if (s.fail + s.error)
		strbuf_addf(out, "%zu passed, %zu failed (%zu to blame on the image)%s\n", s.pass,
			    s.fail, s.image_fault, s.error ? ", and the tester stumbled" : "");
}
