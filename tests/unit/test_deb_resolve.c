#include "tests/support/test.h"

#include "builder/sources/deb_resolve.h"

#define FILE_FIELDS                    \
	"Filename: ./x.deb\nSize: 1\n" \
	"SHA256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"

/* An index in short form: "name version;Field: value;Field: value", one package per text. */
static void add_index(struct deb_universe *u, struct strbuf *text, const char *const *packages,
		      const struct deb_index *index, const char *foreign)
{
	struct error err = { 0 };

	for (; *packages; packages++) {
		struct slice rest = slice_str(*packages), head, name, field;
		bool arch = strstr(*packages, ";Architecture:") != NULL;

		assert_true(slice_cut(&rest, ';', &head));
		assert_true(slice_cut(&head, ' ', &name));
		strbuf_adds(text, "Package: ");
		strbuf_add(text, name.data, name.len);
		strbuf_adds(text, "\nVersion: ");
		strbuf_add(text, head.data, head.len);
		strbuf_addc(text, '\n');
		strbuf_adds(text, arch ? "" : "Architecture: amd64\n");
		while (slice_cut(&rest, ';', &field))
			strbuf_addf(text, "%.*s\n", (int)field.len, (const char *)field.data);
		strbuf_adds(text,
			    index->installed ? "Status: install ok installed\n" : FILE_FIELDS);
		strbuf_addc(text, '\n');
	}
	assert_ok(deb_universe_add(u, index, strbuf_slice(text), foreign, &err), err);
}

static const struct deb_index plain = { .id = "os", .label_text = "index" };

/* The set for roots separated by blanks, as "name version name version" in order. */
static int resolve(struct deb_universe *u, const char *roots, struct strbuf *out,
		   struct strbuf *why, struct error *err)
{
	cleanup_deb_answer struct deb_answer answer = { 0 };
	VEC(struct deb_root) list = { 0 };
	struct slice rest = slice_str(roots), word;
	int rc;

	while (slice_cut(&rest, ' ', &word)) {
		struct deb_root root = { .requested = true };
		struct deb_spec spec;

		assert_true(deb_spec_parse(word, &spec));
		root.package = deb_find(u, &spec, NULL);
		assert_int_not_equal(root.package, DEB_NONE);
		deb_universe_force(u, root.package);
		vec_push(&list, root);
	}
	rc = deb_resolve(u, list.items, list.len, &answer, why, err);
	vec_release(&list);
	for (size_t i = 0; rc == 0 && i < answer.choices.len; i++) {
		const struct deb_package *p = &u->packages.items[answer.choices.items[i].package];

		strbuf_addf(out, "%s%.*s%s", i ? " " : "", (int)p->name.len,
			    (const char *)p->name.data,
			    answer.choices.items[i].requested ? "*" : "");
	}
	if (rc == 0 && answer.searched)
		strbuf_adds(out, " searched");
	return rc;
}

static void expect(const char *const *packages, const char *roots, const char *want)
{
	cleanup_universe struct deb_universe u = { .arch = "amd64" };
	cleanup_strbuf struct strbuf text = { 0 }, got = { 0 };
	struct error err = { 0 };

	add_index(&u, &text, packages, &plain, NULL);
	assert_ok(resolve(&u, roots, &got, NULL, &err), err);
	assert_string_equal(strbuf_text(&got), want);
}

#define SET(...)                  \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

/* The error's text must hold each part. */
static void expect_refusal(const char *const *packages, const char *roots, const char *part)
{
	cleanup_universe struct deb_universe u = { .arch = "amd64" };
	cleanup_strbuf struct strbuf text = { 0 }, got = { 0 };
	struct error err = { 0 };

	add_index(&u, &text, packages, &plain, NULL);
	assert_int_equal(resolve(&u, roots, &got, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_VERDICT);
	assert_contains(err.text, part);
}

static void test_dependencies_come_before_what_needs_them(void **state)
{
	(void)state;
	expect(SET("app 1;Depends: b, c", "b 1;Depends: c", "c 1;Pre-Depends: d", "d 1"), "app",
	       "d c b app*");
}

static void test_a_cycle_is_no_obstacle(void **state)
{
	(void)state;
	expect(SET("a 1;Depends: b", "b 1;Depends: a"), "a", "b a*");
}

static void test_recommends_are_left_out(void **state)
{
	(void)state;
	expect(SET("a 1;Recommends: b;Suggests: c", "b 1", "c 1"), "a", "a*");
}

static void test_the_first_alternative_is_taken(void **state)
{
	(void)state;
	expect(SET("a 1;Depends: x | y", "x 1", "y 1"), "a", "x a*");
}

static void test_an_alternative_that_is_chosen_already_counts(void **state)
{
	(void)state;
	expect(SET("a 1;Depends: x | y", "x 1", "y 1"), "a y", "y* a*");
}

static void test_depth_comes_before_breadth(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: a, b", "a 1;Depends: x | y", "b 1;Depends: y", "x 1", "y 1"), "r",
	       "x a y b r*");
}

