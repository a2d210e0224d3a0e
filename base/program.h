/*
 * What the program calls itself in what it writes.
 */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#define GPUIMG_VERSION "0.1.0"

#endif
