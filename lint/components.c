#include "lint/components.h"

/* File names of the CUDA stack and what they are part of. The first that fits counts. */
static const struct {
	const char *start, *name;
} libraries[] = {
	{ "libcublas", "cublas" },
	{ "libnvblas", "cublas" },
	{ "libcudnn", "cudnn" },
	{ "libcufftw", "cufft" },
	{ "libcufft", "cufft" },
	{ "libcufile", "cufile" },
	{ "libcurand", "curand" },
	{ "libcusolver", "cusolver" },
	{ "libcusparseLt", "cusparselt" },
	{ "libcusparse", "cusparse" },
	{ "libcutensor", "cutensor" },
	{ "libcupti", "cupti" },
	{ "libnvperf", "cupti" },
	{ "libcheckpoint", "cupti" },
	{ "libpcsamplingutil", "cupti" },
	{ "libcudart", "cudart" },
	{ "libcudadevrt", "cudart" },
	{ "libnccl", "nccl" },
	{ "libnvrtc", "nvrtc" },
	{ "libnvJitLink", "nvjitlink" },
	{ "libnvfatbin", "nvfatbin" },
	{ "libnvptxcompiler", "nvptxcompiler" },
	{ "libnvvm", "nvvm" },
	{ "libnvjpeg", "nvjpeg" },
	{ "libnpp", "npp" },
	{ "libnvinfer", "tensorrt" },
	{ "libnvonnxparser", "tensorrt" },
	{ "libnvshmem", "nvshmem" },
	{ "libtorch.", "torch" }, /* libtorchvision and its like are others */
	{ "libtorch_", "torch" },
	{ "libc10", "torch" },
	{ "libonnxruntime", "onnxruntime" },
};

const char *component_library(const char *file_name)
{
	for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
		size_t len = strlen(libraries[i].start);

		if (strncmp(file_name, libraries[i].start, len) == 0 &&
		    (strstr(file_name, ".so") || str_ends(file_name, ".a")))
			return libraries[i].name;
	}
	return NULL;
}

/* The text up to the next "/", in `arena`. */
static const char *part_of(const char *text, struct arena *arena)
{
	return arena_slice(arena, slice_of(text, strcspn(text, "/")));
}

/* "python: torch" of ".../site-packages/torch/lib/x.so". */
static const char *python_part(const char *path, struct arena *arena)
{
	static const char *const homes[] = { "/site-packages/", "/dist-packages/" };

	for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
		const char *at = strstr(path, homes[i]), *part, *dash;

		if (!at)
			continue;
		at += strlen(homes[i]);
		part = part_of(at, arena);
		if (str_equal(part, "nvidia") && at[6] == '/')
			return arena_printf(arena, "python: nvidia/%s", part_of(at + 7, arena));
		dash = strstr(part, "-");
		if (dash && (str_ends(part, ".dist-info") || str_ends(part, ".egg-info")))
			part = arena_slice(arena, slice_of(part, (size_t)(dash - part)));
		if (str_ends(part, ".libs"))
			part = arena_slice(arena, slice_of(part, strlen(part) - 5));
		return arena_printf(arena, "python: %s", part);
	}
	return NULL;
}

/* "/usr/lib" of "/usr/lib/x86_64-linux-gnu/libz.so.1", "/" of "/file". */
static const char *place_part(const char *path, struct arena *arena)
{
	const char *first = part_of(path + 1, arena), *rest = path + 1 + strlen(first);

	if (*rest != '/')
		return "/";
	if (!str_equal(first, "usr") && !str_equal(first, "opt") && !str_equal(first, "var") &&
	    !str_equal(first, "home"))
		return arena_printf(arena, "/%s", first);
	if (!strchr(rest + 1, '/'))
		return arena_printf(arena, "/%s", first);
	return arena_printf(arena, "/%s/%s", first, part_of(rest + 1, arena));
}

static const char *name_of(const char *path, struct arena *arena)
{
	const char *library = component_library(path_name(path)), *name;

	bool toolkit = str_starts(path, "/usr/local/cuda");

	if (strstr(path, "/nsight"))
		return "nsight";
	if (library && (toolkit || !strstr(path, "-packages/")))
		return library;
	name = python_part(path, arena);
	if (name)
		return name;
	if (toolkit)
		return "cuda toolkit";
	return place_part(path, arena);
}

static int by_bytes(const void *left, const void *right)
{
	const struct component *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return strcmp(a->name, b->name);
}

void components_find(const struct facts *facts, struct arena *arena, struct components *out)
{
	cleanup_map struct map index = { 0 };
	cleanup_arena struct arena scratch = { 0 };
	cleanup_strbuf struct strbuf path = { 0 };
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	for (size_t i = 0; i < count; i++) {
		const char *name;
		uintptr_t at;

		if (nodes[i]->entry.type != TAR_FILE)
			continue;
		name = name_of(facts_path_in(facts, nodes[i], &path), &scratch);
		at = (uintptr_t)map_get(&index, name);
		if (!at) {
			vec_push(out, ((struct component){ .name = arena_strdup(arena, name) }));
			at = out->len;
			map_put(&index, name, (void *)at);
		}
		out->items[at - 1].bytes += nodes[i]->entry.size;
		out->items[at - 1].files++;
		if (i % 4096 == 4095)
			arena_release(&scratch);
	}
	vec_sort(out, by_bytes);
}
