#include "manifests/table_gpus.h"

#include "base/nearest.h"
#include "manifests/dotted.h"

static const char *const class_names[] = {
	[GPU_DATA_CENTER] = "data-center",
	[GPU_WORKSTATION] = "workstation",
	[GPU_CONSUMER] = "consumer",
	[GPU_EMBEDDED] = "embedded",
};

static int read_product(const struct table_row *row, struct gpu_product *out, struct error *err)
{
	const char *class;

	if (row_text(row, "name", &out->name, err) < 0 || row_text(row, "class", &class, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(class_names); i++) {
		if (str_equal(class, class_names[i])) {
			out->class = (enum gpu_class)i;
			return 0;
		}
	}
	return row_error(row, "class", err, "'%.40s' is not a class of product_classes", class);
}

static int read_products(const struct table_row *arch, struct arena *arena, struct gpu_arch *out,
			 struct error *err)
{
	const json_t *list = json_object_get(arch->json, "products");

	if (!json_is_array(list))
		return row_error(arch, "products", err, "is not a list");
	out->products = arena_array(arena, json_array_size(list) + 1, sizeof(*out->products));
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct table_row row;

		if (table_row_at(arch->table, arch->name, list, i, "name", arena, &row, err) < 0 ||
		    read_product(&row, &out->products[out->product_count++], err) < 0)
			return -1;
	}
	return 0;
}

static int read_arch(const struct table_row *row, struct arena *arena, struct gpu_arch *out,
		     struct error *err)
{
	if (row_text(row, "sm", &out->sm, err) < 0 ||
	    row_version(row, "compute_capability", &out->capability, err) < 0 ||
	    row_text(row, "generation", &out->generation, err) < 0 ||
	    row_text_opt(row, "family", &out->family, err) < 0 ||
	    row_bool_opt(row, "jetson_or_embedded", &out->embedded, err) < 0 ||
	    row_version(row, "first_cuda", &out->first_cuda, err) < 0 ||
	    row_text_opt(row, "first_cuda_basis", &out->first_basis, err) < 0 ||
	    row_version_opt(row, "last_cuda", &out->last_cuda, err) < 0 ||
	    row_number_opt(row, "last_driver_branch", &out->last_branch, err) < 0 ||
	    row_number_opt(row, "min_driver_branch_stated", &out->stated_first_branch, err) < 0 ||
	    read_products(row, arena, out, err) < 0)
		return -1;
	out->origin = row_origin(row, NULL, arena);
	return 0;
}

int table_gpus_read(const struct table *table, struct arena *arena, struct table_gpus *out,
		    struct error *err)
{
	json_t *archs, *ptx;
	struct table_row row;

