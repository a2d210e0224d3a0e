/*
 * The stack manifest: one table of keys, errors with line, column and the nearest known
 * key. Reading checks shape and values; what needs sources, files or tables is checked later by
 * whoever uses it, with the place kept here ("stack.yaml:12:5").
 *
 * The keys, their types and their help are in manifests/stack_keys.c; docs/manifest.md is made of
 * them. Strings live in the stack's arena. Absent lists have count 0, absent texts are NULL.
 */
#ifndef MANIFESTS_STACK_H
#define MANIFESTS_STACK_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "formats/compress.h"

struct stack_place {
	size_t line, column; /* from 1; 0: not in a text (a default, `--set`) */
	const char *file;    /* NULL: the stack's own */
};

struct stack_texts {
	const char **items;
	size_t count;
};

struct stack_pair {
	const char *key, *value;
};

struct stack_pairs {
	struct stack_pair *items; /* in the order written */
	size_t count;
};

enum stack_libraries { LIBRARIES_AUTO, LIBRARIES_WHEELS, LIBRARIES_SYSTEM };
enum stack_compat { COMPAT_AUTO, COMPAT_ALWAYS, COMPAT_NEVER };
enum stack_profile { PROFILE_BASE, PROFILE_RUNTIME, PROFILE_DEVEL };
enum stack_split { SPLIT_COMPONENT, SPLIT_STAGE, SPLIT_SINGLE };
enum stack_source_type {
	SOURCE_APT,
	SOURCE_WHEELS,
	SOURCE_DIR,
	SOURCE_RPM_MD,
	SOURCE_REDIST,
};

/* The section `stack`: what the user asks of it; the solver makes versions of it. */
struct stack_request {
	const char *driver; /* ">=535.183.06" */
	struct stack_texts gpus;
	const char *cuda, *cudnn, *nccl, *python;
	struct stack_pairs framework;
	enum stack_libraries libraries;
	enum stack_compat compat;
	struct stack_place place;
};

struct stack_source {
	const char *id;
	enum stack_source_type type;
	bool from_host;
	const char *url, *suite, *signed_by, *gpgkey, *path;
	struct stack_texts components;
	struct stack_place place;
};

struct stack_package {
	const char *spec;         /* "g++", "libnccl2=2.28.*", "einops>=0.8"; NULL: see next */
	const char *requirements; /* path of a requirements file, relative to the manifest */
	struct stack_place place;
};

struct stack_packages {
	const char *source; /* id of a source */
	struct stack_package *items;
	size_t count;
	struct stack_place place;
};

struct stack_file {
	const char *from, *to; /* from: relative to the manifest; a folder ends in "/" or is one */
	const char *mode; /* "0755"; NULL: 0755 when it is executable for its owner, else 0644 */
	struct stack_place place;
};

struct stack_copy {
	const char *from; /* name of an earlier stage */
	const char *path, *to, *mode;
	struct stack_place place;
};

/* A secret that commands of a stage see as /run/secrets/ID. Where its bytes are is not part of a
 * build. */
struct stack_secret {
	const char *id;
	const char *env, *src; /* where it is unless the command line says; or NULL */
	struct stack_place place;
};

struct stack_stage {
	const char *name;
	enum stack_profile profile; /* runtime unless said */
	struct stack_packages *packages;
	size_t package_count;
	struct stack_file *files;
	size_t file_count;
	struct stack_copy *copies;
	size_t copy_count;
	struct stack_texts run; /* shell commands, in order */
	struct stack_secret *secrets;
	size_t secret_count;
	const char *gpu;     /* a CDI device for its commands, "nvidia.com/gpu=all"; or NULL */
	const char *timeout; /* of all commands together: "30m"; NULL: STACK_TIMEOUT */
	struct stack_place place;
};

struct stack_image {
	const char *user_name, *home; /* NULL: root; home is set when user_name is */
	uint64_t uid, gid;            /* gid is the uid unless said */
	struct stack_place user_place;
	struct stack_texts entrypoint, cmd, expose, volumes;
	struct stack_pairs env, labels, annotations;
	const char *workdir, *stop_signal;
};

struct stack_layers {
	enum compression compression; /* gzip unless said */
	enum compression_level level;
	enum stack_split split;
	uint64_t max_size; /* bytes, compressed; 1 GiB unless said */
};

struct stack_ignore {
	const char *rule, *path, *reason, *until; /* until: "2027-01-01" or NULL */
	struct stack_place place;
};

struct stack_test_run {
	struct stack_texts cmd;
	const char *expect;
	const char *gpu; /* "true": it needs one; "false" or NULL */
};

/* One combination, or several, that a matrix leaves out: texts that are NULL stand for any. */
struct stack_exclude {
	const char *cuda, *cudnn, *nccl, *python, *torch, *tensorflow, *jax;
	struct stack_place place;
};

/* Values that make one image each. Only while a manifest is read: a stack is one of them. */
struct stack_matrix {
	struct stack_texts cuda, cudnn, nccl, python, torch, tensorflow, jax;
	struct stack_exclude *excludes;
	size_t exclude_count;
	struct stack_place place;
};

