#include "tests/support/test.h"

#include "builder/sources/apt_config.h"

static void put(const char *root, const char *path, const char *text)
{
	cleanup_free char *full = fs_join(root, path);
	cleanup_free char *dir = xstrdup(full);
	struct error err = { 0 };

	*strrchr(dir, '/') = 0;
	assert_ok(fs_mkdirs(AT_FDCWD, dir, &err), err);
	assert_ok(fs_write(AT_FDCWD, full, slice_str(text), 0644, &err), err);
}

static void test_one_line_sources_are_read_with_their_options(void **state)
{
	cleanup_apt_config struct apt_config c = { 0 };
	struct error err = { 0 };
	const struct apt_source *s;

	(void)state;
	assert_ok(apt_sources_list(
			  slice_str("# a comment\n\ndeb-src http://x.example.org y z\n"
				    "deb [ arch=amd64,arm64 signed-by=/k.gpg trusted=yes ] "
				    "http://a.example.org/debian bookworm main contrib # and why\n"
				    "deb https://b.example.org/repo ./\n"),
			  "l", &c, &err),
		  err);
	assert_int_equal(c.sources.len, 2);
	s = &c.sources.items[0];
	assert_string_equal(s->uri, "http://a.example.org/debian/");
	assert_string_equal(s->suite, "bookworm");
	assert_int_equal(s->component_count, 2);
	assert_string_equal(s->components[1], "contrib");
	assert_string_equal(s->signed_by, "/k.gpg");
	assert_true(s->trusted);
	assert_true(apt_source_has_arch(s, "arm64"));
	assert_false(apt_source_has_arch(s, "i386"));
	assert_string_equal(s->place, "l:4");
	assert_int_equal(c.sources.items[1].component_count, 0);
	assert_true(apt_source_has_arch(&c.sources.items[1], "i386"));
}

static void test_a_stanza_with_several_addresses_and_suites_is_many_sources(void **state)
{
	cleanup_apt_config struct apt_config c = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(apt_sources_deb822(
			  slice_str("Types: deb deb-src\nURIs: http://a.example.org/ "
				    "http://b.example.org\nSuites: s s-updates\n"
				    "Components: main\n  contrib\nSigned-By: /k.gpg\n"
				    "\nEnabled: no\nTypes: deb\nURIs: http://c.example.org\n"
				    "Suites: s\nComponents: main\n"
				    "\nTypes: deb-src\nURIs: http://c.example.org\nSuites: s\n"
				    "Components: main\n"),
			  "f", &c, &err),
		  err);
	assert_int_equal(c.sources.len, 4);
	assert_string_equal(c.sources.items[1].suite, "s-updates");
	assert_string_equal(c.sources.items[2].uri, "http://b.example.org/");
	assert_int_equal(c.sources.items[3].component_count, 2);
}

static void test_an_embedded_key_is_taken_as_text(void **state)
{
	cleanup_apt_config struct apt_config c = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(apt_sources_deb822(
			  slice_str("Types: deb\nURIs: http://a.example.org/\nSuites: ./\n"
				    "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQ==\n"
				    " -----END PGP PUBLIC KEY BLOCK-----\nCheck-Valid-Until: no\n"),
			  "f", &c, &err),
		  err);
	assert_null(c.sources.items[0].signed_by);
	assert_string_equal(c.sources.items[0].key_text,
			    "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ==\n"
			    "-----END PGP PUBLIC KEY BLOCK-----\n");
	assert_true(c.sources.items[0].ignore_validity);
}

static void test_what_cannot_be_understood_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
		{ "rpm http://x.example.org y z\n", "l:1: neither" },
		{ "\ndeb http://x.example.org\n", "l:2: not \"deb" },
		{ "deb [arch=amd64 http://x.example.org s main\n", "l:1: not \"deb" },
		{ "deb http://x.example.org s\n", "components are missing" },
		{ "deb http://x.example.org ./ main\n", "takes no components" },
		{ "deb nonsense s main\n", "not an address" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_apt_config struct apt_config c = { 0 };
		struct error err = { 0 };

		assert_int_equal(apt_sources_list(slice_str(cases[i].text), "l", &c, &err), -1);
		assert_int_equal(err.code, ERROR_USAGE);
		assert_contains(err.text, cases[i].part);
	}
}

