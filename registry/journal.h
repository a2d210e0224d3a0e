/*
 * What is known of an upload that is under way, on disk before each request, so that another
 * process can go on where a killed one stopped. One file per registry, repository and blob:
 * <state directory>/uploads/<hash>.json, readable by its owner only, since the address of a session
 * lets whoever knows it go on with the session. No other secret is in it.
 *
 * One process at a time keeps the journal of a blob; another that pushes the same blob to the same
 * place does so without one.
 */
#ifndef REGISTRY_JOURNAL_H
#define REGISTRY_JOURNAL_H

#include "base/digest.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"

struct journal;

struct journal_key {
	const char *registry, *repository;
	const struct digest *digest;
	uint64_t size; /* bytes of the blob */
};

struct journal_entry {
	char *location;  /* of the next request; heap */
	uint64_t offset; /* bytes that the registry acknowledged */
};

void journal_entry_release(struct journal_entry *e);
#define cleanup_journal_entry cleanup(journal_entry_release)

/*
 * Lock the blob's journal. *out is NULL where another process has it, and where `state_dir` is
 * NULL. ERROR_SYSTEM: the folder cannot be made or written; nothing but the chance to resume is
 * lost.
 */
int journal_open(const char *state_dir, const struct journal_key *key, struct journal **out,
		 struct error *err) MUST_USE;
void journal_close(struct journal *j);
DEFINE_CLEANUP(struct journal *, journal_close)
#define cleanup_journal cleanup(journal_close_p)

/*
 * What an earlier process wrote; false when there is nothing of use: no file, damaged, of another
 * blob, older than 7 days. `j` may be NULL, here and below.
 */
bool journal_read(const struct journal *j, struct journal_entry *out);
/* On the disk when it returns. What goes wrong only costs the chance to resume. */
void journal_write(struct journal *j, const char *location, uint64_t offset);
/* The session is done or lost. */
void journal_clear(struct journal *j);

/* The text of an entry, for journal_read and its fuzzer. `now_s`: seconds since 1970. */
bool journal_parse(struct slice text, const struct journal_key *key, uint64_t now_s,
		   struct journal_entry *out);
void journal_print(const struct journal_key *key, const char *location, uint64_t offset,
		   uint64_t now_s, struct strbuf *out);

#endif
