#include "tests/support/test.h"

#include "builder/base_image.h"
#include "builder/plan.h"
#include "tests/support/image.h"

/* A store, a layout beside it, and a manifest that names it. */
struct bench {
	char *dir;
	struct store *store;
	struct stack stack;
	struct stack_stage stage;
	struct lockfile lock;
	struct lock_platform *inputs;
	struct base_image base;
};

static int open_layout(void *user, const char *name, const struct platform *platform,
		       struct image *out, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct image_name parsed;

	(void)user;
	if (image_name_parse(name, &arena, &parsed, err) < 0)
		return -1;
	return image_open(&parsed, platform, out, err);
}

static const struct base_opener opener = { .open = open_layout };

static void bench_release(struct bench *b)
{
	base_image_release(&b->base);
	lockfile_release(&b->lock);
	store_close(b->store);
	test_dir_free(b->dir);
}
#define cleanup_bench cleanup(bench_release)

static void start(struct bench *b, const char *text)
{
	struct error err = { 0 };
	cleanup_free char *layout = NULL, *store = NULL;

	b->dir = test_dir();
	layout = xasprintf("%s/base", b->dir);
	store = xasprintf("%s/store", b->dir);
	test_image(layout, "1", text);
	b->store = store_open(store, &err);
	assert_non_null(b->store);
	b->stage = (struct stack_stage){ .name = "runtime" };
	b->stack = (struct stack){ .directory = b->dir,
				   .base_image = "oci:base:1",
				   .stages = &b->stage,
				   .stage_count = 1 };
	b->inputs = lockfile_platform(&b->lock, "linux/amd64");
}

static int lock(struct bench *b, const struct lock_platform *keep, struct error *err)
{
	static const struct out out = { .verbosity = -1 };
	struct base_lock_request request = { .stack = &b->stack,
					     .store = b->store,
					     .opener = &opener,
					     .keep = keep,
					     .platform = { "linux", "amd64", NULL },
					     .out = &out };

	return base_image_lock(&request, b->inputs, &b->lock.arena, err);
}

static void lock_and_open(struct bench *b, const char *text)
{
	struct error err = { 0 };

	start(b, text);
	assert_ok(lock(b, NULL, &err), err);
	assert_ok(base_image_open(b->store, b->inputs, &b->base, &err), err);
}

static struct component *tree_of(struct bench *b, bool unpacked)
{
	struct error err = { 0 };
	struct component *tree = base_image_tree(b->store, b->inputs, &b->base, unpacked, &err);

	if (!tree)
		fail_msg("unexpected: %s", err.text);
	return tree;
}

static const struct component_entry *find(const struct component *c, const char *path)
{
	for (size_t i = 0; i < c->entries.len; i++) {
		if (str_equal(c->entries.items[i].tar.path, path))
			return &c->entries.items[i];
	}
	return NULL;
}

static const char debian[] =
	"env PATH=/bin\n"
	"layer gzip\n"
	"dir etc\n"
	"file etc/os-release =ID=debian\\nVERSION_ID=\"12\"\\n\n"
	"file etc/gone =x\n"
	"file usr/bin/big *300000\n"
	"link usr/bin/python3 -> python3.11\n"
	"file usr/bin/python3.11 0755 =p\n"
	"file usr/bin/one =1\n"
	"hard usr/bin/two -> usr/bin/one\n"
	"char dev/null\n"
	"layer zstd\n"
	"whiteout etc/gone\n"
	"owner 7 8\n"
	"dir opt 0750\n"
	"file var/lib/dpkg/status =Package: a\\nStatus: install ok installed\\n"
	"Version: 1\\nArchitecture: amd64\\n\n"
	"file usr/local/cuda-12.6/lib64/libcublas.so.12 =x\n"
	"file usr/local/lib/python3.11/dist-packages/Torch-2.7.1.dist-info/METADATA =x\n";

