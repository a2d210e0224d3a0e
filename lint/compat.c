#include "lint/compat.h"

#include "formats/json.h"
#include "manifests/dotted.h"

/* Keys are compared without regard to case, as the runtime reads them. */
static const json_t *member(const json_t *object, const char *key)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, name, value)
	{
		if (strcasecmp(name, key) == 0)
			return value;
	}
	return NULL;
}

static void read_note(const struct facts *facts, struct compat_library *out)
{
	const char *text = out->object ? out->object->elf->compat_note : NULL;
	json_t *note = text ? json_loads(text, 0, NULL) : NULL;
	const json_t *cuda, *branches;
	json_t *one;
	size_t i;

	if (!json_is_object(note)) {
		json_decref(note);
		return;
	}
	out->has_note = true;
	cuda = member(note, "CUDA version");
	if (json_is_string(cuda) && dotted_is(slice_str(json_string_value(cuda))))
		out->cuda = arena_strdup(facts_arena(facts), json_string_value(cuda));
	branches = member(note, "driver");
	json_array_foreach((json_t *)(uintptr_t)branches, i, one)
	{
		if (json_is_integer(one) && json_integer_value(one) > 0 &&
		    json_integer_value(one) < 100000)
			vec_push(&out->branches, (unsigned)json_integer_value(one));
	}
	json_decref(note);
}

void compat_library_find(const struct facts *facts, struct compat_library *out)
{
	const char *dir = facts_real(facts, "/usr/local/cuda/compat");
	const struct driver_branch *branch;
	struct tree_nodes all = { 0 };
	size_t candidates = 0;

	*out = (struct compat_library){ 0 };
	facts_list(facts, dir, &all);
	for (size_t i = 0; i < all.len; i++) {
		if (!path_matches("libcuda.so.*.*", facts_name(facts, all.items[i])))
			continue;
		candidates++;
		out->node = all.items[i];
	}
	vec_release(&all);
	if (candidates != 1) {
		*out = (struct compat_library){ 0 };
		return;
	}
	out->path = facts_path(facts, out->node);
	out->object = facts_object(facts, out->path);
	out->version = path_name(out->path) + strlen("libcuda.so.");
	read_note(facts, out);
	branch = driver_branch(&facts->tables.drivers, (unsigned)dotted_number(out->version, 0));
	if (!out->cuda && branch)
		out->cuda = branch->native_cuda;
}

void compat_library_release(struct compat_library *library)
{
	vec_release(&library->branches);
}

static bool lists(const struct compat_library *library, unsigned branch)
{
	for (size_t i = 0; i < library->branches.len; i++) {
		if (library->branches.items[i] == branch)
			return true;
	}
	return false;
}

/* A branch alone stands for any of its releases: the oldest decides. */
static bool is_newer(const char *compat, const char *host)
{
	return dotted_compare(slice_str(compat), slice_str(host)) > 0;
}

enum compat_use compat_decide(const struct facts *facts, const struct compat_library *library,
			      const struct host_driver *driver)
{
	unsigned branch;

	(void)facts;
	if (!driver->version || (library->has_note && !library->branches.len)) {
		if (!library->has_note || !library->cuda || !driver->cuda)
			return COMPAT_UNDECIDED;
		return dotted_order_minor(library->cuda, driver->cuda) > 0 ? COMPAT_USED
									   : COMPAT_NOT_NEWER;
	}
	branch = (unsigned)dotted_number(driver->version, 0);
	if (!library->has_note)
		return dotted_number(library->version, 0) > branch ? COMPAT_USED : COMPAT_NOT_NEWER;
	if (!lists(library, branch))
		return COMPAT_BRANCH_NOT_LISTED;
	return is_newer(library->version, driver->version) ? COMPAT_USED : COMPAT_NOT_NEWER;
}

bool compat_serves(const struct facts *facts, const struct host_driver *driver, const char *cuda)
{
	cleanup_compat_library struct compat_library library;

	compat_library_find(facts, &library);
	if (!library.path || !library.cuda || dotted_order_minor(library.cuda, cuda) < 0)
		return false;
	for (size_t i = 0; i < facts->hosts.gpus.len; i++) {
		if (gpu_compat(&facts->hosts.gpus.items[i].target) == COMPAT_NOT_SUPPORTED)
			return false;
	}
	return compat_decide(facts, &library, driver) == COMPAT_USED;
}
