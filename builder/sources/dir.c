#include "builder/sources/dir.h"

#include <limits.h>

#include "base/vec.h"
#include "builder/digest_ahead.h"

/* Files on their way to their digests; as many are looked ahead. */
enum { READING_AHEAD = 64 };

/* From which size on a file is not digested again when its content is read, but looked at. */
enum { STAMP_MIN = 64 * 1024 };

struct reading_file {
	struct digest_ahead_file file;
	char *path;   /* of the host */
	char *below;  /* in the folder */
	size_t entry; /* of the component */
	bool known;   /* from the cache */
};

/* What is being appended, and how. */
struct appending {
	struct component *c;
	const char *from, *to;
	const char *folder; /* `from`, in the component's arena */
	uint32_t mode;      /* of files; 0: by the x bit */
	struct digest_ahead *ahead;
	struct stat_cache *cache;
	struct reading_file files[READING_AHEAD]; /* a ring, in the order of the walk */
	size_t first, count;
};

/* The file whose turn it is gets its digest. */
static int settle_first(struct appending *a, struct error *err)
{
	struct reading_file *r = &a->files[a->first];
	struct digest_ahead_file *f = &r->file;
	struct content *content = &a->c->entries.items[r->entry].content;
	int rc = r->known ? 0 : digest_ahead_wait(a->ahead, f);

	a->first = (a->first + 1) % READING_AHEAD;
	a->count--;
	if (rc == 0) {
		content_set_digest(content, &f->digest);
		if (f->size >= STAMP_MIN && file_stamp_is_settled(&f->stamp, f->read_at)) {
			struct file_stamp *kept = arena_alloc(&a->c->arena, sizeof(*kept));

			*kept = f->stamp;
			content->stamp = kept;
		}
		stat_cache_note(a->cache, r->below, &f->stamp, &f->digest, f->read_at);
	} else {
		*err = f->error;
	}
	free(r->path);
	free(r->below);
	return rc;
}

static int settle_all(struct appending *a, struct error *err)
{
	int rc = 0;

	while (a->count) {
		struct error why = { 0 };

		if (settle_first(a, &why) < 0 && rc == 0) {
			*err = why;
			rc = -1;
		}
	}
	return rc;
}

/* Find or make the digest of the file that was appended last. */
static int read_file(struct appending *a, const char *path, const char *below,
		     const struct stat *st, struct error *err)
{
	struct reading_file *r;
	struct digest_ahead_file *f;

	if (a->count == READING_AHEAD && settle_first(a, err) < 0)
		return -1;
	r = &a->files[(a->first + a->count++) % READING_AHEAD];
	*r = (struct reading_file){ .path = xstrdup(path),
				    .below = xstrdup(below),
				    .entry = a->c->entries.len - 1 };
	f = &r->file;
	f->path = r->path;
	f->size = (uint64_t)st->st_size;
	f->stamp = file_stamp_of(st);
	f->read_at = INT64_MAX;
	r->known = stat_cache_find(a->cache, below, &f->stamp, &f->digest);
	if (!r->known)
		digest_ahead_submit(a->ahead, f);
	return 0;
}

static int add_link(struct appending *a, const char *path, const char *to, struct error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0)
		return error_set_errno(err, errno, "read the link %s", path);
	target[n] = '\0';
	component_add_symlink(a->c, to, target);
	return 0;
}

/* `below`: the path in the folder. */
static int add_node(struct appending *a, const char *path, const char *below, const char *to,
		    const struct stat *st, struct error *err)
{
	struct tar_entry tar = { .type = TAR_FILE, .path = to, .link = "", .mtime = FIXED_MTIME };
	struct component_entry *e;

	if (S_ISDIR(st->st_mode)) {
		if (*to)
			component_add_dir(a->c, to, 0755);
		return 0;
	}
	if (S_ISLNK(st->st_mode))
		return add_link(a, path, to, err);
	if (!S_ISREG(st->st_mode))
		return error_set(
			err, ERROR_USAGE,
			"%s: is neither a file, a folder nor a symlink; images hold no others",
			path);
	tar.size = (uint64_t)st->st_size;
	tar.mode = a->mode ? a->mode : st->st_mode & S_IXUSR ? 0755 : 0644;
	e = component_add(a->c, &tar);
	e->content = (struct content){ .kind = CONTENT_PATH, .has_digest = true };
	if (*below) { /* the end of the place is the end of the host's path */
		e->content.folder = a->folder;
		e->content.path = e->tar.path + strlen(e->tar.path) - strlen(below);
	} else {
		e->content.path = arena_strdup(&a->c->arena, path);
	}
	return read_file(a, path, below, st, err);
}

