/*
 * The pass over the layers. Each layer is read by a job of its own into batches of entries; they
 * are merged in the order of the layers while they come. A layer that is far ahead waits, so that
 * memory does not depend on the number of files in layers that are not merged yet.
 */
#include <linux/magic.h>
#include <pthread.h>
#include <sys/vfs.h>

#include "lint/facts_parts.h"

#include "base/fs.h"
#include "base/pool.h"
#include "formats/tar_read.h"
#include "lint/fact_cache.h"
#include "lint/readahead.h"

enum { LAYERS_AT_ONCE_MAX = 4, BATCH_ENTRIES = 512, BATCHES_AHEAD_MAX = 32 };

/*
 * An entry takes about 140 bytes. The largest real images have about a million, and a hundred MiB
 * of facts.
 */
static const struct facts_limits usual_limits = { 10 * 1000 * 1000, 1024 * MIB };

static struct facts_limits limits_of(const struct facts *facts)
{
	return (struct facts_limits){
		facts->limits.entries ? facts->limits.entries : usual_limits.entries,
		facts->limits.bytes ? facts->limits.bytes : usual_limits.bytes,
	};
}

struct spent {
	size_t entries, bytes;
};

static int check_limits(const struct facts_limits *limits, const struct spent *spent,
			struct error *err)
{
	if (spent->entries > limits->entries)
		return error_set(err, ERROR_LIMIT, "the image has more than %zu entries so far",
				 limits->entries);
	if (spent->bytes > limits->bytes)
		return error_set(err, ERROR_LIMIT,
				 "what has to be known of the image's files takes more than %zu "
				 "bytes so far",
				 limits->bytes);
	return 0;
}

/*
 * What the layers took so far. A layer stops when it and those below it took too much together:
 * where the image is cut in the end does not depend on which layer was read faster.
 */
struct budget {
	pthread_mutex_t lock;
	struct facts_limits limits;
	struct spent *layers;
};

struct layer_entry {
	struct tar_entry entry;
	struct file_facts *facts;
};

struct batch {
	struct batch *next;
	struct arena names; /* strings of the entries */
	struct spent spent;
	size_t len;
	struct layer_entry entries[BATCH_ENTRIES];
};

struct layer_job {
	struct pool_job job;
	struct image *image;
	size_t index;
	bool hash;
	const struct fact_cache *cache;
	struct fact_keeping keeping;
	struct budget *budget;
	bool started;          /* a batch of it was begun */
	size_t content_bytes;  /* that the budget knows of */
	struct arena content;  /* kept; the worker's until it ended */
	struct batch *filling; /* the worker's */
	pthread_mutex_t lock;  /* of the queue */
	pthread_cond_t changed;
	struct batch *first, **end;
	size_t queued;
	bool ended;
	int status; /* the rest is set when the job has ended */
	struct error err;
	bool told[3]; /* kinds of odd_kind() */
	bool damaged; /* the blob, or what it unpacks to, is not what it should be */
	struct layer_problem problem;
	struct {
		struct odd_entry *items;
		size_t len, cap;
	} odd;
};

enum { ODD_ENTRIES_MAX = 1000 };

static bool is_odd_whiteout(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return str_equal(name, ".wh.") || str_equal(name, ".wh..") || str_equal(name, ".wh...");
}

static const char *relative(const char *path)
{
	return path + strspn(path, "/");
}

/* What engines treat differently beside names, told once a layer; NULL: nothing. */
static const char *odd_kind(struct layer_job *job, const struct tar_entry *entry)
{
	static const char *const what[] = {
		"is one of the layer's entries of a type that no standard knows: engines refuse "
		"the layer, pass over them or take them for files",
		"is one of the layer's sparse files, which some engines refuse and others write in "
		"full",
		"is one of the layer's entries with an extended attribute \"trusted.…\", which "
		"only "
		"root of the host may set and overlay file systems take for their own",
	};
	bool is[ARRAY_LEN(what)] = { entry->flag && !strchr("01234567S", entry->flag),
				     entry->sparse || entry->flag == 'S', false };

	for (size_t i = 0; i < tar_extras(entry)->xattr_count; i++)
		is[2] |= str_starts(entry->extras->xattrs[i].name, "trusted.");
	for (size_t i = 0; i < ARRAY_LEN(what); i++) {
		if (is[i] && !job->told[i]) {
			job->told[i] = true;
			return what[i];
		}
	}
	return NULL;
}

