/*
 * /etc/pam.d/common-* as pam-auth-update makes them of the templates in /usr/share/pam and the
 * profiles in /usr/share/pam-configs that are on by default; /var/lib/pam remembers them.
 * Source: pam-auth-update(8).
 */
#include <ctype.h>

#include "builder/finish/finish.h"

struct profile {
	const char *name; /* of its file */
	int64_t priority;
	struct map fields; /* "Auth-Type" → text; of several lines, without their outer blanks */
};

struct pam {
	struct finish *f;
	struct arena arena;
	VEC(struct profile) profiles; /* the enabled ones, in order */
	struct strbuf seen;
};

static const char *get(const struct profile *p, const char *kind, const char *suffix)
{
	cleanup_free char *key = xasprintf("%s%s", kind, suffix);

	return map_get(&p->fields, key);
}

/* "Name: text" begins a field; other lines go on with it. */
static bool begins_field(struct slice line, struct slice *name, struct slice *value)
{
	struct slice rest = line;

	if (!slice_cut(&rest, ':', name) || !rest.data || !name->len ||
	    memchr(name->data, ' ', name->len) || memchr(name->data, '\t', name->len))
		return false;
	*value = slice_trim(rest);
	return rest.len == 0 || rest.data[0] == ' ' || rest.data[0] == '\t';
}

static void parse(struct pam *pam, struct slice text, struct profile *out)
{
	struct slice line, name, value;
	const char *field = NULL;

	while (slice_cut(&text, '\n', &line)) {
		if (begins_field(line, &name, &value)) {
			if (name.len > 6 && memcmp(name.data + name.len - 6, "-Final", 6) == 0)
				name.len -= 6;
			field = arena_slice(&pam->arena, name);
			map_put(&out->fields, field, arena_slice(&pam->arena, value));
			continue;
		}
		line = slice_trim(line);
		if (field && line.len) {
			const char *was = map_get(&out->fields, field);

			map_put(&out->fields, field,
				arena_printf(&pam->arena, "%s%s%.*s", was, *was ? "\n" : "",
					     (int)line.len, (const char *)line.data));
		}
	}
	if (!map_has(&out->fields, "Session-Interactive-Only")) {
		static const char *const kinds[] = { "-Type", "", "-Initial" };

		for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
			cleanup_free char *key = xasprintf("Session-noninteractive%s", kinds[i]);
			const char *text_of = get(out, "Session", kinds[i]);

			if (text_of)
				map_put(&out->fields, key, (void *)(uintptr_t)text_of);
		}
	}
}

static int compare_profiles(const void *a, const void *b)
{
	const struct profile *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return strcmp(y->name, x->name);
}

static int read_profiles(struct pam *pam, struct error *err)
{
	struct rootfs_nodes files = { 0 };
	size_t kept = 0;
	int rc = 0;

	rootfs_list(pam->f->rootfs, "usr/share/pam-configs", &files);
	for (size_t i = 0; i < files.len && rc == 0; i++) {
		const char *path = files.items[i]->tar->path, *priority;
		cleanup_strbuf struct strbuf text = { 0 };
		struct profile p = { .name = strrchr(path, '/') + 1 };
		uint64_t number = 0;

		rc = rootfs_read(pam->f->rootfs, path, MIB, &text, err);
		if (rc < 0)
			break;
		parse(pam, strbuf_slice(&text), &p);
		priority = map_get(&p.fields, "Priority");
		if (priority && slice_u64(slice_str(priority), &number))
			p.priority = (int64_t)MIN(number, (uint64_t)INT32_MAX);
		vec_push(&pam->profiles, p);
	}
	vec_release(&files);
	vec_sort(&pam->profiles, compare_profiles);
	for (size_t i = 0; i < pam->profiles.len; i++) {
		const char *on = map_get(&pam->profiles.items[i].fields, "Default");

		strbuf_addf(&pam->seen, "%s\n", pam->profiles.items[i].name);
		if (on && str_equal(on, "yes"))
			pam->profiles.items[kept++] = pam->profiles.items[i];
		else
			map_release(&pam->profiles.items[i].fields);
	}
	pam->profiles.len = kept;
	return rc;
}

/* The first of a block may have lines of its own. */
static const char *lines_of(const struct profile *p, const char *kind, size_t position)
{
	const char *initial = position ? NULL : get(p, kind, "-Initial");

	return initial ? initial : get(p, kind, "");
}

static bool in_block(const struct profile *p, const char *kind, const char *block)
{
	const char *type = get(p, kind, "-Type");

	return type && str_equal(type, block);
}

/* "[success=end default=ignore]  pam_unix.so nullok": "end" is how many lines follow in the block
 */
