/*
 * Which package a library of the image came with, and of what version that is: NVIDIA's Debian
 * packages and Python distributions, whose versions begin with those of their libraries. Files of
 * others (a framework that carries a copy of its own) have no owner here.
 */
#ifndef TESTKERNELS_LIBRARY_OWNER_H
#define TESTKERNELS_LIBRARY_OWNER_H

#include "testkernels/image_loader.h"

/*
 * Set `package` and `package_version` of each copy that has an owner. What cannot be read is passed
 * by: a library without an owner is nothing to complain of. Strings live in `arena`.
 */
void library_owners_find(int rootfd, struct arena *arena, struct library_copies *copies);

/* True as far as both versions go: "13.0" and "13.0.88", "2.28.9" and "2.28.9-1+cuda13.0". */
bool library_versions_agree(const char *a, const char *b);

#endif