	if (table_list(table, "archs", &archs, err) < 0 ||
	    table_list(table, "ptx_isa_to_cuda", &ptx, err) < 0)
		return -1;
	out->items = arena_array(arena, json_array_size(archs) + 1, sizeof(*out->items));
	out->ptx = arena_array(arena, json_array_size(ptx) + 1, sizeof(*out->ptx));
	for (size_t i = 0; i < json_array_size(archs); i++) {
		if (table_row_at(table, "archs", archs, i, "sm", arena, &row, err) < 0 ||
		    read_arch(&row, arena, &out->items[out->count++], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < json_array_size(ptx); i++) {
		struct ptx_version *v = &out->ptx[out->ptx_count++];

		if (table_row_at(table, "ptx_isa_to_cuda", ptx, i, "ptx", arena, &row, err) < 0 ||
		    row_version(&row, "ptx", &v->ptx, err) < 0 ||
		    row_version(&row, "cuda", &v->cuda, err) < 0)
			return -1;
	}
	return 0;
}

const struct gpu_arch *gpu_arch(const struct table_gpus *t, const char *capability)
{
	for (size_t i = 0; i < t->count; i++) {
		if (dotted_order(t->items[i].capability, capability) == 0)
			return &t->items[i];
	}
	return NULL;
}

/* Lower case, letters and digits only. */
static void normalise(const char *text, char out[64])
{
	size_t n = 0;

	for (; *text && n < 63; text++) {
		char c = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;

		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			out[n++] = c;
	}
	out[n] = 0;
}

/* True when `whole` is `part`, or `part` after brand words only. */
static bool is_name(const char *whole, const char *part)
{
	static const char *const brands[] = { "nvidia", "geforce", "tesla", "quadro",
					      "jetson", "rtx",     "gtx" };
	size_t n = strlen(whole), k = strlen(part), at = 0;

	if (!k || !str_ends(whole, part))
		return false;
	while (at < n - k) {
		size_t before = at;

		for (size_t i = 0; i < ARRAY_LEN(brands); i++) {
			if (str_starts(whole + at, brands[i]) && at + strlen(brands[i]) <= n - k) {
				at += strlen(brands[i]);
				break;
			}
		}
		if (at == before)
			return false;
	}
	return true;
}

/* "sm_90a", "compute_90", "90" → sm_90 */
static const struct gpu_arch *arch_of_name(const struct table_gpus *t, const char *text)
{
	size_t n;

	if (str_starts(text, "compute_"))
		text += strlen("compute_");
	else if (str_starts(text, "sm_"))
		text += strlen("sm_");
	else
		return strchr(text, '.') && dotted_is(slice_str(text)) ? gpu_arch(t, text) : NULL;
	n = strspn(text, "0123456789");
	if (text[n] && !str_equal(text + n, "a") && !str_equal(text + n, "f"))
		return NULL;
	for (size_t i = 0; i < t->count; i++) {
		const char *digits = t->items[i].sm + strlen("sm_");

		if (strlen(digits) == n && strncmp(digits, text, n) == 0)
			return &t->items[i];
	}
	return NULL;
}

static bool find_product(const struct table_gpus *t, const char *text, struct gpu_target *out)
{
	char wanted[64], name[64];
	const char *part = wanted;

	normalise(text, wanted);
	if (str_starts(part, "nvidia"))
		part += strlen("nvidia");
	for (size_t i = 0; i < t->count; i++) {
		for (size_t k = 0; k < t->items[i].product_count; k++) {
			normalise(t->items[i].products[k].name, name);
			if (is_name(name, part) || is_name(part, name)) {
				out->arch = &t->items[i];
				out->product = &t->items[i].products[k];
				return true;
			}
		}
	}
	return false;
}

static int unknown_gpu(const struct table_gpus *t, const char *text, struct error *err)
{
	struct nearest n = nearest_start(text);

	for (size_t i = 0; i < t->count; i++) {
		nearest_try(&n, t->items[i].sm);
		for (size_t k = 0; k < t->items[i].product_count; k++)
			nearest_try(&n, t->items[i].products[k].name);
	}
	if (n.best)
		return error_set(err, ERROR_USAGE, "no GPU '%.60s' is known; did you mean %s?",
				 text, n.best);
	return error_set(
		err, ERROR_USAGE,
		"no GPU '%.60s' is known; name an architecture (sm_90) or a product (h100)", text);
}

int gpu_target_find(const struct table_gpus *t, const char *text, struct gpu_target *out,
		    struct error *err)
{
	*out = (struct gpu_target){ .text = text, .arch = arch_of_name(t, text) };
	if (out->arch || find_product(t, text, out))
		return 0;
	return unknown_gpu(t, text, err);
}

const char *gpu_ptx_of(const struct table_gpus *t, const char *cuda_minor, struct arena *arena)
{
	uint64_t minor = dotted_number(cuda_minor, 1);
	const struct ptx_version *below = NULL, *above = NULL;

	for (size_t i = 0; i < t->ptx_count; i++) {
		int order = dotted_order(t->ptx[i].cuda, cuda_minor);

		if (order == 0)
			return t->ptx[i].ptx;
		if (order < 0)
			below = &t->ptx[i];
		else if (!above)
			above = &t->ptx[i];
	}
	if (!below || !above || dotted_number(below->cuda, 0) != dotted_number(cuda_minor, 0) ||
	    dotted_number(above->cuda, 0) != dotted_number(cuda_minor, 0))
		return NULL;
	minor = MIN(minor, dotted_number(above->ptx, 1) - 1);
	return arena_printf(arena, "%llu.%llu", (unsigned long long)dotted_number(below->ptx, 0),
			    (unsigned long long)minor);
}