static void test_a_nul_byte_is_refused_in_every_file(void **state)
{
	static const char list[] = "\ndeb http://x.example.org/\0/ s main\n",
			  conf[] = "Acquire::http::Proxy \"http://p\0/\";";
	cleanup_apt_config struct apt_config c = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(apt_sources_list(slice_of(list, sizeof(list) - 1), "l", &c, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "l:2: holds a NUL byte");
	assert_int_equal(apt_conf(slice_of(conf, sizeof(conf) - 1), "c", &c, &err), -1);
	assert_contains(err.text, "c:1: holds a NUL byte");
	assert_int_equal(c.sources.len, 0);
	assert_int_equal(c.proxies.len, 0);
}

static void test_apt_conf_is_read_in_both_its_forms(void **state)
{
	cleanup_apt_config struct apt_config c = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(apt_conf(slice_str("// no\n# no\n/* Acquire::http::Proxy \"no\"; */\n"
				     "Acquire { http { Proxy \"http://p.example.org:3128/\"; };\n"
				     "  https::Proxy \"DIRECT\"; };\n"
				     "acquire::check-valid-until \"false\"; DPkg::Post-Invoke { "
				     "\"x; {\"; };\n"
				     "APT::Default-Release \"bookworm\";"),
			   "c", &c, &err),
		  err);
	assert_string_equal(apt_config_proxy(&c, "http://x.example.org/"),
			    "http://p.example.org:3128/");
	assert_string_equal(apt_config_proxy(&c, "https://x.example.org/"), "");
	assert_string_equal(c.default_release, "bookworm");
	assert_true(c.ignore_validity);
	assert_int_equal(apt_conf(slice_str("a { }; }"), "c", &c, &err), -1);
	assert_contains(err.text, "c:1: \"}\" without");
}

static void test_each_host_has_its_proxy(void **state)
{
	static const char *const cases[][2] = {
		{ "http://deb.example.org/x", "http://p:3128" },
		{ "http://in.example.org:80/x", "" },
		{ "http://user:secret@IN.example.org/x", "" },
		{ "http://own.example.org/", "http://q:1" },
		{ "https://deb.example.org/", "http://tls:2" },
		{ "https://own.example.org/", "http://q:1" }, /* what is said for http counts */
		{ "https://off.example.org/", "" },
	};
	cleanup_apt_config struct apt_config c = { 0 }, none = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(
		apt_conf(slice_str("Acquire::http::Proxy \"http://old:1\";\n"
				   "Acquire::http { Proxy \"http://p:3128\"; Proxy::in.example.org "
				   "\"DIRECT\"; Proxy::own.example.org \"http://q:1\"; };\n"
				   "Acquire::https::Proxy \"http://tls:2\";\n"
				   "Acquire::https::Proxy::off.example.org \"false\";\n"
				   "Acquire::http::Proxy-Auto-Detect \"/bin/x\";\n"),
			 "c", &c, &err),
		err);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(apt_config_proxy(&c, cases[i][0]), cases[i][1]);
	assert_null(apt_config_proxy(&none, "http://deb.example.org/"));
}

static void test_preferences_become_pins(void **state)
{
	cleanup_apt_config struct apt_config c = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(
		apt_preferences(slice_str("Explanation: why\nPackage: a b*\nPin: release n=x,o=Y\n"
					  "Pin-Priority: 600\n\nPackage: *\nPin: origin \"h\"\n"
					  "Pin-Priority: -1\n\nPackage: c\nPin: version 5.*\n"
					  "Pin-Priority: 1001\n"),
				"p", &c, &err),
		err);
	assert_int_equal(c.pins.len, 3);
	assert_int_equal(c.pins.items[0].priority, 600);
	assert_true(slice_is(c.pins.items[0].packages, "a b*"));
	assert_true(slice_is(c.pins.items[0].value, "n=x,o=Y"));
	assert_int_equal(c.pins.items[1].priority, -1);
	assert_int_equal(c.pins.items[2].kind, DEB_PIN_VERSION);
}

static void test_forms_of_pins_that_are_not_known_are_errors(void **state)
{
	static const char *const bad[] = {
		"Package: /re/\nPin: version 1\nPin-Priority: 1\n",
		"Package: a\nPin: banana x\nPin-Priority: 1\n",
		"Package: a\nPin: version 1\nPin-Priority: high\n",
		"Package: a\nPin: version 1\n",
		"Pin: version 1\nPin-Priority: 1\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_apt_config struct apt_config c = { 0 };
		struct error err = { 0 };

		assert_int_equal(apt_preferences(slice_str(bad[i]), "p", &c, &err), -1);
		assert_int_equal(err.code, ERROR_USAGE);
	}
}

static void test_credentials_go_to_their_host_alone(void **state)
{
	cleanup_apt_config struct apt_config c = { 0 };
	static const struct {
		const char *url, *want;
	} cases[] = {
		{ "https://a.example.org/debian/", "Basic bWU6c2VjcmV0" },
		{ "http://a.example.org/debian/", NULL },
		{ "https://a.example.org.evil.example.org/", NULL },
		{ "https://evil.example.org/a.example.org", NULL },
		{ "http://b.example.org/x/", "Basic dTpw" },
	};

	(void)state;
	apt_auth_conf(slice_str("# x\nmachine a.example.org login me password secret\n"
				"machine http://b.example.org/x\nlogin u\npassword p\n"),
		      &c);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *got = apt_config_authorization(&c, cases[i].url);

		if (cases[i].want)
			assert_string_equal(got, cases[i].want);
		else
			assert_null(got);
	}
}

