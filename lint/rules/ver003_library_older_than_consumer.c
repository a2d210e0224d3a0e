#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/loader.h"
#include "lint/rule.h"
#include "lint/versions.h"

/* A library, and the distribution by which a framework pins the release it was built with. */
static const struct {
	const char *library, *distribution;
	unsigned numbers; /* of the version that count */
} pins[] = {
	{ "libcudnn.so.", "nvidia-cudnn-cu", 2 },      { "libnccl.so.", "nvidia-nccl-cu", 2 },
	{ "libcublas.so.", "nvidia-cublas", 2 },       { "libcusparse.so.", "nvidia-cusparse", 2 },
	{ "libcudart.so.", "nvidia-cuda-runtime", 2 }, { "libcupti.so.", "nvidia-cuda-cupti", 2 },
};

/* The next line of METADATA that begins with `start`; false at the end of the headers. */
static bool next_header(struct slice *rest, const char *start, struct slice *line)
{
	while (slice_cut(rest, '\n', line) && slice_trim(*line).len) {
		if (slice_starts(*line, start))
			return true;
	}
	return false;
}

/* "9.1.0.70" of the line "Requires-Dist: nvidia-cudnn-cu12==9.1.0.70; …"; NULL: none. */
static const char *pinned(const struct facts *facts, const struct package *framework,
			  const char *distribution)
{
	const char *path = arena_printf(facts_arena(facts), "%s/METADATA", framework->path);
	struct slice rest = facts_text(facts, path), line;
	cleanup_free char *start = xasprintf("Requires-Dist: %s", distribution);

	while (next_header(&rest, start, &line)) {
		const char *text, *at;

		text = arena_slice(facts_arena(facts), line);
		at = text + strlen(start);
		at += strspn(at, "-cu0123456789");
		at += strspn(at, " (");
		if (!str_starts(at, "=="))
			continue;
		return arena_printf(facts_arena(facts), "%.*s", (int)strspn(at + 2, "0123456789."),
				    at + 2);
	}
	return NULL;
}

/* "9.8" of "Requires-Dist: nvidia-cudnn-cu12<10.0,>=9.8; extra == …"; NULL: no lower bound. */
static const char *bound(const struct facts *facts, const struct package *framework,
			 const char *distribution)
{
	const char *path = arena_printf(facts_arena(facts), "%s/METADATA", framework->path);
	struct slice rest = facts_text(facts, path), line;
	cleanup_free char *start = xasprintf("Requires-Dist: %s", distribution);

	while (next_header(&rest, start, &line)) {
		const char *text, *at;

		line.len = MIN(line.len, strcspn((const char *)line.data, ";\n"));
		text = arena_slice(facts_arena(facts), line);
		at = strstr(text, "=="); /* what was pinned is a bound, too */
		at = at ? at : strstr(text, ">=");
		if (at)
			return arena_printf(facts_arena(facts), "%.*s",
					    (int)strspn(at + 2, "0123456789."), at + 2);
	}
	return NULL;
}

static bool is_older(const char *version, const char *pin, unsigned numbers)
{
	for (unsigned i = 0; i < numbers; i++) {
		uint64_t a = dotted_number(version, i), b = dotted_number(pin, i);

		if (a != b)
			return a < b;
	}
	return false;
}

static void check_edge(const struct rule *rule, const struct facts *facts, struct findings *found,
		       const struct package *framework, const struct loader_edge *e)
{
	for (size_t i = 0; i < ARRAY_LEN(pins); i++) {
		const char *pin, *version;

		if (!str_starts(e->name, pins[i].library))
			continue;
		pin = pinned(facts, framework, pins[i].distribution);
		version = pin ? library_version(facts, e->to) : NULL;
		if (version && is_older(version, pin, pins[i].numbers))
			finding_add(found, rule, e->from->path, facts_layer(facts, e->from->node),
				    e->name,
				    "%s of %s %s was built with %s %s and gets %s of version %s, "
				    "found by %s.",
				    e->from->path, framework->name, framework->version, e->name,
				    pin, e->to->path, version, e->via);
	}
}

