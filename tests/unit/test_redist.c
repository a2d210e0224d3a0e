#include "tests/support/test.h"

#include <stdlib.h>

#include "builder/build.h"
#include "builder/fetch.h"
#include "builder/lock.h"
#include "builder/sources/package_source.h"
#include "formats/tar_read.h"
#include "formats/tar_write.h"
#include "oci/image.h"
#include "tests/support/http_server.h"

/* A folder with redist/ (a repository), a store and a stack. */
struct site {
	char *dir, *url;
	struct store *store;
	struct http_client *http;
	struct stack stack;
	struct lockfile lock;
	struct strbuf manifest; /* being made */
	const char *platform;   /* NULL: linux/amd64 */
};

static void site_release(struct site *s)
{
	stack_release(&s->stack);
	lockfile_release(&s->lock);
	http_client_free(s->http);
	store_close(s->store);
	strbuf_release(&s->manifest);
	free(s->url);
	test_dir_free(s->dir);
}

static void open_site(struct site *s)
{
	cleanup_free char *store = NULL;
	struct error err = { 0 };

	s->dir = test_dir();
	s->url = xasprintf("file://%s/redist/", s->dir);
	store = fs_join(s->dir, "store");
	s->store = store_open(store, &err);
	assert_non_null(s->store);
	s->http = http_client_new(&(struct http_options){ 0 });
	strbuf_adds(&s->manifest,
		    "{ \"release_date\": \"2025-10-09\", \"release_label\": \"13.0.99\", "
		    "\"release_product\": \"cuda\"");
}

static void put(struct site *s, const char *name, struct slice bytes)
{
	cleanup_free char *path = xasprintf("%s/redist/%s", s->dir, name), *parent = xstrdup(path);
	struct error err = { 0 };

	*strrchr(parent, '/') = 0;
	assert_ok(fs_mkdirs(AT_FDCWD, parent, &err), err);
	assert_ok(fs_write(AT_FDCWD, path, bytes, 0644, &err), err);
}

static void add_entry(struct sink *sink, const char *path, const char *text)
{
	struct tar_entry tar = { .type = TAR_FILE,
				 .path = path,
				 .link = "",
				 .mode = 0644,
				 .size = strlen(text),
				 .mtime = 1700000000 };
	cleanup_stream struct stream *content = stream_memory(slice_str(text));
	struct error err = { 0 };

	assert_ok(tar_write_entry(sink, &tar, content, &err), err);
}

/* An archive with a library, a header and a licence, and its place in the manifest. */
static void add_component(struct site *s, const char *key, const char *version)
{
	cleanup_free char *top = xasprintf("%s-linux-x86_64-%s-archive", key, version);
	cleanup_free char *path = xasprintf("%s/linux-x86_64/%s.tar.xz", key, top);
	cleanup_free char *lib = xasprintf("%s/lib/lib%s.so.%s", top, key, version);
	cleanup_free char *header = xasprintf("%s/include/%s.h", top, key);
	cleanup_free char *licence = xasprintf("%s/LICENSE", top);
	cleanup_strbuf struct strbuf tar = { 0 };
	cleanup_sink struct sink *sink = sink_memory(&tar);
	char hex[DIGEST_HEX_MAX];
	struct digest digest;
	struct error err = { 0 };

	add_entry(sink, licence, "terms");
	add_entry(sink, header, "header");
	add_entry(sink, lib, key);
	assert_ok(tar_write_end(sink, &err), err);
	put(s, path, strbuf_slice(&tar));
	digest = digest_of(strbuf_slice(&tar));
	strbuf_addf(&s->manifest,
		    ", \"%s\": { \"license\": \"CUDA Toolkit\", \"version\": \"%s\", "
		    "\"linux-x86_64\": { "
		    "\"relative_path\": \"%s\", \"sha256\": \"%s\", \"size\": \"%zu\" } }",
		    key, version, path, digest_hex(&digest, hex), tar.len);
}

static void write_manifest(struct site *s, const char *label)
{
	cleanup_free char *name = xasprintf("redistrib_%s.json", label);

	strbuf_adds(&s->manifest, " }");
	put(s, name, strbuf_slice(&s->manifest));
}

