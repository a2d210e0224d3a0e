#include "builder/lock.h"

#include "base/map.h"

enum { NAMED_LIMIT = 6 };

/* The keys of the lock and of the manifest that differ, "stack.cuda, tag (new)". */
static void add_moved(const struct lockfile *lock, const struct stack *stack, struct strbuf *out)
{
	cleanup_map struct map locked = { 0 }, present = { 0 };
	const char *path, *how;
	size_t n = 0;

	for (size_t i = 0; i < lock->keys.len; i++)
		map_put(&locked, lock->keys.items[i].path, &lock->keys.items[i].digest);
	for (size_t i = 0; i < stack->key_count; i++)
		map_put(&present, stack->keys[i].path, &stack->keys[i].digest);
	for (size_t i = 0; i < lock->keys.len + stack->key_count; i++) {
		bool is_old = i < lock->keys.len;
		const struct digest *was, *is;

		path = is_old ? lock->keys.items[i].path : stack->keys[i - lock->keys.len].path;
		was = map_get(&locked, path);
		is = map_get(&present, path);
		if (is_old ? is && digest_equal(was, is) : was != NULL)
			continue;
		how = !is ? " (gone)" : !was ? " (new)" : "";
		if (n++ < NAMED_LIMIT)
			strbuf_addf(out, "%s%.60s%s", n > 1 ? ", " : "", path, how);
	}
	if (n > NAMED_LIMIT)
		strbuf_addf(out, " and %zu more", n - NAMED_LIMIT);
}

int lock_check_current(const struct lockfile *lock, const struct stack *stack, struct error *err)
{
	cleanup_strbuf struct strbuf moved = { 0 };

	if (digest_equal(&lock->manifest, &stack->digest))
		return 0;
	if (lock->keys.len)
		add_moved(lock, stack, &moved);
	return error_set(
		err, ERROR_USAGE,
		"%s has changed since it was locked%s%s; run `gpuimg lock %s` again, with the "
		"same --set when there is one",
		stack->file, moved.len ? ": " : "", strbuf_text(&moved), stack->file);
}
