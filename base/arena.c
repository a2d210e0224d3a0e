#include "base/arena.h"

#include "base/alloc.h"

enum { BLOCK_BYTES = 64 * 1024, ALIGNMENT = 16 };

/* What needs alignment comes from the front of a block, text from its end. */
struct arena_block {
	struct arena_block *next;
	size_t used, cap; /* bytes of data: given at the front, not given at the end */
	_Alignas(16) uint8_t data[];
};

void arena_release(struct arena *a)
{
	if (!a)
		return;
	while (a->blocks) {
		struct arena_block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
	a->bytes = 0;
}

void arena_adopt(struct arena *into, struct arena *from)
{
	struct arena_block **end = &into->blocks;

	while (*end)
		end = &(*end)->next;
	*end = from->blocks;
	into->bytes += from->bytes;
	*from = (struct arena){ 0 };
}

/* A block with room for `need` bytes. */
static struct arena_block *block_for(struct arena *a, size_t need)
{
	struct arena_block *b = a->blocks;
	size_t cap = MAX(need, (size_t)BLOCK_BYTES);

	if (need > SIZE_MAX / 2)
		abort();
	if (b && b->cap - b->used >= need)
		return b;
	b = xcalloc(1, sizeof(*b) + cap);
	b->cap = cap;
	a->bytes += sizeof(*b) + cap;
	/* An oversized block goes behind the current one, which may still have room. */
	if (need > BLOCK_BYTES && a->blocks) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		b->next = a->blocks;
		a->blocks = b;
	}
	return b;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	size_t need = bytes ? bytes : 1;
	struct arena_block *b;
	void *p;

	if (need > SIZE_MAX / 2)
		abort();
	need = (need + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	b = block_for(a, need);
	p = b->data + b->used;
	b->used += need;
	return p;
}

void *arena_array(struct arena *a, size_t count, size_t bytes)
{
	size_t total;

	if (mul_overflows(count, bytes, &total))
		abort();
	return arena_alloc(a, total);
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_slice(a, slice_str(s));
}

char *arena_slice(struct arena *a, struct slice s)
{
	struct arena_block *b = block_for(a, s.len + 1);
	char *p;

	b->cap -= s.len + 1;
	p = (char *)b->data + b->cap;
	if (s.len)
		memcpy(p, s.data, s.len);
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	return arena_strdup(a, text);
}
