#include "lint/facts_parts.h"

#include "formats/deb822.h"

static void add_package(struct facts *facts, struct slice name, struct slice version,
			const char *kind, const char *path)
{
	vec_push(&facts->packages, ((struct package){
					   .name = arena_slice(&facts->arena, name),
					   .version = arena_slice(&facts->arena, version),
					   .kind = kind,
					   .path = path,
				   }));
}

/* One dpkg database file; a stanza that cannot be read ends it. */
static void read_dpkg(struct facts *facts, const char *path)
{
	struct slice rest = facts_text(facts, path);
	cleanup_deb822 struct deb822 stanza = { 0 };
	struct error ignored = { 0 };
	size_t line = 1;

	while (rest.data && deb822_next(&rest, path, &line, &stanza, &ignored) > 0) {
		struct slice name = deb822_get(&stanza, "Package");
		struct slice version = deb822_get(&stanza, "Version");
		struct slice status = deb822_get(&stanza, "Status");

		if (!name.data || !version.data)
			continue;
		if (status.data && !slice_is(status, "install ok installed") &&
		    !slice_is(status, "hold ok installed"))
			continue;
		add_package(facts, name, version, "dpkg", path);
	}
}

static void read_dpkg_parts(struct facts *facts)
{
	struct tree_nodes parts = { 0 };

	facts_list(facts, "/var/lib/dpkg/status.d", &parts);
	for (size_t i = 0; i < parts.len; i++) {
		if (!str_ends(parts.items[i]->entry.path, ".md5sums"))
			read_dpkg(facts, facts_path(facts, parts.items[i]));
	}
	vec_release(&parts);
}

static void read_wheel(struct facts *facts, const struct tree_node *node, struct slice text)
{
	struct slice name = { 0 }, version = { 0 }, line;

	while (slice_cut(&text, '\n', &line) && slice_trim(line).len) {
		if (slice_starts(line, "Name:"))
			name = slice_trim(slice_of(line.data + 5, line.len - 5));
		else if (slice_starts(line, "Version:"))
			version = slice_trim(slice_of(line.data + 8, line.len - 8));
	}
	if (name.len && version.len)
		add_package(facts, name, version, "wheel",
			    path_dir(facts, facts_path(facts, node)));
}

void package_facts_derive(struct facts *facts)
{
	size_t count;
	struct tree_node **nodes = tree_sorted(&facts->tree, &count);

	read_dpkg(facts, "/var/lib/dpkg/status");
	read_dpkg_parts(facts);
	for (size_t i = 0; i < count; i++) {
		const struct file_facts *f = node_facts(nodes[i]);

		if (f && f->text && str_ends(nodes[i]->entry.path, ".dist-info/METADATA"))
			read_wheel(facts, nodes[i], slice_of(f->text, f->text_len));
	}
}
