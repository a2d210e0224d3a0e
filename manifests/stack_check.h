/*
 * What the values of a stack manifest must look like. Each check of a text gives NULL when it is
 * good, else what is wrong with it (see stack_check_fn); stack_check_whole then holds values
 * against each other.
 */
#ifndef MANIFESTS_STACK_CHECK_H
#define MANIFESTS_STACK_CHECK_H

#include "manifests/stack.h"
#include "manifests/stack_keys.h"

stack_check_fn stack_check_version; /* the manifest's own: "1" */
stack_check_fn stack_check_name;    /* OCI distribution 1.1: a repository name */
stack_check_fn stack_check_tag;     /* OCI distribution 1.1: a tag */
stack_check_fn stack_check_platform;
stack_check_fn stack_check_constraint; /* "12.6", ">=12.4,<13", "2.7.*" */
stack_check_fn stack_check_axis;       /* a value of the matrix: "12.6", "2.7.*" */
stack_check_fn stack_check_file;       /* a file's name: not empty, no control characters */
stack_check_fn stack_check_id;         /* of a source, a stage, a framework */
stack_check_fn stack_check_url;        /* http, https, file; placeholders */
stack_check_fn stack_check_relative;   /* a path below the manifest's folder */
stack_check_fn stack_check_absolute;   /* a path in the image */
stack_check_fn stack_check_mode;       /* octal text */
stack_check_fn stack_check_device;     /* "nvidia.com/gpu=all" */
stack_check_fn stack_check_duration;   /* "90s", "15m", "2h" */
stack_check_fn stack_check_user;
stack_check_fn stack_check_env_name; /* POSIX environment variable name */
stack_check_fn stack_check_expose;   /* OCI image 1.1 config: "port/tcp" */
stack_check_fn stack_check_signal;
stack_check_fn stack_check_digest;
stack_check_fn stack_check_rule;
stack_check_fn stack_check_date;      /* YYYY-MM-DD */
stack_check_fn stack_check_reference; /* where to publish; {name} and {tag} are filled in */

/* References between parts and what one value asks of another. ERROR_USAGE with the place. */
int stack_check_whole(struct stack *stack, struct error *err) MUST_USE;

#endif
