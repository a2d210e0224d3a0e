#include "cli/image_arg.h"

#include "cli/no_core.h"
#include "registry/transfer.h"

/* Unlike option_text, for commands that may not have the option at all. */
static const char *platform_option(const struct invocation *in)
{
	for (size_t i = in->values.len; i-- > 0;) {
		if (str_equal(in->values.items[i].option->name, "platform"))
			return in->values.items[i].value;
	}
	return NULL;
}

static struct image_source *remote_source(const struct image_name *name, struct error *err)
{
	static const struct client_options options = { 0 }; /* outlives every source */

	no_core();
	return registry_source(&name->ref, &options, err);
}

static int open_remote(const struct image_name *name, const struct platform *platform,
		       struct image *out, struct error *err)
{
	struct image_source *source = remote_source(name, err);

	return source ? image_open_source(source, name->text, platform, out, err) : -1;
}

int image_arg_open(const struct invocation *in, const char *text, struct image *out,
		   struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *platform_text = platform_option(in);
	struct platform platform;
	struct image_name name;

	if (image_name_parse(text, &arena, &name, err) < 0 ||
	    (platform_text && platform_parse(platform_text, &arena, &platform, err) < 0))
		return -1;
	if (name.transport == TRANSPORT_DOCKER)
		return open_remote(&name, platform_text ? &platform : NULL, out, err);
	return image_open(&name, platform_text ? &platform : NULL, out, err);
}

struct image_source *image_arg_source(const char *text, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct image_name name;

	if (image_name_parse(text, &arena, &name, err) < 0)
		return NULL;
	if (name.transport == TRANSPORT_DOCKER)
		return remote_source(&name, err);
	return image_source_open(&name, err);
}
