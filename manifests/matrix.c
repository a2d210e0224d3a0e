#include "manifests/matrix.h"

#include "base/nearest.h"
#include "base/vec.h"
#include "manifests/dotted.h"

struct asking {
	const struct tables *t;
	struct matrix_answer *out;
	struct arena *arena;
};

static void say(const struct asking *a, const struct table_origin *first,
		const struct table_origin *second, const char *fmt, ...) PRINTF_LIKE(4, 5);

static void say(const struct asking *a, const struct table_origin *first,
		const struct table_origin *second, const char *fmt, ...)
{
	struct solver_sentence s = { 0 };
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s.text = arena_strdup(a->arena, text);
	if (first && first->file)
		s.origins[s.origin_count++] = *first;
	if (second && second->file)
		s.origins[s.origin_count++] = *second;
	vec_push(&a->out->sentences, s);
}

static void note(const struct asking *a, const char *key, const char *value)
{
	struct matrix_fact f = { .key = key, .value = value };

	if (value)
		vec_push(&a->out->facts, f);
}

static const char *text_or(const char *text, const char *otherwise)
{
	return text ? text : otherwise;
}

/* "535, 570, 580" */
static const char *list_numbers(const struct asking *a, const struct table_numbers *list)
{
	cleanup_strbuf struct strbuf b = { 0 };

	for (size_t i = 0; i < list->count; i++)
		strbuf_addf(&b, "%s%u", i ? ", " : "", list->items[i]);
	return arena_strdup(a->arena, strbuf_text(&b));
}

static const char *list_texts(const struct asking *a, const struct table_texts *list)
{
	cleanup_strbuf struct strbuf b = { 0 };

	for (size_t i = 0; i < list->count; i++)
		strbuf_addf(&b, "%s%s", i ? ", " : "", list->items[i]);
	return arena_strdup(a->arena, strbuf_text(&b));
}

static void driver_compat(const struct asking *a, const struct driver_branch *b)
{
	cleanup_strbuf struct strbuf names = { 0 };
	const struct table_origin *origin = NULL;

	for (size_t i = 0; i < a->t->compat.count; i++) {
		const struct compat_package *p = &a->t->compat.items[i];

		if (!table_numbers_have(&p->hosts, b->branch))
			continue;
		strbuf_addf(&names, "%s%s", names.len ? ", " : "", p->cuda);
		origin = &p->origin;
	}
	if (names.len)
		say(a, origin, NULL,
		    "On data-center GPUs the cuda-compat packages of CUDA %s in the image serve "
		    "such "
		    "hosts too, PTX included.",
		    names.data);
	else
		say(a, &b->origin, NULL, "No cuda-compat package is for hosts of this branch.");
	note(a, "forward_compat", arena_strdup(a->arena, strbuf_text(&names)));
}

static int ask_driver(const struct asking *a, const char *driver, struct error *err)
{
	const struct driver_branch *b = driver_branch_of(&a->t->drivers, driver);
	const struct toolkit_major *highest = NULL;

	if (!dotted_is(slice_str(driver)))
		return error_set(err, ERROR_USAGE,
				 "'%.40s' is not a driver such as 535 or 535.183.06", driver);
	if (!b || b->branch != dotted_number(driver, 0))
		return error_set(err, ERROR_NOT_FOUND, "no driver branch %llu is in the tables",
				 (unsigned long long)dotted_number(driver, 0));
	say(a, &b->origin, NULL, "Driver branch %u%s%s%s%s; newest release seen: %s.", b->branch,
	    b->kind ? ", kind " : "", text_or(b->kind, ""), b->eol ? ", ends " : "",
	    text_or(b->eol, ""), text_or(b->latest, "none"));
	say(a, &b->origin, NULL, "It serves CUDA %s by itself, and everything older.",
	    text_or(b->native_cuda, "(not established)"));
	for (size_t i = 0; i < a->t->toolkits.major_count; i++) {
		const struct toolkit_major *m = &a->t->toolkits.majors[i];

		if (m->minor_compat && !driver_older(driver, m->min_driver))
			highest = m;
	}
	if (highest && b->native_cuda && dotted_number(b->native_cuda, 0) <= highest->major)
		say(a, &highest->origin, NULL,
		    "By minor version compatibility it runs machine code of any CUDA %u; PTX newer "
		    "than "
		    "its own CUDA is refused.",
		    highest->major);
	note(a, "branch", arena_printf(a->arena, "%u", b->branch));
	note(a, "kind", b->kind);
	note(a, "eol", b->eol);
	note(a, "native_cuda", b->native_cuda);
	if (highest)
		note(a, "minor_version_cuda", arena_printf(a->arena, "%u", highest->major));
	driver_compat(a, b);
	for (size_t i = 0; i < a->t->gpus.count; i++) {
		const struct gpu_arch *g = &a->t->gpus.items[i];

		if (g->last_branch == b->branch)
			say(a, &g->origin, NULL, "It is the last branch for %s (%s).", g->sm,
			    g->generation);
	}
	return 0;
}

