/* A manifest reads the same twice; what is refused says where. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len > 64 * KIB)
		return 0;
	check(slice_of(data, len), "f.yaml");
	check(slice_of(data, len), "f.json");
	return 0;
}
