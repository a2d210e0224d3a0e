#include "manifests/stack_starter.h"

#include <ctype.h>

#include "formats/json.h"

enum { COMMENT_COLUMN = 42, SHOWN_MAX = 200 };

/* A line of the manifest, and behind it what it is for. */
static void line(struct strbuf *out, const char *text, const char *comment)
{
	size_t len = strlen(text);

	strbuf_adds(out, text);
	do
		strbuf_addc(out, ' ');
	while (++len < COMMENT_COLUMN);
	strbuf_addf(out, "# %s\n", comment);
}

static PRINTF_LIKE(3, 4) void linef(struct strbuf *out, const char *comment, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = xvasprintf(fmt, args);
	va_end(args);
	line(out, text, comment);
}

/* A scalar: plain when nothing in it means anything to YAML, else as JSON writes it. */
static void add_scalar(const char *text, struct strbuf *out)
{
	cleanup_json json_t *value = NULL;
	bool plain = isalpha((unsigned char)text[0]);

	for (const char *c = text; *c; c++)
		plain &= isalnum((unsigned char)*c) || (*c && strchr("_-", *c));
	if (plain && strlen(text) > 3) { /* no "on", "no", "yes" */
		strbuf_adds(out, text);
		return;
	}
	value = json_text(text);
	json_canonical(value, out);
}

static void add_list(const struct stack_texts *texts, struct strbuf *out)
{
	strbuf_addc(out, '[');
	for (size_t i = 0; i < texts->count; i++) {
		strbuf_adds(out, i ? ", " : "");
		add_scalar(texts->items[i], out);
	}
	strbuf_addc(out, ']');
}

/* "2.9.1" → "2.9": what a manifest pins, so that corrections still come in. */
static char *minor_of(const char *version)
{
	const char *dot = strchr(version, '.'), *second = dot ? strchr(dot + 1, '.') : NULL;

	return second ? xstrndup(version, (size_t)(second - version)) : xstrdup(version);
}

static bool has_framework(const struct stack_starter *s)
{
	return s->stack->framework.count > 0;
}

static void write_head(const struct stack_starter *s, struct strbuf *out)
{
	strbuf_adds(
		out,
		"# The stack manifest: what the image runs on, what is in it, how it starts.\n"
		"#\n"
		"#   gpuimg resolve stack.yaml    which versions fit, and why\n"
		"#   gpuimg lock stack.yaml       fix every input to a digest: stack.lock.json\n"
		"#   gpuimg build stack.yaml      assemble the image, and lint it first\n"
		"#\n"
		"# Lines that begin with \"# \" and a key are ready for use without it.\n");
	if (s->from) {
		strbuf_adds(out, "#\n# The stack is that of the image ");
		strbuf_add_quoted(out, slice_str(s->from), SHOWN_MAX);
		strbuf_adds(out, ".\n");
	}
	strbuf_addc(out, '\n');
	line(out, "gpuimg: 1", "the version of this format");
	linef(out, "the image's name, without registry", "name: \"%s\"", s->name);
	line(out, "tag: \"0.1\"", "the image's tag");
	linef(out, "linux/amd64, linux/arm64: one image each", "platforms: [%s]", s->platform);
}

static void write_driver(const struct stack_starter *s, struct strbuf *out)
{
	const struct toolkit *t = s->solution->choice.toolkit;
	cleanup_free char *comment = NULL;

	if (s->stack->driver) {
		bool digit = isdigit((unsigned char)s->stack->driver[0]);

		linef(out, "the oldest driver of the hosts it must start on", "  driver: \"%s%s\"",
		      digit ? ">=" : "", s->stack->driver);
	} else if (t && t->own_driver) {
		comment = xasprintf("the oldest driver of the hosts; this one came with CUDA %s",
				    t->minor);
		linef(out, comment, "  driver: \">=%s\"", t->own_driver);
	} else {
		line(out, "  # driver: \">=580.65.06\"", "the oldest driver of the hosts");
	}
}

