#include "builder/sources/package_file.h"

#include "base/fs.h"
#include "builder/component_cache.h"

static int check_identity(const struct component *c, const struct lock_input *input,
			  const struct package_format *format, struct error *err)
{
	if (str_equal(c->name, input->name) && str_equal(c->version, input->version) &&
	    str_equal(c->arch, input->arch))
		return 0;
	return error_set(err, ERROR_INTEGRITY,
			 "the file is %.60s %.60s %.20s, another package than the %s said it is",
			 c->name, c->version, c->arch, format->listing);
}

static struct digest key_of(const struct lock_input *input, const struct package_format *format)
{
	char text[DIGEST_TEXT_MAX];
	cleanup_free char *recipe =
		xasprintf("%s %s", format->recipe, digest_text(&input->digest, text));

	return digest_of(slice_str(recipe));
}

static int open_into(struct store *store, const struct lock_input *input,
		     const struct package_format *format, struct component *c, struct error *err)
{
	cleanup_fd int fd = store_open_verified(store, &input->digest, input->size, err);
	cleanup_stream struct stream *file = NULL;
	cleanup_sink struct sink *content = NULL;

	if (fd < 0)
		return -1;
	file = stream_fd(steal_fd(&fd), input->name);
	c->fd = store_scratch(store, err);
	if (c->fd < 0)
		return -1;
	content = sink_fd(c->fd, "temporary file");
	if (format->unpack(file, content, c, err) < 0)
		return -1;
	for (size_t i = 0; i < c->entries.len; i++) {
		if (c->entries.items[i].content.kind == CONTENT_RANGE)
			c->entries.items[i].content.fd = c->fd;
	}
	return 0;
}

/* From the cache, else from the package, which then goes into the cache. */
static struct component *open_cached(struct store *store, const struct lock_input *input,
				     const struct package_format *format, struct error *err)
{
	struct digest key = key_of(input, format);
	cleanup_component struct component *c = component_recall(store, format->kind, &key);

	if (!c) {
		c = component_new(format->kind, input->name, input->version);
		c->key = key;
		if (open_into(store, input, format, c, err) < 0 ||
		    component_keep(store, c, err) < 0)
			return NULL;
	}
	return check_identity(c, input, format, err) < 0 ? NULL : steal_ptr(&c);
}

struct component *package_file_open(struct store *store, const struct lock_input *input,
				    const struct package_format *format, struct error *err)
{
	struct component *c = open_cached(store, input, format, err);

	if (!c) {
		error_wrap(err, "%s %s", input->name, input->version);
		return NULL;
	}
	c->stage = arena_strdup(&c->arena, input->stage);
	c->requested = input->requested;
	c->toolkit = input->toolkit;
	c->host = lock_input_is_hosts(input);
	return c;
}
