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

struct clause {
	const char *op; /* ">=", "<=", ">", "<", "==" (of as many numbers as are written) */
	struct slice version;
};

static int read_clause(const struct stack *stack, struct slice text, struct clause *out,
		       struct error *err)
{
	static const char *const ops[] = { ">=", "<=", "==", ">", "<", "=" };

	text = slice_trim(text);
	out->op = "==";
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		if (slice_starts(text, ops[i])) {
			out->op = ops[i];
			text = slice_trim(
				slice_of(text.data + strlen(ops[i]), text.len - strlen(ops[i])));
			break;
		}
	}
	if (text.len > 2 && text.data[text.len - 1] == '*' && text.data[text.len - 2] == '.')
		text.len -= 2;
	out->version = text;
	if (!dotted_is(text))
		return stack_error(stack, stack->stack.place, err,
				   "stack.cuda: '%s' is not a version such as 13.0 or >=12.4,<13",
				   stack->stack.cuda);
	return 0;
}

/* "13.0" fits "13", "13.0" and "13.0.2": only the numbers that both have count. */
static bool fits(struct slice toolkit, const struct clause *c)
{
	struct slice major = { 0 }, minor = { 0 }, rest = c->version, cut;
	int order;

	if (c->op[0] != '=') {
		order = dotted_compare(toolkit, c->version);
		return str_equal(c->op, ">=")   ? order >= 0
		       : str_equal(c->op, "<=") ? order <= 0
		       : str_equal(c->op, ">")  ? order > 0
						: order < 0;
	}
	slice_cut(&rest, '.', &major);
	if (rest.data)
		slice_cut(&rest, '.', &minor);
	rest = toolkit;
	slice_cut(&rest, '.', &cut);
	if (dotted_compare(major, cut) != 0)
		return false;
	return !minor.data || dotted_compare(minor, rest) == 0;
}

static int fits_all(const struct stack *stack, const char *toolkit, bool *out, struct error *err)
{
	struct slice rest = slice_str(stack->stack.cuda), piece;

	*out = true;
	while (slice_cut(&rest, ',', &piece)) {
		struct clause c;

		if (read_clause(stack, piece, &c, err) < 0)
			return -1;
		*out = *out && fits(slice_str(toolkit), &c);
	}
	return 0;
}

int toolkit_choose(const struct stack *stack, struct arena *arena, const char **out,
		   struct error *err)
{
	cleanup_json json_t *table = NULL;
	json_t *toolkits;

	*out = NULL;
	if (!stack->stack.cuda)
		return 0;
	if (read_table(&table, err) < 0 ||
	    json_get_array(table, "", "toolkits", &toolkits, err) < 0)
		return -1;
	for (size_t i = json_array_size(toolkits); i-- > 0 && !*out;) {
		const char *cuda;
		bool fit;

		if (json_get_str(json_array_get(toolkits, i), "toolkits", "cuda", &cuda, err) < 0 ||
		    fits_all(stack, cuda, &fit, err) < 0)
			return -1;
		if (fit)
			*out = arena_strdup(arena, cuda);
	}
	if (!*out)
		return error_set(err, ERROR_VERDICT,
				 "stack.cuda: no known CUDA toolkit fits \"%s\"",
				 stack->stack.cuda);
	return 0;
}

/* The row of a toolkit. */
static const json_t *find_toolkit(const json_t *table, const char *cuda)
{
	const json_t *toolkits = json_object_get(table, "toolkits");

	for (size_t i = 0; i < json_array_size(toolkits); i++) {
		const json_t *row = json_array_get(toolkits, i);
		const char *name = json_string_value(json_object_get(row, "cuda"));

		if (name && str_equal(name, cuda))
			return row;
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

/* Whether the stack section asks for that component in this profile. */
static bool is_wanted(const struct stack *stack, const json_t *component, const char *id,
		      enum stack_profile profile, bool math)
{
	if (asked_version(stack, id) && profile != PROFILE_BASE)
		return true;
	return has_profile(component, stack_profile_name(profile)) ||
	       (math && has_profile(component, "runtime"));
}

int toolkit_components(const struct stack *stack, const char *cuda, enum stack_profile profile,
		       bool math, struct arena *arena, struct toolkit_components *out,
		       struct error *err)
{
	cleanup_free char *major = xstrndup(cuda, strcspn(cuda, "."));
	json_t *components;

	if (read_table(&out->table, err) < 0 ||
	    json_get_array(out->table, "", "components", &components, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(components); i++) {
		struct toolkit_component c = { .row = json_array_get(components, i) };

		if (json_get_str(c.row, "components", "id", &c.id, err) < 0 ||
		    json_get_str_opt(c.row, "components", "redist", &c.redist, err) < 0)
			return -1;
		if (!is_wanted(stack, c.row, c.id, profile, math))
			continue;
		c.id = arena_strdup(arena, c.id);
		c.redist = c.redist ? arena_strdup(arena, c.redist) : NULL;
		c.wheel =
			json_string_value(json_object_get(json_object_get(c.row, "wheels"), major));
		c.range = profile != PROFILE_BASE ? asked_version(stack, c.id) : NULL;
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

int toolkit_requirement(const struct stack *stack, const struct toolkit_components *components,
			const struct toolkit_component *c, const char *cuda, struct arena *arena,
			const char **out, struct error *err)
{
	const char *kind, *own;

	if (json_get_str(c->row, "components", "version", &kind, err) < 0)
		return -1;
	if (c->range) {
		*out = arena_printf(arena, "%s%s", c->wheel, python_constraint(c->range, arena));
		return 0;
	}
	if (str_equal(kind, "toolkit")) {
		*out = arena_printf(arena, "%s==%s.*", c->wheel, cuda);
		return 0;
	}
	own = json_string_value(json_object_get(
		json_object_get(find_toolkit(components->table, cuda), "own"), c->id));
	if (!own)
		return stack_error(
			stack, stack->stack.place, err,
			"stack.cuda: the table does not say which %s belongs to CUDA %s; "
			"name the packages yourself",
			c->id, cuda);
	*out = arena_printf(arena, "%s==%s", c->wheel, own);
	return 0;
}

int toolkit_wheels(const struct stack *stack, const char *cuda, enum stack_profile profile,
		   bool math, struct arena *arena, struct toolkit_packages *out, struct error *err)
{
	cleanup_toolkit_components struct toolkit_components components = { 0 };

	if (toolkit_components(stack, cuda, profile, math, arena, &components, err) < 0)
		return -1;
	for (size_t i = 0; i < components.len; i++) {
		const struct toolkit_component *c = &components.items[i];
		struct stack_package package = { .place = stack->stack.place };

		if (!c->wheel)
			continue;
		if (toolkit_requirement(stack, &components, c, cuda, arena, &package.spec, err) < 0)
			return -1;
		vec_push(out, package);
	}
	return 0;
}

int toolkit_require(const struct stack *stack, const char *cuda, struct arena *arena,
		    const char **out, struct error *err)
{
	cleanup_tables struct tables tables = { 0 };
	const char *floor = NULL;

	if (stack->stack.driver && solver_floor(stack->stack.driver, arena, &floor, err) < 0)
		return -1;
	if (tables_load(NULL, &tables, err) < 0)
		return -1;
	return require_value(&tables, cuda, floor, false, arena, out, err);
}
