#include "manifests/stack_matrix.h"

#include "manifests/stack_keys.h"
#include "manifests/stack_load.h"
#include "manifests/stack_parse.h"

struct axis {
	const char *name;
	uint32_t values;  /* offset of the struct stack_texts in struct stack_matrix */
	uint32_t exclude; /* offset of the text in struct stack_exclude */
	bool framework;   /* its place is stack.framework, not stack */
};

#define AXIS(name_, framework_)                                                           \
	{                                                                                 \
		.name = #name_, .values = offsetof(struct stack_matrix, name_),           \
		.exclude = offsetof(struct stack_exclude, name_), .framework = framework_ \
	}

/* In the order in which they make a variant's name. */
static const struct axis axes[STACK_AXES] = {
	AXIS(cuda, false), AXIS(cudnn, false),     AXIS(nccl, false), AXIS(python, false),
	AXIS(torch, true), AXIS(tensorflow, true), AXIS(jax, true),
};

static const struct stack_texts *values_of(const struct stack_matrix *m, const struct axis *axis)
{
	return (const void *)((const uint8_t *)m + axis->values);
}

static const char *excluded_value(const struct stack_exclude *e, const struct axis *axis)
{
	return *(const char *const *)(const void *)((const uint8_t *)e + axis->exclude);
}

static const char *value_of(const struct stack_matrix *m, const struct stack_variant *v,
			    size_t axis)
{
	return v->choice[axis] ? values_of(m, &axes[axis])->items[v->choice[axis] - 1] : NULL;
}

/* "2.7.*" is called "2.7". */
static int short_len(const char *value)
{
	return (int)(strlen(value) - (str_ends(value, ".*") ? 2 : 0));
}

static bool excludes(const struct stack_matrix *m, const struct stack_exclude *e,
		     const struct stack_variant *v)
{
	for (size_t a = 0; a < STACK_AXES; a++) {
		const char *wanted = excluded_value(e, &axes[a]), *has = value_of(m, v, a);

		if (wanted && !(has && str_equal(wanted, has)))
			return false;
	}
	return true;
}

static const char *variant_name(const struct stack_matrix *m, const struct stack_variant *v,
				struct arena *arena)
{
	cleanup_strbuf struct strbuf name = { 0 };

	for (size_t a = 0; a < STACK_AXES; a++) {
		const char *value = value_of(m, v, a);

		if (value)
			strbuf_addf(&name, "%s%s%.*s", name.len ? "-" : "", axes[a].name,
				    short_len(value), value);
	}
	return arena_strdup(arena, strbuf_text(&name));
}

/* The number of combinations, before any is left out. */
static int count_all(const struct stack *head, size_t *out, struct error *err)
{
	const struct stack_matrix *m = &head->matrix;
	size_t count = 1, used = 0;

	for (size_t a = 0; a < STACK_AXES; a++) {
		const struct stack_texts *values = values_of(m, &axes[a]);

		if (!values->count)
			continue;
		used++;
		if (values->count > STACK_VARIANT_LIMIT ||
		    count * values->count > STACK_VARIANT_LIMIT)
			return stack_error(
				head, m->place, err,
				"matrix: more than %d combinations; a manifest may make that many",
				STACK_VARIANT_LIMIT);
		count *= values->count;
	}
	if (!used)
		return stack_error(
			head, m->place, err,
			"matrix: it names no values; give one axis at least, such as cuda: "
			"[\"12.6\", \"13.0\"]");
	*out = count;
	return 0;
}

/* The combination of number `index`; the last axis changes first. */
static struct stack_variant combination(const struct stack_matrix *m, size_t index)
{
	struct stack_variant v = { 0 };

	for (size_t a = STACK_AXES; a-- > 0;) {
		size_t count = values_of(m, &axes[a])->count;

		if (!count)
			continue;
		v.choice[a] = index % count + 1;
		index /= count;
	}
	return v;
}

/* An exclusion that meets nothing is a mistake that would go unseen. */
static int check_excludes(const struct stack *head, size_t all, struct error *err)
{
	for (size_t i = 0; i < head->matrix.exclude_count; i++) {
		const struct stack_exclude *e = &head->matrix.excludes[i];
		bool met = false, any = false;

		for (size_t a = 0; a < STACK_AXES; a++)
			any |= excluded_value(e, &axes[a]) != NULL;
		for (size_t k = 0; any && k < all && !met; k++) {
			struct stack_variant v = combination(&head->matrix, k);

			met = excludes(&head->matrix, e, &v);
		}
		if (!any)
			return stack_error(head, e->place, err,
					   "matrix.exclude[%zu]: names no values to leave out", i);
		if (!met)
			return stack_error(head, e->place, err,
					   "matrix.exclude[%zu]: no combination has these values",
					   i);
	}
	return 0;
}

int stack_matrix_expand(struct stack *head, struct stack_variants *out, struct error *err)
{
	const struct stack_matrix *m = &head->matrix;
	size_t all = 0;

	if (count_all(head, &all, err) < 0 || check_excludes(head, all, err) < 0)
		return -1;
	out->items = arena_array(&head->arena, all, sizeof(*out->items));
	for (size_t i = 0; i < all; i++) {
		struct stack_variant v = combination(m, i);
		bool left_out = false;

		for (size_t k = 0; k < m->exclude_count; k++)
			left_out |= excludes(m, &m->excludes[k], &v);
		if (left_out)
			continue;
		v.name = variant_name(m, &v, &head->arena);
		for (size_t k = 0; k < out->count; k++) {
			if (str_equal(out->items[k].name, v.name))
				return stack_error(head, m->place, err,
						   "matrix: two variants would be called '%s'",
						   v.name);
		}
		out->items[out->count++] = v;
	}
	if (!out->count)
		return stack_error(head, m->place, err, "matrix: every combination is excluded");
	return 0;
}

