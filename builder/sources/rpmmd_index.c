/* repomd.xml, by libsolv. */
#include "builder/sources/rpmmd.h"

#include <solv/dataiterator.h>
#include <solv/pool.h>
#include <solv/repo.h>
#include <solv/repo_repomdxml.h>

#include "builder/sources/rpmmd_solv.h"

enum { QUOTE_LIMIT = 80 };

Pool *rpmmd_pool(void)
{
	Pool *pool = pool_create();

	pool_setdebugmask(pool, 0); /* nothing of libsolv is printed but by us */
	return pool;
}

int rpmmd_digest(const unsigned char *bytes, Id type, struct digest *out)
{
	if (!bytes || (type != REPOKEY_TYPE_SHA256 && type != REPOKEY_TYPE_SHA512))
		return -1;
	*out = (struct digest){ .algorithm = type == REPOKEY_TYPE_SHA256 ? DIGEST_SHA256
									 : DIGEST_SHA512 };
	memcpy(out->bytes, bytes, digest_size(out->algorithm));
	return 0;
}

/* 1; 0 when there is no file of that type. */
static int read_file(Pool *pool, Repo *repo, const char *type, const char *name,
		     struct arena *arena, struct rpmmd_file *out, struct error *err)
{
	cleanup_strbuf struct strbuf quoted = { 0 };
	Dataiterator di;
	const char *location = NULL;
	const unsigned char *checksum = NULL;
	Id checksum_type = 0;
	bool found;

	dataiterator_init(&di, pool, repo, SOLVID_META, REPOSITORY_REPOMD_TYPE, type,
			  SEARCH_STRING);
	dataiterator_prepend_keyname(&di, REPOSITORY_REPOMD);
	found = dataiterator_step(&di);
	if (found) {
		dataiterator_setpos_parent(&di);
		location = pool_lookup_str(pool, SOLVID_POS, REPOSITORY_REPOMD_LOCATION);
		checksum = pool_lookup_bin_checksum(pool, SOLVID_POS, REPOSITORY_REPOMD_CHECKSUM,
						    &checksum_type);
		out->size = pool_lookup_num(pool, SOLVID_POS, REPOSITORY_REPOMD_SIZE, 0);
	}
	dataiterator_free(&di);
	if (!found)
		return 0;
	if (!location || !rpmmd_is_path(location)) {
		strbuf_add_quoted(&quoted, slice_str(location ? location : ""), QUOTE_LIMIT);
		return error_set(err, ERROR_FORMAT,
				 "%s: the location of '%s' is no path below it: %s", name, type,
				 strbuf_text(&quoted));
	}
	out->location = arena_strdup(arena, location);
	if (rpmmd_digest(checksum, checksum_type, &out->digest) < 0)
		return error_set(
			err, ERROR_INTEGRITY,
			"%s: '%s' has no checksum of type sha256 or sha512; use a repository "
			"that has",
			name, type);
	if (!out->size)
		return error_set(err, ERROR_FORMAT, "%s: '%s' has no size", name, type);
	return 1;
}

static int read_files(Pool *pool, Repo *repo, const char *name, struct arena *arena,
		      struct rpmmd_index *out, struct error *err)
{
	const char *revision = repo_lookup_str(repo, SOLVID_META, REPOSITORY_REVISION);
	uint64_t date = repo_lookup_num(repo, SOLVID_META, REPOSITORY_TIMESTAMP, 0);
	int rc = read_file(pool, repo, "primary", name, arena, &out->primary, err);

	if (rc == 0)
		return error_set(err, ERROR_FORMAT, "%s: names no primary metadata", name);
	if (rc < 0 || read_file(pool, repo, "filelists", name, arena, &out->filelists, err) < 0)
		return -1;
	if (!date && (!revision || !slice_u64(slice_str(revision), &date)))
		date = 0;
	out->date =
		date < UINT64_C(1) << 36 ? (int64_t)date : 0; /* later than year 4000: no date */
	return 0;
}

int rpmmd_index_parse(struct slice text, const char *name, struct arena *arena,
		      struct rpmmd_index *out, struct error *err)
{
	Pool *pool;
	Repo *repo;
	FILE *file;
	int rc;

	*out = (struct rpmmd_index){ 0 };
	if (!text.len)
		return error_set(err, ERROR_FORMAT, "%s: is empty", name);
	file = fmemopen((void *)(uintptr_t)text.data, text.len, "r");
	if (!file)
		return error_set_errno(err, errno, "%s", name);
	pool = rpmmd_pool();
	repo = repo_create(pool, "repomd");
	rc = repo_add_repomdxml(repo, file, 0);
	fclose(file);
	if (rc != 0)
		error_set(err, ERROR_FORMAT, "%s: %.200s", name, pool_errstr(pool));
	else
		rc = read_files(pool, repo, name, arena, out, err);
	pool_free(pool);
	return rc ? -1 : 0;
}
