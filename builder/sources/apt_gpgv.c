/* Signatures of Release files, by gpgv. */
#include "builder/sources/apt_release.h"

#include <strings.h>

#include "base/fs.h"
#include "base/process.h"
#include "builder/sources/armor.h"

enum { KEYRING_LIMIT = 16 * 1024 * 1024, STATUS_LIMIT = 1024 * 1024 };

/* The n-th word (from 0) of a line; empty when there are fewer. */
static struct slice word_at(struct slice line, size_t n)
{
	struct slice word = { 0 };

	for (size_t i = 0; i <= n; i++) {
		if (!slice_cut(&line, ' ', &word))
			return (struct slice){ 0 };
	}
	return word;
}

static bool same_hex(struct slice a, const char *b)
{
	return a.len == strlen(b) && strncasecmp((const char *)a.data, b, a.len) == 0;
}

static bool counts(const struct apt_keys *keys, struct slice fingerprint, struct slice primary)
{
	for (size_t i = 0; i < keys->fingerprint_count; i++) {
		if (same_hex(fingerprint, keys->fingerprints[i]) ||
		    same_hex(primary, keys->fingerprints[i]))
			return true;
	}
	return keys->fingerprint_count == 0;
}

/* Hash algorithms of RFC 4880, 9.4: SHA-256, 384, 512, 224 count; MD5, SHA-1, RIPEMD do not. */
static bool strong_hash(struct slice number)
{
	return slice_is(number, "8") || slice_is(number, "9") || slice_is(number, "10") ||
	       slice_is(number, "11");
}

struct judgement {
	bool good_pending; /* GOODSIG seen, its VALIDSIG not yet */
	size_t good;
	const char *bad;    /* reason that refuses all */
	const char *reason; /* why one did not count */
};

static void judge_valid(struct judgement *j, struct slice line, const struct apt_keys *keys)
{
	/* VALIDSIG fpr date timestamp expires version reserved pubkey-algo hash-algo class primary
	 */
	struct slice fingerprint = word_at(line, 2), hash = word_at(line, 9);
	struct slice primary = word_at(line, 11);

	if (!j->good_pending)
		return;
	j->good_pending = false;
	if (!strong_hash(hash))
		j->reason = "it is made with a weak digest (MD5, SHA-1 or RIPEMD)";
	else if (!counts(keys, fingerprint, primary))
		j->reason = "its key is none of the fingerprints that signed-by names";
	else
		j->good++;
}

static void judge_line(struct judgement *j, struct slice line, const struct apt_keys *keys)
{
	struct slice word = word_at(line, 1);

	if (slice_is(word, "NEWSIG"))
		j->good_pending = false;
	else if (slice_is(word, "GOODSIG"))
		j->good_pending = true;
	else if (slice_is(word, "VALIDSIG"))
		judge_valid(j, line, keys);
	else if (slice_is(word, "BADSIG"))
		j->bad = "the signature does not fit the text: it was changed, or damaged on the "
			 "way";
	else if (slice_is(word, "EXPSIG"))
		j->reason = "the signature has expired";
	else if (slice_is(word, "EXPKEYSIG"))
		j->reason = "the key has expired";
	else if (slice_is(word, "REVKEYSIG"))
		j->reason = "the key has been revoked";
	else if ((slice_is(word, "NO_PUBKEY") || slice_is(word, "ERRSIG")) && !j->reason)
		j->reason = "it is signed by a key that is not in the keyring";
}

int apt_gpgv_judge(struct slice status, const struct apt_keys *keys, struct error *err)
{
	struct judgement j = { 0 };
	struct slice line;

	while (slice_cut(&status, '\n', &line)) {
		if (slice_starts(line, "[GNUPG:] "))
			judge_line(&j, line, keys);
	}
	if (j.bad)
		return error_set(err, ERROR_INTEGRITY, "%s", j.bad);
	if (!j.good)
		return error_set(err, ERROR_INTEGRITY, "%s",
				 j.reason ? j.reason
					  : "it carries no signature that gpgv can read");
	return 0;
}

/* Files that live while gpgv runs. */
struct workspace {
	char *dir;
	VEC(char *) args;
};

static void workspace_release(struct workspace *w)
{
	struct error ignored = { 0 };

	if (w->dir)
		ignore_result(fs_remove_tree(AT_FDCWD, w->dir, &ignored)); /* a leftover in /tmp */
	free(w->dir);
	for (size_t i = 0; i < w->args.len; i++)
		free(w->args.items[i]);
	vec_release(&w->args);
}

static int workspace_open(struct workspace *w, struct error *err)
{
	const char *tmp = getenv("TMPDIR");

	w->dir = xasprintf("%s/gpuimg-keys-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(w->dir)) {
		int saved = errno;

		error_set_errno(err, saved, "%s", w->dir);
		free(steal_ptr(&w->dir));
		return -1;
	}
	return 0;
}

static int put_file(struct workspace *w, const char *name, struct slice data, char **out_path,
		    struct error *err)
{
	*out_path = fs_join(w->dir, name);
	return fs_write(AT_FDCWD, *out_path, data, 0600, err);
}

