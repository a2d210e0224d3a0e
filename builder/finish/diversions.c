/*
 * Paths that packages take over from others with dpkg-divert in their scripts: what other packages
 * bring there lands beside it, in every order of installation.
 * Source: dpkg-divert(1).
 */
#include "builder/finish/finish.h"
#include "builder/finish/script_words.h"

/* Registered by scripts that build the names in functions. */
static const struct rootfs_diversion known[] = {
	{ "bin/sh", "bin/sh.distrib", "dash" },
	{ "usr/share/man/man1/sh.1.gz", "usr/share/man/man1/sh.distrib.1.gz", "dash" },
};

/* dpkg-divert [--package NAME] [--divert TO] [--rename] [--add] PATH */
static void take_command(const struct component *c, const struct script_command *command,
			 struct rootfs *r)
{
	const char *package = c->name, *to = NULL, *path = NULL;
	cleanup_free char *usual = NULL;

	for (size_t i = 1; i < command->count; i++) {
		const char *w = command->words[i],
			   *next = i + 1 < command->count ? command->words[i + 1] : "";

		if (str_equal(w, "--package") || str_equal(w, "--divert")) {
			*(w[2] == 'p' ? &package : &to) = next;
			i++;
		} else if (str_starts(w, "--package=")) {
			package = w + strlen("--package=");
		} else if (str_starts(w, "--divert=")) {
			to = w + strlen("--divert=");
		} else if (str_equal(w, "--remove") || str_equal(w, "--list") ||
			   str_equal(w, "--truename") || str_equal(w, "--listpackage") ||
			   str_equal(w, "--local")) {
			return;
		} else if (*w != '-') {
			path = w;
		}
	}
	if (path && !to)
		to = usual = xasprintf("%s.distrib", path);
	if (path && finish_is_clean(path) && finish_is_clean(to))
		rootfs_divert(r, package, path + 1, to + 1);
}

void finish_diversions(const struct component *c, struct rootfs *r)
{
	struct script_place place = { .package = c->name, .arch = c->arch };
	struct arena arena = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(known) && c->kind == COMPONENT_DEB; i++) {
		if (str_equal(known[i].package, c->name))
			rootfs_divert(r, c->name, known[i].path, known[i].to);
	}
	for (size_t i = 0; i < c->scripts.len; i++) {
		const struct component_script *s = &c->scripts.items[i];
		struct slice text = slice_of(s->text, s->len);
		struct script_commands commands = { 0 };

		if ((!str_equal(s->name, "preinst") && !str_equal(s->name, "postinst")) ||
		    !memmem(text.data, text.len, "dpkg-divert", strlen("dpkg-divert")))
			continue;
		place.argument = str_equal(s->name, "preinst") ? "install" : "configure";
		script_words_in(text, &place, &arena, &commands);
		for (size_t k = 0; k < commands.len; k++) {
			const struct script_command *command = &commands.items[k];

			if (command->certain && !command->dynamic &&
			    str_equal(command->words[0], "dpkg-divert"))
				take_command(c, command, r);
		}
		vec_release(&commands);
	}
	arena_release(&arena);
}
