#include "manifests/dotted.h"
#include "manifests/tables_check.h"

void tables_fault_add(const struct tables_checking *c, const struct table_origin *row,
		      const char *fmt, ...)
{
	struct tables_fault f = { .file = row->file, .row = row->row };
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	f.text = arena_strdup(&c->out->arena, text);
	vec_push(c->out, f);
}

static bool minor_exists(const struct tables_checking *c, const char *cuda)
{
	for (size_t i = 0; i < c->t->toolkits.count; i++) {
		if (dotted_prefix(slice_str(c->t->toolkits.items[i].minor), slice_str(cuda)))
			return true;
	}
	for (size_t i = 0; i < c->t->toolkits.never_released.count; i++) {
		if (dotted_prefix(slice_str(c->t->toolkits.never_released.items[i]),
				  slice_str(cuda)))
			return true;
	}
	return false;
}

void tables_need_minor(const struct tables_checking *c, const struct table_origin *row,
		       const char *what, const char *cuda)
{
	if (cuda && !minor_exists(c, cuda))
		tables_fault_add(c, row, "%s: no toolkit %s in cuda-toolkits.json", what, cuda);
}

static void need_branch(const struct tables_checking *c, const struct table_origin *row,
			const char *what, unsigned branch)
{
	if (branch && !driver_branch(&c->t->drivers, branch))
		tables_fault_add(c, row, "%s: no branch %u in driver-branches.json", what, branch);
}

static void need_arch(const struct tables_checking *c, const struct table_origin *row,
		      const char *what, const char *capability)
{
	if (capability && !gpu_arch(&c->t->gpus, capability))
		tables_fault_add(c, row, "%s: no architecture of capability %s in gpu-archs.json",
				 what, capability);
}

static void check_majors(const struct tables_checking *c)
{
	const struct table_toolkits *t = &c->t->toolkits;

	for (size_t i = 0; i < t->major_count; i++) {
		const struct toolkit_major *m = &t->majors[i], *before = i ? m - 1 : NULL;

		need_branch(c, &m->origin, "min_driver_branch", m->min_branch);
		if (before && before->major >= m->major)
			tables_fault_add(c, &m->origin, "comes after CUDA %u", before->major);
		if (before && before->min_driver && m->min_driver &&
		    dotted_order(before->min_driver, m->min_driver) >= 0)
			tables_fault_add(c, &m->origin,
					 "its driver floor %s is not above that of CUDA %u, %s",
					 m->min_driver, before->major, before->min_driver);
		if (m->min_driver && dotted_number(m->min_driver, 0) != m->min_branch)
			tables_fault_add(c, &m->origin, "min_driver %s is not of branch %u",
					 m->min_driver, m->min_branch);
	}
}

static void check_toolkits(const struct tables_checking *c)
{
	const struct table_toolkits *t = &c->t->toolkits;

	for (size_t i = 0; i < t->count; i++) {
		const struct toolkit *k = &t->items[i], *before = i ? k - 1 : NULL;

		if (!toolkit_major(t, k->major))
			tables_fault_add(c, &k->origin, "no row of CUDA %u in majors", k->major);
		need_branch(c, &k->origin, "driver_branch", k->branch);
		if (before && dotted_order(before->version, k->version) >= 0)
			tables_fault_add(c, &k->origin, "comes after %s", before->version);
		if (before && before->branch > k->branch && k->branch)
			tables_fault_add(c, &k->origin,
					 "its driver branch %u is older than that of %s, %u",
					 k->branch, before->version, before->branch);
		if (before && before->own_driver && k->own_driver &&
		    dotted_number(k->own_driver, 0) < dotted_number(before->own_driver, 0))
			tables_fault_add(c, &k->origin, "its floor %s is below that of %s, %s",
					 k->own_driver, before->version, before->own_driver);
	}
}

