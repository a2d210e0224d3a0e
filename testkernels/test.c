#include "testkernels/test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "testkernels/host_driver.h"
#include "testkernels/probe_lines.h"
#include "testkernels/rootdir.h"
#include "testkernels/run_mode.h"
#include "testkernels/scratch.h"
#include "testkernels/test_plan.h"
#include "testkernels/unpack.h"
#include "testkernels/verdict.h"

enum { DEFAULT_TIMEOUT_MS = 60 * 1000, SLACK_MS = 30 * 1000 };

/* Everything of one call. */
struct session {
	struct image *image;
	const struct test_options *options;
	struct test_report *report;
	uint64_t timeout_ms;
	struct scratch scratch;
	char *root; /* absolute path of the tree */
	int rootfd;
	struct image_loader loader;
	struct library_copies copies;
	struct test_plan plan;
	const struct run_mode *mode;
	struct run_context run;
	const char *module_version; /* of the host's kernel module; NULL: unknown */
};

static void session_release(struct session *s)
{
	test_plan_release(&s->plan);
	vec_release(&s->copies);
	image_loader_release(&s->loader);
	if (s->rootfd >= 0)
		close(s->rootfd);
	free(s->root);
	scratch_release(&s->scratch);
}
#define cleanup_session cleanup(session_release)

int test_target_check(const char *target, struct error *err)
{
	size_t skip = str_starts(target, "sm_") ? 3 : str_starts(target, "compute_") ? 8 : 0;
	size_t digits = strspn(target + skip, "0123456789");
	const char *suffix = target + skip + digits;

	if (skip && digits >= 2 && digits <= 4 &&
	    (!*suffix || str_equal(suffix, "a") || str_equal(suffix, "f")))
		return 0;
	return error_set(err, ERROR_USAGE, "target '%.40s' is not of the form sm_90 or compute_90",
			 target);
}