static int visit(void *user, const struct fs_entry *entry, struct error *err)
{
	struct appending *a = user;
	cleanup_free char *path = fs_join(a->from, entry->path),
			  *to = *a->to ? fs_join(a->to, entry->path) : xstrdup(entry->path);

	if (strchr(entry->path, '\n'))
		return error_set(err, ERROR_USAGE, "%s: has a line break in its name", path);
	return add_node(a, path, entry->path, to, &entry->st, err);
}

static void cut_slashes(char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
}

/* Everything below a->from, and that itself. */
static int append_all(struct appending *a, const struct stat *st, struct error *err)
{
	struct error why = { 0 };
	int rc = add_node(a, a->from, "", a->to, st, err);

	if (rc == 0 && S_ISDIR(st->st_mode))
		rc = fs_walk(AT_FDCWD, a->from, visit, a, err);
	if (settle_all(a, &why) < 0 && rc == 0) {
		*err = why;
		rc = -1;
	}
	if (rc == 0)
		stat_cache_keep(a->cache);
	return rc;
}

int dir_append(struct component *c, const char *from, const char *to, const char *mode,
	       const struct dir_reading *reading, struct error *err)
{
	cleanup_free char *plain = xstrdup(from);
	cleanup_stat_cache struct stat_cache *cache = NULL;
	cleanup_digest_ahead struct digest_ahead *ahead =
		digest_ahead_new(reading ? reading->pool : NULL);
	cleanup_free struct appending *a = xcalloc(1, sizeof(*a));
	bool folder = str_ends(from, "/");
	struct stat st;

	a->c = c;
	a->from = plain;
	a->folder = arena_strdup(&c->arena, plain);
	a->to = to;
	a->ahead = ahead;
	if (mode && *mode)
		a->mode = (uint32_t)strtoul(mode, NULL, 8) & 07777;
	cut_slashes(plain);
	if ((folder ? stat(plain, &st) : lstat(plain, &st)) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return error_set(err, ERROR_USAGE, "%s: no such file or folder", plain);
		return error_set_errno(err, errno, "look at %s", plain);
	}
	if (folder && !S_ISDIR(st.st_mode))
		return error_set(err, ERROR_USAGE, "%s: is no folder", plain);
	a->cache = cache = stat_cache_open(reading ? reading->store : NULL, plain);
	return append_all(a, &st, err);
}

/* A place in the image: no leading or trailing "/", no "." or ".." parts. */
int dir_image_path(const char *text, struct arena *arena, const char **out, struct error *err)
{
	cleanup_strbuf struct strbuf b = { 0 };
	struct slice rest = slice_str(text), piece;

	while (slice_cut(&rest, '/', &piece)) {
		if (!piece.len || slice_is(piece, "."))
			continue;
		if (slice_is(piece, ".."))
			return error_set(err, ERROR_USAGE, "\"%s\": \"..\" leads out of the image",
					 text);
		strbuf_addf(&b, "%s%.*s", b.len ? "/" : "", (int)piece.len,
			    (const char *)piece.data);
	}
	*out = arena_strdup(arena, strbuf_text(&b));
	return 0;
}

static char *host_path(const struct stack *stack, const char *path)
{
	return *path == '/' ? xstrdup(path) : fs_join(stack->directory, path);
}