static void check_drivers(const struct tables_checking *c)
{
	const struct table_drivers *t = &c->t->drivers;
	const char *native = NULL;

	for (size_t i = 0; i < t->count; i++) {
		const struct driver_branch *b = &t->items[i];

		if (i && b[-1].branch >= b->branch)
			tables_fault_add(c, &b->origin, "comes after branch %u", b[-1].branch);
		tables_need_minor(c, &b->origin, "native_cuda", b->native_cuda);
		if (native && b->native_cuda && dotted_order(native, b->native_cuda) >= 0)
			tables_fault_add(c, &b->origin,
					 "native_cuda %s is not above %s of the branch before",
					 b->native_cuda, native);
		if (b->native_cuda)
			native = b->native_cuda;
		if (b->latest && dotted_number(b->latest, 0) != b->branch)
			tables_fault_add(c, &b->origin, "latest_seen_linux %s is of another branch",
					 b->latest);
	}
	for (size_t i = 0; i < t->active.count; i++) {
		if (!driver_branch(t, t->active.items[i]))
			tables_fault_add(c, &t->items[0].origin, "active branch %u has no row",
					 t->active.items[i]);
	}
}

/* The columns of one package's row say the same as its list of hosts. */
static void check_compat_hosts(const struct tables_checking *c, const struct compat_package *p)
{
	const struct driver_branch *own = driver_branch(&c->t->drivers, p->built_from);

	for (size_t i = 0; i < p->hosts.count; i++) {
		unsigned host = p->hosts.items[i];

		need_branch(c, &p->origin, "host_branches", host);
		if (!table_numbers_have(&c->t->compat.columns, host))
			tables_fault_add(c, &p->origin,
					 "host branch %u is no column of host_columns", host);
		if (host >= p->built_from)
			tables_fault_add(c, &p->origin,
					 "host branch %u is not older than the package's own %u",
					 host, p->built_from);
	}
	if (own && own->native_cuda && dotted_order(own->native_cuda, p->cuda) != 0)
		tables_fault_add(c, &p->origin, "is built from branch %u, whose CUDA is %s",
				 p->built_from, own->native_cuda);
}

static void check_compat(const struct tables_checking *c)
{
	for (size_t i = 0; i < c->t->compat.count; i++) {
		const struct compat_package *p = &c->t->compat.items[i];

		tables_need_minor(c, &p->origin, "cuda", p->cuda);
		need_branch(c, &p->origin, "built_from_branch", p->built_from);
		check_compat_hosts(c, p);
		for (size_t k = 0; k < i; k++) {
			if (str_equal(c->t->compat.items[k].cuda, p->cuda))
				tables_fault_add(c, &p->origin, "CUDA %s has another package",
						 p->cuda);
		}
	}
}

static void check_arch(const struct tables_checking *c, size_t i)
{
	const struct gpu_arch *a = &c->t->gpus.items[i];
	cleanup_free char *sm =
		xasprintf("sm_%llu%llu", (unsigned long long)dotted_number(a->capability, 0),
			  (unsigned long long)dotted_number(a->capability, 1));

	if (!str_equal(sm, a->sm))
		tables_fault_add(c, &a->origin, "capability %s is not that of %s", a->capability,
				 a->sm);
	if (i && dotted_order(a[-1].capability, a->capability) >= 0)
		tables_fault_add(c, &a->origin, "comes after capability %s", a[-1].capability);
	if (dotted_order(a->first_cuda, c->t->toolkits.items[0].minor) >= 0)
		tables_need_minor(c, &a->origin, "first_cuda", a->first_cuda);
	if (a->last_cuda && dotted_order(a->last_cuda, c->t->toolkits.items[0].minor) >= 0)
		tables_need_minor(c, &a->origin, "last_cuda", a->last_cuda);
	if (a->last_cuda && dotted_order(a->first_cuda, a->last_cuda) > 0)
		tables_fault_add(c, &a->origin, "first_cuda %s is above last_cuda %s",
				 a->first_cuda, a->last_cuda);
	need_branch(c, &a->origin, "last_driver_branch", a->last_branch);
	need_branch(c, &a->origin, "min_driver_branch_stated", a->stated_first_branch);
}

static void check_gpus(const struct tables_checking *c)
{
	const struct table_gpus *t = &c->t->gpus;
	const struct table_origin ptx = { .file = "gpu-archs.json", .row = "ptx_isa_to_cuda" };

	for (size_t i = 0; i < t->count && c->t->toolkits.count; i++)
		check_arch(c, i);
	for (size_t i = 0; i < t->ptx_count; i++) {
		tables_need_minor(c, &ptx, t->ptx[i].ptx, t->ptx[i].cuda);
		if (i && (dotted_order(t->ptx[i - 1].ptx, t->ptx[i].ptx) >= 0 ||
			  dotted_order(t->ptx[i - 1].cuda, t->ptx[i].cuda) >= 0))
			tables_fault_add(c, &ptx, "%s does not come after %s", t->ptx[i].ptx,
					 t->ptx[i - 1].ptx);
	}
}

