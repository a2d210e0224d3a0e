#include "lint/capabilities.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/loader.h"
#include "lint/rule.h"
#include "lint/runtime.h"
#include "lint/start.h"

/* The first user of a capability: by a NEEDED entry, else by a name that it opens. */
struct user {
	const struct object *object;
	const char *library; /* NULL: opened by name */
	bool of_start;       /* what the image starts needs it */
};

static const struct {
	const char *capability;
	unsigned opens;
	const char *names;
} capabilities[] = {
	{ "compute", OPENS_COMPUTE, "libcuda.so" },
	{ "utility", OPENS_UTILITY, "libnvidia-ml.so" },
	{ "video", OPENS_VIDEO, "libnvcuvid.so or libnvidia-encode.so" },
	{ "graphics", OPENS_GRAPHICS, "libnvoptix.so" },
	{ "ngx", 0, "" },
};

static const char *needed_of(const struct facts *facts, const struct object *o,
			     const char *capability)
{
	for (size_t i = 0; i < o->elf->needed_count; i++) {
		const struct driver_entry *e = runtime_driver_library(facts, o->elf->needed[i]);

		if (e && e->capability && str_equal(e->capability, capability))
			return o->elf->needed[i];
	}
	return NULL;
}

/* Libraries of CUDA name what they can use; that alone is no use. */
static bool counts(const struct facts *facts, const struct object *o)
{
	return object_is_used(facts, o) && !runtime_is_gpu_library(facts, path_name(o->path)) &&
	       !path_is_compat(o->path);
}

static bool find_user(const struct facts *facts, size_t capability, const struct map *start,
		      struct user *out)
{
	*out = (struct user){ 0 };
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const char *needed;

		if (!counts(facts, o))
			continue;
		needed = needed_of(facts, o, capabilities[capability].capability);
		if (needed && map_has(start, o->path)) {
			*out = (struct user){ o, needed, true };
			return true;
		}
		if (needed && !(out->object && out->library))
			*out = (struct user){ o, needed, false };
		else if (!out->object && o->elf->opens & capabilities[capability].opens)
			*out = (struct user){ o, NULL, false };
	}
	return out->object != NULL;
}

static void report(const struct rule *rule, const struct facts *facts, struct findings *found,
		   const char *capability, const char *names, const struct user *user)
{
	const char *value = facts_env(facts, "NVIDIA_DRIVER_CAPABILITIES");
	struct finding *f;

	f = finding_add(found, rule, "", -1,
			arena_printf(facts_arena(facts), "NVIDIA_DRIVER_CAPABILITIES %s",
				     capability),
			"%s %s %s of the driver, which comes with the capability %s; "
			"NVIDIA_DRIVER_CAPABILITIES is %s%s.",
			user->object->path, user->library ? "needs" : "opens",
			user->library ? user->library : names, capability,
			value && *value ? value : "not set, which means ",
			value && *value ? "" : capabilities_default(facts));
	if (user->of_start)
		f->severity = SEVERITY_ERROR;
	if (!runtime_reads_capabilities(facts))
		f->severity = SEVERITY_INFO;
	f->fix = arena_printf(facts_arena(facts), "ENV NVIDIA_DRIVER_CAPABILITIES=%s,%s",
			      value && *value ? value : "compute,utility", capability);
}

static void reach_of_start(const struct facts *facts, struct map *out)
{
	struct start_program start = start_program_of(facts);
	const struct object *o = start.path ? facts_object(facts, start.path) : NULL;

	if (o)
		loader_reach(facts->loader, o, out);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	cleanup_map struct map start = { 0 };

	(void)err;
	if (!capabilities_are_valid(facts) || is_legacy_image(facts))
		return 0;
	reach_of_start(facts, &start);
	for (size_t i = 0; i < ARRAY_LEN(capabilities); i++) {
		const char *capability = capabilities[i].capability;
		struct user user;

		/* Unset under enroot is another rule's finding as far as CUDA goes. */
		if (capabilities_have(facts, capability) ||
		    (str_equal(capability, "compute") && !capabilities_are_set(facts)))
			continue;
		if (find_user(facts, i, &start, &user))
			report(rule, facts, found, capability, capabilities[i].names, &user);
	}
	return 0;
}

const struct rule rule_env003 = {
	.id = "ENV003",
	.name = "driver-capability-missing",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_LIKELY,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG,
	.what = "A program of the image uses a library of the driver whose capability is not "
		"requested.",
	.why = "The runtime mounts only the libraries of the capabilities in "
	       "NVIDIA_DRIVER_CAPABILITIES. What is missing then is reported as a missing library, "
	       "or a feature such as hardware video is quietly absent. Runtimes that use CDI mount "
	       "everything.",
	.fix = "Add the word to NVIDIA_DRIVER_CAPABILITIES.",
	.sources = "NVIDIA Container Toolkit, \"Driver Capabilities\"; NVIDIA/libnvidia-container "
		   "src/nvc_info.c",
	.check = check,
};
