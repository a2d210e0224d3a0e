#include "lint/facts_sbom.h"

#include "formats/os_release.h"
#include "formats/wheel_meta.h"
#include "manifests/redistribution.h"

struct sbom_account {
	const struct facts *facts;
	struct sbom *sbom;
	struct redistribution redistribution;
	const char *system, *system_version; /* of os-release; "" */
	struct map taken;                    /* paths of libraries of distributions */
};

static const char *package_purl(const struct sbom_account *b, const struct package *p,
				const char *name)
{
	struct arena *arena = &b->sbom->arena;
	const char *distro = *b->system && *b->system_version
				     ? arena_printf(arena, "%s-%s", b->system, b->system_version)
				     : b->system;
	const char *colon = str_equal(p->kind, "rpm") ? strchr(p->version, ':') : NULL;
	const struct sbom_qualifier qualifiers[] = {
		{ "arch", p->arch },
		{ "distro", distro },
		{ "epoch",
		  colon ? arena_slice(arena, slice_of(p->version, (size_t)(colon - p->version)))
			: "" },
	};
	const char *type = str_equal(p->kind, "dpkg") ? "deb" : p->kind;
	const char *fallback = str_equal(type, "apk") ? "alpine" : "debian";

	if (str_equal(type, "wheel"))
		return sbom_purl(arena, "pypi", NULL, name, p->version, NULL, 0);
	if (str_equal(type, "conda"))
		return sbom_purl(arena, "conda", NULL, p->name, p->version, NULL, 0);
	return sbom_purl(arena, type,
			 *b->system               ? b->system
			 : str_equal(type, "rpm") ? NULL
						  : fallback,
			 p->name, colon ? colon + 1 : p->version, qualifiers,
			 ARRAY_LEN(qualifiers));
}

static enum sbom_kind kind_of(const struct package *p)
{
	return str_equal(p->kind, "dpkg")    ? SBOM_DEB
	       : str_equal(p->kind, "rpm")   ? SBOM_RPM
	       : str_equal(p->kind, "wheel") ? SBOM_WHEEL
					     : SBOM_OTHER;
}

static const char *clean(struct arena *arena, const char *text)
{
	return arena_strdup(arena, text ? text : "");
}

static void add_package(struct sbom_account *b, const struct package *p)
{
	struct arena *arena = &b->sbom->arena;
	struct sbom_component *row = vec_add(&b->sbom->components);

	row->kind = kind_of(p);
	row->name = row->kind == SBOM_WHEEL ? wheel_normalize(slice_str(p->name), arena)
					    : clean(arena, p->name);
	row->version = clean(arena, p->version);
	row->arch = clean(arena, p->arch);
	row->source = clean(arena, p->source);
	row->license = license_expression(p->license ? p->license : "", arena, &b->sbom->refs);
	row->purl = package_purl(b, p, row->name);
	row->url = "";
	row->files = p->file_count;
}

static void add_library(struct sbom_account *b, struct sbom_component *row, const char *path,
			const struct file_facts *file)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const char *says = redistribution_of(&b->redistribution, name);
	struct sbom_library *library = vec_add(&row->libraries);

	library->path = arena_strdup(&b->sbom->arena, path);
	library->redistribution = says ? arena_strdup(&b->sbom->arena, says) : NULL;
	library->has_digest = file && file->hashed;
	if (library->has_digest)
		library->digest = file->digest;
}

static const struct python_dist *dist_of(const struct facts *facts, const struct package *p)
{
	for (size_t i = 0; i < facts->dists.len; i++) {
		const struct python_dist *d = &facts->dists.items[i];

		if (p->path && str_equal(d->path, p->path))
			return d;
	}
	return NULL;
}

/* The libraries that a distribution's record names. */
static void add_dist_libraries(struct sbom_account *b, struct sbom_component *row,
			       const struct package *p)
{
	const struct python_dist *d = dist_of(b->facts, p);

	for (size_t i = 0; d && i < d->library_count; i++) {
		const char *path = d->libraries[i].path;
		const struct tree_node *node = facts_lookup(b->facts, path);

		map_put(&b->taken, path, b);
		if (node && node->entry.type == TAR_FILE && sbom_is_library(path))
			add_library(b, row, path, node_facts(node));
	}
}

/* Libraries that nothing owns, as one component. */
static void add_loose(struct sbom_account *b)
{
	struct sbom_component loose = { .kind = SBOM_TREE,
					.name = "files of no package",
					.version = "",
					.arch = "",
					.source = "",
					.url = "" };

	for (size_t i = 0; i < b->facts->objects.len; i++) {
		const struct object *o = &b->facts->objects.items[i];

		if (o->node->entry.type != TAR_FILE || !sbom_is_library(o->path) ||
		    map_has(&b->taken, o->path) || facts_owner(b->facts, o->path))
			continue;
		add_library(b, &loose, o->path, node_facts(o->node));
	}
	loose.files = loose.libraries.len;
	if (loose.libraries.len)
		vec_push(&b->sbom->components, loose);
}

int facts_sbom(const struct facts *facts, struct sbom *out, struct error *err)
{
	struct sbom_account b = { .facts = facts, .sbom = out };
	struct slice release = facts_text(facts, "/etc/os-release");

	if (redistribution_load(&b.redistribution, err) < 0)
		return -1;
	b.system = os_release_value(&out->arena, release, "ID");
	b.system_version = os_release_value(&out->arena, release, "VERSION_ID");
	for (size_t i = 0; i < facts->packages.len; i++) {
		const struct package *p = &facts->packages.items[i];

		add_package(&b, p);
		if (str_equal(p->kind, "wheel"))
			add_dist_libraries(&b, &out->components.items[out->components.len - 1], p);
	}
	add_loose(&b);
	sbom_sort(out);
	map_release(&b.taken);
	redistribution_release(&b.redistribution);
	return 0;
}