static int add_files(struct component *c, const struct stack *stack, const struct stack_file *file,
		     const struct dir_reading *reading, struct error *err)
{
	cleanup_free char *from = host_path(stack, file->from);
	const char *slash = strrchr(from, '/'), *base = slash ? slash + 1 : from, *to;
	struct stat st;

	if (dir_image_path(file->to, &c->arena, &to, err) < 0)
		return -1;
	/* a file whose place ends in "/" goes into that folder */
	if (lstat(from, &st) == 0 && !S_ISDIR(st.st_mode) && (str_ends(file->to, "/") || !*to))
		to = *to ? arena_printf(&c->arena, "%s/%s", to, base)
			 : arena_strdup(&c->arena, base);
	return dir_append(c, from, to, file->mode, reading, err);
}

struct component *dir_files(const struct stack *stack, const struct stack_stage *stage,
			    const struct dir_reading *reading, struct error *err)
{
	cleanup_component struct component *c = component_new(COMPONENT_TREE, "files", "");

	c->stage = arena_strdup(&c->arena, stage->name);
	for (size_t i = 0; i < stage->file_count; i++) {
		if (add_files(c, stack, &stage->files[i], reading, err) < 0) {
			struct error cause = *err;

			stack_error(stack, stage->files[i].place, err, "files: %s", cause.text);
			err->code = cause.code;
			return NULL;
		}
	}
	return steal_ptr(&c);
}

/*
 * The listing of a locked folder: a line for each entry, in the order of the walk:
 *   d MODE PATH    f MODE SIZE SHA256 PATH    l TARGET-BYTES TARGET PATH
 */
static void write_line(const struct component_entry *e, struct strbuf *out)
{
	struct digest digest = content_digest(&e->content);
	char hex[DIGEST_HEX_MAX];

	if (e->tar.type == TAR_DIR)
		strbuf_addf(out, "d %o %s\n", e->tar.mode, e->tar.path);
	else if (e->tar.type == TAR_SYMLINK)
		strbuf_addf(out, "l %zu %s %s\n", strlen(e->tar.link), e->tar.link, e->tar.path);
	else
		strbuf_addf(out, "f %o %" PRIu64 " %s %s\n", e->tar.mode, e->tar.size,
			    digest_hex(&digest, hex), e->tar.path);
}

static const char listing_heading[] = "gpuimg folder 1\n";

void dir_listing_write(const struct component *c, struct strbuf *out)
{
	strbuf_adds(out, listing_heading);
	for (size_t i = 0; i < c->entries.len; i++)
		write_line(&c->entries.items[i], out);
}

struct digest dir_files_digest(const struct component *c)
{
	cleanup_digest struct digest_state state = { 0 };
	cleanup_strbuf struct strbuf line = { 0 };

	digest_init(&state, DIGEST_SHA256);
	digest_update(&state, listing_heading, strlen(listing_heading));
	for (size_t i = 0; i < c->entries.len; i++) {
		strbuf_truncate(&line, 0);
		write_line(&c->entries.items[i], &line);
		digest_update(&state, line.data, line.len);
	}
	return digest_finish(&state);
}

static bool read_mode(struct slice text, uint32_t *out)
{
	uint32_t mode = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] < '0' || text.data[i] > '7' || i > 4)
			return false;
		mode = mode << 3 | (uint32_t)(text.data[i] - '0');
	}
	*out = mode & 07777;
	return text.len > 0;
}