static void set_stack(struct site *s, const char *cuda, const char *sources, const char *profile,
		      const char *packages)
{
	cleanup_free char *text = xasprintf("gpuimg: 1\nname: acme/app\ntag: \"1\"\n"
					    "platforms: [%s]\nstack: %s\nsources:\n%s"
					    "stages:\n  runtime:\n    profile: %s\n%s",
					    s->platform ? s->platform : "linux/amd64", cuda,
					    sources, profile, packages);
	struct error err = { 0 };

	assert_ok(stack_parse(slice_str(text), "stack.yaml", &s->stack, &err), err);
}

static int lock(struct site *s, struct error *err)
{
	struct lock_request request = { .stack = &s->stack, .store = s->store, .http = s->http };

	return lock_stack(&request, &s->lock, err);
}

/* "cuda_cudart 13.0.96 toolkit;" for each input. */
static char *inputs_of(struct site *s)
{
	struct strbuf b = { 0 };
	const struct lock_platform *p = lockfile_platform(&s->lock, "linux/amd64");

	strbuf_adds(&b, "");
	for (size_t i = 0; i < p->inputs.len; i++)
		strbuf_addf(&b, "%s %s%s%s;", p->inputs.items[i].name, p->inputs.items[i].version,
			    p->inputs.items[i].toolkit ? " toolkit" : "",
			    p->inputs.items[i].requested ? " named" : "");
	return strbuf_steal(&b);
}

static void usual(struct site *s)
{
	open_site(s);
	add_component(s, "cuda_cudart", "13.0.96");
	add_component(s, "libcublas", "13.1.0.3");
	add_component(s, "nvidia_driver", "580.95.05");
	add_component(s, "cuda_compat", "13.0.1");
	strbuf_adds(&s->manifest, ", \"nsight_vse\": { \"version\": \"1\", \"windows-x86_64\": { "
				  "\"relative_path\": \"a.zip\", \"sha256\": \"");
	for (int i = 0; i < 64; i++)
		strbuf_addc(&s->manifest, 'a');
	strbuf_adds(&s->manifest, "\", \"size\": \"1\" } }");
	write_manifest(s, "13.0.99");
}

/* The stack with the usual source and these packages of it. */
static void ask(struct site *s, const char *cuda, const char *profile, const char *specs)
{
	cleanup_free char *sources = xasprintf(
		"  - { id: nv, type: redist, url: \"%s\", suite: \"13.0.99\" }\n", s->url);
	cleanup_free char *packages =
		*specs ? xasprintf("    packages: { nv: [%s] }\n", specs) : xstrdup("");

	set_stack(s, cuda, sources, profile, packages);
}

static void test_the_stack_section_takes_its_components_from_a_redist_source(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_free char *inputs = NULL;
	const struct lock_input *in;
	struct error err = { 0 };

	(void)state;
	usual(&s);
	ask(&s, "{ cuda: \"13.0\" }", "base", "");
	assert_ok(lock(&s, &err), err);
	inputs = inputs_of(&s);
	assert_string_equal(inputs, "cuda_cudart 13.0.96 toolkit;");
	in = &lockfile_platform(&s.lock, "linux/amd64")->inputs.items[0];
	assert_int_equal(in->kind, LOCK_REDIST);
	assert_string_equal(in->arch, "linux-x86_64");
	assert_string_equal(in->license, "CUDA Toolkit");
	assert_true(str_starts(in->url, s.url));
	assert_string_equal(s.lock.stack.cuda, "13.0");
}

static void test_the_manifest_itself_is_recorded(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	struct error err = { 0 };
	struct digest digest;

	(void)state;
	usual(&s);
	digest = digest_of(strbuf_slice(&s.manifest));
	ask(&s, "{ cuda: \"13.0\" }", "base", "libcublas");
	assert_ok(lock(&s, &err), err);
	assert_int_equal(s.lock.sources.len, 1);
	assert_string_equal(s.lock.sources.items[0].type, "redist");
	assert_string_equal(s.lock.sources.items[0].suite, "13.0.99");
	assert_string_equal(s.lock.sources.items[0].date, "2025-10-09T00:00:00Z");
	assert_true(digest_equal(&s.lock.sources.items[0].digest, &digest));
}

static void test_a_lock_with_archives_reads_as_it_was_written(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_lockfile struct lockfile again = { 0 };
	cleanup_strbuf struct strbuf first = { 0 }, second = { 0 };
	struct error err = { 0 };

	(void)state;
	usual(&s);
	ask(&s, "{ cuda: \"13.0\" }", "base", "libcublas");
	assert_ok(lock(&s, &err), err);
	lockfile_write(&s.lock, &first);
	assert_contains(strbuf_text(&first), "\"kind\": \"redist\"");
	assert_ok(lockfile_parse(strbuf_slice(&first), "x.lock.json", &again, &err), err);
	lockfile_write(&again, &second);
	assert_string_equal(strbuf_text(&first), strbuf_text(&second));
}

