/*
 * From what came back from the nodes to one report.
 */
#include "base/alloc.h"
#include "testkernels/fleet.h"
#include "testkernels/probe_lines.h"
#include "testkernels/test_session.h"

enum { SESSIONS_MAX = 4096, LINES_MAX = 4 << 20 };

/* The lines of one run of the probe, told apart by what stands before the frame. */
struct session {
	char *key;
	struct strbuf lines;
};
struct sessions {
	struct session *items;
	size_t len, cap;
};

void fleet_report_release(struct fleet_report *r)
{
	for (size_t i = 0; i < r->nodes.len; i++)
		test_report_release(&r->nodes.items[i].report);
	vec_release(&r->nodes);
	vec_release(&r->not_understood);
	arena_release(&r->arena);
}

/* A time, which differs from line to line and says nothing of whose line it is. */
static bool is_time(struct slice word)
{
	bool date = word.len > 5 && word.data[4] == '-' && word.data[0] == '2';
	bool clock = word.len > 4 && word.data[2] == ':' && word.data[0] <= '2';

	return date || clock;
}

static char *key_of(struct slice prefix)
{
	struct strbuf key = { 0 };
	struct slice word;

	while (slice_cut(&prefix, ' ', &word)) {
		if (word.len && !is_time(word))
			strbuf_addf(&key, "%s%.*s", key.len ? " " : "", (int)word.len,
				    (const char *)word.data);
	}
	return key.len ? strbuf_steal(&key) : xstrdup("");
}

/* The last session of that key; a new one where the probe begins. */
static struct session *session_of(struct sessions *all, struct slice prefix, bool begins)
{
	cleanup_free char *key = key_of(prefix);
	struct session *found = NULL;

	for (size_t i = all->len; i-- > 0 && !found;) {
		if (str_equal(all->items[i].key, key))
			found = &all->items[i];
	}
	if ((found && !begins) || all->len >= SESSIONS_MAX)
		return found;
	found = vec_add(all);
	found->key = steal_ptr(&key);
	return found;
}

static void cut_log(struct slice text, struct sessions *out)
{
	struct slice line;

	while (slice_cut(&text, '\n', &line)) {
		const uint8_t *at =
			line.len ? memmem(line.data, line.len, PROBE_FRAME, strlen(PROBE_FRAME))
				 : NULL;
		struct slice prefix, rest;
		struct session *s;

		if (!at)
			continue;
		prefix = slice_of(line.data, (size_t)(at - line.data));
		at += strlen(PROBE_FRAME);
		rest = slice_trim(slice_of(at, (size_t)(line.data + line.len - at)));
		s = session_of(out, prefix, slice_starts(rest, "{\"probe\":"));
		if (!s || s->lines.len + rest.len > LINES_MAX)
			continue;
		strbuf_add(&s->lines, rest.data, rest.len);
		strbuf_addc(&s->lines, '\n');
	}
}

static const struct library_family *family_of(const char *stem)
{
	for (size_t i = 0; stem && i < library_families_count; i++) {
		if (str_equal(library_families[i].stem, stem))
			return &library_families[i];
	}
	return NULL;
}

static const char *text_of(const json_t *o, const char *key, struct arena *arena)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? arena_strdup(arena, text) : NULL;
}

/* "plan_test": what the report needs to know of it. */
static void read_test(const json_t *o, struct arena *arena, struct planned_test *t)
{
	const struct library_family *family = family_of(text_of(o, "stem", arena));
	const char *tier = text_of(o, "tier", arena);
	struct library_copy *copy;

	t->id = text_of(o, "plan_test", arena);
	t->tier = tier && str_equal(tier, "run") ? TIER_RUN : TIER_LOAD;
	t->command = json_is_true(json_object_get(o, "command"));
	t->expect = text_of(o, "expect", arena);
	t->words = text_of(o, "words", arena);
	if (!family)
		return;
	copy = arena_alloc(arena, sizeof(*copy));
	copy->family = family;
	copy->soname = text_of(o, "soname", arena);
	copy->path = text_of(o, "path", arena);
	copy->file = text_of(o, "file", arena);
	copy->file_version = text_of(o, "file_version", arena);
	copy->damage = text_of(o, "damage", arena);
	copy->found_by_name = json_is_true(json_object_get(o, "found_by_name"));
	if (copy->soname && copy->path && copy->file && strchr(copy->file, '/'))
		t->copy = copy;
}