/* ---- one variant ---- */

/* `text` with "{axis}" filled in. */
static int fill_in(struct stack *head, const struct node *node, const char *key,
		   const struct stack_variant *v, const char **out, struct error *err)
{
	cleanup_strbuf struct strbuf filled = { 0 };
	const char *names[STACK_AXES], *at = node->text;
	size_t count = 0;

	for (size_t a = 0; a < STACK_AXES; a++) {
		if (v->choice[a])
			names[count++] = axes[a].name;
	}
	for (const char *open; (open = strchr(at, '{')); at = strchr(open, '}') + 1) {
		const char *close = strchr(open, '}'), *near;
		const char *word =
			close ? arena_slice(&head->arena,
					    slice_of(open + 1, (size_t)(close - open - 1)))
			      : open + 1;
		size_t a = 0;

		while (a < STACK_AXES && !(v->choice[a] && str_equal(axes[a].name, word)))
			a++;
		near = stack_nearest(word, names, count);
		if (!close || a == STACK_AXES)
			return stack_error(head, stack_place_of(node), err,
					   "%s: '{%.40s%s is not an axis of the matrix%s%s%s", key,
					   word, close ? "}'" : "' without '}'",
					   near ? "; did you mean '{" : "", near ? near : "",
					   near ? "}'?" : "");
		strbuf_add(&filled, at, (size_t)(open - at));
		strbuf_addf(&filled, "%.*s", short_len(value_of(&head->matrix, v, a)),
			    value_of(&head->matrix, v, a));
	}
	strbuf_adds(&filled, at);
	*out = arena_strdup(&head->arena, strbuf_text(&filled));
	return 0;
}

static struct node map_of(struct arena *arena, const struct node_pair *pairs, size_t count,
			  const struct node *like)
{
	struct node map = *like;
	struct node_pair *kept = arena_array(arena, count, sizeof(*kept));

	if (count)
		memcpy(kept, pairs, count * sizeof(*kept));
	map.type = NODE_MAP;
	map.text = "";
	map.pairs = kept;
	map.count = count;
	return map;
}

/* A value stands in the matrix or in its place, not in both. */
static int check_free(const struct stack *head, const struct node *top, const struct axis *axis,
		      struct error *err)
{
	const struct node *stack = node_get(top, "stack"), *there;

	for (int level = 0; level <= (int)axis->framework && stack; level++) {
		if (level)
			stack = node_get(stack, "framework");
		if (stack && stack->type != NODE_MAP && stack->type != NODE_NULL)
			return stack_error(head, stack_place_of(stack), err,
					   "'%s' must be a map, not %s",
					   level ? "framework" : "stack", node_type_name(stack));
	}
	there = stack ? node_get(stack, axis->name) : NULL;
	if (!there)
		return 0;
	return stack_error(head, stack_place_of(there), err,
			   "stack.%s%s: the matrix has values for it as well (line %zu); keep one",
			   axis->framework ? "framework." : "", axis->name,
			   head->matrix.place.line);
}

/* What a variant puts over the manifest. */
static int overlay(struct stack *head, const struct node *top, const struct stack_variant *v,
		   struct node *out, struct error *err)
{
	static const char *const templates[] = { "name", "tag" };
	const struct node *matrix = node_get(top, "matrix");
	struct node_pair stack[STACK_AXES + 1], framework[STACK_AXES], over[4];
	size_t stack_count = 0, framework_count = 0, count = 0;

	for (size_t a = 0; a < STACK_AXES; a++) {
		const struct node *axis = node_get(matrix, axes[a].name);
		struct node_pair pair;

		if (!v->choice[a])
			continue;
		if (check_free(head, top, &axes[a], err) < 0)
			return -1;
		pair.value = axis->items[v->choice[a] - 1];
		pair.key = pair.value;
		pair.key.text = axes[a].name;
		*(axes[a].framework ? &framework[framework_count++] : &stack[stack_count++]) = pair;
	}
	if (framework_count) {
		struct node_pair pair = { .key = framework[0].key };

		pair.key.text = "framework";
		pair.value = map_of(&head->arena, framework, framework_count, matrix);
		stack[stack_count++] = pair;
	}
	over[count] = (struct node_pair){ .key = stack[0].key };
	over[count].key.text = "stack";
	over[count++].value = map_of(&head->arena, stack, stack_count, matrix);
	for (size_t i = 0; i < ARRAY_LEN(templates); i++) {
		const struct node *text = node_get(top, templates[i]);

		if (!text || text->type != NODE_SCALAR)
			continue;
		over[count] = (struct node_pair){ .key = *text, .value = *text };
		over[count].key.text = templates[i];
		if (fill_in(head, text, templates[i], v, &over[count++].value.text, err) < 0)
			return -1;
	}
	*out = map_of(&head->arena, over, count, top);
	return 0;
}

int stack_matrix_apply(struct stack *head, const struct node *top,
		       const struct stack_variant *variant, struct node *out, struct error *err)
{
	struct node over, plain;

	if (overlay(head, top, variant, &over, err) < 0)
		return -1;
	plain = stack_without(top, "matrix", &head->arena);
	*out = stack_merge(&plain, &over, &head->arena);
	return 0;
}
