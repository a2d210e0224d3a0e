#include "lint/companions.h"

#include "lint/versions.h"

static void add(struct companions *out, const char *name, bool optional)
{
	vec_push(out, ((struct companion){ name, optional }));
}

static void add_cudnn9(const struct facts *facts, const struct object *opener,
		       struct companions *out)
{
	static const char *const full[] = { "libcudnn_graph.so.9",
					    "libcudnn_ops.so.9",
					    "libcudnn_cnn.so.9",
					    "libcudnn_adv.so.9",
					    "libcudnn_heuristic.so.9",
					    "libcudnn_engines_precompiled.so.9",
					    "libcudnn_engines_runtime_compiled.so.9" };
	const char *version = library_version(facts, opener);
	bool jit_only = path_has_part(opener->path, "cudnn_jit");

	for (size_t i = 0; i < ARRAY_LEN(full); i++)
		add(out, full[i],
		    jit_only && !str_equal(full[i], "libcudnn_graph.so.9") &&
			    !str_equal(full[i], "libcudnn_engines_runtime_compiled.so.9"));
	/* From 9.21 on; without a version it is not known whether it belongs to the set. */
	add(out, "libcudnn_engines_tensor_ir.so.9",
	    jit_only || !version || dotted_order(version, "9.21") < 0);
}

static void add_cudnn8(struct companions *out)
{
	static const char *const parts[] = { "libcudnn_ops_infer.so.8", "libcudnn_cnn_infer.so.8",
					     "libcudnn_adv_infer.so.8" };
	static const char *const train[] = { "libcudnn_ops_train.so.8", "libcudnn_cnn_train.so.8",
					     "libcudnn_adv_train.so.8" };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		add(out, parts[i], false);
	/* Images for inference leave them out, and nothing asks for them. */
	for (size_t i = 0; i < ARRAY_LEN(train); i++)
		add(out, train[i], true);
}

/* The CUDA libraries that XLA and TensorFlow ask for when they start. */
static void add_cuda(unsigned major, struct companions *out)
{
	static const char *const cuda12[] = { "libcudart.so.12",   "libcublas.so.12",
					      "libcudnn.so.9",     "libcufft.so.11",
					      "libcusolver.so.11", "libcusparse.so.12" };
	static const char *const cuda13[] = { "libcudart.so.13",   "libcublas.so.13",
					      "libcudnn.so.9",     "libcufft.so.12",
					      "libcusolver.so.12", "libcusparse.so.12" };

	if (major != 12 && major != 13)
		return;
	for (size_t i = 0; i < ARRAY_LEN(cuda12); i++)
		add(out, major == 13 ? cuda13[i] : cuda12[i], false);
}

/* The plug-in of XLA says the CUDA major in its directory's name. */
static unsigned xla_cuda(const struct object *opener)
{
	return path_has_part(opener->path, "xla_cuda13")   ? 13
	       : path_has_part(opener->path, "xla_cuda12") ? 12
							   : 0;
}

/*
 * TensorFlow names its CUDA major in the wheels of its extra and-cuda; 0 where it does not, or
 * where that is of the time before cuDNN 9.
 */
static unsigned tensorflow_cuda(const struct facts *facts, const struct object *opener)
{
	const char *home = path_dir(facts, path_dir(facts, opener->path));
	const struct python_dist *d = facts_dist(facts, home, "tensorflow");
	unsigned major = 0;
	bool cudnn9 = false;

	for (size_t i = 0; d && i < d->require_count; i++) {
		cleanup_free char *line =
			xstrndup((const char *)d->requires[i].data, d->requires[i].len);
		static const char cublas[] = "nvidia-cublas-cu", cudnn[] = "nvidia-cudnn-cu";

		if (str_starts(line, cublas))
			major = (unsigned)strtoul(line + strlen(cublas), NULL, 10);
		cudnn9 |= str_starts(line, cudnn) && (strstr(line, "=9") || strstr(line, "= 9"));
	}
	return cudnn9 ? major : 0;
}

static bool is_ctranslate2(const char *name)
{
	return str_starts(name, "libctranslate2") && strstr(name, ".so.4");
}

bool companions_are_fallen_back_from(const struct object *opener)
{
	return str_starts(path_name(opener->path), "libtensorflow_framework.so.2");
}

const char *companions_remedy(const struct object *opener)
{
	if (companions_are_fallen_back_from(opener))
		return "pip install 'tensorflow[and-cuda]', which brings the wheels of CUDA that "
		       "this TensorFlow opens.";
	if (xla_cuda(opener) == 13)
		return "pip install 'jax[cuda13]', which brings the wheels of CUDA that this "
		       "plug-in "
		       "opens.";
	if (xla_cuda(opener) == 12)
		return "pip install 'jax[cuda12]', which brings the wheels of CUDA that this "
		       "plug-in "
		       "opens.";
	if (is_ctranslate2(path_name(opener->path)))
		return "pip install nvidia-cublas-cu12, and name its directory in LD_LIBRARY_PATH.";
	return NULL;
}

bool companions_is_plugin(const struct object *object)
{
	return str_equal(path_name(object->path), "xla_cuda_plugin.so");
}

void companions_of(const struct facts *facts, const struct object *opener, struct companions *out)
{
	const char *name = opener->elf->soname ? opener->elf->soname : path_name(opener->path);

	if (str_equal(name, "libcudnn.so.9"))
		add_cudnn9(facts, opener, out);
	else if (str_equal(name, "libcudnn.so.8"))
		add_cudnn8(out);
	else if (str_equal(name, "libonnxruntime_providers_cuda.so"))
		add(out, "libonnxruntime_providers_shared.so", false);
	else if (is_ctranslate2(name))
		add(out, "libcublas.so.12", false);
	else if (companions_is_plugin(opener))
		add_cuda(xla_cuda(opener), out);
	else if (companions_are_fallen_back_from(opener))
		add_cuda(tensorflow_cuda(facts, opener), out);
}

bool companion_find(struct loader *loader, const struct object *opener, const char *name,
		    struct loader_hit *out)
{
	const struct loader_link link = { opener, opener->path, NULL };
	const struct facts *facts = loader_facts(loader);
	const char *dir = path_dir(facts, opener->path);
	const char *path = arena_printf(facts_arena(facts), "%s/%s", dir, name);
	const struct object *o = facts_object(facts, path);

	if (o && o->elf->machine == opener->elf->machine && o->elf->is64 == opener->elf->is64) {
		*out = (struct loader_hit){ o, path, "its own directory" };
		return true;
	}
	return loader_find(loader, &link, name, LOADER_CACHE_BAKED, out) ||
	       loader_find(loader, &link, name, LOADER_CACHE_REBUILT, out);
}
