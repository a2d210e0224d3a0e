/*
 * An archive of a redistrib manifest becomes a component: its one top folder is cut off, and what
 * the profile keeps goes to the folders of a CUDA toolkit. Which profile keeps what is in the table
 * redist.json.
 */
#include "builder/sources/package_source.h"

#include <fnmatch.h>

#include "base/map.h"
#include "builder/component_cache.h"
#include "formats/compress.h"
#include "formats/json.h"
#include "formats/tar_read.h"
#include "manifests/embedded.h"

enum { ENTRIES_LIMIT = 500000 };
#define CONTENT_LIMIT (UINT64_C(64) << 30)

enum keep { KEEP_NEVER, KEEP_DOC, KEEP_BASE, KEEP_NAMED, KEEP_DEVEL };

struct rule {
	const char *path;
	enum keep keep;
};

/* An entry of the archive. */
struct member {
	const char *path;   /* below the top folder */
	const char *link;   /* as written: of a hard link, below the top folder */
	const char *placed; /* in the image; NULL: left out */
	struct tar_entry tar;
	struct content content;
};

struct opening {
	const struct lock_input *input;
	const struct redist_placing *placing;
	struct component *c;
	const char *top; /* the one top folder; NULL: none seen yet */
	VEC(struct rule) rules;
	VEC(struct member) members;
	struct map paths; /* path below the top folder → index into members + 1 */
	uint64_t written;
};

static int read_keep(const char *word, enum keep *out)
{
	static const char *const words[] = { [KEEP_NEVER] = "never",
					     [KEEP_DOC] = "doc",
					     [KEEP_BASE] = "base",
					     [KEEP_NAMED] = "named",
					     [KEEP_DEVEL] = "devel" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (str_equal(words[i], word)) {
			*out = (enum keep)i;
			return 0;
		}
	}
	return -1;
}

