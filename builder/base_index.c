#include "builder/base_index.h"

#include "base/vec.h"
#include "builder/finish/finish.h"
#include "builder/layer.h"
#include "formats/elf.h"
#include "formats/tar_read.h"
#include "formats/ldcache.h"
#include "oci/tree.h"

enum {
	CHUNK = 64 * 1024,
	KEPT_BYTES_MAX = 64 * 1024 * 1024,
	ELF_BYTES_MAX = 48 * 1024 * 1024,
	LISTING_BYTES_MAX = 1024 * 1024 * 1024,
};

static const char heading[] = "gpuimg-base 1";

/* What is known of a file once its content has passed. */
struct file_facts {
	struct digest digest;
	uint64_t size, offset; /* of the content in the pack; UINT64_MAX: not kept */
	const char *soname;    /* "": no library for the image's machine */
};

struct pass {
	struct image *image;
	struct tree tree;
	struct sink *pack;
	uint64_t pack_size;
	bool keep_all;
	uint16_t machine;
	struct base_index *out;
	uint8_t *chunk;
};

void base_index_release(struct base_index *index)
{
	if (!index)
		return;
	strbuf_release(&index->listing);
	free(index->raw_sizes);
	*index = (struct base_index){ 0 };
}

/* ---- one pass over the layers ---- */

/* Files that finish actions, the resolvers or the report read. */
static bool is_kept(const char *path, uint64_t size)
{
	static const char *const folders[] = {
		"etc/",
		"var/lib/dpkg/",
		"var/lib/rpm/",
		"var/lib/rpmmanifest/",
		"usr/lib/sysimage/rpm/",
		"usr/lib/sysusers.d/",
		"usr/lib/tmpfiles.d/",
		"usr/lib/os-release",
		"sbin/ldconfig",
		"usr/sbin/ldconfig",
		"usr/share/base-files/",
		"usr/share/base-passwd/",
		"usr/share/ca-certificates/",
		"usr/share/debianutils/",
		"usr/share/crypto-policies/",
		"usr/share/libc-bin/",
		"usr/share/pam-configs/",
		"usr/share/pam/",
		"usr/share/pki/",
		"usr/share/readline/",
		"usr/local/share/ca-certificates/",
	};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		if (str_starts(path, folders[i]))
			return size <= KEPT_BYTES_MAX;
	}
	return false;
}

/* "2.36" of "GNU C Library (…) stable release version 2.36." in the library itself. */
static void find_glibc(struct pass *p, const struct strbuf *bytes)
{
	static const char words[] = "stable release version ";
	const char *at = bytes->len ? memmem(bytes->data, bytes->len, words, strlen(words)) : NULL;
	size_t left, n = 0;

	if (!at)
		return;
	at += strlen(words);
	left = bytes->len - (size_t)((const uint8_t *)at - (const uint8_t *)bytes->data);
	while (n < left && n + 1 < sizeof(p->out->glibc) && at[n] && strchr("0123456789.", at[n]))
		n++;
	while (n && at[n - 1] == '.')
		n--;
	memcpy(p->out->glibc, at, n);
	p->out->glibc[n] = '\0';
}

static const char *soname_of(struct pass *p, const char *name, const struct strbuf *bytes)
{
	cleanup_elf struct elf elf = { 0 };
	struct error ignored = { 0 };
	const char *soname;

	if (!elf_is(strbuf_slice(bytes)) || elf_read(strbuf_slice(bytes), &elf, &ignored) < 0 ||
	    elf.type != ELF_TYPE_DYN || elf.machine != p->machine || !elf.is64 || elf.big_endian)
		return "";
	soname = elf.soname.data ? arena_slice(&p->tree.arena, elf.soname)
				 : arena_strdup(&p->tree.arena, name);
	return strpbrk(soname, "/\t\n") ? "" : soname;
}

/* How much of a file has to be held for its soname, told by the first chunk. */
static uint64_t bytes_wanted(const char *name, uint64_t size, struct slice head)
{
	uint64_t end;

	if (str_starts(name, "libc.so.6") || str_starts(name, "libc-2."))
		return MIN(size, (uint64_t)ELF_BYTES_MAX);
	if (!ldcache_takes_name(name) || !elf_is(head))
		return 0;
	end = elf_dynamic_end(head);
	return end <= size && end <= ELF_BYTES_MAX ? MAX(end, (uint64_t)head.len) : head.len;
}

static int read_content(struct pass *p, struct stream *content, const struct tree_node *node,
			struct file_facts *out, struct error *err)
{
	cleanup_strbuf struct strbuf path = { 0 };
	const char *name = tree_name(&p->tree, node);
	bool keep = p->keep_all || is_kept(tree_path(&p->tree, node, &path), node->entry.size);
	cleanup_digest struct digest_state state = { 0 };
	cleanup_strbuf struct strbuf head = { 0 };
	uint64_t want = 0;

