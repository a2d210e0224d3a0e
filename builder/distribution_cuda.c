#include "builder/distribution_cuda.h"

#include "formats/json.h"
#include "manifests/embedded.h"

enum { SHOWN = 3 };

/* Whether a row of the table has that name. */
static bool is_distributions(const json_t *table, const char *name)
{
	for (void *i = json_object_iter((json_t *)table); i;
	     i = json_object_iter_next((json_t *)table, i)) {
		const json_t *names = json_object_iter_value(i);

		for (size_t k = 0; k < json_array_size(names); k++) {
			const char *text = json_string_value(json_array_get(names, k));

			if (text && str_equal(text, name))
				return true;
		}
	}
	return false;
}

/* NVIDIA's own: of the stack section, a wheel of its names, or its run-time library's package. */
static bool is_nvidias(const struct lock_input *in)
{
	if (in->kind == LOCK_IMAGE || in->kind == LOCK_TREE)
		return false;
	return in->toolkit || (in->kind == LOCK_WHEEL && str_starts(in->name, "nvidia-cu")) ||
	       str_starts(in->name, "cuda-cudart-");
}

static void warn(const struct lock_platform *p, size_t first, const struct lock_input *own,
		 const json_t *table, const struct out *out)
{
	const char *stage = p->inputs.items[first].stage;
	const struct lock_input *lead = NULL;
	cleanup_strbuf struct strbuf names = { 0 };
	size_t count = 0;

	for (size_t i = first; i < p->inputs.len; i++) {
		const struct lock_input *in = &p->inputs.items[i];

		if (in->kind != LOCK_DEB || !str_equal(in->stage, stage) ||
		    !is_distributions(table, in->name))
			continue;
		/* the named one is what the reader can leave out */
		if (!lead || (in->requested && !lead->requested))
			lead = in;
		if (count++ < SHOWN)
			strbuf_addf(&names, "%s%s %s", names.len ? ", " : "", in->name,
				    in->version);
	}
	if (!lead)
		return;
	if (count > SHOWN)
		strbuf_addf(&names, " and %zu more", count - SHOWN);
	out_warn(out,
		 "stage %s (%s): the distribution's own CUDA (%s of source %s) is locked beside "
		 "NVIDIA's (%s %s of source %s); a program gets whichever the loader finds first: "
		 "leave out what needs %s, or the CUDA of the stack section",
		 stage, p->platform, strbuf_text(&names), lead->source, own->name, own->version,
		 own->source, lead->name);
}

/* Stages in their order: `first` is the first input of one. */
static bool is_first_of_stage(const struct lock_platform *p, size_t first)
{
	for (size_t i = 0; i < first; i++) {
		if (str_equal(p->inputs.items[i].stage, p->inputs.items[first].stage))
			return false;
	}
	return true;
}

static void check_platform(const struct lock_platform *p, const json_t *table,
			   const struct out *out)
{
	for (size_t first = 0; first < p->inputs.len; first++) {
		const struct lock_input *own = NULL;

		if (!is_first_of_stage(p, first))
			continue;
		for (size_t i = first; i < p->inputs.len && !own; i++) {
			const struct lock_input *in = &p->inputs.items[i];

			if (is_nvidias(in) && str_equal(in->stage, p->inputs.items[first].stage))
				own = in;
		}
		if (own)
			warn(p, first, own, table, out);
	}
}

int distribution_cuda_check(const struct lockfile *lock, const struct out *out, struct error *err)
{
	cleanup_json json_t *table = NULL;
	json_t *names;

	if (json_parse(embedded_file("components.json"), &table, err) < 0 ||
	    json_get_object(table, "", "distribution", &names, err) < 0)
		return error_wrap(err, "components.json");
	for (size_t i = 0; i < lock->platforms.len; i++)
		check_platform(&lock->platforms.items[i], names, out);
	return 0;
}