int test_options_check(const struct test_options *o, struct error *err)
{
	if (o->mode && !str_equal(o->mode, "auto") && !str_equal(o->mode, "loader"))
		return error_set(err, ERROR_USAGE, "mode '%.40s' is not one of auto, loader",
				 o->mode);
	for (size_t i = 0; i < o->target_count; i++) {
		if (test_target_check(o->targets[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < o->require_count; i++) {
		const char *what = o->require[i];

		if (!str_equal(what, "load") && !str_equal(what, "run") &&
		    !test_plan_id_known(what))
			return error_set(
				err, ERROR_USAGE,
				"required test '%.80s' is neither load, run nor the id of a "
				"test",
				what);
	}
	return 0;
}

static void describe_image(struct session *s)
{
	struct test_report *r = s->report;
	struct image *image = s->image;
	char text[DIGEST_TEXT_MAX];

	r->image = arena_strdup(&r->arena, image->name ? image->name : "");
	r->mode = s->mode->name;
	if (image->rootfs)
		return;
	r->digest = arena_strdup(&r->arena, digest_text(&image->descriptor.digest, text));
	if (image->config.platform.architecture)
		r->platform = platform_text(&image->config.platform, &r->arena);
}

/* The tree: in place for an unpacked root, else made in the scratch directory. */
static int open_root(struct session *s, struct error *err)
{
	const char *in_place = s->image->rootfs;

	if (in_place) {
		s->root = realpath(in_place, NULL);
		if (!s->root)
			return error_set_errno(err, errno, "%s", in_place);
		if (str_equal(s->root, "/"))
			s->root[0] = '\0'; /* a prefix of paths */
	} else {
		s->root = fs_join(s->scratch.path, "root");
		if (mkdir(s->root, 0755) < 0)
			return error_set_errno(err, errno, "create %s", s->root);
	}
	s->rootfd = open(s->root[0] ? s->root : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->rootfd < 0)
		return error_set_errno(err, errno, "open %s", s->root);
	if (in_place)
		return 0;
	if (s->options->out)
		out_verbose(s->options->out, "unpacking %zu layers into %s",
			    s->image->manifest.layer_count, s->root);
	return unpack_image(s->image, s->rootfd, NULL, err);
}

static uint16_t host_machine(void)
{
	return str_equal(platform_host().architecture, "arm64") ? ELF_MACHINE_AARCH64
								: ELF_MACHINE_X86_64;
}

static void skip_all(struct session *s, enum test_tier tier, const char *reason,
		     const char *message)
{
	for (size_t i = 0; i < s->plan.tests.len; i++) {
		if (s->plan.tests.items[i].tier == tier)
			test_report_skip(s->report, s->plan.tests.items[i].id, tier, reason,
					 message);
	}
}

static void evidence_text(json_t *evidence, const char *key, const char *text)
{
	if (text)
		json_put(evidence, key, json_text(text));
}

static void evidence_list(json_t *evidence, const char *key, const char *const *items, size_t len)
{
	json_t *list = json_array();

	for (size_t i = 0; i < len; i++)
		json_push(list, json_text(items[i]));
	json_put(evidence, key, list);
}

/* load.loader: did the probe come to life through the image's loader? */
static bool report_loader(struct session *s, const struct probe_lines *lines,
			  const struct launch_result *launched)
{
	struct test_result *t = test_report_add(s->report, "load.loader", TIER_LOAD);
	struct arena *arena = &s->report->arena;
	cleanup_strbuf struct strbuf words = { 0 };

	t->attempts = 1;
	t->evidence = json_object();
	json_put(t->evidence, "loader", json_text(arena_printf(arena, "/%s", s->loader.path)));
	evidence_list(t->evidence, "search", s->loader.dirs.items, s->loader.dirs.len);
	json_put(t->evidence, "cache", json_boolean(s->loader.has_cache));
	if (s->loader.forgotten.len) {
		evidence_list(t->evidence, "not_in_cache", s->loader.forgotten.items,
			      s->loader.forgotten.len);
		t->message =
			arena_printf(arena,
				     "%s is in ld.so.conf but not in the loader's cache, so it "
				     "is not searched",
				     s->loader.forgotten.items[0]);
		t->hint = "run ldconfig when the image is built";
	}
	if (lines->hello) {
		evidence_text(t->evidence, "libc",
			      json_string_value(json_object_get(lines->hello, "libc")));
		s->report->env_seen = json_deep_copy(lines->hello);
		json_object_del(s->report->env_seen, "libc");
		json_object_del(s->report->env_seen, "probe");
		return true;
	}
	strbuf_add_quoted(&words, strbuf_slice(&launched->words), 400);
	t->status = TEST_FAIL;
	t->blame = BLAME_IMAGE;
	t->code_name = "loader";
	t->message = arena_printf(arena, "the image's loader /%s did not start the probe: %s",
				  s->loader.path, strbuf_text(&words));
	t->hint = "the image's C library or its loader is missing, damaged or does not run on this "
		  "kernel";
	return false;
}

/* "13.0" and "13.0.88": equal as far as both go. */
static bool versions_agree(const char *a, const char *b)
{
	struct slice rest_a = slice_str(a), rest_b = slice_str(b), part_a, part_b;
	uint64_t na, nb;

	while (slice_cut(&rest_a, '.', &part_a) && slice_cut(&rest_b, '.', &part_b)) {
		if (slice_u64(part_a, &na) && slice_u64(part_b, &nb) && na != nb)
			return false;
	}
	return true;
}

/* What the file's name says against what the library says. */
static void compare_version(const struct library_copy *copy, struct arena *arena,
			    struct test_result *t)
{
	const char *version = json_string_value(json_object_get(t->evidence, "version"));
	const char *name = strrchr(copy->file, '/') + 1;

	if (!version || !strchr(version, '.') || !copy->file_version ||
	    str_equal(name, copy->soname) || str_equal(copy->family->stem, "libnvvm"))
		return;
	evidence_text(t->evidence, "file_version", copy->file_version);
	if (!versions_agree(version, copy->file_version))
		t->message = arena_printf(arena, "%s says it is %s, against its name", copy->file,
					  version);
}

static void add_evidence(struct session *s, const struct planned_test *p,
			 const struct probe_outcome *o, struct test_result *t)
{
	size_t n = strlen(s->run.root);
	const char *library = o ? o->library : NULL;

	t->evidence = o && o->more ? json_incref(o->more) : json_object();
	if (library && s->mode->prefix(&s->run)[0] && strncmp(library, s->run.root, n) == 0)
		library += n;
	evidence_text(t->evidence, "library", library);
	if (o) {
		evidence_text(t->evidence, "call", o->call);
		evidence_text(t->evidence, "last_words", o->last_words);
		evidence_text(t->evidence, "foreign", o->foreign);
	}
	if (p->tier == TIER_RUN) {
		evidence_text(t->evidence, "driver_library_version", s->report->inject_driver);
		evidence_text(t->evidence, "kernel_module_version", s->module_version);
	}
	if (!p->copy)
		return;
	evidence_text(t->evidence, "path", p->copy->path);
	evidence_text(t->evidence, "file", p->copy->file);
	evidence_text(t->evidence, "damage", p->copy->damage);
	json_put(t->evidence, "found_by_name", json_boolean(p->copy->found_by_name));
	compare_version(p->copy, &s->report->arena, t);
}

static void report_test(struct session *s, const struct planned_test *p,
			const struct probe_outcome *o)
{
	struct test_result *t = test_report_add(s->report, p->id, p->tier);
	struct verdict_context c = {
		.tier = p->tier,
		.path = p->copy ? p->copy->path : NULL,
		.damage = p->copy ? p->copy->damage : NULL,
		.root = s->mode->prefix(&s->run),
		.timeout_ms = s->timeout_ms,
		.driver_injected = s->run.driver_dir != NULL,
		.driver_version = s->report->inject_driver,
		.module_version = s->module_version,
	};
	struct verdict v;

	c.driver_from_image =
		o && o->library && s->run.driver_dir && !str_starts(o->library, s->run.driver_dir);
	verdict_of(o, &c, &s->report->arena, &v);
	add_evidence(s, p, o, t);
	t->status = v.status;
	t->blame = v.blame;
	t->code_name = v.code_name ? arena_strdup(&s->report->arena, v.code_name) : NULL;
	if (v.message)
		t->message = v.message;
	t->hint = v.hint;
	t->has_code = o && o->has_code;
	t->code = o ? o->code : 0;
	t->duration_ms = o ? o->duration_ms : 0;
	t->attempts = 1;
	if (t->status == TEST_SKIP)
		t->reason = SKIP_FEATURE;
}

static int run_tier(struct session *s, enum test_tier tier, struct error *err)
{
	cleanup_launch struct launch_result launched = { 0 };
	cleanup_probe_lines struct probe_lines lines = { 0 };

	s->run.timeout_ms = SLACK_MS + s->timeout_ms * (s->plan.tests.len + 1);
	if (s->mode->run(&s->run, strbuf_slice(&s->plan.lines[tier]), &launched, err) < 0)
		return error_wrap(err, "start the probe in mode %s", s->mode->name);
	probe_lines_parse(strbuf_slice(&launched.lines), &lines);
	if (tier == TIER_LOAD && !report_loader(s, &lines, &launched)) {
		skip_all(s, tier, SKIP_MODE, "the probe could not be started");
		return 0;
	}
	for (size_t i = 0; i < s->plan.tests.len; i++) {
		const struct planned_test *p = &s->plan.tests.items[i];

		if (p->tier == tier)
			report_test(s, p, probe_lines_find(&lines, p->id));
	}
	return 0;
}

/* The run tier needs device nodes and a driver library; without them it is skipped. */
static int run_gpu(struct session *s, struct error *err)
{
	struct host_driver driver;
	cleanup_free char *dir = fs_join(s->scratch.path, "driver");

	host_driver_find(s->options->host_root ? s->options->host_root : "", &s->report->arena,
			 &driver);
	if (!driver.has_nodes) {
		skip_all(s, TIER_RUN, SKIP_NO_GPU, "no /dev/nvidiactl on this machine");
		return 0;
	}
	if (!driver.dir) {
		skip_all(s, TIER_RUN, SKIP_NO_DRIVER, "no libcuda.so.1 on this machine");
		return 0;
	}
	if (host_driver_link(&driver, dir, err) < 0)
		return -1;
	s->run.driver_dir = dir;
	s->module_version = driver.module;
	s->report->inject_method = "host-driver";
	s->report->inject_driver = driver.version ? driver.version : driver.module;
	s->report->inject_devices = driver.devices;
	if (run_tier(s, TIER_RUN, err) < 0)
		return -1;
	s->run.driver_dir = NULL;
	return 0;
}

/* Why the probe cannot be started at all, or NULL. */
static const char *cannot_run(struct session *s)
{
	struct test_report *r = s->report;

	if (!s->loader.path) {
		struct test_result *t = test_report_add(r, "load.loader", TIER_LOAD);

		t->status = s->copies.len ? TEST_FAIL : TEST_SKIP;
		t->blame = s->copies.len ? BLAME_IMAGE : BLAME_NONE;
		t->reason = s->copies.len ? NULL : SKIP_NOT_IN_IMAGE;
		t->code_name = s->copies.len ? "no-loader" : NULL;
		t->message = "the image holds no dynamic loader, so that no shared library can be "
			     "used in it";
		return t->message;
	}
	if (s->loader.machine == host_machine())
		return NULL;
	test_report_skip(r, "load.loader", TIER_LOAD, SKIP_MODE,
			 "the image is for another processor than this machine has");
	return "the image is for another processor than this machine has";
}

static int make_plan(struct session *s, struct error *err)
{
	const char *library_path = config_env(&s->image->config, "LD_LIBRARY_PATH");
	struct plan_request request = { .timeout_ms = s->timeout_ms,
					.targets = s->options->targets,
					.target_count = s->options->target_count };

	if (image_loader_find(s->rootfd, library_path, &s->report->arena, &s->loader, err) < 0 ||
	    image_libraries_find(s->rootfd, &s->loader, &s->report->arena, &s->copies, err) < 0)
		return -1;
	s->run = (struct run_context){ .scratch = s->scratch.path,
				       .root = s->root,
				       .loader = &s->loader,
				       .config = &s->image->config };
	test_plan_make(&s->copies, &request, &s->plan);
	return 0;
}

static int run_all(struct session *s, struct error *err)
{
	const char *cannot = cannot_run(s);

	for (int tier = TIER_LOAD; cannot && tier <= TIER_RUN; tier++)
		skip_all(s, (enum test_tier)tier, SKIP_MODE, cannot);
	if (!cannot && (run_tier(s, TIER_LOAD, err) < 0 || run_gpu(s, err) < 0))
		return -1;
	for (size_t i = 0; i < s->plan.skips.len; i++)
		test_report_skip(s->report, s->plan.skips.items[i].mode, TIER_LOAD,
				 SKIP_NOT_IN_IMAGE, s->plan.skips.items[i].reason);
	test_report_require(s->report, s->options->require, s->options->require_count);
	return 0;
}

int test_run(struct image *image, const struct test_options *options, struct test_report *out,
	     struct error *err)
{
	cleanup_session struct session s = {
		.image = image,
		.options = options,
		.report = out,
		.rootfd = -1,
		.scratch = { .dirfd = -1, .guard = -1 },
		.mode = &run_mode_loader,
		.timeout_ms = options->timeout_ms ? options->timeout_ms : DEFAULT_TIMEOUT_MS,
	};

	*out = (struct test_report){ 0 };
	if (test_options_check(options, err) < 0)
		return -1;
	describe_image(&s);
	if (scratch_open(options->tmp_dir, &s.scratch, err) < 0 || open_root(&s, err) < 0 ||
	    make_plan(&s, err) < 0 || run_all(&s, err) < 0) {
		test_report_release(out);
		return -1;
	}
	return 0;
}
