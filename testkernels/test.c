#include "testkernels/test.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "base/pool.h"
#include "testkernels/library_owner.h"
#include "testkernels/test_session.h"

enum { DEFAULT_TIMEOUT_MS = 60 * 1000, SLACK_MS = 30 * 1000 };

static void session_release(struct test_session *s)
{
	test_plan_release(&s->plan);
	injection_release(&s->injection);
	vec_release(&s->copies);
	vec_release(&s->code);
	vec_release(&s->ptx);
	free(s->ptx_dir);
	image_loader_release(&s->loader);
	tree_close(&s->tree);
	scratch_release(&s->scratch);
}
#define cleanup_session cleanup(session_release)

/* ERROR_USAGE unless it is a word like "sm_90", "sm_100a" or "compute_80". */
static int check_target(const char *target, struct error *err)
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
	static const char *const methods[] = { "auto", "cdi", "legacy", "enroot", "none" };
	bool known = !o->inject;

	uint64_t version;

	if (test_mode_check(o->mode, o->engine, err) < 0 ||
	    (o->driver && test_driver_check(o->driver, &version, err) < 0))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		known |= o->inject && str_equal(o->inject, methods[i]);
	if (!known)
		return error_set(err, ERROR_USAGE,
				 "injection '%.40s' is not one of auto, cdi, legacy, enroot, none",
				 o->inject);
	for (size_t i = 0; i < o->target_count; i++) {
		if (check_target(o->targets[i], err) < 0)
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

static void describe_image(struct test_session *s)
{
	struct test_report *r = s->report;
	struct image *image = s->image;
	char text[DIGEST_TEXT_MAX];

	r->image = arena_strdup(&r->arena, image->name ? image->name : "");
	if (image->rootfs)
		return;
	r->digest = arena_strdup(&r->arena, digest_text(&image->descriptor.digest, text));
	if (image->config.platform.architecture)
		r->platform = platform_text(&image->config.platform, &r->arena);
}

static int open_tree(struct test_session *s, struct error *err)
{
	if (s->options->out && !s->image->rootfs)
		out_verbose(s->options->out, "looking for the tree of %zu layers, or unpacking it",
			    s->image->manifest.layer_count);
	return tree_open(s->image, s->options->cache_dir, s->scratch.path, &s->tree, err);
}

static uint16_t host_machine(void)
{
	return str_equal(platform_host().architecture, "arm64") ? ELF_MACHINE_AARCH64
								: ELF_MACHINE_X86_64;
}

static void skip_all(struct test_session *s, enum test_tier tier, const char *reason,
		     const char *message)
{
	for (size_t i = 0; i < s->plan.tests.len; i++) {
		if (s->plan.tests.items[i].tier == tier)
			test_report_skip(s->report, s->plan.tests.items[i].id, tier, reason,
					 message);
	}
}

static int run_tier(struct test_session *s, enum test_tier tier, struct error *err)
{
	cleanup_launch struct launch_result launched = { 0 };
	cleanup_probe_lines struct probe_lines lines = { 0 };

	s->run.timeout_ms = SLACK_MS + s->timeout_ms * (s->plan.tests.len + 1);
	if (s->mode->run(&s->run, strbuf_slice(&s->plan.lines[tier]), &launched, err) < 0)
		return error_wrap(err, "start the probe in mode %s", s->mode->name);
	probe_lines_parse(strbuf_slice(&launched.lines), &lines);
	if (tier == TIER_LOAD && !test_report_loader(s, &lines, &launched)) {
		skip_all(s, tier, SKIP_MODE, "the probe could not be started");
		return 0;
	}
	for (size_t i = 0; i < s->plan.tests.len; i++) {
		const struct planned_test *p = &s->plan.tests.items[i];

		if (p->tier == tier)
			test_report_outcome(s, p, probe_lines_find(&lines, p->id));
	}
	return 0;
}

/* The run tier needs devices and a driver; without them it is skipped. */
static int run_gpu(struct test_session *s, struct error *err)
{
	cleanup_free char *edits = fs_join(s->scratch.path, "edits");
	cleanup_free char *dir = fs_join(s->scratch.path, "driver");
	int rc;

	test_report_injection(s);
	if (s->injection.skip) {
		skip_all(s, TIER_RUN, s->injection.skip, s->injection.why);
		return 0;
	}
	rc = s->mode->container ? inject_apply(&s->injection, s->tree.fd, &s->loader, edits,
					       &s->report->arena, err)
				: inject_link(&s->injection, dir, err);
	if (rc < 0)
		return -1;
	s->run.injection = &s->injection;
	s->run.edits = s->mode->container ? edits : NULL;
	s->run.driver_dir = s->mode->container ? NULL : dir;
	rc = run_tier(s, TIER_RUN, err);
	s->run.driver_dir = s->run.edits = NULL;
	s->run.injection = NULL;
	return rc;
}

/* Why the probe cannot be started at all, or NULL. */
static const char *cannot_run(struct test_session *s)
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

static int find_injection(struct test_session *s, struct error *err)
{
	const struct test_options *o = s->options;
	struct inject_request q = { .method = o->inject,
				    .devices = o->devices,
				    .device_count = o->device_count,
				    .cdi_dirs = o->cdi_dirs,
				    .host_root = o->host_root,
				    .config = &s->image->config };

	return inject_find(&q, &s->report->arena, &s->injection, err);
}

/* The image's PTX, kept beside its tree where that is kept. */
static int find_ptx(struct test_session *s, struct error *err)
{
	cleanup_free char *parent = xstrdup(s->tree.path);
	bool kept = s->tree.lock >= 0;

	if (kept)
		*strrchr(parent, '/') = '\0';
	s->ptx_dir = fs_join(kept ? parent : s->scratch.path, "ptx");
	return image_ptx_find(s->tree.fd, s->ptx_dir, &s->report->arena, &s->ptx, err);
}

static int make_plan(struct test_session *s, struct error *err)
{
	const struct image_config *config = &s->image->config;
	const char *library_path = config_env(config, "LD_LIBRARY_PATH");
	const struct test_options *o = s->options;
	struct plan_request request = { .timeout_ms = s->timeout_ms,
					.targets = o->targets,
					.target_count = o->target_count,
					.commands = o->commands,
					.command_count = o->command_count,
					.jobs = pool_processors(),
					.ptx = &s->ptx,
					.injection = &s->injection };

	if (image_loader_find(s->tree.fd, library_path, &s->report->arena, &s->loader, err) < 0 ||
	    image_libraries_find(s->tree.fd, &s->loader, &s->report->arena, &s->copies, err) < 0 ||
	    find_ptx(s, err) < 0 || find_injection(s, err) < 0)
		return -1;
	if (!s->injection.skip) {
		if (image_code_find(s->tree.fd, &s->report->arena, &s->code, err) < 0)
			return -1;
		request.code = &s->code;
	}
	library_owners_find(s->tree.fd, &s->report->arena, &s->copies);
	image_user_find(s->tree.fd, config->user, &s->report->arena, &s->user);
	s->run = (struct run_context){ .scratch = s->scratch.path,
				       .root = s->tree.path,
				       .loader = &s->loader,
				       .config = config,
				       .user = &s->user,
				       .ptx_dir = s->ptx_dir,
				       .shm_bytes = o->shm_bytes,
				       .host_network = o->host_network,
				       .engine_image = o->engine_image,
				       .engine_options = o->engine_options };
	test_plan_make(&s->copies, &request, &s->plan);
	return 0;
}

/* Loader mode starts the image's programs with the host's files around them: commands mean more. */
static void drop_commands(struct test_session *s)
{
	for (size_t i = 0; !s->mode->container && i < s->plan.tests.len; i++) {
		struct planned_test *p = &s->plan.tests.items[i];

		if (!p->command)
			continue;
		test_report_skip(s->report, p->id, p->tier, SKIP_MODE,
				 "commands need a mode with the image's own root");
		p->dropped = true;
	}
}

static int run_all(struct test_session *s, struct error *err)
{
	const char *cannot = cannot_run(s);

	for (int tier = TIER_LOAD; cannot && tier <= TIER_RUN; tier++)
		skip_all(s, (enum test_tier)tier, SKIP_MODE, cannot);
	if (!cannot) {
		if (test_choose_mode(s, err) < 0)
			return -1;
		drop_commands(s);
		if (run_tier(s, TIER_LOAD, err) < 0 ||
		    (s->options->driver && test_driver_what_if(s, err) < 0) || run_gpu(s, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < s->plan.skips.len; i++)
		test_report_skip(s->report, s->plan.skips.items[i].id, s->plan.skips.items[i].tier,
				 SKIP_NOT_IN_IMAGE, s->plan.skips.items[i].why);
	test_report_require(s->report, s->options->require, s->options->require_count);
	return 0;
}

int test_run(struct image *image, const struct test_options *options, struct test_report *out,
	     struct error *err)
{
	cleanup_session struct test_session s = {
		.image = image,
		.options = options,
		.report = out,
		.tree = { .fd = -1, .lock = -1 },
		.scratch = { .dirfd = -1, .guard = -1 },
		.timeout_ms = options->timeout_ms ? options->timeout_ms : DEFAULT_TIMEOUT_MS,
	};

	*out = (struct test_report){ 0 };
	if (test_options_check(options, err) < 0)
		return -1;
	describe_image(&s);
	if (scratch_open(options->tmp_dir, &s.scratch, err) < 0 || open_tree(&s, err) < 0 ||
	    make_plan(&s, err) < 0 || run_all(&s, err) < 0) {
		test_report_release(out);
		return -1;
	}
	return 0;
}