static void test_its_blobs_are_locked_with_their_digests(void **state)
{
	cleanup_bench struct bench b = { 0 };
	const struct lock_input *in;

	(void)state;
	lock_and_open(&b, debian);
	assert_int_equal(b.inputs->inputs.len, 4);
	in = &b.inputs->inputs.items[0];
	assert_int_equal(in->kind, LOCK_IMAGE);
	assert_string_equal(in->name, "base");
	assert_string_equal(in->url, "oci:base:1");
	assert_true(str_starts(in->version, "sha256:"));
	assert_string_equal(b.inputs->inputs.items[1].name, "base.config");
	assert_string_equal(b.inputs->inputs.items[3].name, "base.layer[1]");
	for (size_t i = 0; i < 4; i++)
		assert_true(store_has(b.store, &b.inputs->inputs.items[i].digest,
				      b.inputs->inputs.items[i].size));
}

static void test_what_it_has_installed_is_found(void **state)
{
	cleanup_bench struct bench b = { 0 };

	(void)state;
	lock_and_open(&b, debian);
	assert_int_equal(b.base.dpkg, BASE_DPKG_STATUS);
	assert_contains(strbuf_text(&b.base.packages), "Package: a\n");
	assert_string_equal(b.base.system, "debian 12");
	assert_string_equal(b.base.python, "3.11");
	assert_string_equal(b.base.python_program, "/usr/bin/python3.11");
	assert_true(b.base.debian_python);
	assert_string_equal(b.base.cuda, "12.6");
	assert_true(base_image_has_cuda(&b.base, "cublas", false));
	assert_false(base_image_has_cuda(&b.base, "cublas", true));
	assert_false(base_image_has_cuda(&b.base, "cufft", false));
	assert_string_equal(base_image_distribution(&b.base, "torch"), "2.7.1");
	assert_null(base_image_distribution(&b.base, "numpy"));
	assert_int_equal(b.base.layer_count, 2);
	assert_string_equal(b.base.layers[1].media_type,
			    "application/vnd.oci.image.layer.v1.tar+zstd");
}

static void test_packages_without_dpkg_count_as_installed(void **state)
{
	cleanup_bench struct bench b = { 0 };

	(void)state;
	lock_and_open(&b, "layer\n"
			  "file var/lib/dpkg/status.d/a =Package: a\\nVersion: 1\\n\n"
			  "file var/lib/dpkg/status.d/a.md5sums =x\n"
			  "file var/lib/dpkg/status.d/b =Package: b\\nVersion: 2\\n\n"
			  "file lib/ld-musl-x86_64.so.1 =x\n");
	assert_int_equal(b.base.dpkg, BASE_DPKG_STATUS_D);
	assert_string_equal(strbuf_text(&b.base.packages),
			    "Status: install ok installed\nPackage: a\nVersion: 1\n\n"
			    "Status: install ok installed\nPackage: b\nVersion: 2\n\n");
	assert_true(b.base.musl);
	assert_null(b.base.glibc);
}

static void test_its_tree_is_what_the_layers_show_together(void **state)
{
	cleanup_bench struct bench b = { 0 };
	cleanup_component struct component *tree = NULL;
	const struct component_entry *e;
	struct error err = { 0 };

	(void)state;
	lock_and_open(&b, debian);
	tree = tree_of(&b, false);
	assert_null(find(tree, "etc/gone"));
	assert_null(find(tree, "dev/null"));
	e = find(tree, "opt");
	assert_int_equal(e->tar.mode, 0750);
	assert_int_equal(e->tar.uid, 7);
	assert_int_equal(e->tar.gid, 8);
	e = find(tree, "usr/bin/two");
	assert_int_equal(e->tar.type, TAR_FILE); /* of its own: the other may be replaced */
	assert_memory_equal(e->content.sha256, find(tree, "usr/bin/one")->content.sha256, 32);
	e = find(tree, "usr/bin/big");
	assert_int_equal(e->tar.size, 300000);
	assert_null(content_open(&e->content, e->tar.size, &err));
	assert_contains(err.text, "base image's layers");
}

static void test_files_that_are_read_later_are_at_hand(void **state)
{
	cleanup_bench struct bench b = { 0 };
	cleanup_component struct component *light = NULL, *whole = NULL;
	const char *const paths[] = { "etc/os-release", "usr/bin/big" };
	struct error err = { 0 };

	(void)state;
	lock_and_open(&b, debian);
	light = tree_of(&b, false);
	whole = tree_of(&b, true);
	assert_int_equal(light->entries.len, whole->entries.len);
	for (size_t i = 0; i < 2; i++) {
		const struct component_entry *e = find(i ? whole : light, paths[i]);
		cleanup_stream struct stream *s = content_open(&e->content, e->tar.size, &err);

		assert_ok(s ? stream_drain(s, NULL, &err) : -1, err); /* proves the digest */
	}
}