/* Tells of names that no archive should have. True when the entry belongs nowhere. */
static bool note_odd(struct layer_job *job, const struct tar_entry *entry)
{
	const struct tar_extras *x = tar_extras(entry);
	bool leaves = x->odd && !str_starts(x->odd, "begins");
	const char *what = x->odd, *slash = strrchr(entry->path, '/');

	if (!what && is_odd_whiteout(entry->path))
		what = "is a whiteout of nothing";
	if (!what && strlen(slash ? slash + 1 : entry->path) > 255)
		what = "has a name of more than 255 bytes";
	if (!what)
		what = odd_kind(job, entry);
	if (what && job->odd.len < ODD_ENTRIES_MAX) {
		vec_push(&job->odd, ((struct odd_entry){ job->index,
							 arena_printf(&job->content, "/%s",
								      x->odd ? relative(x->written)
									     : entry->path),
							 what, x->odd != NULL }));
		fact_keeping_odd(&job->keeping, &job->odd.items[job->odd.len - 1]);
	}
	return leaves;
}

/* Hand over what was filled; waits while too much is ahead. */
static void flush_batch(struct layer_job *job, bool last)
{
	pthread_mutex_lock(&job->lock);
	while (!last && job->queued >= BATCHES_AHEAD_MAX)
		pthread_cond_wait(&job->changed, &job->lock);
	if (job->filling) {
		*job->end = job->filling;
		job->end = &job->filling->next;
		job->queued++;
		job->filling = NULL;
	}
	job->ended |= last;
	pthread_cond_broadcast(&job->changed);
	pthread_mutex_unlock(&job->lock);
}

/* The next batch of a layer, waiting for it; NULL when the layer has ended. The caller's. */
static struct batch *take_batch(struct layer_job *job)
{
	struct batch *b;

	pthread_mutex_lock(&job->lock);
	while (!job->first && !job->ended)
		pthread_cond_wait(&job->changed, &job->lock);
	b = job->first;
	if (b) {
		job->first = b->next;
		if (!job->first)
			job->end = &job->first;
		job->queued--;
	}
	pthread_cond_broadcast(&job->changed);
	pthread_mutex_unlock(&job->lock);
	return b;
}

/* Where the facts of files are read to, and what is shared by them. */
struct content_reader {
	bool hash; /* the digest of each is wanted */
	struct strbuf buffer;
	struct arena *arena;
	struct file_facts *empty; /* of all files without bytes: there may be a million */
};

static struct file_facts *empty_facts(struct content_reader *r)
{
	cleanup_digest struct digest_state state = { 0 };

	if (r->empty)
		return r->empty;
	r->empty = arena_alloc(r->arena, sizeof(*r->empty));
	r->empty->zero = true;
	r->empty->hashed = r->hash;
	if (r->hash) {
		digest_init(&state, DIGEST_SHA256);
		r->empty->digest = digest_finish(&state);
	}
	return r->empty;
}

/* The facts of a file, and its digest when that is wanted. */
static int read_content(struct content_reader *r, const struct tar_entry *entry,
			struct stream *content, struct file_facts **out, struct error *err)
{
	cleanup_digest struct digest_state state = { 0 };
	cleanup_stream struct stream *hashed = NULL;

	if (!entry->size) {
		*out = empty_facts(r);
		return 0;
	}
	if (!r->hash)
		return content_facts_read(entry, content, &r->buffer, r->arena, out, err);
	digest_init(&state, DIGEST_SHA256);
	hashed = stream_digest(content, &state, NULL);
	if (content_facts_read(entry, hashed, &r->buffer, r->arena, out, err) < 0 ||
	    stream_drain(hashed, NULL, err) < 0)
		return -1;
	if (!*out)
		*out = arena_alloc(r->arena, sizeof(**out));
	(*out)->hashed = true;
	(*out)->digest = digest_finish(&state);
	return 0;
}

static void add_spent(struct spent *to, struct spent more)
{
	to->entries += more.entries;
	to->bytes += more.bytes;
}