static void test_pre_depends_come_first(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: x | y;Pre-Depends: y", "x 1", "y 1"), "r", "y r*");
}

static void test_a_real_package_goes_before_providers(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: v", "p 1;Provides: v;Priority: required", "v 1;Priority: extra"),
	       "r", "v r*");
}

static void test_a_provider_of_the_first_goes_before_the_second_alternative(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: v | w", "w 1", "p 1;Provides: v"), "r", "p r*");
}

static void test_a_provider_of_higher_priority_is_preferred(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: v", "p 1;Provides: v;Priority: standard",
		   "q 1;Provides: v;Priority: optional"),
	       "r", "p r*");
}

static void test_an_essential_provider_is_preferred_to_a_required_one(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: v", "p 1;Provides: v;Priority: optional;Essential: yes",
		   "q 1;Provides: v;Priority: required"),
	       "r", "p r*");
}

static void test_of_equal_providers_the_name_mentioned_last_is_taken(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: v", "p 1;Provides: v", "q 1;Provides: v"), "r", "q r*");
	expect(SET("x 1;Suggests: q", "p 1;Provides: v", "q 1;Provides: v", "r 1;Depends: v"), "r",
	       "p r*");
}

static void test_a_versioned_relation_needs_a_versioned_provide(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: v (>= 2)", "q 1;Provides: v", "p 1;Provides: v (= 1)",
		   "o 1;Provides: v (= 2)"),
	       "r", "o r*");
	expect_refusal(
		SET("r 1;Depends: v (>= 2)", "q 1;Provides: v"), "r",
		"v (>= 2) wanted by r wanted by the manifest cannot be had: no source has v");
}

static void test_only_the_candidate_is_considered(void **state)
{
	(void)state;
	expect_refusal(SET("r 1;Depends: x (<< 2)", "x 1", "x 2"), "r", "x 2 is not << 2");
}

static void test_a_requested_version_becomes_the_candidate(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: x (<< 2)", "x 1", "x 2"), "x=1 r", "x* r*");
}

static void test_what_cannot_be_completed_makes_way_for_the_next(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: a | b", "a 1;Depends: m | n", "m 1;Depends: gone", "b 1",
		   "n 1;Depends: gone"),
	       "r", "b r*");
}

static void test_an_alternative_that_conflicts_with_the_chosen_is_skipped(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: c, a | b", "a 1", "b 1", "c 1;Conflicts: a"), "r", "c b r*");
	expect(SET("r 1;Depends: c, a | b", "a 1;Conflicts: c", "b 1", "c 1"), "r", "c b r*");
	expect(SET("r 1;Depends: c, a | b", "a 1", "b 1", "c 1;Breaks: a (<< 2)"), "r", "c b r*");
	expect(SET("r 1;Depends: c, a | b", "a 2", "b 1", "c 1;Breaks: a (<< 2)"), "r", "c a r*");
}

static void test_an_unversioned_conflict_hits_providers(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: c, a | b", "a 1;Provides: v", "b 1", "c 1;Conflicts: v"), "r",
	       "c b r*");
	expect(SET("r 1;Depends: a, c | b", "a 1;Provides: v", "b 1", "c 1;Conflicts: v"), "r",
	       "a b r*");
}

static void test_a_versioned_conflict_spares_unversioned_providers(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: c, a | b", "a 1;Provides: v", "b 1", "c 1;Conflicts: v (<< 9)"),
	       "r", "c a r*");
	expect(SET("r 1;Depends: c, a | b", "a 1;Provides: v (= 1)", "b 1",
		   "c 1;Conflicts: v (<< 9)"),
	       "r", "c b r*");
}

