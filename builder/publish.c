#include "builder/publish.h"

#include "base/process.h"
#include "base/sink_file.h"
#include "base/vec.h"
#include "builder/workdir.h"
#include "oci/docker_write.h"
#include "oci/layout.h"
#include "oci/reference.h"
#include "oci/image_unpack.h"

void publication_release(struct publication *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->blobs.len; i++)
		free((void *)(uintptr_t)p->blobs.items[i].bytes.data);
	vec_release(&p->blobs);
}

void publication_add_bytes(struct publication *p, struct slice bytes)
{
	struct publication_blob b = { .digest = digest_of(bytes), .size = bytes.len };

	b.bytes = slice_of(xmemdup(bytes.data, bytes.len), bytes.len);
	vec_push(&p->blobs, b);
}

void publication_add_layer(struct publication *p, const struct digest *digest, uint64_t size,
			   uint64_t raw_size)
{
	struct publication_blob b = { .digest = *digest, .size = size, .raw_size = raw_size };

	vec_push(&p->blobs, b);
}

/* A blob lies there already, with the bytes that it should have. */
static bool has_bytes(struct layout *layout, const struct publication_blob *b)
{
	struct error ignored = { 0 };
	cleanup_stream struct stream *there = layout_blob(layout, &b->digest, &ignored);
	cleanup_stream struct stream *proven = NULL;

	if (!there)
		return false;
	proven = stream_verify(there, &b->digest, b->size);
	return stream_drain(proven, NULL, &ignored) == 0;
}

static int put_blob(struct publication *p, struct layout *layout, const struct publication_blob *b,
		    struct error *err)
{
	struct descriptor ignored;
	cleanup_free char *name = NULL;
	int dirfd;

	if (b->bytes.data && has_bytes(layout, b))
		return 0;
	if (b->bytes.data)
		return layout_put_bytes(layout, b->bytes, &ignored, err);
	if (store_locate(p->store, &b->digest, &dirfd, &name, err) < 0)
		return -1;
	return layout_link(layout, dirfd, name, &b->digest, b->size, err);
}