	digest_init(&state, DIGEST_SHA256);
	out->offset = keep ? p->pack_size : UINT64_MAX;
	for (;;) {
		ssize_t n = stream_read(content, p->chunk, CHUNK, err);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		digest_update(&state, p->chunk, (size_t)n);
		if (!out->size)
			want = bytes_wanted(name, node->entry.size, slice_of(p->chunk, (size_t)n));
		if (head.len < want)
			strbuf_add(&head, p->chunk, (size_t)n);
		if (keep && sink_write(p->pack, p->chunk, (size_t)n, err) < 0)
			return -1;
		p->pack_size += keep ? (uint64_t)n : 0;
		out->size += (uint64_t)n;
	}
	out->digest = digest_finish(&state);
	out->soname = want ? soname_of(p, name, &head) : "";
	if (str_starts(name, "libc.so.6") || str_starts(name, "libc-2."))
		find_glibc(p, &head);
	return 0;
}

static int read_layer(struct pass *p, size_t layer, struct error *err)
{
	cleanup_stream struct stream *plain = image_layer(p->image, layer, err), *counted = NULL;
	cleanup_tar_reader struct tar_reader *tar = NULL;
	struct tar_entry entry;
	int rc;

	if (!plain)
		return -1;
	counted = stream_digest(plain, NULL, &p->out->raw_sizes[layer]);
	tar = tar_read_open(counted);
	while ((rc = tar_read_next(tar, &entry, err)) > 0) {
		struct tree_node *node = tree_add(&p->tree, layer, &entry);
		struct file_facts *facts;

		if (!node || entry.type != TAR_FILE)
			continue;
		facts = arena_alloc(&p->tree.arena, sizeof(*facts));
		node->facts = facts;
		if (read_content(p, tar_read_content(tar), node, facts, err) < 0)
			return error_wrap(err, "%s: layer %zu: %s", p->image->name, layer,
					  entry.path);
	}
	if (rc < 0) /* errors of the layer itself name it already */
		return str_starts(err->text, p->image->name)
			       ? -1
			       : error_wrap(err, "%s: layer %zu", p->image->name, layer);
	/* what follows the archive's end belongs to the layer, and its digests are told there */
	return stream_drain(counted, NULL, err);
}

/* ---- the listing ---- */

/* Names may hold anything but NUL. */
static void add_field(struct strbuf *out, const char *text, char end)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '\t' || *text == '\n')
			strbuf_addf(out, "\\%c", *text == '\\' ? '\\' : *text == '\t' ? 't' : 'n');
		else
			strbuf_addc(out, *text);
	}
	strbuf_addc(out, end);
}

static int add_node(struct pass *p, const struct tree_node *n, struct error *err)
{
	struct strbuf *out = &p->out->listing;
	enum tar_type type = n->entry.type;
	const struct tree_node *file = type == TAR_HARDLINK ? tree_target(n) : n;
	const struct file_facts *facts = file ? file->facts : NULL;
	cleanup_strbuf struct strbuf path = { 0 };
	char hex[DIGEST_HEX_MAX];

	if (type == TAR_HARDLINK && (!file || !facts))
		return error_set(err, ERROR_FORMAT,
				 "%s: layer %" PRIu32 ": \"%s\" is a hard link to what is no file "
				 "of the image",
				 p->image->name, n->layer, tree_path(&p->tree, n, &path));
	if (type != TAR_DIR && type != TAR_SYMLINK && !facts)
		return 0;
	strbuf_addf(out, "%c\t%o\t%" PRIu32 "\t%" PRIu32 "\t%" PRId64 "\t",
		    type == TAR_DIR       ? 'd'
		    : type == TAR_SYMLINK ? 'l'
					  : 'f',
		    type == TAR_HARDLINK ? file->entry.mode : n->entry.mode, n->entry.uid,
		    n->entry.gid, n->entry.mtime);
	if (facts) {
		strbuf_addf(out, "%" PRIu64 "\t%s\t", facts->size, digest_hex(&facts->digest, hex));
		if (facts->offset != UINT64_MAX)
			strbuf_addf(out, "%" PRIu64, facts->offset);
		strbuf_addc(out, '\t');
		add_field(out, facts->soname, '\t');
	}
	if (type == TAR_SYMLINK)
		add_field(out, tree_link(n), '\t');
	add_field(out, tree_path(&p->tree, n, &path), '\n');
	return 0;
}

