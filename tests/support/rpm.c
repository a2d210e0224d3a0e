#include "tests/support/rpm.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/digest.h"

static void put(struct strbuf *out, uint64_t v, unsigned bytes)
{
	while (bytes-- > 0)
		strbuf_addc(out, (char)(v >> (8 * bytes)));
}

static void put_u32(struct strbuf *out, uint32_t v)
{
	put(out, v, 4);
}

void test_header_release(struct test_header *h)
{
	strbuf_release(&h->index);
	strbuf_release(&h->store);
}

void test_header_add(struct test_header *h, uint32_t tag, uint32_t type, uint32_t count,
		     const void *data, size_t len)
{
	size_t align = type == RPM_TYPE_INT16   ? 2
		       : type == RPM_TYPE_INT32 ? 4
		       : type == RPM_TYPE_INT64 ? 8
						: 1;

	strbuf_add_zeros(&h->store, (align - h->store.len % align) % align);
	put_u32(&h->index, tag);
	put_u32(&h->index, type);
	put_u32(&h->index, (uint32_t)h->store.len);
	put_u32(&h->index, count);
	strbuf_add(&h->store, data, len);
	h->count++;
}

void test_header_text(struct test_header *h, uint32_t tag, const char *text)
{
	test_header_add(h, tag, RPM_TYPE_STRING, 1, text, strlen(text) + 1);
}

void test_header_texts(struct test_header *h, uint32_t tag, const char *const *texts, size_t count)
{
	cleanup_strbuf struct strbuf all = { 0 };

	for (size_t i = 0; i < count; i++)
		strbuf_add(&all, texts[i], strlen(texts[i]) + 1);
	test_header_add(h, tag, RPM_TYPE_STRING_ARRAY, (uint32_t)count, all.data, all.len);
}

void test_header_numbers(struct test_header *h, uint32_t tag, unsigned bytes,
			 const uint64_t *values, size_t count)
{
	cleanup_strbuf struct strbuf all = { 0 };

	for (size_t i = 0; i < count; i++)
		put(&all, values[i], bytes);
	test_header_add(h, tag,
			bytes == 2   ? RPM_TYPE_INT16
			: bytes == 4 ? RPM_TYPE_INT32
				     : RPM_TYPE_INT64,
			(uint32_t)count, all.data, all.len);
}

void test_header_blob(const struct test_header *h, struct strbuf *out)
{
	put_u32(out, h->count);
	put_u32(out, (uint32_t)h->store.len);
	strbuf_add(out, h->index.data, h->index.len);
	strbuf_add(out, h->store.data, h->store.len);
}

void test_header_identity(struct test_header *h, const char *name, const char *version,
			  const char *arch)
{
	test_header_text(h, RPMTAG_NAME, name);
	test_header_text(h, RPMTAG_VERSION, version);
	test_header_text(h, RPMTAG_RELEASE, "3");
	test_header_text(h, RPMTAG_ARCH, arch);
	test_header_text(h, RPMTAG_LICENSE, "MIT");
	test_header_numbers(h, RPMTAG_SIZE, 4, (uint64_t[]){ 12345 }, 1);
}

static uint32_t mode_of(const struct test_rpm_file *f)
{
	return f->mode ? f->mode : (uint32_t)S_IFREG | 0644;
}

static size_t size_of(const struct test_rpm_file *f)
{
	return f->link ? strlen(f->link) : f->content ? strlen(f->content) : 0;
}

static uint32_t inode_of(const struct test_rpm *r, size_t i)
{
	return r->files[i].inode ? r->files[i].inode : 1000 + (uint32_t)i;
}

static bool is_last(const struct test_rpm *r, size_t i)
{
	for (size_t k = i + 1; k < r->file_count; k++) {
		if (inode_of(r, k) == inode_of(r, i))
			return false;
	}
	return true;
}

