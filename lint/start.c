#include "lint/start.h"

static bool take(const struct facts *facts, const char *path, struct start_program *out)
{
	const char *real = NULL;
	struct tree_node *node = facts_resolve(facts, path, &real);

	if (!node || node->entry.type == TAR_DIR) {
		out->is_directory |= facts_is_dir(facts, path);
		return false;
	}
	out->path = real;
	out->node = node;
	return true;
}

static void find(const struct facts *facts, struct start_program *out)
{
	const char *workdir = facts->config->workdir;

	if (!workdir || !*workdir)
		workdir = "/";
	if (strchr(out->word, '/')) {
		take(facts,
		     *out->word == '/'
			     ? out->word
			     : arena_printf(facts_arena(facts), "%s/%s", workdir, out->word),
		     out);
		return;
	}
	for (size_t i = 0; i < facts->path.len; i++) {
		const char *dir = facts->path.items[i].path;

		if (*dir == '/' &&
		    take(facts, arena_printf(facts_arena(facts), "%s/%s", dir, out->word), out))
			return;
	}
}

/* "/usr/bin/env python3 -u": the interpreter is env; what it starts is not judged. */
static const char *interpreter_of(const struct facts *facts, const char *shebang)
{
	size_t blanks = strspn(shebang, " \t");
	size_t len = strcspn(shebang + blanks, " \t");

	return arena_printf(facts_arena(facts), "%.*s", (int)len, shebang + blanks);
}

struct start_program start_program_of(const struct facts *facts)
{
	struct start_program out = { 0 };
	const struct file_facts *content;

	if (!facts->config)
		return out;
	if (facts->config->entrypoint.count)
		out.word = facts->config->entrypoint.items[0];
	else if (facts->config->cmd.count)
		out.word = facts->config->cmd.items[0];
	if (!out.word || !*out.word)
		return out;
	find(facts, &out);
	content = node_facts(out.node);
	if (content && content->shebang) {
		out.shebang = content->shebang;
		out.interpreter = interpreter_of(facts, content->shebang);
	}
	return out;
}
