#include "testkernels/probe_lines.h"

#include "base/alloc.h"

enum { MORE_MAX = 32 };

void probe_lines_release(struct probe_lines *lines)
{
	for (size_t i = 0; i < lines->outcomes.len; i++)
		json_decref(lines->outcomes.items[i]->more);
	json_decref(lines->hello);
	vec_release(&lines->outcomes);
	map_release(&lines->by_id);
	arena_release(&lines->arena);
	*lines = (struct probe_lines){ 0 };
}

const struct probe_outcome *probe_lines_find(const struct probe_lines *lines, const char *id)
{
	return map_get(&lines->by_id, id);
}

static struct probe_outcome *outcome_of(struct probe_lines *lines, const char *id)
{
	struct probe_outcome *o = map_get(&lines->by_id, id);

	if (o || lines->outcomes.len >= PROBE_TESTS_MAX)
		return o;
	o = arena_alloc(&lines->arena, sizeof(*o));
	o->id = arena_strdup(&lines->arena, id);
	map_put(&lines->by_id, id, o);
	vec_push(&lines->outcomes, o);
	return o;
}

static const char *text_of(struct probe_lines *lines, const json_t *line, const char *key)
{
	const char *text = json_string_value(json_object_get(line, key));

	return text ? arena_strdup(&lines->arena, text) : NULL;
}

static int64_t number_of(const json_t *line, const char *key)
{
	return json_integer_value(json_object_get(line, key));
}

/* The members of `line` that have no field of their own. */
static json_t *more_of(json_t *line)
{
	static const char *const known[] = { "test",    "event",   "status", "kind",
					     "domain",  "call",    "code",   "code_name",
					     "message", "library", "foreign" };
	json_t *more = json_object(), *value;
	const char *key;

	json_object_foreach(line, key, value)
	{
		bool own = false;

		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			own |= str_equal(key, known[i]);
		if (!own && (json_is_string(value) || json_is_integer(value)) &&
		    json_object_size(more) < MORE_MAX)
			json_put(more, key, json_incref(value));
	}
	return more;
}

static bool take_result(struct probe_lines *lines, struct probe_outcome *o, json_t *line)
{
	const char *status = json_string_value(json_object_get(line, "status"));
	bool known = false;

	if (!status || o->has_result)
		return false;
	for (enum test_status s = TEST_PASS; s <= TEST_SKIP; s++) {
		if (!str_equal(status, test_status_name(s)))
			continue;
		o->status = s;
		known = true;
	}
	if (!known)
		return false;
	o->has_result = true;
	o->kind = text_of(lines, line, "kind");
	o->domain = text_of(lines, line, "domain");
	o->call = text_of(lines, line, "call");
	o->has_code = json_is_integer(json_object_get(line, "code"));
	o->code = number_of(line, "code");
	o->code_name = text_of(lines, line, "code_name");
	o->message = text_of(lines, line, "message");
	o->library = text_of(lines, line, "library");
	o->foreign = text_of(lines, line, "foreign");
	o->more = more_of(line);
	return true;
}

static bool take_end(struct probe_lines *lines, struct probe_outcome *o, const json_t *line)
{
	int64_t status = number_of(line, "exit"), sig = number_of(line, "signal");
	int64_t ms = number_of(line, "ms");

	if (o->ended || status < -1 || status > 255 || sig < 0 || sig > 128 || ms < 0)
		return false;
	o->ended = true;
	o->exit_status = (int)status;
	o->signal = (int)sig;
	o->timed_out = number_of(line, "timed_out") != 0;
	o->duration_ms = (uint64_t)ms;
	o->last_words = text_of(lines, line, "last_words");
	return true;
}

static bool take_event(struct probe_lines *lines, json_t *line)
{
	const char *id = json_string_value(json_object_get(line, "test"));
	const char *event = json_string_value(json_object_get(line, "event"));
	struct probe_outcome *o;

	if (!id)
		return event && str_equal(event, "done") && (lines->done = true);
	if (!event || !id[0])
		return false;
	o = outcome_of(lines, id);
	if (!o)
		return false;
	if (str_equal(event, "start"))
		return (o->started = true);
	if (str_equal(event, "result"))
		return take_result(lines, o, line);
	return str_equal(event, "end") && take_end(lines, o, line);
}

/* In a log, a line may stand behind a time or the name of a task: from the frame on it is ours. */
static struct slice unframed(struct slice line)
{
	const char *at =
		line.len ? memmem(line.data, line.len, PROBE_FRAME, strlen(PROBE_FRAME)) : NULL;

	if (!at || line.data[0] == '{')
		return line;
	at += strlen(PROBE_FRAME);
	return slice_trim(slice_of(at, (size_t)((const char *)line.data + line.len - at)));
}

static void take_line(struct probe_lines *lines, struct slice text)
{
	cleanup_json json_t *line = NULL;
	struct error ignored = { 0 };
	bool understood = false;

	if (text.len > PROBE_LINE_MAX || json_parse(text, &line, &ignored) < 0 ||
	    !json_is_object(line)) {
		lines->dropped++;
		return;
	}
	if (json_is_integer(json_object_get(line, "probe")) && !lines->hello) {
		lines->hello = more_of(line);
		understood = true;
	} else {
		understood = take_event(lines, line);
	}
	lines->dropped += !understood;
}

void probe_lines_parse(struct slice text, struct probe_lines *out)
{
	struct slice line;

	*out = (struct probe_lines){ 0 };
	while (slice_cut(&text, '\n', &line)) {
		line = unframed(line);
		if (line.len)
			take_line(out, line);
	}
}