/* Take entries for the batch, and what was kept of contents since, out of the budget. */
static int spend(struct layer_job *job, size_t entries, struct error *err)
{
	struct budget *budget = job->budget;
	size_t bytes = job->content.bytes;
	struct spent more = { entries, bytes - job->content_bytes }, all = { 0 };

	add_spent(&job->filling->spent, more);
	pthread_mutex_lock(&budget->lock);
	add_spent(&budget->layers[job->index], more);
	for (size_t i = 0; i <= job->index; i++)
		add_spent(&all, budget->layers[i]);
	pthread_mutex_unlock(&budget->lock);
	job->content_bytes = bytes;
	return check_limits(&budget->limits, &all, err);
}

/* A batch with room for one more entry; NULL when there is too much of them. */
static struct batch *roomy_batch(struct layer_job *job, struct error *err)
{
	size_t entries = 0;

	if (job->filling && job->filling->len == BATCH_ENTRIES)
		flush_batch(job, false);
	if (!job->filling) {
		job->filling = xcalloc(1, sizeof(*job->filling));
		entries = job->started ? BATCH_ENTRIES : 1;
		job->started = true;
	}
	if ((entries || job->content.bytes - job->content_bytes >= MIB) &&
	    spend(job, entries, err) < 0)
		return NULL;
	return job->filling;
}

static int read_entry(struct layer_job *job, struct tar_reader *reader,
		      const struct tar_entry *entry, struct content_reader *contents,
		      struct error *err)
{
	struct layer_entry *out;
	struct batch *batch;
	struct arena *names;

	if (note_odd(job, entry))
		return 0;
	batch = roomy_batch(job, err);
	if (!batch)
		return -1;
	names = &batch->names;
	out = &batch->entries[batch->len++];
	out->entry = *entry;
	out->entry.path = arena_strdup(names, entry->path);
	out->entry.link = *entry->link ? arena_strdup(names, entry->link) : "";
	out->entry.extras = NULL;
	if (entry->type == TAR_FILE &&
	    read_content(contents, entry, tar_read_content(reader), &out->facts, err) < 0)
		return -1;
	fact_keeping_entry(&job->keeping, &out->entry, out->facts);
	return 0;
}

static int read_entries(struct layer_job *job, struct stream *plain, struct error *err)
{
	struct content_reader contents = { .hash = job->hash, .arena = &job->content };
	cleanup_tar_reader struct tar_reader *reader = tar_read_open(plain);
	struct tar_entry entry;
	int more;

	tar_read_tolerate(reader);
	while ((more = tar_read_next(reader, &entry, err)) > 0) {
		if (read_entry(job, reader, &entry, &contents, err) < 0) {
			more = -1;
			break;
		}
	}
	strbuf_release(&contents.buffer);
	return more;
}

static int read_layer(struct layer_job *job, struct error *err)
{
	cleanup_stream struct stream *plain = image_layer(job->image, job->index, err);

	if (!plain)
		return -1;
	plain = readahead_stream(plain);
	fact_keeping_begin(&job->keeping, job->cache,
			   (enum compression)job->image->layer_compressions[job->index]);
	if (read_entries(job, plain, err) < 0 || stream_drain(plain, NULL, err) < 0)
		return -1;
	fact_keeping_commit(&job->keeping, job->image, job->index, job->hash);
	return 0;
}

/* What was kept of the layer, instead of reading it. */
static int recall_entries(struct layer_job *job, struct fact_record_reader *r, struct error *err)
{
	struct odd_entry odd;
	int kind;

	r->content = &job->content;
	do {
		struct batch *batch = roomy_batch(job, err);
		struct layer_entry *out = batch ? &batch->entries[batch->len] : NULL;

		if (!batch)
			return -1;
		r->names = &batch->names;
		kind = fact_record_next(r, &out->entry, &out->facts, &odd);
		if (kind == FACT_RECORD_ENTRY)
			batch->len++;
		else if (kind == FACT_RECORD_ODD)
			vec_push(&job->odd, odd);
	} while (kind > FACT_RECORD_END);
	return kind < 0 ? error_set(err, ERROR_FORMAT, "facts of an earlier run cannot be read")
			: 0;
}

