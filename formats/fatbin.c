#include "formats/fatbin.h"

#include "base/alloc.h"
#include "base/reader.h"
#include "formats/compress.h"

enum {
	CONTAINER_BYTES = 16,
	ENTRY_BYTES = 64,
	ELF_BYTES = 64,
	ALIGNMENT = 8,
	HEADER_MAX = 4096,  /* of an entry; 144 is the largest seen */
	STUB_STORED = 4096, /* larger payloads are no stubs and are passed over unread */
	STUB_UNPACKED = 16384,
	LOOK_AHEAD = HEADER_MAX + STUB_STORED,
	ENTRIES_MAX = 1000000,
	ENTRY_VERSION = 0x0101,
	MACHINE_CUDA = 190,
};

static const uint32_t CONTAINER_MAGIC = 0xBA55ED50, ELF_MAGIC = 0x464c457f;

enum flag {
	FLAG_LZ4 = 1 << 13,
	FLAG_ZSTD = 1 << 15,
	FLAG_SCRAMBLED = 1 << 16,
	FLAG_ARCH = 1 << 20,   /* "a" */
	FLAG_FAMILY = 1 << 21, /* "f" */
};

enum state { SEARCH, ENTRY, SKIP };

struct fatbin_scan {
	struct fatbin found;
	uint64_t file_size;
	uint64_t at; /* offset in the file of the next byte to consume */
	enum state state;
	uint64_t skip_to;        /* SKIP */
	uint64_t container, end; /* of the container being followed */
	size_t first;            /* its first entry */
	bool maybe_stub;         /* all its entries so far are empty cubins */
	size_t kept;             /* bytes of the piece before that wait for the next */
	uint8_t keep[2 * LOOK_AHEAD + ALIGNMENT];
};

void fatbin_release(struct fatbin *f)
{
	vec_release(&f->entries);
}

struct fatbin_scan *fatbin_scan_new(uint64_t file_size)
{
	struct fatbin_scan *scan = xcalloc(1, sizeof(*scan));

	scan->file_size = file_size;
	return scan;
}

static uint64_t bytes_left(const struct fatbin_scan *scan)
{
	return scan->at < scan->file_size ? scan->file_size - scan->at : 0;
}

static void add(struct fatbin_scan *scan, const struct fatbin_entry *e)
{
	if (scan->found.entries.len >= ENTRIES_MAX)
		scan->found.more = true;
	else
		vec_push(&scan->found.entries, *e);
}

/* --- unpacking */

/* One LZ4 block. False when it is not one, or larger than `max`. */
static bool unpack_lz4(struct slice in, uint8_t *out, size_t max, size_t *out_len)
{
	size_t at = 0, made = 0;

	while (at < in.len) {
		uint8_t token = in.data[at++], more;
		size_t literals = token >> 4, match = (token & 15) + 4u, distance;

		if (literals == 15) {
			do {
				if (at >= in.len)
					return false;
				more = in.data[at++];
				literals += more;
			} while (more == 255);
		}
		if (literals > in.len - at || literals > max - made)
			return false;
		memcpy(out + made, in.data + at, literals);
		at += literals;
		made += literals;
		if (at == in.len)
			break;
		if (in.len - at < 2)
			return false;
		distance = in.data[at] | (size_t)in.data[at + 1] << 8;
		at += 2;
		if ((token & 15) == 15) {
			do {
				if (at >= in.len)
					return false;
				more = in.data[at++];
				match += more;
			} while (more == 255);
		}
		if (!distance || distance > made || match > max - made)
			return false;
		for (; match; match--, made++)
			out[made] = out[made - distance];
	}
	*out_len = made;
	return true;
}

static bool unpack_zstd(struct slice in, uint8_t *out, size_t max, size_t *out_len)
{
	cleanup_stream struct stream *raw = stream_memory(in);
	cleanup_stream struct stream *plain = decompress_stream(raw, COMPRESSION_ZSTD);
	struct error ignored = { 0 };

	*out_len = 0;
	while (*out_len < max) {
		ssize_t n = stream_read(plain, out + *out_len, max - *out_len, &ignored);

		if (n < 0)
			return false;
		if (n == 0)
			break;
		*out_len += (size_t)n;
	}
	return true;
}

