#include "base/map.h"

#include "base/alloc.h"

static uint64_t hash_of(const char *key)
{
	uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */

	for (; *key; key++)
		h = (h ^ (uint8_t)*key) * UINT64_C(1099511628211);
	return h;
}

void map_release(struct map *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->len; i++)
		free(m->entries[i].key);
	free(m->entries);
	free(m->slots);
	*m = (struct map){ 0 };
}

/* The slot that holds `key`, or the free one where it belongs. slot_count is a power of two. */
static size_t slot_of(const struct map *m, const char *key)
{
	size_t i = (size_t)hash_of(key) & (m->slot_count - 1);

	while (m->slots[i] && !str_equal(m->entries[m->slots[i] - 1].key, key))
		i = (i + 1) & (m->slot_count - 1);
	return i;
}

static void rebuild(struct map *m, size_t slot_count)
{
	free(m->slots);
	m->slot_count = slot_count;
	m->slots = xcalloc(slot_count, sizeof(*m->slots));
	for (size_t i = 0; i < m->len; i++)
		m->slots[slot_of(m, m->entries[i].key)] = (uint32_t)(i + 1);
}

bool map_has(const struct map *m, const char *key)
{
	return m->slot_count && m->slots[slot_of(m, key)];
}

void *map_get(const struct map *m, const char *key)
{
	uint32_t at = m->slot_count ? m->slots[slot_of(m, key)] : 0;

	return at ? m->entries[at - 1].value : NULL;
}

void *map_put(struct map *m, const char *key, void *value)
{
	size_t slot;

	if ((m->len + 1) * 2 > m->slot_count)
		rebuild(m, m->slot_count ? m->slot_count * 2 : 16);
	slot = slot_of(m, key);
	if (m->slots[slot]) {
		void *old = m->entries[m->slots[slot] - 1].value;

		m->entries[m->slots[slot] - 1].value = value;
		return old;
	}
	if (m->len == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 8;
		m->entries = xreallocarray(m->entries, m->cap, sizeof(*m->entries));
	}
	m->entries[m->len++] = (struct map_entry){ xstrdup(key), value };
	m->slots[slot] = (uint32_t)m->len;
	return NULL;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct map_entry *)a)->key, ((const struct map_entry *)b)->key);
}

const struct map_entry *map_sorted(struct map *m)
{
	bool sorted = true;

	for (size_t i = 1; sorted && i < m->len; i++)
		sorted = strcmp(m->entries[i - 1].key, m->entries[i].key) < 0;
	if (!sorted) {
		qsort(m->entries, m->len, sizeof(*m->entries), by_key);
		rebuild(m, m->slot_count);
	}
	return m->entries;
}