static int run_pass(struct pass *p, struct error *err)
{
	const char *machine = p->image->config.platform.architecture;
	cleanup_free uint8_t *chunk = xmalloc(CHUNK);
	struct tree_node **nodes;
	size_t count;
	int rc = 0;

	p->machine =
		machine && str_equal(machine, "arm64") ? ELF_MACHINE_AARCH64 : ELF_MACHINE_X86_64;
	p->chunk = chunk;
	p->out->layer_count = p->image->manifest.layer_count;
	p->out->raw_sizes = xcalloc(p->out->layer_count + 1, sizeof(*p->out->raw_sizes));
	for (size_t i = 0; rc == 0 && i < p->out->layer_count; i++)
		rc = read_layer(p, i, err);
	nodes = rc == 0 ? tree_sorted(&p->tree, &count) : NULL;
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = add_node(p, nodes[i], err);
	tree_release(&p->tree);
	return rc;
}

/* The next field of a line into the arena, or NULL when there is none. */
static char *take_field(struct slice *line, struct arena *arena)
{
	struct slice raw;
	char *text;
	size_t n = 0;

	if (!slice_cut(line, '\t', &raw))
		return NULL;
	text = arena_slice(arena, raw);
	for (size_t i = 0; i < raw.len; i++) {
		if (text[i] == '\\' && i + 1 < raw.len) {
			i++;
			text[n++] = text[i] == 't' ? '\t' : text[i] == 'n' ? '\n' : text[i];
		} else {
			text[n++] = text[i];
		}
	}
	text[n] = '\0';
	return text;
}

static bool take_number(struct slice *line, uint64_t *out)
{
	struct slice raw;

	return slice_cut(line, '\t', &raw) && slice_u64(raw, out);
}

static bool take_file(struct slice *line, struct component *c, struct component_entry *e)
{
	struct error ignored = { 0 };
	struct slice hex, offset;
	struct digest digest;

	if (!take_number(line, &e->tar.size) || !slice_cut(line, '\t', &hex) ||
	    digest_parse_sha256_hex(hex, &digest, &ignored) < 0 || !slice_cut(line, '\t', &offset))
		return false;
	content_set_digest(&e->content, &digest);
	e->content.soname = take_field(line, &c->arena);
	e->content.kind = CONTENT_ABSENT;
	if (offset.len) {
		e->content.kind = CONTENT_RANGE;
		e->content.fd = c->fd;
		if (!slice_u64(offset, &e->content.offset))
			return false;
	}
	return e->content.soname != NULL;
}

static bool take_mode(struct slice *line, uint32_t *out)
{
	struct slice raw;

	*out = 0;
	if (!slice_cut(line, '\t', &raw) || !raw.len || raw.len > 5)
		return false;
	for (size_t i = 0; i < raw.len; i++) {
		if (raw.data[i] < '0' || raw.data[i] > '7')
			return false;
		*out = *out * 8 + (uint32_t)(raw.data[i] - '0');
	}
	return *out <= 07777;
}

static bool take_time(struct slice *line, int64_t *out)
{
	struct slice raw;
	bool minus;
	uint64_t value;

	if (!slice_cut(line, '\t', &raw) || !raw.len)
		return false;
	minus = raw.data[0] == '-';
	if (!slice_u64(slice_of(raw.data + minus, raw.len - minus), &value) || value > INT64_MAX)
		return false;
	*out = minus ? -(int64_t)value : (int64_t)value;
	return true;
}

static bool take_entry(struct slice line, struct component *c)
{
	struct component_entry *e = vec_add(&c->entries);
	struct slice type;

	e->tar.link = "";
	e->content.fd = -1;
	if (!slice_cut(&line, '\t', &type) || type.len != 1 || !take_mode(&line, &e->tar.mode) ||
	    !take_number(&line, &e->tar.uid) || !take_number(&line, &e->tar.gid) ||
	    !take_time(&line, &e->tar.mtime))
		return false;
	e->tar.type = type.data[0] == 'd' ? TAR_DIR : type.data[0] == 'l' ? TAR_SYMLINK : TAR_FILE;
	if (e->tar.type == TAR_FILE && !take_file(&line, c, e))
		return false;
	if (e->tar.type == TAR_SYMLINK)
		e->tar.link = take_field(&line, &c->arena);
	e->tar.path = take_field(&line, &c->arena);
	return e->tar.path && *e->tar.path && e->tar.link;
}

/* Takes `fd`. */
static struct component *parse_listing(const struct strbuf *listing, const char *name, int fd,
				       struct error *err)
{
	cleanup_component struct component *c = component_new(COMPONENT_BASE, name, "");
	struct slice rest = strbuf_slice(listing), line;

	c->fd = fd;
	while (slice_cut(&rest, '\n', &line)) {
		if (line.len && !take_entry(line, c)) {
			error_set(err, ERROR_INTEGRITY,
				  "the listing of the base image is damaged: \"%.*s\"",
				  (int)MIN(line.len, (size_t)80), (const char *)line.data);
			return NULL;
		}
	}
	return steal_ptr(&c);
}

