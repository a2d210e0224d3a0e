#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"

/* 311 of "x.cpython-311-x86_64-linux-gnu.so"; 0: no such tag. */
static unsigned tag_of(const char *name)
{
	const char *at = strstr(name, ".cpython-");
	uint64_t tag = 0;
	struct slice digits;

	if (!at || !str_ends(name, ".so"))
		return 0;
	at += strlen(".cpython-");
	digits = slice_of(at, strspn(at, "0123456789"));
	return slice_u64(digits, &tag) && tag < 1000 ? (unsigned)tag : 0;
}

/* 311 of ".../lib/python3.11/site-packages/..."; 0: the path does not say. */
static unsigned python_of(const char *path)
{
	const char *at = strstr(path, "/python3.");
	struct slice digits;
	uint64_t minor;

	if (!at || (!strstr(at, "/site-packages/") && !strstr(at, "/dist-packages/")))
		return 0;
	at += strlen("/python3.");
	digits = slice_of(at, strspn(at, "0123456789"));
	return slice_u64(digits, &minor) && minor < 100 && at[digits.len] == '/'
		       ? 300 + (unsigned)minor
		       : 0;
}

/* The same module for the Python that is there: a package that ships several. */
static bool has_own(const struct facts *facts, const char *path, unsigned own)
{
	const char *dir = path_dir(facts, path), *name = path_name(path);
	cleanup_free char *start = xasprintf("%.*s.cpython-%u", (int)strcspn(name, "."), name, own);
	cleanup_free char *plain = xasprintf("%.*s.abi3.so", (int)strcspn(name, "."), name);
	struct tree_nodes nodes = { 0 };
	bool found = false;

	facts_list(facts, dir, &nodes);
	for (size_t i = 0; i < nodes.len && !found; i++) {
		const char *other = facts_name(facts, nodes.items[i]);

		found = str_starts(other, start) || str_equal(other, plain);
	}
	vec_release(&nodes);
	return found;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	struct {
		const struct object *first;
		unsigned tag, own;
		size_t count;
	} groups[20];
	size_t count = 0;

	(void)err;
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		unsigned tag = tag_of(path_name(o->path)), own = tag ? python_of(o->path) : 0;
		size_t at = 0;

		if (!own || own == tag || path_is_set_aside(o->path) ||
		    has_own(facts, o->path, own))
			continue;
		while (at < count && (groups[at].tag != tag || groups[at].own != own))
			at++;
		if (at == ARRAY_LEN(groups))
			continue;
		if (at == count) {
			groups[count].first = o;
			groups[count].tag = tag;
			groups[count].own = own;
			groups[count++].count = 0;
		}
		groups[at].count++;
	}
	for (size_t i = 0; i < count; i++)
		finding_add(found, rule, groups[i].first->path,
			    facts_layer(facts, groups[i].first->node), "",
			    "%s is for Python 3.%u and lies in the packages of Python 3.%u; so do "
			    "%zu more.",
			    groups[i].first->path, groups[i].tag % 100, groups[i].own % 100,
			    groups[i].count - 1);
	return 0;
}

const struct rule rule_pyt005 = {
	.id = "PYT005",
	.name = "wrong-interpreter-extension",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.wave = 2,
	.needs = 0,
	.what = "Extension modules for one Python lie in the packages of another.",
	.why = "The interpreter looks for its own tag only, so the import ends with "
	       "ModuleNotFoundError although the file is there. It comes of copying site-packages "
	       "between bases, or of PYTHONPATH.",
	.fix = "Install the package with the Python that runs it.",
	.sources = "PEP 3149; packaging.python.org, \"Platform compatibility tags\"",
	.check = check,
};