/* What the uncompressed bytes of a layer really are. */
static int actual_diff_id(struct layer_job *job, struct digest *out, struct error *err)
{
	cleanup_stream struct stream *blob = image_layer_blob(job->image, job->index, err);
	cleanup_stream struct stream *plain = NULL, *hashed = NULL;
	cleanup_digest struct digest_state state = { 0 };
	int rc;

	if (!blob)
		return -1;
	plain = decompress_auto(blob, NULL, err);
	if (!plain)
		return -1;
	digest_init(&state, DIGEST_SHA256);
	hashed = stream_digest(plain, &state, NULL);
	rc = stream_drain(hashed, NULL, err);
	if (rc == 0)
		*out = digest_finish(&state);
	return rc;
}

/* Cut or missing: as opposed to whole but with another digest. */
static bool is_unreadable(struct layer_job *job, const struct error *err)
{
	struct error ignored = { 0 };
	cleanup_stream struct stream *raw = NULL;
	uint64_t bytes = 0;

	if (err->code == ERROR_NOT_FOUND || err->code == ERROR_SYSTEM || err->code == ERROR_NETWORK)
		return true;
	raw = job->image->source->ops->blob(job->image->source,
					    &job->image->manifest.layers[job->index], &ignored);
	if (!raw || stream_drain(raw, &bytes, &ignored) < 0)
		return true;
	return bytes < job->image->manifest.layers[job->index].size;
}

static int verify_blob(struct layer_job *job, struct error *err)
{
	cleanup_stream struct stream *blob = image_layer_blob(job->image, job->index, err);

	return blob ? stream_drain(blob, NULL, err) : -1;
}

/* A layer that could not be read as promised: find out which promise it breaks. */
static void explain_damage(struct layer_job *job, struct arena *arena)
{
	const struct image *image = job->image;
	struct error why = { 0 };
	char want[DIGEST_TEXT_MAX], have[DIGEST_TEXT_MAX];
	struct digest actual;

	job->problem.layer = job->index;
	if (verify_blob(job, &why) < 0) {
		job->damaged = true;
		job->problem.unreadable = is_unreadable(job, &why);
		job->problem.text = arena_strdup(arena, why.text);
		return;
	}
	if (job->index >= image->config.diff_id_count || actual_diff_id(job, &actual, &why) < 0 ||
	    digest_equal(&actual, &image->config.diff_ids[job->index]))
		return;
	job->damaged = true;
	job->problem.diff_id = true;
	job->problem.compressed = digest_equal(&image->config.diff_ids[job->index],
					       &image->manifest.layers[job->index].digest);
	job->problem.text = arena_printf(arena, "layer %zu unpacks to %s, its diff_id is %s",
					 job->index, digest_text(&actual, have),
					 digest_text(&image->config.diff_ids[job->index], want));
}

static void run_layer(struct pool_job *pool_job)
{
	struct layer_job *job = (struct layer_job *)pool_job;
	cleanup_fact_recall struct fact_recall recall = { .fd = -1 };

	if (fact_cache_recall(job->cache, job->image, job->index, job->hash, &recall)) {
		job->status = recall_entries(job, &recall.reader, &job->err);
		flush_batch(job, true);
		return;
	}
	job->status = read_layer(job, &job->err);
	fact_keeping_release(&job->keeping);
	if (job->status < 0 && job->err.code != ERROR_LIMIT)
		explain_damage(job, &job->content);
	flush_batch(job, true);
}

/* Keep the content facts of a layer alive with all the others. */
static void adopt(struct facts *facts, struct arena *from)
{
	struct arena *kept = arena_alloc(&facts->arena, sizeof(*kept));

	*kept = *from;
	*from = (struct arena){ 0 };
	vec_push(&facts->arenas, kept);
}

/* What is known of all layers so far. */
struct merge {
	struct facts *facts;
	struct spent spent;
	struct error cut; /* where the limits were met: what comes behind is dropped */
};