/* What index.json will name is on the disk before it does. */
static int sync_blobs(struct publication *p, struct layout *layout, struct error *err)
{
	for (size_t i = 0; i < p->blobs.len; i++) {
		if (layout_sync(layout, &p->blobs.items[i].digest, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * All blobs, then the tag. What was put is taken back when that fails, so that a full disk is not
 * left fuller; unless another process fills the layout too and may count on it.
 */
static int fill_layout(struct publication *p, struct layout *layout, const char *tag, bool keep,
		       bool *out_taken_back, struct error *err)
{
	cleanup_free bool *added = xcalloc(p->blobs.len + 1, sizeof(*added));
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->blobs.len; i++) {
		added[i] = !layout_has(layout, &p->blobs.items[i].digest, p->blobs.items[i].size);
		rc = put_blob(p, layout, &p->blobs.items[i], err);
	}
	if (rc == 0 && keep)
		rc = sync_blobs(p, layout, err);
	if (rc == 0)
		rc = layout_tag(layout, tag, &p->index, err);
	*out_taken_back = rc < 0 && layout_unshared(layout);
	for (size_t i = 0; *out_taken_back && i < p->blobs.len; i++) {
		if (added[i])
			layout_discard(layout, &p->blobs.items[i].digest);
	}
	return rc;
}

/* `keep`: it is for the user and outlives this process and a power cut. */
static int write_layout(struct publication *p, const char *dir, const char *tag, bool keep,
			struct error *err)
{
	bool fresh = !fs_exists(AT_FDCWD, dir), taken_back = false;
	cleanup_layout struct layout *layout = layout_create(dir, err);
	int rc = layout ? fill_layout(p, layout, tag, keep, &taken_back, err) : -1;
	struct error ignored = { 0 };

	if (rc < 0 && fresh && taken_back)
		ignore_result(fs_remove_tree(AT_FDCWD, dir, &ignored));
	else if (rc < 0 && fresh) /* only when nobody put anything there */
		unlinkat(AT_FDCWD, dir, AT_REMOVEDIR);
	return rc;
}

/* Writes one file through `write`. */
struct file_writer {
	int (*write)(struct publication *p, const char *layout, const char *tag, struct sink *sink,
		     struct error *err);
	struct publication *publication;
	const char *layout, *tag;
};

/* A sink_file_fn. */
static int write_through(void *user, struct sink *sink, struct error *err)
{
	const struct file_writer *w = user;

	return w->write(w->publication, w->layout, w->tag, sink, err);
}

static int write_file(struct file_writer *w, const char *file, struct error *err)
{
	return sink_file_write(file, write_through, w, err);
}

static int write_oci_archive(struct publication *p, const char *layout, const char *tag,
			     struct sink *sink, struct error *err)
{
	cleanup_layout struct layout *l = layout_open(layout, err);

	(void)p;
	return l ? layout_archive(l, tag, sink, err) : -1;
}

/* The one image of a layout that a folder or an engine can take. */
static int open_one(const char *layout, const char *tag, struct image *out, struct error *err)
{
	struct image_source *source = layout_source(layout, tag, err);

	if (!source)
		return -1;
	if (image_open_source(source, "the image", NULL, out, err) == 0)
		return 0;
	if (err->code == ERROR_NOT_FOUND)
		return error_wrap(err, "this destination takes one image, of this machine's "
				       "platform; write the others with oci: or oci-archive:");
	return -1;
}

static uint64_t raw_size_of(const struct publication *p, const struct digest *digest)
{
	for (size_t i = 0; i < p->blobs.len; i++) {
		if (digest_equal(&p->blobs.items[i].digest, digest))
			return p->blobs.items[i].raw_size;
	}
	return 0;
}

/* `tag` is the whole reference here. */
static int write_docker_archive(struct publication *p, const char *layout, const char *tag,
				struct sink *sink, struct error *err)
{
	cleanup_image struct image image = { 0 };
	cleanup_free uint64_t *sizes = NULL;

	if (open_one(layout, p->default_tag, &image, err) < 0)
		return -1;
	sizes = xcalloc(image.manifest.layer_count + 1, sizeof(*sizes));
	for (size_t i = 0; i < image.manifest.layer_count; i++)
		sizes[i] = raw_size_of(p, &image.manifest.layers[i].digest);
	return docker_archive_write(&image, sizes, tag, sink, err);
}

static int write_root(struct publication *p, const char *layout, const char *dir, struct error *err)
{
	cleanup_image struct image image = { 0 };
	struct unpack_result result;

	if (open_one(layout, p->default_tag, &image, err) < 0 ||
	    image_unpack(&image, dir, &result, err) < 0)
		return -1;
	if (!p->out)
		return 0;
	if (result.owners)
		out_warn(p->out,
			 "%s: %" PRIu64 " files and folders belong to other users than you in the "
			 "image; only root can set that",
			 dir, result.owners);
	if (result.devices)
		out_warn(p->out,
			 "%s: %" PRIu64 " device nodes are left out: only root can make them", dir,
			 result.devices);
	if (result.xattrs)
		out_warn(p->out, "%s: %" PRIu64 " capabilities could not be set", dir,
			 result.xattrs);
	return 0;
}

static int write_stdout(struct publication *p, const char *layout, const char *reference,
			struct error *err)
{
	cleanup_sink struct sink *sink = NULL;

	if (isatty(STDOUT_FILENO))
		return error_set(err, ERROR_USAGE,
				 "standard output is a terminal; send the archive somewhere, as in "
				 "`gpuimg build --to - STACK | docker load`");
	if (p->out && p->out->out && fflush(p->out->out))
		return error_set_errno(err, errno, "write to standard output");
	sink = sink_fd(STDOUT_FILENO, "standard output");
	return write_docker_archive(p, layout, reference, sink, err);
}

/* What a tool said, its last line. */
static const char *last_words(struct process_result *result)
{
	struct slice text = slice_trim(strbuf_slice(&result->out_stderr)), line, rest = text;

	while (slice_cut(&rest, '\n', &line))
		text = line;
	strbuf_add(&result->out_stdout, "\0", 1);
	strbuf_truncate(&result->out_stdout, 0);
	strbuf_add(&result->out_stdout, text.data, MIN(text.len, (size_t)300));
	return strbuf_text(&result->out_stdout);
}

static int run_tool(const char *const *argv, struct error *err)
{
	cleanup_process struct process_result result = { 0 };
	struct process process = { .argv = argv, .output_limit = MIB, .keep_tail = true };

	if (process_run(&process, &result, err) < 0)
		return -1;
	if (result.exit_status == 0)
		return 0;
	return error_set(err, ERROR_SYSTEM, "%s did not take the image (status %d): %s", argv[0],
			 result.exit_status, last_words(&result));
}

/* An archive for the engine's own tool. */
static int load_engine(struct publication *p, const char *layout, const char *work, bool docker,
		       const char *reference, struct error *err)
{
	cleanup_free char *file = xasprintf("%s/image.tar", work),
			  *source = xasprintf("docker-archive:%s", file),
			  *target = xasprintf("containers-storage:%s", reference);
	const char *const load_docker[] = { "docker", "load", "-q", "-i", file, NULL };
	const char *const load_podman[] = { "podman", "load", "-q", "-i", file, NULL };
	const char *const copy[] = { "skopeo", "copy", "-q", source, target, NULL };
	bool podman = process_available("podman");
	struct file_writer w = { write_docker_archive, p, layout, reference };

	if (docker ? !process_available("docker") : !podman && !process_available("skopeo"))
		return error_set(err, ERROR_NOT_FOUND,
				 "%s not installed; write docker-archive:FILE and load that where "
				 "the engine is",
				 docker ? "docker is" : "podman and skopeo are");
	if (write_file(&w, file, err) < 0)
		return -1;
	return run_tool(docker ? load_docker : podman ? load_podman : copy, err);
}

/* Splits "DIR[:TAG]" as image names are split: the last ":" that a tag follows ends the path. */
static int split(const char *rest, struct arena *arena, const char *fallback, const char **path,
		 const char **tag, struct error *err)
{
	const char *colon = strrchr(rest, ':');

	*path = rest;
	*tag = fallback;
	if (colon && colon != rest && reference_tag_valid(colon + 1)) {
		*path = arena_slice(arena, slice_of(rest, (size_t)(colon - rest)));
		*tag = colon + 1;
	}
	if (!**path)
		return error_set(err, ERROR_USAGE, "\"%s\": there is no path in it", rest);
	return 0;
}

static void explain_full_disk(struct error *err)
{
	if (err->code == ERROR_SYSTEM && (err->sys_errno == ENOSPC || err->sys_errno == EDQUOT))
		error_wrap(err, "free some space there and build again");
}

enum destination {
	TO_OCI,
	TO_OCI_ARCHIVE,
	TO_DOCKER_ARCHIVE,
	TO_STDOUT,
	TO_DOCKER,
	TO_STORAGE,
	TO_ROOTFS
};

static const struct {
	const char *prefix;
	enum destination kind;
} destinations[] = {
	{ "oci:", TO_OCI },
	{ "oci-archive:", TO_OCI_ARCHIVE },
	{ "docker-archive:", TO_DOCKER_ARCHIVE },
	{ "docker-daemon:", TO_DOCKER },
	{ "containers-storage:", TO_STORAGE },
	{ "rootfs:", TO_ROOTFS },
};

static int read_destination(const char *text, enum destination *out, const char **rest,
			    struct error *err)
{
	*rest = "";
	*out = TO_STDOUT;
	if (str_equal(text, "-"))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(destinations); i++) {
		if (!str_starts(text, destinations[i].prefix))
			continue;
		*out = destinations[i].kind;
		*rest = text + strlen(destinations[i].prefix);
		if (**rest)
			return 0;
		return error_set(err, ERROR_USAGE, "\"%s\": there is nothing after the prefix",
				 text);
	}
	return error_set(err, ERROR_USAGE,
			 "\"%s\": images are built to oci:DIR[:TAG], oci-archive:FILE[:TAG], "
			 "docker-archive:FILE[:NAME:TAG], docker-daemon:NAME, "
			 "containers-storage:NAME, rootfs:DIR or - for standard output; use "
			 "`gpuimg push` for a registry",
			 text);
}

int publication_check_name(const char *destination, struct error *err)
{
	enum destination kind;
	const char *rest;

	return read_destination(destination, &kind, &rest, err);
}

/* "NAME[:TAG]" with the tag filled in, as engines know it. */
static const char *whole_reference(const struct publication *p, const char *text,
				   struct arena *arena, struct error *err)
{
	const char *name = *text ? text : p->name;
	const char *colon = strrchr(name, ':'), *slash = strrchr(name, '/');
	struct reference ignored;

	if (!colon || (slash && slash > colon))
		name = arena_printf(arena, "%s:%s", name, p->default_tag);
	if (reference_parse(name, arena, &ignored, err) < 0)
		return NULL;
	return name;
}

/* "FILE[:NAME[:TAG]]": the name begins at the first ":" after the last part of the path. */
static const char *split_archive(const char *rest, struct arena *arena, const char **file)
{
	const char *colon = strstr(rest, ".tar:");

	colon = colon ? colon + strlen(".tar") : strchr(rest, ':');
	*file = colon ? arena_slice(arena, slice_of(rest, (size_t)(colon - rest))) : rest;
	return colon ? colon + 1 : "";
}

/* Destinations that are made of a layout, which is put together aside. */
static int write_from_layout(struct publication *p, enum destination kind, const char *rest,
			     struct arena *arena, struct error *err)
{
	cleanup_workdir char *dir = workdir_new(p->store, err), *work = NULL;
	struct file_writer w = { write_oci_archive, p, dir, p->default_tag };
	const char *file = rest, *reference = "";

	if (!dir)
		return -1;
	if (kind == TO_OCI_ARCHIVE && split(rest, arena, p->default_tag, &file, &w.tag, err) < 0)
		return -1;
	if (kind == TO_DOCKER_ARCHIVE)
		reference = split_archive(rest, arena, &file);
	else if (kind == TO_DOCKER || kind == TO_STORAGE)
		reference = rest;
	reference = kind == TO_OCI_ARCHIVE || kind == TO_ROOTFS
			    ? reference
			    : whole_reference(p, reference, arena, err);
	if (!reference ||
	    write_layout(p, dir, kind == TO_OCI_ARCHIVE ? w.tag : p->default_tag, false, err) < 0)
		return -1;
	switch (kind) {
	case TO_DOCKER_ARCHIVE:
		w.write = write_docker_archive;
		w.tag = reference;
		return write_file(&w, file, err);
	case TO_STDOUT:
		return write_stdout(p, dir, reference, err);
	case TO_ROOTFS:
		return write_root(p, dir, rest, err);
	case TO_DOCKER:
	case TO_STORAGE:
		work = workdir_new(p->store, err);
		return work ? load_engine(p, dir, work, kind == TO_DOCKER, reference, err) : -1;
	case TO_OCI_ARCHIVE:
	case TO_OCI:
		break;
	}
	return write_file(&w, file, err);
}

int publication_write(struct publication *p, const char *destination, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *rest, *path, *tag;
	enum destination kind;
	int rc;

	if (read_destination(destination, &kind, &rest, err) < 0)
		return -1;
	if (kind != TO_OCI)
		rc = write_from_layout(p, kind, rest, &arena, err);
	else if (split(rest, &arena, p->default_tag, &path, &tag, err) < 0)
		return -1;
	else
		rc = write_layout(p, path, tag, true, err);
	if (rc < 0) {
		explain_full_disk(err);
		return error_wrap(err, "%s", destination);
	}
	return 0;
}

int publication_verify(struct publication *p, struct error *err)
{
	for (size_t i = 0; i < p->blobs.len; i++) {
		const struct publication_blob *b = &p->blobs.items[i];
		int fd;

		if (b->bytes.data)
			continue;
		fd = store_open_verified(p->store, &b->digest, b->size, err);
		if (fd < 0)
			return -1;
		close(fd);
	}
	return 0;
}