static void add_member(const struct test_rpm *r, size_t i, struct strbuf *out)
{
	const struct test_rpm_file *f = &r->files[i];
	bool has = f->link || (S_ISREG(mode_of(f)) && is_last(r, i));
	size_t size = has ? size_of(f) : 0;

	if (r->stripped)
		strbuf_addf(out, "07070X%08x", (unsigned)i);
	else
		strbuf_addf(out, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x.%s",
			    (unsigned)i, mode_of(f), 7u, 7u, 1u, 0u, (unsigned)size, 0u, 0u, 0u, 0u,
			    (unsigned)strlen(f->path) + 2, 0u, f->path);
	if (!r->stripped)
		strbuf_addc(out, '\0');
	strbuf_add_zeros(out, (4 - out->len % 4) % 4);
	if (has)
		strbuf_add(out, f->link ? f->link : f->content ? f->content : "", size);
	strbuf_add_zeros(out, (4 - out->len % 4) % 4);
}

static void add_named(const char *name, struct strbuf *out)
{
	strbuf_addf(out, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s", 0u, 0u, 0u,
		    0u, 1u, 0u, 0u, 0u, 0u, 0u, 0u, (unsigned)strlen(name) + 1, 0u, name);
	strbuf_addc(out, '\0');
	strbuf_add_zeros(out, (4 - out->len % 4) % 4);
}

static void make_payload(const struct test_rpm *r, struct strbuf *out)
{
	cleanup_strbuf struct strbuf plain = { 0 };
	cleanup_sink struct sink *to = sink_memory(out);
	cleanup_sink struct sink *sink = NULL;
	struct error err = { 0 };

	for (size_t i = 0; i < r->file_count; i++) {
		if (!r->files[i].missing && !(r->files[i].flags & 64))
			add_member(r, i, &plain);
	}
	if (r->extra_member)
		add_named(r->extra_member, &plain);
	add_named("TRAILER!!!", &plain);
	if (r->compression == COMPRESSION_NONE) {
		strbuf_add(out, plain.data, plain.len);
		return;
	}
	sink = compress_sink(to, r->compression, LEVEL_DEFAULT, NULL);
	if (sink_write(sink, plain.data, plain.len, &err) < 0 || sink_finish(sink, &err) < 0)
		abort();
}

static void hex_digest(struct slice s, char out[DIGEST_HEX_MAX])
{
	struct digest d = digest_of(s);

	digest_hex(&d, out);
}

/* The columns of the table of files. */
static void add_files(const struct test_rpm *r, struct test_header *h)
{
	size_t n = r->file_count;
	cleanup_free const char **names = xcalloc(n, sizeof(*names)),
				**dirs = xcalloc(n, sizeof(*dirs)),
				**links = xcalloc(n, sizeof(*links)),
				**users = xcalloc(n, sizeof(*users)),
				**groups = xcalloc(n, sizeof(*groups)),
				**caps = xcalloc(n, sizeof(*caps)),
				**digests = xcalloc(n, sizeof(*digests));
	cleanup_free char *dir_texts = xcalloc(n, 4200), *hex = xcalloc(n, DIGEST_HEX_MAX);
	cleanup_free uint64_t *numbers = xcalloc(n, 6 * sizeof(*numbers));
	uint64_t *sizes = numbers, *modes = numbers + n, *flags = numbers + 2 * n,
		 *inodes = numbers + 3 * n, *ones = numbers + 4 * n, *index = numbers + 5 * n;

	for (size_t i = 0; i < n; i++) {
		const struct test_rpm_file *f = &r->files[i];
		const char *slash = strrchr(f->path, '/');
		char *dir = dir_texts + i * 4200;

		snprintf(dir, 4200, "%.*s", (int)(slash - f->path) + 1, f->path);
		dirs[i] = dir;
		names[i] = slash + 1;
		links[i] = f->link ? f->link : "";
		users[i] = f->user ? f->user : "root";
		groups[i] = f->group ? f->group : "root";
		caps[i] = f->caps ? f->caps : "";
		digests[i] = "";
		if (S_ISREG(mode_of(f)) && !(f->flags & 64)) {
			hex_digest(slice_str(f->content ? f->content : ""),
				   hex + i * DIGEST_HEX_MAX);
			digests[i] = f->digest ? f->digest : hex + i * DIGEST_HEX_MAX;
		}
		sizes[i] = size_of(f);
		modes[i] = mode_of(f);
		flags[i] = f->flags;
		inodes[i] = inode_of(r, i);
		ones[i] = 1;
		index[i] = i;
	}
	test_header_numbers(h, r->stripped ? RPMTAG_LONGFILESIZES : RPMTAG_FILESIZES,
			    r->stripped ? 8 : 4, sizes, n);
	test_header_numbers(h, RPMTAG_FILEMODES, 2, modes, n);
	test_header_numbers(h, RPMTAG_FILEMTIMES, 4, ones, n);
	test_header_texts(h, RPMTAG_FILEDIGESTS, digests, n);
	test_header_texts(h, RPMTAG_FILELINKTOS, links, n);
	test_header_numbers(h, RPMTAG_FILEFLAGS, 4, flags, n);
	test_header_texts(h, RPMTAG_FILEUSERNAME, users, n);
	test_header_texts(h, RPMTAG_FILEGROUPNAME, groups, n);
	test_header_numbers(h, RPMTAG_FILEDEVICES, 4, ones, n);
	test_header_numbers(h, RPMTAG_FILEINODES, 4, inodes, n);
	test_header_numbers(h, RPMTAG_DIRINDEXES, 4, index, n);
	test_header_texts(h, RPMTAG_BASENAMES, names, n);
	test_header_texts(h, RPMTAG_DIRNAMES, dirs, n);
	test_header_texts(h, RPMTAG_FILECAPS, caps, n);
	test_header_numbers(h, RPMTAG_FILEDIGESTALGO, 4, (uint64_t[]){ 8 }, 1);
}

