#include "builder/lock.h"

#include "manifests/lockfile_diff.h"

enum { NAMED_LIMIT = 6 };

int lock_check_current(const struct lockfile *lock, const struct stack *stack, struct error *err)
{
	cleanup_strbuf struct strbuf moved = { 0 };
	cleanup_free struct lock_key *keys = xcalloc(stack->key_count + 1, sizeof(*keys));

	if (digest_equal(&lock->manifest, &stack->digest))
		return 0;
	for (size_t i = 0; i < stack->key_count; i++)
		keys[i] = (struct lock_key){ stack->keys[i].path, stack->keys[i].digest };
	if (lock->keys.len)
		lockfile_moved_keys(lock->keys.items, lock->keys.len, keys, stack->key_count,
				    NAMED_LIMIT, &moved);
	return error_set(
		err, ERROR_USAGE,
		"%s has changed since it was locked%s%s; run `gpuimg lock %s` again, with the "
		"same --set when there is one",
		stack->file, moved.len ? ": " : "", strbuf_text(&moved), stack->file);
}
