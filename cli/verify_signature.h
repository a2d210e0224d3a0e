/*
 * `verify --key`: signatures and attestations of an image, judged and reported.
 */
#ifndef CLI_VERIFY_SIGNATURE_H
#define CLI_VERIFY_SIGNATURE_H

#include "cli/command.h"

/* Status 0, or 1 when something wanted is missing; -1 with *err. */
int verify_signature_run(const struct invocation *in, struct error *err) MUST_USE;

#endif