static void cuda_archs(const struct asking *a, const struct toolkit *t)
{
	cleanup_strbuf struct strbuf names = { 0 };

	for (size_t i = 0; i < a->t->gpus.count; i++) {
		if (gpu_compiles(&a->t->gpus.items[i], t->minor))
			strbuf_addf(&names, "%s%s", names.len ? ", " : "", a->t->gpus.items[i].sm);
	}
	say(a, &a->t->gpus.items[0].origin, NULL, "It compiles for %s.", strbuf_text(&names));
	note(a, "architectures", arena_strdup(a->arena, strbuf_text(&names)));
}

static int ask_cuda(const struct asking *a, const char *cuda, struct error *err)
{
	const struct toolkit *t =
		dotted_is(slice_str(cuda)) ? toolkit_find(&a->t->toolkits, cuda) : NULL;
	const struct toolkit_major *m;
	const struct compat_package *p;
	const char *ptx;

	if (!t)
		return error_set(err, ERROR_NOT_FOUND, "no CUDA toolkit %.40s is in the tables",
				 cuda);
	m = toolkit_major(&a->t->toolkits, t->major);
	p = compat_for(&a->t->compat, t->minor);
	ptx = gpu_ptx_of(&a->t->gpus, t->minor, a->arena);
	say(a, &t->origin, NULL, "CUDA %s (%s) was released with driver branch %u.", t->version,
	    t->label, t->branch);
	if (m && m->minor_compat)
		say(a, &m->origin, NULL,
		    "Machine code of any CUDA %u runs from driver %s on (minor version "
		    "compatibility).",
		    t->major, m->min_driver);
	say(a, &t->origin, NULL,
	    "Its PTX%s%s and features newer than that need driver %s or newer, or the "
	    "compatibility package.",
	    ptx ? " " : "", text_or(ptx, ""), text_or(t->own_driver, "(not established)"));
	if (p)
		say(a, &p->origin, NULL,
		    "The package %s serves data-center hosts of driver branch %s.", p->name,
		    p->hosts.count ? list_numbers(a, &p->hosts) : "(none)");
	cuda_archs(a, t);
	note(a, "version", t->version);
	note(a, "driver_branch", arena_printf(a->arena, "%u", t->branch));
	note(a, "min_driver", m ? m->min_driver : NULL);
	note(a, "own_driver", t->own_driver);
	note(a, "ptx", ptx);
	note(a, "compat_package", p ? p->name : NULL);
	return 0;
}

