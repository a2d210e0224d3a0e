/*
 * Headers of installed packages as solvables of libsolv, from the database of a base image.
 */
#include <solv/pool.h>
#include <solv/pool_parserpmrichdep.h>
#include <solv/repo.h>
#include <solv/repodata.h>

#include "builder/sources/rpmmd_solv.h"
#include "formats/pkgdb.h"
#include "formats/rpm_header.h"

struct installed {
	Pool *pool;
	Repo *repo;
	Repodata *data;
};

/* LESS, GREATER and EQUAL of rpm as libsolv has them. */
static int relation_of(uint64_t flags)
{
	return (flags & 2 ? REL_LT : 0) | (flags & 4 ? REL_GT : 0) | (flags & 8 ? REL_EQ : 0);
}

struct dependency {
	uint32_t names, flags, versions;
};

static Id dependency_id(Pool *pool, const char *name, const char *version, uint64_t flags)
{
	Id id;

	if (*name == '(')
		return pool_parserpmrichdep(pool, name);
	id = pool_str2id(pool, name, 1);
	if (relation_of(flags) && version && *version)
		id = pool_rel2id(pool, id, pool_str2id(pool, version, 1), relation_of(flags), 1);
	return id;
}

static Offset add_dependencies(struct installed *in, const struct rpm_header *h, Offset list,
			       const struct dependency *d)
{
	struct rpm_value names = { 0 }, versions = { 0 }, flags = { 0 };
	const char *name, *version;

	rpm_header_find(h, d->names, &names);
	rpm_header_find(h, d->versions, &versions);
	rpm_header_find(h, d->flags, &flags);
	for (size_t i = 0; (name = rpm_value_next(&names)); i++) {
		uint64_t flag = 0;
		Id id;

		version = rpm_value_next(&versions);
		rpm_value_number(&flags, i, &flag);
		if (str_starts(name, "rpmlib(")) /* what rpm itself must be able to do */
			continue;
		id = dependency_id(in->pool, name, version, flag);
		if (id)
			list = repo_addid_dep(in->repo, list, id, 0);
	}
	return list;
}

static void add_files(struct installed *in, const struct rpm_header *h, Id package)
{
	struct rpm_value names = { 0 }, dirs = { 0 }, dir_of = { 0 };
	cleanup_free Id *ids = NULL;
	const char *name;
	uint32_t count;

	if (!rpm_header_find(h, RPMTAG_BASENAMES, &names) ||
	    !rpm_header_find(h, RPMTAG_DIRNAMES, &dirs) ||
	    !rpm_header_find(h, RPMTAG_DIRINDEXES, &dir_of))
		return;
	count = dirs.count;
	ids = xcalloc((size_t)count + 1, sizeof(*ids));
	for (uint32_t i = 0; i < count; i++) {
		const char *dir = rpm_value_next(&dirs);

		ids[i] = dir && *dir == '/' ? repodata_str2dir(in->data, dir, 1) : 0;
	}
	for (size_t i = 0; (name = rpm_value_next(&names)); i++) {
		uint64_t dir = UINT64_MAX;

		if (rpm_value_number(&dir_of, i, &dir) && dir < count && ids[dir] && *name)
			repodata_add_dirstr(in->data, package, SOLVABLE_FILELIST, ids[dir], name);
	}
}

static int add_package(void *user, struct slice blob, struct error *err)
{
	static const struct dependency provides = { RPMTAG_PROVIDENAME, 1112, 1113 },
				       requires = { RPMTAG_REQUIRENAME, RPMTAG_REQUIREFLAGS, 1050 },
				       conflicts = { RPMTAG_CONFLICTNAME, 1053, 1055 },
				       obsoletes = { RPMTAG_OBSOLETENAME, 1114, 1115 };
	struct installed *in = user;
	cleanup_free char *evr = NULL;
	const char *name, *arch;
	struct rpm_header h;
	Solvable *s;
	Id id;

	if (rpm_header_parse(blob, &h, err) < 0)
		return -1;
	if (!rpm_header_identity(&h, &name, &evr, &arch))
		return error_set(err, ERROR_FORMAT, "header: no proper name, version and release");
	if (str_equal(name, "gpg-pubkey"))
		return 0;
	id = repo_add_solvable(in->repo);
	s = pool_id2solvable(in->pool, id);
	s->name = pool_str2id(in->pool, name, 1);
	s->evr = pool_str2id(in->pool, evr, 1);
	s->arch = pool_str2id(in->pool, arch, 1);
	s->provides = add_dependencies(in, &h, s->provides, &provides);
	s->provides = repo_addid_dep(in->repo, s->provides,
				     pool_rel2id(in->pool, s->name, s->evr, REL_EQ, 1), 0);
	s->requires = add_dependencies(in, &h, s->requires, &requires);
	s->conflicts = add_dependencies(in, &h, s->conflicts, &conflicts);
	s->obsoletes = add_dependencies(in, &h, s->obsoletes, &obsoletes);
	add_files(in, &h, id);
	return 0;
}

int rpmmd_add_installed(Pool *pool, struct slice database, struct error *err)
{
	struct installed in = { .pool = pool, .repo = repo_create(pool, "base image") };
	const struct pkgdb_taker taker = { add_package, &in };
	int rc;

	in.data = repo_add_repodata(in.repo, 0);
	rc = pkgdb_rpm_each(database, &taker, err);
	repodata_internalize(in.data);
	pool_set_installed(pool, in.repo);
	return rc;
}
