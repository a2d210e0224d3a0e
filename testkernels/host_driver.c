#include "testkernels/host_driver.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "formats/ldcache.h"

static const char *const driver_dirs[] = {
	"/usr/lib/x86_64-linux-gnu",  "/usr/lib/x86_64-linux-gnu/nvidia/current",
	"/usr/lib/aarch64-linux-gnu", "/usr/lib64",
	"/usr/lib64/nvidia",          "/usr/lib",
	"/usr/local/nvidia/lib64",    "/usr/lib/wsl/lib",
	"/run/opengl-driver/lib",
};

static bool holds_driver(const char *host, const char *dir)
{
	cleanup_free char *path = xasprintf("%s%s/libcuda.so.1", host, dir);

	return access(path, R_OK) == 0;
}

/* From the host's loader cache, in the arena. */
static const char *dir_in_cache(const char *host, struct arena *arena)
{
	cleanup_free char *path = xasprintf("%s/etc/ld.so.cache", host);
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_ldcache struct ldcache cache = { 0 };
	struct error ignored = { 0 };

	if (fs_read(AT_FDCWD, path, 64 * MIB, &text, &ignored) < 0 ||
	    ldcache_read(strbuf_slice(&text), &cache, &ignored) < 0)
		return NULL;
	for (size_t i = 0; i < cache.len; i++) {
		const char *slash = strrchr(cache.items[i].path, '/');

		if (slash && str_equal(cache.items[i].soname, "libcuda.so.1"))
			return arena_slice(arena, slice_of(cache.items[i].path,
							   (size_t)(slash - cache.items[i].path)));
	}
	return NULL;
}

/* "libcuda.so.580.95.05": the link's target tells the version. */
static const char *library_version(const char *host, const char *dir, struct arena *arena)
{
	cleanup_free char *path = xasprintf("%s%s/libcuda.so.1", host, dir);
	cleanup_free char *real = realpath(path, NULL);
	const char *so = real ? strstr(real, "libcuda.so.") : NULL;

	return so && strchr(so + 11, '.') ? arena_strdup(arena, so + 11) : NULL;
}

/* "NVRM version: NVIDIA UNIX … Module  580.95.05  …": the first word that is digits and dots. */
static const char *module_version(const char *host, struct arena *arena)
{
	cleanup_free char *path = xasprintf("%s/proc/driver/nvidia/version", host);
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };
	struct slice rest, word;

	if (fs_read(AT_FDCWD, path, 64 * KIB, &text, &ignored) < 0)
		return NULL;
	rest = strbuf_slice(&text);
	while (slice_cut(&rest, ' ', &word)) {
		const char *s = arena_slice(arena, slice_trim(word));

		if (strlen(s) > 4 && strspn(s, "0123456789.") == strlen(s) && strchr(s, '.'))
			return s;
	}
	return NULL;
}

static const char *device_nodes(const char *host, struct arena *arena)
{
	cleanup_free char *dir = xasprintf("%s/dev", host);
	cleanup_strbuf struct strbuf out = { 0 };
	struct fs_names names = { 0 };
	struct error ignored = { 0 };

	if (fs_list(AT_FDCWD, dir, &names, &ignored) < 0)
		return "";
	for (size_t i = 0; i < names.len; i++) {
		if (str_starts(names.items[i], "nvidia"))
			strbuf_addf(&out, "%s/dev/%s", out.len ? " " : "", names.items[i]);
	}
	fs_names_release(&names);
	return arena_strdup(arena, strbuf_text(&out));
}

void host_driver_find(const char *host, struct arena *arena, struct host_driver *out)
{
	cleanup_free char *node = xasprintf("%s/dev/nvidiactl", host);

	*out = (struct host_driver){ .has_nodes = access(node, F_OK) == 0 };
	out->module = module_version(host, arena);
	out->devices = device_nodes(host, arena);
	for (size_t i = 0; i < ARRAY_LEN(driver_dirs) && !out->dir; i++) {
		if (holds_driver(host, driver_dirs[i]))
			out->dir = arena_printf(arena, "%s%s", host, driver_dirs[i]);
	}
	if (!out->dir)
		out->dir = dir_in_cache(host, arena);
	if (out->dir)
		out->version = library_version("", out->dir, arena);
}
