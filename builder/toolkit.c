#include "builder/toolkit.h"

#include "formats/json.h"
#include "manifests/dotted.h"
#include "manifests/embedded.h"
#include "manifests/require.h"
#include "manifests/solver.h"

static int read_table(json_t **out, struct error *err)
{
	if (json_parse(embedded_file("components.json"), out, err) < 0)
		return error_wrap(err, "components.json");
	return 0;
}

/* Version of a component in a release "12.6.3", or NULL. Borrowed from the table. */
static const char *release_version(const json_t *table, const char *release, const char *id)
{
	const json_t *releases = json_object_get(table, "releases");

	for (size_t i = 0; i < json_array_size(releases); i++) {
		const json_t *row = json_array_get(releases, i);
		const char *name = json_string_value(json_object_get(row, "release"));

		if (name && str_equal(name, release))
			return json_string_value(
				json_object_get(json_object_get(row, "versions"), id));
	}
	return NULL;
}

static bool has_profile(const json_t *component, const char *profile)
{
	const json_t *profiles = json_object_get(component, "profiles");

	for (size_t i = 0; i < json_array_size(profiles); i++) {
		const char *name = json_string_value(json_array_get(profiles, i));

		if (name && str_equal(name, profile))
			return true;
	}
	return false;
}

/* What the manifest itself asks of cuDNN and NCCL, or NULL. */
static const char *asked_version(const struct stack *stack, const char *id)
{
	if (str_equal(id, "cudnn"))
		return stack->stack.cudnn;
	return str_equal(id, "nccl") ? stack->stack.nccl : NULL;
}

/* "9" → "==9.*"; ">=9,<10" and "9.1.*" as they stand. */
static const char *python_constraint(const char *version, struct arena *arena)
{
	if (strpbrk(version, "<>=!~"))
		return version;
	if (str_ends(version, ".*"))
		return arena_printf(arena, "==%s", version);
	return arena_printf(arena, "==%s.*", version);
}

/* Whether a row is for that version: its range, if it has one, holds it. */
static bool row_holds(const json_t *row, const char *key, const char *version)
{
	const char *range = json_string_value(json_object_get(row, key));

	return !range || !version || dotted_in(version, range);
}

/* Whether the stack section asks for that component in this profile. */
static bool is_wanted(const struct stack *stack, const json_t *component, const char *id,
		      enum stack_profile profile, bool math)
{
	if (asked_version(stack, id) && profile != PROFILE_BASE)
		return true;
	return has_profile(component, stack_profile_name(profile)) ||
	       (math && has_profile(component, "runtime"));
}

static int read_component(const json_t *row, struct arena *arena, struct toolkit_component *out,
			  struct error *err)
{
	out->row = row;
	if (json_get_str(row, "components", "id", &out->id, err) < 0 ||
	    json_get_str_opt(row, "components", "redist", &out->redist, err) < 0)
		return -1;
	out->id = arena_strdup(arena, out->id);
	out->redist = out->redist ? arena_strdup(arena, out->redist) : NULL;
	out->optional = json_is_true(json_object_get(row, "optional"));
	return 0;
}

/* The version of the solved stack: the solver's own, or the release's. */
static void set_version(const struct solved_stack *solved, const json_t *table, struct arena *arena,
			struct toolkit_component *c)
{
	const char *version = str_equal(c->id, "cudnn")  ? solved->cudnn
			      : str_equal(c->id, "nccl") ? solved->nccl
			      : solved->release ? release_version(table, solved->release, c->id)
						: NULL;

	c->version = version ? arena_strdup(arena, version) : NULL;
	c->exact = solved->exact && version && !c->range;
}

int toolkit_components(const struct stack *stack, const struct solved_stack *solved,
		       enum stack_profile profile, bool math, struct arena *arena,
		       struct toolkit_components *out, struct error *err)
{
	cleanup_free char *major = xstrndup(solved->cuda, strcspn(solved->cuda, "."));
	json_t *components;

	if (read_table(&out->table, err) < 0 ||
	    json_get_array(out->table, "", "components", &components, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(components); i++) {
		struct toolkit_component c = { 0 };

		if (read_component(json_array_get(components, i), arena, &c, err) < 0)
			return -1;
		if (!is_wanted(stack, c.row, c.id, profile, math) ||
		    !row_holds(c.row, "cuda", solved->cuda))
			continue;
		c.wheel =
			json_string_value(json_object_get(json_object_get(c.row, "wheels"), major));
		c.range = profile != PROFILE_BASE ? asked_version(stack, c.id) : NULL;
		set_version(solved, out->table, arena, &c);
		vec_push(out, c);
	}
	return 0;
}

int toolkit_compat(const struct solved_stack *solved, struct arena *arena,
		   struct toolkit_components *out, struct error *err)
{
	json_t *components;

