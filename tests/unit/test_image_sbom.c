#include "tests/support/test.h"

#include "base/sink.h"
#include "builder/image_sbom.h"

/* A small tree of a .deb, a wheel and files, and what assembling it went on. */
struct fixture {
	struct lock_platform inputs;
	struct assembly assembly;
	struct assembled tree;
	struct sbom sbom;
};

static void add(struct fixture *f, enum component_kind kind, const char *name, const char *path,
		const char *license)
{
	struct component *c = component_new(kind, name, "1:2");
	struct error err = { 0 };

	c->license = license;
	c->arch = "amd64";
	component_add_text(c, path, 0644, slice_str(name));
	assert_ok(rootfs_add(&f->tree.rootfs, c, &err), err);
}

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct lock_input in = { .kind = LOCK_DEB,
				 .stage = "runtime",
				 .name = "tool",
				 .version = "1:2",
				 .url = "https://example.org/tool.deb" };

	in.digest = digest_of(slice_str("tool.deb"));
	vec_push(&f->inputs.inputs, in);
	f->inputs.platform = "linux/amd64";
	f->assembly.inputs = &f->inputs;
	add(f, COMPONENT_DEB, "tool", "usr/bin/tool", "");
	add(f, COMPONENT_WHEEL, "Nvidia_cublas", "opt/libcublas.so.12", "NVIDIA Proprietary");
	add(f, COMPONENT_TREE, "files", "opt/a\nb", "");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	sbom_release(&f->sbom);
	assembled_release(&f->tree);
	vec_release(&f->inputs.inputs);
	free(f);
	return 0;
}

static const struct sbom_component *find(const struct fixture *f, const char *name)
{
	for (size_t i = 0; i < f->sbom.components.len; i++) {
		if (str_equal(f->sbom.components.items[i].name, name))
			return &f->sbom.components.items[i];
	}
	fail_msg("no component %s", name);
	return NULL;
}

static void make(struct fixture *f)
{
	struct error err = { 0 };

	assert_ok(image_sbom_make(&f->assembly, &f->tree, &f->sbom, &err), err);
}

static void test_a_path_without_an_owner_is_no_image(void **state)
{
	struct fixture *f = *state;
	struct error err = { 0 };

	rootfs_lookup(&f->tree.rootfs, "usr/bin/tool")->owner = NULL;
	assert_int_equal(image_sbom_make(&f->assembly, &f->tree, &f->sbom, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "/usr/bin/tool: belongs to no package");
}

static void test_components_have_the_digest_and_address_of_the_lock(void **state)
{
	struct fixture *f = *state;
	const struct sbom_component *c;

	make(f);
	c = find(f, "tool");
	assert_true(c->has_digest);
	assert_true(digest_equal(&c->digest, &f->inputs.inputs.items[0].digest));
	assert_string_equal(c->url, "https://example.org/tool.deb");
	assert_string_equal(c->purl, "pkg:deb/debian/tool@1%3A2?arch=amd64");
	assert_int_equal(c->files, 1);
}

static void test_libraries_of_nvidia_say_what_may_be_handed_on(void **state)
{
	struct fixture *f = *state;
	const struct sbom_component *c;

	make(f);
	c = find(f, "Nvidia_cublas");
	assert_string_equal(c->purl, "pkg:pypi/nvidia-cublas@1%3A2");
	assert_string_equal(c->license, "LicenseRef-NVIDIA-Proprietary");
	assert_int_equal(c->libraries.len, 1);
	assert_string_equal(c->libraries.items[0].path, "/opt/libcublas.so.12");
	assert_string_equal(c->redistribution, "named in Attachment A of the CUDA Toolkit EULA");
}

static void test_the_accounting_has_a_line_for_every_path(void **state)
{
	struct fixture *f = *state;
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_sink struct sink *sink = sink_memory(&text);
	struct error err = { 0 };

	assert_ok(image_sbom_write_files(&f->tree, sink, &err), err);
	assert_string_equal(strbuf_text(&text), "implied\t/opt\n"
						"files files 1:2\t/opt/a\\x0ab\n"
						"wheel Nvidia_cublas 1:2\t/opt/libcublas.so.12\n"
						"implied\t/usr\n"
						"implied\t/usr/bin\n"
						"deb tool 1:2\t/usr/bin/tool\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_path_without_an_owner_is_no_image, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			test_components_have_the_digest_and_address_of_the_lock, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_libraries_of_nvidia_say_what_may_be_handed_on,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_accounting_has_a_line_for_every_path,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
