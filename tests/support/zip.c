#include "tests/support/test.h"

#include "base/sink.h"
#include "formats/compress.h"
#include "tests/support/zip.h"

void zip_le(struct strbuf *b, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		strbuf_addc(b, (char)(value >> 8 * i));
}

/* A raw deflate stream: the body of one gzip member. */
static void deflate(struct slice in, struct strbuf *out)
{
	struct error err = { 0 };
	cleanup_strbuf struct strbuf gzip = { 0 };
	cleanup_sink struct sink *memory = sink_memory(&gzip);
	cleanup_sink struct sink *sink =
		compress_sink(memory, COMPRESSION_GZIP, LEVEL_DEFAULT, NULL);

	if (!in.len) {
		strbuf_add(out, "\3\0", 2);
		return;
	}
	assert_ok(sink_write(sink, in.data, in.len, &err), err);
	assert_ok(sink_finish(sink, &err), err);
	strbuf_add(out, gzip.data + 10, gzip.len - 18);
}

static void add_extra(struct strbuf *out, const struct zip_spec *s, uint64_t size, uint64_t packed,
		      uint64_t offset, bool local)
{
	if (!s->zip64)
		return;
	zip_le(out, 1, 2);
	zip_le(out, local ? 16 : 24, 2);
	zip_le(out, size, 8);
	zip_le(out, packed, 8);
	if (!local)
		zip_le(out, offset, 8);
}

void zip_add(struct zip_maker *m, const struct zip_spec *s)
{
	struct slice text = slice_str(s->text ? s->text : "");
	cleanup_strbuf struct strbuf body = { 0 };
	size_t name_len = s->name_len ? s->name_len : strlen(s->name), offset = m->file.len;
	uint16_t method = s->deflated ? 8 : s->method, flags = s->flags | (s->descriptor ? 8 : 0);
	uint32_t crc = compress_crc32(0, text.data, text.len) ^ s->crc_xor;
	uint64_t size = text.len + (uint64_t)(int64_t)s->size_plus;

	if (s->deflated)
		deflate(text, &body);
	else
		strbuf_add(&body, text.data, text.len);
	zip_le(&m->file, 0x04034b50, 4);
	zip_le(&m->file, 20, 2);
	zip_le(&m->file, flags ^ s->local_flags, 2);
	zip_le(&m->file, method, 2);
	zip_le(&m->file, 0, 4);
	zip_le(&m->file, s->descriptor ? 0 : crc, 4);
	zip_le(&m->file, s->zip64 ? 0xffffffff : s->descriptor ? 0 : body.len, 4);
	zip_le(&m->file, s->zip64 ? 0xffffffff : s->descriptor ? 0 : size, 4);
	zip_le(&m->file, name_len, 2);
	zip_le(&m->file, s->zip64 ? 20 : 0, 2);
	strbuf_add(&m->file, s->local_name ? s->local_name : s->name, name_len);
	add_extra(&m->file, s, s->descriptor ? 0 : size, s->descriptor ? 0 : body.len, 0, true);
	strbuf_add(&m->file, body.data ? body.data : "", body.len);
	if (s->descriptor) {
		unsigned wide = s->descriptor >= 20 ? 8 : 4;

		if (s->descriptor == 16 || s->descriptor == 24)
			zip_le(&m->file, 0x08074b50, 4);
		zip_le(&m->file, crc + (s->descriptor == 8), 4);
		zip_le(&m->file, body.len, wide);
		zip_le(&m->file, size, wide);
	}
	strbuf_adds(&m->file, s->gap ? s->gap : "");
	zip_le(&m->central, 0x02014b50, 4);
	zip_le(&m->central, 0x0314, 2);
	zip_le(&m->central, 20, 2);
	zip_le(&m->central, flags, 2);
	zip_le(&m->central, method, 2);
	zip_le(&m->central, 0x6b8a, 2); /* 13:28:20 */
	zip_le(&m->central, 0x58e5, 2); /* 2024-07-05 */
	zip_le(&m->central, crc, 4);
	zip_le(&m->central, s->zip64 ? 0xffffffff : body.len, 4);
	zip_le(&m->central, s->zip64 ? 0xffffffff : size, 4);
	zip_le(&m->central, name_len, 2);
	zip_le(&m->central, s->zip64 ? 28 : 0, 2);
	zip_le(&m->central, 0, 2); /* comment */
	zip_le(&m->central, 0, 2); /* disk */
	zip_le(&m->central, 0, 2);
	zip_le(&m->central, (uint64_t)s->mode << 16, 4);
	offset += (uint64_t)(int64_t)s->offset_plus;
	zip_le(&m->central, s->zip64 ? 0xffffffff : offset, 4);
	strbuf_add(&m->central, s->name, name_len);
	add_extra(&m->central, s, size, body.len, offset, false);
	m->count++;
}

void zip_end(struct zip_maker *m, bool zip64, const char *comment)
{
	uint64_t at = m->file.len, size = m->central.len;

	strbuf_add(&m->file, m->central.data ? m->central.data : "", m->central.len);
	if (zip64) {
		uint64_t end64 = m->file.len;

		zip_le(&m->file, 0x06064b50, 4);
		zip_le(&m->file, 44, 8);
		zip_le(&m->file, 0x002d002d, 4);
		zip_le(&m->file, 0, 8);
		zip_le(&m->file, m->count, 8);
		zip_le(&m->file, m->count, 8);
		zip_le(&m->file, size, 8);
		zip_le(&m->file, at, 8);
		zip_le(&m->file, 0x07064b50, 4);
		zip_le(&m->file, 0, 4);
		zip_le(&m->file, end64, 8);
		zip_le(&m->file, 1, 4);
	}
	zip_le(&m->file, 0x06054b50, 4);
	zip_le(&m->file, 0, 4);
	zip_le(&m->file, zip64 ? 0xffff : m->count, 2);
	zip_le(&m->file, zip64 ? 0xffff : m->count, 2);
	zip_le(&m->file, zip64 ? 0xffffffff : size, 4);
	zip_le(&m->file, zip64 ? 0xffffffff : at, 4);
	zip_le(&m->file, strlen(comment), 2);
	strbuf_adds(&m->file, comment);
}

void zip_maker_release(struct zip_maker *m)
{
	strbuf_release(&m->file);
	strbuf_release(&m->central);
}
