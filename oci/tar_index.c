#include "oci/tar_index.h"

#include <sys/stat.h>

#include "base/alloc.h"

enum {
	BLOCK = 512,
	MEMBERS_MAX = 100000,
	NAME_MAX_BYTES = 4096,
	EXTENSION_MAX = 1 << 20,
	LINKS_MAX = 10
};

/* What extension headers say of the next member. */
struct pending {
	char *path, *link;
	bool has_size;
	uint64_t size;
};

struct scan {
	struct tar_index *index;
	uint64_t at, end; /* bytes */
	struct pending next;
};

static void pending_release(struct pending *p)
{
	free(p->path);
	free(p->link);
	*p = (struct pending){ 0 };
}

static int read_at(struct scan *s, uint64_t at, void *buf, size_t len, struct error *err)
{
	cleanup_stream struct stream *in =
		stream_fd_range(s->index->fd, at, len, s->index->archive);

	return stream_read_exact(in, buf, len, err);
}

static struct slice field(const uint8_t *block, size_t at, size_t len)
{
	return slice_of(block + at, strnlen((const char *)block + at, len));
}

/* Octal digits among blanks, or base-256 when the first bit is set. */
static bool parse_number(const uint8_t *p, size_t len, uint64_t *out)
{
	uint64_t v = 0;
	size_t i = 0;

	if (p[0] & 0x80) {
		v = p[0] & 0x3f;
		if (p[0] & 0x40)
			return false;
		for (i = 1; i < len; i++) {
			if (v >> 56)
				return false;
			v = v << 8 | p[i];
		}
		*out = v;
		return true;
	}
	while (i < len && p[i] == ' ')
		i++;
	for (; i < len && p[i] >= '0' && p[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(p[i] - '0');
	for (; i < len; i++) {
		if (p[i] != ' ' && p[i] != '\0')
			return false;
	}
	*out = v;
	return true;
}

static bool checksum_matches(const uint8_t *block)
{
	uint64_t want, sum = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : block[i];
	return parse_number(block + 148, 8, &want) && want == sum;
}

static bool all_zero(const uint8_t *block)
{
	for (size_t i = 0; i < BLOCK; i++) {
		if (block[i])
			return false;
	}
	return true;
}

static const char *trim_name(const char *name)
{
	for (;;) {
		if (name[0] == '/')
			name++;
		else if (name[0] == '.' && name[1] == '/')
			name += 2;
		else
			return name;
	}
}

static int bad(const struct scan *s, struct error *err, const char *what)
{
	return error_set(err, ERROR_FORMAT, "%s: %s at byte %" PRIu64, s->index->archive, what,
			 s->at);
}

/* "LEN KEY=VALUE\n" records. */
static int parse_pax(struct scan *s, struct slice text, struct error *err)
{
	while (text.len) {
		const uint8_t *blank = memchr(text.data, ' ', MIN(text.len, (size_t)20));
		struct slice record, key;
		uint64_t len;

		if (!blank || !slice_u64(slice_of(text.data, (size_t)(blank - text.data)), &len) ||
		    len > text.len || len < (uint64_t)(blank - text.data) + 2 ||
		    text.data[len - 1] != '\n')
			return bad(s, err, "malformed pax header");
		record = slice_of(blank + 1, (size_t)(text.data + len - 1 - (blank + 1)));
		text = slice_of(text.data + len, text.len - (size_t)len);
		if (!slice_cut(&record, '=', &key) || !record.data)
			return bad(s, err, "malformed pax header");
		if (slice_is(key, "path")) {
			free(s->next.path);
			s->next.path = xstrndup((const char *)record.data, record.len);
		} else if (slice_is(key, "linkpath")) {
			free(s->next.link);
			s->next.link = xstrndup((const char *)record.data, record.len);
		} else if (slice_is(key, "size")) {
			if (!slice_u64(record, &s->next.size))
				return bad(s, err, "malformed pax header");
			s->next.has_size = true;
		} else if (slice_starts(key, "GNU.sparse.")) {
			return bad(s, err, "a sparse member, which no image archive has,");
		}
	}
	return 0;
}

/* The content of a header that only speaks of the next one. */
static int read_extension(struct scan *s, char type, uint64_t size, struct error *err)
{
	cleanup_free char *text = NULL;

	if (size > EXTENSION_MAX)
		return bad(s, err, "an extended header of more than 1 MiB");
	text = xcalloc((size_t)size + 1, 1);
	if (read_at(s, s->at + BLOCK, text, (size_t)size, err) < 0)
		return -1;
	if (type == 'x')
		return parse_pax(s, slice_of(text, (size_t)size), err);
	if (type == 'L') {
		free(s->next.path);
		s->next.path = steal_ptr(&text);
	} else if (type == 'K') {
		free(s->next.link);
		s->next.link = steal_ptr(&text);
	}
	return 0;
}

/*
 * Where a symbolic link leads, from the archive's root; NULL when it leaves the archive. A link of
 * an archive must not mean anything on this machine, so an absolute one leaves it.
 */
static const char *link_target(struct arena *arena, const char *name, const char *link)
{
	const char *slash = strrchr(name, '/');
	cleanup_free char *joined =
		xasprintf("%.*s/%s", slash ? (int)(slash - name) : 0, name, link);
	struct slice rest = slice_str(joined), part;
	cleanup_strbuf struct strbuf out = { 0 };

	if (link[0] == '/')
		return NULL;
	while (slice_cut(&rest, '/', &part)) {
		if (!part.len || slice_is(part, "."))
			continue;
		if (slice_is(part, "..")) {
			const char *up = out.len ? strrchr(out.data, '/') : NULL;

			if (!out.len)
				return NULL;
			strbuf_truncate(&out, up ? (size_t)(up - out.data) : 0);
			continue;
		}
		if (out.len)
			strbuf_addc(&out, '/');
		strbuf_add(&out, part.data, part.len);
	}
	return arena_slice(arena, strbuf_slice(&out));
}

static int add_member(struct scan *s, const uint8_t *block, char type, uint64_t size,
		      struct error *err)
{
	struct arena *arena = &s->index->arena;
	struct slice prefix = memcmp(block + 257, "ustar\0", 6) == 0 ? field(block, 345, 155)
								     : (struct slice){ 0 };
	struct slice base = field(block, 0, 100), link = field(block, 157, 100);
	struct tar_member *m = arena_alloc(arena, sizeof(*m)), *earlier;
	char *name;

	if (s->next.path)
		name = arena_strdup(arena, s->next.path);
	else
		name = arena_printf(arena, "%.*s%s%.*s", (int)prefix.len,
				    prefix.len ? (const char *)prefix.data : "",
				    prefix.len ? "/" : "", (int)base.len, (const char *)base.data);
	if (strlen(name) > NAME_MAX_BYTES)
		return bad(s, err, "a member name of more than 4096 bytes");
	while (*name && str_ends(name, "/"))
		name[strlen(name) - 1] = '\0';
	m->name = trim_name(name);
	m->regular = type == '0' || type == '\0' || type == '7';
	m->offset = s->at + BLOCK;
	m->size = size;
	if (type == '1' || type == '2') {
		const char *target = s->next.link ? s->next.link : arena_slice(arena, link);

		m->link = type == '2' ? link_target(arena, m->name, target)
				      : arena_strdup(arena, trim_name(target));
		m->escapes = !m->link;
	}
	if (type == '5' && map_has(&s->index->members, m->name))
		return 0;
	if (s->index->members.len >= MEMBERS_MAX)
		return error_set(err, ERROR_LIMIT, "%s: holds more than %d members",
				 s->index->archive, MEMBERS_MAX);
	earlier = map_put(&s->index->members, m->name, m);
	m->twice = earlier != NULL;
	return 0;
}

/* 1: a member or extension was taken; 0: the end. */
static int scan_one(struct scan *s, struct error *err)
{
	uint8_t block[BLOCK];
	uint64_t size, end, padded;
	char type;

	if (s->end - s->at < BLOCK)
		return s->at && s->at == s->end ? 0 : bad(s, err, "the archive ends early");
	if (read_at(s, s->at, block, BLOCK, err) < 0)
		return -1;
	if (all_zero(block))
		return 0;
	if (!checksum_matches(block))
		return s->at ? bad(s, err, "a damaged tar header")
			     : error_set(err, ERROR_FORMAT, "%s: is not a tar archive",
					 s->index->archive);
	type = (char)block[156];
	if (!parse_number(block + 124, 12, &size))
		return bad(s, err, "a tar header without a size");
	if (s->next.has_size && type != 'x' && type != 'L' && type != 'K' && type != 'g')
		size = s->next.size;
	if (type >= '1' && type <= '6')
		size = 0;
	if (add_overflows(size, (uint64_t)BLOCK - 1, &padded) ||
	    add_overflows(s->at + BLOCK, padded / BLOCK * BLOCK, &end) ||
	    s->at + BLOCK + size > s->end)
		return bad(s, err, "the archive ends inside the member");
	if (type == 'S')
		return bad(s, err, "a sparse member, which no image archive has,");
	if (type == 'x' || type == 'L' || type == 'K') {
		if (read_extension(s, type, size, err) < 0)
			return -1;
	} else if (type != 'g') {
		if (add_member(s, block, type, size, err) < 0)
			return -1;
		pending_release(&s->next);
	}
	s->at = MIN(end, s->end);
	return 1;
}

int tar_index_read(int fd, const char *archive, struct tar_index *out, struct error *err)
{
	struct tar_index index = { .fd = fd };
	struct scan s = { .index = &index };
	struct stat st;
	int rc;

	index.archive = arena_strdup(&index.arena, archive);
	if (fstat(fd, &st) < 0) {
		rc = error_set_errno(err, errno, "look at %s", archive);
	} else if (st.st_size == 0) {
		rc = error_set(err, ERROR_FORMAT, "%s: is empty", archive);
	} else {
		s.end = (uint64_t)st.st_size;
		do {
			rc = scan_one(&s, err);
		} while (rc > 0);
	}
	pending_release(&s.next);
	if (rc < 0)
		tar_index_release(&index);
	else
		*out = index;
	return rc;
}

void tar_index_release(struct tar_index *index)
{
	if (!index)
		return;
	map_release(&index->members);
	arena_release(&index->arena);
	*index = (struct tar_index){ 0 };
}

bool tar_index_has(const struct tar_index *index, const char *name)
{
	return map_has(&index->members, name);
}

const struct tar_member *tar_index_find(const struct tar_index *index, const char *name,
					struct error *err)
{
	const struct tar_member *m = map_get(&index->members, trim_name(name));

	for (int links = 0; m && m->link; links++) {
		if (links == LINKS_MAX) {
			error_set(err, ERROR_FORMAT, "%s: member '%.150s' is a link in a loop",
				  index->archive, name);
			return NULL;
		}
		m = map_get(&index->members, m->link);
	}
	if (!m) {
		error_set(err, ERROR_NOT_FOUND, "%s: member '%.150s' is missing", index->archive,
			  name);
		return NULL;
	}
	if (m->escapes || m->twice || !m->regular) {
		error_set(err, ERROR_FORMAT, "%s: member '%.150s' %s", index->archive, m->name,
			  m->escapes ? "is a link out of the archive"
			  : m->twice ? "is there more than once"
				     : "is not a file");
		return NULL;
	}
	return m;
}

struct stream *tar_index_open(const struct tar_index *index, const struct tar_member *member)
{
	cleanup_free char *name = xasprintf("%s: member '%s'", index->archive, member->name);

	return stream_fd_range(index->fd, member->offset, member->size, name);
}

int tar_index_get(const struct tar_index *index, const char *name, uint64_t limit,
		  struct strbuf *out, struct error *err)
{
	const struct tar_member *m = tar_index_find(index, name, err);
	cleanup_stream struct stream *in = NULL;

	if (!m)
		return -1;
	if (m->size > limit)
		return error_set(err, ERROR_LIMIT,
				 "%s: member '%.150s' is %" PRIu64 " bytes long, %" PRIu64
				 " are allowed here",
				 index->archive, m->name, m->size, limit);
	in = tar_index_open(index, m);
	return stream_read_all(in, limit, out, err);
}
