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

/* Whether the entry of a source in the manifest is what it was: then so is its address. */
static bool is_same_source(const struct lockfile *old, const struct stack *stack, const char *id)
{
	const struct digest *now = NULL;

	for (size_t i = 0; i < stack->source_count && !now; i++) {
		cleanup_free char *path = xasprintf("sources[%zu]", i);

		for (size_t k = 0; k < stack->key_count; k++) {
			if (str_equal(stack->sources[i].id, id) &&
			    str_equal(stack->keys[k].path, path))
				now = &stack->keys[k].digest;
		}
	}
	for (size_t i = 0; now && i < old->keys.len; i++) {
		if (str_starts(old->keys.items[i].path, "sources[") &&
		    digest_equal(&old->keys.items[i].digest, now))
			return true;
	}
	return false;
}

static int older(const struct lock_source *was, const struct lock_source *is, struct error *err)
{
	return error_set(
		err, ERROR_INTEGRITY,
		"source '%s', %s: its %s is of %s, older than that of %s in the present "
		"lock: a mirror that lags, or somebody replays old files. Try again or use "
		"another mirror; remove the lock to accept it",
		is->id, is->suite,
		str_equal(is->type, "apt")      ? "Release file"
		: str_equal(is->type, "rpm-md") ? "repomd.xml"
						: "index",
		is->date, was->date);
}

int lock_check_dates(const struct lockfile *old, const struct lockfile *new,
		     const struct stack *stack, struct error *err)
{
	for (size_t i = 0; i < old->sources.len; i++) {
		const struct lock_source *was = &old->sources.items[i];

		for (size_t k = 0; k < new->sources.len; k++) {
			const struct lock_source *is = &new->sources.items[k];

			if (str_equal(was->id, is->id) && str_equal(was->type, is->type) &&
			    str_equal(was->suite, is->suite) && *was->date && *is->date &&
			    strcmp(is->date, was->date) < 0 && is_same_source(old, stack, is->id))
				return older(was, is, err);
		}
	}
	return 0;
}
