/*
 * The alternatives that postinst scripts register, without update-alternatives: of each name the
 * choice with the highest priority, the first registered of equals; of several toolkits the one of
 * the stack, as if chosen by hand. Packages are walked in the order of configuration. Writes LINK,
 * /etc/alternatives/NAME, those of the slaves whose file is there, and the record in
 * /var/lib/dpkg/alternatives, or that of .rpms in /var/lib/alternatives. Source:
 * update-alternatives(1); the records' forms as dpkg 1.21 and chkconfig 1.24 write them.
 */
#include "builder/finish/finish.h"
#include "builder/finish/script_words.h"

struct slave {
	const char *link, *name, *path;
};

struct choice {
	const char *path;
	int64_t priority;
	const char *family, *initscript; /* of an .rpm, or NULL */
	VEC(struct slave) slaves;
};

struct alternative {
	const char *name, *link;
	bool rpm;    /* the first to register it was an .rpm */
	bool manual; /* not the best: the base image's choice, which stays, or the stack's */
	VEC(struct choice) choices;
	VEC(struct slave) slaves; /* of the base image's record, without a path */
};

struct alternatives {
	struct finish *f;
	struct arena arena;
	VEC(struct alternative *) items;
};

static void alternatives_release(struct alternatives *a)
{
	for (size_t i = 0; i < a->items.len; i++) {
		for (size_t k = 0; k < a->items.items[i]->choices.len; k++)
			vec_release(&a->items.items[i]->choices.items[k].slaves);
		vec_release(&a->items.items[i]->choices);
		vec_release(&a->items.items[i]->slaves);
	}
	vec_release(&a->items);
	arena_release(&a->arena);
}

/* "-5", "120" */
static bool read_priority(const char *text, int64_t *out)
{
	bool minus = *text == '-';
	uint64_t value;

	if (!slice_u64(slice_str(text + minus), &value) || value > INT32_MAX)
		return false;
	*out = minus ? -(int64_t)value : (int64_t)value;
	return true;
}

static const char *take_line(struct alternatives *a, struct slice *rest)
{
	struct slice line;

	return slice_cut(rest, '\n', &line) ? arena_slice(&a->arena, line) : "";
}

/* Names become files below /etc/alternatives, links and paths are absolute. */
static bool is_plain_name(const char *name)
{
	return *name && !strchr(name, '/') && !str_equal(name, ".") && !str_equal(name, "..") &&
	       !strpbrk(name, "\n$`");
}

static bool is_path(const char *path)
{
	return finish_is_clean(path) && !strpbrk(path, "\n$`");
}

/* Names and links of slaves, until an empty line. */
static bool parse_slaves(struct alternatives *a, struct slice *rest, struct alternative *out)
{
	const char *line;

	while (*(line = take_line(a, rest))) {
		struct slave s = { .name = line };

		s.link = take_line(a, rest);
		if (!is_plain_name(s.name) || !is_path(s.link))
			return false;
		vec_push(&out->slaves, s);
	}
	return true;
}

static bool parse_choice(struct alternatives *a, struct slice *rest,
			 const struct alternative *alternative, struct choice *out)
{
	if (!is_path(out->path) || !read_priority(take_line(a, rest), &out->priority))
		return false;
	for (size_t i = 0; i < alternative->slaves.len; i++) {
		struct slave s = alternative->slaves.items[i];

		s.path = take_line(a, rest);
		if (*s.path && !is_path(s.path))
			return false;
		if (*s.path)
			vec_push(&out->slaves, s);
	}
	return true;
}

/*
 * The choices that the base image registered: "auto", the link, name and link of each slave, an
 * empty line; then of each choice its path, priority, and a path for each slave. What follows
 * something that cannot be is not read.
 */
static void parse_record(struct alternatives *a, struct alternative *alternative, struct slice rest)
{
	bool manual = str_equal(take_line(a, &rest), "manual");
	const char *link = take_line(a, &rest), *line;

	if (!is_path(link) || !parse_slaves(a, &rest, alternative))
		return;
	alternative->manual = manual;
	alternative->link = link;
	while (*(line = take_line(a, &rest))) {
		struct choice choice = { .path = line };

		if (!parse_choice(a, &rest, alternative, &choice)) {
			vec_release(&choice.slaves);
			return;
		}
		vec_push(&alternative->choices, choice);
	}
}

