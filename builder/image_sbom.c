#include "builder/image_sbom.h"

#include "builder/left_to_host.h"
#include "builder/plan.h"
#include "formats/os_release.h"
#include "formats/pkgdb.h"
#include "formats/wheel_meta.h"
#include "manifests/redistribution.h"
#include "oci/reference.h"

enum { COPYRIGHT_BYTES_MAX = 4 * 1024 * 1024 };

struct sbom_account {
	const struct assembly *assembly;
	struct assembled *tree;
	struct sbom *sbom;
	struct redistribution redistribution;
	const char *system, *system_version; /* of os-release: "debian", "12"; "" */
	struct map at;                       /* index + 1 of a component's row, by its owner text */
};

static const char *const kind_words[] = {
	[COMPONENT_DEB] = "deb",     [COMPONENT_WHEEL] = "wheel",   [COMPONENT_TREE] = "files",
	[COMPONENT_STAGE] = "stage", [COMPONENT_FINISH] = "gpuimg", [COMPONENT_REDIST] = "redist",
	[COMPONENT_RPM] = "rpm",     [COMPONENT_BASE] = "base",
};

static enum sbom_kind sbom_kind_of(enum component_kind kind)
{
	static const enum sbom_kind kinds[] = {
		[COMPONENT_DEB] = SBOM_DEB,    [COMPONENT_WHEEL] = SBOM_WHEEL,
		[COMPONENT_TREE] = SBOM_TREE,  [COMPONENT_STAGE] = SBOM_STAGE,
		[COMPONENT_FINISH] = SBOM_OWN, [COMPONENT_REDIST] = SBOM_REDIST,
		[COMPONENT_RPM] = SBOM_RPM,    [COMPONENT_BASE] = SBOM_BASE,
	};

	return kinds[kind];
}

/* "deb libc6 2.36-9": how the accounting names a component; heap. */
static char *owner_of(const struct component *c)
{
	return xasprintf("%s %s%s%s", kind_words[c->kind], c->name, *c->version ? " " : "",
			 c->version);
}

void image_sbom_put_path(struct strbuf *out, const char *path)
{
	strbuf_addc(out, '/');
	for (const unsigned char *at = (const unsigned char *)path; *at; at++) {
		if (*at < 0x20 || *at == 0x7f || *at == '\\')
			strbuf_addf(out, "\\x%02x", *at);
		else
			strbuf_addc(out, (char)*at);
	}
}

/* A folder that is only implied is part of what lies in it; anything else has an owner. */
static int check_owned(const struct rootfs_node *n, struct error *err)
{
	if (n->owner || n->tar->type == TAR_DIR)
		return 0;
	return error_set(err, ERROR_INTEGRITY,
			 "/%s: belongs to no package, file of the manifest or action, so it must "
			 "not be in the image",
			 n->tar->path);
}

static void read_system(struct sbom_account *b)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };

	b->system = b->system_version = "";
	if (rootfs_read(&b->tree->rootfs, "/etc/os-release", 64 * 1024, &text, &ignored) < 0)
		return;
	b->system = os_release_value(&b->sbom->arena, strbuf_slice(&text), "ID");
	b->system_version = os_release_value(&b->sbom->arena, strbuf_slice(&text), "VERSION_ID");
}

/* What the lock says of a component, or NULL. */
static const struct lock_input *input_of(const struct sbom_account *b, const struct component *c)
{
	static const int kinds[] = {
		[COMPONENT_DEB] = LOCK_DEB,   [COMPONENT_WHEEL] = LOCK_WHEEL,
		[COMPONENT_TREE] = LOCK_TREE, [COMPONENT_STAGE] = -1,
		[COMPONENT_FINISH] = -1,      [COMPONENT_REDIST] = LOCK_REDIST,
		[COMPONENT_RPM] = LOCK_RPM,   [COMPONENT_BASE] = LOCK_IMAGE,
	};
	const struct lock_platform *inputs = b->assembly->inputs;

	for (size_t i = 0; i < inputs->inputs.len; i++) {
		const struct lock_input *in = &inputs->inputs.items[i];

		if ((int)in->kind != kinds[c->kind])
			continue;
		if (c->kind == COMPONENT_BASE ||
		    (str_equal(in->name, c->name) && str_equal(in->version, c->version)))
			return in;
	}
	return NULL;
}

