#include "builder/sources/deb_record.h"

#include "formats/doc_path.h"

static bool is_dropped_field(struct slice line)
{
	static const char *const fields[] = { "Depends", "Pre-Depends", "Recommends", "Suggests",
					      "Installed-Size" };
	struct slice name;

	if (!slice_cut(&line, ':', &name))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (slice_is_word(name, fields[i]))
			return true;
	}
	return false;
}

/* A field goes with the lines that continue it. */
static struct slice reduce_control(struct arena *arena, struct slice control)
{
	cleanup_strbuf struct strbuf out = { 0 };
	struct slice line;
	bool dropped = false;

	while (control.len && slice_cut(&control, '\n', &line)) {
		if (!line.len || (line.data[0] != ' ' && line.data[0] != '\t'))
			dropped = is_dropped_field(line);
		if (!dropped)
			strbuf_addf(&out, "%.*s\n", (int)line.len, (const char *)line.data);
	}
	return slice_of(arena_slice(arena, strbuf_slice(&out)), out.len);
}

/* "32 digits, two blanks, path" */
static struct slice reduce_md5sums(struct arena *arena, struct slice sums)
{
	enum { SUM_BYTES = 34 };
	cleanup_strbuf struct strbuf out = { 0 };
	struct slice line;

	while (sums.len && slice_cut(&sums, '\n', &line)) {
		cleanup_free char *path = line.len > SUM_BYTES
						  ? xstrndup((const char *)line.data + SUM_BYTES,
							     line.len - SUM_BYTES)
						  : xstrdup("");

		if (doc_path_is(path))
			strbuf_addf(&out, "%.*s\n", (int)line.len, (const char *)line.data);
	}
	return slice_of(arena_slice(arena, strbuf_slice(&out)), out.len);
}

void deb_record_reduce(struct component *c)
{
	c->control = reduce_control(&c->arena, c->control);
	c->md5sums = reduce_md5sums(&c->arena, c->md5sums);
	c->conffiles = c->triggers = (struct slice){ 0 };
	c->scripts.len = 0;
	c->controls.len = 0;
}
