#include "base/alloc.h"
#include "base/base64.h"
#include "base/fs.h"
#include "testkernels/fleet.h"
#include "testkernels/test_session.h"

enum { CONFIG_MAP_MAX = 1000 * 1000 };

static const struct target {
	const char *name;
	void (*write)(const struct fleet_job *job, struct fleet_files *out);
} targets[] = {
	{ "kubernetes", fleet_kubernetes },
	{ "slurm", fleet_slurm },
	{ "docker-compose", fleet_compose },
};

void fleet_files_release(struct fleet_files *files)
{
	for (size_t i = 0; i < files->len; i++) {
		free(files->items[i].name);
		strbuf_release(&files->items[i].bytes);
	}
	vec_release(files);
}

struct fleet_file *fleet_file_add(struct fleet_files *files, const char *name, bool executable)
{
	struct fleet_file *f = vec_add(files);

	f->name = xstrdup(name);
	f->executable = executable;
	return f;
}

void fleet_quote(struct strbuf *out, const char *text)
{
	cleanup_json json_t *value = json_text(text);

	json_canonical(value, out);
}

static const struct target *find_target(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		if (name && str_equal(targets[i].name, name))
			return &targets[i];
	}
	return NULL;
}

/* A DNS label, which is what Kubernetes takes, and Slurm and compose too. */
static bool is_label(const char *name)
{
	size_t n = strlen(name);

	return n && n <= 50 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n &&
	       name[0] != '-' && name[n - 1] != '-';
}

int fleet_request_check(const struct fleet_request *q, struct error *err)
{
	if (!find_target(q->target))
		return error_set(err, ERROR_USAGE,
				 "--for '%.40s' is not one of kubernetes, slurm, docker-compose",
				 q->target ? q->target : "");
	if (q->name && !is_label(q->name))
		return error_set(err, ERROR_USAGE,
				 "job name '%.60s' is not of small letters, digits and '-', at "
				 "most 50",
				 q->name);
	if (q->queue && strpbrk(q->queue, "\n\"' "))
		return error_set(err, ERROR_USAGE, "queue '%.60s' is no name of a queue", q->queue);
	if (q->rootfs && (q->rootfs[0] != '/' || strpbrk(q->rootfs, ":;'\n")))
		return error_set(err, ERROR_USAGE,
				 "--rootfs '%.80s' must be an absolute path without : ; and quotes",
				 q->rootfs);
	return 0;
}

/* A line that the probe says as it is. */
static void add_line(struct strbuf *plan, json_t *o)
{
	cleanup_json json_t *line = o;

	strbuf_addc(plan, '#');
	json_canonical(line, plan);
	strbuf_addc(plan, '\n');
}

static void put(json_t *o, const char *key, const char *text)
{
	if (text)
		json_put(o, key, json_text(text));
}

static void add_test_line(struct strbuf *plan, const struct planned_test *t)
{
	json_t *o = json_object();

	put(o, "plan_test", t->id);
	put(o, "tier", t->tier == TIER_LOAD ? "load" : "run");
	if (t->copy) {
		put(o, "stem", t->copy->family->stem);
		put(o, "soname", t->copy->soname);
		put(o, "path", t->copy->path);
		put(o, "file", t->copy->file);
		put(o, "file_version", t->copy->file_version);
		put(o, "damage", t->copy->damage);
		json_put(o, "found_by_name", json_boolean(t->copy->found_by_name));
	}
	if (t->command)
		json_put(o, "command", json_true());
	put(o, "expect", t->expect);
	put(o, "words", t->words);
	add_line(plan, o);
}

