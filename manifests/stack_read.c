#include "manifests/stack.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "manifests/stack_keys.h"
#include "manifests/stack_load.h"
#include "manifests/stack_matrix.h"
#include "manifests/stack_parse.h"
#include "manifests/stack_print.h"

enum { FILE_LIMIT = 16 << 20 };

static const char *directory_of(const char *file, struct arena *arena)
{
	const char *slash = strrchr(file, '/');

	if (!slash)
		return ".";
	return slash == file ? "/" : arena_slice(arena, slice_of(file, (size_t)(slash - file)));
}

const char *stack_path(const struct stack *stack, const char *path, struct arena *arena)
{
	const char *folder = stack->directory && *stack->directory ? stack->directory : ".";

	return path[0] == '/' ? path : arena_printf(arena, "%s/%s", folder, path);
}

/* What all variants begin with. */
static void begin(const char *file, struct stack *out)
{
	out->file = arena_strdup(&out->arena, file);
	out->directory = directory_of(out->file, &out->arena);
	out->variant = "";
}

/* The stack of a tree that has no matrix any more. */
static int finish(const struct node *top, const struct stack_options *options, struct stack *stack,
		  struct error *err)
{
	if (stack_parse_tree(top, stack, err) < 0)
		return -1;
	stack_fingerprint(stack, options);
	return 0;
}

static int unknown_variant(const struct stack *head, const struct stack_variants *all,
			   const char *name, struct error *err)
{
	cleanup_strbuf struct strbuf known = { 0 };
	cleanup_free const char **names = xcalloc(all->count + 1, sizeof(*names));
	const char *near;

	for (size_t i = 0; i < all->count; i++) {
		names[i] = all->items[i].name;
		strbuf_addf(&known, "%s%s", i ? ", " : "", names[i]);
	}
	if (!all->count)
		return error_set(err, ERROR_USAGE,
				 "%s: there is no variant '%.60s': it has no matrix", head->file,
				 name);
	near = stack_nearest(name, names, all->count);
	return error_set(err, ERROR_USAGE, "%s: there is no variant '%.60s'%s%s%s%.200s",
			 head->file, name,
			 near ? "; did you mean '" : "; there are: ", near ? near : "",
			 near ? "'?" : "", near ? "" : strbuf_text(&known));
}

static bool is_wanted(const struct stack_options *options, const char *name)
{
	for (size_t i = 0; i < options->variant_count; i++) {
		if (str_equal(options->variants[i], name))
			return true;
	}
	return !options->variant_count;
}

static int check_wanted(const struct stack *head, const struct stack_variants *all,
			const struct stack_options *options, struct error *err)
{
	for (size_t i = 0; i < options->variant_count; i++) {
		bool found = false;

		for (size_t k = 0; k < all->count; k++)
			found |= str_equal(options->variants[i], all->items[k].name);
		if (!found)
			return unknown_variant(head, all, options->variants[i], err);
	}
	return 0;
}

/* Two images under one tag: the second would take the place of the first. */
static int check_names(const struct stack *head, const struct stacks *all, struct error *err)
{
	for (size_t i = 0; i < all->count; i++) {
		for (size_t k = 0; k < i; k++) {
			const struct stack *a = &all->items[k], *b = &all->items[i];

			if (str_equal(a->name, b->name) && str_equal(a->tag, b->tag))
				return stack_error(
					head, head->matrix.place, err,
					"matrix: %s and %s would both be %s:%s; tell them apart "
					"in 'tag', such as \"{cuda}-py{python}\"",
					a->variant, b->variant, a->name, a->tag);
		}
	}
	return 0;
}

static int parse_variants(const struct node *top, const struct stack_options *options,
			  struct stack *head, struct stacks *out, struct error *err)
{
	struct stack_variants variants = { 0 };
	size_t kept = 0;