static void read_base(struct alternatives *a, struct alternative *alternative)
{
	cleanup_free char *path = xasprintf("var/lib/dpkg/alternatives/%s", alternative->name);
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };

	if (finish_base_read(a->f, path, &text, &ignored) > 0)
		parse_record(a, alternative, strbuf_slice(&text));
}

static struct alternative *find(struct alternatives *a, const char *name, const char *link)
{
	struct alternative *alternative;

	for (size_t i = 0; i < a->items.len; i++) {
		if (str_equal(a->items.items[i]->name, name))
			return a->items.items[i];
	}
	alternative = arena_alloc(&a->arena, sizeof(*alternative));
	alternative->name = name;
	alternative->link = link;
	vec_push(&a->items, alternative);
	read_base(a, alternative);
	return alternative;
}

/* update-alternatives [options] --install LINK NAME PATH PRIORITY [--slave LINK NAME PATH]… */
static void take_command(struct alternatives *a, const struct script_command *c, bool rpm)
{
	struct alternative *alternative;
	struct choice choice = { 0 };
	size_t i = 1;

	while (i < c->count && !str_equal(c->words[i], "--install"))
		i++;
	if (i + 4 >= c->count || !is_path(c->words[i + 1]) || !is_plain_name(c->words[i + 2]) ||
	    !is_path(c->words[i + 3]) || !read_priority(c->words[i + 4], &choice.priority))
		return;
	choice.path = c->words[i + 3];
	alternative = find(a, c->words[i + 2], c->words[i + 1]);
	alternative->rpm = alternative->choices.len ? alternative->rpm : rpm;
	for (size_t k = i + 5; k + 1 < c->count; k++) {
		if (str_equal(c->words[k], "--family") && is_plain_name(c->words[k + 1]))
			choice.family = c->words[k + 1];
		if (str_equal(c->words[k], "--initscript") && is_plain_name(c->words[k + 1]))
			choice.initscript = c->words[k + 1];
	}
	for (i += 5; i + 3 < c->count; i++) {
		struct slave s;

		if (!str_equal(c->words[i], "--slave") && !str_equal(c->words[i], "--follower"))
			continue;
		s = (struct slave){ c->words[i + 1], c->words[i + 2], c->words[i + 3] };
		if (is_path(s.link) && is_plain_name(s.name) && is_path(s.path))
			vec_push(&choice.slaves, s);
		i += 3;
	}
	for (i = 0; i < alternative->choices.len; i++) {
		struct choice *had = &alternative->choices.items[i];

		if (str_equal(had->path, choice.path)) { /* a newer version of the package */
			vec_release(&had->slaves);
			*had = choice;
			return;
		}
	}
	vec_push(&alternative->choices, choice);
}

/* Both names are one program in the RPM world. */
static bool is_tool(const char *word)
{
	const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

	return str_equal(name, "update-alternatives") || str_equal(name, "alternatives");
}

/* A package whose script makes the arguments in a function; what it comes to. */
static const char xz[] =
	"update-alternatives --install /usr/bin/lzma lzma /usr/bin/xz 20 "
	"--slave /usr/share/man/man1/lzma.1.gz lzma.1.gz /usr/share/man/man1/xz.1.gz "
	"--slave /usr/bin/unlzma unlzma /usr/bin/unxz "
	"--slave /usr/share/man/man1/unlzma.1.gz unlzma.1.gz /usr/share/man/man1/unxz.1.gz "
	"--slave /usr/bin/lzcat lzcat /usr/bin/xzcat "
	"--slave /usr/share/man/man1/lzcat.1.gz lzcat.1.gz /usr/share/man/man1/xzcat.1.gz "
	"--slave /usr/bin/lzmore lzmore /usr/bin/xzmore "
	"--slave /usr/share/man/man1/lzmore.1.gz lzmore.1.gz /usr/share/man/man1/xzmore.1.gz "
	"--slave /usr/bin/lzless lzless /usr/bin/xzless "
	"--slave /usr/share/man/man1/lzless.1.gz lzless.1.gz /usr/share/man/man1/xzless.1.gz "
	"--slave /usr/bin/lzdiff lzdiff /usr/bin/xzdiff "
	"--slave /usr/share/man/man1/lzdiff.1.gz lzdiff.1.gz /usr/share/man/man1/xzdiff.1.gz "
	"--slave /usr/bin/lzcmp lzcmp /usr/bin/xzcmp "
	"--slave /usr/share/man/man1/lzcmp.1.gz lzcmp.1.gz /usr/share/man/man1/xzcmp.1.gz "
	"--slave /usr/bin/lzgrep lzgrep /usr/bin/xzgrep "
	"--slave /usr/share/man/man1/lzgrep.1.gz lzgrep.1.gz /usr/share/man/man1/xzgrep.1.gz "
	"--slave /usr/bin/lzegrep lzegrep /usr/bin/xzegrep "
	"--slave /usr/share/man/man1/lzegrep.1.gz lzegrep.1.gz /usr/share/man/man1/xzegrep.1.gz "
	"--slave /usr/bin/lzfgrep lzfgrep /usr/bin/xzfgrep "
	"--slave /usr/share/man/man1/lzfgrep.1.gz lzfgrep.1.gz /usr/share/man/man1/xzfgrep.1.gz\n";

