/*
 * Our sets beside those of real apt, for 300 requests to Debian's bookworm main: 200 packages
 * drawn by lot, and 100 pairs and well-known sets. answers.xz has a line "NAME…: name name …" per
 * request, sorted, or "NAME…: FAILED" where apt finds no set. packages.xz is the part of the index
 * that these touch. foreign-packages.xz and foreign-answers.xz are the same for 40 requests with
 * i386 as a foreign architecture, whose packages are written "name:i386". All are made by
 * tests/tools/apt-corpus.sh.
 */
#include "tests/support/test.h"

#include "base/map.h"
#include "builder/sources/deb_resolve.h"
#include "formats/compress.h"

#define FIXTURES "tests/fixtures/apt-corpus/"

/* Where we differ on purpose, and why. Each must still differ. */
static const struct {
	const char *set, *reason;
} known[] = {
	{ "python3-numpy:i386",
	  "apt leaves a native library in the set that a choice it took back had asked for" },
	{ NULL, NULL },
};

struct corpus {
	struct strbuf packages, answers;
	struct deb_universe universe;
};

enum { NATIVE, FOREIGN, CORPORA };
static const char *const prefixes[] = { FIXTURES "", FIXTURES "foreign-" };

static void read_fixture(const char *path, struct strbuf *out)
{
	struct error err = { 0 };
	cleanup_fd int fd = fs_open(AT_FDCWD, path, &err);
	cleanup_stream struct stream *file = NULL, *plain = NULL;

	assert_ok(fd, err);
	file = stream_fd(fd, path);
	plain = decompress_auto(file, NULL, &err);
	if (!plain)
		fail_msg("%s", err.text);
	assert_ok(stream_read_all(plain, 64 * 1024 * 1024, out, &err), err);
}

static int setup(void **state)
{
	static const struct deb_index index = { .id = "os", .label_text = "bookworm/main" };
	struct corpus *corpora = xcalloc(CORPORA, sizeof(*corpora));
	struct error err = { 0 };

	for (size_t i = 0; i < CORPORA; i++) {
		cleanup_free char *packages = xasprintf("%spackages.xz", prefixes[i]);
		cleanup_free char *answers = xasprintf("%sanswers.xz", prefixes[i]);
		struct corpus *c = &corpora[i];

		read_fixture(packages, &c->packages);
		read_fixture(answers, &c->answers);
		c->universe.arch = "amd64";
		assert_ok(deb_universe_add(&c->universe, &index, strbuf_slice(&c->packages),
					   i == FOREIGN ? "amd64 all i386" : NULL, &err),
			  err);
	}
	*state = corpora;
	return 0;
}

static int teardown(void **state)
{
	struct corpus *corpora = *state;

	for (size_t i = 0; i < CORPORA; i++) {
		deb_universe_release(&corpora[i].universe);
		strbuf_release(&corpora[i].packages);
		strbuf_release(&corpora[i].answers);
	}
	free(corpora);
	return 0;
}

/* "a:i386 b: x y" → "a:i386 b", " x y" */
static bool cut_set(struct slice *line, struct slice *out)
{
	const uint8_t *mark = line->len ? memmem(line->data, line->len, ": ", 2) : NULL;

	if (!mark)
		return false;
	*out = slice_of(line->data, (size_t)(mark - line->data));
	*line = slice_of(mark + 1, line->len - out->len - 1);
	return true;
}

/* Our answer to "NAME…" as the corpus writes it: " FAILED", or the names in our order. */
static void resolve(struct deb_universe *u, struct slice set, struct strbuf *out)
{
	cleanup_deb_answer struct deb_answer answer = { 0 };
	VEC(struct deb_root) roots = { 0 };
	struct slice name;
	struct error err = { 0 };
	bool known_names = true;

	while (slice_cut(&set, ' ', &name)) {
		struct deb_spec spec = { 0 };
		struct deb_root root = { .requested = true };

		assert_true(deb_spec_parse(name, &spec));
		root.package = deb_find(u, &spec, NULL);
		if (root.package == DEB_NONE)
			root.package = deb_find_provider(u, &spec, NULL);
		known_names &= root.package != DEB_NONE;
		vec_push(&roots, root);
	}
	if (!known_names || deb_resolve(u, roots.items, roots.len, &answer, NULL, &err) < 0)
		strbuf_adds(out, " FAILED");
	for (size_t i = 0; i < answer.choices.len; i++) {
		const struct deb_package *p = &u->packages.items[answer.choices.items[i].package];
		struct slice arch = deb_package_arch(u, p);

		strbuf_addf(out, " %.*s", (int)p->name.len, (const char *)p->name.data);
		if (!slice_is(arch, u->arch))
			strbuf_addf(out, ":%.*s", (int)arch.len, (const char *)arch.data);
	}
	vec_release(&roots);
}

