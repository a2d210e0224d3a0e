#include "cli/progress.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "formats/json.h"

enum { BAR_INTERVAL_MS = 100, PLAIN_INTERVAL_MS = 5000, GUESS_AFTER_MS = 2000 };

struct progress progress_start(const struct invocation *in, const char *what)
{
	const char *how = option_text(in, "progress", "auto");
	bool terminal = isatty(fileno(in->out->err)) && !getenv("CI");
	struct progress p = { .out = in->out, .what = what, .start_ms = clock_ms(CLOCK_MONOTONIC) };

	p.last_ms = p.start_ms;
	if (str_equal(how, "json"))
		p.kind = PROGRESS_JSON;
	else if (in->out->verbosity < 0 || str_equal(how, "none"))
		p.kind = PROGRESS_NONE;
	else
		p.kind = terminal && str_equal(how, "auto") ? PROGRESS_BAR : PROGRESS_PLAIN;
	return p;
}

static void show_json(const struct progress *p, const char *name, uint64_t done, uint64_t total)
{
	cleanup_json json_t *line = json_object();
	cleanup_strbuf struct strbuf text = { 0 };

	json_put(line, "progress", json_text(p->what));
	json_put(line, "name", json_text(name));
	json_put(line, "done_bytes", json_integer((json_int_t)done));
	json_put(line, "total_bytes", json_integer((json_int_t)total));
	json_canonical(line, &text);
	fprintf(p->out->err, "%s\n", strbuf_text(&text));
}

/* ", 3 min 20 s left", or nothing while there is too little to tell from; heap. */
static char *time_left(uint64_t rate, uint64_t left, uint64_t spent_ms)
{
	uint64_t s = rate ? left / rate + 1 : 0;

	if (!rate || !left || spent_ms < GUESS_AFTER_MS)
		return xstrdup("");
	if (s < 60)
		return xasprintf(", %" PRIu64 " s left", s);
	if (s < 3600)
		return xasprintf(", %" PRIu64 " min %" PRIu64 " s left", s / 60, s % 60);
	return xasprintf(", %" PRIu64 " h %" PRIu64 " min left", s / 3600, s / 60 % 60);
}

void progress_bytes(struct progress *p, const char *name, uint64_t done, uint64_t total)
{
	uint64_t now = clock_ms(CLOCK_MONOTONIC), spent = MAX(now - p->start_ms, UINT64_C(1));
	uint64_t moved = done > p->present_bytes ? done - p->present_bytes : 0;
	uint64_t rate = moved * 1000 / spent;
	uint64_t wait = p->kind == PROGRESS_PLAIN ? PLAIN_INTERVAL_MS : BAR_INTERVAL_MS;
	cleanup_free char *left = NULL;
	char a[32], b[32], r[32];

	if (p->kind == PROGRESS_NONE || (now - p->last_ms < wait && p->kind != PROGRESS_JSON))
		return;
	p->last_ms = now;
	if (p->kind == PROGRESS_JSON) {
		show_json(p, name, done, total);
		return;
	}
	left = time_left(rate, total > done ? total - done : 0, spent);
	fprintf(p->out->err, "%s%s: %s of %s, %s/s%s  %s%s",
		p->kind == PROGRESS_BAR ? "\r\033[K" : "", p->what, out_size(done, a),
		out_size(total, b), out_size(rate, r), left, name,
		p->kind == PROGRESS_BAR ? "" : "\n");
	fflush(p->out->err);
	p->line_open = p->kind == PROGRESS_BAR;
}

void progress_fetch(void *user, const struct fetch_event *event)
{
	struct progress *p = user;

	if (event->present)
		p->present_bytes += event->input->size;
	progress_bytes(p, event->input->name, event->done_bytes, event->total_bytes);
}

void progress_end(struct progress *p)
{
	if (p->line_open)
		fputs("\r\033[K", p->out->err);
	p->line_open = false;
}
