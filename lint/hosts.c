#include "lint/hosts.h"

#include "lint/facts.h"
#include "manifests/dotted.h"

static unsigned sm_of(const struct gpu_arch *arch)
{
	return (unsigned)(dotted_number(arch->capability, 0) * 10 +
			  dotted_number(arch->capability, 1));
}

static int add_gpu(struct facts *facts, const char *text, struct error *err)
{
	struct host_gpu gpu = { .text = arena_strdup(&facts->arena, text) };

	if (gpu_target_find(&facts->tables.gpus, gpu.text, &gpu.target, err) < 0)
		return error_wrap(err, "--gpu");
	/* Thor was sm_101 until CUDA 12.9; drivers that know the board call it sm_110. */
	if (gpu.target.product && str_equal(gpu.target.arch->sm, "sm_101") &&
	    gpu_arch(&facts->tables.gpus, "11.0"))
		gpu.target.arch = gpu_arch(&facts->tables.gpus, "11.0");
	gpu.sm = sm_of(gpu.target.arch);
	for (size_t i = 0; i < facts->hosts.gpus.len; i++) {
		if (str_equal(facts->hosts.gpus.items[i].text, gpu.text))
			return 0;
	}
	vec_push(&facts->hosts.gpus, gpu);
	return 0;
}

static void add_driver(struct facts *facts, const char *text, const char *cuda)
{
	const char *version = text;
	const struct driver_branch *branch;

	while (*version == '>' || *version == '=' || *version == ' ')
		version++;
	version = arena_strdup(&facts->arena, version);
	branch = driver_branch_of(&facts->tables.drivers, version);
	if (!cuda && branch && branch->branch == dotted_number(version, 0))
		cuda = branch->native_cuda;
	vec_push(&facts->hosts.drivers,
		 ((struct host_driver){ .text = arena_strdup(&facts->arena, text),
					.version = version,
					.cuda = cuda }));
}

static void gpus_of_labels(struct facts *facts)
{
	const char *text = facts_label(facts, "io.gpuimg.gpus");
	struct slice rest = slice_str(text ? text : ""), one;
	struct error ignored = { 0 };

	while (text && slice_cut(&rest, ',', &one)) {
		one = slice_trim(one);
		if (one.len && add_gpu(facts, arena_slice(&facts->arena, one), &ignored) == 0)
			facts->hosts.gpus_from_labels = true;
	}
}

static void driver_of_labels(struct facts *facts)
{
	const char *text = facts_label(facts, "io.gpuimg.driver");
	struct slice s = text ? slice_trim(slice_str(text)) : (struct slice){ 0 };

	while (s.len && (s.data[0] == '>' || s.data[0] == '=' || s.data[0] == ' '))
		s = slice_of(s.data + 1, s.len - 1);
	if (!dotted_is(s))
		return;
	add_driver(facts, text, NULL);
	facts->hosts.drivers_from_labels = true;
}

int hosts_derive(struct facts *facts, struct error *err)
{
	const struct target *t = facts->target;

	for (size_t i = 0; t && i < t->gpus.len; i++) {
		if (add_gpu(facts, t->gpus.items[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; t && i < t->drivers.len; i++)
		add_driver(facts, t->drivers.items[i], t->driver_cuda);
	if (t && !t->drivers.len && t->driver_cuda)
		vec_push(&facts->hosts.drivers,
			 ((struct host_driver){
				 .text = arena_printf(&facts->arena, "CUDA %s", t->driver_cuda),
				 .cuda = t->driver_cuda }));
	if (!facts->hosts.gpus.len)
		gpus_of_labels(facts);
	if (!facts->hosts.drivers.len)
		driver_of_labels(facts);
	return 0;
}

void hosts_release(struct hosts *hosts)
{
	vec_release(&hosts->gpus);
	vec_release(&hosts->drivers);
}

int hosts_check(const struct target *target, struct error *err)
{
	cleanup_tables struct tables tables = { 0 };
	struct gpu_target ignored;

	if (!target->gpus.len)
		return 0;
	if (tables_load(NULL, &tables, err) < 0)
		return -1;
	for (size_t i = 0; i < target->gpus.len; i++) {
		if (gpu_target_find(&tables.gpus, target->gpus.items[i], &ignored, err) < 0)
			return error_wrap(err, "--gpu");
	}
	return 0;
}

const char *host_gpu_name(const struct host_gpu *gpu, struct arena *arena)
{
	if (!gpu->target.product)
		return gpu->target.arch->sm;
	return arena_printf(arena, "%s (%s)", gpu->text, gpu->target.arch->sm);
}

const char *host_driver_name(const struct host_driver *driver, struct arena *arena)
{
	if (!driver->version)
		return arena_printf(arena, "a driver of CUDA %s", driver->cuda);
	return arena_printf(arena, "driver %s%s", driver->version,
			    *driver->text == '>' ? " or newer" : "");
}

const char *ptx_cuda(const struct table_gpus *gpus, unsigned major, unsigned minor,
		     struct arena *arena)
{
	const struct ptx_version *below = NULL;
	const char *ptx = arena_printf(arena, "%u.%u", major, minor);

	for (size_t i = 0; i < gpus->ptx_count; i++) {
		int order = dotted_order(gpus->ptx[i].ptx, ptx);

		if (order == 0)
			return gpus->ptx[i].cuda;
		if (order < 0) {
			below = &gpus->ptx[i];
			continue;
		}
		/* Between two rows of one major the versions follow the minor. */
		if (!below || dotted_number(below->ptx, 0) != major ||
		    dotted_number(gpus->ptx[i].ptx, 0) != major ||
		    dotted_number(below->cuda, 0) != dotted_number(gpus->ptx[i].cuda, 0))
			return NULL;
		return arena_printf(arena, "%" PRIu64 ".%" PRIu64, dotted_number(below->cuda, 0),
				    dotted_number(below->cuda, 1) + minor -
					    dotted_number(below->ptx, 1));
	}
	return NULL;
}