static void make_header(const struct test_rpm *r, struct slice payload, struct strbuf *out)
{
	cleanup_test_header struct test_header h = { 0 };
	char hex[DIGEST_HEX_MAX];

	test_header_identity(&h, "demo", "1.0", "x86_64");
	test_header_numbers(&h, RPMTAG_EPOCH, 4, (uint64_t[]){ 2 }, 1);
	if (!r->source || *r->source)
		test_header_text(&h, RPMTAG_SOURCERPM, r->source ? r->source : "demo-1-1.src.rpm");
	if (r->post)
		test_header_text(&h, RPMTAG_POSTIN, r->post);
	if (r->post_interpreter)
		test_header_text(&h, RPMTAG_POSTINPROG, r->post_interpreter);
	if (r->file_count)
		add_files(r, &h);
	test_header_text(&h, RPMTAG_PAYLOADFORMAT, "cpio");
	test_header_text(&h, RPMTAG_PAYLOADCOMPRESSOR, compression_name(r->compression));
	hex_digest(r->wrong_payload_digest ? slice_str("other") : payload, hex);
	test_header_texts(&h, RPMTAG_PAYLOADDIGEST, (const char *[]){ hex }, 1);
	test_header_numbers(&h, RPMTAG_PAYLOADDIGESTALGO, 4, (uint64_t[]){ 8 }, 1);
	strbuf_add(out, "\x8e\xad\xe8\x01\0\0\0\0", 8);
	test_header_blob(&h, out);
}

void test_rpm_make(const struct test_rpm *r, struct strbuf *out)
{
	cleanup_strbuf struct strbuf payload = { 0 }, header = { 0 };
	cleanup_test_header struct test_header signature = { 0 };
	char hex[DIGEST_HEX_MAX];

	make_payload(r, &payload);
	make_header(r, strbuf_slice(&payload), &header);
	hex_digest(r->wrong_header_digest ? slice_str("other") : strbuf_slice(&header), hex);
	test_header_text(&signature, RPMTAG_SHA256HEADER, hex);
	test_header_add(&signature, 1004, RPM_TYPE_BIN, 16, "0123456789abcdef", 16);
	test_header_numbers(&signature, 1000, 4, (uint64_t[]){ header.len + payload.len }, 1);
	strbuf_add(out, "\xed\xab\xee\xdb\x03\0", 6);
	strbuf_add_zeros(out, 90);
	strbuf_add(out, "\x8e\xad\xe8\x01\0\0\0\0", 8);
	test_header_blob(&signature, out);
	strbuf_add_zeros(out, (8 - signature.store.len % 8) % 8);
	strbuf_add(out, header.data, header.len);
	strbuf_add(out, payload.data, payload.len);
	if (r->behind)
		strbuf_adds(out, r->behind);
}