struct reading {
	struct test_report *report;
	struct probe_lines lines;
	VEC(struct planned_test) tests;
	uint64_t timeout_ms;
	const char *loader;
};

static void read_plan_line(struct reading *r, struct slice line)
{
	struct arena *arena = &r->report->arena;
	cleanup_json json_t *o = NULL;
	struct error ignored = { 0 };
	json_int_t timeout;

	if (json_parse(line, &o, &ignored) < 0)
		return;
	if (json_object_get(o, "plan")) {
		r->report->image = text_of(o, "image", arena);
		r->report->digest = text_of(o, "digest", arena);
		r->report->platform = text_of(o, "platform", arena);
		r->loader = text_of(o, "loader", arena);
		timeout = json_integer_value(json_object_get(o, "timeout_ms"));
		r->timeout_ms = timeout > 0 ? (uint64_t)timeout : 0;
	} else if (json_is_string(json_object_get(o, "plan_test"))) {
		read_test(o, arena, vec_add(&r->tests));
	} else if (json_is_string(json_object_get(o, "plan_skip"))) {
		const char *why = text_of(o, "why", arena), *tier = text_of(o, "tier", arena);

		test_report_skip(r->report, text_of(o, "plan_skip", arena),
				 tier && str_equal(tier, "run") ? TIER_RUN : TIER_LOAD,
				 SKIP_NOT_IN_IMAGE, why ? why : "");
	}
}

static void read_session(struct slice text, struct test_report *out, const char **out_node)
{
	struct reading r = { .report = out };
	struct test_judge judge = { .report = out, .root = "", .injected = true };
	struct slice rest = text, line;
	struct test_result *loader;

	while (slice_cut(&rest, '\n', &line)) {
		if (memmem(line.data ? (const char *)line.data : "", line.len, "\"plan", 5))
			read_plan_line(&r, line);
	}
	probe_lines_parse(text, &r.lines);
	judge.timeout_ms = r.timeout_ms;
	out->inject_method = "fleet";
	out->mode = "fleet";
	out->writable_root = true;
	loader = test_report_add(out, "load.loader", TIER_LOAD);
	loader->attempts = 1;
	if (r.lines.hello) {
		*out_node = text_of(r.lines.hello, "node", &out->arena);
		out->env_seen = json_deep_copy(r.lines.hello);
	} else {
		loader->status = TEST_ERROR;
		loader->message = "the log does not hold the beginning of the probe's lines";
	}
	for (size_t i = 0; i < r.tests.len; i++) {
		if (r.tests.items[i].id)
			test_judge_outcome(&judge, &r.tests.items[i],
					   probe_lines_find(&r.lines, r.tests.items[i].id));
	}
	vec_release(&r.tests);
	probe_lines_release(&r.lines);
}

static void add_node(struct fleet_report *r, const char *node, const char *source,
		     struct test_report *report)
{
	struct fleet_node n = { .node = arena_strdup(&r->arena, node),
				.source = arena_strdup(&r->arena, source),
				.report = *report };

	vec_push(&r->nodes, n);
}

static int word_of(const json_t *o, const char *key, const char *(*name)(int), int count)
{
	const char *text = json_string_value(json_object_get(o, key));

	for (int i = 0; text && i < count; i++) {
		if (str_equal(text, name(i)))
			return i;
	}
	return -1;
}

static const char *status_word(int i)
{
	return test_status_name((enum test_status)i);
}

static const char *blame_word(int i)
{
	return test_blame_name((enum test_blame)i);
}

