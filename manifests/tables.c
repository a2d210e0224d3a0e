#include "manifests/tables.h"

static const char *const file_names[TABLE_FILES] = {
	"cuda-toolkits.json",
	"driver-branches.json",
	"forward-compat.json",
	"gpu-archs.json",
	"cudnn.json",
	"nccl.json",
	"torch.json",
	"tensorflow.json",
	"jax.json",
	"frameworks-other.json",
	"ngc-frameworks.json",
	"known-bad.json",
	"base-images.json",
};

static int read_all(struct tables *t, struct error *err)
{
	struct arena *a = &t->arena;
	const struct table *f = t->files;

	if (table_toolkits_read(&f[0], a, &t->toolkits, err) < 0 ||
	    table_drivers_read(&f[1], a, &t->drivers, err) < 0 ||
	    table_compat_read(&f[2], a, &t->compat, err) < 0 ||
	    table_gpus_read(&f[3], a, &t->gpus, err) < 0 ||
	    table_cudnn_read(&f[4], a, &t->libraries, err) < 0 ||
	    table_nccl_read(&f[5], a, &t->libraries, err) < 0 ||
	    table_torch_read(&f[6], a, &t->frameworks, err) < 0 ||
	    table_tensorflow_read(&f[7], a, &t->frameworks, err) < 0 ||
	    table_jax_read(&f[8], a, &t->frameworks, err) < 0 ||
	    table_others_read(&f[9], a, &t->frameworks, err) < 0 ||
	    table_ngc_read(&f[10], a, &t->images, err) < 0 ||
	    table_known_bad_read(&f[11], a, &t->known_bad, err) < 0 ||
	    table_systems_read(&f[12], a, &t->images, err) < 0)
		return -1;
	table_frameworks_sort(&t->frameworks);
	return 0;
}

/* Lists without which there is nothing to answer from. */
static int need_rows(const struct tables *t, struct error *err)
{
	const struct {
		size_t count;
		const char *file, *list;
	} lists[] = {
		{ t->toolkits.count, "cuda-toolkits.json", "toolkits" },
		{ t->toolkits.major_count, "cuda-toolkits.json", "majors" },
		{ t->drivers.count, "driver-branches.json", "branches" },
		{ t->gpus.count, "gpu-archs.json", "archs" },
		{ t->libraries.cudnn_count, "cudnn.json", "releases" },
		{ t->libraries.nccl_count, "nccl.json", "releases" },
	};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (!lists[i].count)
			return error_set(err, ERROR_FORMAT, "%s: %s: is empty", lists[i].file,
					 lists[i].list);
	}
	return 0;
}

int tables_load(const char *dir, struct tables *out, struct error *err)
{
	*out = (struct tables){ 0 };
	for (size_t i = 0; i < TABLE_FILES; i++) {
		if (table_open(dir, file_names[i], &out->files[i], err) < 0) {
			tables_release(out);
			return -1;
		}
	}
	if (read_all(out, err) < 0 || need_rows(out, err) < 0) {
		tables_release(out);
		return -1;
	}
	return 0;
}

void tables_release(struct tables *tables)
{
	for (size_t i = 0; i < TABLE_FILES; i++)
		table_close(&tables->files[i]);
	vec_release(&tables->frameworks.builds);
	vec_release(&tables->images.ngc);
	arena_release(&tables->arena);
	*tables = (struct tables){ 0 };
}