struct component *base_index_component(struct store *store, const struct base_index *index,
				       const char *name, struct error *err)
{
	int fd = -1;

	if (index->pack_size) {
		fd = store_open_verified(store, &index->pack, index->pack_size, err);
		if (fd < 0)
			return NULL;
	}
	return parse_listing(&index->listing, name, fd, err);
}

struct component *base_index_unpack(struct store *store, struct image *image, const char *name,
				    struct error *err)
{
	cleanup_fd int fd = store_scratch(store, err);
	cleanup_base_index struct base_index index = { 0 };
	cleanup_sink struct sink *pack = NULL;
	struct pass p = { .image = image, .keep_all = true, .out = &index };

	if (fd < 0)
		return NULL;
	pack = p.pack = sink_fd(fd, "a temporary file of the store");
	if (run_pass(&p, err) < 0)
		return NULL;
	return parse_listing(&index.listing, name, steal_fd(&fd), err);
}

/* ---- in the store ---- */

/* "gpuimg-base 1", "glibc 2.36", "pack HEX SIZE", "layer RAW_SIZE"…, an empty line, the listing. */
static void write_index(const struct base_index *index, struct strbuf *out)
{
	char hex[DIGEST_HEX_MAX];

	strbuf_addf(out, "%s\nglibc %s\n", heading, index->glibc);
	if (index->pack_size)
		strbuf_addf(out, "pack %s %" PRIu64 "\n", digest_hex(&index->pack, hex),
			    index->pack_size);
	for (size_t i = 0; i < index->layer_count; i++)
		strbuf_addf(out, "layer %" PRIu64 "\n", index->raw_sizes[i]);
	strbuf_addc(out, '\n');
	strbuf_add(out, index->listing.data, index->listing.len);
}

static bool read_head_line(struct slice line, struct base_index *out, size_t *layer)
{
	struct error ignored = { 0 };
	struct slice word, hex;

	if (!slice_cut(&line, ' ', &word))
		return false;
	if (slice_is(word, "glibc") && line.len < sizeof(out->glibc)) {
		if (line.len)
			memcpy(out->glibc, line.data, line.len);
		return true;
	}
	if (slice_is(word, "pack"))
		return slice_cut(&line, ' ', &hex) &&
		       digest_parse_sha256_hex(hex, &out->pack, &ignored) == 0 &&
		       slice_u64(line, &out->pack_size);
	return slice_is(word, "layer") && *layer < out->layer_count &&
	       slice_u64(line, &out->raw_sizes[(*layer)++]);
}

static bool read_index(struct slice text, size_t layer_count, struct base_index *out)
{
	struct slice line;
	size_t layer = 0;

	out->layer_count = layer_count;
	out->raw_sizes = xcalloc(layer_count + 1, sizeof(*out->raw_sizes));
	if (!slice_cut(&text, '\n', &line) || !slice_is(line, heading))
		return false;
	while (slice_cut(&text, '\n', &line) && line.len) {
		if (!read_head_line(line, out, &layer))
			return false;
	}
	strbuf_add(&out->listing, text.data, text.len);
	return layer == layer_count;
}

static bool recall(struct store *store, const struct image *image, const struct digest *key,
		   struct base_index *out)
{
	cleanup_strbuf struct strbuf name = { 0 }, text = { 0 };
	struct error ignored = { 0 }; /* what cannot be used is made again */
	struct digest object;

	if (store_get_record(store, "bases", key, &name, &ignored) < 0 ||
	    digest_parse(strbuf_slice(&name), &object, &ignored) < 0 ||
	    store_get_bytes(store, &object, LISTING_BYTES_MAX, &text, &ignored) < 0)
		return false;
	if (read_index(strbuf_slice(&text), image->manifest.layer_count, out) &&
	    (!out->pack_size || store_intact(store, &out->pack, out->pack_size)))
		return true;
	base_index_release(out);
	return false;
}

int base_index_get(struct store *store, struct image *image, const struct digest *key,
		   struct base_index *out, struct error *err)
{
	cleanup_store_put struct store_pending pending = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct pass p = { .image = image, .out = out };
	char name[DIGEST_TEXT_MAX];
	struct digest object;
	uint64_t size;

	if (recall(store, image, key, out))
		return 0;
	if (store_put_open(store, &pending, err) < 0)
		return -1;
	p.pack = pending.sink;
	if (run_pass(&p, err) < 0)
		return -1;
	out->pack_size = p.pack_size;
	if (p.pack_size &&
	    store_put_commit(&pending, NULL, p.pack_size, &out->pack, &size, err) < 0)
		return -1;
	write_index(out, &text);
	if (store_put_bytes(store, strbuf_slice(&text), &object, err) < 0)
		return -1;
	return store_put_record(store, "bases", key, slice_str(digest_text(&object, name)), err);
}