static void write_gpus(const struct stack_starter *s, struct strbuf *out)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (!s->stack->gpus.count) {
		line(out, "  # gpus: [a100, h100, sm_120]",
		     "the GPUs its code must run on, by name or architecture");
		return;
	}
	strbuf_adds(&text, "  gpus: ");
	add_list(&s->stack->gpus, &text);
	line(out, strbuf_text(&text), "the GPUs its code must run on, by name or architecture");
}

/* What was chosen, for the comment: "torch 2.9.1 (cu128)". */
static char *chosen_names(const struct stack_starter *s)
{
	const struct solver_choice *c = &s->solution->choice;
	struct strbuf b = { 0 };

	for (size_t i = 0; i < c->build_count; i++)
		strbuf_addf(&b, "%s%s %s (%s)", i ? ", " : "", c->builds[i]->framework,
			    c->builds[i]->version, c->builds[i]->flavour);
	return strbuf_steal(&b);
}

static void write_framework(const struct stack_starter *s, struct strbuf *out)
{
	const struct solver_choice *c = &s->solution->choice;
	const struct stack_pairs *asked = &s->stack->framework;
	cleanup_free char *names = chosen_names(s);
	cleanup_free char *comment = xasprintf("installed by this line; now %s", names);
	cleanup_strbuf struct strbuf text = { 0 };

	if (!asked->count) {
		line(out, "  # framework: { torch: \"2.7.*\" }",
		     "torch, tensorflow, jax: this line alone installs it");
		return;
	}
	strbuf_adds(&text, s->hashed ? "  # framework: { " : "  framework: { ");
	for (size_t i = 0; i < asked->count; i++) {
		const struct stack_pair *p = &asked->items[i];
		cleanup_free char *minor = minor_of(c->builds[i]->version);

		strbuf_addf(&text, "%s%s: \"%s%s\"", i ? ", " : "", p->key,
			    *p->value ? p->value : minor, *p->value ? "" : ".*");
	}
	strbuf_adds(&text, " }");
	line(out, strbuf_text(&text),
	     s->hashed ? "out: the requirements pin it, and pip wants a hash for each" : comment);
	for (size_t i = 0; i < c->build_count && !s->hashed; i++) {
		if (!c->builds[i]->is_default)
			strbuf_addf(
				out,
				"  # Ask the source of wheels for the %s build of %s: an index may "
				"give another\n  # by default.\n",
				c->builds[i]->flavour, c->builds[i]->framework);
	}
}

static void write_versions(const struct stack_starter *s, struct strbuf *out)
{
	const struct solver_choice *c = &s->solution->choice;
	cleanup_free char *comment = NULL;

	if (s->stack->cuda && *s->stack->cuda && strcmp(s->stack->cuda, ">=1") != 0) {
		linef(out, "the CUDA toolkit", "  cuda: \"%s\"", s->stack->cuda);
	} else if (c->toolkit && !has_framework(s)) {
		comment = xasprintf("the CUDA toolkit; now %s", c->toolkit->version);
		linef(out, comment, "  cuda: \"%s\"", c->toolkit->minor);
	} else if (c->toolkit) {
		linef(out, "the CUDA toolkit; left out, the framework decides", "  # cuda: \"%s\"",
		      c->toolkit->minor);
	}
	for (size_t i = 0; i < s->seen.count; i++)
		linef(out, "what that image holds; left out, the stack decides", "  # %s: \"%s\"",
		      s->seen.items[i].key, s->seen.items[i].value);
	if (s->stack->python)
		linef(out, "that of the system below, which wheels are chosen for",
		      "  python: \"%s\"", s->stack->python);
	else if (c->python && has_framework(s))
		linef(out, "the Python that wheels are chosen for; this is the newest with any",
		      "  # python: \"%s\"", c->python);
	line(out, "  # compat: never",
	     "auto, always, never: libraries that let older drivers run it");
}

