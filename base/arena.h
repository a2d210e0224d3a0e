/*
 * Allocations that die together. What a parser returns lives in the arena it was given, so a
 * document is freed in one call. Blocks are never moved: pointers stay valid until the release.
 * A zeroed struct is an empty arena. One thread at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/slice.h"

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t bytes; /* of memory that it holds */
};

void arena_release(struct arena *a);
#define cleanup_arena cleanup(arena_release)

/* All that `from` holds now belongs to `into`; `from` is empty. Pointers stay valid. */
void arena_adopt(struct arena *into, struct arena *from);
/* `bytes` zeroed bytes, aligned for any type. */
void *arena_alloc(struct arena *a, size_t bytes) __attribute__((returns_nonnull));
/* `count` zeroed elements of `bytes` bytes; ends the program when the product overflows. */
void *arena_array(struct arena *a, size_t count, size_t bytes) __attribute__((returns_nonnull));
char *arena_strdup(struct arena *a, const char *s) __attribute__((returns_nonnull));
/* A NUL-terminated copy of `s`. */
char *arena_slice(struct arena *a, struct slice s) __attribute__((returns_nonnull));
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3)
	__attribute__((returns_nonnull));

#endif
