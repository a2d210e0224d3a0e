#include "cli/image_copy.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "base/sink_file.h"
#include "builder/workdir.h"
#include "cli/interrupt.h"
#include "cli/push_extras.h"
#include "oci/docker_write.h"
#include "oci/image.h"
#include "oci/layout.h"
#include "oci/mediatype.h"
#include "registry/pull.h"
#include "registry/transfer.h"

struct image_source *image_copy_source(const struct image_name *name,
				       const struct client_options *client, struct error *err)
{
	if (name->transport == TRANSPORT_DOCKER)
		return registry_source(&name->ref, client, err);
	if (name->transport == TRANSPORT_ROOTFS) {
		error_set(err, ERROR_USAGE,
			  "'%s': an unpacked root is no image; what is copied is a layout, an "
			  "archive "
			  "or another registry's image",
			  name->text);
		return NULL;
	}
	return image_source_open(name, err);
}

/* Destinations. */

enum kind { TO_LAYOUT, TO_OCI_ARCHIVE, TO_DOCKER_ARCHIVE, TO_REGISTRY };

struct destination {
	enum kind kind;
	const char *path;
	const char *name; /* tag, or for docker-archive a whole reference; NULL: none written */
	struct reference ref;
};

static int parse_file(const char *rest, struct arena *arena, struct destination *out,
		      struct error *err)
{
	const char *colon = strstr(rest, ".tar:");

	colon = colon ? colon + strlen(".tar") : strrchr(rest, ':');
	if (colon && out->kind != TO_DOCKER_ARCHIVE && !reference_tag_valid(colon + 1)) {
		if (strchr(colon, '/'))
			colon = NULL;
		else
			return error_set(err, ERROR_USAGE, "'%s': \"%s\" is no tag", rest,
					 colon + 1);
	}
	out->path = colon ? arena_slice(arena, slice_of(rest, (size_t)(colon - rest))) : rest;
	out->name = colon ? colon + 1 : NULL;
	if (!*out->path)
		return error_set(err, ERROR_USAGE, "'%s': there is no path in it", rest);
	return 0;
}

static int parse_destination(const char *text, struct arena *arena, struct destination *out,
			     struct error *err)
{
	static const struct {
		const char *prefix;
		enum kind kind;
	} kinds[] = { { "oci:", TO_LAYOUT },
		      { "oci-archive:", TO_OCI_ARCHIVE },
		      { "docker-archive:", TO_DOCKER_ARCHIVE },
		      { "docker://", TO_REGISTRY } };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const char *rest = text + strlen(kinds[i].prefix);

		if (!str_starts(text, kinds[i].prefix))
			continue;
		out->kind = kinds[i].kind;
		if (out->kind == TO_REGISTRY)
			return reference_parse(rest, arena, &out->ref, err);
		return parse_file(rest, arena, out, err);
	}
	return error_set(err, ERROR_USAGE,
			 "'%s': images are copied to oci:DIR[:TAG], oci-archive:FILE[:TAG], "
			 "docker-archive:FILE[:NAME:TAG] or docker://HOST/NAME[:TAG]",
			 text);
}

/* Progress. */

static void show_pull(void *user, const struct pull_progress *p)
{
	struct registry_arg *w = user;
	char digest[DIGEST_TEXT_MAX], size[32];
	cleanup_free char *name = NULL;

	pthread_mutex_lock(&w->lock);
	digest_text(p->blob, digest);
	digest[19] = 0;
	name = xasprintf("%s %" PRIu64 "%%", digest,
			 p->blob_size ? p->blob_bytes * 100 / p->blob_size : 100);
	if (p->begun && p->resumed_bytes) {
		w->progress.present_bytes += p->resumed_bytes;
		progress_end(&w->progress);
		out_note(w->out, "%s resumed at %s", digest, out_size(p->resumed_bytes, size));
	}
	if (p->done)
		out_verbose(w->out, "%s %s", digest, p->was_there ? "is there" : "received");
	progress_bytes(&w->progress, name, p->done_bytes, p->total_bytes);
	pthread_mutex_unlock(&w->lock);
}

static void show_push(void *user, const struct push_progress *p)
{
	struct registry_arg *w = user;
	char digest[DIGEST_TEXT_MAX];
	cleanup_free char *name = NULL;

	pthread_mutex_lock(&w->lock);
	digest_text(&p->blob->digest, digest);
	digest[19] = 0;
	name = xasprintf("%s %" PRIu64 "%%", digest,
			 p->blob->size ? p->blob_bytes * 100 / p->blob->size : 100);
	progress_bytes(&w->progress, name, p->done_bytes, p->total_bytes);
	pthread_mutex_unlock(&w->lock);
}

/* Files. */

