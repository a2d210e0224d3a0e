/*
 * /etc/shells: debianutils' template, what packages list in shells.d (as update-shells takes it),
 * and what scripts hand to add-shell. Source: update-shells(8), add-shell(8).
 */
#include "builder/finish/finish.h"
#include "builder/finish/script_words.h"

struct shells {
	struct finish *f;
	struct strbuf text;  /* /etc/shells */
	struct strbuf state; /* what update-shells put there */
	struct map listed;
};

static void add(struct shells *s, const char *shell, bool again)
{
	if (!again && map_has(&s->listed, shell))
		return;
	map_put(&s->listed, shell, s);
	strbuf_addf(&s->text, "%s\n", shell);
}

/* Under /bin, and under /usr/bin as a merged root has it too. */
static void add_both(struct shells *s, const char *shell)
{
	cleanup_free char *merged = xasprintf("/usr%s", shell);

	add(s, shell, false);
	if (str_starts(shell, "/bin/"))
		add(s, merged, false);
}

static void note_state(struct shells *s, const char *shell)
{
	strbuf_addf(&s->state, "%s\n", shell);
	if (str_starts(shell, "/bin/"))
		strbuf_addf(&s->state, "/usr%s\n", shell);
}

static int add_list(struct shells *s, const char *path, struct error *err)
{
	cleanup_strbuf struct strbuf list = { 0 };
	struct slice rest, line;

	if (rootfs_read(s->f->rootfs, path, MIB, &list, err) < 0)
		return -1;
	rest = strbuf_slice(&list);
	while (slice_cut(&rest, '\n', &line)) {
		cleanup_free char *shell = NULL;

		line = slice_trim(line);
		if (!line.len || line.data[0] != '/')
			continue;
		shell = xstrndup((const char *)line.data, line.len);
		add_both(s, shell);
		note_state(s, shell);
	}
	return 0;
}

/* The template's lines; it is a plain copy, so nothing is added to them. */
static int add_template(struct shells *s, const char *path, bool both, struct error *err)
{
	cleanup_strbuf struct strbuf own = { 0 };
	struct slice rest, line;

	if (rootfs_read(s->f->rootfs, path, MIB, &own, err) < 0)
		return -1;
	rest = strbuf_slice(&own);
	while (slice_cut(&rest, '\n', &line) && (rest.data || line.len)) {
		cleanup_free char *text = xstrndup((const char *)line.data, line.len);

		if (both && *text == '/') {
			add_both(s, text);
			note_state(s, text);
		} else
			add(s, text, *text != '/');
	}
	return 0;
}

static int take_command(void *user, const struct component *c, const struct script_command *command,
			struct error *err)
{
	struct shells *s = user;
	int rc = command->count > 1 && !command->dynamic;

	(void)c;
	(void)err;
	if (!str_equal(command->words[0], "add-shell") &&
	    !str_equal(command->words[0], "/usr/sbin/add-shell"))
		return 0;
	for (size_t i = 1; i < command->count && !command->dynamic; i++) {
		if (command->words[i][0] == '/' && !strchr(command->words[i], '\n'))
			add_both(s, command->words[i]);
		else
			rc = 0;
	}
	return rc;
}

static int collect(struct shells *s, const char *template, struct error *err)
{
	bool update = rootfs_lookup(s->f->rootfs, "usr/sbin/update-shells") != NULL;
	struct rootfs_nodes lists = { 0 };
	int rc = add_template(s, template, update, err);

	rootfs_list(s->f->rootfs, "usr/share/debianutils/shells.d", &lists);
	for (size_t i = 0; i < lists.len && rc == 0 && update; i++)
		rc = add_list(s, lists.items[i]->tar->path, err);
	vec_release(&lists);
	if (rc == 0)
		rc = finish_commands(s->f, true, take_command, s, err);
	return rc;
}

int finish_shells(struct finish *f, struct error *err)
{
	static const char template[] = "usr/share/debianutils/shells";
	struct shells s = { .f = f };
	int rc;

	if (!rootfs_lookup(f->rootfs, template))
		return 0;
	rc = collect(&s, template, err);
	if (rc == 0)
		finish_text(f, "etc/shells", 0644, strbuf_slice(&s.text));
	if (rc == 0 && s.state.len)
		finish_text(f, "var/lib/shells.state", 0644, strbuf_slice(&s.state));
	strbuf_release(&s.text);
	strbuf_release(&s.state);
	map_release(&s.listed);
	return rc;
}
