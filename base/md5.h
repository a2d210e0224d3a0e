/*
 * MD5, for the one place that needs it: dpkg's database names configuration files by it. It
 * proves nothing; digests of ours are SHA-256. Source: RFC 1321.
 */
#ifndef BASE_MD5_H
#define BASE_MD5_H

#include "base/slice.h"

enum { MD5_HEX_SIZE = 33 };

/* 32 hex digits and a NUL into `out`. Returns out. */
const char *md5_hex(struct slice s, char out[MD5_HEX_SIZE]);

#endif