static void test_odd_names_come_back_as_they_were(void **state)
{
	cleanup_bench struct bench b = { 0 };
	cleanup_component struct component *tree = NULL;

	(void)state;
	lock_and_open(&b, "layer\nfile a\\tb\\\\c =1\nfile x\ty =2\nlink l -> t\ta\n");
	tree = tree_of(&b, false);
	assert_non_null(find(tree, "a\\tb\\\\c"));
	assert_non_null(find(tree, "x\ty"));
	assert_string_equal(find(tree, "l")->tar.link, "t\ta");
}

static void test_a_base_that_lies_is_refused(void **state)
{
	static const struct {
		const char *text, *says;
		enum error_code code;
	} cases[] = {
		{ "layer\nfault diff_id\nfile a =1\n", "(diff_id)", ERROR_INTEGRITY },
		{ "layer\nfault missing\nfile a =1\n", "layer 0", ERROR_NOT_FOUND },
		{ "layer\nfault short\nfile a =1\n", "layer 0", ERROR_INTEGRITY },
		{ "layer gzip\ntype application/vnd.oci.image.layer.v1.tar+zstd\nfile a =1\n",
		  "said to be compressed by zstd", ERROR_FORMAT },
		{ "layer\ntype application/vnd.oci.image.layer.nondistributable.v1.tar+gzip\n"
		  "file a =1\n",
		  "may not be distributed", ERROR_FORMAT },
		{ "layer\ntype application/x-unknown\nfile a =1\n", "is of type", ERROR_FORMAT },
		{ "image linux/arm64\nlayer\nfile a =1\nimage linux/riscv64\nlayer\nfile b =2\n",
		  "linux/arm64", ERROR_NOT_FOUND },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_bench struct bench b = { 0 };
		struct error err = { 0 };
		int rc;

		start(&b, cases[i].text);
		rc = lock(&b, NULL, &err);
		if (rc == 0)
			rc = base_image_open(b.store, b.inputs, &b.base, &err);
		assert_int_equal(rc, -1);
		assert_contains(err.text, cases[i].says);
		assert_int_equal(err.code, cases[i].code);
	}
}

static void test_what_was_locked_is_kept_out_of_the_store(void **state)
{
	cleanup_bench struct bench b = { 0 };
	struct lock_platform *new;
	struct error err = { 0 };
	const char *was;

	(void)state;
	lock_and_open(&b, debian);
	was = b.inputs->inputs.items[0].version;
	b.stack.base_image = "oci:elsewhere:1"; /* is not even opened */
	new = lockfile_platform(&b.lock, "linux/other");
	b.inputs = &b.lock.platforms.items[0];
	{
		const struct lock_platform *old = b.inputs;

		b.inputs = new;
		assert_ok(lock(&b, old, &err), err);
	}
	assert_int_equal(new->inputs.len, 4);
	assert_string_equal(new->inputs.items[0].version, was);
}

