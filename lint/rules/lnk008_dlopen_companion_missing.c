#include "lint/companions.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"

/* cuDNN's own parts, of which another copy on the path is a mix of versions: another's rule. */
static bool is_elsewhere(const struct facts *facts, const struct object *opener, const char *name)
{
	const struct object_names *named = facts_named(facts, name);

	for (size_t i = 0; named && i < named->len; i++) {
		if (named->items[i]->elf->machine == opener->elf->machine)
			return true;
	}
	return false;
}

/* Something loaded needs it as well, and lacks it: that is the finding. */
static bool is_needed(const struct facts *facts, const char *name)
{
	const struct loader_report *missing = loader_missing(facts->loader);

	for (size_t i = 0; i < missing->len; i++) {
		if (missing->items[i].object->reachable && str_equal(missing->items[i].name, name))
			return true;
	}
	return false;
}

static void check_opener(const struct rule *rule, const struct facts *facts, struct findings *found,
			 const struct object *o)
{
	struct companions list = { 0 };
	const char *missing = "";
	struct finding *f;
	size_t count = 0;
	bool back;

	companions_of(facts, o, &list);
	for (size_t i = 0; i < list.len; i++) {
		struct loader_hit hit;

		if (list.items[i].optional ||
		    companion_find(facts->loader, o, list.items[i].name, &hit) ||
		    is_elsewhere(facts, o, list.items[i].name) ||
		    is_needed(facts, list.items[i].name))
			continue;
		missing = arena_printf(facts_arena(facts), "%s%s%s", missing, count++ ? ", " : "",
				       list.items[i].name);
	}
	vec_release(&list);
	if (!count)
		return;
	back = companions_are_fallen_back_from(o);
	f = finding_add(found, rule, o->path, facts_layer(facts, o->node), "",
			"%s opens %s by name when it runs, and %s not in its directory nor where "
			"the loader looks%s.",
			o->path, missing, count == 1 ? "it is" : "they are",
			back ? "; it then computes on the CPU" : "");
	if (companions_remedy(o))
		f->fix = companions_remedy(o);
	/* Where no GPU is asked for, that may be what is wanted. */
	if (back && !facts_requests_gpu(facts) && !facts->hosts.gpus.len)
		f->severity = SEVERITY_INFO;
}

/* Plug-ins of NCCL are looked for only where a variable names one. */
static void check_nccl(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	static const struct {
		const char *variable, *form;
	} plugins[] = {
		{ "NCCL_NET_PLUGIN", "libnccl-net-%s.so" },
		{ "NCCL_TUNER_PLUGIN", "libnccl-tuner-%s.so" },
		{ "NCCL_PROFILER_PLUGIN", "libnccl-profiler-%s.so" },
	};

	for (size_t i = 0; i < ARRAY_LEN(plugins); i++) {
		const char *value = facts_env(facts, plugins[i].variable);
		cleanup_free char *name = NULL;

		if (!value || !*value || str_equal(value, "none") || strchr(value, ',') ||
		    strchr(value, '$'))
			continue;
		name = xasprintf("%.*s%s.so", (int)(strchr(plugins[i].form, '%') - plugins[i].form),
				 plugins[i].form, value);
		if (facts_named(facts, name) || facts_named(facts, value) ||
		    (strchr(value, '/') && facts_resolve(facts, value, NULL)) ||
		    facts_named(facts, "libnccl-net.so"))
			continue;
		finding_add(found, rule, "", -1, plugins[i].variable,
			    "%s=%s names a plug-in of NCCL, and neither %s nor %s is in the image.",
			    plugins[i].variable, value, name, value);
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		if (object_is_used(facts, o) || companions_is_plugin(o))
			check_opener(rule, facts, found, o);
	}
	check_nccl(rule, facts, found);
	return 0;
}

const struct rule rule_lnk008 = {
	.id = "LNK008",
	.name = "dlopen-companion-missing",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_LIKELY,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "A library opens another by name when it runs, and that one is not in the image.",
	.why = "No dependency tells of it, so nothing complains until the function is called: "
	       "cuDNN "
	       "without its engine libraries fails in the first convolution, a plug-in that a "
	       "variable names ends NCCL's start.",
	.fix = "Install the package that holds it, complete and of the same version.",
	.sources = "cuDNN installation guide; NCCL documentation, \"Environment Variables\"",
	.check = check,
};