static void test_a_package_never_conflicts_with_itself(void **state)
{
	(void)state;
	expect(SET("a 1;Provides: v;Conflicts: v"), "a", "a*");
}

static void test_replaces_alone_removes_nothing(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: a, b", "a 1;Replaces: b", "b 1"), "r", "a b r*");
}

static void test_the_search_mends_an_early_choice(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: a | b, c | d", "a 1", "b 1", "c 1;Conflicts: a",
		   "d 1;Conflicts: a"),
	       "r", "b c r* searched");
}

static void test_the_search_goes_back_over_several_choices(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: a | b, x | y, c | d", "a 1", "b 1", "x 1", "y 1",
		   "c 1;Conflicts: a, y", "d 1;Conflicts: a"),
	       "r", "b x c r* searched");
}

static void test_what_is_required_rules_out_an_alternative_met_before_it(void **state)
{
	(void)state;
	expect(SET("r 1;Depends: a | b, c", "a 1", "b 1", "c 1;Conflicts: a"), "r", "b c r*");
}

static void test_so_does_what_is_required_further_down(void **state)
{
	(void)state;
	expect(SET("writer 1;Depends: base, core", "base 1;Depends: nogui | core",
		   "core 1;Depends: common", "common 1;Breaks: nogui", "nogui 1"),
	       "writer", "common core base writer*");
}

static void test_the_refusal_tells_the_whole_chain(void **state)
{
	(void)state;
	expect_refusal(SET("app 1;Depends: lib", "lib 1;Depends: core (>= 3)", "core 2"), "app",
		       "core (>= 3) wanted by lib wanted by app wanted by the manifest cannot be "
		       "had: core 2 is not >= 3");
	expect_refusal(SET("app 1;Depends: x | y", "x 1;Conflicts: app", "y 1;Depends: gone"),
		       "app", "gone wanted by y wanted by app wanted by the manifest");
	expect_refusal(SET("a 1;Conflicts: b", "b 1"), "a b",
		       "b 1 wanted by the manifest is not wanted by a 1");
}

static void test_the_story_names_every_alternative(void **state)
{
	cleanup_universe struct deb_universe u = { .arch = "amd64" };
	cleanup_strbuf struct strbuf text = { 0 }, got = { 0 }, why = { 0 };
	struct error err = { 0 };

	(void)state;
	add_index(&u, &text,
		  SET("app 1;Depends: x | y | z", "x 1;Conflicts: app", "y 1;Depends: gone"),
		  &plain, NULL);
	assert_int_equal(resolve(&u, "app", &got, &why, &err), -1);
	assert_string_equal(strbuf_text(&why), "app 1 needs x | y | z\n"
					       "  no source has z\n"
					       "  x 1 conflicts with app 1\n"
					       "  y 1 needs gone\n"
					       "    no source has gone\n");
}

static void test_a_driver_package_that_is_asked_for_is_refused(void **state)
{
	(void)state;
	expect_refusal(SET("cuda-drivers 580"), "cuda-drivers",
		       "cuda-drivers 580 wanted by the manifest belongs to the driver, which the "
		       "host brings");
	expect_refusal(SET("cuda-12-6 1"), "cuda-12-6", "belongs to the driver");
	expect_refusal(SET("tool 1;Depends: libcuda1", "libcuda1 1"), "tool libcuda1",
		       "libcuda1 1 wanted by the manifest belongs to the driver");
}

static void test_a_driver_package_that_is_needed_is_taken_without_its_needs(void **state)
{
	(void)state;
	expect(SET("tool 1;Depends: libcuda1 (>= 2)",
		   "libcuda1 2;Pre-Depends: dkms;Depends: firmware, gone;Recommends: x11", "dkms 1",
		   "firmware 1", "x11 1"),
	       "tool", "libcuda1 tool*");
	expect(SET("tool 1;Pre-Depends: libcuda.so.1",
		   "libcuda1 2;Provides: libcuda.so.1;Depends: gone"),
	       "tool", "libcuda1 tool*");
	expect_refusal(SET("tool 1;Depends: libcuda1 (>= 3)", "libcuda1 2"), "tool",
		       "libcuda1 2 is not >= 3");
	expect(SET("tool 1;Recommends: libcuda1", "libcuda1 2"), "tool", "tool*");
	/* the toolkit hangs of it: not the driver itself */
	expect(SET("tool 1;Depends: cuda-runtime-12-6",
		   "cuda-runtime-12-6 1;Depends: cuda-libraries-12-6, cuda-drivers (>= 560)",
		   "cuda-libraries-12-6 1", "cuda-drivers 560;Depends: nvidia-driver"),
	       "tool", "cuda-libraries-12-6 cuda-drivers cuda-runtime-12-6 tool*");
}