enum { XZ_LINES = 100 }; /* of its script, at most: it does nothing else */

static void take_script(struct alternatives *a, struct finish *f, const struct component *c,
			const struct component_script *script)
{
	struct script_commands commands = { 0 };

	finish_script(f, c, script, &a->arena, &commands);
	for (size_t k = 0; k < commands.len; k++) {
		if (commands.items[k].active && is_tool(commands.items[k].words[0]))
			take_command(a, &commands.items[k], c->kind == COMPONENT_RPM);
	}
	vec_release(&commands);
}

static void take_scripts(struct alternatives *a, struct finish *f, const struct component *c)
{
	static const struct component_script of_xz = { "postinst", xz, sizeof(xz) - 1, NULL };

	for (size_t i = 0; i < c->scripts.len; i++) {
		const char *name = c->scripts.items[i].name;

		if (str_equal(name, "postinst") || str_equal(name, "post") ||
		    str_equal(name, "posttrans"))
			take_script(a, f, c, &c->scripts.items[i]);
		if (c->kind == COMPONENT_DEB && str_equal(c->name, "xz-utils") &&
		    str_equal(name, "postinst")) {
			take_script(a, f, c, &of_xz);
			finish_note_lines(f, c, &c->scripts.items[i], 1, XZ_LINES);
		}
	}
}

static bool is_there(struct finish *f, const char *path)
{
	return rootfs_resolve(f->rootfs, path) != NULL;
}

static void write_link(struct finish *f, const char *link, const char *name, const char *path)
{
	cleanup_free char *entry = xasprintf("etc/alternatives/%s", name),
			  *target = xasprintf("/etc/alternatives/%s", name);

	finish_relink(f, entry, path);
	finish_link(f, link + 1, target);
}

static int compare_slaves(const void *a, const void *b)
{
	return strcmp(((const struct slave *)a)->name, ((const struct slave *)b)->name);
}

static int compare_choices(const void *a, const void *b)
{
	return strcmp(((const struct choice *)a)->path, ((const struct choice *)b)->path);
}

/* All slave names of all choices, sorted, each once. */
static void slave_names(const struct alternative *a, struct strbuf *header, struct map *out)
{
	VEC(struct slave) all = { 0 };

	for (size_t i = 0; i < a->choices.len; i++) {
		for (size_t k = 0; k < a->choices.items[i].slaves.len; k++)
			vec_push(&all, a->choices.items[i].slaves.items[k]);
	}
	vec_sort(&all, compare_slaves);
	for (size_t i = 0; i < all.len; i++) {
		if (map_has(out, all.items[i].name))
			continue;
		map_put(out, all.items[i].name, (void *)(uintptr_t)all.items[i].link);
		strbuf_addf(header, "%s\n%s\n", all.items[i].name, all.items[i].link);
	}
	vec_release(&all);
}

static int write_record(struct finish *f, struct alternative *a, struct error *err)
{
	cleanup_strbuf struct strbuf b = { 0 };
	cleanup_map struct map names = { 0 };
	cleanup_free char *path = xasprintf("var/lib/dpkg/alternatives/%s", a->name);
	const struct map_entry *sorted;

	strbuf_addf(&b, "%s\n%s\n", a->manual ? "manual" : "auto", a->link);
	slave_names(a, &b, &names);
	strbuf_addc(&b, '\n');
	sorted = map_sorted(&names);
	vec_sort(&a->choices, compare_choices);
	for (size_t i = 0; i < a->choices.len; i++) {
		const struct choice *c = &a->choices.items[i];

		strbuf_addf(&b, "%s\n%" PRId64 "\n", c->path, c->priority);
		for (size_t k = 0; k < names.len; k++) {
			const char *slave_path = "";

			for (size_t s = 0; s < c->slaves.len; s++) {
				if (str_equal(c->slaves.items[s].name, sorted[k].key))
					slave_path = c->slaves.items[s].path;
			}
			strbuf_addf(&b, "%s\n", slave_path);
		}
	}
	strbuf_addc(&b, '\n');
	return finish_update(f, path, 0644, strbuf_slice(&b), err);
}

