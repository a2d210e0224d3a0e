#include "lint/facts_parts.h"

enum { INCLUDE_DEPTH_MAX = 8, CONF_DIRS_MAX = 1024, CONF_FILES_MAX = 1000, STARS_MAX = 6 };

static void add_dir(struct facts *facts, struct search_dirs *dirs, struct slice path,
		    const char *where)
{
	if (dirs->len < CONF_DIRS_MAX)
		vec_push(dirs, ((struct search_dir){ arena_slice(&facts->arena, path), where }));
}

/* The elements of a variable of the environment, cut at ':'; empty ones are kept as "". */
static void split_path(struct facts *facts, struct search_dirs *dirs, const char *value,
		       const char *where)
{
	struct slice rest = slice_str(value), one;

	while (slice_cut(&rest, ':', &one))
		add_dir(facts, dirs, one, where);
}

static void read_conf(struct facts *facts, const char *file, unsigned depth);

/* The files of a directory whose names match, in the order of their names. */
static void include(struct facts *facts, const char *pattern, unsigned depth)
{
	const char *dir = path_dir(facts, pattern), *names = path_name(pattern);
	struct tree_nodes nodes = { 0 };
	size_t stars = 0;

	for (const char *p = pattern; *p; p++)
		stars += *p == '*';
	if (stars > STARS_MAX) /* such patterns can take for ever to match */
		return;

	if (path_matches(pattern, "/etc/ld.so.conf.d/00-x.conf"))
		facts->conf_includes_dropins = true;
	if (!strpbrk(pattern, "*?[")) {
		read_conf(facts, pattern, depth + 1);
		return;
	}
	facts_list(facts, dir, &nodes);
	for (size_t i = 0; i < nodes.len; i++) {
		const char *name = facts_name(facts, nodes.items[i]);

		if (name[0] != '.' && path_matches(names, name))
			read_conf(facts, arena_printf(&facts->arena, "%s/%s", dir, name),
				  depth + 1);
	}
	vec_release(&nodes);
}

static void read_line(struct facts *facts, const char *file, struct slice line, unsigned depth)
{
	const uint8_t *hash = line.len ? memchr(line.data, '#', line.len) : NULL;
	struct slice word;

	if (hash)
		line.len = (size_t)(hash - line.data);
	line = slice_trim(line);
	if (slice_starts(line, "include") && line.len > 8 &&
	    (line.data[7] == ' ' || line.data[7] == '\t')) {
		struct slice rest = slice_of(line.data + 8, line.len - 8);

		while (slice_cut(&rest, ' ', &word)) {
			const char *text;

			word = slice_trim(word);
			if (!word.len)
				continue;
			text = arena_slice(&facts->arena, word);
			include(facts,
				*text == '/' ? text
					     : arena_printf(&facts->arena, "%s/%s",
							    path_dir(facts, file), text),
				depth);
		}
		return;
	}
	if (slice_starts(line, "hwcap ") || !line.len)
		return;
	for (size_t at = 0; at < line.len;) {
		size_t start = at;

		while (at < line.len && !strchr(" \t,:", line.data[at]))
			at++;
		if (at > start)
			add_dir(facts, &facts->conf, slice_of(line.data + start, at - start), file);
		at++;
	}
}

static void read_conf(struct facts *facts, const char *file, unsigned depth)
{
	struct slice rest = facts_text(facts, file), line;

	if (depth >= INCLUDE_DEPTH_MAX || facts->conf_files++ >= CONF_FILES_MAX)
		return;
	while (slice_cut(&rest, '\n', &line))
		read_line(facts, file, line, depth);
}

void config_facts_derive(struct facts *facts)
{
	const char *library_path = facts_env(facts, "LD_LIBRARY_PATH");
	const char *path = facts_env(facts, "PATH");

	if (library_path && *library_path)
		split_path(facts, &facts->environment, library_path, "LD_LIBRARY_PATH");
	split_path(facts, &facts->path,
		   path ? path : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		   "PATH");
	facts->has_conf = facts_text(facts, "/etc/ld.so.conf").data != NULL;
	read_conf(facts, "/etc/ld.so.conf", 0);
}