static void test_of_alternatives_the_driver_is_the_last(void **state)
{
	(void)state;
	expect(SET("tool 1;Depends: libcuda1 | cuda-compat", "libcuda1 1", "cuda-compat 1"), "tool",
	       "cuda-compat tool*");
	expect(SET("tool 1;Depends: libcuda1 | cuda-compat", "libcuda1 1",
		   "cuda-compat 1;Depends: gone"),
	       "tool", "libcuda1 tool*");
	expect(SET("tool 1;Depends: libnvidia-compute-535 | libnvidia-compute-550 | gone",
		   "libnvidia-compute-550 1", "libnvidia-compute-535 1"),
	       "tool", "libnvidia-compute-535 tool*");
	/* as Debian's gds-tools: the driver of another branch is the driver as well */
	expect(SET("tool 1;Depends: libcuda1 (>= 5) | libnvidia-tesla-cuda1 (>= 5) | libcuda.so.1",
		   "libcuda1 5;Provides: libcuda.so.1",
		   "libnvidia-tesla-cuda1 5;Depends: nvidia-support;Provides: libcuda.so.1",
		   "nvidia-support 1"),
	       "tool", "libcuda1 tool*");
	/* what finds no set at first is searched for, with the same rule */
	expect(SET("tool 1;Depends: a | b, c", "a 1", "b 1;Depends: libcuda1",
		   "libcuda1 1;Depends: gone", "c 1;Depends: d | e", "d 1;Breaks: tool",
		   "e 1;Conflicts: a"),
	       "tool", "libcuda1 b e c tool* searched");
}

static void test_a_driver_package_of_the_base_is_left_as_it_is(void **state)
{
	cleanup_universe struct deb_universe u = { .arch = "amd64" };
	cleanup_strbuf struct strbuf base = { 0 }, text = { 0 }, got = { 0 };
	const struct deb_index installed = { .id = "base",
					     .label_text = "status",
					     .installed = true };
	struct error err = { 0 };

	(void)state;
	strbuf_adds(&base, "Package: libcuda1\nVersion: 2\nArchitecture: amd64\n"
			   "Status: hold ok installed\n\n");
	assert_ok(deb_universe_add(&u, &installed, strbuf_slice(&base), NULL, &err), err);
	add_index(&u, &text, SET("tool 1;Depends: libcuda1", "libcuda1 3"), &plain, NULL);
	assert_ok(resolve(&u, "tool", &got, NULL, &err), err);
	assert_string_equal(strbuf_text(&got), "tool*");
}

static void test_architectures_count_as_multi_arch_says(void **state)
{
	cleanup_universe struct deb_universe u = { .arch = "amd64" };
	cleanup_strbuf struct strbuf text = { 0 }, got = { 0 };
	struct error err = { 0 };

	(void)state;
	add_index(&u, &text,
		  SET("r 1;Depends: tool, py:any, lib:i386",
		      "tool 1;Architecture: i386;Multi-Arch: foreign",
		      "tool 1;Architecture: amd64;Depends: all", "py 1;Multi-Arch: allowed",
		      "lib 1;Multi-Arch: same", "lib 1;Architecture: i386;Multi-Arch: same",
		      "all 1;Architecture: all;Depends: lib"),
		  &plain, "amd64 all i386");
	assert_ok(resolve(&u, "r", &got, NULL, &err), err);
	assert_string_equal(strbuf_text(&got), "lib all tool py lib r*");
}

static void test_any_needs_a_package_that_allows_it(void **state)
{
	(void)state;
	expect_refusal(SET("r 1;Depends: py:any", "py 1"), "r", "py 1 is of an architecture");
}