static const struct library_release *find_release(const struct library_release *list, size_t count,
						  const char *version)
{
	for (size_t i = 0; i < count; i++) {
		if (dotted_prefix(slice_str(list[i].version), slice_str(version)))
			return &list[i];
	}
	return NULL;
}

static void check_release_list(const struct tables_checking *c, const struct library_release *list,
			       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i && dotted_order(list[i - 1].version, list[i].version) == 0)
			tables_fault_add(c, &list[i].origin, "is there twice");
		for (size_t k = 0; k < list[i].majors.count; k++) {
			unsigned major = list[i].majors.items[k];

			if (major >= c->t->toolkits.majors[0].major &&
			    !toolkit_major(&c->t->toolkits, major))
				tables_fault_add(c, &list[i].origin,
						 "no CUDA %u in cuda-toolkits.json", major);
		}
	}
}

static void check_cudnn_images(const struct tables_checking *c)
{
	const struct table_origin row = { .file = "cudnn.json", .row = "images" };
	const struct table_libraries *l = &c->t->libraries;
	const char *cuda;
	json_t *list;

	json_object_foreach((json_t *)l->cudnn_images, cuda, list)
	{
		tables_need_minor(c, &row, "CUDA of an image", cuda);
		for (size_t i = 0; i < json_array_size(list); i++) {
			const char *v = json_string_value(json_array_get(list, i));

			if (v && dotted_order(v, l->cudnn[0].version) > 0 &&
			    !find_release(l->cudnn, l->cudnn_count, v))
				tables_fault_add(c, &row, "CUDA %s: no cuDNN %s in releases", cuda,
						 v);
		}
	}
}

static void check_pin(const struct tables_checking *c, const struct framework_build *b,
		      const char *name, const char *pin, const struct library_release *list,
		      size_t count)
{
	const struct library_release *r = find_release(list, count, pin);

	if (!r)
		tables_fault_add(c, &b->origin, "pins %s %s, of which there is no row", name, pin);
	else if (r->majors.count && !table_numbers_have(&r->majors, b->cuda_major))
		tables_fault_add(c, &b->origin, "pins %s %s, which has no build for CUDA %u", name,
				 pin, b->cuda_major);
}

static void check_frameworks(const struct tables_checking *c)
{
	const struct table_libraries *l = &c->t->libraries;

	for (size_t i = 0; i < c->t->frameworks.builds.len; i++) {
		const struct framework_build *b = &c->t->frameworks.builds.items[i];

		if (b->built_with && strchr(b->built_with, '.'))
			tables_need_minor(c, &b->origin, "CUDA", b->built_with);
		if (b->pins_cudnn)
			check_pin(c, b, "cuDNN", b->cudnn + 2, l->cudnn, l->cudnn_count);
		if (b->pins_nccl)
			check_pin(c, b, "NCCL", b->nccl + 2, l->nccl, l->nccl_count);
		for (size_t k = 0; k < b->sm_amd64.count; k++)
			need_arch(c, &b->origin, "machine code", b->sm_amd64.items[k]);
		for (size_t k = 0; k < b->sm_arm64.count; k++)
			need_arch(c, &b->origin, "machine code", b->sm_arm64.items[k]);
		need_arch(c, &b->origin, "ptx", b->ptx);
		if (b->needs && !framework_known(&c->t->frameworks, b->needs))
			tables_fault_add(c, &b->origin, "needs %s, of which there is no row",
					 b->needs);
	}
}

static void check_images(const struct tables_checking *c)
{
	for (size_t i = 0; i < c->t->images.ngc.len; i++) {
		const struct ngc_image *image = &c->t->images.ngc.items[i];

		tables_need_minor(c, &image->origin, "cuda", image->cuda);
		if (image->driver)
			need_branch(c, &image->origin, "driver",
				    (unsigned)dotted_number(image->driver, 0));
	}
}