static int ask_gpu(const struct asking *a, const char *gpu, struct error *err)
{
	cleanup_strbuf struct strbuf products = { 0 };
	struct gpu_target target;
	const struct gpu_arch *g;
	unsigned first;

	if (gpu_target_find(&a->t->gpus, gpu, &target, err) < 0)
		return -1;
	g = target.arch;
	first = gpu_first_branch(a->t, g);
	for (size_t i = 0; i < g->product_count; i++)
		strbuf_addf(&products, "%s%s", i ? ", " : "", g->products[i].name);
	say(a, &g->origin, NULL, "%s is %s, capability %s%s%s.",
	    target.product ? target.product->name : g->sm, g->generation, g->capability,
	    g->product_count ? "; products: " : "", strbuf_text(&products));
	say(a, &g->origin, NULL, "CUDA %s is the first that compiles for it%s%s.", g->first_cuda,
	    g->last_cuda ? ", the last is " : ", and the newest still does",
	    text_or(g->last_cuda, ""));
	if (first)
		say(a, &g->origin, NULL, "Its first driver branch is %u%s.", first,
		    g->stated_first_branch ? "" : " (inferred: that of the first CUDA)");
	if (g->last_branch)
		say(a, &g->origin, NULL, "Driver branch %u is the last that supports it.",
		    g->last_branch);
	say(a, &g->origin, NULL, "Forward compatibility: %s.",
	    gpu_compat(&target) == COMPAT_SUPPORTED ? "yes, it is a data-center GPU"
	    : gpu_compat(&target) == COMPAT_SOME_PRODUCTS
		    ? "on its data-center and selected NGC-ready products only"
		    : "no, CUDA ends in error 804 where it is tried");
	note(a, "architecture", g->sm);
	note(a, "generation", g->generation);
	note(a, "first_cuda", g->first_cuda);
	note(a, "last_cuda", g->last_cuda);
	note(a, "products", arena_strdup(a->arena, strbuf_text(&products)));
	if (g->last_branch)
		note(a, "last_driver_branch", arena_printf(a->arena, "%u", g->last_branch));
	return 0;
}

static void say_build(const struct asking *a, const struct framework_build *b)
{
	const struct toolkit_major *m = toolkit_major(&a->t->toolkits, b->cuda_major);

	say(a, &b->origin, NULL, "%s: CUDA %s, cuDNN %s, NCCL %s, driver %s or newer%s%s%s%s%s%s.",
	    framework_build_name(b, a->arena),
	    b->cuda ? dotted_plain(b->cuda) : "of the framework it needs",
	    b->cudnn ? dotted_plain(b->cudnn) : "not established",
	    b->nccl ? dotted_plain(b->nccl) : "not established",
	    m && m->min_driver ? m->min_driver : "(not established)",
	    b->sm_amd64.count ? "; machine code for " : "", list_texts(a, &b->sm_amd64),
	    b->ptx ? ", PTX for " : "", text_or(b->ptx, ""),
	    b->is_default ? "; the package index has this one" : "",
	    b->needs ? arena_printf(a->arena, "; pins %s %s", b->needs, b->needs_range + 2) : "");
}

static int ask_framework(const struct asking *a, const char *name, const char *version,
			 struct error *err)
{
	const struct framework_build *first = NULL;

	if (version && dotted_range_check(version, err) < 0)
		return -1;
	for (size_t i = 0; i < a->t->frameworks.builds.len; i++) {
		const struct framework_build *b = &a->t->frameworks.builds.items[i];

		if (!str_equal(b->framework, name) || !dotted_in(b->version, version))
			continue;
		if (!first) {
			say(a, &b->origin, NULL,
			    "%s %s is the newest release%s%s; Python %s to %s.", name, b->version,
			    version ? " of " : "", text_or(version, ""),
			    text_or(b->python_min, "(not established)"),
			    text_or(b->python_max, "(not established)"));
			note(a, "version", b->version);
			note(a, "python_min", b->python_min);
			note(a, "python_max", b->python_max);
			first = b;
		}
		if (dotted_order(b->version, first->version) == 0)
			say_build(a, b);
	}
	if (!first)
		return error_set(err, ERROR_NOT_FOUND, "no release %.40s of %s is in the tables",
				 version ? version : "", name);
	return 0;
}

static int ask_library(const struct asking *a, bool cudnn, const char *version, struct error *err)
{
	const struct table_libraries *l = &a->t->libraries;
	const struct library_release *list = cudnn ? l->cudnn : l->nccl;
	const struct library_gpu_rule *rule;

	if (version && dotted_range_check(version, err) < 0)
		return -1;
	for (size_t i = cudnn ? l->cudnn_count : l->nccl_count; i-- > 0;) {
		const struct library_release *r = &list[i];

		if (!dotted_in(r->version, version) || r->withdrawn)
			continue;
		rule = cudnn ? cudnn_gpu_rule(l, r->version) : NULL;
		say(a, &r->origin, NULL,
		    "%s %s is built for CUDA %s; it follows the CUDA major, not the minor.",
		    cudnn ? "cuDNN" : "NCCL", r->version,
		    r->majors.count ? list_numbers(a, &r->majors) : "(not established)");
		if (rule)
			say(a, &l->gpu_rule_origin, NULL, "It serves GPUs from capability %s on.",
			    rule->capability);
		note(a, "version", r->version);
		note(a, "cuda_majors", list_numbers(a, &r->majors));
		return 0;
	}
	return error_set(err, ERROR_NOT_FOUND, "no %s %.40s is in the tables",
			 cudnn ? "cuDNN" : "NCCL", version ? version : "");
}

