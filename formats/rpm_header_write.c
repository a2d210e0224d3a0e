#include "formats/rpm_header_write.h"

static void put_u32(struct strbuf *out, uint32_t v)
{
	const uint8_t bytes[] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8),
				  (uint8_t)v };

	strbuf_add(out, bytes, sizeof(bytes));
}

static void put_entry(struct strbuf *out, uint32_t tag, uint32_t type, uint32_t offset,
		      uint32_t count)
{
	put_u32(out, tag);
	put_u32(out, type);
	put_u32(out, offset);
	put_u32(out, count);
}

static size_t alignment(uint32_t type)
{
	return type == RPM_TYPE_INT16   ? 2
	       : type == RPM_TYPE_INT32 ? 4
	       : type == RPM_TYPE_INT64 ? 8
					: 1;
}

void rpm_header_put(struct rpm_header_writer *w, const struct rpm_value *v)
{
	size_t align = alignment(v->type);

	strbuf_add_zeros(&w->store, (align - w->store.len % align) % align);
	put_entry(&w->index, v->tag, v->type, (uint32_t)w->store.len, v->count);
	strbuf_add(&w->store, v->data.data, v->data.len);
	w->count++;
}

void rpm_header_write(const struct rpm_header_writer *w, struct strbuf *out)
{
	put_u32(out, w->count);
	put_u32(out, (uint32_t)w->store.len);
	strbuf_add(out, w->index.data, w->index.len);
	strbuf_add(out, w->store.data, w->store.len);
}

void rpm_header_write_region(const struct rpm_header_writer *w, struct strbuf *out)
{
	uint32_t entries = w->count + 1, trailer = (uint32_t)w->store.len;

	put_u32(out, entries);
	put_u32(out, trailer + RPM_ENTRY_BYTES);
	put_entry(out, RPMTAG_HEADERIMMUTABLE, RPM_TYPE_BIN, trailer, RPM_ENTRY_BYTES);
	strbuf_add(out, w->index.data, w->index.len);
	strbuf_add(out, w->store.data, w->store.len);
	/* back to the first entry */
	put_entry(out, RPMTAG_HEADERIMMUTABLE, RPM_TYPE_BIN, -(entries * RPM_ENTRY_BYTES),
		  RPM_ENTRY_BYTES);
}

void rpm_header_writer_release(struct rpm_header_writer *w)
{
	strbuf_release(&w->index);
	strbuf_release(&w->store);
}
