#include "lint/recipe.h"

enum { STEPS_MAX = 10000 };

void recipe_release(struct recipe *recipe)
{
	vec_release(&recipe->steps);
	arena_release(&recipe->arena);
}

/* Words joined by one blank. */
static void add_words(struct strbuf *out, struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!strchr(" \t\r\n", text.data[i]) || !text.data[i])
			strbuf_addc(out, (char)text.data[i]);
		else if (out->len && out->data[out->len - 1] != ' ')
			strbuf_addc(out, ' ');
	}
}

static void add_step(struct recipe *recipe, struct strbuf *text, size_t line)
{
	while (text->len && text->data[text->len - 1] == ' ')
		strbuf_truncate(text, text->len - 1);
	if (text->len && recipe->steps.len < STEPS_MAX)
		vec_push(&recipe->steps,
			 ((struct recipe_step){ line,
						arena_strdup(&recipe->arena, strbuf_text(text)) }));
	strbuf_truncate(text, 0);
}

void recipe_parse(struct slice text, const char *file, struct recipe *out)
{
	cleanup_strbuf struct strbuf step = { 0 };
	size_t number = 0, start = 0;
	struct slice line;

	out->file = arena_strdup(&out->arena, file);
	while (slice_cut(&text, '\n', &line)) {
		bool continues;

		number++;
		line = slice_trim(line);
		if (!line.len || line.data[0] == '#')
			continue;
		continues = line.data[line.len - 1] == '\\';
		if (continues)
			line.len--;
		if (!step.len)
			start = number;
		add_words(&step, line);
		if (continues)
			add_words(&step, slice_str(" "));
		else
			add_step(out, &step, start);
	}
	add_step(out, &step, start);
}

/* What the history says of a layer; NULL: nothing. */
static const char *created_by(const struct image_config *config, size_t layer)
{
	size_t at = 0;

	for (size_t i = 0; config && i < config->history_count; i++) {
		if (!config->history[i].empty_layer && at++ == layer)
			return config->history[i].created_by;
	}
	return NULL;
}

/* "RUN |1 A=b /bin/sh -c make # buildkit" → "make", "COPY a b # buildkit" → "COPY a b". */
static void instruction_of(const char *history, struct strbuf *out)
{
	const char *shell = strstr(history, "/bin/sh -c "), *nop = strstr(history, "#(nop) ");
	struct slice text;
	size_t len;

	if (nop)
		history = nop + strlen("#(nop) ");
	else if (shell)
		history = shell + strlen("/bin/sh -c ");
	len = strlen(history);
	if (str_ends(history, "# buildkit"))
		len -= strlen("# buildkit");
	text = slice_trim(slice_of(history, len));
	if (slice_starts(text, "RUN "))
		text = slice_trim(slice_of(text.data + 4, text.len - 4));
	add_words(out, text);
	while (out->len && out->data[out->len - 1] == ' ')
		strbuf_truncate(out, out->len - 1);
}

/* The step is that instruction: with or without RUN and its options before it. */
static bool is_step(const struct recipe_step *step, const char *instruction)
{
	size_t len = strlen(step->text), want = strlen(instruction);

	if (len < want || !str_equal(step->text + len - want, instruction))
		return false;
	return len == want ||
	       (strncasecmp(step->text, "RUN ", 4) == 0 && step->text[len - want - 1] == ' ');
}

/* "COPY app /opt/app" of "COPY file:ab12… in /opt/app " and "COPY app /opt/app": where to. */
static bool copies_to(const struct recipe_step *step, const char *instruction)
{
	static const char *const words[] = { "COPY ", "ADD " };
	const char *in = strstr(instruction, " in ");
	size_t len = strlen(step->text), n;

	if (!in)
		return false;
	n = strlen(in + 4);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (str_starts(instruction, words[i]) &&
		    strncasecmp(step->text, words[i], strlen(words[i])) == 0 && n && len > n &&
		    str_equal(step->text + len - n, in + 4) && step->text[len - n - 1] == ' ')
			return true;
	}
	return false;
}

size_t recipe_line(const struct recipe *recipe, const struct image_config *config, size_t layer)
{
	const char *history = created_by(config, layer);
	cleanup_strbuf struct strbuf wanted = { 0 };

	if (!history)
		return 0;
	instruction_of(history, &wanted);
	for (size_t i = recipe->steps.len; wanted.len && i-- > 0;) {
		if (is_step(&recipe->steps.items[i], strbuf_text(&wanted)) ||
		    copies_to(&recipe->steps.items[i], strbuf_text(&wanted)))
			return recipe->steps.items[i].line;
	}
	return 0;
}
