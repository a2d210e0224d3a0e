/*
 * What of wheels deserves a word, though nothing is done about it: lines of .pth files, which run
 * whenever Python starts; byte-code that Python passes over, since it was compiled from a source of
 * another time or size; a form of wheels that is newer than the one known.
 * Source: Python's site module; PEP 3147 and 552 (.pyc files); the binary distribution format.
 */
#include "builder/finish/finish.h"

#include "base/reader.h"

enum { TEXT_LIMIT = 1024 * 1024, PYC_BYTES = 16, PYC_HASHED = 1 };

static void say(struct finish *f, const struct component *c, enum script_fate fate,
		const char *text)
{
	struct build_action action = { .fate = fate, .package = c->name, .script = "wheel" };

	action.text = arena_strdup(f->arena, text);
	vec_push(&f->actions, action);
}

static int read_text(const struct component_entry *e, struct strbuf *out, struct error *err)
{
	cleanup_stream struct stream *s = content_open(&e->content, e->tar.size, err);

	return s ? stream_read_all(s, TEXT_LIMIT, out, err) : -1;
}

/* A .pth file that lies where Python looks for it: in a site directory itself. */
static bool is_pth(const char *path)
{
	static const char *const sites[] = { "/dist-packages", "/site-packages" };
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < ARRAY_LEN(sites) && slash && str_ends(path, ".pth"); i++) {
		size_t len = strlen(sites[i]);

		if ((size_t)(slash - path) > len && strncmp(slash - len, sites[i], len) == 0)
			return true;
	}
	return false;
}

static int report_pth(struct finish *f, const struct component *c, const struct component_entry *e,
		      struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 }, said = { 0 };
	struct slice rest, line;

	if (read_text(e, &text, err) < 0)
		return -1;
	rest = strbuf_slice(&text);
	while (rest.len && slice_cut(&rest, '\n', &line)) {
		if (!slice_starts(line, "import ") && !slice_starts(line, "import\t"))
			continue;
		strbuf_addf(&said, "/%s: Python runs lines of it whenever it starts", e->tar.path);
		say(f, c, SCRIPT_DONE, strbuf_text(&said));
		break;
	}
	return 0;
}

/* "lib/__pycache__/x.cpython-311.pyc" → "lib/x.py"; NULL for what is no such thing. */
static char *source_of(const char *path)
{
	static const char folder[] = "__pycache__/";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t above = (size_t)(name - path);

	if (!str_ends(path, ".pyc") || above < sizeof(folder) ||
	    strncmp(name - strlen(folder), folder, strlen(folder)) != 0)
		return NULL;
	return xasprintf("%.*s%.*s.py", (int)(above - strlen(folder)), path,
			 (int)strcspn(name, "."), name);
}

/* Whether Python would compile the source anew. */
static int is_stale(const struct component_entry *e, const struct rootfs_node *source, bool *out,
		    struct error *err)
{
	cleanup_stream struct stream *s = content_open(&e->content, e->tar.size, err);
	uint8_t head[PYC_BYTES];
	struct reader r = reader_of(slice_of(head, sizeof(head)));
	uint32_t flags, time, size;

	if (!s || stream_read_exact(s, head, sizeof(head), err) < 0)
		return -1;
	reader_u32(&r); /* of the interpreter */
	flags = reader_u32(&r);
	time = reader_u32(&r);
	size = reader_u32(&r);
	*out = !(flags & PYC_HASHED) &&
	       (time != (uint32_t)source->tar->mtime || size != (uint32_t)source->tar->size);
	return 0;
}

/* What is stale of a wheel, under the first one's name. */
struct stale {
	const char *first;
	size_t count;
};

static int look_at_pyc(struct finish *f, const struct component_entry *e, struct stale *stale,
		       struct error *err)
{
	cleanup_free char *source = source_of(e->tar.path);
	const struct rootfs_node *n = source ? rootfs_lookup(f->rootfs, source) : NULL;
	bool is = false;

	if (!n || n->tar->type != TAR_FILE || e->tar.size < PYC_BYTES)
		return 0;
	if (is_stale(e, n, &is, err) < 0)
		return -1;
	if (is && !stale->count++)
		stale->first = e->tar.path;
	return 0;
}

static int report_form(struct finish *f, const struct component *c, const struct component_entry *e,
		       struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 }, said = { 0 };
	struct slice rest, line, name;

	if (read_text(e, &text, err) < 0)
		return -1;
	rest = strbuf_slice(&text);
	while (rest.len && slice_cut(&rest, '\n', &line)) {
		if (!slice_cut(&line, ':', &name) || !slice_is(name, "Wheel-Version"))
			continue;
		line = slice_trim(line);
		if (!slice_is(line, "1.0")) {
			strbuf_addf(&said, "Wheel-Version %.*s, where 1.0 is known: placed as that",
				    (int)MIN(line.len, (size_t)20), (const char *)line.data);
			say(f, c, SCRIPT_DONE, strbuf_text(&said));
		}
		break;
	}
	return 0;
}

static int report_wheel(struct finish *f, const struct component *c, struct error *err)
{
	cleanup_strbuf struct strbuf said = { 0 };
	struct stale stale = { 0 };

	for (size_t i = 0; i < c->entries.len; i++) {
		const struct component_entry *e = &c->entries.items[i];
		int rc = 0;

		if (e->tar.type != TAR_FILE)
			continue;
		if (e->tar.size <= TEXT_LIMIT && is_pth(e->tar.path))
			rc = report_pth(f, c, e, err);
		else if (str_ends(e->tar.path, ".pyc"))
			rc = look_at_pyc(f, e, &stale, err);
		else if (e->tar.size <= TEXT_LIMIT && str_ends(e->tar.path, ".dist-info/WHEEL"))
			rc = report_form(f, c, e, err);
		if (rc < 0)
			return error_wrap(err, "%s", e->tar.path);
	}
	if (!stale.count)
		return 0;
	strbuf_addf(&said,
		    "%zu files of byte-code that Python passes over: their sources have another "
		    "time (/%s)",
		    stale.count, stale.first);
	say(f, c, SCRIPT_HARMLESS, strbuf_text(&said));
	return 0;
}

int finish_wheels(struct finish *f, struct error *err)
{
	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		const struct component *c = f->rootfs->parts.items[i].component;

		if (c->kind == COMPONENT_WHEEL && report_wheel(f, c, err) < 0)
			return -1;
	}
	return 0;
}
