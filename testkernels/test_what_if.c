#include "base/alloc.h"
#include "base/fs.h"
#include "testkernels/test_session.h"

#define WHAT_IF_DIR "/usr/local/nvidia/lib64"

int test_driver_check(const char *driver, uint64_t *out_version, struct error *err)
{
	struct slice rest = slice_str(driver), major_text, minor_text;
	uint64_t major, minor;

	if (!slice_cut(&rest, '.', &major_text) || !slice_u64(major_text, &major) ||
	    !slice_cut(&rest, '.', &minor_text) || !slice_u64(minor_text, &minor) || rest.len ||
	    major < 5 || major > 99 || minor > 99)
		return error_set(err, ERROR_USAGE,
				 "driver '%.40s' is not the CUDA version that it serves, such as "
				 "12.4 (gpuimg matrix driver %.20s tells it)",
				 driver, driver);
	*out_version = major * 1000 + minor * 10;
	return 0;
}

/* The stand-in as a driver that is injected the usual way. */
static void make_injection(struct test_session *s, const char *file, uint64_t version,
			   struct injection *out)
{
	struct arena *arena = &s->report->arena;
	struct cdi_mount mount = { .host_path = arena_strdup(arena, file),
				   .container_path = WHAT_IF_DIR "/libcuda.so.1" };
	struct cdi_hook hook = { .name = "createContainer", .path = "nvidia-cdi-hook" };
	static const char *const args[] = { "nvidia-cdi-hook", "update-ldcache", "--folder",
					    WHAT_IF_DIR };
	static const char *const options[] = { "ro", "rbind" };

	hook.args.items = arena_array(arena, ARRAY_LEN(args), sizeof(*hook.args.items));
	hook.args.count = ARRAY_LEN(args);
	memcpy(hook.args.items, args, sizeof(args));
	mount.options.items = arena_array(arena, ARRAY_LEN(options), sizeof(*mount.options.items));
	mount.options.count = ARRAY_LEN(options);
	memcpy(mount.options.items, options, sizeof(options));
	*out = (struct injection){ .method = "what-if" };
	vec_push(&out->edits.mounts, mount);
	vec_push(&out->edits.hooks, hook);
	vec_push(&out->edits.env, arena_printf(arena, "GPUIMG_DOUBLE_VERSION=%" PRIu64, version));
}

/*
 * The runtime compares versions before all else: 35 is its refusal. What it says after that (500,
 * 801, no device) comes from the stand-in, which is no driver.
 */
static void judge(struct test_session *s, const struct planned_test *p,
		  const struct probe_outcome *o)
{
	struct arena *arena = &s->report->arena;
	bool own = o && o->has_code && o->code == 34;
	const char *root = run_prefix(s->mode, &s->run);
	size_t prefix = o && o->library && str_starts(o->library, root) ? strlen(root) : 0;
	struct test_result *t;

	if (!o || !o->has_result || (o->status == TEST_FAIL && !o->has_code)) {
		test_report_outcome(s, p, o);
		return;
	}
	t = test_report_add(s->report, p->id, TIER_LOAD);
	t->attempts = 1;
	t->duration_ms = o->duration_ms;
	t->evidence = json_object();
	json_put(t->evidence, "driver_serves_cuda", json_text(s->options->driver));
	if (o->library)
		json_put(t->evidence, "library", json_text(o->library + prefix));
	if (o->status == TEST_PASS || (o->code != 35 && !own))
		return;
	t->status = TEST_FAIL;
	t->blame = BLAME_IMAGE;
	t->has_code = true;
	t->code = o->code;
	t->code_name = own ? "CUDA_ERROR_STUB_LIBRARY" : "CUDA_ERROR_INSUFFICIENT_DRIVER";
	t->message = own ? arena_printf(arena,
					"%s found a link-time stub of the image before the "
					"driver",
					p->copy->path)
			 : arena_printf(arena,
					"%s does not accept a driver that serves CUDA %s: it needs "
					"a newer one",
					p->copy->path, s->options->driver);
	t->hint = own ? "remove the stub from the loader's search path"
		      : "use a newer driver on the hosts, or an image with an older CUDA";
}

int test_driver_what_if(struct test_session *s, struct error *err)
{
	cleanup_free char *file = fs_join(s->scratch.path, "what-if/libcuda.so.1");
	cleanup_free char *dir = fs_join(s->scratch.path, "what-if");
	cleanup_free char *edits = fs_join(s->scratch.path, "what-if-edits");
	struct plan_request request = { .timeout_ms = s->timeout_ms };
	cleanup_injection struct injection in = { 0 };
	cleanup_test_plan struct test_plan plan = { 0 };
	cleanup_launch struct launch_result launched = { 0 };
	cleanup_probe_lines struct probe_lines lines = { 0 };
	uint64_t version;
	int rc;

	if (test_driver_check(s->options->driver, &version, err) < 0 ||
	    fs_mkdirs(AT_FDCWD, dir, err) < 0 ||
	    fs_write(AT_FDCWD, file, slice_of(driver_double_bytes, driver_double_size), 0755, err) <
		    0)
		return -1;
	test_plan_what_if(&s->copies, &request, &plan);
	if (!plan.tests.len) {
		test_report_skip(s->report, "load.driver-what-if", TIER_LOAD, SKIP_NOT_IN_IMAGE,
				 "the image holds no CUDA runtime as a library of its own");
		return 0;
	}
	if (s->options->engine) {
		test_report_skip(
			s->report, "load.driver-what-if", TIER_LOAD, SKIP_MODE,
			"an engine injects the driver that it has, and no stand-in for it");
		return 0;
	}
	make_injection(s, file, version, &in);
	if (s->mode->container &&
	    inject_apply(&in, s->tree.fd, &s->loader, edits, &s->report->arena, err) < 0)
		return -1;
	s->run.injection = &in;
	s->run.edits = s->mode->container ? edits : NULL;
	s->run.driver_dir = s->mode->container ? NULL : dir;
	rc = s->mode->run(&s->run, strbuf_slice(&plan.lines[TIER_LOAD]), &launched, err);
	probe_lines_parse(strbuf_slice(&launched.lines), &lines);
	for (size_t i = 0; rc == 0 && i < plan.tests.len; i++)
		judge(s, &plan.tests.items[i], probe_lines_find(&lines, plan.tests.items[i].id));
	s->run.injection = NULL;
	s->run.edits = s->run.driver_dir = NULL;
	return rc;
}
