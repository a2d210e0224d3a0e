#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

#include "base/out.h"

enum cause { CAUSE_DELETED, CAUSE_OVERWRITTEN, CAUSE_METADATA, CAUSES };

static const char *const cause_names[CAUSES] = { "deleted later", "overwritten later",
						 "only owner or mode (or time) changed later" };

struct dead {
	uint64_t bytes[CAUSES];
	uint64_t total, image;
	uint64_t largest;
	const struct tree_node *example;
	uint64_t *by_layer;
	struct strbuf path; /* for a while */
};

/* A copy that a change of owner or mode made: the same content under the same time. */
static bool only_metadata_changed(const struct facts *facts, const struct tree_node *old,
				  struct strbuf *path)
{
	const struct tree_node *now = facts_lookup(facts, facts_path_in(facts, old, path));

	return now && now->entry.type == TAR_FILE && now->entry.size == old->entry.size &&
	       now->entry.mtime == old->entry.mtime &&
	       (now->entry.mode != old->entry.mode || now->entry.uid != old->entry.uid ||
		now->entry.gid != old->entry.gid);
}

static void count_node(const struct facts *facts, const struct tree_node *node, struct dead *dead)
{
	enum cause cause = CAUSE_DELETED;

	if (node->entry.type != TAR_FILE)
		return;
	dead->image += node->entry.size;
	if (node->fate == TREE_EFFECTIVE || node->links) /* a hard link still shows it */
		return;
	if (node->fate == TREE_OVERWRITTEN)
		cause = only_metadata_changed(facts, node, &dead->path) ? CAUSE_METADATA
									: CAUSE_OVERWRITTEN;
	dead->bytes[cause] += node->entry.size;
	dead->total += node->entry.size;
	dead->by_layer[node->layer] += node->entry.size;
	if (node->entry.size > dead->largest) {
		dead->largest = node->entry.size;
		dead->example = node;
	}
}

/* "deleted later 1.2 MiB, overwritten later 3 B; layer 1 1.2 MiB" */
static const char *summary(const struct facts *facts, const struct dead *dead)
{
	struct arena *arena = facts_arena(facts);
	const char *text = "";
	char size[32];

	for (size_t i = 0; i < CAUSES; i++) {
		if (dead->bytes[i])
			text = arena_printf(arena, "%s%s%s %s", text, *text ? ", " : "",
					    cause_names[i], out_size(dead->bytes[i], size));
	}
	text = arena_printf(arena, "%s; in", text);
	for (size_t i = 0; i < facts->layer_count; i++) {
		if (dead->by_layer[i])
			text = arena_printf(arena, "%s layer %zu %s,", text, i,
					    out_size(dead->by_layer[i], size));
	}
	return arena_printf(arena, "%.*s", (int)strlen(text) - 1, text);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	cleanup_free uint64_t *by_layer = xcalloc(facts->layer_count + 1, sizeof(*by_layer));
	struct dead dead = { .by_layer = by_layer };
	struct finding *f;
	char size[32], largest[32];

	(void)err;
	for (size_t i = 0; i < facts->tree.count; i++)
		count_node(facts, tree_node_at(&facts->tree, i), &dead);
	strbuf_release(&dead.path);
	if (!dead.total)
		return 0;
	f = finding_add(found, rule, "", -1, "",
			"%s of the layers can be seen in no container: %s. The largest is %s (%s).",
			out_size(dead.total, size), summary(facts, &dead),
			facts_path(facts, dead.example), out_size(dead.largest, largest));
	if (dead.total > 256 * MIB || dead.total > dead.image / 20)
		f->severity = SEVERITY_WARNING;
	for (size_t i = 0; i < CAUSES; i++) {
		cleanup_free char *bytes = xasprintf("%s: %" PRIu64, cause_names[i], dead.bytes[i]);

		if (dead.bytes[i])
			finding_evidence(found, f, "bytes", bytes);
	}
	return 0;
}

const struct rule rule_siz001 = {
	.id = "SIZ001",
	.name = "dead-bytes",
	.severity = SEVERITY_INFO,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_LAYERS,
	.what = "Layers carry files that a later layer deletes or replaces.",
	.why = "Every pull transfers and unpacks them, and nothing can read them. A warning above "
	       "5 % of "
	       "the image or 256 MiB. Sizes are unpacked bytes, so that they do not depend on the "
	       "compression.",
	.fix = "Delete in the step that created the files, merge the steps, and set owner and mode "
	       "with "
	       "COPY --chown and --chmod.",
	.sources = "OCI image specification, layer.md",
	.check = check,
};