static int ask_ngc(const struct asking *a, const char *reference, struct error *err)
{
	const struct ngc_image *i = ngc_find(&a->t->images, reference);
	const struct toolkit_major *m;

	if (!i)
		return error_set(err, ERROR_NOT_FOUND,
				 "no NGC image '%.80s' is in the tables; write it as pytorch:24.10",
				 reference);
	say(a, &i->origin, NULL, "%s: CUDA %s, cuDNN %s, NCCL %s, torch %s, Python %s.", i->image,
	    text_or(i->cuda, "not established"), text_or(i->cudnn, "not established"),
	    text_or(i->nccl, "not established"), text_or(i->torch, "none or not established"),
	    text_or(i->python, "not established"));
	if (i->driver)
		say(a, &i->origin, NULL,
		    "It packs the compatibility libraries of driver %s; older data-center drivers "
		    "work "
		    "through them.",
		    i->driver);
	m = i->cuda ? toolkit_major(&a->t->toolkits, (unsigned)dotted_number(i->cuda, 0)) : NULL;
	if (m && m->min_driver)
		say(a, &m->origin, NULL, "Without them it needs driver %s or newer.",
		    m->min_driver);
	if (i->torch)
		say(a, &i->origin, NULL,
		    "Its torch is a build before the release: packages made for the release may "
		    "not "
		    "fit, and another torch beside it breaks the stack.");
	if (i->note)
		say(a, &i->origin, NULL, "Note: %s.", i->note);
	note(a, "image", i->image);
	note(a, "cuda", i->cuda);
	note(a, "cudnn", i->cudnn);
	note(a, "nccl", i->nccl);
	note(a, "torch", i->torch);
	note(a, "driver", i->driver);
	return 0;
}

/* The section of frameworks-other.json on a product ("tensorrt", "flash-attn"), or NULL. */
static const json_t *other_section(const struct tables *t, const char *name)
{
	for (size_t i = 0; i < TABLE_FILES; i++) {
		cleanup_free char *key = xstrdup(name);

		for (char *c = key; *c; c++)
			*c = *c == '-' ? '_' : *c;
		if (str_equal(t->files[i].file, "frameworks-other.json"))
			return json_object_get(json_object_get(t->files[i].root, key), "rule")
				       ? json_object_get(t->files[i].root, key)
				       : NULL;
	}
	return NULL;
}

/* "tensorrt 10.1, cuda 12.0-12.4, cc_min 7.0" */
static const char *row_words(const struct asking *a, const json_t *row)
{
	cleanup_strbuf struct strbuf b = { 0 };
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)row, key, value)
	{
		if (json_is_string(value))
			strbuf_addf(&b, "%s%s %s", b.len ? ", " : "", key,
				    json_string_value(value));
	}
	return arena_strdup(a->arena, strbuf_text(&b));
}

/* What is known of a product that is no framework of its own: its rows as they stand. */
static int ask_other(const struct asking *a, const char *name, const char *version,
		     struct error *err)
{
	const json_t *section = other_section(a->t, name), *rows = json_object_get(section, "rows");
	const json_t *sources = json_object_get(section, "sources");
	const char *source = json_string_value(json_array_get(sources, 0));
	const char *newest = json_string_value(json_object_get(section, "newest"));
	struct table_origin origin = { "frameworks-other.json", name,
				       source ? source : "as reported" };
	bool any = !version;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const char *words = row_words(a, json_array_get(rows, i));

		if (version && !strstr(words, version))
			continue;
		any = true;
		say(a, &origin, NULL, "%s.", words);
	}
	if (!any)
		return error_set(err, ERROR_NOT_FOUND, "no row of %s speaks of %.40s", name,
				 version);
	say(a, &origin, NULL, "%s: %s.", name, json_string_value(json_object_get(section, "rule")));
	if (newest)
		say(a, &origin, NULL, "Newest release seen: %s.", newest);
	note(a, "newest", newest);
	return 0;
}

