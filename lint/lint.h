/*
 * Lint an image: facts, rules, findings, verdict. The only header of lint/ that others include
 * (with lint/report.h for printing and what both include).
 */
#ifndef LINT_LINT_H
#define LINT_LINT_H

#include "lint/components.h"
#include "lint/findings.h"
#include "lint/policy.h"
#include "lint/recipe.h"
#include "lint/stack_versions.h"
#include "lint/target.h"
#include "oci/image.h"

struct fact_cache;

/* A digest over the sources and tables that a judgement comes of, in hexadecimal digits. */
extern const char lint_version[];

struct lint_options {
	struct target target;
	struct policy policy;
	const struct recipe *recipe;    /* borrowed; NULL: none was named */
	const struct fact_cache *cache; /* borrowed; NULL: every layer is read */
};

/* A rule that did not run never counts as passed. */
struct lint_not_run {
	const struct rule *rule;
	const char *reason; /* "needs --gpu" */
};

/* One layer as it is stored and as it unpacks. */
struct lint_layer {
	const char *digest; /* of the blob */
	const char *media_type;
	const char *made_by; /* its history entry, secrets masked; "" when there is none */
	uint64_t stored;     /* bytes of the blob */
	uint64_t bytes;      /* of regular files in it, unpacked */
	uint64_t dead;       /* of those: bytes that a later layer deletes or replaces */
	size_t files;        /* entries */
	size_t line;         /* of the recipe, that made it; 0: not known */
};

/* The hosts an image was judged for, as texts for people; none is guessed. */
struct lint_targets {
	struct target_texts gpus;                   /* "h100 (sm_90)" */
	struct target_texts drivers;                /* "driver 550 or newer" */
	struct target_texts runtimes;               /* "cdi" */
	bool gpus_from_labels, drivers_from_labels; /* of the image, nobody named them */
};

struct lint_result {
	struct arena arena;
	struct findings findings;
	struct {
		struct lint_not_run *items;
		size_t len, cap;
	} not_run; /* sorted by rule id */
	struct {
		const struct rule **items;
		size_t len, cap;
	} ran; /* sorted by rule id */
	struct {
		const char **items;
		size_t len, cap;
	} resolved; /* fingerprints of the baseline that are no longer found, sorted */
	struct policy_unuseds unused; /* acceptances that did nothing */
	struct {
		struct lint_layer *items;
		size_t len, cap;
	} layer_list;                 /* empty for an unpacked root */
	struct components components; /* what the bytes belong to */
	enum fail_on fail_on;         /* the threshold */
	const char *recipe;           /* the file that `line` of layers is of; NULL: none */
	const char *reference;        /* the image as the user named it */
	char digest[DIGEST_TEXT_MAX]; /* of its manifest; "" for an unpacked root */
	const char *platform;         /* "linux/amd64"; NULL: unknown */
	size_t layers;
	uint64_t bytes; /* unpacked regular files of all layers, hard links once */
	bool is_gpu_image;
	const char *gpu_reason;      /* why, or NULL */
	struct lint_targets targets; /* what was judged for */
	struct stack_versions stack; /* what could be told of it */
	const char *unreadable;      /* what could not be read (exit status 3), or NULL */
	bool failed;                 /* findings at or above the threshold */
	size_t errors, warnings, infos, suppressed;
};

/*
 * Judge `image`. 0 when it could be judged, whatever was found; -1 when not even its entries
 * could be listed, or a rule could not decide. Release *out with lint_result_release either way.
 */
int lint_run(struct image *image, const struct lint_options *options, struct lint_result *out,
	     struct error *err) MUST_USE;
void lint_result_release(struct lint_result *result);
#define cleanup_lint_result cleanup(lint_result_release)

/* Judge facts that were made by hand (tests). `options` may be NULL for none. */
struct facts;
int lint_judge(const struct facts *facts, const struct lint_options *options,
	       struct lint_result *out, struct error *err) MUST_USE;

/* The rule of that id or name, or NULL. */
const struct rule *lint_rule(const char *id_or_name);

#endif
