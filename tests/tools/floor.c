/*
 * The work that nobody can leave out, on all cores and with nothing around it: what the ratios to
 * "the floor" of tests/bench/run are over.
 *
 *   floor gzip FILE… | floor zstd FILE…   read, digest, compress as a layer would, digest that
 *   floor decompress BLOB…                read, digest, decompress, digest that
 *
 * Large files are taken in slices, so that the cores share the work evenly.
 */
#include <sys/stat.h>

#include "base/fs.h"
#include "base/pool.h"
#include "base/vec.h"
#include "builder/fragment.h"

enum { SLICE_BYTES = 16 * 1024 * 1024, READ_BYTES = 1024 * 1024 };

struct job {
	struct pool_job base;
	const char *path;
	uint64_t offset, len; /* compress: the slice; decompress: all of it */
	enum compression kind;
	enum compression_level level;
	struct error err;
};

static int compress_slice(struct job *job, struct stream *in, struct error *err)
{
	cleanup_digest struct digest_state raw = { 0 }, coded = { 0 };
	const struct compress_digests digests = { &raw, &coded };
	uint64_t bytes = 0;
	cleanup_sink struct sink *counted = sink_digest(NULL, NULL, &bytes);
	cleanup_sink struct sink *sink = compress_sink(counted, job->kind, job->level, NULL);

	digest_init(&raw, DIGEST_SHA256);
	digest_init(&coded, DIGEST_SHA256);
	compress_sink_digests(sink, &digests);
	return sink_copy(sink, in, NULL, err) < 0 ? -1 : sink_finish(sink, err);
}

static int decompress_blob(struct stream *in, struct error *err)
{
	cleanup_digest struct digest_state raw = { 0 }, coded = { 0 };
	cleanup_stream struct stream *read = stream_digest(in, &coded, NULL);
	cleanup_stream struct stream *plain = NULL, *digested = NULL;

	digest_init(&raw, DIGEST_SHA256);
	digest_init(&coded, DIGEST_SHA256);
	plain = decompress_auto(read, NULL, err);
	if (!plain)
		return -1;
	digested = stream_digest(plain, &raw, NULL);
	return stream_drain(digested, NULL, err);
}

static void run_job(struct pool_job *base)
{
	struct job *job = (struct job *)base;
	cleanup_fd int fd = open(job->path, O_RDONLY | O_CLOEXEC);
	cleanup_stream struct stream *in = NULL;

	if (fd < 0) {
		error_set_errno(&job->err, errno, "open %s", job->path);
		return;
	}
	in = stream_fd_range(fd, job->offset, job->len, job->path);
	if (job->kind == COMPRESSION_NONE)
		ignore_result(decompress_blob(in, &job->err));
	else
		ignore_result(compress_slice(job, in, &job->err));
}

struct jobs {
	struct job *items;
	size_t len, cap;
};

static int add_file(const char *path, enum compression kind, struct jobs *jobs)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		perror(path);
		return -1;
	}
	for (uint64_t at = 0, left = (uint64_t)st.st_size; left;) {
		uint64_t len = kind == COMPRESSION_NONE ? left : MIN(left, (uint64_t)SLICE_BYTES);

		vec_push(jobs,
			 ((struct job){ .base.run = run_job,
					.path = path,
					.offset = at,
					.len = len,
					.kind = kind,
					.level = st.st_size >= FRAGMENT_BIG ? LEVEL_FAST
									    : LEVEL_DEFAULT }));
		at += len;
		left -= len;
	}
	return 0;
}

static int largest_first(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	return x->len < y->len ? 1 : -(x->len > y->len);
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { [COMPRESSION_NONE] = "decompress",
					     [COMPRESSION_GZIP] = "gzip",
					     [COMPRESSION_ZSTD] = "zstd" };
	struct jobs jobs = { 0 };
	struct pool *pool;
	size_t kind = 0;
	int status = 0;

	while (kind < ARRAY_LEN(kinds) && (argc < 3 || !str_equal(argv[1], kinds[kind])))
		kind++;
	if (kind == ARRAY_LEN(kinds)) {
		fprintf(stderr, "usage: floor gzip|zstd|decompress FILE...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		if (add_file(argv[i], (enum compression)kind, &jobs) < 0)
			return 1;
	}
	qsort(jobs.items, jobs.len, sizeof(*jobs.items), largest_first);
	pool = pool_new(0);
	for (size_t i = 0; i < jobs.len; i++)
		pool_submit(pool, &jobs.items[i].base);
	for (size_t i = 0; i < jobs.len; i++) {
		pool_wait(pool, &jobs.items[i].base);
		if (jobs.items[i].err.code && (status = 1))
			fprintf(stderr, "%s\n", jobs.items[i].err.text);
	}
	pool_join(pool);
	vec_release(&jobs);
	return status;
}
