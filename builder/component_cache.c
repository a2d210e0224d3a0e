#include "builder/component_cache.h"

#include "base/alloc.h"
#include "base/reader.h"
#include "base/vec.h"

/* A member more of struct component must be kept here too, or be the caller's to set. */
_Static_assert(sizeof(struct component) == 352, "component_cache.c knows all members");

enum { TRAILER_BYTES = 192, LISTING_MAX = 256 * 1024 * 1024 };

static const char heading[] = "gpuimg unpacked 2";

static void put_u64(struct strbuf *out, uint64_t value)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	strbuf_add(out, bytes, sizeof(bytes));
}

static void put_slice(struct strbuf *out, struct slice s)
{
	put_u64(out, s.len);
	strbuf_add(out, s.data, s.len);
}

static void put_text(struct strbuf *out, const char *text)
{
	put_u64(out, text != NULL);
	put_slice(out, slice_str(text ? text : ""));
}

static struct slice take_slice(struct reader *r, struct arena *arena)
{
	struct slice s = reader_bytes(r, reader_u64(r));

	return slice_of(arena_slice(arena, s), s.len);
}

static const char *take_text(struct reader *r, struct arena *arena)
{
	bool there = reader_u64(r);
	struct slice s = reader_bytes(r, reader_u64(r));

	return there ? arena_slice(arena, s) : NULL;
}

static void put_entry(struct strbuf *out, const struct component_entry *e)
{
	const struct tar_entry *t = &e->tar;
	const struct tar_extras *x = tar_extras(t);

	put_u64(out, t->type);
	put_u64(out, t->mode);
	put_text(out, t->path);
	put_text(out, t->link);
	put_u64(out, t->size);
	put_u64(out, t->uid);
	put_u64(out, t->gid);
	put_u64(out, (uint64_t)t->mtime);
	put_u64(out, (uint64_t)x->dev_major << 32 | x->dev_minor);
	put_u64(out, x->xattr_count);
	for (size_t i = 0; i < x->xattr_count; i++) {
		put_text(out, x->xattrs[i].name);
		put_slice(out, slice_of(x->xattrs[i].value, x->xattrs[i].len));
	}
	if (t->type != TAR_FILE)
		return;
	put_u64(out, e->content.kind);
	if (e->content.kind == CONTENT_MEMORY)
		put_slice(out, e->content.memory);
	else
		put_u64(out, e->content.offset);
	put_u64(out, e->content.path != NULL);
	strbuf_add(out, e->content.sha256, 32);
}

static void take_content(struct reader *r, struct component *c, struct component_entry *e)
{
	uint64_t kind = reader_u64(r);
	struct slice digest;

	if (kind == CONTENT_MEMORY)
		e->content.memory = take_slice(r, &c->arena);
	else if (kind == CONTENT_RANGE)
		e->content.offset = reader_u64(r);
	else
		r->bad = true;
	e->content.kind = (uint8_t)kind;
	e->content.fd = c->fd;
	e->content.path = reader_u64(r) ? e->tar.path : NULL;
	digest = reader_bytes(r, 32);
	e->content.has_digest = true;
	if (digest.len)
		memcpy(e->content.sha256, digest.data, 32);
}

/* NULL: there are none. */
static const struct tar_extras *take_extras(struct reader *r, struct component *c)
{
	uint64_t device = reader_u64(r), count = reader_u64(r);
	struct tar_extras *x;
	struct tar_xattr *xattrs;

	r->bad |= count > 1024;
	if (r->bad || (!device && !count))
		return NULL;
	x = arena_alloc(&c->arena, sizeof(*x));
	xattrs = arena_array(&c->arena, (size_t)count, sizeof(*xattrs));
	*x = (struct tar_extras){ .xattrs = xattrs,
				  .xattr_count = (size_t)count,
				  .dev_major = (uint32_t)(device >> 32),
				  .dev_minor = (uint32_t)device };
	for (size_t i = 0; !r->bad && i < count; i++) {
		struct slice value;

		xattrs[i].name = take_text(r, &c->arena);
		value = take_slice(r, &c->arena);
		xattrs[i].value = value.data;
		xattrs[i].len = value.len;
	}
	return x;
}

