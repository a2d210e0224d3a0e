#include "manifests/dotted.h"
#include "manifests/table_frameworks.h"

/* The pin of one NVIDIA distribution in a set of pins, whatever generation its name is of. */
static const char *pin_of(const json_t *pins, const char *stem)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)pins, name, value)
	{
		if (str_starts(name, stem) && (!name[strlen(stem)] || name[strlen(stem)] == '-'))
			return json_string_value(value);
	}
	return NULL;
}

static int read_base(const struct table_row *row, struct framework_build *b, struct error *err)
{
	const json_t *python = json_object_get(row->json, "python");

	if (row_version(row, "version", &b->version, err) < 0 ||
	    row_version(row, "tested_cuda", &b->built_with, err) < 0)
		return -1;
	b->framework = "tensorflow";
	b->python_min = json_string_value(json_object_get(python, "min"));
	b->python_max = json_string_value(json_object_get(python, "max"));
	b->cuda_major = (unsigned)dotted_number(b->built_with, 0);
	return 0;
}

/* A patch release whose extra and-cuda pins everything. */
static int add_pinned(const struct table_row *release, const struct framework_build *base,
		      const char *version, const json_t *pins, struct arena *arena,
		      struct table_frameworks *out, struct error *err)
{
	struct framework_build b = *base;
	struct table_row row = *release;
	const char *cudnn = pin_of(pins, "nvidia-cudnn"), *nccl = pin_of(pins, "nvidia-nccl");

	row.name = version;
	if (!json_is_object(pins))
		return row_error(&row, "and_cuda", err, "is not an object");
	if (row_text_opt(&row, "and_cuda_confidence", &b.confidence, err) < 0)
		return -1;
	if (b.confidence && str_equal(b.confidence, "observed"))
		b.confidence = NULL;
	b.version = str_ends(version, ".x") ? base->version : version;
	b.flavour = "and-cuda";
	b.package = "tensorflow[and-cuda]";
	b.cuda = arena_printf(arena, "=%s", base->built_with);
	b.exact = true;
	b.is_default = true;
	b.cudnn = cudnn ? arena_printf(arena, "==%s", cudnn) : NULL;
	b.nccl = nccl ? arena_printf(arena, "==%s", nccl) : NULL;
	b.pins_cudnn = cudnn != NULL;
	b.pins_nccl = nccl != NULL;
	b.origin = row_origin(&row, "tested", arena);
	vec_push(&out->builds, b);
	return 0;
}

/* A release of which only the tested versions are known: the tested minor, any cuDNN that fits. */
static int add_tested(const struct table_row *row, const struct framework_build *base,
		      struct arena *arena, struct table_frameworks *out, struct error *err)
{
	struct framework_build b = *base;
	const char *cudnn;

	if (row_version_opt(row, "tested_cudnn", &cudnn, err) < 0)
		return -1;
	b.flavour = "tested";
	b.cuda = arena_printf(arena, "=%s", base->built_with);
	b.exact = true;
	b.cudnn = cudnn ? arena_printf(arena, ">=%s,<%llu", cudnn,
				       (unsigned long long)dotted_number(cudnn, 0) + 1)
			: NULL;
	b.confidence = "tested versions only";
	b.origin = row_origin(row, "tested", arena);
	vec_push(&out->builds, b);
	return 0;
}

int table_tensorflow_read(const struct table *table, struct arena *arena,
			  struct table_frameworks *out, struct error *err)
{
	json_t *releases, *pins;
	const char *version;

	if (table_list(table, "releases", &releases, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(releases); i++) {
		struct framework_build base = { 0 };
		struct table_row row;
		json_t *sets;

		if (table_row_at(table, "releases", releases, i, "version", arena, &row, err) < 0 ||
		    read_base(&row, &base, err) < 0)
			return -1;
		sets = json_object_get(row.json, "and_cuda");
		if (!json_object_size(sets)) {
			if (add_tested(&row, &base, arena, out, err) < 0)
				return -1;
			continue;
		}
		json_object_foreach(sets, version, pins)
		{
			if (add_pinned(&row, &base, version, pins, arena, out, err) < 0)
				return -1;
		}
	}
	return 0;
}