static bool take_line(struct component *c, struct slice line, const char *from)
{
	struct slice word, rest = line;
	struct tar_entry tar = { .type = TAR_FILE, .link = "", .mtime = FIXED_MTIME };
	struct error ignored = { 0 };
	struct component_entry *e;
	struct digest digest;
	uint64_t length;

	if (!slice_cut(&rest, ' ', &word) || !rest.len)
		return false;
	if (slice_is(word, "d")) {
		if (!slice_cut(&rest, ' ', &word) || !read_mode(word, &tar.mode) || !rest.len)
			return false;
		component_add_dir(c, arena_slice(&c->arena, rest), tar.mode);
		return true;
	}
	if (slice_is(word, "l")) {
		struct slice target;

		if (!slice_cut(&rest, ' ', &word) || !slice_u64(word, &length) ||
		    !slice_sub(rest, 0, length, &target) || rest.len < length + 2)
			return false;
		component_add_symlink(c,
				      arena_slice(&c->arena, slice_of(rest.data + length + 1,
								      rest.len - length - 1)),
				      arena_slice(&c->arena, target));
		return true;
	}
	if (!slice_is(word, "f") || !slice_cut(&rest, ' ', &word))
		return false;
	if (!read_mode(word, &tar.mode))
		return false;
	if (!slice_cut(&rest, ' ', &word) || !slice_u64(word, &tar.size) ||
	    !slice_cut(&rest, ' ', &word) || digest_parse_sha256_hex(word, &digest, &ignored) < 0)
		return false;
	tar.path = arena_slice(&c->arena, rest);
	e = component_add(c, &tar);
	e->content = (struct content){ .kind = CONTENT_PATH };
	content_set_digest(&e->content, &digest);
	e->content.folder = from;
	e->content.path = from ? e->tar.path : NULL;
	return true;
}

int dir_listing_read(struct component *c, struct slice text, const char *from, struct error *err)
{
	const char *folder = from ? arena_strdup(&c->arena, from) : NULL;
	struct slice line;

	if (!slice_cut(&text, '\n', &line) || !slice_is(line, "gpuimg folder 1"))
		return error_set(err, ERROR_FORMAT, "the listing of %s is none",
				 from ? from : "a build stage");
	while (slice_cut(&text, '\n', &line)) {
		if (line.len && !take_line(c, line, folder))
			return error_set(err, ERROR_FORMAT,
					 "the listing of %s: \"%.*s\" is no entry",
					 from ? from : "a build stage",
					 (int)MIN(line.len, (size_t)80), (const char *)line.data);
	}
	return 0;
}

static uint64_t bytes_of(const struct component *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->entries.len; i++)
		sum += c->entries.items[i].tar.size;
	return sum;
}

/* The folder a locked input means: the source's, or a folder in it; ends in "/". */
static char *locked_folder(const struct stack *stack, const struct stack_source *source,
			   const char *name)
{
	cleanup_free char *root = host_path(stack, source->path), *full = fs_join(root, name);

	return fs_join(str_equal(name, ".") ? root : full, "");
}

/* Where it goes: an absolute source keeps its place, what is relative starts at the root. */
static int image_folder(const struct stack_source *source, const char *name, struct arena *arena,
			const char **out, struct error *err)
{
	cleanup_free char *text = *source->path != '/'   ? xstrdup(str_equal(name, ".") ? "" : name)
				  : str_equal(name, ".") ? xstrdup(source->path)
							 : fs_join(source->path, name);

	return dir_image_path(text, arena, out, err);
}

static int lock_folder(const struct source_context *context, const struct source_request *request,
		       const char *name, struct stack_place place, struct error *err)
{
	cleanup_component struct component *c = component_new(COMPONENT_TREE, name, "");
	cleanup_free char *from = NULL;
	cleanup_strbuf struct strbuf listing = { 0 };
	const struct dir_reading reading = { .store = context->store };
	struct arena *arena = &context->lock->arena;
	struct lock_input input = {
		.kind = LOCK_TREE, .version = "", .arch = "", .url = "", .requested = true
	};
	const char *clean;

	if (dir_image_path(name, &c->arena, &clean, err) < 0)
		return stack_error(context->stack, place, err, "packages: '%s' is no folder name",
				   name);
	from = locked_folder(context->stack, request->source, *clean ? clean : ".");
	if (dir_append(c, from, "", NULL, &reading, err) < 0)
		return error_wrap(err, "source %s", request->source->id);
	dir_listing_write(c, &listing);
	if (store_put_bytes(context->store, strbuf_slice(&listing), &input.digest, err) < 0)
		return -1;
	input.stage = arena_strdup(arena, request->stage->name);
	input.source = arena_strdup(arena, request->source->id);
	input.name = arena_strdup(arena, *clean ? clean : ".");
	input.size = bytes_of(c);
	vec_push(&context->inputs->inputs, input);
	return 0;
}