int fatbin_unpack(struct slice file, const struct fatbin_entry *e, size_t max, struct strbuf *out,
		  struct error *err)
{
	size_t start = out->len, made = 0;
	struct slice in;

	if (e->scrambled || !slice_sub(file, e->payload, e->packed ? e->packed : e->stored, &in))
		return error_set(err, ERROR_FORMAT, "GPU code at offset %" PRIu64 ": %s",
				 e->payload,
				 e->scrambled ? "it is scrambled" : "it ends after the file");
	if (e->unpacked > max)
		return error_set(err, ERROR_LIMIT,
				 "GPU code at offset %" PRIu64 ": %" PRIu64
				 " bytes, more than the limit of %zu",
				 e->payload, e->unpacked, max);
	if (!e->packed) {
		strbuf_add(out, in.data, in.len);
		return 0;
	}
	strbuf_add_zeros(out, (size_t)e->unpacked);
	if ((e->lz4 ? unpack_lz4 : unpack_zstd)(in, (uint8_t *)out->data + start,
						(size_t)e->unpacked, &made) &&
	    made == e->unpacked)
		return 0;
	strbuf_truncate(out, start);
	return error_set(err, ERROR_FORMAT,
			 "GPU code at offset %" PRIu64 ": it does not unpack to %" PRIu64 " bytes",
			 e->payload, e->unpacked);
}

/* --- the link step's stubs */

/* An executable cubin with the link step's mark and no code in it. */
static bool is_link_stub(struct slice payload, uint32_t packed, uint64_t flags)
{
	uint8_t plain[STUB_UNPACKED];
	struct slice cubin = payload;
	struct reader r;

	if (flags & (FLAG_LZ4 | FLAG_ZSTD)) {
		struct slice in = slice_of(payload.data, MIN(payload.len, (size_t)packed));
		size_t len;

		if (!(flags & FLAG_LZ4 ? unpack_lz4 : unpack_zstd)(in, plain, sizeof(plain), &len))
			return false;
		cubin = slice_of(plain, len);
	}
	r = reader_of(cubin);
	if (reader_u32(&r) != ELF_MAGIC || !reader_seek(&r, 16) || reader_u16(&r) != 2)
		return false;
	reader_seek(&r, 48);
	return reader_u32(&r) >> 24 == 0x05 && !r.bad &&
	       !memmem(cubin.data, cubin.len, ".text.", 6);
}

/* --- containers. Each step takes the bytes from the present offset on; it gives how many it
 * consumed, 0 when it needs more than are there. */

struct entry_header {
	uint16_t kind, version, minor, major;
	uint32_t header, payload, packed, sm;
	uint64_t flags, unpacked;
};

static struct entry_header read_entry(struct slice bytes)
{
	struct reader r = reader_of(bytes);
	struct entry_header h;

	h.kind = reader_u16(&r);
	h.version = reader_u16(&r);
	h.header = reader_u32(&r);
	h.payload = reader_u32(&r);
	reader_u32(&r);
	h.packed = reader_u32(&r);
	reader_u32(&r); /* options */
	h.minor = reader_u16(&r);
	h.major = reader_u16(&r);
	h.sm = reader_u32(&r);
	reader_u64(&r); /* name */
	h.flags = reader_u64(&r);
	reader_u64(&r);
	h.unpacked = reader_u64(&r);
	return h;
}

/* Sizes that an entry may have when `left` bytes of its container remain. */
static bool fits(const struct entry_header *h, uint64_t left)
{
	return h->header >= ENTRY_BYTES && h->header % ALIGNMENT == 0 &&
	       h->payload % ALIGNMENT == 0 && h->packed <= h->payload &&
	       (uint64_t)h->header + h->payload <= left;
}

static bool is_known(unsigned kind)
{
	return kind == FATBIN_PTX || kind == FATBIN_CUBIN || kind == FATBIN_OLD_CUBIN ||
	       kind == FATBIN_LTO;
}

