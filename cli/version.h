/*
 * The version of the program.
 */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#include "base/program.h"

#endif
