/* The reference page of all keys. */
#include "manifests/stack_keys.h"

static void add_value(const struct stack_key *key, struct strbuf *out)
{
	switch (key->type) {
	case KEY_TEXT:
		strbuf_adds(out, "text");
		return;
	case KEY_CHOICE:
	case KEY_ENUM:
	case KEY_FLAG:
		for (size_t i = 0; key->choices[i]; i++)
			strbuf_addf(out, "%s`%s`", i ? ", " : "", key->choices[i]);
		return;
	case KEY_UINT:
		strbuf_adds(out, "whole number");
		return;
	case KEY_SIZE:
		strbuf_adds(out, "size (`512MiB`)");
		return;
	case KEY_TEXTS:
		strbuf_adds(out, "list of text");
		return;
	case KEY_PAIRS:
		strbuf_adds(out, "map of text");
		return;
	case KEY_SECTION:
		strbuf_adds(out, "map");
		return;
	case KEY_LIST:
		strbuf_adds(out, "list of maps");
		return;
	case KEY_MAP:
		strbuf_adds(out, "map of maps");
		return;
	case KEY_PACKAGES:
		strbuf_adds(out, "map of lists");
		return;
	}
}

static void add_section(const struct stack_section *section, struct strbuf *out)
{
	if (*section->title)
		strbuf_addf(out, "\n## `%s`\n\n%s\n", section->title, section->help);
	strbuf_adds(out, "\n| key | value | absent | meaning |\n| --- | --- | --- | --- |\n");
	for (size_t i = 0; i < section->key_count; i++) {
		const struct stack_key *key = &section->keys[i];

		strbuf_addf(out, "| `%s` | ", key->name);
		add_value(key, out);
		strbuf_addf(out, " | %s | %s",
			    key->required   ? "refused"
			    : key->fallback ? key->fallback
					    : "–",
			    key->help);
		if (key->section)
			strbuf_addf(out, " See `%s`.", key->section->title);
		strbuf_adds(out, " |\n");
	}
	for (size_t i = 0; i < section->key_count; i++) {
		if (section->keys[i].section)
			add_section(section->keys[i].section, out);
	}
}

void stack_section_markdown(const struct stack_section *section, struct strbuf *out)
{
	add_section(section, out);
}

static const char overlays[] =
	"\n## Overlays\n\n"
	"A manifest may stand on another: `extends: common.yaml`, named from the folder of the "
	"file\n"
	"that says so, up to 8 files deep and never in a circle. What it says itself goes over "
	"what the\n"
	"extended file says: maps merge key by key, lists and single values replace, and a key "
	"with\n"
	"nothing after it (`base:`) takes away what was there. Keys keep the order in which they "
	"first\n"
	"appear and new ones follow, so a new stage becomes the last one, the image. Relative "
	"paths start\n"
	"at the folder of the manifest that was named on the command line, wherever they stand.\n\n"
	"`--set PATH=VALUE` of `lock`, `build` and `resolve` goes over all files: `--set "
	"stack.cuda=12.6`,\n"
	"`--set stack.gpus=a100,h100`, `--set stages.runtime.packages.os='[g++, make]'`. Lists "
	"are\n"
	"written with commas or as YAML, maps and lists of maps as YAML; a map merges.\n"
	"`gpuimg resolve --print-manifest` prints what comes of it.\n\n"
	"A lock belongs to the merged manifest, not to the text of its files: comments, layout "
	"and\n"
	"defaults that are written out change nothing, a value that changes makes it stale, and so "
	"does\n"
	"a requirements file or a `pylock.toml`.\n\n"
	"Private package indexes: what pip would show them is shown for their wheels too, when "
	"they are\n"
	"locked and when they are fetched: `user:secret@` in `PIP_INDEX_URL`, "
	"`PIP_EXTRA_INDEX_URL` or\n"
	"pip's configuration for the same server, else the netrc file. None of it is in a lock, a "
	"log or\n"
	"an error text.\n";

void stack_keys_markdown(struct strbuf *out)
{
	strbuf_addf(out,
		    "# The stack manifest\n\n"
		    "<!-- Made from the table in manifests/stack_keys.c by `make docs`. -->\n\n"
		    "%s\n",
		    stack_top.help);
	strbuf_adds(out, overlays);
	add_section(&stack_top, out);
}
