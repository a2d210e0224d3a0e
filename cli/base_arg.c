#include "cli/base_arg.h"

#include "cli/image_arg.h"

static int open_base(void *user, const char *name, const struct platform *platform,
		     struct image *out, struct error *err)
{
	struct image_source *source = image_arg_source(name, err);

	(void)user;
	return source ? image_open_source(source, name, platform, out, err) : -1;
}

struct base_opener base_arg_opener(void)
{
	return (struct base_opener){ .open = open_base };
}
