#include "tests/support/scene.h"

#include "base/process.h"
#include "tests/support/test.h"

struct scene *scene_new(const char *fixtures)
{
	struct scene *s = xcalloc(1, sizeof(*s));
	cleanup_free char *store = NULL;

	if (!process_available("gpgv")) {
		free(s);
		skip();
	}
	s->dir = test_dir();
	store = fs_join(s->dir, "store");
	s->fixtures = realpath(fixtures, NULL);
	assert_non_null(s->fixtures);
	s->store = store_open(store, &s->err);
	assert_non_null(s->store);
	s->http = http_client_new(NULL);
	s->out.err = open_memstream(&s->notes, &s->notes_len);
	s->out.out = s->out.err;
	s->stack = (struct stack){ .file = "stack.yaml",
				   .directory = s->fixtures,
				   .sources = s->sources };
	s->stage.name = "runtime";
	s->context = (struct source_context){
		.stack = &s->stack,
		.platform = { .os = "linux", .architecture = "amd64" },
		.store = s->store,
		.http = s->http,
		.out = &s->out,
		.lock = &s->lock,
	};
	s->context.inputs = lockfile_platform(&s->lock, "linux/amd64");
	s->request = (struct source_request){ .source = &s->sources[0],
					      .stage = &s->stage,
					      .packages = s->packages };
	return s;
}

void scene_free(struct scene *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->sources); i++)
		free((char *)s->sources[i].url);
	lockfile_release(&s->lock);
	http_client_free(s->http);
	store_close(s->store);
	fclose(s->out.err);
	free(s->notes);
	free(s->fixtures);
	test_dir_free(s->dir);
	free(s);
}

void scene_add(struct scene *s, struct stack_source source, const char *path)
{
	source.url = xasprintf("file://%s/%s", s->fixtures, path);
	s->sources[s->stack.source_count++] = source;
}

void scene_want(struct scene *s, const char *spec)
{
	size_t n = s->request.package_count++;

	s->packages[n] = (struct stack_package){ .spec = spec, .place = { 7 + n, 3, NULL } };
}

void scene_expect(struct scene *s, bool with_arch, const char *inputs)
{
	cleanup_strbuf struct strbuf got = { 0 };

	for (size_t i = 0; i < s->context.inputs->inputs.len; i++) {
		const struct lock_input *in = &s->context.inputs->inputs.items[i];

		strbuf_addf(&got, "%s%s %s%s%s%s", i ? ", " : "", in->name, in->version,
			    with_arch ? "." : "", with_arch ? in->arch : "",
			    in->requested ? "*" : "");
	}
	assert_string_equal(strbuf_text(&got), inputs);
}

void scene_expect_failure(struct scene *s, int rc, enum error_code code, const char *part)
{
	assert_int_equal(rc, -1);
	assert_contains(s->err.text, part);
	assert_int_equal(s->err.code, code);
	assert_int_equal(s->context.inputs->inputs.len, 0);
}
