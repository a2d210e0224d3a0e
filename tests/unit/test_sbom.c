#include "tests/support/test.h"

#include "formats/json.h"
#include "formats/sbom.h"

static struct sbom example(void)
{
	struct sbom s = { .name = "acme/app",
			  .tag = "1.0",
			  .platform = "linux/amd64",
			  .created = "1980-01-01T00:00:00Z",
			  .has_manifest = true };
	struct sbom_component *c;

	s.manifest = digest_of(slice_str("image"));
	c = vec_add(&s.components);
	*c = (struct sbom_component){ .kind = SBOM_WHEEL,
				      .name = "zeta",
				      .version = "1",
				      .arch = "",
				      .source = "",
				      .url = "http://127.0.0.1:8/zeta.whl",
				      .license = license_expression("odd", &s.arena, &s.refs) };
	vec_push(&c->libraries, ((struct sbom_library){ .path = "/b/libz.so.1" }));
	vec_push(&c->libraries, ((struct sbom_library){ .path = "/a/libz.so.1" }));
	c = vec_add(&s.components);
	*c = (struct sbom_component){ .kind = SBOM_DEB,
				      .name = "libc6",
				      .version = "2.36",
				      .arch = "amd64",
				      .source = "glibc",
				      .url = "https://mirror.example.org/libc6.deb" };
	vec_push(&s.components, s.components.items[1]);
	sbom_sort(&s);
	return s;
}

static void test_components_are_sorted_and_each_is_said_once(void **state)
{
	cleanup_sbom struct sbom s = example();

	(void)state;
	assert_int_equal(s.components.len, 2);
	assert_string_equal(s.components.items[0].name, "libc6");
	assert_string_equal(s.components.items[1].libraries.items[0].path, "/a/libz.so.1");
}

static void test_purls_are_encoded(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	const struct sbom_qualifier q[] = { { "arch", "amd64" },
					    { "distro", "" },
					    { "epoch", "1 2" } };

	(void)state;
	assert_string_equal(sbom_purl(&arena, "deb", "debian", "libstdc++6", "1:2~a", q, 3),
			    "pkg:deb/debian/libstdc%2B%2B6@1%3A2~a?arch=amd64&epoch=1%202");
	assert_string_equal(sbom_purl(&arena, "pypi", NULL, "torch", "", NULL, 0),
			    "pkg:pypi/torch");
}

static void test_libraries_are_told_by_their_names(void **state)
{
	(void)state;
	assert_true(sbom_is_library("/usr/lib/libc.so.6"));
	assert_true(sbom_is_library("libfoo-2.so"));
	assert_false(sbom_is_library("/x/_ext.cpython-311.so"));
	assert_false(sbom_is_library("/x/libfoo.so.txt"));
	assert_false(sbom_is_library("/x/libfoo.a"));
}

static void test_the_same_sbom_gives_the_same_bytes(void **state)
{
	cleanup_sbom struct sbom a = example(), b = example();
	cleanup_strbuf struct strbuf x = { 0 }, y = { 0 };

	(void)state;
	sbom_write_spdx(&a, &x);
	sbom_write_cyclonedx(&a, &x);
	sbom_write_spdx(&b, &y);
	sbom_write_cyclonedx(&b, &y);
	assert_string_equal(strbuf_text(&x), strbuf_text(&y));
}

static void test_identifiers_of_spdx_are_unique(void **state)
{
	cleanup_sbom struct sbom s = example();
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	sbom_write_spdx(&s, &text);
	assert_contains(strbuf_text(&text), "\"SPDXRef-library-libz.so.1\"");
	assert_contains(strbuf_text(&text), "\"SPDXRef-library-libz.so.1-2\"");
}

static void test_only_public_places_are_download_locations(void **state)
{
	cleanup_sbom struct sbom s = example();
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	sbom_write_spdx(&s, &text);
	assert_contains(strbuf_text(&text),
			"\"downloadLocation\":\"https://mirror.example.org/libc6.deb\"");
	assert_null(strstr(strbuf_text(&text), "127.0.0.1"));
}

static void test_references_to_licences_are_explained(void **state)
{
	cleanup_sbom struct sbom s = example();
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	sbom_write_spdx(&s, &text);
	assert_contains(strbuf_text(&text), "\"licenseId\":\"LicenseRef-odd\"");
}

static void test_serial_numbers_follow_the_image(void **state)
{
	cleanup_sbom struct sbom s = example();
	char a[37], b[37], c[37];

	(void)state;
	sbom_uuid(&s, "spdx", a);
	sbom_uuid(&s, "cyclonedx", b);
	s.manifest.bytes[0] ^= 1;
	sbom_uuid(&s, "spdx", c);
	assert_int_equal(strlen(a), 36);
	assert_int_equal(a[14], '8');
	assert_string_not_equal(a, b);
	assert_string_not_equal(a, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_components_are_sorted_and_each_is_said_once),
		cmocka_unit_test(test_purls_are_encoded),
		cmocka_unit_test(test_libraries_are_told_by_their_names),
		cmocka_unit_test(test_the_same_sbom_gives_the_same_bytes),
		cmocka_unit_test(test_identifiers_of_spdx_are_unique),
		cmocka_unit_test(test_only_public_places_are_download_locations),
		cmocka_unit_test(test_references_to_licences_are_explained),
		cmocka_unit_test(test_serial_numbers_follow_the_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
