#include "builder/publish.h"

#include "base/vec.h"
#include "builder/workdir.h"
#include "oci/layout.h"
#include "oci/reference.h"

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

void publication_add_layer(struct publication *p, const struct digest *digest, uint64_t size)
{
	struct publication_blob b = { .digest = *digest, .size = size };

	vec_push(&p->blobs, b);
}

static int put_blob(struct publication *p, struct layout *layout, const struct publication_blob *b,
		    struct error *err)
{
	struct descriptor ignored;
	cleanup_free char *name = NULL;
	int dirfd;

	if (b->bytes.data && layout_has(layout, &b->digest, b->size))
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

static int write_archive_file(const char *dir, const char *tag, const char *file, struct error *err)
{
	cleanup_layout struct layout *layout = layout_open(dir, err);
	const char *slash = strrchr(file, '/');
	cleanup_free char *parent =
		slash ? xstrndup(file, (size_t)(slash - file) + 1) : xstrdup(".");
	cleanup_fd int dirfd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_pending struct fs_pending pending = { .fd = -1 }; /* goes before dirfd */
	cleanup_sink struct sink *sink = NULL;

	if (!layout)
		return -1;
	if (dirfd < 0)
		return error_set_errno(err, errno, "open the folder of %s", file);
	if (fs_pending_open(dirfd, &pending, err) < 0)
		return -1;
	sink = sink_fd_early(pending.fd, file);
	if (layout_archive(layout, tag, sink, err) < 0)
		return -1;
	if (fdatasync(pending.fd) < 0 && errno != EINVAL && errno != EROFS)
		return error_set_errno(err, errno, "bring %s to the disk", file);
	return fs_pending_commit(&pending, slash ? slash + 1 : file, 0644, err);
}

static int write_archive(struct publication *p, const char *file, const char *tag,
			 struct error *err)
{
	cleanup_workdir char *dir = workdir_new(p->store, err);

	if (!dir || write_layout(p, dir, tag, false, err) < 0)
		return -1;
	return write_archive_file(dir, tag, file, err);
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

int publication_write(struct publication *p, const char *destination, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	bool archive = str_starts(destination, "oci-archive:");
	const char *path, *tag;
	int rc;

	if (!archive && !str_starts(destination, "oci:"))
		return error_set(
			err, ERROR_USAGE,
			"\"%s\": images are built to oci:DIR[:TAG] or oci-archive:FILE[:TAG]; "
			"use `gpuimg push` for a registry",
			destination);
	if (split(strchr(destination, ':') + 1, &arena, p->default_tag, &path, &tag, err) < 0)
		return -1;
	rc = archive ? write_archive(p, path, tag, err) : write_layout(p, path, tag, true, err);
	if (rc < 0) {
		explain_full_disk(err);
		return error_wrap(err, "%s", destination);
	}
	return 0;
}

int publication_check(struct publication *p, build_check_fn *check, void *user, struct error *err)
{
	cleanup_workdir char *dir = workdir_new(p->store, err);
	cleanup_free char *name = NULL;

	if (!dir || write_layout(p, dir, p->default_tag, false, err) < 0)
		return -1;
	name = xasprintf("oci:%s:%s", dir, p->default_tag);
	return check(user, name, err);
}