static void test_components_can_be_named_with_a_version(void **state)
{
	static const char *const specs[] = { "libcublas", "\"libcublas=13.1.*\"",
					     "\"libcublas==13.1.0.3\"", "\"libcublas>=13,<14\"" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		cleanup(site_release) struct site s = { 0 };
		cleanup_free char *inputs = NULL;
		struct error err = { 0 };

		usual(&s);
		ask(&s, "{ cuda: \"13.0\" }", "base", specs[i]);
		assert_ok(lock(&s, &err), err);
		inputs = inputs_of(&s);
		assert_string_equal(
			inputs, "cuda_cudart 13.0.96 toolkit;libcublas 13.1.0.3 toolkit named;");
	}
}

static void test_a_component_that_is_named_and_wanted_is_locked_once(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_free char *inputs = NULL;
	struct error err = { 0 };

	(void)state;
	usual(&s);
	ask(&s, "{ cuda: \"13.0\" }", "base", "cuda_cudart");
	assert_ok(lock(&s, &err), err);
	inputs = inputs_of(&s);
	assert_string_equal(inputs, "cuda_cudart 13.0.96 toolkit named;");
}

static void test_what_cannot_be_taken_says_why(void **state)
{
	static const struct {
		const char *spec;
		enum error_code code;
		const char *part;
	} cases[] = {
		{ "libcubla", ERROR_USAGE,
		  "has no component 'libcubla'; did you mean 'libcublas'?" },
		{ "nvidia_driver", ERROR_USAGE,
		  "nvidia_driver does not go into an image: the driver "
		  "belongs to the host" },
		{ "cuda_compat", ERROR_USAGE, "Jetson" },
		{ "nsight_vse", ERROR_NOT_FOUND,
		  "has no archive for linux-x86_64; there is windows-x86_64" },
		{ "\"libcublas=12.6.*\"", ERROR_VERDICT,
		  "has libcublas 13.1.0.3, and 12.6.* is asked for" },
		{ "\"libcublas=abc\"", ERROR_USAGE, "libcublas: " },
		{ "\"=1\"", ERROR_USAGE, "takes names of components" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup(site_release) struct site s = { 0 };
		struct error err = { 0 };

		usual(&s);
		ask(&s, "{ cuda: \"13.0\" }", "base", cases[i].spec);
		assert_int_equal(lock(&s, &err), -1);
		assert_contains(err.text, cases[i].part);
		assert_int_equal(err.code, cases[i].code);
	}
}

static void test_without_a_cuda_version_there_is_no_folder_to_go_to(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	struct error err = { 0 };

	(void)state;
	usual(&s);
	ask(&s, "{}", "base", "libcublas");
	assert_int_equal(lock(&s, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "stack.yaml:7:5: source 'nv' of type redist needs stack.cuda");
}

static void test_the_label_comes_from_the_stack_and_is_pinned(void **state)
{
	static const char *const cases[][2] = {
		{ "13.0", "redistrib_13.0.3.json: its SHA-256 is not " },
		{ "13.0.2", "redistrib_13.0.2.json: its SHA-256 is not "
			    "fce66717a81c510ffeb89ecc3e79849ab34af3b80139f750876d9033e31d71c2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup(site_release) struct site s = { 0 };
		cleanup_free char *cuda = xasprintf("{ cuda: \"%s\" }", cases[i][0]),
				  *sources = NULL;
		struct error err = { 0 };

		usual(&s);
		put(&s, "redistrib_13.0.3.json", strbuf_slice(&s.manifest));
		put(&s, "redistrib_13.0.2.json", strbuf_slice(&s.manifest));
		sources = xasprintf("  - { id: nv, type: redist, url: \"%s\" }\n", s.url);
		set_stack(&s, cuda, sources, "base", "");
		assert_int_equal(lock(&s, &err), -1);
		assert_int_equal(err.code, ERROR_INTEGRITY);
		assert_contains(err.text, cases[i][1]);
	}
}

static void test_a_manifest_that_is_not_there_is_named(void **state)
{
	cleanup_http_server struct http_server *server = NULL;
	static const struct http_server_step steps[] = { { .answer = "404 Not Found\r\n\r\n" } };
	cleanup(site_release) struct site s = { 0 };
	cleanup_free char *sources = NULL;
	struct error err = { 0 };

	(void)state;
	server = http_server_start(steps, ARRAY_LEN(steps));
	open_site(&s);
	sources = xasprintf(
		"  - { id: nv, type: redist, url: \"%s/cuda/redist\", suite: \"13.9.9\" }\n",
		http_server_url(server));
	set_stack(&s, "{ cuda: \"13.0\" }", sources, "base", "");
	assert_int_equal(lock(&s, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "source nv: ");
	assert_contains(http_server_request(server, 0), "GET /cuda/redist/redistrib_13.9.9.json ");
}

static void test_a_folder_of_cudnn_takes_its_label_from_stack_cudnn(void **state)
{
	cleanup_http_server struct http_server *server = NULL;
	static const struct http_server_step steps[] = { { .answer = "404 Not Found\r\n\r\n" } };
	cleanup(site_release) struct site s = { 0 };
	cleanup_free char *sources = NULL;
	struct error err = { 0 };

	(void)state;
	server = http_server_start(steps, ARRAY_LEN(steps));
	open_site(&s);
	sources = xasprintf("  - { id: nv, type: redist, url: \"%s/cudnn/redist/\" }\n",
			    http_server_url(server));
	set_stack(&s, "{ cuda: \"13.0\", cudnn: \"9.14.0\" }", sources, "runtime", "");
	assert_int_equal(lock(&s, &err), -1);
	assert_contains(http_server_request(server, 0), "GET /cudnn/redist/redistrib_9.14.0.json ");
}

static void test_a_manifest_of_another_product_is_refused(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s);
	add_component(&s, "cuda_cudart", "13.0.96");
	free(s.url);
	s.url = xasprintf("file://%s/redist/cudnn/redist/", s.dir);
	strbuf_adds(&s.manifest, " }");
	put(&s, "cudnn/redist/redistrib_13.0.99.json", strbuf_slice(&s.manifest));
	ask(&s, "{ cuda: \"13.0\" }", "base", "");
	assert_int_equal(lock(&s, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text,
			"redistrib_13.0.99.json is of the product 'cuda', and lies in the "
			"folder of 'cudnn'");
}

static void test_a_component_that_no_source_has_is_asked_of_nobody(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	struct error err = { 0 };

	(void)state;
	usual(&s);
	ask(&s, "{ cuda: \"13.0\" }", "runtime", ""); /* the manifest has no NVRTC */
	assert_int_equal(lock(&s, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "and no source has it");
}

static int build(struct site *s, struct build_result *result, struct error *err)
{
	cleanup_free char *destination = xasprintf("oci:%s/out:1", s->dir);
	const char *destinations[] = { destination };
	struct build_request request = { .stack = &s->stack,
					 .lock = &s->lock,
					 .store = s->store,
					 .destinations = destinations,
					 .destination_count = 1,
					 .threads = 2 };
	struct fetch_request fetch = { .lock = &s->lock, .store = s->store };
	struct fetch_result fetched;

	if (fetch_lock(&fetch, &fetched, err) < 0)
		return -1;
	return build_run(&request, result, err);
}

static bool image_has(struct site *s, const char *path)
{
	cleanup_free char *destination = xasprintf("oci:%s/out:1", s->dir);
	struct platform amd64 = { .os = "linux", .architecture = "amd64" };
	cleanup_arena struct arena arena = { 0 };
	cleanup_image struct image image = { 0 };
	struct image_name name;
	struct error err = { 0 };
	bool found = false;

	assert_ok(image_name_parse(destination, &arena, &name, &err), err);
	assert_ok(image_open(&name, &amd64, &image, &err), err);
	for (size_t i = 0; i < image.manifest.layer_count; i++) {
		cleanup_stream struct stream *layer = image_layer(&image, i, &err);
		cleanup_tar_reader struct tar_reader *tar = tar_read_open(layer);
		struct tar_entry e;

		while (tar_read_next(tar, &e, &err) > 0)
			found |= str_equal(e.path, path);
	}
	return found;
}

static void test_an_image_is_built_of_archives(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	struct error err = { 0 };

	(void)state;
	usual(&s);
	ask(&s, "{ cuda: \"13.0\" }", "base", "libcublas");
	assert_ok(lock(&s, &err), err);
	assert_ok(build(&s, &result, &err), err);
	assert_true(image_has(&s, "usr/local/cuda-13.0/targets/x86_64-linux/lib/"
				  "libcuda_cudart.so.13.0.96"));
	assert_true(image_has(&s, "usr/local/cuda-13.0/targets/x86_64-linux/lib/"
				  "liblibcublas.so.13.1.0.3"));
	assert_true(image_has(&s, "usr/local/cuda"));
	assert_true(image_has(&s, "usr/local/cuda-13.0/lib64"));
	assert_true(image_has(&s, "usr/share/doc/libcublas/LICENSE"));
	assert_false(image_has(&s, "usr/local/cuda-13.0/targets/x86_64-linux/include/libcublas.h"));
}

static void test_an_archive_that_is_not_what_was_locked_is_refused(void **state)
{
	cleanup(site_release) struct site s = { 0 };
	cleanup_build_result struct build_result result = { 0 };
	struct error err = { 0 };

	(void)state;
	usual(&s);
	ask(&s, "{ cuda: \"13.0\" }", "base", "");
	assert_ok(lock(&s, &err), err);
	put(&s, "cuda_cudart/linux-x86_64/cuda_cudart-linux-x86_64-13.0.96-archive.tar.xz",
	    slice_str("something else"));
	assert_int_equal(build(&s, &result, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "cuda_cudart 13.0.96");
}

/* A python3 that is found first, keeps what pip is asked for, and cannot do it. */
static char *lock_with_wheels(struct site *s, const char *profile, bool wheels_first, int *rc,
			      struct error *err)
{
	static const char wheels[] = "  - { id: pip, type: wheels, from: host }\n";
	cleanup_free char *sources = NULL, *path = NULL, *before = xstrdup(getenv("PATH"));
	cleanup_free char *python = fs_join(s->dir, "python3"), *asked = fs_join(s->dir, "asked");
	cleanup_free char *script = xasprintf("#!/bin/sh\nprintf '%%s\\n' \"$@\" >>%s\n"
					      "for a; do case $a in *constraints*) continue; esac\n"
					      "[ -f \"$a\" ] && cat \"$a\" >>%s; done\nexit 1\n",
					      asked, asked);
	struct strbuf text = { 0 };
	struct error ignored = { 0 };

	sources = xasprintf("%s  - { id: nv, type: redist, url: \"%s\", suite: \"13.0.99\" }\n%s",
			    wheels_first ? wheels : "", s->url, wheels_first ? "" : wheels);
	set_stack(s, "{ cuda: \"13.0\" }", sources, profile, "");
	assert_ok(fs_write(AT_FDCWD, python, slice_str(script), 0755, err), *err);
	path = xasprintf("%s:%s", s->dir, before);
	setenv("PATH", path, 1);
	*rc = lock(s, err);
	setenv("PATH", before, 1);
	strbuf_adds(&text, "");
	if (fs_read(AT_FDCWD, asked, MIB, &text, &ignored) < 0)
		strbuf_truncate(&text, 0);
	return strbuf_steal(&text);
}

static void test_the_first_source_that_has_a_component_brings_it(void **state)
{
	static const struct {
		const char *profile;
		bool wheels_first;
		int rc;
		const char *asked, *not_asked;
	} cases[] = {
		{ "base", false, 0, "", "nvidia-" },
		{ "base", true, -1, "nvidia-cuda-runtime", "cublas" },
		{ "runtime", false, -1, "nvidia-cuda-nvrtc", "nvidia-cublas" },
		{ "runtime", false, -1, "nvidia-cufft", "nvidia-cuda-runtime" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup(site_release) struct site s = { 0 };
		cleanup_free char *asked = NULL;
		struct error err = { 0 };
		int rc;

		usual(&s);
		asked = lock_with_wheels(&s, cases[i].profile, cases[i].wheels_first, &rc, &err);
		if (rc != cases[i].rc)
			fail_msg("case %zu: %s", i, err.text);
		assert_contains(asked, cases[i].asked);
		if (strstr(asked, cases[i].not_asked))
			fail_msg("case %zu: asked for %s", i, cases[i].not_asked);
	}
}

static void test_arm64_takes_the_archives_for_servers(void **state)
{
	cleanup(site_release) struct site s = { .platform = "linux/arm64" };
	cleanup_free char *sources = NULL;
	struct error err = { 0 };

	(void)state;
	usual(&s);
	sources = xasprintf("  - { id: nv, type: redist, url: \"%s\", suite: \"13.0.99\" }\n"
			    "  - { id: kit, type: dir, path: kit }\n",
			    s.url);
	set_stack(&s, "{ cuda: \"13.0\" }", sources, "base",
		  "    packages: { nv: [cuda_cudart] }\n");
	assert_int_equal(lock(&s, &err), -1);
	assert_contains(err.text, "cuda_cudart 13.0.96 has no archive for linux-sbsa; there is "
				  "linux-x86_64");
}

static void test_devel_needs_the_parts_of_nvcc_only_where_they_are_parts(void **state)
{
	static const char *const keys[] = { "cuda_cudart",       "cuda_nvcc",    "cuda_cccl",
					    "cuda_nvrtc",        "libnvjitlink", "cuda_nvtx",
					    "cuda_profiler_api", "libcublas",    "libcufft",
					    "libcurand",         "libcusolver",  "libcusparse",
					    "cuda_cuobjdump" };
	static const char *const stacks[][2] = { { "{ cuda: \"12.4\" }", "" },
						 { "{ cuda: \"13.0\" }", "no cuda_crt" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stacks); i++) {
		cleanup(site_release) struct site s = { 0 };
		cleanup_free char *inputs = NULL;
		struct error err = { 0 };
		int rc;

		open_site(&s);
		for (size_t k = 0; k < ARRAY_LEN(keys); k++)
			add_component(&s, keys[k], "12.4.127");
		write_manifest(&s, "13.0.99");
		ask(&s, stacks[i][0], "devel", "");
		rc = lock(&s, &err);
		inputs = inputs_of(&s);
		if (!*stacks[i][1]) {
			assert_ok(rc, err);
			assert_contains(inputs, "libcusparse 12.4.127 toolkit;");
			assert_contains(inputs, "cuda_cuobjdump 12.4.127 toolkit;");
			continue;
		}
		assert_int_equal(rc, -1);
		assert_contains(err.text, stacks[i][1]);
	}
}

static void test_a_manifest_that_nothing_proves_is_refused(void **state)
{
	static const struct http_server_step steps[] = { { .answer = "200 OK\r\n\r\n{}" } };
	cleanup_http_server struct http_server *server = http_server_start(steps, ARRAY_LEN(steps));
	cleanup(site_release) struct site s = { 0 };
	struct error err = { 0 };

	(void)state;
	open_site(&s);
	setenv("http_proxy", http_server_url(server), 1);
	set_stack(&s, "{ cuda: \"13.0\" }",
		  "  - { id: nv, type: redist, url: \"http://mirror.example/cuda/redist\", "
		  "suite: \"13.0.99\" }\n",
		  "base", "");
	assert_int_equal(lock(&s, &err), -1);
	unsetenv("http_proxy");
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "source nv: redistrib_13.0.99.json: nothing proves it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_stack_section_takes_its_components_from_a_redist_source),
		cmocka_unit_test(test_the_manifest_itself_is_recorded),
		cmocka_unit_test(test_a_lock_with_archives_reads_as_it_was_written),
		cmocka_unit_test(test_components_can_be_named_with_a_version),
		cmocka_unit_test(test_a_component_that_is_named_and_wanted_is_locked_once),
		cmocka_unit_test(test_what_cannot_be_taken_says_why),
		cmocka_unit_test(test_without_a_cuda_version_there_is_no_folder_to_go_to),
		cmocka_unit_test(test_the_label_comes_from_the_stack_and_is_pinned),
		cmocka_unit_test(test_a_manifest_that_is_not_there_is_named),
		cmocka_unit_test(test_a_folder_of_cudnn_takes_its_label_from_stack_cudnn),
		cmocka_unit_test(test_a_manifest_of_another_product_is_refused),
		cmocka_unit_test(test_a_component_that_no_source_has_is_asked_of_nobody),
		cmocka_unit_test(test_the_first_source_that_has_a_component_brings_it),
		cmocka_unit_test(test_arm64_takes_the_archives_for_servers),
		cmocka_unit_test(test_devel_needs_the_parts_of_nvcc_only_where_they_are_parts),
		cmocka_unit_test(test_a_manifest_that_nothing_proves_is_refused),
		cmocka_unit_test(test_an_image_is_built_of_archives),
		cmocka_unit_test(test_an_archive_that_is_not_what_was_locked_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
