#include "registry/journal.h"

#include <strings.h>
#include <time.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "formats/json.h"

enum { JOURNAL_VERSION = 1, JOURNAL_BYTES_MAX = 64 * 1024, JOURNAL_AGE_MAX_S = 7 * 24 * 3600 };

struct journal {
	int dirfd;  /* of uploads/ */
	int lock;   /* of "<name>.lock" */
	char *name; /* "<hash>" */
	struct digest digest;
	struct journal_key key; /* its texts are ours */
};

void journal_entry_release(struct journal_entry *e)
{
	if (e->location)
		explicit_bzero(e->location, strlen(e->location));
	free(e->location);
	e->location = NULL;
}

static uint64_t now(void)
{
	return (uint64_t)time(NULL);
}

/* Text. */

static const char *text_of(const json_t *root, const char *key)
{
	const char *s = json_string_value(json_object_get(root, key));

	return s ? s : "";
}

static bool is_address(const char *location)
{
	if (!str_starts(location, "https://") && !str_starts(location, "http://"))
		return false;
	for (const char *c = location; *c; c++)
		if ((uint8_t)*c <= 0x20 || (uint8_t)*c >= 0x7f)
			return false;
	return true;
}

bool journal_parse(struct slice text, const struct journal_key *key, uint64_t now_s,
		   struct journal_entry *out)
{
	cleanup_json json_t *root = NULL;
	struct error ignored = { 0 };
	uint64_t version, size, offset, written;
	char digest[DIGEST_TEXT_MAX];

	*out = (struct journal_entry){ 0 };
	if (json_parse(text, &root, &ignored) < 0 || !json_is_object(root) ||
	    json_get_u64(root, "", "version", &version, &ignored) < 0 ||
	    json_get_u64(root, "", "size", &size, &ignored) < 0 ||
	    json_get_u64(root, "", "offset", &offset, &ignored) < 0 ||
	    json_get_u64(root, "", "written", &written, &ignored) < 0)
		return false;
	if (version != JOURNAL_VERSION || size != key->size || offset > size || written > now_s ||
	    now_s - written > JOURNAL_AGE_MAX_S)
		return false;
	if (!str_equal(text_of(root, "registry"), key->registry) ||
	    !str_equal(text_of(root, "repository"), key->repository) ||
	    !str_equal(text_of(root, "digest"), digest_text(key->digest, digest)) ||
	    !is_address(text_of(root, "location")))
		return false;
	out->location = xstrdup(text_of(root, "location"));
	out->offset = offset;
	return true;
}

void journal_print(const struct journal_key *key, const char *location, uint64_t offset,
		   uint64_t now_s, struct strbuf *out)
{
	cleanup_json json_t *root = json_object();
	char digest[DIGEST_TEXT_MAX];

	json_put(root, "version", json_integer(JOURNAL_VERSION));
	json_put(root, "registry", json_text(key->registry));
	json_put(root, "repository", json_text(key->repository));
	json_put(root, "digest", json_text(digest_text(key->digest, digest)));
	json_put(root, "size", json_integer((json_int_t)key->size));
	json_put(root, "location", json_text(location));
	json_put(root, "offset", json_integer((json_int_t)offset));
	json_put(root, "written", json_integer((json_int_t)now_s));
	json_pretty(root, out);
}

/* Files. */

static char *name_of(const struct journal_key *key)
{
	cleanup_strbuf struct strbuf text = { 0 };
	char digest[DIGEST_TEXT_MAX], hex[DIGEST_HEX_MAX];
	struct digest hash;

	strbuf_addf(&text, "%s|%s|%s", key->registry, key->repository,
		    digest_text(key->digest, digest));
	hash = digest_of(strbuf_slice(&text));
	return xstrdup(digest_hex(&hash, hex));
}

static int open_directory(const char *dir, struct error *err)
{
	int fd;

	if (fs_mkdirs(AT_FDCWD, dir, err) < 0)
		return -1;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? error_set_errno(err, errno, "open %s", dir) : fd;
}

/* Entries and locks that nobody came back to. */
static void sweep(int dirfd)
{
	struct fs_names names = { 0 };
	struct error ignored = { 0 };

	if (fs_list(dirfd, ".", &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		struct stat st;

		if (fstatat(dirfd, names.items[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && (uint64_t)st.st_mtime + JOURNAL_AGE_MAX_S < now())
			unlinkat(dirfd, names.items[i], 0);
	}
	fs_names_release(&names);
}

int journal_open(const char *state_dir, const struct journal_key *key, struct journal **out,
		 struct error *err)
{
	cleanup_free char *dir = state_dir ? fs_join(state_dir, "uploads") : NULL;
	cleanup_free char *name = name_of(key), *lock_name = xasprintf("%s.lock", name);
	cleanup_fd int dirfd = dir ? open_directory(dir, err) : -1;
	int lock, rc;
	struct journal *j;

	*out = NULL;
	if (dirfd < 0)
		return dir ? -1 : 0;
	sweep(dirfd);
	rc = fs_lock_file(dirfd, lock_name, LOCK_EX | LOCK_NB, &lock, err);
	if (rc <= 0)
		return rc < 0 ? error_wrap(err, "%s", dir) : 0;
	j = xcalloc(1, sizeof(*j));
	j->dirfd = steal_fd(&dirfd);
	j->lock = lock;
	j->name = steal_ptr(&name);
	j->digest = *key->digest;
	j->key = (struct journal_key){ .registry = xstrdup(key->registry),
				       .repository = xstrdup(key->repository),
				       .digest = &j->digest,
				       .size = key->size };
	*out = j;
	return 0;
}

void journal_close(struct journal *j)
{
	cleanup_free char *lock = NULL;

	if (!j)
		return;
	lock = xasprintf("%s.lock", j->name);
	unlinkat(j->dirfd, lock, 0); /* while it is held: see fs_lock_file */
	close(j->lock);
	close(j->dirfd);
	free(j->name);
	free((char *)j->key.registry);
	free((char *)j->key.repository);
	free(j);
}

static char *entry_name(const struct journal *j)
{
	return xasprintf("%s.json", j->name);
}

bool journal_read(const struct journal *j, struct journal_entry *out)
{
	cleanup_free char *name = j ? entry_name(j) : NULL;
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };

	*out = (struct journal_entry){ 0 };
	if (!j || fs_read(j->dirfd, name, JOURNAL_BYTES_MAX, &text, &ignored) < 0)
		return false;
	return journal_parse(strbuf_slice(&text), &j->key, now(), out);
}

void journal_write(struct journal *j, const char *location, uint64_t offset)
{
	cleanup_free char *name = j ? entry_name(j) : NULL;
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };

	if (!j)
		return;
	journal_print(&j->key, location, offset, now(), &text);
	if (fs_write_durable(j->dirfd, name, strbuf_slice(&text), 0600, &ignored) < 0)
		journal_clear(j); /* rather none than one that is behind */
	explicit_bzero(text.data, text.len);
}

void journal_clear(struct journal *j)
{
	cleanup_free char *name = j ? entry_name(j) : NULL;

	if (j)
		unlinkat(j->dirfd, name, 0);
}
