/*
 * A store and a manifest of one stage, for tests of the sources that resolve packages: apt and
 * rpm-md. Sources lie in a folder of fixtures.
 */
#ifndef TESTS_SUPPORT_SCENE_H
#define TESTS_SUPPORT_SCENE_H

#include "builder/sources/package_source.h"

struct scene {
	char *dir, *fixtures;
	struct store *store;
	struct http_client *http;
	struct lockfile lock;
	struct stack stack;
	struct stack_source sources[3];
	struct stack_stage stage;
	struct stack_package packages[4];
	struct source_request request;
	struct source_context context; /* of linux/amd64 */
	struct out out;                /* into `notes` */
	char *notes;
	size_t notes_len;
	int64_t now; /* seconds since 1970, for what looks at the clock */
	struct error err;
};

/* Skips the test where there is no gpgv. */
struct scene *scene_new(const char *fixtures);
void scene_free(struct scene *s);
/* One source more: `source` with `path` below the fixtures as its address. */
void scene_add(struct scene *s, struct stack_source source, const char *path);
/* One specification more that the stage names. */
void scene_want(struct scene *s, const char *spec);
/* The inputs as "name version[.arch], name version[.arch]*"; "*": requested. */
void scene_expect(struct scene *s, bool with_arch, const char *inputs);
/* `rc` is a failure with this code and part of the text, and nothing is locked. */
void scene_expect_failure(struct scene *s, int rc, enum error_code code, const char *part);

#endif