static void write_sources(struct strbuf *out)
{
	line(out, "sources:", "where packages come from, asked in this order");
	line(out, "  - { id: os, type: apt, from: host }",
	     "this machine's apt sources and keyrings");
	line(out, "  - { id: pip, type: wheels, from: host }", "pip's own configuration");
}

static void write_stages(const struct stack_starter *s, bool python, struct strbuf *out)
{
	cleanup_strbuf struct strbuf text = { 0 };

	line(out, "stages:", "the last stage is the image; those before it are not shipped");
	line(out, "  runtime:", "its name is yours to choose");
	line(out, python ? "    profile: runtime" : "    profile: base",
	     "base: the CUDA runtime; runtime: its libraries too; devel: to compile");
	line(out, "    packages:", "by source; what they depend on comes along");
	line(out, "      os:", "Debian packages: nothing is in the image unless named");
	line(out, "        - base-files", "the directories of a system");
	line(out, "        - base-passwd", "users and groups");
	line(out, "        - bash", "a shell to look around with");
	line(out, "        - ca-certificates", "to trust servers");
	line(out, "        - coreutils", "ls, cat and the like");
	line(out, "        - dash", "/bin/sh");
	line(out, "        - libc-bin", "the loader's tools");
	line(out, "        - libstdc++6", "what CUDA libraries are linked with");
	if (python)
		line(out, "        - python3", "the interpreter");
	if (s->requirements) {
		strbuf_adds(&text, "        - { requirements: ");
		add_scalar(s->requirements, &text);
		strbuf_adds(&text, " }");
		line(out, "      pip:", "Python packages");
		line(out, strbuf_text(&text), "a file beside this one");
	} else if (python) {
		line(out, "      # pip: [\"einops>=0.8\"]",
		     "more Python packages, or { requirements: FILE } (or a pylock.toml)");
	}
	line(out, "    # run: [\"ldconfig\"]", "commands, in a sandbox without network");
}

/* A line break of any alphabet would end the comment. */
static bool is_printable(const struct stack_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++) {
		for (const char *c = texts->items[i]; *c; c++) {
			if (*c < ' ' || *c > '~')
				return false;
		}
	}
	return true;
}

static void write_own(const char *key, const struct stack_texts *texts, const char *comment,
		      struct strbuf *out)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (!texts->count || !is_printable(texts))
		return;
	strbuf_addf(&text, "  # %s: ", key);
	add_list(texts, &text);
	line(out, strbuf_text(&text), comment);
}

static void write_image(const struct stack_starter *s, bool python, struct strbuf *out)
{
	line(out, "image:", "how a container of it starts");
	line(out, "  user: { name: app, uid: 1000 }", "not root");
	if (!s->cmd.count)
		line(out, python ? "  cmd: [python3]" : "  cmd: [/bin/bash]", "what it runs");
	write_own("entrypoint", &s->entrypoint, "that image's: bring its files into this one first",
		  out);
	write_own("cmd", &s->cmd, "that image's: bring its files into this one first", out);
	line(out, "  # env: { OMP_NUM_THREADS: \"8\" }",
	     "variables; those for the GPU are set anyway");
	line(out, "  # workdir: /home/app", "where it starts");
	strbuf_addc(out, '\n');
	line(out, "# lint: { fail-on: warning }", "refuse an image with less than an error, too");
	line(out, "# test: { require: load }", "what gpuimg test must reach");
	line(out, "# publish: [\"registry.example.org/{name}:{tag}\"]",
	     "where gpuimg push takes it");
}

void stack_starter_write(const struct stack_starter *s, struct strbuf *out)
{
	bool python = has_framework(s) || s->requirements || s->stack->python;

	write_head(s, out);
	strbuf_addc(out, '\n');
	line(out, "stack:", "what it must run on and with; locking makes exact versions of it");
	write_driver(s, out);
	write_gpus(s, out);
	write_framework(s, out);
	write_versions(s, out);
	strbuf_addc(out, '\n');
	write_sources(out);
	strbuf_addc(out, '\n');
	write_stages(s, python, out);
	strbuf_addc(out, '\n');
	write_image(s, python, out);
}
