#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

#include "base/out.h"

enum { TOLD_FROM = 1024 * 1024 };

/* Patterns of files, and how much of the path is the cache. */
static const struct {
	const char *pattern, *upto, *what;
} caches[] = {
	{ "*/.cache/pip/*", "/.cache/pip", "pip's cache" },
	{ "*/.cache/uv/*", "/.cache/uv", "uv's cache" },
	{ "*/.cache/pypoetry/*", "/.cache/pypoetry", "Poetry's cache" },
	{ "*/.cache/huggingface/*", "/.cache/huggingface", "downloads of Hugging Face" },
	{ "*/.cache/torch/*", "/.cache/torch", "downloads of torch" },
	{ "*/.cache/go-build/*", "/.cache/go-build", "Go's build cache" },
	{ "*/.cache/bazel/*", "/.cache/bazel", "Bazel's cache" },
	{ "*/.ccache/*", "/.ccache", "ccache" },
	{ "*/.npm/_cacache/*", "/.npm/_cacache", "npm's cache" },
	{ "*/go/pkg/mod/cache/*", "/go/pkg/mod/cache", "Go's module cache" },
	{ "*/.cargo/registry/*", "/.cargo/registry", "Cargo's registry" },
	{ "*/pkgs/*.conda", "/pkgs", "conda's package cache" },
	{ "*/pkgs/*.tar.bz2", "/pkgs", "conda's package cache" },
	{ "/var/cache/apt/*", "/var/cache/apt", "apt's cache" },
	{ "/var/lib/apt/lists/*", "/var/lib/apt/lists", "apt's lists" },
	{ "/var/cache/dnf/*", "/var/cache/dnf", "dnf's cache" },
	{ "/var/cache/libdnf5/*", "/var/cache/libdnf5", "dnf's cache" },
	{ "/var/cache/yum/*", "/var/cache/yum", "yum's cache" },
	{ "/var/cache/zypp/*", "/var/cache/zypp", "zypper's cache" },
	{ "/var/cache/apk/*", "/var/cache/apk", "apk's cache" },
};

struct cache {
	const char *what;
	uint64_t bytes;
	size_t files;
	int layer;
};

static void count_file(const struct facts *facts, const struct tree_node *node, const char *path,
		       struct map *found)
{
	for (size_t i = 0; i < ARRAY_LEN(caches); i++) {
		const char *end;
		cleanup_free char *dir = NULL;
		struct cache *cache;

		if (!path_matches(caches[i].pattern, path))
			continue;
		end = strstr(path, caches[i].upto) + strlen(caches[i].upto);
		dir = xstrndup(path, (size_t)(end - path));
		cache = map_get(found, dir);
		if (!cache) {
			cache = arena_alloc(facts_arena(facts), sizeof(*cache));
			cache->what = caches[i].what;
			cache->layer = facts_layer(facts, node);
			map_put(found, dir, cache);
		}
		cache->bytes += node->entry.size;
		cache->files++;
		return;
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	cleanup_map struct map all = { 0 };
	cleanup_strbuf struct strbuf buf = { 0 };
	const struct map_entry *sorted;
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	(void)err;
	for (size_t i = 0; i < count; i++) {
		const char *path;

		if (nodes[i]->entry.type != TAR_FILE || !nodes[i]->entry.size)
			continue;
		path = facts_path_in(facts, nodes[i], &buf);
		if (strstr(path, "cache") || strstr(path, "/pkgs/") || strstr(path, ".cargo/") ||
		    str_starts(path, "/var/lib/apt/"))
			count_file(facts, nodes[i], path, &all);
	}
	sorted = map_sorted(&all);
	for (size_t i = 0; i < all.len; i++) {
		const struct cache *cache = sorted[i].value;
		char size[32];

		if (cache->bytes >= TOLD_FROM)
			finding_add(found, rule, sorted[i].key, cache->layer, "",
				    "%s is %s: %s in %zu files.", sorted[i].key, cache->what,
				    out_size(cache->bytes, size), cache->files);
	}
	return 0;
}

const struct rule rule_siz003 = {
	.id = "SIZ003",
	.name = "package-caches",
	.severity = SEVERITY_INFO,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = 0,
	.what = "The image carries caches of package managers and downloads that were needed once.",
	.why = "Every pull transfers them and no program reads them. Models that were downloaded "
	       "into a cache on purpose are meant: this is only told.",
	.fix = "Use cache mounts (RUN --mount=type=cache), pip install --no-cache-dir, apt-get "
	       "clean and rm -rf /var/lib/apt/lists/* in the same step.",
	.sources = "Docker build reference, \"RUN --mount=type=cache\"; pip documentation, "
		   "\"Caching\"",
	.check = check,
};
