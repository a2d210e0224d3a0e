#include "manifests/dotted.h"
#include "manifests/table_frameworks.h"

/* The requirement on one NVIDIA distribution among those of an extra, or NULL. */
static const char *range_of(const json_t *extra, const char *stem)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)extra, name, value)
	{
		if (str_starts(name, stem) &&
		    (!name[strlen(stem)] || str_starts(name + strlen(stem), "-cu")))
			return json_string_value(value);
	}
	return NULL;
}

/* "cuda12_pip" → 12 */
static unsigned extra_major(const char *extra)
{
	uint64_t major = 0;

	if (str_starts(extra, "cuda") &&
	    slice_u64(slice_of(extra + 4, strspn(extra + 4, "0123456789")), &major) && major < 1000)
		return (unsigned)major;
	return 0;
}

/* ">=12.1.105" is a build number of 12.1: what counts is the minor; the major is the extra's. */
static const char *toolkit_range(const char *runtime, unsigned major, struct arena *arena)
{
	const char *digits = runtime ? runtime + strcspn(runtime, "0123456789") : NULL;

	if (!digits || dotted_number(digits, 0) != major)
		return arena_printf(arena, ">=%u,<%u", major, major + 1);
	return arena_printf(arena, ">=%u.%llu,<%u", major,
			    (unsigned long long)dotted_number(digits, 1), major + 1);
}

/* "sm_90" → "9.0", "sm_100" → "10.0" */
static const char *capability_of(const char *arch, struct arena *arena)
{
	const char *digits = strchr(arch, '_');
	size_t n = digits ? strlen(++digits) : 0;

	if (n < 2 || strspn(digits, "0123456789") != n)
		return NULL;
	return arena_printf(arena, "%.*s.%c", (int)(n - 1), digits, digits[n - 1]);
}

static int read_built_with(const struct table_row *release, const char *extra, struct arena *arena,
			   struct framework_build *b, struct error *err)
{
	struct table_row row = *release;
	struct table_texts archs;

	row.json = json_object_get(json_object_get(release->json, "built_with"), extra);
	row.name = arena_printf(arena, "%s built_with %s", release->name, extra);
	if (!row.json || json_is_null(row.json))
		return 0;
	if (row_version_opt(&row, "cuda", &b->built_with, err) < 0 ||
	    row_texts(&row, "arch", arena, &archs, err) < 0)
		return -1;
	b->sm_amd64.items = arena_array(arena, archs.count + 1, sizeof(char *));
	for (size_t i = 0; i < archs.count; i++) {
		const char *capability = capability_of(archs.items[i], arena);

		if (!capability)
			return row_error(&row, "arch", err, "'%.40s' is not sm_NN or compute_NN",
					 archs.items[i]);
		if (str_starts(archs.items[i], "compute_"))
			b->ptx = capability;
		else
			b->sm_amd64.items[b->sm_amd64.count++] = capability;
	}
	b->sm_arm64 = b->sm_amd64;
	return 0;
}

static int add_extra(const struct table_row *release, const char *extra, const json_t *pins,
		     const struct framework_build *base, struct arena *arena,
		     struct table_frameworks *out, struct error *err)
{
	struct framework_build b = *base;

	b.cuda_major = extra_major(extra);
	if (!b.cuda_major)
		return row_error(release, "extras", err, "'%.40s' names no CUDA major", extra);
	b.flavour = extra;
	b.package = arena_printf(arena, "jax[%s]", extra);
	b.cuda = toolkit_range(range_of(pins, "nvidia-cuda-runtime"), b.cuda_major, arena);
	b.cudnn = range_of(pins, "nvidia-cudnn");
	b.nccl = range_of(pins, "nvidia-nccl");
	b.built_with = arena_printf(arena, "%u", b.cuda_major);
	if (read_built_with(release,
			    str_ends(extra, "_pip") ? arena_printf(arena, "cuda%u", b.cuda_major)
						    : extra,
			    arena, &b, err) < 0)
		return -1;
	if ((b.cudnn && dotted_range_check(b.cudnn, err) < 0) ||
	    (b.nccl && dotted_range_check(b.nccl, err) < 0)) {
		struct error cause = *err;

		return row_error(release, extra, err, "%s", cause.text);
	}
	b.origin = row_origin(release, NULL, arena);
	b.origin.source = arena_printf(arena, "github.com/jax-ml/jax at tag jax-v%s: %s", b.version,
				       b.origin.source);
	b.origin.row = arena_printf(arena, "releases %s %s", b.version, extra);
	vec_push(&out->builds, b);
	return 0;
}

int table_jax_read(const struct table *table, struct arena *arena, struct table_frameworks *out,
		   struct error *err)
{
	json_t *releases, *pins;
	const char *extra;

	if (table_list(table, "releases", &releases, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(releases); i++) {
		struct framework_build base = { .framework = "jax" };
		struct table_row row;
		json_t *extras;

		if (table_row_at(table, "releases", releases, i, "version", arena, &row, err) < 0 ||
		    row_version(&row, "version", &base.version, err) < 0 ||
		    row_version_opt(&row, "python_min", &base.python_min, err) < 0)
			return -1;
		extras = json_object_get(row.json, "extras");
		if (!json_is_object(extras))
			return row_error(&row, "extras", err, "is not an object");
		json_object_foreach(extras, extra, pins)
		{
			if (!json_is_object(pins))
				return row_error(&row, extra, err, "is not an object");
			if (add_extra(&row, extra, pins, &base, arena, out, err) < 0)
				return -1;
		}
	}
	return 0;
}