/* Choices as they were registered, each with the slaves of the first, in its order. */
static void write_rpm_record(struct finish *f, const struct alternative *a)
{
	const struct choice *first = &a->choices.items[0];
	cleanup_strbuf struct strbuf b = { 0 };
	cleanup_free char *path = xasprintf("var/lib/alternatives/%s", a->name);

	strbuf_addf(&b, "%s\n%s\n", a->manual ? "manual" : "auto", a->link);
	for (size_t i = 0; i < first->slaves.len; i++)
		strbuf_addf(&b, "%s\n%s\n", first->slaves.items[i].name,
			    first->slaves.items[i].link);
	strbuf_addc(&b, '\n');
	for (size_t i = 0; i < a->choices.len; i++) {
		const struct choice *c = &a->choices.items[i];

		if (c->family)
			strbuf_addf(&b, "@%s@", c->family);
		strbuf_addf(&b, "%s\n%" PRId64 "%s%s\n", c->path, c->priority,
			    c->initscript ? " " : "", c->initscript ? c->initscript : "");
		for (size_t k = 0; k < first->slaves.len; k++) {
			const char *target = "";

			for (size_t s = 0; s < c->slaves.len; s++) {
				if (str_equal(c->slaves.items[s].name, first->slaves.items[k].name))
					target = c->slaves.items[s].path;
			}
			strbuf_addf(&b, "%s\n", target);
		}
	}
	finish_text(f, path, 0644, strbuf_slice(&b));
}

/* The toolkit of the stack: `/usr/local/cuda` stands for it, whatever else is installed beside. */
static bool is_stacks_toolkit(const struct finish *f, const struct choice *c)
{
	cleanup_free char *toolkit = finish_toolkit(f);

	return toolkit && str_equal(c->path + 1, toolkit);
}

/* Choices whose file was left out are none. */
static void drop_missing(struct finish *f, struct alternative *a)
{
	size_t there = 0;

	for (size_t i = 0; i < a->choices.len; i++) {
		if (is_there(f, a->choices.items[i].path))
			a->choices.items[there++] = a->choices.items[i];
		else
			vec_release(&a->choices.items[i].slaves);
	}
	a->choices.len = there;
}

static int write_alternative(struct finish *f, struct alternative *a, struct error *err)
{
	const struct choice *best = NULL, *chosen = NULL;

	drop_missing(f, a);
	for (size_t i = 0; i < a->choices.len; i++) {
		const struct choice *c = &a->choices.items[i];

		if (!best || c->priority > best->priority)
			best = c;
		if (is_stacks_toolkit(f, c))
			chosen = c;
	}
	if (!best || a->manual)
		return 0;
	chosen = chosen ? chosen : best;
	a->manual = chosen != best;
	write_link(f, a->link, a->name, chosen->path);
	for (size_t i = 0; i < chosen->slaves.len; i++) {
		const struct slave *s = &chosen->slaves.items[i];

		if (is_there(f, s->path))
			write_link(f, s->link, s->name, s->path);
	}
	if (!a->rpm)
		return write_record(f, a, err);
	write_rpm_record(f, a);
	return 0;
}

int finish_alternatives(struct finish *f, struct error *err)
{
	struct alternatives a = { .f = f };
	int rc = 0;

	for (size_t i = 0; i < f->rootfs->parts.len; i++) {
		const struct component *c = f->rootfs->parts.items[i].component;

		if (c->kind == COMPONENT_DEB || c->kind == COMPONENT_RPM)
			take_scripts(&a, f, c);
	}
	for (size_t i = 0; i < a.items.len && rc == 0; i++)
		rc = write_alternative(f, a.items.items[i], err);
	alternatives_release(&a);
	return rc < 0 ? -1 : finish_flush(f, err);
}