/* Waits for the layer to end. */
static void merge_entries(struct merge *m, struct layer_job *job)
{
	struct batch *b;

	while ((b = take_batch(job))) {
		add_spent(&m->spent, b->spent);
		if (!m->cut.code)
			ignore_result(check_limits(&job->budget->limits, &m->spent, &m->cut));
		for (size_t i = 0; i < b->len && !m->cut.code; i++)
			facts_add(m->facts, job->index, &b->entries[i].entry, b->entries[i].facts);
		arena_release(&b->names);
		free(b);
	}
}

static void note_error(struct facts *facts, const struct layer_job *job, struct error *err)
{
	error_wrap(err, "layer %zu", job->index);
	facts->unreadable = facts->lacks_entries = true;
	facts->unreadable_text = arena_strdup(&facts->arena, err->text);
}

static void note_damage(struct facts *facts, struct layer_job *job)
{
	if (job->damaged) {
		vec_push(&facts->problems, job->problem);
		facts->unreadable |= job->problem.unreadable;
		facts->lacks_entries |= job->problem.unreadable;
		if (job->problem.unreadable)
			facts->unreadable_text = job->problem.text;
	} else if (job->status < 0) {
		note_error(facts, job, &job->err);
	}
}

static void merge_layer(struct merge *m, struct layer_job *job, struct pool *pool)
{
	bool past = m->cut.code; /* already before this layer */

	merge_entries(m, job);
	pool_wait(pool, &job->job);
	if (!m->cut.code)
		note_damage(m->facts, job);
	else if (!past)
		note_error(m->facts, job, &m->cut);
	for (size_t k = 0; k < job->odd.len && !m->cut.code; k++)
		vec_push(&m->facts->odd_entries, job->odd.items[k]);
}

static void start_job(struct layer_job *job, struct image *image, size_t index, struct pool *pool)
{
	job->job.run = run_layer;
	job->image = image;
	job->index = index;
	job->end = &job->first;
	pthread_mutex_init(&job->lock, NULL);
	pthread_cond_init(&job->changed, NULL);
	pool_submit(pool, &job->job);
}

void tree_facts_read(struct facts *facts, struct image *image)
{
	size_t count = image->manifest.layer_count;
	cleanup_free struct layer_job *jobs = xcalloc(count + 1, sizeof(*jobs));
	struct pool *pool = pool_new(MIN(pool_processors(), (unsigned)LAYERS_AT_ONCE_MAX));
	cleanup_free struct spent *spent = xcalloc(count + 1, sizeof(*spent));
	struct budget budget = { .lock = PTHREAD_MUTEX_INITIALIZER,
				 .limits = limits_of(facts),
				 .layers = spent };
	struct merge merge = { .facts = facts };

	for (size_t i = 0; i < count; i++) {
		jobs[i].hash = facts->hash_files;
		jobs[i].cache = facts->known;
		jobs[i].budget = &budget;
		start_job(&jobs[i], image, i, pool);
	}
	for (size_t i = 0; i < count; i++) {
		merge_layer(&merge, &jobs[i], pool);
		vec_release(&jobs[i].odd);
		adopt(facts, &jobs[i].content);
		pthread_mutex_destroy(&jobs[i].lock);
		pthread_cond_destroy(&jobs[i].changed);
	}
	pool_join(pool);
}

/* ---------------------------------------------------------------------- an unpacked root */

struct rootfs_walk {
	struct facts *facts;
	dev_t root; /* what it is on; other file systems may be mounted below */
	struct content_reader contents;
	struct facts_limits limits;
	struct spent spent;
	struct map inodes; /* "device:inode" of files with several names → the first of them */
};

static enum tar_type type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return TAR_DIR;
	case S_IFLNK:
		return TAR_SYMLINK;
	case S_IFCHR:
		return TAR_CHAR;
	case S_IFBLK:
		return TAR_BLOCK;
	case S_IFREG:
		return TAR_FILE;
	default:
		return TAR_FIFO;
	}
}

/*
 * What the kernel shows under these names is not the image's, and reading it may never end. A
 * container gets its own in their place.
 */
static bool is_kernels(const struct fs_entry *found, dev_t root)
{
	cleanup_fd int fd = -1;
	struct statfs fs;

	if (str_equal(found->path, "proc") || str_equal(found->path, "sys") ||
	    str_equal(found->path, "dev"))
		return true;
	if (found->st.st_dev == root)
		return false;
	fd = openat(found->dirfd, found->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC);
}

