/*
 * What packages call their licence, copyright files and METADATA, of hostile packages. Property:
 * an expression reads as itself.
 */
#include "formats/license.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const char *expression, struct arena *arena)
{
	struct license_refs refs = { 0 };
	const char *again = license_expression(expression, arena, &refs);

	if (!again || (!strpbrk(expression, "()") && !str_equal(again, expression)))
		abort();
	vec_release(&refs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	struct slice text = slice_of(data, len);
	struct license_refs refs = { 0 };
	const char *expression;

	expression = license_expression(arena_slice(&arena, text), &arena, &refs);
	if (expression && refs.len < 50)
		check(expression, &arena);
	license_of_copyright(text, &arena, &refs);
	license_of_metadata(text, &arena);
	vec_release(&refs);
	return 0;
}
