/*
 * Capabilities of files, from the text that setcap and rpm headers have.
 * Source: capabilities(7), cap_from_text(3), linux/capability.h.
 */
#ifndef FORMATS_FILE_CAPS_H
#define FORMATS_FILE_CAPS_H

#include "base/base.h"

enum { FILE_CAPS_BYTES = 20 };
/*
 * "cap_net_raw,cap_net_admin=ep" as the extended attribute security.capability has it, revision 2.
 * False for what is not understood, and for what a file cannot hold.
 */
bool file_caps_encode(const char *text, uint8_t out[FILE_CAPS_BYTES]);

#endif