static const char *distribution(const struct sbom_account *b, struct arena *arena)
{
	return *b->system && *b->system_version
		       ? arena_printf(arena, "%s-%s", b->system, b->system_version)
		       : b->system;
}

static const char *rpm_purl(const struct sbom_account *b, const char *name, const char *version,
			    const char *arch, struct arena *arena)
{
	const char *colon = strchr(version, ':');
	const struct sbom_qualifier qualifiers[] = {
		{ "arch", arch },
		{ "distro", distribution(b, arena) },
		{ "epoch",
		  colon ? arena_slice(arena, slice_of(version, (size_t)(colon - version))) : "" },
	};

	return sbom_purl(arena, "rpm", b->system, name, colon ? colon + 1 : version, qualifiers,
			 ARRAY_LEN(qualifiers));
}

static const char *deb_purl(const struct sbom_account *b, const char *name, const char *version,
			    const char *arch, struct arena *arena)
{
	const struct sbom_qualifier qualifiers[] = { { "arch", arch },
						     { "distro", distribution(b, arena) } };

	return sbom_purl(arena, "deb", *b->system ? b->system : "debian", name, version, qualifiers,
			 ARRAY_LEN(qualifiers));
}

static const char *base_purl(const struct lock_input *in, struct arena *arena)
{
	struct error ignored = { 0 };
	struct image_name name;
	char digest[DIGEST_TEXT_MAX];
	const char *last;

	if (!in || !str_starts(in->url, "docker://") ||
	    image_name_parse(in->url, arena, &name, &ignored) < 0)
		return NULL;
	last = strrchr(name.ref.repository, '/');
	return sbom_purl(arena, "oci", NULL, last ? last + 1 : name.ref.repository,
			 digest_text(&in->digest, digest),
			 (struct sbom_qualifier[]){
				 { "repository_url", arena_printf(arena, "%s/%s", name.ref.registry,
								  name.ref.repository) } },
			 1);
}

static const char *purl_of(const struct sbom_account *b, const struct component *c,
			   const struct lock_input *in)
{
	struct arena *arena = &b->sbom->arena;
	char digest[DIGEST_TEXT_MAX] = "";
	const struct sbom_qualifier where[] = {
		{ "checksum", in ? digest_text(&in->digest, digest) : "" },
		{ "download_url", in ? in->url : "" },
	};

	switch (c->kind) {
	case COMPONENT_DEB:
		return deb_purl(b, c->name, c->version, c->arch, arena);
	case COMPONENT_RPM:
		return rpm_purl(b, c->name, c->version, c->arch, arena);
	case COMPONENT_WHEEL:
		return sbom_purl(arena, "pypi", NULL, wheel_normalize(slice_str(c->name), arena),
				 c->version, NULL, 0);
	case COMPONENT_REDIST:
		return sbom_purl(arena, "generic", "nvidia", c->name, c->version, where,
				 ARRAY_LEN(where));
	case COMPONENT_BASE:
		return base_purl(in, arena);
	default:
		return NULL;
	}
}

/* The file that holds the licence's text: the first that is named for it. */
static const char *license_path(const struct component *c, struct arena *arena)
{
	for (size_t i = 0; i < c->entries.len; i++) {
		const struct tar_entry *tar = &c->entries.items[i].tar;
		const char *name =
			strrchr(tar->path, '/') ? strrchr(tar->path, '/') + 1 : tar->path;

		if (tar->type == TAR_DIR ||
		    !(strstr(tar->path, "/doc/") || strstr(tar->path, "/licenses/") ||
		      strstr(tar->path, ".dist-info/")))
			continue;
		if (str_equal(name, "copyright") || strcasestr(name, "licen"))
			return arena_printf(arena, "/%s", tar->path);
	}
	return NULL;
}

static const char *license_of(const struct sbom_account *b, const struct component *c)
{
	struct sbom *s = b->sbom;
	cleanup_free char *path = xasprintf("/usr/share/doc/%s/copyright", c->name);
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };

	if (c->kind == COMPONENT_DEB)
		return rootfs_read(&b->tree->rootfs, path, COPYRIGHT_BYTES_MAX, &text, &ignored) < 0
			       ? NULL
			       : license_of_copyright(strbuf_slice(&text), &s->arena, &s->refs);
	return license_expression(c->license, &s->arena, &s->refs);
}