static void test_two_architectures_of_one_package_need_multi_arch_same(void **state)
{
	cleanup_universe struct deb_universe u = { .arch = "amd64" };
	cleanup_strbuf struct strbuf text = { 0 }, got = { 0 };
	struct error err = { 0 };

	(void)state;
	add_index(&u, &text, SET("r 1;Depends: lib, lib:i386", "lib 1", "lib 1;Architecture: i386"),
		  &plain, "amd64 all i386");
	assert_int_equal(resolve(&u, "r", &got, NULL, &err), -1);
	assert_contains(err.text, "lib 1 cannot be together with lib 1");
}

static void test_what_is_installed_is_not_taken_again(void **state)
{
	static const struct deb_index base = { .id = "base",
					       .label_text = "status",
					       .installed = true };
	cleanup_universe struct deb_universe u = { .arch = "amd64" };
	cleanup_strbuf struct strbuf status = { 0 }, text = { 0 }, got = { 0 };
	struct error err = { 0 };

	(void)state;
	add_index(&u, &status, SET("libc 2;Depends: gone", "old 1"), &base, NULL);
	add_index(&u, &text, SET("r 1;Depends: libc, old (>= 2)", "libc 3", "old 2"), &plain, NULL);
	assert_ok(resolve(&u, "r", &got, NULL, &err), err);
	assert_string_equal(strbuf_text(&got), "old r*");
}

static void test_a_conflict_with_what_is_installed_is_an_error(void **state)
{
	static const struct deb_index base = { .id = "base",
					       .label_text = "status",
					       .installed = true };
	cleanup_universe struct deb_universe u = { .arch = "amd64" };
	cleanup_strbuf struct strbuf status = { 0 }, text = { 0 }, got = { 0 };
	struct error err = { 0 };

	(void)state;
	add_index(&u, &status, SET("old 1"), &base, NULL);
	add_index(&u, &text, SET("r 1;Conflicts: old"), &plain, NULL);
	assert_int_equal(resolve(&u, "r", &got, NULL, &err), -1);
	assert_contains(err.text, "r 1 wanted by the manifest conflicts with old 1");
}

static const char *candidate(struct deb_universe *u, const char *name)
{
	uint32_t at = deb_candidate(u, slice_str(name), slice_str("amd64"));
	static const char *const known[] = { "1", "2", "3" };

	for (size_t i = 0; at != DEB_NONE && i < ARRAY_LEN(known); i++) {
		if (slice_is(u->packages.items[at].version, known[i]))
			return known[i];
	}
	return "none";
}

static void test_priorities_decide_before_versions(void **state)
{
	static const struct deb_index stable = { .id = "os",
						 .label_text = "s",
						 .suite = "stable",
						 .codename = "bookworm",
						 .host = "a.example.org" };
	static const struct deb_index backports = { .id = "os",
						    .label_text = "b",
						    .suite = "stable-backports",
						    .not_automatic = true,
						    .but_automatic_upgrades = true,
						    .host = "b.example.org",
						    .origin = "B" };
	static const struct {
		struct deb_pin pin;
		const char *want;
	} cases[] = {
		{ { .packages = { 0 } }, "1" },
		{ { .kind = DEB_PIN_RELEASE, .priority = 600 }, "2" },
		{ { .kind = DEB_PIN_ORIGIN, .priority = 600 }, "2" },
		{ { .kind = DEB_PIN_VERSION, .priority = 600 }, "2" },
	};
	static const char *const values[] = { "", "a=stable-backports,o=B", "b.example.org", "2*" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct deb_pin pin = cases[i].pin;
		cleanup_universe struct deb_universe u = { .arch = "amd64",
							   .pins = &pin,
							   .pin_count = i > 0 };
		cleanup_strbuf struct strbuf a = { 0 }, b = { 0 };

		pin.packages = slice_str("zlib x*");
		pin.value = slice_str(values[i]);
		add_index(&u, &a, SET("xz 1"), &stable, NULL);
		add_index(&u, &b, SET("xz 2"), &backports, NULL);
		assert_string_equal(candidate(&u, "xz"), cases[i].want);
	}
}