static void test_a_whole_tree_is_read_in_apts_order(void **state)
{
	cleanup_test_dir char *root = test_dir();
	cleanup_apt_config struct apt_config c = { 0 };
	struct error err = { 0 };

	(void)state;
	put(root, "etc/apt/sources.list.d/b.list", "deb http://b.example.org s main\n");
	put(root, "etc/apt/sources.list.d/a.sources",
	    "Types: deb\nURIs: http://a.example.org\nSuites: s\nComponents: main\n");
	put(root, "etc/apt/sources.list.d/c.list.disabled", "nonsense\n");
	put(root, "etc/apt/sources.list", "deb http://first.example.org s main\n");
	put(root, "etc/apt/preferences.d/x", "Package: *\nPin: version 1\nPin-Priority: 1\n");
	put(root, "etc/apt/preferences.d/x.bak", "nonsense\n");
	put(root, "etc/apt/trusted.gpg.d/k.gpg", "");
	put(root, "etc/apt/trusted.gpg.d/k.asc", "");
	put(root, "etc/apt/trusted.gpg.d/README", "");
	assert_ok(apt_config_read(root, NULL, &c, &err), err);
	assert_int_equal(c.sources.len, 3);
	assert_string_equal(c.sources.items[0].uri, "http://first.example.org/");
	assert_string_equal(c.sources.items[1].uri, "http://a.example.org/");
	assert_string_equal(c.sources.items[2].uri, "http://b.example.org/");
	assert_int_equal(c.pins.len, 1);
	assert_int_equal(c.keyrings.len, 2);
}