/* What is there but cannot be read, most often for want of the right: the first is told. */
static void note_unreadable(struct facts *facts, const char *path, int cause)
{
	if (!facts->unreadable)
		facts->unreadable_text =
			arena_printf(&facts->arena, "/%s: %s", path, strerror(cause));
	facts->unreadable = true;
}

/* The content of a regular file; one that cannot be opened is there all the same. */
static int read_file(struct rootfs_walk *walk, const struct fs_entry *found,
		     const struct tar_entry *entry, struct file_facts **out, struct error *err)
{
	cleanup_stream struct stream *file = NULL;
	int fd = openat(found->dirfd, found->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0) {
		if (errno != ENOENT)
			note_unreadable(walk->facts, found->path, errno);
		return 0;
	}
	file = stream_fd(fd, found->path);
	return read_content(&walk->contents, entry, file, out, err);
}

/* A further name of a file that was seen is a hard link to its first name. */
static void note_hard_link(struct rootfs_walk *walk, const struct fs_entry *found,
			   struct tar_entry *entry)
{
	cleanup_free char *key =
		xasprintf("%ju:%ju", (uintmax_t)found->st.st_dev, (uintmax_t)found->st.st_ino);
	const char *first = map_get(&walk->inodes, key);

	if (first) {
		entry->type = TAR_HARDLINK;
		entry->link = first;
	} else if (!str_starts(found->name, ".wh.")) {
		map_put(&walk->inodes, key, arena_strdup(&walk->facts->arena, found->path));
	}
}

static int visit(void *user, const struct fs_entry *found, struct error *err)
{
	struct rootfs_walk *walk = user;
	struct facts *facts = walk->facts;
	struct tar_entry entry = { .type = type_of(found->st.st_mode),
				   .path = found->path,
				   .link = "",
				   .mode = found->st.st_mode & 07777,
				   .uid = found->st.st_uid,
				   .gid = found->st.st_gid };
	struct file_facts *content = NULL;
	char target[4096];

	walk->spent.entries++;
	walk->spent.bytes = facts->arena.bytes;
	if (check_limits(&walk->limits, &walk->spent, err) < 0)
		return -1;
	if (entry.type == TAR_SYMLINK) {
		ssize_t n = readlinkat(found->dirfd, found->name, target, sizeof(target) - 1);

		if (n < 0) {
			if (errno != ENOENT)
				note_unreadable(facts, found->path, errno);
			return 0;
		}
		target[n] = '\0';
		entry.link = target;
	}
	if (entry.type == TAR_FILE && found->st.st_nlink > 1)
		note_hard_link(walk, found, &entry);
	if (entry.type == TAR_FILE) {
		entry.size = (uint64_t)found->st.st_size;
		if (read_file(walk, found, &entry, &content, err) < 0)
			return -1;
	}
	if (!str_starts(found->name, ".wh."))
		facts_add(facts, 0, &entry, content);
	if (entry.type != TAR_DIR)
		return 0;
	if (is_kernels(found, walk->root))
		return FS_WALK_PAST;
	if (faccessat(found->dirfd, found->name, R_OK | X_OK, AT_EACCESS) == 0)
		return 0;
	note_unreadable(facts, found->path, errno);
	return FS_WALK_PAST;
}

int rootfs_facts_read(struct facts *facts, const char *dir, struct error *err)
{
	struct rootfs_walk walk = {
		.facts = facts,
		.limits = limits_of(facts),
		.contents = { .hash = facts->hash_files, .arena = &facts->arena },
	};
	struct stat st;
	int rc;

	if (stat(dir, &st) == 0)
		walk.root = st.st_dev;
	rc = fs_walk(AT_FDCWD, dir, visit, &walk, err);
	strbuf_release(&walk.contents.buffer);
	map_release(&walk.inodes);
	if (rc < 0 && err->code == ERROR_LIMIT) {
		facts->unreadable = facts->lacks_entries = true;
		facts->unreadable_text = arena_strdup(&facts->arena, err->text);
		*err = (struct error){ 0 };
		return 0;
	}
	return rc < 0 ? error_wrap(err, "%s", dir) : 0;
}
