#include "tests/support/test.h"

#include "base/base64.h"
#include "base/process.h"
#include "builder/sources/rpm_signature.h"
#include "tests/support/rpm.h"

#define MAGIC "\216\255\350\001\0\0\0\0"

/* A header, and signatures over it that gpg made with a key of its own. */
struct signed_header {
	char *dir, *key, *stranger;
	struct strbuf blob, good, other; /* other: by the stranger's key */
};

/* A key below `dir`/`who`, what it signs of `dir`/text, and itself in `dir`/`who`.asc. */
static void sign(const char *dir, const char *who, struct strbuf *out)
{
	cleanup_free char *path = xasprintf("%s/%s.sig", dir, who);
	cleanup_free char *line = xasprintf(
		"cd %s && mkdir -m 700 %s && alias g='gpg --homedir %s --batch --quiet' || exit 1\n"
		"g --passphrase '' --quick-generate-key 'Test <test@example.org>' rsa2048 sign "
		"never 2>gpg.log && g -o %s.sig --detach-sign text && g --armor --export >%s.asc\n"
		"rc=$?; gpgconf --homedir %s --kill all; exit $rc",
		dir, who, who, who, who, who);
	struct error err = { 0 };

	assert_int_equal(system(line), 0);
	assert_ok(fs_read(AT_FDCWD, path, MIB, out, &err), err);
}

static int set_up(void **state)
{
	struct signed_header *s = xcalloc(1, sizeof(*s));
	cleanup_test_header struct test_header h = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_free char *path = NULL;
	struct error err = { 0 };
	const char *digest = "00";

	*state = s;
	if (!process_available("gpg") || !process_available("gpgv"))
		return 0;
	s->dir = test_dir();
	test_header_identity(&h, "demo", "1", "x86_64");
	test_header_texts(&h, RPMTAG_PAYLOADDIGEST, &digest, 1);
	test_header_blob(&h, &s->blob);
	strbuf_add(&text, MAGIC, 8);
	strbuf_add(&text, s->blob.data, s->blob.len);
	path = xasprintf("%s/text", s->dir);
	assert_ok(fs_write(AT_FDCWD, path, strbuf_slice(&text), 0644, &err), err);
	sign(s->dir, "us", &s->good);
	sign(s->dir, "them", &s->other);
	s->key = xasprintf("%s/us.asc", s->dir);
	s->stranger = xasprintf("%s/them.asc", s->dir);
	return 0;
}

static int tear_down(void **state)
{
	struct signed_header *s = *state;

	test_dir_free(s->dir);
	free(s->key);
	free(s->stranger);
	strbuf_release(&s->blob);
	strbuf_release(&s->good);
	strbuf_release(&s->other);
	free(s);
	return 0;
}

static void add_text(struct test_header *h, const struct strbuf *const *packets, size_t count,
		     size_t width)
{
	struct strbuf texts[4] = { 0 };
	const char *list[4] = { 0 };

	for (size_t i = 0; i < count; i++) {
		cleanup_strbuf struct strbuf plain = { 0 };

		base64_encode(strbuf_slice(packets[i]), &plain);
		for (size_t at = 0; at < plain.len; at += width) {
			strbuf_add(&texts[i], plain.data + at, MIN(width, plain.len - at));
			strbuf_adds(&texts[i], "\n");
		}
		list[i] = strbuf_text(&texts[i]);
	}
	test_header_texts(h, RPMTAG_OPENPGP, list, count);
	for (size_t i = 0; i < count; i++)
		strbuf_release(&texts[i]);
}