static void test_the_file_of_apt_config_moves_what_it_names(void **state)
{
	cleanup_test_dir char *root = test_dir();
	cleanup_apt_config struct apt_config c = { 0 };
	struct error err = { 0 };

	(void)state;
	put(root, "etc/apt/sources.list", "deb http://usual.example.org s main\n");
	put(root, "etc/apt/sources.list.d/a.list", "deb http://part.example.org s main\n");
	put(root, "etc/apt/apt.conf.d/x", "APT::Default-Release \"usual\";\n");
	put(root, "etc/apt/preferences", "Package: *\nPin: version 1\nPin-Priority: 1\n");
	put(root, "etc/apt/trusted.gpg.d/k.gpg", "");
	put(root, "own/my.list", "deb http://own.example.org s main\n");
	put(root, "own/etc/keys/k.asc", "");
	put(root, "conf",
	    "Dir::Etc::SourceList \"/own/my.list\"; Dir::Etc::sourceparts \"/dev/null\";\n"
	    "APT::Default-Release \"own\"; Acquire::Check-Valid-Until \"false\";\n");
	assert_ok(apt_config_read(root, "/conf", &c, &err), err);
	assert_int_equal(c.sources.len, 1);
	assert_string_equal(c.sources.items[0].uri, "http://own.example.org/");
	assert_string_equal(c.sources.items[0].place, "/own/my.list:1");
	assert_string_equal(c.default_release, "usual"); /* the machine's own come after it */
	assert_true(c.ignore_validity);
	assert_int_equal(c.pins.len, 1);
	assert_int_equal(c.keyrings.len, 1);
}

static void test_a_part_is_found_below_the_folders_around_it(void **state)
{
	cleanup_test_dir char *root = test_dir();
	cleanup_apt_config struct apt_config c = { 0 };
	struct error err = { 0 };

	(void)state;
	put(root, "etc/apt/sources.list", "deb http://usual.example.org s main\n");
	put(root, "own/apt/sources.list", "deb http://own.example.org s main\n");
	put(root, "own/apt/list.d/a.list", "deb http://part.example.org s main\n");
	put(root, "own/apt/trusted.gpg.d/k.gpg", "");
	put(root, "conf",
	    "Dir \"/own\"; Dir { Etc \"apt/\"; Etc::sourceparts \"list.d\"; };\n"
	    "Dir::Etc::trustedparts \"\";\n");
	assert_ok(apt_config_read(root, "/conf", &c, &err), err);
	assert_int_equal(c.sources.len, 2);
	assert_string_equal(c.sources.items[0].place, "/own/apt/sources.list:1");
	assert_string_equal(c.sources.items[1].uri, "http://part.example.org/");
	assert_int_equal(c.keyrings.len, 0);
}

static void test_a_file_of_apt_config_that_is_not_there_is_named(void **state)
{
	cleanup_test_dir char *root = test_dir();
	cleanup_apt_config struct apt_config c = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(apt_config_read(root, "/none", &c, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "APT_CONFIG names /none");
}

static void test_a_machine_without_apt_has_an_empty_configuration(void **state)
{
	cleanup_test_dir char *root = test_dir();
	cleanup_apt_config struct apt_config c = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(apt_config_read(root, NULL, &c, &err), err);
	assert_int_equal(c.sources.len + c.pins.len + c.keyrings.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_line_sources_are_read_with_their_options),
		cmocka_unit_test(test_a_stanza_with_several_addresses_and_suites_is_many_sources),
		cmocka_unit_test(test_an_embedded_key_is_taken_as_text),
		cmocka_unit_test(test_what_cannot_be_understood_is_refused_with_its_place),
		cmocka_unit_test(test_a_nul_byte_is_refused_in_every_file),
		cmocka_unit_test(test_apt_conf_is_read_in_both_its_forms),
		cmocka_unit_test(test_each_host_has_its_proxy),
		cmocka_unit_test(test_preferences_become_pins),
		cmocka_unit_test(test_forms_of_pins_that_are_not_known_are_errors),
		cmocka_unit_test(test_credentials_go_to_their_host_alone),
		cmocka_unit_test(test_a_whole_tree_is_read_in_apts_order),
		cmocka_unit_test(test_the_file_of_apt_config_moves_what_it_names),
		cmocka_unit_test(test_a_part_is_found_below_the_folders_around_it),
		cmocka_unit_test(test_a_file_of_apt_config_that_is_not_there_is_named),
		cmocka_unit_test(test_a_machine_without_apt_has_an_empty_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