static void add_words(struct map *words, struct slice text)
{
	struct slice word;

	while (slice_cut(&text, ' ', &word)) {
		cleanup_free char *copy = xstrndup((const char *)word.data, word.len);

		if (*copy)
			map_put(words, copy, words);
	}
}

/* The words of `a` that are not in `b`, each after `title`. */
static void add_only(const char *title, struct map *a, const struct map *b, struct strbuf *out)
{
	const struct map_entry *sorted = map_sorted(a);

	for (size_t i = 0; i < a->len; i++) {
		if (!map_get(b, sorted[i].key))
			strbuf_addf(out, " %s %s;", title, sorted[i].key);
	}
}

/* Append what is different for one line of the corpus: nothing when the sets are equal. */
static void compare(struct deb_universe *u, struct slice set, struct slice theirs,
		    struct strbuf *out)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_map struct map apt = { 0 }, ours = { 0 };

	resolve(u, set, &text);
	add_words(&apt, theirs);
	add_words(&ours, strbuf_slice(&text));
	add_only("apt only", &apt, &ours, out);
	add_only("ours only", &ours, &apt, out);
}

static bool is_known(struct slice set)
{
	for (size_t i = 0; known[i].set; i++) {
		if (slice_is(set, known[i].set))
			return true;
	}
	return false;
}

static void check_all(struct corpus *c)
{
	cleanup_strbuf struct strbuf report = { 0 };
	struct slice rest = strbuf_slice(&c->answers), line, set;
	size_t different = 0;

	while (slice_cut(&rest, '\n', &line)) {
		cleanup_strbuf struct strbuf found = { 0 };

		if (!cut_set(&line, &set) || is_known(set))
			continue;
		compare(&c->universe, set, line, &found);
		if (!found.len)
			continue;
		different++;
		strbuf_addf(&report, "%.*s:%s\n", (int)set.len, (const char *)set.data,
			    strbuf_text(&found));
	}
	if (different)
		fail_msg("%zu sets differ:\n%s", different, strbuf_text(&report));
}

static void test_each_set_is_what_apt_chooses(void **state)
{
	struct corpus *corpora = *state;

	check_all(&corpora[NATIVE]);
}

static void test_each_set_with_a_foreign_architecture_is_what_apt_chooses(void **state)
{
	struct corpus *corpora = *state;

	check_all(&corpora[FOREIGN]);
}

static void test_known_differences_are_still_there(void **state)
{
	struct corpus *corpora = *state;
	size_t met = 0, named = 0;

	for (size_t i = 0; i < CORPORA; i++) {
		struct slice rest = strbuf_slice(&corpora[i].answers), line, set;

		while (slice_cut(&rest, '\n', &line)) {
			cleanup_strbuf struct strbuf found = { 0 };

			if (!cut_set(&line, &set) || !is_known(set))
				continue;
			met++;
			compare(&corpora[i].universe, set, line, &found);
			if (!found.len)
				fail_msg("%.*s is as apt's: take it off the list", (int)set.len,
					 (const char *)set.data);
		}
	}
	while (known[named].set)
		named++;
	assert_int_equal(met, named);
}

static size_t count_sets(const struct corpus *c)
{
	struct slice rest = strbuf_slice(&c->answers), line, set;
	size_t count = 0;

	while (slice_cut(&rest, '\n', &line))
		count += cut_set(&line, &set);
	return count;
}

static void test_the_corpus_holds_340_sets(void **state)
{
	struct corpus *corpora = *state;

	assert_int_equal(count_sets(&corpora[NATIVE]), 300);
	assert_int_equal(count_sets(&corpora[FOREIGN]), 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_corpus_holds_340_sets),
		cmocka_unit_test(test_each_set_is_what_apt_chooses),
		cmocka_unit_test(test_each_set_with_a_foreign_architecture_is_what_apt_chooses),
		cmocka_unit_test(test_known_differences_are_still_there),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