/* The package whose header is `blob`, with these signatures, against the first key. */
static int verify(const struct signed_header *s, const struct test_header *signatures,
		  const struct strbuf *blob, struct error *err)
{
	const char *keyring = s->key;
	struct apt_keys keys = { .keyrings = &keyring, .keyring_count = 1 };
	cleanup_strbuf struct strbuf signature = { 0 };
	struct rpm_package package = { .name = "demo", .header_blob = strbuf_slice(blob) };

	test_header_blob(signatures, &signature);
	package.signature_blob = strbuf_slice(&signature);
	assert_ok(rpm_header_parse(package.signature_blob, &package.signature, err), *err);
	assert_ok(rpm_header_parse(package.header_blob, &package.header, err), *err);
	return rpm_signature_verify(&package, &keys, "demo.rpm", err);
}

static struct signed_header *usable(void **state)
{
	struct signed_header *s = *state;

	if (!s->dir)
		skip();
	return s;
}

static void test_bytes_in_rsaheader_count(void **state)
{
	struct signed_header *s = usable(state);
	cleanup_test_header struct test_header h = { 0 };
	struct error err = { 0 };

	test_header_add(&h, RPMTAG_RSAHEADER, RPM_TYPE_BIN, (uint32_t)s->good.len, s->good.data,
			s->good.len);
	assert_ok(verify(s, &h, &s->blob, &err), err);
}

static void test_a_text_in_openpgp_counts(void **state)
{
	struct signed_header *s = usable(state);
	cleanup_test_header struct test_header one_line = { 0 }, folded = { 0 };
	const struct strbuf *good = &s->good;
	struct error err = { 0 };

	add_text(&one_line, &good, 1, 4096);
	assert_ok(verify(s, &one_line, &s->blob, &err), err);
	add_text(&folded, &good, 1, 64);
	assert_ok(verify(s, &folded, &s->blob, &err), err);
}

static void test_one_good_text_of_several_is_enough(void **state)
{
	struct signed_header *s = usable(state);
	cleanup_strbuf struct strbuf nonsense = { 0 };
	cleanup_test_header struct test_header h = { 0 };
	const struct strbuf *all[] = { &s->other, &nonsense, &s->good };
	struct error err = { 0 };

	strbuf_adds(&nonsense, "no packet");
	add_text(&h, all, ARRAY_LEN(all), 4096);
	assert_ok(verify(s, &h, &s->blob, &err), err);
}

static void test_a_strangers_text_does_not_count(void **state)
{
	struct signed_header *s = usable(state);
	cleanup_test_header struct test_header h = { 0 };
	const struct strbuf *other = &s->other;
	struct error err = { 0 };

	add_text(&h, &other, 1, 4096);
	assert_int_equal(verify(s, &h, &s->blob, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "demo.rpm");
}

static void test_a_text_over_another_header_does_not_count(void **state)
{
	struct signed_header *s = usable(state);
	cleanup_test_header struct test_header h = { 0 }, changed = { 0 };
	cleanup_strbuf struct strbuf blob = { 0 };
	const struct strbuf *good = &s->good;
	const char *digest = "01";
	struct error err = { 0 };

	test_header_identity(&changed, "demo", "1", "x86_64");
	test_header_texts(&changed, RPMTAG_PAYLOADDIGEST, &digest, 1);
	test_header_blob(&changed, &blob);
	add_text(&h, &good, 1, 4096);
	assert_int_equal(verify(s, &h, &blob, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
}

static void test_what_is_no_base64_is_no_signature(void **state)
{
	struct signed_header *s = usable(state);
	cleanup_test_header struct test_header h = { 0 };
	const char *texts[] = { "%%%", "" };
	struct error err = { 0 };

	test_header_texts(&h, RPMTAG_OPENPGP, texts, ARRAY_LEN(texts));
	assert_int_equal(verify(s, &h, &s->blob, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "is signed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_in_rsaheader_count),
		cmocka_unit_test(test_a_text_in_openpgp_counts),
		cmocka_unit_test(test_one_good_text_of_several_is_enough),
		cmocka_unit_test(test_a_strangers_text_does_not_count),
		cmocka_unit_test(test_a_text_over_another_header_does_not_count),
		cmocka_unit_test(test_what_is_no_base64_is_no_signature),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
