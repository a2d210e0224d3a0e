/*
 * NVIDIA_DRIVER_CAPABILITIES as the runtime reads it.
 * Source: NVIDIA/nvidia-container-toolkit internal/config/image; NVIDIA/enroot
 * conf/hooks/98-nvidia.sh.
 */
#ifndef LINT_CAPABILITIES_H
#define LINT_CAPABILITIES_H

#include "lint/facts.h"

/* Set to something. */
bool capabilities_are_set(const struct facts *facts);
/* All words are known; an unset variable is valid. */
bool capabilities_are_valid(const struct facts *facts);
/* The value, or what counts where it is not set: Docker's default unless enroot alone is named. */
const char *capabilities_default(const struct facts *facts);
bool capabilities_have(const struct facts *facts, const char *capability);
bool capability_is_known(struct slice word);
/* CUDA_VERSION set and NVIDIA_REQUIRE_CUDA not: the runtime asks for everything. */
bool is_legacy_image(const struct facts *facts);

#endif
