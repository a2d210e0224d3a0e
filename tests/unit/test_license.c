#include "tests/support/test.h"

#include "formats/license.h"

static void test_names_become_identifiers_or_references(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "MIT", "MIT" },
		{ "mit", "MIT" },
		{ "Expat", "MIT" },
		{ "GPL-2", "GPL-2.0-only" },
		{ "GPL-2+", "GPL-2.0-or-later" },
		{ "GPLv3+", "GPL-3.0-or-later" },
		{ "LGPL-2.1+", "LGPL-2.1-or-later" },
		{ "GPL-2.0-or-later", "GPL-2.0-or-later" },
		{ "GFDL-NIV-1.3+", "GFDL-1.3-no-invariants-or-later" },
		{ "GPL-2.1", "LicenseRef-GPL-2.1" }, /* there is none */
		{ "GPL", "LicenseRef-GPL" },
		{ "ASL 2.0", "Apache-2.0" },
		{ "GPLv2+ and BSD", "GPL-2.0-or-later AND LicenseRef-BSD" },
		{ "MIT or Apache-2.0", "MIT OR Apache-2.0" },
		{ "(MIT OR ISC) AND Zlib", "(MIT OR ISC) AND Zlib" },
		{ "Apache-2.0 WITH LLVM-exception", "Apache-2.0 WITH LLVM-exception" },
		{ "GPL-3+ with strange exception", "LicenseRef-GPL-3-with-strange-exception" },
		{ "NVIDIA Proprietary Software", "LicenseRef-NVIDIA-Proprietary-Software" },
		{ "LicenseRef-NVIDIA-Proprietary", "LicenseRef-NVIDIA-Proprietary" },
		{ "Apache License, Version 2.0", "Apache-2.0" },
		{ "GPL-2, or MIT, and ISC", "LicenseRef-GPL-2-or-MIT-and-ISC" }, /* a comma */
		{ "(MIT", "LicenseRef-MIT" },
		{ "MIT and", "LicenseRef-MIT-and" },
		{ "???", "LicenseRef-other" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct license_refs refs = { 0 };
		const char *got = license_expression(cases[i].text, &arena, &refs);

		assert_non_null(got);
		assert_string_equal(got, cases[i].want);
		assert_true((refs.len > 0) == (strstr(got, "LicenseRef-") != NULL));
		vec_release(&refs);
	}
}

static void test_texts_that_say_nothing_are_no_licence(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct license_refs refs = { 0 };

	(void)state;
	assert_null(license_expression("", &arena, &refs));
	assert_null(license_expression("  \n", &arena, &refs));
	assert_null(license_expression("UNKNOWN", &arena, &refs));
	assert_int_equal(refs.len, 0);
}

static void test_a_reference_is_made_once(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct license_refs refs = { 0 };

	(void)state;
	license_expression("odd one", &arena, &refs);
	license_expression("MIT and odd one", &arena, &refs);
	assert_int_equal(refs.len, 1);
	assert_string_equal(refs.items[0].name, "odd one");
	vec_release(&refs);
}

static void test_deep_nesting_is_a_reference_as_a_whole(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct license_refs refs = { 0 };
	char text[200];
	const char *got;

	(void)state;
	memset(text, '(', 60);
	memcpy(text + 60, "MIT", 3);
	memset(text + 63, ')', 60);
	text[123] = '\0';
	got = license_expression(text, &arena, &refs);
	assert_string_equal(got, "LicenseRef-MIT");
	vec_release(&refs);
}

static const char *of_copyright(const char *text, struct arena *arena)
{
	struct license_refs refs = { 0 };
	const char *got = license_of_copyright(slice_str(text), arena, &refs);

	vec_release(&refs);
	return got;
}

static void test_a_copyright_file_gives_the_licences_of_its_files(void **state)
{
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	assert_string_equal(of_copyright("Format: https://example.org/copyright-format/1.0/\n\n"
					 "Files: *\nCopyright: A\nLicense: GPL-2+ or Artistic\n\n"
					 "Files: b\nCopyright: B\nLicense: Expat\n Text of it.\n\n"
					 "Files: c\nCopyright: B\nLicense: Expat and ISC\n\n"
					 "License: GPL-2+\n Text.\n",
					 &arena),
			    "(GPL-2.0-or-later OR Artistic-1.0-Perl) AND ISC AND MIT");
}

static void test_a_copyright_file_in_prose_says_nothing(void **state)
{
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	assert_null(of_copyright("This package was debianized by A.\n\nLicense: GPL\n", &arena));
	assert_null(of_copyright("", &arena));
	assert_null(of_copyright("Format: x\n\nFiles: *\nLicense: MIT\n", &arena));
}

static void test_metadata_names_the_licence_by_its_best_field(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "Name: a\nLicense: old\nLicense-Expression: MIT OR ISC\n\nbody", "MIT OR ISC" },
		{ "Name: a\nLicense: BSD 3-Clause\r\n", "BSD 3-Clause" },
		{ "License: Copyright\n all of the text\n"
		  "Classifier: License :: OSI Approved :: MIT License\n",
		  "MIT License" },
		{ "Classifier: License :: OSI Approved :: MIT License\n"
		  "Classifier: License :: Other/Proprietary License\n",
		  "MIT License AND Other/Proprietary License" },
		{ "Classifier: License :: OSI Approved\nName: a\n", NULL },
		{ "Name: a\n\nLicense: of the description\n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		const char *got = license_of_metadata(slice_str(cases[i].text), &arena);

		if (!cases[i].want) {
			assert_null(got);
			continue;
		}
		assert_non_null(got);
		assert_string_equal(got, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_become_identifiers_or_references),
		cmocka_unit_test(test_texts_that_say_nothing_are_no_licence),
		cmocka_unit_test(test_a_reference_is_made_once),
		cmocka_unit_test(test_deep_nesting_is_a_reference_as_a_whole),
		cmocka_unit_test(test_a_copyright_file_gives_the_licences_of_its_files),
		cmocka_unit_test(test_a_copyright_file_in_prose_says_nothing),
		cmocka_unit_test(test_metadata_names_the_licence_by_its_best_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