static void read_result(const json_t *o, struct test_report *r)
{
	const char *id = json_string_value(json_object_get(o, "id"));
	const char *tier = json_string_value(json_object_get(o, "tier"));
	int status = word_of(o, "status", status_word, TEST_ERROR + 1);
	int blame = word_of(o, "blame", blame_word, BLAME_HARDWARE + 1);
	struct test_result *t;

	if (!id || !tier || status < 0)
		return;
	t = test_report_add(r, id, str_equal(tier, "run") ? TIER_RUN : TIER_LOAD);
	t->status = (enum test_status)status;
	t->blame = blame < 0 ? BLAME_NONE : (enum test_blame)blame;
	t->reason = text_of(o, "reason", &r->arena);
	t->has_code = json_is_integer(json_object_get(o, "code"));
	t->code = json_integer_value(json_object_get(o, "code"));
	t->code_name = text_of(o, "code_name", &r->arena);
	t->message = text_of(o, "message", &r->arena);
	t->hint = text_of(o, "hint", &r->arena);
	t->evidence = json_incref(json_object_get(o, "evidence"));
	t->duration_ms =
		(uint64_t)MAX(json_integer_value(json_object_get(o, "duration_ms")), (json_int_t)0);
	t->attempts = 1;
}

/* A report that gpuimg wrote on the node. */
static bool read_report(const json_t *doc, struct test_report *out)
{
	const char *schema = json_string_value(json_object_get(doc, "schema"));
	const json_t *tests = json_object_get(doc, "tests");
	const json_t *image = json_object_get(doc, "image");

	if (!schema || !str_equal(schema, "gpuimg-test/1") || !json_is_array(tests))
		return false;
	out->image = text_of(image, "reference", &out->arena);
	out->digest = text_of(image, "digest", &out->arena);
	out->platform = text_of(image, "platform", &out->arena);
	out->mode = text_of(doc, "mode", &out->arena);
	out->env_seen = json_incref(json_object_get(doc, "env_seen"));
	for (size_t i = 0; i < json_array_size(tests); i++)
		read_result(json_array_get(tests, i), out);
	return true;
}

static bool collect_json(struct fleet_report *r, struct slice text, const char *source)
{
	cleanup_json json_t *doc = NULL;
	struct error ignored = { 0 };
	struct test_report report = { 0 };
	const char *slash = strrchr(source, '/');

	if (!slice_starts(slice_trim(text), "{") || json_parse(text, &doc, &ignored) < 0)
		return false;
	if (!read_report(doc, &report)) {
		test_report_release(&report);
		return false;
	}
	add_node(r, slash ? slash + 1 : source, source, &report);
	return true;
}

void fleet_collect(struct fleet_report *r, struct slice text, const char *source)
{
	struct sessions all = { 0 };

	if (collect_json(r, text, source))
		return;
	cut_log(text, &all);
	if (!all.len)
		vec_push(&r->not_understood, arena_strdup(&r->arena, source));
	for (size_t i = 0; i < all.len; i++) {
		struct test_report report = { 0 };
		const char *node = NULL;

		read_session(strbuf_slice(&all.items[i].lines), &report, &node);
		add_node(r,
			 node                  ? node
			 : all.items[i].key[0] ? all.items[i].key
					       : source,
			 source, &report);
		free(all.items[i].key);
		strbuf_release(&all.items[i].lines);
	}
	vec_release(&all);
}

static int by_node(const void *pa, const void *pb)
{
	const struct fleet_node *a = pa, *b = pb;
	int order = strcmp(a->node, b->node);

	return order ? order : strcmp(a->source, b->source);
}

void fleet_report_sort(struct fleet_report *r)
{
	vec_sort(&r->nodes, by_node);
}

int fleet_report_exit_status(const struct fleet_report *r)
{
	bool other = !r->nodes.len || r->not_understood.len || r->nodes.len < r->wanted;

	for (size_t i = 0; i < r->nodes.len; i++) {
		int status = test_report_exit_status(&r->nodes.items[i].report);

		if (status == 1)
			return 1;
		other |= status != 0;
	}
	return other ? 3 : 0;
}