static void take_entry(struct reader *r, struct component *c)
{
	struct component_entry *e = vec_add(&c->entries);
	struct tar_entry *t = &e->tar;

	t->type = (enum tar_type)reader_u64(r);
	t->mode = (uint32_t)reader_u64(r);
	t->path = take_text(r, &c->arena);
	t->link = take_text(r, &c->arena);
	t->size = reader_u64(r);
	t->uid = reader_u64(r);
	t->gid = reader_u64(r);
	t->mtime = (int64_t)reader_u64(r);
	r->bad |= !t->path;
	t->extras = take_extras(r, c);
	e->content.fd = -1;
	if (!r->bad && t->type == TAR_FILE)
		take_content(r, c, e);
}

static void put_component(struct strbuf *out, const struct component *c)
{
	const char *const texts[] = { c->name, c->version, c->arch, c->source_name, c->license };
	const struct slice slices[] = { c->control,  c->conffiles,  c->md5sums,
					c->triggers, c->rpm_header, c->rpm_signature };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		put_text(out, texts[i]);
	for (size_t i = 0; i < ARRAY_LEN(slices); i++)
		put_slice(out, slices[i]);
	put_u64(out, c->owners.len);
	for (size_t i = 0; i < c->owners.len; i++) {
		put_u64(out, c->owners.items[i].entry);
		put_text(out, c->owners.items[i].user);
		put_text(out, c->owners.items[i].group);
	}
	put_u64(out, c->scripts.len);
	for (size_t i = 0; i < c->scripts.len; i++) {
		put_text(out, c->scripts.items[i].name);
		put_slice(out, slice_of(c->scripts.items[i].text, c->scripts.items[i].len));
		put_text(out, c->scripts.items[i].interpreter);
	}
	put_u64(out, c->controls.len);
	for (size_t i = 0; i < c->controls.len; i++) {
		put_text(out, c->controls.items[i].name);
		put_slice(out, c->controls.items[i].text);
		put_u64(out, c->controls.items[i].mode);
	}
	put_u64(out, c->entries.len);
	for (size_t i = 0; i < c->entries.len; i++)
		put_entry(out, &c->entries.items[i]);
}

static void take_component(struct reader *r, struct component *c)
{
	const char **const texts[] = { &c->name, &c->version, &c->arch, &c->source_name,
				       &c->license };
	struct slice *const slices[] = { &c->control,  &c->conffiles,  &c->md5sums,
					 &c->triggers, &c->rpm_header, &c->rpm_signature };
	uint64_t count;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		*texts[i] = take_text(r, &c->arena);
	for (size_t i = 0; i < ARRAY_LEN(slices); i++)
		*slices[i] = take_slice(r, &c->arena);
	count = reader_u64(r);
	for (uint64_t i = 0; !r->bad && i < count; i++) {
		struct component_owner *o = vec_add(&c->owners);

		o->entry = (size_t)reader_u64(r);
		o->user = take_text(r, &c->arena);
		o->group = take_text(r, &c->arena);
	}
	count = reader_u64(r);
	for (uint64_t i = 0; !r->bad && i < count; i++) {
		struct component_script *s = vec_add(&c->scripts);
		struct slice text;

		s->name = take_text(r, &c->arena);
		text = take_slice(r, &c->arena);
		s->text = (const char *)text.data;
		s->len = text.len;
		s->interpreter = take_text(r, &c->arena);
	}
	count = reader_u64(r);
	for (uint64_t i = 0; !r->bad && i < count; i++) {
		struct component_control *control = vec_add(&c->controls);

		control->name = take_text(r, &c->arena);
		control->text = take_slice(r, &c->arena);
		control->mode = (uint32_t)reader_u64(r);
	}
	count = reader_u64(r);
	for (uint64_t i = 0; !r->bad && i < count; i++)
		take_entry(r, c);
	r->bad |= reader_left(r) != 0;
}