static int raw_sizes(struct image *image, uint64_t *out, struct error *err)
{
	for (size_t i = 0; i < image->manifest.layer_count; i++) {
		cleanup_stream struct stream *layer = image_layer(image, i, err);

		if (!layer || stream_drain(layer, &out[i], err) < 0)
			return -1;
	}
	return 0;
}

static int write_docker(const char *dir, const char *reference, struct sink *sink,
			struct error *err)
{
	cleanup(image_release) struct image image = { 0 };
	struct image_source *source = layout_source(dir, NULL, err);
	cleanup_free uint64_t *sizes = NULL;

	if (!source || image_open_source(source, dir, NULL, &image, err) < 0)
		return -1;
	sizes = xcalloc(image.manifest.layer_count + 1, sizeof(*sizes));
	if (raw_sizes(&image, sizes, err) < 0)
		return -1;
	return docker_archive_write(&image, sizes, reference, sink, err);
}

struct archive {
	const struct destination *to;
	const char *dir, *name;
};

/* A sink_file_fn. */
static int write_archive(void *user, struct sink *sink, struct error *err)
{
	const struct archive *a = user;
	cleanup_layout struct layout *layout = NULL;

	if (a->to->kind == TO_DOCKER_ARCHIVE)
		return write_docker(a->dir, a->name, sink, err);
	layout = layout_open(a->dir, err);
	return layout ? layout_archive(layout, a->name, sink, err) : -1;
}

/* One copy. */

struct running {
	const struct image_copy *copy;
	struct arena arena;
	struct destination to;
	struct image_source *opened; /* what the name stands for */
	struct image_source *source; /* that, or one image of it */
	uint64_t parallel, range_mib;
};

static void running_release(struct running *r)
{
	if (r->source != r->opened)
		image_source_close(r->source);
	image_source_close(r->opened);
	arena_release(&r->arena);
}

static const char *default_tag(const struct image_name *from)
{
	const char *tag = from->transport == TRANSPORT_DOCKER ? from->ref.tag : from->tag;
	const char *colon = tag ? strrchr(tag, ':') : NULL;

	tag = colon ? colon + 1 : tag;
	return tag && reference_tag_valid(tag) ? tag : "latest";
}

static const char *docker_name(struct running *r, struct error *err)
{
	const char *name = r->to.name;
	const struct image_name *from = &r->copy->from;
	struct reference ignored;

	if (!name && from->transport == TRANSPORT_DOCKER)
		name = arena_printf(&r->arena, "%s/%s:%s", from->ref.registry, from->ref.repository,
				    default_tag(from));
	if (!name)
		return error_set(err, ERROR_USAGE,
				 "docker-archive:%s: write the image's name behind it "
				 "(docker-archive:%s:NAME:TAG)",
				 r->to.path, r->to.path),
		       NULL;
	if (reference_parse(name, &r->arena, &ignored, err) < 0)
		return NULL;
	if (!strchr(name, ':') || strrchr(name, ':') < strrchr(name, '/'))
		name = arena_printf(&r->arena, "%s:%s", name, default_tag(from));
	return name;
}

static void report(const struct running *r, const struct pull_result *result)
{
	const struct out *out = r->copy->in->out;
	char digest[DIGEST_TEXT_MAX], size[32], resumed[32];

	if (result->bytes_resumed)
		out_note(out, "%s had come with an earlier call",
			 out_size(result->bytes_resumed, resumed));
	out_note(out, "%zu blobs received (%s), %zu were there, in %.1f s",
		 result->blobs - result->blobs_there, out_size(result->bytes_received, size),
		 result->blobs_there, (double)result->elapsed_ms / 1000);
	out_print(out, "%s\n", digest_text(&result->root, digest));
}

static bool with_referrers(const struct image_copy *c)
{
	return option_given(c->in, "with-referrers");
}

/* To a layout, or to an archive by way of one. */
static int to_files(struct running *r, struct error *err)
{
	const struct image_copy *c = r->copy;
	const char *name = r->to.name ? r->to.name : default_tag(&c->from);
	cleanup_store struct store *store = store_open(option_text(c->in, "store", NULL), err);
	cleanup_free char *partials = store ? fs_join(store_path(store), "partials") : NULL;
	cleanup_workdir char *aside = NULL;
	struct pull_result result = { 0 };
	struct archive archive;
	struct pull_request request = { .source = r->source,
					.partials = partials,
					.layout = r->to.path,
					.tag = name,
					.parallel = (unsigned)r->parallel,
					.range_bytes = r->range_mib * MIB,
					.progress = show_pull,
					.progress_user = c->registry };

	if (!store)
		return -1;
	if (c->from.transport == TRANSPORT_DOCKER)
		request.remote = r->opened;
	if (r->to.kind != TO_LAYOUT && !(aside = workdir_new(store, err)))
		return -1;
	if (r->to.kind == TO_DOCKER_ARCHIVE && !(name = docker_name(r, err)))
		return -1;
	if (aside)
		request.layout = aside;
	if (r->to.kind == TO_DOCKER_ARCHIVE)
		request.tag = "image";
	if (transfer_pull(&request, &result, err) < 0)
		return -1;
	progress_end(&c->registry->progress);
	if (with_referrers(c) && push_extras_copy(c->in, c->registry, &c->from, NULL,
						  request.layout, &result.root, err) < 0)
		return -1;
	archive = (struct archive){ &r->to, aside, name };
	if (aside && sink_file_write(r->to.path, write_archive, &archive, err) < 0)
		return -1;
	report(r, &result);
	return 0;
}

