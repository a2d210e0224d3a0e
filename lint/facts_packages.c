#include "lint/facts_parts.h"

#include "formats/license.h"

static void add_wheel(struct facts *facts, struct slice name, struct slice version,
		      const char *license, const char *path)
{
	vec_push(&facts->packages, ((struct package){
					   .name = arena_slice(&facts->arena, name),
					   .version = arena_slice(&facts->arena, version),
					   .kind = "wheel",
					   .path = path,
					   .arch = "",
					   .source = "",
					   .license = license ? license : "",
				   }));
}

static void read_wheel(struct facts *facts, const struct tree_node *node, struct slice text)
{
	struct slice name = { 0 }, version = { 0 }, line;
	const char *license = license_of_metadata(text, &facts->arena);

	while (slice_cut(&text, '\n', &line) && slice_trim(line).len) {
		if (slice_starts(line, "Name:"))
			name = slice_trim(slice_of(line.data + 5, line.len - 5));
		else if (slice_starts(line, "Version:"))
			version = slice_trim(slice_of(line.data + 8, line.len - 8));
	}
	if (name.len && version.len)
		add_wheel(facts, name, version, license, path_dir(facts, facts_path(facts, node)));
}

/* Paths of a conda package start at the prefix, above its conda-meta. */
static const char *absolute(struct facts *facts, const char *kind, const char *database,
			    const char *path)
{
	const char *prefix;

	if (!str_equal(kind, "conda"))
		return path;
	prefix = path_dir(facts, path_dir(facts, database));
	return arena_printf(&facts->arena, "%s/%s", str_equal(prefix, "/") ? "" : prefix, path);
}

/*
 * The name itself, in its real directory: who brings a link does not own what it leads to. Links of
 * alternatives and of diversions lead to files of other packages.
 */
static const char *in_real_directory(struct facts *facts, const char *path)
{
	const char *dir = facts_real(facts, path_dir(facts, path));

	return arena_printf(&facts->arena, "%s/%s", str_equal(dir, "/") ? "" : dir,
			    path_name(path));
}

static void add_files(struct facts *facts, const struct package_facts *from, const char *database,
		      size_t first)
{
	for (size_t i = 0; i < from->file_count; i++) {
		const struct package_file *f = &from->files[i];
		const char *path = absolute(facts, from->items[f->package].kind, database, f->path);

		vec_push(&facts->package_files,
			 ((struct package_file){ in_real_directory(facts, path),
						 first + f->package }));
	}
}

/* A list of dpkg: files of a package that stands in status. */
static void add_list(struct facts *facts, const struct map *by_name,
		     const struct package_facts *from, const char *path)
{
	size_t at = (uintptr_t)map_get(by_name, from->items[0].name);
	struct package *p;

	if (!at--)
		return; /* removed, its configuration left */
	p = &facts->packages.items[at];
	/* of several architectures each has a list */
	p->record_only = (!p->file_count || p->record_only) && from->items[0].record_only;
	p->file_count += from->items[0].file_count;
	add_files(facts, from, path, at);
}

static void add_database(struct facts *facts, const struct package_facts *from, const char *path)
{
	size_t first = facts->packages.len;

	for (size_t i = 0; i < from->count; i++) {
		struct package p = from->items[i];

		p.path = path;
		vec_push(&facts->packages, p);
	}
	add_files(facts, from, path, first);
}

static bool is_list(const struct package_facts *from)
{
	return from->count == 1 && !*from->items[0].version;
}

/* `by_name`: the packages of dpkg, for their lists; NULL: take all but lists. */
static void take(struct facts *facts, const struct tree_node *node, const struct map *by_name)
{
	const struct file_facts *f = node_facts(node);
	bool lists = by_name != NULL;
	const char *path;

	if (!f)
		return;
	if (!f->packages && !f->text)
		return;
	path = facts_path(facts, node);
	if (f->packages && is_list(f->packages) == lists) {
		if (lists)
			add_list(facts, by_name, f->packages, path);
		else
			add_database(facts, f->packages, path);
	}
	if (f->packages && f->packages->problem && is_list(f->packages) == lists)
		vec_push(&facts->package_problems,
			 arena_printf(&facts->arena, "%s: %s", path, f->packages->problem));
	if (!lists && f->text && str_ends(path, ".dist-info/METADATA"))
		read_wheel(facts, node, slice_of(f->text, f->text_len));
}

void package_facts_derive(struct facts *facts)
{
	cleanup_map struct map by_name = { 0 };
	size_t count;
	struct tree_node **nodes = tree_sorted(&facts->tree, &count);

	for (size_t i = 0; i < count; i++)
		take(facts, nodes[i], NULL);
	for (size_t i = 0; i < facts->packages.len; i++) {
		if (str_equal(facts->packages.items[i].kind, "dpkg"))
			map_put(&by_name, facts->packages.items[i].name,
				(void *)(uintptr_t)(i + 1));
	}
	for (size_t i = 0; i < count; i++)
		take(facts, nodes[i], &by_name);
	vec_sort(&facts->package_files, package_file_order);
}

const struct package *facts_owner(const struct facts *facts, const char *path)
{
	const char *real = facts_real(facts, path);
	size_t low = 0, high = facts->package_files.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(facts->package_files.items[middle].path, real) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == facts->package_files.len ||
	    !str_equal(facts->package_files.items[low].path, real))
		return NULL;
	return &facts->packages.items[facts->package_files.items[low].package];
}
