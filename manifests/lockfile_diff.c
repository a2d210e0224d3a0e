#include "manifests/lockfile_diff.h"

#include "base/map.h"

struct diff {
	struct strbuf *out;
	size_t count;
	const char *heading; /* NULL once it is written */
};

static void line(struct diff *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void line(struct diff *d, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	if (d->heading)
		strbuf_addf(d->out, "%s\n", d->heading);
	d->heading = NULL;
	strbuf_addf(d->out, "  %s\n", text);
	d->count++;
}

size_t lockfile_moved_keys(const struct lock_key *old, size_t old_count, const struct lock_key *new,
			   size_t new_count, size_t limit, struct strbuf *out)
{
	cleanup_map struct map was = { 0 }, is = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < old_count; i++)
		map_put(&was, old[i].path, (void *)(uintptr_t)&old[i].digest);
	for (size_t i = 0; i < new_count; i++)
		map_put(&is, new[i].path, (void *)(uintptr_t) & new[i].digest);
	for (size_t i = 0; i < old_count + new_count; i++) {
		const char *path = i < old_count ? old[i].path : new[i - old_count].path;
		const struct digest *before = map_get(&was, path), *now = map_get(&is, path);

		if (i < old_count ? now && digest_equal(before, now) : before != NULL)
			continue;
		if (n++ < limit)
			strbuf_addf(out, "%s%.60s%s", n > 1 ? ", " : "", path,
				    !now      ? " (gone)"
				    : !before ? " (new)"
					      : "");
	}
	if (n > limit)
		strbuf_addf(out, " and %zu more", n - limit);
	return n;
}

/* "stage\nkind\nname" → the input. The first of equals stands for them. */
static void index_inputs(const struct lock_platform *p, struct map *out)
{
	for (size_t i = 0; p && i < p->inputs.len; i++) {
		const struct lock_input *in = &p->inputs.items[i];
		cleanup_free char *key =
			xasprintf("%s\n%d\n%s", in->stage, (int)in->kind, in->name);

		if (!map_has(out, key))
			map_put(out, key, (void *)(uintptr_t)in);
	}
}

static const char *version_or(const struct lock_input *in)
{
	return *in->version ? in->version : in->kind == LOCK_IMAGE ? "of the base image" : "folder";
}

static void one_input(struct diff *d, const struct lock_input *old, const struct lock_input *new)
{
	const struct lock_input *in = new ? new : old;

	if (!old)
		line(d, "added    %s %s (%s, stage %s)", in->name, version_or(in), in->source,
		     in->stage);
	else if (!new)
		line(d, "removed  %s %s (%s, stage %s)", in->name, version_or(in), in->source,
		     in->stage);
	else if (!str_equal(old->version, new->version))
		line(d, "moved    %s %s -> %s (%s, stage %s)", in->name, old->version, new->version,
		     in->source, in->stage);
	else if (!digest_equal(&old->digest, &new->digest))
		line(d, "changed  %s %s: other content (%s, stage %s)", in->name, version_or(in),
		     in->source, in->stage);
	else if (!str_equal(old->source, new->source))
		line(d, "source   %s %s: %s -> %s (stage %s)", in->name, version_or(in),
		     old->source, new->source, in->stage);
	else if (!str_equal(old->url, new->url))
		line(d, "address  %s %s: %s -> %s (stage %s)", in->name, version_or(in), old->url,
		     new->url, in->stage);
	else if (old->requested != new->requested || old->toolkit != new->toolkit ||
		 lock_input_is_hosts(old) != lock_input_is_hosts(new))
		line(d, "reason   %s %s: wanted otherwise than before (stage %s)", in->name,
		     version_or(in), in->stage);
}

static bool same_order(const struct lock_platform *a, const struct lock_platform *b)
{
	if (!a || !b || a->inputs.len != b->inputs.len)
		return !a == !b;
	for (size_t i = 0; i < a->inputs.len; i++) {
		if (!str_equal(a->inputs.items[i].name, b->inputs.items[i].name) ||
		    !str_equal(a->inputs.items[i].stage, b->inputs.items[i].stage))
			return false;
	}
	return true;
}

static const struct lock_platform *platform_of(const struct lockfile *lock, const char *name)
{
	for (size_t i = 0; i < lock->platforms.len; i++) {
		if (str_equal(lock->platforms.items[i].platform, name))
			return &lock->platforms.items[i];
	}
	return NULL;
}

static size_t diff_platform(const char *name, const struct lockfile *old_lock,
			    const struct lockfile *new_lock, struct strbuf *out)
{
	const struct lock_platform *old = platform_of(old_lock, name);
	const struct lock_platform *new = platform_of(new_lock, name);
	cleanup_map struct map was = { 0 }, is = { 0 }, all = { 0 };
	cleanup_free char *heading = xasprintf("%s%s", name,
					       !old   ? " (new)"
					       : !new ? " (gone)"
						      : "");
	struct diff d = { .out = out, .heading = heading };
	const struct map_entry *entries;

	index_inputs(old, &was);
	index_inputs(new, &is);
	index_inputs(old, &all);
	index_inputs(new, &all);
	entries = map_sorted(&all);
	for (size_t i = 0; i < all.len; i++)
		one_input(&d, map_get(&was, entries[i].key), map_get(&is, entries[i].key));
	if (!d.count && !old != !new)
		line(&d, "a platform without inputs");
	else if (!d.count && !same_order(old, new))
		line(&d, "the order of its inputs");
	return d.count;
}

