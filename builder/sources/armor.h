/*
 * OpenPGP's ASCII armour, as keyrings (.asc) and signatures wear it. Source: RFC 4880, section 6.
 */
#ifndef BUILDER_SOURCES_ARMOR_H
#define BUILDER_SOURCES_ARMOR_H

#include "base/error.h"
#include "base/strbuf.h"

/* True when the text holds an armoured public key block. */
bool armor_is(struct slice text);
/*
 * Append the bytes of every "PGP PUBLIC KEY BLOCK" of a text; what stands between blocks is
 * skipped. ERROR_FORMAT when a block cannot be read, its CRC-24 is wrong, or there is none.
 */
int armor_decode(struct slice text, const char *name, struct strbuf *out,
		 struct error *err) MUST_USE;
/* CRC-24 of RFC 4880. */
uint32_t armor_crc24(struct slice bytes);

#endif