static void ask_driver_toolkit(const struct asking *a, const struct matrix_query *q,
			       const struct toolkit *t, const struct gpu_target *gpu)
{
	struct driver_verdict v = driver_verdict(a->t, q->driver, t->minor);
	bool lost =
		v.service == SERVICE_FORWARD && q->gpu && gpu_compat(gpu) == COMPAT_NOT_SUPPORTED;

	say(a, v.branch ? &v.branch->origin : NULL,
	    v.service == SERVICE_FORWARD ? &v.compat->origin
	    : v.floor                    ? &v.floor->origin
					 : NULL,
	    "Driver %s and CUDA %s: %s.", q->driver, t->minor,
	    driver_verdict_text(&v, t->minor, a->arena));
	if (lost)
		say(a, &gpu->arch->origin, NULL,
		    "%s cannot use the compatibility package (error 804).", q->gpu);
	a->out->against |= v.service == SERVICE_IMPOSSIBLE || lost;
	note(a, "driver_verdict", lost ? "impossible" : driver_service_name(v.service));
}

static void ask_gpu_toolkit(const struct asking *a, const struct matrix_query *q,
			    const struct toolkit *t, const struct gpu_target *gpu)
{
	struct gpu_verdict v = gpu_toolkit_verdict(a->t, gpu->arch, t->minor);

	say(a, &gpu->arch->origin, &t->origin, "%s and CUDA %s: %s%s.", q->gpu, t->minor,
	    v.service == GPU_CODE ? "it compiles code that runs there, for capability "
				  : "no machine code that it compiles runs there",
	    v.service == GPU_CODE ? v.by : "");
	a->out->against |= v.service != GPU_CODE;
	note(a, "gpu_verdict", gpu_service_name(v.service));
}

static void ask_gpu_driver(const struct asking *a, const struct matrix_query *q,
			   const struct gpu_target *gpu)
{
	unsigned first = gpu_first_branch(a->t, gpu->arch), last = gpu->arch->last_branch;
	uint64_t branch = dotted_number(q->driver, 0);
	bool too_new = last && branch > last, fits = (!first || branch >= first) && !too_new;

	say(a, &gpu->arch->origin, NULL, "%s and driver %s: %s%s.", q->gpu, q->driver,
	    fits      ? "the driver knows the GPU"
	    : too_new ? "the driver no longer supports it; the last branch is "
		      : "the driver is older than the GPU; its first branch is ",
	    fits ? "" : arena_printf(a->arena, "%u", too_new ? last : first));
	a->out->against |= !fits;
	note(a, "gpu_driver", fits ? "supported" : "unsupported");
}

/* A driver, a CUDA and a GPU, any two of them: do they go together? */
static int ask_combination(const struct asking *a, const struct matrix_query *q, struct error *err)
{
	const struct toolkit *t = NULL;
	struct gpu_target gpu = { 0 };

	if (q->driver && !dotted_is(slice_str(q->driver)))
		return error_set(err, ERROR_USAGE, "--driver: '%.40s' is not a driver version",
				 q->driver);
	if (q->gpu && gpu_target_find(&a->t->gpus, q->gpu, &gpu, err) < 0)
		return -1;
	if (q->cuda && dotted_is(slice_str(q->cuda)))
		t = toolkit_find(&a->t->toolkits, q->cuda);
	if (q->cuda && !t)
		return error_set(err, ERROR_NOT_FOUND, "no CUDA toolkit %.40s is in the tables",
				 q->cuda);
	if (q->driver && t)
		ask_driver_toolkit(a, q, t, &gpu);
	if (q->gpu && t)
		ask_gpu_toolkit(a, q, t, &gpu);
	if (q->gpu && q->driver)
		ask_gpu_driver(a, q, &gpu);
	return 0;
}

