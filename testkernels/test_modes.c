#include "base/alloc.h"
#include "base/process.h"
#include "testkernels/test_session.h"

enum { TRIAL_MS = 30 * 1000 };

/* In the order they are tried. */
static const struct run_mode *const modes[] = { &run_mode_runc, &run_mode_crun, &run_mode_bwrap,
						&run_mode_loader };
static const struct run_mode *const engines[] = { &run_mode_docker, &run_mode_podman };

static const struct run_mode *find_mode(const struct run_mode *const *list, size_t count,
					const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal(list[i]->name, name))
			return list[i];
	}
	return NULL;
}

static bool is_auto(const char *mode)
{
	return !mode || str_equal(mode, "auto");
}

int test_mode_check(const char *mode, const char *engine, struct error *err)
{
	if (!is_auto(mode) && !find_mode(modes, ARRAY_LEN(modes), mode))
		return error_set(err, ERROR_USAGE,
				 "mode '%.40s' is not one of auto, runc, crun, bwrap, loader",
				 mode);
	if (engine && !find_mode(engines, ARRAY_LEN(engines), engine))
		return error_set(err, ERROR_USAGE, "engine '%.40s' is not one of docker, podman",
				 engine);
	if (engine && !is_auto(mode))
		return error_set(err, ERROR_USAGE,
				 "--engine is a mode of its own: leave out --mode %s", mode);
	return 0;
}

/* Does the probe answer in this mode? NULL: it does; else why not, heap. */
static char *trial(struct test_session *s, const struct run_mode *mode)
{
	cleanup_launch struct launch_result result = { 0 };
	struct error err = { 0 };

	if (mode->program && !process_available(mode->program))
		return xstrdup("it is not installed");
	if (mode->refused) {
		char *why = mode->refused();

		if (why)
			return why;
	}
	s->run.timeout_ms = TRIAL_MS;
	if (mode->run(&s->run, slice_str(""), &result, &err) < 0)
		return xstrdup(err.text);
	if (strstr(strbuf_text(&result.lines), "{\"ok\":1}"))
		return NULL;
	return run_words(&result);
}

static int take_asked(struct test_session *s, const struct run_mode *mode, struct error *err)
{
	cleanup_free char *why = trial(s, mode);

	s->mode = mode;
	if (!why)
		return 0;
	/* where not even loader mode starts it, the image is the reason, and loader mode tells it
	 */
	if (mode->container) {
		cleanup_free char *other = trial(s, &run_mode_loader);

		if (!other || !process_available(mode->program))
			return error_set(err, ERROR_SYSTEM, "mode %s: %s", mode->name, why);
		test_report_pass_over(s->report, mode->name, why);
		s->mode = &run_mode_loader;
	}
	return 0;
}

static void take_first(struct test_session *s)
{
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		cleanup_free char *why = NULL;

		s->mode = modes[i];
		why = trial(s, modes[i]);
		if (!why)
			return;
		if (modes[i] != &run_mode_loader)
			test_report_pass_over(s->report, modes[i]->name, why);
	}
}

int test_choose_mode(struct test_session *s, struct error *err)
{
	const struct test_options *o = s->options;
	int rc = 0;

	s->run.view = root_view_choose(s->scratch.path);
	if (o->engine)
		rc = take_asked(s, find_mode(engines, ARRAY_LEN(engines), o->engine), err);
	else if (!is_auto(o->mode))
		rc = take_asked(s, find_mode(modes, ARRAY_LEN(modes), o->mode), err);
	else
		take_first(s);
	if (rc < 0)
		return -1;
	s->report->mode = s->mode->name;
	s->report->writable_root =
		s->mode->container && (o->engine || s->run.view == ROOT_VIEW_OVERLAY);
	return 0;
}
