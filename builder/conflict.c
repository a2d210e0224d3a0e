#include "builder/conflict.h"

#include "builder/sources/deb_relation.h"
#include "formats/deb822.h"

/* Same type, mode and bytes. 1, 0, or -1 when they could not be read. */
static int same(const struct rootfs_node *old, const struct component_entry *e,
		const struct tar_entry *tar, struct error *err)
{
	struct digest a, b;

	if (old->tar->type != tar->type)
		return 0;
	if (tar->type == TAR_SYMLINK)
		return str_equal(old->tar->link, tar->link);
	if (tar->type != TAR_FILE || old->tar->size != tar->size || old->tar->mode != tar->mode)
		return 0;
	if (rootfs_digest(rootfs_entry(old), &a, err) < 0 || rootfs_digest(e, &b, err) < 0)
		return -1;
	return digest_equal(&a, &b);
}

/* A piece of Replaces: "name (<< 1.2)". */
static bool piece_names(struct slice piece, const char *name, const char *version)
{
	struct deb_relation relation;

	return deb_relation_next(&piece, &relation) == 1 && slice_is(relation.name, name) &&
	       deb_version_satisfies(slice_str(version), relation.op, relation.version);
}

/* True when the control stanza of `c` has a Replaces that names `name` at `version`. */
static bool replaces(const struct component *c, const char *name, const char *version)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	struct slice control = c->control, rest, piece;
	struct error ignored = { 0 };
	size_t line = 1;

	if (!control.len || deb822_next(&control, "control", &line, &stanza, &ignored) != 1)
		return false;
	rest = deb822_get(&stanza, "Replaces");
	while (deb_relation_group(&rest, &piece)) {
		if (piece_names(piece, name, version))
			return true;
	}
	return false;
}

/* What the manifest puts there itself goes before what packages bring. */
static bool is_users(const struct component *c)
{
	return c->kind == COMPONENT_TREE || c->kind == COMPONENT_STAGE;
}

int conflict_with_folder(const struct rootfs_node *old, const struct component *c,
			 const struct tar_entry *tar, struct error *err)
{
	bool link = tar->type == TAR_SYMLINK;

	if (c->kind == COMPONENT_FINISH || (link && !is_users(c)))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "/%s: %s brings a %s where %s%s a folder; name another place, or the "
			 "folder with a \"/\" after it",
			 tar->path, c->name, link ? "symlink" : "file",
			 old->owner ? old->owner->name : "others",
			 old->owner ? " brings" : " need");
}

/* Over the base image everything new counts, but what is the same is not shipped twice. */
static int over_base(const struct rootfs_node *old, const struct component *c,
		     const struct component_entry *entry, const struct tar_entry *tar,
		     enum conflict_end *out, struct error *err)
{
	int equal = c->kind == COMPONENT_FINISH ? 0 : same(old, entry, tar, err);

	if (equal < 0)
		return error_wrap(err, "compare /%s of %s and the base image", tar->path, c->name);
	if (equal && (old->tar->uid != tar->uid || old->tar->gid != tar->gid))
		equal = 0;
	*out = equal ? CONFLICT_OLD_STAYS : CONFLICT_NEW_WINS;
	return 0;
}

int conflict_settle(const struct rootfs_node *old, const struct component *c,
		    const struct component_entry *entry, const struct tar_entry *tar,
		    enum conflict_end *out, struct error *err)
{
	const struct component *was = old->owner;
	int equal;

	assert(was && old->tar->type != TAR_DIR);
	*out = CONFLICT_OLD_STAYS;
	if (was == c) { /* an archive may name a path twice: the last counts, as in tar */
		*out = CONFLICT_NEW_WINS;
		return 0;
	}
	if (was->kind == COMPONENT_BASE)
		return over_base(old, c, entry, tar, out, err);
	if (was->kind == COMPONENT_FINISH || c->kind == COMPONENT_FINISH) {
		*out = c->kind == COMPONENT_FINISH ? CONFLICT_OLD_STAYS : CONFLICT_NEW_WINS;
		return 0;
	}
	if (is_users(c)) {
		*out = CONFLICT_NEW_WINS;
		return 0;
	}
	if (replaces(was, c->name, c->version))
		return 0;
	if (replaces(c, was->name, was->version)) {
		*out = CONFLICT_NEW_WINS;
		return 0;
	}
	equal = same(old, entry, tar, err);
	if (equal < 0)
		return error_wrap(err, "compare /%s of %s and %s", tar->path, was->name, c->name);
	if (equal)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "%s %s and %s %s both bring /%s, with different content; leave one of "
			 "them out",
			 was->name, was->version, c->name, c->version, tar->path);
}