static void ask_overview(const struct asking *a)
{
	const struct table_toolkits *t = &a->t->toolkits;
	const struct table_drivers *d = &a->t->drivers;

	say(a, &t->items[t->count - 1].origin, NULL, "Newest CUDA toolkit: %s.",
	    t->items[t->count - 1].version);
	say(a, &d->items[d->count - 1].origin, NULL, "Newest driver branch: %u; maintained: %s.",
	    d->items[d->count - 1].branch, list_numbers(a, &d->active));
	for (size_t i = 0; i < t->major_count; i++) {
		if (t->majors[i].min_driver)
			say(a, &t->majors[i].origin, NULL, "CUDA %u needs driver %s or newer.",
			    t->majors[i].major, t->majors[i].min_driver);
	}
}

int matrix_parse(const struct tables *tables, const char *const *words, size_t count,
		 struct matrix_query *out, struct error *err)
{
	static const char *const kinds[] = { "driver", "branch", "cuda", "gpu",
					     "cudnn",  "nccl",   "ngc" };
	struct nearest near = nearest_start(count ? words[0] : "");
	struct gpu_target ignored;
	bool meant;

	*out = (struct matrix_query){ 0 };
	if (!count)
		return 0;
	out->kind = words[0];
	out->value = count > 1 ? words[1] : NULL;
	if (framework_known(&tables->frameworks, words[0]) || other_section(tables, words[0]))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (str_equal(words[0], kinds[i]) && count > 1)
			return 0;
	}
	if (str_equal(words[0], "cudnn") || str_equal(words[0], "nccl"))
		return 0;
	if (count == 1 && gpu_target_find(&tables->gpus, words[0], &ignored, err) == 0) {
		out->kind = "gpu";
		out->value = words[0];
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		nearest_try(&near, kinds[i]);
	for (size_t i = 0; i < tables->frameworks.builds.len; i++)
		nearest_try(&near, tables->frameworks.builds.items[i].framework);
	meant = near.best && !str_equal(near.best, words[0]);
	return error_set(err, ERROR_USAGE,
			 "'%.60s' is no question the tables answer%s%s%s; they are asked for "
			 "driver, cuda, gpu, cudnn, "
			 "nccl, ngc or a framework with a version (driver 535, torch 2.7, "
			 "ngc pytorch:24.10), or for a GPU (sm_120, h100)",
			 words[0], meant ? " (did you mean '" : "", meant ? near.best : "",
			 meant ? "'?)" : "");
}

static int ask(const struct asking *a, const struct matrix_query *q, struct error *err)
{
	if (q->driver || q->cuda || q->gpu) {
		int given = (q->driver != NULL) + (q->cuda != NULL) + (q->gpu != NULL);

		if (given > 1)
			return ask_combination(a, q, err);
		return q->driver ? ask_driver(a, q->driver, err)
		       : q->cuda ? ask_cuda(a, q->cuda, err)
				 : ask_gpu(a, q->gpu, err);
	}
	if (!q->kind) {
		ask_overview(a);
		return 0;
	}
	if (str_equal(q->kind, "driver") || str_equal(q->kind, "branch"))
		return ask_driver(a, q->value, err);
	if (str_equal(q->kind, "cuda"))
		return ask_cuda(a, q->value, err);
	if (str_equal(q->kind, "gpu"))
		return ask_gpu(a, q->value, err);
	if (str_equal(q->kind, "ngc"))
		return ask_ngc(a, q->value, err);
	if (str_equal(q->kind, "cudnn") || str_equal(q->kind, "nccl"))
		return ask_library(a, q->kind[0] == 'c', q->value, err);
	if (framework_known(&a->t->frameworks, q->kind) &&
	    !json_object_get(other_section(a->t, q->kind), "builds"))
		return ask_framework(a, q->kind, q->value, err);
	return ask_other(a, q->kind, q->value, err);
}

int matrix_ask(const struct tables *tables, const struct matrix_query *query,
	       struct matrix_answer *out, struct error *err)
{
	struct asking a = { .t = tables, .out = out, .arena = &out->arena };

	*out = (struct matrix_answer){ 0 };
	if (ask(&a, query, err) < 0) {
		matrix_release(out);
		return -1;
	}
	return 0;
}

void matrix_release(struct matrix_answer *answer)
{
	free(answer->sentences.items);
	vec_release(&answer->facts);
	arena_release(&answer->arena);
	*answer = (struct matrix_answer){ 0 };
}
