/*
 * All packages one may choose from: the Packages indexes of every source, in their order, and what
 * a base image has installed. Finds packages by name, providers by what they provide, and the one
 * version of each name that is considered at all (the candidate).
 *
 * Slices point into the texts of the indexes, which the caller keeps until the release.
 * Source: deb-control(5), apt_preferences(5).
 */
#ifndef BUILDER_SOURCES_DEB_UNIVERSE_H
#define BUILDER_SOURCES_DEB_UNIVERSE_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "builder/sources/deb_relation.h"

#define DEB_NONE UINT32_MAX

enum deb_priority { /* required first, as it is preferred */
		    DEB_REQUIRED = 1,
		    DEB_IMPORTANT,
		    DEB_STANDARD,
		    DEB_OPTIONAL,
		    DEB_EXTRA,
};

enum deb_multi_arch { DEB_MULTI_NO, DEB_MULTI_SAME, DEB_MULTI_FOREIGN, DEB_MULTI_ALLOWED };

/* Where packages come from: one Packages file. Texts are borrowed; NULL where unknown. */
struct deb_index {
	const char *id;         /* of the source in the manifest */
	const char *label_text; /* for people: "bookworm/main amd64 of http://…" */
	const char *base;       /* address that Filename is relative to, ends in "/" */
	const char *host;       /* of the address; "" for local ones */
	const char *suite, *codename, *origin, *label, *release_version, *component;
	bool not_automatic, but_automatic_upgrades, installed;
};

struct deb_package {
	struct slice name, version, arch, source;
	struct slice pre_depends, depends, conflicts, breaks, provides;
	struct slice recommends, suggests, replaces,
		enhances; /* count for deb_mention_rank alone */
	struct slice filename,
		sha256; /* sha256: 64 hex digits, checked; empty: no file is offered */
	uint64_t size;  /* bytes of the .deb */
	uint32_t index; /* into universe.indexes */
	uint32_t next;  /* next package of that name, in index order; DEB_NONE */
	uint8_t priority, multi_arch; /* enum deb_priority, enum deb_multi_arch */
	bool essential;
};

/* What a record of preferences says. Texts are borrowed. */
enum deb_pin_kind { DEB_PIN_RELEASE, DEB_PIN_ORIGIN, DEB_PIN_VERSION };
struct deb_pin {
	struct slice packages; /* names and patterns separated by blanks; "*": the general form */
	enum deb_pin_kind kind;
	struct slice value; /* "a=stable,o=Debian", a host, a version pattern */
	int priority;
};

/* A name that a package has or provides. */
struct deb_name {
	struct slice text;
	uint32_t first, last;             /* packages of that name */
	uint32_t provider, last_provider; /* entries of universe.provides */
	uint32_t candidate; /* of the native architecture, once looked up; see `looked_up` */
	bool looked_up, forced;
	uint32_t mention; /* see deb_mention_rank; DEB_NONE: not met so far */
};

struct deb_provide {
	uint32_t package, next;
	struct slice version; /* empty: unversioned */
};

struct deb_universe {
	const char *arch; /* native: "amd64"; set by the caller, as is what follows */
	const struct deb_pin *pins;
	size_t pin_count;
	const char *default_release; /* 990 for it; NULL */
	unsigned cuda_major,
		cuda_minor; /* of the stack: which "+cudaX.Y" builds fit; major 0: any */
	VEC(struct deb_index) indexes;
	VEC(struct deb_package) packages;
	VEC(struct deb_name) names;
	VEC(struct deb_provide) provides;
	VEC(uint32_t) forced_foreign; /* candidates of other architectures, by deb_universe_force */
	uint32_t *slots;              /* of names: index + 1, 0 free */
	size_t slot_count;
	uint32_t mentions_read, mentions; /* packages looked through, names met: deb_mention_rank */
};

void deb_universe_release(struct deb_universe *u);
#define cleanup_universe cleanup(deb_universe_release)

/*
 * Add the packages of an index, read from `text`, which is borrowed. Those of other architectures
 * than the words of `archs` are left out; NULL: native and "all". An installed index takes only
 * what is "install ok installed", or held so.
 * Errors: ERROR_FORMAT a stanza without a proper name, version or architecture, or a file name,
 * digest or size that is not one; ERROR_LIMIT more than 1,000,000 packages.
 */
int deb_universe_add(struct deb_universe *u, const struct deb_index *index, struct slice text,
		     const char *archs, struct error *err) MUST_USE;

/* The entry of a name that some package has or provides; NULL when none does. */
struct deb_name *deb_universe_name(const struct deb_universe *u, struct slice name);
/* "amd64" of a package: its own, the native one for "all". */
struct slice deb_package_arch(const struct deb_universe *u, const struct deb_package *p);
/*
 * The one version of a name that is considered for an architecture: highest pin priority, then
 * highest version, then the index listed first. DEB_NONE.
 */
uint32_t deb_candidate(struct deb_universe *u, struct slice name, struct slice arch);
/*
 * Place of a package's name in the order in which the indexes first mention each name, as a
 * package, in a relation or as provided: what apt numbers packages by. Of providers that are equal
 * otherwise it takes the one that comes last in it.
 */
uint32_t deb_mention_rank(struct deb_universe *u, uint32_t package);
/* Make a package the candidate of its name, as "name=version" does. */
void deb_universe_force(struct deb_universe *u, uint32_t package);
/* Take all of that back. */
void deb_universe_unforce(struct deb_universe *u);
/*
 * "2.28.3-1+cuda12.9": how well a build fits the stack's CUDA. 0: it does not; 1: its version does
 * not say; else the higher the nearer.
 */
unsigned deb_cuda_rank(const struct deb_universe *u, struct slice version);
/* Pin priority of a package; below 0: never. */
int deb_pin_priority(const struct deb_universe *u, const struct deb_package *p);

/*
 * True when `p` meets a dependency by its own name. `owner_arch` is that of the package which
 * depends ("amd64").
 */
bool deb_meets(const struct deb_universe *u, const struct deb_package *p,
	       const struct deb_relation *r, struct slice owner_arch);
/* True when `p`, which provides r->name at `version` (may be empty), meets it so. */
bool deb_provides_meets(const struct deb_universe *u, const struct deb_package *p,
			struct slice version, const struct deb_relation *r,
			struct slice owner_arch);

/* What a request "name", "name=version", "name=1.2.*", "name:arch" says. Slices of `spec`. */
struct deb_spec {
	struct slice name, arch, version; /* empty where not said */
};
/* False when it is none. */
bool deb_spec_parse(struct slice spec, struct deb_spec *out);
/*
 * The package a request means: highest version that fits, of the indexes whose id is `id` (NULL:
 * any). DEB_NONE.
 */
uint32_t deb_find(struct deb_universe *u, const struct deb_spec *spec, const char *id);
/* For a name that no package has: the one package that provides it. DEB_NONE: none, or several. */
uint32_t deb_find_provider(struct deb_universe *u, const struct deb_spec *spec, const char *id);

#endif
