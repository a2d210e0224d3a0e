#include "manifests/driver_verdict.h"

#include "manifests/dotted.h"

const char *driver_service_name(enum driver_service service)
{
	static const char *const names[] = {
		[SERVICE_IMPOSSIBLE] = "impossible",
		[SERVICE_FORWARD] = "forward-compat",
		[SERVICE_MINOR] = "minor-version",
		[SERVICE_NATIVE] = "native",
	};

	return names[service];
}

const char *gpu_service_name(enum gpu_service service)
{
	static const char *const names[] = {
		[GPU_NONE] = "none",
		[GPU_PTX] = "ptx-only",
		[GPU_UNKNOWN] = "unknown",
		[GPU_CODE] = "machine-code",
	};

	return names[service];
}

bool driver_older(const char *driver, const char *other)
{
	struct slice b = slice_str(other);

	if (!strchr(driver, '.'))
		b.len = strcspn(other, ".");
	return dotted_compare(slice_str(driver), b) < 0;
}

/* The first release of a minor. */
static const struct toolkit *first_of(const struct table_toolkits *t, const char *minor)
{
	for (size_t i = 0; i < t->count; i++) {
		if (str_equal(t->items[i].minor, minor) && toolkit_released(&t->items[i]))
			return &t->items[i];
	}
	return NULL;
}

/* By its branch; a driver of the very branch must not be older than what the first release asks. */
static bool serves_itself(const struct tables *tables, const struct driver_verdict *v,
			  const char *driver, const char *minor)
{
	const struct toolkit *first = first_of(&tables->toolkits, minor);
	const char *own = first ? first->own_driver : NULL;

	if (v->branch && v->branch->native_cuda) {
		if (dotted_order_minor(v->branch->native_cuda, minor) < 0)
			return false;
		return !own || dotted_number(own, 0) != dotted_number(driver, 0) ||
		       !driver_older(driver, own);
	}
	return own && !driver_older(driver, own);
}

struct driver_verdict driver_verdict(const struct tables *tables, const char *driver,
				     const char *cuda)
{
	char minor[48];
	struct driver_verdict v = { .branch = driver_branch_of(&tables->drivers, driver) };

	snprintf(minor, sizeof(minor), "%llu.%llu", (unsigned long long)dotted_number(cuda, 0),
		 (unsigned long long)dotted_number(cuda, 1));
	v.toolkit = toolkit_find(&tables->toolkits, minor);
	v.floor = toolkit_major(&tables->toolkits, (unsigned)dotted_number(cuda, 0));
	v.compat = compat_for(&tables->compat, minor);
	if (v.compat && !table_numbers_have(&v.compat->hosts, (unsigned)dotted_number(driver, 0)))
		v.compat = NULL;
	if (serves_itself(tables, &v, driver, minor))
		v.service = SERVICE_NATIVE;
	else if (v.floor && v.floor->minor_compat && !driver_older(driver, v.floor->min_driver))
		v.service = SERVICE_MINOR;
	else if (v.compat)
		v.service = SERVICE_FORWARD;
	return v;
}

struct gpu_verdict gpu_verdict(const struct gpu_arch *target, const struct table_texts *code,
			       const char *ptx)
{
	struct gpu_verdict v = { .service = GPU_NONE };

	for (size_t i = 0; i < code->count; i++) {
		const char *c = code->items[i];

		if (dotted_number(c, 0) == dotted_number(target->capability, 0) &&
		    dotted_order(c, target->capability) <= 0 &&
		    (!v.by || dotted_order(c, v.by) > 0))
			v = (struct gpu_verdict){ .service = GPU_CODE, .by = c };
	}
	if (v.service == GPU_NONE && ptx && dotted_order(ptx, target->capability) <= 0)
		v = (struct gpu_verdict){ .service = GPU_PTX, .by = ptx };
	if (v.service == GPU_NONE && !code->count)
		v.service = GPU_UNKNOWN;
	return v;
}

bool gpu_compiles(const struct gpu_arch *arch, const char *cuda_minor)
{
	return dotted_order_minor(arch->first_cuda, cuda_minor) <= 0 &&
	       (!arch->last_cuda || dotted_order_minor(cuda_minor, arch->last_cuda) <= 0);
}

struct gpu_verdict gpu_toolkit_verdict(const struct tables *tables, const struct gpu_arch *target,
				       const char *cuda_minor)
{
	struct gpu_verdict v = { .service = GPU_NONE };

	for (size_t i = 0; i < tables->gpus.count; i++) {
		const struct gpu_arch *a = &tables->gpus.items[i];
		struct table_texts one = { .items = (const char *[]){ a->capability }, .count = 1 };
		struct gpu_verdict w;

		if ((target->embedded || a->embedded) && a != target)
			continue;
		if (!gpu_compiles(a, cuda_minor))
			continue;
		w = gpu_verdict(target, &one, NULL);
		if (w.service == GPU_CODE && (!v.by || dotted_order(a->capability, v.by) > 0))
			v = (struct gpu_verdict){ .service = GPU_CODE, .by = a->capability };
	}
	return v;
}

unsigned gpu_first_branch(const struct tables *tables, const struct gpu_arch *arch)
{
	const struct toolkit *first = NULL;

	if (arch->stated_first_branch)
		return arch->stated_first_branch;
	for (size_t i = 0; i < tables->toolkits.count && !first; i++) {
		if (dotted_order_minor(tables->toolkits.items[i].version, arch->first_cuda) == 0)
			first = &tables->toolkits.items[i];
	}
	return first ? first->branch : 0;
}

const char *driver_verdict_text(const struct driver_verdict *v, const char *cuda,
				struct arena *arena)
{
	switch (v->service) {
	case SERVICE_NATIVE:
		return arena_printf(arena, "serves CUDA %s by itself", cuda);
	case SERVICE_MINOR:
		return arena_printf(
			arena,
			"runs machine code of CUDA %s by minor version compatibility, but "
			"refuses its PTX%s%s",
			cuda,
			v->compat ? ", unless the hosts have data-center GPUs and the image "
				    "carries "
				  : "",
			v->compat ? v->compat->name : "");
	case SERVICE_FORWARD:
		return arena_printf(
			arena,
			"runs CUDA %s only with the package %s in the image, on hosts of "
			"branch %u with data-center GPUs",
			cuda, v->compat->name, v->branch->branch);
	default:
		if (v->floor && v->floor->min_driver)
			return arena_printf(arena,
					    "cannot run CUDA %s, which needs driver %s or newer",
					    cuda, v->floor->min_driver);
		return arena_printf(arena, "cannot run CUDA %s", cuda);
	}
}

enum gpu_compat gpu_compat(const struct gpu_target *target)
{
	bool some = false, all = true;

	if (target->product)
		return target->product->class == GPU_DATA_CENTER   ? COMPAT_SUPPORTED
		       : target->product->class == GPU_WORKSTATION ? COMPAT_SOME_PRODUCTS
								   : COMPAT_NOT_SUPPORTED;
	for (size_t i = 0; i < target->arch->product_count; i++) {
		bool fit = target->arch->products[i].class == GPU_DATA_CENTER;

		some |= fit || target->arch->products[i].class == GPU_WORKSTATION;
		all &= fit;
	}
	if (all && target->arch->product_count)
		return COMPAT_SUPPORTED;
	return some || !target->arch->product_count ? COMPAT_SOME_PRODUCTS : COMPAT_NOT_SUPPORTED;
}