static int add_keyring(struct workspace *w, struct slice text, const char *name, struct error *err)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	cleanup_free char *file = xasprintf("keyring-%zu.gpg", w->args.len);
	char *path = NULL;

	if (armor_is(text)) {
		if (armor_decode(text, name, &bytes, err) < 0)
			return -1;
		text = strbuf_slice(&bytes);
	}
	if (!text.len)
		return 0; /* an empty trusted.gpg is common, and holds no key */
	if (put_file(w, file, text, &path, err) < 0) {
		free(path);
		return -1;
	}
	vec_push(&w->args, xstrdup("--keyring"));
	vec_push(&w->args, path);
	return 0;
}

static int add_keyrings(struct workspace *w, const struct apt_keys *keys, struct error *err)
{
	size_t before = w->args.len;

	for (size_t i = 0; i < keys->keyring_count; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (fs_read(AT_FDCWD, keys->keyrings[i], KEYRING_LIMIT, &text, err) < 0)
			return err->code == ERROR_NOT_FOUND
				       ? error_set(err, ERROR_INTEGRITY, "keyring %s is missing",
						   keys->keyrings[i])
				       : -1;
		if (add_keyring(w, strbuf_slice(&text), keys->keyrings[i], err) < 0)
			return -1;
	}
	if (keys->key_text && add_keyring(w, slice_str(keys->key_text), "embedded key", err) < 0)
		return -1;
	if (w->args.len == before)
		return error_set(err, ERROR_INTEGRITY, "there is no key to check it against");
	return 0;
}

static int run_gpgv(struct workspace *w, struct slice text, struct slice signature,
		    const struct apt_keys *keys, struct error *err)
{
	static const char *const head[] = { "gpgv",        "--homedir", NULL,
					    "--status-fd", "1",         "--ignore-time-conflict" };
	const char *path = getenv("PATH");
	cleanup_free char *path_var = xasprintf("PATH=%s", path ? path : "/usr/bin:/bin");
	const char *env[] = { "LC_ALL=C", path_var, NULL };
	cleanup_process struct process_result result = { 0 };
	struct process process = { .env = env, .timeout_ms = 60000, .output_limit = STATUS_LIMIT };
	char *file = NULL;

	for (size_t i = 0; i < ARRAY_LEN(head); i++)
		vec_push(&w->args, xstrdup(head[i] ? head[i] : w->dir));
	if (add_keyrings(w, keys, err) < 0)
		return -1;
	if (put_file(w, "signature", signature, &file, err) < 0) {
		free(file);
		return -1;
	}
	vec_push(&w->args, file);
	file = NULL;
	if (put_file(w, "text", text, &file, err) < 0) {
		free(file);
		return -1;
	}
	vec_push(&w->args, file);
	vec_push(&w->args, NULL);
	process.argv = (const char *const *)w->args.items;
	if (process_run(&process, &result, err) < 0)
		return err->code == ERROR_NOT_FOUND
			       ? error_set(
					 err, ERROR_NOT_FOUND,
					 "signatures are checked by gpgv, which is not installed: "
					 "install it (package gpgv)")
			       : -1;
	if (result.timed_out)
		return error_set(err, ERROR_SYSTEM, "gpgv did not end within a minute");
	return apt_gpgv_judge(strbuf_slice(&result.out_stdout), keys, err);
}

static void name_keys(const struct apt_keys *keys, struct strbuf *out)
{
	for (size_t i = 0; i < keys->keyring_count && i < 3; i++)
		strbuf_addf(out, "%s%s", i ? ", " : "", keys->keyrings[i]);
	if (keys->keyring_count > 3)
		strbuf_addf(out, " and %zu more", keys->keyring_count - 3);
	if (!keys->keyring_count)
		strbuf_adds(out, keys->key_text ? "the key in its stanza" : "no keyring");
}

int apt_release_verify(struct slice text, struct slice signature, const struct apt_keys *keys,
		       const char *name, struct error *err)
{
	struct workspace w = { 0 };
	cleanup_strbuf struct strbuf names = { 0 };
	int rc;

	if (workspace_open(&w, err) < 0)
		return -1;
	rc = run_gpgv(&w, text, signature, keys, err);
	workspace_release(&w);
	if (rc < 0 && (err->code == ERROR_INTEGRITY || err->code == ERROR_FORMAT)) {
		char reason[sizeof(err->text)];

		memcpy(reason, err->text, sizeof(reason));
		name_keys(keys, &names);
		return error_set(err, ERROR_INTEGRITY,
				 "%.180s: not trusted by %.120s: %.120s; %s%s", name,
				 strbuf_text(&names), reason,
				 strstr(reason, "key")
					 ? "get the repository's current key and name its file as "
					 : "use another mirror, or tell its owner",
				 !strstr(reason, "key") ? ""
				 : keys->setting        ? keys->setting
							: "signed-by");
	}
	return rc;
}