static int to_registry(struct running *r, struct error *err)
{
	const struct image_copy *c = r->copy;
	const struct reference *to = &r->to.ref;
	const char *const mounts[] = { c->from.ref.repository, NULL };
	bool same = c->from.transport == TRANSPORT_DOCKER &&
		    str_equal(c->from.ref.registry, to->registry);
	cleanup_push_result struct push_result result = { 0 };
	struct push_request request = { .source = r->source,
					.destinations = to,
					.destination_count = 1,
					.client = c->registry->client,
					.mount_from = same ? mounts : NULL,
					.parallel = (unsigned)r->parallel,
					.progress = show_push,
					.progress_user = c->registry };
	size_t sent = 0, mounted = 0;
	char digest[DIGEST_TEXT_MAX], size[32];

	if (transfer_push(&request, &result, err) < 0)
		return -1;
	progress_end(&c->registry->progress);
	if (with_referrers(c) &&
	    push_extras_copy(c->in, c->registry, &c->from, to, NULL, &result.root.digest, err) < 0)
		return -1;
	for (size_t i = 0; i < result.blob_count; i++) {
		sent += result.blobs[i].state == PUSH_SENT;
		mounted += result.blobs[i].state == PUSH_MOUNTED;
	}
	out_note(c->in->out,
		 "%zu blobs sent (%s), %zu taken over from %s, %zu were there, in %.1f s", sent,
		 out_size(result.bytes_sent, size), mounted, mounts[0] ? mounts[0] : "elsewhere",
		 result.blob_count - sent - mounted, (double)result.elapsed_ms / 1000);
	out_print(c->in->out, "%s/%s%s%s@%s\n", to->registry, to->repository, to->tag ? ":" : "",
		  to->tag ? to->tag : "", digest_text(&result.root.digest, digest));
	return 0;
}

/* One image, when one is wanted and there may be several. */
static int choose(struct running *r, struct error *err)
{
	const char *wanted = option_text(r->copy->in, "platform", NULL);
	bool all = option_given(r->copy->in, "all-platforms") || r->copy->all;
	cleanup_strbuf struct strbuf text = { 0 };
	const struct mediatype *type;
	struct platform platform;
	struct descriptor root;

	r->source = r->opened;
	if (wanted && option_given(r->copy->in, "all-platforms"))
		return error_set(err, ERROR_USAGE,
				 "--platform and --all-platforms exclude each "
				 "other");
	if (wanted && platform_parse(wanted, &r->arena, &platform, err) < 0)
		return -1;
	if (!wanted && all && r->to.kind != TO_DOCKER_ARCHIVE)
		return 0;
	if (!wanted) {
		if (r->opened->ops->root(r->opened, &text, &root, err) < 0)
			return -1;
		type = root.media_type ? mediatype_find(root.media_type) : NULL;
		if (!type || type->kind != MEDIA_INDEX)
			return 0;
	}
	r->source =
		source_of_platform(r->opened, r->copy->from.text, wanted ? &platform : NULL, err);
	return r->source ? 0 : -1;
}

int image_copy_run(const struct image_copy *copy, struct error *err)
{
	cleanup(running_release) struct running r = { .copy = copy };
	cleanup_interrupt struct interrupt watch = { 0 };

	if (option_number(copy->in, "parallel", 1, 64, 4, &r.parallel, err) < 0 ||
	    option_number(copy->in, "range-size", 1, 65536, 64, &r.range_mib, err) < 0 ||
	    parse_destination(copy->to, &r.arena, &r.to, err) < 0)
		return -1;
	if (with_referrers(copy) && (r.to.kind == TO_OCI_ARCHIVE || r.to.kind == TO_DOCKER_ARCHIVE))
		return error_set(err, ERROR_USAGE,
				 "--with-referrers: an archive holds one image and nothing beside "
				 "it; copy to a layout");
	r.opened = image_copy_source(&copy->from, &copy->registry->client, err);
	if (!r.opened || choose(&r, err) < 0)
		return -1;
	interrupt_begin(&watch, copy->registry, "what came is kept; the same call goes on there");
	return r.to.kind == TO_REGISTRY ? to_registry(&r, err) : to_files(&r, err);
}