static void test_names_start_at_the_manifest(void **state)
{
	static const struct {
		const char *directory, *text, *name;
	} cases[] = {
		{ "a/b", "oci:c:1", "oci:a/b/c:1" },
		{ "a/b", "oci:/c:1", "oci:/c:1" },
		{ NULL, "oci-archive:c.tar", "oci-archive:./c.tar" },
		{ "a", "docker://example.org/x:1", "docker://example.org/x:1" },
		{ "a", "debian:12", "docker://debian:12" },
		{ "a", "./x", "a/./x" },
		{ "a", "/x", "/x" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *name = base_image_name(cases[i].directory, cases[i].text);

		assert_string_equal(name, cases[i].name);
	}
}

/* ---- what is put upon it ---- */

static const struct plan_layer *last_layer(const struct plan *plan)
{
	return &plan->layers.items[plan->layers.len - 1];
}

static const struct layer_entry *layer_find(const struct plan_layer *l, const char *path)
{
	for (size_t i = 0; i < l->entries.len; i++) {
		if (str_equal(l->entries.items[i].tar->path, path))
			return &l->entries.items[i];
	}
	return NULL;
}

static void test_its_files_are_in_no_layer_and_its_folders_stay_as_they_are(void **state)
{
	cleanup_bench struct bench b = { 0 };
	cleanup_rootfs struct rootfs r = { 0 };
	cleanup_plan struct plan plan = { 0 };
	struct component *deb = component_new(COMPONENT_DEB, "tool", "1"),
			 *metadata = component_new(COMPONENT_FINISH, PLAN_METADATA, "");
	struct stack_layers how = { .split = SPLIT_COMPONENT, .max_size = 1 << 30 };
	struct error err = { 0 };

	(void)state;
	lock_and_open(&b, debian);
	assert_ok(rootfs_add(&r, tree_of(&b, false), &err), err);
	deb->key = digest_of(slice_str("tool"));
	component_add_dir(deb, "opt", 0755);
	component_add_text(deb, "opt/x", 0644, slice_str("x"));
	component_add_text(deb, "usr/bin/one", 0644, slice_str("1")); /* the very file */
	component_add_text(metadata, "etc/new", 0644, slice_str("n"));
	assert_ok(rootfs_add(&r, deb, &err), err);
	assert_ok(rootfs_add(&r, metadata, &err), err);
	rootfs_remove(&r, rootfs_lookup(&r, "usr/bin/big"));
	assert_null(rootfs_lookup(&r, "usr/bin/big"));
	assert_ok(plan_make(&r, &how, &plan, &err), err);
	assert_int_equal(plan.layers.len, 2);
	assert_non_null(layer_find(&plan.layers.items[0], "opt/x"));
	assert_null(layer_find(&plan.layers.items[0], "usr/bin/one"));
	assert_null(layer_find(&plan.layers.items[0], "etc/os-release"));
	/* the package's layer has its own folder, the last gives back the base's */
	assert_int_equal(layer_find(last_layer(&plan), "opt")->tar->mode, 0750);
	assert_int_equal(layer_find(last_layer(&plan), "opt")->tar->uid, 7);
	assert_non_null(layer_find(last_layer(&plan), "usr/bin/.wh.big"));
	assert_null(layer_find(last_layer(&plan), "var/lib/dpkg"));
}

static void test_what_replaces_a_removed_file_needs_no_whiteout(void **state)
{
	cleanup_bench struct bench b = { 0 };
	cleanup_rootfs struct rootfs r = { 0 };
	cleanup_plan struct plan plan = { 0 };
	struct component *metadata = component_new(COMPONENT_FINISH, PLAN_METADATA, "");
	struct stack_layers how = { .split = SPLIT_SINGLE, .max_size = 1 << 30 };
	struct error err = { 0 };

	(void)state;
	lock_and_open(&b, debian);
	assert_ok(rootfs_add(&r, tree_of(&b, false), &err), err);
	rootfs_remove(&r, rootfs_lookup(&r, "usr/bin/big"));
	component_add_text(metadata, "usr/bin/big", 0644, slice_str("small"));
	assert_ok(rootfs_add(&r, metadata, &err), err);
	assert_ok(plan_make(&r, &how, &plan, &err), err);
	assert_non_null(layer_find(last_layer(&plan), "usr/bin/big"));
	assert_null(layer_find(last_layer(&plan), "usr/bin/.wh.big"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_its_blobs_are_locked_with_their_digests),
		cmocka_unit_test(test_what_it_has_installed_is_found),
		cmocka_unit_test(test_packages_without_dpkg_count_as_installed),
		cmocka_unit_test(test_its_tree_is_what_the_layers_show_together),
		cmocka_unit_test(test_files_that_are_read_later_are_at_hand),
		cmocka_unit_test(test_odd_names_come_back_as_they_were),
		cmocka_unit_test(test_a_base_that_lies_is_refused),
		cmocka_unit_test(test_what_was_locked_is_kept_out_of_the_store),
		cmocka_unit_test(test_names_start_at_the_manifest),
		cmocka_unit_test(test_its_files_are_in_no_layer_and_its_folders_stay_as_they_are),
		cmocka_unit_test(test_what_replaces_a_removed_file_needs_no_whiteout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
