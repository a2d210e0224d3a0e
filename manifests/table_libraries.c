#include "manifests/table_libraries.h"

#include "base/vec.h"
#include "manifests/dotted.h"

static int read_cudnn(const struct table_row *row, struct arena *arena, struct library_release *out,
		      struct error *err)
{
	if (row_version(row, "version", &out->version, err) < 0 ||
	    row_numbers(row, "cuda_majors", arena, &out->majors, err) < 0 ||
	    row_bool_opt(row, "pypi_yanked", &out->withdrawn, err) < 0)
		return -1;
	if (!out->majors.count)
		return row_error(row, "cuda_majors", err, "is empty");
	out->origin = row_origin(row, NULL, arena);
	return 0;
}

static int read_gpu_rules(const struct table *table, struct arena *arena,
			  struct table_libraries *out, struct error *err)
{
	json_t *rules;

	if (table_list(table, "cc_rules", &rules, err) < 0)
		return -1;
	out->gpu_rules = arena_array(arena, json_array_size(rules) + 1, sizeof(*out->gpu_rules));
	for (size_t i = 0; i < json_array_size(rules); i++) {
		struct library_gpu_rule r = { 0 };
		struct table_row row;

		if (table_row_at(table, "cc_rules", rules, i, "from", arena, &row, err) < 0 ||
		    row_version(&row, "from", &r.from, err) < 0 ||
		    row_version_opt(&row, "to", &r.to, err) < 0 ||
		    row_version_opt(&row, "cc_min", &r.capability, err) < 0 ||
		    row_text_opt(&row, "note", &r.note, err) < 0)
			return -1;
		if (r.capability)
			out->gpu_rules[out->gpu_rule_count++] = r;
	}
	out->gpu_rule_origin = (struct table_origin){
		.file = table->file,
		.row = "cc_rules",
		.source = "https://docs.nvidia.com/deeplearning/cudnn/backend/latest/reference/"
			  "support-matrix.html",
	};
	return 0;
}

static int compare_releases(const void *a, const void *b)
{
	return dotted_order(((const struct library_release *)a)->version,
			    ((const struct library_release *)b)->version);
}

int table_cudnn_read(const struct table *table, struct arena *arena, struct table_libraries *out,
		     struct error *err)
{
	json_t *releases, *images;

	if (table_list(table, "releases", &releases, err) < 0 ||
	    table_object(table, "images", &images, err) < 0)
		return -1;
	out->cudnn_images = images;
	out->cudnn = arena_array(arena, json_array_size(releases) + 1, sizeof(*out->cudnn));
	for (size_t i = 0; i < json_array_size(releases); i++) {
		struct table_row row;

		if (table_row_at(table, "releases", releases, i, "version", arena, &row, err) < 0 ||
		    read_cudnn(&row, arena, &out->cudnn[out->cudnn_count++], err) < 0)
			return -1;
	}
	if (out->cudnn_count > 1)
		qsort(out->cudnn, out->cudnn_count, sizeof(*out->cudnn), compare_releases);
	return read_gpu_rules(table, arena, out, err);
}

static int add_build_majors(const struct table_row *row, struct arena *arena,
			    struct table_numbers *majors, struct error *err)
{
	const json_t *builds = json_object_get(row->json, "builds");

	for (size_t i = 0; i < json_array_size(builds); i++) {
		struct table_row build;
		const char *cuda;
		unsigned major;

		if (table_row_at(row->table, row->name, builds, i, "form", arena, &build, err) <
			    0 ||
		    row_version_opt(&build, "cuda", &cuda, err) < 0)
			return -1;
		major = cuda ? (unsigned)dotted_number(cuda, 0) : 0;
		if (cuda && !table_numbers_have(majors, major))
			majors->items[majors->count++] = major;
	}
	return 0;
}

static int read_nccl(const struct table_row *row, struct arena *arena, struct library_release *out,
		     struct error *err)
{
	struct table_numbers source;
	size_t builds = json_array_size(json_object_get(row->json, "builds"));

	if (row_version(row, "version", &out->version, err) < 0 ||
	    row_numbers(row, "cuda_majors_source_build", arena, &source, err) < 0)
		return -1;
	out->majors.items = arena_array(arena, source.count + builds + 1, sizeof(unsigned));
	for (size_t i = 0; i < source.count; i++)
		out->majors.items[out->majors.count++] = source.items[i];
	if (add_build_majors(row, arena, &out->majors, err) < 0)
		return -1;
	out->origin = row_origin(row, "repo", arena);
	return 0;
}

int table_nccl_read(const struct table *table, struct arena *arena, struct table_libraries *out,
		    struct error *err)
{
	json_t *releases;

	if (table_list(table, "releases", &releases, err) < 0)
		return -1;
	out->nccl = arena_array(arena, json_array_size(releases) + 1, sizeof(*out->nccl));
	for (size_t i = 0; i < json_array_size(releases); i++) {
		struct table_row row;

		if (table_row_at(table, "releases", releases, i, "version", arena, &row, err) < 0 ||
		    read_nccl(&row, arena, &out->nccl[out->nccl_count++], err) < 0)
			return -1;
	}
	if (out->nccl_count > 1)
		qsort(out->nccl, out->nccl_count, sizeof(*out->nccl), compare_releases);
	return 0;
}

const struct library_gpu_rule *cudnn_gpu_rule(const struct table_libraries *t, const char *version)
{
	for (size_t i = 0; i < t->gpu_rule_count; i++) {
		const struct library_gpu_rule *r = &t->gpu_rules[i];

		if (dotted_order(version, r->from) >= 0 &&
		    (!r->to || dotted_order(version, r->to) <= 0 ||
		     dotted_prefix(slice_str(version), slice_str(r->to))))
			return r;
	}
	return NULL;
}
