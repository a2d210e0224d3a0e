#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

static struct finding *told(struct findings *found, const struct rule *rule, enum severity severity,
			    const char *path, size_t layer, const char *cause, const char *text)
{
	struct finding *f = finding_add(found, rule, path, (int)layer, cause, "%s %s (layer %zu).",
					path, text, layer);

	f->severity = severity;
	return f;
}

/* A relative link, as deep as its own directory, that climbs above the root. */
static bool climbs_out(const char *path, const char *link)
{
	struct slice rest = slice_str(link), part;
	size_t depth = 0;

	if (*link == '/')
		return false; /* begins at the root again */
	for (const char *p = path; *p; p++)
		depth += *p == '/';
	while (slice_cut(&rest, '/', &part)) {
		if (!part.len || slice_is(part, "."))
			continue;
		if (!slice_is(part, ".."))
			depth++;
		else if (!depth--)
			return true;
	}
	return false;
}

/* Some link on the way of a path as it is written leaves the root. */
static bool leaves_through_link(const struct facts *facts, const char *written)
{
	cleanup_free char *path = xstrdup(written);

	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		const struct tree_node *node;

		*slash = '\0';
		node = tree_lookup(&facts->tree, path);
		if (node && node->entry.type == TAR_SYMLINK && climbs_out(path, tree_link(node)))
			return true;
		*slash = '/';
	}
	return false;
}

/* Ways to be odd of which an image has many at once: one finding a layer. */
enum { THROUGH_LINK, TWICE, DEVICE, DEV_DEVICE, KINDS };

struct group {
	const struct tree_node *first[KINDS];
	size_t count[KINDS];
	struct strbuf left, right; /* paths, for a while */
};

static bool is_before(const struct facts *facts, const struct tree_node *a,
		      const struct tree_node *b, struct group *g)
{
	return strcmp(facts_path_in(facts, a, &g->left), facts_path_in(facts, b, &g->right)) < 0;
}

static void look_at(const struct rule *rule, const struct facts *facts,
		    const struct tree_node *node, const char *written, struct group *groups,
		    struct findings *found)
{
	bool kinds[KINDS] = { 0 };
	struct group *g = &groups[node->layer];

	if (node->entry.type == TAR_HARDLINK && !tree_target(node))
		told(found, rule, SEVERITY_ERROR, facts_path(facts, node), node->layer, "hard link",
		     "is a hard link to a name that is not there");
	if (written && leaves_through_link(facts, written))
		told(found, rule, SEVERITY_ERROR, arena_printf(facts_arena(facts), "/%s", written),
		     node->layer, "leaves", "leaves the root through a link");
	else
		kinds[THROUGH_LINK] = written != NULL;
	kinds[TWICE] = node->fate == TREE_OVERWRITTEN && node->fate_layer == node->layer &&
		       node->entry.type != TAR_DIR;
	if (node->entry.type == TAR_BLOCK || node->entry.type == TAR_CHAR)
		kinds[str_starts(facts_path(facts, node), "/dev/") ? DEV_DEVICE : DEVICE] = true;
	for (size_t i = 0; i < KINDS; i++) {
		if (!kinds[i])
			continue;
		g->count[i]++;
		if (!g->first[i] || is_before(facts, node, g->first[i], g))
			g->first[i] = node;
	}
}

static void tell_groups(const struct rule *rule, const struct facts *facts,
			const struct group *groups, struct findings *found)
{
	static const char *const what[KINDS] = {
		"reached through a link of a lower layer, and count at the path it leads to",
		"in their layer twice; the last counts, where an engine does not refuse it",
		"devices, which rootless engines cannot make",
		"devices, which the /dev of every container hides",
	};
	static const char *const causes[KINDS] = { "through a link", "twice", "device", "/dev" };
	static const char *const no_devices =
		"Leave /dev and other devices out of the archive (mmdebstrap --skip=output/dev, "
		"tar "
		"--exclude='./dev/*'); the runtime makes those that a container may use.";

	for (size_t layer = 0; layer < facts->layer_count; layer++) {
		for (size_t i = 0; i < KINDS; i++) {
			const struct tree_node *first = groups[layer].first[i];
			cleanup_free char *text = NULL;
			struct finding *f;

			if (!first)
				continue;
			text = xasprintf("is one of %zu that are %s", groups[layer].count[i],
					 what[i]);
			f = told(found, rule, i == DEV_DEVICE ? SEVERITY_INFO : SEVERITY_WARNING,
				 facts_path(facts, first), layer, causes[i], text);
			if (i == DEVICE || i == DEV_DEVICE)
				f->fix = no_devices;
		}
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	cleanup_free struct group *groups = xcalloc(facts->layer_count + 1, sizeof(*groups));
	const struct tree_detour *detour = facts->tree.detours.items,
				 *detours_end = detour + facts->tree.detours.len;

	(void)err;
	for (size_t i = 0; i < facts->odd_entries.len; i++) {
		const struct odd_entry *o = &facts->odd_entries.items[i];

		told(found, rule, o->unsafe ? SEVERITY_ERROR : SEVERITY_WARNING, o->path, o->layer,
		     o->what, o->what);
	}
	for (size_t i = 0; i < facts->tree.count; i++) {
		const struct tree_node *node = tree_node_at(&facts->tree, i);
		const char *written = NULL;

		if (detour < detours_end && detour->node == node)
			written = detour++->written;
		look_at(rule, facts, node, written, groups, found);
	}
	tell_groups(rule, facts, groups, found);
	for (size_t i = 0; i < facts->layer_count; i++) {
		strbuf_release(&groups[i].left);
		strbuf_release(&groups[i].right);
	}
	return 0;
}

const struct rule rule_oci005 = {
	.id = "OCI005",
	.name = "unsafe-or-odd-entry",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_LAYERS,
	.what = "A layer holds an entry that leads out of the root (an error), or that engines "
		"treat differently: a path through a link, one name twice, a whiteout of nothing, "
		"a device, a sparse file, an entry of an unknown type, an extended attribute "
		"\"trusted.…\".",
	.why = "Engines refuse what leads out, each at another point; and where they do not agree, "
	       "the same image has other files under another engine.",
	.fix = "Build the layer anew from the files; tar with --no-recursion lists and "
	       "concatenated archives are the usual cause.",
	.sources = "OCI image specification, media-types.md and layer.md",
	.check = check,
};
