/* A manifest reads the same twice, and as it prints; what is refused says where. */
#include "base/alloc.h"
#include "manifests/stack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(struct slice text, const char *file)
{
	cleanup_stack struct stack first = { 0 };
	cleanup_stack struct stack second = { 0 };
	struct error err = { 0 }, again = { 0 };
	int rc = stack_parse(text, file, &first, &err);

	assert(stack_parse(text, file, &second, &again) == rc);
	if (rc < 0) {
		assert(err.code == ERROR_USAGE || err.code == ERROR_LIMIT);
		assert(str_starts(err.text, file) && err.text[strlen(file)] == ':');
		assert(err.text[strlen(file) + 1] >= '1' && err.text[strlen(file) + 1] <= '9');
		assert(str_equal(err.text, again.text));
		return;
	}
	assert(digest_equal(&first.digest, &second.digest));
	assert(first.name && first.tag && first.platforms.count && first.stage_count);
	assert(str_equal(first.name, second.name) && first.stage_count == second.stage_count);
	for (size_t i = 0; i < first.stage_count; i++) {
		const struct stack_stage *stage = &first.stages[i];

		assert(stack_stage(&first, stage->name) == stage);
		for (size_t k = 0; k < stage->package_count; k++)
			assert(stack_source(&first, stage->packages[k].source));
		for (size_t k = 0; k < stage->copy_count; k++)
			assert(stack_stage(&first, stage->copies[k].from) < stage);
	}
}

/* What is printed reads as the same stack and prints the same. */
static void check_printed(const struct stack *stack)
{
	cleanup_strbuf struct strbuf one = { 0 }, two = { 0 };
	cleanup_stack struct stack again = { 0 };
	struct error err = { 0 };

	stack_print(stack, &one);
	assert(stack_parse(strbuf_slice(&one), "printed.yaml", &again, &err) == 0);
	stack_print(&again, &two);
	assert(slice_equal(strbuf_slice(&one), strbuf_slice(&two)));
	/* Requirements files are no part of the text. */
	assert(stack->key_count >= again.key_count);
}

/* "N.yaml" and "N.json" are the N-th part of the input. */
static int load(void *user, const char *path, struct strbuf *out, struct error *err)
{
	const struct slice *parts = user;
	size_t n = path[0] >= '1' && path[0] <= '3' ? (size_t)(path[0] - '0') : 0;

	if (!n || !parts[n].data)
		return error_set(err, ERROR_NOT_FOUND, "no such part");
	strbuf_add(out, parts[n].data, parts[n].len);
	return 0;
}

/*
 * Parts separated by 0x1e: the manifest, three files it may extend, and one --set. The same input
 * gives the same stacks, and each variant has a name and tag of its own.
 */
static void check_merged(struct slice text)
{
	struct slice parts[5] = { { 0 } }, rest = text;
	cleanup_stacks struct stacks first = { 0 }, second = { 0 };
	struct error err = { 0 }, again = { 0 };
	cleanup_free char *set = NULL;
	struct stack_options options = { .load = load, .load_user = parts };
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(parts) && slice_cut(&rest, 0x1e, &parts[i]); i++)
		continue;
	if (parts[4].data) {
		set = xstrndup((const char *)parts[4].data, parts[4].len);
		options.sets = (const char *const *)&set;
		options.set_count = 1;
	}
	rc = stacks_parse(parts[0], "0.yaml", &options, &first, &err);
	assert(stacks_parse(parts[0], "0.yaml", &options, &second, &again) == rc);
	if (rc < 0) {
		assert(err.code == ERROR_USAGE || err.code == ERROR_LIMIT);
		assert(str_equal(err.text, again.text));
		return;
	}
	assert(first.count && first.count == second.count);
	for (size_t i = 0; i < first.count; i++) {
		assert(digest_equal(&first.items[i].digest, &second.items[i].digest));
		check_printed(&first.items[i]);
		for (size_t k = 0; k < i; k++)
			assert(!str_equal(first.items[i].name, first.items[k].name) ||
			       !str_equal(first.items[i].tag, first.items[k].tag));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len > 64 * KIB)
		return 0;
	check(slice_of(data, len), "f.yaml");
	check(slice_of(data, len), "f.json");
	check_merged(slice_of(data, len));
	return 0;
}
