#include "tests/support/test.h"

#include <sys/stat.h>

#include "base/fs.h"
#include "registry/registries_conf.h"

static void read_conf(struct registries_conf *c, const char *text)
{
	struct error err = { 0 };

	*c = (struct registries_conf){ 0 };
	if (registries_conf_add(c, slice_str(text), "r.conf", &err) < 0)
		fail_msg("%s", err.text);
}

/* The endpoints of a name as text: "m:HOST REPOSITORY!" for an insecure mirror. */
static char *endpoints(const struct registries_conf *c, const char *registry,
		       const char *repository, bool by_digest)
{
	cleanup_arena struct arena arena = { 0 };
	struct registry_endpoint *list;
	struct strbuf text = { 0 };
	struct error err = { 0 };
	size_t count;

	if (registries_conf_endpoints(c, registry, repository, by_digest, &arena, &list, &count,
				      &err) < 0) {
		strbuf_adds(&text, err.text);
		return strbuf_steal(&text);
	}
	for (size_t i = 0; i < count; i++)
		strbuf_addf(&text, "%s%s%s %s%s", i ? ", " : "", list[i].mirror ? "m:" : "",
			    list[i].registry, list[i].repository, list[i].insecure ? "!" : "");
	return strbuf_steal(&text);
}

static void check(const struct registries_conf *c, const char *registry, const char *repository,
		  const char *want)
{
	cleanup_free char *got = endpoints(c, registry, repository, false);

	assert_string_equal(got, want);
}

static void test_without_rules_a_name_is_its_own_place(void **state)
{
	struct registries_conf c;

	(void)state;
	read_conf(&c,
		  "unqualified-search-registries = [\"example.org\"]\n[aliases]\na = \"b/c\"\n");
	check(&c, "docker.io", "library/debian", "docker.io library/debian");
	registries_conf_release(&c);
}

static void test_the_longest_prefix_wins_at_borders_of_parts(void **state)
{
	struct registries_conf c;

	(void)state;
	read_conf(&c, "[[registry]]\nprefix=\"h.example\"\nlocation=\"a.example\"\n"
		      "[[registry]]\nprefix=\"h.example/team\"\nlocation=\"b.example/x\"\n"
		      "[[registry]]\nprefix=\"*.example\"\nlocation=\"c.example\"\n");
	check(&c, "h.example", "app", "a.example app");
	check(&c, "h.example", "team/app", "b.example x/app");
	check(&c, "h.example", "teams/app", "a.example teams/app");
	check(&c, "g.example", "app", "c.example app");
	check(&c, "d.g.example:5000", "app", "c.example:5000 app");
	check(&c, "example", "app", "example app");
	check(&c, "h.example:5000", "app", "a.example:5000 app");
	registries_conf_release(&c);
}

static void test_mirrors_come_first_in_their_order(void **state)
{
	struct registries_conf c;

	(void)state;
	read_conf(&c, "[[registry]]\nlocation=\"h.example\"\ninsecure=true\n"
		      "[[registry.mirror]]\nlocation=\"m1.example/\"\n"
		      "[[registry.mirror]]\nlocation=\"m2/p\"\ninsecure=true\n");
	check(&c, "h.example", "a/b", "m:m1.example a/b, m:m2 p/a/b!, h.example a/b!");
	registries_conf_release(&c);
}

static void test_mirrors_may_be_for_digests_or_tags_only(void **state)
{
	struct registries_conf c;
	cleanup_free char *digest = NULL;

	(void)state;
	read_conf(&c,
		  "[[registry]]\nlocation=\"h.example\"\n"
		  "[[registry.mirror]]\nlocation=\"d.example\"\npull-from-mirror=\"digest-only\"\n"
		  "[[registry.mirror]]\nlocation=\"t.example\"\npull-from-mirror=\"tag-only\"\n"
		  "[[registry.mirror]]\nlocation=\"a.example\"\npull-from-mirror=\"all\"\n");
	check(&c, "h.example", "a", "m:t.example a, m:a.example a, h.example a");
	digest = endpoints(&c, "h.example", "a", true);
	assert_string_equal(digest, "m:d.example a, m:a.example a, h.example a");
	registries_conf_release(&c);
	read_conf(&c, "[[registry]]\nlocation=\"h.example\"\nmirror-by-digest-only=true\n"
		      "[[registry.mirror]]\nlocation=\"d.example\"\n");
	check(&c, "h.example", "a", "h.example a");
	registries_conf_release(&c);
}

static void test_a_blocked_name_says_where_it_is_blocked(void **state)
{
	struct registries_conf c;

	(void)state;
	read_conf(&c, "[[registry]]\nlocation=\"h.example/x\"\nblocked=true\n");
	check(&c, "h.example", "x/a",
	      "h.example/x/a: is blocked by r.conf (prefix \"h.example/x\")");
	check(&c, "h.example", "y/a", "h.example y/a");
	registries_conf_release(&c);
}

static void test_a_later_file_replaces_what_it_names(void **state)
{
	struct registries_conf c;
	struct error err = { 0 };

	(void)state;
	read_conf(&c, "[[registry]]\nprefix=\"h.example\"\nlocation=\"a.example\"\n"
		      "[[registry.mirror]]\nlocation=\"m.example\"\n");
	assert_ok(registries_conf_add(
			  &c,
			  slice_str("[[registry]]\nprefix=\"h.example\"\nlocation=\"b.example\""),
			  "2.conf", &err),
		  err);
	check(&c, "h.example", "a", "b.example a");
	registries_conf_release(&c);
}