static int read_rules(struct opening *o, struct error *err)
{
	cleanup_json json_t *table = NULL;
	json_t *files;

	if (json_parse_named(embedded_file("redist.json"), "redist.json", &table, err) < 0 ||
	    json_get_array(table, "", "files", &files, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *row = json_array_get(files, i);
		const char *path, *word;
		struct rule rule;

		if (json_get_str(row, "files", "path", &path, err) < 0 ||
		    json_get_str(row, "files", "keep", &word, err) < 0)
			return -1;
		if (read_keep(word, &rule.keep) < 0)
			return error_set(err, ERROR_FORMAT, "redist.json: '%s' is no way to keep",
					 word);
		rule.path = arena_strdup(&o->c->arena, path);
		vec_push(&o->rules, rule);
	}
	return 0;
}

/* The first rule that fits decides; a file that fits none is for devel. */
static enum keep rule_of(const struct opening *o, const char *path)
{
	for (size_t i = 0; i < o->rules.len; i++) {
		if (fnmatch(o->rules.items[i].path, path, 0) == 0)
			return o->rules.items[i].keep;
	}
	return KEEP_DEVEL;
}

/* Where a path below the top folder lies in the image, or NULL when the profile does without. */
static const char *place(const struct opening *o, const char *path)
{
	const struct redist_placing *p = o->placing;
	struct arena *arena = &o->c->arena;
	enum keep keep = rule_of(o, path);

	if (keep == KEEP_NEVER || (keep == KEEP_DEVEL && p->profile != PROFILE_DEVEL) ||
	    (keep == KEEP_NAMED && p->profile != PROFILE_DEVEL && !o->input->requested))
		return NULL;
	if (keep == KEEP_DOC)
		return arena_printf(arena, "usr/share/doc/%s/%s", o->input->name, path);
	if (str_starts(path, "lib64/"))
		return arena_printf(arena, "%s/targets/%s/lib/%s", p->toolkit, p->target, path + 6);
	if (str_starts(path, "lib/") || str_starts(path, "include/"))
		return arena_printf(arena, "%s/targets/%s/%s", p->toolkit, p->target, path);
	/* Also of a newer CUDA: the container toolkit looks in /usr/local/cuda/compat alone. */
	if (str_starts(path, "compat/"))
		return arena_printf(arena, "%s/%s", p->toolkit, path);
	if (str_equal(path, "lib") || str_equal(path, "lib64") || str_equal(path, "include"))
		return NULL; /* links of the archive: the toolkit has its own */
	return arena_printf(arena, "%s/%s", p->toolkit, path);
}

/* "cuda_cudart-linux-x86_64-13.0.96-archive", with "_cuda13" before the last word or not. */
static bool is_top(const struct opening *o, const char *top)
{
	cleanup_free char *start =
		xasprintf("%s-%s-%s", o->input->name, o->input->arch, o->input->version);
	const char *rest;

	if (!str_starts(top, start))
		return false;
	rest = top + strlen(start);
	return str_equal(rest, "-archive") || (*rest == '_' && str_ends(rest, "-archive"));
}

/* Cuts off the top folder; *out is "" for that folder itself. */
static int strip_top(struct opening *o, const char *path, const char **out, struct error *err)
{
	size_t n = strcspn(path, "/");
	cleanup_free char *top = xstrndup(path, n);

	if (!o->top && is_top(o, top))
		o->top = arena_strdup(&o->c->arena, top);
	if (!o->top)
		return error_set(err, ERROR_FORMAT,
				 "begins with %.120s instead of the folder %s-%s-%s"
				 "[_cudaN]-archive",
				 path, o->input->name, o->input->arch, o->input->version);
	if (!str_equal(o->top, top))
		return error_set(err, ERROR_FORMAT, "has %.120s beside its top folder %s", path,
				 o->top);
	*out = path[n] ? path + n + 1 : "";
	return 0;
}

static int check_parents(const struct opening *o, const char *path, struct error *err)
{
	cleanup_free char *copy = xstrdup(path);
	char *slash;

	while ((slash = strrchr(copy, '/'))) {
		size_t index;

		*slash = 0;
		index = (size_t)(uintptr_t)map_get(&o->paths, copy);
		if (index && o->members.items[index - 1].tar.type != TAR_DIR)
			return error_set(err, ERROR_FORMAT, "%s lies below %s, which is no folder",
					 path, copy);
	}
	return 0;
}

static const struct member *find_member(const struct opening *o, const char *path)
{
	size_t index = (size_t)(uintptr_t)map_get(&o->paths, path);

	return index ? &o->members.items[index - 1] : NULL;
}

/* A member of that path; NULL with *out_known when it is a folder that was seen already. */
static struct member *add_member(struct opening *o, const struct tar_entry *e, const char *path,
				 bool *out_known, struct error *err)
{
	const struct member *before = find_member(o, path);
	struct member m = { .tar = *e };

	*out_known = before && before->tar.type == TAR_DIR && e->type == TAR_DIR;
	if (*out_known)
		return NULL;
	if (before) {
		error_set(err, ERROR_FORMAT, "%s stands there twice", path);
		return NULL;
	}
	if (e->type != TAR_FILE && e->type != TAR_DIR && e->type != TAR_SYMLINK &&
	    e->type != TAR_HARDLINK) {
		error_set(err, ERROR_FORMAT, "%s is a device node or pipe", path);
		return NULL;
	}
	if (o->members.len == ENTRIES_LIMIT) {
		error_set(err, ERROR_LIMIT, "more than %d entries", ENTRIES_LIMIT);
		return NULL;
	}
	if (check_parents(o, path, err) < 0)
		return NULL;
	m.path = arena_strdup(&o->c->arena, path);
	m.link = arena_strdup(&o->c->arena, e->link ? e->link : "");
	m.placed = e->type == TAR_DIR ? NULL : place(o, path);
	vec_push(&o->members, m);
	map_put(&o->paths, path, (void *)(uintptr_t)o->members.len);
	return &o->members.items[o->members.len - 1];
}

static int read_entry(struct opening *o, const struct tar_entry *e, struct stream *s,
		      struct sink *content, struct error *err)
{
	const char *path, *target;
	uint64_t bytes = 0;
	struct member *m;
	bool known;

	if (strip_top(o, e->path, &path, err) < 0)
		return -1;
	if (!*path)
		return e->type == TAR_DIR ? 0
					  : error_set(err, ERROR_FORMAT, "%s is no folder", o->top);
	m = add_member(o, e, path, &known, err);
	if (!m)
		return known ? 0 : -1;
	if (e->type == TAR_HARDLINK) {
		if (strip_top(o, e->link, &target, err) < 0)
			return -1;
		m->link = arena_strdup(&o->c->arena, target);
	}
	if (e->type != TAR_FILE || !m->placed)
		return 0;
	if (e->size > CONTENT_LIMIT - o->written)
		return error_set(err, ERROR_LIMIT, "%s: more than 64 GiB of content", path);
	if (sink_copy(content, s, &bytes, err) < 0)
		return error_wrap(err, "%s", path);
	if (bytes != e->size)
		return error_set(err, ERROR_FORMAT, "%s: %" PRIu64 " bytes instead of %" PRIu64,
				 path, bytes, e->size);
	m->content =
		(struct content){ .kind = CONTENT_RANGE, .fd = o->c->fd, .offset = o->written };
	o->written += bytes;
	return 0;
}

static int read_tar(struct opening *o, struct store *store, struct error *err)
{
	int fd = store_open_verified(store, &o->input->digest, o->input->size, err);
	cleanup_stream struct stream *file = fd < 0 ? NULL : stream_fd(fd, o->input->name);
	cleanup_stream struct stream *plain = file ? decompress_auto(file, NULL, err) : NULL;
	cleanup_tar_reader struct tar_reader *tar = plain ? tar_read_open(plain) : NULL;
	cleanup_sink struct sink *content = NULL;
	struct tar_entry e;
	int rc;

	if (!tar)
		return -1;
	o->c->fd = store_scratch(store, err);
	if (o->c->fd < 0)
		return -1;
	content = sink_fd(o->c->fd, "temporary file");
	while ((rc = tar_read_next(tar, &e, err)) > 0) {
		if (read_entry(o, &e, tar_read_content(tar), content, err) < 0)
			return -1;
	}
	return rc < 0 ? -1 : sink_finish(content, err);
}

static int read_zip(struct opening *o, struct store *store, struct error *err)
{
	struct zip zip = { 0 };

	o->c->fd = store_open_verified(store, &o->input->digest, o->input->size, err);
	if (o->c->fd < 0 || zip_read(o->c->fd, o->input->name, &o->c->arena, &zip, err) < 0)
		return -1;
	for (size_t i = 0; i < zip.count; i++) {
		const struct zip_entry *z = &zip.entries[i];
		const struct tar_entry e = { .type = z->is_dir ? TAR_DIR : TAR_FILE,
					     .path = z->path,
					     .link = "",
					     .size = z->is_dir ? 0 : z->size,
					     .mode = z->unix_mode,
					     .mtime = z->mtime };
		const char *path;
		struct member *m;
		bool known;

		if (strip_top(o, z->path, &path, err) < 0)
			return -1;
		m = *path ? add_member(o, &e, path, &known, err) : NULL;
		if (*path && !m && !known)
			return -1;
		if (m)
			m->content = (struct content){
				.kind = CONTENT_ZIP, .fd = o->c->fd, .zip = z, .archive = &o->c->key
			};
	}
	return 0;
}

/* What a symlink at `path` leads to, below the top folder; NULL when it leaves that folder. */
static const char *target_of(struct opening *o, const char *path, const char *link)
{
	cleanup_strbuf struct strbuf b = { 0 };
	const char *slash = strrchr(path, '/');
	struct slice rest = slice_str(link), part;

	if (*link == '/')
		return NULL;
	strbuf_add(&b, path, slash ? (size_t)(slash - path) : 0);
	while (slice_cut(&rest, '/', &part)) {
		if (!part.len || slice_is(part, "."))
			continue;
		if (slice_is(part, "..")) {
			const char *text = strbuf_text(&b), *cut = strrchr(text, '/');

			if (!*text)
				return NULL;
			strbuf_truncate(&b, cut ? (size_t)(cut - text) : 0);
			continue;
		}
		if (b.len)
			strbuf_addc(&b, '/');
		strbuf_add(&b, part.data, part.len);
	}
	return arena_slice(&o->c->arena, strbuf_slice(&b));
}

/* `to` as a link at `from` writes it, both paths in the image. */
static const char *relative(struct arena *arena, const char *from, const char *to)
{
	cleanup_strbuf struct strbuf b = { 0 };
	size_t common = 0;

	for (size_t i = 0; from[i] && from[i] == to[i]; i++) {
		if (from[i] == '/')
			common = i + 1;
	}
	for (const char *c = from + common; *c; c++) {
		if (*c == '/')
			strbuf_adds(&b, "../");
	}
	strbuf_adds(&b, to + common);
	return arena_strdup(arena, strbuf_text(&b));
}

/*
 * Links are written anew, since lib and include move; one whose target is left out goes with it.
 * A link to a folder has no place in the image to compute from: its target's files say it.
 */
static int add_symlink(struct opening *o, const struct member *m, struct error *err)
{
	const char *target = target_of(o, m->path, m->link);
	const struct member *there = target ? find_member(o, target) : NULL;
	const char *placed;

	if (!target)
		return error_set(err, ERROR_FORMAT, "%s is a link out of the archive, to %.120s",
				 m->path, m->link);
	if (there && there->tar.type != TAR_DIR && !there->placed)
		return 0;
	placed = there && there->placed ? there->placed : place(o, target);
	if (!placed)
		return 0;
	component_add_symlink(o->c, m->placed, relative(&o->c->arena, m->placed, placed));
	return 0;
}

static int add_hardlink(struct opening *o, const struct member *m, const struct tar_entry *tar,
			struct error *err)
{
	const struct member *there = find_member(o, m->link);

	if (!there || (there->tar.type != TAR_FILE && there->tar.type != TAR_HARDLINK))
		return error_set(err, ERROR_FORMAT,
				 "%s is a hard link to %s, which is no file before it", m->path,
				 m->link);
	if (!there->placed)
		return error_set(err, ERROR_FORMAT,
				 "%s is a hard link to %s, which the profile leaves out", m->path,
				 m->link);
	component_add(o->c, &(struct tar_entry){ .type = TAR_HARDLINK,
						 .path = m->placed,
						 .link = there->placed,
						 .mode = tar->mode,
						 .mtime = tar->mtime });
	return 0;
}

static int add_all(struct opening *o, struct error *err)
{
	for (size_t i = 0; i < o->members.len; i++) {
		const struct member *m = &o->members.items[i];
		const struct tar_entry tar = { .type = TAR_FILE,
					       .path = m->placed,
					       .link = "",
					       .size = m->tar.size,
					       .mode = m->tar.mode & 0111 ? 0755 : 0644,
					       .mtime = MAX(m->tar.mtime, FIXED_MTIME) };
		struct component_entry *e;

		if (!m->placed)
			continue;
		if (m->tar.type == TAR_SYMLINK && add_symlink(o, m, err) < 0)
			return -1;
		if (m->tar.type == TAR_HARDLINK && add_hardlink(o, m, &tar, err) < 0)
			return -1;
		if (m->tar.type != TAR_FILE)
			continue;
		e = component_add(o->c, &tar);
		e->content = m->content;
		e->content.path = e->tar.path;
	}
	return 0;
}

/* Two files for one place: lib and lib64 may both be there. */
static int check_places(const struct opening *o, struct error *err)
{
	cleanup_map struct map seen = { 0 };

	for (size_t i = 0; i < o->c->entries.len; i++) {
		const char *path = o->c->entries.items[i].tar.path;

		if (map_put(&seen, path, o->c))
			return error_set(err, ERROR_FORMAT, "brings two files for /%s", path);
	}
	return 0;
}

static void make_key(struct opening *o)
{
	const struct redist_placing *p = o->placing;
	struct digest rules = digest_of(embedded_file("redist.json"));
	char digest[DIGEST_TEXT_MAX], table[DIGEST_TEXT_MAX];
	cleanup_free char *text =
		xasprintf("redist 1\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%d\n%d\n",
			  digest_text(&o->input->digest, digest), digest_text(&rules, table),
			  o->input->name, o->input->version, o->input->arch, p->toolkit, p->target,
			  (int)p->profile, (int)o->input->requested);

	o->c->key = digest_of(slice_str(text));
}

static int open_archive(struct opening *o, struct store *store, struct error *err)
{
	int rc = read_rules(o, err);

	if (rc == 0)
		rc = str_ends(o->input->url, ".zip") ? read_zip(o, store, err)
						     : read_tar(o, store, err);
	if (rc == 0 && !o->top)
		rc = error_set(err, ERROR_FORMAT, "holds nothing");
	if (rc == 0)
		rc = add_all(o, err);
	return rc == 0 ? check_places(o, err) : rc;
}

struct component *redist_open(struct store *store, const struct lock_input *input,
			      const struct redist_placing *placing, struct error *err)
{
	cleanup_component struct component *c =
		component_new(COMPONENT_REDIST, input->name, input->version);
	struct opening o = { .input = input, .placing = placing, .c = c };
	struct component *known;
	int rc;

	make_key(&o);
	known = component_recall(store, COMPONENT_REDIST, &c->key);
	if (known) {
		component_free(c);
		c = known;
	}
	c->requested = input->requested;
	c->toolkit = true;
	c->stage = arena_strdup(&c->arena, input->stage);
	c->arch = arena_strdup(&c->arena, input->arch);
	c->license = arena_strdup(&c->arena, input->license ? input->license : "");
	c->source_name = c->name;
	if (known)
		return steal_ptr(&c);
	rc = open_archive(&o, store, err);
	if (rc == 0)
		rc = component_keep(store, c, err);
	vec_release(&o.rules);
	vec_release(&o.members);
	map_release(&o.paths);
	if (rc < 0) {
		error_wrap(err, "redist %s %s", input->name, input->version);
		return NULL;
	}
	return steal_ptr(&c);
}
