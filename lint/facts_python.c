#include "lint/facts_parts.h"

#include "formats/wheel_meta.h"

enum { LIBRARIES_MAX = 20000, REQUIRES_MAX = 2000 };

void python_record_filter(struct slice record, struct strbuf *out)
{
	struct slice line;

	while (slice_cut(&record, '\n', &line)) {
		if (!line.len || !memmem(line.data, line.len, ".so", 3))
			continue;
		strbuf_add(out, line.data, line.len);
		strbuf_addc(out, '\n');
	}
}

/* "a/b.so,sha256=…,123"; names in quotes are left out. */
static void read_libraries(struct facts *facts, struct python_dist *dist)
{
	struct slice text = facts_text(facts, arena_printf(&facts->arena, "%s/RECORD", dist->path));
	struct slice rest = text, line;
	struct python_library *libraries;
	size_t count = 0;

	while (slice_cut(&rest, '\n', &line) && count < LIBRARIES_MAX)
		count += line.len > 0;
	libraries = arena_array(&facts->arena, count, sizeof(*libraries));
	rest = text;
	while (slice_cut(&rest, '\n', &line) && dist->library_count < count) {
		struct slice path, digest = { 0 }, bytes = { 0 };
		const char *joined;
		uint64_t size;

		slice_cut(&line, ',', &path);
		slice_cut(&line, ',', &digest);
		slice_cut(&line, ',', &bytes);
		if (!path.len || path.data[0] == '"')
			continue;
		joined = arena_printf(&facts->arena, "%s/%.*s", dist->home, (int)path.len,
				      (const char *)path.data);
		libraries[dist->library_count++] = (struct python_library){
			facts_real(facts, joined),
			arena_slice(&facts->arena, digest.data ? digest : slice_str("")),
			slice_u64(slice_trim(bytes), &size) ? size : UINT64_MAX,
		};
	}
	dist->libraries = libraries;
}

static bool header_value(struct slice line, const char *name, struct slice *out)
{
	size_t len = strlen(name);

	if (line.len < len || strncasecmp((const char *)line.data, name, len) != 0)
		return false;
	*out = slice_trim(slice_of(line.data + len, line.len - len));
	return true;
}

/* The fields of METADATA, which end at the first empty line. */
static bool read_metadata(struct facts *facts, struct slice text, struct python_dist *dist)
{
	struct slice rest = text, line, value;
	struct slice *requires;
	size_t count = 0;

	while (slice_cut(&rest, '\n', &line) && slice_trim(line).len && count < REQUIRES_MAX)
		count += header_value(line, "Requires-Dist:", &value);
	requires = arena_array(&facts->arena, count, sizeof(*requires));
	rest = text;
	while (slice_cut(&rest, '\n', &line) && slice_trim(line).len) {
		if (header_value(line, "Name:", &value))
			dist->name = wheel_normalize(value, &facts->arena);
		else if (header_value(line, "Version:", &value))
			dist->version = arena_slice(&facts->arena, value);
		else if (dist->require_count < count &&
			 header_value(line, "Requires-Dist:", &value))
		requires[dist->require_count++] = value;
	}
	dist->requires = requires;
	return dist->name && *dist->name && dist->version && *dist->version;
}

void python_facts_derive(struct facts *facts)
{
	size_t count;
	struct tree_node **nodes = tree_sorted(&facts->tree, &count);

	for (size_t i = 0; i < count; i++) {
		const struct file_facts *f = node_facts(nodes[i]);
		struct python_dist dist = { 0 };

		if (!f || !f->text || !str_equal(facts_name(facts, nodes[i]), "METADATA"))
			continue;
		dist.path = path_dir(facts, facts_path(facts, nodes[i]));
		if (!str_ends(dist.path, ".dist-info"))
			continue;
		dist.home = path_dir(facts, dist.path);
		dist.layer = facts_layer(facts, nodes[i]);
		if (!read_metadata(facts, slice_of(f->text, f->text_len), &dist))
			continue;
		read_libraries(facts, &dist);
		vec_push(&facts->dists, dist);
	}
}

const struct python_dist *facts_dist(const struct facts *facts, const char *home, const char *name)
{
	for (size_t i = 0; i < facts->dists.len; i++) {
		const struct python_dist *d = &facts->dists.items[i];

		if (str_equal(d->name, name) && (!home || str_equal(d->home, home)))
			return d;
	}
	return NULL;
}
