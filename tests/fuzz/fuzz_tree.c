/*
 * The merged tree from hostile entries: lines of "KIND LAYER PATH [LINK]". The nodes that say they
 * are effective are exactly those found under their paths, nothing lies below a file, and sorted
 * paths ascend.
 */
#include "base/alloc.h"
#include "oci/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void add_line(struct tree *t, struct arena *arena, struct slice line, size_t *layer)
{
	struct tar_entry e = { .link = "" };
	struct slice kind, word;

	if (!slice_cut(&line, ' ', &kind) || kind.len != 1 || !slice_cut(&line, ' ', &word) ||
	    !word.len || word.data[0] == '/')
		return;
	switch (kind.data[0]) {
	case 'd':
		e.type = TAR_DIR;
		break;
	case 'l':
		e.type = TAR_SYMLINK;
		break;
	case 'h':
		e.type = TAR_HARDLINK;
		break;
	case 'n':
		++*layer; /* the next layer begins with this file */
		break;
	default:
		break;
	}
	e.path = arena_slice(arena, word);
	if (str_ends(e.path, "/"))
		return;
	if (slice_cut(&line, ' ', &word))
		e.link = arena_slice(arena, word);
	tree_add(t, *layer, &e);
}

static const char *node_path(const struct tree *t, const struct tree_node *n, struct arena *arena)
{
	cleanup_strbuf struct strbuf path = { 0 };

	return arena_strdup(arena, tree_path(t, n, &path));
}

static void check_node(const struct tree *t, const struct tree_node *n, struct arena *arena)
{
	const char *path = node_path(t, n, arena), *slash = strrchr(path, '/');
	const struct tree_node *found = tree_lookup(t, path), *parent;

	if ((n->fate == TREE_EFFECTIVE) != (found == n))
		abort();
	if (n->fate != TREE_EFFECTIVE || !slash)
		return;
	parent = tree_lookup(t, arena_slice(arena, slice_of(path, (size_t)(slash - path))));
	if (parent && parent->entry.type != TAR_DIR)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_tree struct tree t = { 0 };
	struct slice rest = slice_of(data, len), line;
	struct tree_nodes list = { 0 };
	struct tree_node **nodes;
	size_t layer = 0, count, effective = 0;
	const char *path;

	while (len && slice_cut(&rest, '\n', &line)) {
		if (!memchr(line.data ? line.data : data, 0, line.len))
			add_line(&t, &arena, line, &layer);
	}
	for (size_t i = 0; i < t.count; i++) {
		const struct tree_node *n = tree_node_at(&t, i);

		check_node(&t, n, &arena);
		effective += n->fate == TREE_EFFECTIVE;
		tree_resolve(&t, node_path(&t, n, &arena), &arena, &path);
	}
	nodes = tree_sorted(&t, &count);
	if (count != effective)
		abort();
	for (size_t i = 1; i < count; i++) {
		if (strcmp(node_path(&t, nodes[i - 1], &arena), node_path(&t, nodes[i], &arena)) >=
		    0)
			abort();
	}
	tree_list(&t, "", &list);
	free(list.items);
	return 0;
}
