#include "manifests/dotted.h"
#include "manifests/tables_check.h"

static const json_t *root_of(const struct tables_checking *c, const char *file)
{
	for (size_t i = 0; i < TABLE_FILES; i++) {
		if (str_equal(c->t->files[i].file, file))
			return c->t->files[i].root;
	}
	return NULL;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool has_text(const json_t *list, const char *text)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (json_is_string(json_array_get(list, i)) &&
		    str_equal(json_string_value(json_array_get(list, i)), text))
			return true;
	}
	return false;
}

static const struct gpu_arch *arch_of_sm(const struct tables_checking *c, const char *sm)
{
	for (size_t i = 0; i < c->t->gpus.count; i++) {
		if (str_equal(c->t->gpus.items[i].sm, sm))
			return &c->t->gpus.items[i];
	}
	return NULL;
}

/* An architecture names a family that lists it, and a family lists architectures that exist. */
static void check_families(const struct tables_checking *c)
{
	const json_t *families = json_object_get(root_of(c, "gpu-archs.json"), "families");
	const struct table_origin row = { .file = "gpu-archs.json", .row = "families" };

	for (size_t i = 0; i < c->t->gpus.count; i++) {
		const struct gpu_arch *a = &c->t->gpus.items[i];
		bool listed = !a->family;

		for (size_t k = 0; k < json_array_size(families); k++) {
			const json_t *f = json_array_get(families, k);

			listed |= a->family && str_equal(text_of(f, "name"), a->family) &&
				  (has_text(json_object_get(f, "members"), a->sm) ||
				   has_text(json_object_get(f, "formerly"), a->sm));
		}
		if (!listed)
			tables_fault_add(c, &a->origin, "family %s does not list it", a->family);
	}
	for (size_t k = 0; k < json_array_size(families); k++) {
		const json_t *members = json_object_get(json_array_get(families, k), "members");

		for (size_t i = 0; i < json_array_size(members); i++) {
			const char *sm = json_string_value(json_array_get(members, i));

			if (!sm || !arch_of_sm(c, sm))
				tables_fault_add(c, &row, "no architecture %s", sm ? sm : "");
		}
	}
}

/* What a CUDA removed, the one before was the last to have. */
static void check_removals(const struct tables_checking *c)
{
	const json_t *removals = json_object_get(root_of(c, "gpu-archs.json"), "removals");

	for (size_t i = 0; i < json_array_size(removals); i++) {
		const json_t *r = json_array_get(removals, i),
			     *gone = json_object_get(r, "removed");
		const char *cuda = text_of(r, "cuda");
		const struct table_origin row = { .file = "gpu-archs.json", .row = "removals" };

		for (size_t k = 0; k < json_array_size(gone); k++) {
			const char *sm = json_string_value(json_array_get(gone, k));
			const struct gpu_arch *a = sm ? arch_of_sm(c, sm) : NULL;

			if (!a)
				tables_fault_add(c, &row, "%s: no architecture %s", cuda,
						 sm ? sm : "");
			else if (!a->last_cuda || dotted_order(a->last_cuda, cuda) >= 0)
				tables_fault_add(c, &a->origin,
						 "last_cuda %s, but CUDA %s removed it",
						 a->last_cuda ? a->last_cuda : "null", cuda);
		}
	}
}

/* The last driver branch of a generation is that of each of its architectures. */
static void check_generations(const struct tables_checking *c)
{
	const json_t *list =
		json_object_get(root_of(c, "driver-branches.json"), "arch_last_branch");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *r = json_array_get(list, i);
		json_int_t branch = json_integer_value(json_object_get(r, "branch"));

		for (size_t k = 0; k < c->t->gpus.count; k++) {
			const struct gpu_arch *a = &c->t->gpus.items[k];

			if (str_equal(a->generation, text_of(r, "generation")) &&
			    (json_int_t)a->last_branch != branch)
				tables_fault_add(c, &a->origin,
						 "last_driver_branch %u, but %s ends with %lld",
						 a->last_branch, a->generation, (long long)branch);
		}
	}
}

/* The cells of a package's row and its list of hosts say the same. */
static void check_cells(const struct tables_checking *c)
{
	const json_t *packages = json_object_get(root_of(c, "forward-compat.json"), "packages");

	for (size_t i = 0; i < c->t->compat.count; i++) {
		const struct compat_package *p = &c->t->compat.items[i];
		const char *branch;
		json_t *cell;

		json_object_foreach(json_object_get(json_array_get(packages, i), "hosts"), branch,
				    cell)
		{
			unsigned host = (unsigned)dotted_number(branch, 0);
			const char *says = json_string_value(cell) ? json_string_value(cell) : "";
			bool listed = table_numbers_have(&p->hosts, host);

			if (listed != str_equal(says, "compatible"))
				tables_fault_add(c, &p->origin,
						 "host %u is %s, but %s host_branches", host, says,
						 listed ? "in" : "not in");
			if (str_equal(says, "paired") != (host == p->built_from))
				tables_fault_add(c, &p->origin,
						 "host %u is %s, but the package is of %u", host,
						 says, p->built_from);
		}
	}
}

/* The index folders of a torch release are its builds. */
static void check_indexes(const struct tables_checking *c)
{
	const json_t *releases = json_object_get(root_of(c, "torch.json"), "releases");

	for (size_t i = 0; i < json_array_size(releases); i++) {
		const json_t *r = json_array_get(releases, i),
			     *indexes = json_object_get(r, "indexes");
		const struct table_origin row = { .file = "torch.json",
						  .row = text_of(r, "version") };
		const char *flavour;
		json_t *ignored;

		for (size_t k = 0; k < json_array_size(indexes); k++) {
			const char *index = json_string_value(json_array_get(indexes, k));

			if (!index || !json_object_get(json_object_get(r, "builds"), index))
				tables_fault_add(c, &row, "index %s has no build",
						 index ? index : "");
		}
		json_object_foreach(json_object_get(r, "builds"), flavour, ignored)
		{
			if (!has_text(indexes, flavour))
				tables_fault_add(c, &row, "build %s is in no index", flavour);
		}
	}
}

static void check_support_matrix(const struct tables_checking *c)
{
	const json_t *list = json_object_get(root_of(c, "cudnn.json"), "support_matrix");
	const struct table_origin row = { .file = "cudnn.json", .row = "support_matrix" };

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *r = json_array_get(list, i), *cuda = json_object_get(r, "cuda");

		for (size_t k = 0; k < json_array_size(cuda); k++)
			tables_need_minor(c, &row, text_of(r, "cudnn"),
					  json_string_value(json_array_get(cuda, k)));
	}
}

void tables_check_rows(const struct tables_checking *c)
{
	check_families(c);
	check_removals(c);
	check_generations(c);
	check_cells(c);
	check_indexes(c);
	check_support_matrix(c);
}
