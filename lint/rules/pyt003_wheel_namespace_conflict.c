#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

struct owner {
	const struct python_dist *dist;
	const struct python_library *library;
};

static int by_path(const void *left, const void *right)
{
	const struct owner *a = left, *b = right;
	int c = strcmp(a->library->path, b->library->path);

	return c ? c : strcmp(a->dist->path, b->dist->path);
}

/* Whose file it is that lies there, by the sizes in the records. */
static const char *on_disk(const struct facts *facts, const struct owner *a, const struct owner *b)
{
	const struct tree_node *node = facts_lookup(facts, a->library->path);
	uint64_t size = node ? node->entry.size : 0;

	if (!node || (size != a->library->size && size != b->library->size))
		return "is neither's";
	if (a->library->size == b->library->size)
		return "cannot be told apart by its size";
	return arena_printf(facts_arena(facts), "is that of %s",
			    size == a->library->size ? a->dist->name : b->dist->name);
}

static void conflict(const struct rule *rule, const struct facts *facts, const struct owner *a,
		     const struct owner *b, struct findings *found)
{
	const struct tree_node *node = facts_lookup(facts, a->library->path);
	const char *cause = arena_printf(facts_arena(facts), "%s %s", a->dist->name, b->dist->name);
	struct finding *f =
		finding_add(found, rule, a->library->path, facts_layer(facts, node), cause,
			    "%s belongs to %s %s and to %s %s, with different content by their "
			    "RECORDs; what is on disk %s.",
			    a->library->path, a->dist->name, a->dist->version, b->dist->name,
			    b->dist->version, on_disk(facts, a, b));

	finding_evidence(found, f, a->dist->name, a->library->digest);
	finding_evidence(found, f, b->dist->name, b->library->digest);
}

static bool is_wanted(const struct python_library *library)
{
	return *library->digest && !path_is_sample(library->path) &&
	       !path_has_part(library->path, "tests") && !path_has_part(library->path, "test");
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	VEC(struct owner) owners = { 0 };
	cleanup_map struct map told = { 0 };

	(void)err;
	for (size_t i = 0; i < facts->dists.len; i++) {
		const struct python_dist *d = &facts->dists.items[i];

		for (size_t k = 0; k < d->library_count; k++) {
			if (is_wanted(&d->libraries[k]))
				vec_push(&owners, ((struct owner){ d, &d->libraries[k] }));
		}
	}
	vec_sort(&owners, by_path);
	for (size_t i = 1; i < owners.len; i++) {
		const struct owner *a = &owners.items[i - 1], *b = &owners.items[i];
		cleanup_free char *pair = xasprintf("%s %s", a->dist->path, b->dist->path);

		if (!str_equal(a->library->path, b->library->path) ||
		    str_equal(a->dist->name, b->dist->name) ||
		    str_equal(a->library->digest, b->library->digest) || map_has(&told, pair))
			continue;
		map_put(&told, pair, (void *)(uintptr_t)a);
		conflict(rule, facts, a, b, found);
	}
	vec_release(&owners);
	return 0;
}

const struct rule rule_pyt003 = {
	.id = "PYT003",
	.name = "wheel-namespace-conflict",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE,
	.what = "Two Python distributions hold the same library file with different content, so "
		"one of them is broken.",
	.why = "pip lets the second overwrite the first. The first still says that it is "
	       "installed, but loads the library of the other: undefined symbols, or kernels of "
	       "another CUDA generation.",
	.fix = "Uninstall both, then install the one that is wanted; a mere uninstall of the other "
	       "takes the file away.",
	.sources = "packaging.python.org, \"Recording installed projects\"; pip issue 4625 (files "
		   "that two packages own)",
	.check = check,
};
