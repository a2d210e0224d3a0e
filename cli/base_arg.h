/*
 * Opens the base images that manifests and locks name, for builder/, which knows no registries.
 */
#ifndef CLI_BASE_ARG_H
#define CLI_BASE_ARG_H

#include "builder/base_image.h"

struct base_opener base_arg_opener(void);

#endif