/* What follows the magic is a container: its header, and that of its first entry. */
static bool is_container(const struct fatbin_scan *scan, struct slice bytes, uint64_t *out_size)
{
	struct reader r = reader_of(bytes);
	struct entry_header h;
	uint64_t size;

	reader_seek(&r, 4);
	if (reader_u16(&r) != 1 || reader_u16(&r) != CONTAINER_BYTES)
		return false;
	size = reader_u64(&r);
	if (size < ENTRY_BYTES || size % ALIGNMENT || bytes_left(scan) < CONTAINER_BYTES ||
	    size > bytes_left(scan) - CONTAINER_BYTES)
		return false;
	h = read_entry(slice_of(bytes.data + CONTAINER_BYTES, ENTRY_BYTES));
	*out_size = size;
	return h.kind && h.kind <= 0x100 && h.version >> 8 == 1 && fits(&h, size) && h.sm >= 10 &&
	       h.sm < 1000;
}

static bool is_bare_cubin(struct slice bytes)
{
	struct reader r = reader_of(slice_of(bytes.data, ELF_BYTES));
	uint8_t abi;

	reader_seek(&r, 4);
	if (reader_u8(&r) != 2 || reader_u8(&r) != 1 || reader_u8(&r) != 1)
		return false;
	abi = reader_u8(&r);
	reader_seek(&r, 18);
	if ((abi != 0x33 && abi != 0x41) || reader_u16(&r) != MACHINE_CUDA)
		return false;
	reader_seek(&r, 52);
	return reader_u16(&r) == ELF_BYTES;
}

static void add_bare(struct fatbin_scan *scan, struct slice bytes)
{
	struct reader r = reader_of(slice_of(bytes.data, ELF_BYTES));
	struct fatbin_entry e = {
		.container = scan->at, .payload = scan->at, .kind = FATBIN_CUBIN, .bare = true
	};
	uint64_t left = bytes_left(scan), sections, headers;
	uint8_t abi = bytes.data[8];
	uint32_t flags;

	reader_seek(&r, 40);
	sections = reader_u64(&r);
	flags = reader_u32(&r);
	reader_seek(&r, 60);
	headers = UINT64_C(64) * reader_u16(&r);
	e.stored = MIN(MIN(sections, left) + headers, left);
	e.unpacked = e.stored;
	e.sm = (uint16_t)(abi >= 8 ? flags >> 8 & 0xff : flags & 0xff);
	e.suffix = abi < 8 && flags & 0x800 ? 'a' : 0;
	if (e.sm >= 10)
		add(scan, &e);
}