static void test_a_negative_pin_forbids_and_a_specific_one_beats_the_general(void **state)
{
	struct deb_pin pins[] = {
		{ .packages = slice_str("*"),
		  .kind = DEB_PIN_VERSION,
		  .value = slice_str("*"),
		  .priority = -1 },
		{ .packages = slice_str("a"),
		  .kind = DEB_PIN_VERSION,
		  .value = slice_str("*"),
		  .priority = 5 },
	};
	cleanup_universe struct deb_universe u = { .arch = "amd64", .pins = pins, .pin_count = 2 };
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	add_index(&u, &text, SET("a 1", "b 1"), &plain, NULL);
	assert_string_equal(candidate(&u, "a"), "1");
	assert_string_equal(candidate(&u, "b"), "none");
}

static void test_builds_for_the_stacks_cuda_are_chosen(void **state)
{
	cleanup_universe struct deb_universe u = { .arch = "amd64",
						   .cuda_major = 12,
						   .cuda_minor = 6 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct deb_spec spec;
	uint32_t at;

	(void)state;
	add_index(&u, &text,
		  SET("libnccl2 2.21.5-1+cuda12.4", "libnccl2 2.23.4-1+cuda12.6",
		      "libnccl2 2.22.3-1+cuda12.6", "libnccl2 2.28.3-1+cuda12.9",
		      "libnccl2 2.28.3-1+cuda13.0", "libnccl2 2.30.0-1+cuda11.8"),
		  &plain, NULL);
	at = deb_candidate(&u, slice_str("libnccl2"), slice_str("amd64"));
	assert_int_not_equal(at, DEB_NONE);
	assert_true(slice_is(u.packages.items[at].version, "2.23.4-1+cuda12.6"));
	assert_true(deb_spec_parse(slice_str("libnccl2=2.21.*"), &spec));
	at = deb_find(&u, &spec, "os");
	assert_true(slice_is(u.packages.items[at].version, "2.21.5-1+cuda12.4"));
	assert_true(deb_spec_parse(slice_str("libnccl2=2.28.*"), &spec));
	assert_int_equal(deb_find(&u, &spec, "os"), DEB_NONE);
}

static void test_requests_are_read_by_their_grammar(void **state)
{
	static const char *const bad[] = { "",     "=1", "a=",    "a b", "A B=1",
					   "a:=1", "-x", "a=1 2", "../a" };
	struct deb_spec spec;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (deb_spec_parse(slice_str(bad[i]), &spec))
			fail_msg("'%s' passes", bad[i]);
	}
	assert_true(deb_spec_parse(slice_str("g++:arm64=4:12.2.0-3"), &spec));
	assert_true(slice_is(spec.name, "g++") && slice_is(spec.arch, "arm64") &&
		    slice_is(spec.version, "4:12.2.0-3"));
}

static void test_bad_stanzas_are_refused(void **state)
{
	static const char *const bad[] = {
		"Package: a\nArchitecture: all\n",
		"Version: 1\nArchitecture: all\n",
		"Package: a\nVersion: 1\n",
		"Package: a/b\nVersion: 1\nArchitecture: all\n",
		"Package: a\nVersion: 1 2\nArchitecture: all\n",
		"Package: a\nVersion: 1\nArchitecture: all\nFilename: ../x\nSize: 1\nSHA256: 00\n",
		"Package: a\nVersion: 1\nArchitecture: all\nFilename: /x\nSize: 1\nSHA256: 00\n",
		"Package: a\nVersion: 1\nArchitecture: all\nFilename: x\nSize: 1\nSHA256: 00\n",
		("Package: a\nVersion: 1\nArchitecture: all\nFilename: x\nSize: -1\n"
		 "SHA256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"),
		"no field\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_universe struct deb_universe u = { .arch = "amd64" };
		struct error err = { 0 };

		if (deb_universe_add(&u, &plain, slice_str(bad[i]), NULL, &err) != -1 ||
		    err.code != ERROR_FORMAT)
			fail_msg("case %zu passes", i);
	}
}

static void test_a_package_without_a_file_cannot_be_had(void **state)
{
	cleanup_universe struct deb_universe u = { .arch = "amd64" };
	cleanup_strbuf struct strbuf got = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(deb_universe_add(&u, &plain,
				   slice_str("Package: a\nVersion: 1\nArchitecture: all\n"
					     "Filename: a.deb\nSize: 1\nMD5sum: 0\n"),
				   NULL, &err),
		  err);
	assert_int_equal(resolve(&u, "a", &got, NULL, &err), -1);
	assert_contains(err.text, "has no Filename, Size and SHA256");
}

