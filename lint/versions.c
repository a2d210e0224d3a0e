#include "lint/versions.h"

#include <ctype.h>

/* "12.4.127" after ".so.": two dots at least. */
static const char *of_name(const char *path)
{
	const char *so = strstr(path_name(path), ".so."), *dot;

	if (!so || !dotted_is(slice_str(so + 4)))
		return NULL;
	dot = strchr(so + 4, '.');
	return dot && strchr(dot + 1, '.') ? so + 4 : NULL;
}

const char *site_of_path(const struct facts *facts, const char *path)
{
	static const char *const names[] = { "/site-packages", "/dist-packages" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *at = strstr(path, names[i]);
		size_t len = strlen(names[i]);

		if (at && (at[len] == '/' || !at[len]))
			return arena_printf(facts_arena(facts), "%.*s", (int)(at - path) + (int)len,
					    path);
	}
	return NULL;
}

/* Names of distributions: case, "-", "_" and "." are one. */
static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		char x = *a == '_' || *a == '.' ? '-' : (char)tolower((unsigned char)*a);
		char y = *b == '_' || *b == '.' ? '-' : (char)tolower((unsigned char)*b);

		if (y == '*')
			break;
		if (x != y)
			return false;
	}
	if (*b == '*')
		return strspn(a, "0123456789") == strlen(a) && *a;
	return !*a && !*b;
}

const struct package *wheel_in(const struct facts *facts, const char *site, const char *name)
{
	size_t len = strlen(name);
	bool any_cuda = str_ends(name, "-cu*");

	for (size_t i = 0; i < facts->packages.len; i++) {
		const struct package *p = &facts->packages.items[i];

		if (!str_equal(p->kind, "wheel") || !p->name)
			continue;
		if (site && !(str_starts(p->path, site) && p->path[strlen(site)] == '/'))
			continue;
		if (same_name(p->name, name) ||
		    (any_cuda && same_name(p->name, arena_printf(facts_arena(facts), "%.*s",
								 (int)len - 4, name))))
			return p;
	}
	return NULL;
}

/* Directories of nvidia/ whose libraries are versioned as their wheel. */
static const char *const wheel_dirs[][2] = {
	{ "cudnn", "nvidia-cudnn-cu*" },
	{ "nccl", "nvidia-nccl-cu*" },
	{ "cuda_runtime", "nvidia-cuda-runtime-cu*" },
	{ "cublas", "nvidia-cublas-cu*" },
	{ "cufft", "nvidia-cufft-cu*" },
	{ "cusparse", "nvidia-cusparse-cu*" },
	{ "cusolver", "nvidia-cusolver-cu*" },
	{ "curand", "nvidia-curand-cu*" },
	{ "cuda_nvrtc", "nvidia-cuda-nvrtc-cu*" },
	{ "cuda_cupti", "nvidia-cuda-cupti-cu*" },
	{ "nvjitlink", "nvidia-nvjitlink-cu*" },
};

/* Of CUDA 13 all lie in one directory: the library's own stem tells the wheel. */
static const char *const wheel_stems[][2] = {
	{ "libcudart", "nvidia-cuda-runtime" }, { "libcublas", "nvidia-cublas" },
	{ "libcufft", "nvidia-cufft" },         { "libcusparse", "nvidia-cusparse" },
	{ "libcusolver", "nvidia-cusolver" },   { "libcurand", "nvidia-curand" },
	{ "libnvrtc", "nvidia-cuda-nvrtc" },    { "libcupti", "nvidia-cuda-cupti" },
	{ "libnvJitLink", "nvidia-nvjitlink" },
};

/* Its libraries are in a wheel of their own, named for the CUDA it is for since 8.6. */
static const char *of_tensorrt(const struct facts *facts, const char *site)
{
	const struct package *p = wheel_in(facts, site, "tensorrt-libs");

	if (!p)
		p = wheel_in(facts, site, "tensorrt-cu12-libs");
	if (!p)
		p = wheel_in(facts, site, "tensorrt-cu13-libs");
	return p ? p->version : NULL;
}

static const char *of_wheel(const struct facts *facts, const char *path)
{
	const char *site = site_of_path(facts, path), *rest;
	const struct package *p;

	if (!site)
		return NULL;
	rest = path + strlen(site);
	for (size_t i = 0; i < ARRAY_LEN(wheel_dirs); i++) {
		const char *dir =
			arena_printf(facts_arena(facts), "/nvidia/%s/lib/", wheel_dirs[i][0]);

		if (!str_starts(rest, dir))
			continue;
		p = wheel_in(facts, site, wheel_dirs[i][1]);
		return p ? p->version : NULL;
	}
	if (str_starts(rest, "/tensorrt_libs/"))
		return of_tensorrt(facts, site);
	if (!str_starts(rest, "/nvidia/cu1"))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(wheel_stems); i++) {
		size_t len = strlen(wheel_stems[i][0]);
		const char *name = path_name(path);

		if (strncmp(name, wheel_stems[i][0], len) != 0 || isalnum((unsigned char)name[len]))
			continue;
		p = wheel_in(facts, site, wheel_stems[i][1]);
		return p ? p->version : NULL;
	}
	return NULL;
}

/* "9.1.0.70-1+cuda12.4" without what the distribution added. */
static const char *upstream(const struct facts *facts, const char *version)
{
	const char *colon = strchr(version, ':');

	if (colon)
		version = colon + 1;
	return arena_printf(facts_arena(facts), "%.*s", (int)strcspn(version, "-+~"), version);
}

static const char *of_package(const struct facts *facts, const char *path)
{
	const struct package *p = facts_owner(facts, path);
	const char *version = p ? upstream(facts, p->version) : NULL;

	return version && dotted_is(slice_str(version)) ? version : NULL;
}

const char *library_version(const struct facts *facts, const struct object *object)
{
	const char *version = of_name(object->path);

	if (!version)
		version = object->elf->embedded_version;
	if (!version)
		version = of_wheel(facts, object->path);
	if (!version)
		version = of_package(facts, object->path);
	return version;
}

bool library_is_private_copy(const char *name)
{
	const char *so = strstr(name, ".so");
	const char *dash = so ? memrchr(name, '-', (size_t)(so - name)) : NULL;

	return dash && so - dash == 9 && strspn(dash + 1, "0123456789abcdef") == 8;
}

unsigned library_cuda_major(const char *name)
{
	static const struct {
		const char *stem;
		unsigned add; /* to the library's major, for CUDA's */
	} stems[] = {
		{ "libcudart.so.", 0 }, { "libcublas.so.", 0 },    { "libcublasLt.so.", 0 },
		{ "libnvrtc.so.", 0 },  { "libnvJitLink.so.", 0 }, { "libcufft.so.", 1 },
		{ "libcupti.so.", 0 },
	};
	static const char old_nvrtc[] = "libnvrtc.so.11.2";

	if (str_equal(name, old_nvrtc))
		return 11;
	for (size_t i = 0; i < ARRAY_LEN(stems); i++) {
		if (str_starts(name, stems[i].stem)) {
			unsigned major = (unsigned)dotted_number(name + strlen(stems[i].stem), 0);

			return major >= 10 ? major + stems[i].add : 0;
		}
	}
	return 0;
}
