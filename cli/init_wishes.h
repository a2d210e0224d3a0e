/*
 * What `gpuimg init` is to write a manifest for, gathered from its options, a requirements file
 * and an image. What came first stays.
 */
#ifndef CLI_INIT_WISHES_H
#define CLI_INIT_WISHES_H

#include "base/vec.h"
#include "cli/command.h"
#include "manifests/stack.h"
#include "manifests/tables.h"

struct wishes {
	struct arena arena;
	const char *name, *platform;
	struct stack_request stack;
	const char *requirements;           /* relative to the folder; NULL: none */
	bool hashed;                        /* that file pins hashes */
	bool cuda_seen;                     /* stack.cuda is what was found in the image */
	struct stack_pairs seen;            /* what else the image holds */
	struct stack_texts entrypoint, cmd; /* the image's */
	VEC(const char *) gpus;
	VEC(struct stack_pair) frameworks;
	VEC(struct stack_pair) libraries;
};

/* --name, --driver, --gpu, --framework, --cuda, --python. ERROR_USAGE. */
int wishes_of_options(const struct invocation *in, struct wishes *w, struct error *err) MUST_USE;
/*
 * Of a requirements file or a pylock.toml (NULL: of none). ERROR_USAGE when it lies outside of
 * `dir`; else as requirements_check and pylock_list.
 */
int wishes_of_requirements(const char *file, const char *dir, const struct tables *tables,
			   struct wishes *w, struct error *err) MUST_USE;
/* --from: errors of opening and reading an image. */
int wishes_of_image(const struct invocation *in, const struct tables *tables, struct wishes *w,
		    struct error *err) MUST_USE;
/* Fill in what nobody said. */
void wishes_complete(struct wishes *w, const char *dir);
void wishes_release(struct wishes *w);
#define cleanup_wishes cleanup(wishes_release)

#endif
