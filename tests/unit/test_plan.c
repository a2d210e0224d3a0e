#include "tests/support/test.h"

#include "builder/plan.h"

struct bench {
	char *dir;
	struct store *store;
	struct rootfs rootfs;
	struct plan plan;
};

static void bench_release(struct bench *b)
{
	plan_release(&b->plan);
	rootfs_release(&b->rootfs);
	store_close(b->store);
	test_dir_free(b->dir);
}

static void add(struct bench *b, struct component *c)
{
	struct error err = { 0 };

	assert_ok(rootfs_add(&b->rootfs, c, &err), err);
}

static struct component *part(enum component_kind kind, const char *name)
{
	struct component *c = component_new(kind, name, "1");

	c->key = digest_of(slice_str(name));
	return c;
}

static void hard_link(struct component *c, const char *path, const char *target)
{
	struct tar_entry tar = {
		.type = TAR_HARDLINK, .path = path, .link = target, .mode = 0755, .mtime = 1000
	};

	component_add(c, &tar);
}

/* A small system: links, a package with a hard link, a wheel, a file of the manifest. */
static void fill(struct bench *b)
{
	struct component *os = part(COMPONENT_FINISH, PLAN_FILESYSTEM),
			 *tools = part(COMPONENT_DEB, "tools"),
			 *wheel = part(COMPONENT_WHEEL, "nvidia-small"),
			 *files = part(COMPONENT_TREE, "files"),
			 *metadata = part(COMPONENT_FINISH, PLAN_METADATA);

	b->dir = test_dir();
	b->store = store_open(b->dir, &(struct error){ 0 });
	component_add_symlink(os, "bin", "usr/bin");
	component_add_dir(os, "tmp", 01777);
	component_add_text(tools, "bin/zip", 0755, slice_str("program"));
	hard_link(tools, "bin/apple", "bin/zip");
	component_add_text(tools, "usr/share/x.y", 0644, slice_str("1"));
	component_add_text(tools, "usr/share/x/z", 0644, slice_str("2"));
	component_add_text(wheel, "usr/local/lib/a.so", 0755, slice_str("elf"));
	component_add_text(files, "opt/app/run", 0755, slice_str("#!/bin/sh\n"));
	component_add_text(metadata, "etc/ld.so.cache", 0644, slice_str("cache"));
	add(b, os);
	add(b, tools);
	add(b, wheel);
	add(b, files);
	add(b, metadata);
}

static void make(struct bench *b, enum stack_split split, uint64_t max)
{
	struct stack_layers how = { .split = split, .max_size = max };
	struct error err = { 0 };

	assert_ok(plan_make(&b->rootfs, &how, &b->plan, &err), err);
}

static const struct layer_entry *find(const struct plan_layer *l, const char *path, size_t *at)
{
	for (size_t i = 0; i < l->entries.len; i++) {
		if (str_equal(l->entries.items[i].tar->path, path)) {
			*at = i;
			return &l->entries.items[i];
		}
	}
	return NULL;
}

static void test_kinds_have_their_layers_the_changing_ones_last(void **state)
{
	static const char *const titles[] = { "cuda", "os", "application", "metadata" };
	cleanup(bench_release) struct bench b = { 0 };

	(void)state;
	fill(&b);
	make(&b, SPLIT_COMPONENT, GIB);
	assert_int_equal(b.plan.layers.len, ARRAY_LEN(titles));
	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		assert_string_equal(b.plan.layers.items[i].title, titles[i]);
}

static void test_folders_go_first_and_links_follow_their_file(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	const struct plan_layer *os;
	const struct layer_entry *link;
	size_t file_at, link_at, dir_at, x_y, x_z;

	(void)state;
	fill(&b);
	make(&b, SPLIT_COMPONENT, GIB);
	os = &b.plan.layers.items[1];
	assert_non_null(find(os, "usr/bin", &dir_at));
	assert_non_null(find(os, "usr/bin/zip", &file_at));
	link = find(os, "usr/bin/apple", &link_at);
	assert_non_null(link);
	assert_string_equal(link->tar->link, "usr/bin/zip");
	assert_int_equal(link_at, file_at + 1);
	assert_true(dir_at < file_at);
	assert_non_null(find(os, "usr/share/x.y", &x_y));
	assert_non_null(find(os, "usr/share/x/z", &x_z));
	assert_true(x_z < x_y);
}