static struct sbom_component *add_component(struct sbom_account *b, const struct component *c)
{
	struct arena *arena = &b->sbom->arena;
	const struct lock_input *in = input_of(b, c);
	struct sbom_component *row = vec_add(&b->sbom->components);

	row->kind = sbom_kind_of(c->kind);
	row->name = arena_strdup(arena, c->name);
	row->version = arena_strdup(arena, c->version);
	row->arch = arena_strdup(arena, c->arch);
	row->source = arena_strdup(arena, c->source_name);
	row->license = license_of(b, c);
	row->license_path = license_path(c, arena);
	row->purl = purl_of(b, c, in);
	row->url = in ? arena_strdup(arena, in->url) : "";
	row->has_digest = in != NULL;
	if (in) {
		row->digest = in->digest;
		row->note = left_to_host(in, arena);
	}
	return row;
}

/* The row of a component; what has one name is one row. */
static struct sbom_component *row_of(struct sbom_account *b, const struct component *c)
{
	cleanup_free char *owner = owner_of(c);
	size_t at = (size_t)(uintptr_t)map_get(&b->at, owner);

	if (!at) {
		add_component(b, c);
		at = b->sbom->components.len;
		map_put(&b->at, owner, (void *)(uintptr_t)at);
	}
	return &b->sbom->components.items[at - 1];
}

/* Libraries are named where no database of packages does, and where a licence's list does. */
static int take_library(struct sbom_account *b, struct sbom_component *row,
			const struct component *c, const struct rootfs_node *n, struct error *err)
{
	const char *name =
		strrchr(n->tar->path, '/') ? strrchr(n->tar->path, '/') + 1 : n->tar->path;
	const char *says = redistribution_of(&b->redistribution, name);
	bool loose = c->kind == COMPONENT_WHEEL || c->kind == COMPONENT_REDIST ||
		     c->kind == COMPONENT_TREE || c->kind == COMPONENT_STAGE;
	struct sbom_library *library;

	if (n->tar->type != TAR_FILE || !((loose && sbom_is_library(n->tar->path)) || says))
		return 0;
	if (c->kind == COMPONENT_FINISH || c->kind == COMPONENT_BASE)
		return 0; /* the stub is ours */
	if (!says && c->license && redistribution_governs(c->license))
		says = "named in no list of what may be handed on";
	library = vec_add(&row->libraries);
	library->path = arena_printf(&b->sbom->arena, "/%s", n->tar->path);
	library->redistribution = says ? arena_strdup(&b->sbom->arena, says) : NULL;
	library->has_digest = true;
	return rootfs_digest(rootfs_entry(n), &library->digest, err);
}

static int take_nodes(struct sbom_account *b, struct error *err)
{
	struct rootfs_nodes nodes = { 0 };
	int rc = 0;

	rootfs_sorted(&b->tree->rootfs, &nodes);
	for (size_t i = 0; i < nodes.len && rc == 0; i++) {
		const struct rootfs_node *n = nodes.items[i];
		struct sbom_component *row;

		rc = check_owned(n, err);
		if (rc < 0 || !n->owner)
			continue;
		row = row_of(b, n->owner);
		if (n->tar->type == TAR_DIR)
			continue;
		row->files++;
		rc = take_library(b, row, n->owner, n, err);
		if (rc < 0)
			error_wrap(err, "%s: /%s", row->name, n->tar->path);
	}
	vec_release(&nodes);
	return rc;
}

/* A component without a path of its own (a meta-package) is in the image all the same. */
static void take_empty(struct sbom_account *b)
{
	for (size_t i = 0; i < b->tree->rootfs.parts.len; i++) {
		const struct component *c = b->tree->rootfs.parts.items[i].component;

		if (c->kind != COMPONENT_FINISH)
			row_of(b, c);
	}
}