int dir_resolve(const struct source_context *context, const struct source_request *request,
		struct error *err)
{
	if (!request->package_count)
		return lock_folder(context, request, ".", request->source->place, err);
	for (size_t i = 0; i < request->package_count; i++) {
		const struct stack_package *p = &request->packages[i];

		if (!p->spec)
			return stack_error(context->stack, p->place, err,
					   "source '%s' is a folder; it has no requirements",
					   request->source->id);
		if (lock_folder(context, request, p->spec, p->place, err) < 0)
			return -1;
	}
	return 0;
}

/* The listing from the store, else made again from the folder. */
static int recall_listing(struct store *store, const struct lock_input *input, const char *from,
			  struct strbuf *out, struct error *err)
{
	cleanup_component struct component *c = component_new(COMPONENT_TREE, input->name, "");
	const struct dir_reading reading = { .store = store };
	struct error ignored = { 0 };
	struct digest digest;

	if (store_get_bytes(store, &input->digest, DIR_LISTING_BYTES_MAX, out, &ignored) == 0)
		return 0;
	if (dir_append(c, from, "", NULL, &reading, err) < 0)
		return -1;
	dir_listing_write(c, out);
	digest = digest_of(strbuf_slice(out));
	if (!digest_equal(&digest, &input->digest))
		return error_set(err, ERROR_INTEGRITY,
				 "%s: the folder is not what was locked; run `gpuimg lock` again",
				 from);
	return 0;
}

/* Files that the cache knows with the locked digest need not be digested again while read. */
static void stamp_known(struct store *store, struct component *c, const char *from)
{
	cleanup_stat_cache struct stat_cache *cache = stat_cache_open(store, from);

	for (size_t i = 0; i < c->entries.len; i++) {
		struct component_entry *e = &c->entries.items[i];
		struct digest digest, locked = content_digest(&e->content);
		struct file_stamp stamp, *kept;
		cleanup_free char *path = NULL;
		struct stat st;

		if (e->tar.type != TAR_FILE || e->tar.size < STAMP_MIN)
			continue;
		path = content_host_path(&e->content);
		if (stat(path, &st) < 0)
			continue;
		stamp = file_stamp_of(&st);
		if (!stat_cache_find(cache, e->tar.path, &stamp, &digest) ||
		    !digest_equal(&digest, &locked))
			continue;
		kept = arena_alloc(&c->arena, sizeof(*kept));
		*kept = stamp;
		e->content.stamp = kept;
	}
}

struct component *dir_component(struct store *store, const struct stack *stack,
				const struct lock_input *input, struct error *err)
{
	cleanup_component struct component *c = component_new(COMPONENT_TREE, input->name, "");
	const struct stack_source *source = stack_source(stack, input->source);
	cleanup_strbuf struct strbuf listing = { 0 };
	cleanup_free char *from = NULL;
	const char *to;

	if (!source || source->type != SOURCE_DIR) {
		error_set(err, ERROR_USAGE,
			  "the lock names source \"%s\", which is no folder of the "
			  "manifest; run `gpuimg lock` again",
			  input->source);
		return NULL;
	}
	from = locked_folder(stack, source, input->name);
	if (image_folder(source, input->name, &c->arena, &to, err) < 0 ||
	    recall_listing(store, input, from, &listing, err) < 0 ||
	    dir_listing_read(c, strbuf_slice(&listing), from, err) < 0) {
		error_wrap(err, "source %s", input->source);
		return NULL;
	}
	stamp_known(store, c, from);
	c->stage = arena_strdup(&c->arena, input->stage);
	c->key = input->digest;
	for (size_t i = 0; i < c->entries.len && *to; i++) {
		struct tar_entry *tar = &c->entries.items[i].tar;

		tar->path = arena_printf(&c->arena, "%s/%s", to, tar->path);
	}
	return steal_ptr(&c);
}
