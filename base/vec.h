/*
 * Typed growable arrays.
 *   VEC(struct entry) entries = { 0 };      or  struct entry_vec VEC(…) as a member
 *   vec_push(&entries, e);  entries.items[i];  entries.len;  vec_release(&entries);
 * Elements are moved by memcpy when the array grows; the vector does not own what they point at.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/alloc.h"

#define VEC(type)            \
	struct {             \
		type *items; \
		size_t len;  \
		size_t cap;  \
	}

#define vec_reserve(v, more)                                                                   \
	do {                                                                                   \
		if ((v)->len + (more) > (v)->cap) {                                            \
			(v)->cap = MAX((v)->len + (more), MAX((v)->cap * 2, (size_t)8));       \
			(v)->items = xreallocarray((v)->items, (v)->cap, sizeof(*(v)->items)); \
		}                                                                              \
	} while (0)

/* `value` is worked out before the array changes: it may read the array. */
#define vec_push(v, value)                                   \
	do {                                                 \
		__typeof__(*(v)->items) vec_value = (value); \
		vec_reserve(v, 1);                           \
		(v)->items[(v)->len++] = vec_value;          \
	} while (0)

/* Append a zeroed element and give its address, valid until the next push. */
#define vec_add(v)                                                                               \
	({                                                                                       \
		vec_reserve(v, 1);                                                               \
		(__typeof__((v)->items))memset(&(v)->items[(v)->len++], 0, sizeof(*(v)->items)); \
	})

#define vec_release(v)                   \
	do {                             \
		free((v)->items);        \
		(v)->items = NULL;       \
		(v)->len = (v)->cap = 0; \
	} while (0)

#define vec_sort(v, compare)                                                       \
	do {                                                                       \
		if ((v)->len > 1)                                                  \
			qsort((v)->items, (v)->len, sizeof(*(v)->items), compare); \
	} while (0)

#endif