/* What is said of a component's libraries, when it is the same of all; else that it differs. */
static void sum_up(struct sbom_account *b, struct sbom_component *row)
{
	size_t named = 0, said = 0;

	for (size_t i = 0; i < row->libraries.len; i++) {
		const char *says = row->libraries.items[i].redistribution;

		said += says != NULL;
		named += says && !str_starts(says, "named in no list");
	}
	if (!said)
		return;
	if (named == row->libraries.len || !named)
		row->redistribution = row->libraries.items[0].redistribution;
	else
		row->redistribution =
			arena_printf(&b->sbom->arena,
				     "%zu of %zu libraries are named in a list of what may be "
				     "handed on",
				     named, row->libraries.len);
}

static void take_installed(struct sbom_account *b, const struct pkgdb *db, enum sbom_kind kind)
{
	struct sbom *s = b->sbom;

	for (size_t i = 0; i < db->len; i++) {
		const struct pkgdb_package *p = &db->items[i];
		struct sbom_component *row = vec_add(&s->components);

		*row = (struct sbom_component){
			.kind = kind,
			.name = p->name,
			.version = p->version,
			.arch = p->arch,
			.source = p->source,
			.license = license_expression(p->license, &s->arena, &s->refs),
			.purl = kind == SBOM_DEB
					? deb_purl(b, p->name, p->version, p->arch, &s->arena)
					: rpm_purl(b, p->name, p->version, p->arch, &s->arena),
			.url = ""
		};
	}
}

/* What the base image says is installed in it. A database that cannot be read says nothing. */
static void take_base(struct sbom_account *b)
{
	const struct base_image *base = b->assembly->base;
	struct sbom *s = b->sbom;
	struct pkgdb debs = { 0 }, rpms = { 0 };
	struct error ignored = { 0 };

	if (!base)
		return;
	if (base->packages.len)
		ignore_result(
			pkgdb_dpkg(strbuf_slice(&base->packages), &s->arena, &debs, &ignored));
	if (base->rpm_database.len)
		ignore_result(
			pkgdb_rpm(strbuf_slice(&base->rpm_database), &s->arena, &rpms, &ignored));
	take_installed(b, &debs, SBOM_DEB);
	take_installed(b, &rpms, SBOM_RPM);
	pkgdb_release(&debs);
	pkgdb_release(&rpms);
	for (size_t i = 0; i < base->distributions.len; i++) {
		struct sbom_component *row = vec_add(&s->components);
		const struct base_distribution *d = &base->distributions.items[i];

		*row = (struct sbom_component){ .kind = SBOM_WHEEL,
						.name = arena_strdup(&s->arena, d->name),
						.version = arena_strdup(&s->arena, d->version),
						.arch = "",
						.source = "",
						.url = "" };
		row->purl = sbom_purl(&s->arena, "pypi", NULL, row->name, row->version, NULL, 0);
	}
}

int image_sbom_make(const struct assembly *a, struct assembled *tree, struct sbom *out,
		    struct error *err)
{
	struct sbom_account b = { .assembly = a, .tree = tree, .sbom = out };
	int rc;

	if (redistribution_load(&b.redistribution, err) < 0)
		return -1;
	read_system(&b);
	rc = take_nodes(&b, err);
	if (rc == 0) {
		take_empty(&b);
		for (size_t i = 0; i < out->components.len; i++)
			sum_up(&b, &out->components.items[i]);
		take_base(&b);
		out->platform = arena_strdup(&out->arena, a->inputs->platform);
		sbom_sort(out);
	}
	map_release(&b.at);
	redistribution_release(&b.redistribution);
	return rc;
}

int image_sbom_write_files(struct assembled *tree, struct sink *sink, struct error *err)
{
	cleanup_strbuf struct strbuf line = { 0 };
	struct rootfs_nodes nodes = { 0 };
	int rc = 0;

	rootfs_sorted(&tree->rootfs, &nodes);
	for (size_t i = 0; i < nodes.len && rc == 0; i++) {
		const struct rootfs_node *n = nodes.items[i];
		cleanup_free char *owner = n->owner ? owner_of(n->owner) : xstrdup("implied");

		strbuf_truncate(&line, 0);
		strbuf_addf(&line, "%s\t", owner);
		image_sbom_put_path(&line, n->tar->path);
		strbuf_addc(&line, '\n');
		rc = check_owned(n, err);
		if (rc == 0)
			rc = sink_write(sink, line.data, line.len, err);
	}
	vec_release(&nodes);
	return rc;
}
