/*
 * Addresses that lie inside: of this machine, its links, or private networks. Whoever is sent there
 * by somebody outside is perhaps being used.
 * Source: RFC 6890 (special-purpose addresses), RFC 4193, RFC 4291.
 */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include "base/base.h"

struct sockaddr;

/* True for families other than IPv4 and IPv6, too. */
bool address_is_internal(const struct sockaddr *address);
/* The same for an address as text; false when it is none. */
bool address_text_is_internal(const char *text);

#endif
