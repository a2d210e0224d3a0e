/*
 * Image references and platforms from hostile text. What parses, prints to something that parses
 * to the same.
 */
#include "base/alloc.h"
#include "oci/descriptor.h"
#include "oci/reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_reference(const char *text, struct arena *arena)
{
	struct reference a, b;
	struct error err = { 0 };
	const char *printed;

	if (reference_parse(text, arena, &a, &err) < 0) {
		if (err.code != ERROR_USAGE)
			abort();
		return;
	}
	printed = reference_text(&a, arena);
	/* "docker.io/library/" may lengthen a name beyond the limit. */
	if (reference_parse(printed, arena, &b, &err) < 0) {
		if (strlen(printed) <= 255)
			abort();
		return;
	}
	if (!str_equal(printed, reference_text(&b, arena)))
		abort();
}

static void check_platform(const char *text, struct arena *arena)
{
	struct platform a, b;
	struct error err = { 0 };

	if (platform_parse(text, arena, &a, &err) < 0)
		return;
	if (platform_parse(platform_text(&a, arena), arena, &b, &err) < 0 ||
	    !platform_equal(&a, &b))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *text = xstrndup((const char *)data, len);

	check_reference(text, &arena);
	check_platform(text, &arena);
	return 0;
}