static void test_version_1_blocks_and_marks(void **state)
{
	struct registries_conf c;

	(void)state;
	read_conf(&c, "[registries.search]\nregistries=[\"s.example\"]\n"
		      "[registries.insecure]\nregistries=[\"i.example\"]\n"
		      "[registries.block]\nregistries=[\"b.example\", \"i.example/x\"]\n");
	check(&c, "i.example", "a", "i.example a!");
	check(&c, "b.example", "a", "b.example/a: is blocked by r.conf (prefix \"b.example\")");
	registries_conf_release(&c);
}

static void test_what_makes_no_sense_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "[[registry]]\ninsecure=true\n", "r.conf:1: a registry without prefix" },
		{ "[[registry]]\nlocation=\"https://h.example\"\n", "without a scheme" },
		{ "[[registry]]\nlocation=5\n", "text in quotes is wanted" },
		{ "[[registry]]\nlocation=\"h\"\nblocked=\"yes\"\n", "true or false is wanted" },
		{ "registry = 5\n", "a list is wanted" },
		{ "registry = [5]\n", "a table is wanted" },
		{ "[[registry]]\nprefix=\"a.*.example\"\nlocation=\"h\"\n", "\"*\" may only" },
		{ "[[registry]]\nprefix=\"*.example/x\"\nlocation=\"h\"\n", "\"*\" may only" },
		{ "[[registry]]\nlocation=\"h\"\n[[registry.mirror]]\n", "without its location" },
		{ "[[registry]]\nlocation=\"h\"\n[[registry.mirror]]\nlocation=\"m\"\n"
		  "pull-from-mirror=\"never\"\n",
		  "none of all, digest-only, tag-only" },
		{ "[[registry]]\nlocation=\"h\"\nmirror-by-digest-only=true\n"
		  "[[registry.mirror]]\nlocation=\"m\"\npull-from-mirror=\"all\"\n",
		  "exclude each other" },
		{ "[[registry]]\nlocation=\"h\"\n[registries.block]\nregistries=[]\n",
		  "different versions" },
		{ "broken = [\n", "r.conf:" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct registries_conf c = { 0 };
		struct error err = { 0 };

		assert_int_equal(registries_conf_add(&c, slice_str(cases[i].text), "r.conf", &err),
				 -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		if (!strstr(err.text, cases[i].want))
			fail_msg("\"%s\" without \"%s\"", err.text, cases[i].want);
		registries_conf_release(&c);
	}
}

static void test_a_place_that_gives_no_repository_is_said(void **state)
{
	struct registries_conf c;

	(void)state;
	read_conf(&c, "[[registry]]\nprefix=\"h.example/Team\"\nlocation=\"g.example/Team\"\n"
		      "[[registry]]\nprefix=\"h.example\"\nlocation=\"Up/Per\"\n");
	check(&c, "h.example", "a",
	      "r.conf: \"Up/Per\" for \"h.example\" gives \"Up/Per/a\", which is no repository");
	registries_conf_release(&c);
}

static void test_the_named_file_is_all_there_is(void **state)
{
	cleanup(test_dir_free_p) char *dir = test_dir();
	cleanup_free char *path = fs_join(dir, "named.conf");
	struct registries_conf c = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_write(AT_FDCWD, path,
			   slice_str("[[registry]]\nlocation=\"h.example\"\nblocked=true\n"), 0644,
			   &err),
		  err);
	setenv("CONTAINERS_REGISTRIES_CONF", path, 1);
	assert_ok(registries_conf_load(&c, &err), err);
	unsetenv("CONTAINERS_REGISTRIES_CONF");
	assert_int_equal(c.rules.len, 1);
	assert_string_equal(c.rules.items[0].file, path);
	registries_conf_release(&c);
}

static void test_the_users_file_takes_the_place_of_the_systems(void **state)
{
	cleanup(test_dir_free_p) char *dir = test_dir();
	cleanup_free char *folder = fs_join(dir, "containers/registries.conf.d");
	cleanup_free char *own = fs_join(dir, "containers/registries.conf");
	cleanup_free char *over = fs_join(folder, "10.conf");
	cleanup_free char *other = fs_join(folder, "20.txt");
	struct registries_conf c = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_mkdirs(AT_FDCWD, folder, &err), err);
	assert_ok(fs_write(AT_FDCWD, own, slice_str("[[registry]]\nlocation=\"h.example\"\n"), 0644,
			   &err),
		  err);
	assert_ok(
		fs_write(AT_FDCWD, over,
			 slice_str("[[registry]]\nprefix=\"h.example\"\nlocation=\"o.example\"\n"),
			 0644, &err),
		err);
	assert_ok(fs_write(AT_FDCWD, other, slice_str("not toml ["), 0644, &err), err);
	setenv("XDG_CONFIG_HOME", dir, 1);
	assert_ok(registries_conf_load(&c, &err), err);
	unsetenv("XDG_CONFIG_HOME");
	check(&c, "h.example", "a", "o.example a");
	assert_int_equal(c.rules.len, 1);
	registries_conf_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_rules_a_name_is_its_own_place),
		cmocka_unit_test(test_the_longest_prefix_wins_at_borders_of_parts),
		cmocka_unit_test(test_mirrors_come_first_in_their_order),
		cmocka_unit_test(test_mirrors_may_be_for_digests_or_tags_only),
		cmocka_unit_test(test_a_blocked_name_says_where_it_is_blocked),
		cmocka_unit_test(test_a_later_file_replaces_what_it_names),
		cmocka_unit_test(test_version_1_blocks_and_marks),
		cmocka_unit_test(test_what_makes_no_sense_is_refused_with_its_place),
		cmocka_unit_test(test_a_place_that_gives_no_repository_is_said),
		cmocka_unit_test(test_the_named_file_is_all_there_is),
		cmocka_unit_test(test_the_users_file_takes_the_place_of_the_systems),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