static void test_a_chain_of_ten_thousand_is_refused_and_does_not_overflow(void **state)
{
	cleanup_universe struct deb_universe u = { .arch = "amd64" };
	cleanup_strbuf struct strbuf text = { 0 }, got = { 0 };
	struct error err = { 0 };

	(void)state;
	for (int i = 0; i < 10000; i++)
		strbuf_addf(
			&text,
			"Package: p%d\nVersion: 1\nArchitecture: all\nDepends: p%d\n" FILE_FIELDS
			"\n",
			i, i + 1);
	assert_ok(deb_universe_add(&u, &plain, strbuf_slice(&text), NULL, &err), err);
	assert_int_equal(resolve(&u, "p0", &got, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_VERDICT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dependencies_come_before_what_needs_them),
		cmocka_unit_test(test_a_cycle_is_no_obstacle),
		cmocka_unit_test(test_recommends_are_left_out),
		cmocka_unit_test(test_the_first_alternative_is_taken),
		cmocka_unit_test(test_an_alternative_that_is_chosen_already_counts),
		cmocka_unit_test(test_depth_comes_before_breadth),
		cmocka_unit_test(test_pre_depends_come_first),
		cmocka_unit_test(test_a_real_package_goes_before_providers),
		cmocka_unit_test(test_a_provider_of_the_first_goes_before_the_second_alternative),
		cmocka_unit_test(test_a_provider_of_higher_priority_is_preferred),
		cmocka_unit_test(test_an_essential_provider_is_preferred_to_a_required_one),
		cmocka_unit_test(test_of_equal_providers_the_name_mentioned_last_is_taken),
		cmocka_unit_test(test_a_versioned_relation_needs_a_versioned_provide),
		cmocka_unit_test(test_only_the_candidate_is_considered),
		cmocka_unit_test(test_a_requested_version_becomes_the_candidate),
		cmocka_unit_test(test_what_cannot_be_completed_makes_way_for_the_next),
		cmocka_unit_test(test_an_alternative_that_conflicts_with_the_chosen_is_skipped),
		cmocka_unit_test(test_an_unversioned_conflict_hits_providers),
		cmocka_unit_test(test_a_versioned_conflict_spares_unversioned_providers),
		cmocka_unit_test(test_a_package_never_conflicts_with_itself),
		cmocka_unit_test(test_replaces_alone_removes_nothing),
		cmocka_unit_test(test_the_search_mends_an_early_choice),
		cmocka_unit_test(test_the_search_goes_back_over_several_choices),
		cmocka_unit_test(test_what_is_required_rules_out_an_alternative_met_before_it),
		cmocka_unit_test(test_so_does_what_is_required_further_down),
		cmocka_unit_test(test_the_refusal_tells_the_whole_chain),
		cmocka_unit_test(test_the_story_names_every_alternative),
		cmocka_unit_test(test_a_driver_package_that_is_asked_for_is_refused),
		cmocka_unit_test(test_a_driver_package_that_is_needed_is_taken_without_its_needs),
		cmocka_unit_test(test_of_alternatives_the_driver_is_the_last),
		cmocka_unit_test(test_a_driver_package_of_the_base_is_left_as_it_is),
		cmocka_unit_test(test_architectures_count_as_multi_arch_says),
		cmocka_unit_test(test_any_needs_a_package_that_allows_it),
		cmocka_unit_test(test_two_architectures_of_one_package_need_multi_arch_same),
		cmocka_unit_test(test_what_is_installed_is_not_taken_again),
		cmocka_unit_test(test_a_conflict_with_what_is_installed_is_an_error),
		cmocka_unit_test(test_priorities_decide_before_versions),
		cmocka_unit_test(test_a_negative_pin_forbids_and_a_specific_one_beats_the_general),
		cmocka_unit_test(test_builds_for_the_stacks_cuda_are_chosen),
		cmocka_unit_test(test_requests_are_read_by_their_grammar),
		cmocka_unit_test(test_bad_stanzas_are_refused),
		cmocka_unit_test(test_a_package_without_a_file_cannot_be_had),
		cmocka_unit_test(test_a_chain_of_ten_thousand_is_refused_and_does_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