/*
 * Frameworks that open the libraries when they start, and the file that does. Their bounds are
 * those of an extra, so that nothing else looks at them.
 */
static const struct {
	const char *distribution, *opener;
} openers[] = {
	{ "jax-cuda12-plugin", "jax_plugins/xla_cuda12/xla_cuda_plugin.so" },
	{ "jax-cuda13-plugin", "jax_plugins/xla_cuda13/xla_cuda_plugin.so" },
	{ "tensorflow", "tensorflow/libtensorflow_cc.so.2" },
	{ "tensorflow", "tensorflow/libtensorflow_framework.so.2" },
};

/* The library of the bound's own major, as the opener finds it. */
static void check_opened(const struct rule *rule, const struct facts *facts, struct findings *found,
			 const struct package *framework, const struct object *opener, size_t pin)
{
	struct loader_link from = { .object = opener, .path = opener->path };
	const char *least = bound(facts, framework, pins[pin].distribution), *version;
	cleanup_free char *name = NULL;
	struct loader_hit hit;

	if (!least)
		return;
	name = xasprintf("%s%" PRIu64, pins[pin].library, dotted_number(least, 0));
	if (!loader_find(facts->loader, &from, name, LOADER_CACHE_REBUILT, &hit))
		return;
	version = library_version(facts, hit.object);
	if (version && is_older(version, least, pins[pin].numbers))
		finding_add(found, rule, opener->path, facts_layer(facts, opener->node), name,
			    "%s of %s %s wants %s of version %s or newer and gets %s of version "
			    "%s, found by %s.",
			    opener->path, framework->name, framework->version, name, least,
			    hit.path, version, hit.via);
}

static void check_openers(const struct rule *rule, const struct facts *facts,
			  struct findings *found)
{
	for (size_t i = 0; i < ARRAY_LEN(openers); i++) {
		const struct package *wheel = wheel_in(facts, NULL, openers[i].distribution);
		const struct object *opener;

		if (!wheel)
			continue;
		opener = facts_object(facts, arena_printf(facts_arena(facts), "%s/%s",
							  path_dir(facts, wheel->path),
							  openers[i].opener));
		for (size_t k = 0; opener && k < ARRAY_LEN(pins); k++)
			check_opened(rule, facts, found, wheel, opener, k);
		if (opener && str_equal(openers[i].distribution, "tensorflow"))
			break; /* the two files are one framework */
	}
}

/* What the wheels themselves hold is a matter of pins, and another rule's. */
static bool is_of_site(const char *site, const struct object *o)
{
	return str_starts(o->path, site) && o->path[strlen(site)] == '/';
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct package *torch = wheel_in(facts, NULL, "torch");
	const char *site = torch ? path_dir(facts, torch->path) : NULL;
	const char *own = site ? arena_printf(facts_arena(facts), "%s/torch/", site) : NULL;

	(void)err;
	check_openers(rule, facts, found);
	for (size_t i = 0; own && i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const struct loader_edge *e;

		if (!str_starts(o->path, own) || !object_is_used(facts, o))
			continue;
		for (e = loader_edges(facts->loader, o); e; e = e->next) {
			if (e->to && !is_of_site(site, e->to))
				check_edge(rule, facts, found, torch, e);
		}
	}
	return 0;
}

const struct rule rule_ver003 = {
	.id = "VER003",
	.name = "library-older-than-consumer",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_LIKELY,
	.needs = NEEDS_GPU_IMAGE,
	.what = "A framework gets an older release of a CUDA library than it was built with.",
	.why = "These libraries are compatible upwards only: a newer minor serves what was built "
	       "with "
	       "an older one, not the reverse. The framework refuses at import, or calls what is "
	       "not "
	       "there.",
	.fix = "Remove the older copy from the search path, or update it.",
	.sources = "cuDNN API reference, \"Backward Compatibility\"; metadata of the wheels of "
		   "PyTorch, "
		   "JAX and TensorFlow",
	.check = check,
};