static void check_known_bad(const struct tables_checking *c)
{
	for (size_t i = 0; i < c->t->known_bad.count; i++) {
		const struct known_bad *b = &c->t->known_bad.items[i];

		for (size_t k = 0; k < b->gpus.count; k++)
			need_arch(c, &b->origin, "gpu", b->gpus.items[k]);
		if (b->framework && !framework_known(&c->t->frameworks, b->framework))
			tables_fault_add(c, &b->origin, "no framework %s", b->framework);
	}
	for (size_t f = 0; f < TABLE_FILES; f++) {
		const json_t *rows = json_object_get(c->t->files[f].root, "known_bad");

		for (size_t i = 0; i < json_array_size(rows); i++) {
			const char *id =
				json_string_value(json_object_get(json_array_get(rows, i), "id"));
			struct table_origin row = { .file = c->t->files[f].file,
						    .row = "known_bad" };
			bool found = false;

			for (size_t k = 0; id && k < c->t->known_bad.count; k++)
				found |= str_equal(c->t->known_bad.items[k].id, id);
			if (!found)
				tables_fault_add(c, &row, "'%.60s' has no row in known-bad.json",
						 id ? id : "");
		}
	}
}

/* True when a value below names the key as its source. */
static bool uses_source(const json_t *value, const char *key, bool in_source)
{
	const char *name;
	json_t *member;

	if (json_is_string(value))
		return in_source && str_equal(json_string_value(value), key);
	for (size_t i = 0; i < json_array_size(value); i++) {
		if (uses_source(json_array_get(value, i), key, in_source))
			return true;
	}
	json_object_foreach((json_t *)value, name, member)
	{
		if (!str_equal(name, "sources") &&
		    uses_source(member, key,
				str_equal(name, "src") || str_equal(name, "source") ||
					str_ends(name, "_src")))
			return true;
	}
	return false;
}

/* Rows that name keys: each key has a source, and each source a row. */
static void check_named(const struct tables_checking *c, const struct table *file,
			const json_t *value)
{
	const json_t *src = json_object_get(value, "src");
	const json_t *sources = json_object_get(file->root, "sources");
	const char *name;
	json_t *member;

	for (size_t i = 0; i < json_array_size(src); i++) {
		const char *key = json_string_value(json_array_get(src, i));
		struct table_origin row = { .file = file->file, .row = "src" };

		if (!key || !json_object_get(sources, key))
			tables_fault_add(c, &row, "'%.40s' is no key of sources", key ? key : "");
	}
	for (size_t i = 0; i < json_array_size(value); i++)
		check_named(c, file, json_array_get(value, i));
	json_object_foreach((json_t *)value, name, member) check_named(c, file, member);
}

static bool names_keys(const json_t *root)
{
	const char *name;
	json_t *member;

	json_object_foreach((json_t *)root, name, member)
	{
		if (json_object_get(json_array_get(member, 0), "src"))
			return true;
	}
	return false;
}

static void check_sources(const struct tables_checking *c)
{
	for (size_t i = 0; i < TABLE_FILES; i++) {
		const struct table *file = &c->t->files[i];
		struct table_origin row = { .file = file->file, .row = "sources" };
		const char *key;
		json_t *value;

		check_named(c, file, file->root);
		if (!names_keys(file->root))
			continue;
		json_object_foreach(json_object_get(file->root, "sources"), key, value)
		{
			if (!uses_source(file->root, key, false))
				tables_fault_add(c, &row, "no row uses '%s'", key);
		}
	}
}

void tables_check(const struct tables *tables, struct tables_faults *out)
{
	struct tables_checking c = { .t = tables, .out = out };

	check_majors(&c);
	check_toolkits(&c);
	check_drivers(&c);
	check_compat(&c);
	check_gpus(&c);
	check_release_list(&c, tables->libraries.cudnn, tables->libraries.cudnn_count);
	check_release_list(&c, tables->libraries.nccl, tables->libraries.nccl_count);
	check_cudnn_images(&c);
	check_frameworks(&c);
	check_images(&c);
	check_known_bad(&c);
	check_sources(&c);
	tables_check_rows(&c);
}

void tables_faults_release(struct tables_faults *faults)
{
	vec_release(faults);
	arena_release(&faults->arena);
}