static void test_a_hard_link_without_its_file_becomes_a_copy(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	struct component *files = part(COMPONENT_TREE, "files");
	const struct layer_entry *e;
	size_t at;

	(void)state;
	fill(&b);
	component_add_text(files, "usr/bin/zip", 0755, slice_str("mine"));
	add(&b, files);
	make(&b, SPLIT_COMPONENT, GIB);
	e = find(&b.plan.layers.items[1], "usr/bin/apple", &at);
	assert_non_null(e);
	assert_int_equal(e->tar->type, TAR_FILE);
	assert_int_equal(e->tar->size, strlen("program"));
	assert_null(find(&b.plan.layers.items[1], "usr/bin/zip", &at));
}

static void test_a_layer_over_the_limit_is_cut_between_files(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };

	(void)state;
	fill(&b);
	make(&b, SPLIT_SINGLE, 8);
	assert_true(b.plan.layers.len > 2);
	for (size_t i = 0; i < b.plan.layers.len; i++)
		assert_true(b.plan.layers.items[i].bytes <= 10);
}

static void test_single_makes_one_layer(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };

	(void)state;
	fill(&b);
	make(&b, SPLIT_SINGLE, GIB);
	assert_int_equal(b.plan.layers.len, 1);
}

static void test_by_stage_what_each_contributes_is_a_layer(void **state)
{
	static const char *const titles[] = { "image", "compile", "fetch" };
	cleanup(bench_release) struct bench b = { 0 };
	struct component *compile = part(COMPONENT_STAGE, "compile"),
			 *fetch = part(COMPONENT_STAGE, "fetch");
	size_t at;

	(void)state;
	fill(&b);
	compile->stage = "compile";
	fetch->stage = "fetch";
	component_add_text(compile, "opt/bin/made", 0755, slice_str("made"));
	component_add_text(fetch, "opt/data/brought", 0644, slice_str("brought"));
	add(&b, compile);
	add(&b, fetch);
	make(&b, SPLIT_STAGE, GIB);
	assert_int_equal(b.plan.layers.len, ARRAY_LEN(titles));
	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		assert_string_equal(b.plan.layers.items[i].title, titles[i]);
	assert_non_null(find(&b.plan.layers.items[0], "usr/bin/zip", &at));
	assert_non_null(find(&b.plan.layers.items[1], "opt/bin/made", &at));
	assert_non_null(find(&b.plan.layers.items[2], "opt/data/brought", &at));
}

static void test_folders_that_differ_are_set_right_by_the_last_layer(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	struct component *owner = part(COMPONENT_DEB, "owner"), *wheel = part(COMPONENT_WHEEL, "z");
	const struct layer_entry *e;
	size_t at;

	(void)state;
	fill(&b);
	component_add_dir(owner, "opt/private", 0700);
	component_add_text(wheel, "opt/private/x", 0600, slice_str("x"));
	add(&b, owner);
	add(&b, wheel);
	make(&b, SPLIT_COMPONENT, GIB);
	/* the wheel's layer is below the package's here; whoever is last must leave 0700 */
	for (size_t i = b.plan.layers.len; i-- > 0;) {
		e = find(&b.plan.layers.items[i], "opt/private", &at);
		if (e) {
			assert_int_equal(e->tar->mode, 0700);
			return;
		}
	}
	fail();
}

static void write_all(struct bench *b, unsigned threads, struct strbuf *out)
{
	cleanup_pool struct pool *pool = pool_new(threads);
	struct layer_options how = { .compression = COMPRESSION_GZIP, .level = LEVEL_DEFAULT };

	for (size_t i = 0; i < b->plan.layers.len; i++) {
		struct error err = { 0 };
		struct layer layer;
		char text[DIGEST_TEXT_MAX];

		assert_ok(layer_write(b->store, &b->plan.layers.items[i].entries, &how, pool,
				      &layer, &err),
			  err);
		strbuf_addf(out, "%s %" PRIu64 "\n", digest_text(&layer.diff_id, text), layer.size);
	}
}

static void test_the_bytes_do_not_depend_on_the_number_of_threads(void **state)
{
	cleanup_strbuf struct strbuf first = { 0 };

	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++) {
		cleanup(bench_release) struct bench b = { 0 };
		cleanup_strbuf struct strbuf text = { 0 };

		fill(&b);
		make(&b, SPLIT_COMPONENT, GIB);
		write_all(&b, threads, threads == 1 ? &first : &text);
		if (threads > 1)
			assert_string_equal(strbuf_text(&text), strbuf_text(&first));
	}
}