static void make_text(const struct test_session *s, struct strbuf *plan)
{
	const struct image *image = s->image;
	char digest[DIGEST_TEXT_MAX];
	json_t *head = json_object();

	json_put(head, "plan", json_integer(1));
	put(head, "image", image->name);
	if (!image->rootfs)
		put(head, "digest", digest_text(&image->descriptor.digest, digest));
	if (image->config.platform.architecture)
		put(head, "platform", platform_text(&image->config.platform, &s->report->arena));
	json_put(head, "loader", json_text(s->loader.path));
	json_put(head, "timeout_ms", json_integer((json_int_t)s->timeout_ms));
	add_line(plan, head);
	for (size_t i = 0; i < s->plan.tests.len; i++)
		add_test_line(plan, &s->plan.tests.items[i]);
	for (size_t i = 0; i < s->plan.skips.len; i++) {
		json_t *o = json_object();

		put(o, "plan_skip", s->plan.skips.items[i].id);
		put(o, "tier", s->plan.skips.items[i].tier == TIER_LOAD ? "load" : "run");
		put(o, "why", s->plan.skips.items[i].why);
		add_line(plan, o);
	}
	for (size_t tier = 0; tier < ARRAY_LEN(s->plan.lines); tier++) {
		if (s->plan.lines[tier].len)
			strbuf_addf(plan, "%s\n", strbuf_text(&s->plan.lines[tier]));
	}
}

static void release(struct test_session *s)
{
	test_plan_release(&s->plan);
	vec_release(&s->copies);
	vec_release(&s->code);
	image_loader_release(&s->loader);
	tree_close(&s->tree);
	scratch_release(&s->scratch);
}

static int make_plan(struct test_session *s, struct error *err)
{
	const struct test_options *o = s->options;
	const char *library_path = config_env(&s->image->config, "LD_LIBRARY_PATH");
	struct plan_request request = { .timeout_ms = s->timeout_ms,
					.targets = o->targets,
					.target_count = o->target_count,
					.commands = o->commands,
					.command_count = o->command_count,
					.code = &s->code,
					.injected = true };

	if (scratch_open(o->tmp_dir, &s->scratch, err) < 0 ||
	    tree_open(s->image, o->cache_dir, s->scratch.path, &s->tree, err) < 0 ||
	    image_loader_find(s->tree.fd, library_path, &s->report->arena, &s->loader, err) < 0 ||
	    image_libraries_find(s->tree.fd, &s->loader, &s->report->arena, &s->copies, err) < 0 ||
	    image_code_find(s->tree.fd, &s->report->arena, &s->code, err) < 0)
		return -1;
	if (!s->loader.path)
		return error_set(err, ERROR_USAGE,
				 "the image holds no dynamic loader, so there is nothing to test");
	test_plan_make(&s->copies, &request, &s->plan);
	return 0;
}

/* What nodes can pull: a registry's name with the digest that was tested. */
static char *node_image(const struct image *image, const struct fleet_request *q)
{
	const char *name = q->image ? q->image : image->name ? image->name : "";
	char digest[DIGEST_TEXT_MAX];

	if (!q->image && str_starts(name, "docker://") && !strchr(name, '@'))
		return xasprintf("%s@%s", name + strlen("docker://"),
				 digest_text(&image->descriptor.digest, digest));
	if (str_starts(name, "docker://"))
		name += strlen("docker://");
	return xstrdup(name);
}

int fleet_emit(struct image *image, const struct test_options *options,
	       const struct fleet_request *q, struct fleet_files *out, struct error *err)
{
	cleanup_test_report struct test_report report = { 0 };
	cleanup(release) struct test_session s = {
		.image = image,
		.options = options,
		.report = &report,
		.tree = { .fd = -1, .lock = -1 },
		.scratch = { .dirfd = -1, .guard = -1 },
		.timeout_ms = options->timeout_ms ? options->timeout_ms : 60 * 1000,
	};
	cleanup_free char *name = NULL;
	struct fleet_job job = { .request = q,
				 .config = &image->config,
				 .loader = &s.loader,
				 .name = q->name ? q->name : "gpuimg-test" };

	if (fleet_request_check(q, err) < 0 || make_plan(&s, err) < 0)
		return -1;
	name = node_image(image, q);
	job.image = name;
	make_text(&s, &job.plan);
	base64_encode(slice_of(probe_bytes, probe_size), &job.probe_base64);
	if (job.plan.len + job.probe_base64.len > CONFIG_MAP_MAX) {
		error_set(err, ERROR_LIMIT, "probe and plan are %zu bytes; a ConfigMap holds %d",
			  job.plan.len + job.probe_base64.len, CONFIG_MAP_MAX);
	} else {
		find_target(q->target)->write(&job, out);
	}
	strbuf_release(&job.plan);
	strbuf_release(&job.probe_base64);
	return out->len ? 0 : -1;
}