static uint32_t word_at(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static size_t search(struct fatbin_scan *scan, struct slice bytes)
{
	size_t i = (size_t)(-scan->at % ALIGNMENT);

	for (; i + 4 <= bytes.len; i += ALIGNMENT) {
		uint32_t word = word_at(bytes.data + i);
		struct slice rest;
		uint64_t size;

		if (word != CONTAINER_MAGIC && word != ELF_MAGIC)
			continue;
		if (i)
			return i; /* look at it from its beginning */
		rest = bytes;
		if (rest.len < CONTAINER_BYTES + ENTRY_BYTES) {
			if (bytes_left(scan) >= CONTAINER_BYTES + ENTRY_BYTES)
				return 0;
			continue;
		}
		if (word == CONTAINER_MAGIC && is_container(scan, rest, &size)) {
			scan->state = ENTRY;
			scan->container = scan->at;
			scan->end = scan->at + CONTAINER_BYTES + size;
			scan->first = scan->found.entries.len;
			scan->maybe_stub = true;
			scan->found.containers++;
			return CONTAINER_BYTES;
		}
		if (word == ELF_MAGIC && is_bare_cubin(rest))
			add_bare(scan, rest);
	}
	return MIN(i, bytes.len);
}

/* A container ended: what it was. */
static void close_container(struct fatbin_scan *scan)
{
	for (size_t i = scan->first; scan->maybe_stub && i < scan->found.entries.len; i++)
		scan->found.entries.items[i].link_stub = true;
	scan->state = SEARCH;
}

static size_t give_up(struct fatbin_scan *scan)
{
	scan->found.broken++;
	scan->maybe_stub = false;
	close_container(scan);
	return 0;
}

static void keep_entry(struct fatbin_scan *scan, const struct entry_header *h)
{
	struct fatbin_entry e = {
		.container = scan->container,
		.payload = scan->at + h->header,
		.stored = h->payload,
		.packed = h->flags & (FLAG_LZ4 | FLAG_ZSTD) ? h->packed : 0,
		.unpacked = h->unpacked ? h->unpacked : h->payload,
		.kind = h->kind,
		.sm = (uint16_t)MIN(h->sm, 999u),
		.major = h->major,
		.minor = h->minor,
		.suffix = h->flags & FLAG_ARCH     ? 'a'
			  : h->flags & FLAG_FAMILY ? 'f'
						   : 0,
		.uncertain = h->version != ENTRY_VERSION,
		.lz4 = (h->flags & FLAG_LZ4) != 0,
		.scrambled = (h->flags & FLAG_SCRAMBLED) != 0,
	};

	if (!is_known(h->kind))
		scan->found.unknown++;
	add(scan, &e);
}

static size_t follow(struct fatbin_scan *scan, struct slice bytes, bool *wait)
{
	struct entry_header h;
	uint64_t left = scan->end - scan->at;
	bool small;

	if (!left) {
		close_container(scan);
		return 0;
	}
	if (left < ENTRY_BYTES)
		return give_up(scan);
	if (bytes.len < ENTRY_BYTES) {
		*wait = true;
		return 0;
	}
	h = read_entry(bytes);
	if (!fits(&h, left))
		return give_up(scan);
	small = scan->maybe_stub && h.kind == FATBIN_CUBIN && h.header <= HEADER_MAX &&
		h.payload <= STUB_STORED && h.unpacked <= STUB_UNPACKED;
	if (small && bytes.len < h.header + h.payload) {
		*wait = true;
		return 0;
	}
	scan->maybe_stub = small && is_link_stub(slice_of(bytes.data + h.header, h.payload),
						 h.packed, h.flags);
	keep_entry(scan, &h);
	scan->state = SKIP;
	scan->skip_to = scan->at + h.header + h.payload;
	return 0;
}

static size_t skip(struct fatbin_scan *scan, struct slice bytes)
{
	uint64_t want = scan->skip_to - scan->at;

	if (want <= bytes.len)
		scan->state = ENTRY;
	return (size_t)MIN(want, (uint64_t)bytes.len);
}

/* Consume what can be; what is left (less than LOOK_AHEAD bytes) needs more after it. */
static size_t consume(struct fatbin_scan *scan, struct slice bytes)
{
	size_t done = 0;
	bool wait = false;

	while (!wait && (done < bytes.len || scan->state == ENTRY)) {
		struct slice rest = slice_of(bytes.data + done, bytes.len - done);
		enum state before = scan->state;
		size_t n;

		if (scan->state == SEARCH)
			n = search(scan, rest);
		else if (scan->state == SKIP)
			n = skip(scan, rest);
		else
			n = follow(scan, rest, &wait);
		scan->at += n;
		done += n;
		if (before == SEARCH && !n)
			break;
	}
	return done;
}

void fatbin_scan_feed(struct fatbin_scan *scan, struct slice bytes)
{
	while (bytes.len) {
		size_t old = scan->kept, take, done;

		if (!old) {
			done = consume(scan, bytes);
			bytes = slice_of(bytes.data + done, bytes.len - done);
			assert(bytes.len <= LOOK_AHEAD);
			memcpy(scan->keep, bytes.data, bytes.len);
			scan->kept = bytes.len;
			return;
		}
		take = MIN(bytes.len, sizeof(scan->keep) - old);
		memcpy(scan->keep + old, bytes.data, take);
		done = consume(scan, slice_of(scan->keep, old + take));
		if (done >= old) {
			bytes = slice_of(bytes.data + (done - old), bytes.len - (done - old));
			scan->kept = 0;
			continue;
		}
		memmove(scan->keep, scan->keep + done, old + take - done);
		scan->kept = old + take - done;
		bytes = slice_of(bytes.data + take, bytes.len - take);
	}
}

void fatbin_scan_end(struct fatbin_scan *scan, struct fatbin *out)
{
	if (scan->state == ENTRY && scan->at == scan->end)
		close_container(scan);
	else if (scan->state != SEARCH)
		give_up(scan);
	*out = scan->found;
	free(scan);
}
