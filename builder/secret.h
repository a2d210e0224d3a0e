/*
 * Secrets of build stages: read where gpuimg runs, seen by commands as files, wiped afterwards, and
 * looked for in everything that leaves a stage.
 */
#ifndef BUILDER_SECRET_H
#define BUILDER_SECRET_H

#include "base/stream.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "manifests/stack.h"

enum {
	SECRET_BYTES_MAX = 1024 * 1024,
	SECRET_BYTES_SEEN = 6, /* a shorter one cannot be told from other bytes, and is refused */
};

#define SECRETS_FOLDER "/run/secrets"

struct secret {
	const char *id;
	const char *to;      /* in the stage: "/run/secrets/ID" */
	struct strbuf bytes; /* as they were given */
	struct slice core;   /* of them, without the blanks and line ends around */
};

struct secrets {
	struct secret *items;
	size_t len, cap;
	struct arena arena;
};

/* Wipes. */
void secrets_release(struct secrets *secrets);
#define cleanup_secrets cleanup(secrets_release)

/*
 * The secrets that `stage` names, from `given` ("id=NAME,src=FILE" or "id=NAME,env=VARIABLE"), else
 * from where the manifest says. ERROR_USAGE with the place in the manifest: one is not given, is
 * not to be had, or too short; ERROR_LIMIT.
 */
int secrets_read(const struct stack *stack, const struct stack_stage *stage,
		 const char *const *given, size_t given_count, struct secrets *out,
		 struct error *err) MUST_USE;
/* ERROR_USAGE when a text is not of that form, or no stage of `stack` has a secret of that id. */
int secrets_check_given(const struct stack *stack, const char *given, struct error *err) MUST_USE;

/* The first secret whose bytes are in `text`, or NULL. */
const struct secret *secrets_in(const struct secrets *secrets, struct slice text);
/* `text` with all of them as "***", appended. */
void secrets_mask(const struct secrets *secrets, struct slice text, struct strbuf *out);
/*
 * The bytes of `inner`, which is borrowed; reading fails with ERROR_INTEGRITY when a secret is in
 * them, before its last byte is handed out.
 */
struct stream *secrets_watch(const struct secrets *secrets, struct stream *inner);

#endif