static void add_line(struct strbuf *out, const char *type, struct slice line, size_t left)
{
	bool brackets = line.len && line.data[0] == '[';
	const uint8_t *close = brackets ? memchr(line.data, ']', line.len) : NULL;
	size_t head = close ? (size_t)(close - line.data) + 1 : 0, i;

	while (!close && head < line.len && !isspace(line.data[head]))
		head++;
	for (i = head; i < line.len && isspace(line.data[i]); i++)
		continue;
	while (i < line.len && !isspace(line.data[i]))
		i++;
	strbuf_addf(out, "%s\t", type);
	for (size_t k = 0; k < i;) {
		if (i - k >= 3 && memcmp(line.data + k, "end", 3) == 0) {
			strbuf_addf(out, "%zu", left);
			k += 3;
		} else {
			strbuf_addc(out, (char)line.data[k++]);
		}
	}
	strbuf_addc(out, ' ');
	while (i < line.len) {
		while (i < line.len && isspace(line.data[i]))
			i++;
		for (head = i; i < line.len && !isspace(line.data[i]); i++)
			continue;
		strbuf_addf(out, "%.*s%s", (int)(i - head), (const char *)line.data + head,
			    slice_trim(slice_of(line.data + i, line.len - i)).len ? " " : "");
	}
	strbuf_addc(out, '\n');
}

static void add_block(struct pam *pam, struct strbuf *out, const char *kind, const char *type,
		      const char *block)
{
	bool primary = str_equal(block, "Primary");
	size_t left = 0, position = 0;

	for (size_t i = 0; i < pam->profiles.len; i++) {
		const struct profile *p = &pam->profiles.items[i];
		const char *lines;

		if (!in_block(p, kind, block))
			continue;
		lines = lines_of(p, kind, position++);
		for (left += lines && *lines; lines && *lines; lines++)
			left += *lines == '\n';
	}
	if (primary && !left)
		strbuf_addf(out, "%s\t[default=1]\t\t\tpam_permit.so\n", type);
	if (!primary && left)
		left--;
	position = 0;
	for (size_t i = 0; i < pam->profiles.len; i++) {
		const struct profile *p = &pam->profiles.items[i];
		struct slice lines, line;

		if (!in_block(p, kind, block) || !lines_of(p, kind, position))
			continue;
		lines = slice_str(lines_of(p, kind, position++));
		while (slice_cut(&lines, '\n', &line))
			add_line(out, type, line, left ? left-- : 0);
	}
}

/* What /var/lib/pam remembers of a kind. */
static void remember(struct pam *pam, struct strbuf *out, const char *kind)
{
	static const char *const blocks[] = { "Primary", "Additional" };

	for (size_t b = 0; b < ARRAY_LEN(blocks); b++) {
		size_t position = 0;

		for (size_t i = 0; i < pam->profiles.len; i++) {
			const struct profile *p = &pam->profiles.items[i];
			const char *lines;

			if (!in_block(p, kind, blocks[b]))
				continue;
			lines = lines_of(p, kind, position++);
			if (lines && *lines)
				strbuf_addf(out, "Module: %s\n%s\n", p->name, lines);
		}
		if (b == 0 && !position)
			strbuf_adds(out, "Module: null\n[default=1]\t\t\tpam_permit.so\n");
	}
}

static int write_kind(struct pam *pam, const char *name, const char *kind, const char *type,
		      struct error *err)
{
	cleanup_free char *from = xasprintf("usr/share/pam/common-%s", name),
			  *to = xasprintf("etc/pam.d/common-%s", name),
			  *saved = xasprintf("var/lib/pam/%s", name);
	cleanup_strbuf struct strbuf text = { 0 }, out = { 0 }, memory = { 0 };
	struct slice rest, line;
	bool skip = false;

	if (!rootfs_resolve(pam->f->rootfs, from))
		return 0;
	if (rootfs_read(pam->f->rootfs, from, MIB, &text, err) < 0)
		return -1;
	rest = strbuf_slice(&text);
	while (slice_cut(&rest, '\n', &line) && (rest.data || line.len)) {
		bool primary = slice_starts(line, "# here are the per-package modules");
		bool more = slice_starts(line, "# and here are more per-package modules");

		skip &= !slice_starts(line, "# here's the fallback if no module succeeds") &&
			!slice_starts(line, "# end of pam-auth-update config");
		if (!skip)
			strbuf_addf(&out, "%.*s\n", (int)line.len, (const char *)line.data);
		if (primary || more) {
			add_block(pam, &out, kind, type, primary ? "Primary" : "Additional");
			skip = true;
		}
	}
	remember(pam, &memory, kind);
	finish_text(pam->f, to, 0644, strbuf_slice(&out));
	finish_text(pam->f, saved, 0644, strbuf_slice(&memory));
	return 0;
}

int finish_pam(struct finish *f, struct error *err)
{
	static const struct {
		const char *name, *kind, *type;
	} kinds[] = {
		{ "auth", "Auth", "auth" },
		{ "account", "Account", "account" },
		{ "password", "Password", "password" },
		{ "session", "Session", "session" },
		{ "session-noninteractive", "Session-noninteractive", "session" },
	};
	struct pam pam = { .f = f };
	int rc;

	if (!rootfs_resolve(f->rootfs, "usr/share/pam/common-auth"))
		return 0;
	rc = read_profiles(&pam, err);
	for (size_t i = 0; i < ARRAY_LEN(kinds) && rc == 0; i++)
		rc = write_kind(&pam, kinds[i].name, kinds[i].kind, kinds[i].type, err);
	if (rc == 0)
		finish_text(f, "var/lib/pam/seen", 0644, strbuf_slice(&pam.seen));
	for (size_t i = 0; i < pam.profiles.len; i++)
		map_release(&pam.profiles.items[i].fields);
	vec_release(&pam.profiles);
	strbuf_release(&pam.seen);
	arena_release(&pam.arena);
	return rc;
}