/*
 * What one key of the manifest says, as a digest, so that a lock can tell which have moved without
 * repeating them. `path` is "stack.cuda", "sources[0]", "stages.run.packages.os"; "./NAME" is the
 * content of a file that takes part in locking (a requirements file).
 */
struct stack_fingerprint {
	const char *path;
	struct digest digest;
};

struct stack {
	struct arena arena;
	const char *file;               /* as it was named */
	const char *directory;          /* of the file: what relative paths start from */
	const char *variant;            /* of its matrix: "cuda13.0-python3.11"; "" without one */
	struct digest digest;           /* of the normalised manifest: of `keys` */
	struct stack_fingerprint *keys; /* sorted by path */
	size_t key_count;
	const char *name;
	const char *tag;              /* "latest" unless said */
	struct stack_texts platforms; /* "linux/amd64"; at least one */
	struct stack_request stack;
	struct stack_source *sources;
	size_t source_count;
	const char *base_image;     /* NULL: none */
	struct stack_stage *stages; /* at least one; the last is the image */
	size_t stage_count;
	struct stack_image image;
	struct stack_layers layers;
	struct stack_texts acknowledged_scripts; /* "sha256:…" */
	const char *lint_fail_on; /* "error" unless said, "warning", "info", "never" */
	struct stack_ignore *lint_ignores;
	size_t lint_ignore_count;
	const char *test_require; /* NULL, "load", "run" */
	struct stack_test_run *test_runs;
	size_t test_run_count;
	struct stack_texts publish;
	struct stack_matrix matrix; /* always empty: see struct stack_matrix */
};

/* Append the content of the file at `path`; ERROR_NOT_FOUND when there is none. */
typedef int stack_load_fn(void *user, const char *path, struct strbuf *out, struct error *err);

/* How a manifest is read. Zeroed: as it stands in its file. */
struct stack_options {
	const char *const *sets; /* "stack.cuda=12.6", merged in order over all files */
	size_t set_count;
	const char *const *variants; /* of the matrix, by name; none: all */
	size_t variant_count;
	stack_load_fn *load; /* what `extends` and requirements name; NULL: nothing can be read */
	void *load_user;
};

/* The images of a manifest: one, or those of its matrix in the order of its values. */
struct stacks {
	struct arena arena; /* holds what the stacks share */
	struct stack *items;
	size_t count;
	struct stack_place matrix; /* line 0: there is none */
};

/*
 * Read a manifest file (.json: strict JSON, else YAML) with what it extends. ERROR_USAGE for what
 * the user must mend (with "FILE:LINE:COLUMN: …", or "--set 'PATH=VALUE': …"; too large or too deep
 * as well), ERROR_NOT_FOUND. A manifest that describes several images is ERROR_USAGE: see
 * stacks_read. Release with stack_release.
 */
int stack_read(const char *file, struct stack *out, struct error *err) MUST_USE;
/* The same from memory, and nothing is read beside it; `file` names it. */
int stack_parse(struct slice text, const char *file, struct stack *out, struct error *err) MUST_USE;
void stack_release(struct stack *stack);
/* "512MiB", "1 GiB", "4096": a number above 0 and KiB, MiB, GiB or nothing. False for any other. */
bool stack_size_parse(const char *text, uint64_t *out);
#define cleanup_stack cleanup(stack_release)

/* All images, or the variants that `options` name. `options->load` is set to read files. */
int stacks_read(const char *file, const struct stack_options *options, struct stacks *out,
		struct error *err) MUST_USE;
/* From memory, with `options` (which may be NULL) as they are. */
int stacks_parse(struct slice text, const char *file, const struct stack_options *options,
		 struct stacks *out, struct error *err) MUST_USE;
void stacks_release(struct stacks *stacks);
#define cleanup_stacks cleanup(stacks_release)

/*
 * Append the normalised manifest: YAML with every default filled in, files merged, one variant of
 * a matrix. The same content gives the same text, and it reads as the same stack.
 */
void stack_print(const struct stack *stack, struct strbuf *out);

/*
 * A path of the manifest as the program is to open it: one that is not absolute begins beside the
 * manifest. `path` itself or in `arena`.
 */
const char *stack_path(const struct stack *stack, const char *path, struct arena *arena);
/* The source or stage of that name, or NULL. */
const struct stack_source *stack_source(const struct stack *stack, const char *id);
const struct stack_stage *stack_stage(const struct stack *stack, const char *name);
/*
 * ERROR_USAGE at a place of this manifest: "FILE:LINE:COLUMN: text", with the file it stands in,
 * which may be one that was extended. Returns -1.
 */
int stack_error(const struct stack *stack, struct stack_place place, struct error *err,
		const char *fmt, ...) PRINTF_LIKE(4, 5);
const char *stack_source_type_name(enum stack_source_type type);
/* Milliseconds of "90s", "15m", "2h"; 0 when it is none, nothing, or more than a week. */
uint64_t stack_duration_ms(const char *text);
/* The time the commands of a stage have unless it says. */
#define STACK_TIMEOUT "2h"
const char *stack_profile_name(enum stack_profile profile);

#endif