static size_t diff_platforms(const struct lockfile *old, const struct lockfile *new,
			     struct strbuf *out)
{
	cleanup_map struct map all = { 0 };
	const struct map_entry *entries;
	size_t count = 0;

	for (size_t i = 0; i < old->platforms.len; i++)
		map_put(&all, old->platforms.items[i].platform, NULL);
	for (size_t i = 0; i < new->platforms.len; i++)
		map_put(&all, new->platforms.items[i].platform, NULL);
	entries = map_sorted(&all);
	for (size_t i = 0; i < all.len; i++)
		count += diff_platform(entries[i].key, old, new, out);
	return count;
}

static void one_text(struct diff *d, const char *name, const char *old, const char *new)
{
	const char *was = old && *old ? old : "nothing", *is = new &&*new ? new : "nothing";

	if (!str_equal(was, is))
		line(d, "%s: %s -> %s", name, was, is);
}

static const char *framework_version(const struct lock_stack *s, const char *key)
{
	for (size_t i = 0; i < s->framework_count; i++) {
		if (str_equal(s->frameworks[i].key, key))
			return s->frameworks[i].version;
	}
	return NULL;
}

static void diff_frameworks(struct diff *d, const struct lock_stack *old,
			    const struct lock_stack *new)
{
	for (size_t i = 0; i < old->framework_count; i++)
		one_text(d, old->frameworks[i].key, old->frameworks[i].version,
			 framework_version(new, old->frameworks[i].key));
	for (size_t i = 0; i < new->framework_count; i++) {
		if (!framework_version(old, new->frameworks[i].key))
			one_text(d, new->frameworks[i].key, NULL, new->frameworks[i].version);
	}
}

static size_t diff_stack(const struct lockfile *old, const struct lockfile *new, struct strbuf *out)
{
	const struct lock_stack *a = &old->stack, *b = &new->stack;
	struct diff d = { .out = out, .heading = "stack" };

	one_text(&d, "driver", a->driver, b->driver);
	one_text(&d, "cuda", a->cuda, b->cuda);
	one_text(&d, "cuda release", a->cuda_release, b->cuda_release);
	one_text(&d, "cudnn", a->cudnn, b->cudnn);
	one_text(&d, "nccl", a->nccl, b->nccl);
	one_text(&d, "python", a->python, b->python);
	diff_frameworks(&d, a, b);
	one_text(&d, "NVIDIA_REQUIRE_CUDA", a->require_cuda, b->require_cuda);
	return d.count;
}

static void index_sources(const struct lockfile *lock, struct map *out)
{
	for (size_t i = 0; i < lock->sources.len; i++) {
		const struct lock_source *s = &lock->sources.items[i];
		cleanup_free char *key =
			xasprintf("%s%s%s", s->id, s->suite && *s->suite ? " " : "",
				  s->suite ? s->suite : "");

		map_put(out, key, (void *)(uintptr_t)s);
	}
}

static size_t diff_sources(const struct lockfile *old, const struct lockfile *new,
			   struct strbuf *out)
{
	cleanup_map struct map was = { 0 }, is = { 0 }, all = { 0 };
	struct diff d = { .out = out, .heading = "sources" };
	const struct map_entry *entries;

	index_sources(old, &was);
	index_sources(new, &is);
	index_sources(old, &all);
	index_sources(new, &all);
	entries = map_sorted(&all);
	for (size_t i = 0; i < all.len; i++) {
		const struct lock_source *a = map_get(&was, entries[i].key);
		const struct lock_source *b = map_get(&is, entries[i].key);

		if (!a || !b)
			line(&d, "%s: %s", entries[i].key,
			     a ? "no longer asked" : "asked for the first time");
		else if (!digest_equal(&a->digest, &b->digest) || !str_equal(a->date, b->date))
			line(&d, "%s: of %s -> %s", entries[i].key, *a->date ? a->date : "no date",
			     *b->date ? b->date : "no date");
	}
	return d.count;
}

size_t lockfile_diff(const struct lockfile *old, const struct lockfile *new, struct strbuf *out)
{
	cleanup_strbuf struct strbuf keys = { 0 };
	struct diff manifest = { .out = out, .heading = "manifest" };

	if (lockfile_moved_keys(old->keys.items, old->keys.len, new->keys.items, new->keys.len,
				SIZE_MAX, &keys))
		line(&manifest, "%s", strbuf_text(&keys));
	else if (!digest_equal(&old->manifest, &new->manifest))
		line(&manifest, "its digest");
	if (old->assembly != new->assembly)
		line(&manifest, "assembly version: %u -> %u", old->assembly, new->assembly);
	if (old->coder && new->coder && !str_equal(old->coder, new->coder))
		line(&manifest, "coder: %s -> %s", old->coder, new->coder);
	return manifest.count + diff_stack(old, new, out) + diff_sources(old, new, out) +
	       diff_platforms(old, new, out);
}
