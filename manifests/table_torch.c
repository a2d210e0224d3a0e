#include "manifests/dotted.h"
#include "manifests/table_frameworks.h"

static int read_python(const struct table_row *release, struct framework_build *out,
		       struct error *err)
{
	struct table_row row = *release;

	row.json = json_object_get(release->json, "python");
	if (!row.json || json_is_null(row.json))
		return 0;
	if (!json_is_object(row.json))
		return row_error(release, "python", err, "is not an object");
	if (row_version_opt(&row, "min", &out->python_min, err) < 0)
		return -1;
	return row_version_opt(&row, "max", &out->python_max, err);
}

/* "cu126" → "12.6" */
static const char *flavour_cuda(const char *flavour, struct arena *arena)
{
	const char *digits = flavour + 2;

	if (!str_starts(flavour, "cu") || strlen(digits) != 3 || !dotted_is(slice_of(digits, 3)))
		return NULL;
	return arena_printf(arena, "%.2s.%c", digits, digits[2]);
}

static int read_build(const struct table_row *row, const char *flavour, struct arena *arena,
		      struct framework_build *b, struct error *err)
{
	const char *toolkit, *cudnn, *nccl, *confidence;

	if (row_version_opt(row, "cuda_toolkit", &toolkit, err) < 0 ||
	    row_version_opt(row, "cudnn", &cudnn, err) < 0 ||
	    row_version_opt(row, "nccl", &nccl, err) < 0 ||
	    row_version_opt(row, "ptx", &b->ptx, err) < 0 ||
	    row_text_opt(row, "pins_confidence", &confidence, err) < 0 ||
	    row_bool_opt(row, "on_pypi", &b->is_default, err) < 0 ||
	    row_texts(row, "sm_x86_64", arena, &b->sm_amd64, err) < 0 ||
	    row_texts(row, "sm_aarch64", arena, &b->sm_arm64, err) < 0)
		return -1;
	b->flavour = flavour;
	b->built_with = toolkit ? toolkit : flavour_cuda(flavour, arena);
	if (!b->built_with)
		return row_error(row, "cuda_toolkit", err,
				 "is missing, and '%.20s' does not say it", flavour);
	b->cuda = arena_printf(arena, "==%s", b->built_with);
	b->cuda_major = (unsigned)dotted_number(b->built_with, 0);
	b->exact = true;
	if (cudnn)
		b->cudnn = arena_printf(arena, "==%s", cudnn);
	if (nccl)
		b->nccl = arena_printf(arena, "==%s", nccl);
	b->pins_cudnn = cudnn != NULL;
	b->pins_nccl = nccl != NULL;
	if (confidence && !str_equal(confidence, "observed"))
		b->confidence = confidence;
	b->origin = row_origin(row, "matrix", arena);
	return 0;
}

static int read_release(const struct table_row *release, struct arena *arena,
			struct table_frameworks *out, struct error *err)
{
	json_t *builds = json_object_get(release->json, "builds");
	struct framework_build base = { .framework = "torch" };
	const char *flavour;
	json_t *json;

	if (row_version(release, "version", &base.version, err) < 0 ||
	    read_python(release, &base, err) < 0)
		return -1;
	if (!json_is_object(builds))
		return row_error(release, "builds", err, "is not an object");
	json_object_foreach(builds, flavour, json)
	{
		struct framework_build b = base;
		struct table_row row = *release;

		row.name = arena_printf(arena, "%s %s", release->name, flavour);
		row.json = json;
		if (!json_is_object(json))
			return row_error(&row, "build", err, "is not an object");
		if (read_build(&row, flavour, arena, &b, err) < 0)
			return -1;
		vec_push(&out->builds, b);
	}
	return 0;
}

/* "manylinux_2_28" → "2.28"; other tags say nothing that holds. */
static const char *tag_glibc(const char *tag, struct arena *arena)
{
	const char *prefix = "manylinux_2_";

	return tag && str_starts(tag, prefix) ? arena_printf(arena, "2.%s", tag + strlen(prefix))
					      : NULL;
}

static int read_tags(const struct table *table, struct arena *arena, struct table_frameworks *out,
		     struct error *err)
{
	json_t *list;

	if (table_list(table, "wheel_tags", &list, err) < 0)
		return -1;
	out->torch_tags = arena_array(arena, json_array_size(list) + 1, sizeof(*out->torch_tags));
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct framework_tag *tag = &out->torch_tags[out->torch_tag_count++];
		const char *amd64, *arm64;
		struct table_row row;

		if (table_row_at(table, "wheel_tags", list, i, "from", arena, &row, err) < 0 ||
		    row_version(&row, "from", &tag->from, err) < 0 ||
		    row_version_opt(&row, "to", &tag->to, err) < 0 ||
		    row_text_opt(&row, "x86_64", &amd64, err) < 0 ||
		    row_text_opt(&row, "aarch64", &arm64, err) < 0)
			return -1;
		tag->amd64 = tag_glibc(amd64, arena);
		tag->arm64 = tag_glibc(arm64, arena);
		out->tag_origin = row_origin(&row, "locks", arena);
	}
	return 0;
}

int table_torch_read(const struct table *table, struct arena *arena, struct table_frameworks *out,
		     struct error *err)
{
	json_t *releases;

	if (table_list(table, "releases", &releases, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(releases); i++) {
		struct table_row row;

		if (table_row_at(table, "releases", releases, i, "version", arena, &row, err) < 0 ||
		    read_release(&row, arena, out, err) < 0)
			return -1;
	}
	return read_tags(table, arena, out, err);
}
