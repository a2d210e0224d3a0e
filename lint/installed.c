#include "lint/installed.h"

const char *installed_program(const struct facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->path.len; i++) {
		const char *dir = facts->path.items[i].path, *path;
		const struct tree_node *node;

		if (*dir != '/')
			continue;
		path = arena_printf(facts_arena(facts), "%s/%s", dir, name);
		node = facts_resolve(facts, path, &path);
		if (node && (node->entry.type == TAR_FILE || node->entry.type == TAR_HARDLINK))
			return path;
	}
	return NULL;
}

const char *installed_any(const struct facts *facts, const char *const *names)
{
	for (; *names; names++) {
		const char *path = installed_program(facts, *names);

		if (path)
			return path;
	}
	return NULL;
}

const char *installed_file(const struct facts *facts, const char *pattern)
{
	const char *name = path_name(pattern);
	bool plain = !strpbrk(name, "*?[");
	cleanup_strbuf struct strbuf path = { 0 };
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	for (size_t i = 0; i < count; i++) {
		if (nodes[i]->entry.type == TAR_DIR ||
		    (plain && !str_equal(facts_name(facts, nodes[i]), name)))
			continue;
		if (path_matches(pattern, facts_path_in(facts, nodes[i], &path)))
			return facts_path(facts, nodes[i]);
	}
	return NULL;
}