/* The trailer names offset, length and digest of the listing. */
static bool read_listing(int fd, struct strbuf *out)
{
	char trailer[TRAILER_BYTES + 1] = { 0 };
	struct slice rest = slice_of(trailer, TRAILER_BYTES), line, word;
	cleanup_stream struct stream *range = NULL, *proven = NULL;
	struct error ignored = { 0 };
	struct digest digest;
	uint64_t offset, len;
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size < TRAILER_BYTES ||
	    pread(fd, trailer, TRAILER_BYTES, st.st_size - TRAILER_BYTES) != TRAILER_BYTES ||
	    !slice_cut(&rest, '\n', &line) || !slice_is(line, heading) ||
	    !slice_cut(&rest, '\n', &line) || !slice_cut(&line, ' ', &word) ||
	    !slice_u64(word, &offset) || !slice_cut(&line, ' ', &word) || !slice_u64(word, &len) ||
	    len > LISTING_MAX || digest_parse(line, &digest, &ignored) < 0)
		return false;
	range = stream_fd_range(fd, offset, len, "unpacked package");
	proven = stream_verify(range, &digest, len);
	return stream_read_all(proven, LISTING_MAX, out, &ignored) == 0;
}

struct component *component_recall(struct store *store, enum component_kind kind,
				   const struct digest *key)
{
	cleanup_component struct component *c = component_new(kind, "", "");
	cleanup_strbuf struct strbuf listing = { 0 };
	struct error ignored = { 0 }; /* then the package is unpacked again */
	struct reader r;

	c->fd = store_cache_open(store, "unpacked", key, &ignored);
	if (c->fd < 0)
		return NULL;
	if (!read_listing(c->fd, &listing)) {
		store_drop_record(store, "unpacked", key);
		return NULL;
	}
	r = reader_of(strbuf_slice(&listing));
	take_component(&r, c);
	if (r.bad)
		return NULL;
	c->key = *key;
	return steal_ptr(&c);
}

/* False when there is a content that cannot be kept. */
static bool can_keep(const struct component *c)
{
	for (size_t i = 0; i < c->entries.len; i++) {
		const struct component_entry *e = &c->entries.items[i];

		if (e->tar.type == TAR_FILE && e->content.kind != CONTENT_MEMORY &&
		    (e->content.kind != CONTENT_RANGE || e->content.fd != c->fd))
			return false;
	}
	return true;
}

static int digest_files(struct component *c, struct error *err)
{
	for (size_t i = 0; i < c->entries.len; i++) {
		struct component_entry *e = &c->entries.items[i];
		cleanup_stream struct stream *s = NULL, *counted = NULL;
		cleanup_digest struct digest_state state = { 0 };
		struct digest digest;

		if (e->tar.type != TAR_FILE || e->content.has_digest)
			continue;
		digest_init(&state, DIGEST_SHA256);
		s = content_open(&e->content, e->tar.size, err);
		counted = s ? stream_digest(s, &state, NULL) : NULL;
		if (!s || stream_drain(counted, NULL, err) < 0)
			return error_wrap(err, "%s", e->tar.path);
		digest = digest_finish(&state);
		content_set_digest(&e->content, &digest);
	}
	return 0;
}

int component_keep(struct store *store, struct component *c, struct error *err)
{
	cleanup_pending struct fs_pending file = { .fd = -1 };
	cleanup_strbuf struct strbuf listing = { 0 };
	cleanup_sink struct sink *sink = NULL;
	char trailer[TRAILER_BYTES] = { 0 }, text[DIGEST_TEXT_MAX];
	struct error ignored = { 0 };
	struct digest digest;
	off_t end;

	if (!can_keep(c))
		return 0;
	if (digest_files(c, err) < 0)
		return -1;
	put_component(&listing, c);
	digest = digest_of(strbuf_slice(&listing));
	end = lseek(c->fd, 0, SEEK_END);
	snprintf(trailer, sizeof(trailer), "%s\n%" PRIu64 " %zu %s\n", heading, (uint64_t)end,
		 listing.len, digest_text(&digest, text));
	sink = sink_fd(c->fd, "unpacked package");
	if (end < 0 || sink_write(sink, listing.data, listing.len, err) < 0 ||
	    sink_write(sink, trailer, sizeof(trailer), err) < 0)
		return end < 0 ? error_set_errno(err, errno, "seek") : -1;
	file.fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
	store_cache_adopt(store, &file);
	ignore_result(store_cache_commit(store, "unpacked", &c->key, &file, &ignored));
	return 0;
}