	if (stack_parse_matrix(node_get(top, "matrix"), head, err) < 0 ||
	    stack_matrix_expand(head, &variants, err) < 0 ||
	    check_wanted(head, &variants, options, err) < 0)
		return -1;
	out->matrix = head->matrix.place;
	out->items = arena_array(&out->arena, variants.count, sizeof(*out->items));
	for (size_t i = 0; i < variants.count; i++) {
		struct stack *stack = &out->items[out->count++];
		struct node tree;

		begin(head->file, stack);
		stack->variant = arena_strdup(&stack->arena, variants.items[i].name);
		if (stack_matrix_apply(head, top, &variants.items[i], &tree, err) < 0 ||
		    finish(&tree, options, stack, err) < 0)
			return -1;
	}
	if (check_names(head, out, err) < 0)
		return -1;
	for (size_t i = 0; i < out->count; i++) {
		struct stack stack = out->items[i];

		out->items[i] = (struct stack){ 0 };
		if (is_wanted(options, stack.variant))
			out->items[kept++] = stack;
		else
			stack_release(&stack);
	}
	out->count = kept;
	return 0;
}

/* `head` is for errors, and for what the variants share while they are made. */
static int parse_all(struct slice text, const struct stack_options *options, struct stack *head,
		     struct stacks *out, struct error *err)
{
	const char *file = arena_strdup(&out->arena, head->file);
	struct node top;

	if (stack_load(text, file, options, &out->arena, &top, err) < 0)
		return -1;
	if (node_get(&top, "matrix"))
		return parse_variants(&top, options, head, out, err);
	if (options->variant_count)
		return unknown_variant(head, &(struct stack_variants){ 0 }, options->variants[0],
				       err);
	out->items = arena_array(&out->arena, 1, sizeof(*out->items));
	out->count = 1;
	begin(file, &out->items[0]);
	return finish(&top, options, &out->items[0], err);
}

int stacks_parse(struct slice text, const char *file, const struct stack_options *options,
		 struct stacks *out, struct error *err)
{
	static const struct stack_options none = { 0 };
	struct stack head = { 0 };
	struct stacks all = { 0 };
	int rc;

	begin(file, &head);
	rc = parse_all(text, options ? options : &none, &head, &all, err);
	/* Filled-in names lie with the head. */
	if (rc == 0)
		arena_adopt(&all.arena, &head.arena);
	stack_release(&head);
	if (rc < 0) {
		stacks_release(&all);
		return -1;
	}
	*out = all;
	return 0;
}

static int load_file(void *user, const char *path, struct strbuf *out, struct error *err)
{
	(void)user;
	return fs_read(AT_FDCWD, path, FILE_LIMIT, out, err);
}

int stacks_read(const char *file, const struct stack_options *options, struct stacks *out,
		struct error *err)
{
	struct stack_options with = options ? *options : (struct stack_options){ 0 };
	cleanup_strbuf struct strbuf text = { 0 };

	with.load = load_file;
	if (fs_read(AT_FDCWD, file, FILE_LIMIT, &text, err) < 0) {
		if (err->code == ERROR_LIMIT)
			err->code = ERROR_USAGE;
		return -1;
	}
	return stacks_parse(strbuf_slice(&text), file, &with, out, err);
}

void stacks_release(struct stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->count; i++)
		stack_release(&stacks->items[i]);
	arena_release(&stacks->arena);
	*stacks = (struct stacks){ 0 };
}

/* The one image of a manifest, which takes over what was shared. */
static int only_one(struct stacks *all, struct stack *out, struct error *err)
{
	if (all->count != 1)
		return stack_error(&all->items[0], all->matrix, err,
				   "matrix: makes %zu images, and one is wanted here", all->count);
	*out = all->items[0];
	all->count = 0;
	arena_adopt(&out->arena, &all->arena);
	return 0;
}

int stack_parse(struct slice text, const char *file, struct stack *out, struct error *err)
{
	cleanup_stacks struct stacks all = { 0 };

	if (stacks_parse(text, file, NULL, &all, err) < 0)
		return -1;
	return only_one(&all, out, err);
}

int stack_read(const char *file, struct stack *out, struct error *err)
{
	cleanup_stacks struct stacks all = { 0 };

	if (stacks_read(file, NULL, &all, err) < 0)
		return -1;
	return only_one(&all, out, err);
}