/* Whoever changes these changes the bytes of every image: raise ASSEMBLY_VERSION. */
static void test_the_bytes_are_those_of_assembly_version_3(void **state)
{
	static const char *const golden[] = {
		"sha256:e2dd6ccd29427cbff6dd908a91e2fc73da96b9b5482b8152822ce430986e5e30",
		"sha256:4517f92e7ad1b2cf8d8c5631a0290329f95d4a8801def9fe19018fbc8c3616b6",
		"sha256:c00fbd6a11cf0db38051373166152cbae004a1ac0ca113fc3f18d32981c31211",
		"sha256:50cc27ebafba43382df5c7906e54b405f5f12de70838c7049fc696d2454a9f26",
	};
	cleanup(bench_release) struct bench b = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct slice rest, line;

	(void)state;
	assert_int_equal(ASSEMBLY_VERSION, 3);
	fill(&b);
	make(&b, SPLIT_COMPONENT, GIB);
	write_all(&b, 1, &text);
	rest = strbuf_slice(&text);
	for (size_t i = 0; i < ARRAY_LEN(golden); i++) {
		assert_true(slice_cut(&rest, '\n', &line));
		if (!slice_starts(line, golden[i]))
			fail_msg("layer %zu is %.*s", i, (int)line.len, (const char *)line.data);
	}
}

static void test_a_layer_is_not_written_twice(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	struct layer_options how = { .compression = COMPRESSION_ZSTD, .level = LEVEL_FAST };
	struct error err = { 0 };
	struct layer first, second;

	(void)state;
	fill(&b);
	make(&b, SPLIT_SINGLE, GIB);
	assert_ok(layer_write(b.store, &b.plan.layers.items[0].entries, &how, NULL, &first, &err),
		  err);
	assert_ok(layer_write(b.store, &b.plan.layers.items[0].entries, &how, NULL, &second, &err),
		  err);
	assert_false(first.cached);
	assert_true(second.cached);
	assert_true(digest_equal(&first.digest, &second.digest));
}

/* A large folder: nine files of 30 MiB, which are never read here, and some of a kilobyte. */
static void fill_folder(struct bench *b, bool edited)
{
	struct component *c = part(COMPONENT_TREE, "files");

	b->dir = test_dir();
	b->store = store_open(b->dir, &(struct error){ 0 });
	for (unsigned i = 0; i < 26; i++) {
		cleanup_free char *path = xasprintf("opt/app/file-%c", 'a' + (int)i);
		struct component_entry *e;

		if (i % 3) {
			component_add_text(c, path, 0644, slice_str(edited && i == 4 ? "y" : "x"));
			continue;
		}
		e = component_add(c, &(struct tar_entry){ .type = TAR_FILE,
							  .path = path,
							  .size = 30 * MIB,
							  .mode = 0644 });
		e->content.kind = CONTENT_PATH;
		e->content.path = "/nowhere";
		content_set_digest(&e->content, &(struct digest){ .bytes = { (uint8_t)i } });
	}
	add(b, c);
	add(b, part(COMPONENT_FINISH, PLAN_METADATA));
}

static void test_an_edited_small_file_of_a_large_folder_changes_one_small_layer(void **state)
{
	cleanup(bench_release) struct bench a = { 0 }, b = { 0 };
	struct layer_options how = { .compression = COMPRESSION_GZIP, .level = LEVEL_DEFAULT };
	size_t changed = 0;

	(void)state;
	fill_folder(&a, false);
	fill_folder(&b, true);
	make(&a, SPLIT_COMPONENT, GIB);
	make(&b, SPLIT_COMPONENT, GIB);
	assert_int_equal(a.plan.layers.len, b.plan.layers.len);
	for (size_t i = 0; i < a.plan.layers.len; i++) {
		struct digest x = layer_key(&a.plan.layers.items[i].entries, &how),
			      y = layer_key(&b.plan.layers.items[i].entries, &how);

		if (digest_equal(&x, &y))
			continue;
		changed++;
		assert_true(a.plan.layers.items[i].bytes < MIB);
	}
	assert_int_equal(changed, 1);
}

