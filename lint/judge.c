#include "lint/judge.h"

#include "lint/loader.h"
#include "lint/runtime.h"
#include "lint/versions.h"

static size_t digits(const char *s)
{
	return strspn(s, "0123456789");
}

const char *driver_version_of(const char *name)
{
	const char *so = strstr(name, ".so.");
	size_t branch, minor;

	if (!so)
		return NULL;
	so += 4;
	branch = digits(so);
	if (branch != 3 || so[branch] != '.')
		return NULL;
	minor = digits(so + branch + 1);
	return minor >= 2 ? so : NULL;
}

bool object_is_stub(const struct object *object)
{
	const char *name = path_name(object->path);

	if (path_is_stub(object->path))
		return true;
	if (!str_starts(name, "libcuda.so") && !str_starts(name, "libnvidia-ml.so"))
		return false;
	return !driver_version_of(name) && !path_is_compat(object->path) &&
	       object->node->entry.size < STUB_BYTES_MAX;
}

bool library_is_profiler(const char *name)
{
	static const char *const stems[] = { "libcupti", "libnvperf", "libcheckpoint",
					     "libpcsamplingutil" };

	for (size_t i = 0; i < ARRAY_LEN(stems); i++) {
		if (str_starts(name, stems[i]))
			return true;
	}
	return false;
}

const char *owning_package(const struct facts *facts, const char *path)
{
	const struct package *p = facts_owner(facts, path);

	return p ? p->name : NULL;
}

bool path_is_set_aside(const char *path)
{
	return path_is_sample(path) || path_matches("/var/cache/*", path) ||
	       path_matches("*/pkgs/*", path) || path_matches("/var/lib/docker/*", path) ||
	       path_matches("/root/.cache/*", path);
}

bool secret_is_published(const char *path, const struct secret_facts *secret)
{
	static const char *const trees[] = {
		"/usr/share/*",           "/usr/lib/*",        "/usr/lib64/*",
		"/usr/include/*",         "/usr/src/*",        "/usr/local/go/*",
		"*/site-packages/*",      "*/dist-packages/*", "*/node_modules/*",
		"*/go/pkg/mod/*",         "*/pkgs/*/info/*",   "/usr/local/lib/python*",
		"*/ssl-cert-snakeoil.key"
	};
	static const char *const parts[] = { "test",     "tests",    "testing", "SelfTest",
					     "testcert", "fixtures", "doc",     "docs" };

	if (secret->service)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
		if (path_matches(trees[i], path))
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (path_has_part(path, parts[i]))
			return true;
	}
	return path_is_sample(path) || str_ends(path, "_test.go");
}

bool is_default_dir(const struct facts *facts, const char *dir)
{
	const char *const *dirs = loader_default_dirs(facts, facts->machine, true);

	for (; *dirs; dirs++) {
		if (str_equal(facts_real(facts, *dirs), dir))
			return true;
	}
	return false;
}

bool is_in_conda(const struct facts *facts, const char *path)
{
	const char *dir = path;

	while (strlen(dir) > 1) {
		const char *meta;

		dir = path_dir(facts, dir);
		meta = arena_printf(facts_arena(facts), "%s/conda-meta", dir);
		if (facts_is_dir(facts, meta))
			return true;
	}
	return false;
}

bool compat_is_forced(const struct facts *facts)
{
	const struct loader_dirs *dirs = loader_dirs(facts->loader);

	for (size_t i = 0; i < dirs->len; i++) {
		const char *library =
			arena_printf(facts_arena(facts), "%s/libcuda.so.1", dirs->items[i].path);

		if (path_is_compat(dirs->items[i].path) && facts_resolve(facts, library, NULL))
			return true;
	}
	return false;
}

bool object_is_used(const struct facts *facts, const struct object *object)
{
	return object->reachable && object->elf->machine == facts->machine &&
	       !path_is_set_aside(object->path) && !object_is_stub(object);
}

static bool could_be_used(const struct facts *facts, const struct object *object)
{
	const char *name = path_name(object->path);

	return runtime_is_cuda_library(name) && object->elf->machine == facts->machine &&
	       !path_is_set_aside(object->path) && !object_is_stub(object) &&
	       !path_is_compat(object->path) && !library_is_private_copy(name);
}

void judged_code(const struct facts *facts, struct object_list *out, bool *out_unbound)
{
	struct object_list unbound = { 0 };

	*out = (struct object_list){ 0 };
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		if (!o->elf->gpu)
			continue;
		if (object_is_used(facts, o))
			vec_push(out, o);
		else if (could_be_used(facts, o))
			vec_push(&unbound, o);
	}
	*out_unbound = !out->len;
	if (out->len)
		vec_release(&unbound);
	else
		*out = unbound;
}

const char *object_list_text(const struct facts *facts, const struct object_list *list)
{
	enum { NAMED = 3 };
	const char *text = "";

	for (size_t i = 0; i < MIN(list->len, (size_t)NAMED); i++)
		text = arena_printf(facts_arena(facts), "%s%s%s", text, *text ? ", " : "",
				    list->items[i]->path);
	if (list->len > NAMED)
		text = arena_printf(facts_arena(facts), "%s, ...", text);
	return text;
}

bool name_has_full_version(const char *name)
{
	const char *so = strstr(name, ".so."), *dot = so ? strchr(so + 4, '.') : NULL;

	return dot && strspn(so + 4, "0123456789.") == strlen(so + 4) && strchr(dot + 1, '.');
}

bool machine_is_wrong_throughout(const struct facts *facts)
{
	size_t foreign = 0;

	for (size_t i = 0; i < facts->objects.len; i++)
		foreign += facts->objects.items[i].elf->machine != facts->machine;
	return foreign * 2 > facts->objects.len;
}
