/*
 * What is known of one layer, as bytes: its entries in the order of the archive, with the facts of
 * their contents, and the names no archive should have. What is written and read again is the same
 * in every field; who adds one to struct file_facts adds it here (a static assertion in
 * fact_record.c reminds of it).
 *
 * Only programs of the same facts read each other's records: see fact_version. No secret is in
 * them, for facts hold none; a kept text of a file with a secret is the one exception, and makes a
 * layer unfit to be recorded.
 */
#ifndef LINT_FACT_RECORD_H
#define LINT_FACT_RECORD_H

#include "base/stream.h"
#include "lint/facts.h"

/* A digest over the sources that make facts, in hexadecimal digits. */
extern const char fact_version[];

/* One more entry, appended to `out`. `facts` may be NULL. False: it must not be kept. */
bool fact_record_entry(struct strbuf *out, const struct tar_entry *entry,
		       const struct file_facts *facts) MUST_USE;
void fact_record_odd(struct strbuf *out, const struct odd_entry *odd);
void fact_record_end(struct strbuf *out);

enum { FACT_RECORD_END, FACT_RECORD_ENTRY, FACT_RECORD_ODD };

struct fact_record_reader {
	struct stream *in;        /* borrowed */
	struct arena *names;      /* for the strings of entries */
	struct arena *content;    /* for facts and odd names */
	struct file_facts *empty; /* shared by all files without bytes */
	bool bad;
	size_t at, len; /* of what was read ahead */
	uint8_t ahead[16 * 1024];
};

/*
 * The next record: its kind, with *entry and *facts (NULL: none), or *odd; -1 when the bytes are no
 * record. Strings of entries go to r->names, which may be another arena before each call.
 */
int fact_record_next(struct fact_record_reader *r, struct tar_entry *entry,
		     struct file_facts **facts, struct odd_entry *odd) MUST_USE;

#endif