static void test_a_framework_lies_below_the_system_and_other_wheels_above(void **state)
{
	static const char *const classes[] = { "cuda",   "framework",   "os",
					       "python", "application", "metadata" };
	cleanup(bench_release) struct bench b = { 0 };
	struct component *torch = part(COMPONENT_WHEEL, "torch"),
			 *numpy = part(COMPONENT_WHEEL, "numpy");

	(void)state;
	fill(&b);
	component_add_text(torch, "opt/torch.so", 0644, slice_str("t"));
	component_add_text(numpy, "opt/numpy.so", 0644, slice_str("n"));
	add(&b, numpy);
	add(&b, torch);
	make(&b, SPLIT_COMPONENT, GIB);
	assert_int_equal(b.plan.layers.len, ARRAY_LEN(classes));
	for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
		assert_string_equal(b.plan.layers.items[i].class, classes[i]);
		assert_true(strlen(b.plan.layers.items[i].reason) > 10);
	}
}

static void test_more_layers_than_engines_mount_are_refused(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	struct stack_layers how = { .split = SPLIT_SINGLE, .max_size = 2 };
	struct component *c = part(COMPONENT_TREE, "files");
	struct error err = { 0 };

	(void)state;
	b.dir = test_dir();
	for (unsigned i = 0; i < 130; i++) {
		cleanup_free char *path = xasprintf("opt/%u", i);

		component_add_text(c, path, 0644, slice_str("xy"));
	}
	add(&b, c);
	assert_int_equal(plan_make(&b.rootfs, &how, &b.plan, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_contains(err.text, "130 layers");
}

static void test_a_base_of_many_layers_leaves_room_for_fewer_of_ours(void **state)
{
	static const struct {
		size_t base, layers;
	} cases[] = { { 0, 5 }, { 122, 5 }, { 123, 4 }, { 124, 1 }, { 126, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup(bench_release) struct bench b = { 0 };
		struct component *large = part(COMPONENT_WHEEL, "nvidia-large");
		struct tar_entry tar = {
			.type = TAR_FILE, .path = "usr/l.so", .link = "", .size = 100 * MIB
		};

		fill(&b);
		component_add(large, &tar)->content.kind = CONTENT_MEMORY;
		add(&b, large);
		b.rootfs.base_layers = cases[i].base;
		make(&b, SPLIT_COMPONENT, GIB);
		assert_int_equal(b.plan.layers.len, cases[i].layers);
	}
}

/* A file of that size, which is never read here. */
static void large_file(struct component *c, const char *path, uint64_t size)
{
	struct tar_entry tar = { .type = TAR_FILE, .path = path, .link = "", .size = size };

	component_add(c, &tar)->content.kind = CONTENT_MEMORY;
}

/* Four classes of 40 components each, whose names spread over eight groups; one that is solo. */
static void fill_groups(struct bench *b)
{
	static const struct {
		enum component_kind kind;
		const char *prefix;
	} classes[] = { { COMPONENT_WHEEL, "nvidia-" },
			{ COMPONENT_DEB, "lib" },
			{ COMPONENT_WHEEL, "py" },
			{ COMPONENT_TREE, "app" } };
	struct component *solo = part(COMPONENT_WHEEL, "nvidia-solo");

	b->dir = test_dir();
	for (size_t k = 0; k < ARRAY_LEN(classes); k++) {
		for (unsigned i = 0; i < 40; i++) {
			cleanup_free char *name = xasprintf("%s%c%c", classes[k].prefix,
							    'a' + (int)(i / 7), 'a' + (int)(i % 7));
			cleanup_free char *path = xasprintf("opt/%s", name);
			struct component *c = part(classes[k].kind, name);

			large_file(c, path, 32 * MIB);
			add(b, c);
		}
	}
	large_file(solo, "opt/solo", 100 * MIB);
	add(b, solo);
	add(b, part(COMPONENT_FINISH, PLAN_METADATA));
}

static size_t count_reasons(const struct plan *plan, const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->layers.len; i++)
		n += strstr(plan->layers.items[i].reason, text) != NULL;
	return n;
}

static void test_above_the_wanted_number_the_smallest_groups_are_merged(void **state)
{
	static const struct {
		size_t base, in_all, merged;
	} cases[] = { { 0, 33, 0 }, { 15, 48, 0 }, { 16, 48, 1 }, { 20, 48, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup(bench_release) struct bench b = { 0 };
		size_t merged;

		fill_groups(&b);
		b.rootfs.base_layers = cases[i].base;
		make(&b, SPLIT_COMPONENT, GIB);
		assert_int_equal(cases[i].base + b.plan.layers.len, cases[i].in_all);
		merged = count_reasons(&b.plan, "groups are merged, since the image would have");
		assert_int_equal(merged > 0, cases[i].merged);
		assert_int_equal(count_reasons(&b.plan, "a layer of its own"), 1);
		assert_string_equal(b.plan.layers.items[0].components, "nvidia-solo");
	}
}

static void test_nothing_is_lost_by_merging(void **state)
{
	cleanup(bench_release) struct bench a = { 0 }, b = { 0 };
	uint64_t apart = 0, together = 0;
	size_t files = 0;

	(void)state;
	fill_groups(&a);
	fill_groups(&b);
	b.rootfs.base_layers = 22;
	make(&a, SPLIT_COMPONENT, GIB);
	make(&b, SPLIT_COMPONENT, GIB);
	for (size_t i = 0; i < a.plan.layers.len; i++)
		apart += a.plan.layers.items[i].bytes;
	for (size_t i = 0; i < b.plan.layers.len; i++) {
		together += b.plan.layers.items[i].bytes;
		for (size_t k = 0; k < b.plan.layers.items[i].entries.len; k++)
			files += b.plan.layers.items[i].entries.items[k].tar->type == TAR_FILE;
	}
	assert_int_equal(apart, together);
	assert_int_equal(files, 161);
}

static void test_above_the_wanted_number_folders_are_cut_at_the_limit_alone(void **state)
{
	static const struct {
		size_t base;
		bool fine;
	} cases[] = { { 0, true }, { 44, false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup(bench_release) struct bench b = { 0 };
		struct component *c = part(COMPONENT_TREE, "files");

		b.dir = test_dir();
		for (unsigned k = 0; k < 96; k++) {
			cleanup_free char *path =
				xasprintf("opt/%c%c", 'a' + (int)(k / 10), 'a' + (int)(k % 10));

			large_file(c, path, 7 * MIB);
		}
		add(&b, c);
		b.rootfs.base_layers = cases[i].base;
		make(&b, SPLIT_COMPONENT, GIB);
		assert_int_equal(b.plan.layers.len > 4, cases[i].fine);
		assert_int_equal(count_reasons(&b.plan, "cut at max-size alone") > 0,
				 !cases[i].fine);
		assert_true(cases[i].base + b.plan.layers.len <= PLAN_LAYERS_WANTED);
	}
}

static void test_no_room_at_all_is_refused(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	struct stack_layers how = { .split = SPLIT_COMPONENT, .max_size = GIB };
	struct error err = { 0 };

	(void)state;
	fill(&b);
	b.rootfs.base_layers = 127;
	assert_int_equal(plan_make(&b.rootfs, &how, &b.plan, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_contains(err.text, "127 of them the base's");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_have_their_layers_the_changing_ones_last),
		cmocka_unit_test(test_folders_go_first_and_links_follow_their_file),
		cmocka_unit_test(test_a_hard_link_without_its_file_becomes_a_copy),
		cmocka_unit_test(test_a_layer_over_the_limit_is_cut_between_files),
		cmocka_unit_test(test_single_makes_one_layer),
		cmocka_unit_test(test_a_base_of_many_layers_leaves_room_for_fewer_of_ours),
		cmocka_unit_test(test_above_the_wanted_number_the_smallest_groups_are_merged),
		cmocka_unit_test(test_nothing_is_lost_by_merging),
		cmocka_unit_test(test_above_the_wanted_number_folders_are_cut_at_the_limit_alone),
		cmocka_unit_test(test_no_room_at_all_is_refused),
		cmocka_unit_test(test_by_stage_what_each_contributes_is_a_layer),
		cmocka_unit_test(test_folders_that_differ_are_set_right_by_the_last_layer),
		cmocka_unit_test(test_the_bytes_do_not_depend_on_the_number_of_threads),
		cmocka_unit_test(test_the_bytes_are_those_of_assembly_version_3),
		cmocka_unit_test(test_a_layer_is_not_written_twice),
		cmocka_unit_test(
			test_an_edited_small_file_of_a_large_folder_changes_one_small_layer),
		cmocka_unit_test(test_a_framework_lies_below_the_system_and_other_wheels_above),
		cmocka_unit_test(test_more_layers_than_engines_mount_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