	if (!solved->compat)
		return 0;
	if (read_table(&out->table, err) < 0 ||
	    json_get_array(out->table, "", "components", &components, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(components); i++) {
		struct toolkit_component c = { 0 };

		if (read_component(json_array_get(components, i), arena, &c, err) < 0)
			return -1;
		if (str_equal(c.id, "compat"))
			vec_push(out, c);
	}
	return 0;
}

void toolkit_components_release(struct toolkit_components *components)
{
	vec_release(components);
	json_decref(components->table);
	components->table = NULL;
}

int toolkit_requirement(const struct stack *stack, const struct solved_stack *solved,
			const struct toolkit_component *c, struct arena *arena, const char **out,
			struct error *err)
{
	cleanup_free char *minor = xasprintf("%s.", solved->cuda);
	const char *kind;

	if (json_get_str(c->row, "components", "version", &kind, err) < 0)
		return -1;
	if (c->range) {
		*out = arena_printf(arena, "%s%s", c->wheel, python_constraint(c->range, arena));
		return 0;
	}
	/* Of what carries the toolkit's own number any build will do, unless one is named. */
	if (str_equal(kind, "toolkit") && !c->exact &&
	    (!c->version || str_starts(c->version, minor))) {
		*out = arena_printf(arena, "%s==%s.*", c->wheel, solved->cuda);
		return 0;
	}
	if (!c->version)
		return stack_error(
			stack, stack->stack.place, err,
			"stack.cuda: the table does not say which %s belongs to CUDA %s; "
			"name the packages yourself",
			c->id, solved->release ? solved->release : solved->cuda);
	*out = arena_printf(arena, "%s==%s", c->wheel, c->version);
	return 0;
}

/* "libcublas-{M}-{m}" → "libcublas-12-6" */
static const char *fill_name(const char *pattern, const char *cuda, struct arena *arena)
{
	struct slice minor = slice_str(cuda), major = { 0 };
	cleanup_strbuf struct strbuf b = { 0 };

	slice_cut(&minor, '.', &major);
	while (*pattern) {
		if (str_starts(pattern, "{M}") || str_starts(pattern, "{m}")) {
			struct slice s = pattern[1] == 'M' ? major : minor;

			strbuf_add(&b, s.data, s.len);
			pattern += strlen("{M}");
		} else {
			strbuf_addc(&b, *pattern++);
		}
	}
	return arena_strdup(arena, strbuf_text(&b));
}

static int add_names(const json_t *row, const char *key, const char *cuda, struct arena *arena,
		     struct toolkit_names *out, struct error *err)
{
	const json_t *names = json_object_get(row, key);

	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *pattern = json_string_value(json_array_get(names, i));

		if (!pattern || out->count == TOOLKIT_NAMES)
			return error_set(err, ERROR_FORMAT,
					 "components.json: %s is no list of at most %d names", key,
					 TOOLKIT_NAMES);
		out->items[out->count++] = fill_name(pattern, cuda, arena);
	}
	return 0;
}

int toolkit_names(const struct toolkit_component *c, const char *kind, const char *cuda,
		  enum stack_profile profile, struct arena *arena, struct toolkit_names *out,
		  struct error *err)
{
	const json_t *rows = json_object_get(c->row, kind);

	*out = (struct toolkit_names){ 0 };
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (!row_holds(row, "cuda", cuda) || !row_holds(row, "version", c->version))
			continue;
		*out = (struct toolkit_names){ .marked = json_is_true(
						       json_object_get(row, "marked")) };
		if (add_names(row, "runtime", cuda, arena, out, err) < 0 ||
		    (profile == PROFILE_DEVEL &&
		     add_names(row, "devel", cuda, arena, out, err) < 0))
			return -1;
	}
	return 0;
}

int toolkit_require(const struct stack *stack, const char *cuda, bool compat, struct arena *arena,
		    const char **out, struct error *err)
{
	cleanup_tables struct tables tables = { 0 };
	const char *floor = NULL;

	if (stack->stack.driver && solver_floor(stack->stack.driver, arena, &floor, err) < 0)
		return -1;
	if (tables_load(NULL, &tables, err) < 0)
		return -1;
	return require_value(&tables, cuda, floor, compat, arena, out, err);
}
