#include "base/alloc.h"
#include "testkernels/library_owner.h"
#include "testkernels/test_session.h"
#include "testkernels/verdict.h"

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
bool test_report_loader(struct test_session *s, const struct probe_lines *lines,
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
	if (s->user.note) {
		t->message = s->user.note;
		t->hint = "name a user that the image has, or add it";
	}
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
		json_object_del(s->report->env_seen, "node");
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

/*
 * What the library says against what its file's name and its package say. NVVM counts otherwise
 * than its packages.
 */
static void compare_version(const struct library_copy *copy, struct arena *arena,
			    struct test_result *t)
{
	const char *version = json_string_value(json_object_get(t->evidence, "version"));
	const char *name = strrchr(copy->file, '/') + 1;

	if (!version || !strchr(version, '.') || str_equal(copy->family->stem, "libnvvm"))
		return;
	if (copy->file_version && !str_equal(name, copy->soname)) {
		evidence_text(t->evidence, "file_version", copy->file_version);
		if (!library_versions_agree(version, copy->file_version))
			t->message = arena_printf(arena, "%s says it is %s, against its name",
						  copy->file, version);
	}
	evidence_text(t->evidence, "package", copy->package);
	evidence_text(t->evidence, "package_version", copy->package_version);
	if (copy->package && !library_versions_agree(version, copy->package_version))
		t->message =
			arena_printf(arena, "%s says it is %s, but its package %s is %s",
				     copy->file, version, copy->package, copy->package_version);
}

static void add_evidence(const struct test_judge *j, const struct planned_test *p,
			 const struct probe_outcome *o, struct test_result *t)
{
	size_t n = strlen(j->root);
	const char *library = o ? o->library : NULL;

	t->evidence = o && o->more ? json_incref(o->more) : json_object();
	if (library && n && strncmp(library, j->root, n) == 0)
		library += n;
	evidence_text(t->evidence, "library", library);
	if (o) {
		evidence_text(t->evidence, "call", o->call);
		evidence_text(t->evidence, "last_words", o->last_words);
		evidence_text(t->evidence, "foreign", o->foreign);
	}
	evidence_text(t->evidence, "command", p->words);
	if (p->tier == TIER_RUN) {
		evidence_text(t->evidence, "driver_library_version", j->report->inject_driver);
		evidence_text(t->evidence, "kernel_module_version", j->report->inject_module);
	}
	evidence_text(t->evidence, "object", p->object);
	if (!p->copy)
		return;
	evidence_text(t->evidence, "path", p->copy->path);
	evidence_text(t->evidence, "file", p->copy->file);
	evidence_text(t->evidence, "damage", p->copy->damage);
	json_put(t->evidence, "found_by_name", json_boolean(p->copy->found_by_name));
	compare_version(p->copy, &j->report->arena, t);
}

/* The libcuda that answered is the image's own, and not the one that was injected. */
static bool from_image(const struct test_judge *j, const struct probe_outcome *o)
{
	const char *driver =
		o ? json_string_value(json_object_get(o->more, "driver_library")) : NULL;

	if (o && !driver && o->library && strstr(o->library, "libcuda.so"))
		driver = o->library;
	if (!driver || !j->injection)
		return false;
	if (j->driver_dir)
		return !str_starts(driver, j->driver_dir);
	return !inject_owns(j->injection, driver);
}

/* The runtime gives one code for a driver that is too old and for none at all. */
static bool has_driver(const struct test_judge *j, const struct probe_outcome *o)
{
	bool runtime = o && o->domain && str_equal(o->domain, "libcudart");

	return j->injected && (!runtime || json_object_get(o->more, "driver_library"));
}

/* A test that passed may still have something to say. */
static const char *warning_of(const struct probe_outcome *o)
{
	return o ? json_string_value(json_object_get(o->more, "warning")) : NULL;
}

/* Of those that the probe may give. */
static const char *skip_reason(const struct probe_outcome *o)
{
	const char *said = o ? json_string_value(json_object_get(o->more, "reason")) : NULL;

	static const char *const reasons[] = { SKIP_NOT_REQUESTED, SKIP_NOT_IN_IMAGE,
					       SKIP_SINGLE_GPU };

	for (size_t i = 0; said && i < ARRAY_LEN(reasons); i++) {
		if (str_equal(said, reasons[i]))
			return reasons[i];
	}
	return SKIP_FEATURE;
}

void test_judge_outcome(const struct test_judge *j, const struct planned_test *p,
			const struct probe_outcome *o)
{
	struct test_result *t = test_report_add(j->report, p->id, p->tier);
	struct verdict_context c = {
		.tier = p->tier,
		.path = p->copy ? p->copy->path : p->object,
		.damage = p->copy ? p->copy->damage : NULL,
		.root = j->root,
		.timeout_ms = j->timeout_ms,
		.driver_injected = has_driver(j, o),
		.driver_version = j->report->inject_driver,
		.module_version = j->report->inject_module,
		.driver_from_image = from_image(j, o),
		.command = p->command,
		.expect = p->expect,
	};
	struct verdict v;

	verdict_of(o, &c, &j->report->arena, &v);
	add_evidence(j, p, o, t);
	t->status = v.status;
	t->blame = v.blame;
	t->code_name = v.code_name ? arena_strdup(&j->report->arena, v.code_name) : NULL;
	if (v.message)
		t->message = v.message;
	t->hint = v.hint;
	t->has_code = o && o->has_code;
	t->code = o ? o->code : 0;
	t->duration_ms = o ? o->duration_ms : 0;
	t->attempts = 1;
	if (t->status == TEST_PASS && warning_of(o))
		t->message = arena_strdup(&j->report->arena, warning_of(o));
	if (t->status == TEST_SKIP)
		t->reason = skip_reason(o);
}

void test_report_outcome(struct test_session *s, const struct planned_test *p,
			 const struct probe_outcome *o)
{
	const struct test_judge judge = { .report = s->report,
					  .root = run_prefix(s->mode, &s->run),
					  .timeout_ms = s->timeout_ms,
					  .injected = s->run.injection != NULL,
					  .injection = s->run.injection,
					  .driver_dir = s->run.driver_dir };

	if (!p->dropped)
		test_judge_outcome(&judge, p, o);
}

static json_t *notes_json(const struct inject_note *items, size_t len)
{
	json_t *list = json_array();

	for (size_t i = 0; i < len; i++) {
		json_t *o = json_object();

		json_put(o, "code", json_text(items[i].code));
		json_put(o, "text", json_text(items[i].text));
		json_push(list, o);
	}
	return list;
}

static const char *join_nodes(const struct injection *in, struct arena *arena)
{
	cleanup_strbuf struct strbuf out = { 0 };

	for (size_t i = 0; i < in->edits.nodes.len; i++)
		strbuf_addf(&out, "%s%s", i ? " " : "", in->edits.nodes.items[i].path);
	return arena_strdup(arena, strbuf_text(&out));
}

/* Who made the injection what it is. */
static enum test_blame fault_blame(const char *code)
{
	if (str_equal(code, "not-asked-for") || str_equal(code, "no-compute-capability"))
		return BLAME_IMAGE;
	return str_equal(code, "version-mismatch") ? BLAME_HOST : BLAME_INJECTION;
}

static void describe_injection(struct test_report *r, const struct injection *in)
{
	r->inject_method = in->method;
	r->inject_spec = in->spec;
	r->inject_driver = in->driver;
	r->inject_module = in->module;
	if (in->method)
		r->inject_devices = join_nodes(in, &r->arena);
}

void test_report_injection(struct test_session *s)
{
	const struct injection *in = &s->injection;
	struct test_report *r = s->report;
	struct test_result *t;

	describe_injection(r, in);
	if (s->options->engine && !in->faults.len) {
		r->inject_method = "engine";
		r->inject_spec = NULL;
	}
	if (in->skip && !in->faults.len) {
		test_report_skip(r, "run.inject", TIER_RUN, in->skip, in->why);
		return;
	}
	t = test_report_add(r, "run.inject", TIER_RUN);
	t->attempts = 1;
	t->evidence = json_object();
	evidence_text(t->evidence, "method", in->method);
	evidence_text(t->evidence, "spec", in->spec);
	json_put(t->evidence, "mounts", json_integer((json_int_t)in->edits.mounts.len));
	json_put(t->evidence, "nodes", json_integer((json_int_t)in->edits.nodes.len));
	json_put(t->evidence, "hooks", json_integer((json_int_t)in->edits.hooks.len));
	json_put(t->evidence, "notes", notes_json(in->notes.items, in->notes.len));
	if (!in->faults.len)
		return;
	t->status = TEST_FAIL;
	t->blame = fault_blame(in->faults.items[0].code);
	t->code_name = in->faults.items[0].code;
	t->message = in->faults.items[0].text;
	json_put(t->evidence, "faults", notes_json(in->faults.items, in->faults.len));
}
